/* A loop makes its plans once: starts, rates and batch sizes are arguments of
 * the launch. What is not used again gives its memory back. */
#include "rig.h"

enum { WIDTH = 8, ROWS = 4 * 64 + 40 };

typedef struct {
  float x[ROWS][WIDTH], t[ROWS];
  double w[WIDTH]; /* what plain arithmetic gives */
} problem;

static void fill(problem *q) {
  for (int i = 0; i < ROWS; i++) {
    q->t[i] = (float)(i % 5) - 2;
    for (int k = 0; k < WIDTH; k++)
      q->x[i][k] = (float)((i * 7 + k * 11) % 13) / 8 - 0.75f;
  }
  memset(q->w, 0, sizeof q->w);
}

/* w - lr * gradient of the squared error over rows first..first+n-1. */
static plan_node *learn(rig *r, plan_node *x, plan_node *t, plan_node *w,
                        int64_t first, int64_t n, double lr) {
  uint32_t mark = r->n;
  plan_node *xb = slice(r, x, RANGE({first, n, 1}, {0, WIDTH, 1}));
  plan_node *tb = slice(r, t, RANGE({first, n, 1}));
  plan_node *e = map2(r, TSH_OP_sub, matmul(r, xb, w), tb);
  plan_node *g = map2(r, TSH_OP_mul, xb, reshape(r, e, DIMS(n, 1)));
  g = mapn(r, TSH_OP_mul, fold(r, TSH_OP_sum, g, 1), lr);
  w = map2(r, TSH_OP_sub, w, g);
  rig_drop_since(r, mark, w);
  return w;
}

static void learn_plainly(problem *q, int64_t first, int64_t n, double lr) {
  double g[WIDTH] = {0};
  for (int64_t i = first; i < first + n; i++) {
    double e = -(double)q->t[i];
    for (int k = 0; k < WIDTH; k++) e += q->w[k] * (double)q->x[i][k];
    for (int k = 0; k < WIDTH; k++) g[k] += e * (double)q->x[i][k];
  }
  for (int k = 0; k < WIDTH; k++) q->w[k] -= lr * g[k];
}

Test(cache, a_training_loop_makes_two_plans_and_one_set_of_programs) {
  static const char *const devices[] = {"cpu", "opaque"};
  static problem q;
  for (int d = 0; d < 2; d++) {
    rig r;
    double lr = 0.01;
    uint64_t programs = 0;
    fill(&q);
    rig_open(&r, devices[d]);
    plan_node *x = leaf(&r, TSH_f32, q.x, DIMS(ROWS, WIDTH)), *next;
    plan_node *t = leaf(&r, TSH_f32, q.t, DIMS(ROWS));
    plan_node *w = leaf(&r, TSH_f32, (float[WIDTH]){0}, DIMS(WIDTH));
    for (int step = 0; step < 15; step++, lr *= 0.9) {
      int64_t first = step % 5 * 64, n = step % 5 == 4 ? 40 : 64;
      next = learn(&r, x, t, w, first, n, lr);
      learn_plainly(&q, first, n, lr);
      rig_drop(&r, w);
      w = next;
      cr_assert_eq(demand(&r, w, PLAN_EXACT), TSH_OK, "%s", r.err.text);
      if (step == 0) programs = COUNTER(&r, programs);
      for (int k = 0; k < WIDTH; k++)
        cr_expect_float_eq(value(&r, w, k), q.w[k], 1e-5);
    }
    cr_expect_leq(COUNTER(&r, plan_misses), 2, "%s", devices[d]);
    cr_expect_eq(COUNTER(&r, programs), programs, "%s", devices[d]);
    cr_expect_eq(COUNTER(&r, plan_hits), 13);
    cr_expect_eq(COUNTER(&r, in_place), 15);
    rig_close(&r);
  }
}

/* Was the plan of a sum over n elements there? */
static int hit(rig *r, int64_t n) {
  uint64_t misses = COUNTER(r, plan_misses);
  uint32_t mark = r->n;
  plan_node *y =
      fold(r, TSH_OP_sum, mapn(r, TSH_OP_add, ramp(r, DIMS(n)), 1), 1);
  cr_assert_eq(demand(r, y, PLAN_EXACT), TSH_OK, "%s", r->err.text);
  cr_expect_eq(value(r, y, 0), (double)(n * (n + 1) / 2));
  rig_drop_since(r, mark, NULL);
  return COUNTER(r, plan_misses) == misses;
}

Test(cache, the_plan_unused_for_longest_goes_when_bytes_pass_the_limit) {
  plan_options small = {.verify = 1, .cache_bytes = 100000};
  plan_options tiny = {.verify = 1, .cache_bytes = 1};
  uint64_t programs;
  rig r;
  rig_open(&r, "cpu");
  for (int64_t n = 1; n <= 100; n++) cr_expect_not(hit(&r, n));
  for (int64_t n = 1; n <= 100; n++) cr_expect(hit(&r, n), "%d", (int)n);
  cr_expect_leq(COUNTER(&r, programs), 2, "extents are arguments");
  plan_set_options(r.p, &small); /* holds about ten */
  cr_expect_not(hit(&r, 101));
  cr_expect(hit(&r, 101));
  cr_expect(hit(&r, 100));
  cr_expect_not(hit(&r, 1));
  for (int64_t n = 200; n < 240; n++) {
    cr_expect(hit(&r, 100), "it is used between all the others");
    cr_expect_not(hit(&r, n));
  }
  cr_expect_not(hit(&r, 200));
  plan_set_options(r.p, &tiny); /* the last plan always stays */
  cr_expect_not(hit(&r, 7));
  cr_expect(hit(&r, 7));
  programs = COUNTER(&r, programs);
  plan_trim(r.p);
  cr_expect_not(hit(&r, 7));
  cr_expect_gt(COUNTER(&r, programs), programs);
  rig_close(&r);
}
