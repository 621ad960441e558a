/* random.c - draws and arange: creation made of positions. */
#include <math.h>
#include "priv.h"

/* x op number, x a temporary that is replaced. */
static tsh_status step(plan *p, int op, plan_node **x, plan_operand number,
                       tsh_err *err) {
  plan_operand in[2] = {operand_of(*x), number};
  plan_node *y = NULL;
  tsh_status rc = plan_map(p, op, in, 2, &y, err);
  node_temp(p, *x);
  *x = y;
  return rc;
}

static tsh_status step_cast(plan *p, plan_node **x, int dtype, tsh_err *err) {
  plan_node *y = NULL;
  tsh_status rc = plan_cast(p, *x, dtype, &y, err);
  node_temp(p, *x);
  *x = y;
  return rc;
}

/* Word `word` of the `each` words that belong to every element. */
static tsh_status words(plan *p, dev *d, const plan_shape *shape,
                        const plan_rng *rng, int each, int word,
                        plan_node **out, tsh_err *err) {
  plan_node *j = NULL;
  plan_operand in[3];
  tsh_status rc = TSH_OK;
  *out = NULL;
  TRY(plan_iota(p, d, TSH_i64, shape, &j, err));
  if (each > 1) TRY(step(p, TSH_OP_mul, &j, operand_int(each), err));
  if (word > 0) TRY(step(p, TSH_OP_add, &j, operand_int(word), err));
  in[0] = operand_of(j);
  in[1] = operand_int((int64_t)rng->key);
  in[2] = operand_int((int64_t)rng->base);
  TRY(record_map(p, TSH_OP_random, TSH_i64, d, shape, in, 3, out, err));
out:
  node_temp(p, j);
  return rc;
}

static void advance(plan_rng *rng, const plan_shape *shape, int each) {
  rng->base += ((uint64_t)shape->count * (uint64_t)each + 3) / 4;
}

tsh_status plan_random(plan *p, dev *d, const plan_shape *shape, plan_rng *rng,
                       plan_node **out, tsh_err *err) {
  tsh_status rc = words(p, d, shape, rng, 1, 0, out, err);
  if (rc == TSH_OK) advance(rng, shape, 1);
  return rc;
}

/* The upper bits of one word as k * 2^-bits. */
static tsh_status unit_short(plan *p, dev *d, const plan_shape *shape,
                             const plan_rng *rng, int bits, plan_node **out,
                             tsh_err *err) {
  plan_node *w = NULL;
  tsh_status rc = TSH_OK;
  *out = NULL;
  TRY(words(p, d, shape, rng, 1, 0, &w, err));
  TRY(step(p, TSH_OP_shr, &w, operand_int(32 - bits), err));
  TRY(step_cast(p, &w, TSH_f32, err));
  TRY(step(p, TSH_OP_mul, &w, operand_real(ldexp(1, -bits)), err));
  *out = w;
  w = NULL;
out:
  node_temp(p, w);
  return rc;
}

/* 24 bits of one word as k * 2^-24, k from 0 (or 1). */
static tsh_status unit_f32(plan *p, dev *d, const plan_shape *shape,
                           const plan_rng *rng, int each, int word, int from,
                           plan_node **out, tsh_err *err) {
  plan_node *w = NULL;
  tsh_status rc = TSH_OK;
  *out = NULL;
  TRY(words(p, d, shape, rng, each, word, &w, err));
  TRY(step(p, TSH_OP_shr, &w, operand_int(8), err));
  if (from) TRY(step(p, TSH_OP_add, &w, operand_int(from), err));
  TRY(step_cast(p, &w, TSH_f32, err));
  TRY(step(p, TSH_OP_mul, &w, operand_real(0x1p-24), err));
  *out = w;
  w = NULL;
out:
  node_temp(p, w);
  return rc;
}

/* 53 bits of two words as k * 2^-53. */
static tsh_status unit_f64(plan *p, dev *d, const plan_shape *shape,
                           const plan_rng *rng, int each, int word, int from,
                           plan_node **out, tsh_err *err) {
  plan_node *hi = NULL, *lo = NULL, *k = NULL;
  plan_operand in[2];
  tsh_status rc = TSH_OK;
  *out = NULL;
  TRY(words(p, d, shape, rng, each, word, &hi, err));
  TRY(words(p, d, shape, rng, each, word + 1, &lo, err));
  TRY(step(p, TSH_OP_shl, &hi, operand_int(21), err));
  TRY(step(p, TSH_OP_shr, &lo, operand_int(11), err));
  in[0] = operand_of(hi);
  in[1] = operand_of(lo);
  TRY(plan_map(p, TSH_OP_bitor, in, 2, &k, err));
  if (from) TRY(step(p, TSH_OP_add, &k, operand_int(from), err));
  TRY(step_cast(p, &k, TSH_f64, err));
  TRY(step(p, TSH_OP_mul, &k, operand_real(0x1p-53), err));
  *out = k;
  k = NULL;
out:
  node_temp(p, hi);
  node_temp(p, lo);
  node_temp(p, k);
  return rc;
}

static tsh_status check_float(const char *op, dev *d, int dtype, tsh_err *err) {
  if (plan_dtype_kind(dtype) != TSH_KIND_FLOAT)
    return dev_fail(err, TSH_EINVAL, "%s: draws are floats, not %s", op,
                    plan_dtype_name(dtype));
  if (dev_has_dtype(d, dtype)) return TSH_OK;
  return dev_fail(err, TSH_EINVAL, "%s: %s has no %s", op, dev_name(d),
                  plan_dtype_name(dtype));
}

tsh_status plan_rand(plan *p, dev *d, int dtype, const plan_shape *shape,
                     plan_rng *rng, plan_node **out, tsh_err *err) {
  int each = dtype == TSH_f64 ? 2 : 1;
  tsh_status rc = check_float("rand", d, dtype, err);
  *out = NULL;
  if (rc != TSH_OK) return rc;
  rc = dtype == TSH_f64    ? unit_f64(p, d, shape, rng, 2, 0, 0, out, err)
       : dtype == TSH_f16  ? unit_short(p, d, shape, rng, 11, out, err)
       : dtype == TSH_bf16 ? unit_short(p, d, shape, rng, 8, out, err)
                           : unit_f32(p, d, shape, rng, 1, 0, 0, out, err);
  if (rc == TSH_OK && plan_is_half(dtype)) rc = step_cast(p, out, dtype, err);
  if (rc == TSH_OK) advance(rng, shape, each);
  return rc;
}

/* sqrt(-2 log u1) * cos(2 pi u2), u1 in (0, 1], u2 in [0, 1). */
tsh_status plan_randn(plan *p, dev *d, int dtype, const plan_shape *shape,
                      plan_rng *rng, plan_node **out, tsh_err *err) {
  int wide = dtype == TSH_f64, each = wide ? 4 : 2;
  plan_node *u = NULL, *v = NULL;
  plan_operand in[2];
  tsh_status rc = check_float("randn", d, dtype, err);
  *out = NULL;
  if (rc != TSH_OK) return rc;
  TRY((wide ? unit_f64 : unit_f32)(p, d, shape, rng, each, 0, 1, &u, err));
  TRY((wide ? unit_f64 : unit_f32)(p, d, shape, rng, each, wide ? 2 : 1, 0, &v,
                                   err));
  in[0] = operand_of(u);
  TRY(plan_map(p, TSH_OP_log, in, 1, out, err));
  node_temp(p, u);
  u = *out;
  *out = NULL;
  TRY(step(p, TSH_OP_mul, &u, operand_real(-2), err));
  in[0] = operand_of(u);
  TRY(plan_map(p, TSH_OP_sqrt, in, 1, out, err));
  node_temp(p, u);
  u = *out;
  *out = NULL;
  TRY(step(p, TSH_OP_mul, &v, operand_real(6.283185307179586), err));
  in[0] = operand_of(v);
  TRY(plan_map(p, TSH_OP_cos, in, 1, out, err));
  node_temp(p, v);
  v = *out;
  *out = NULL;
  in[0] = operand_of(u);
  in[1] = operand_of(v);
  TRY(plan_map(p, TSH_OP_mul, in, 2, out, err));
  if (plan_is_half(dtype)) TRY(step_cast(p, out, dtype, err));
  advance(rng, shape, each);
out:
  node_temp(p, u);
  node_temp(p, v);
  return rc;
}

/* ---- arange ------------------------------------------------------------- */
static double number(const plan_operand *o) {
  return o->kind == PLAN_REAL ? o->num.f : (double)o->num.i;
}

/* Floats are computed in double on the host and rounded once: start + i*step
 * in f32 would drift. */
static tsh_status float_range(plan *p, dev *d, int dtype, double start,
                              double by, const plan_shape *shape,
                              plan_node **out, tsh_err *err) {
  uint64_t bytes = shape_bytes(shape, dtype);
  void *host = bytes > UINT64_C(1) << 40 ? NULL : plan_alloc((size_t)bytes);
  tsh_status rc;
  if (!host)
    return dev_fail(err, TSH_ENOMEM, "arange: no memory for %lld elements",
                    (long long)shape->count);
  for (int64_t i = 0; i < shape->count; i++) {
    double v = start + (double)i * by;
    if (dtype == TSH_f64)
      ((double *)host)[i] = v;
    else if (plan_is_half(dtype))
      ((uint16_t *)host)[i] = plan_half_of(dtype, v);
    else
      ((float *)host)[i] = (float)v;
  }
  rc = plan_data(p, d, dtype, shape, host, out, err);
  plan_release(host);
  return rc;
}

static tsh_status whole_range(plan *p, dev *d, int dtype, int64_t start,
                              int64_t by, const plan_shape *shape,
                              plan_node **out, tsh_err *err) {
  plan_node *x = NULL;
  tsh_status rc = TSH_OK;
  int narrow = dtype == TSH_i32 && record_fits(start, TSH_i32) &&
               record_fits(by, TSH_i32);
  TRY(plan_iota(p, d, narrow ? TSH_i32 : TSH_i64, shape, &x, err));
  if (by != 1) TRY(step(p, TSH_OP_mul, &x, operand_int(by), err));
  if (start) TRY(step(p, TSH_OP_add, &x, operand_int(start), err));
  if (x->dtype != dtype) TRY(step_cast(p, &x, dtype, err));
  *out = x;
  x = NULL;
out:
  node_temp(p, x);
  return rc;
}

tsh_status plan_arange(plan *p, dev *d, int dtype, const plan_operand *start,
                       const plan_operand *by, int64_t n, plan_node **out,
                       tsh_err *err) {
  int real = start->kind == PLAN_REAL || by->kind == PLAN_REAL;
  const plan_shape *shape = plan_shape_get(p, 1, &n, err);
  *out = NULL;
  if (!shape) return shape_status(err);
  if (!dtype) dtype = real ? TSH_f32 : TSH_i64;
  if (!dev_has_dtype(d, dtype) || dtype == TSH_bool)
    return dev_fail(err, TSH_EINVAL, "arange: no range of %s on %s",
                    plan_dtype_name(dtype), dev_name(d));
  if (real && plan_dtype_kind(dtype) != TSH_KIND_FLOAT)
    return dev_fail(err, TSH_EINVAL, "arange: %g by %g is no range of %s",
                    number(start), number(by), plan_dtype_name(dtype));
  if (real)
    return float_range(p, d, dtype, number(start), number(by), shape, out, err);
  return whole_range(p, d, dtype, start->num.i, by->num.i, shape, out, err);
}
