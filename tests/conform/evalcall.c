/* evalcall.c - the evaluator of CALL ops: take, index_add and its kin over
 * views with their own extents, then the epilogue as a program over output 0.
 */
#include <string.h>

#include "cf.h"

static uint64_t load(const cf_job *j, int arg, int64_t point) {
  const cf_view *v = &j->arg[arg];
  return cf_get(v->mem->want, cf_place(v->extent, j->kern->rank[arg], v, point),
                v->mem->dtype);
}

static void store(const cf_job *j, int arg, int64_t point, uint64_t bits) {
  const cf_view *v = &j->arg[arg];
  cf_put(v->mem->want, cf_place(v->extent, j->kern->rank[arg], v, point),
         v->mem->dtype, bits);
}

/* Point of a space in which `axis` has its own extent: before, at, behind. */
typedef struct {
  int64_t before, at, behind;
} split;

static split split_of(const int64_t *extent, int rank, int axis, int64_t p) {
  int64_t inner = cf_points(extent + axis + 1, rank - axis - 1);
  split s = {p / (inner * extent[axis]), p / inner % extent[axis], p % inner};
  return s;
}

static int64_t point_of(split s, const int64_t *extent, int rank, int axis) {
  int64_t inner = cf_points(extent + axis + 1, rank - axis - 1);
  return (s.before * extent[axis] + s.at) * inner + s.behind;
}

/* Position number `at` of argument 1; below 0 where it is no position. */
static int64_t position(const cf_job *j, int64_t at, int64_t n, int64_t *bad) {
  int dtype = j->arg[1].mem->dtype;
  int64_t p = (int64_t)cf_cast(dtype, TSH_i64, load(j, 1, at));
  if (p >= 0 && p < n) return p;
  if (*bad < 0 || at < *bad) *bad = at;
  return -1;
}

static void eval_take(const cf_job *j, int axis, int64_t *bad) {
  const int rank = j->kern->rank[2];
  const int64_t *in = j->arg[0].extent, *out = j->arg[2].extent;
  for (int64_t i = 0; i < cf_points(out, rank); i++) {
    split s = split_of(out, rank, axis, i);
    s.at = position(j, s.at, in[axis], bad);
    if (s.at >= 0) store(j, 2, i, load(j, 0, point_of(s, in, rank, axis)));
  }
}

/* The MAP op that combines; 0: the value itself. */
static int put_op(int op) {
  switch (op) {
  case TSH_OP_index_add:
    return TSH_OP_add;
  case TSH_OP_index_mul:
    return TSH_OP_mul;
  case TSH_OP_index_max:
    return TSH_OP_maximum;
  case TSH_OP_index_min:
    return TSH_OP_minimum;
  default:
    return 0;
  }
}

static void eval_put(const cf_job *j, int axis, int64_t *bad) {
  const int op = put_op(j->kern->k.op);
  const int rank = j->kern->rank[3], dtype = j->arg[3].mem->dtype;
  const int64_t *z = j->arg[2].extent, *out = j->arg[3].extent;
  int wrong;
  for (int64_t i = 0; i < cf_points(out, rank); i++)
    store(j, 3, i, load(j, 0, i));
  for (int64_t i = 0; i < cf_points(z, rank); i++) {
    split s = split_of(z, rank, axis, i);
    int64_t p;
    s.at = position(j, s.at, out[axis], bad);
    if (s.at < 0) continue;
    p = point_of(s, out, rank, axis);
    store(j, 3, p,
          op ? cf_map(op, dtype, load(j, 3, p), load(j, 2, i), 0, &wrong)
             : load(j, 2, i));
  }
}

static tsh_status eval_epilogue(const cf_job *j, int out) {
  cf_job e = *j;
  cf_kern k = *j->kern;
  int64_t bad;
  k.k.op = TSH_OP_PROGRAM;
  k.k.rank = k.rank[out];
  k.k.nfold = 0;
  e.kern = &k;
  memcpy(e.extent, j->arg[out].extent, sizeof e.extent);
  return cf_eval(&e, &bad);
}

tsh_status cf_eval_call(const cf_job *j, int64_t *bad) {
  const tsh_kernel *k = &j->kern->k;
  const int out = cf_row_get(k->op)->arity; /* argument of the output */
  tsh_status rc = TSH_OK;
  *bad = -1;
  if (k->op == TSH_OP_take)
    eval_take(j, (int)j->kern->attr[0], bad);
  else if (put_op(k->op) || k->op == TSH_OP_index_set)
    eval_put(j, (int)j->kern->attr[0], bad);
  else
    cf_eval_order(j, out, bad);
  if (k->ninst) rc = eval_epilogue(j, out);
  if (rc) return rc;
  return *bad < 0 ? TSH_OK : TSH_EINDEX;
}
