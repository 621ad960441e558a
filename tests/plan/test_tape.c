/* While a tape is open records outlive their handles; values do so where a
 * gradient rule names them, and are computed again where none does. */
#include "rig.h"

static uint32_t tape_open(rig *r) {
  uint32_t tape = UINT32_MAX;
  cr_assert_eq(plan_tape_open(r->p, &tape, &r->err), TSH_OK);
  return tape;
}

/* The only record of op since the tape was opened. */
static plan_node *taped(rig *r, uint32_t tape, int op) {
  plan_node *found = NULL;
  for (uint32_t i = tape; i < plan_tape_end(r->p); i++) {
    plan_node *n = plan_tape_node(r->p, i);
    plan_record record;
    plan_record_of(n, &record);
    if (record.op != op) continue;
    cr_expect_null(found);
    found = n;
  }
  cr_assert_not_null(found, "no %s on the tape", plan_ops[op].name);
  return found;
}

static plan_record record_of(const plan_node *n) {
  plan_record record;
  plan_record_of(n, &record);
  return record;
}

Test(tape, a_record_says_what_was_asked) {
  const int64_t before[2] = {1, 2}, after[2] = {3, 4};
  plan_operand zero = num(0.5);
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(2, 3)), *y = NULL, *parts[4] = {x, x, x, x};
  uint32_t tape = tape_open(&r);
  plan_record c;
  mapn(&r, TSH_OP_pow, x, 2.5);
  fold_keep(&r, TSH_OP_max, x, 2);
  permute(&r, x, ORDER(1, 0));
  slice(&r, x, RANGE({1, 2, -1}, {0, 2, 2}));
  cr_expect_eq(plan_pad(r.p, x, before, after, &zero, &y, &r.err), TSH_OK);
  rig_own(&r, TSH_OK, y);
  cr_expect_eq(plan_cat(r.p, parts, 4, 1, &y, &r.err), TSH_OK);
  rig_own(&r, TSH_OK, y);
  set(&r, x, RANGE({0, 1, 1}, {1, 2, 1}), 7);
  c = record_of(taped(&r, tape, TSH_OP_pow));
  cr_expect(c.n == 2 && c.in[0].node == x && c.in[1].kind == PLAN_REAL);
  cr_expect_eq(c.in[1].num.f, 2.5);
  c = record_of(taped(&r, tape, TSH_OP_max));
  cr_expect(c.n == 1 && c.axes == 2 && c.keep == 1);
  c = record_of(taped(&r, tape, TSH_OP_permute));
  cr_expect(c.in[0].node == x && c.order[0] == 1 && c.order[1] == 0);
  c = record_of(taped(&r, tape, TSH_OP_slice));
  cr_expect(c.range[0].start == 1 && c.range[0].count == 2);
  cr_expect(c.range[0].step == -1 && c.range[1].step == 2);
  c = record_of(taped(&r, tape, TSH_OP_pad));
  cr_expect_arr_eq(c.before, before, sizeof before);
  cr_expect_arr_eq(c.after, after, sizeof after);
  c = record_of(taped(&r, tape, TSH_OP_cat));
  cr_expect(c.n == 4 && c.axes == 1 && c.in[3].node == x);
  c = record_of(taped(&r, tape, TSH_OP_set));
  cr_expect(c.n == 2 && c.in[0].node == x && c.in[1].kind == PLAN_TENSOR);
  cr_expect(c.range[1].start == 1 && c.range[1].count == 2);
  plan_tape_close(r.p, tape);
  cr_expect_eq(plan_tape_end(r.p), 0);
  rig_close(&r);
}

Test(tape, values_that_a_rule_names_are_kept_over_a_flush) {
  rig r;
  rig_open(&r, "cpu");
  plan_set_saves(r.p, TSH_OP_exp, 1);    /* its result */
  plan_set_saves(r.p, TSH_OP_square, 2); /* its input */
  plan_node *x = FLOATS(&r, 0, 2), *a, *b, *y;
  uint32_t tape = tape_open(&r), mark = r.n;
  a = mapn(&r, TSH_OP_add, x, 1);
  b = map1(&r, TSH_OP_square, a);
  y = map1(&r, TSH_OP_exp, mapn(&r, TSH_OP_mul, b, 0));
  y = mapn(&r, TSH_OP_sub, y, 1);
  rig_drop_since(&r, mark, y);
  cr_expect_eq(LAUNCHES(&r, y), 1);
  EXPECT(&r, y, 0, 0);
  cr_expect(plan_is_ready(taped(&r, tape, TSH_OP_add)));
  cr_expect(plan_is_ready(taped(&r, tape, TSH_OP_exp)));
  b = taped(&r, tape, TSH_OP_square);
  cr_expect_not(plan_is_ready(b));
  cr_expect_eq(COUNTER(&r, recomputed), 0);
  EXPECT(&r, mapn(&r, TSH_OP_add, taped(&r, tape, TSH_OP_exp), 1), 2, 2);
  cr_expect_eq(COUNTER(&r, recomputed), 0);
  EXPECT(&r, mapn(&r, TSH_OP_mul, b, 10), 10, 90);
  cr_expect_eq(COUNTER(&r, recomputed), 1);
  EXPECT(&r, taped(&r, tape, TSH_OP_square), 1, 9); /* demanded itself */
  plan_tape_close(r.p, tape);
  rig_close(&r);
}

Test(tape, tapes_nest_and_let_go_at_the_end) {
  rig r;
  rig_open(&r, "cpu");
  plan_node *x = ramp(&r, DIMS(1000)), *y, *z;
  uint64_t live = COUNTER(&r, bytes_live);
  uint32_t outer, inner, mark = r.n;
  plan_set_saves(r.p, TSH_OP_exp, 1);
  outer = tape_open(&r);
  y = map1(&r, TSH_OP_exp, x);
  inner = tape_open(&r);
  cr_expect_eq(inner, plan_tape_end(r.p));
  z = map1(&r, TSH_OP_sin, y);
  cr_expect_eq(plan_tape_node(r.p, inner), z);
  plan_tape_close(r.p, inner);
  cr_expect_eq(taped(&r, outer, TSH_OP_sin), z);
  cr_assert_eq(demand(&r, z, PLAN_EXACT), TSH_OK);
  rig_drop_since(&r, mark, NULL);
  cr_expect_geq(COUNTER(&r, bytes_live), live + 4000, "exp is saved");
  plan_tape_close(r.p, outer);
  plan_trim(r.p);
  cr_expect_eq(COUNTER(&r, bytes_live), live);
  y = map1(&r, TSH_OP_cos, x); /* no tape: nothing is retained */
  cr_expect_eq(plan_tape_end(r.p), 0);
  rig_close(&r);
}

/* a = index(bad) fails; b = a + 1 was fused away and is asked for again. */
static void fails_as_its_input_did(void) {
  for (int asked = 0; asked < 2; asked++) {
    rig r;
    rig_open(&r, "cpu");
    uint32_t tape = tape_open(&r), mark;
    plan_node *a = index_of(&r, LONGS(&r, 1, 9), 3), *b, *c;
    mark = r.n;
    b = mapi(&r, TSH_OP_add, a, 1);
    c = mapi(&r, TSH_OP_mul, b, 2);
    rig_drop_since(&r, mark, c);
    cr_expect_eq(demand(&r, c, PLAN_EXACT), TSH_EINDEX);
    b = taped(&r, tape, TSH_OP_add);
    if (asked)
      cr_expect_eq(demand(&r, b, 0), TSH_EINDEX);
    else
      cr_expect_eq(demand(&r, mapi(&r, TSH_OP_sub, b, 5), 0), TSH_EINDEX);
    EXPECT(&r, mapi(&r, TSH_OP_add, LONGS(&r, 1), 1), 2);
    plan_tape_close(r.p, tape);
    rig_close(&r);
  }
}

/* z = x - 1 may not take the memory of x, of which y = x * 2 is still made. */
static void keeps_its_inputs(void) {
  for (int viewed = 0; viewed < 2; viewed++) {
    rig r;
    rig_open(&r, "cpu");
    plan_node *x = FLOATS(&r, 1, 2, 3), *z;
    uint32_t tape = tape_open(&r);
    mapn(&r, TSH_OP_mul, viewed ? slice(&r, x, RANGE({2, 3, -1})) : x, 2);
    z = mapn(&r, TSH_OP_sub, x, 1);
    rig_drop_since(&r, 0, z);
    cr_assert_eq(demand(&r, z, PLAN_EXACT), TSH_OK, "%s", r.err.text);
    EXPECT(&r, z, 0, 1, 2);
    z = mapn(&r, TSH_OP_add, taped(&r, tape, TSH_OP_mul), 0);
    if (viewed)
      EXPECT(&r, z, 6, 4, 2);
    else
      EXPECT(&r, z, 2, 4, 6);
    plan_tape_close(r.p, tape);
    rig_close(&r);
  }
}

Test(tape, a_value_that_is_gone_keeps_its_inputs_or_fails_as_they_did) {
  fails_as_its_input_did();
  keeps_its_inputs();
}
