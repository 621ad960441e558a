/* ops.c - what each op does to a block of points. All of it is expanded from
 * the op table in tsh_plugin.h, whose expressions are C: a row added there is
 * an op added here. kit_math.h has the functions that they name. */
#include "example.h"
#include "kit_math.h"

/* ---- the dtypes of this device ------------------------------------------ */
/* X(dtype, C type, F|I|B, ...) for those of the table's `takes`; ADDS is F
 * without the halves, which have no sums and products. One dtype is named bool,
 * so stdbool.h with its macro of that name must stay out. */
#define EACH_ADDS(X, ...) X(f32, float, F, __VA_ARGS__)
#define EACH_F(X, ...)                                                         \
  X(f16, float, F, __VA_ARGS__)                                                \
  X(bf16, float, F, __VA_ARGS__)                                               \
  EACH_ADDS(X, __VA_ARGS__)
#define EACH_I(X, ...)                                                         \
  X(i8, int8_t, I, __VA_ARGS__)                                                \
  X(i16, int16_t, I, __VA_ARGS__)                                              \
  X(i32, int32_t, I, __VA_ARGS__)                                              \
  X(i64, int64_t, I, __VA_ARGS__)                                              \
  X(u8, uint8_t, I, __VA_ARGS__)                                               \
  X(u16, uint16_t, I, __VA_ARGS__)                                             \
  X(u32, uint32_t, I, __VA_ARGS__)                                             \
  X(u64, uint64_t, I, __VA_ARGS__)
#define EACH_B(X, ...)   X(bool, uint8_t, B, __VA_ARGS__)
#define EACH_FI(X, ...)  EACH_F(X, __VA_ARGS__) EACH_I(X, __VA_ARGS__)
#define EACH_IB(X, ...)  EACH_I(X, __VA_ARGS__) EACH_B(X, __VA_ARGS__)
#define EACH_FIB(X, ...) EACH_F(X, __VA_ARGS__) EACH_IB(X, __VA_ARGS__)

/* The lists of the FOLD ops: of those that take F and I, all add. */
#define FOLD_FI(X, ...)  EACH_ADDS(X, __VA_ARGS__) EACH_I(X, __VA_ARGS__)
#define FOLD_FIB(X, ...) EACH_FIB(X, __VA_ARGS__)
#define FOLD_B(X, ...)   EACH_B(X, __VA_ARGS__)

/* From a cell to the C type of arithmetic and, rounded, back. */
#define GET_f16(cell)       kit_f16_to_f32((cell).m_f16)
#define GET_bf16(cell)      kit_bf16_to_f32((cell).m_bf16)
#define PUT_f16(cell, x)    ((cell).m_f16 = kit_f32_to_f16(x))
#define PUT_bf16(cell, x)   ((cell).m_bf16 = kit_f32_to_bf16(x))
#define GET(dtype, cell)    GET_##dtype(cell)
#define PUT(dtype, cell, x) PUT_##dtype(cell, x)
#define GET_f32(cell)       (cell).m_f32
#define GET_i8(cell)        (cell).m_i8
#define GET_i16(cell)       (cell).m_i16
#define GET_i32(cell)       (cell).m_i32
#define GET_i64(cell)       (cell).m_i64
#define GET_u8(cell)        (cell).m_u8
#define GET_u16(cell)       (cell).m_u16
#define GET_u32(cell)       (cell).m_u32
#define GET_u64(cell)       (cell).m_u64
#define GET_bool(cell)      (cell).m_bool
#define PUT_f32(cell, x)    ((cell).m_f32 = (x))
#define PUT_i8(cell, x)     ((cell).m_i8 = (int8_t)(x))
#define PUT_i16(cell, x)    ((cell).m_i16 = (int16_t)(x))
#define PUT_i32(cell, x)    ((cell).m_i32 = (int32_t)(x))
#define PUT_i64(cell, x)    ((cell).m_i64 = (int64_t)(x))
#define PUT_u8(cell, x)     ((cell).m_u8 = (uint8_t)(x))
#define PUT_u16(cell, x)    ((cell).m_u16 = (uint16_t)(x))
#define PUT_u32(cell, x)    ((cell).m_u32 = (uint32_t)(x))
#define PUT_u64(cell, x)    ((cell).m_u64 = (uint64_t)(x))
#define PUT_bool(cell, x)   ((cell).m_bool = (uint8_t)(x))

/* What -1 and a sign mean is asked of unsigned types, too. */
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wsign-compare"

/* Which of a row's two expressions; of a bool the lowest bit counts. */
#define EXPR_F(fexpr, iexpr) (fexpr)
#define EXPR_I(fexpr, iexpr) (iexpr)
#define EXPR_B(fexpr, iexpr) ((iexpr)&1)

#define SLOT_X(dtype, M, T) SLOT_##dtype,
enum { EX_DTYPES(SLOT_X) NSLOT };
#undef SLOT_X

static int slot_of(int dtype) {
  switch (dtype) {
#define SLOT_X(dtype, M, T)                                                    \
  case TSH_##dtype:                                                            \
    return SLOT_##dtype;
    EX_DTYPES(SLOT_X)
#undef SLOT_X
  default:
    return -1;
  }
}

/* ---- op_types of tsh_props ---------------------------------------------- */
#define BIT_OF(dtype, T, kind, ...) | TSH_BIT(TSH_##dtype)
#define TYPES_MAP(takes)            0 EACH_##takes(BIT_OF, )
#define TYPES_FOLD(takes)           0 FOLD_##takes(BIT_OF, )
#define TYPES_MOVE(takes)           0 /* never compiled */
#define TYPES_CALL(takes)           0 /* this device has none */
/* What a device lacks is computed by cpu. */
#if OPAQUE
/* bf16 is stored and converted here, and that is all. */
#define LACKS(id)                                                              \
  ((id) != TSH_OP_cast && (id) != TSH_OP_copy ? TSH_BIT(TSH_bf16) : 0u)
#else
#define LACKS(id) 0u
#endif
#define ROW(id, name, class, arity, takes, ...)                                \
  [id] = ((id) == TSH_OP_random ? TSH_BIT(TSH_i64) : (TYPES_##class(takes))) & \
         ~LACKS(id),
const uint32_t ex_op_types[TSH_NOPS] = {TSH_OPS(ROW)};
#undef ROW

/* ---- MAP ---------------------------------------------------------------- */
/* The one MAP op that can fail. The smallest element number is kept, so the
 * answer does not depend on the order of work. */
static int64_t checked_index(const ex_args *x, uint32_t p, int64_t y,
                             int64_t n) {
  int64_t at = x->at + p;
  if (y >= 1 && y <= n) return y - 1;
  if (y < 0 && y >= -n) return y + n;
  if (x->fault->at < 0 || at < x->fault->at) *x->fault = (ex_fault){at, y, n};
  return 0;
}
#define IS_HUGE(y) ((T)-1 > 0 && (uint64_t)(y) > INT64_MAX)
#define tsh_index(y, n)                                                        \
  checked_index(x, p, IS_HUGE(y) ? 0 : (int64_t)(y), (int64_t)(n))

#define GIVES_SAME(dtype, cell, x) PUT(dtype, cell, x)
#define GIVES_TO(dtype, cell, x)   PUT(dtype, cell, x)
#define GIVES_BOOL(dtype, cell, x) PUT(bool, cell, x)

#define MAP(dtype, T_, kind, name, gives, fexpr, iexpr)                        \
  static void map_##name##_##dtype(const ex_args *x) {                         \
    typedef T_ T;                                                              \
    for (uint32_t p = 0; p < x->n; p++) {                                      \
      const T a = GET(dtype, x->in[0][p * x->step[0]]);                        \
      const T b = GET(dtype, x->in[1][p * x->step[1]]);                        \
      const T c = GET(dtype, x->in[2][p * x->step[2]]);                        \
      (void)a, (void)b, (void)c;                                               \
      GIVES_##gives(dtype, x->out[p], EXPR_##kind(fexpr, iexpr));              \
    }                                                                          \
  }
#define ROW(id, name, class, arity, takes, gives, start, fexpr, iexpr, doc)    \
  EACH_##takes(MAP, name, gives, fexpr, iexpr)
TSH_OPS_MAP1(ROW)
TSH_OPS_MAP2(ROW)
TSH_OPS_MAP3(ROW)
#undef ROW

#define SLOT(dtype, T, kind, name) [SLOT_##dtype] = map_##name##_##dtype,
#define ROW(id, name, class, arity, takes, ...)                                \
  [id] = {EACH_##takes(SLOT, name)},
static const ex_map maps[TSH_NOPS][NSLOT] = {TSH_OPS_MAP1(ROW) TSH_OPS_MAP2(ROW)
                                                 TSH_OPS_MAP3(ROW)};
#undef ROW

/* Two rows say too little. where has a bool before two values of any dtype. */
static void map_where(const ex_args *x) {
  for (uint32_t p = 0; p < x->n; p++) {
    int pick = x->in[0][p * x->step[0]].m_bool ? 1 : 2;
    x->out[p] = x->in[pick][p * x->step[pick]];
  }
}

/* And cast gives any dtype. */
#define CAST(to, T, kind, from)                                                \
  static void cast_##from##_##to(const ex_args *x) {                           \
    for (uint32_t p = 0; p < x->n; p++) {                                      \
      const ex_cell a = x->in[0][p * x->step[0]];                              \
      x->out[p].m_##to = kit_##from##_to_##to(a.m_##from);                     \
    }                                                                          \
  }
#define CAST_ALL(from, M, T) EACH_FIB(CAST, from)
EX_DTYPES(CAST_ALL)

#define CASTS(to, T, kind, from) [SLOT_##to] = cast_##from##_##to,
#define CASTS_ALL(from, M, T)    [SLOT_##from] = {EACH_FIB(CASTS, from)},
static const ex_map casts[NSLOT][NSLOT] = {EX_DTYPES(CASTS_ALL)};

ex_map ex_map_get(int op, int dtype, int to) {
  int slot = slot_of(dtype), target = slot_of(to);
  if (slot < 0 || target < 0 || op < 0 || op >= TSH_NOPS) return NULL;
  if (op == TSH_OP_where) return map_where;
  return op == TSH_OP_cast ? casts[slot][target] : maps[op][slot];
}

/* ---- FOLD of one operand ------------------------------------------------ */
/* Element i of a block of 4,096 belongs to lane i mod 16. When a block is full,
 * the lanes are combined in halves, and the blocks in pairs, as a binary number
 * is counted up. Only float sum and prod need just this order; for the others
 * it is as good as any. */
enum { FOLD_BLOCK = 4096 };

#define LOWEST_f16       -INFINITY
#define LOWEST_bf16      -INFINITY
#define LOWEST_f32       -INFINITY
#define LOWEST_i8        INT8_MIN
#define LOWEST_i16       INT16_MIN
#define LOWEST_i32       INT32_MIN
#define LOWEST_i64       INT64_MIN
#define LOWEST_u8        0
#define LOWEST_u16       0
#define LOWEST_u32       0
#define LOWEST_u64       0
#define LOWEST_bool      0
#define HIGHEST_f16      INFINITY
#define HIGHEST_bf16     INFINITY
#define HIGHEST_f32      INFINITY
#define HIGHEST_i8       INT8_MAX
#define HIGHEST_i16      INT16_MAX
#define HIGHEST_i32      INT32_MAX
#define HIGHEST_i64      INT64_MAX
#define HIGHEST_u8       UINT8_MAX
#define HIGHEST_u16      UINT16_MAX
#define HIGHEST_u32      UINT32_MAX
#define HIGHEST_u64      UINT64_MAX
#define HIGHEST_bool     1
#define START_ZERO(d)    0
#define START_ONE(d)     1
#define START_LOWEST(d)  LOWEST_##d
#define START_HIGHEST(d) HIGHEST_##d

#define FOLD(dtype, T, kind, name, start, fexpr, iexpr)                        \
  static T name##_both_##dtype(T a, T b) {                                     \
    return (T)EXPR_##kind(fexpr, iexpr);                                       \
  }                                                                            \
  static void name##_lanes_##dtype(ex_fold *f) {                               \
    for (int i = 0; i < EX_LANES; i++)                                         \
      PUT(dtype, f->lane[i], START_##start(dtype));                            \
  }                                                                            \
  static void name##_begin_##dtype(ex_fold *f) {                               \
    f->count = 0;                                                              \
    name##_lanes_##dtype(f);                                                   \
  }                                                                            \
  static T name##_halve_##dtype(ex_cell *l) {                                  \
    for (int half = EX_LANES / 2; half; half /= 2)                             \
      for (int i = 0; i < half; i++)                                           \
        PUT(dtype, l[i],                                                       \
            name##_both_##dtype(GET(dtype, l[i]), GET(dtype, l[i + half])));   \
    return GET(dtype, *l);                                                     \
  }                                                                            \
  static void name##_join_##dtype(ex_fold *f) {                                \
    T v = name##_halve_##dtype(f->lane);                                       \
    int k = 0;                                                                 \
    for (int64_t b = f->count / FOLD_BLOCK - 1; b & 1; b /= 2)                 \
      v = name##_both_##dtype(GET(dtype, f->level[k++]), v);                   \
    PUT(dtype, f->level[k], v);                                                \
    name##_lanes_##dtype(f);                                                   \
  }                                                                            \
  static void name##_step_##dtype(ex_fold *f, const ex_args *x) {              \
    for (uint32_t p = 0; p < x->n; p++) {                                      \
      ex_cell *lane = &f->lane[f->count++ % EX_LANES];                         \
      const T b = GET(dtype, x->in[0][p * x->step[0]]);                        \
      PUT(dtype, *lane, name##_both_##dtype(GET(dtype, *lane), b));            \
      if (f->count % FOLD_BLOCK == 0) name##_join_##dtype(f);                  \
    }                                                                          \
  }                                                                            \
  static void name##_end_##dtype(ex_fold *f, ex_cell *out) {                   \
    T v = START_##start(dtype);                                                \
    int k = 0;                                                                 \
    if (f->count % FOLD_BLOCK) v = name##_halve_##dtype(f->lane);              \
    for (int64_t b = f->count / FOLD_BLOCK; b; b /= 2, k++)                    \
      if (b & 1) v = name##_both_##dtype(GET(dtype, f->level[k]), v);          \
    PUT(dtype, *out, v);                                                       \
  }

#define FOLD_OF_1(takes, ...) FOLD_##takes(FOLD, __VA_ARGS__)
#define FOLD_OF_2(takes, ...) /* below */
#define ROW(id, name, class, arity, takes, gives, start, fexpr, iexpr, doc)    \
  FOLD_OF_##arity(takes, name, start, fexpr, iexpr)
TSH_OPS_FOLD(ROW)
#undef ROW

/* ---- FOLD of two operands ----------------------------------------------- */
static void dot_begin(ex_fold *f) { f->acc.m_i64 = 0; /* of any dtype */ }

static void acc_end(ex_fold *f, ex_cell *out) { *out = f->acc; }

#define DOT(dtype, T, kind, ...)                                               \
  static void dot_step_##dtype(ex_fold *f, const ex_args *x) {                 \
    T acc = f->acc.m_##dtype;                                                  \
    for (uint32_t p = 0; p < x->n; p++) {                                      \
      T a = x->in[0][p * x->step[0]].m_##dtype;                                \
      T b = x->in[1][p * x->step[1]].m_##dtype;                                \
      acc = EXPR_##kind(fma(a, b, acc), a * b + acc);                          \
    }                                                                          \
    f->acc.m_##dtype = acc;                                                    \
  }
FOLD_FI(DOT, )

/* The best value so far is in lane[0], its position in acc, as i64. */
static void arg_begin(ex_fold *f) {
  f->acc.m_i64 = 0;
  f->count = 0;
}

static void arg_end_i32(ex_fold *f, ex_cell *out) {
  out->m_i32 = (int32_t)f->acc.m_i64;
}

/* nan wins, then the larger (smaller) value, then the smaller position. */
#define ARG_STEP(name, better, dtype, T, from, at)                             \
  static void name##_step_##dtype##_##from(ex_fold *f, const ex_args *x) {     \
    for (uint32_t p = 0; p < x->n; p++) {                                      \
      const T v = GET(dtype, x->in[0][p * x->step[0]]);                        \
      const T best = GET(dtype, f->lane[0]);                                   \
      const int64_t i = x->in[1][p * x->step[1]].at;                           \
      const int isnan_v = v != v, isnan_best = best != best;                   \
      int wins = isnan_v != isnan_best   ? isnan_v                             \
                 : !isnan_v && v != best ? v better best                       \
                                         : i < f->acc.m_i64;                   \
      if (f->count++ && !wins) continue;                                       \
      PUT(dtype, f->lane[0], v);                                               \
      f->acc.m_i64 = i;                                                        \
    }                                                                          \
  }
#define ARG(dtype, T, kind, ...)                                               \
  ARG_STEP(argmax, >, dtype, T, i32, m_i32)                                    \
  ARG_STEP(argmax, >, dtype, T, i64, m_i64)                                    \
  ARG_STEP(argmin, <, dtype, T, i32, m_i32)                                    \
  ARG_STEP(argmin, <, dtype, T, i64, m_i64)
EACH_FIB(ARG, )

/* ---- the table of folds ------------------------------------------------- */
#define FOLDER(dtype, T, kind, name)                                           \
  [SLOT_##dtype] = {name##_begin_##dtype, name##_step_##dtype,                 \
                    name##_end_##dtype},
#define DOTS(dtype, T, kind, ...)                                              \
  [SLOT_##dtype] = {dot_begin, dot_step_##dtype, acc_end},
#define ARGS(dtype, T, kind, name, from, end)                                  \
  [SLOT_##dtype] = {arg_begin, name##_step_##dtype##_##from, end},

#define TABLE_OF_1(takes, id, name) [id] = {FOLD_##takes(FOLDER, name)},
#define TABLE_OF_2(takes, id, name)
#define ROW(id, name, class, arity, takes, ...)                                \
  TABLE_OF_##arity(takes, id, name)
static const ex_folder folders[TSH_NOPS][NSLOT] = {
    TSH_OPS_FOLD(ROW)[TSH_OP_dot] = {FOLD_FI(DOTS, )},
    [TSH_OP_argmax] = {EACH_FIB(ARGS, argmax, i64, acc_end)},
    [TSH_OP_argmin] = {EACH_FIB(ARGS, argmin, i64, acc_end)}};
#undef ROW
static const ex_folder argmax_i32[NSLOT] = {
    EACH_FIB(ARGS, argmax, i32, arg_end_i32)};
static const ex_folder argmin_i32[NSLOT] = {
    EACH_FIB(ARGS, argmin, i32, arg_end_i32)};

const ex_folder *ex_folder_get(int op, int dtype, int position) {
  int slot = slot_of(dtype);
  if (slot < 0 || op < 0 || op >= TSH_NOPS) return NULL;
  if (position == TSH_i32 && op == TSH_OP_argmax) return &argmax_i32[slot];
  if (position == TSH_i32 && op == TSH_OP_argmin) return &argmin_i32[slot];
  return folders[op][slot].begin ? &folders[op][slot] : NULL;
}

/* ---- memory ------------------------------------------------------------- */
#define LOAD(dtype, M, T)                                                      \
  case TSH_##dtype:                                                            \
    for (uint32_t p = 0; p < n; p++)                                           \
      out[p].m_##dtype = ((const M *)from)[offset[p]];                         \
    break;
void ex_load(ex_cell *out, int dtype, const void *from, const int64_t *offset,
             uint32_t n) {
  switch (dtype) { EX_DTYPES(LOAD) }
}

#define STORE(dtype, M, T)                                                     \
  case TSH_##dtype:                                                            \
    for (uint32_t p = 0; p < n; p++)                                           \
      ((M *)to)[offset[p]] = in[p * step].m_##dtype;                           \
    break;
void ex_store(void *to, const int64_t *offset, int dtype, const ex_cell *in,
              uint32_t step, uint32_t n) {
  switch (dtype) { EX_DTYPES(STORE) }
}

/* ---- numbers of a launch and of a program ------------------------------- */
ex_cell ex_scalar(int dtype, const tsh_scalar *s) {
  ex_cell c = {.m_u64 = 0};
  switch (dtype) {
  case TSH_f16:
    c.m_f16 = kit_f64_to_f16(s->f);
    break;
  case TSH_bf16:
    c.m_bf16 = kit_f64_to_bf16(s->f);
    break;
  case TSH_f32:
    c.m_f32 = (float)s->f;
    break;
  case TSH_bool:
    c.m_bool = s->i != 0;
    break;
  default:
    return ex_constant(dtype, s->u);
  }
  return c;
}

/* The low end of the bits, also on a big-endian machine. */
ex_cell ex_constant(int dtype, uint64_t bits) {
  ex_cell c = {.m_u64 = 0};
  switch (kit_dtype_bytes(dtype)) {
  case 1:
    c.m_u8 = (uint8_t)bits;
    break;
  case 2:
    c.m_u16 = (uint16_t)bits;
    break;
  case 4:
    c.m_u32 = (uint32_t)bits;
    break;
  default:
    c.m_u64 = bits;
  }
  return c;
}
