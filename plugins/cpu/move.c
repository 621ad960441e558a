/* move.c - lanes from and to strided memory, repeated values, counting lanes.
 * Knows element sizes, not dtypes. Compiled once per instruction set. */
#include "isa.h"

/* ---- one run of a stride ------------------------------------------------ */
#define RUN(W)                                                                 \
  static inline void take_##W(uint##W##_t *d, const uint##W##_t *s,            \
                              int64_t stride, size_t n) {                      \
    if (stride == 1) {                                                         \
      for (size_t i = 0; i < n; i++) d[i] = s[i];                              \
    } else if (stride == 0) {                                                  \
      const uint##W##_t v = n ? *s : 0;                                        \
      for (size_t i = 0; i < n; i++) d[i] = v;                                 \
    } else {                                                                   \
      for (size_t i = 0; i < n; i++) d[i] = s[(int64_t)i * stride];            \
    }                                                                          \
  }                                                                            \
  static inline void put_##W(uint##W##_t *d, const uint##W##_t *s,             \
                             int64_t stride, size_t n) {                       \
    if (stride == 1) {                                                         \
      for (size_t i = 0; i < n; i++) d[i] = s[i];                              \
    } else {                                                                   \
      for (size_t i = 0; i < n; i++) d[(int64_t)i * stride] = s[i];            \
    }                                                                          \
  }                                                                            \
  /* Short rows are written in full vectors, over the next row's place. */     \
  static void spread_##W(uint##W##_t *d, const uint##W##_t *s, size_t rows,    \
                         size_t n) {                                           \
    enum { V = CPU_OVERHANG * 8 / W };                                         \
    size_t r = 0;                                                              \
    for (; r < rows && n <= V; r++, d += n)                                    \
      for (size_t i = 0; i < V; i++) d[i] = s[r];                              \
    for (; r < rows; r++, d += n)                                              \
      for (size_t i = 0; i < n; i++) d[i] = s[r];                              \
  }
RUN(8)
RUN(16)
RUN(32)
RUN(64)
#undef RUN

#define COUNT(W)                                                               \
  static inline void count_##W(int##W##_t *d, int64_t start, int64_t step,     \
                               size_t n) {                                     \
    int##W##_t v = (int##W##_t)start, by = (int##W##_t)step;                   \
    for (size_t i = 0; i < n; i++)                                             \
      d[i] = (int##W##_t)(v + (int##W##_t)i * by);                             \
  }
COUNT(32)
COUNT(64)
#undef COUNT

/* Runs F with the pointers of each element size. */
#define BY_SIZE(size, F)                                                       \
  switch (size) {                                                              \
  case 1:                                                                      \
    F(8);                                                                      \
    break;                                                                     \
  case 2:                                                                      \
    F(16);                                                                     \
    break;                                                                     \
  case 4:                                                                      \
    F(32);                                                                     \
    break;                                                                     \
  default:                                                                     \
    F(64);                                                                     \
    break;                                                                     \
  }

void cpu_splat(void *d, const void *value, size_t n, int size) {
#define F(W) take_##W(d, value, 0, n)
  BY_SIZE(size, F)
#undef F
}

void cpu_gather(void *d, const void *s, int64_t stride, size_t n, int size) {
#define F(W) take_##W(d, s, stride, n)
  BY_SIZE(size, F)
#undef F
}

void cpu_scatter(void *d, const void *s, int64_t stride, size_t n, int size) {
#define F(W) put_##W(d, s, stride, n)
  BY_SIZE(size, F)
#undef F
}

void cpu_iota(void *d, int64_t start, int64_t step, size_t n, int size) {
  if (size == 4)
    count_32(d, start, step, n);
  else
    count_64(d, start, step, n);
}

void cpu_spread_rows(void *d, const void *s, size_t rows, size_t n, int size) {
#define F(W) spread_##W(d, s, rows, n)
  BY_SIZE(size, F)
#undef F
}

/* ---- several axes: a run along the last one, then the odometer ---------- */
/* Ends the run of `n` lanes at point idx: its length. */
static inline size_t run_length(const cpu_space *space, const int64_t *idx,
                                size_t n) {
  int last = space->rank - 1;
  size_t left = (size_t)(space->ext[last] - idx[last]);
  return left < n ? left : n;
}

/* After a run that reached the end of the last axis. Returns how far the
 * strides moved. */
static inline int64_t next_run(const cpu_space *space, int64_t *idx,
                               const int64_t *stride) {
  int k = space->rank - 1;
  int64_t by = -idx[k] * stride[k];
  idx[k] = 0;
  while (--k >= 0) {
    by += stride[k];
    if (++idx[k] < space->ext[k]) break;
    by -= space->ext[k] * stride[k];
    idx[k] = 0;
  }
  return by;
}

static inline int64_t offset_of(const cpu_space *space, const int64_t *idx,
                                const int64_t *stride) {
  int64_t at = 0;
  for (int k = 0; k < space->rank; k++) at += idx[k] * stride[k];
  return at;
}

#define WALK(CALL)                                                             \
  int64_t idx[TSH_MAX_RANK];                                                   \
  memcpy(idx, from->idx, sizeof idx);                                          \
  int64_t at = offset_of(space, idx, stride);                                  \
  const int64_t step = stride[space->rank - 1];                                \
  while (n > 0) {                                                              \
    size_t run = run_length(space, idx, n);                                    \
    CALL;                                                                      \
    d += run;                                                                  \
    n -= run;                                                                  \
    at += next_run(space, idx, stride);                                        \
  }

#define SPACE(W)                                                               \
  static void take_space_##W(uint##W##_t *d, const uint##W##_t *base,          \
                             const int64_t *stride, const cpu_space *space,    \
                             const cpu_cursor *from, size_t n) {               \
    WALK(take_##W(d, base + at, step, run))                                    \
  }                                                                            \
  static void put_space_##W(uint##W##_t *base, const uint##W##_t *d,           \
                            const int64_t *stride, const cpu_space *space,     \
                            const cpu_cursor *from, size_t n) {                \
    WALK(put_##W(base + at, d, step, run))                                     \
  }
SPACE(8)
SPACE(16)
SPACE(32)
SPACE(64)
#undef SPACE

static void count_space_32(int32_t *d, int64_t start, const int64_t *stride,
                           const cpu_space *space, const cpu_cursor *from,
                           size_t n) {
  WALK(count_32(d, start + at, step, run))
}

static void count_space_64(int64_t *d, int64_t start, const int64_t *stride,
                           const cpu_space *space, const cpu_cursor *from,
                           size_t n) {
  WALK(count_64(d, start + at, step, run))
}

void cpu_gather_space(void *d, const char *base, const int64_t *stride,
                      const cpu_space *space, const cpu_cursor *from, size_t n,
                      int size) {
  const void *s = base;
#define F(W) take_space_##W(d, s, stride, space, from, n)
  BY_SIZE(size, F)
#undef F
}

void cpu_scatter_space(char *base, const void *s, const int64_t *stride,
                       const cpu_space *space, const cpu_cursor *from, size_t n,
                       int size) {
  void *d = base;
#define F(W) put_space_##W(d, s, stride, space, from, n)
  BY_SIZE(size, F)
#undef F
}

void cpu_iota_space(void *d, int64_t start, const int64_t *stride,
                    const cpu_space *space, const cpu_cursor *from, size_t n,
                    int size) {
  if (size == 4)
    count_space_32(d, start, stride, space, from, n);
  else
    count_space_64(d, start, stride, space, from, n);
}
