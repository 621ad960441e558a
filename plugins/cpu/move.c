/* move.c - lanes from and to strided memory, repeated values, counting lanes.
 * Knows element sizes, not dtypes. Compiled once per instruction set. */
#include "isa.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* ---- short runs --------------------------------------------------------- */
/* n elements one after the other. Rows of images are short: whole vectors, the
 * last one over the one before, cost less than a loop for the rest. */
#define LINE(W)                                                                \
  static inline void line_##W(uint##W##_t *d, const uint##W##_t *s,            \
                              size_t n) {                                      \
    enum { V = 32 * 8 / W, H = V / 2 };                                        \
    size_t i = 0;                                                              \
    if (n >= V) {                                                              \
      for (; i + V <= n; i += V) memcpy(d + i, s + i, 32);                     \
      if (i < n) memcpy(d + n - V, s + n - V, 32);                             \
    } else if (n >= H) {                                                       \
      memcpy(d, s, 16);                                                        \
      memcpy(d + n - H, s + n - H, 16);                                        \
    } else {                                                                   \
      for (; i < n; i++) d[i] = s[i];                                          \
    }                                                                          \
  }
LINE(8)
LINE(16)
LINE(32)
LINE(64)
#undef LINE

/* Every second element. Nothing beyond the last one is read: the second half
 * of a vector's source is loaded from one element earlier. */
static inline void second_32(uint32_t *d, const uint32_t *s, size_t n) {
  size_t i = 0;
#ifdef __AVX2__
  for (; n >= 8; i = i + 16 <= n ? i + 8 : n - 8) {
    const float *from = (const float *)(const void *)(s + 2 * i);
    __m256 a = _mm256_loadu_ps(from), b = _mm256_loadu_ps(from + 7);
    __m256i c = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xd8));
    c = _mm256_permute4x64_epi64(c, 0xd8);
    _mm256_storeu_si256((__m256i *)(void *)(d + i), c);
    if (i + 8 == n) return;
  }
  if (n >= 4) {
    const float *from = (const float *)(const void *)s;
    for (; i < n; i = i + 8 <= n ? i + 4 : n - 4) {
      __m128 a = _mm_loadu_ps(from + 2 * i), b = _mm_loadu_ps(from + 2 * i + 3);
      _mm_storeu_ps((float *)(void *)(d + i), _mm_shuffle_ps(a, b, 0xd8));
      if (i + 4 == n) return;
    }
  }
#endif
  for (; i < n; i++) d[i] = s[2 * i];
}

static inline void second_64(uint64_t *d, const uint64_t *s, size_t n) {
  for (size_t i = 0; i < n; i++) d[i] = s[2 * i];
}

static inline void second_16(uint16_t *d, const uint16_t *s, size_t n) {
  for (size_t i = 0; i < n; i++) d[i] = s[2 * i];
}

static inline void second_8(uint8_t *d, const uint8_t *s, size_t n) {
  for (size_t i = 0; i < n; i++) d[i] = s[2 * i];
}

/* Two lines that lie in turn in memory: s or d is their first element. The last
 * vector goes over the one before. */
static inline void apart_32(uint32_t *d, uint32_t *e, const uint32_t *s,
                            size_t n) {
  size_t i = 0;
#ifdef __AVX2__
  for (; n >= 8; i = i + 16 <= n ? i + 8 : n - 8) {
    const float *from = (const float *)(const void *)(s + 2 * i);
    __m256 a = _mm256_loadu_ps(from), b = _mm256_loadu_ps(from + 8);
    __m256i x = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
    __m256i y = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
    x = _mm256_permute4x64_epi64(x, 0xd8);
    y = _mm256_permute4x64_epi64(y, 0xd8);
    _mm256_storeu_si256((__m256i *)(void *)(d + i), x);
    _mm256_storeu_si256((__m256i *)(void *)(e + i), y);
    if (i + 8 == n) return;
  }
  for (; n >= 4; i = i + 8 <= n ? i + 4 : n - 4) {
    const float *from = (const float *)(const void *)(s + 2 * i);
    __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + 4);
    _mm_storeu_ps((float *)(void *)(d + i), _mm_shuffle_ps(a, b, 0x88));
    _mm_storeu_ps((float *)(void *)(e + i), _mm_shuffle_ps(a, b, 0xdd));
    if (i + 4 == n) return;
  }
#endif
  for (; i < n; i++) d[i] = s[2 * i], e[i] = s[2 * i + 1];
}

static inline void in_turn_32(uint32_t *d, const uint32_t *s, const uint32_t *t,
                              size_t n) {
  size_t i = 0;
#ifdef __AVX2__
  for (; n >= 8; i = i + 16 <= n ? i + 8 : n - 8) {
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(s + i));
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(t + i));
    __m256i x = _mm256_unpacklo_epi32(a, b), y = _mm256_unpackhi_epi32(a, b);
    __m256i *to = (__m256i *)(void *)(d + 2 * i);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(x, y, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(x, y, 0x31));
    if (i + 8 == n) return;
  }
  for (; n >= 4; i = i + 8 <= n ? i + 4 : n - 4) {
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(s + i));
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(t + i));
    __m128i *to = (__m128i *)(void *)(d + 2 * i);
    _mm_storeu_si128(to, _mm_unpacklo_epi32(a, b));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi32(a, b));
    if (i + 4 == n) return;
  }
#endif
  for (; i < n; i++) d[2 * i] = s[i], d[2 * i + 1] = t[i];
}

/* ---- one run of a stride ------------------------------------------------ */
#define RUN(W)                                                                 \
  static inline void take_##W(uint##W##_t *d, const uint##W##_t *s,            \
                              int64_t stride, size_t n) {                      \
    if (stride == 1) {                                                         \
      line_##W(d, s, n);                                                       \
    } else if (stride == 2) {                                                  \
      second_##W(d, s, n);                                                     \
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
      line_##W(d, s, n);                                                       \
    } else if (stride == 2) {                                                  \
      for (size_t i = 0; i < n; i++) d[2 * i] = s[i];                          \
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

/* ---- several axes: a run along the last ones, then the odometer ---------- */
typedef struct {
  int64_t idx[TSH_MAX_RANK]; /* of the axes in front of the run's */
  int64_t ext, first;        /* of the run, and where in it */
  int64_t at;                /* offset of its current start */
  int axis;                  /* first of the axes that are one for a port */
} runs;

static inline void begin_runs(runs *r, const cpu_space *space,
                              const cpu_cursor *from, const int64_t *stride) {
  int last = space->rank - 1;
  r->at = cpu_cursor_at(from, stride, last);
  for (int k = 0; k <= last; k++) r->idx[k] = from->idx[k];
  r->ext = space->ext[last];
  r->first = from->idx[last];
  r->axis = last;
  while (r->axis > 0 && stride[r->axis - 1] == stride[last] * r->ext) {
    r->axis--;
    r->first += r->idx[r->axis] * r->ext;
    r->ext *= space->ext[r->axis];
  }
}

static inline size_t run_length(const runs *r, size_t n) {
  size_t left = (size_t)(r->ext - r->first);
  return left < n ? left : n;
}

/* After a run that reached its end. */
static inline void next_run(runs *r, const cpu_space *space,
                            const int64_t *stride) {
  int k = r->axis;
  r->at -= r->first * stride[space->rank - 1];
  r->first = 0;
  while (--k >= 0) {
    r->at += stride[k];
    if (++r->idx[k] < space->ext[k]) break;
    r->at -= space->ext[k] * stride[k];
    r->idx[k] = 0;
  }
}

#define WALK(CALL)                                                             \
  runs r;                                                                      \
  const int64_t step = stride[space->rank - 1];                                \
  (void)step;                                                                  \
  begin_runs(&r, space, from, stride);                                         \
  for (;;) {                                                                   \
    const size_t run = run_length(&r, n);                                      \
    const int64_t at = r.at;                                                   \
    CALL;                                                                      \
    if ((n -= run) == 0) break;                                                \
    d += run;                                                                  \
    next_run(&r, space, stride);                                               \
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

void cpu_gather_pair(void *one, void *two, const char *base,
                     const int64_t *stride, const cpu_space *space,
                     const cpu_cursor *from, size_t n) {
  uint32_t *d = one, *e = two;
  const uint32_t *s = (const void *)base;
  WALK(apart_32(d, e, s + at, run); e += run)
}

void cpu_scatter_pair(char *base, const void *one, const void *two,
                      const int64_t *stride, const cpu_space *space,
                      const cpu_cursor *from, size_t n) {
  const uint32_t *d = one, *e = two;
  uint32_t *s = (void *)base;
  WALK(in_turn_32(s + at, d, e, run); e += run)
}

void cpu_iota_space(void *d, int64_t start, const int64_t *stride,
                    const cpu_space *space, const cpu_cursor *from, size_t n,
                    int size) {
  if (size == 4)
    count_space_32(d, start, stride, space, from, n);
  else
    count_space_64(d, start, stride, space, from, n);
}
