/* scans.c - cumsum and cumprod of lines and of columns, per instruction set:
 * blocks of 16 along the axis, as tsh_plugin.h says. */
#include "isa.h"

/* What an absent element is: x + -0 and x * 1 are x, whatever x is. */
#define NONE_sum_F  -0.0
#define NONE_sum_I  0
#define NONE_prod_F 1
#define NONE_prod_I 1

enum {
  BLOCK = CPU_SCAN_BLOCK,
  LANES = 64 /* of columns that go together */
};

/* ---- anything: n elements of one line ----------------------------------- */
#define LINE(name, T, OP, none)                                                \
  static void line_##name(void *to, const void *from, int64_t n, int64_t dd,   \
                          int64_t ds, int begun) {                             \
    const T *s = from;                                                         \
    T *d = to, e[BLOCK], carry = begun ? d[-dd] : (T)(none);                   \
    for (int64_t at = 0; at < n; at += BLOCK) {                                \
      int64_t m = n - at < BLOCK ? n - at : BLOCK;                             \
      for (int64_t i = 0; i < m; i++) e[i] = s[(at + i) * ds];                 \
      for (int64_t k = 1; k < BLOCK; k *= 2)                                   \
        for (int64_t i = m; i-- > k;) e[i] = (T)(e[i - k] OP e[i]);            \
      for (int64_t i = 0; i < m; i++) d[(at + i) * dd] = (T)(carry OP e[i]);   \
      carry = (T)(carry OP e[m - 1]);                                          \
    }                                                                          \
  }

/* ---- one element after the other: vectors of 32 bytes ------------------- */
#ifdef __AVX2__
#define VECTOR(T)                                                              \
  T __attribute__((vector_size(32), aligned(sizeof(T)), may_alias))
#define LANES_OF(T) (32 / (int)sizeof(T))

/* a, then b: the LANES_OF(T) lanes that begin d before b. */
#ifdef __clang__
#define AT8(a, b, k, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define AT8(a, b, k, ...) __builtin_shuffle(a, b, k{__VA_ARGS__})
#endif
typedef int32_t lanes_8 __attribute__((vector_size(32)));
typedef int64_t lanes_4 __attribute__((vector_size(32)));
#define BACK_8_1(a, b) AT8(a, b, (lanes_8), 7, 8, 9, 10, 11, 12, 13, 14)
#define BACK_8_2(a, b) AT8(a, b, (lanes_8), 6, 7, 8, 9, 10, 11, 12, 13)
#define BACK_8_4(a, b) AT8(a, b, (lanes_8), 4, 5, 6, 7, 8, 9, 10, 11)
#define LAST_8(a)      AT8(a, a, (lanes_8), 7, 7, 7, 7, 7, 7, 7, 7)
#define BACK_4_1(a, b) AT8(a, b, (lanes_4), 3, 4, 5, 6)
#define BACK_4_2(a, b) AT8(a, b, (lanes_4), 2, 3, 4, 5)
#define LAST_4(a)      AT8(a, a, (lanes_4), 3, 3, 3, 3)

/* One block in two vectors of 8. */
#define BLOCK_8(OP)                                                            \
  vec p = ((const vec *)(s + at))[0], q = ((const vec *)(s + at))[1];          \
  q = BACK_8_1(p, q) OP q;                                                     \
  p = BACK_8_1(no, p) OP p;                                                    \
  q = BACK_8_2(p, q) OP q;                                                     \
  p = BACK_8_2(no, p) OP p;                                                    \
  q = BACK_8_4(p, q) OP q;                                                     \
  p = BACK_8_4(no, p) OP p;                                                    \
  q = p OP q;                                                                  \
  ((vec *)(d + at))[0] = carry OP p;                                           \
  ((vec *)(d + at))[1] = carry OP q;                                           \
  carry = carry OP LAST_8(q)

/* One block in four vectors of 4. */
#define BLOCK_4(OP)                                                            \
  vec p = ((const vec *)(s + at))[0], q = ((const vec *)(s + at))[1];          \
  vec r = ((const vec *)(s + at))[2], u = ((const vec *)(s + at))[3];          \
  u = BACK_4_1(r, u) OP u;                                                     \
  r = BACK_4_1(q, r) OP r;                                                     \
  q = BACK_4_1(p, q) OP q;                                                     \
  p = BACK_4_1(no, p) OP p;                                                    \
  u = BACK_4_2(r, u) OP u;                                                     \
  r = BACK_4_2(q, r) OP r;                                                     \
  q = BACK_4_2(p, q) OP q;                                                     \
  p = BACK_4_2(no, p) OP p;                                                    \
  u = r OP u;                                                                  \
  r = q OP r;                                                                  \
  q = p OP q;                                                                  \
  u = q OP u;                                                                  \
  r = p OP r;                                                                  \
  ((vec *)(d + at))[0] = carry OP p;                                           \
  ((vec *)(d + at))[1] = carry OP q;                                           \
  ((vec *)(d + at))[2] = carry OP r;                                           \
  ((vec *)(d + at))[3] = carry OP u;                                           \
  carry = carry OP LAST_4(u)

#define DENSE(name, T, OP, none, BLOCK_N)                                      \
  static void dense_##name(void *to, const void *from, int64_t n, int64_t dd,  \
                           int64_t ds, int begun) {                            \
    typedef VECTOR(T) vec;                                                     \
    const T *s = from;                                                         \
    T *d = to;                                                                 \
    vec no, carry;                                                             \
    int64_t at = 0;                                                            \
    for (int i = 0; i < LANES_OF(T); i++) {                                    \
      no[i] = (T)(none);                                                       \
      carry[i] = begun ? d[-1] : (T)(none);                                    \
    }                                                                          \
    for (; at + BLOCK <= n; at += BLOCK) {                                     \
      BLOCK_N(OP);                                                             \
    }                                                                          \
    line_##name(d + at, s + at, n - at, dd, ds, begun || at > 0);              \
  }
#define DENSE_4(name, T, OP, none) DENSE(name, T, OP, none, BLOCK_8)
#define DENSE_8(name, T, OP, none) DENSE(name, T, OP, none, BLOCK_4)
#endif

/* ---- columns: n rows of `lanes` elements that lie together --------------- */
#define COLS(name, T, OP, none)                                                \
  static void cols_##name(void *to, const void *from, int64_t n, int64_t dd,   \
                          int64_t ds, int64_t lanes, int begun) {              \
    T e[BLOCK][LANES], carry[LANES];                                           \
    for (int64_t l = 0; l < lanes; l += LANES) {                               \
      int64_t w = lanes - l < LANES ? lanes - l : LANES;                       \
      const T *s = (const T *)from + l;                                        \
      T *d = (T *)to + l;                                                      \
      if (w < LANES) memset(e, 0, sizeof e);                                   \
      for (int64_t i = 0; i < w; i++)                                          \
        carry[i] = begun ? d[i - dd] : (T)(none);                              \
      for (int64_t at = 0; at < n; at += BLOCK) {                              \
        int64_t m = n - at < BLOCK ? n - at : BLOCK;                           \
        for (int64_t r = 0; r < m; r++)                                        \
          memcpy(e[r], s + (at + r) * ds, (size_t)w * sizeof(T));              \
        for (int64_t k = 1; k < BLOCK; k *= 2)                                 \
          for (int64_t r = m; r-- > k;)                                        \
            for (int64_t i = 0; i < LANES; i++)                                \
              e[r][i] = (T)(e[r - k][i] OP e[r][i]);                           \
        for (int64_t r = 0; r < m; r++) {                                      \
          T *row = d + (at + r) * dd;                                          \
          for (int64_t i = 0; i < w; i++) row[i] = (T)(carry[i] OP e[r][i]);   \
        }                                                                      \
        for (int64_t i = 0; i < w; i++)                                        \
          carry[i] = (T)(carry[i] OP e[m - 1][i]);                             \
      }                                                                        \
    }                                                                          \
  }

/* ---- all of them -------------------------------------------------------- */
#ifndef __AVX2__
#define DENSE_4(name, T, OP, none)
#define DENSE_8(name, T, OP, none)
#define dense_of(name) line_##name
#else
#define dense_of(name) dense_##name
#endif

#define ALL(name, T, bytes, OP, none)                                          \
  LINE(name, T, OP, none)                                                      \
  DENSE_##bytes(name, T, OP, none) COLS(name, T, OP, none)
#define BOTH(name, T, bytes, kind)                                             \
  ALL(sum_##name, T, bytes, +, NONE_sum_##kind)                                \
  ALL(prod_##name, T, bytes, *, NONE_prod_##kind)

/* X(dtype, type, bytes, kind); scans of narrower ones are recorded wider. */
#define SCAN_DTYPES(X)                                                         \
  X(f32, float, 4, F)                                                          \
  X(f64, double, 8, F) X(i32, int32_t, 4, I) X(i64, int64_t, 8, I)
SCAN_DTYPES(BOTH)

const cpu_scans *cpu_scans_get(int op, int dtype) {
  if (dtype == TSH_u32) dtype = TSH_i32; /* integers wrap: the same bits */
  if (dtype == TSH_u64) dtype = TSH_i64;
  switch (dtype) {
#define CASE(name, T, bytes, kind)                                             \
  case TSH_##name: {                                                           \
    static const cpu_scans sum = {line_sum_##name, dense_of(sum_##name),       \
                                  cols_sum_##name};                            \
    static const cpu_scans prod = {line_prod_##name, dense_of(prod_##name),    \
                                   cols_prod_##name};                          \
    return op == TSH_OP_cumsum ? &sum : &prod;                                 \
  }
    SCAN_DTYPES(CASE)
#undef CASE
  default:
    return NULL;
  }
}
