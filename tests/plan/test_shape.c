/* Shapes are interned and bounded, broadcasting is NumPy's, and one table says
 * which dtype two tensors have in common. */
#include "rig.h"

static void equal_extents_are_one_pointer(void) {
  const plan_shape *s[300];
  rig r;
  rig_open(&r, "cpu");
  for (int64_t i = 0; i < 300; i++) s[i] = shape_of(&r, DIMS(i, 3, i % 7));
  for (int64_t i = 0; i < 300; i++) {
    cr_expect_eq(shape_of(&r, DIMS(i, 3, i % 7)), s[i]);
    cr_expect_neq(shape_of(&r, DIMS(i, 3, i % 7, 1)), s[i]);
    cr_expect_eq(s[i]->count, i * 3 * (i % 7));
  }
  cr_expect_eq(shape_of(&r, SCALAR)->count, 1);
  cr_expect_eq(shape_of(&r, SCALAR), shape_of(&r, SCALAR));
  rig_close(&r);
}

/* A refused shape, with what the message must hold. */
static void refused(rig *r, const char *says, int rank, const int64_t *dim) {
  cr_expect_null(plan_shape_get(r->p, rank, dim, &r->err));
  cr_expect_eq(r->err.code, TSH_EINVAL);
  cr_expect_not_null(strstr(r->err.text, says), "%s", r->err.text);
}

static void products_that_wrap_are_refused(void) {
  const int64_t big = INT64_C(1) << 31, huge = INT64_C(1) << 62;
  rig r;
  rig_open(&r, "cpu");
  cr_expect_eq(shape_of(&r, DIMS(big, big / 2))->count, huge / 2);
  cr_expect_eq(shape_of(&r, DIMS(huge, 0, huge))->count, 0);
  refused(&r, "4294967296", DIMS(2 * big, 2 * big)); /* 2^64 */
  refused(&r, "4611686018427387904", DIMS(huge, huge, 2));
  refused(&r, "-1", DIMS(3, -1));
  refused(&r, "-1", DIMS(0, -1));
  refused(&r, "9", 9, (int64_t[9]){1, 1, 1, 1, 1, 1, 1, 1, 1});
  rig_close(&r);
}

Test(shape, extents_are_interned_and_checked) {
  equal_extents_are_one_pointer();
  products_that_wrap_are_refused();
}

Test(shape, broadcasting_is_numpys) {
  static const struct {
    int ra, rb, r; /* r: -1 they do not meet */
    int64_t a[3], b[3], want[3];
  } t[] = {
      {1, 1, 1, {3}, {3}, {3}},
      {1, 1, 1, {3}, {1}, {3}},
      {2, 1, 2, {4, 1}, {3}, {4, 3}},
      {0, 2, 2, {0}, {2, 3}, {2, 3}},
      {2, 2, 2, {0, 1}, {1, 5}, {0, 5}},
      {1, 1, 1, {0}, {1}, {0}},
      {3, 1, 3, {2, 1, 4}, {1}, {2, 1, 4}},
      {1, 1, -1, {3}, {4}, {0}},
      {1, 1, -1, {0}, {2}, {0}},
      {2, 2, -1, {2, 3}, {3, 2}, {0}},
  };
  rig r;
  rig_open(&r, "cpu");
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    const plan_shape *a = shape_of(&r, t[i].ra, t[i].a);
    const plan_shape *b = shape_of(&r, t[i].rb, t[i].b);
    const plan_shape *s = shape_broadcast(r.p, "add", a, b, &r.err);
    const plan_shape *u = shape_broadcast(r.p, "add", b, a, NULL);
    cr_expect_eq(s, u, "case %zu", i);
    if (t[i].r < 0)
      cr_expect_null(s, "case %zu", i);
    else
      cr_expect_eq(s, shape_of(&r, t[i].r, t[i].want), "case %zu", i);
  }
  rig_close(&r);
}

Test(shape, an_error_names_both_shapes_and_the_extents) {
  plan_node *y;
  rig r;
  rig_open(&r, "cpu");
  plan_operand in[2] = {operand_of(ramp(&r, DIMS(2, 3))),
                        operand_of(ramp(&r, DIMS(4, 3)))};
  rig_fails(&r, plan_map(r.p, TSH_OP_add, in, 2, &y, &r.err), &y);
  cr_expect_not_null(strstr(r.err.text, "add"), "%s", r.err.text);
  cr_expect_not_null(strstr(r.err.text, "[2,3]"), "%s", r.err.text);
  cr_expect_not_null(strstr(r.err.text, "[4,3]"), "%s", r.err.text);
  cr_expect_not_null(strstr(r.err.text, "2 and 4"), "%s", r.err.text);
  rig_fails(&r, plan_matmul(r.p, in[0].node, in[1].node, &y, &r.err), &y);
  cr_expect_not_null(strstr(r.err.text, "3 and 4"), "%s", r.err.text);
  rig_fails(
      &r, plan_reshape(r.p, in[0].node, shape_of(&r, DIMS(5)), &y, &r.err), &y);
  cr_expect_not_null(strstr(r.err.text, "[2,3]"), "%s", r.err.text);
  cr_expect_not_null(strstr(r.err.text, "[5]"), "%s", r.err.text);
  rig_close(&r);
}

/* Rows and columns: bool u8 i8 i16 i32 i64 f16 bf16 f32 f64, as NumPy for
 * integers, and as JAX for a float beside an integer: the float's dtype. */
static void the_promotion_table(void) {
  enum { B = TSH_bool, U8 = TSH_u8, I8 = TSH_i8, I16 = TSH_i16, I32 = TSH_i32 };
  enum { I64 = TSH_i64, F16 = TSH_f16, BF = TSH_bf16, F32 = TSH_f32 };
  enum { F64 = TSH_f64 };
  static const uint8_t row[10] = {B, U8, I8, I16, I32, I64, F16, BF, F32, F64};
  static const uint8_t want[10][10] = {
      {B, U8, I8, I16, I32, I64, F16, BF, F32, F64},
      {U8, U8, I16, I16, I32, I64, F16, BF, F32, F64},
      {I8, I16, I8, I16, I32, I64, F16, BF, F32, F64},
      {I16, I16, I16, I16, I32, I64, F16, BF, F32, F64},
      {I32, I32, I32, I32, I32, I64, F16, BF, F32, F64},
      {I64, I64, I64, I64, I64, I64, F16, BF, F32, F64},
      {F16, F16, F16, F16, F16, F16, F16, F32, F32, F64},
      {BF, BF, BF, BF, BF, BF, F32, BF, F32, F64},
      {F32, F32, F32, F32, F32, F32, F32, F32, F32, F64},
      {F64, F64, F64, F64, F64, F64, F64, F64, F64, F64},
  };
  for (int i = 0; i < 10; i++)
    for (int j = 0; j < 10; j++)
      cr_expect_eq(plan_promote(row[i], row[j]), want[i][j], "%s %s",
                   plan_dtype_name(row[i]), plan_dtype_name(row[j]));
  cr_expect_eq(plan_promote(TSH_u32, TSH_i32), TSH_i64);
  cr_expect_eq(plan_promote(TSH_i16, TSH_u16), TSH_i32);
  cr_expect_eq(plan_promote(TSH_u64, TSH_i8), TSH_f64);
  cr_expect_eq(plan_promote(TSH_c64, TSH_f32), TSH_c64);
  cr_expect_eq(plan_promote(0, TSH_f32), 0);
  cr_expect_eq(plan_promote(TSH_f32, TSH_NDTYPE), 0);
}

static void dtypes_are_found_by_name(void) {
  static const char *const name[] = {"bool", "i8",  "i16", "i32", "i64",
                                     "u8",   "u16", "u32", "u64", "f16",
                                     "bf16", "f32", "f64", "c64"};
  static const uint32_t bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8};
  for (int i = 0; i < 14; i++) {
    int dtype = plan_dtype_find(name[i]);
    cr_expect_str_eq(plan_dtype_name(dtype), name[i]);
    cr_expect_eq(plan_dtype_bytes(dtype), bytes[i], "%s", name[i]);
  }
  cr_expect_eq(plan_dtype_find("float"), 0);
  cr_expect_eq(plan_dtype_find(""), 0);
  cr_expect_eq(plan_dtype_bytes(-1), 0);
  cr_expect_eq(plan_dtype_bytes(TSH_NDTYPE), 0);
}

Test(shape, dtypes_are_named_and_promoted_by_one_table) {
  the_promotion_table();
  dtypes_are_found_by_name();
}
