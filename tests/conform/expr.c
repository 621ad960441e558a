/* expr.c - the meaning of every MAP op and FOLD step: the expressions of the
 * op table compiled for each dtype. What the table calls tsh_... is supplied
 * here from libm of the next wider type, rounded once. */
#include <math.h>
#include <string.h>
#include <tgmath.h>

#include "cf.h"

/* ---- the functions the table names -------------------------------------- */
static double sigmoid64(double x) { return 1 / (1 + exp(-x)); }
static long double sigmoid80(long double x) { return 1 / (1 + expl(-x)); }

#define CF_WIDER(name, f64, f80)                                               \
  static float name##_32(float x) { return (float)(f64)((double)x); }          \
  static double name##_64(double x) { return (double)(f80)((long double)x); }
CF_WIDER(exp, (exp), expl)
CF_WIDER(expm1, (expm1), expm1l)
CF_WIDER(log, (log), logl)
CF_WIDER(log1p, (log1p), log1pl)
CF_WIDER(sin, (sin), sinl)
CF_WIDER(cos, (cos), cosl)
CF_WIDER(tanh, (tanh), tanhl)
CF_WIDER(sigmoid, sigmoid64, sigmoid80)
CF_WIDER(erf, (erf), erfl)
#undef CF_WIDER

static float pow_32(float x, float y) {
  return (float)(pow)((double)x, (double)y);
}
static double pow_64(double x, double y) { return (double)powl(x, y); }

/* The sign of y, also for a zero. */
static float mod_32(float x, float y) {
  float r = fmodf(x, y);
  if (r == 0) return copysignf(0, y);
  return (r < 0) != (y < 0) ? r + y : r;
}
static double mod_64(double x, double y) {
  double r = (fmod)(x, y);
  if (r == 0) return (copysign)(0, y);
  return (r < 0) != (y < 0) ? r + y : r;
}

#define CF_BOTH(name, x) _Generic((x), float : name##_32, double : name##_64)
#define tsh_exp(a)       CF_BOTH(exp, a)(a)
#define tsh_expm1(a)     CF_BOTH(expm1, a)(a)
#define tsh_log(a)       CF_BOTH(log, a)(a)
#define tsh_log1p(a)     CF_BOTH(log1p, a)(a)
#define tsh_sin(a)       CF_BOTH(sin, a)(a)
#define tsh_cos(a)       CF_BOTH(cos, a)(a)
#define tsh_tanh(a)      CF_BOTH(tanh, a)(a)
#define tsh_sigmoid(a)   CF_BOTH(sigmoid, a)(a)
#define tsh_erf(a)       CF_BOTH(erf, a)(a)
#define tsh_pow(a, b)    CF_BOTH(pow, a)(a, b)
#define tsh_mod(a, b)    CF_BOTH(mod, a)(a, b)

/* ---- integers ----------------------------------------------------------- */
/* By squaring, wrapping at 64 bits and cut by the caller. A negative exponent
 * leaves only 1 and -1 whole. */
static uint64_t ipow(uint64_t x, int64_t y, int is_signed) {
  uint64_t r = 1, n = (uint64_t)y;
  if (is_signed && y < 0) {
    if (x == 1) return 1;
    return x == UINT64_MAX ? (y & 1 ? x : 1) : 0;
  }
  for (; n; n >>= 1, x *= x)
    if (n & 1) r *= x;
  return r;
}

/* 1-based to 0-based; anything else is bad and gives 0. */
static uint64_t position(int64_t y, int64_t n, int is_signed, int *bad) {
  uint64_t u = (uint64_t)y;
  if (!is_signed) {
    if (u >= 1 && u <= (uint64_t)n) return u - 1;
  } else if (n > 0) {
    if (y >= 1 && y <= n) return u - 1;
    if (y <= -1 && y >= -n) return u + (uint64_t)n;
  }
  *bad = 1;
  return 0;
}

/* Philox4x32-10. */
void cf_philox(const uint32_t counter[4], const uint32_t key[2],
               uint32_t out[4]) {
  uint32_t k0 = key[0], k1 = key[1];
  memcpy(out, counter, 4 * sizeof *out);
  for (int i = 0; i < 10; i++) {
    uint64_t p0 = (uint64_t)0xD2511F53 * out[0];
    uint64_t p1 = (uint64_t)0xCD9E8D57 * out[2];
    uint32_t c1 = out[1], c3 = out[3];
    out[0] = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    out[1] = (uint32_t)p1;
    out[2] = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    out[3] = (uint32_t)p0;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
}

int64_t cf_random(int64_t j, int64_t key, int64_t base) {
  uint64_t n = (uint64_t)base + (uint64_t)(j >> 2);
  uint32_t counter[4] = {(uint32_t)n, (uint32_t)(n >> 32), 0, 0};
  uint32_t k[2] = {(uint32_t)key, (uint32_t)((uint64_t)key >> 32)};
  uint32_t word[4];
  cf_philox(counter, k, word);
  return word[j & 3];
}

/* T is signed where its -1 is below 0. */
#define CF_SIGNED           ((T)-1 < (T)1)
#define tsh_ipow(a, b)      ipow((uint64_t)(a), (int64_t)(b), CF_SIGNED)
#define tsh_index(a, b)     position((int64_t)(a), (int64_t)(b), CF_SIGNED, bad)
#define tsh_random(a, b, c) cf_random((int64_t)(a), (int64_t)(b), (int64_t)(c))

/* The table's integer column meets unsigned types. */
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wsign-compare"

#define CF_PICK(fexpr, iexpr) iexpr
#define T                     uint8_t
#define CF_WORD               uint8_t
#define CF_FN(name)           name##_u8
#include "expr_type.h"
#define T           uint16_t
#define CF_WORD     uint16_t
#define CF_FN(name) name##_u16
#include "expr_type.h"
#define T           uint32_t
#define CF_WORD     uint32_t
#define CF_FN(name) name##_u32
#include "expr_type.h"
#define T           uint64_t
#define CF_WORD     uint64_t
#define CF_FN(name) name##_u64
#include "expr_type.h"
#define T           int8_t
#define CF_WORD     uint8_t
#define CF_FN(name) name##_i8
#include "expr_type.h"
#define T           int16_t
#define CF_WORD     uint16_t
#define CF_FN(name) name##_i16
#include "expr_type.h"
#define T           int32_t
#define CF_WORD     uint32_t
#define CF_FN(name) name##_i32
#include "expr_type.h"
#define T           int64_t
#define CF_WORD     uint64_t
#define CF_FN(name) name##_i64
#include "expr_type.h"
#undef CF_PICK

#define CF_PICK(fexpr, iexpr) fexpr
#define T                     float
#define CF_WORD               uint32_t
#define CF_FN(name)           name##_f32
#include "expr_type.h"
#define T           double
#define CF_WORD     uint64_t
#define CF_FN(name) name##_f64
#include "expr_type.h"
#undef CF_PICK

/* ---- halves: the expression in f32, rounded once ------------------------- */
/* For what is exact but for one rounding, f32 is enough not to round twice to
 * something else; these are computed in double, whose own rounding is far below
 * both, to see just that. */
static int rounds_once(int op) {
  switch (op) {
  case TSH_OP_add:
  case TSH_OP_sub:
  case TSH_OP_mul:
  case TSH_OP_div:
  case TSH_OP_sqrt:
  case TSH_OP_square:
  case TSH_OP_reciprocal:
    return 1;
  default:
    return 0;
  }
}

static uint64_t half_map(int op, int dtype, uint64_t a, uint64_t b,
                         uint64_t c) {
  int wide = rounds_once(op) ? TSH_f64 : TSH_f32;
  uint64_t x = cf_from_double(wide, cf_to_double(dtype, a));
  uint64_t y = cf_from_double(wide, cf_to_double(dtype, b));
  uint64_t z = cf_from_double(wide, cf_to_double(dtype, c));
  uint64_t r;
  int bad;
  if (op == TSH_OP_where) return a & 1 ? b : c;
  r = wide == TSH_f64 ? map_f64(op, x, y, z, &bad) : map_f32(op, x, y, z, &bad);
  if (cf_row_get(op)->gives == CF_BOOL) return r;
  return cf_from_double(dtype, cf_to_double(wide, r));
}

static uint64_t half_step(int op, int dtype, uint64_t acc, uint64_t x) {
  uint64_t a = cf_from_double(TSH_f64, cf_to_double(dtype, acc));
  uint64_t b = cf_from_double(TSH_f64, cf_to_double(dtype, x));
  return cf_from_double(dtype, cf_to_double(TSH_f64, step_f64(op, a, b, 0)));
}

/* ---- the two questions -------------------------------------------------- */
#define CF_INTS(X) X(i8) X(i16) X(i32) X(i64) X(u8) X(u16) X(u32) X(u64)

uint64_t cf_map(int op, int dtype, uint64_t a, uint64_t b, uint64_t c,
                int *bad) {
  switch (dtype) {
#define CF_X(name)                                                             \
  case TSH_##name:                                                             \
    return map_##name(op, a, b, c, bad);
    CF_INTS(CF_X)
    CF_X(f32)
    CF_X(f64)
#undef CF_X
  case TSH_bool:
    return map_u8(op, a, b, c, bad) & 1;
  case TSH_c64:
    return a; /* only copied */
  default:
    return half_map(op, dtype, a, b, c);
  }
}

uint64_t cf_step(int op, int dtype, uint64_t acc, uint64_t x, uint64_t y) {
  switch (dtype) {
#define CF_X(name)                                                             \
  case TSH_##name:                                                             \
    return step_##name(op, acc, x, y);
    CF_INTS(CF_X)
    CF_X(f32)
    CF_X(f64)
#undef CF_X
  case TSH_bool:
    return step_u8(op, acc, x, y) & 1;
  default:
    return half_step(op, dtype, acc, x);
  }
}
