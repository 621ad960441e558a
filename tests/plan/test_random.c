/* Draws are words of a counter: the same in every shape and on every device,
 * whether or not anybody looks. */
#include <math.h>
#include <stdlib.h>
#include "rig.h"

#define TAU 6.283185307179586

/* Philox4x32-10 of counter 0, key 0: the published vector of Random123. */
static const double first[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};

static plan_node *draw(rig *r, int dtype, plan_rng *rng, int rank,
                       const int64_t *dim) {
  const plan_shape *s = shape_of(r, rank, dim);
  plan_node *x = NULL;
  tsh_status rc = dtype ? plan_rand(r->p, r->d, dtype, s, rng, &x, &r->err)
                        : plan_random(r->p, r->d, s, rng, &x, &r->err);
  return rig_own(r, rc, x);
}

Test(random, words_do_not_depend_on_shape_device_or_who_looks) {
  static const char *const devices[] = {"cpu", "example", "opaque"};
  for (int d = 0; d < 3; d++) {
    plan_rng rng = {0}, again = {0}, cube = {0};
    rig r;
    rig_open(&r, devices[d]);
    plan_node *x = draw(&r, 0, &rng, DIMS(4)), *y, *z;
    cr_expect(are(&r, x, 4, first), "%s: %s", devices[d], r.text);
    cr_expect_eq(rng.base, 1);
    y = draw(&r, 0, &rng, DIMS(23));
    cr_expect_eq(rng.base, 1 + 6);              /* a started block is used up */
    rig_drop(&r, draw(&r, 0, &again, DIMS(3))); /* never computed */
    cr_expect_eq(again.base, 1);
    z = draw(&r, 0, &again, DIMS(23));
    x = slice(&r, draw(&r, 0, &cube, DIMS(3, 3, 3)),
              RANGE({0, 3, 1}, {0, 3, 1}, {0, 3, 1}));
    for (int i = 0; i < 23; i++) {
      cr_expect_eq(value(&r, y, i), value(&r, z, i));
      cr_expect_eq(value(&r, x, i + 4), value(&r, y, i));
    }
    cr_expect_neq(value(&r, y, 0), value(&r, y, 4));
    rig_close(&r);
  }
}

Test(random, uniform_draws_are_words_times_a_power_of_two) {
  enum { N = 20000 };
  plan_rng rng = {0}, words = {0};
  double sum = 0, hi;
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = draw(&r, TSH_f32, &rng, DIMS(N)), *w;
  float *v = malloc(N * sizeof *v);
  cr_assert_not_null(v);
  cr_assert_eq(plan_read(r.p, x, v, 0, &r.err), TSH_OK);
  for (int i = 0; i < 4; i++)
    cr_expect_eq(v[i], (float)floor(first[i] / 256) / 0x1p24f);
  for (int i = 0; i < N; i++) {
    cr_assert(v[i] >= 0 && v[i] < 1);
    sum += (double)v[i];
  }
  /* Six standard deviations of a mean of N draws. */
  cr_expect_float_eq(sum / N, 0.5, 6 * sqrt(1. / 12 / N));
  cr_expect_eq(rng.base, N / 4);
  free(v);
  rng.base = 0;
  x = draw(&r, TSH_f64, &rng, DIMS(2, 5)); /* two words each */
  cr_expect_eq(rng.base, 5);
  w = draw(&r, 0, &words, DIMS(20));
  for (int i = 0; i < 10; i++) {
    hi = value(&r, w, 2 * i) * 0x1p21 + floor(value(&r, w, 2 * i + 1) / 2048);
    cr_expect_eq(value(&r, x, i), hi / 0x1p53);
  }
  rig_fails(
      &r, plan_rand(r.p, r.d, TSH_i64, shape_of(&r, SCALAR), &rng, &x, &r.err),
      &x);
  cr_expect_eq(rng.base, 5, "nothing was drawn");
  rig_close(&r);
}

static plan_node *normal(rig *r, int dtype, plan_rng *rng, int64_t n) {
  plan_node *x = NULL;
  tsh_status rc =
      plan_randn(r->p, r->d, dtype, shape_of(r, DIMS(n)), rng, &x, &r->err);
  return rig_own(r, rc, x);
}

/* What n draws must be, of their words. */
static void box_muller(rig *r, plan_node *x, const int64_t *w, int n) {
  float *v = malloc((size_t)n * sizeof *v);
  double sum = 0, squares = 0;
  cr_assert_not_null(v);
  cr_assert_eq(plan_read(r->p, x, v, 0, &r->err), TSH_OK);
  for (int i = 0; i < n; i++) {
    double u1 = (double)((w[2 * i] >> 8) + 1) / 0x1p24;
    double u2 = (double)(w[2 * i + 1] >> 8) / 0x1p24;
    double want = sqrt(-2 * log(u1)) * cos(TAU * u2);
    cr_assert_float_eq((double)v[i], want, 4e-6, "draw %d: %g, %g", i,
                       (double)v[i], want);
    sum += (double)v[i];
    squares += (double)v[i] * (double)v[i];
  }
  /* Six standard deviations. */
  cr_expect_float_eq(sum / n, 0, 6 / sqrt(n));
  cr_expect_float_eq(squares / n, 1, 6 * sqrt(2. / n));
  free(v);
}

Test(random, normal_draws_are_box_muller_of_the_same_words) {
  enum { N = 20000 };
  static int64_t host[2 * N];
  plan_rng rng = {.key = 5}, words = {.key = 5};
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = normal(&r, TSH_f32, &rng, N), *w;
  cr_expect_eq(rng.base, N / 2);
  w = draw(&r, 0, &words, DIMS(2 * N));
  cr_assert_eq(plan_read(r.p, w, host, 0, &r.err), TSH_OK);
  box_muller(&r, x, host, N);
  rng.base = words.base = 0;
  x = normal(&r, TSH_f64, &rng, 5);
  cr_expect_eq(rng.base, 5);
  w = draw(&r, TSH_f64, &words, DIMS(10));
  for (int i = 0; i < 5; i++) {
    double u1 = value(&r, w, 2 * i) + 0x1p-53, u2 = value(&r, w, 2 * i + 1);
    double want = sqrt(-2 * log(u1)) * cos(TAU * u2);
    cr_expect_float_eq(value(&r, x, i), want, 1e-13);
  }
  rig_close(&r);
}
