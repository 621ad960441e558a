/* Conversions, modulo and integer power against what tsh_plugin.h says. */
#include <criterion/criterion.h>

#include "kit_math.h"

#include <limits.h>

Test(cast, floats_saturate_and_nan_is_0) {
  static const struct {
    double x;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint32_t u32;
    uint64_t u64;
  } t[] = {
      {0.0, 0, 0, 0, 0, 0},
      {-0.0, 0, 0, 0, 0, 0},
      {1.9, 1, 1, 1, 1, 1},
      {-1.9, -1, -1, 0, 0, 0},
      {255.5, 255, 255, 255, 255, 255},
      {256, 256, 256, 255, 256, 256},
      {-3e9, INT32_MIN, -3000000000, 0, 0, 0},
      {0x1p31, INT32_MAX, 0x80000000, 255, 0x80000000, 0x80000000},
      {-0x1p31, INT32_MIN, -2147483648, 0, 0, 0},
      {0x1p32, INT32_MAX, 0x100000000, 255, UINT32_MAX, 0x100000000},
      {0x1p63, INT32_MAX, INT64_MAX, 255, UINT32_MAX, 0x8000000000000000u},
      {-0x1p63, INT32_MIN, INT64_MIN, 0, 0, 0},
      {0x1p64, INT32_MAX, INT64_MAX, 255, UINT32_MAX, UINT64_MAX},
      {INFINITY, INT32_MAX, INT64_MAX, 255, UINT32_MAX, UINT64_MAX},
      {-INFINITY, INT32_MIN, INT64_MIN, 0, 0, 0},
      {NAN, 0, 0, 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    float f = (float)t[i].x;
    cr_expect_eq(kit_f64_to_i32(t[i].x), t[i].i32, "%g", t[i].x);
    cr_expect_eq(kit_f32_to_i32(f), t[i].i32, "%g", t[i].x);
    cr_expect_eq(kit_f64_to_i64(t[i].x), t[i].i64, "%g", t[i].x);
    cr_expect_eq(kit_f32_to_i64(f), t[i].i64, "%g", t[i].x);
    cr_expect_eq(kit_f64_to_u8(t[i].x), t[i].u8, "%g", t[i].x);
    cr_expect_eq(kit_f32_to_u8(f), t[i].u8, "%g", t[i].x);
    cr_expect_eq(kit_f64_to_u32(t[i].x), t[i].u32, "%g", t[i].x);
    cr_expect_eq(kit_f32_to_u32(f), t[i].u32, "%g", t[i].x);
    cr_expect_eq(kit_f64_to_u64(t[i].x), t[i].u64, "%g", t[i].x);
    cr_expect_eq(kit_f32_to_u64(f), t[i].u64, "%g", t[i].x);
  }
}

Test(cast, the_last_number_below_the_top_is_kept) {
  cr_expect_eq(kit_f32_to_i32(0x1.fffffep30f), 2147483520);
  cr_expect_eq(kit_f32_to_u32(0x1.fffffep31f), 4294967040u);
  cr_expect_eq(kit_f64_to_i32(2147483647.5), INT32_MAX);
  cr_expect_eq(kit_f64_to_i32(2147483646.5), 2147483646);
  cr_expect_eq(kit_f64_to_i32(-2147483648.5), INT32_MIN);
  cr_expect_eq(kit_f64_to_u32(4294967295.0), UINT32_MAX);
  cr_expect_eq(kit_f64_to_u32(4294967294.9), 4294967294u);
  cr_expect_eq(kit_f64_to_i64(0x1.fffffffffffffp62), 9223372036854774784);
  cr_expect_eq(kit_f32_to_i64(0x1.fffffep62f), 9223371487098961920);
  cr_expect_eq(kit_f64_to_u64(0x1.fffffffffffffp63), 18446744073709549568u);
  cr_expect_eq(kit_f32_to_i8(127.9f), 127);
  cr_expect_eq(kit_f32_to_i8(-128.9f), -128);
  cr_expect_eq(kit_f32_to_i16(1e6f), 32767);
  cr_expect_eq(kit_f32_to_u16(65535.9f), 65535);
}

Test(cast, integers_round_once_to_nearest_even) {
  cr_expect_eq(kit_i32_to_f32(16777217), 16777216);
  cr_expect_eq(kit_i32_to_f32(16777219), 16777220);
  /* By way of f64 this would round up to 2^63 - 2^39 + 2^39. */
  cr_expect_eq(kit_i64_to_f32(0x7fffffbfffffffff), 0x1.fffffep62f);
  cr_expect_eq(kit_i64_to_f32(INT64_MAX), 0x1p63f);
  cr_expect_eq(kit_i64_to_f64(9007199254740993), 9007199254740992.0);
  cr_expect_eq(kit_u64_to_f32(UINT64_MAX), 0x1p64f);
  cr_expect_eq(kit_f64_to_f32(0x1.0000010000001p0), 0x1.000002p0f);
}

Test(cast, bool_is_not_zero) {
  cr_expect_eq(kit_f32_to_bool(NAN), 1);
  cr_expect_eq(kit_f32_to_bool(-0.0f), 0);
  cr_expect_eq(kit_f64_to_bool(0x1p-1074), 1);
  cr_expect_eq(kit_i32_to_bool(256), 1);
  cr_expect_eq(kit_i64_to_bool(INT64_C(1) << 40), 1);
  cr_expect_eq(kit_bool_to_f32(1), 1);
  cr_expect_eq(kit_bool_to_i64(1), 1);
  cr_expect_eq(kit_i64_to_i32(0x1ffffffff), -1);
  cr_expect_eq(kit_i32_to_u8(-1), 255);
}

Test(mod, has_the_sign_of_the_divisor) {
  static const struct {
    double a, b, m;
  } t[] = {{7, 3, 1},
           {-7, 3, 2},
           {7, -3, -2},
           {-7, -3, -1},
           {6, 3, 0.0},
           {-6, 3, 0.0},
           {6, -3, -0.0},
           {-6, -3, -0.0},
           {0.0, -2, -0.0},
           {5.5, 2, 1.5},
           {-0.5, 2, 1.5},
           {1, INFINITY, 1},
           {-1, INFINITY, INFINITY},
           {1, -INFINITY, -INFINITY},
           {1, 0, NAN},
           {INFINITY, 2, NAN},
           {NAN, 2, NAN}};
  for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
    double m = tsh_mod(t[i].a, t[i].b);
    float f = tsh_mod((float)t[i].a, (float)t[i].b);
    cr_expect(t[i].m != t[i].m ? m != m
                               : m == t[i].m && !signbit(m) == !signbit(t[i].m),
              "%g mod %g is %g", t[i].a, t[i].b, m);
    cr_expect(t[i].m != t[i].m
                  ? f != f
                  : f == (float)t[i].m && !signbit(f) == !signbit(t[i].m),
              "%g mod %g is %g", t[i].a, t[i].b, (double)f);
  }
}

Test(ipow, wraps_and_knows_negative_exponents) {
  int32_t three = 3, minus = -1, one = 1, zero = 0;
  int64_t big = 3;
  uint8_t byte = 3, huge = 255;
  cr_expect_eq((int32_t)tsh_ipow(three, 4), 81);
  cr_expect_eq((int32_t)tsh_ipow(three, 21), 1870418611); /* 3^21 mod 2^32 */
  cr_expect_eq(tsh_ipow(big, 39), 4052555153018976267);
  cr_expect_eq((int32_t)tsh_ipow(three, zero), 1);
  cr_expect_eq((int32_t)tsh_ipow(zero, zero), 1);
  cr_expect_eq((int32_t)tsh_ipow(one, -5), 1);
  cr_expect_eq((int32_t)tsh_ipow(minus, -5), -1);
  cr_expect_eq((int32_t)tsh_ipow(minus, -4), 1);
  cr_expect_eq((int32_t)tsh_ipow(three, -1), 0);
  cr_expect_eq((int32_t)tsh_ipow(zero, -1), 0);
  cr_expect_eq((uint8_t)tsh_ipow(byte, huge), 171); /* 3^255 mod 256 */
}

Test(sigmoid, f64_is_stable_for_both_signs) {
  cr_expect_eq(tsh_sigmoid(0.0), 0.5);
  cr_expect_eq(tsh_sigmoid(800.0), 1);
  cr_expect_float_eq(tsh_sigmoid(-700.0), 9.859676543759771e-305, 1e-318);
  cr_expect_eq(tsh_sigmoid(-INFINITY), 0);
  cr_expect(tsh_sigmoid(NAN) != tsh_sigmoid(NAN));
}
