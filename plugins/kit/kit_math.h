/* kit_math.h - the arithmetic of the op table as inline C: f32 functions from
 * the lists of kit_seq.h, the names that the table's expressions use, Philox.
 *
 * Compile with -ffp-contract=off (results), -fwrapv (the table's integers) and,
 * for loops, -O3 -fno-math-errno -fno-trapping-math: the last changes no value,
 * but without it gcc leaves floor, trunc and other calls scalar. An x86-64
 * without fma calls libm's fmaf: the same bits, some 20 ns a function.
 *
 * sin and cos have a second path: above KIT_TRIG_MAX the argument is reduced
 * by kit_sin_f32_big and kit_cos_f32_big, plain C in kit_math.c. A branch to a
 * call keeps a loop scalar (3 ns a value, not 0.4). So a loop over a block
 * should ask kit_trig_big once, and use the _near functions, which are the
 * lists, when it says 0. All other functions vectorise as they are. */
#ifndef KIT_MATH_H
#define KIT_MATH_H

#include "kit_half.h"
#include "kit_seq.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- steps as C --------------------------------------------------------- */
static inline uint32_t kit_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static inline float kit_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static inline float kit_pick(int a, float b, float c) {
  uint32_t mask = -(uint32_t)a;
  return kit_float((kit_bits(b) & mask) | (kit_bits(c) & ~mask));
}

#define KIT_X(op, type, args, expr)                                            \
  static inline type kit_do_##op args { return expr; }
KIT_STEP_OPS(KIT_X)
#undef KIT_X

#define KIT_X(op, type, args, expr) typedef type kit_type_##op;
KIT_STEP_OPS(KIT_X)
#undef KIT_X

#define KIT_S(op, name, ...)                                                   \
  const kit_type_##op name = kit_do_##op(__VA_ARGS__);
#define KIT_K(name, value) const float name = value;
#define KIT_W(name, bits)  const uint32_t name = bits;

/* ---- f32 functions ------------------------------------------------------ */
/* X(function, largest error found, limit): ulp against a double libm, over each
 * 61st bit pattern, pow over 10^8 pairs. The tests hold them to the limit. The
 * f64 functions are libm's and as good as it is. */
/* clang-format off */
#define KIT_ULP_LIMITS(X) \
  X(exp,     1.01, 1.5) \
  X(expm1,   1.41, 2.0) \
  X(log,     0.83, 1.5) \
  X(log1p,   1.57, 2.0) \
  X(sin,     1.49, 2.0) \
  X(cos,     1.48, 2.0) \
  X(tanh,    1.32, 2.0) \
  X(sigmoid, 1.48, 2.0) \
  X(erf,     1.05, 4.0)
#define KIT_ULP_LIMIT_POW(X) \
  X(pow,     2.32, 4.0)
/* clang-format on */

#define KIT_X(func, list)                                                      \
  static inline float kit_##func##_f32(float x) {                              \
    KIT_SEQ_##list(KIT_S, KIT_K, KIT_W) return z;                              \
  }
KIT_X(exp, exp)
KIT_X(expm1, expm1)
KIT_X(log, log)
KIT_X(log1p, log1p)
KIT_X(tanh, tanh)
KIT_X(sigmoid, sigmoid)
KIT_X(erf, erf)
KIT_X(sin_near, sin)
KIT_X(cos_near, cos)
#undef KIT_X

static inline float kit_pow_f32(float x, float y) {
  KIT_SEQ_pow(KIT_S, KIT_K, KIT_W) return z;
}

#define KIT_TRIG_MAX 0x1p+17f
float kit_sin_f32_big(float x); /* any x; inf and nan give nan */
float kit_cos_f32_big(float x);

static inline float kit_sin_f32(float x) {
  return fabsf(x) > KIT_TRIG_MAX ? kit_sin_f32_big(x) : kit_sin_near_f32(x);
}

static inline float kit_cos_f32(float x) {
  return fabsf(x) > KIT_TRIG_MAX ? kit_cos_f32_big(x) : kit_cos_near_f32(x);
}

/* 1 when one of the n values needs the second path of sin and cos. */
static inline int kit_trig_big(const float *x, size_t n) {
  int big = 0;
  for (size_t i = 0; i < n; i++) big |= fabsf(x[i]) > KIT_TRIG_MAX;
  return big;
}

/* ---- f64 ---------------------------------------------------------------- */
/* e^-|x| cannot overflow; for x < 0 the quotient stays exact near 0. */
static inline double kit_sigmoid_f64(double x) {
  double e = exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

/* ---- float modulo: the sign of b, also of a zero ------------------------ */
static inline float kit_mod_f32(float a, float b) {
  float m = fmodf(a, b);
  float wrapped = (m < 0) != (b < 0) ? m + b : m;
  return m != 0 ? wrapped : copysignf(0, b);
}

static inline double kit_mod_f64(double a, double b) {
  double m = fmod(a, b);
  double wrapped = (m < 0) != (b < 0) ? m + b : m;
  return m != 0 ? wrapped : copysign(0, b);
}

/* ---- integer power: square and multiply, wraps -------------------------- */
static inline uint64_t kit_ipow_u64(uint64_t a, uint64_t b) {
  uint64_t r = 1;
  for (; b; b >>= 1, a *= a)
    if (b & 1) r *= a;
  return r;
}

/* A negative exponent: 1 / a^|b| cut towards 0, and 0 for a = 0. */
static inline int64_t kit_ipow_i64(int64_t a, int64_t b) {
  if (b >= 0) return (int64_t)kit_ipow_u64((uint64_t)a, (uint64_t)b);
  return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
}

/* ---- Philox4x32-10 ------------------------------------------------------ */
/* The ten rounds over a counter and a key of 64 bits, in place. */
static inline void kit_philox_block(uint32_t ctr[4], uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)ctr[0] * 0xD2511F53u;
    uint64_t p1 = (uint64_t)ctr[2] * 0xCD9E8D57u;
    ctr[0] = (uint32_t)(p1 >> 32) ^ ctr[1] ^ k0;
    ctr[2] = (uint32_t)(p0 >> 32) ^ ctr[3] ^ k1;
    ctr[1] = (uint32_t)p1;
    ctr[3] = (uint32_t)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

/* Word j of the stream: word (j & 3) of the block with counter base + (j >> 2),
 * 64 bits, low word first, the upper two words 0. j has a sign and >> keeps it:
 * word -1 is the last of the block before base. */
static inline uint32_t kit_philox(int64_t j, uint64_t key, uint64_t base) {
  uint64_t at = base + (uint64_t)(j >> 2);
  uint32_t ctr[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, 0};
  kit_philox_block(ctr, (uint32_t)key, (uint32_t)(key >> 32));
  uint32_t low = j & 1 ? ctr[1] : ctr[0];
  uint32_t high = j & 1 ? ctr[3] : ctr[2];
  return j & 2 ? high : low;
}

static inline int64_t kit_random(int64_t j, int64_t key, int64_t base) {
  return kit_philox(j, (uint64_t)key, (uint64_t)base);
}

/* The sign bit, as a loop likes it. */
static inline int kit_signbit_f32(float x) { return (int)(kit_bits(x) >> 31); }

static inline int kit_signbit_f64(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return (int)(u >> 63);
}

/* ---- names of the table's expressions ----------------------------------- */
/* By the type of the first operand. tsh_index is the includer's own: it needs
 * a place for the error. */
#define KIT_PICK(a, f32, f64) _Generic((a), float : f32, double : f64)

#define tsh_exp(a)     KIT_PICK(a, kit_exp_f32, exp)(a)
#define tsh_expm1(a)   KIT_PICK(a, kit_expm1_f32, expm1)(a)
#define tsh_log(a)     KIT_PICK(a, kit_log_f32, log)(a)
#define tsh_log1p(a)   KIT_PICK(a, kit_log1p_f32, log1p)(a)
#define tsh_sin(a)     KIT_PICK(a, kit_sin_f32, sin)(a)
#define tsh_cos(a)     KIT_PICK(a, kit_cos_f32, cos)(a)
#define tsh_tanh(a)    KIT_PICK(a, kit_tanh_f32, tanh)(a)
#define tsh_sigmoid(a) KIT_PICK(a, kit_sigmoid_f32, kit_sigmoid_f64)(a)
#define tsh_erf(a)     KIT_PICK(a, kit_erf_f32, erf)(a)
#define tsh_pow(a, b)  KIT_PICK(a, kit_pow_f32, pow)(a, b)
#define tsh_mod(a, b)  KIT_PICK(a, kit_mod_f32, kit_mod_f64)(a, b)
/* clang-format off */
#define tsh_ipow(a, b)                                                         \
  _Generic((a), uint8_t: kit_ipow_u64, uint16_t: kit_ipow_u64,                 \
           uint32_t: kit_ipow_u64, uint64_t: kit_ipow_u64,                     \
           default: kit_ipow_i64)(a, b)
/* clang-format on */
#define tsh_random(j, key, base) kit_random(j, key, base)

/* math.h for both float types, by name; a cast in `fabs(a) == (T)INFINITY` and
 * the like then never widens. */
#undef signbit
#define fabs(a)        KIT_PICK(a, fabsf, fabs)(a)
#define floor(a)       KIT_PICK(a, floorf, floor)(a)
#define ceil(a)        KIT_PICK(a, ceilf, ceil)(a)
#define trunc(a)       KIT_PICK(a, truncf, trunc)(a)
#define rint(a)        KIT_PICK(a, rintf, rint)(a)
#define sqrt(a)        KIT_PICK(a, sqrtf, sqrt)(a)
#define fmod(a, b)     KIT_PICK(a, fmodf, fmod)(a, b)
#define copysign(a, b) KIT_PICK(a, copysignf, copysign)(a, b)
#define fma(a, b, c)   KIT_PICK(a, fmaf, fma)(a, b, c)
#define signbit(a)     KIT_PICK(a, kit_signbit_f32, kit_signbit_f64)(a)

#endif
