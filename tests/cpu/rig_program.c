/* rig_program.c - random programs: every op and dtype, values of all levels,
 * several phases, views of all kinds. */
#include <string.h>

#include "rig.h"

typedef struct {
  rig *r;
  uint32_t seed;
  int home;                                   /* the dtype of most values */
  uint8_t dtype[RIG_INSTS], level[RIG_INSTS]; /* KIT_UNIFORM ... */
  int arg_row[RIG_ARGS];                      /* used by TSH_ROW */
} maker;

#define DTYPE(name, ...) TSH_##name,
static const uint8_t dtypes[] = {CPU_DTYPES(DTYPE) CPU_HALVES(DTYPE)};
#undef DTYPE
enum { NDTYPE = sizeof dtypes };

static int below(maker *m, int n) { return rig_below(&m->seed, n); }

static int add(maker *m, int op, int dtype, int level, int a, int b, int c,
               uint64_t imm, int flags) {
  int i = rig_inst(m->r, op, dtype, a, b, c, imm, flags);
  m->dtype[i] = (uint8_t)dtype;
  m->level[i] = (uint8_t)level;
  return i;
}

/* ---- views -------------------------------------------------------------- */
/* Strides over the axes in a random order, without overlap, some reversed; an
 * input may also repeat axes. */
static void make_view(maker *m, int arg, int output) {
  rig *r = m->r;
  int order[TSH_MAX_RANK], n = r->k.rank;
  int moved = m->arg_row[arg] ? n - r->k.nfold : n;
  int64_t step = 1, room = r->bytes / 8 - 8;
  for (int i = 0; i < n; i++) room /= r->ext[i] > 0 ? r->ext[i] : 1;
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0 && below(m, 3) == 0; i--) {
    int j = below(m, i + 1), t = order[i];
    order[i] = order[j], order[j] = t;
  }
  r->offset[arg] = below(m, 4);
  for (int i = n; i-- > 0;) {
    int axis = order[i];
    int64_t s = step;
    if (axis >= moved || (!output && below(m, 6) == 0)) {
      r->stride[arg][axis] = 0;
      continue;
    }
    if (room >= 2 && below(m, 8) == 0) s *= 2, room /= 2;
    step = s * (r->ext[axis] > 0 ? r->ext[axis] : 1);
    if (below(m, 5) == 0) {
      r->offset[arg] += s * (r->ext[axis] - 1);
      s = -s;
    }
    r->stride[arg][axis] = s;
  }
}

static void make_extents(maker *m) {
  rig *r = m->r;
  int outer = r->k.rank - r->k.nfold, shape = below(m, 6);
  static const int64_t points[] = {100, 500, 1200, 4000, 8000};
  int64_t left = points[below(m, 5)];
  for (int i = 0; i < r->k.rank; i++) r->ext[i] = 1;
  for (int n = 0; n < r->k.rank; n++) {
    int i = shape & 1 ? n : r->k.rank - 1 - n;
    r->ext[i] = 1 + below(m, (int)left);
    if (below(m, 2) == 0) r->ext[i] = 1 + below(m, left < 20 ? (int)left : 20);
    left /= r->ext[i];
    if (left < 1) left = 1;
  }
  if (r->k.nfold > 0 && below(m, 20) == 0) r->ext[outer] = 0;
}

/* ---- values ------------------------------------------------------------- */
static int any_dtype(maker *m) {
  return below(m, 5) ? m->home : dtypes[below(m, NDTYPE)];
}

static void make_sources(maker *m) {
  rig *r = m->r;
  int n = 2 + below(m, 3);
  m->home = below(m, 3) ? TSH_f32 : dtypes[below(m, NDTYPE)];
  for (int i = 0; i < n; i++) {
    int index = below(m, 6) == 0, dtype = any_dtype(m);
    if (index) dtype = below(m, 2) ? TSH_i32 : TSH_i64;
    int arg = rig_arg(r, dtype);
    int row = r->k.nfold > 0 && below(m, 3) == 0;
    m->arg_row[arg] = row;
    if (!index) rig_image(r, arg, &m->seed);
    add(m, index ? TSH_OP_INDEX : TSH_OP_LOAD, dtype, row ? KIT_ROW : KIT_FULL,
        0, 0, 0, (uint64_t)arg, row ? TSH_ROW : 0);
  }
  int dtype = any_dtype(m);
  r->k.nscalar = 1;
  r->scalar[0].i = 1;
  if (cpu_op_types[TSH_OP_sqrt] & TSH_BIT(dtype)) r->scalar[0].f = 1.375;
  add(m, TSH_OP_SCALAR, dtype, KIT_UNIFORM, 0, 0, 0, 0, 0);
  add(m, TSH_OP_CONST, TSH_i32, KIT_UNIFORM, 0, 0, 0, 3, 0);
}

/* A value of a dtype: one that is there, mostly a late one, so that little of
 * the program is dead; or a cast of one. */
static int value_of(maker *m, int dtype) {
  int n = m->r->k.ninst, found = -1;
  for (int i = n; i-- > 0;) {
    if (m->dtype[i] != dtype) continue;
    found = i;
    if (below(m, 2)) return i;
  }
  if (found >= 0) return found;
  found = n - 1 - below(m, n < 4 ? n : 4);
  return add(m, TSH_OP_cast, dtype, m->level[found], found, 0, 0, 0, 0);
}

/* Not index, which may fail, and not copysign: it shows the sign of a nan, and
 * all nans are one value. */
static const kit_op *any_op(maker *m, int class_) {
  for (;;) {
    const kit_op *op = kit_op_get(below(m, TSH_NOPS));
    if (!op || op->class_ != class_) continue;
    if (op->id != TSH_OP_index && op->id != TSH_OP_copysign) return op;
  }
}

static int has_kind(const kit_op *op, int dtype) {
  return (cpu_op_types[op->id] & TSH_BIT(dtype)) != 0;
}

static void make_op(maker *m, int class_) {
  const kit_op *op = any_op(m, class_);
  int dtype = any_dtype(m), v[3] = {0, 0, 0}, level = KIT_UNIFORM;
  int arg = op->id == TSH_OP_argmax || op->id == TSH_OP_argmin;
  if (!has_kind(op, dtype)) return;
  for (int i = 0; i < op->arity; i++) {
    int want = op->id == TSH_OP_where && i == 0 ? TSH_bool : dtype;
    if (arg && i == 1) want = below(m, 2) ? TSH_i32 : TSH_i64;
    v[i] = value_of(m, want);
    if (m->level[v[i]] > level) level = m->level[v[i]];
  }
  int gives = op->gives == KIT_BOOL     ? TSH_bool
              : op->gives == KIT_TO     ? any_dtype(m)
              : op->gives == KIT_SECOND ? m->dtype[v[1]]
                                        : dtype;
  if (class_ == KIT_FOLD) level = KIT_ROW;
  add(m, op->id, gives, level, v[0], v[1], v[2], 0, 0);
}

/* The last values are stored, so that most of the program is alive. */
static void make_stores(maker *m) {
  rig *r = m->r;
  int n = r->k.ninst, stores = 1 + below(m, 3);
  for (int i = 0; i < stores && i < n; i++) {
    int v = n - 1 - i;
    int row = r->k.nfold > 0 && m->level[v] != KIT_FULL && below(m, 4);
    int arg = rig_arg(r, m->dtype[v]);
    m->arg_row[arg] = row;
    rig_image(r, arg, &m->seed);
    add(m, TSH_OP_STORE, 0, 0, v, 0, 0, (uint64_t)arg, row ? TSH_ROW : 0);
  }
}

/* Lets an output overwrite an input through the identical view, where the
 * header allows it: nothing folded, and the input's view does not overlap. */
static void make_alias(maker *m, int outputs) {
  rig *r = m->r;
  if (r->k.nfold > 0 || below(m, 2)) return;
  for (int out = r->k.narg - 1; out >= outputs; out--)
    for (int in = 0; in < outputs; in++) {
      if (!r->image[in] || r->dtype[in] != r->dtype[out]) continue;
      make_view(m, in, 1);
      memcpy(r->stride[out], r->stride[in], sizeof r->stride[in]);
      r->offset[out] = r->offset[in];
      r->alias[out] = in;
      return;
    }
}

void rig_program(rig *r, uint32_t seed, int fold) {
  maker m = {.r = r, .seed = seed * 2654435761u + 1};
  for (int i = 0; i < 8; i++) rig_random(&m.seed);
  int rank = 1 + below(&m, 4);
  rig_init(r, rank, fold ? 1 + below(&m, rank < 2 ? 1 : 2) : 0);
  make_extents(&m);
  make_sources(&m);
  for (int n = 4 + below(&m, 16); n > 0; n--)
    make_op(&m, fold && below(&m, 4) == 0 ? KIT_FOLD : KIT_MAP);
  int outputs = r->k.narg;
  make_stores(&m);
  for (int i = 0; i < r->k.narg; i++) make_view(&m, i, i >= outputs);
  make_alias(&m, outputs);
}
