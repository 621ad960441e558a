/* Windows are views that may overlap; custom is its first input to everything
 * but the tape; what is joined from joined parts is written once. */
#include "rig.h"

static plan_node *windows(rig *r, plan_node *x, int axis, int64_t size,
                          int64_t stride, int64_t dilation) {
  plan_window w = {size, stride, dilation};
  plan_node *y = NULL;
  tsh_status rc = plan_windows(r->p, x, axis, &w, &y, &r->err);
  return rig_own(r, rc, y);
}

static plan_node *dot(rig *r, plan_node *a, plan_node *b, uint32_t axes) {
  plan_node *y = NULL;
  tsh_status rc = plan_dot(r->p, a, b, axes, 0, &y, &r->err);
  return rig_own(r, rc, y);
}

static plan_node *cat(rig *r, plan_node *a, plan_node *b, int axis) {
  plan_node *parts[2] = {a, b}, *y = NULL;
  tsh_status rc = plan_cat(r->p, parts, 2, axis, &y, &r->err);
  return rig_own(r, rc, y);
}

Test(windows, of_ready_values_are_views_of_their_buffer) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(2, 7)), *y = windows(&r, x, 1, 3, 2, 1);
  cr_expect_eq(y->state, NODE_READY);
  cr_expect_eq(y->buf, x->buf);
  cr_expect_eq(y->shape, shape_of(&r, DIMS(2, 3, 3)));
  EXPECT(&r, y, 0, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 9, 10, 11, 11, 12, 13);
  y = windows(&r, x, 0, 2, 5, 1); /* one window */
  EXPECT(&r, y, 0, 7, 1, 8, 2, 9, 3, 10, 4, 11, 5, 12, 6, 13);
  y = windows(&r, transpose(&r, x), 0, 2, 1, 4);
  EXPECT(&r, y, 0, 4, 7, 11, 1, 5, 8, 12, 2, 6, 9, 13);
  rig_close(&r);
}

Test(windows, of_pending_values_are_read_in_place) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = mapn(&r, TSH_OP_mul, ramp(&r, DIMS(6)), 10), *y;
  y = windows(&r, x, 0, 2, 2, 3);
  cr_expect_eq(y->state, NODE_PENDING);
  EXPECT(&r, y, 0, 30, 20, 50);
  x = mapn(&r, TSH_OP_mul, ramp(&r, DIMS(6)), 10);
  y = fold(&r, TSH_OP_sum, windows(&r, x, 0, 3, 1, 1), 2);
  cr_expect_eq(LAUNCHES(&r, y), 2, "x, then sums of its windows");
  EXPECT(&r, y, 30, 60, 90, 120);
  /* windows side by side are a reshape: one kernel */
  x = mapn(&r, TSH_OP_mul, ramp(&r, DIMS(6)), 10);
  y = fold(&r, TSH_OP_sum, windows(&r, x, 0, 2, 2, 1), 2);
  cr_expect_eq(LAUNCHES(&r, y), 1);
  EXPECT(&r, y, 10, 50, 90);
  rig_close(&r);
}

Test(windows, by_weights_are_one_kernel_with_what_follows) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(1, 6)), *y;
  plan_node *w = leaf(&r, TSH_f32, (float[]){1, 2, -1, 0}, DIMS(2, 1, 2));
  y = dot(&r, w, windows(&r, x, 1, 2, 1, 1), 4); /* [1,5,2] by [2,1,2] */
  y = map1(&r, TSH_OP_relu, mapn(&r, TSH_OP_add, y, -5));
  cr_expect_eq(LAUNCHES(&r, y), 1);
  EXPECT(&r, y, 0, 0, 3, 6, 9, 0, 0, 0, 0, 0);
  rig_close(&r);
}

/* Equal shapes of other steps are other plans. */
Test(windows, steps_are_in_the_key) {
  rig r;
  rig_open(&r, "cpu");
  for (int i = 0; i < 2; i++) {
    plan_node *x = mapn(&r, TSH_OP_add, ramp(&r, DIMS(10)), 0);
    EXPECT(&r, windows(&r, x, 0, 2, 1, 5), 0, 5, 1, 6, 2, 7, 3, 8, 4, 9);
    x = mapn(&r, TSH_OP_add, ramp(&r, DIMS(10)), 0);
    EXPECT(&r, windows(&r, x, 0, 2, 2, 1), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  }
  rig_close(&r);
}

Test(windows, that_do_not_fit_are_refused) {
  static const plan_window bad[] = {
      {5, 1, 1}, {3, 1, 2}, {2, 1, 4},         {0, 1, 1},
      {1, 0, 1}, {2, 1, 0}, {2, 1, INT64_MAX}, {INT64_MAX, 1, INT64_MAX}};
  rig r;
  plan_node *y;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(4)), *none = ramp(&r, DIMS(0));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    cr_expect_eq(
        rig_fails(&r, plan_windows(r.p, x, 0, &bad[i], &y, &r.err), &y),
        TSH_EINVAL, "%zu", i);
  plan_window one = {1, 1, 1};
  cr_expect_eq(rig_fails(&r, plan_windows(r.p, x, 1, &one, &y, &r.err), &y),
               TSH_EINVAL);
  cr_expect_eq(rig_fails(&r, plan_windows(r.p, none, 0, &one, &y, &r.err), &y),
               TSH_EINVAL);
  x = ramp(&r, DIMS(1, 1, 1, 1, 1, 1, 1, 2)); /* no room for an axis */
  cr_expect_eq(rig_fails(&r, plan_windows(r.p, x, 7, &one, &y, &r.err), &y),
               TSH_EINVAL);
  x = ramp(&r, DIMS(4));
  plan_window far = {1, INT64_MAX, INT64_MAX}; /* steps that nobody takes */
  cr_assert_eq(plan_windows(r.p, x, 0, &far, &y, &r.err), TSH_OK);
  EXPECT(&r, rig_own(&r, TSH_OK, y), 0);
  rig_close(&r);
}

static plan_node *custom(rig *r, plan_node *const *in, int n) {
  plan_node *y = NULL;
  tsh_status rc = plan_custom(r->p, in, n, &y, &r->err);
  return rig_own(r, rc, y);
}

/* ---- custom -------------------------------------------------------------- */
Test(custom, is_its_first_input_and_holds_the_others_for_the_tape_only) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(1000)), *far = ramp(&r, DIMS(1000));
  plan_node *in[3] = {mapn(&r, TSH_OP_add, x, 1), x, far}, *y = NULL;
  uint32_t tape, leaves, mark = r.n;
  plan_record record;
  cr_assert_eq(plan_tape_open(r.p, &tape, &r.err), TSH_OK);
  leaves = r.p->trace.nleaf;
  y = custom(&r, in, 3);
  cr_expect_eq(r.p->trace.nleaf, leaves, "far is no leaf of the trace");
  plan_record_of(y, &record);
  cr_expect(record.op == TSH_OP_custom && record.n == 3);
  cr_expect(record.in[0].node == in[0] && record.in[2].node == far);
  cr_expect_eq(LAUNCHES(&r, mapn(&r, TSH_OP_mul, y, 2)), 1);
  uint64_t live = COUNTER(&r, bytes_live);
  rig_drop(&r, far);
  cr_expect_eq(COUNTER(&r, bytes_live), live, "the tape has it");
  plan_tape_close(r.p, tape);
  cr_expect_leq(COUNTER(&r, bytes_live), live - 4000, "far is gone");
  cr_expect_eq(value(&r, y, 999), 1000);
  rig_drop_since(&r, mark, NULL);
  rig_close(&r);
}

Test(custom, of_a_ready_value_is_ready) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *in[2] = {ramp(&r, DIMS(3)), ramp(&r, DIMS(2))}, *y = NULL;
  y = custom(&r, in, 2);
  cr_expect_eq(y->state, NODE_READY);
  EXPECT(&r, y, 0, 1, 2);
  cr_expect_eq(rig_fails(&r, plan_custom(r.p, in, 0, &y, &r.err), &y),
               TSH_EINVAL);
  rig_close(&r);
}

Test(custom, does_not_hide_how_often_its_value_is_read) {
  rig r;
  plan_node *v, *y = NULL, *a, *b;
  rig_open(&r, "cpu");
  /* Two parts of a product: read once it would be made for each part alone;
   * read twice through custom, it is one kernel of its own. */
  v = map1(&r, TSH_OP_exp, ramp(&r, DIMS(8)));
  y = custom(&r, &v, 1);
  a = slice(&r, y, RANGE({0, 4, 2}));
  b = slice(&r, y, RANGE({1, 4, 2}));
  y = map2(&r, TSH_OP_add, a, b);
  rig_drop(&r, a);
  rig_drop(&r, b);
  cr_expect_eq(LAUNCHES(&r, y), 2);
  rig_close(&r);
}

/* ---- joined from joined -------------------------------------------------- */
/* parts[y][x] at [2q+y, 2p+x]: a cat of cats, through views. */
static plan_node *quilt(rig *r, plan_node *const *part, plan_node **inner) {
  plan_node *row[2], *wide[2];
  for (int y = 0; y < 2; y++) {
    plan_node *a = reshape(r, part[2 * y], DIMS(2, 3, 1));
    plan_node *b = reshape(r, part[2 * y + 1], DIMS(2, 3, 1));
    row[y] = cat(r, a, b, 2);
    wide[y] = reshape(r, row[y], DIMS(2, 1, 6));
    if (inner && y == 0) *inner = row[y];
  }
  return reshape(r, cat(r, wide[0], wide[1], 1), DIMS(4, 6));
}

static const double quilted[24] = {0, 10, 1, 11, 2, 12, 20, 30, 21, 31, 22, 32,
                                   3, 13, 4, 14, 5, 15, 23, 33, 24, 34, 25, 35};

Test(box, parts_of_parts_go_to_their_places_at_once) {
  rig r;
  plan_node *part[4], *x, *y, *inner;
  uint32_t mark;
  rig_open(&r, "cpu");
  x = ramp(&r, DIMS(2, 3));
  mark = r.n;
  y = mapn(&r, TSH_OP_mul, x, 1); /* what makes them one kernel */
  for (int i = 0; i < 4; i++) part[i] = mapn(&r, TSH_OP_add, y, 10 * i);
  y = quilt(&r, part, NULL);
  rig_drop_since(&r, mark, y);
  cr_expect_eq(LAUNCHES(&r, y), 1, "four sums, four stores");
  cr_expect(are(&r, y, 24, quilted), "%s", r.text);
  /* Wanted through a view that changes nothing. */
  y = cat(&r, full(&r, 1, DIMS(2)), full(&r, 2, DIMS(1)), 0);
  inner = permute(&r, y, ORDER(0));
  rig_drop(&r, y);
  y = cat(&r, inner, ramp(&r, DIMS(1)), 0);
  cr_assert_eq(demand(&r, y, PLAN_EXACT), TSH_OK);
  EXPECT(&r, y, 1, 1, 2, 0);
  EXPECT(&r, inner, 1, 1, 2);
  x = ramp(&r, DIMS(2, 3));
  for (int i = 0; i < 4; i++) part[i] = mapn(&r, TSH_OP_add, x, 10 * i);
  y = quilt(&r, part, &inner); /* that is wanted as well */
  cr_expect_geq(LAUNCHES(&r, y, inner), 2);
  cr_expect(are(&r, y, 24, quilted), "%s", r.text);
  EXPECT(&r, inner, 0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15);
  rig_close(&r);
}
