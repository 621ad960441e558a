/* number.c - values as bits: reading, writing, conversion, distance. Written
 * for plainness; nothing here depends on the host's rounding of halves. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cf.h"

uint64_t cf_get(const uint8_t *base, int64_t at, int dtype) {
  uint32_t n = cf_bytes(dtype);
  const uint8_t *from = base + at * n;
  uint16_t v16;
  uint32_t v32;
  uint64_t v64;
  switch (n) {
  case 1:
    return *from;
  case 2:
    memcpy(&v16, from, 2);
    return v16;
  case 4:
    memcpy(&v32, from, 4);
    return v32;
  default:
    memcpy(&v64, from, 8);
    return v64;
  }
}

void cf_put(uint8_t *base, int64_t at, int dtype, uint64_t bits) {
  uint32_t n = cf_bytes(dtype);
  uint8_t *to = base + at * n;
  uint8_t v8 = (uint8_t)bits;
  uint16_t v16 = (uint16_t)bits;
  uint32_t v32 = (uint32_t)bits;
  const void *from = n == 1   ? (void *)&v8
                     : n == 2 ? (void *)&v16
                     : n == 4 ? (void *)&v32
                              : (void *)&bits;
  memcpy(to, from, n);
}

/* ---- floats ------------------------------------------------------------- */
static double f16_value(uint16_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  double v = e == 31  ? (m ? NAN : INFINITY)
             : e == 0 ? ldexp(m, -24)
                      : ldexp(m + 1024, e - 25);
  return h & 0x8000 ? -v : v;
}

static double f32_value(uint32_t w) {
  float f;
  memcpy(&f, &w, 4);
  return f;
}

static uint32_t f32_bits(float f) {
  uint32_t w;
  memcpy(&w, &f, 4);
  return w;
}

double cf_to_double(int dtype, uint64_t bits) {
  double d;
  switch (dtype) {
  case TSH_f16:
    return f16_value((uint16_t)bits);
  case TSH_bf16:
    return f32_value((uint32_t)bits << 16);
  case TSH_f32:
    return f32_value((uint32_t)bits);
  default:
    memcpy(&d, &bits, 8);
    return d;
  }
}

/* v rounded once to `digits` binary digits, the last no less than 2^low. */
static double round_digits(double v, int digits, int low) {
  int e;
  if (v == 0 || !isfinite(v)) return v;
  frexp(v, &e);
  e = e - digits > low ? e - digits : low;
  return ldexp(rint(ldexp(v, -e)), e);
}

static uint16_t f16_bits(double v) {
  uint16_t s = signbit(v) ? 0x8000 : 0;
  int e;
  double m;
  if (v != v) return 0x7e00;
  v = fabs(round_digits(v, 11, -24));
  if (v > 65504) return s | 0x7c00;
  if (v < 0x1p-14) return s | (uint16_t)ldexp(v, 24);
  m = frexp(v, &e);
  return (uint16_t)(s + ((e + 14) << 10) + ((int)ldexp(m, 11) - 1024));
}

uint64_t cf_from_double(int dtype, double v) {
  uint64_t bits;
  switch (dtype) {
  case TSH_f16:
    return f16_bits(v);
  case TSH_bf16:
    if (v != v) return 0x7fc0;
    return f32_bits((float)round_digits(v, 8, -133)) >> 16;
  case TSH_f32:
    return f32_bits((float)v);
  default:
    memcpy(&bits, &v, 8);
    return bits;
  }
}

int cf_is_nan(int dtype, uint64_t bits) {
  double d;
  if (cf_kind(dtype) != TSH_KIND_FLOAT) return 0;
  d = cf_to_double(dtype, bits);
  return d != d;
}

/* ---- integers ----------------------------------------------------------- */
static uint64_t low_bits(int dtype, uint64_t v) {
  uint32_t n = 8 * cf_bytes(dtype);
  return n == 64 ? v : v & ((UINT64_C(1) << n) - 1);
}

/* The bits of a signed dtype as a number. */
static int64_t extend(int dtype, uint64_t bits) {
  int n = 64 - 8 * (int)cf_bytes(dtype);
  return (int64_t)(bits << n) >> n;
}

/* A magnitude as a double that rounds to every narrower type as the magnitude
 * itself would: what falls off is kept as a last odd bit. */
static double sticky(uint64_t v) {
  int n = 0;
  while (v >> n >= UINT64_C(1) << 53) n++;
  if (n && (v & ((UINT64_C(1) << n) - 1))) v |= UINT64_C(1) << n;
  return ldexp((double)(v >> n), n);
}

static uint64_t float_of(int to, uint64_t magnitude, int negative) {
  double v;
  if (to == TSH_f64) {
    v = (double)magnitude;
    return cf_from_double(to, negative ? -v : v);
  }
  v = sticky(magnitude);
  return cf_from_double(to, negative ? -v : v);
}

uint64_t cf_from_int(int dtype, int64_t v) {
  switch (cf_kind(dtype)) {
  case TSH_KIND_BOOL:
    return v != 0;
  case TSH_KIND_FLOAT:
    return float_of(dtype, v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0);
  default:
    return low_bits(dtype, (uint64_t)v);
  }
}

/* Saturates; NaN gives 0. */
static uint64_t int_of(int to, double d) {
  int bits = 8 * (int)cf_bytes(to);
  if (d != d) return 0;
  if (cf_kind(to) == TSH_KIND_UINT) {
    if (d >= ldexp(1, bits)) return low_bits(to, UINT64_MAX);
    return d <= 0 ? 0 : (uint64_t)d;
  }
  if (d >= ldexp(1, bits - 1)) return (UINT64_C(1) << (bits - 1)) - 1;
  if (d <= -ldexp(1, bits - 1)) return low_bits(to, UINT64_C(1) << (bits - 1));
  return low_bits(to, (uint64_t)(int64_t)d);
}

static uint64_t cast_float(int from, int to, uint64_t bits) {
  double d = cf_to_double(from, bits);
  if (cf_kind(to) == TSH_KIND_FLOAT) return cf_from_double(to, d);
  return to == TSH_bool ? d != 0 : int_of(to, d);
}

uint64_t cf_cast(int from, int to, uint64_t bits) {
  int64_t v;
  if (from == to) return bits;
  if (cf_kind(from) == TSH_KIND_FLOAT) return cast_float(from, to, bits);
  if (to == TSH_bool) return bits != 0;
  if (cf_kind(from) != TSH_KIND_INT) /* no sign */
    return cf_kind(to) == TSH_KIND_FLOAT ? float_of(to, bits, 0)
                                         : low_bits(to, bits);
  v = extend(from, bits);
  return cf_from_int(to, v);
}

/* ---- distance ----------------------------------------------------------- */
/* Floats in the order of their values, one apart where nothing is between;
 * the two zeros are neighbours. */
static int64_t ordered(int dtype, uint64_t bits) {
  int64_t v = extend(dtype, bits);
  int n = 8 * (int)cf_bytes(dtype);
  return v >= 0 ? v : ~(v & (int64_t)((UINT64_C(1) << (n - 1)) - 1));
}

uint64_t cf_ulp(int dtype, uint64_t a, uint64_t b) {
  int64_t x, y;
  if (a == b) return 0;
  if (cf_kind(dtype) != TSH_KIND_FLOAT) return UINT64_MAX;
  if (cf_is_nan(dtype, a) || cf_is_nan(dtype, b))
    return cf_is_nan(dtype, a) && cf_is_nan(dtype, b) ? 0 : UINT64_MAX;
  x = ordered(dtype, a);
  y = ordered(dtype, b);
  return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

char *cf_show(char text[64], int dtype, uint64_t bits) {
  int digits = 2 * (int)cf_bytes(dtype);
  switch (cf_kind(dtype)) {
  case TSH_KIND_FLOAT:
    snprintf(text, 64, "%.17g (0x%0*" PRIx64 ")", cf_to_double(dtype, bits),
             digits, bits);
    break;
  case TSH_KIND_INT:
    snprintf(text, 64, "%" PRId64, extend(dtype, bits));
    break;
  case TSH_KIND_COMPLEX:
    snprintf(text, 64, "0x%0*" PRIx64, digits, bits);
    break;
  default:
    snprintf(text, 64, "%" PRIu64, bits);
  }
  return text;
}
