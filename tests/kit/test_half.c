/* f16 and bf16 against rounding in double, and of long integers against long
 * division; nothing here shares a line with kit_half.h. */
#include <criterion/criterion.h>

#include "kit_half.h"

#include <math.h>

/* Digits, the power of the last denormal digit, and what the exponent bits of a
 * half mean. */
typedef struct {
  int digits, low, bias;
} format;
static const format f16 = {11, -24, 15}, bf16 = {8, -133, 127};

static double value(format f, uint16_t h) {
  int fraction = h & ((1 << (f.digits - 1)) - 1);
  int e = (h & 0x7fff) >> (f.digits - 1);
  double v = e == 2 * f.bias + 1 ? (fraction ? NAN : INFINITY)
             : e == 0            ? ldexp(fraction, f.low)
                      : ldexp((1 << (f.digits - 1)) + fraction, e - 1 + f.low);
  return h & 0x8000 ? -v : v;
}

/* v rounded once, halves to even. */
static double nearest(format f, double v) {
  double limit = ldexp(1, f.bias + 1);
  int e;
  if (v == 0 || !isfinite(v)) return v;
  frexp(v, &e);
  e = e - f.digits > f.low ? e - f.digits : f.low;
  v = ldexp(rint(ldexp(v, -e)), e);
  return fabs(v) >= limit ? copysign(INFINITY, v) : v;
}

static int same(double a, double b) {
  if (a != a || b != b) return a != a && b != b;
  return a == b && !signbit(a) == !signbit(b);
}

Test(half, every_bit_pattern_widens_to_its_value_and_back) {
  for (uint32_t h = 0; h < 65536; h++) {
    float x = kit_f16_to_f32((uint16_t)h), y = kit_bf16_to_f32((uint16_t)h);
    cr_assert(same(x, value(f16, (uint16_t)h)), "f16 %#x", h);
    cr_assert(same(y, value(bf16, (uint16_t)h)), "bf16 %#x", h);
    cr_assert(x != x || kit_f32_to_f16(x) == h, "f16 %#x", h);
    cr_assert(y != y || kit_f32_to_bf16(y) == h, "bf16 %#x", h);
    cr_assert(same(kit_round_f16(x), x) && same(kit_round_bf16(y), y));
  }
}

/* Every 61st f32 and its neighbours cover all exponents and ties. */
Test(half, f32_rounds_to_nearest_even) {
  for (uint64_t u = 0; u < UINT64_C(1) << 32; u += 61 * 61) {
    for (int near = 0; near < 4; near++) {
      /* ties of f16 and of bf16 */
      uint32_t bits = near == 0   ? (uint32_t)u
                      : near == 1 ? ((uint32_t)u & 0xffffe000) | 0x1000
                      : near == 2 ? ((uint32_t)u & 0xffff0000) | 0x8000
                                  : ((uint32_t)u & 0xffff0000) | 0x8001;
      float x;
      memcpy(&x, &bits, sizeof x);
      double a = nearest(f16, x), b = nearest(bf16, x);
      cr_assert(same(value(f16, kit_f32_to_f16(x)), a), "%a", x);
      cr_assert(same(kit_round_f16(x), a), "%a", x);
      cr_assert(same(value(bf16, kit_f32_to_bf16(x)), b), "%a", x);
      cr_assert(same(kit_round_bf16(x), b), "%a", x);
    }
  }
}

static uint64_t state = 1;
static uint64_t draw(void) {
  state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
  return state ^ state >> 29;
}

Test(half, f64_rounds_once) {
  cr_expect_eq(kit_f64_to_bf16(1 + 0x1p-8 + 0x1p-40), 0x3f81);
  cr_expect_eq(kit_f64_to_f16(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  cr_expect_eq(kit_f64_to_f16(0x1p-25 + 0x1p-70), 1);
  cr_expect_eq(kit_f64_to_bf16(0x1p-1070), 0);
  cr_expect_eq(kit_f64_to_f16(1e300), 0x7c00);
  cr_expect_eq(kit_f64_to_bf16(-1e300), 0xff80);
  for (int i = 0; i < 1000000; i++) {
    uint64_t bits = draw();
    double x,
        tie = ldexp((double)(draw() >> 54) + 0.5, (int)(draw() % 60) - 40);
    memcpy(&x, &bits, sizeof x);
    if (i & 1) x = i & 2 ? nextafter(tie, INFINITY) : nextafter(tie, 0);
    if (x != x) continue;
    cr_assert(same(value(f16, kit_f64_to_f16(x)), nearest(f16, x)), "%a", x);
    cr_assert(same(value(bf16, kit_f64_to_bf16(x)), nearest(bf16, x)), "%a", x);
  }
}

/* An unsigned integer in at most 8 bits times a power of two, by hand. */
static double whole_bf16(uint64_t v) {
  int n = 0;
  while (v >> n >= 256) n++;
  uint64_t low = n ? v & ((UINT64_C(1) << n) - 1) : 0, q = v >> n;
  uint64_t tie = n ? UINT64_C(1) << (n - 1) : 1;
  if (low > tie || (low == tie && q & 1)) q++;
  return ldexp((double)q, n);
}

Test(half, integers_round_once) {
  for (int i = 0; i < 1000000; i++) {
    int n = (int)(draw() % 56);
    uint64_t v = i & 1 ? draw() >> draw() % 64
                       : (((draw() & 255) << 1 | 1) << n) + draw() % 3 - 1;
    int64_t s = (int64_t)(v >> 1);
    cr_assert(same(value(bf16, kit_u64_to_bf16(v)), whole_bf16(v)), "%#lx", v);
    cr_assert(same(value(bf16, kit_i64_to_bf16(s)), whole_bf16(v >> 1)));
    if (s)
      cr_assert(same(value(bf16, kit_i64_to_bf16(-s)), -whole_bf16(v >> 1)));
    cr_assert(same(value(bf16, kit_u32_to_bf16((uint32_t)v)),
                   whole_bf16((uint32_t)v)));
    cr_assert(
        same(value(f16, kit_i32_to_f16((int32_t)v)), nearest(f16, (int32_t)v)));
    cr_assert(same(value(f16, kit_u16_to_f16((uint16_t)v)),
                   nearest(f16, (uint16_t)v)));
  }
  cr_expect_eq(kit_i64_to_bf16(16842753), 0x4b81);
  cr_expect_eq(kit_i64_to_bf16(INT64_MIN), 0xdf00);
}

Test(half, to_integers_and_bool) {
  cr_expect_eq(kit_f16_to_u8(0x7c00), 255);
  cr_expect_eq(kit_f16_to_i8(0xfc00), -128);
  cr_expect_eq(kit_f16_to_i32(0x7e00), 0);
  cr_expect_eq(kit_bf16_to_i32(0xbfc0), -1);
  cr_expect_eq(kit_f16_to_bool(0x8000), 0);
  cr_expect_eq(kit_bf16_to_bool(0x7fc0), 1);
}
