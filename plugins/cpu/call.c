/* call.c - the CALL ops take and index_add, and their epilogue. Everything is
 * in the order of the positions, one after the other. */
#include <string.h>

#include "device.h"

/* ---- what is compiled --------------------------------------------------- */
static uint32_t arguments(int op) { return op == TSH_OP_take ? 3 : 4; }

static tsh_status check_dtypes(const tsh_kernel *k, tsh_err *err) {
  int x = k->arg_dtype[0], at = k->arg_dtype[1];
  int last = k->arg_dtype[k->narg - 1];
  int z = k->op == TSH_OP_take ? x : k->arg_dtype[2];
  if (x != last || x != z)
    return kit_fail(err, TSH_EINVAL, "%s of %s gives %s", kit_op_name(k->op),
                    kit_dtype_name(x), kit_dtype_name(last));
  if (!(cpu_op_types[k->op] & TSH_BIT(x)))
    return kit_fail(err, TSH_EUNSUPPORTED, "no %s of %s", kit_op_name(k->op),
                    kit_dtype_name(x));
  if (at != TSH_i32 && at != TSH_i64)
    return kit_fail(err, TSH_EINVAL, "positions are i32 or i64, not %s",
                    kit_dtype_name(at));
  return TSH_OK;
}

tsh_status cpu_call_check(const tsh_kernel *k, tsh_err *err) {
  if (k->op != TSH_OP_take && k->op != TSH_OP_index_add)
    return kit_fail(err, TSH_EUNSUPPORTED, "no call of op %u", k->op);
  if (k->narg < arguments(k->op) || k->nattr < 1)
    return kit_fail(err, TSH_EINVAL, "%s with %u arguments, %u attributes",
                    kit_op_name(k->op), k->narg, k->nattr);
  const uint8_t *rank = k->arg_rank;
  int gives = rank[0] - 1 + rank[1];
  int third = k->op == TSH_OP_take ? rank[k->narg - 1] : rank[2];
  int out = rank[k->narg - 1];
  if (k->attr[0] < 0 || k->attr[0] >= rank[0] || third != gives ||
      (k->op == TSH_OP_index_add && out != rank[0]) || gives > TSH_MAX_RANK)
    return kit_fail(
        err, TSH_EINVAL, "%s along axis %lld of rank %u, positions of rank %u",
        kit_op_name(k->op), (long long)k->attr[0], rank[0], rank[1]);
  return check_dtypes(k, err);
}

/* ---- a slab: the same box of two arguments ------------------------------ */
enum { ADD_NONE = 0, PIECE = 1 << 16 };

typedef struct {
  int rank;
  int64_t ext[TSH_MAX_RANK], d[TSH_MAX_RANK], s[TSH_MAX_RANK]; /* strides */
  uint8_t bytes, add; /* add: dtype to add in, or ADD_NONE */
  const uint32_t *cancel;
} slab;

#define RUN(fn, T, expr)                                                       \
  static void fn(T *d, const T *s, int64_t n, int64_t dd, int64_t ds) {        \
    for (int64_t i = 0; i < n; i++, d += dd, s += ds) *d = (T)(expr);          \
  }
RUN(copy_1, uint8_t, *s)
RUN(copy_2, uint16_t, *s)
RUN(copy_4, uint32_t, *s)
RUN(copy_8, uint64_t, *s)
RUN(add_f32, float, *d + *s)
RUN(add_f64, double, *d + *s)
/* Integers wrap, with or without a sign. */
RUN(add_1, uint8_t, *d + *s)
RUN(add_2, uint16_t, *d + *s)
RUN(add_4, uint32_t, *d + *s)
RUN(add_8, uint64_t, *d + *s)
#undef RUN

/* X(bytes) of an element */
#define SIZES(X) X(1) X(2) X(4) X(8)

static void run_of(const slab *b, void *d, const void *s, int64_t n, int64_t dd,
                   int64_t ds) {
  if (b->add == TSH_f32) {
    add_f32(d, s, n, dd, ds);
    return;
  }
  if (b->add == TSH_f64) {
    add_f64(d, s, n, dd, ds);
    return;
  }
  switch (b->bytes) {
#define CASE(size)                                                             \
  case size:                                                                   \
    (b->add == ADD_NONE ? copy_##size : add_##size)(d, s, n, dd, ds);          \
    return;
    SIZES(CASE)
#undef CASE
  }
}

static int cancelled(const slab *b) {
  return __atomic_load_n(b->cancel, __ATOMIC_RELAXED) != 0;
}

/* Axes from `axis` on, from d and s. */
static tsh_status slab_run(const slab *b, int axis, char *d, const char *s) {
  int64_t n = axis < b->rank ? b->ext[axis] : 1;
  int64_t dd = axis < b->rank ? b->d[axis] : 0;
  int64_t ds = axis < b->rank ? b->s[axis] : 0;
  int last = axis >= b->rank - 1;
  int64_t step = last ? PIECE : 1;
  for (int64_t i = 0; i < n; i += step) {
    char *to = d + i * dd * b->bytes;
    const char *from = s + i * ds * b->bytes;
    if (cancelled(b)) return TSH_ECANCELLED;
    if (last)
      run_of(b, to, from, n - i < step ? n - i : step, dd, ds);
    else if (slab_run(b, axis + 1, to, from) != TSH_OK)
      return TSH_ECANCELLED;
  }
  return TSH_OK;
}

/* ---- positions ---------------------------------------------------------- */
typedef struct {
  const tsh_view *view;
  const char *base;
  int dtype, rank;
  int64_t count, idx[TSH_MAX_RANK];
} positions;

static char *address(const tsh_prog *prog, const tsh_view *v, int arg) {
  return v->buf->mem + v->offset * prog->bytes[arg];
}

static positions positions_of(const tsh_prog *prog, const tsh_launch *launch) {
  const tsh_view *v = &launch->arg[1];
  positions p = {.view = v, .dtype = prog->dtypes[1], .rank = prog->ranks[1]};
  p.base = address(prog, v, 1);
  p.count = 1;
  for (int k = 0; k < p.rank; k++) p.count *= v->extent[k];
  return p;
}

/* The position at idx; moves idx on. */
static int64_t positions_next(positions *p) {
  int64_t at = 0;
  for (int k = 0; k < p->rank; k++) at += p->idx[k] * p->view->stride[k];
  for (int k = p->rank; k-- > 0;) {
    if (++p->idx[k] < p->view->extent[k]) break;
    p->idx[k] = 0;
  }
  return p->dtype == TSH_i32 ? ((const int32_t *)p->base)[at]
                             : ((const int64_t *)p->base)[at];
}

/* Offset of point idx along the axes of the positions, which begin at
 * `axis`. */
static int64_t spread_offset(const positions *p, const tsh_view *v, int axis) {
  int64_t at = 0;
  for (int k = 0; k < p->rank; k++) at += p->idx[k] * v->stride[axis + k];
  return at;
}

/* ---- the ops ------------------------------------------------------------ */
/* The axes beside `axis` of x. one: has the rank of x; many: has the axes of
 * the positions in place of `axis`. */
static slab slab_of(const cpu_run *run, const tsh_prog *prog,
                    const tsh_view *one, const tsh_view *many, int many_is_d) {
  slab b = {.bytes = prog->bytes[0], .cancel = run->cancel};
  int axis = (int)prog->axis, wide = prog->ranks[1];
  for (int k = 0; k < prog->ranks[0]; k++) {
    if (k == axis) continue;
    int other = k < axis ? k : k - 1 + wide;
    b.ext[b.rank] = one->extent[k];
    b.d[b.rank] = many_is_d ? many->stride[other] : one->stride[k];
    b.s[b.rank] = many_is_d ? one->stride[k] : many->stride[other];
    b.rank++;
  }
  return b;
}

static tsh_status take(cpu_run *run, const tsh_prog *prog,
                       const tsh_launch *launch) {
  static const uint64_t zero = 0;
  const tsh_view *x = &launch->arg[0], *out = &launch->arg[prog->narg - 1];
  int axis = (int)prog->axis;
  positions p = positions_of(prog, launch);
  slab b = slab_of(run, prog, x, out, 1), empty = b;
  char *from = address(prog, x, 0), *to = address(prog, out, prog->narg - 1);
  memset(empty.s, 0, sizeof empty.s);
  for (int64_t i = 0; i < p.count; i++) {
    char *d = to + spread_offset(&p, out, axis) * b.bytes;
    int64_t at = positions_next(&p);
    int good = at >= 0 && at < x->extent[axis];
    if (!good && run->bad_at < 0) run->bad_at = i;
    tsh_status rc =
        good ? slab_run(&b, 0, d, from + at * x->stride[axis] * b.bytes)
             : slab_run(&empty, 0, d, (const char *)&zero);
    if (rc != TSH_OK) return rc;
  }
  return TSH_OK;
}

static tsh_status copy_all(const cpu_run *run, const tsh_prog *prog,
                           const tsh_view *x, const tsh_view *out, char *to) {
  slab b = {.bytes = prog->bytes[0], .cancel = run->cancel};
  const char *from = address(prog, x, 0);
  b.rank = prog->ranks[0];
  memcpy(b.ext, x->extent, sizeof *b.ext * (size_t)b.rank);
  memcpy(b.d, out->stride, sizeof *b.d * (size_t)b.rank);
  memcpy(b.s, x->stride, sizeof *b.s * (size_t)b.rank);
  return from == to ? TSH_OK : slab_run(&b, 0, to, from);
}

static tsh_status index_add(cpu_run *run, const tsh_prog *prog,
                            const tsh_launch *launch) {
  const tsh_view *x = &launch->arg[0], *z = &launch->arg[2];
  const tsh_view *out = &launch->arg[prog->narg - 1];
  int axis = (int)prog->axis;
  positions p = positions_of(prog, launch);
  slab b = slab_of(run, prog, out, z, 0);
  char *to = address(prog, out, prog->narg - 1);
  const char *from = address(prog, z, 2);
  tsh_status rc = copy_all(run, prog, x, out, to);
  b.add = prog->dtypes[0];
  for (int64_t i = 0; i < p.count && rc == TSH_OK; i++) {
    const char *s = from + spread_offset(&p, z, axis) * b.bytes;
    int64_t at = positions_next(&p);
    if (at >= 0 && at < out->extent[axis])
      rc = slab_run(&b, 0, to + at * out->stride[axis] * b.bytes, s);
    else if (run->bad_at < 0)
      run->bad_at = i;
  }
  return rc;
}

tsh_status cpu_call(cpu_run *run, const tsh_prog *prog,
                    const tsh_launch *launch, const cpu_isa *isa) {
  tsh_status rc = prog->op == TSH_OP_take ? take(run, prog, launch)
                                          : index_add(run, prog, launch);
  if (rc != TSH_OK || !prog->code.memory) return rc;
  tsh_launch epilogue = *launch;
  epilogue.extent = launch->arg[prog->narg - 1].extent;
  return isa->program(run, prog, &epilogue);
}
