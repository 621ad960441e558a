/* Values that nobody else can see lend their memory: to the update that ends
 * them, to a chain of sets, and as scratch to whoever comes next. */
#include "rig.h"

/* w - lr * g, w and all temporaries let go before the demand. */
static plan_node *step(rig *r, plan_node *w, plan_node *g, double lr) {
  plan_node *m = mapn(r, TSH_OP_mul, g, lr), *y;
  y = map2(r, TSH_OP_sub, w, m);
  rig_drop(r, m);
  return y;
}

Test(memory, an_update_takes_the_buffer_of_a_value_that_ends) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *w = ramp(&r, DIMS(1000)), *g = full(&r, 2, DIMS(1000)), *y;
  cr_assert_eq(demand(&r, g, PLAN_EXACT), TSH_OK);
  for (int i = 0; i < 5; i++) {
    uint64_t buffers = COUNTER(&r, buffers), live = COUNTER(&r, bytes_live);
    y = step(&r, w, g, 0.5);
    rig_drop(&r, w);
    w = y;
    cr_assert_eq(demand(&r, w, PLAN_EXACT), TSH_OK);
    cr_expect_eq(COUNTER(&r, in_place), (uint64_t)i + 1);
    cr_expect_eq(COUNTER(&r, buffers), buffers);
    cr_expect_eq(COUNTER(&r, bytes_live), live);
  }
  cr_expect_eq(value(&r, w, 999), 994);
  cr_expect_eq(COUNTER(&r, plan_misses), 2, "the fill and the step");
  rig_close(&r);
}

Test(memory, what_is_held_or_read_again_is_never_overwritten) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *w = ramp(&r, DIMS(100)), *g = ramp(&r, DIMS(100)), *y, *z, *v;
  y = step(&r, w, g, 1); /* w is held */
  cr_assert_eq(demand(&r, y, PLAN_EXACT), TSH_OK);
  cr_expect_eq(COUNTER(&r, in_place), 0);
  cr_expect_eq(value(&r, w, 99), 99);
  v = slice(&r, w, RANGE({99, 100, -1})); /* a view holds w's buffer */
  y = step(&r, w, g, 1);
  rig_drop(&r, w);
  cr_assert_eq(demand(&r, y, PLAN_EXACT), TSH_OK);
  cr_expect_eq(COUNTER(&r, in_place), 0);
  cr_expect_eq(value(&r, v, 0), 99);
  w = ramp(&r, DIMS(100));
  y = step(&r, w, g, 1); /* nobody collected: it may be held */
  rig_drop(&r, w);
  cr_assert_eq(demand(&r, y, 0), TSH_OK);
  w = ramp(&r, DIMS(100)); /* read backwards by the same kernel */
  v = slice(&r, w, RANGE({99, 100, -1}));
  y = map2(&r, TSH_OP_sub, w, v);
  z = map2(&r, TSH_OP_add, v, g);
  rig_drop(&r, w);
  rig_drop(&r, v);
  plan_node *both[2] = {y, z};
  cr_assert_eq(plan_demand(r.p, both, 2, PLAN_EXACT, &r.err), TSH_OK);
  cr_expect_eq(value(&r, y, 0), -99);
  cr_expect_eq(value(&r, y, 99), 99);
  cr_expect_eq(value(&r, z, 99), 99);
  w = mapn(&r, TSH_OP_add, ramp(&r, DIMS(100)), 1);
  v = slice(&r, w, RANGE({99, 100, -1})); /* pending when w becomes ready */
  y = step(&r, w, g, 1);
  cr_assert_eq(demand(&r, w, PLAN_ONLY), TSH_OK);
  rig_drop(&r, w);
  both[0] = v;
  both[1] = y;
  cr_assert_eq(plan_demand(r.p, both, 2, PLAN_EXACT, &r.err), TSH_OK);
  cr_expect_eq(value(&r, v, 0), 100);
  cr_expect_eq(value(&r, y, 99), 1);
  rig_close(&r);
}

/* Two values that end, each read by the update of the other; in every order of
 * recording the results are those of plain arithmetic. */
Test(memory, updates_that_read_each_others_inputs_see_old_values) {
  for (int order = 0; order < 4; order++) {
    rig r;
    rig_open(&r, "cpu");
    plan_node *a = ramp(&r, DIMS(64)), *b = full(&r, 7, DIMS(64)), *y[3];
    cr_assert_eq(demand(&r, b, PLAN_EXACT), TSH_OK);
    y[order & 1] = map2(&r, TSH_OP_sub, a, b);
    y[~order & 1] =
        map2(&r, TSH_OP_add, transpose(&r, reshape(&r, a, DIMS(8, 8))),
             reshape(&r, b, DIMS(8, 8)));
    y[2] = order & 2 ? fold(&r, TSH_OP_sum, a, 1) : mapn(&r, TSH_OP_mul, b, 2);
    for (uint32_t i = r.n; i-- > 0;) {
      plan_node *x = r.node[i];
      if (x != y[0] && x != y[1] && x != y[2]) rig_drop(&r, x);
    }
    cr_assert_eq(plan_demand(r.p, y, 3, PLAN_EXACT, &r.err), TSH_OK);
    for (int i = 0; i < 64; i++) {
      cr_expect_eq(value(&r, y[order & 1], i), i - 7);
      cr_expect_eq(value(&r, y[~order & 1], i), i % 8 * 8 + i / 8 + 7);
    }
    cr_expect_eq(value(&r, y[2], 0), order & 2 ? 2016 : 14);
    rig_close(&r);
  }
}

Test(memory, momentum_runs_in_two_buffers_for_ever) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *w = ramp(&r, DIMS(500)), *v = full(&r, 0, DIMS(500));
  plan_node *g = full(&r, 1, DIMS(500)), *all[3] = {w, v, g};
  uint64_t buffers = 0;
  double ew = 3, ev = 0;
  cr_assert_eq(plan_demand(r.p, all, 3, PLAN_EXACT, &r.err), TSH_OK);
  for (int i = 0; i < 6; i++) {
    plan_node *m = mapn(&r, TSH_OP_mul, v, 0.5);
    plan_node *v2 = map2(&r, TSH_OP_add, m, g), *w2 = step(&r, w, v2, 0.25);
    plan_node *out[2] = {w2, v2};
    if (i == 1) buffers = COUNTER(&r, buffers);
    rig_drop(&r, m);
    rig_drop(&r, v);
    rig_drop(&r, w);
    w = w2;
    v = v2;
    cr_assert_eq(plan_demand(r.p, out, 2, PLAN_EXACT, &r.err), TSH_OK);
    ev = ev * 0.5 + 1;
    ew -= ev * 0.25;
    cr_expect_eq(value(&r, w, 3), ew); /* powers of two: exact */
    cr_expect_eq(value(&r, v, 499), ev);
  }
  cr_expect_eq(COUNTER(&r, buffers), buffers);
  cr_expect_eq(COUNTER(&r, in_place), 12);
  rig_close(&r);
}

/* ---- set ----------------------------------------------------------------- */
/* x with 0, 1, ... n-1 set one after another; cut where the trace asks. */
static plan_node *set_chain(rig *r, plan_node *x, int n) {
  plan_at(r->p, 1);
  for (int i = 0; i < n; i++) {
    plan_node *y = set(r, x, RANGE({i % 50, 1, 1}), i);
    rig_drop(r, x);
    x = y;
    if (plan_wants_cut(r->p))
      cr_assert_eq(plan_demand(r->p, NULL, 0, PLAN_EXACT, &r->err), TSH_OK);
  }
  return x;
}

Test(memory, a_chain_of_sets_copies_once) {
  plan_options quick = {.verify = 0};
  rig r;
  rig_open(&r, "cpu");
  plan_set_options(r.p, &quick);
  plan_node *x = ramp(&r, DIMS(50)), *y = set_chain(&r, plan_keep(x), 10000);
  rig_own(&r, TSH_OK, x); /* the chain let go of one owner */
  cr_assert_eq(demand(&r, y, PLAN_EXACT), TSH_OK, "%s", r.err.text);
  cr_expect_leq(COUNTER(&r, copies_of_set), 1);
  for (int i = 0; i < 50; i++) {
    cr_expect_eq(value(&r, y, i), 9950 + i);
    cr_expect_eq(value(&r, x, i), i);
  }
  rig_close(&r);
}

static void a_value_that_ends_is_not_copied(void) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = full(&r, 0, DIMS(1000));
  uint64_t buffers, copies;
  cr_assert_eq(demand(&r, x, PLAN_EXACT), TSH_OK);
  buffers = COUNTER(&r, buffers);
  copies = COUNTER(&r, copies_of_set);
  for (int i = 0; i < 20; i++) {
    plan_node *y = set(&r, x, RANGE({50 * i, 3, 1}), i + 1);
    rig_drop(&r, x);
    x = y;
    cr_assert_eq(demand(&r, x, PLAN_EXACT), TSH_OK);
  }
  cr_expect_eq(COUNTER(&r, buffers), buffers);
  cr_expect_eq(COUNTER(&r, copies_of_set), copies);
  cr_expect_eq(value(&r, x, 952), 20);
  cr_expect_eq(value(&r, x, 953), 0);
  rig_close(&r);
}

static void a_value_that_is_seen_is_copied(void) {
  rig r;
  rig_open(&r, "cpu");
  for (int i = 0; i < 3; i++) { /* counted for each run, not for each plan */
    plan_node *x = ramp(&r, DIMS(4)), *y = set(&r, x, RANGE({1, 2, 1}), 9);
    plan_node *both[2] = {y, map2(&r, TSH_OP_add, x, y)};
    cr_assert_eq(plan_demand(r.p, both, 2, PLAN_EXACT, &r.err), TSH_OK);
    cr_expect_eq(COUNTER(&r, copies_of_set), (uint64_t)i + 1);
    EXPECT(&r, x, 0, 1, 2, 3);
    EXPECT(&r, both[1], 0, 10, 11, 6);
    rig_drop_since(&r, 0, NULL);
  }
  /* Two sets of one pending value, which nobody holds. */
  plan_node *old = set(&r, ramp(&r, DIMS(3)), RANGE({0, 1, 1}), 7), *two[2];
  two[0] = set(&r, old, RANGE({1, 1, 1}), 8);
  two[1] = set(&r, old, RANGE({2, 1, 1}), 9);
  rig_drop(&r, old);
  cr_assert_eq(plan_demand(r.p, two, 2, PLAN_EXACT, &r.err), TSH_OK);
  EXPECT(&r, two[0], 7, 8, 2);
  EXPECT(&r, two[1], 7, 1, 9);
  /* x[2:3] = x[0:1] of the same x, which ends. */
  plan_node *x = ramp(&r, DIMS(4)), *part = slice(&r, x, RANGE({0, 3, 1})), *y;
  plan_operand v = operand_of(part);
  tsh_status rc = plan_set(r.p, x, RANGE({1, 3, 1}), &v, &y, &r.err);
  rig_own(&r, rc, y);
  rig_drop(&r, x);
  rig_drop(&r, part);
  cr_assert_eq(demand(&r, y, PLAN_EXACT), TSH_OK);
  EXPECT(&r, y, 0, 0, 1, 2);
  rig_close(&r);
}

Test(memory, a_set_copies_what_is_seen_again_and_nothing_else) {
  a_value_that_ends_is_not_copied();
  a_value_that_is_seen_is_copied();
}

/* ---- scratch ------------------------------------------------------------- */
Test(memory, temporaries_share_their_scratch) {
  rig r;
  rig_open(&r, "cpu");
  const int64_t n = 64, bytes = n * n * 4;
  plan_node *x = full(&r, 0.125, DIMS(n, n));
  for (int i = 0; i < 40; i++) x = matmul(&r, x, x); /* 8^i stays 1/8 * 8 */
  rig_drop_since(&r, 0, x);
  cr_expect_eq(LAUNCHES(&r, x), 40);
  cr_expect_leq(COUNTER(&r, bytes_peak), 4 * bytes);
  cr_expect_leq(COUNTER(&r, buffers), 2);
  cr_expect_eq(COUNTER(&r, bytes_live), COUNTER(&r, bytes_peak));
  plan_trim(r.p);
  cr_expect_eq(COUNTER(&r, bytes_live), bytes);
  rig_close(&r);
}

Test(memory, tiny_results_share_a_buffer_and_outlive_each_other) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = FLOATS(&r, 1, 2), *y[200];
  uint64_t buffers = COUNTER(&r, buffers);
  for (int i = 0; i < 200; i++) y[i] = mapn(&r, TSH_OP_mul, x, i);
  cr_assert_eq(demand(&r, y[0], 0), TSH_OK);
  cr_expect_leq(COUNTER(&r, buffers) - buffers, 2);
  for (int i = 0; i < 199; i++) rig_drop(&r, y[i]);
  EXPECT(&r, y[199], 199, 398);
  rig_close(&r);
}
