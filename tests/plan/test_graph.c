/* From the trace to the graph of distinct values: equal work is done once,
 * unwanted work not at all, and of a part only the part. */
#include "rig.h"

/* The plan of the pending trace with x alone wanted; owned: entry_free. */
static plan_entry *made(rig *r, const plan_node *x) {
  uint8_t *live = calloc(r->p->trace.n, 1);
  plan_entry *e = NULL;
  cr_assert_eq(x->state, NODE_PENDING);
  live[x->at] = 1;
  cr_assert(trace_find_donatable(&r->p->trace, 0));
  cr_assert_eq(plan_make(r->p, &r->p->trace, live, 0, &e, &r->err), TSH_OK,
               "%s", r->err.text);
  free(live);
  return e;
}

static uint64_t ops_of(rig *r, plan_node *x) {
  uint64_t before = COUNTER(r, kernel_ops);
  cr_assert_eq(demand(r, x, PLAN_EXACT), TSH_OK, "%s", r->err.text);
  return COUNTER(r, kernel_ops) - before;
}

Test(graph, equal_ops_on_equal_inputs_are_computed_once) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(3, 3)), *t = transpose(&r, x), *y, *z;
  uint32_t mark = r.n;
  y = map2(&r, TSH_OP_mul, mapn(&r, TSH_OP_add, x, 1),
           mapn(&r, TSH_OP_add, x, 1));
  rig_drop_since(&r, mark, y);
  cr_expect_eq(ops_of(&r, y), 2);
  cr_expect_eq(value(&r, y, 8), 81);
  z = map2(&r, TSH_OP_add, matmul(&r, x, x), matmul(&r, x, t));
  z = map2(&r, TSH_OP_sub, z, matmul(&r, x, t));
  rig_drop_since(&r, mark, z);
  cr_expect_eq(ops_of(&r, z), 4); /* dot dot add sub */
  cr_expect_eq(value(&r, z, 0), 15);
  z = map2(&r, TSH_OP_sub, fold(&r, TSH_OP_sum, x, 1),
           fold(&r, TSH_OP_sum, x, 2)); /* other axes */
  rig_drop_since(&r, mark, z);
  cr_expect_eq(ops_of(&r, z), 3);
  rig_close(&r);
}

Test(graph, what_nobody_holds_is_computed_only_when_nobody_looked) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(4)), *y;
  uint64_t ops;
  uint32_t mark = r.n;
  mapn(&r, TSH_OP_mul, x, 5);
  y = mapn(&r, TSH_OP_add, x, 1);
  rig_drop_since(&r, mark, y);
  cr_expect_eq(ops_of(&r, y), 1);
  mark = r.n;
  mapn(&r, TSH_OP_mul, x, 5);
  y = mapn(&r, TSH_OP_add, x, 1);
  rig_drop_since(&r, mark, y);
  ops = COUNTER(&r, kernel_ops);
  cr_assert_eq(demand(&r, y, 0), TSH_OK); /* no collection: all may be held */
  cr_expect_eq(COUNTER(&r, kernel_ops) - ops, 2);
  /* The result does not depend on it. */
  EXPECT(&r, y, 1, 2, 3, 4);
  rig_close(&r);
}

static void only_the_wanted_part(void) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(100, 50)), *y;
  y = mapn(&r, TSH_OP_mul, mapn(&r, TSH_OP_add, x, 1), 2);
  y = slice(&r, transpose(&r, y), RANGE({49, 2, -1}, {10, 3, 40}));
  plan_entry *e = made(&r, y);
  cr_expect_eq(e->nlaunch, 1);
  cr_expect_eq(e->launch[0].points, 6);
  entry_free(r.p, e);
  EXPECT(&r, y, 1100, 5100, 9100, 1098, 5098, 9098);
  rig_close(&r);
}

static void no_part_twice(void) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(10)), *y = map1(&r, TSH_OP_exp, x), *z;
  z = map2(&r, TSH_OP_div, slice(&r, y, RANGE({1, 9, 1})),
           slice(&r, y, RANGE({0, 9, 1})));
  plan_entry *e = made(&r, z);
  uint32_t exps = 0;
  for (uint32_t i = 0; i < e->nlaunch; i++)
    for (uint32_t k = 0; k < e->launch[i].nops; k++)
      exps += e->launch[i].ops[k] == TSH_OP_exp;
  cr_expect_eq(exps, 1);
  entry_free(r.p, e);
  cr_expect_float_eq(value(&r, z, 8), 2.718281828, 1e-5);
  rig_close(&r);
}

Test(graph, of_an_elementwise_value_only_the_wanted_part_is_computed) {
  only_the_wanted_part();
  no_part_twice();
}

static void generated_values(void) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *one = full(&r, 1, DIMS(8)), *i = NULL, *y;
  cr_assert_eq(plan_iota(r.p, r.d, TSH_i64, shape_of(&r, DIMS(8)), &i, &r.err),
               TSH_OK);
  rig_own(&r, TSH_OK, i);
  y = map2(&r, TSH_OP_add, one, cast(&r, i, TSH_f32));
  plan_entry *e = made(&r, y);
  cr_expect_eq(e->nlaunch, 1);
  cr_expect_eq(e->launch[0].nout, 1);
  entry_free(r.p, e);
  EXPECT(&r, y, 1, 2, 3, 4, 5, 6, 7, 8);
  EXPECT(&r, one, 1, 1, 1, 1, 1, 1, 1, 1);
  EXPECT(&r, slice(&r, i, RANGE({7, 4, -2})), 7, 5, 3, 1);
  EXPECT(&r, expand(&r, full(&r, 3, SCALAR), DIMS(2)), 3, 3);
  rig_close(&r);
}

static void empty_values(void) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = leaf(&r, TSH_f32, NULL, DIMS(0, 3)), *y, *z = NULL;
  uint64_t kernels = COUNTER(&r, kernels);
  y = mapn(&r, TSH_OP_add, x, 1);
  cr_expect_eq(demand(&r, y, PLAN_EXACT), TSH_OK);
  cr_expect_eq(demand(&r, slice(&r, y, RANGE({0, 0, 1}, {1, 2, 1})), 0),
               TSH_OK);
  cr_expect_eq(demand(&r, matmul(&r, y, ramp(&r, DIMS(3, 2))), 0), TSH_OK);
  cr_expect_eq(COUNTER(&r, kernels), kernels);
  EXPECT(&r, matmul(&r, transpose(&r, y), y), 0, 0, 0, 0, 0, 0, 0, 0, 0);
  plan_node *parts[3] = {x, ramp(&r, DIMS(1, 3)), x};
  cr_expect_eq(plan_cat(r.p, parts, 3, 0, &z, &r.err), TSH_OK);
  EXPECT(&r, rig_own(&r, TSH_OK, z), 0, 1, 2);
  rig_close(&r);
}

Test(graph, generated_and_empty_values_cost_nothing) {
  generated_values();
  empty_values();
}

Test(graph, cat_pad_and_set_place_their_parts) {
  const int64_t before[2] = {1, 0}, after[2] = {0, 2};
  plan_operand nine = num(9);
  rig r;
  rig_open(&r, "cpu");
  plan_node *a = ramp(&r, DIMS(2, 2)), *b = mapn(&r, TSH_OP_add, a, 10), *y;
  plan_node *parts[3] = {a, transpose(&r, b), mapi(&r, TSH_OP_neg, a, 0)};
  cr_assert_eq(plan_cat(r.p, parts, 3, 1, &y, &r.err), TSH_OK);
  EXPECT(&r, rig_own(&r, TSH_OK, y), 0, 1, 10, 12, -0.0, -1, 2, 3, 11, 13, -2,
         -3);
  cr_assert_eq(plan_pad(r.p, b, before, after, &nine, &y, &r.err), TSH_OK);
  EXPECT(&r, rig_own(&r, TSH_OK, y), 9, 9, 9, 9, 10, 11, 9, 9, 12, 13, 9, 9);
  y = set(&r, b, RANGE({1, 2, -1}, {1, 1, 1}), 5);
  y = set(&r, y, RANGE({0, 1, 1}, {0, 2, 1}), 6);
  EXPECT(&r, mapn(&r, TSH_OP_add, y, 1), 7, 7, 13, 6);
  EXPECT(&r, b, 10, 11, 12, 13); /* values stay */
  cr_expect_eq(set(&r, b, RANGE({0, 0, 1}, {0, 0, 1}), 1)->state, NODE_PENDING);
  rig_close(&r);
}

static void cpu_yields(void) {
  rig r;
  rig_open(&r, "example");
  dev *cpu = dev_builtin(r.devices), *npu = r.d;
  plan_node *x = ramp(&r, DIMS(4)), *y, *z, *at;
  r.d = cpu;
  y = ramp(&r, DIMS(4));
  z = map2(&r, TSH_OP_add, y, x);
  cr_expect_eq(plan_dev_of(z), npu);
  EXPECT(&r, z, 0, 2, 4, 6);
  cr_expect_eq(COUNTER(&r, bytes_moved), 16);
  cr_expect_eq(plan_op_runs(r.p, TSH_OP_add, dev_id(npu)), 1);
  cr_expect_eq(plan_op_runs(r.p, TSH_OP_add, dev_id(cpu)), 0);
  /* A 0-d tensor does not decide. */
  z = map2(&r, TSH_OP_mul, expand(&r, full(&r, 2, SCALAR), SCALAR), y);
  cr_expect_eq(plan_dev_of(z), cpu);
  cr_assert_eq(plan_to(r.p, z, npu, &at, &r.err), TSH_OK);
  EXPECT(&r, rig_own(&r, TSH_OK, at), 0, 2, 4, 6);
  cr_assert_eq(plan_to(r.p, at, npu, &z, &r.err), TSH_OK);
  cr_expect_eq(rig_own(&r, TSH_OK, z), at);
  /* f64 is no dtype of that device. */
  rig_fails(&r, plan_cast(r.p, x, TSH_f64, &z, &r.err), &z);
  cr_expect_not_null(strstr(r.err.text, "example"), "%s", r.err.text);
  rig_close(&r);
}

static void a_missing_op_runs_on_cpu(void) {
  rig r;
  rig_open(&r, "example");
  plan_node *x = mapn(&r, TSH_OP_add, ramp(&r, DIMS(3, 2)), 1), *y = NULL;
  if (dev_has_op(r.d, TSH_OP_take, TSH_f32)) cr_skip_test("it has them all");
  cr_assert_eq(plan_take(r.p, x, LONGS(&r, 2, 0), 0, &y, &r.err), TSH_OK);
  cr_expect_eq(plan_dev_of(rig_own(&r, TSH_OK, y)), r.d);
  EXPECT(&r, y, 5, 6, 1, 2);
  cr_expect_eq(plan_op_runs(r.p, TSH_OP_take, 0), 1);
  cr_expect_eq(plan_op_runs(r.p, TSH_OP_take, dev_id(r.d)), 0);
  cr_expect_eq(COUNTER(&r, bytes_moved), 24 + 16 + 16);
  rig_close(&r);
}

Test(graph, work_goes_where_the_operands_are) {
  cpu_yields();
  a_missing_op_runs_on_cpu();
}
