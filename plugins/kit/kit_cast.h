/* kit_cast.h - conversions between dtypes: kit_f32_to_i32(x) and so on for all
 * pairs of bool, the integers, f32 and f64. kit_half.h has f16 and bf16.
 *
 * Float to integer cuts towards 0 and saturates, nan gives 0. Integer to float
 * rounds once, to nearest even. Integer to integer keeps the low bits. Anything
 * to bool is x != 0, so nan is true. Nothing branches. */
#ifndef KIT_CAST_H
#define KIT_CAST_H

#include <stdint.h>

/* X(source, its C type F, dtype, C type, lowest, largest, below, top) for each
 * integer: top is largest + 1, a power of two; below is the largest F that
 * converts, top minus the gap g, which is 1 where F has all the bits. */
/* clang-format off */
#define KIT_CAST_INTS(X, s, F, g31, g32, g63, g64) \
  X(s, F, i8,  int8_t,   -128,       127,        127,          0x1p7) \
  X(s, F, i16, int16_t,  -32768,     32767,      32767,        0x1p15) \
  X(s, F, i32, int32_t,  INT32_MIN,  INT32_MAX,  0x1p31 - g31, 0x1p31) \
  X(s, F, i64, int64_t,  INT64_MIN,  INT64_MAX,  0x1p63 - g63, 0x1p63) \
  X(s, F, u8,  uint8_t,  0,          255,        255,          0x1p8) \
  X(s, F, u16, uint16_t, 0,          65535,      65535,        0x1p16) \
  X(s, F, u32, uint32_t, 0,          UINT32_MAX, 0x1p32 - g32, 0x1p32) \
  X(s, F, u64, uint64_t, 0,          UINT64_MAX, 0x1p64 - g64, 0x1p64)
/* clang-format on */

/* The value is first cut to what converts without trap or undefined result;
 * masks instead of conditionals keep loops free of branches. */
#define KIT_X(s, F, d, type, lowest, largest, below, top)                      \
  static inline type kit_##s##_to_##d(F x) {                                   \
    F up = x > (F)(lowest) ? x : (F)(lowest);                                  \
    type in = (type)(up < (F)(below) ? up : (F)(below));                       \
    type over = (type) - (type)(x >= (F)(top)),                                \
         number = (type) - (type)(x == x);                                     \
    return (type)(((in & ~over) | ((largest)&over)) & number);                 \
  }
KIT_CAST_INTS(KIT_X, f32, float, 0x1p7, 0x1p8, 0x1p39, 0x1p40)
KIT_CAST_INTS(KIT_X, f64, double, 1, 1, 0x1p10, 0x1p11)
#undef KIT_X

/* What C does is right for all other pairs. */
#define KIT_CASTS(X, s, S)                                                     \
  X(s, S, i8, int8_t)                                                          \
  X(s, S, i16, int16_t)                                                        \
  X(s, S, i32, int32_t)                                                        \
  X(s, S, i64, int64_t)                                                        \
  X(s, S, u8, uint8_t)                                                         \
  X(s, S, u16, uint16_t)                                                       \
  X(s, S, u32, uint32_t)                                                       \
  X(s, S, u64, uint64_t)                                                       \
  KIT_CASTS_FLOAT(X, s, S)
#define KIT_CASTS_FLOAT(X, s, S)                                               \
  X(s, S, f32, float)                                                          \
  X(s, S, f64, double)
#define KIT_CASTS_BOOL(X)                                                      \
  X(bool, uint8_t)                                                             \
  X(i8, int8_t)                                                                \
  X(i16, int16_t)                                                              \
  X(i32, int32_t)                                                              \
  X(i64, int64_t)                                                              \
  X(u8, uint8_t)                                                               \
  X(u16, uint16_t)                                                             \
  X(u32, uint32_t)                                                             \
  X(u64, uint64_t)                                                             \
  X(f32, float)                                                                \
  X(f64, double)

/* bool is not handed on as a word: stdbool.h would turn it into another. */
#define KIT_X(s, S, d, D)                                                      \
  static inline D kit_bool_to_##d(S x) { return (D)x; }
KIT_CASTS(KIT_X, , uint8_t)
#undef KIT_X

#define KIT_X(s, S, d, D)                                                      \
  static inline D kit_##s##_to_##d(S x) { return (D)x; }
KIT_CASTS(KIT_X, i8, int8_t)
KIT_CASTS(KIT_X, i16, int16_t)
KIT_CASTS(KIT_X, i32, int32_t)
KIT_CASTS(KIT_X, i64, int64_t)
KIT_CASTS(KIT_X, u8, uint8_t)
KIT_CASTS(KIT_X, u16, uint16_t)
KIT_CASTS(KIT_X, u32, uint32_t)
KIT_CASTS(KIT_X, u64, uint64_t)
KIT_CASTS_FLOAT(KIT_X, f32, float)
KIT_CASTS_FLOAT(KIT_X, f64, double)
#undef KIT_X

#define KIT_X(s, S)                                                            \
  static inline uint8_t kit_##s##_to_bool(S x) { return x != 0; }
KIT_CASTS_BOOL(KIT_X)
#undef KIT_X

#endif
