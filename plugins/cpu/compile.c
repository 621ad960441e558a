/* compile.c - from a kernel to a program: what is checked, which form it has,
 * how many slots it needs. */
#include <stdlib.h>
#include <string.h>

#include "device.h"

/* ---- arguments ---------------------------------------------------------- */
static void note_args(tsh_prog *prog, const tsh_kernel *k) {
  for (uint32_t i = 0; i < k->narg; i++) {
    prog->dtypes[i] = k->arg_dtype[i];
    prog->ranks[i] = k->arg_rank[i];
    prog->bytes[i] = (uint8_t)kit_dtype_bytes(k->arg_dtype[i]);
  }
  for (uint32_t i = 0; i < k->ninst; i++) {
    const tsh_inst *in = kit_inst(k, i);
    int row = k->nfold > 0 && (in->flags & TSH_ROW);
    if (in->op == TSH_OP_LOAD || in->op == TSH_OP_INDEX ||
        in->op == TSH_OP_STORE)
      prog->arg[in->imm] |= row ? CPU_ARG_USED : CPU_ARG_USED | CPU_ARG_FULL;
  }
}

static tsh_prog *prog_new(const tsh_kernel *k) {
  tsh_prog *prog = calloc(1, sizeof *prog + 4u * k->narg);
  if (!prog) return NULL;
  prog->arg = (uint8_t *)(prog + 1);
  prog->bytes = prog->arg + k->narg;
  prog->dtypes = prog->bytes + k->narg;
  prog->ranks = prog->dtypes + k->narg;
  prog->op = k->op;
  prog->rank = k->rank;
  prog->nfold = k->nfold;
  prog->narg = k->narg;
  return prog;
}

void cpu_prog_free(tsh_prog *prog) {
  if (!prog) return;
  cpu_code_fini(&prog->code);
  cpu_code_fini(&prog->kept);
  cpu_code_fini(&prog->spilled);
  cpu_code_fini(&prog->tail);
  free(prog);
}

static tsh_status check_sizes(const tsh_kernel *k, tsh_err *err) {
  if (k->ninst > CPU_MAX_INSTS || k->narg > CPU_MAX_ARGS)
    return kit_fail(err, TSH_EUNSUPPORTED,
                    "%u instructions and %u arguments, cpu has %d and %d",
                    k->ninst, k->narg, CPU_MAX_INSTS, CPU_MAX_ARGS);
  if (k->rank > TSH_MAX_RANK)
    return kit_fail(err, TSH_EUNSUPPORTED, "rank %u, cpu has %d", k->rank,
                    TSH_MAX_RANK);
  return TSH_OK;
}

/* ---- one dot of two LOADs ----------------------------------------------- */
/* The number of the only FOLD, a float dot of two full LOADs, when no other
 * instruction has a full value; else -1. */
static int find_dot(const tsh_kernel *k, const kit_value *v) {
  int dot = -1;
  if (!(k->flags & TSH_HINT_DOT) || k->nfold == 0) return -1;
  for (uint32_t i = 0; i < k->ninst; i++) {
    const tsh_inst *in = kit_inst(k, i);
    const kit_op *op = kit_op_get(in->op);
    if (op && op->class_ == KIT_FOLD) {
      if (in->op != TSH_OP_dot || dot >= 0) return -1;
      dot = (int)i;
    }
  }
  if (dot < 0 || (v[dot].dtype != TSH_f32 && v[dot].dtype != TSH_f64))
    return -1;
  const tsh_inst *in = kit_inst(k, (uint32_t)dot);
  for (uint32_t i = 0; i < k->ninst; i++) {
    int operand = i == in->a || i == in->b;
    if (operand && kit_inst(k, i)->op != TSH_OP_LOAD) return -1;
    if ((v[i].level == KIT_FULL) != operand) return -1;
  }
  return dot;
}

/* The instructions after the dot as a program of its own over the outer axes,
 * in which the dot is a LOAD of argument narg. */
static tsh_status compile_gemm(const tsh_kernel *k, const kit_value *v, int dot,
                               const cpu_isa *isa, tsh_prog *prog,
                               tsh_err *err) {
  size_t n = k->ninst;
  tsh_inst *inst = calloc(n, sizeof *inst);
  kit_value *value = calloc(n, sizeof *value);
  tsh_status rc = TSH_ENOMEM;
  if (!inst || !value) {
    rc = kit_fail(err, rc, "no memory to compile a product");
    goto out;
  }
  for (size_t i = 0; i < n; i++) {
    inst[i] = *kit_inst(k, (uint32_t)i);
    value[i] = v[i];
    value[i].phase = 0;
    if (value[i].level == KIT_ROW) value[i].level = KIT_FULL;
  }
  prog->form = CPU_FORM_GEMM;
  prog->dtype = v[dot].dtype;
  prog->a = (uint16_t)kit_inst(k, inst[dot].a)->imm;
  prog->b = (uint16_t)kit_inst(k, inst[dot].b)->imm;
  inst[dot].op = TSH_OP_LOAD;
  inst[dot].imm = k->narg;
  tsh_kernel tail = *k;
  tail.nfold = 0;
  tail.inst = inst;
  tail.inst_size = sizeof *inst;
  rc = cpu_lower(&tail, value, 1, CPU_AGAIN, isa, &prog->tail, err);
out:
  free(inst);
  free(value);
  return rc;
}

/* ---- the plain form ----------------------------------------------------- */
static tsh_status lower_program(const tsh_kernel *k, const kit_value *v,
                                uint32_t nphase, const cpu_isa *isa,
                                tsh_prog *prog, tsh_err *err) {
  tsh_status rc;
  note_args(prog, k);
  for (uint32_t i = 0; i < k->ninst; i++)
    prog->has_dot |= kit_inst(k, i)->op == TSH_OP_dot;
  rc = cpu_lower(k, v, nphase, CPU_AGAIN, isa, &prog->code, err);
  if (rc == TSH_OK && nphase > 1)
    rc = cpu_lower(k, v, nphase, CPU_KEEP, isa, &prog->kept, err);
  if (rc == TSH_OK && nphase > 1)
    rc = cpu_lower(k, v, nphase, CPU_SPILL, isa, &prog->spilled, err);
  if (rc == TSH_OK && prog->spilled.nspill == 0) cpu_code_fini(&prog->spilled);
  int dot = rc == TSH_OK ? find_dot(k, v) : -1;
  if (dot >= 0) rc = compile_gemm(k, v, dot, isa, prog, err);
  return rc;
}

static tsh_status compile_program(const tsh_kernel *k, const cpu_isa *isa,
                                  tsh_prog *prog, tsh_err *err) {
  uint32_t nphase;
  kit_value *v = calloc(k->ninst + 1u, sizeof *v);
  const kit_value *value = v;
  tsh_kernel narrowed = *k;
  void *memory = NULL;
  tsh_status rc;
  if (!v) return kit_fail(err, TSH_ENOMEM, "no memory to compile a kernel");
  rc = kit_analyze(k, v, &nphase, err);
  if (rc == TSH_OK)
    rc = kit_supported(k, v, cpu_op_types, TSH_NOPS, CPU_STORAGE, err);
  if (rc == TSH_OK) rc = cpu_narrow(&narrowed, &value, &memory, err);
  if (rc == TSH_OK)
    rc = lower_program(&narrowed, value, nphase, isa, prog, err);
  free(memory);
  free(v);
  return rc;
}

/* ---- CALL ops ----------------------------------------------------------- */
/* The epilogue runs in place over output 0, the last argument. For the checks
 * the element just computed is an input of its own, argument 0. */
static tsh_status compile_epilogue(const tsh_kernel *k, const cpu_isa *isa,
                                   tsh_prog *prog, tsh_err *err) {
  size_t narg = k->narg + 1u;
  tsh_inst *inst = calloc(k->ninst, sizeof *inst);
  kit_value *v = calloc(k->ninst, sizeof *v);
  const kit_value *value = v;
  void *memory = NULL;
  uint8_t *byte = calloc(3, narg);
  tsh_kernel e = *k;
  uint32_t nphase;
  tsh_status rc = TSH_ENOMEM;
  if (!inst || !v || !byte) {
    rc = kit_fail(err, rc, "no memory to compile an epilogue");
    goto out;
  }
  e.op = TSH_OP_PROGRAM;
  e.rank = k->arg_rank[k->narg - 1];
  e.nfold = 0;
  e.narg = (uint16_t)narg;
  e.inst = inst;
  e.inst_size = sizeof *inst;
  e.arg_dtype = byte;
  e.arg_class = byte + narg;
  e.arg_rank = byte + 2 * narg;
  byte[0] = k->arg_dtype[k->narg - 1];
  memcpy(byte + 1, k->arg_dtype, k->narg);
  memset(byte + 2 * narg, e.rank, narg);
  for (uint32_t i = 0; i < k->ninst; i++) {
    inst[i] = *kit_inst(k, i);
    if (inst[i].op == TSH_OP_LOAD && inst[i].imm == k->narg - 1u)
      inst[i].imm = 0;
    else if (inst[i].op == TSH_OP_LOAD || inst[i].op == TSH_OP_INDEX ||
             inst[i].op == TSH_OP_STORE)
      inst[i].imm++;
  }
  if ((rc = kit_analyze(&e, v, &nphase, err)) != TSH_OK) goto out;
  rc = kit_supported(&e, v, cpu_op_types, TSH_NOPS, CPU_STORAGE, err);
  if (rc != TSH_OK) goto out;
  /* From here on with the launch's own arguments. */
  e.inst = k->inst;
  e.inst_size = k->inst_size;
  if ((rc = cpu_narrow(&e, &value, &memory, err)) != TSH_OK) goto out;
  rc = cpu_lower(&e, value, nphase, CPU_AGAIN, isa, &prog->code, err);
out:
  free(memory);
  free(inst);
  free(v);
  free(byte);
  return rc;
}

static tsh_status compile_call(const tsh_kernel *k, const cpu_isa *isa,
                               tsh_prog *prog, tsh_err *err) {
  tsh_status rc = cpu_call_check(k, err);
  if (rc != TSH_OK) return rc;
  prog->form = CPU_FORM_CALL;
  prog->rank = k->arg_rank[k->narg - 1];
  prog->nfold = 0;
  for (int i = 0; i < k->nattr && i < 3; i++) prog->attr[i] = k->attr[i];
  note_args(prog, k);
  if (k->ninst == 0) return TSH_OK;
  return compile_epilogue(k, isa, prog, err);
}

tsh_status cpu_compile(tsh_dev *dev, const tsh_kernel *k, tsh_prog **out,
                       tsh_err *err) {
  *out = NULL;
  tsh_status rc = check_sizes(k, err);
  if (rc != TSH_OK) return rc;
  tsh_prog *prog = prog_new(k);
  if (!prog) return kit_fail(err, TSH_ENOMEM, "no memory for a program");
  if (k->op == TSH_OP_PROGRAM)
    rc = compile_program(k, dev->isa, prog, err);
  else
    rc = compile_call(k, dev->isa, prog, err);
  const cpu_code *code[] = {&prog->code, &prog->kept, &prog->spilled,
                            &prog->tail};
  for (int i = 0; i < 4 && rc == TSH_OK; i++)
    rc = cpu_scratch_grow(dev, code[i]->nunit, err);
  if (rc == TSH_OK && prog->form == CPU_FORM_GEMM)
    rc = cpu_scratch_more(dev, &dev->run.gemm, CPU_GEMM_BYTES, err);
  if (rc == TSH_OK && prog->spilled.memory)
    rc = cpu_scratch_more(dev, &dev->run.spill, CPU_SPILL_BYTES, err);
  if (rc != TSH_OK) {
    cpu_prog_free(prog);
    return rc;
  }
  *out = prog;
  return TSH_OK;
}
