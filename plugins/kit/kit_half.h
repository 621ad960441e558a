/* kit_half.h - f16 and bf16, as bits and as the f32 that holds the same value:
 * kit_f16_to_f32(bits), kit_f32_to_f16(x) and so on for every dtype,
 * kit_round_f16(x), the f32 nearest to x that is an f16.
 *
 * All round once, to nearest even; what is too large becomes infinite, small
 * values stay denormal, NaN is one value. Integers only, so that every
 * instruction set gives the same bits; nothing branches. */
#ifndef KIT_HALF_H
#define KIT_HALF_H

#include "kit_cast.h"

#include <string.h>

static inline uint32_t kit_half_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static inline float kit_half_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* b where the condition c (0 or 1) holds, else a. */
static inline uint32_t kit_half_pick(uint32_t c, uint32_t b, uint32_t a) {
  return (b & (0 - c)) | (a & (c - 1));
}

/* ---- bf16: the upper half of an f32 ------------------------------------- */
static inline uint32_t kit_bf16_rounded(float x) {
  uint32_t u = kit_half_bits(x);
  uint32_t near = u + 0x7fff + (u >> 16 & 1);
  return kit_half_pick((u & 0x7fffffff) > 0x7f800000, 0x7fc00000, near) &
         0xffff0000;
}

static inline float kit_round_bf16(float x) {
  return kit_half_float(kit_bf16_rounded(x));
}

static inline uint16_t kit_f32_to_bf16(float x) {
  return (uint16_t)(kit_bf16_rounded(x) >> 16);
}

static inline float kit_bf16_to_f32(uint16_t h) {
  return kit_half_float((uint32_t)h << 16);
}

/* ---- f16 ---------------------------------------------------------------- */
/* |x| as an f16: below 2^-14 adding 0.5, whose last bit is worth 2^-24, rounds
 * and leaves the digits in the low bits; else 13 bits are rounded away. From
 * 65520 on it is infinite. */
enum {
  KIT_F16_NORMAL = 0x38800000, /* 2^-14 */
  KIT_F16_OVER = 0x477ff000,   /* 65520 */
  KIT_F32_HALF = 0x3f000000,   /* 0.5 */
  KIT_F32_INF = 0x7f800000
};

static inline uint16_t kit_f32_to_f16(float x) {
  uint32_t u = kit_half_bits(x), a = u & 0x7fffffff;
  uint32_t small = kit_half_bits(kit_half_float(a) + 0.5f) - KIT_F32_HALF;
  uint32_t usual = (a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13;
  uint32_t h = kit_half_pick(a < KIT_F16_NORMAL, small, usual);
  h = kit_half_pick(a >= KIT_F16_OVER, 0x7c00, h);
  h = kit_half_pick(a > KIT_F32_INF, 0x7e00, h);
  return (uint16_t)(h | (u >> 16 & 0x8000));
}

static inline float kit_round_f16(float x) {
  uint32_t u = kit_half_bits(x), a = u & 0x7fffffff;
  uint32_t small = kit_half_bits((kit_half_float(a) + 0.5f) - 0.5f);
  uint32_t usual = (a + 0xfff + (a >> 13 & 1)) & 0xffffe000;
  uint32_t r = kit_half_pick(a < KIT_F16_NORMAL, small, usual);
  r = kit_half_pick(a >= KIT_F16_OVER, KIT_F32_INF, r);
  r = kit_half_pick(a > KIT_F32_INF, 0x7fc00000, r);
  return kit_half_float(r | (u & 0x80000000));
}

static inline float kit_f16_to_f32(uint16_t h) {
  uint32_t a = h & 0x7fff, high = a >= 0x7c00;
  uint32_t small = kit_half_bits(kit_half_float(KIT_F32_HALF | a) - 0.5f);
  uint32_t usual = (a << 13) + kit_half_pick(high, 0x70000000, 0x38000000);
  uint32_t r = kit_half_pick(a < 0x400, small, usual);
  return kit_half_float(r | ((uint32_t)h & 0x8000) << 16);
}

/* ---- from wider types: to odd, then to the half ------------------------- */
/* As f32, cut, with a last odd bit when something was cut off: the next
 * rounding, which keeps at most 22 bits, then gives what rounding x itself
 * would give. */
static inline float kit_f64_to_f32_odd(double x) {
  float near = (float)x;
  double back = near;
  uint32_t u = kit_half_bits(near);
  uint32_t lost = (uint32_t)(back != x) & (uint32_t)(x == x);
  uint32_t beyond = (uint32_t)((back > x) == (x > 0)) & lost;
  return kit_half_float((u - beyond) | lost);
}

/* An integer is first a double in the same way: of more than 53 bits the last
 * 12 become one. */
static inline double kit_i64_to_f64_odd(int64_t v) {
  int64_t top = v >> 53, wide = (int64_t)(top != 0) & (int64_t)(top != -1);
  int64_t low = v & 4095, cut = (v & ~(int64_t)4095) | (int64_t)(low != 0)
                                                           << 12;
  return (double)(v ^ ((v ^ cut) & -wide));
}

static inline double kit_u64_to_f64_odd(uint64_t v) {
  uint64_t cut = (v & ~(uint64_t)4095) | (uint64_t)((v & 4095) != 0) << 12;
  return (double)(v ^ ((v ^ cut) & (0 - (uint64_t)(v >> 53 != 0))));
}

/* kit_odd_i64(x) and so on: an f32 that rounds to a half as x does.
 * X(dtype, C type, how); bool is not handed on as a word, as stdbool.h would
 * turn it into another. */
#define KIT_ODD_SOURCES(X)                                                     \
  X(bool, uint8_t, (float)x)                                                   \
  X(i8, int8_t, (float)x)                                                      \
  X(u8, uint8_t, (float)x)                                                     \
  X(i16, int16_t, (float)x)                                                    \
  X(u16, uint16_t, (float)x)                                                   \
  X(i32, int32_t, kit_f64_to_f32_odd((double)x))                               \
  X(u32, uint32_t, kit_f64_to_f32_odd((double)x))                              \
  X(i64, int64_t, kit_f64_to_f32_odd(kit_i64_to_f64_odd(x)))                   \
  X(u64, uint64_t, kit_f64_to_f32_odd(kit_u64_to_f64_odd(x)))                  \
  X(f32, float, x)                                                             \
  X(f64, double, kit_f64_to_f32_odd(x))

#define KIT_X(s, S, how)                                                       \
  static inline float kit_odd_##s(S x) { return how; }
KIT_ODD_SOURCES(KIT_X)
#undef KIT_X

/* ---- all pairs ---------------------------------------------------------- */
#define KIT_X(s, S)                                                            \
  static inline uint16_t kit_##s##_to_f16(S x) {                               \
    return kit_f32_to_f16(kit_odd_##s(x));                                     \
  }                                                                            \
  static inline uint16_t kit_##s##_to_bf16(S x) {                              \
    return kit_f32_to_bf16(kit_odd_##s(x));                                    \
  }                                                                            \
  static inline S kit_f16_to_##s(uint16_t h) {                                 \
    return kit_f32_to_##s(kit_f16_to_f32(h));                                  \
  }                                                                            \
  static inline S kit_bf16_to_##s(uint16_t h) {                                \
    return kit_f32_to_##s(kit_bf16_to_f32(h));                                 \
  }
KIT_X(bool, uint8_t)
KIT_X(i8, int8_t)
KIT_X(i16, int16_t)
KIT_X(i32, int32_t)
KIT_X(i64, int64_t)
KIT_X(u8, uint8_t)
KIT_X(u16, uint16_t)
KIT_X(u32, uint32_t)
KIT_X(u64, uint64_t)
KIT_X(f64, double)
#undef KIT_X

static inline uint16_t kit_f16_to_bf16(uint16_t h) {
  return kit_f32_to_bf16(kit_f16_to_f32(h));
}

static inline uint16_t kit_bf16_to_f16(uint16_t h) {
  return kit_f32_to_f16(kit_bf16_to_f32(h));
}

static inline uint16_t kit_f16_to_f16(uint16_t h) { return h; }
static inline uint16_t kit_bf16_to_bf16(uint16_t h) { return h; }

#endif
