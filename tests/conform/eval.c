/* eval.c - the evaluator: runs one launch on the host images, one instruction
 * over the whole space after the other, straight from the op table. STOREs
 * come last, so an output may be an input. Slow and plain on purpose. */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cf.h"

/* The value of an instruction: one entry (uniform), one per outer point (row)
 * or one per point (full). */
typedef struct {
  uint64_t *v;
  int level;
} value;

typedef struct {
  const cf_job *j;
  int rank;
  int64_t outer, inner; /* points; inner of the folded axes */
  int level[CF_INSTS];
  value val[CF_INSTS];
  int64_t bad; /* first bad element or -1 */
} eval;

int64_t cf_points(const int64_t *extent, int rank) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= extent[i];
  return n;
}

int64_t cf_place(const int64_t *extent, int rank, const cf_view *v,
                 int64_t point) {
  int64_t at = v->offset;
  for (int i = rank - 1; i >= 0; i--) {
    at += point % extent[i] * v->stride[i];
    point /= extent[i];
  }
  return at;
}

/* Operands of an instruction. */
static int arity(const tsh_inst *in) {
  const cf_row *row = cf_row_get(in->op);
  return in->op == TSH_OP_STORE ? 1 : row ? row->arity : 0;
}

static int operand(const tsh_inst *in, int i) {
  return i == 0 ? in->a : i == 1 ? in->b : in->c;
}

void cf_levels(const cf_kern *k, int *level) {
  for (int i = 0; i < k->k.ninst; i++) {
    const tsh_inst *in = &k->inst[i];
    const cf_row *row = cf_row_get(in->op);
    int l = CF_UNIFORM;
    if (in->op == TSH_OP_LOAD || in->op == TSH_OP_INDEX)
      l = in->flags & TSH_ROW && k->k.nfold ? CF_ROW : CF_FULL;
    for (int n = 0; n < arity(in); n++)
      if (level[operand(in, n)] > l) l = level[operand(in, n)];
    level[i] = row && row->class_ == CF_FOLD ? CF_ROW : l;
  }
}

static int64_t count_of(const eval *e, int level) {
  return level == CF_UNIFORM ? 1
         : level == CF_ROW   ? e->outer
                             : e->outer * e->inner;
}

/* Value x at a point of the full space. */
static uint64_t at_point(const eval *e, int x, int64_t point) {
  const value *a = &e->val[x];
  return a->v[a->level == CF_UNIFORM ? 0
              : a->level == CF_ROW   ? point / e->inner
                                     : point];
}

/* A row or uniform value at an outer point; there may be no inner ones. */
static uint64_t at_outer(const eval *e, int x, int64_t point) {
  return e->val[x].v[e->val[x].level == CF_UNIFORM ? 0 : point];
}

/* Point i of a level's own space, as a number of the launch's space; a row
 * stands at the beginning of its folded axes. */
static int64_t element(const eval *e, int level, const cf_view *v, int64_t i) {
  int rank = level == CF_ROW ? e->rank - e->j->kern->k.nfold : e->rank;
  return cf_place(e->j->extent, rank, v, i);
}

static void eval_source(eval *e, const tsh_inst *in, value *r) {
  const cf_view *view = &e->j->arg[in->imm];
  int64_t n = count_of(e, r->level);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = element(e, r->level, view, i);
    r->v[i] = in->op == TSH_OP_INDEX ? cf_from_int(in->dtype, at)
                                     : cf_get(view->mem->want, at, in->dtype);
  }
}

static uint64_t scalar_bits(const tsh_scalar *s, int dtype) {
  switch (cf_kind(dtype)) {
  case TSH_KIND_FLOAT:
    return cf_from_double(dtype, s->f);
  case TSH_KIND_COMPLEX:
    return cf_from_double(TSH_f32, s->c[0]) | cf_from_double(TSH_f32, s->c[1])
                                                  << 32;
  default:
    return cf_from_int(dtype, s->i);
  }
}

/* The compute dtype is the operand's: of b for where. */
static int compute_dtype(const eval *e, const tsh_inst *in) {
  const tsh_inst *inst = e->j->kern->inst;
  return inst[in->op == TSH_OP_where ? in->b : in->a].dtype;
}

static void eval_map(eval *e, const tsh_inst *in, value *r) {
  const int n = arity(in), dtype = compute_dtype(e, in);
  int64_t count = count_of(e, r->level);
  uint64_t x[3] = {0, 0, 0};
  for (int64_t i = 0; i < count; i++) {
    int bad = 0;
    for (int k = 0; k < n; k++) {
      const value *o = &e->val[operand(in, k)];
      x[k] = o->level == r->level     ? o->v[i]
             : o->level == CF_UNIFORM ? o->v[0]
                                      : o->v[i / e->inner];
    }
    r->v[i] = in->op == TSH_OP_cast
                  ? cf_cast(dtype, in->dtype, x[0])
                  : cf_map(in->op, dtype, x[0], x[1], x[2], &bad);
    if (bad && (e->bad < 0 || i < e->bad)) e->bad = i;
  }
}

/* ---- folds -------------------------------------------------------------- */
static uint64_t start_of(int op, int dtype) {
  int start = cf_row_get(op)->start, kind = cf_kind(dtype);
  if (start == CF_ZERO || start == CF_NONE) return 0;
  if (start == CF_ONE) return cf_from_int(dtype, 1);
  if (kind == TSH_KIND_FLOAT)
    return cf_from_double(dtype, start == CF_LOWEST ? -HUGE_VAL : HUGE_VAL);
  if (kind == TSH_KIND_INT)
    return cf_cast(
        TSH_f64, dtype,
        cf_from_double(TSH_f64, start == CF_LOWEST ? -1e300 : 1e300));
  if (start == CF_LOWEST) return 0;
  return kind == TSH_KIND_BOOL ? 1 : cf_from_int(dtype, -1);
}

static int combines_lanes(int op, int dtype) {
  return (op == TSH_OP_sum || op == TSH_OP_prod) &&
         cf_kind(dtype) == TSH_KIND_FLOAT;
}

/* One block in 16 lanes, as float sum and prod go. */
static uint64_t fold_block(const eval *e, const tsh_inst *in, int dtype,
                           int64_t first, int64_t n) {
  const int op = in->op;
  uint64_t lane[16];
  for (int l = 0; l < 16; l++) lane[l] = start_of(op, dtype);
  for (int64_t i = 0; i < n; i++)
    lane[i % 16] =
        cf_step(op, dtype, lane[i % 16], at_point(e, in->a, first + i), 0);
  for (int half = 8; half; half /= 2)
    for (int l = 0; l < half; l++)
      lane[l] = cf_step(op, dtype, lane[l], lane[l + half], 0);
  return lane[0];
}

/* Blocks of 4,096 in pairs. What the header's binary counter gives, seen from
 * the end: the largest power of two of blocks that leaves some, then these. */
static uint64_t fold_blocks(const eval *e, const tsh_inst *in, int dtype,
                            int64_t first, int64_t n) {
  int64_t half = 4096;
  if (n <= half) return fold_block(e, in, dtype, first, n);
  while (n - half > half) half *= 2;
  return cf_step(in->op, dtype, fold_blocks(e, in, dtype, first, half),
                 fold_blocks(e, in, dtype, first + half, n - half), 0);
}

/* 1 when (v, i) goes before (w, k): NaN, then the larger or smaller, then the
 * smaller position. */
static int goes_before(int op, int dtype, int pos, uint64_t v, uint64_t i,
                       uint64_t w, uint64_t k) {
  int bad, nan_v = cf_is_nan(dtype, v), nan_w = cf_is_nan(dtype, w);
  int cmp = op == TSH_OP_argmax ? TSH_OP_gt : TSH_OP_lt;
  if (nan_v != nan_w) return nan_v;
  if (!nan_v) {
    if (cf_map(cmp, dtype, v, w, 0, &bad)) return 1;
    if (cf_map(cmp, dtype, w, v, 0, &bad)) return 0;
  }
  return (int)cf_map(TSH_OP_lt, pos, i, k, 0, &bad);
}

static uint64_t fold_position(const eval *e, const tsh_inst *in, int dtype,
                              int64_t first) {
  uint64_t v = at_point(e, in->a, first), at = at_point(e, in->b, first);
  for (int64_t i = first + 1; i < first + e->inner; i++) {
    uint64_t w = at_point(e, in->a, i), k = at_point(e, in->b, i);
    if (!goes_before(in->op, dtype, in->dtype, w, k, v, at)) continue;
    v = w;
    at = k;
  }
  return at;
}

static void eval_fold(eval *e, const tsh_inst *in, value *r) {
  const int op = in->op, dtype = compute_dtype(e, in);
  for (int64_t o = 0; o < e->outer; o++) {
    int64_t first = o * e->inner;
    uint64_t acc = start_of(op, dtype);
    if (op == TSH_OP_argmax || op == TSH_OP_argmin)
      acc = fold_position(e, in, dtype, first);
    else if (combines_lanes(op, dtype))
      acc = fold_blocks(e, in, dtype, first, e->inner);
    else
      for (int64_t i = first; i < first + e->inner; i++)
        acc = cf_step(op, dtype, acc, at_point(e, in->a, i),
                      op == TSH_OP_dot ? at_point(e, in->b, i) : 0);
    r->v[o] = acc;
  }
}

/* A test that leaves its own buffers is a mistake of ours; say so before the
 * plugin is blamed. */
static int stays_inside(const cf_job *j, int arg, int rank) {
  const cf_view *v = &j->arg[arg];
  int64_t low = v->offset, high = v->offset;
  if (!v->mem || cf_points(j->extent, rank) == 0) return 1;
  for (int i = 0; i < rank; i++) {
    int64_t reach = (j->extent[i] - 1) * v->stride[i];
    *(reach < 0 ? &low : &high) += reach;
  }
  return low >= 0 &&
         (uint64_t)(high + 1) * cf_bytes(v->mem->dtype) <= v->mem->bytes;
}

static int is_sound(const eval *e) {
  const cf_kern *k = e->j->kern;
  for (int i = 0; i < k->k.ninst; i++) {
    const tsh_inst *in = &k->inst[i];
    int row = in->flags & TSH_ROW;
    if ((in->op == TSH_OP_LOAD || in->op == TSH_OP_STORE) &&
        !stays_inside(e->j, (int)in->imm, row ? e->rank - k->k.nfold : e->rank))
      return 0;
  }
  return 1;
}

/* ---- the launch --------------------------------------------------------- */
static void eval_inst(eval *e, int n) {
  const tsh_inst *in = &e->j->kern->inst[n];
  const cf_row *row = cf_row_get(in->op);
  value *r = &e->val[n];
  if (in->op == TSH_OP_LOAD || in->op == TSH_OP_INDEX)
    eval_source(e, in, r);
  else if (in->op == TSH_OP_CONST)
    r->v[0] = in->imm;
  else if (in->op == TSH_OP_SCALAR)
    r->v[0] = scalar_bits(&e->j->scalar[in->imm], in->dtype);
  else if (row && row->class_ == CF_FOLD)
    eval_fold(e, in, r);
  else if (row)
    eval_map(e, in, r);
}

static void eval_store(eval *e, const tsh_inst *in) {
  int level = in->flags & TSH_ROW && e->j->kern->k.nfold ? CF_ROW : CF_FULL;
  const cf_view *view = &e->j->arg[in->imm];
  int64_t n = count_of(e, level);
  for (int64_t i = 0; i < n; i++)
    cf_put(view->mem->want, element(e, level, view, i), view->mem->dtype,
           level == CF_ROW ? at_outer(e, in->a, i) : at_point(e, in->a, i));
}

static tsh_status eval_program(eval *e) {
  const tsh_kernel *k = &e->j->kern->k;
  cf_levels(e->j->kern, e->level);
  for (int i = 0; i < k->ninst; i++) {
    int64_t n;
    if (e->j->kern->inst[i].op == TSH_OP_STORE) continue;
    e->val[i].level = e->level[i];
    n = count_of(e, e->level[i]);
    e->val[i].v = malloc((size_t)(n > 0 ? n : 1) * sizeof(uint64_t));
    if (!e->val[i].v) return TSH_ENOMEM;
    eval_inst(e, i);
  }
  for (int i = 0; i < k->ninst; i++)
    if (e->j->kern->inst[i].op == TSH_OP_STORE)
      eval_store(e, &e->j->kern->inst[i]);
  return e->bad < 0 ? TSH_OK : TSH_EINDEX;
}

tsh_status cf_eval(const cf_job *j, int64_t *bad) {
  eval *e;
  tsh_status rc;
  *bad = -1;
  if (j->kern->k.op != TSH_OP_PROGRAM) return cf_eval_call(j, bad);
  e = calloc(1, sizeof *e);
  if (!e) return TSH_ENOMEM;
  fesetenv(FE_DFL_ENV); /* whatever a plugin has left on this thread */
  e->j = j;
  e->bad = -1;
  e->rank = j->kern->k.rank;
  e->outer = cf_points(j->extent, e->rank - j->kern->k.nfold);
  e->inner =
      cf_points(j->extent + e->rank - j->kern->k.nfold, j->kern->k.nfold);
  rc = is_sound(e) ? eval_program(e) : TSH_EINVAL;
  *bad = e->bad;
  for (int i = 0; i < j->kern->k.ninst; i++) free(e->val[i].v);
  free(e);
  return rc;
}
