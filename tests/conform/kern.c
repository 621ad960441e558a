/* kern.c - building kernels and having them compiled. The plugin is handed
 * copies: every second one with instructions and a struct that are larger
 * than it knows, all of them wiped when compile returns. */
#include <stdlib.h>
#include <string.h>

#include "cf.h"

enum { GROWTH = 16 };

void cf_kern_init(cf_kern *k, int rank, int nfold) {
  memset(k, 0, sizeof *k);
  k->k.size = sizeof k->k;
  k->k.rank = (uint16_t)rank;
  k->k.nfold = (uint16_t)nfold;
  k->k.inst_size = sizeof(tsh_inst);
}

int cf_arg(cf_kern *k, int dtype, int arg_class) {
  int n = k->k.narg++;
  k->dtype[n] = (uint8_t)dtype;
  k->class_[n] = (uint8_t)arg_class;
  k->rank[n] = (uint8_t)k->k.rank;
  return n;
}

int cf_inst(cf_kern *k, int op, int dtype, int a, int b, int c) {
  int n = k->k.ninst++;
  k->inst[n] = (tsh_inst){.op = (uint16_t)op,
                          .dtype = (uint8_t)dtype,
                          .a = (uint16_t)a,
                          .b = (uint16_t)b,
                          .c = (uint16_t)c};
  return n;
}

static int with_imm(cf_kern *k, int op, int dtype, int flags, uint64_t imm) {
  int n = cf_inst(k, op, dtype, 0, 0, 0);
  k->inst[n].flags = (uint8_t)flags;
  k->inst[n].imm = imm;
  return n;
}

int cf_load(cf_kern *k, int arg, int flags) {
  return with_imm(k, TSH_OP_LOAD, k->dtype[arg], flags, (uint64_t)arg);
}

int cf_index(cf_kern *k, int arg, int flags) {
  return with_imm(k, TSH_OP_INDEX, k->dtype[arg], flags, (uint64_t)arg);
}

int cf_scalar(cf_kern *k, int dtype) {
  return with_imm(k, TSH_OP_SCALAR, dtype, 0, k->k.nscalar++);
}

int cf_const(cf_kern *k, int dtype, uint64_t bits) {
  return with_imm(k, TSH_OP_CONST, dtype, 0, bits);
}

void cf_store(cf_kern *k, int value, int arg, int flags) {
  int n = with_imm(k, TSH_OP_STORE, k->dtype[arg], flags, (uint64_t)arg);
  k->inst[n].a = (uint16_t)value;
}

/* FNV-1a; only equality matters. */
static uint64_t hash(uint64_t h, const void *data, size_t n) {
  const uint8_t *p = data;
  for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
  return h;
}

static uint64_t kern_hash(const cf_kern *k) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  uint16_t head[7] = {k->k.op,      k->k.rank,  k->k.nfold, k->k.narg,
                      k->k.nscalar, k->k.ninst, k->k.nattr};
  h = hash(h, head, sizeof head);
  h = hash(h, &k->k.flags, sizeof k->k.flags);
  h = hash(h, k->inst, k->k.ninst * sizeof *k->inst);
  h = hash(h, k->dtype, k->k.narg);
  h = hash(h, k->class_, k->k.narg);
  h = hash(h, k->rank, k->k.narg);
  return hash(h, k->attr, k->k.nattr * sizeof *k->attr);
}

/* What is lent to compile: one block, so that it can be wiped. */
typedef struct {
  struct {
    tsh_kernel k;
    uint8_t junk[GROWTH];
  } head;
  uint8_t inst[CF_INSTS * (sizeof(tsh_inst) + GROWTH)];
  uint8_t dtype[CF_ARGS], class_[CF_ARGS], rank[CF_ARGS];
  int64_t attr[4];
} lent;

static void lend(lent *l, const cf_kern *k, uint64_t as, int grown) {
  size_t step = sizeof(tsh_inst) + (grown ? GROWTH : 0);
  memset(l, 0xee, sizeof *l);
  l->head.k = k->k;
  if (grown) l->head.k.size += GROWTH;
  l->head.k.inst_size = (uint16_t)step;
  for (int i = 0; i < k->k.ninst && i < CF_INSTS; i++)
    memcpy(l->inst + (size_t)i * step, &k->inst[i], sizeof k->inst[i]);
  memcpy(l->dtype, k->dtype, sizeof l->dtype);
  memcpy(l->class_, k->class_, sizeof l->class_);
  memcpy(l->rank, k->rank, sizeof l->rank);
  memcpy(l->attr, k->attr, sizeof l->attr);
  l->head.k.inst = (const tsh_inst *)(const void *)l->inst;
  l->head.k.arg_dtype = l->dtype;
  l->head.k.arg_class = l->class_;
  l->head.k.arg_rank = l->rank;
  l->head.k.attr = l->attr;
  l->head.k.hash = as ? as : kern_hash(k);
}

tsh_status cf_compile_raw(cf *t, cf_kern *k, tsh_err *err) {
  lent *l = malloc(sizeof *l);
  tsh_status rc;
  cf_err_init(err);
  k->prog = NULL;
  if (!l) return err->code = TSH_ENOMEM;
  lend(l, k, t->hash, t->calls++ & 1);
  rc = t->p->compile(t->dev, &l->head.k, &k->prog, err);
  memset(l, 0xee, sizeof *l);
  free(l);
  if (rc != TSH_OK) k->prog = NULL;
  return rc;
}

int cf_compile(cf *t, cf_kern *k) {
  tsh_err err;
  tsh_status rc = cf_compile_raw(t, k, &err);
  if (rc == TSH_OK) return 1;
  cf_fail(t, "compile: %s: %s", cf_status_name(rc), err.text);
  return 0;
}

void cf_drop(cf *t, cf_kern *k) {
  if (k->prog) t->p->drop(t->dev, k->prog);
  k->prog = NULL;
}

int cf_fits(const cf *t, const cf_kern *k) {
  return k->k.rank <= t->props.max_rank && k->k.narg <= t->props.max_args &&
         k->k.ninst <= t->props.max_insts;
}
