/* The f32 functions against a double libm, the lists as data against the lists
 * as C, conversions and the integer functions against what the op table says.
 * TSH_TEST_FULL=1 looks at a hundred times more values. */
#include <criterion/criterion.h>

#include "kit_math.h"
#include "tsh_plugin.h"

#include <stdlib.h>

static uint32_t stride(void) { return getenv("TSH_TEST_FULL") ? 61 : 6101; }

/* ---- accuracy ----------------------------------------------------------- */
static int same_bits(float a, float b) {
  return (a != a && b != b) || kit_bits(a) == kit_bits(b);
}

/* Distance of two numbers in units of the last place of an f32 near want. */
static double ulps(float got, double want) {
  double size = (fabs)(want);
  int e;
  if (size < 0x1p-126) size = 0x1p-126;
  if (size > 0x1.fffffep127) size = 0x1.fffffep127;
  frexp(size, &e);
  return (fabs)((double)got - want) / ldexp(1, e - 24);
}

/* nan, signs, zeros and infinities must be right, the rest near. */
static int is_good(float got, double want, double limit) {
  float rounded = (float)want;
  if (want != want || got != got) return want != want && got != got;
  if ((kit_bits(got) ^ kit_bits(rounded)) >> 31) return 0;
  if (got == INFINITY || got == -INFINITY || rounded == INFINITY ||
      rounded == -INFINITY)
    return got == rounded;
  return ulps(got, want) <= limit;
}

static double ref_sigmoid(double x) {
  return x < 0 ? (exp)(x) / (1 + (exp)(x)) : 1 / (1 + (exp)(-x));
}
#define ref_exp   exp
#define ref_expm1 expm1
#define ref_log   log
#define ref_log1p log1p
#define ref_sin   sin
#define ref_cos   cos
#define ref_tanh  tanh
#define ref_erf   erf

typedef struct {
  const char *name;
  int op;
  float (*f)(float);
  double (*ref)(double);
  double limit;
} function;

#define X(name, found, limit)                                                  \
  {#name, TSH_OP_##name, kit_##name##_f32, ref_##name, limit},
static const function functions[] = {KIT_ULP_LIMITS(X)};
#undef X
enum { NFUNCTION = sizeof functions / sizeof *functions };

Test(math, functions_keep_their_limits, .timeout = 600) {
  for (int i = 0; i < NFUNCTION; i++) {
    const function *f = &functions[i];
    double worst = 0;
    for (uint64_t b = 0; b <= UINT32_MAX; b += stride()) {
      float x = kit_float((uint32_t)b), got = f->f(x);
      double want = f->ref((double)x);
      if (!is_good(got, want, f->limit))
        cr_assert_fail("%s(%a) is %a, not %a", f->name, x, got, want);
      if (want == want && (fabs)(want) < 0x1p127 && ulps(got, want) > worst)
        worst = ulps(got, want);
    }
    cr_log_info("%s: %.3f ulp", f->name, worst);
  }
}

static uint64_t random_state = UINT64_C(88172645463325252);
static uint64_t random_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

/* Any two numbers; and x in 0.5..2, x of all sizes, with y such that the result
 * is spread over all that f32 has. */
static void pow_pair(int i, float *x, float *y) {
  uint64_t r = random_bits();
  *x = kit_float((uint32_t)r);
  *y = kit_float((uint32_t)(r >> 32));
  if (i % 3 == 0) return;
  *x =
      i % 3 == 1 ? fabsf(*x) : kit_float(0x3f000000 + ((uint32_t)r & 0xffffff));
  double l = log2((double)*x);
  double exponent = (double)(random_bits() >> 40) / (1 << 24) * 300 - 150;
  if (l != 0 && isfinite(l)) *y = (float)(exponent / l);
}

Test(math, pow_keeps_its_limit, .timeout = 600) {
#define X(name, found, limit) limit
  const double limit = KIT_ULP_LIMIT_POW(X);
#undef X
  int n = getenv("TSH_TEST_FULL") ? 100000000 : 1000000;
  double worst = 0;
  for (int i = 0; i < n; i++) {
    float x, y;
    pow_pair(i, &x, &y);
    float got = kit_pow_f32(x, y);
    double want = pow((double)x, (double)y);
    if (!is_good(got, want, limit))
      cr_assert_fail("pow(%a, %a) is %a, not %a", x, y, got, want);
    if (want == want && (fabs)(want) < 0x1p127 && ulps(got, want) > worst)
      worst = ulps(got, want);
  }
  cr_log_info("pow: %.3f ulp", worst);
}

/* ---- edges -------------------------------------------------------------- */
static const float edges[] = {0.0f,
                              -0.0f,
                              1.0f,
                              -1.0f,
                              0.5f,
                              -0.5f,
                              2.0f,
                              -2.0f,
                              3.0f,
                              -3.0f,
                              0x1p-149f,
                              -0x1p-149f,
                              0x1p-126f,
                              0x1p-130f,
                              0x1p-24f,
                              -0x1p-24f,
                              88.72283f,
                              88.72284f,
                              -87.33655f,
                              -103.97f,
                              -103.98f,
                              -104.5f,
                              89.5f,
                              -90.0f,
                              -100.0f,
                              17.3f,
                              -17.4f,
                              0x1p+17f,
                              131073.f,
                              1e9f,
                              -1e9f,
                              0x1.fffffep127f,
                              -0x1.fffffep127f,
                              0.6f,
                              0.92f,
                              4.0f,
                              9.1f,
                              -9.1f,
                              1.5f,
                              -0x1.fffffep-1f,
                              3.1415927f,
                              1.5707964f,
                              -3.1415927f,
                              0x1p-12f,
                              0x1p23f,
                              8388609.f,
                              16777217.f,
                              -8388609.f,
                              INFINITY,
                              -INFINITY,
                              NAN};
enum { NEDGE = sizeof edges / sizeof *edges };

Test(math, edges_are_as_libm_has_them) {
  for (int i = 0; i < NFUNCTION; i++)
    for (int j = 0; j < NEDGE; j++) {
      const function *f = &functions[i];
      float got = f->f(edges[j]);
      double want = f->ref((double)edges[j]);
      cr_expect(is_good(got, want, f->limit), "%s(%a) is %a, not %a", f->name,
                edges[j], got, want);
    }
}

Test(math, pow_has_the_special_cases_of_ieee) {
  for (int i = 0; i < NEDGE; i++)
    for (int j = 0; j < NEDGE; j++) {
      float got = kit_pow_f32(edges[i], edges[j]);
      double want = pow((double)edges[i], (double)edges[j]);
      cr_expect(is_good(got, want, 4), "pow(%a, %a) is %a, not %a", edges[i],
                edges[j], got, want);
    }
  cr_expect_eq(kit_pow_f32(NAN, 0.0f), 1);
  cr_expect_eq(kit_pow_f32(1.0f, NAN), 1);
}

Test(math, results_below_normal_are_not_flushed) {
  cr_expect(is_good(kit_sigmoid_f32(-90), 8.194012623990515e-40, 1));
  cr_expect(is_good(kit_exp_f32(-100), 3.720075976020836e-44, 1));
  cr_expect_eq(kit_exp_f32(-INFINITY), 0);
  cr_expect(is_good(kit_log_f32(0x1p-149f), -103.27892990343185, 1));
}

Test(math, large_arguments_of_sin_and_cos_are_reduced_exactly) {
  /* To 20 digits: cos and sin of 10^9, and of the f32 nearest 10^22. */
  cr_expect(is_good(kit_cos_f32(1e9f), 0.83788718136390233, 1.5));
  cr_expect(is_good(kit_sin_f32(1e9f), 0.54584344944869956, 1.5));
  cr_expect(kit_sin_f32(INFINITY) != kit_sin_f32(INFINITY));
  for (uint32_t b = kit_bits(KIT_TRIG_MAX); b < 0x7f800000; b += 10007) {
    float x = kit_float(b);
    cr_assert(is_good(kit_sin_f32_big(x), sin((double)x), 2), "sin %a", x);
    cr_assert(is_good(kit_cos_f32_big(x), cos((double)x), 2), "cos %a", x);
  }
}

Test(math, blocks_say_when_they_need_the_second_path) {
  float x[40] = {0};
  cr_expect_not(kit_trig_big(x, 40));
  x[39] = KIT_TRIG_MAX;
  x[3] = NAN;
  cr_expect_not(kit_trig_big(x, 40));
  x[17] = -131073.0f;
  cr_expect(kit_trig_big(x, 40));
  x[17] = INFINITY;
  cr_expect(kit_trig_big(x, 40));
}

/* ---- lists as data ------------------------------------------------------ */
typedef union {
  float f;
  uint32_t u;
} word;

/* Long, but a table: one case for each kind of step. */
static word run_step(const kit_step *s, const word *v) {
  word a = v[s->arg[0]], b = v[s->arg[1]], c = v[s->arg[2]], z = {.u = 0};
  switch (s->op) {
  case KIT_STEP_const:
    z.u = s->imm.u;
    break;
  case KIT_STEP_add:
    z.f = a.f + b.f;
    break;
  case KIT_STEP_sub:
    z.f = a.f - b.f;
    break;
  case KIT_STEP_mul:
    z.f = a.f * b.f;
    break;
  case KIT_STEP_div:
    z.f = a.f / b.f;
    break;
  case KIT_STEP_fma:
    z.f = fmaf(a.f, b.f, c.f);
    break;
  case KIT_STEP_neg:
    z.f = -a.f;
    break;
  case KIT_STEP_rint:
    z.f = rintf(a.f);
    break;
  case KIT_STEP_min:
    z.f = a.f < b.f ? a.f : b.f;
    break;
  case KIT_STEP_max:
    z.f = a.f > b.f ? a.f : b.f;
    break;
  case KIT_STEP_sel:
  case KIT_STEP_isel:
    z = a.u ? b : c;
    break;
  case KIT_STEP_lt:
    z.u = a.f < b.f;
    break;
  case KIT_STEP_eq:
    z.u = a.f == b.f;
    break;
  case KIT_STEP_both:
    z.u = a.u && b.u;
    break;
  case KIT_STEP_either:
    z.u = a.u || b.u;
    break;
  case KIT_STEP_no:
    z.u = !a.u;
    break;
  case KIT_STEP_odd:
    z.u = a.u % 2;
    break;
  case KIT_STEP_bits:
  case KIT_STEP_flt:
    z = a;
    break;
  case KIT_STEP_itof:
    z.f = (float)(int32_t)a.u;
    break;
  case KIT_STEP_iadd:
    z.u = a.u + b.u;
    break;
  case KIT_STEP_isub:
    z.u = a.u - b.u;
    break;
  case KIT_STEP_iand:
    z.u = a.u & b.u;
    break;
  case KIT_STEP_ior:
    z.u = a.u | b.u;
    break;
  case KIT_STEP_ixor:
    z.u = a.u ^ b.u;
    break;
  case KIT_STEP_shl:
    z.u = a.u << b.u;
    break;
  case KIT_STEP_shr:
    z.u = a.u >> b.u;
    break;
  case KIT_STEP_sra:
    z.u = (uint32_t)((int32_t)a.u >> b.u);
    break;
  default:
    cr_assert_fail("no step %d", s->op);
  }
  return z;
}

static float run_list(const kit_seq *q, float x, float y) {
  word v[256] = {{.f = x}, {.f = y}};
  cr_assert_lt(q->nargs + q->nsteps, 256);
  for (int i = 0; i < q->nsteps; i++) {
    for (int j = 0; j < 3; j++)
      cr_assert_lt(q->step[i].arg[j], q->nargs + i, "%s step %d", q->name, i);
    v[q->nargs + i] = run_step(&q->step[i], v);
  }
  return v[q->nargs + q->nsteps - 1].f;
}

Test(math, lists_as_data_and_as_code_give_equal_bits) {
  for (int i = 0; i < NFUNCTION; i++) {
    const function *f = &functions[i];
    const kit_seq *q = kit_seq_get(f->op);
    cr_assert_not_null(q, "%s", f->name);
    cr_expect_str_eq(q->name, f->name);
    cr_expect_eq(q->op, f->op);
    cr_expect_eq(q->nargs, 1);
    for (uint64_t b = 0; b <= UINT32_MAX; b += 60013) {
      float x = kit_float((uint32_t)b);
      float listed =
          q->limit && fabsf(x) > q->limit ? q->beyond(x) : run_list(q, x, 0);
      cr_assert(same_bits(listed, f->f(x)), "%s(%a)", f->name, x);
    }
  }
  cr_expect_null(kit_seq_get(TSH_OP_add));
  cr_expect_null(kit_seq_get(-1));
}

Test(math, pow_as_data_and_as_code_give_equal_bits) {
  const kit_seq *q = kit_seq_get(TSH_OP_pow);
  cr_assert_eq(q->nargs, 2);
  for (int i = 0; i < 60000; i++) {
    float x, y;
    pow_pair(i, &x, &y);
    cr_assert(same_bits(run_list(q, x, y), kit_pow_f32(x, y)), "%a %a", x, y);
  }
  for (int i = 0; i < NEDGE; i++)
    for (int j = 0; j < NEDGE; j++)
      cr_assert(same_bits(run_list(q, edges[i], edges[j]),
                          kit_pow_f32(edges[i], edges[j])));
}
