/* back.c - compositions that gradients are made of: shapes on their way back
 * through folds, expands and products. Every training step records some, in C
 * for that reason. */
#include "priv.h"

/* t, shaped as the result of a fold, or one with its axes, of a tensor of shape
 * s: with these axes of extent 1. Owned. */
static tsh_status with_axes(plan *p, plan_node *t, const plan_shape *s,
                            uint32_t axes, plan_node **out, tsh_err *err) {
  int64_t dim[PLAN_RANK];
  const plan_shape *shape;
  *out = NULL;
  for (uint32_t i = 0; i < s->rank; i++) dim[i] = axes >> i & 1 ? 1 : s->dim[i];
  shape = plan_shape_get(p, (int)s->rank, dim, err);
  if (!shape) return shape_status(err);
  if (t->shape != shape) return plan_reshape(p, t, shape, out, err);
  *out = plan_keep(t);
  return TSH_OK;
}

tsh_status plan_spread(plan *p, plan_node *g, const plan_shape *s,
                       uint32_t axes, plan_node **out, tsh_err *err) {
  plan_node *wide = NULL;
  tsh_status rc = with_axes(p, g, s, axes, &wide, err);
  *out = NULL;
  if (rc == TSH_OK) rc = plan_expand(p, wide, s, out, err);
  node_temp(p, wide);
  return rc;
}

/* The axes that expanding from one shape to a wider one repeats. */
static uint32_t repeated(const plan_shape *from, const plan_shape *wide) {
  uint32_t axes = 0, more = wide->rank - from->rank;
  for (uint32_t i = 0; i < wide->rank; i++) {
    int64_t n = i < more ? 1 : from->dim[i - more];
    if (n != wide->dim[i]) axes |= UINT32_C(1) << i;
  }
  return axes;
}

tsh_status plan_unexpand(plan *p, plan_node *g, const plan_shape *shape,
                         plan_node **out, tsh_err *err) {
  uint32_t axes = repeated(shape, g->shape);
  plan_node *sum = NULL;
  tsh_status rc;
  *out = NULL;
  if (!axes) return plan_reshape(p, g, shape, out, err);
  rc = plan_fold(p, TSH_OP_sum, g, axes, 0, &sum, err);
  if (rc != TSH_OK) return rc;
  if (sum->shape == shape) {
    *out = sum;
    return TSH_OK;
  }
  rc = plan_reshape(p, sum, shape, out, err);
  node_temp(p, sum);
  return rc;
}

/* ---- products ------------------------------------------------------------ */
/* t brought to shape s, of which it may lack axes in front, then its axes put
 * into order and expanded: in this sequence the dot sees an expand again, and
 * its own gradient is as good. */
static tsh_status ordered(plan *p, plan_node *t, const plan_shape *s,
                          const uint8_t *order, const plan_shape *wide,
                          plan_node **out, tsh_err *err) {
  int64_t dim[PLAN_RANK];
  uint32_t more = s->rank - t->shape->rank;
  const plan_shape *shape;
  plan_node *small = NULL, *moved = NULL;
  tsh_status rc = TSH_OK;
  *out = NULL;
  for (uint32_t i = 0; i < s->rank; i++)
    dim[i] = i < more ? 1 : t->shape->dim[i - more];
  shape = plan_shape_get(p, (int)s->rank, dim, err);
  if (!shape) return shape_status(err);
  TRY(plan_reshape(p, t, shape, &small, err));
  TRY(plan_permute(p, small, order, &moved, err));
  TRY(plan_expand(p, moved, wide, out, err));
out:
  node_temp(p, small);
  node_temp(p, moved);
  return rc;
}

/* Axes 0..rank-1, those of `last` behind the others; and s in that order. */
static const plan_shape *order_last(plan *p, const plan_shape *s, uint32_t last,
                                    uint8_t *order, uint32_t *over,
                                    tsh_err *err) {
  int64_t dim[PLAN_RANK];
  int n = 0;
  *over = 0;
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < s->rank; i++) {
      if ((int)(last >> i & 1) != pass) continue;
      if (pass) *over |= UINT32_C(1) << n;
      dim[n] = s->dim[i];
      order[n++] = (uint8_t)i;
    }
  return plan_shape_get(p, n, dim, err);
}

tsh_status plan_dot_back(plan *p, plan_node *g, const plan_shape *s,
                         uint32_t axes, plan_node *other,
                         const plan_shape *small, plan_node **out,
                         tsh_err *err) {
  uint8_t order[PLAN_RANK];
  uint32_t over, last = repeated(small, s);
  const plan_shape *wide;
  plan_node *kept = NULL, *a = NULL, *b = NULL, *d = NULL;
  tsh_status rc = TSH_OK;
  *out = NULL;
  if (!last) return TSH_OK;
  if (!(wide = order_last(p, s, last, order, &over, err)))
    return shape_status(err);
  TRY(with_axes(p, g, s, axes, &kept, err));
  TRY(ordered(p, kept, s, order, wide, &a, err));
  TRY(ordered(p, other, s, order, wide, &b, err));
  TRY(plan_dot(p, a, b, over, 0, &d, err));
  if (d->shape == small)
    *out = plan_keep(d);
  else
    rc = plan_reshape(p, d, small, out, err);
out:
  node_temp(p, kept);
  node_temp(p, a);
  node_temp(p, b);
  node_temp(p, d);
  return rc;
}
