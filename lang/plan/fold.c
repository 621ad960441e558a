/* fold.c - reductions, argmax and dot are recorded. */
#include "priv.h"

static const plan_shape *folded_shape(plan *p, const plan_shape *s,
                                      uint32_t axes, int keep, tsh_err *err) {
  int64_t dim[PLAN_RANK];
  int rank = 0;
  for (uint32_t i = 0; i < s->rank; i++) {
    if (!(axes >> i & 1))
      dim[rank++] = s->dim[i];
    else if (keep)
      dim[rank++] = 1;
  }
  return plan_shape_get(p, rank, dim, err);
}

static int empty_fold(const plan_shape *s, uint32_t axes) {
  int folded = 0, outer = 1;
  for (uint32_t i = 0; i < s->rank; i++) {
    if (s->dim[i] != 0) continue;
    if (axes >> i & 1)
      folded = 1;
    else
      outer = 0;
  }
  return folded && outer; /* results that would have no value */
}

static tsh_status record_fold(plan *p, int op, int dtype,
                              const plan_operand *in, int n, uint32_t axes,
                              int keep, plan_node **out, tsh_err *err) {
  plan_node *x = in[0].node, *r;
  const plan_shape *shape = folded_shape(p, x->shape, axes, keep, err);
  *out = NULL;
  if (!shape) return shape_status(err);
  if (!(r = node_new(p))) return plan_nomem(err, "a tensor");
  r->op = (uint16_t)op;
  r->dtype = (uint8_t)dtype;
  r->shape = shape;
  r->d = x->d;
  r->axes = axes;
  r->keep = (uint8_t)keep;
  r->nin = (uint16_t)n;
  for (int i = 0; i < n; i++) {
    r->in[i] = in[i];
    node_ref(in[i].node);
  }
  return trace_record(p, r, out, err);
}

static int fold_dtype(int op, const plan_node *x) {
  int dtype = x->dtype;
  if (op == TSH_OP_any || op == TSH_OP_all) return TSH_bool;
  if (op != TSH_OP_sum && op != TSH_OP_prod) return dtype;
  switch (plan_dtype_kind(dtype)) {
  case TSH_KIND_BOOL:
  case TSH_KIND_INT:
    return TSH_i64;
  case TSH_KIND_UINT:
    return dev_has_dtype(x->d, TSH_u64) ? TSH_u64 : TSH_i64;
  default:
    return dtype;
  }
}

/* There are no sums and products of halves: f32, rounded once at the end. */
static tsh_status fold_half(plan *p, int op, plan_node *x, uint32_t axes,
                            int keep, plan_node **out, tsh_err *err) {
  plan_node *wide = NULL, *y = NULL;
  tsh_status rc = TSH_OK;
  TRY(plan_cast(p, x, TSH_f32, &wide, err));
  TRY(plan_fold(p, op, wide, axes, keep, &y, err));
  TRY(plan_cast(p, y, x->dtype, out, err));
out:
  node_temp(p, wide);
  node_temp(p, y);
  return rc;
}

tsh_status plan_fold(plan *p, int op, plan_node *x, uint32_t axes, int keep,
                     plan_node **out, tsh_err *err) {
  int dtype = fold_dtype(op, x);
  plan_node *y = NULL;
  plan_operand in;
  tsh_status rc;
  *out = NULL;
  axes &= (UINT32_C(1) << x->shape->rank) - 1;
  if (plan_is_half(x->dtype) && (op == TSH_OP_sum || op == TSH_OP_prod))
    return fold_half(p, op, x, axes, keep, out, err);
  if ((op == TSH_OP_max || op == TSH_OP_min) && empty_fold(x->shape, axes)) {
    char text[240];
    return dev_fail(err, TSH_EINVAL, "%s: %s has no element to choose from",
                    plan_ops[op].name, plan_describe(x, text, sizeof text));
  }
  if (dtype == TSH_bool && x->dtype != TSH_bool) {
    plan_operand ne[2] = {operand_of(x), operand_int(0)};
    rc = plan_map(p, TSH_OP_ne, ne, 2, &y, err);
  } else {
    rc = plan_cast(p, x, dtype, &y, err);
  }
  if (rc != TSH_OK) return rc;
  in = operand_of(y);
  rc = record_fold(p, op, dtype, &in, 1, axes, keep, out, err);
  if (y == x)
    plan_drop(p, y);
  else
    node_temp(p, y);
  return rc;
}

/* Positions 0, 1, ... along the axis (or through the flattened tensor), as a
 * view of iota with x's shape. */
static tsh_status positions(plan *p, plan_node *x, int axis, plan_node **out,
                            tsh_err *err) {
  const plan_shape *s = x->shape, *line;
  plan_node *iota = NULL, *shaped = NULL;
  int64_t dim[PLAN_RANK];
  tsh_status rc = TSH_OK;
  if (axis < 0) return plan_iota(p, x->d, TSH_i64, s, out, err);
  for (uint32_t i = 0; i < s->rank; i++)
    dim[i] = (int)i == axis ? s->dim[i] : 1;
  if (!(line = plan_shape_get(p, (int)s->rank, dim, err)))
    return shape_status(err);
  TRY(plan_iota(p, x->d, TSH_i64, line, &iota, err));
  TRY(plan_expand(p, iota, s, &shaped, err));
  *out = shaped;
out:
  node_temp(p, iota);
  return rc;
}

tsh_status plan_argfold(plan *p, int op, plan_node *x, int axis, int keep,
                        plan_node **out, tsh_err *err) {
  uint32_t axes =
      axis < 0 ? (UINT32_C(1) << x->shape->rank) - 1 : UINT32_C(1) << axis;
  plan_operand in[2];
  plan_node *at = NULL;
  tsh_status rc;
  *out = NULL;
  if (empty_fold(x->shape, axes)) {
    char text[240];
    return dev_fail(err, TSH_EINVAL, "%s: %s has no element to choose from",
                    plan_ops[op].name, plan_describe(x, text, sizeof text));
  }
  if ((rc = positions(p, x, axis, &at, err)) != TSH_OK) return rc;
  in[0] = operand_of(x);
  in[1] = operand_of(at);
  rc = record_fold(p, op, TSH_i64, in, 2, axes, keep, out, err);
  node_temp(p, at);
  return rc;
}

tsh_status plan_dot(plan *p, plan_node *a, plan_node *b, uint32_t axes,
                    int keep, plan_node **out, tsh_err *err) {
  const plan_shape *s = shape_broadcast(p, "dot", a->shape, b->shape, err);
  plan_operand in[2] = {operand_of(NULL), operand_of(NULL)};
  plan_operand from[2] = {operand_of(a), operand_of(b)};
  int dtype = plan_promote(a->dtype, b->dtype);
  int wide = plan_is_half(dtype) ? TSH_f32 : dtype;
  dev *d = record_device(from, 2);
  plan_node *r = NULL;
  tsh_status rc = TSH_OK;
  *out = NULL;
  if (!s) return shape_status(err);
  if (!dtype || dtype == TSH_bool)
    return dev_fail(err, TSH_EINVAL, "dot: no products of %s and %s",
                    plan_dtype_name(a->dtype), plan_dtype_name(b->dtype));
  TRY(record_conform(p, &from[0], wide, d, s, &in[0], err));
  TRY(record_conform(p, &from[1], wide, d, s, &in[1], err));
  TRY(record_fold(p, TSH_OP_dot, wide, in, 2, axes, keep, &r, err));
  TRY(plan_cast(p, r, dtype, out, err));
out:
  if (r && r == *out)
    plan_drop(p, r);
  else
    node_temp(p, r);
  for (int i = 0; i < 2; i++) {
    if (in[i].node == from[i].node)
      plan_drop(p, in[i].node);
    else
      node_temp(p, in[i].node);
  }
  return rc;
}
