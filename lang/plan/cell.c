/* cell.c - the halves on the host: one element of f16 or bf16 as a double and
 * back. */
#include <math.h>
#include "priv.h"

int plan_is_half(int dtype) { return dtype == TSH_f16 || dtype == TSH_bf16; }

static double bf16_value(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float f;
  memcpy(&f, &wide, sizeof f);
  return f;
}

static double f16_value(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double v = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
             : exponent     ? ldexp(1024 + fraction, exponent - 25)
                            : ldexp(fraction, -24);
  return bits >> 15 ? -v : v;
}

/* Rounds to `bits` of significand, halves to even, at least steps of 2^least;
 * the bits of the result are then exact. */
static double round_to(double v, int bits, int least) {
  int exponent;
  double step;
  if (v == 0 || v != v || isinf(v)) return v;
  frexp(v, &exponent);
  exponent -= bits;
  step = ldexp(1, exponent < least ? least : exponent);
  return rint(v / step) * step;
}

static uint16_t bf16_of(double v) {
  float f = (float)round_to(v, 8, -133);
  uint32_t wide;
  memcpy(&wide, &f, sizeof wide);
  return v != v ? 0x7fc0 : (uint16_t)(wide >> 16);
}

static uint16_t f16_of(double v) {
  uint16_t sign = signbit(v) ? 0x8000 : 0;
  double a = fabs(round_to(v, 11, -24));
  int exponent;
  if (v != v) return 0x7e00;
  if (a >= 65520) return sign | 0x7c00;
  if (a < 0x1p-14) return sign | (uint16_t)(a * 0x1p24);
  a = frexp(a, &exponent);
  return sign |
         (uint16_t)(((exponent + 14) << 10) + (int)(ldexp(a, 11) - 1024));
}

double plan_half_value(int dtype, uint16_t bits) {
  return dtype == TSH_f16 ? f16_value(bits) : bf16_value(bits);
}

uint16_t plan_half_of(int dtype, double v) {
  return dtype == TSH_f16 ? f16_of(v) : bf16_of(v);
}

double plan_half_odd(int64_t v) {
  if (v > -(INT64_C(1) << 53) && v < INT64_C(1) << 53) return (double)v;
  if (v & 0xffff) v = (int64_t)(((uint64_t)v & ~UINT64_C(0xffff)) | 0x10000);
  return (double)v;
}
