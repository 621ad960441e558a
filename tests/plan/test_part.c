/* A part of a pending value costs what the part costs. */
#include "rig.h"

static plan_node *part(rig *r, plan_node *x, const plan_range *range) {
  plan_node *y = NULL;
  tsh_status rc = plan_part(r->p, x, range, &y, &r->err);
  return rig_own(r, rc, y);
}

/* (10 x + 1) + full * (10 x + 1), 4 by 6, x = 0, 1, 2 ... */
static plan_node *chain(rig *r) {
  plan_node *x = mapn(r, TSH_OP_mul, ramp(r, DIMS(4, 6)), 10);
  plan_node *y = mapn(r, TSH_OP_add, x, 1);
  return map2(r, TSH_OP_add, y, map2(r, TSH_OP_mul, full(r, 2, DIMS(4, 6)), y));
}

Test(part, of_maps_allocates_for_the_part_alone) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = chain(&r);
  uint64_t before = COUNTER(&r, bytes_allocated);
  plan_node *y = part(&r, x, RANGE({1, 2, 2}, {5, 2, -5}));
  cr_assert_eq(demand(&r, y, PLAN_ONLY), TSH_OK);
  cr_expect_eq(x->state, NODE_PENDING);
  cr_expect_eq(COUNTER(&r, bytes_allocated) - before, 4 * sizeof(float));
  EXPECT(&r, y, 333, 183, 693, 543);
  EXPECT(&r, part(&r, x, RANGE({3, 1, 1}, {2, 1, 1})), 603);
  cr_assert_eq(demand(&r, x, 0), TSH_OK);
  cr_expect_eq(value(&r, x, 20), 603);
  rig_close(&r);
}

Test(part, of_other_values_is_a_slice) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *ready = ramp(&r, DIMS(2, 3));
  EXPECT(&r, part(&r, ready, RANGE({1, 1, 1}, {0, 2, 2})), 3, 5);
  rig_close(&r);
}

static int left;
static int fuse(size_t bytes) {
  (void)bytes;
  return left-- > 0;
}

Test(part, without_memory_fails_and_leaves_nothing) {
  rig r;
  rig_open(&r, "cpu");
  int done = 0;
  for (int n = 0; n < 200 && !done; n++) {
    plan_node *x = chain(&r), *y = NULL;
    left = n;
    plan_alloc_hook = fuse;
    tsh_status rc = plan_part(r.p, x, RANGE({0, 1, 1}, {1, 1, 1}), &y, &r.err);
    plan_alloc_hook = NULL;
    done = rc == TSH_OK;
    if (done)
      EXPECT(&r, rig_own(&r, rc, y), 33);
    else
      cr_expect(rc == TSH_ENOMEM && !y);
  }
  cr_expect(done);
  rig_close(&r);
}
