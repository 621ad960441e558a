/* calls.c - the part of the graph fuzzer that records CALL ops. */
#include "player.h"

/* Values of a are put at positions of it. */
static plan_node *put_back(player *g, plan_node *a, plan_node *at, int axis) {
  static const int ops[] = {TSH_OP_index_add, TSH_OP_index_set,
                            TSH_OP_index_mul, TSH_OP_index_max,
                            TSH_OP_index_min};
  plan_node *v = NULL, *x = NULL;
  if (plan_take(g->p, a, at, axis, &v, &g->err) != TSH_OK) return NULL;
  plan_index_put(g->p, ops[play_draw(g, 5)], a, at, v, axis, &x, &g->err);
  plan_drop(g->p, v);
  return x;
}

plan_node *play_positions(player *g) {
  plan_node *a = play_pick(g), *y = NULL, *at = NULL, *x = NULL;
  const plan_shape *s = plan_shape_of(a);
  int64_t host[4], n = 4;
  int axis = s->rank ? (int)play_draw(g, s->rank) : 0;
  if (!s->rank || !s->dim[axis]) return NULL;
  for (int i = 0; i < 4; i++)
    host[i] = 1 + (int64_t)play_draw(g, (uint32_t)s->dim[axis]) +
              (play_draw(g, 40) == 0 ? s->dim[axis] : 0);
  plan_data(g->p, g->d, TSH_i64, plan_shape_get(g->p, 1, &n, NULL), host, &y,
            &g->err);
  if (y) plan_index(g->p, y, s->dim[axis], &at, &g->err);
  if (at && play_draw(g, 3) == 0)
    x = put_back(g, a, at, axis);
  else if (at && play_draw(g, 2))
    plan_take(g->p, a, at, axis, &x, &g->err);
  else if (at)
    plan_one_hot(g->p, at, s->dim[axis], play_dtype(g), &x, &g->err);
  plan_drop(g->p, y);
  plan_drop(g->p, at);
  return x;
}

/* Positions of a's shape, and an op that uses them. */
static plan_node *at_positions(player *g, plan_node *a, int axis, int add) {
  plan_node *at = NULL, *x = NULL;
  if (plan_argsort(g->p, a, axis, 0, &at, &g->err) != TSH_OK) return NULL;
  if (add)
    plan_scatter_add(g->p, a, at, a, axis, &x, &g->err);
  else
    plan_gather(g->p, a, at, axis, &x, &g->err);
  plan_drop(g->p, at);
  return x;
}

static plan_node *true_ones(player *g, plan_node *a) {
  plan_node *mask = NULL, *x = NULL;
  int64_t n = play_draw(g, 20);
  if (plan_cast(g->p, a, TSH_bool, &mask, &g->err) == TSH_OK)
    plan_nonzero(g->p, mask, n, &x, &g->err);
  plan_drop(g->p, mask);
  return x;
}

plan_node *play_order(player *g) {
  plan_node *a = play_pick(g), *x = NULL;
  const plan_shape *s = plan_shape_of(a);
  int axis = s->rank ? (int)play_draw(g, s->rank) : 0;
  int flag = (int)play_draw(g, 2);
  int64_t k = s->rank ? play_draw(g, (uint32_t)s->dim[axis] + 1) : 0;
  switch (play_draw(g, 8)) {
  case 0:
    plan_sort(g->p, a, axis, flag, &x, &g->err);
    return x;
  case 1:
    plan_argsort(g->p, a, axis, flag, &x, &g->err);
    return x;
  case 2:
    plan_argtopk(g->p, a, axis, k, flag, &x, &g->err);
    return x;
  case 3:
    plan_scan(g->p, TSH_OP_cumsum, a, axis, &x, &g->err);
    return x;
  case 4:
    plan_scan(g->p, TSH_OP_cumprod, a, axis, &x, &g->err);
    return x;
  case 5:
    return at_positions(g, a, axis, 0);
  case 6:
    return at_positions(g, a, axis, 1);
  default:
    return true_ones(g, a);
  }
}
