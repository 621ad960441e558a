/* A plan is found again for equal structure only: which scalars and which
 * leaves are equal belongs to the structure, their values do not. */
#include "rig.h"

/* y = x*a + x*b, collected, with its number of made plans. */
static plan_node *sum_of(rig *r, plan_node *x, plan_operand a, plan_operand b) {
  plan_operand in[2] = {operand_of(x), a};
  plan_node *m[3] = {NULL};
  uint32_t mark = r->n;
  cr_assert_eq(plan_map(r->p, TSH_OP_mul, in, 2, &m[0], &r->err), TSH_OK);
  rig_own(r, TSH_OK, m[0]);
  in[1] = b;
  cr_assert_eq(plan_map(r->p, TSH_OP_mul, in, 2, &m[1], &r->err), TSH_OK);
  rig_own(r, TSH_OK, m[1]);
  m[2] = map2(r, TSH_OP_add, m[0], m[1]);
  rig_drop_since(r, mark, m[2]);
  cr_assert_eq(demand(r, m[2], PLAN_EXACT), TSH_OK, "%s", r->err.text);
  return m[2];
}

static void equal_scalars(void) {
  for (int first = 0; first < 2; first++) { /* either plan may come first */
    rig r;
    rig_open(&r, "cpu");
    plan_node *x = FLOATS(&r, 1, 10);
    for (int i = 0; i < 2; i++) {
      if (i == first)
        EXPECT(&r, sum_of(&r, x, num(3), num(3)), 6, 60);
      else
        EXPECT(&r, sum_of(&r, x, num(3), num(4)), 7, 70);
      cr_expect_eq(COUNTER(&r, plan_misses), (uint64_t)i + 1);
    }
    EXPECT(&r, sum_of(&r, x, num(5), num(5)), 10, 100);
    EXPECT(&r, sum_of(&r, x, num(5), num(-1)), 4, 40);
    cr_expect_eq(COUNTER(&r, plan_misses), 2);
    cr_expect_eq(COUNTER(&r, plan_hits), 2);
    rig_close(&r);
  }
}

static void equal_leaves(void) {
  for (int first = 0; first < 2; first++) {
    rig r;
    rig_open(&r, "cpu");
    plan_node *x = FLOATS(&r, 1, 10);
    plan_operand u = operand_of(FLOATS(&r, 3, 3));
    plan_operand v = operand_of(FLOATS(&r, 4, 4));
    for (int i = 0; i < 2; i++) {
      if (i == first)
        EXPECT(&r, sum_of(&r, x, u, u), 6, 60);
      else
        EXPECT(&r, sum_of(&r, x, u, v), 7, 70);
      cr_expect_eq(COUNTER(&r, plan_misses), (uint64_t)i + 1);
    }
    EXPECT(&r, sum_of(&r, x, v, v), 8, 80);
    EXPECT(&r, sum_of(&r, x, v, u), 7, 70);
    EXPECT(&r, sum_of(&r, x, operand_of(x), v), 5, 140);
    cr_expect_eq(COUNTER(&r, plan_misses), 3);
    cr_expect_eq(COUNTER(&r, plan_hits), 2);
    rig_close(&r);
  }
}

Test(trace, equal_operands_are_a_class_of_their_own) {
  equal_scalars();
  equal_leaves();
}

/* x*a and x*b side by side, of which merging must keep the difference. */
static void two_products(rig *r, plan_node *x, plan_operand a, plan_operand b,
                         double want_a, double want_b) {
  plan_operand in[2] = {operand_of(x), a};
  plan_node *y[2];
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(plan_map(r->p, TSH_OP_mul, in, 2, &y[i], &r->err), TSH_OK);
    rig_own(r, TSH_OK, y[i]);
    in[1] = b;
  }
  cr_assert_eq(plan_demand(r->p, y, 2, PLAN_EXACT, &r->err), TSH_OK);
  EXPECT(r, y[0], want_a);
  EXPECT(r, y[1], want_b);
}

Test(trace, scalars_are_equal_by_bits_and_type) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = leaf(&r, TSH_f64, (double[]){2}, DIMS(1));
  two_products(&r, x, num(0.0), num(0.0), 0.0, 0.0);
  two_products(&r, x, num(0.0), num(-0.0), 0.0, -0.0);
  two_products(&r, x, num(-0.0), num(0.0), -0.0, 0.0);
  two_products(&r, x, whole(1), whole(1), 2, 2);
  two_products(&r, x, whole(1), num(1.0), 2, 2);
  cr_expect_eq(COUNTER(&r, plan_misses), 2, "0 0, 1 1 | the others");
  /* The bits of the integer 1 are those of the smallest double. */
  two_products(&r, x, whole(1), num(0x1p-1074), 2, 0x1p-1073);
  two_products(&r, x, num(0x1p-1074), whole(1), 0x1p-1073, 2);
  rig_close(&r);
}

Test(trace, values_that_belong_to_the_launch_are_not_in_the_key) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(40));
  uint64_t misses = 0;
  for (int64_t i = 0; i < 10; i++) {
    uint32_t mark = r.n;
    plan_node *part = slice(&r, x, RANGE({3 * i, 4, 1}));
    plan_node *y = mapn(&r, TSH_OP_mul, part, (double)(i + 1));
    rig_drop(&r, part);
    cr_assert_eq(demand(&r, y, PLAN_EXACT), TSH_OK);
    EXPECT(&r, y, 3. * i * (i + 1), (3. * i + 1) * (i + 1),
           (3. * i + 2) * (i + 1), (3. * i + 3) * (i + 1));
    rig_drop_since(&r, mark, NULL);
    if (i == 0) misses = COUNTER(&r, plan_misses);
  }
  cr_expect_eq(COUNTER(&r, plan_misses), misses);
  /* Counts and steps are structure. */
  EXPECT(&r, mapn(&r, TSH_OP_mul, slice(&r, x, RANGE({0, 4, 2})), 1), 0, 2, 4,
         6);
  EXPECT(&r, mapn(&r, TSH_OP_mul, slice(&r, x, RANGE({0, 3, 2})), 1), 0, 2, 4);
  rig_close(&r);
}

/* One addition for each n from 1: hash tables and arrays grow on the way. */
Test(trace, a_thousand_scalars_and_leaves_keep_their_numbers) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *sum = FLOATS(&r, 0), *leaves = sum;
  for (int i = 1; i <= 1000; i++) {
    sum = mapn(&r, TSH_OP_add, sum, i);
    leaves = map2(&r, TSH_OP_add, leaves, FLOATS(&r, (float)i));
  }
  EXPECT(&r, sum, 500500);
  EXPECT(&r, leaves, 500500);
  rig_close(&r);
}

static void where_it_repeats(void) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *y = FLOATS(&r, 0);
  int cuts = 0, last = 0;
  plan_at(r.p, 7);
  for (int i = 1; i <= 20000; i++) {
    plan_node *z = mapn(&r, TSH_OP_add, y, 1);
    rig_drop(&r, y);
    y = z;
    if (!plan_wants_cut(r.p)) continue;
    if (cuts == 0)
      cr_expect_eq(i, 4096);
    else
      cr_expect_geq(i - last, 256);
    cuts++;
    last = i;
    cr_assert_eq(plan_demand(r.p, NULL, 0, PLAN_EXACT, &r.err), TSH_OK);
    cr_expect_not(plan_wants_cut(r.p));
  }
  cr_expect_geq(cuts, 20000 / 4096);
  uint32_t tape; /* while one is open the trace is the tape */
  cr_assert_eq(plan_tape_open(r.p, &tape, &r.err), TSH_OK);
  for (int i = 0; i < 5000; i++) {
    plan_node *z = mapn(&r, TSH_OP_add, y, 0);
    rig_drop(&r, y);
    y = z;
    cr_assert_not(plan_wants_cut(r.p));
  }
  plan_tape_close(r.p, tape);
  EXPECT(&r, y, 20000);
  rig_close(&r);
}

static void when_bytes_pass_a_budget(void) {
  rig r;
  rig_open(&r, "cpu");
  uint64_t memory = dev_props(r.d)->memory;
  int64_t quarter = (int64_t)(memory ? memory / 4 : UINT64_C(1) << 30);
  full(&r, 1, DIMS(quarter / 8));
  cr_expect_not(plan_wants_cut(r.p));
  full(&r, 1, DIMS(quarter / 4));
  cr_expect(plan_wants_cut(r.p));
  rig_close(&r);
}

Test(trace, it_asks_for_cuts_and_once_only) {
  where_it_repeats();
  when_bytes_pass_a_budget();
}
