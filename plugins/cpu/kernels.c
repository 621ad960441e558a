/* kernels.c - one inner loop per MAP op and dtype, expanded from the op table.
 * Compiled once per instruction set. Knows lanes only: no views, no order. */
#include "isa.h"
#include "kit_math.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

/* index reports bad lanes and random has one dtype, so they have loops of their
 * own below. */
#define tsh_index(a, b) (a)
#undef tsh_random
#define tsh_random(a, b, c) (a)

/* What -1 and a sign mean is asked of unsigned types, too. */
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wsign-compare"

/* ---- loops -------------------------------------------------------------- */
#define LANES_1(A, TY) const A *xa = pa;
#define LANES_2(A, TY)                                                         \
  LANES_1(A, TY)                                                               \
  const TY *xb = pb;
#define LANES_3(A, TY)                                                         \
  LANES_2(A, TY)                                                               \
  const TY *xc = pc;
#define LANE_1(A, TY)                                                          \
  const A a = xa[i];                                                           \
  (void)a;
#define LANE_2(A, TY)                                                          \
  LANE_1(A, TY)                                                                \
  const TY b = xb[i];                                                          \
  (void)b;
#define LANE_3(A, TY)                                                          \
  LANE_2(A, TY)                                                                \
  const TY c = xc[i];                                                          \
  (void)c;

/* R: result; A: first operand; TY: compute type. Flat, since one call keeps a
 * loop scalar. */
#define LOOP(fn, arity, R, A, TY, expr)                                        \
  static __attribute__((flatten)) void fn(void *pd, const void *pa,            \
                                          const void *pb, const void *pc,      \
                                          size_t n, cpu_run *run) {            \
    typedef TY T __attribute__((unused));                                      \
    R *d = pd;                                                                 \
    LANES_##arity(A, TY)(void) pb, (void)pc, (void)run;                        \
    CPU_LANES_FREE                                                             \
    for (size_t i = 0; i < n; i++) {                                           \
      LANE_##arity(A, TY) d[i] = (R)(expr);                                    \
    }                                                                          \
  }

#define KERNEL_SAME(ar, name, dt, TY, e)                                       \
  LOOP(map_##name##_##dt, ar, TY, TY, TY, e)
#define KERNEL_BOOL(ar, name, dt, TY, e)                                       \
  LOOP(map_##name##_##dt, ar, uint8_t, TY, TY, e)
#define KERNEL_TO(ar, name, dt, TY, e)

/* clang-format off */
#define KERNELS_F(ar, name, gives, fe, ie)                                     \
  KERNEL_##gives(ar, name, f32, float, fe)                                     \
      KERNEL_##gives(ar, name, f64, double, fe)
#define KERNELS_I(ar, name, gives, fe, ie)   \
  KERNEL_##gives(ar, name, i8, int8_t, ie)   \
  KERNEL_##gives(ar, name, i16, int16_t, ie) \
  KERNEL_##gives(ar, name, i32, int32_t, ie) \
  KERNEL_##gives(ar, name, i64, int64_t, ie) \
  KERNEL_##gives(ar, name, u8, uint8_t, ie)  \
  KERNEL_##gives(ar, name, u16, uint16_t, ie) \
  KERNEL_##gives(ar, name, u32, uint32_t, ie) \
  KERNEL_##gives(ar, name, u64, uint64_t, ie)
/* clang-format on */
#define KERNELS_B(ar, name, gives, fe, ie)                                     \
  KERNEL_##gives(ar, name, bool, uint8_t, (ie)&1)
#define KERNELS_FI(ar, name, gives, fe, ie)                                    \
  KERNELS_F(ar, name, gives, fe, ie) KERNELS_I(ar, name, gives, fe, ie)
#define KERNELS_IB(ar, name, gives, fe, ie)                                    \
  KERNELS_I(ar, name, gives, fe, ie) KERNELS_B(ar, name, gives, fe, ie)
#define KERNELS_FIB(ar, name, gives, fe, ie)                                   \
  KERNELS_FI(ar, name, gives, fe, ie) KERNELS_B(ar, name, gives, fe, ie)

#define CPU_X(id, name, class, arity, takes, gives, start, fe, ie, doc)        \
  KERNELS_##takes(arity, name, gives, fe, ie)
TSH_OPS_MAP1(CPU_X)
TSH_OPS_MAP2(CPU_X)
TSH_OPS_MAP3(CPU_X)
#undef CPU_X

/* ---- where: the condition is a bool, not of the compute type ------------ */
#define CPU_X(dt, TY, kind) LOOP(where_##dt, 3, TY, uint8_t, TY, a ? b : c)
CPU_DTYPES(CPU_X)
#undef CPU_X

/* ---- cast --------------------------------------------------------------- */
#define CAST(from, FROM, to, TO)                                               \
  LOOP(cast_##from##_##to, 1, TO, FROM, FROM, kit_##from##_to_##to(a))
/* clang-format off */
#define CASTS(from, FROM)       \
  CAST(from, FROM, f32, float)  \
  CAST(from, FROM, f64, double) \
  CAST(from, FROM, i8, int8_t)  \
  CAST(from, FROM, i16, int16_t) \
  CAST(from, FROM, i32, int32_t) \
  CAST(from, FROM, i64, int64_t) \
  CAST(from, FROM, u8, uint8_t) \
  CAST(from, FROM, u16, uint16_t) \
  CAST(from, FROM, u32, uint32_t) \
  CAST(from, FROM, u64, uint64_t) \
  CAST(from, FROM, bool, uint8_t)
/* clang-format on */
#define CPU_X(dt, TY, kind) CASTS(dt, TY)
CPU_DTYPES(CPU_X)
#undef CPU_X

/* ---- f16 and bf16 ------------------------------------------------------- */
/* The machine's conversions give the bits of kit_half.h, but for nan. */
#ifdef __F16C__
#define F16C(fn, D, S, convert)                                                \
  static void fn(void *pd, const void *pa, const void *pb, const void *pc,     \
                 size_t n, cpu_run *run) {                                     \
    D *d = pd;                                                                 \
    const S *a = pa;                                                           \
    (void)pb, (void)pc, (void)run;                                             \
    for (; n >= 8; n -= 8, d += 8, a += 8) convert(d, a);                      \
    if (n == 0) return;                                                        \
    D to[8];                                                                   \
    S from[8] = {0};                                                           \
    memcpy(from, a, n * sizeof *a);                                            \
    convert(to, from);                                                         \
    memcpy(d, to, n * sizeof *d);                                              \
  }
static inline void widen_8(float *d, const uint16_t *a) {
  __m128i h = _mm_loadu_si128((const __m128i *)(const void *)a);
  _mm256_storeu_ps(d, _mm256_cvtph_ps(h));
}
static inline void narrow_8(uint16_t *d, const float *a) {
  __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(a), _MM_FROUND_TO_NEAREST_INT);
  _mm_storeu_si128((__m128i *)(void *)d, h);
}
static inline void round_8(float *d, const float *a) {
  __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(a), _MM_FROUND_TO_NEAREST_INT);
  _mm256_storeu_ps(d, _mm256_cvtph_ps(h));
}
F16C(widen_f16, float, uint16_t, widen_8)
F16C(narrow_f16, uint16_t, float, narrow_8)
F16C(round_f16, float, float, round_8)
#else
LOOP(widen_f16, 1, float, uint16_t, uint16_t, kit_f16_to_f32(a))
LOOP(narrow_f16, 1, uint16_t, float, float, kit_f32_to_f16(a))
LOOP(round_f16, 1, float, float, float, kit_round_f16(a))
#endif
LOOP(widen_bf16, 1, float, uint16_t, uint16_t, kit_bf16_to_f32(a))
LOOP(narrow_bf16, 1, uint16_t, float, float, kit_f32_to_bf16(a))
LOOP(round_bf16, 1, float, float, float, kit_round_bf16(a))

#define CPU_X(dt, TY, kind) LOOP(odd_##dt, 1, float, TY, TY, kit_odd_##dt(a))
CPU_DTYPES(CPU_X)
#undef CPU_X

/* ---- sin and cos -------------------------------------------------------- */
/* Large arguments need a call, which would keep every loop scalar. */
#define TRIG(name)                                                             \
  LOOP(name##_near, 1, float, float, float, kit_##name##_near_f32(a))          \
  static void name##_any(void *d, const void *a, const void *b, const void *c, \
                         size_t n, cpu_run *run) {                             \
    cpu_map_fn *fn = kit_trig_big(a, n) ? map_##name##_f32 : name##_near;      \
    fn(d, a, b, c, n, run);                                                    \
  }
TRIG(sin)
TRIG(cos)

/* ---- index: the one op that can fail ------------------------------------ */
/* Negative positions count from the end; the unsigned have none. */
#define INDEX(dt, TY, kind)                                                    \
  static void index_##dt(void *pd, const void *pa, const void *pb,             \
                         const void *pc, size_t n, cpu_run *run) {             \
    const TY *y = pa, *extent = pb;                                            \
    (void)pc;                                                                  \
    size_t first = n;                                                          \
    for (size_t i = n; i-- > 0;)                                               \
      if (y[i] == 0 || y[i] > extent[i] ||                                     \
          (y[i] < 0 && y[i] < (TY)-extent[i]))                                 \
        first = i;                                                             \
    if (first < n && (run->bad_lane < 0 || (int64_t)first < run->bad_lane))    \
      run->bad_lane = (int64_t)first;                                          \
    TY *d = pd;                                                                \
    CPU_LANES_FREE                                                             \
    for (size_t i = 0; i < n; i++) {                                           \
      const TY a = y[i], e = extent[i];                                        \
      d[i] = (TY)(a >= 1 && a <= e ? a - 1 : a < 0 && a >= -e ? a + e : 0);    \
    }                                                                          \
  }
CPU_INTS(INDEX)

LOOP(random_i64, 3, int64_t, int64_t, int64_t, kit_random(a, b, c))

/* ---- the tables --------------------------------------------------------- */
#define ROW_F(name) [CPU_f32] = map_##name##_f32, [CPU_f64] = map_##name##_f64
#define ROW_I(name)                                                            \
  [CPU_i8] = map_##name##_i8, [CPU_i16] = map_##name##_i16,                    \
  [CPU_i32] = map_##name##_i32, [CPU_i64] = map_##name##_i64,                  \
  [CPU_u8] = map_##name##_u8, [CPU_u16] = map_##name##_u16,                    \
  [CPU_u32] = map_##name##_u32, [CPU_u64] = map_##name##_u64
#define ROW_IB(name)                ROW_I(name), [CPU_bool] = map_##name##_bool
#define ROW_FI(name)                ROW_F(name), ROW_I(name)
#define ROW_FIB(name)               ROW_F(name), ROW_IB(name)
#define ENTRY_SAME(id, takes, name) [id] = {ROW_##takes(name)},
#define ENTRY_BOOL(id, takes, name) [id] = {ROW_##takes(name)},
#define ENTRY_TO(id, takes, name)

enum { MAP_IDS = 128 };
#define CPU_X(id, name, class, arity, takes, gives, start, fe, ie, doc)        \
  ENTRY_##gives(id, takes, name)
static cpu_map_fn *const maps[MAP_IDS][CPU_NDTYPE] = {
    TSH_OPS_MAP1(CPU_X) TSH_OPS_MAP2(CPU_X) TSH_OPS_MAP3(CPU_X)};
#undef CPU_X

#define CPU_X(dt, TY, kind) [CPU_##dt] = where_##dt,
static cpu_map_fn *const wheres[CPU_NDTYPE] = {CPU_DTYPES(CPU_X)};
#undef CPU_X

#define CPU_X(dt, TY, kind) [CPU_##dt] = odd_##dt,
static cpu_map_fn *const odds[CPU_NDTYPE] = {CPU_DTYPES(CPU_X)};
#undef CPU_X

#define CPU_X(dt, TY, kind) [CPU_##dt] = index_##dt,
static cpu_map_fn *const indexes[CPU_NDTYPE] = {CPU_INTS(CPU_X)};
#undef CPU_X

#define TO(dt, to) [CPU_##to] = cast_##dt##_##to
#define CPU_X(dt, TY, kind)                                                    \
  [CPU_##dt] = {TO(dt, f32), TO(dt, f64), TO(dt, i8),  TO(dt, i16),            \
                TO(dt, i32), TO(dt, i64), TO(dt, u8),  TO(dt, u16),            \
                TO(dt, u32), TO(dt, u64), TO(dt, bool)},
static cpu_map_fn *const casts[CPU_NDTYPE][CPU_NDTYPE] = {CPU_DTYPES(CPU_X)};
#undef CPU_X

/* Between memory and slots, and the rounding in slots. */
static cpu_map_fn *half_get(int op, int compute, int dtype) {
  if (op == CPU_OP_ROUND_f16) return round_f16;
  if (op == CPU_OP_ROUND_bf16) return round_bf16;
  if (op != TSH_OP_cast) return NULL;
  if (dtype == TSH_f32 && compute == TSH_f16) return widen_f16;
  if (dtype == TSH_f32 && compute == TSH_bf16) return widen_bf16;
  if (compute == TSH_f32 && dtype == TSH_f16) return narrow_f16;
  return compute == TSH_f32 && dtype == TSH_bf16 ? narrow_bf16 : NULL;
}

cpu_map_fn *cpu_map_get(int op, int compute, int dtype) {
  int from = cpu_row(compute), to = cpu_row(dtype);
  if (op == CPU_OP_ROUND_f16 || op == CPU_OP_ROUND_bf16 || from < 0 || to < 0)
    return half_get(op, compute, dtype);
  if (op < 0 || (op >= MAP_IDS && op != CPU_OP_ODD)) return NULL;
  switch (op) {
  case TSH_OP_cast:
    return casts[from][to];
  case TSH_OP_where:
    return wheres[from];
  case TSH_OP_sin:
    return from == CPU_f32 ? sin_any : maps[op][from];
  case TSH_OP_cos:
    return from == CPU_f32 ? cos_any : maps[op][from];
  case TSH_OP_index:
    return indexes[from];
  case TSH_OP_random:
    return from == CPU_i64 ? random_i64 : NULL;
  case CPU_OP_ODD:
    return odds[from];
  default:
    return maps[op][from];
  }
}
