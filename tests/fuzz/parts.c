/* parts.c - see parts.h. */
#include <string.h>
#include "parts.h"

plan_node *parts_convolve(plan *p, dev *d, plan_node *w, const float *weights,
                          tsh_err *err) {
  const plan_shape *s = plan_shape_of(w);
  int64_t dim[PLAN_RANK] = {1}, row[PLAN_RANK] = {3};
  plan_node *k = NULL, *b = NULL, *x = NULL;
  if (plan_dtype_of(w) == TSH_bool) return NULL;
  for (uint32_t i = 0; i < s->rank; i++) {
    dim[i + 1] = s->dim[i];
    row[i + 1] = i + 1 == s->rank ? s->dim[i] : 1;
  }
  plan_reshape(p, w, plan_shape_get(p, (int)s->rank + 1, dim, NULL), &b, err);
  plan_data(p, d, TSH_f32, plan_shape_get(p, (int)s->rank + 1, row, NULL),
            weights, &k, err);
  if (b && k) plan_dot(p, k, b, UINT32_C(1) << s->rank, 0, &x, err);
  plan_drop(p, k);
  plan_drop(p, b);
  return x;
}

/* a and its mate along a new axis, which then joins the one before. */
static plan_node *interleave(plan *p, plan_node *a, plan_node *b, int axis,
                             tsh_err *err) {
  const plan_shape *s = plan_shape_of(a);
  int64_t dim[PLAN_RANK];
  plan_node *part[2] = {NULL, NULL}, *y = NULL, *x = NULL;
  const plan_shape *wide;
  for (int i = 0; i <= (int)s->rank; i++)
    dim[i] = i <= axis ? s->dim[i] : i == axis + 1 ? 1 : s->dim[i - 1];
  wide = plan_shape_get(p, (int)s->rank + 1, dim, NULL);
  plan_reshape(p, a, wide, &part[0], err);
  plan_reshape(p, b, wide, &part[1], err);
  if (part[0] && part[1]) plan_cat(p, part, 2, axis + 1, &y, err);
  memcpy(dim, s->dim, sizeof dim);
  dim[axis] *= 2;
  if (y)
    plan_reshape(p, y, plan_shape_get(p, (int)s->rank, dim, NULL), &x, err);
  plan_drop(p, part[0]);
  plan_drop(p, part[1]);
  plan_drop(p, y);
  return x;
}

plan_node *parts_quilt(plan *p, plan_node *a, int axis, tsh_err *err) {
  plan_node *b = NULL, *top, *low, *x = NULL;
  int last = (int)plan_shape_of(a)->rank - 1;
  plan_operand in = {.node = a, .kind = PLAN_TENSOR};
  if (plan_map(p, TSH_OP_isnan, &in, 1, &b, err) != TSH_OK) return NULL;
  top = interleave(p, a, b, last, err);
  low = interleave(p, b, a, last, err);
  if (top && low) x = interleave(p, top, low, axis, err);
  plan_drop(p, b);
  plan_drop(p, top);
  plan_drop(p, low);
  return x;
}
