/* move.c - layout ops. A view of a ready value is ready at once: it shares the
 * buffer. A view of a pending value is recorded. */
#include "priv.h"

static plan_node *move_node(plan *p, int op, plan_node *x,
                            const plan_shape *shape, int attr) {
  plan_node *n = node_new(p);
  if (!n) return NULL;
  n->op = (uint16_t)op;
  n->dtype = x->dtype;
  n->shape = shape;
  n->d = x->d;
  n->in[0] = operand_of(node_ref(x));
  n->nin = 1;
  if (attr && !(n->attr = plan_alloc(sizeof *n->attr))) {
    plan_drop(p, n);
    return NULL;
  }
  return n;
}

/* Row-major strides carry no information where the extent is 1. */
static int is_row_major(const plan_shape *s, const int64_t *stride) {
  int64_t want[PLAN_RANK];
  shape_strides(s, want);
  for (uint32_t i = 0; i < s->rank; i++)
    if (s->dim[i] != 1 && stride[i] != want[i]) return 0;
  return 1;
}

/* Makes n, a view of the ready x, ready too. Leaves it pending when the view
 * has no strides. */
static tsh_status view_ready(plan *p, plan_node *n, plan_node *x,
                             tsh_err *err) {
  plan_access a = {.offset = x->offset};
  const plan_layout *layout = NULL;
  if (x->layout)
    memcpy(a.stride, x->layout->stride, sizeof *a.stride * x->shape->rank);
  else
    shape_strides(x->shape, a.stride);
  if (n->shape->count && !access_view(&a, x->shape, n, UINT32_MAX))
    return TSH_OK;
  if (n->shape->count && !is_row_major(n->shape, a.stride) &&
      !(layout = layout_get(p, (int)n->shape->rank, a.stride)))
    return plan_nomem(err, "a view");
  n->state = NODE_READY;
  n->buf = n->shape->count ? x->buf : NULL;
  if (n->buf) n->buf->refs++;
  n->offset = a.offset;
  n->layout = layout;
  return TSH_OK;
}

static tsh_status record_view(plan *p, plan_node *n, plan_node **out,
                              tsh_err *err) {
  plan_node *x = n->in[0].node;
  if (x->state == NODE_READY) {
    tsh_status rc = view_ready(p, n, x, err);
    if (rc != TSH_OK) {
      plan_drop(p, n);
      return rc;
    }
  }
  return trace_record(p, n, out, err);
}

tsh_status plan_reshape(plan *p, plan_node *x, const plan_shape *shape,
                        plan_node **out, tsh_err *err) {
  char a[200], b[200];
  plan_node *n;
  *out = NULL;
  if (shape->count != x->shape->count)
    return dev_fail(
        err, TSH_EINVAL, "reshape: %s has %lld elements, %s would have %lld",
        shape_text(x->shape, a, sizeof a), (long long)x->shape->count,
        shape_text(shape, b, sizeof b), (long long)shape->count);
  if (!(n = move_node(p, TSH_OP_reshape, x, shape, 0)))
    return plan_nomem(err, "a tensor");
  return record_view(p, n, out, err);
}

tsh_status plan_detach(plan *p, plan_node *x, plan_node **out, tsh_err *err) {
  plan_node *n = move_node(p, TSH_OP_detach, x, x->shape, 0);
  *out = NULL;
  if (!n) return plan_nomem(err, "a tensor");
  return record_view(p, n, out, err);
}

static int64_t windows_in(int64_t n, const plan_window *w) {
  int64_t reach;
  if (w->size < 1 || w->stride < 1 || w->dilation < 1) return 0;
  if (w->size - 1 > (n - 1) / w->dilation || n < 1) return 0;
  reach = w->dilation * (w->size - 1) + 1;
  return (n - reach) / w->stride + 1;
}

tsh_status plan_windows(plan *p, plan_node *x, int axis,
                        const plan_window *window, plan_node **out,
                        tsh_err *err) {
  const plan_shape *s = x->shape, *shape;
  int64_t dim[PLAN_RANK + 1];
  plan_node *n;
  *out = NULL;
  if (axis < 0 || (uint32_t)axis >= s->rank)
    return dev_fail(err, TSH_EINVAL, "windows: no axis %d in %u axes", axis + 1,
                    s->rank);
  memcpy(dim, s->dim, sizeof s->dim);
  dim[axis] = windows_in(s->dim[axis], window);
  dim[s->rank] = window->size;
  if (!dim[axis])
    return dev_fail(err, TSH_EINVAL,
                    "windows: no window of %lld elements, %lld apart, by steps "
                    "of %lld, fits axis %d of extent %lld",
                    (long long)window->size, (long long)window->dilation,
                    (long long)window->stride, axis + 1,
                    (long long)s->dim[axis]);
  if (!(shape = plan_shape_get(p, (int)s->rank + 1, dim, err)))
    return shape_status(err);
  if (!(n = move_node(p, TSH_OP_windows, x, shape, 1)))
    return plan_nomem(err, "a tensor");
  n->axes = (uint32_t)axis;
  n->attr->window = *window;
  /* A single window, or one of a single element, has no step there: 1, so
   * that no stride can wrap. */
  if (dim[axis] == 1) n->attr->window.stride = 1;
  if (window->size == 1) n->attr->window.dilation = 1;
  return record_view(p, n, out, err);
}

tsh_status plan_custom(plan *p, plan_node *const *x, int n, plan_node **out,
                       tsh_err *err) {
  plan_node *r;
  *out = NULL;
  if (n < 1 || n > UINT16_MAX)
    return dev_fail(err, TSH_EINVAL, "custom: 1 to %d tensors, not %d",
                    UINT16_MAX, n);
  if (!(r = move_node(p, TSH_OP_custom, x[0], x[0]->shape, 1)))
    return plan_nomem(err, "a tensor");
  if (!(r->attr->many = plan_alloc(sizeof(plan_operand) * (size_t)n))) {
    plan_drop(p, r);
    return plan_nomem(err, "a tensor");
  }
  r->attr->many[0] = r->in[0];
  for (int i = 1; i < n; i++)
    r->attr->many[r->nin++] = operand_of(node_ref(x[i]));
  return record_view(p, r, out, err);
}

tsh_status plan_permute(plan *p, plan_node *x, const uint8_t *order,
                        plan_node **out, tsh_err *err) {
  const plan_shape *s = x->shape, *shape;
  int64_t dim[PLAN_RANK];
  uint32_t seen = 0;
  plan_node *n;
  *out = NULL;
  for (uint32_t i = 0; i < s->rank; i++) {
    if (order[i] >= s->rank || seen >> order[i] & 1)
      return dev_fail(err, TSH_EINVAL,
                      "permute: the order must name each of %u axes once",
                      s->rank);
    seen |= UINT32_C(1) << order[i];
    dim[i] = s->dim[order[i]];
  }
  if (!(shape = plan_shape_get(p, (int)s->rank, dim, err)))
    return shape_status(err);
  if (!(n = move_node(p, TSH_OP_permute, x, shape, 1)))
    return plan_nomem(err, "a tensor");
  memcpy(n->attr->order, order, s->rank);
  return record_view(p, n, out, err);
}

tsh_status plan_expand(plan *p, plan_node *x, const plan_shape *shape,
                       plan_node **out, tsh_err *err) {
  const plan_shape *s;
  char a[200], b[200];
  plan_node *n;
  *out = NULL;
  if (x->shape == shape) {
    *out = plan_keep(x);
    return TSH_OK;
  }
  s = x->shape->rank <= shape->rank
          ? shape_broadcast(p, "expand", x->shape, shape, NULL)
          : NULL;
  if (s != shape)
    return dev_fail(err, TSH_EINVAL, "expand: %s does not broadcast to %s",
                    shape_text(x->shape, a, sizeof a),
                    shape_text(shape, b, sizeof b));
  if (!(n = move_node(p, TSH_OP_expand, x, shape, 0)))
    return plan_nomem(err, "a tensor");
  return record_view(p, n, out, err);
}

static const plan_shape *range_shape(plan *p, const char *op,
                                     const plan_shape *s, const plan_range *r,
                                     tsh_err *err) {
  int64_t dim[PLAN_RANK];
  for (uint32_t i = 0; i < s->rank; i++) {
    int64_t n = r[i].count;
    int bad = r[i].step == 0 || n < 0 || n > s->dim[i] ||
              (n && (r[i].start < 0 || r[i].start >= s->dim[i]));
    if (!bad && n > 1) {
      /* n <= dim, so only a huge step can wrap: divide to see it. */
      int64_t room = r[i].step > 0 ? s->dim[i] - 1 - r[i].start : r[i].start;
      uint64_t step =
          r[i].step > 0 ? (uint64_t)r[i].step : 0 - (uint64_t)r[i].step;
      bad = (uint64_t)room / step < (uint64_t)(n - 1);
    }
    if (bad) {
      dev_fail(err, TSH_EINVAL,
               "%s: %lld elements from %lld by %lld along axis %u of extent "
               "%lld",
               op, (long long)n, (long long)r[i].start + 1,
               (long long)r[i].step, i + 1, (long long)s->dim[i]);
      return NULL;
    }
    dim[i] = n;
  }
  return plan_shape_get(p, (int)s->rank, dim, err);
}

/* A range of one element has no step: 1, so that no stride can wrap. */
static void keep_ranges(plan_range *out, const plan_range *in, uint32_t rank) {
  for (uint32_t i = 0; i < rank; i++) {
    out[i] = in[i];
    if (in[i].count <= 1) out[i].step = 1;
    if (in[i].count == 0) out[i].start = 0;
  }
}

tsh_status plan_slice(plan *p, plan_node *x, const plan_range *range,
                      plan_node **out, tsh_err *err) {
  const plan_shape *shape = range_shape(p, "slice", x->shape, range, err);
  plan_node *n;
  *out = NULL;
  if (!shape) return shape_status(err);
  if (!(n = move_node(p, TSH_OP_slice, x, shape, 1)))
    return plan_nomem(err, "a tensor");
  keep_ranges(n->attr->range, range, x->shape->rank);
  return record_view(p, n, out, err);
}

/* ---- new values made of parts ------------------------------------------- */
/* v as a tensor of x's dtype, device and the given shape; owned. */
static tsh_status part(plan *p, plan_node *x, const plan_shape *shape,
                       const plan_operand *v, plan_node **out, tsh_err *err) {
  plan_node *a = NULL, *b = NULL;
  tsh_status rc = TSH_OK;
  *out = NULL;
  if (v->kind != PLAN_TENSOR)
    return plan_full(p, x->d, x->dtype, shape, v, out, err);
  TRY(plan_to(p, v->node, x->d, &a, err));
  TRY(plan_cast(p, a, x->dtype, &b, err));
  TRY(plan_expand(p, b, shape, out, err));
out:
  node_temp(p, a);
  node_temp(p, b);
  return rc;
}

tsh_status plan_pad(plan *p, plan_node *x, const int64_t *before,
                    const int64_t *after, const plan_operand *value,
                    plan_node **out, tsh_err *err) {
  const plan_shape *s = x->shape, *shape, *one;
  plan_node *n, *fill = NULL;
  int64_t dim[PLAN_RANK];
  tsh_status rc;
  *out = NULL;
  for (uint32_t i = 0; i < s->rank; i++) {
    if (before[i] < 0 || after[i] < 0 || before[i] > INT64_MAX / 4 ||
        after[i] > INT64_MAX / 4)
      return dev_fail(err, TSH_EINVAL,
                      "pad: a border has 0 or more elements, not %lld",
                      (long long)(before[i] < 0 ? before[i] : after[i]));
    dim[i] = s->dim[i] + before[i] + after[i];
  }
  if (!(shape = plan_shape_get(p, (int)s->rank, dim, err)) ||
      !(one = plan_shape_get(p, 0, NULL, err)))
    return shape_status(err);
  if ((rc = part(p, x, one, value, &fill, err)) != TSH_OK) return rc;
  if (!(n = move_node(p, TSH_OP_pad, x, shape, 1))) {
    plan_drop(p, fill);
    return plan_nomem(err, "a tensor");
  }
  memcpy(n->attr->pad.before, before, sizeof *before * s->rank);
  memcpy(n->attr->pad.after, after, sizeof *after * s->rank);
  n->in[1] = operand_of(node_ref(fill));
  n->nin = 2;
  node_temp(p, fill);
  return trace_record(p, n, out, err);
}

/* Common dtype, device and extents of the parts; their sum along axis. */
static tsh_status cat_result(plan *p, plan_node *const *x, int n, int axis,
                             int *dtype, dev **d, const plan_shape **shape,
                             tsh_err *err) {
  const plan_shape *first = x[0]->shape;
  int64_t dim[PLAN_RANK];
  *dtype = x[0]->dtype;
  *d = x[0]->d;
  if (axis < 0 || (uint32_t)axis >= first->rank)
    return dev_fail(err, TSH_EINVAL, "cat: no axis %d in %u axes", axis + 1,
                    first->rank);
  memcpy(dim, first->dim, sizeof dim);
  dim[axis] = 0;
  for (int i = 0; i < n; i++) {
    const plan_shape *s = x[i]->shape;
    for (uint32_t k = 0; k < first->rank || k < s->rank; k++)
      if (s->rank != first->rank ||
          ((int)k != axis && s->dim[k] != first->dim[k])) {
        char a[200], b[200];
        return dev_fail(err, TSH_EINVAL, "cat: %s and %s differ beside axis %d",
                        shape_text(first, a, sizeof a),
                        shape_text(s, b, sizeof b), axis + 1);
      }
    if (s->dim[axis] > INT64_MAX / 4 - dim[axis])
      return dev_fail(err, TSH_EINVAL, "cat: too many elements");
    dim[axis] += s->dim[axis];
    *dtype = plan_promote(*dtype, x[i]->dtype);
    if (dev_id(*d) == 0) *d = x[i]->d;
  }
  *shape = plan_shape_get(p, (int)first->rank, dim, err);
  return *shape ? TSH_OK : shape_status(err);
}

static plan_node *cat_node(plan *p, int n, int axis, int dtype, dev *d,
                           const plan_shape *shape) {
  plan_node *r = node_new(p);
  if (!r) return NULL;
  r->op = TSH_OP_cat;
  r->dtype = (uint8_t)dtype;
  r->shape = shape;
  r->d = d;
  r->axes = (uint32_t)axis;
  r->attr = plan_alloc(sizeof *r->attr);
  if (r->attr) r->attr->many = plan_alloc(sizeof(plan_operand) * (size_t)n);
  if (!r->attr || !r->attr->many) {
    plan_drop(p, r);
    return NULL;
  }
  return r;
}

tsh_status plan_cat(plan *p, plan_node *const *x, int n, int axis,
                    plan_node **out, tsh_err *err) {
  const plan_shape *shape = NULL;
  plan_node *r;
  tsh_status rc;
  int dtype;
  dev *d;
  *out = NULL;
  if (n < 1) return dev_fail(err, TSH_EINVAL, "cat: there is no tensor");
  if (n > UINT16_MAX) /* asked by cat, stack or an index */
    return dev_fail(err, TSH_EINVAL, "%d tensors are joined, at most %d can be",
                    n, UINT16_MAX);
  if ((rc = cat_result(p, x, n, axis, &dtype, &d, &shape, err)) != TSH_OK)
    return rc;
  if (!(r = cat_node(p, n, axis, dtype, d, shape)))
    return plan_nomem(err, "a tensor");
  for (int i = 0; i < n && rc == TSH_OK; i++) {
    plan_operand v = operand_of(x[i]);
    plan_node *same = NULL;
    rc = part(p, r, x[i]->shape, &v, &same, err);
    if (rc != TSH_OK) break;
    r->attr->many[r->nin++] = operand_of(node_ref(same));
    if (same == x[i])
      plan_drop(p, same);
    else
      node_temp(p, same);
  }
  if (rc != TSH_OK) {
    plan_drop(p, r);
    return rc;
  }
  return trace_record(p, r, out, err);
}

tsh_status plan_set(plan *p, plan_node *x, const plan_range *range,
                    const plan_operand *v, plan_node **out, tsh_err *err) {
  const plan_shape *shape = range_shape(p, "set", x->shape, range, err);
  plan_node *n, *piece = NULL;
  tsh_status rc;
  *out = NULL;
  if (!shape) return shape_status(err);
  if ((rc = part(p, x, shape, v, &piece, err)) != TSH_OK) return rc;
  if (!(n = move_node(p, TSH_OP_set, x, x->shape, 1))) {
    plan_drop(p, piece);
    return plan_nomem(err, "a tensor");
  }
  keep_ranges(n->attr->range, range, x->shape->rank);
  n->in[1] = operand_of(node_ref(piece));
  n->nin = 2;
  if (v->kind == PLAN_TENSOR && piece == v->node)
    plan_drop(p, piece);
  else
    node_temp(p, piece);
  return trace_record(p, n, out, err);
}

tsh_status plan_to(plan *p, plan_node *x, dev *d, plan_node **out,
                   tsh_err *err) {
  plan_node *n;
  *out = NULL;
  if (x->d == d) {
    *out = plan_keep(x);
    return TSH_OK;
  }
  if (!dev_has_dtype(d, x->dtype))
    return dev_fail(err, TSH_EINVAL, "to: %s has no %s", dev_name(d),
                    plan_dtype_name(x->dtype));
  if (node_device(p, d, err) == UINT32_MAX) return TSH_ENOMEM;
  if (!(n = move_node(p, TSH_OP_to, x, x->shape, 0)))
    return plan_nomem(err, "a tensor");
  n->d = d;
  return trace_record(p, n, out, err);
}
