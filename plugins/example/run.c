/* run.c - checks and runs launches. A launch goes over its outer points one
 * after another: the rows. For each it makes as many passes over the folded
 * axes as the program has phases, in blocks of EX_BLOCK points; an instruction
 * handles a block at a time. */
#include "example.h"

#include <string.h>

/* ---- checks ------------------------------------------------------------- */
/* Points of axes from..to-1; -1 when there are too many to count. */
static int64_t points(const int64_t *extent, uint32_t from, uint32_t to) {
  int64_t n = 1;
  for (uint32_t ax = from; ax < to; ax++)
    if (extent[ax] < 0 || __builtin_mul_overflow(n, extent[ax], &n)) return -1;
  return n;
}

/* Does the view, over the first `rank` axes, stay within `count` elements? */
static int view_fits(const tsh_view *v, const int64_t *extent, uint32_t rank,
                     uint64_t count) {
  int64_t low = v->offset, high = v->offset, span;
  for (uint32_t ax = 0; ax < rank; ax++) {
    if (extent[ax] == 0) return 1; /* nothing is touched */
    if (__builtin_mul_overflow(extent[ax] - 1, v->stride[ax], &span)) return 0;
    if (__builtin_add_overflow(span < 0 ? low : high, span,
                               span < 0 ? &low : &high))
      return 0;
  }
  return low >= 0 && (uint64_t)high < count;
}

static tsh_status check_launch(const tsh_launch *l, tsh_err *err) {
  const tsh_prog *p = l->prog;
  if (l->size < sizeof *l || !p || (p->rank && !l->extent) ||
      (p->narg && !l->arg) || (p->nscalar && !l->scalar))
    return kit_fail(err, TSH_EINVAL, "a launch lacks a part");
  if (points(l->extent, 0, p->rank) < 0 || points(l->extent, 0, p->nouter) < 1)
    return kit_fail(err, TSH_EINVAL, "a launch over no space or too large one");
  for (uint32_t i = 0; i < p->narg; i++) {
    const tsh_view *v = &l->arg[i];
    uint32_t size = kit_dtype_bytes(p->arg_dtype[i]);
    uint32_t axes = p->arg_by[i] == BY_ALL ? p->rank : p->nouter;
    if (p->rank && !v->stride)
      return kit_fail(err, TSH_EINVAL, "argument %u has no strides", i);
    if (p->arg_by[i] == BY_NOTHING) continue; /* an INDEX view, or unused */
    if (!v->buf || !view_fits(v, l->extent, axes, v->buf->bytes / size))
      return kit_fail(err, TSH_EINVAL, "argument %u leaves its buffer", i);
  }
  return TSH_OK;
}

tsh_status ex_check_batch(const tsh_batch *b, tsh_err *err) {
  tsh_status rc = TSH_OK;
  if (b->size < sizeof *b || (b->nlaunch && !b->launch) ||
      b->launch_size < sizeof(tsh_launch))
    return kit_fail(err, TSH_EINVAL, "a malformed batch");
  for (uint32_t i = 0; !rc && i < b->nlaunch; i++)
    if ((rc = check_launch(ex_launch(b, i), err))) kit_where(err, i, 0, -1);
  return rc;
}

/* ---- one launch --------------------------------------------------------- */
typedef struct {
  const tsh_prog *prog;
  const tsh_launch *launch;
  const uint32_t *cancel;      /* NULL: cannot be stopped */
  int64_t nrow, npoint;        /* rows, and points of one row */
  int64_t at;                  /* number of the row's first point */
  int64_t index[TSH_MAX_RANK]; /* where the row is */
  int64_t base[EX_MAX_ARGS];   /* and where each view begins there */
  int64_t offset[EX_BLOCK];    /* of a block's elements in one view */
  ex_fault fault;
} run;

static int cancelled(const run *r) {
  return r->cancel && __atomic_load_n(r->cancel, __ATOMIC_RELAXED);
}

/* r->offset of n points of view arg, from point j of the row on. Counts like an
 * odometer, the last axis fastest. */
static void offsets(run *r, uint64_t arg, int64_t j, uint32_t n) {
  const int64_t *extent = r->launch->extent;
  const int64_t *stride = r->launch->arg[arg].stride;
  const int first = (int)r->prog->nouter, last = (int)r->prog->rank - 1;
  int64_t index[TSH_MAX_RANK] = {0}, off = r->base[arg];
  for (int ax = last; j > 0 && ax >= first; ax--) {
    index[ax] = j % extent[ax];
    off += index[ax] * stride[ax];
    j /= extent[ax];
  }
  for (uint32_t p = 0; p < n; p++) {
    r->offset[p] = off;
    for (int ax = last; ax >= first; ax--) {
      off += stride[ax];
      if (++index[ax] < extent[ax]) break;
      off -= extent[ax] * stride[ax];
      index[ax] = 0;
    }
  }
}

static void next_row(run *r) {
  const tsh_launch *l = r->launch;
  r->at += r->npoint;
  for (int ax = (int)r->prog->nouter - 1; ax >= 0; ax--) {
    int wraps = ++r->index[ax] == l->extent[ax];
    int64_t by = wraps ? 1 - l->extent[ax] : 1;
    for (uint32_t i = 0; i < r->prog->narg; i++)
      r->base[i] += by * l->arg[i].stride[ax];
    if (!wraps) return;
    r->index[ax] = 0;
  }
}

/* Where instruction i finds its operands. What it has not, it does not use. */
static ex_args operands(run *r, uint32_t i, int64_t j, uint32_t n,
                        ex_cell *out) {
  const tsh_prog *p = r->prog;
  const tsh_inst *in = &p->inst[i];
  const kit_op *op = kit_op_get(in->op);
  const uint16_t from[3] = {in->a, in->b, in->c};
  ex_args x = {.out = out, .n = n, .at = r->at + j, .fault = &r->fault};
  for (int k = 0; k < 3; k++) {
    uint32_t v = from[op && k < op->arity ? k : 0];
    int full = p->value[v].level == KIT_FULL;
    x.in[k] = full ? p->block + v * EX_BLOCK : p->row + v;
    x.step[k] = full;
  }
  return x;
}

/* Instruction i for the n points of the row from j on; for a row value or a
 * uniform one n is 1 and j 0. */
static void step(run *r, uint32_t i, int64_t j, uint32_t n, ex_cell *out) {
  const tsh_prog *p = r->prog;
  const tsh_inst *in = &p->inst[i];
  const int dtype = p->value[i].dtype;
  ex_args x;
  switch (in->op) {
  case TSH_OP_LOAD:
    offsets(r, in->imm, j, n);
    ex_load(out, dtype, r->launch->arg[in->imm].buf->data, r->offset, n);
    break;
  case TSH_OP_INDEX:
    offsets(r, in->imm, j, n);
    for (uint32_t k = 0; k < n; k++)
      if (dtype == TSH_i32)
        out[k].m_i32 = (int32_t)r->offset[k];
      else
        out[k].m_i64 = r->offset[k];
    break;
  case TSH_OP_SCALAR:
    *out = ex_scalar(dtype, &r->launch->scalar[in->imm]);
    break;
  case TSH_OP_CONST:
    *out = ex_constant(dtype, in->imm);
    break;
  case TSH_OP_STORE:
    offsets(r, in->imm, j, n);
    x = operands(r, i, j, n, NULL);
    ex_store(r->launch->arg[in->imm].buf->data, r->offset, dtype, x.in[0],
             x.step[0], n);
    break;
  default:
    x = operands(r, i, j, n, out);
    if (p->map[i])
      p->map[i](&x);
    else
      p->folder[i]->step(&p->fold[i], &x);
  }
}

/* Over the folded axes once: all full values of this phase, block by block. */
static tsh_status run_pass(run *r, uint32_t phase) {
  const tsh_prog *p = r->prog;
  const uint8_t *need = p->need + (size_t)phase * p->ninst;
  if (!memchr(need, 1, p->ninst)) return TSH_OK;
  for (uint32_t i = 0; i < p->ninst; i++)
    if (need[i] && p->folder[i]) p->folder[i]->begin(&p->fold[i]);
  for (int64_t j = 0; j < r->npoint; j += EX_BLOCK) {
    int64_t left = r->npoint - j;
    uint32_t n = left < EX_BLOCK ? (uint32_t)left : EX_BLOCK;
    if (cancelled(r)) return TSH_ECANCELLED;
    for (uint32_t i = 0; i < p->ninst; i++)
      if (need[i]) step(r, i, j, n, p->block + i * EX_BLOCK);
  }
  for (uint32_t i = 0; i < p->ninst; i++)
    if (need[i] && p->folder[i]) p->folder[i]->end(&p->fold[i], &p->row[i]);
  return TSH_OK;
}

/* Row values and row STOREs wait for the passes that they depend on. */
static tsh_status run_row(run *r) {
  const tsh_prog *p = r->prog;
  tsh_status rc = cancelled(r) ? TSH_ECANCELLED : TSH_OK;
  for (uint32_t phase = 0; !rc; phase++) {
    for (uint32_t i = 0; i < p->ninst; i++)
      if (p->value[i].level == KIT_ROW && p->value[i].phase == phase &&
          !p->folder[i])
        step(r, i, 0, 1, &p->row[i]);
    if (phase == p->nphase) break;
    rc = run_pass(r, phase);
  }
  return rc;
}

/* TSH_EINDEX only after the whole launch has run. */
static tsh_status run_launch(const tsh_launch *l, const uint32_t *cancel,
                             tsh_err *err) {
  const tsh_prog *p = l->prog;
  run r = {.prog = p, .launch = l, .cancel = cancel, .fault = {-1, 0, 0}};
  if (cancelled(&r)) return kit_fail(err, TSH_ECANCELLED, "interrupted");
  if (l->flags & TSH_LAUNCH_UPDATE) r.cancel = NULL; /* once begun, all of it */
  r.nrow = points(l->extent, 0, p->nouter);
  r.npoint = points(l->extent, p->nouter, p->rank);
  for (uint32_t i = 0; i < p->narg; i++) r.base[i] = l->arg[i].offset;
  for (uint32_t i = 0; i < p->ninst; i++)
    if (p->value[i].level == KIT_UNIFORM) step(&r, i, 0, 1, &p->row[i]);
  for (int64_t i = 0; i < r.nrow; i++, next_row(&r))
    if (run_row(&r)) return kit_fail(err, TSH_ECANCELLED, "interrupted");
  if (r.fault.at < 0) return TSH_OK;
  kit_fail(err, TSH_EINDEX, "position %lld of %lld is out of range",
           (long long)r.fault.position, (long long)r.fault.count);
  kit_where(err, TSH_NO_LAUNCH, 0, r.fault.at);
  return TSH_EINDEX;
}

/* ---- a batch ------------------------------------------------------------ */
/* A data error leaves defined memory, so the rest goes on, but for updates: an
 * update would overwrite what nobody can bring back. A stop ends the batch; the
 * host may submit again from err->launch on, so that is never beyond a launch
 * with a data error. */
tsh_status ex_run_batch(const tsh_batch *b, const uint32_t *cancel,
                        tsh_err *err) {
  tsh_status first = TSH_OK, rc;
  uint32_t bad = TSH_NO_LAUNCH;
  tsh_err here;
  for (uint32_t i = 0; i < b->nlaunch; i++) {
    const tsh_launch *l = ex_launch(b, i);
    if (first && (l->flags & TSH_LAUNCH_UPDATE)) continue;
    here = (tsh_err){.size = sizeof here};
    if (!(rc = run_launch(l, cancel, &here))) continue;
    if (first && rc == TSH_EINDEX) continue;
    if (!first) bad = i;
    first = kit_fail(err, rc, "%s", here.text);
    kit_where(err, bad, 0, here.at);
    if (rc != TSH_EINDEX) break;
  }
  return first;
}
