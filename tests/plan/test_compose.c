/* What the planner makes of primitives has the values of plain arithmetic. */
#include <math.h>
#include "rig.h"

static plan_node *mean(rig *r, plan_node *x, uint32_t axes) {
  plan_node *y = NULL;
  tsh_status rc = plan_mean(r->p, x, axes, 0, &y, &r->err);
  return rig_own(r, rc, y);
}

static plan_node *var(rig *r, plan_node *x, uint32_t axes, double correction) {
  plan_node *y = NULL;
  tsh_status rc = plan_var(r->p, x, axes, 0, correction, &y, &r->err);
  return rig_own(r, rc, y);
}

static plan_node *softmax(rig *r, plan_node *x, int axis, int log) {
  plan_node *y = NULL;
  tsh_status rc = log ? plan_log_softmax(r->p, x, axis, &y, &r->err)
                      : plan_softmax(r->p, x, axis, &y, &r->err);
  return rig_own(r, rc, y);
}

Test(compose, means_variances_and_softmax) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(2, 4)), *y;
  EXPECT(&r, mean(&r, x, 2), 1.5, 5.5);
  EXPECT(&r, mean(&r, x, 3), 3.5);
  EXPECT(&r, var(&r, x, 2, 0), 1.25, 1.25);
  EXPECT(&r, var(&r, x, 1, 1), 8, 8, 8, 8);
  EXPECT(&r, var(&r, FLOATS(&r, 3), 1, 1), NAN); /* 0 / 0 */
  y = mean(&r, cast(&r, LONGS(&r, 0, 1, 1, 1), TSH_bool), 1);
  cr_expect_eq(plan_dtype_of(y), TSH_f32);
  EXPECT(&r, y, 0.75);
  EXPECT(&r, var(&r, LONGS(&r, 0, 4), 1, 0), 4);
  /* A large mean loses nothing: no E[x^2] - E[x]^2. */
  EXPECT(&r, var(&r, FLOATS(&r, 4097, 4099, 4097, 4099), 1, 0), 1);
  EXPECT(&r, softmax(&r, FLOATS(&r, 1000, 1000, -INFINITY), 0, 0), 0.5, 0.5, 0);
  y = softmax(&r, x, 1, 0);
  cr_expect_float_eq(value(&r, y, 0), 1 / (1 + M_E + exp(2) + exp(3)), 1e-7);
  cr_expect_eq(value(&r, y, 0), value(&r, y, 4));
  y = softmax(&r, x, 0, 1);
  cr_expect_float_eq(value(&r, y, 3), -log(1 + exp(4)), 1e-6);
  cr_expect_float_eq(value(&r, y, 7), -log(1 + exp(-4)), 1e-6);
  rig_close(&r);
}

Test(compose, products_of_every_rank_and_their_errors) {
  plan_node *y = NULL;
  rig r;
  rig_open(&r, "cpu");
  plan_node *a = ramp(&r, DIMS(2, 3)), *b = ramp(&r, DIMS(3, 2));
  plan_node *v = ramp(&r, DIMS(3)), *batch = ramp(&r, DIMS(2, 1, 2, 3));
  EXPECT(&r, matmul(&r, a, b), 10, 13, 28, 40);
  EXPECT(&r, matmul(&r, a, v), 5, 14);
  EXPECT(&r, matmul(&r, v, b), 10, 13);
  EXPECT(&r, matmul(&r, v, v), 5);
  y = matmul(&r, batch, expand(&r, b, DIMS(2, 3, 2)));
  cr_expect_eq(plan_shape_of(y), shape_of(&r, DIMS(2, 2, 2, 2)));
  EXPECT(&r, y, 10, 13, 28, 40, 10, 13, 28, 40, 46, 67, 64, 94, 46, 67, 64, 94);
  y = matmul(&r, LONGS(&r, 1, 2), reshape(&r, LONGS(&r, 3, 4), DIMS(2, 1)));
  cr_expect_eq(plan_dtype_of(y), TSH_i64);
  EXPECT(&r, y, 11);
  y = matmul(&r, cast(&r, reshape(&r, LONGS(&r, 1, 2), DIMS(1, 2)), TSH_i32),
             cast(&r, LONGS(&r, 3, 4), TSH_i32));
  cr_expect_eq(plan_dtype_of(y), TSH_i32);
  EXPECT(&r, matmul(&r, ramp(&r, DIMS(2, 0)), ramp(&r, DIMS(0, 1))), 0, 0);
  rig_fails(&r, plan_matmul(r.p, a, a, &y, &r.err), &y);
  cr_expect_not_null(strstr(r.err.text, "[2,3] by [2,3]"), "%s", r.err.text);
  rig_fails(&r, plan_matmul(r.p, full(&r, 1, SCALAR), a, &y, &r.err), &y);
  rig_fails(&r,
            plan_matmul(r.p, ramp(&r, DIMS(2, 2, 3)), ramp(&r, DIMS(3, 3, 2)),
                        &y, &r.err),
            &y);
  v = cast(&r, v, TSH_bool);
  rig_fails(&r, plan_matmul(r.p, v, v, &y, &r.err), &y);
  rig_close(&r);
}

Test(compose, explain_runs_nothing_and_gives_the_reason_of_each_cut) {
  char *text = NULL;
  size_t size = 0;
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = mapn(&r, TSH_OP_add, ramp(&r, DIMS(8, 8)), 1), *y;
  y = fold(&r, TSH_OP_sum, fold(&r, TSH_OP_max, x, 2), 1);
  uint64_t flushes = COUNTER(&r, flushes), kernels = COUNTER(&r, kernels);
  for (int i = 0; i < 2; i++) {
    FILE *out = open_memstream(&text, &size);
    cr_assert_eq(plan_explain(r.p, &y, 1, 0, out, &r.err), TSH_OK);
    fclose(out);
    cr_expect_not_null(strstr(text, "2 launches (3 ops recorded"), "%s", text);
    cr_expect_not_null(strstr(text, cut_text(CUT_AXES)), "%s", text);
    cr_expect_not_null(strstr(text, "on cpu:"), "%s", text);
    free(text);
    cr_expect_not(plan_is_ready(y));
  }
  cr_expect_eq(COUNTER(&r, flushes), flushes);
  cr_expect_eq(COUNTER(&r, kernels), kernels);
  cr_expect_eq(value(&r, y, 0), 8 * 9 / 2 * 8);
  rig_close(&r);
}
