/* compose.c - what is a composition of primitives. */
#include <math.h>
#include "priv.h"

/* x, a temporary that is replaced, in another dtype. */
static tsh_status step_cast(plan *p, plan_node **x, int dtype, tsh_err *err) {
  plan_node *y = NULL;
  tsh_status rc = plan_cast(p, *x, dtype, &y, err);
  node_temp(p, *x);
  *x = y;
  return rc;
}

/* ---- a small pipeline: each step's input is a temporary of the next ----- */
static tsh_status step_map(plan *p, int op, plan_node **x,
                           const plan_operand *b, tsh_err *err) {
  plan_operand in[2] = {operand_of(*x)};
  plan_node *y = NULL;
  tsh_status rc;
  if (b) in[1] = *b;
  rc = plan_map(p, op, in, b ? 2 : 1, &y, err);
  node_temp(p, *x);
  *x = y;
  return rc;
}

static int64_t folded_count(const plan_shape *s, uint32_t axes) {
  int64_t n = 1;
  for (uint32_t i = 0; i < s->rank; i++)
    if (axes >> i & 1) n *= s->dim[i];
  return n;
}

/* f64 stays, everything else becomes f32, in which sums of halves are computed,
 * too; owned. */
static tsh_status as_float(plan *p, plan_node *x, plan_node **out,
                           tsh_err *err) {
  return plan_cast(p, x, x->dtype == TSH_f64 ? TSH_f64 : TSH_f32, out, err);
}

/* The result y of such a computation on x, back in x's half dtype. */
static tsh_status as_half(plan *p, const plan_node *x, plan_node **y,
                          tsh_err *err) {
  return plan_is_half(x->dtype) ? step_cast(p, y, x->dtype, err) : TSH_OK;
}

tsh_status plan_mean(plan *p, plan_node *x, uint32_t axes, int keep,
                     plan_node **out, tsh_err *err) {
  plan_operand n = operand_real((double)folded_count(x->shape, axes));
  plan_node *f = NULL, *s = NULL;
  tsh_status rc = TSH_OK;
  *out = NULL;
  TRY(as_float(p, x, &f, err));
  TRY(plan_fold(p, TSH_OP_sum, f, axes, keep, &s, err));
  TRY(step_map(p, TSH_OP_div, &s, &n, err));
  TRY(as_half(p, x, &s, err));
  *out = s;
out:
  node_temp(p, f);
  return rc;
}

tsh_status plan_var(plan *p, plan_node *x, uint32_t axes, int keep,
                    double correction, plan_node **out, tsh_err *err) {
  double count = (double)folded_count(x->shape, axes) - correction;
  plan_operand n = operand_real(count > 0 ? count : 0), in[2];
  plan_node *f = NULL, *m = NULL, *d = NULL, *s = NULL;
  tsh_status rc = TSH_OK;
  *out = NULL;
  TRY(as_float(p, x, &f, err));
  TRY(plan_mean(p, f, axes, 1, &m, err));
  in[0] = operand_of(f);
  in[1] = operand_of(m);
  TRY(plan_map(p, TSH_OP_sub, in, 2, &d, err));
  TRY(step_map(p, TSH_OP_square, &d, NULL, err));
  TRY(plan_fold(p, TSH_OP_sum, d, axes, keep, &s, err));
  TRY(step_map(p, TSH_OP_div, &s, &n, err));
  TRY(as_half(p, x, &s, err));
  *out = s;
out:
  node_temp(p, f);
  node_temp(p, m);
  node_temp(p, d);
  return rc;
}

/* x - max(x), the maximum a constant for gradients; owned. */
static tsh_status shifted(plan *p, plan_node *x, uint32_t axes, plan_node **out,
                          tsh_err *err) {
  plan_node *f = NULL, *m = NULL, *c = NULL;
  plan_operand in[2];
  tsh_status rc = TSH_OK;
  *out = NULL;
  TRY(as_float(p, x, &f, err));
  TRY(plan_fold(p, TSH_OP_max, f, axes, 1, &m, err));
  TRY(plan_detach(p, m, &c, err));
  in[0] = operand_of(f);
  in[1] = operand_of(c);
  TRY(plan_map(p, TSH_OP_sub, in, 2, out, err));
out:
  node_temp(p, f);
  node_temp(p, m);
  node_temp(p, c);
  return rc;
}

static tsh_status softmax(plan *p, plan_node *x, int axis, int log,
                          plan_node **out, tsh_err *err) {
  plan_node *d = NULL, *e = NULL, *s = NULL;
  uint32_t axes = UINT32_C(1) << axis;
  plan_operand in[2];
  tsh_status rc = TSH_OK;
  *out = NULL;
  if (x->shape->count == 0) {
    rc = as_float(p, x, out, err);
    return rc ? rc : as_half(p, x, out, err);
  }
  TRY(shifted(p, x, axes, &d, err));
  in[0] = operand_of(d);
  TRY(plan_map(p, TSH_OP_exp, in, 1, &e, err));
  TRY(plan_fold(p, TSH_OP_sum, e, axes, 1, &s, err));
  if (log) TRY(step_map(p, TSH_OP_log, &s, NULL, err));
  in[0] = operand_of(log ? d : e);
  in[1] = operand_of(s);
  TRY(plan_map(p, log ? TSH_OP_sub : TSH_OP_div, in, 2, out, err));
  TRY(as_half(p, x, out, err));
out:
  node_temp(p, d);
  node_temp(p, e);
  node_temp(p, s);
  return rc;
}

static tsh_status check_axis(const char *op, plan_node *x, int axis,
                             tsh_err *err) {
  if (axis >= 0 && (uint32_t)axis < x->shape->rank) return TSH_OK;
  return dev_fail(err, TSH_EINVAL, "%s: no axis %d in %u axes", op, axis + 1,
                  x->shape->rank);
}

tsh_status plan_softmax(plan *p, plan_node *x, int axis, plan_node **out,
                        tsh_err *err) {
  tsh_status rc = check_axis("softmax", x, axis, err);
  *out = NULL;
  return rc ? rc : softmax(p, x, axis, 0, out, err);
}

tsh_status plan_log_softmax(plan *p, plan_node *x, int axis, plan_node **out,
                            tsh_err *err) {
  tsh_status rc = check_axis("log_softmax", x, axis, err);
  *out = NULL;
  return rc ? rc : softmax(p, x, axis, 1, out, err);
}

tsh_status plan_one_hot(plan *p, plan_node *at, int64_t n, int dtype,
                        plan_node **out, tsh_err *err) {
  plan_node *column = NULL, *classes = NULL, *hit = NULL;
  const plan_shape *s = at->shape, *tall, *line;
  int64_t dim[PLAN_RANK + 1];
  plan_operand in[2];
  tsh_status rc = TSH_OK;
  *out = NULL;
  if (n < 1)
    return dev_fail(err, TSH_EINVAL, "one_hot: 1 or more classes, not %lld",
                    (long long)n);
  memcpy(dim, s->dim, sizeof *dim * s->rank);
  dim[s->rank] = 1;
  if (!(tall = plan_shape_get(p, (int)s->rank + 1, dim, err)) ||
      !(line = plan_shape_get(p, 1, &n, err)))
    return shape_status(err);
  TRY(plan_reshape(p, at, tall, &column, err));
  TRY(plan_iota(p, at->d, TSH_i64, line, &classes, err));
  in[0] = operand_of(column);
  in[1] = operand_of(classes);
  TRY(plan_map(p, TSH_OP_eq, in, 2, &hit, err));
  TRY(plan_cast(p, hit, dtype, out, err));
out:
  node_temp(p, column);
  node_temp(p, classes);
  if (hit && hit == *out)
    plan_drop(p, hit);
  else
    node_temp(p, hit);
  return rc;
}

/* ---- matmul ------------------------------------------------------------- */
/* x [.., m, k] -> [.., m, 1, k]; y [.., k, n] -> [.., 1, n, k]. */
static tsh_status matmul_operand(plan *p, plan_node *x, int right,
                                 plan_node **out, tsh_err *err) {
  uint32_t r = x->shape->rank;
  int64_t dim[PLAN_RANK + 1];
  uint8_t order[PLAN_RANK];
  const plan_shape *s;
  plan_node *t = NULL;
  tsh_status rc;
  *out = NULL;
  for (uint32_t i = 0; i < r; i++) order[i] = (uint8_t)i;
  if (right) order[r - 2] = (uint8_t)(r - 1), order[r - 1] = (uint8_t)(r - 2);
  if ((rc = plan_permute(p, x, order, &t, err)) != TSH_OK) return rc;
  memcpy(dim, t->shape->dim, sizeof *dim * r);
  dim[r] = dim[r - 1];
  dim[r - 1] = right ? dim[r - 2] : 1;
  if (right) dim[r - 2] = 1;
  s = plan_shape_get(p, (int)r + 1, dim, err);
  rc = s ? plan_reshape(p, t, s, out, err) : shape_status(err);
  node_temp(p, t);
  return rc;
}

static tsh_status matmul_shapes(const plan_node *a, const plan_node *b,
                                tsh_err *err) {
  const plan_shape *s = a->shape, *t = b->shape;
  char ta[200], tb[200];
  int64_t k, l;
  if (!s->rank || !t->rank)
    return dev_fail(err, TSH_EINVAL,
                    "matmul: a 0-d tensor has no axis to multiply over");
  k = s->dim[s->rank - 1];
  l = t->dim[t->rank > 1 ? t->rank - 2 : 0];
  if (k == l) return TSH_OK;
  return dev_fail(err, TSH_EINVAL,
                  "matmul: inner sizes differ: %lld and %lld (%s by %s)",
                  (long long)k, (long long)l, shape_text(s, ta, sizeof ta),
                  shape_text(t, tb, sizeof tb));
}

/* What would else be an error of the ops that matmul is made of. */
static tsh_status matmul_batches(plan *p, const plan_node *a,
                                 const plan_node *b, tsh_err *err) {
  const plan_shape *s = a->shape, *t = b->shape;
  int s_rank = s->rank > 2 ? (int)s->rank - 2 : 0;
  int t_rank = t->rank > 2 ? (int)t->rank - 2 : 0;
  if (a->dtype == TSH_bool && b->dtype == TSH_bool)
    return dev_fail(err, TSH_EINVAL,
                    "matmul: there is no product of bool; cast it");
  if (!(s = plan_shape_get(p, s_rank, s->dim, err)) ||
      !(t = plan_shape_get(p, t_rank, t->dim, err)) ||
      !shape_broadcast(p, "matmul: batch axes", s, t, err))
    return shape_status(err);
  return TSH_OK;
}

/* An operand of rank 1: the product is sum(a*b) over the shared axis. */
static tsh_status matmul_vector(plan *p, plan_node *a, plan_node *b,
                                plan_node **out, tsh_err *err) {
  uint8_t order[PLAN_RANK];
  plan_node *t = NULL, *c = NULL, *m = NULL;
  plan_node *wide = b->shape->rank > 1 ? b : a;
  uint32_t r = wide->shape->rank;
  plan_operand in[2];
  tsh_status rc = TSH_OK;
  for (uint32_t i = 0; i < r; i++) order[i] = (uint8_t)i;
  if (wide == b && r > 1)
    order[r - 2] = (uint8_t)(r - 1), order[r - 1] = (uint8_t)(r - 2);
  TRY(plan_permute(p, wide, order, &t, err));
  in[0] = operand_of(wide == b && r > 1 ? a : t);
  in[1] = operand_of(wide == b && r > 1 ? t : b);
  TRY(plan_map(p, TSH_OP_mul, in, 2, &m, err));
  TRY(plan_fold(p, TSH_OP_sum, m, UINT32_C(1) << (r - 1), 0, &c, err));
  /* sums of integers are i64; a product keeps its dtype */
  TRY(plan_cast(p, c, m->dtype, out, err));
out:
  node_temp(p, t);
  if (c && c == *out)
    plan_drop(p, c);
  else
    node_temp(p, c);
  node_temp(p, m);
  return rc;
}

/* The sum over the shared axis is one of f32, rounded once. */
static tsh_status matmul_half(plan *p, plan_node *a, plan_node *b, int half,
                              plan_node **out, tsh_err *err) {
  plan_node *x = NULL, *y = NULL;
  tsh_status rc = TSH_OK;
  TRY(plan_cast(p, a, TSH_f32, &x, err));
  TRY(plan_cast(p, b, TSH_f32, &y, err));
  TRY(plan_matmul(p, x, y, out, err));
  TRY(step_cast(p, out, half, err));
out:
  node_temp(p, x);
  node_temp(p, y);
  return rc;
}

tsh_status plan_matmul(plan *p, plan_node *a, plan_node *b, plan_node **out,
                       tsh_err *err) {
  int dtype = plan_promote(a->dtype, b->dtype);
  plan_node *x = NULL, *y = NULL;
  tsh_status rc = matmul_shapes(a, b, err);
  uint32_t rank;
  *out = NULL;
  if (rc != TSH_OK) return rc;
  if ((rc = matmul_batches(p, a, b, err)) != TSH_OK) return rc;
  if (plan_is_half(dtype)) return matmul_half(p, a, b, dtype, out, err);
  if (a->shape->rank == 1 || b->shape->rank == 1)
    return matmul_vector(p, a, b, out, err);
  rank = a->shape->rank > b->shape->rank ? a->shape->rank : b->shape->rank;
  if (rank + 1 > PLAN_RANK)
    return dev_fail(err, TSH_EINVAL, "matmul: at most %d axes, not %u",
                    PLAN_RANK - 1, rank);
  TRY(matmul_operand(p, a, 0, &x, err));
  TRY(matmul_operand(p, b, 1, &y, err));
  TRY(plan_dot(p, x, y, UINT32_C(1) << rank, 0, out, err));
out:
  node_temp(p, x);
  node_temp(p, y);
  return rc;
}
