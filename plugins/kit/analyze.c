/* analyze.c - the one checker of programs. A plugin that runs only what passed
 * here needs no checks of its own on instructions. Reads k->ninst instructions
 * in steps of k->inst_size and narg entries of the argument arrays, nothing
 * else, whatever they hold. Linear. */
#include "kit.h"

#include <stdlib.h>

/* One walk over the program. */
typedef struct {
  const tsh_kernel *k;
  kit_value *v;
  tsh_err *err;
  uint32_t at; /* the instruction looked at */
} walk;

/* How an argument is used. */
enum { USE_READ = 1, USE_INDEX = 2, USE_WRITE = 4 };

static tsh_status bad(const walk *w, tsh_status code, const char *what) {
  int op = kit_inst(w->k, w->at)->op;
  const char *name = kit_op_name(op);
  return kit_fail(w->err, code, "instruction %u (%s, op %d): %s", w->at,
                  name ? name : "unknown", op, what);
}

static tsh_status bad_dtype(const walk *w, tsh_status code, int found,
                            const char *what) {
  return kit_fail(w->err, code, "instruction %u (%s) has dtype %s, %s", w->at,
                  kit_op_name(kit_inst(w->k, w->at)->op), kit_dtype_name(found),
                  what);
}

/* Operand n: an earlier instruction with a value. Notes the use. */
static tsh_status operand(walk *w, uint32_t n) {
  if (n >= w->at)
    return kit_fail(w->err, TSH_EINVAL,
                    "instruction %u reads value %u, which is not before it",
                    w->at, n);
  if (kit_inst(w->k, n)->op == TSH_OP_STORE)
    return kit_fail(w->err, TSH_EINVAL,
                    "instruction %u reads value %u, which is a store", w->at,
                    n);
  w->v[n].last_use = (uint16_t)w->at;
  return TSH_OK;
}

/* How many passes lie before a use of value n. */
static uint32_t passes(const walk *w, uint32_t n) {
  const kit_op *op = kit_op_get(kit_inst(w->k, n)->op);
  return w->v[n].phase + (op && op->class_ == KIT_FOLD);
}

/* ---- instructions that are no ops --------------------------------------- */
static int is_row(const walk *w, const tsh_inst *in) {
  return w->k->nfold > 0 && (in->flags & TSH_ROW);
}

static tsh_status check_source(walk *w, const tsh_inst *in, kit_value *v) {
  const tsh_kernel *k = w->k;
  int of_arg = in->op == TSH_OP_LOAD || in->op == TSH_OP_INDEX;
  if (of_arg && in->imm >= k->narg)
    return bad(w, TSH_EINVAL, "no such argument");
  if (in->op == TSH_OP_SCALAR && in->imm >= k->nscalar)
    return bad(w, TSH_EINVAL, "no such scalar");
  if (!kit_dtype_bytes(in->dtype)) return bad(w, TSH_EINVAL, "no such dtype");
  if (in->op == TSH_OP_LOAD && in->dtype != k->arg_dtype[in->imm])
    return bad_dtype(w, TSH_EINVAL, in->dtype, "its argument another");
  if (in->op == TSH_OP_INDEX && in->dtype != TSH_i32 && in->dtype != TSH_i64)
    return bad_dtype(w, TSH_EINVAL, in->dtype, "an index is i32 or i64");
  if (in->op == TSH_OP_CONST && in->dtype == TSH_bool && (in->imm & 0xff) > 1)
    return bad(w, TSH_EINVAL, "a bool is 0 or 1");
  v->dtype = in->dtype;
  v->level = !of_arg ? KIT_UNIFORM : is_row(w, in) ? KIT_ROW : KIT_FULL;
  return TSH_OK;
}

static tsh_status check_store(walk *w, const tsh_inst *in, kit_value *v) {
  tsh_status rc = operand(w, in->a);
  if (rc) return rc;
  if (in->imm >= w->k->narg) return bad(w, TSH_EINVAL, "no such argument");
  v->dtype = w->v[in->a].dtype;
  if (v->dtype != w->k->arg_dtype[in->imm])
    return bad_dtype(w, TSH_EINVAL, v->dtype, "its argument another");
  v->level = is_row(w, in) ? KIT_ROW : KIT_FULL;
  if (v->level == KIT_ROW && w->v[in->a].level == KIT_FULL)
    return bad(w, TSH_EINVAL, "a full value cannot be stored to a row");
  v->phase = (uint16_t)passes(w, in->a);
  return TSH_OK;
}

/* ---- ops of the table --------------------------------------------------- */
/* f16 and bf16 have no sum, prod and dot: they are computed in f32. */
static uint32_t takes(const kit_op *op) {
  uint32_t half = TSH_BIT(TSH_f16) | TSH_BIT(TSH_bf16);
  int adds =
      op->id == TSH_OP_sum || op->id == TSH_OP_prod || op->id == TSH_OP_dot;
  return adds ? op->takes & ~half : op->takes;
}

/* The operands' dtypes, given that of each. where selects by a bool and
 * argmax, argmin carry a position; all else has operands of one dtype. */
static tsh_status check_operands(walk *w, const kit_op *op, const uint8_t d[3],
                                 int compute) {
  int arg = op->id == TSH_OP_argmax || op->id == TSH_OP_argmin;
  if (op->id == TSH_OP_where && d[0] != TSH_bool)
    return bad_dtype(w, TSH_EINVAL, d[0], "its condition is no bool");
  if (arg && !(kit_op_get(TSH_OP_index)->takes & TSH_BIT(d[1])))
    return bad_dtype(w, TSH_EINVAL, d[1], "its position is no integer");
  for (int i = op->id == TSH_OP_where; i < (arg ? 1 : op->arity); i++)
    if (d[i] != compute)
      return bad_dtype(w, TSH_EINVAL, d[i], "its operands differ");
  if (!(takes(op) & TSH_BIT(compute)))
    return bad_dtype(w, TSH_EUNSUPPORTED, compute, "where it has no meaning");
  return TSH_OK;
}

static tsh_status check_result(walk *w, const kit_op *op, const tsh_inst *in,
                               int compute, int second) {
  uint32_t castable = kit_op_get(TSH_OP_cast)->takes;
  int want = op->gives == KIT_SAME     ? compute
             : op->gives == KIT_BOOL   ? TSH_bool
             : op->gives == KIT_SECOND ? second
                                       : in->dtype;
  if (!kit_dtype_bytes(in->dtype)) return bad(w, TSH_EINVAL, "no such dtype");
  if (in->dtype != want)
    return bad_dtype(w, TSH_EINVAL, in->dtype, "which it does not give");
  if (op->gives == KIT_TO && !(castable & TSH_BIT(in->dtype)))
    return bad_dtype(w, TSH_EUNSUPPORTED, in->dtype, "to which none is cast");
  return TSH_OK;
}

static tsh_status check_op(walk *w, const tsh_inst *in, kit_value *v) {
  const kit_op *op = kit_op_get(in->op);
  const uint16_t from[3] = {in->a, in->b, in->c};
  uint8_t d[3] = {0, 0, 0};
  tsh_status rc;
  if (!op) return bad(w, TSH_EUNSUPPORTED, "no such op");
  if (op->class_ != KIT_MAP && op->class_ != KIT_FOLD)
    return bad(w, TSH_EINVAL, "not an instruction of a program");
  for (int i = 0; i < op->arity; i++) {
    if ((rc = operand(w, from[i]))) return rc;
    const kit_value *o = &w->v[from[i]];
    uint32_t n = passes(w, from[i]);
    d[i] = o->dtype;
    if (o->level > v->level) v->level = o->level;
    if (n > v->phase) v->phase = (uint16_t)n;
  }
  v->compute = d[op->id == TSH_OP_where];
  if ((rc = check_operands(w, op, d, v->compute))) return rc;
  if ((rc = check_result(w, op, in, v->compute, d[1]))) return rc;
  if (op->class_ == KIT_FOLD) v->level = KIT_ROW;
  v->dtype = in->dtype;
  return TSH_OK;
}

/* ---- the whole ---------------------------------------------------------- */
static tsh_status check_head(const tsh_kernel *k, tsh_err *err) {
  if (k->size < sizeof *k)
    return kit_fail(err, TSH_EINVAL, "a kernel of %u bytes, not %u", k->size,
                    (unsigned)sizeof *k);
  if (k->op != TSH_OP_PROGRAM)
    return kit_fail(err, TSH_EUNSUPPORTED, "op %u is a call, not a program",
                    k->op);
  if (k->rank > TSH_MAX_RANK || k->nfold > k->rank)
    return kit_fail(err, TSH_EINVAL, "rank %u with %u folded axes", k->rank,
                    k->nfold);
  if (!k->ninst || !k->inst || k->inst_size < sizeof(tsh_inst) ||
      k->inst_size % 8)
    return kit_fail(err, TSH_EINVAL, "%u instructions of %u bytes", k->ninst,
                    k->inst_size);
  if (k->narg && (!k->arg_dtype || !k->arg_class || !k->arg_rank))
    return kit_fail(err, TSH_EINVAL,
                    "%u arguments without dtype, class or rank", k->narg);
  return TSH_OK;
}

/* Inputs and INDEX views first, outputs last, none of two kinds. */
static tsh_status check_args(const tsh_kernel *k, uint8_t *use, tsh_err *err) {
  uint32_t first = k->narg - kit_outputs(k);
  for (uint32_t i = 0; i < k->ninst; i++) {
    const tsh_inst *in = kit_inst(k, i);
    if (in->flags & ~TSH_ROW)
      return kit_fail(err, TSH_EINVAL, "instruction %u has unknown flags", i);
    if (in->op == TSH_OP_LOAD) use[in->imm] |= USE_READ;
    if (in->op == TSH_OP_INDEX) use[in->imm] |= USE_INDEX;
    if (in->op == TSH_OP_STORE) use[in->imm] |= USE_WRITE;
  }
  for (uint32_t i = 0; i < k->narg; i++) {
    if (i >= first ? use[i] != USE_WRITE : use[i] == (USE_READ | USE_INDEX))
      return kit_fail(err, TSH_EINVAL,
                      "argument %u of %u is used in two ways or not written", i,
                      k->narg);
    if (k->arg_class[i] > TSH_SPLAT || k->arg_rank[i] != k->rank)
      return kit_fail(err, TSH_EINVAL, "argument %u has class %u, rank %u", i,
                      k->arg_class[i], k->arg_rank[i]);
  }
  return TSH_OK;
}

uint32_t kit_outputs(const tsh_kernel *k) {
  uint64_t first = k->narg;
  for (uint32_t i = 0; i < k->ninst; i++) {
    const tsh_inst *in = kit_inst(k, i);
    if (in->op == TSH_OP_STORE && in->imm < first) first = in->imm;
  }
  return k->narg - (uint32_t)first;
}

/* Does it need a pass over the folded axes of its own phase? */
static int visits(const tsh_inst *in, const kit_value *v) {
  const kit_op *op = kit_op_get(in->op);
  return op ? op->class_ == KIT_FOLD
            : in->op == TSH_OP_STORE && v->level == KIT_FULL;
}

static tsh_status check_inst(walk *w) {
  const tsh_inst *in = kit_inst(w->k, w->at);
  kit_value *v = &w->v[w->at];
  *v = (kit_value){.last_use = (uint16_t)w->at};
  if (in->op == TSH_OP_STORE) return check_store(w, in, v);
  if (in->op >= TSH_OP_LOAD && in->op <= TSH_OP_CONST)
    return check_source(w, in, v);
  return check_op(w, in, v);
}

tsh_status kit_analyze(const tsh_kernel *k, kit_value *out, uint32_t *nphase,
                       tsh_err *err) {
  walk w = {k, out, err, 0};
  tsh_status rc = check_head(k, err);
  *nphase = 1;
  if (rc) return rc;
  for (; w.at < k->ninst; w.at++) {
    const tsh_inst *in = kit_inst(k, w.at);
    const kit_value *v = &out[w.at];
    if ((rc = check_inst(&w))) break;
    if (visits(in, v) && v->phase >= *nphase) *nphase = v->phase + 1u;
  }
  if (rc) return rc;
  uint8_t *use = calloc(1, k->narg + 1u);
  if (!use) return kit_fail(err, TSH_ENOMEM, "no memory to check a program");
  rc = check_args(k, use, err);
  free(use);
  return rc;
}

/* ---- what a device has -------------------------------------------------- */
tsh_status kit_supported(const tsh_kernel *k, const kit_value *v,
                         const uint32_t *op_types, uint32_t nops,
                         uint32_t storage, tsh_err *err) {
  for (uint32_t i = 0; i < k->ninst; i++) {
    int op = kit_inst(k, i)->op;
    int has = !v[i].compute ||
              ((uint32_t)op < nops && (op_types[op] & TSH_BIT(v[i].compute)));
    if (!has)
      return kit_fail(err, TSH_EUNSUPPORTED, "no %s of %s", kit_op_name(op),
                      kit_dtype_name(v[i].compute));
    if (!(storage & TSH_BIT(v[i].dtype)))
      return kit_fail(err, TSH_EUNSUPPORTED, "%s of %s: no such values",
                      kit_op_name(op), kit_dtype_name(v[i].dtype));
  }
  return TSH_OK;
}
