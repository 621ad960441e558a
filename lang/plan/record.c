/* record.c - MAP ops: dtypes, shapes and devices are
 * decided here, once, so that a wrong one is an error at its own line. */
#include <math.h>
#include "priv.h"

#define MAX_IN 3

plan_operand operand_of(plan_node *n) {
  plan_operand o = {.node = n, .kind = PLAN_TENSOR};
  return o;
}

plan_operand operand_int(int64_t v) {
  plan_operand o = {.num.i = v, .kind = PLAN_INT};
  return o;
}

plan_operand operand_real(double v) {
  plan_operand o = {.num.f = v, .kind = PLAN_REAL};
  return o;
}

void plan_at(plan *p, uint32_t site) {
  p->site = site;
  p->first = p->trace.n == 0;
}

tsh_status record_map(plan *p, int op, int dtype, dev *d,
                      const plan_shape *shape, const plan_operand *in, int n,
                      plan_node **out, tsh_err *err) {
  plan_node *x = node_new(p);
  *out = NULL;
  if (!x) return plan_nomem(err, "a tensor");
  x->op = (uint16_t)op;
  x->dtype = (uint8_t)dtype;
  x->shape = shape;
  x->d = d;
  x->nin = (uint16_t)n;
  for (int i = 0; i < n; i++) {
    x->in[i] = in[i];
    if (in[i].kind == PLAN_TENSOR) node_ref(in[i].node);
    if (in[i].kind == PLAN_INT && plan_is_half(dtype))
      x->in[i] = operand_real(plan_half_odd(in[i].num.i));
  }
  return trace_record(p, x, out, err);
}

/* ---- dtypes of a MAP op ------------------------------------------------- */
int record_takes(int dtype) {
  switch (plan_dtype_kind(dtype)) {
  case TSH_KIND_BOOL:
    return TAKES_B;
  case TSH_KIND_FLOAT:
    return TAKES_F;
  default:
    return TAKES_I;
  }
}

/* The common dtype of tensors and numbers; numbers are weak. */
static int common_dtype(const plan_operand *in, int n) {
  int dtype = 0, weak = 0;
  for (int i = 0; i < n; i++) {
    if (in[i].kind != PLAN_TENSOR) {
      if (in[i].kind == PLAN_REAL)
        weak = PLAN_REAL;
      else if (in[i].kind == PLAN_INT && weak != PLAN_REAL)
        weak = PLAN_INT;
      else if (!weak)
        weak = PLAN_BOOL;
      continue;
    }
    dtype = dtype ? plan_promote(dtype, in[i].node->dtype) : in[i].node->dtype;
    if (!dtype) return 0;
  }
  if (!dtype)
    return weak == PLAN_REAL ? TSH_f32 : weak == PLAN_INT ? TSH_i64 : TSH_bool;
  if (weak == PLAN_REAL && record_takes(dtype) != TAKES_F) return TSH_f32;
  if (weak == PLAN_INT && dtype == TSH_bool) return TSH_i64;
  return dtype;
}

static int is_comparison(int op) { return op >= TSH_OP_eq && op <= TSH_OP_ge; }

static tsh_status no_common(int op, const plan_operand *in, int n,
                            tsh_err *err) {
  char a[240] = "", b[240] = "";
  plan_describe(in[0].node, a, sizeof a);
  if (n > 1 && in[1].kind == PLAN_TENSOR)
    plan_describe(in[1].node, b, sizeof b);
  return dev_fail(err, TSH_EINVAL, "%s: %s and %s have no common dtype",
                  plan_ops[op].name, a, b);
}

static tsh_status compute_dtype(int op, const plan_operand *in, int n, int *out,
                                tsh_err *err) {
  int takes = plan_ops[op].takes, dtype = common_dtype(in, n);
  if (!dtype) return no_common(op, in, n, err);
  if (op == TSH_OP_div && record_takes(dtype) != TAKES_F) dtype = TSH_f32;
  if (takes == TAKES_F && record_takes(dtype) != TAKES_F) dtype = TSH_f32;
  if (!(takes & record_takes(dtype)))
    return dev_fail(err, TSH_EINVAL, "%s: there is no %s of %s",
                    plan_ops[op].name, plan_ops[op].name,
                    dtype == TSH_bool ? "bool; cast it, or use | & ^ ~"
                                      : plan_dtype_name(dtype));
  *out = dtype;
  return TSH_OK;
}

/* ---- numbers beside integer tensors ------------------------------------- */
int record_fits(int64_t v, int dtype) {
  int bits = (int)plan_dtype_bytes(dtype) * 8;
  switch (plan_dtype_kind(dtype)) {
  case TSH_KIND_INT:
    return bits == 64 ||
           (v >= -(INT64_C(1) << (bits - 1)) && v < (INT64_C(1) << (bits - 1)));
  case TSH_KIND_UINT:
    return v >= 0 && (bits == 64 || v < (INT64_C(1) << bits));
  default:
    return 1;
  }
}

static tsh_status check_numbers(int op, const plan_operand *in, int n,
                                int dtype, tsh_err *err) {
  for (int i = 0; i < n; i++) {
    if (in[i].kind != PLAN_INT) continue;
    if (!record_fits(in[i].num.i, dtype))
      return dev_fail(err, TSH_EINVAL, "%s: %lld does not fit %s",
                      plan_ops[op].name, (long long)in[i].num.i,
                      plan_dtype_name(dtype));
    if (op == TSH_OP_pow && i == 1 && in[i].num.i < 0 &&
        record_takes(dtype) == TAKES_I)
      return dev_fail(err, TSH_EINVAL,
                      "pow: integers have no negative powers; cast to f32");
  }
  return TSH_OK;
}

/* A comparison of integers with a number goes by value: 2.5 becomes the whole
 * number with the same answer for every integer, or the answer is known. */
enum { CMP_KEEP, CMP_FALSE, CMP_TRUE };

/* x compared with a number beyond all values of its dtype; above: of them. */
static int compare_beyond(int op, int above) {
  if (op == TSH_OP_eq) return CMP_FALSE;
  if (op == TSH_OP_ne) return CMP_TRUE;
  return (op == TSH_OP_lt || op == TSH_OP_le) == above ? CMP_TRUE : CMP_FALSE;
}

static int compare_whole(int op, int dtype, double v, int64_t *whole) {
  double lo = floor(v);
  if (v != v) return op == TSH_OP_ne ? CMP_TRUE : CMP_FALSE;
  if (dtype == TSH_u64 && v >= 0x1p63 && v < 0x1p64) {
    *whole = (int64_t)(uint64_t)v; /* its bits */
    return CMP_KEEP;
  }
  if (v >= 0x1p63 || v < -0x1p63) return compare_beyond(op, v > 0);
  if (lo != v && op == TSH_OP_eq) return CMP_FALSE;
  if (lo != v && op == TSH_OP_ne) return CMP_TRUE;
  /* x < 2.5 is x <= 2 and x >= 2.5 is x > 2: both keep their op with 3. */
  *whole = (int64_t)lo;
  if (lo != v && (op == TSH_OP_lt || op == TSH_OP_ge)) *whole += 1;
  return CMP_KEEP;
}

static int swapped(int op) {
  switch (op) {
  case TSH_OP_lt:
    return TSH_OP_gt;
  case TSH_OP_le:
    return TSH_OP_ge;
  case TSH_OP_gt:
    return TSH_OP_lt;
  case TSH_OP_ge:
    return TSH_OP_le;
  default:
    return op;
  }
}

static tsh_status compare_number(plan *p, int op, plan_node *x,
                                 const plan_operand *num, plan_node **out,
                                 tsh_err *err) {
  int64_t whole = num->num.i;
  int real = num->kind == PLAN_REAL, known = CMP_KEEP;
  plan_operand in[2] = {operand_of(x), operand_of(x)};
  plan_node *wide = NULL;
  tsh_status rc;
  if (real) known = compare_whole(op, x->dtype, num->num.f, &whole);
  if (known == CMP_KEEP && !record_fits(whole, x->dtype) &&
      !(real && x->dtype == TSH_u64 && num->num.f > 0))
    known = compare_beyond(op, whole > 0);
  if (known != CMP_KEEP) /* x == x is true of integers, x != x false */
    return record_map(p, known == CMP_TRUE ? TSH_OP_eq : TSH_OP_ne, TSH_bool,
                      x->d, x->shape, in, 2, out, err);
  in[1] = operand_int(whole);
  if (x->dtype != TSH_bool)
    return record_map(p, op, TSH_bool, x->d, x->shape, in, 2, out, err);
  if ((rc = plan_cast(p, x, TSH_i64, &wide, err)) != TSH_OK) return rc;
  in[0] = operand_of(wide);
  rc = record_map(p, op, TSH_bool, x->d, x->shape, in, 2, out, err);
  node_temp(p, wide);
  return rc;
}

/* One integer tensor compared with a number? Fills x, num, the op as x OP num.
 */
static int is_number_compare(int op, const plan_operand *in, int n,
                             plan_node **x, const plan_operand **num, int *as) {
  int t = in[0].kind == PLAN_TENSOR ? 0 : 1;
  if (!is_comparison(op) || n != 2 || in[1 - t].kind == PLAN_TENSOR) return 0;
  *x = in[t].node;
  *num = &in[1 - t];
  *as = t == 0 ? op : swapped(op);
  return record_takes((*x)->dtype) != TAKES_F && in[1 - t].kind != PLAN_BOOL;
}

/* ---- shapes and devices of a MAP op ------------------------------------- */
static const plan_shape *common_shape(plan *p, int op, const plan_operand *in,
                                      int n, tsh_err *err) {
  const plan_shape *s = NULL;
  for (int i = 0; i < n; i++) {
    if (in[i].kind != PLAN_TENSOR) continue;
    s = s ? shape_broadcast(p, plan_ops[op].name, s, in[i].node->shape, err)
          : in[i].node->shape;
    if (!s) return NULL;
  }
  return s;
}

/* cpu yields to another device, else the first operand's wins; 0-d tensors
 * never decide unless all are. */
dev *record_device(const plan_operand *in, int n) {
  dev *first = NULL, *scalar = NULL;
  for (int i = 0; i < n; i++) {
    dev *d;
    if (in[i].kind != PLAN_TENSOR) continue;
    d = in[i].node->d;
    if (in[i].node->shape->rank == 0) {
      if (!scalar || dev_id(scalar) == 0) scalar = d;
    } else if (!first || dev_id(first) == 0) {
      first = d;
    }
  }
  return first ? first : scalar;
}

tsh_status record_conform(plan *p, const plan_operand *in, int dtype, dev *d,
                          const plan_shape *shape, plan_operand *out,
                          tsh_err *err) {
  plan_node *a = NULL, *b = NULL, *c = NULL;
  tsh_status rc = TSH_OK;
  *out = *in;
  if (in->kind != PLAN_TENSOR) return TSH_OK;
  if (in->node->dtype == dtype && in->node->d == d &&
      in->node->shape == shape) {
    plan_keep(in->node);
    return TSH_OK;
  }
  TRY(plan_to(p, in->node, d, &a, err));
  TRY(plan_cast(p, a, dtype, &b, err));
  TRY(plan_expand(p, b, shape, &c, err));
  out->node = c;
  c = NULL; /* moved to out */
out:
  node_temp(p, a);
  node_temp(p, b);
  if (rc != TSH_OK) out->node = NULL;
  return rc;
}

/* Brings every operand to one shape, dtype and device and records op. dtype of
 * operand i: bool for the condition of where. */
static tsh_status map_conformed(plan *p, int op, const plan_operand *in, int n,
                                int compute, const plan_shape *shape, dev *d,
                                plan_node **out, tsh_err *err) {
  plan_operand use[MAX_IN];
  int result = plan_ops[op].gives == GIVES_BOOL ? TSH_bool : compute, made = 0;
  tsh_status rc = TSH_OK;
  for (; made < n && rc == TSH_OK; made++) {
    int dtype = op == TSH_OP_where && made == 0 ? TSH_bool : compute;
    rc = record_conform(p, &in[made], dtype, d, shape, &use[made], err);
  }
  if (rc == TSH_OK) rc = record_map(p, op, result, d, shape, use, n, out, err);
  for (int i = 0; i < made; i++) {
    if (use[i].kind != PLAN_TENSOR || !use[i].node) continue;
    if (use[i].node == in[i].node)
      plan_drop(p, use[i].node);
    else
      node_temp(p, use[i].node);
  }
  return rc;
}

static tsh_status check_where(const plan_operand *c, tsh_err *err) {
  if (c->kind == PLAN_TENSOR && c->node->dtype == TSH_bool) return TSH_OK;
  return dev_fail(err, TSH_EINVAL, "where: the condition must be bool, got %s",
                  c->kind == PLAN_TENSOR ? plan_dtype_name(c->node->dtype)
                                         : "a number");
}

/* The usual case: tensors of one shape, dtype and device, floats beside any
 * numbers, an op that keeps the dtype. Nothing to convert or to check. */
static plan_node *plain_operands(int op, const plan_operand *in, int n) {
  plan_node *x = NULL;
  for (int i = 0; i < n; i++) {
    plan_node *y = in[i].node;
    if (in[i].kind != PLAN_TENSOR) continue;
    if (!x)
      x = y;
    else if (y->shape != x->shape || y->dtype != x->dtype || y->d != x->d)
      return NULL;
  }
  if (!x || plan_dtype_kind(x->dtype) != TSH_KIND_FLOAT ||
      plan_ops[op].gives != GIVES_SAME || !(plan_ops[op].takes & TAKES_F))
    return NULL;
  return x;
}

tsh_status plan_map(plan *p, int op, const plan_operand *in, int n,
                    plan_node **out, tsh_err *err) {
  int where = op == TSH_OP_where, compute = 0, as;
  const plan_operand *num;
  const plan_shape *shape;
  plan_node *x;
  tsh_status rc;
  *out = NULL;
  if (!where && (x = plain_operands(op, in, n)))
    return record_map(p, op, x->dtype, x->d, x->shape, in, n, out, err);
  if (where && (rc = check_where(&in[0], err)) != TSH_OK) return rc;
  if (is_number_compare(op, in, n, &x, &num, &as))
    return compare_number(p, as, x, num, out, err);
  if ((rc = compute_dtype(op, in + where, n - where, &compute, err)) ||
      (rc = check_numbers(op, in + where, n - where, compute, err)))
    return rc;
  if (!(shape = common_shape(p, op, in, n, err))) return shape_status(err);
  return map_conformed(p, op, in, n, compute, shape, record_device(in, n), out,
                       err);
}

tsh_status plan_cast(plan *p, plan_node *x, int dtype, plan_node **out,
                     tsh_err *err) {
  plan_operand in = operand_of(x);
  *out = NULL;
  if (!plan_dtype_bytes(dtype))
    return dev_fail(err, TSH_EINVAL, "cast: no such dtype");
  if (x->dtype == dtype) {
    *out = plan_keep(x);
    return TSH_OK;
  }
  if (!dev_has_dtype(x->d, dtype))
    return dev_fail(err, TSH_EINVAL, "cast: %s has no %s", dev_name(x->d),
                    plan_dtype_name(dtype));
  return record_map(p, TSH_OP_cast, dtype, x->d, x->shape, &in, 1, out, err);
}
