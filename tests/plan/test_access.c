/* Views are strides over one buffer wherever strides can say it; what they show
 * is compared with element-by-element arithmetic. */
#include <stdlib.h>
#include "rig.h"

static void reshapes(rig *r, int rf, const int64_t *from, const int64_t *stride,
                     int rt, const int64_t *to, const int64_t *want) {
  int64_t got[PLAN_RANK];
  int ok =
      access_reshape(shape_of(r, rf, from), stride, shape_of(r, rt, to), got);
  cr_expect_eq(ok, want != NULL, "%d axes to %d", rf, rt);
  if (ok && want)
    for (int i = 0; i < rt; i++)
      cr_expect(to[i] == 1 || got[i] == want[i], "axis %d: %lld", i,
                (long long)got[i]);
}

#define AS(...) ((const int64_t[]){__VA_ARGS__})

Test(access, reshape_is_strides_when_merged_axes_lie_evenly) {
  rig r;
  rig_open(&r, "cpu");
  reshapes(&r, DIMS(4, 6), AS(6, 1), DIMS(24), AS(1));
  reshapes(&r, DIMS(24), AS(-2), DIMS(4, 3, 2), AS(-12, -4, -2));
  reshapes(&r, DIMS(4, 6), AS(10, 1), DIMS(2, 2, 3, 2), AS(20, 10, 2, 1));
  reshapes(&r, DIMS(4, 6), AS(10, 1), DIMS(24), NULL);
  reshapes(&r, DIMS(4, 6), AS(1, 4), DIMS(24), NULL); /* transposed */
  reshapes(&r, DIMS(4, 6), AS(1, 4), DIMS(2, 2, 6), AS(2, 1, 4));
  reshapes(&r, DIMS(4, 6), AS(10, 1), DIMS(8, 3), NULL);
  reshapes(&r, DIMS(3, 4), AS(0, 0), DIMS(2, 6), AS(0, 0)); /* repeated */
  reshapes(&r, DIMS(3, 4), AS(0, 1), DIMS(12), NULL);
  reshapes(&r, DIMS(1, 6, 1), AS(77, 1, 99), DIMS(3, 1, 2), AS(2, 0, 1));
  reshapes(&r, DIMS(1, 1), AS(5, 5), SCALAR, AS(0));
  reshapes(&r, SCALAR, NULL, DIMS(1, 1), AS(0, 0));
  reshapes(&r, DIMS(3, 0), AS(0, 1), DIMS(0, 7), AS(7, 1));
  rig_close(&r);
}

/* ---- chains of views against a plain array --------------------------------
 */
typedef struct {
  int rank;
  int64_t dim[PLAN_RANK];
  float v[512];
} array;

static int64_t count_of(const array *a) {
  int64_t n = 1;
  for (int i = 0; i < a->rank; i++) n *= a->dim[i];
  return n;
}

/* Positions of element number i along each axis. */
static void unravel(const array *a, int64_t i, int64_t *at) {
  for (int k = a->rank; k-- > 0; i /= a->dim[k]) at[k] = i % a->dim[k];
}

static float element(const array *a, const int64_t *at) {
  int64_t i = 0;
  for (int k = 0; k < a->rank; k++) i = i * a->dim[k] + at[k];
  return a->v[i];
}

static uint32_t draw(uint32_t *seed, uint32_t n) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % n;
}

static plan_node *permuted(rig *r, plan_node *x, array *a, uint32_t *seed) {
  uint8_t order[PLAN_RANK];
  array b = {.rank = a->rank};
  for (int i = 0; i < a->rank; i++) order[i] = (uint8_t)i;
  for (int i = a->rank; i-- > 1;) {
    uint32_t j = draw(seed, (uint32_t)i + 1);
    uint8_t t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (int i = 0; i < a->rank; i++) b.dim[i] = a->dim[order[i]];
  for (int64_t i = 0; i < count_of(a); i++) {
    int64_t at[PLAN_RANK], from[PLAN_RANK];
    unravel(&b, i, at);
    for (int k = 0; k < a->rank; k++) from[order[k]] = at[k];
    b.v[i] = element(a, from);
  }
  *a = b;
  return permute(r, x, order);
}

static plan_node *sliced(rig *r, plan_node *x, array *a, uint32_t *seed) {
  plan_range range[PLAN_RANK] = {{0, 0, 0}};
  array b = {.rank = a->rank};
  for (int i = 0; i < a->rank; i++) {
    int64_t n = a->dim[i], step = 1 + draw(seed, 2), start, most;
    start = draw(seed, (uint32_t)n);
    if (draw(seed, 2)) step = -step;
    most = step > 0 ? (n - 1 - start) / step + 1 : start / -step + 1;
    range[i].start = start;
    range[i].step = step;
    b.dim[i] = range[i].count = 1 + draw(seed, (uint32_t)most);
  }
  for (int64_t i = 0; i < count_of(&b); i++) {
    int64_t at[PLAN_RANK];
    unravel(&b, i, at);
    for (int k = 0; k < a->rank; k++)
      at[k] = range[k].start + at[k] * range[k].step;
    b.v[i] = element(a, at);
  }
  *a = b;
  return slice(r, x, range);
}

static plan_node *expanded(rig *r, plan_node *x, array *a, uint32_t *seed) {
  array b = {.rank = a->rank + 1};
  b.dim[0] = 1 + draw(seed, 2);
  for (int i = 0; i < a->rank; i++)
    b.dim[i + 1] = a->dim[i] == 1 ? 1 + draw(seed, 2) : a->dim[i];
  if (b.rank > 5 || count_of(&b) > 500) return x;
  for (int64_t i = 0; i < count_of(&b); i++) {
    int64_t at[PLAN_RANK];
    unravel(&b, i, at);
    for (int k = 0; k < a->rank; k++) at[k + 1] %= a->dim[k];
    b.v[i] = element(a, at + 1);
  }
  *a = b;
  return expand(r, x, b.rank, b.dim);
}

static plan_node *reshaped(rig *r, plan_node *x, array *a, uint32_t *seed) {
  int64_t left = count_of(a);
  a->rank = 0;
  while (left > 1 && a->rank < 4) {
    int64_t d = 1 + draw(seed, 4);
    while (left % d) d--;
    a->dim[a->rank++] = d;
    left /= d;
  }
  a->dim[a->rank++] = left;
  return reshape(r, x, a->rank, a->dim);
}

static void chain(rig *r, uint32_t seed, int pending) {
  array a = {.rank = 3, .dim = {4, 6, 5}};
  uint32_t mark = r->n;
  plan_node *x = ramp(r, a.rank, a.dim);
  double want[512];
  for (int i = 0; i < 120; i++) a.v[i] = (float)i;
  if (pending) {
    x = mapn(r, TSH_OP_add, x, 1);
    for (int i = 0; i < 120; i++) a.v[i] += 1;
  }
  for (int i = 0; i < 5; i++) switch (draw(&seed, 4)) {
    case 0:
      x = permuted(r, x, &a, &seed);
      break;
    case 1:
      x = sliced(r, x, &a, &seed);
      break;
    case 2:
      x = expanded(r, x, &a, &seed);
      break;
    default:
      x = reshaped(r, x, &a, &seed);
    }
  if (draw(&seed, 2)) x = mapn(r, TSH_OP_mul, x, 1);
  for (int64_t i = 0; i < count_of(&a); i++) want[i] = (double)a.v[i];
  cr_expect(are(r, x, (int)count_of(&a), want), "seed %u, pending %d: %s", seed,
            pending, r->text);
  rig_drop_since(r, mark, NULL);
}

Test(access, chains_of_views_show_the_right_elements) {
  rig r;
  rig_open(&r, "cpu");
  for (uint32_t seed = 1; seed <= 400; seed++) chain(&r, seed * 7919, seed & 1);
  rig_close(&r);
}

Test(access, views_of_ready_values_share_the_buffer) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(4, 6)), *v;
  uint64_t buffers = COUNTER(&r, buffers), ops = r.p->trace.n;
  v = slice(&r, transpose(&r, x), RANGE({5, 3, -2}, {3, 4, -1}));
  v = slice(&r, v, RANGE({1, 2, 1}, {0, 2, 3}));
  v = expand(&r, reshape(&r, v, DIMS(2, 1, 2)), DIMS(2, 2, 2));
  cr_expect(plan_is_ready(v));
  cr_expect_eq(r.p->trace.n, ops);
  cr_expect_eq(COUNTER(&r, buffers), buffers);
  /* Column 3, then column 1; rows 3 and 0; each twice. */
  EXPECT(&r, v, 21, 3, 21, 3, 19, 1, 19, 1);
  v = reshape(&r, transpose(&r, x), DIMS(24)); /* no strides: recorded */
  cr_expect_not(plan_is_ready(v));
  cr_expect_eq(value(&r, v, 1), 6);
  cr_expect_eq(value(&r, v, 23), 23);
  rig_close(&r);
}

Test(access, views_out_of_range_are_refused) {
  static const plan_range bad[] = {
      {0, 7, 1},         {6, 1, 1},         {-1, 1, 1}, {0, 2, 6},
      {0, 2, -1},        {5, 2, 1},         {4, 3, -3}, {0, 1, 0},
      {0, 2, INT64_MAX}, {5, 2, INT64_MIN}, {0, -1, 1}};
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(6)), *m = ramp(&r, DIMS(2, 3)), *y = NULL;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    rig_fails(&r, plan_slice(r.p, x, &bad[i], &y, &r.err), &y);
  /* One element: the step says nothing. */
  EXPECT(&r, slice(&r, x, RANGE({3, 1, INT64_MAX})), 3);
  EXPECT(&r, slice(&r, m, RANGE({1, 1, INT64_MIN}, {2, 1, INT64_MAX})), 5);
  EXPECT(&r, slice(&r, x, RANGE({0, 2, 5})), 0, 5);
  EXPECT(&r, slice(&r, x, RANGE({5, 3, -2})), 5, 3, 1);
  cr_expect_eq(plan_shape_of(slice(&r, x, RANGE({99, 0, 1})))->count, 0);
  rig_fails(&r, plan_permute(r.p, m, ORDER(0, 0), &y, &r.err), &y);
  rig_fails(&r, plan_permute(r.p, m, ORDER(0, 2), &y, &r.err), &y);
  rig_fails(&r, plan_expand(r.p, m, shape_of(&r, DIMS(3, 2)), &y, &r.err), &y);
  rig_fails(&r, plan_expand(r.p, m, shape_of(&r, DIMS(3)), &y, &r.err), &y);
  rig_close(&r);
}
