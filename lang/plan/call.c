/* call.c - CALL ops are recorded: what reads or writes at positions, sorts,
 * scans and finds. */
#include "priv.h"

/* ---- positions ---------------------------------------------------------- */
static int is_position(const plan_node *n) {
  int kind = plan_dtype_kind(n->dtype);
  return kind == TSH_KIND_INT || kind == TSH_KIND_UINT;
}

static tsh_status check_positions(const char *op, const plan_node *at,
                                  tsh_err *err) {
  if (is_position(at)) return TSH_OK;
  return dev_fail(err, TSH_EINVAL, "%s: positions must be integers, got %s", op,
                  plan_dtype_name(at->dtype));
}

/* A step of a recording is over: *x is the caller's own tensor, or was made
 * for this op. */
static void step_over(plan *p, plan_node *x, const plan_node *own) {
  if (x && x == own)
    plan_drop(p, x);
  else
    node_temp(p, x);
}

/* Positions as i64; what is above is none, and stays so. Owned. */
static tsh_status wide_positions(plan *p, plan_node *y, plan_node **out,
                                 tsh_err *err) {
  plan_operand in[2] = {operand_of(y), operand_int(INT64_MAX)};
  plan_node *low = NULL;
  tsh_status rc;
  if (y->dtype != TSH_u64) return plan_cast(p, y, TSH_i64, out, err);
  if ((rc = plan_map(p, TSH_OP_minimum, in, 2, &low, err)) != TSH_OK) return rc;
  rc = plan_cast(p, low, TSH_i64, out, err);
  node_temp(p, low);
  return rc;
}

/* What devices read: i32 or i64, where x is. Owned. */
static tsh_status positions_on(plan *p, const char *op, plan_node *at, dev *d,
                               plan_node **out, tsh_err *err) {
  plan_node *y = NULL;
  tsh_status rc;
  *out = NULL;
  if ((rc = check_positions(op, at, err)) != TSH_OK) return rc;
  rc = at->dtype == TSH_i32 ? plan_cast(p, at, TSH_i32, &y, err)
                            : wide_positions(p, at, &y, err);
  if (rc != TSH_OK) return rc;
  rc = plan_to(p, y, d, out, err);
  step_over(p, y, at);
  return rc;
}

/* Values in x's dtype, where x is. Owned. */
static tsh_status values_on(plan *p, plan_node *v, const plan_node *x,
                            plan_node **out, tsh_err *err) {
  plan_node *y = NULL;
  tsh_status rc;
  *out = NULL;
  if ((rc = plan_cast(p, v, x->dtype, &y, err)) != TSH_OK) return rc;
  rc = plan_to(p, y, x->d, out, err);
  step_over(p, y, v);
  return rc;
}

tsh_status plan_index(plan *p, plan_node *y, int64_t n, plan_node **out,
                      tsh_err *err) {
  plan_operand in[2];
  plan_node *wide = NULL;
  tsh_status rc;
  *out = NULL;
  if ((rc = check_positions("index", y, err)) != TSH_OK) return rc;
  if ((rc = wide_positions(p, y, &wide, err)) != TSH_OK) return rc;
  in[0] = operand_of(wide);
  in[1] = operand_int(n);
  rc = record_map(p, TSH_OP_index, TSH_i64, wide->d, wide->shape, in, 2, out,
                  err);
  step_over(p, wide, y);
  return rc;
}

/* ---- what all of them share --------------------------------------------- */
typedef struct {
  int op, dtype, n, axis, flag; /* flag: descending, largest */
  plan_node *in[3];             /* borrowed */
  const plan_shape *shape;
} call;

static tsh_status record_call(plan *p, const call *c, plan_node **out,
                              tsh_err *err) {
  plan_node *r = node_new(p);
  *out = NULL;
  if (!r) return plan_nomem(err, "a tensor");
  r->op = (uint16_t)c->op;
  r->dtype = (uint8_t)c->dtype;
  r->shape = c->shape;
  r->d = c->in[0]->d;
  r->axes = (uint32_t)c->axis;
  r->keep = c->flag != 0;
  r->nin = (uint16_t)c->n;
  for (int i = 0; i < c->n; i++) r->in[i] = operand_of(node_ref(c->in[i]));
  return trace_record(p, r, out, err);
}

static tsh_status check_axis(int op, const plan_node *x, int axis,
                             tsh_err *err) {
  const char *name = plan_ops[op].name;
  if (axis >= 0 && (uint32_t)axis < x->shape->rank) return TSH_OK;
  if (x->shape->rank == 0)
    return dev_fail(err, TSH_EINVAL, "%s: a 0-d tensor has no axis", name);
  return dev_fail(err, TSH_EINVAL, "%s: no axis %d in %u axes", name, axis + 1,
                  x->shape->rank);
}

static tsh_status check_takes(int op, const plan_node *x, tsh_err *err) {
  const char *name = plan_ops[op].name;
  if (plan_ops[op].takes & record_takes(x->dtype)) return TSH_OK;
  return dev_fail(err, TSH_EINVAL, "%s: there is no %s of %s", name, name,
                  plan_dtype_name(x->dtype));
}

/* ---- take, index_add ---------------------------------------------------- */
/* Shape of x with `axis` replaced by the axes of at. */
static const plan_shape *taken_shape(plan *p, int op, const plan_node *x,
                                     const plan_shape *at, int axis,
                                     tsh_err *err) {
  const plan_shape *s = x->shape;
  int64_t dim[2 * PLAN_RANK];
  int rank = 0;
  if (check_axis(op, x, axis, err) != TSH_OK) return NULL;
  if (s->dim[axis] == 0 && at->count) {
    dev_fail(err, TSH_EINDEX, "%s: axis %d has no element", plan_ops[op].name,
             axis + 1);
    return NULL;
  }
  for (int i = 0; i < axis; i++) dim[rank++] = s->dim[i];
  for (uint32_t i = 0; i < at->rank; i++) dim[rank++] = at->dim[i];
  for (uint32_t i = (uint32_t)axis + 1; i < s->rank; i++)
    dim[rank++] = s->dim[i];
  return plan_shape_get(p, rank, dim, err);
}

/* x read at positions; shape: of the result. */
static tsh_status read_at(plan *p, int op, plan_node *x, plan_node *at,
                          int axis, const plan_shape *shape, plan_node **out,
                          tsh_err *err) {
  call c = {op, x->dtype, 2, axis, 0, {x, NULL, NULL}, shape};
  tsh_status rc = positions_on(p, plan_ops[op].name, at, x->d, &c.in[1], err);
  if (rc != TSH_OK) return rc;
  rc = record_call(p, &c, out, err);
  step_over(p, c.in[1], at);
  return rc;
}

/* x with v, of the given shape, added at positions; halves in f32. */
static tsh_status add_at(plan *p, int op, plan_node *x, plan_node *at,
                         plan_node *v, int axis, const plan_shape *shape,
                         plan_node **out, tsh_err *err) {
  int is_half = plan_is_half(x->dtype) && op != TSH_OP_index_set;
  int compute = is_half ? TSH_f32 : x->dtype;
  call c = {op, compute, 3, axis, 0, {NULL, NULL, NULL}, x->shape};
  plan_node *sum = NULL;
  tsh_status rc = check_takes(op, x, err);
  char a[200], b[200];
  if (rc == TSH_OK && shape != v->shape)
    rc = dev_fail(err, TSH_EINVAL, "%s: the values are %s, not %s",
                  plan_ops[op].name, shape_text(v->shape, a, sizeof a),
                  shape_text(shape, b, sizeof b));
  if (rc != TSH_OK) return rc;
  TRY(plan_cast(p, x, compute, &c.in[0], err));
  TRY(positions_on(p, plan_ops[op].name, at, x->d, &c.in[1], err));
  TRY(values_on(p, v, c.in[0], &c.in[2], err));
  TRY(record_call(p, &c, &sum, err));
  TRY(plan_cast(p, sum, x->dtype, out, err));
out:
  step_over(p, c.in[0], x);
  step_over(p, c.in[1], at);
  step_over(p, c.in[2], v);
  step_over(p, sum, *out);
  return rc;
}

tsh_status plan_take(plan *p, plan_node *x, plan_node *at, int axis,
                     plan_node **out, tsh_err *err) {
  const plan_shape *s;
  *out = NULL;
  s = taken_shape(p, TSH_OP_take, x, at->shape, axis, err);
  if (!s) return shape_status(err);
  return read_at(p, TSH_OP_take, x, at, axis, s, out, err);
}

tsh_status plan_index_put(plan *p, int op, plan_node *x, plan_node *at,
                          plan_node *v, int axis, plan_node **out,
                          tsh_err *err) {
  const plan_shape *s;
  *out = NULL;
  s = taken_shape(p, op, x, at->shape, axis, err);
  if (!s) return shape_status(err);
  return add_at(p, op, x, at, v, axis, s, out, err);
}

tsh_status plan_index_add(plan *p, plan_node *x, plan_node *at, plan_node *v,
                          int axis, plan_node **out, tsh_err *err) {
  return plan_index_put(p, TSH_OP_index_add, x, at, v, axis, out, err);
}

/* ---- gather, scatter_add ------------------------------------------------ */
/* Positions have x's rank and beside the axis no larger extents. */
static tsh_status check_gathered(int op, const plan_node *x,
                                 const plan_node *at, int axis, tsh_err *err) {
  const plan_shape *s = x->shape, *t = at->shape;
  const char *name = plan_ops[op].name;
  char a[200], b[200];
  tsh_status rc = check_axis(op, x, axis, err);
  if (rc != TSH_OK) return rc;
  if (s->rank != t->rank)
    return dev_fail(err, TSH_EINVAL,
                    "%s: positions %s must have as many axes as x %s", name,
                    shape_text(t, a, sizeof a), shape_text(s, b, sizeof b));
  for (uint32_t i = 0; i < s->rank; i++)
    if ((int)i != axis && t->dim[i] > s->dim[i])
      return dev_fail(err, TSH_EINVAL,
                      "%s: positions %s are larger than x %s along axis %u",
                      name, shape_text(t, a, sizeof a),
                      shape_text(s, b, sizeof b), i + 1);
  if (s->dim[axis] == 0 && t->count)
    return dev_fail(err, TSH_EINDEX, "%s: axis %d has no element", name,
                    axis + 1);
  return TSH_OK;
}

tsh_status plan_gather(plan *p, plan_node *x, plan_node *at, int axis,
                       plan_node **out, tsh_err *err) {
  tsh_status rc = check_gathered(TSH_OP_gather, x, at, axis, err);
  *out = NULL;
  if (rc != TSH_OK) return rc;
  return read_at(p, TSH_OP_gather, x, at, axis, at->shape, out, err);
}

tsh_status plan_scatter_add(plan *p, plan_node *x, plan_node *at, plan_node *v,
                            int axis, plan_node **out, tsh_err *err) {
  tsh_status rc = check_gathered(TSH_OP_scatter_add, x, at, axis, err);
  *out = NULL;
  if (rc != TSH_OK) return rc;
  return add_at(p, TSH_OP_scatter_add, x, at, v, axis, at->shape, out, err);
}

/* ---- order -------------------------------------------------------------- */
static tsh_status ordered(plan *p, int op, int dtype, plan_node *x, int axis,
                          int flag, plan_node **out, tsh_err *err) {
  call c = {op, dtype, 1, axis, flag, {x, NULL, NULL}, x->shape};
  tsh_status rc = check_axis(op, x, axis, err);
  *out = NULL;
  return rc ? rc : record_call(p, &c, out, err);
}

tsh_status plan_sort(plan *p, plan_node *x, int axis, int descending,
                     plan_node **out, tsh_err *err) {
  return ordered(p, TSH_OP_sort, x->dtype, x, axis, descending, out, err);
}

tsh_status plan_argsort(plan *p, plan_node *x, int axis, int descending,
                        plan_node **out, tsh_err *err) {
  return ordered(p, TSH_OP_argsort, TSH_i64, x, axis, descending, out, err);
}

tsh_status plan_argtopk(plan *p, plan_node *x, int axis, int64_t k, int largest,
                        plan_node **out, tsh_err *err) {
  call c = {TSH_OP_argtopk, TSH_i64, 1, axis, largest, {x, NULL, NULL}, NULL};
  int64_t dim[PLAN_RANK];
  tsh_status rc = check_axis(TSH_OP_argtopk, x, axis, err);
  *out = NULL;
  if (rc != TSH_OK) return rc;
  memcpy(dim, x->shape->dim, sizeof dim);
  if (k < 0 || k > dim[axis])
    return dev_fail(err, TSH_EINVAL,
                    "topk: k is %lld, axis %d has %lld elements", (long long)k,
                    axis + 1, (long long)dim[axis]);
  dim[axis] = k;
  if (!(c.shape = plan_shape_get(p, (int)x->shape->rank, dim, err)))
    return shape_status(err);
  return record_call(p, &c, out, err);
}

/* ---- scans -------------------------------------------------------------- */
/* What a scan of x is computed in: integers as their sums, halves as f32. */
static int scan_dtype(int dtype) {
  switch (plan_dtype_kind(dtype)) {
  case TSH_KIND_BOOL:
  case TSH_KIND_INT:
    return TSH_i64;
  case TSH_KIND_UINT:
    return TSH_u64;
  default:
    return plan_is_half(dtype) ? TSH_f32 : dtype;
  }
}

tsh_status plan_scan(plan *p, int op, plan_node *x, int axis, plan_node **out,
                     tsh_err *err) {
  int compute = scan_dtype(x->dtype);
  int is_half = plan_is_half(x->dtype);
  call c = {op, compute, 1, axis, 0, {NULL, NULL, NULL}, x->shape};
  plan_node *sum = NULL;
  tsh_status rc = check_axis(op, x, axis, err);
  *out = NULL;
  if (rc != TSH_OK) return rc;
  TRY(plan_cast(p, x, compute, &c.in[0], err));
  TRY(record_call(p, &c, &sum, err));
  TRY(plan_cast(p, sum, is_half ? x->dtype : compute, out, err));
out:
  step_over(p, c.in[0], x);
  step_over(p, sum, *out);
  return rc;
}

/* ---- nonzero ------------------------------------------------------------ */
tsh_status plan_nonzero(plan *p, plan_node *mask, int64_t n, plan_node **out,
                        tsh_err *err) {
  call c = {TSH_OP_nonzero, TSH_i64, 1, 0, 0, {mask, NULL, NULL}, NULL};
  plan_operand zero = operand_int(0);
  *out = NULL;
  if (mask->dtype != TSH_bool)
    return dev_fail(err, TSH_EINVAL, "nonzero: the mask must be bool, got %s",
                    plan_dtype_name(mask->dtype));
  if (n < 0)
    return dev_fail(err, TSH_EINVAL, "nonzero: a size cannot be %lld",
                    (long long)n);
  if (!(c.shape = plan_shape_get(p, 1, &n, err))) return shape_status(err);
  if (mask->shape->count == 0)
    return plan_full(p, mask->d, TSH_i64, c.shape, &zero, out, err);
  return record_call(p, &c, out, err);
}
