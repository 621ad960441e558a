/* The dtype of every result is known when the op is recorded, and numbers
 * beside tensors count by their value. */
#include <math.h>
#include "rig.h"

static plan_node *of_dtype(rig *r, int dtype) {
  return cast(r, LONGS(r, 0, 1, 1), dtype);
}

static plan_node *two(rig *r, int op, int a, int b) {
  return map2(r, op, of_dtype(r, a), of_dtype(r, b));
}

Test(record, dtypes_of_two_tensors) {
  static const struct {
    int op, a, b, want;
  } t[] = {
      {TSH_OP_add, TSH_f32, TSH_f32, TSH_f32},
      {TSH_OP_add, TSH_i32, TSH_i64, TSH_i64},
      {TSH_OP_mul, TSH_i64, TSH_f32, TSH_f32},
      {TSH_OP_sub, TSH_f64, TSH_i64, TSH_f64},
      {TSH_OP_add, TSH_bool, TSH_i32, TSH_i32},
      {TSH_OP_div, TSH_i32, TSH_i32, TSH_f32},
      {TSH_OP_div, TSH_bool, TSH_bool, TSH_f32},
      {TSH_OP_div, TSH_i64, TSH_f64, TSH_f64},
      {TSH_OP_floordiv, TSH_i32, TSH_i32, TSH_i32},
      {TSH_OP_mod, TSH_i64, TSH_i32, TSH_i64},
      {TSH_OP_pow, TSH_i32, TSH_i32, TSH_i32},
      {TSH_OP_maximum, TSH_bool, TSH_bool, TSH_bool},
      {TSH_OP_bitand, TSH_bool, TSH_bool, TSH_bool},
      {TSH_OP_bitor, TSH_bool, TSH_i32, TSH_i32},
      {TSH_OP_lt, TSH_f32, TSH_i32, TSH_bool},
      {TSH_OP_eq, TSH_bool, TSH_bool, TSH_bool},
      {TSH_OP_logical_and, TSH_f32, TSH_bool, TSH_bool},
      {TSH_OP_copysign, TSH_i32, TSH_i32, TSH_f32},
  };
  rig r;
  rig_open(&r, "cpu");
  for (size_t i = 0; i < sizeof t / sizeof *t; i++)
    cr_expect_eq(plan_dtype_of(two(&r, t[i].op, t[i].a, t[i].b)), t[i].want,
                 "%s of %s and %s", plan_ops[t[i].op].name,
                 plan_dtype_name(t[i].a), plan_dtype_name(t[i].b));
  cr_expect_eq(plan_dtype_of(map1(&r, TSH_OP_exp, of_dtype(&r, TSH_i64))),
               TSH_f32);
  cr_expect_eq(plan_dtype_of(map1(&r, TSH_OP_sqrt, of_dtype(&r, TSH_f64))),
               TSH_f64);
  cr_expect_eq(plan_dtype_of(map1(&r, TSH_OP_floor, of_dtype(&r, TSH_i32))),
               TSH_i32);
  cr_expect_eq(plan_dtype_of(map1(&r, TSH_OP_isnan, of_dtype(&r, TSH_i32))),
               TSH_bool);
  rig_close(&r);
}

Test(record, a_number_takes_the_tensors_dtype) {
  static const struct {
    int dtype, whole, real;
  } t[] = {
      {TSH_f32, TSH_f32, TSH_f32},  {TSH_f64, TSH_f64, TSH_f64},
      {TSH_i32, TSH_i32, TSH_f32},  {TSH_i64, TSH_i64, TSH_f32},
      {TSH_bool, TSH_i64, TSH_f32},
  };
  rig r;
  rig_open(&r, "cpu");
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    plan_node *x = of_dtype(&r, t[i].dtype);
    plan_operand back[2] = {whole(2), operand_of(x)};
    plan_node *y = NULL;
    cr_expect_eq(plan_dtype_of(mapi(&r, TSH_OP_mul, x, 3)), t[i].whole);
    cr_expect_eq(plan_dtype_of(mapn(&r, TSH_OP_mul, x, 3)), t[i].real);
    cr_expect_eq(plan_map(r.p, TSH_OP_sub, back, 2, &y, &r.err), TSH_OK);
    cr_expect_eq(plan_dtype_of(rig_own(&r, TSH_OK, y)), t[i].whole);
    EXPECT(&r, y, 2, 1, 1);
  }
  EXPECT(&r, mapi(&r, TSH_OP_div, LONGS(&r, 7, -7, 0), 2), 3.5, -3.5, 0);
  EXPECT(&r, mapi(&r, TSH_OP_div, LONGS(&r, 7, -7), 0), INFINITY, -INFINITY);
  EXPECT(&r, mapi(&r, TSH_OP_floordiv, LONGS(&r, 7, -7), 2), 3, -4);
  EXPECT(&r, mapi(&r, TSH_OP_mod, LONGS(&r, 7, -7), 3), 1, 2);
  rig_close(&r);
}

/* Recording fails, says `says`, and leaves the trace as it was. */
static void refused(rig *r, int op, plan_operand a, plan_operand b, int n,
                    const char *says) {
  plan_operand in[3] = {a, b, b};
  uint32_t before = r->p->trace.n;
  plan_node *y = NULL;
  rig_fails(r, plan_map(r->p, op, in, n, &y, &r->err), &y);
  cr_expect_not_null(strstr(r->err.text, says), "%s", r->err.text);
  cr_expect_not_null(strstr(r->err.text, plan_ops[op].name), "%s", r->err.text);
  cr_expect_eq(r->p->trace.n, before, "%s left an op", plan_ops[op].name);
}

Test(record, what_has_no_meaning_is_refused) {
  rig r;
  rig_open(&r, "cpu");
  plan_operand b = operand_of(of_dtype(&r, TSH_bool));
  plan_operand i = operand_of(of_dtype(&r, TSH_i32));
  plan_operand f = operand_of(of_dtype(&r, TSH_f32));
  static const int arithmetic[] = {TSH_OP_add, TSH_OP_sub, TSH_OP_mul,
                                   TSH_OP_pow, TSH_OP_mod};
  for (int k = 0; k < 5; k++) refused(&r, arithmetic[k], b, b, 2, "bool");
  refused(&r, TSH_OP_neg, b, b, 1, "bool");
  refused(&r, TSH_OP_abs, b, b, 1, "bool");
  refused(&r, TSH_OP_bitand, f, f, 2, "f32");
  refused(&r, TSH_OP_bitand, f, i, 2, "f32");
  refused(&r, TSH_OP_shl, b, b, 2, "bool");
  refused(&r, TSH_OP_bitnot, f, f, 1, "f32");
  refused(&r, TSH_OP_where, f, i, 3, "f32");
  refused(&r, TSH_OP_where, truth(1), i, 3, "bool");
  refused(&r, TSH_OP_add, i, whole(INT64_C(1) << 31), 2, "2147483648");
  refused(&r, TSH_OP_add, whole(INT64_MIN), i, 2, "-9223372036854775808");
  refused(&r, TSH_OP_pow, i, whole(-1), 2, "negative");
  rig_close(&r);
}

/* ---- comparisons --------------------------------------------------------- */
static int holds(int op, long double a, long double b) {
  switch (op) {
  case TSH_OP_eq:
    return a == b;
  case TSH_OP_ne:
    return a != b;
  case TSH_OP_lt:
    return a < b;
  case TSH_OP_le:
    return a <= b;
  case TSH_OP_gt:
    return a > b;
  default:
    return a >= b;
  }
}

static long double exactly(plan_operand o) {
  return o.kind == PLAN_REAL ? (long double)o.num.f : (long double)o.num.i;
}

/* Every comparison of x with the number, from both sides. */
static void compare(rig *r, plan_node *x, const int64_t *v, int n,
                    plan_operand o) {
  uint32_t mark = r->n;
  for (int op = TSH_OP_eq; op <= TSH_OP_ge; op++)
    for (int side = 0; side < 2; side++) {
      plan_operand in[2] = {operand_of(x), o};
      plan_operand back[2] = {o, operand_of(x)};
      plan_node *y = NULL;
      double want[8];
      tsh_status rc = plan_map(r->p, op, side ? back : in, 2, &y, &r->err);
      rig_own(r, rc, y);
      for (int i = 0; i < n; i++)
        want[i] = side ? holds(op, exactly(o), (long double)v[i])
                       : holds(op, (long double)v[i], exactly(o));
      cr_expect(are(r, y, n, want), "%s %s with %Lg: %s", plan_ops[op].name,
                plan_dtype_name(plan_dtype_of(x)), exactly(o), r->text);
    }
  rig_drop_since(r, mark, NULL);
}

Test(record, integers_are_compared_with_numbers_by_value) {
  static const int64_t small[] = {INT32_MIN, -3, -1, 0, 2, 3, INT32_MAX};
  static const int64_t large[] = {
      INT64_MIN, -(INT64_C(1) << 53) - 1, 0,
      2,         (INT64_C(1) << 53) + 1,  INT64_MAX - 512,
      INT64_MAX};
  static const int64_t bits[] = {0, 1, 1, 0};
  static const int64_t wholes[] = {-1,
                                   0,
                                   1,
                                   2,
                                   INT64_C(1) << 31,
                                   INT64_C(1) << 40,
                                   -(INT64_C(1) << 40),
                                   (INT64_C(1) << 53) + 1,
                                   INT64_MIN,
                                   INT64_MAX};
  static const double reals[] = {2.5,
                                 -2.5,
                                 2,
                                 -0.0,
                                 0.5,
                                 1,
                                 1e300,
                                 -1e300,
                                 0x1p31,
                                 0x1p53,
                                 0x1p63,
                                 -0x1p63,
                                 0x1.fffffffffffffp62,
                                 4e9 + 0.5,
                                 INFINITY,
                                 -INFINITY,
                                 NAN};
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = cast(&r, leaf(&r, TSH_i64, small, DIMS(7)), TSH_i32);
  plan_node *y = leaf(&r, TSH_i64, large, DIMS(7));
  plan_node *b = cast(&r, leaf(&r, TSH_i64, bits, DIMS(4)), TSH_bool);
  for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
    compare(&r, x, small, 7, whole(wholes[i]));
    compare(&r, y, large, 7, whole(wholes[i]));
    compare(&r, b, bits, 4, whole(wholes[i]));
  }
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
    compare(&r, x, small, 7, num(reals[i]));
    compare(&r, y, large, 7, num(reals[i]));
    compare(&r, b, bits, 4, num(reals[i]));
  }
  rig_close(&r);
}

/* ---- where --------------------------------------------------------------- */
static plan_node *where(rig *r, plan_node *c, plan_operand x, plan_operand y) {
  plan_operand in[3] = {operand_of(c), x, y};
  plan_node *z = NULL;
  tsh_status rc = plan_map(r->p, TSH_OP_where, in, 3, &z, &r->err);
  return rig_own(r, rc, z);
}

Test(record, where_takes_a_bool_and_two_operands_of_one_dtype) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *c = leaf(&r, TSH_bool, (uint8_t[]){1, 0, 1}, DIMS(3));
  plan_node *x = FLOATS(&r, 1, 2, 3);
  plan_node *i = cast(&r, LONGS(&r, 7, 8, 9), TSH_i32);
  plan_node *y = where(&r, c, operand_of(x), operand_of(i));
  cr_expect_eq(plan_dtype_of(y), TSH_f32);
  EXPECT(&r, y, 1, 8, 3);
  y = where(&r, c, operand_of(x), num(NAN)); /* selects, does not multiply */
  EXPECT(&r, y, 1, NAN, 3);
  y = where(&r, c, operand_of(i), whole(0));
  cr_expect_eq(plan_dtype_of(y), TSH_i32);
  EXPECT(&r, y, 7, 0, 9);
  y = where(&r, c, whole(1), whole(2));
  cr_expect_eq(plan_dtype_of(y), TSH_i64);
  y = where(&r, c, whole(1), num(2.5));
  cr_expect_eq(plan_dtype_of(y), TSH_f32);
  EXPECT(&r, y, 1, 2.5, 1);
  y = where(&r, c, operand_of(c), truth(1));
  cr_expect_eq(plan_dtype_of(y), TSH_bool);
  y = where(&r, reshape(&r, c, DIMS(3, 1)), operand_of(x), whole(0));
  EXPECT(&r, y, 1, 2, 3, 0, 0, 0, 1, 2, 3);
  rig_close(&r);
}

/* ---- folds --------------------------------------------------------------- */
static void folds_give_wide_integers_and_start_values(void) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *i = cast(&r, LONGS(&r, INT32_MAX, INT32_MAX), TSH_i32);
  plan_node *b = leaf(&r, TSH_bool, (uint8_t[]){1, 0, 1}, DIMS(3));
  plan_node *none = leaf(&r, TSH_f32, NULL, DIMS(2, 0)), *y = NULL;
  EXPECT(&r, fold(&r, TSH_OP_sum, i, 1), 2.0 * INT32_MAX);
  EXPECT(&r, fold(&r, TSH_OP_prod, i, 1), 0x1p62 - 0x1p32 + 1);
  EXPECT(&r, fold(&r, TSH_OP_sum, b, 1), 2);
  cr_expect_eq(plan_dtype_of(fold(&r, TSH_OP_max, i, 1)), TSH_i32);
  cr_expect_eq(plan_dtype_of(fold(&r, TSH_OP_max, b, 1)), TSH_bool);
  EXPECT(&r, fold(&r, TSH_OP_any, FLOATS(&r, 0, -0.0f, NAN), 1), 1);
  EXPECT(&r, fold(&r, TSH_OP_all, FLOATS(&r, 1, 0.25f), 1), 1);
  EXPECT(&r, fold(&r, TSH_OP_all, b, 1), 0);
  EXPECT(&r, fold(&r, TSH_OP_sum, none, 2), 0, 0);
  EXPECT(&r, fold(&r, TSH_OP_prod, none, 2), 1, 1);
  EXPECT(&r, fold(&r, TSH_OP_sum, none, 3), 0);
  cr_expect_eq(plan_shape_of(fold_keep(&r, TSH_OP_sum, none, 2)),
               shape_of(&r, DIMS(2, 1)));
  cr_expect_eq(plan_shape_of(fold(&r, TSH_OP_max, none, 1)),
               shape_of(&r, DIMS(0))); /* no result lacks a value */
  rig_fails(&r, plan_fold(r.p, TSH_OP_max, none, 2, 0, &y, &r.err), &y);
  rig_fails(&r, plan_argfold(r.p, TSH_OP_argmin, none, 1, 0, &y, &r.err), &y);
  EXPECT(&r, fold(&r, TSH_OP_max, FLOATS(&r, 1, NAN, 2), 1), NAN);
  rig_close(&r);
}

static plan_node *argfold(rig *r, int op, plan_node *x, int axis) {
  plan_node *y = NULL;
  tsh_status rc = plan_argfold(r->p, op, x, axis, 0, &y, &r->err);
  return rig_own(r, rc, y);
}

static void positions_are_the_first_and_nan_wins(void) {
  static const float v[] = {1, 5, 5, NAN, 0, NAN};
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = leaf(&r, TSH_f32, v, DIMS(2, 3));
  EXPECT(&r, argfold(&r, TSH_OP_argmax, x, 1), 1, 0);
  EXPECT(&r, argfold(&r, TSH_OP_argmin, x, 1), 0, 0);
  EXPECT(&r, argfold(&r, TSH_OP_argmax, x, 0), 1, 0, 1);
  EXPECT(&r, argfold(&r, TSH_OP_argmin, x, 0), 1, 1, 1);
  EXPECT(&r, argfold(&r, TSH_OP_argmax, x, -1), 3);
  cr_expect_eq(plan_dtype_of(argfold(&r, TSH_OP_argmax, x, 0)), TSH_i64);
  rig_close(&r);
}

Test(record, folds_have_dtypes_and_starts_and_positions) {
  folds_give_wide_integers_and_start_values();
  positions_are_the_first_and_nan_wins();
}

/* ---- creation and casts -------------------------------------------------- */
static void full_refused(rig *r, int dtype, plan_operand v, const char *says) {
  plan_node *y = NULL;
  rig_fails(r,
            plan_full(r->p, r->d, dtype, shape_of(r, SCALAR), &v, &y, &r->err),
            &y);
  cr_expect_not_null(strstr(r->err.text, says), "%s", r->err.text);
}

Test(record, creation_and_casts_are_checked_at_once) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = FLOATS(&r, 1.75f, -1.75f, 3e9f, -INFINITY, NAN), *y = NULL;
  plan_operand one = num(1), two_half = num(2.5);
  cr_expect_eq(cast(&r, x, TSH_f32), x);
  EXPECT(&r, cast(&r, x, TSH_i32), 1, -1, INT32_MAX, INT32_MIN, 0);
  EXPECT(&r, cast(&r, FLOATS(&r, 0, 0.5f, NAN), TSH_bool), 0, 1, 1);
  rig_fails(&r, plan_cast(r.p, x, TSH_NDTYPE, &y, &r.err), &y);
  rig_fails(&r, plan_cast(r.p, x, TSH_c64, &y, &r.err), &y);
  cr_expect_not_null(strstr(r.err.text, "c64"), "%s", r.err.text);
  full_refused(&r, TSH_i32, num(1.5), "1.5");
  full_refused(&r, TSH_i32, whole(INT64_C(1) << 31), "2147483648");
  full_refused(&r, TSH_c64, num(1), "c64");
  rig_fails(&r, plan_arange(r.p, r.d, TSH_i64, &one, &two_half, 3, &y, &r.err),
            &y);
  cr_expect_eq(plan_arange(r.p, r.d, 0, &one, &two_half, 3, &y, &r.err),
               TSH_OK);
  EXPECT(&r, rig_own(&r, TSH_OK, y), 1, 3.5, 6);
  one = whole(10);
  two_half = whole(-3);
  cr_expect_eq(plan_arange(r.p, r.d, 0, &one, &two_half, 4, &y, &r.err),
               TSH_OK);
  cr_expect_eq(plan_dtype_of(rig_own(&r, TSH_OK, y)), TSH_i64);
  EXPECT(&r, y, 10, 7, 4, 1);
  rig_close(&r);
}
