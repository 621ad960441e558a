/* create.c - values from nothing, or from the host. */
#include "priv.h"

tsh_status plan_full(plan *p, dev *d, int dtype, const plan_shape *shape,
                     const plan_operand *value, plan_node **out, tsh_err *err) {
  *out = NULL;
  if (!dtype)
    dtype = value->kind == PLAN_REAL  ? TSH_f32
            : value->kind == PLAN_INT ? TSH_i64
                                      : TSH_bool;
  if (!dev_has_dtype(d, dtype))
    return dev_fail(err, TSH_EINVAL, "full: %s has no %s", dev_name(d),
                    plan_dtype_name(dtype));
  if (value->kind == PLAN_INT && !record_fits(value->num.i, dtype))
    return dev_fail(err, TSH_EINVAL, "full: %lld does not fit %s",
                    (long long)value->num.i, plan_dtype_name(dtype));
  if (value->kind == PLAN_REAL && record_takes(dtype) != TAKES_F)
    return dev_fail(err, TSH_EINVAL, "full: %g is no %s", value->num.f,
                    plan_dtype_name(dtype));
  if (node_device(p, d, err) == UINT32_MAX) return TSH_ENOMEM;
  return record_map(p, TSH_OP_full, dtype, d, shape, value, 1, out, err);
}

int plan_is_filled(const plan_node *n, double *value) {
  const plan_operand *v = n->in;
  if (n->op != TSH_OP_full || n->nin != 1 || n->state != NODE_PENDING ||
      (n->dtype != TSH_f32 && n->dtype != TSH_f64))
    return 0;
  *value = v->kind == PLAN_REAL ? v->num.f : (double)v->num.i;
  if (n->dtype == TSH_f32) *value = (double)(float)*value;
  return 1;
}

tsh_status plan_iota(plan *p, dev *d, int dtype, const plan_shape *shape,
                     plan_node **out, tsh_err *err) {
  *out = NULL;
  if (dtype != TSH_i64 && dtype != TSH_i32)
    return dev_fail(err, TSH_EINVAL, "iota: positions are i64 or i32, not %s",
                    plan_dtype_name(dtype));
  if (node_device(p, d, err) == UINT32_MAX) return TSH_ENOMEM;
  return record_map(p, TSH_OP_iota, dtype, d, shape, NULL, 0, out, err);
}

/* ---- elements from the host ------------------------------------------------
 */
/* To a device that the host cannot see, in pieces. */
static tsh_status fill_far(dev *d, plan_buf *b, uint64_t bytes,
                           plan_filler fill, void *ud, tsh_err *err) {
  enum { PIECE = 4 << 20 };
  uint64_t room = bytes < PIECE ? bytes : PIECE;
  char *piece = plan_alloc(room);
  tsh_status rc = piece ? TSH_OK : plan_nomem(err, "a piece of a tensor");
  for (uint64_t at = 0; rc == TSH_OK && at < bytes; at += room) {
    uint64_t n = bytes - at < room ? bytes - at : room;
    rc = fill(ud, piece, n, err);
    if (rc == TSH_OK) rc = dev_write(d, b->buf, at, piece, n, err);
  }
  plan_release(piece);
  return rc;
}

static tsh_status fill_buf(dev *d, plan_buf *b, uint64_t bytes,
                           plan_filler fill, void *ud, tsh_err *err) {
  void *host = dev_host_ptr(d, b->buf);
  if (!host) return fill_far(d, b, bytes, fill, ud, err);
  return fill(ud, host, bytes, err);
}

/* fill NULL: ud are the elements. */
static tsh_status from_host(plan *p, dev *d, int dtype, const plan_shape *shape,
                            plan_filler fill, void *ud, plan_node **out,
                            tsh_err *err) {
  uint64_t bytes = shape_bytes(shape, dtype);
  plan_node *n = NULL;
  plan_buf *b = NULL;
  tsh_status rc = TSH_OK;
  *out = NULL;
  if (!dev_has_dtype(d, dtype))
    return dev_fail(err, TSH_EINVAL, "tensor: %s has no %s", dev_name(d),
                    plan_dtype_name(dtype));
  if (node_device(p, d, err) == UINT32_MAX) return TSH_ENOMEM;
  if (bytes && !(b = buf_new_filled(p, d, bytes, err))) return TSH_ENOMEM;
  if (bytes && fill) TRY(fill_buf(d, b, bytes, fill, ud, err));
  if (bytes && !fill) TRY(dev_write(d, b->buf, 0, ud, bytes, err));
  p->counters.bytes_uploaded += bytes;
  if (!(n = node_new(p))) {
    rc = plan_nomem(err, "a tensor");
    goto out;
  }
  n->op = TSH_OP_full; /* any creation op: a leaf has no inputs */
  n->dtype = (uint8_t)dtype;
  n->shape = shape;
  n->d = d;
  node_set_ready(p, n, b, 0, NULL);
  *out = n;
out:
  buf_unref(p, b);
  return rc;
}

tsh_status plan_data(plan *p, dev *d, int dtype, const plan_shape *shape,
                     const void *host, plan_node **out, tsh_err *err) {
  return from_host(p, d, dtype, shape, NULL, (void *)(uintptr_t)host, out, err);
}

tsh_status plan_fill(plan *p, dev *d, int dtype, const plan_shape *shape,
                     plan_filler fill, void *ud, plan_node **out,
                     tsh_err *err) {
  return from_host(p, d, dtype, shape, fill, ud, out, err);
}
