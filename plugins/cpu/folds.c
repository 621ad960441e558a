/* folds.c - the FOLD ops on lanes, expanded from the op table: along the lanes
 * (rows) and between blocks of lanes (col). Both keep the order that the
 * header promises, so they give equal bits. Other dtypes are folded in one of
 * these (narrow.c). Compiled once per instruction set. */
#include "isa.h"
#include "kit_math.h"

/* Of float sum and prod; a fold has fewer than 2^63 elements. */
enum { BLOCK = 4096, LANES = 16, LEVELS = 63 - 12 + 1 };

#define START_ZERO(dt, T)    ((T)0)
#define START_ONE(dt, T)     ((T)1)
#define START_LOWEST(dt, T)  LOWEST_##dt
#define START_HIGHEST(dt, T) HIGHEST_##dt
#define LOWEST_f32           (-INFINITY)
#define LOWEST_f64           ((double)-INFINITY)
#define LOWEST_i32           INT32_MIN
#define LOWEST_i64           INT64_MIN
#define LOWEST_u64           0
#define LOWEST_bool          0
#define HIGHEST_f32          INFINITY
#define HIGHEST_f64          ((double)INFINITY)
#define HIGHEST_i32          INT32_MAX
#define HIGHEST_i64          INT64_MAX
#define HIGHEST_u64          UINT64_MAX
#define HIGHEST_bool         1

/* Vectors of the width that the instruction set has. */
#ifdef __AVX__
enum { VECTOR = 32 };
#else
enum { VECTOR = 16 };
#endif
typedef float vec_f32 __attribute__((vector_size(VECTOR), aligned(4)));
typedef double vec_f64 __attribute__((vector_size(VECTOR), aligned(8)));
typedef int32_t mask_f32 __attribute__((vector_size(VECTOR), aligned(4)));
typedef int64_t mask_f64 __attribute__((vector_size(VECTOR), aligned(8)));

#define STEP_FN(fn, T, expr)                                                   \
  static inline T fn(T a, T b) { return (T)(expr); }

#define BEGIN(f, T, value)                                                     \
  static void f##_begin(void *out, void *state, size_t n) {                    \
    (void)state;                                                               \
    for (size_t i = 0; i < n; i++) ((T *)out)[i] = value;                      \
  }

/* ---- float sum and prod: 16 lanes in blocks of 4,096 -------------------- */
/* Blocks are counted in binary: level k holds a value of 2^k blocks while bit k
 * of their number is set. */
#define LANED(name, dt, T, start, expr)                                        \
  STEP_FN(name##_##dt, T, expr)                                                \
  typedef struct {                                                             \
    T lane[LANES], level[LEVELS];                                              \
    int64_t count;                                                             \
  } name##_##dt##_state;                                                       \
  static void name##_##dt##_clear(name##_##dt##_state *s) {                    \
    for (int l = 0; l < LANES; l++) s->lane[l] = START_##start(dt, T);         \
  }                                                                            \
  static T name##_##dt##_halve(T *lane) {                                      \
    for (int w = LANES / 2; w > 0; w /= 2)                                     \
      for (int l = 0; l < w; l++) lane[l] = name##_##dt(lane[l], lane[l + w]); \
    return lane[0];                                                            \
  }                                                                            \
  static void name##_##dt##_join(name##_##dt##_state *s) {                     \
    T v = name##_##dt##_halve(s->lane), *level = s->level;                     \
    for (int64_t b = s->count / BLOCK - 1; b & 1; b /= 2)                      \
      v = name##_##dt(*level++, v);                                            \
    *level = v;                                                                \
    name##_##dt##_clear(s);                                                    \
  }                                                                            \
  static T name##_##dt##_total(name##_##dt##_state *s) {                       \
    T v = START_##start(dt, T), *level = s->level;                             \
    if (s->count % BLOCK) v = name##_##dt##_halve(s->lane);                    \
    for (int64_t b = s->count / BLOCK; b; b /= 2, level++)                     \
      if (b & 1) v = name##_##dt(*level, v);                                   \
    return v;                                                                  \
  }                                                                            \
  /* A call brings a multiple of 16 elements or the end of the row. */         \
  static void name##_##dt##_more(name##_##dt##_state *s, const T *x,           \
                                 size_t n) {                                   \
    enum { W = VECTOR / sizeof(T), NV = LANES / W };                           \
    vec_##dt v[NV];                                                            \
    size_t i = 0;                                                              \
    for (int k = 0; k < NV; k++) v[k] = *(vec_##dt *)(s->lane + k * W);        \
    for (; i + LANES <= n; i += LANES)                                         \
      for (int k = 0; k < NV; k++) {                                           \
        vec_##dt a = v[k], b = *(const vec_##dt *)(x + i + k * W);             \
        v[k] = expr;                                                           \
      }                                                                        \
    for (int k = 0; k < NV; k++) *(vec_##dt *)(s->lane + k * W) = v[k];        \
    for (int l = 0; i < n; i++, l++)                                           \
      s->lane[l] = name##_##dt(s->lane[l], x[i]);                              \
    s->count += (int64_t)n;                                                    \
    if (n && s->count % BLOCK == 0) name##_##dt##_join(s);                     \
  }                                                                            \
  static void name##_##dt##_rows(void *out, void *state, const void *x,        \
                                 const void *none, size_t rows, size_t n,      \
                                 int ends) {                                   \
    name##_##dt##_state *s = state;                                            \
    (void)none;                                                                \
    for (size_t r = 0; r < rows; r++) {                                        \
      if (ends & CPU_FIRST) {                                                  \
        name##_##dt##_clear(s);                                                \
        s->count = 0;                                                          \
      }                                                                        \
      name##_##dt##_more(s, (const T *)x + r * n, n);                          \
      if (ends & CPU_LAST) ((T *)out)[r] = name##_##dt##_total(s);             \
    }                                                                          \
  }                                                                            \
  /* As above for many outer points: lanes 0 to 15, then the levels. */        \
  typedef T name##_##dt##_grid[CPU_NARROW / LANES / sizeof(T)];                \
  BEGIN(name##_##dt, T, START_##start(dt, T))                                  \
  static void name##_##dt##_onto(T *d, const T *x, const T *y, size_t n) {     \
    CPU_LANES_FREE                                                             \
    for (size_t i = 0; i < n; i++) d[i] = name##_##dt(x[i], y[i]);             \
  }                                                                            \
  /* Lanes that no element came to hold the start value, which changes         \
   * nothing: they are left out. */                                            \
  static void name##_##dt##_col_halve(name##_##dt##_grid *lane, size_t n,      \
                                      int used) {                              \
    for (int w = LANES / 2; w > 0; w /= 2)                                     \
      for (int l = 0; l < w && l + w < used; l++)                              \
        name##_##dt##_onto(lane[l], lane[l], lane[l + w], n);                  \
  }                                                                            \
  static void name##_##dt##_col_join(name##_##dt##_grid *lane, size_t n,       \
                                     int64_t b) {                              \
    name##_##dt##_grid *level = lane + LANES;                                  \
    name##_##dt##_col_halve(lane, n, LANES);                                   \
    for (; b & 1; b /= 2, level++)                                             \
      name##_##dt##_onto(lane[0], *level, lane[0], n);                         \
    memcpy(*level, lane[0], n * sizeof(T));                                    \
  }                                                                            \
  static void name##_##dt##_step(void *out, void *state, const void *x,        \
                                 const void *none, size_t n, int64_t f) {      \
    name##_##dt##_grid *grid = state;                                          \
    T *lane = grid[f % LANES];                                                 \
    const T *b = x, first = START_##start(dt, T);                              \
    (void)none, (void)out;                                                     \
    if (f % BLOCK < LANES) {                                                   \
      for (size_t i = 0; i < n; i++) lane[i] = name##_##dt(first, b[i]);       \
    } else {                                                                   \
      name##_##dt##_onto(lane, lane, b, n);                                    \
    }                                                                          \
    if (f % BLOCK == BLOCK - 1) name##_##dt##_col_join(grid, n, f / BLOCK);    \
  }                                                                            \
  static void name##_##dt##_end(void *out, void *state, size_t n,              \
                                int64_t count) {                               \
    int64_t left = count % BLOCK, b = count / BLOCK;                           \
    name##_##dt##_grid *lane = state, *level = lane + LANES;                   \
    name##_##dt##_col_halve(lane, n, left < LANES ? (int)left : LANES);        \
    if (left) memcpy(out, lane[0], n * sizeof(T));                             \
    for (; b; b /= 2, level++)                                                 \
      if (b & 1) name##_##dt##_onto(out, *level, out, n);                      \
  }                                                                            \
  _Static_assert(sizeof(name##_##dt##_grid[LANES + LEVELS]) <=                 \
                     CPU_STATE * CPU_UNIT,                                     \
                 "a state holds the lanes and the levels");                    \
  static const cpu_fold fold_##name##_##dt = {                                 \
      name##_##dt##_rows, name##_##dt##_begin, name##_##dt##_step,             \
      name##_##dt##_end, CPU_NARROW / LANES / sizeof(T)};

/* ---- folds that are free of order --------------------------------------- */
static void free_end(void *out, void *state, size_t n, int64_t count) {
  (void)out, (void)state, (void)n, (void)count;
}

/* With name_row(from, x, n), the fold of a row onto `from`. */
#define FREE(name, dt, T, start)                                               \
  static void name##_##dt##_rows(void *out, void *state, const void *x,        \
                                 const void *none, size_t rows, size_t n,      \
                                 int ends) {                                   \
    T *d = out;                                                                \
    (void)none, (void)state;                                                   \
    for (size_t r = 0; r < rows; r++)                                          \
      d[r] =                                                                   \
          name##_##dt##_row(ends & CPU_FIRST ? (T)START_##start(dt, T) : d[r], \
                            (const T *)x + r * n, n);                          \
  }                                                                            \
  BEGIN(name##_##dt, T, START_##start(dt, T))                                  \
  static void name##_##dt##_step(void *out, void *state, const void *x,        \
                                 const void *none, size_t n, int64_t f) {      \
    T *d = out;                                                                \
    const T *b = x;                                                            \
    (void)none, (void)state, (void)f;                                          \
    CPU_LANES_FREE                                                             \
    for (size_t i = 0; i < n; i++) d[i] = name##_##dt(d[i], b[i]);             \
  }                                                                            \
  static const cpu_fold fold_##name##_##dt = {                                 \
      name##_##dt##_rows, name##_##dt##_begin, name##_##dt##_step, free_end,   \
      CPU_LANES};

#define PLAIN(name, dt, T, start, expr)                                        \
  STEP_FN(name##_##dt, T, expr)                                                \
  static T name##_##dt##_row(T from, const T *x, size_t n) {                   \
    enum { W = 128 / sizeof(T) };                                              \
    size_t i = 0;                                                              \
    if (n >= 2 * W) {                                                          \
      T lane[W];                                                               \
      for (int l = 0; l < W; l++) lane[l] = x[l];                              \
      for (i = W; i + W <= n; i += W)                                          \
        for (int l = 0; l < W; l++) lane[l] = name##_##dt(lane[l], x[i + l]);  \
      for (int l = 0; l < W; l++) from = name##_##dt(from, lane[l]);           \
    }                                                                          \
    for (; i < n; i++) from = name##_##dt(from, x[i]);                         \
    return from;                                                               \
  }                                                                            \
  FREE(name, dt, T, start)

/* ---- float max and min -------------------------------------------------- */
/* The vectors compare only; nan and the sign of a zero, which comparing loses,
 * are looked for beside and behind it. */
#define EXTREME(name, dt, T, start, expr, OP, negative)                        \
  STEP_FN(name##_##dt, T, expr)                                                \
  static T name##_##dt##_zero(const T *x, size_t n) {                          \
    int found = 0;                                                             \
    for (size_t i = 0; i < n; i++)                                             \
      found |= x[i] == 0 && signbit(x[i]) == negative;                         \
    return found == negative ? (T)-0.0 : (T)0.0;                               \
  }                                                                            \
  static T name##_##dt##_row(T from, const T *x, size_t n) {                   \
    enum { W = VECTOR / sizeof(T), NV = 4 };                                   \
    size_t i = W * NV;                                                         \
    if (n >= 2 * W * NV) {                                                     \
      vec_##dt v[NV];                                                          \
      mask_##dt nan[NV];                                                       \
      for (int k = 0; k < NV; k++) v[k] = *(const vec_##dt *)(x + k * W);      \
      for (int k = 0; k < NV; k++) nan[k] = v[k] != v[k];                      \
      for (; i + W * NV <= n; i += W * NV)                                     \
        for (int k = 0; k < NV; k++) {                                         \
          vec_##dt b = *(const vec_##dt *)(x + i + k * W);                     \
          mask_##dt m = b OP v[k];                                             \
          v[k] = (vec_##dt)(((mask_##dt)b & m) | ((mask_##dt)v[k] & ~m));      \
          nan[k] |= b != b;                                                    \
        }                                                                      \
      for (int k = 1; k < NV; k++) {                                           \
        mask_##dt m = v[k] OP v[0];                                            \
        v[0] = (vec_##dt)(((mask_##dt)v[k] & m) | ((mask_##dt)v[0] & ~m));     \
        nan[0] |= nan[k];                                                      \
      }                                                                        \
      T best = v[0][0];                                                        \
      int any = nan[0][0] != 0;                                                \
      for (int l = 1; l < W; l++) {                                            \
        best = v[0][l] OP best ? v[0][l] : best;                               \
        any |= nan[0][l] != 0;                                                 \
      }                                                                        \
      if (any) return (T)NAN;                                                  \
      if (best == 0) best = name##_##dt##_zero(x, i);                          \
      from = name##_##dt(from, best);                                          \
    } else {                                                                   \
      i = 0;                                                                   \
    }                                                                          \
    for (; i < n; i++) from = name##_##dt(from, x[i]);                         \
    return from;                                                               \
  }                                                                            \
  FREE(name, dt, T, start)
#define MAXIMUM(name, dt, T, start, expr)                                      \
  EXTREME(name, dt, T, start, expr, >, 0)
#define MINIMUM(name, dt, T, start, expr)                                      \
  EXTREME(name, dt, T, start, expr, <, 1)

/* ---- dot: one chain per row, so several rows go side by side ------------ */
#define DOT(name, dt, T, start, expr)                                          \
  static inline T name##_##dt(T a, T b, T acc) { return (T)(expr); }           \
  static void name##_##dt##_rows(void *out, void *state, const void *pa,       \
                                 const void *pb, size_t rows, size_t n,        \
                                 int ends) {                                   \
    T *d = out;                                                                \
    const T *x = pa, *y = pb;                                                  \
    (void)state;                                                               \
    for (size_t r = 0; r < rows && ends & CPU_FIRST; r++) d[r] = 0;            \
    for (; rows >= 8; rows -= 8, d += 8, x += 8 * n, y += 8 * n)               \
      for (size_t i = 0; i < n; i++)                                           \
        for (size_t r = 0; r < 8; r++)                                         \
          d[r] = name##_##dt(x[r * n + i], y[r * n + i], d[r]);                \
    for (; rows > 0; rows--, d++, x += n, y += n) {                            \
      T acc = *d;                                                              \
      for (size_t i = 0; i < n; i++) acc = name##_##dt(x[i], y[i], acc);       \
      *d = acc;                                                                \
    }                                                                          \
  }                                                                            \
  BEGIN(name##_##dt, T, START_##start(dt, T))                                  \
  static void name##_##dt##_step(void *out, void *state, const void *pa,       \
                                 const void *pb, size_t n, int64_t f) {        \
    T *d = out;                                                                \
    const T *x = pa, *y = pb;                                                  \
    (void)state, (void)f;                                                      \
    CPU_LANES_FREE                                                             \
    for (size_t i = 0; i < n; i++) d[i] = name##_##dt(x[i], y[i], d[i]);       \
  }                                                                            \
  static const cpu_fold fold_##name##_##dt = {                                 \
      name##_##dt##_rows, name##_##dt##_begin, name##_##dt##_step, free_end,   \
      CPU_LANES};

/* ---- argmax and argmin -------------------------------------------------- */
/* nan wins, then the larger (smaller) value, then the smaller position. */
#define ARG_BEATS(v, i, w, j, OP)                                              \
  (((v)OP(w)) | (((v) != (v)) & ((w) == (w))) |                                \
   ((((v) == (w)) | (((v) != (v)) & ((w) != (w)))) & ((i) < (j))))

#define ARG(name, dt, T, it, I, OP)                                            \
  static __attribute__((noinline)) void name##_##dt##_##it##_lanes(            \
      T *w, I *j, const T *v, const I *at, size_t n) {                         \
    CPU_LANES_FREE                                                             \
    for (size_t i = 0; i < n; i++) {                                           \
      const T x = v[i], y = w[i];                                              \
      const I p = at[i], q = j[i];                                             \
      int beats = ARG_BEATS(x, p, y, q, OP);                                   \
      w[i] = beats ? x : y;                                                    \
      j[i] = beats ? p : q;                                                    \
    }                                                                          \
  }                                                                            \
  static void name##_##dt##_##it##_row(T *best, I *where, const T *v,          \
                                       const I *at, size_t n) {                \
    enum { W = 64 };                                                           \
    size_t i = 0;                                                              \
    if (n >= 2 * W) {                                                          \
      T w[W];                                                                  \
      I j[W];                                                                  \
      memcpy(w, v, sizeof w);                                                  \
      memcpy(j, at, sizeof j);                                                 \
      for (i = W; i + W <= n; i += W)                                          \
        name##_##dt##_##it##_lanes(w, j, v + i, at + i, W);                    \
      for (size_t l = W / 2; l > 0; l /= 2)                                    \
        name##_##dt##_##it##_lanes(w, j, w + l, j + l, l);                     \
      name##_##dt##_##it##_lanes(best, where, w, j, 1);                        \
    }                                                                          \
    T w = *best;                                                               \
    I j = *where;                                                              \
    for (; i < n; i++)                                                         \
      if (ARG_BEATS(v[i], at[i], w, j, OP)) w = v[i], j = at[i];               \
    *best = w;                                                                 \
    *where = j;                                                                \
  }                                                                            \
  static void name##_##dt##_##it##_rows(void *out, void *state,                \
                                        const void *pv, const void *pi,        \
                                        size_t rows, size_t n, int ends) {     \
    T *best = state;                                                           \
    I *d = out;                                                                \
    const T *v = pv;                                                           \
    const I *at = pi;                                                          \
    for (size_t r = 0; r < rows; r++, v += n, at += n) {                       \
      if (ends & CPU_FIRST) d[r] = 0;                                          \
      if (ends & CPU_FIRST && n > 0) *best = v[0], d[r] = at[0];               \
      name##_##dt##_##it##_row(best, d + r, v, at, n);                         \
    }                                                                          \
  }                                                                            \
  BEGIN(name##_##dt##_##it, I, 0)                                              \
  static void name##_##dt##_##it##_step(void *out, void *state,                \
                                        const void *pv, const void *pi,        \
                                        size_t n, int64_t f) {                 \
    T *best = state;                                                           \
    I *d = out;                                                                \
    const T *v = pv;                                                           \
    const I *at = pi;                                                          \
    if (f == 0) {                                                              \
      memmove(best, v, n * sizeof(T));                                         \
      memmove(d, at, n * sizeof(I));                                           \
      return;                                                                  \
    }                                                                          \
    name##_##dt##_##it##_lanes(best, d, v, at, n);                             \
  }                                                                            \
  static const cpu_fold fold_##name##_##dt##_##it = {                          \
      name##_##dt##_##it##_rows, name##_##dt##_##it##_begin,                   \
      name##_##dt##_##it##_step, free_end, CPU_LANES};
#define ARG_PAIR(name, dt, T, OP)                                              \
  ARG(name, dt, T, i32, int32_t, OP) ARG(name, dt, T, i64, int64_t, OP)
#define ARGMAX(name, dt, T, start, expr) ARG_PAIR(name, dt, T, >)
#define ARGMIN(name, dt, T, start, expr) ARG_PAIR(name, dt, T, <)

/* ---- which op is made how ----------------------------------------------- */
#define FLOAT_sum    LANED
#define FLOAT_prod   LANED
#define FLOAT_max    MAXIMUM
#define FLOAT_min    MINIMUM
#define FLOAT_dot    DOT
#define FLOAT_argmax ARGMAX
#define FLOAT_argmin ARGMIN
#define WHOLE_sum    PLAIN
#define WHOLE_prod   PLAIN
#define WHOLE_max    PLAIN
#define WHOLE_min    PLAIN
#define WHOLE_any    PLAIN
#define WHOLE_all    PLAIN
#define WHOLE_dot    DOT
#define WHOLE_argmax ARGMAX
#define WHOLE_argmin ARGMIN
#define FOLDS_B(name, start, fe, ie)                                           \
  WHOLE_##name(name, bool, uint8_t, start, ie)
#define FOLDS_FI(name, start, fe, ie)                                          \
  FLOAT_##name(name, f32, float, start, fe)                                    \
      FLOAT_##name(name, f64, double, start, fe)                               \
          WHOLE_##name(name, i32, int32_t, start, ie)                          \
              WHOLE_##name(name, i64, int64_t, start, ie)                      \
                  WHOLE_##name(name, u64, uint64_t, start, ie)
#define FOLDS_FIB(name, start, fe, ie)                                         \
  FOLDS_FI(name, start, fe, ie) FOLDS_B(name, start, fe, ie)

#define CPU_X(id, name, class, arity, takes, gives, start, fe, ie, doc)        \
  FOLDS_##takes(name, start, fe, ie)
TSH_OPS_FOLD(CPU_X)
#undef CPU_X

/* ---- the table ---------------------------------------------------------- */
#define ROW_B(f) [CPU_bool] = &f##_bool
#define ROW_FI(f)                                                              \
  [CPU_f32] = &f##_f32, [CPU_f64] = &f##_f64, [CPU_i32] = &f##_i32,            \
  [CPU_i64] = &f##_i64, [CPU_u64] = &f##_u64
#define ROW_FIB(f)             ROW_FI(f), ROW_B(f)
#define ROW_SAME(f, takes, id) [id - FIRST] = {ROW_##takes(f)},
#define ROW_SECOND(f, takes, id)

enum { FIRST = TSH_OP_sum, IDS = 16 };
#define CPU_X(id, name, class, arity, takes, gives, start, fe, ie, doc)        \
  ROW_##gives(fold_##name, takes, id)
static const cpu_fold *const folds[IDS][CPU_NDTYPE] = {TSH_OPS_FOLD(CPU_X)};
#undef CPU_X

#define ARG_OF(f, dt) [CPU_##dt] = {&f##_##dt##_i32, &f##_##dt##_i64}
#define ARG_ROW(f)                                                             \
  {                                                                            \
    ARG_OF(f, f32), ARG_OF(f, f64), ARG_OF(f, i32), ARG_OF(f, i64),            \
        ARG_OF(f, u64), ARG_OF(f, bool)                                        \
  }
static const cpu_fold *const args[2][CPU_NDTYPE][2] = {ARG_ROW(fold_argmax),
                                                       ARG_ROW(fold_argmin)};

const cpu_fold *cpu_fold_get(int op, int compute, int dtype) {
  int row = cpu_row(compute);
  if (row < 0 || op < FIRST || op >= FIRST + IDS) return NULL;
  if (op != TSH_OP_argmax && op != TSH_OP_argmin) return folds[op - FIRST][row];
  if (dtype != TSH_i32 && dtype != TSH_i64) return NULL;
  return args[op == TSH_OP_argmin][row][dtype == TSH_i64];
}
