/* kit_math.c - what of the f32 functions is no inline code: the lists as
 * tables, and the reduction of large arguments of sin and cos. */
#include "kit_math.h"
#include "tsh_plugin.h"

/* ---- large arguments of sin and cos -------------------------------------- */
/* The bits of 2/pi behind the point, after one word of zeros. */
static const uint32_t two_over_pi[] = {0,          0xa2f9836e, 0x4e441529,
                                       0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                       0x3c439041, 0xfe5163ab, 0xdebbc561};

/* Word `at` bits into two_over_pi. */
static uint64_t pi_word(uint32_t at) {
  const uint32_t *w = two_over_pi + at / 32;
  uint64_t two = (uint64_t)w[0] << 32 | w[1];
  return two << at % 32 >> 32;
}

/* |x| = q pi/2 + r for finite |x| >= 2; gives q modulo 4. |x| = m 2^e with m of
 * 24 bits. Bits of 2/pi that make multiples of 4 of the product are left out,
 * so 96 bits from there are enough: the product keeps 62 bits behind the point,
 * and no f32 is nearer to a multiple of pi/2 than some 2^-30. */
static uint32_t reduce_big(float x, float *r) {
  uint32_t bits = kit_bits(x) & 0x7fffffff;
  uint64_t m = (bits & 0x7fffff) | 0x800000;
  uint32_t at = (bits >> 23) - 127 - 23 - 2 + 32;
  uint64_t p = (m * pi_word(at) << 32) + m * pi_word(at + 32) +
               (m * pi_word(at + 64) >> 32);
  uint64_t q = (p + (UINT64_C(1) << 61)) >> 62;
  int64_t rest = (int64_t)(p - (q << 62));
  *r = (float)((double)rest * 0x1.921fb54442d18p-62);
  return (uint32_t)q;
}

static float trig_big(float x, uint32_t quarter, uint32_t sx) {
  float r;
  if (!(fabsf(x) < INFINITY)) return x - x;
  uint32_t q = reduce_big(x, &r) + quarter;
  KIT_TRIG_CORE(KIT_S, KIT_K, KIT_W)
  KIT_TRIG_JOIN(KIT_S, KIT_K, KIT_W)
  return z;
}

float kit_sin_f32_big(float x) {
  return trig_big(x, 0, kit_bits(x) & 0x80000000);
}

float kit_cos_f32_big(float x) { return trig_big(x, 1, 0); }

/* ---- the lists as tables ------------------------------------------------- */
#define S(name, dst, ...) {KIT_STEP_##name, {__VA_ARGS__}, {0}},
#define K(dst, value)     {KIT_STEP_const, {0}, {.f = value}},
#define W(dst, word)      {KIT_STEP_const, {0}, {.u = word}},
/* Inside its function the names of a list are the numbers of its values. */
#define S_NAME(name, dst, ...) dst,
#define K_NAME(dst, value)     dst,

#define SEQ(func, n, limit, beyond, ...)                                       \
  static const kit_seq *seq_##func(void) {                                     \
    enum { __VA_ARGS__, KIT_SEQ_##func(S_NAME, K_NAME, K_NAME) count };        \
    static const kit_step step[] = {KIT_SEQ_##func(S, K, W)};                  \
    static const kit_seq seq = {#func, TSH_OP_##func, n,     count - n,        \
                                0,     step,          limit, beyond};          \
    return &seq;                                                               \
  }
SEQ(exp, 1, 0, NULL, x)
SEQ(expm1, 1, 0, NULL, x)
SEQ(log, 1, 0, NULL, x)
SEQ(log1p, 1, 0, NULL, x)
SEQ(sin, 1, KIT_TRIG_MAX, kit_sin_f32_big, x)
SEQ(cos, 1, KIT_TRIG_MAX, kit_cos_f32_big, x)
SEQ(tanh, 1, 0, NULL, x)
SEQ(sigmoid, 1, 0, NULL, x)
SEQ(erf, 1, 0, NULL, x)
SEQ(pow, 2, 0, NULL, x, y)

const kit_seq *kit_seq_get(int op) {
  switch (op) {
  case TSH_OP_exp:
    return seq_exp();
  case TSH_OP_expm1:
    return seq_expm1();
  case TSH_OP_log:
    return seq_log();
  case TSH_OP_log1p:
    return seq_log1p();
  case TSH_OP_sin:
    return seq_sin();
  case TSH_OP_cos:
    return seq_cos();
  case TSH_OP_tanh:
    return seq_tanh();
  case TSH_OP_sigmoid:
    return seq_sigmoid();
  case TSH_OP_erf:
    return seq_erf();
  case TSH_OP_pow:
    return seq_pow();
  default:
    return NULL;
  }
}
