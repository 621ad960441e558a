/* access.c - strided views: what reshape, permute, expand, slice and
 * windows do to an offset and strides. */
#include "priv.h"

/* New strides when extents `from` with strides are read as extents `to`; 0
 * when no strides can say it. Axes of extent 1 carry no information. */
int access_reshape(const plan_shape *from, const int64_t *stride,
                   const plan_shape *to, int64_t *out) {
  int64_t dim[PLAN_RANK], step[PLAN_RANK];
  uint32_t n = 0, i = 0, j = 0;
  if (from->count == 0) {
    shape_strides(to, out);
    return 1;
  }
  for (uint32_t k = 0; k < from->rank; k++) { /* merge what is contiguous */
    if (from->dim[k] == 1) continue;
    if (n && step[n - 1] == stride[k] * from->dim[k]) {
      dim[n - 1] *= from->dim[k];
      step[n - 1] = stride[k];
    } else {
      dim[n] = from->dim[k];
      step[n++] = stride[k];
    }
  }
  while (i < n) { /* each merged axis is split into whole new axes */
    int64_t product = 1;
    uint32_t first = j;
    while (j < to->rank && product < dim[i]) product *= to->dim[j++];
    if (product != dim[i]) return 0;
    for (uint32_t k = j; k-- > first;) {
      out[k] = step[i];
      step[i] *= to->dim[k];
    }
    i++;
  }
  for (; j < to->rank; j++) out[j] = 0; /* trailing extents of 1 */
  return 1;
}

static int slice_access(plan_access *a, const plan_shape *from,
                        const plan_range *r, uint32_t ints) {
  for (uint32_t i = 0; i < from->rank; i++) {
    int64_t stride = a->stride[i];
    a->stride[i] *= r[i].step;
    if (ints == UINT32_MAX) {
      a->offset += stride * r[i].start;
    } else if (stride) {
      if (a->nterm == ACCESS_TERMS) return 0;
      a->term[a->nterm].slot = ints + i;
      a->term[a->nterm++].mult = stride;
    }
  }
  return 1;
}

static void expand_access(plan_access *a, const plan_shape *from,
                          const plan_shape *to) {
  int64_t stride[PLAN_RANK];
  uint32_t lead = to->rank - from->rank;
  for (uint32_t i = 0; i < to->rank; i++) {
    int same = i >= lead && from->dim[i - lead] == to->dim[i];
    stride[i] = same ? a->stride[i - lead] : 0;
  }
  memcpy(a->stride, stride, sizeof *stride * to->rank);
}

int access_view(plan_access *a, const plan_shape *from, const plan_node *n,
                uint32_t ints) {
  int64_t stride[PLAN_RANK];
  switch (n->op) {
  case TSH_OP_detach:
  case TSH_OP_custom:
    return 1;
  case TSH_OP_windows:
    a->stride[from->rank] = a->stride[n->axes] * n->attr->window.dilation;
    a->stride[n->axes] *= n->attr->window.stride;
    return 1;
  case TSH_OP_slice:
    return slice_access(a, from, n->attr->range, ints);
  case TSH_OP_expand:
    expand_access(a, from, n->shape);
    return 1;
  case TSH_OP_permute:
    for (uint32_t i = 0; i < n->shape->rank; i++)
      stride[i] = a->stride[n->attr->order[i]];
    break;
  default: /* reshape */
    if (!access_reshape(from, a->stride, n->shape, stride)) return 0;
  }
  memcpy(a->stride, stride, sizeof *stride * n->shape->rank);
  return 1;
}
