/* source.c - the program of a kernel as text: a line for each instruction, as
 * tsh_plugin.h describes them. */
#include "graph.h"

static void write_const(const tsh_inst *x, FILE *out) {
  union {
    uint64_t bits;
    float f;
    double d;
    int64_t i;
  } v = {x->imm};
  int shift = 64 - 8 * (int)plan_dtype_bytes(x->dtype);
  if (x->dtype == TSH_f32)
    fprintf(out, "%.9g", (double)v.f);
  else if (x->dtype == TSH_f64)
    fprintf(out, "%.17g", v.d);
  else if (plan_is_half(x->dtype))
    fprintf(out, "%.5g", plan_half_value(x->dtype, (uint16_t)x->imm));
  else if (plan_dtype_kind(x->dtype) == TSH_KIND_UINT)
    fprintf(out, "%llu", (unsigned long long)x->imm);
  else
    fprintf(out, "%lld", (long long)(int64_t)(x->imm << shift) >> shift);
}

static void write_operands(const tsh_inst *x, FILE *out) {
  uint16_t in[3] = {x->a, x->b, x->c};
  for (int k = 0; k < plan_ops[x->op].arity && k < 3; k++)
    fprintf(out, "%sv%u", k ? ", " : " ", in[k]);
}

static void write_inst(const tsh_inst *x, unsigned number, FILE *out) {
  unsigned long long imm = x->imm;
  fputs("      ", out);
  if (x->op == TSH_OP_STORE) {
    fprintf(out, "a%llu = v%u", imm, x->a);
  } else {
    fprintf(out, "v%u = ", number);
    if (x->op == TSH_OP_LOAD)
      fprintf(out, "load a%llu", imm);
    else if (x->op == TSH_OP_INDEX)
      fprintf(out, "index a%llu", imm);
    else if (x->op == TSH_OP_SCALAR)
      fprintf(out, "scalar s%llu", imm);
    else if (x->op == TSH_OP_CONST)
      write_const(x, out);
    else {
      fputs(plan_ops[x->op].name, out);
      write_operands(x, out);
    }
    fprintf(out, "  : %s", plan_dtype_name(x->dtype));
  }
  fputs(x->flags & TSH_ROW ? ", once per row\n" : "\n", out);
}

static void write_args(const made_launch *m, const tsh_kernel *k, FILE *out) {
  static const char *const class_[] = {"strided", "dense", "splat"};
  for (unsigned i = 0; i < k->narg; i++) {
    const char *what = i >= m->narg - m->nout  ? "output"
                       : m->arg[i].value == NO ? "positions"
                                               : "input";
    fprintf(out, "      a%u: %s %s", i, what, plan_dtype_name(k->arg_dtype[i]));
    if (!k->op)
      fprintf(out, ", %s", k->arg_class[i] < 3 ? class_[k->arg_class[i]] : "?");
    fputc('\n', out);
  }
}

void source_launch(const made_launch *m, FILE *out) {
  tsh_kernel k;
  int64_t attr[3] = {0};
  if (!m->program) {
    fputs("      a copy between devices\n", out);
    return;
  }
  cache_kernel(m, &k, attr);
  fputs("      ", out);
  if (k.op) {
    fputs(plan_ops[k.op].name, out);
    for (unsigned i = 0; i < k.nattr && i < 3; i++)
      fprintf(out, " %lld", (long long)attr[i]);
  } else {
    fputs(m->rank > m->nfold ? "for each of" : "", out);
    for (unsigned i = 0; i < m->rank; i++) {
      if (i == m->rank - m->nfold) fputs(i ? ", folding" : "folding", out);
      fprintf(out, " %lld", (long long)m->extent[i]);
    }
  }
  fputc('\n', out);
  write_args(m, &k, out);
  for (unsigned i = 0; i < k.ninst; i++) write_inst(&k.inst[i], i, out);
}
