/* Whatever happens during a run, every value is afterwards ready, failed with
 * its own error, or pending and right when demanded again. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "rig.h"

#ifdef __SANITIZE_ADDRESS__
enum { BIG = 600 };
#else
enum { BIG = 3000 };
#endif

static const char *const devices[] = {"cpu", "example", "opaque"};

/* ---- an op that fails ---------------------------------------------------- */
static void index_error(const char *device, int flags) {
  rig r;
  rig_open(&r, device);
  plan_node *x = FLOATS(&r, 1, 2, 3), *at, *bad, *sum, *good, *later, *fine;
  plan_at(r.p, 11);
  at = index_of(&r, LONGS(&r, 1, 9, -3), 3);
  plan_at(r.p, 12);
  bad = map2(&r, TSH_OP_add, cast(&r, at, TSH_f32), x);
  sum = fold(&r, TSH_OP_sum, bad, 1);
  plan_at(r.p, 13);
  good = mapn(&r, TSH_OP_mul, x, 2);
  fine = fold(&r, TSH_OP_sum, map2(&r, TSH_OP_mul, good, x), 1);
  cr_expect_eq(demand(&r, good, flags), TSH_OK, "%s", r.err.text);
  EXPECT(&r, good, 2, 4, 6);
  EXPECT(&r, fine, 28);
  cr_expect_eq(plan_failures(r.p), 1, "one error that nobody saw");
  cr_expect_eq(plan_failures(r.p), 0);
  cr_expect_not_null(plan_error_of(sum));
  cr_expect_null(plan_error_of(good));
  later = mapn(&r, TSH_OP_add, sum, 1); /* fails when it is recorded */
  cr_expect_not_null(plan_error_of(later));
  for (int i = 0; i < 3; i++) {
    plan_node *x3 = i == 0 ? at : i == 1 ? sum : later;
    cr_expect_eq(demand(&r, x3, flags), TSH_EINDEX);
    cr_expect_eq(plan_error_site(r.p), 11);
    cr_expect_not_null(strstr(r.err.text, "index 9 is outside 1..3"), "%s",
                       r.err.text);
  }
  EXPECT(&r, index_of(&r, LONGS(&r, 1, 3, -3), 3), 0, 2, 0);
  rig_close(&r);
}

static void dependents_only(void) {
  for (int d = 0; d < 3; d++) {
    index_error(devices[d], 0);
    index_error(devices[d], PLAN_EXACT);
  }
}

static void no_update_is_lost(void) {
  for (int d = 0; d < 3; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *w = FLOATS(&r, 5, 6), *w2 = mapn(&r, TSH_OP_sub, w, 1), *at;
    plan_node *all[3] = {w2, NULL, NULL};
    rig_drop(&r, w);
    at = index_of(&r, LONGS(&r, 1, 9), 4); /* in the kernel of the update */
    all[1] = map2(&r, TSH_OP_add, w2, cast(&r, at, TSH_f32));
    at = index_of(&r, LONGS(&r, 5), 4);
    cr_assert_eq(plan_take(r.p, ramp(&r, DIMS(4)), at, 0, &all[2], &r.err),
                 TSH_OK);
    rig_own(&r, TSH_OK, all[2]);
    cr_expect_eq(plan_demand(r.p, all, 3, PLAN_EXACT, &r.err), TSH_EINDEX);
    EXPECT(&r, w2, 4, 5);
    cr_expect_not_null(plan_error_of(all[1]));
    cr_expect_not_null(plan_error_of(all[2]));
    rig_close(&r);
  }
}

Test(demand, an_index_error_marks_its_dependents_only) {
  dependents_only();
  no_update_is_lost();
}

/* ---- a part -------------------------------------------------------------- */
Test(demand, only_leaves_the_rest_pending) {
  for (int d = 0; d < 3; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *x = FLOATS(&r, 1, 2), *a = mapn(&r, TSH_OP_add, x, 1);
    plan_node *b = mapn(&r, TSH_OP_mul, a, 3), *c = map2(&r, TSH_OP_add, b, a);
    plan_node *bad = index_of(&r, LONGS(&r, 7), 3);
    plan_node *half = mapn(&r, TSH_OP_mul, x, 0.5);
    rig_drop(&r, x); /* the rest still needs it */
    cr_expect_eq(demand(&r, half, PLAN_ONLY), TSH_OK, "%s", r.err.text);
    EXPECT(&r, half, 0.5, 1);
    cr_expect_eq(demand(&r, b, PLAN_ONLY), TSH_OK, "%s", r.err.text);
    cr_expect(plan_is_ready(b));
    cr_expect_not(plan_is_ready(a));
    cr_expect_not(plan_is_ready(c));
    cr_expect_null(plan_error_of(bad));
    EXPECT(&r, b, 6, 9);
    rig_drop(&r, b);
    cr_expect_eq(demand(&r, a, PLAN_ONLY), TSH_OK);
    EXPECT(&r, a, 2, 3);
    cr_expect_eq(demand(&r, bad, PLAN_ONLY), TSH_EINDEX);
    cr_expect_not(plan_is_ready(c));
    EXPECT(&r, c, 8, 12);
    r.p->running = 1; /* as in a finalizer that runs during a demand */
    a = mapn(&r, TSH_OP_add, c, 1);
    cr_expect_eq(demand(&r, a, 0), TSH_EINVAL);
    r.p->running = 0;
    EXPECT(&r, a, 9, 13);
    rig_close(&r);
  }
}

/* ---- cancelling ---------------------------------------------------------- */
static void *cancel_soon(void *word) {
  usleep(5000);
  __atomic_store_n((uint32_t *)word, 1, __ATOMIC_RELAXED);
  return NULL;
}

/* Demands x while another thread cancels. */
static tsh_status interrupted(rig *r, plan_node *x, int flags) {
  uint32_t *word = dev_cancel_word(r->devices);
  pthread_t thread;
  tsh_status rc;
  cr_assert_eq(pthread_create(&thread, NULL, cancel_soon, word), 0);
  rc = demand(r, x, flags);
  pthread_join(thread, NULL);
  __atomic_store_n(word, 0, __ATOMIC_RELAXED);
  return rc;
}

Test(demand, a_cancelled_product_stays_pending_and_costs_nothing_else) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *a = full(&r, 0.5, DIMS(BIG, BIG)),
            *b = full(&r, 2, DIMS(BIG, BIG));
  plan_node *w = FLOATS(&r, 7, 8), *small = mapn(&r, TSH_OP_add, w, 1), *m, *w2;
  m = matmul(&r, a, b);
  /* An update that waits for the product. */
  w2 = slice(&r, m, RANGE({1, 1, 1}, {2, 2, 1}));
  w2 = mapn(&r, TSH_OP_mul, reshape(&r, w2, DIMS(2)), 2);
  w2 = map2(&r, TSH_OP_sub, w, w2);
  rig_drop(&r, w);
  rig_drop(&r, a);
  rig_drop(&r, b);
  cr_expect_eq(interrupted(&r, w2, PLAN_EXACT), TSH_ECANCELLED);
  cr_expect_eq(interrupted(&r, m, PLAN_EXACT), TSH_ECANCELLED);
  cr_expect_eq(interrupted(&r, m, PLAN_ONLY), TSH_ECANCELLED);
  cr_expect_not(plan_is_ready(m));
  cr_expect_null(plan_error_of(m));
  EXPECT(&r, mapn(&r, TSH_OP_mul, small, 2), 16, 18);
  cr_expect_eq(demand(&r, w2, PLAN_EXACT), TSH_OK, "%s", r.err.text);
  cr_expect_eq(value(&r, m, (int64_t)BIG * BIG - 1), BIG);
  EXPECT(&r, w2, 7. - 2 * BIG, 8. - 2 * BIG);
  rig_close(&r);
}

/* The word is set before: whichever launches were done, w is not lost. */
static void before_it_begins(void) {
  for (int d = 0; d < 3; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *w = ramp(&r, DIMS(4000)), *g, *w2, *s;
    uint32_t *word = dev_cancel_word(r.devices);
    g = map1(&r, TSH_OP_sqrt, full(&r, 4, DIMS(4000)));
    w2 = map2(&r, TSH_OP_sub, w, mapn(&r, TSH_OP_mul, g, 0.5));
    s = fold(&r, TSH_OP_sum, w, 1);
    rig_drop(&r, w);
    __atomic_store_n(word, 1, __ATOMIC_RELAXED);
    cr_expect_eq(demand(&r, w2, PLAN_EXACT), TSH_ECANCELLED, "%s", devices[d]);
    cr_expect_eq(demand(&r, w2, 0), TSH_ECANCELLED);
    __atomic_store_n(word, 0, __ATOMIC_RELAXED);
    cr_expect_eq(demand(&r, w2, PLAN_EXACT), TSH_OK, "%s", r.err.text);
    cr_expect_eq(value(&r, w2, 3999), 3998);
    cr_expect_eq(value(&r, s, 0), 4000. * 3999 / 2);
    rig_close(&r);
  }
}

typedef struct {
  volatile float *first; /* is 1 until its update has run */
  uint32_t *word;
} watch;

static void *cancel_when_changed(void *arg) {
  watch *w = arg;
  for (long i = 0; i < 4000000000 && *w->first == 1; i++) continue;
  __atomic_store_n(w->word, 1, __ATOMIC_RELAXED);
  return NULL;
}

/* Once an update has overwritten its input there is no way back: the others
 * are finished, and nothing is applied twice. */
static void between_updates(const char *device) {
  enum { N = 9, LARGE = 1 << 18 };
  plan_node *w[N], *y[N], *z;
  pthread_t thread;
  watch seen;
  tsh_status rc;
  rig r;
  rig_open(&r, device);
  for (int i = 0; i < N; i++) {
    w[i] = full(&r, i + 1, DIMS(i ? LARGE + i : 1));
    cr_assert_eq(demand(&r, w[i], PLAN_EXACT), TSH_OK);
  }
  seen.first = dev_host_ptr(w[0]->d, w[0]->buf->buf);
  seen.word = dev_cancel_word(r.devices);
  cr_assert_not_null((void *)seen.first);
  for (int i = 0; i < N; i++) {
    y[i] = mapn(&r, TSH_OP_sub, w[i], 0.5);
    rig_drop(&r, w[i]);
  }
  cr_assert_eq(pthread_create(&thread, NULL, cancel_when_changed, &seen), 0);
  rc = plan_demand(r.p, y, N, PLAN_EXACT, &r.err);
  pthread_join(thread, NULL);
  *seen.word = 0;
  cr_expect(rc == TSH_ECANCELLED || rc == TSH_OK, "status %d", rc);
  cr_expect_eq(COUNTER(&r, in_place), N);
  for (int i = 0; i < N; i++)
    cr_expect(plan_is_ready(y[i]), "update %d of status %d", i, rc);
  z = mapn(&r, TSH_OP_add, y[0], 0); /* the next flush */
  cr_expect_eq(demand(&r, z, PLAN_EXACT), TSH_OK);
  for (int i = 0; i < N; i++) cr_expect_eq(value(&r, y[i], 0), i + 0.5);
  rig_close(&r);
}

Test(demand, a_cancelled_update_is_done_once) {
  before_it_begins();
  between_updates("cpu");
  between_updates("example");
}

/* ---- memory -------------------------------------------------------------- */
Test(demand, without_memory_only_what_is_too_large_fails) {
  setenv("TSH_EXAMPLE_MEM", "1000000", 1);
  for (int d = 1; d < 3; d++)
    for (int order = 0; order < 2; order++) {
      rig r;
      rig_open(&r, devices[d]);
      plan_node *x = ramp(&r, DIMS(1000)), *small, *large, *both[2];
      large = expand(&r, x, DIMS(1000, 1000));
      large = mapn(&r, TSH_OP_add, large, 1);
      small = mapn(&r, TSH_OP_mul, x, 2);
      both[order] = large;
      both[!order] = small;
      plan_at(r.p, 21);
      cr_expect_eq(plan_demand(r.p, both, 2, PLAN_EXACT, &r.err), TSH_ENOMEM);
      cr_expect_null(plan_error_of(large));
      cr_expect_null(plan_error_of(small));
      cr_expect_not(plan_is_ready(large));
      cr_expect_eq(plan_demand(r.p, both, 2, PLAN_EXACT | PLAN_LAST, &r.err),
                   TSH_ENOMEM);
      cr_expect_not_null(plan_error_of(large));
      cr_expect_null(plan_error_of(small), "%s", devices[d]);
      cr_expect_eq(value(&r, small, 999), 1998);
      cr_expect_eq(demand(&r, mapn(&r, TSH_OP_add, large, 1), 0), TSH_ENOMEM);
      rig_drop_since(&r, 0, NULL);
      EXPECT(&r, mapn(&r, TSH_OP_add, FLOATS(&r, 1), 1), 2);
      rig_close(&r);
    }
  unsetenv("TSH_EXAMPLE_MEM");
}
