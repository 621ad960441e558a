/* kernels.c - one inner loop per MAP op and dtype, expanded from the op table.
 * Compiled once per instruction set. Knows lanes only: no views, no order. */
#include "isa.h"
#include "kit_math.h"

/* index reports bad lanes, so it has its own loop below. */
#define tsh_index(a, b) (a)

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
  const TY c = xc[i];

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

#define KERNELS_F(ar, name, gives, fe, ie)                                     \
  KERNEL_##gives(ar, name, f32, float, fe)                                     \
      KERNEL_##gives(ar, name, f64, double, fe)
#define KERNELS_I(ar, name, gives, fe, ie)                                     \
  KERNEL_##gives(ar, name, i32, int32_t, ie)                                   \
      KERNEL_##gives(ar, name, i64, int64_t, ie)
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
#define CASTS(from, FROM)                                                      \
  LOOP(cast_##from##_f32, 1, float, FROM, FROM, kit_##from##_to_f32(a))        \
  LOOP(cast_##from##_f64, 1, double, FROM, FROM, kit_##from##_to_f64(a))       \
  LOOP(cast_##from##_i32, 1, int32_t, FROM, FROM, kit_##from##_to_i32(a))      \
  LOOP(cast_##from##_i64, 1, int64_t, FROM, FROM, kit_##from##_to_i64(a))      \
  LOOP(cast_##from##_bool, 1, uint8_t, FROM, FROM, kit_##from##_to_bool(a))
#define CPU_X(dt, TY, kind) CASTS(dt, TY)
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
/* Most lanes are good: whether all are is asked without branches first. */
#define INDEX(fn, TY)                                                          \
  static void fn(void *pd, const void *pa, const void *pb, const void *pc,     \
                 size_t n, cpu_run *run) {                                     \
    const TY *y = pa, *extent = pb;                                            \
    (void)pc;                                                                  \
    size_t first = n;                                                          \
    TY bad = 0;                                                                \
    for (size_t i = 0; i < n; i++)                                             \
      bad |= (y[i] == 0) | (y[i] > extent[i]) | (y[i] < -extent[i]);           \
    for (size_t i = bad ? n : 0; i-- > 0;)                                     \
      if (y[i] == 0 || y[i] > extent[i] || y[i] < -extent[i]) first = i;       \
    if (first < n && (run->bad_lane < 0 || (int64_t)first < run->bad_lane))    \
      run->bad_lane = (int64_t)first;                                          \
    TY *d = pd;                                                                \
    CPU_LANES_FREE                                                             \
    for (size_t i = 0; i < n; i++) {                                           \
      const TY a = y[i], e = extent[i];                                        \
      const TY at = a < 0 ? a + e : a - 1;                                     \
      d[i] = at >= 0 && at < e ? at : 0;                                       \
    }                                                                          \
  }
INDEX(index_i32, int32_t)
INDEX(index_i64, int64_t)

/* ---- the tables --------------------------------------------------------- */
#define ROW_F(name)                 [CPU_f32] = map_##name##_f32, [CPU_f64] = map_##name##_f64
#define ROW_I(name)                 [CPU_i32] = map_##name##_i32, [CPU_i64] = map_##name##_i64
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

#define CPU_X(dt, TY, kind)                                                    \
  [CPU_##dt] = {[CPU_f32] = cast_##dt##_f32,                                   \
                [CPU_f64] = cast_##dt##_f64,                                   \
                [CPU_i32] = cast_##dt##_i32,                                   \
                [CPU_i64] = cast_##dt##_i64,                                   \
                [CPU_bool] = cast_##dt##_bool},
static cpu_map_fn *const casts[CPU_NDTYPE][CPU_NDTYPE] = {CPU_DTYPES(CPU_X)};
#undef CPU_X

cpu_map_fn *cpu_map_get(int op, int compute, int dtype) {
  int from = cpu_row(compute), to = cpu_row(dtype);
  if (from < 0 || to < 0 || op < 0 || op >= MAP_IDS) return NULL;
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
    return from == CPU_i32 ? index_i32 : from == CPU_i64 ? index_i64 : NULL;
  default:
    return maps[op][from];
  }
}
