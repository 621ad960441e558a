/* gen.c - the inputs: specials in pairs, random bits, plain values; the same
 * in every run. NaN inputs have one bit pattern, because all NaNs are one
 * value and copysign would tell their signs apart. */
#include <math.h>

#include "cf.h"

/* splitmix64 */
uint64_t cf_rand(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static double unit(uint64_t *state) { /* [0, 1) */
  return (double)(cf_rand(state) >> 11) * 0x1p-53;
}

/* ---- specials: 16 of each kind ------------------------------------------ */
static double largest(int dtype) {
  return dtype == TSH_f16    ? 65504
         : dtype == TSH_bf16 ? 0x1.fep127
         : dtype == TSH_f32  ? 0x1.fffffep127
                             : 0x1.fffffffffffffp1023;
}

static double smallest(int dtype) { /* denormal */
  return dtype == TSH_f16    ? 0x1p-24
         : dtype == TSH_bf16 ? 0x1p-133
         : dtype == TSH_f32  ? 0x1p-149
                             : 0x1p-1074;
}

static uint64_t float_special(int dtype, unsigned i) {
  const double big = largest(dtype), tiny = smallest(dtype);
  const double v[16] = {0,         -0.0, 1,         -1,   NAN,       INFINITY,
                        -INFINITY, big,  -big,      tiny, -tiny * 3, 0.5,
                        -2.5,      3,    tiny * 37, -100};
  return cf_from_double(dtype, v[i & 15]);
}

static uint64_t int_special(int dtype, unsigned i) {
  const int64_t width = 8 * cf_bytes(dtype);
  const int64_t low = (int64_t)(UINT64_C(1) << (width - 1));
  const int64_t v[16] = {0,     1,  -1, low, low + 1, low - 1, width - 1, 2,
                         width, -2, 3,  -7,  7,       100,     1 + width, -3};
  return cf_from_int(dtype, v[i & 15]);
}

static uint64_t special(int dtype, unsigned i) {
  switch (cf_kind(dtype)) {
  case TSH_KIND_FLOAT:
    return float_special(dtype, i);
  case TSH_KIND_COMPLEX:
    return float_special(TSH_f32, i) | float_special(TSH_f32, i + 7) << 32;
  case TSH_KIND_BOOL:
    return i & 1;
  default:
    return int_special(dtype, i);
  }
}

/* ---- one element -------------------------------------------------------- */
static uint64_t random_bits(int dtype, uint64_t *state) {
  uint64_t bits = cf_rand(state);
  if (dtype == TSH_bool) return bits >> 17 & 1;
  if (cf_bytes(dtype) < 8) bits &= (UINT64_C(1) << 8 * cf_bytes(dtype)) - 1;
  return cf_is_nan(dtype, bits) ? cf_from_double(dtype, NAN) : bits;
}

static uint64_t plain(int dtype, uint64_t *state) {
  double v = (unit(state) - 0.5) * ldexp(1, (int)(cf_rand(state) % 10) - 3);
  switch (cf_kind(dtype)) {
  case TSH_KIND_FLOAT:
    return cf_from_double(dtype, v);
  case TSH_KIND_COMPLEX:
    return cf_from_double(TSH_f32, v) | cf_from_double(TSH_f32, v + 1) << 32;
  default:
    return cf_from_int(dtype, (int64_t)(cf_rand(state) % 41) - 20) &
           (dtype == TSH_bool ? cf_rand(state) >> 9 : UINT64_MAX);
  }
}

static uint64_t near1(int dtype, uint64_t *state) {
  double v = 1 + (unit(state) - 0.5) / 64;
  if (cf_kind(dtype) != TSH_KIND_FLOAT) /* odd: a product stays alive */
    return random_bits(dtype, state) | 1;
  return cf_from_double(dtype, cf_rand(state) & 64 ? v : -v);
}

static uint64_t few(int dtype, uint64_t *state) {
  return cf_from_int(dtype, (int64_t)(cf_rand(state) >> 7) & 3);
}

static uint64_t bits_at(int dtype, int64_t i, int operand, uint64_t *state) {
  unsigned n = (unsigned)i;
  if (i < 256) /* all pairs, and a third operand across them */
    return special(dtype, operand == 0   ? n >> 4
                          : operand == 1 ? n
                                         : n * 7 + (n >> 4));
  return i & 1 ? random_bits(dtype, state) : plain(dtype, state);
}

void cf_fill(cf_mem *m, int style, int operand) {
  int64_t n = (int64_t)(m->bytes / cf_bytes(m->dtype));
  uint64_t state = (uint64_t)(m->dtype * 64 + style * 8 + operand);
  for (int64_t i = 0; i < n; i++) {
    uint64_t v = style == CF_BITS    ? bits_at(m->dtype, i, operand, &state)
                 : style == CF_PLAIN ? plain(m->dtype, &state)
                 : style == CF_NEAR1 ? near1(m->dtype, &state)
                 : style == CF_TIES
                     ? few(m->dtype, &state)
                     : special(m->dtype, (unsigned)(cf_rand(&state) >> 9));
    cf_put(m->want, i, m->dtype, v);
  }
}
