/* Updates that take each other's memory, in any mix of views, sets, sums, held
 * and dropped values, parts and cancels, against plain arithmetic. */
#include "rig.h"

/* Larger than what a kernel holds at a time. */
enum { VALUES = 4, SIDE = 48, COUNT = SIDE * SIDE, STEPS = 4, VIEWS = 6 };

typedef struct {
  plan_node *x;
  double v[COUNT]; /* small multiples of powers of two: exact in f32 */
} pair;

typedef struct {
  rig r;
  uint32_t seed;
  pair old[VALUES], new[VALUES], held;
} game;

static uint32_t draw(game *g, uint32_t n) {
  g->seed = g->seed * 1664525u + 1013904223u;
  return (g->seed >> 8) % n;
}

static double row_max(const double *v, int row) {
  double most = v[row * SIDE];
  for (int i = 1; i < SIDE; i++)
    if (v[row * SIDE + i] > most) most = v[row * SIDE + i];
  return most;
}

/* What element i of a view shows. */
static double shown(uint32_t kind, const double *v, int i) {
  int row = i / SIDE, col = i % SIDE;
  switch (kind) {
  case 1:
    return v[col * SIDE + row];
  case 2:
    return v[(SIDE - 1 - row) * SIDE + col];
  case 3:
    return v[SIDE + col];
  case 4:
    return v[i % 2 * (COUNT / 2) + i / 2];
  case 5:
    return row_max(v, row);
  default:
    return v[i];
  }
}

static plan_node *view(rig *r, uint32_t kind, plan_node *x) {
  switch (kind) {
  case 1:
    return transpose(r, x);
  case 2:
    return slice(r, x, RANGE({SIDE - 1, SIDE, -1}, {0, SIDE, 1}));
  case 3:
    x = slice(r, x, RANGE({1, 1, 1}, {0, SIDE, 1}));
    return expand(r, x, DIMS(SIDE, SIDE));
  case 4:
    x = transpose(r, reshape(r, x, DIMS(2, COUNT / 2)));
    return reshape(r, x, DIMS(SIDE, SIDE));
  case 5:
    x = fold_keep(r, TSH_OP_max, x, 2);
    return expand(r, x, DIMS(SIDE, SIDE));
  default:
    return x;
  }
}

static pair seen(game *g, pair a) {
  uint32_t kind = draw(g, 2) ? draw(g, VIEWS) : 0;
  pair b = {view(&g->r, kind, a.x), {0}};
  for (int i = 0; i < COUNT; i++) b.v[i] = shown(kind, a.v, i);
  return b;
}

/* a with two of its rows those of b */
static pair with_rows(game *g, pair a, const pair *b) {
  int64_t row = draw(g, SIDE - 1);
  plan_operand part =
      operand_of(slice(&g->r, b->x, RANGE({0, 2, 1}, {0, SIDE, 1})));
  plan_node *y = NULL;
  tsh_status rc = plan_set(g->r.p, a.x, RANGE({row, 2, 1}, {0, SIDE, 1}), &part,
                           &y, &g->r.err);
  a.x = rig_own(&g->r, rc, y);
  memcpy(a.v + row * SIDE, b->v, 2 * SIDE * sizeof *a.v);
  return a;
}

/* One more value, of two that there are. */
static pair made(game *g, int i) {
  pair a = g->old[draw(g, 2) ? (uint32_t)i : draw(g, VALUES)];
  pair b = seen(g, g->old[draw(g, VALUES)]);
  if (i && draw(g, 4) == 0) a = g->new[i - 1];
  a = seen(g, a);
  if (draw(g, 3) == 0) return with_rows(g, a, &b);
  a.x = map2(&g->r, TSH_OP_sub, a.x, b.x);
  a.x = mapn(&g->r, TSH_OP_mul, a.x, 0.25);
  for (int k = 0; k < COUNT; k++) a.v[k] = (a.v[k] - b.v[k]) * 0.25;
  return a;
}

/* Owners of what this step keeps; the rest is let go. */
static void collect(game *g) {
  for (int i = 0; i < VALUES; i++) plan_keep(g->new[i].x);
  if (g->held.x) plan_keep(g->held.x);
  rig_drop_since(&g->r, 0, NULL);
  for (int i = 0; i < VALUES; i++) rig_own(&g->r, TSH_OK, g->new[i].x);
  if (g->held.x) rig_own(&g->r, TSH_OK, g->held.x);
}

static void run(game *g) {
  plan_node *x[VALUES];
  uint32_t how = draw(g, 4), *word = dev_cancel_word(g->r.devices);
  for (int i = 0; i < VALUES; i++) x[i] = g->new[i].x;
  if (how == 0)
    cr_assert_eq(demand(&g->r, x[draw(g, VALUES)], PLAN_ONLY), TSH_OK);
  *word = how == 1;
  if (how == 1) plan_demand(g->r.p, x, VALUES, PLAN_EXACT, &g->r.err);
  *word = 0;
  cr_assert_eq(
      plan_demand(g->r.p, x, VALUES, how == 2 ? 0 : PLAN_EXACT, &g->r.err),
      TSH_OK, "%s", g->r.err.text);
}

static uint64_t play(const char *device, uint32_t seed) {
  uint64_t in_place;
  game g = {.seed = seed * 2654435761u};
  rig_open(&g.r, device);
  for (int i = 0; i < VALUES; i++) {
    float host[COUNT];
    for (int k = 0; k < COUNT; k++)
      g.old[i].v[k] = (double)(host[k] = (float)draw(&g, 9) - 4);
    g.old[i].x = leaf(&g.r, TSH_f32, host, DIMS(SIDE, SIDE));
  }
  for (int step = 0; step < STEPS; step++) {
    g.held.x = NULL;
    if (draw(&g, 3) == 0) g.held = seen(&g, g.old[draw(&g, VALUES)]);
    for (int i = 0; i < VALUES; i++) g.new[i] = made(&g, i);
    if (draw(&g, 3) == 0) g.held = seen(&g, g.new[draw(&g, VALUES)]);
    collect(&g);
    run(&g);
    for (int i = 0; i < VALUES; i++)
      cr_assert(are(&g.r, g.new[i].x, COUNT, g.new[i].v),
                "%s, seed %u, step %d, value %d: %s", device, seed, step, i,
                g.r.text);
    if (g.held.x)
      cr_assert(are(&g.r, g.held.x, COUNT, g.held.v),
                "%s, seed %u, step %d, held: %s", device, seed, step, g.r.text);
    memcpy(g.old, g.new, sizeof g.old);
  }
  in_place = COUNTER(&g.r, in_place);
  rig_close(&g.r);
  return in_place;
}

Test(inplace, any_mix_of_updates_gives_what_plain_arithmetic_does) {
  uint64_t in_place = 0;
  for (uint32_t seed = 1; seed <= 200; seed++) in_place += play("cpu", seed);
  cr_expect_gt(in_place, 200);
  for (uint32_t seed = 201; seed <= 220; seed++) {
    play("example", seed);
    play("opaque", seed);
  }
}
