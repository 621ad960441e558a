/* test_cells.c - elements as other dtypes, for devices that lack their own. */
#include <math.h>
#include <string.h>
#include <criterion/criterion.h>
#include "format.h"

Test(cells, half_floats_become_floats) {
  static const struct {
    uint16_t bits;
    float want; /* by IEEE 754: 5 bits of exponent, 10 of fraction */
  } half[] = {{0x0000, 0},         {0x8000, -0.0f},         {0x3c00, 1},
              {0xc000, -2},        {0x7bff, 65504},         {0x0400, 0x1p-14f},
              {0x0001, 0x1p-24f},  {0x83ff, -0x1.ff8p-15f}, {0x7c00, INFINITY},
              {0xfc00, -INFINITY}, {0x3555, 0x1.554p-2f}};
  static const struct {
    uint16_t bits;
    float want;
  } brain[] = {
      {0x3f80, 1}, {0xbf80, -1}, {0x0001, 0x1p-133f}, {0x7f80, INFINITY}};
  float f;
  double d;
  for (size_t i = 0; i < sizeof half / sizeof *half; i++) {
    cr_assert_eq(file_convert(&half[i].bits, TSH_f16, &f, TSH_f32, 1), 0);
    cr_assert_eq(file_convert(&half[i].bits, TSH_f16, &d, TSH_f64, 1), 0);
    cr_expect_eq(memcmp(&f, &half[i].want, 4), 0, "%x", half[i].bits);
    cr_expect(d == (double)half[i].want);
  }
  for (size_t i = 0; i < sizeof brain / sizeof *brain; i++) {
    file_convert(&brain[i].bits, TSH_bf16, &f, TSH_f32, 1);
    cr_expect_eq(f, brain[i].want);
  }
  file_convert("\x01\x7e", TSH_f16, &f, TSH_f32, 1);
  cr_expect(isnan(f));
}

Test(cells, whole_numbers_fit_or_are_refused) {
  static const uint64_t u[] = {0, INT32_MAX, (uint64_t)INT32_MAX + 1, INT64_MAX,
                               (uint64_t)INT64_MAX + 1};
  static const int64_t i[] = {INT32_MIN, (int64_t)INT32_MIN - 1};
  static const uint32_t w[] = {INT32_MAX, UINT32_MAX};
  static const int8_t c[] = {-128, 127};
  int32_t narrow[5];
  int64_t wide[5];
  float f[5];
  cr_expect_eq(file_convert(u, TSH_u64, narrow, TSH_i32, 5), 3);
  cr_expect_eq(file_convert(u, TSH_u64, wide, TSH_i64, 5), 5);
  cr_expect_eq(file_convert(u, TSH_u64, wide, TSH_i64, 4), 0);
  cr_expect_eq(wide[3], INT64_MAX);
  cr_expect_eq(file_convert(i, TSH_i64, narrow, TSH_i32, 2), 2);
  cr_expect_eq(file_convert(w, TSH_u32, narrow, TSH_i32, 2), 2);
  cr_expect_eq(file_convert(w, TSH_u32, wide, TSH_i64, 2), 0);
  cr_expect_eq(wide[1], UINT32_MAX);
  cr_expect_eq(file_convert(c, TSH_i8, narrow, TSH_i32, 2), 0);
  cr_expect_eq(narrow[0], -128);
  cr_expect_eq(file_convert(u, TSH_u64, f, TSH_f32, 5), 0);
  cr_expect_eq(f[4], 0x1p63f);
}

Test(cells, what_becomes_what) {
  cr_expect(file_converts(TSH_u8, TSH_f32) && file_converts(TSH_bool, TSH_i64));
  cr_expect(file_converts(TSH_bf16, TSH_f32) &&
            file_converts(TSH_c64, TSH_c64));
  cr_expect(!file_converts(TSH_f32, TSH_i32) &&
            !file_converts(TSH_f16, TSH_i64));
  cr_expect(!file_converts(TSH_c64, TSH_f32) &&
            !file_converts(TSH_u8, TSH_u16));
}

Test(cells, bytes_change_their_order) {
  char b[] = "abcdefgh";
  file_swap(b, 8, 2);
  cr_expect_str_eq(b, "badcfehg");
  file_swap(b, 8, 4);
  cr_expect_str_eq(b, "cdabghef");
  file_swap(b, 8, 8);
  cr_expect_str_eq(b, "fehgbadc");
  file_swap(b, 8, 1);
  cr_expect_str_eq(b, "fehgbadc");
}
