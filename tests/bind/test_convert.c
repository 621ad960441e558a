/* Cells and Lua numbers: every value of the half types, each rounded once. */
#include <criterion/criterion.h>
#include <math.h>
#include "session.h" /* brings priv.h of lang/bind */

static double value_of(lua_State *L, int dtype, uint16_t bits) {
  double v;
  lt_push_cell(L, dtype, &bits, 0);
  v = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return v;
}

static uint16_t bits_of(int dtype, double v) {
  plan_operand o = {.kind = PLAN_REAL, .num.f = v};
  uint16_t bits = 0;
  lt_put_cell(dtype, &bits, 0, &o);
  return bits;
}

static uint16_t bits_of_whole(int dtype, int64_t v) {
  plan_operand o = {.kind = PLAN_INT, .num.i = v};
  uint16_t bits = 0;
  lt_put_cell(dtype, &bits, 0, &o);
  return bits;
}

static void every_value(int dtype, uint16_t infinity) {
  lua_State *L = luaL_newstate();
  double before = -1;
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    double v = value_of(L, dtype, (uint16_t)bits);
    if (v != v) {
      cr_assert(bits_of(dtype, v) > infinity);
      continue;
    }
    cr_assert_eq(bits_of(dtype, v), bits, "%x", bits);
    if (bits > 0 && bits < infinity) cr_assert_gt(v, before);
    before = v;
  }
  cr_expect_eq(value_of(L, dtype, infinity), INFINITY);
  lua_close(L);
}

Test(convert, every_f16_comes_back) { every_value(TSH_f16, 0x7c00); }
Test(convert, every_bf16_comes_back) { every_value(TSH_bf16, 0x7f80); }

/* Halfway between neighbours to the even one, a hair beside it to the nearer.
 */
static void halfway(int dtype, uint16_t most) {
  lua_State *L = luaL_newstate();
  for (uint32_t bits = 0; bits + 1 < most; bits++) {
    double a = value_of(L, dtype, (uint16_t)bits);
    double b = value_of(L, dtype, (uint16_t)(bits + 1)), mid = (a + b) / 2;
    uint32_t even = bits & 1 ? bits + 1 : bits;
    cr_assert_eq(bits_of(dtype, mid), even, "%x", bits);
    cr_assert_eq(bits_of(dtype, nextafter(mid, INFINITY)), bits + 1);
    cr_assert_eq(bits_of(dtype, nextafter(mid, 0)), bits);
    cr_assert_eq(bits_of(dtype, -mid), even | 0x8000);
  }
  lua_close(L);
}

Test(convert, f16_rounds_half_to_even) { halfway(TSH_f16, 0x7c00); }
Test(convert, bf16_rounds_half_to_even) { halfway(TSH_bf16, 0x7f80); }

Test(convert, long_integers_round_once) {
  /* 2^60 + 2^52 is halfway between bf16 neighbours; one more is above it. */
  int64_t half = (INT64_C(1) << 60) + (INT64_C(1) << 52);
  uint16_t even = bits_of_whole(TSH_bf16, INT64_C(1) << 60);
  cr_expect_eq(bits_of_whole(TSH_bf16, half), even);
  cr_expect_eq(bits_of_whole(TSH_bf16, half + 1), even + 1);
  cr_expect_eq(bits_of_whole(TSH_bf16, half - 1), even);
  cr_expect_eq(bits_of_whole(TSH_bf16, -half - 1), (even + 1) | 0x8000);
  cr_expect_eq(bits_of_whole(TSH_bf16, -half + 1), even | 0x8000);
}

Test(convert, f16_overflows_to_infinity) {
  cr_expect_eq(bits_of(TSH_f16, 65519.99), 0x7bff);
  cr_expect_eq(bits_of(TSH_f16, 65520), 0x7c00);
  cr_expect_eq(bits_of(TSH_f16, -1e300), 0xfc00);
  cr_expect_eq(bits_of(TSH_bf16, 3.4e38), 0x7f80);
}

static int number_as(double f, int dtype) {
  plan_operand o = {.kind = PLAN_REAL, .num.f = f};
  return lt_number_as(&o, dtype);
}

static int whole_as(int64_t i, int dtype) {
  plan_operand o = {.kind = PLAN_INT, .num.i = i};
  return lt_number_as(&o, dtype);
}

Test(convert, numbers_that_do_not_fit_are_refused) {
  cr_expect(whole_as(255, TSH_u8) && !whole_as(256, TSH_u8));
  cr_expect(!whole_as(-1, TSH_u8) && !whole_as(-1, TSH_u64));
  cr_expect(whole_as(-128, TSH_i8) && !whole_as(-129, TSH_i8));
  cr_expect(whole_as(INT64_MIN, TSH_i64) && !whole_as(INT64_MIN, TSH_i32));
  cr_expect(whole_as(UINT32_MAX, TSH_u32) && !whole_as(1LL << 32, TSH_u32));
  cr_expect(number_as(7, TSH_i8) && !number_as(7.5, TSH_i8));
  cr_expect(!number_as(0x1p63, TSH_i64) && number_as(0x1p63, TSH_u64));
  cr_expect(!number_as(0x1p64, TSH_u64) && !number_as(NAN, TSH_i64));
  cr_expect(!number_as(1, TSH_bool) && !whole_as(1, TSH_bool));
  cr_expect(number_as(1e300, TSH_f16) && whole_as(INT64_MAX, TSH_f32));
}

Test(convert, u64_above_Lua_becomes_a_float) {
  lua_State *L = luaL_newstate();
  uint64_t v = UINT64_MAX;
  lt_push_cell(L, TSH_u64, &v, 0);
  cr_expect_eq(lua_tonumber(L, -1), 0x1p64);
  cr_expect_not(lua_isinteger(L, -1));
  lua_close(L);
}
