/* program.c - compiles a kernel: checks it, looks up what each instruction
 * calls and works out which pass needs what. The values' memory is made here,
 * so that a launch allocates nothing. */
#include "example.h"

#include <stdlib.h>
#include <string.h>

/* ---- compile ------------------------------------------------------------ */
tsh_prog *ex_prog_retain(tsh_prog *prog) {
  prog->refs++;
  return prog;
}

void ex_prog_release(tsh_prog *p) {
  if (!p || --p->refs) return;
  free(p->inst);
  free(p->value);
  free(p->need);
  free(p->arg_by);
  free(p->arg_dtype);
  free(p->map);
  free(p->folder);
  free(p->fold);
  free(p->row);
  free(p->block);
  free(p);
}

static tsh_status check_limits(const tsh_kernel *k, tsh_err *err) {
  if (k->op != TSH_OP_PROGRAM)
    return kit_fail(err, TSH_EUNSUPPORTED, "no op %u", k->op);
  if (k->ninst > EX_MAX_INSTS || k->narg > EX_MAX_ARGS)
    return kit_fail(err, TSH_EUNSUPPORTED,
                    "%u instructions and %u arguments, at most %d and %d",
                    k->ninst, k->narg, EX_MAX_INSTS, EX_MAX_ARGS);
  return TSH_OK;
}

static int is_fold(const tsh_inst *in) {
  const kit_op *op = kit_op_get(in->op);
  return op && op->class_ == KIT_FOLD;
}

/* A map has no row of its own at each point: all axes are then walked as if
 * folded, in whole blocks instead of point by point. */
static uint32_t outer_axes(const tsh_prog *p, uint32_t nfold) {
  for (uint32_t i = 0; i < p->ninst; i++)
    if (is_fold(&p->inst[i])) return p->rank - nfold;
  return nfold ? p->rank - nfold : 0;
}

/* Sizes are small: ninst and narg are within the limits. */
static tsh_status prog_new(const tsh_kernel *k, tsh_prog **out, tsh_err *err) {
  size_t n = k->ninst, narg = k->narg + 1u;
  tsh_prog *p = calloc(1, sizeof *p);
  *out = p;
  if (!p) return kit_fail(err, TSH_ENOMEM, "no memory for a program");
  p->refs = 1;
  p->narg = k->narg, p->nscalar = k->nscalar, p->ninst = k->ninst;
  p->rank = k->rank;
  p->inst = calloc(n, sizeof *p->inst);
  p->value = calloc(n, sizeof *p->value);
  p->arg_by = calloc(narg, 1);
  p->arg_dtype = calloc(narg, 1);
  p->map = calloc(n, sizeof *p->map);
  p->folder = calloc(n, sizeof *p->folder);
  p->fold = calloc(n, sizeof *p->fold);
  p->row = calloc(n, sizeof *p->row);
  p->block = calloc(n * EX_BLOCK, sizeof *p->block);
  if (!p->inst || !p->value || !p->arg_by || !p->arg_dtype || !p->map ||
      !p->folder || !p->fold || !p->row || !p->block)
    return kit_fail(err, TSH_ENOMEM, "no memory for a program");
  return TSH_OK;
}

static void bind_inst(tsh_prog *p, const tsh_kernel *k, uint32_t i) {
  tsh_inst *in = &p->inst[i];
  const kit_value *v = &p->value[i];
  *in = *kit_inst(k, i);
  p->map[i] = ex_map_get(in->op, v->compute, v->dtype);
  p->folder[i] = ex_folder_get(in->op, v->compute, v->dtype);
  if (in->op != TSH_OP_LOAD && in->op != TSH_OP_STORE) return;
  uint8_t by = v->level == KIT_ROW ? BY_OUTER : BY_ALL;
  if (by > p->arg_by[in->imm]) p->arg_by[in->imm] = by;
  p->arg_dtype[in->imm] = v->dtype;
}

/* A pass computes what its FOLDs and STOREs need, and no other full values. */
static void mark_needed(tsh_prog *p, uint32_t phase) {
  uint8_t *need = p->need + (size_t)phase * p->ninst;
  for (uint32_t i = p->ninst; i-- > 0;) {
    const tsh_inst *in = &p->inst[i];
    const kit_value *v = &p->value[i];
    const kit_op *op = kit_op_get(in->op);
    const uint16_t from[3] = {in->a, in->b, in->c};
    int store = in->op == TSH_OP_STORE;
    if (is_fold(in) || (store && v->level == KIT_FULL))
      need[i] = v->phase == phase;
    for (int j = 0; need[i] && j < (store ? 1 : op ? op->arity : 0); j++)
      if (p->value[from[j]].level == KIT_FULL) need[from[j]] = 1;
  }
}

tsh_status ex_compile(const tsh_kernel *k, tsh_prog **out, tsh_err *err) {
  tsh_prog *p = NULL;
  tsh_status rc;
  *out = NULL;
  if ((rc = check_limits(k, err))) goto out;
  if ((rc = prog_new(k, &p, err))) goto out;
  if ((rc = kit_analyze(k, p->value, &p->nphase, err))) goto out;
  if ((rc = kit_supported(k, p->value, ex_op_types, TSH_NOPS, EX_STORAGE, err)))
    goto out;
  rc = TSH_EUNSUPPORTED;
  if (p->nphase > EX_MAX_PHASES) {
    kit_fail(err, rc, "%u phases, at most %d", p->nphase, EX_MAX_PHASES);
    goto out;
  }
  rc = TSH_ENOMEM;
  if (!(p->need = calloc(p->nphase, p->ninst))) {
    kit_fail(err, rc, "no memory for %u phases", p->nphase);
    goto out;
  }
  for (uint32_t i = 0; i < p->ninst; i++) bind_inst(p, k, i);
  for (uint32_t i = 0; i < p->nphase; i++) mark_needed(p, i);
  p->nouter = outer_axes(p, k->nfold);
  *out = p;
  p = NULL;
  rc = TSH_OK;
out:
  ex_prog_release(p);
  return rc;
}
