/* gather.c - the CALL ops gather and scatter_add, and index_set of a line: one
 * element for each position, in row-major order. */
#include "call.h"

/* A run along the last axis: element i of argument d (out or z) goes with
 * element at[i] along the axis of x, moved by dx for each i. */
typedef struct {
  const char *at;
  char *x, *d;
  int64_t n, dat, dd, dx, axis; /* strides; axis: of x along the axis */
  int64_t extent;               /* of x along the axis */
} gather_run;

/* Returns the first i with a bad position, or -1. */
typedef int64_t gather_fn(const gather_run *r);

#define RUN(name, T, P, good, bad)                                             \
  static int64_t name(const gather_run *r) {                                   \
    const P *at = (const P *)r->at;                                            \
    T *x = (T *)r->x, *d = (T *)r->d;                                          \
    int64_t first = -1, dat = r->dat, dd = r->dd, dx = r->dx;                  \
    int64_t axis = r->axis, extent = r->extent;                                \
    for (int64_t i = 0; i < r->n; i++) {                                       \
      int64_t p = at[i * dat];                                                 \
      if (p >= 0 && p < extent) {                                              \
        good;                                                                  \
      } else {                                                                 \
        bad;                                                                   \
        if (first < 0) first = i;                                              \
      }                                                                        \
    }                                                                          \
    return first;                                                              \
  }

#define READ(name, T, P)                                                       \
  RUN(name, T, P, d[i * dd] = x[p * axis + i * dx], d[i * dd] = 0)
#define ADD(name, T, P)                                                        \
  RUN(name, T, P, x[p * axis + i * dx] += d[i * dd], (void)0)

#define SET(name, T, P)                                                        \
  RUN(name, T, P, x[p * axis + i * dx] = d[i * dd], (void)0)

SET(set_1_i32, uint8_t, int32_t)
SET(set_1_i64, uint8_t, int64_t)
SET(set_2_i32, uint16_t, int32_t)
SET(set_2_i64, uint16_t, int64_t)
SET(set_4_i32, uint32_t, int32_t)
SET(set_4_i64, uint32_t, int64_t)
SET(set_8_i32, uint64_t, int32_t)
SET(set_8_i64, uint64_t, int64_t)
READ(read_1_i32, uint8_t, int32_t)
READ(read_1_i64, uint8_t, int64_t)
READ(read_2_i32, uint16_t, int32_t)
READ(read_2_i64, uint16_t, int64_t)
READ(read_4_i32, uint32_t, int32_t)
READ(read_4_i64, uint32_t, int64_t)
READ(read_8_i32, uint64_t, int32_t)
READ(read_8_i64, uint64_t, int64_t)

/* Addition by the kind of a dtype: not of bool. */
#define ADD_F(name, T)                                                         \
  ADD(add_##name##_i32, T, int32_t) ADD(add_##name##_i64, T, int64_t)
#define ADD_I(name, T) ADD_F(name, T)
#define ADD_B(name, T)
#define CPU_X(name, T, kind) ADD_##kind(name, T)
CPU_DTYPES(CPU_X)
#undef CPU_X

static int size_row(int64_t bytes) {
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
}

static gather_fn *read_of(int64_t bytes, int wide) {
  static gather_fn *const fn[4][2] = {{read_1_i32, read_1_i64},
                                      {read_2_i32, read_2_i64},
                                      {read_4_i32, read_4_i64},
                                      {read_8_i32, read_8_i64}};
  return fn[size_row(bytes)][wide];
}

static gather_fn *set_of(int64_t bytes, int wide) {
  static gather_fn *const fn[4][2] = {{set_1_i32, set_1_i64},
                                      {set_2_i32, set_2_i64},
                                      {set_4_i32, set_4_i64},
                                      {set_8_i32, set_8_i64}};
  return fn[size_row(bytes)][wide];
}

#define CASE_F(name)                                                           \
  case TSH_##name:                                                             \
    return wide ? add_##name##_i64 : add_##name##_i32;
#define CASE_I(name) CASE_F(name)
#define CASE_B(name)
static gather_fn *add_of(int dtype, int wide) {
  switch (dtype) {
#define CPU_X(name, T, kind) CASE_##kind(name)
    CPU_DTYPES(CPU_X)
#undef CPU_X
  default:
    return NULL;
  }
}

/* fn over all positions. x: the argument of x's extents that is read or
 * written at positions, d the other one. */
static tsh_status each_run(const cpu_call *c, int x, int d, gather_fn *fn) {
  const tsh_view *at = call_view(c, 1), *vx = call_view(c, x),
                 *vd = call_view(c, d);
  int rank = call_rank(c, 1), last = rank - 1, axis = (int)c->prog->attr[0];
  int64_t bat = call_bytes(c, 1), bytes = call_bytes(c, x), number = 0;
  char *from[3] = {call_base(c, 1), call_base(c, x), call_base(c, d)};
  gather_run r = {.dat = at->stride[last], .dd = vd->stride[last]};
  call_lines w;
  call_lines_init(&w, rank, at->extent, last);
  call_lines_add(&w, at->stride, last, -1);
  call_lines_add(&w, vx->stride, last, axis);
  call_lines_add(&w, vd->stride, last, -1);
  r.dx = axis == last ? 0 : vx->stride[last];
  r.axis = vx->stride[axis];
  r.extent = vx->extent[axis];
  do {
    for (int64_t i = 0; i < at->extent[last]; i += CALL_PIECE) {
      int64_t left = at->extent[last] - i, bad;
      if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
      r.n = left < CALL_PIECE ? left : CALL_PIECE;
      r.at = from[0] + (w.at[0] + i * r.dat) * bat;
      r.x = from[1] + (w.at[1] + i * r.dx) * bytes;
      r.d = from[2] + (w.at[2] + i * r.dd) * bytes;
      bad = fn(&r);
      if (bad >= 0 && c->run->bad_at < 0) c->run->bad_at = number + i + bad;
    }
    number += at->extent[last];
  } while (call_lines_next(&w));
  return TSH_OK;
}

tsh_status cpu_gather_at(const cpu_call *c) {
  int wide = call_dtype(c, 1) == TSH_i64;
  return each_run(c, 0, 2, read_of(call_bytes(c, 0), wide));
}

tsh_status cpu_scatter_add(const cpu_call *c) {
  int wide = call_dtype(c, 1) == TSH_i64;
  tsh_status rc = cpu_slab_copy(c, 0);
  return rc ? rc : each_run(c, 3, 2, add_of(call_dtype(c, 0), wide));
}

tsh_status cpu_scatter_set(const cpu_call *c) {
  int wide = call_dtype(c, 1) == TSH_i64;
  tsh_status rc = cpu_slab_copy(c, 0);
  return rc ? rc : each_run(c, 3, 2, set_of(call_bytes(c, 0), wide));
}
