/* With shapes_only plans are made and not run: no launch, no program, no
 * memory, and the counts of what would have been. */
#include <math.h>
#include "rig.h"

static void open_shapes(rig *r, const char *device) {
  plan_options options = {.verify = 1, .shapes_only = 1};
  rig_open(r, device);
  plan_set_options(r->p, &options);
}

Test(estimate, counts_launches_and_sends_none) {
  static const char *const devices[] = {"cpu", "example", "opaque"};
  for (int d = 0; d < 3; d++) {
    rig r;
    open_shapes(&r, devices[d]);
    plan_node *x = ramp(&r, DIMS(10, 20));
    plan_node *y = map2(&r, TSH_OP_add, x, x), *s = fold(&r, TSH_OP_sum, y, 1);
    float host[20] = {0};
    cr_assert_eq(plan_read(r.p, s, host, 0, &r.err), TSH_OK, "%s", r.err.text);
    const plan_counters *c = plan_counters_get(r.p);
    const plan_estimate *e = plan_estimate_get(r.p);
    cr_expect_eq(c->kernels, 0);
    cr_expect_eq(c->programs, 0);
    cr_expect_eq(c->plan_misses, 1);
    cr_expect_geq(e->launches, 1);
    cr_expect_geq(e->flops, 2 * 10 * 20 - 20.0);
    cr_expect_geq(e->read, 10 * 20 * 4.0);
    cr_expect_geq(e->written, 20 * 4.0);
    cr_expect(plan_is_ready(s) && !plan_is_known(s));
    cr_expect(plan_is_known(x));
    for (int i = 0; i < 20; i++) cr_expect(isnan(host[i]));
    rig_close(&r);
  }
}

Test(estimate, counts_memory_that_is_not_there) {
  rig r;
  open_shapes(&r, "cpu");
  uint64_t before = plan_counters_get(r.p)->bytes_live;
  plan_node *x = full(&r, 3, DIMS(1 << 20, 1 << 20));
  cr_assert_eq(plan_demand(r.p, &x, 1, 0, &r.err), TSH_OK, "%s", r.err.text);
  cr_expect_eq(plan_counters_get(r.p)->bytes_live - before, UINT64_C(1) << 42);
  rig_drop(&r, x);
  cr_expect_eq(plan_counters_get(r.p)->bytes_live, before);
  rig_close(&r);
}

Test(estimate, fills_integers_with_one_and_bools_with_false) {
  rig r;
  open_shapes(&r, "cpu");
  static const int dtypes[] = {TSH_bool, TSH_i8,  TSH_u16, TSH_i32,
                               TSH_i64,  TSH_f16, TSH_f64};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    union {
      uint8_t bits8;
      uint16_t bits16;
      int32_t i32;
      int64_t i64;
      double f64;
    } v = {.i64 = 0};
    plan_node *x =
        cast(&r, map2(&r, TSH_OP_add, FLOATS(&r, 7), FLOATS(&r, 7)), dtypes[i]);
    cr_assert_eq(plan_read(r.p, x, &v, 0, &r.err), TSH_OK);
    if (dtypes[i] == TSH_f16)
      cr_expect(isnan(plan_half_value(TSH_f16, v.bits16)));
    else if (dtypes[i] == TSH_f64)
      cr_expect(isnan(v.f64));
    else
      cr_expect_eq(v.i64, dtypes[i] != TSH_bool, "%s",
                   plan_dtype_name(dtypes[i]));
  }
  rig_close(&r);
}

/* What is overwritten in place is known no longer, by any of its views. */
Test(estimate, an_update_makes_its_leaf_unknown) {
  rig r;
  open_shapes(&r, "cpu");
  uint32_t before = r.n;
  plan_node *w = FLOATS(&r, 1, 2, 3, 4), *w2 = mapn(&r, TSH_OP_add, w, 1);
  float host[4];
  rig_drop_since(&r, before, w2);
  cr_assert_eq(plan_demand(r.p, &w2, 1, PLAN_EXACT, &r.err), TSH_OK);
  cr_expect_eq(plan_counters_get(r.p)->in_place, 1);
  cr_expect_not(plan_is_known(w2));
  cr_assert_eq(plan_read(r.p, w2, host, 0, &r.err), TSH_OK);
  cr_expect(isnan(host[0]));
  rig_close(&r);
}

Test(estimate, data_are_known_also_through_views) {
  rig r;
  open_shapes(&r, "opaque");
  plan_node *x = ramp(&r, DIMS(2, 3)), *t = transpose(&r, x);
  float host[6];
  cr_assert_eq(plan_read(r.p, t, host, 0, &r.err), TSH_OK, "%s", r.err.text);
  for (int i = 0; i < 6; i++) cr_expect_eq(host[i], i / 2 + 3 * (i % 2));
  rig_close(&r);
}

Test(estimate, a_plan_that_refuses_changes_nothing) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = mapn(&r, TSH_OP_add, FLOATS(&r, 1, 2), 1);
  plan_refuse(r.p, 1);
  cr_expect_eq(plan_demand(r.p, &x, 1, 0, &r.err), TSH_EINVAL);
  cr_expect_eq(plan_demand(r.p, NULL, 0, 0, &r.err), TSH_OK);
  cr_expect_not(plan_is_ready(x));
  plan_refuse(r.p, 0);
  float host[2];
  cr_assert_eq(plan_read(r.p, x, host, 0, &r.err), TSH_OK);
  cr_expect_eq(host[1], 3);
  rig_close(&r);
}
