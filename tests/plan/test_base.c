/* Any allocation of the planner may fail: the call says so, nothing leaks, and
 * the planner goes on. Run it under a leak checker. */
#include <stdlib.h>
#include "rig.h"

static long left; /* allocations until one fails */
static int fired;

static int fuse(size_t bytes) {
  (void)bytes;
  if (left <= 0 || --left > 0) return 1;
  fired = 1;
  return 0;
}

typedef tsh_status (*scenario)(plan *p, dev *d, tsh_err *err);

/* ---- scenarios: each checks its values and drops its nodes ----------------
 */
static const plan_shape *dims(plan *p, int rank, const int64_t *dim,
                              tsh_err *err) {
  return plan_shape_get(p, rank, dim, err);
}

static tsh_status read4(plan *p, plan_node *x, const float *want,
                        tsh_err *err) {
  float got[4] = {-1, -1, -1, -1};
  tsh_status rc = plan_read(p, x, got, PLAN_EXACT, err);
  if (rc == TSH_OK) cr_expect_arr_eq(got, want, sizeof got);
  return rc;
}

/* relu(x * 2 - 3 + x), its sum over rows, its transpose */
static tsh_status maps_and_folds(plan *p, dev *d, tsh_err *err) {
  static const float host[4] = {0, 1, 2, 3}, want[4] = {0, 0, 3, 6};
  plan_node *x = NULL, *a = NULL, *b = NULL, *c = NULL, *s = NULL, *t = NULL;
  const plan_shape *shape = dims(p, DIMS(2, 2), err);
  plan_operand in[2];
  float sums[2], turned[4];
  tsh_status rc = TSH_OK;
  if (!shape) return err->code;
  TRY(plan_data(p, d, TSH_f32, shape, host, &x, err));
  in[0] = operand_of(x);
  in[1] = num(2);
  TRY(plan_map(p, TSH_OP_mul, in, 2, &a, err));
  in[0] = operand_of(a);
  in[1] = num(3);
  TRY(plan_map(p, TSH_OP_sub, in, 2, &b, err));
  in[0] = operand_of(b);
  in[1] = operand_of(x);
  TRY(plan_map(p, TSH_OP_add, in, 2, &c, err));
  plan_drop(p, a);
  in[0] = operand_of(c);
  TRY(plan_map(p, TSH_OP_relu, in, 1, &a, err));
  TRY(plan_fold(p, TSH_OP_sum, a, 2, 0, &s, err));
  TRY(plan_permute(p, a, ORDER(1, 0), &t, err));
  TRY(read4(p, a, want, err));
  TRY(plan_read(p, s, sums, 0, err));
  TRY(plan_read(p, t, turned, 0, err));
  cr_expect(sums[0] == 0 && sums[1] == 9 && turned[1] == 3);
out:
  plan_drop(p, x);
  plan_drop(p, a);
  plan_drop(p, b);
  plan_drop(p, c);
  plan_drop(p, s);
  plan_drop(p, t);
  return rc;
}

/* cat of two parts, a set in it, one row of which is w - 0.5 * row. */
static tsh_status boxes_and_updates(plan *p, dev *d, tsh_err *err) {
  static const float host[4] = {1, 2, 3, 4}, want[4] = {-3.5, 2, 1.5, 2};
  plan_node *w = NULL, *c = NULL, *s = NULL, *t = NULL, *h = NULL, *y = NULL;
  plan_node *parts[2];
  const plan_shape *shape = dims(p, DIMS(4), err);
  plan_operand in[2], nine = num(9);
  tsh_status rc = TSH_OK;
  if (!shape) return err->code;
  TRY(plan_data(p, d, TSH_f32, shape, host, &w, err));
  in[0] = operand_of(w);
  in[1] = num(1);
  TRY(plan_map(p, TSH_OP_sub, in, 2, &t, err));
  parts[0] = w;
  parts[1] = t; /* 1 2 3 4 0 1 2 3 */
  TRY(plan_cat(p, parts, 2, 0, &c, err));
  TRY(plan_set(p, c, RANGE({0, 1, 1}), &nine, &s, err));
  plan_drop(p, t);
  t = NULL;
  TRY(plan_slice(p, s, RANGE({0, 4, 2}), &t, err)); /* 9 3 0 2 */
  plan_drop(p, c);
  c = NULL;
  TRY(plan_pad(p, t, (int64_t[]){0}, (int64_t[]){0}, &nine, &c, err));
  in[0] = operand_of(c);
  in[1] = num(0.5);
  TRY(plan_map(p, TSH_OP_mul, in, 2, &h, err)); /* 4.5 1.5 0 1 */
  in[0] = operand_of(w);
  in[1] = operand_of(h);
  TRY(plan_map(p, TSH_OP_sub, in, 2, &y, err)); /* -3.5 0.5 3 3 */
  plan_drop(p, w);
  plan_drop(p, t);
  w = t = NULL;
  TRY(plan_slice(p, y, RANGE({1, 1, 1}), &t, err)); /* 0.5 */
  plan_drop(p, h);
  h = NULL;
  in[0] = operand_of(t);
  in[1] = num(3);
  TRY(plan_map(p, TSH_OP_mul, in, 2, &h, err)); /* 1.5 */
  plan_drop(p, s);
  s = NULL;
  in[0] = operand_of(h);
  TRY(plan_set(p, y, RANGE({2, 1, 1}), in, &s, err)); /* -3.5 0.5 1.5 3 */
  plan_drop(p, c);
  c = NULL;
  in[0] = num(2);
  TRY(plan_set(p, s, RANGE({1, 2, 2}), in, &c, err)); /* -3.5 2 1.5 2 */
  TRY(read4(p, c, want, err));
out:
  plan_drop(p, w);
  plan_drop(p, c);
  plan_drop(p, s);
  plan_drop(p, t);
  plan_drop(p, h);
  plan_drop(p, y);
  return rc;
}

/* A product with its epilogue, softmax, a part demanded alone, an index. */
static tsh_status products_and_parts(plan *p, dev *d, tsh_err *err) {
  static const float host[4] = {1, 2, 3, 4}, want[4] = {8, 11, 16, 23};
  plan_node *x = NULL, *m = NULL, *y = NULL, *s = NULL, *i = NULL, *t = NULL;
  const plan_shape *shape = dims(p, DIMS(2, 2), err);
  plan_operand in[2];
  float part[4];
  int64_t rows[1] = {-1};
  plan_rng rng = {0};
  tsh_status rc = TSH_OK;
  if (!shape) return err->code;
  TRY(plan_data(p, d, TSH_f32, shape, host, &x, err));
  TRY(plan_matmul(p, x, x, &m, err));
  in[0] = operand_of(m);
  in[1] = num(1);
  TRY(plan_map(p, TSH_OP_add, in, 2, &y, err));
  TRY(plan_softmax(p, y, 1, &s, err));
  TRY(plan_demand(p, &y, 1, PLAN_ONLY, err));
  TRY(read4(p, y, want, err));
  TRY(plan_read(p, s, part, 0, err));
  cr_expect_float_eq(part[0] + part[1], 1, 1e-6);
  if (!(shape = dims(p, DIMS(1), err))) {
    rc = err->code;
    goto out;
  }
  TRY(plan_data(p, d, TSH_i64, shape, rows, &t, err));
  TRY(plan_index(p, t, 2, &i, err));
  plan_drop(p, t);
  t = NULL;
  TRY(plan_take(p, y, i, 0, &t, err));
  TRY(plan_read(p, t, part, 0, err));
  cr_expect(part[0] == 16 && part[1] == 23);
  plan_drop(p, t);
  t = NULL;
  TRY(plan_rand(p, d, TSH_f32, shape, &rng, &t, err));
  TRY(plan_read(p, t, part, 0, err));
  cr_expect_eq(part[0], (float)(0x6627e8d5 >> 8) / 0x1p24f);
out:
  plan_drop(p, x);
  plan_drop(p, m);
  plan_drop(p, y);
  plan_drop(p, s);
  plan_drop(p, i);
  plan_drop(p, t);
  return rc;
}

/* A tape over a flush, with what was fused away used again; a bad index. */
static tsh_status tapes_and_errors(plan *p, dev *d, tsh_err *err) {
  static const float host[4] = {1, 2, 3, 4}, want[4] = {2, 3, 4, 5};
  static const int64_t bad[4] = {1, 2, 3, 9};
  plan_node *x = NULL, *a = NULL, *b = NULL, *c = NULL, *i = NULL;
  const plan_shape *shape = dims(p, DIMS(4), err);
  plan_operand in[2];
  uint32_t tape;
  tsh_status rc = TSH_OK;
  if (!shape) return err->code;
  TRY(plan_data(p, d, TSH_f32, shape, host, &x, err));
  if ((rc = plan_tape_open(p, &tape, err)) != TSH_OK) goto out;
  in[0] = operand_of(x);
  in[1] = num(1);
  if ((rc = plan_map(p, TSH_OP_add, in, 2, &a, err)) != TSH_OK) goto close;
  in[0] = operand_of(a);
  if ((rc = plan_map(p, TSH_OP_mul, in, 2, &b, err)) != TSH_OK) goto close;
  plan_drop(p, a);
  a = NULL;
  if ((rc = plan_demand(p, &b, 1, PLAN_EXACT, err)) != TSH_OK) goto close;
  a = plan_keep(plan_tape_node(p, tape)); /* fused away: computed again */
  if ((rc = read4(p, a, want, err)) != TSH_OK) goto close;
  rc = plan_data(p, d, TSH_i64, shape, bad, &i, err);
  if (rc == TSH_OK) rc = plan_index(p, i, 4, &c, err);
  if (rc != TSH_OK) goto close;
  rc = plan_demand(p, &c, 1, PLAN_EXACT, err);
  if (rc == TSH_EINDEX) rc = TSH_OK;
close:
  plan_tape_close(p, tape);
out:
  plan_drop(p, x);
  plan_drop(p, a);
  plan_drop(p, b);
  plan_drop(p, c);
  plan_drop(p, i);
  return rc;
}

static const scenario scenarios[] = {maps_and_folds, boxes_and_updates,
                                     products_and_parts, tapes_and_errors};

/* ---- the search -----------------------------------------------------------
 */
/* One try with the n-th allocation failing. Returns 0 when there is none. */
static int starve(plan *p, dev *d, scenario f, int which, long n) {
  tsh_err err = {.size = sizeof err};
  tsh_status rc;
  fired = 0;
  left = n;
  rc = f(p, d, &err);
  left = 0;
  if (rc != TSH_OK) {
    cr_expect(fired, "scenario %d: %s", which, err.text);
    cr_expect_eq(rc, TSH_ENOMEM, "scenario %d, allocation %ld: status %d, %s",
                 which, n, rc, err.text);
    cr_expect_not_null(strstr(err.text, "memory"), "%s", err.text);
  }
  return fired;
}

static void expect_sound(plan *p, dev *d, scenario f, int which, long n) {
  tsh_err err = {.size = sizeof err};
  cr_expect_eq(f(p, d, &err), TSH_OK, "scenario %d after allocation %ld: %s",
               which, n, err.text);
}

/* Every allocation of a new planner, then of one that has run and was trimmed:
 * each time a clean error, and the same work is done right afterwards. */
Test(base, every_allocation_may_fail) {
  plan_options options = {.verify = 1};
  rig r;
  rig_open(&r, "cpu");
  plan_alloc_hook = fuse;
  for (int i = 0; i < (int)(sizeof scenarios / sizeof *scenarios); i++) {
    int more = 1;
    for (long n = 1; more; n++) {
      plan *p = NULL;
      left = n;
      fired = 0;
      tsh_status rc = plan_new(r.devices, &options, &p, &r.err);
      long rest = left;
      left = 0;
      if (rc != TSH_OK) {
        cr_expect_eq(rc, TSH_ENOMEM);
        cr_expect_null(p);
        continue;
      }
      more = starve(p, r.d, scenarios[i], i, rest);
      expect_sound(p, r.d, scenarios[i], i, n);
      trace_clear(p, &p->trace);
      plan_trim(p);
      cr_expect_eq(plan_counters_get(p)->bytes_live, 0, "scenario %d, %ld", i,
                   n);
      plan_free(p);
      cr_assert_lt(n, 5000);
    }
    for (long n = 1, again = 1; again; n++) {
      again = starve(r.p, r.d, scenarios[i], i, n);
      starve(r.p, r.d, scenarios[(i + 1) % 4], i, n / 2);
      expect_sound(r.p, r.d, scenarios[i], i, n);
      plan_trim(r.p);
    }
  }
  plan_alloc_hook = NULL;
  rig_close(&r);
}
