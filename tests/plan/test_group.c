/* How many kernels? What one kernel can hold is one launch; a device with one
 * pass per kernel gets as many as there are passes. */
#include <math.h>
#include "rig.h"

#define DEVICES 3
static const char *const devices[DEVICES] = {"cpu", "example", "opaque"};

typedef plan_node *(*build)(rig *r);

/* Builds on every device, drops all but the result and counts launches. */
static void counts(const char *what, build f, uint64_t phased, uint64_t single,
                   double first) {
  for (int d = 0; d < DEVICES; d++) {
    rig r;
    rig_open(&r, devices[d]);
    plan_node *y = f(&r);
    rig_drop_since(&r, 0, y);
    cr_expect_eq(LAUNCHES(&r, y), d == 2 ? single : phased, "%s on %s", what,
                 devices[d]);
    cr_expect_float_eq(value(&r, y, 0), first, 1e-5, "%s on %s: %.9g", what,
                       devices[d], value(&r, y, 0));
    rig_close(&r);
  }
}

/* ---- elementwise --------------------------------------------------------- */
static plan_node *ten_ops(rig *r) {
  plan_node *x = ramp(r, DIMS(40, 30));
  for (int i = 0; i < 10; i++)
    x = i & 1 ? map1(r, TSH_OP_relu, x) : mapn(r, TSH_OP_add, x, i);
  return x;
}

static plan_node *pairwise(rig *r) {
  plan_node *u = mapn(r, TSH_OP_add, ramp(r, DIMS(30)), 1);
  return map2(r, TSH_OP_sub, reshape(r, u, DIMS(30, 1)),
              reshape(r, u, DIMS(1, 30)));
}

static plan_node *pairwise_of_ready(rig *r) {
  plan_node *u = ramp(r, DIMS(30));
  return map2(r, TSH_OP_sub, reshape(r, u, DIMS(30, 1)),
              reshape(r, u, DIMS(1, 30)));
}

static plan_node *distances(rig *r) {
  return fold(r, TSH_OP_sum, map1(r, TSH_OP_square, pairwise_of_ready(r)), 2);
}

static plan_node *transposed_chain(rig *r) {
  plan_node *x = mapn(r, TSH_OP_add, ramp(r, DIMS(8, 6)), 1);
  return mapn(r, TSH_OP_mul, transpose(r, x), 3);
}

static plan_node *reshaped_chain(rig *r) {
  plan_node *x = mapn(r, TSH_OP_add, ramp(r, DIMS(8, 6)), 1);
  x = reshape(r, mapn(r, TSH_OP_mul, x, 2), DIMS(4, 12));
  return mapn(r, TSH_OP_mul, x, 3);
}

Test(group, elementwise_chains_are_one_kernel) {
  counts("ten ops", ten_ops, 1, 1, 20); /* 0 + 2 + 4 + 6 + 8 */
  counts("a transposed chain", transposed_chain, 1, 1, 3);
  counts("a reshaped chain", reshaped_chain, 1, 1, 6);
  counts("u[:,None] - u[None,:]", pairwise_of_ready, 1, 1, 0);
  /* Computed values are written once, then read in two ways. */
  counts("the same of a computed u", pairwise, 2, 2, 0);
  counts("its squares summed", distances, 1, 1, 29 * 30 * 59 / 6.);
}

/* ---- rows ---------------------------------------------------------------- */
static plan_node *softmax(rig *r) {
  plan_node *x = mapn(r, TSH_OP_mul, ramp(r, DIMS(20, 2)), 0), *y = NULL;
  tsh_status rc = plan_softmax(r->p, x, 1, &y, &r->err);
  return rig_own(r, rc, y);
}

static plan_node *log_softmax(rig *r) {
  plan_node *x = mapn(r, TSH_OP_mul, ramp(r, DIMS(20, 2)), 0), *y = NULL;
  tsh_status rc = plan_log_softmax(r->p, x, 1, &y, &r->err);
  return rig_own(r, rc, y);
}

static plan_node *layer_norm(rig *r) {
  plan_node *x = ramp(r, DIMS(20, 4)), *m = NULL, *v = NULL;
  tsh_status rc = plan_mean(r->p, x, 2, 1, &m, &r->err);
  rig_own(r, rc, m);
  rc = plan_var(r->p, x, 2, 1, 0, &v, &r->err);
  rig_own(r, rc, v);
  v = map1(r, TSH_OP_rsqrt, mapn(r, TSH_OP_add, v, 0.75));
  v = map2(r, TSH_OP_mul, map2(r, TSH_OP_sub, x, m), v);
  v = map2(r, TSH_OP_mul, v, full(r, 2, DIMS(4)));
  return map2(r, TSH_OP_add, v, full(r, 1, DIMS(4)));
}

static plan_node *mean_of_map(rig *r) {
  plan_node *y = NULL;
  tsh_status rc = plan_mean(r->p, mapn(r, TSH_OP_add, ramp(r, DIMS(6, 5)), 1),
                            2, 0, &y, &r->err);
  rig_own(r, rc, y);
  return mapn(r, TSH_OP_mul, y, 2);
}

static plan_node *whole_sum(rig *r) {
  return fold(r, TSH_OP_sum, mapn(r, TSH_OP_add, ramp(r, DIMS(5, 4)), 1), 3);
}

static plan_node *two_folds(rig *r) {
  plan_node *x = mapn(r, TSH_OP_add, ramp(r, DIMS(5, 4)), 1);
  return map2(r, TSH_OP_sub, fold(r, TSH_OP_max, x, 2),
              fold(r, TSH_OP_sum, x, 2));
}

static plan_node *two_folds_of_ready(rig *r) {
  plan_node *x = ramp(r, DIMS(5, 4));
  return map2(r, TSH_OP_sub, fold(r, TSH_OP_max, x, 2),
              fold(r, TSH_OP_sum, x, 2));
}

static plan_node *folds_of_other_axes(rig *r) {
  plan_node *x = mapn(r, TSH_OP_add, ramp(r, DIMS(5, 4)), 0);
  return fold(r, TSH_OP_sum, fold(r, TSH_OP_max, x, 2), 1);
}

Test(group, reductions_take_what_is_before_and_after_them) {
  counts("softmax", softmax, 1, 3, 0.5);
  counts("log softmax", log_softmax, 1, 3, -log(2));
  /* mean 1.5, variance 1.25, so -1.5 / sqrt(2) * 2 + 1 */
  counts("layer norm", layer_norm, 1, 3, 1 - 1.5 * sqrt(2));
  counts("mean of a map", mean_of_map, 1, 1, 6);
  counts("sum of all", whole_sum, 1, 1, 210);
  counts("two folds", two_folds, 1, 1, 4 - 10);
  counts("two folds of a leaf", two_folds_of_ready, 1, 1, 3 - 6);
  counts("folds of other axes", folds_of_other_axes, 2, 2,
         3 + 7 + 11 + 15 + 19);
}

/* ---- products ------------------------------------------------------------ */
static plan_node *product(rig *r) {
  return matmul(r, ramp(r, DIMS(6, 4)), ramp(r, DIMS(4, 5)));
}

static plan_node *linear_relu(rig *r) {
  plan_node *y = map2(r, TSH_OP_add, product(r), full(r, -100, DIMS(5)));
  return map1(r, TSH_OP_relu, mapn(r, TSH_OP_add, y, 60));
}

static plan_node *linear_with_ready_bias(rig *r) {
  return map1(r, TSH_OP_relu,
              map2(r, TSH_OP_add, product(r), ramp(r, DIMS(5))));
}

static plan_node *transposed_epilogue(rig *r) {
  plan_node *y = transpose(r, mapn(r, TSH_OP_add, product(r), 1));
  return map2(r, TSH_OP_mul, y, ramp(r, DIMS(6)));
}

static plan_node *chain_of_products(rig *r) {
  return matmul(r, product(r), ramp(r, DIMS(5, 2)));
}

static plan_node *transposed_operands(rig *r) {
  return matmul(r, transpose(r, ramp(r, DIMS(4, 6))),
                transpose(r, ramp(r, DIMS(5, 4))));
}

static plan_node *batched(rig *r) {
  plan_node *y = matmul(r, ramp(r, DIMS(3, 2, 4)), ramp(r, DIMS(4, 2)));
  return map1(r, TSH_OP_relu, y);
}

static plan_node *vector_product(rig *r) {
  return mapn(r, TSH_OP_add, matmul(r, ramp(r, DIMS(6, 4)), ramp(r, DIMS(4))),
              1);
}

Test(group, a_product_takes_its_epilogue) {
  /* row 0 of ramp(6,4) times column 0 of ramp(4,5): 1*5 + 2*10 + 3*15 = 70 */
  counts("product", product, 1, 1, 70);
  counts("bias and relu", linear_relu, 1, 1, 30);
  counts("bias of a leaf", linear_with_ready_bias, 1, 1, 70);
  counts("a transposed epilogue", transposed_epilogue, 1, 1, 0);
  /* row 0: 70 76 82 88 94 with column 0 2 4 6 8 */
  counts("two products", chain_of_products, 2, 2, 152 + 328 + 528 + 752);
  counts("transposed operands", transposed_operands, 1, 1, 6 + 24 + 54);
  counts("a batch", batched, 1, 1, 2 + 8 + 18);
  counts("matrix by vector", vector_product, 1, 1, 15);
}

/* ---- what may not be fused ------------------------------------------------
 */
Test(group, op_by_op_gives_the_same_bits) {
  static const build all[] = {ten_ops,     layer_norm, softmax,
                              linear_relu, two_folds,  transposed_epilogue,
                              pairwise};
  plan_options off = {.unfused = 1, .verify = 1};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    float a[1200], b[1200];
    rig r;
    rig_open(&r, "cpu");
    plan_node *x = all[i](&r), *y;
    size_t bytes = (size_t)plan_shape_of(x)->count * sizeof *a;
    uint64_t launches;
    cr_assert_eq(plan_read(r.p, x, a, 0, &r.err), TSH_OK);
    launches = COUNTER(&r, kernels);
    plan_set_options(r.p, &off);
    y = all[i](&r);
    cr_assert_eq(plan_read(r.p, y, b, 0, &r.err), TSH_OK);
    cr_expect_arr_eq(a, b, bytes, "graph %zu", i);
    cr_expect_geq(COUNTER(&r, kernels) - launches, launches);
    rig_close(&r);
  }
}

static void no_kernel_waits_for_itself(void) {
  rig r;
  rig_open(&r, "cpu");
  /* x feeds y both directly and through the transposed sum of x. */
  plan_node *x = mapn(&r, TSH_OP_add, ramp(&r, DIMS(3, 3)), 1), *s, *y;
  s = fold(&r, TSH_OP_sum, x, 1);
  y = map2(&r, TSH_OP_add, x, s);
  y = map2(&r, TSH_OP_add, y, fold(&r, TSH_OP_max, y, 2));
  y = map2(&r, TSH_OP_mul, y, transpose(&r, x));
  /* y: 13 17 21, 16 20 24, 19 23 27, and 21 24 27 are added to each row */
  EXPECT(&r, y, 34 * 1, 41 * 4, 48 * 7, 37 * 2, 44 * 5, 51 * 8, 40 * 3, 47 * 6,
         54 * 9);
  rig_close(&r);
}

/* A value and parts of it, seen by one node in several ways. */
static void one_value_seen_twice(void) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(4)), *u = mapn(&r, TSH_OP_add, x, 1), *c, *y;
  plan_operand in[3];
  c = map2(&r, TSH_OP_gt, expand(&r, x, DIMS(4, 4)),
           reshape(&r, mapn(&r, TSH_OP_mul, x, 2), DIMS(4, 1)));
  in[0] = operand_of(c); /* j > 2i ? u[i] : u[j] */
  in[1] = operand_of(expand(&r, reshape(&r, u, DIMS(4, 1)), DIMS(4, 4)));
  in[2] = operand_of(expand(&r, u, DIMS(4, 4)));
  cr_assert_eq(plan_map(r.p, TSH_OP_where, in, 3, &y, &r.err), TSH_OK);
  rig_own(&r, TSH_OK, y);
  rig_drop_since(&r, 0, y);
  cr_assert_eq(demand(&r, y, PLAN_EXACT), TSH_OK);
  EXPECT(&r, y, 1, 1, 1, 1, 1, 2, 3, 2, 1, 2, 3, 4, 1, 2, 3, 4);
  x = ramp(&r, DIMS(3));
  u = mapn(&r, TSH_OP_add, x, 1);
  plan_node *parts[2] = {u, x};
  cr_assert_eq(plan_cat(r.p, parts, 2, 0, &c, &r.err), TSH_OK);
  rig_own(&r, TSH_OK, c); /* 1 2 3 0 1 2 */
  y = map2(&r, TSH_OP_mul, u, slice(&r, c, RANGE({1, 3, 1})));
  y = map2(&r, TSH_OP_add, y, slice(&r, u, RANGE({2, 3, -1})));
  rig_drop_since(&r, 0, y);
  cr_assert_eq(demand(&r, y, PLAN_EXACT), TSH_OK);
  EXPECT(&r, y, 2 + 3, 6 + 2, 0 + 1);
  rig_close(&r);
}

static void no_limit_is_passed(void) {
  rig r;
  rig_open(&r, "example"); /* 256 instructions, 64 arguments */
  plan_node *x = FLOATS(&r, 1, 2), *y = x, *z = x;
  for (int i = 0; i < 600; i++) y = mapn(&r, TSH_OP_add, y, 1);
  rig_drop_since(&r, 1, y);
  cr_expect_leq(LAUNCHES(&r, y), 600 / 50);
  for (int i = 0; i < 200; i++)
    z = map2(&r, TSH_OP_add, z, FLOATS(&r, (float)i, 0));
  rig_drop_since(&r, 2, z);
  cr_expect_leq(LAUNCHES(&r, z), 200 / 32);
  EXPECT(&r, y, 601, 602);
  EXPECT(&r, z, 1 + 199 * 100, 2);
  rig_close(&r);
}

Test(group, what_one_kernel_cannot_hold_is_cut) {
  no_kernel_waits_for_itself();
  one_value_seen_twice();
  no_limit_is_passed();
}
