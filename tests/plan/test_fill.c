/* test_fill.c - plan_fill: elements that somebody writes piece by piece, on
 * devices that the host sees and on one that it does not. */
#include <string.h>
#include "rig.h"

typedef struct {
  int64_t next; /* value of the next element */
  uint64_t calls;
  int64_t fail_at; /* the element where it gives up; -1: never */
} counter;

static tsh_status count_on(void *ud, void *to, uint64_t bytes, tsh_err *err) {
  counter *c = ud;
  int64_t *cells = to;
  c->calls++;
  for (uint64_t i = 0; i < bytes / sizeof *cells; i++) {
    if (c->next == c->fail_at)
      return dev_fail(err, TSH_EIO, "element %lld is missing",
                      (long long)c->next);
    cells[i] = c->next++;
  }
  return TSH_OK;
}

static void fill_and_read(const char *device, int64_t n, uint64_t calls) {
  counter c = {.fail_at = -1};
  rig r;
  plan_node *x;
  int64_t *got = plan_alloc((size_t)n * sizeof *got + 1);
  rig_open(&r, device);
  cr_assert_eq(plan_fill(r.p, r.d, TSH_i64, shape_of(&r, DIMS(n)), count_on, &c,
                         &x, &r.err),
               TSH_OK, "%s", r.err.text);
  rig_own(&r, TSH_OK, x);
  cr_expect(plan_is_ready(x));
  cr_expect_eq(c.calls, calls, "%s: %d calls", device, (int)c.calls);
  cr_assert_eq(plan_read(r.p, x, got, 0, &r.err), TSH_OK);
  for (int64_t i = 0; i < n; i++) cr_assert_eq(got[i], i);
  plan_release(got);
  rig_close(&r);
}

Test(fill, in_one_piece_where_the_host_sees_the_memory) {
  fill_and_read("cpu", 1000000, 1);
  fill_and_read("cpu", 0, 0);
}

Test(fill, in_pieces_where_it_does_not) {
  fill_and_read("opaque", 1000000, 2);
  fill_and_read("opaque", 7, 1);
  fill_and_read("opaque", 0, 0);
}

static void give_up(const char *device) {
  rig r;
  rig_open(&r, device);
  for (int64_t at = 0; at < 600000; at += 590000) {
    counter c = {.fail_at = at};
    plan_node *x = (plan_node *)&c;
    tsh_status rc = plan_fill(r.p, r.d, TSH_i64, shape_of(&r, DIMS(600000)),
                              count_on, &c, &x, &r.err);
    cr_expect_eq(rc, TSH_EIO);
    cr_expect_null(x);
    cr_expect(strstr(r.err.text, "is missing"));
    cr_expect_eq(plan_counters_get(r.p)->bytes_live, 0);
  }
  rig_close(&r);
}

Test(fill, who_gives_up_leaves_nothing) {
  give_up("cpu");
  give_up("opaque");
}

static long left;
static int fuse(size_t bytes) {
  (void)bytes;
  return left < 0 || left-- > 0;
}

Test(fill, every_allocation_may_fail) {
  static const char *const device[] = {"cpu", "opaque"};
  for (int k = 0; k < 2; k++) {
    rig r;
    tsh_status rc = TSH_ENOMEM;
    rig_open(&r, device[k]);
    const plan_shape *s = shape_of(&r, DIMS(10));
    plan_alloc_hook = fuse;
    for (long n = 0; rc != TSH_OK; n++) {
      counter c = {.fail_at = -1};
      plan_node *x;
      left = n;
      rc = plan_fill(r.p, r.d, TSH_i64, s, count_on, &c, &x, &r.err);
      left = -1;
      if (rc == TSH_OK)
        rig_own(&r, rc, x);
      else
        cr_expect(rc == TSH_ENOMEM && !x);
    }
    plan_alloc_hook = NULL;
    rig_close(&r);
  }
}
