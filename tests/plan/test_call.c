/* CALL ops: what their results are, what is refused, and how the planner cuts
 * around them. Expected numbers are worked out here or by PyTorch (golden). */
#include <math.h>
#include "rig.h"

static const char *const devices[] = {"cpu", "opaque"};

static plan_node *take(rig *r, plan_node *x, plan_node *at, int axis) {
  plan_node *y = NULL;
  tsh_status rc = plan_take(r->p, x, at, axis, &y, &r->err);
  return rig_own(r, rc, y);
}

static plan_node *index_add(rig *r, plan_node *x, plan_node *at, plan_node *v,
                            int axis) {
  plan_node *y = NULL;
  tsh_status rc = plan_index_add(r->p, x, at, v, axis, &y, &r->err);
  return rig_own(r, rc, y);
}

Test(call, positions_are_taken_added_to_and_made_columns) {
  for (int d = 0; d < 2; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *x = ramp(&r, DIMS(2, 3)), *at = LONGS(&r, 2, 0, 2), *y = NULL;
    EXPECT(&r, take(&r, x, at, 1), 2, 0, 2, 5, 3, 5);
    y = take(&r, x, reshape(&r, LONGS(&r, 1, 0), DIMS(2, 1)), 0);
    cr_expect_eq(plan_shape_of(y), shape_of(&r, DIMS(2, 1, 3)));
    EXPECT(&r, y, 3, 4, 5, 0, 1, 2);
    y = index_add(&r, x, at, full(&r, 10, DIMS(2, 3)), 1);
    EXPECT(&r, y, 10, 1, 22, 13, 4, 25); /* twice at position 2 */
    EXPECT(&r, x, 0, 1, 2, 3, 4, 5);
    cr_assert_eq(plan_one_hot(r.p, at, 3, TSH_f32, &y, &r.err), TSH_OK);
    EXPECT(&r, rig_own(&r, TSH_OK, y), 0, 0, 1, 1, 0, 0, 0, 0, 1);
    cr_expect_eq(demand(&r, take(&r, x, LONGS(&r, 0, 3), 1), 0), TSH_EINDEX);
    cr_expect_eq(demand(&r, take(&r, x, LONGS(&r, -1), 0), 0), TSH_EINDEX);
    y = index_add(&r, x, LONGS(&r, 5), full(&r, 1, DIMS(2, 1)), 1);
    cr_expect_eq(demand(&r, y, 0), TSH_EINDEX);
    rig_fails(&r, plan_take(r.p, x, x, 0, &y, &r.err), &y);
    rig_fails(&r, plan_take(r.p, x, at, 2, &y, &r.err), &y);
    rig_fails(&r, plan_index_add(r.p, x, at, x, 0, &y, &r.err), &y);
    rig_fails(&r, plan_one_hot(r.p, at, 0, TSH_f32, &y, &r.err), &y);
    rig_close(&r);
  }
}

static plan_node *put(rig *r, int op, plan_node *x, plan_node *at, plan_node *v,
                      int axis) {
  plan_node *y = NULL;
  tsh_status rc = plan_index_put(r->p, op, x, at, v, axis, &y, &r->err);
  return rig_own(r, rc, y);
}

Test(call, values_put_at_equal_positions_come_one_after_the_other) {
  for (int d = 0; d < 2; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *x = ramp(&r, DIMS(2, 3)), *at = LONGS(&r, 2, 0, 2), *y;
    plan_node *v = reshape(&r, FLOATS(&r, 5, 6, 7, 8, 9, 1), DIMS(2, 3));
    EXPECT(&r, put(&r, TSH_OP_index_set, x, at, v, 1), 6, 1, 7, 9, 4, 1);
    EXPECT(&r, put(&r, TSH_OP_index_mul, x, at, v, 1), 0, 1, 70, 27, 4, 40);
    EXPECT(&r, put(&r, TSH_OP_index_max, x, at, v, 1), 6, 1, 7, 9, 4, 8);
    EXPECT(&r, put(&r, TSH_OP_index_min, x, at, v, 1), 0, 1, 2, 3, 4, 1);
    y = put(&r, TSH_OP_index_set, x, LONGS(&r, 0, 0),
            mapn(&r, TSH_OP_add, x, 10), 0);
    EXPECT(&r, y, 13, 14, 15, 3, 4, 5);
    y = put(&r, TSH_OP_index_set, cast(&r, x, TSH_bool), at,
            full(&r, 0, DIMS(2, 3)), 1);
    EXPECT(&r, y, 0, 1, 0, 0, 1, 0);
    EXPECT(&r, x, 0, 1, 2, 3, 4, 5);
    rig_close(&r);
  }
}

Test(call, what_cannot_be_put_is_refused_and_names_the_method) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(4)), *v = FLOATS(&r, 5, 5), *y = NULL;
  plan_node *truth = cast(&r, x, TSH_bool);
  y = put(&r, TSH_OP_index_set, x, LONGS(&r, 1, 9), v, 0);
  cr_expect_eq(demand(&r, y, 0), TSH_EINDEX);
  cr_expect_not_null(strstr(r.err.text, "set: a position is outside"));
  for (int op = TSH_OP_index_mul; op <= TSH_OP_index_min; op++) {
    rig_fails(&r,
              plan_index_put(r.p, op, truth, LONGS(&r, 1, 2), v, 0, &y, &r.err),
              &y);
    rig_fails(&r, plan_index_put(r.p, op, x, v, v, 0, &y, &r.err), &y);
    rig_fails(&r, plan_index_put(r.p, op, x, LONGS(&r, 1), v, 0, &y, &r.err),
              &y);
  }
  rig_close(&r);
}

/* ---- gather, scatter_add ------------------------------------------------ */
static plan_node *gather(rig *r, plan_node *x, plan_node *at, int axis) {
  plan_node *y = NULL;
  tsh_status rc = plan_gather(r->p, x, at, axis, &y, &r->err);
  return rig_own(r, rc, y);
}

static plan_node *scatter(rig *r, plan_node *x, plan_node *at, plan_node *v,
                          int axis) {
  plan_node *y = NULL;
  tsh_status rc = plan_scatter_add(r->p, x, at, v, axis, &y, &r->err);
  return rig_own(r, rc, y);
}

Test(call, elements_are_gathered_and_added_one_by_one) {
  for (int d = 0; d < 2; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *x = ramp(&r, DIMS(2, 3)), *at, *y;
    at = reshape(&r, LONGS(&r, 2, 2, 0, 1), DIMS(2, 2));
    EXPECT(&r, gather(&r, x, at, 1), 2, 2, 3, 4);
    EXPECT(&r, gather(&r, transpose(&r, x), at, 0), 2, 5, 0, 4);
    y = gather(&r, x, reshape(&r, LONGS(&r, 1, 0, 1), DIMS(1, 3)), 0);
    EXPECT(&r, y, 3, 1, 5); /* fewer rows and columns than x has */
    at = cast(&r, at, TSH_i32);
    y = scatter(&r, x, at, full(&r, 10, DIMS(2, 2)), 1);
    EXPECT(&r, y, 0, 1, 22, 13, 14, 5); /* twice at the same place */
    EXPECT(&r, x, 0, 1, 2, 3, 4, 5);
    /* What is read or added may be computed, and used in a kernel. */
    y = mapn(&r, TSH_OP_mul, gather(&r, mapn(&r, TSH_OP_add, x, 1), at, 1), 2);
    EXPECT(&r, y, 6, 6, 8, 10);
    rig_close(&r);
  }
}

Test(call, nothing_gathered_or_added_needs_no_launch) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(2, 3)), *none, *y;
  none = leaf(&r, TSH_i64, "", DIMS(2, 0));
  y = gather(&r, x, none, 1);
  cr_expect_eq(plan_shape_of(y)->count, 0);
  cr_expect_eq(demand(&r, y, 0), TSH_OK);
  y = scatter(&r, x, none, leaf(&r, TSH_f32, "", DIMS(2, 0)), 1);
  EXPECT(&r, y, 0, 1, 2, 3, 4, 5);
  cr_expect_eq(plan_op_runs(r.p, TSH_OP_gather, 0), 0);
  cr_expect_eq(plan_op_runs(r.p, TSH_OP_scatter_add, 0), 0);
  rig_close(&r);
}

static void expect_text(rig *r, const char *text) {
  cr_expect_str_eq(r->err.text, text, "%s", r->err.text);
}

Test(call, what_does_not_fit_is_refused_in_one_sentence) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(2, 3)), *at = LONGS(&r, 0), *y = NULL;
  plan_node *one = full(&r, 1, SCALAR), *wide, *truth_;
  plan *p = r.p;
  tsh_err *err = &r.err;
  rig_fails(&r, plan_gather(p, x, at, 0, &y, err), &y);
  expect_text(&r, "gather: positions [1] must have as many axes as x [2,3]");
  rig_fails(&r, plan_gather(p, x, x, 0, &y, err), &y);
  expect_text(&r, "gather: positions must be integers, got f32");
  wide = reshape(&r, LONGS(&r, 0, 0, 0), DIMS(3, 1));
  rig_fails(&r, plan_gather(p, x, wide, 1, &y, err), &y);
  expect_text(&r,
              "gather: positions [3,1] are larger than x [2,3] along axis 1");
  rig_fails(&r, plan_gather(p, ramp(&r, DIMS(0, 3)), wide, 0, &y, err), &y);
  expect_text(&r, "gather: axis 1 has no element");
  cr_expect_eq(r.err.code, TSH_EINDEX);
  rig_fails(&r, plan_scatter_add(p, x, wide, x, 0, &y, err), &y);
  expect_text(&r, "scatter_add: the values are [2,3], not [3,1]");
  truth_ = cast(&r, x, TSH_bool);
  rig_fails(&r, plan_scatter_add(p, truth_, wide, x, 0, &y, err), &y);
  expect_text(&r, "scatter_add: there is no scatter_add of bool");
  rig_fails(&r, plan_sort(p, one, 0, 0, &y, err), &y);
  expect_text(&r, "sort: a 0-d tensor has no axis");
  rig_fails(&r, plan_argsort(p, x, 2, 0, &y, err), &y);
  expect_text(&r, "argsort: no axis 3 in 2 axes");
  rig_fails(&r, plan_argtopk(p, x, 1, 4, 1, &y, err), &y);
  expect_text(&r, "topk: k is 4, axis 2 has 3 elements");
  rig_fails(&r, plan_argtopk(p, x, 1, -1, 1, &y, err), &y);
  rig_fails(&r, plan_scan(p, TSH_OP_cumsum, one, 0, &y, err), &y);
  expect_text(&r, "cumsum: a 0-d tensor has no axis");
  rig_fails(&r, plan_nonzero(p, x, 3, &y, err), &y);
  expect_text(&r, "nonzero: the mask must be bool, got f32");
  rig_fails(&r, plan_nonzero(p, truth_, -3, &y, err), &y);
  rig_close(&r);
}

Test(call, a_position_outside_fails_its_result_and_no_other) {
  for (int d = 0; d < 2; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *x = ramp(&r, DIMS(2, 3)), *at, *bad, *sum, *good;
    at = reshape(&r, LONGS(&r, 2, 1, 3, 0), DIMS(2, 2));
    bad = gather(&r, x, at, 1);
    sum = scatter(&r, x, at, full(&r, 1, DIMS(2, 2)), 1);
    good = mapn(&r, TSH_OP_mul, x, 2);
    cr_expect_eq(demand(&r, bad, 0), TSH_EINDEX);
    expect_text(&r, "gather: a position is outside of the axis (element 3)");
    cr_expect_eq(demand(&r, sum, 0), TSH_EINDEX);
    expect_text(&r,
                "scatter_add: a position is outside of the axis (element 3)");
    EXPECT(&r, good, 0, 2, 4, 6, 8, 10);
    EXPECT(&r, x, 0, 1, 2, 3, 4, 5);
    rig_close(&r);
  }
}

/* The old value is dropped, and would be updated in place, could scatter_add
 * not fail. */
Test(call, a_scatter_add_that_fails_has_overwritten_nothing) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(4)), *twice = mapn(&r, TSH_OP_mul, x, 2), *y;
  y = scatter(&r, x, LONGS(&r, 1, 9), FLOATS(&r, 5, 5), 0);
  rig_drop(&r, x);
  cr_expect_eq(demand(&r, y, PLAN_EXACT), TSH_EINDEX);
  EXPECT(&r, twice, 0, 2, 4, 6);
  rig_close(&r);
}

/* ---- order -------------------------------------------------------------- */
static plan_node *sort(rig *r, plan_node *x, int axis, int down) {
  plan_node *y = NULL;
  tsh_status rc = plan_sort(r->p, x, axis, down, &y, &r->err);
  return rig_own(r, rc, y);
}

static plan_node *argsort(rig *r, plan_node *x, int axis, int down) {
  plan_node *y = NULL;
  tsh_status rc = plan_argsort(r->p, x, axis, down, &y, &r->err);
  return rig_own(r, rc, y);
}

static plan_node *argtopk(rig *r, plan_node *x, int axis, int64_t k,
                          int largest) {
  plan_node *y = NULL;
  tsh_status rc = plan_argtopk(r->p, x, axis, k, largest, &y, &r->err);
  return rig_own(r, rc, y);
}

Test(call, sorting_is_stable_both_ways_and_nan_is_the_largest) {
  for (int d = 0; d < 2; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *x = FLOATS(&r, 0.0f, NAN, -1, -0.0f, INFINITY, NAN, 2), *y;
    EXPECT(&r, sort(&r, x, 0, 0), -1, 0.0, -0.0, 2, INFINITY, NAN, NAN);
    EXPECT(&r, sort(&r, x, 0, 1), NAN, NAN, INFINITY, 2, 0.0, -0.0, -1);
    EXPECT(&r, argsort(&r, x, 0, 0), 2, 0, 3, 6, 4, 1, 5);
    EXPECT(&r, argsort(&r, x, 0, 1), 1, 5, 4, 6, 0, 3, 2);
    EXPECT(&r, argtopk(&r, x, 0, 3, 1), 1, 5, 4);
    EXPECT(&r, argtopk(&r, x, 0, 3, 0), 2, 0, 3);
    y = argsort(&r, x, 0, 0);
    cr_expect_eq(plan_dtype_of(y), TSH_i64);
    y = reshape(&r, LONGS(&r, 3, 1, 2, 1, 3, 2), DIMS(2, 3));
    EXPECT(&r, sort(&r, y, 0, 0), 1, 1, 2, 3, 3, 2);
    EXPECT(&r, sort(&r, transpose(&r, y), 0, 1), 3, 3, 2, 2, 1, 1);
    EXPECT(&r, argtopk(&r, y, 1, 1, 0), 1, 0);
    rig_close(&r);
  }
}

Test(call, empty_axes_have_empty_results) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(3, 0)), *y = NULL;
  cr_expect_eq(demand(&r, sort(&r, x, 1, 0), 0), TSH_OK);
  cr_expect_eq(demand(&r, argsort(&r, x, 0, 1), 0), TSH_OK);
  y = argtopk(&r, ramp(&r, DIMS(3)), 0, 0, 1);
  cr_expect_eq(plan_shape_of(y), shape_of(&r, DIMS(0)));
  cr_expect_eq(demand(&r, y, 0), TSH_OK);
  y = NULL;
  cr_assert_eq(plan_scan(r.p, TSH_OP_cumprod, x, 1, &y, &r.err), TSH_OK);
  cr_expect_eq(demand(&r, rig_own(&r, TSH_OK, y), 0), TSH_OK);
  y = NULL;
  cr_assert_eq(plan_nonzero(r.p, cast(&r, x, TSH_bool), 2, &y, &r.err), TSH_OK);
  EXPECT(&r, rig_own(&r, TSH_OK, y), 0, 0);
  rig_close(&r);
}

/* ---- scans, nonzero ----------------------------------------------------- */
static plan_node *scan(rig *r, int op, plan_node *x, int axis) {
  plan_node *y = NULL;
  tsh_status rc = plan_scan(r->p, op, x, axis, &y, &r->err);
  return rig_own(r, rc, y);
}

Test(call, scans_run_along_an_axis_in_the_dtype_of_sums) {
  for (int d = 0; d < 2; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *x = mapn(&r, TSH_OP_add, ramp(&r, DIMS(2, 3)), 1), *y;
    EXPECT(&r, scan(&r, TSH_OP_cumsum, x, 1), 1, 3, 6, 4, 9, 15);
    EXPECT(&r, scan(&r, TSH_OP_cumsum, x, 0), 1, 2, 3, 5, 7, 9);
    EXPECT(&r, scan(&r, TSH_OP_cumprod, x, 1), 1, 2, 6, 4, 20, 120);
    y = scan(&r, TSH_OP_cumsum, cast(&r, LONGS(&r, 1, 0, 1, 1), TSH_bool), 0);
    cr_expect_eq(plan_dtype_of(y), TSH_i64);
    EXPECT(&r, y, 1, 1, 2, 3);
    y = cast(&r, LONGS(&r, INT32_MAX, 1), TSH_i32);
    EXPECT(&r, scan(&r, TSH_OP_cumsum, y, 0), INT32_MAX, 2147483648.0);
    EXPECT(&r, scan(&r, TSH_OP_cumsum, FLOATS(&r, -0.0f, -0.0f), 0), -0.0,
           -0.0);
    rig_close(&r);
  }
}

/* 17 elements: a block of 16, then one after it. In row order 1e8 would take
 * away the ones; the blocks add neighbours first. */
Test(call, float_scans_add_in_the_order_of_the_table) {
  float host[17], e[16];
  rig r;
  rig_open(&r, "cpu");
  for (int i = 0; i < 17; i++) host[i] = i == 0 ? 1e8f : i % 3 ? 3 : -2.5f;
  memcpy(e, host, sizeof e);
  for (int k = 1; k < 16; k *= 2)
    for (int i = 15; i >= k; i--) e[i] = e[i - k] + e[i];
  plan_node *x = leaf(&r, TSH_f32, host, DIMS(17));
  plan_node *y = scan(&r, TSH_OP_cumsum, x, 0);
  for (int i = 0; i < 16; i++) cr_expect_eq(value(&r, y, i), e[i]);
  cr_expect_eq(value(&r, y, 16), e[15] + host[16]);
  rig_close(&r);
}

Test(call, nonzero_gives_the_first_n_positions_and_then_0) {
  for (int d = 0; d < 2; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *x = cast(
        &r, reshape(&r, LONGS(&r, 0, 1, 1, 0, 1, 0), DIMS(2, 3)), TSH_bool);
    for (int64_t n = 0; n < 5; n++) {
      static const double want[] = {1, 2, 4, 0};
      plan_node *y = NULL;
      tsh_status rc = plan_nonzero(r.p, x, n, &y, &r.err);
      rig_own(&r, rc, y);
      cr_expect(are(&r, y, (int)n, want), "%s", r.text);
    }
    plan_node *y = NULL;
    tsh_status rc = plan_nonzero(r.p, transpose(&r, x), 3, &y, &r.err);
    EXPECT(&r, rig_own(&r, rc, y), 2, 3, 4);
    rig_close(&r);
  }
}

/* ---- plans -------------------------------------------------------------- */
Test(call, equal_calls_are_one_and_other_attributes_are_others) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = FLOATS(&r, 3, 1, 2), *all[4];
  all[0] = sort(&r, x, 0, 0);
  all[1] = sort(&r, x, 0, 0);
  all[2] = sort(&r, x, 0, 1);
  all[3] = argtopk(&r, x, 0, 1, 1);
  cr_expect_eq(launches_of(&r, all, 4), 3);
  EXPECT(&r, all[1], 1, 2, 3);
  EXPECT(&r, all[2], 3, 2, 1);
  EXPECT(&r, all[3], 0);
  /* A plan is found again only for the same attributes. */
  uint64_t hits = COUNTER(&r, plan_hits);
  EXPECT(&r, sort(&r, x, 0, 0), 1, 2, 3);
  EXPECT(&r, sort(&r, x, 0, 1), 3, 2, 1);
  EXPECT(&r, argtopk(&r, x, 0, 1, 1), 0);
  EXPECT(&r, argtopk(&r, x, 0, 1, 0), 1);
  EXPECT(&r, argtopk(&r, x, 0, 2, 0), 1, 2);
  cr_expect_eq(COUNTER(&r, plan_hits), hits);
  EXPECT(&r, sort(&r, x, 0, 1), 3, 2, 1);
  cr_expect_eq(COUNTER(&r, plan_hits), hits + 1);
  rig_close(&r);
}

Test(call, records_tell_axis_and_direction) {
  rig r;
  rig_open(&r, "cpu");
  plan_record rec;
  plan_node *x = ramp(&r, DIMS(2, 3));
  plan_record_of(sort(&r, x, 1, 1), &rec);
  cr_expect(rec.op == TSH_OP_sort && rec.axes == 1 && rec.keep == 1);
  plan_record_of(scan(&r, TSH_OP_cumprod, x, 0), &rec);
  cr_expect(rec.op == TSH_OP_cumprod && rec.axes == 0 && rec.n == 1);
  rig_close(&r);
}

Test(call, explain_says_why_kernels_end_at_a_call) {
  char *text = NULL;
  size_t size = 0;
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = mapn(&r, TSH_OP_add, ramp(&r, DIMS(8)), 1), *y;
  y = mapn(&r, TSH_OP_mul, sort(&r, x, 0, 1), 2);
  FILE *out = open_memstream(&text, &size);
  cr_assert_eq(plan_explain(r.p, &y, 1, 0, out, &r.err), TSH_OK);
  fclose(out);
  cr_expect_not_null(strstr(text, "call_2"), "%s", text);
  cr_expect_not_null(strstr(text, cut_text(CUT_CALL)), "%s", text);
  cr_expect_not_null(strstr(text, cut_text(CUT_CALLED)), "%s", text);
  free(text);
  rig_close(&r);
}
