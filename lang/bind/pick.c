/* pick.c - the tensors of an index: integers and masks become positions along
 * one axis, whatever they are and wherever they stand. */
#include <string.h>
#include "index.h"

static plan_node *push_op(lua_State *L, int op, plan_node *a, plan_node *b,
                          int64_t number) {
  plan_operand in[2] = {{.node = a, .kind = PLAN_TENSOR},
                        {.node = b, .kind = PLAN_TENSOR}};
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  if (!b) {
    in[1].kind = PLAN_INT;
    in[1].num.i = number;
  }
  lt_check(L, plan_map(lt_of(L)->plan, op, in, 2, out, &err), &err);
  return *out;
}

/* ---- masks --------------------------------------------------------------- */
/* How many elements of the mask are true: its value is needed now. To a check
 * it is as many as there may be. */
static int64_t count_true(lua_State *L, plan_node *mask) {
  uint32_t axes = (UINT32_C(1) << plan_shape_of(mask)->rank) - 1;
  plan_node **out = lt_tensor_new(L);
  int64_t n = 0;
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_fold(lt_of(L)->plan, TSH_OP_sum, mask, axes, 0, out, &err),
           &err);
  if (lt_read(L, *out, &n, &err) != TSH_OK) lt_raise_demand(L, &err);
  if (lt_shapes_hides(lt_of(L), *out)) n = plan_shape_of(mask)->count;
  lua_pop(L, 1);
  return n;
}

plan_node *lt_push_places(lua_State *L, plan_node *mask) {
  int64_t n = count_true(L, mask);
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_nonzero(lt_of(L)->plan, mask, n, out, &err), &err);
  return *out;
}

/* ---- several of them ----------------------------------------------------- */
/* Counting may run finalizers, which could take the tensors out of the index.
 */
static void hold(lua_State *L, const lt_selection *s) {
  for (int k = 0; k < s->npick; k++) {
    plan_node **out = lt_tensor_new(L);
    *out = plan_keep(s->pick[k].at);
  }
}

static void check_pair(lua_State *L, const plan_shape *a, const plan_shape *b) {
  const char *first, *second;
  for (uint32_t i = 1; i <= a->rank && i <= b->rank; i++) {
    int64_t m = a->dim[a->rank - i], n = b->dim[b->rank - i];
    if (m == n || m == 1 || n == 1) continue;
    lt_shape_push(L, a);
    first = luaL_tolstring(L, -1, NULL);
    lt_shape_push(L, b);
    second = luaL_tolstring(L, -1, NULL);
    lt_fail(L,
            "integer tensors of one index pick elements in step; "
            "t[i][{{}, j}] picks rows, then columns",
            "positions %s and %s do not broadcast", first, second);
  }
}

/* Positions of all along the axis that theirs become: row-major. */
static plan_node *push_combined(lua_State *L, const lt_selection *s,
                                plan_node **at) {
  plan_node *flat = at[0];
  for (int k = 1; k < s->npick; k++) {
    check_pair(L, plan_shape_of(flat), plan_shape_of(at[k]));
    flat = push_op(L, TSH_OP_mul, flat, NULL, s->pick[k].extent);
    flat = push_op(L, TSH_OP_add, flat, at[k], 0);
  }
  return flat;
}

static int are_neighbours(const lt_selection *s) {
  for (int k = 1; k < s->npick; k++)
    if (s->pick[k].axis != s->pick[0].axis + k) return 0;
  return 1;
}

/* The picked axes first, the others behind them; and back again. */
static void order_front(const lt_selection *s, int rank, uint8_t *order,
                        uint8_t *back) {
  int n = 0;
  for (int k = 0; k < s->npick; k++) order[n++] = (uint8_t)s->pick[k].axis;
  for (int i = 0; i < rank; i++)
    if (!memchr(order, i, (size_t)s->npick)) order[n++] = (uint8_t)i;
  for (int i = 0; i < rank; i++) back[order[i]] = (uint8_t)i;
}

/* Pushes the part with the picked axes as one: out->x, axis, moved, back. */
static void push_merged(lua_State *L, const lt_selection *s, plan_node *part,
                        lt_picked *out) {
  const plan_shape *x = plan_shape_of(part);
  uint8_t order[PLAN_RANK];
  int64_t dim[PLAN_RANK];
  int rank = 0;
  out->x = part;
  out->axis = s->pick[0].axis;
  out->moved = 0;
  if (s->npick == 1) return;
  if (!are_neighbours(s)) {
    order_front(s, (int)x->rank, order, out->back);
    out->x = lt_push_permute(L, part, order);
    x = plan_shape_of(out->x);
    out->axis = 0;
    out->moved = 1;
  }
  for (int i = 0; i <= out->axis; i++) dim[rank++] = x->dim[i];
  for (int i = 1; i < s->npick; i++) dim[out->axis] *= x->dim[out->axis + i];
  for (int i = out->axis + s->npick; i < (int)x->rank; i++)
    dim[rank++] = x->dim[i];
  lt_push_reshape(L, lua_gettop(L), lt_shape_of(L, rank, dim));
  out->x = lt_tensor_test(L, -1);
}

void lt_push_picked(lua_State *L, const lt_selection *s, plan_node *part,
                    lt_picked *out) {
  plan_node *at[2 * PLAN_RANK] = {NULL};
  push_merged(L, s, part, out); /* the part is on top */
  if (s->nmask) hold(L, s);
  for (int k = 0; k < s->npick; k++)
    at[k] = s->pick[k].is_mask
                ? lt_push_places(L, s->pick[k].at)
                : lt_push_positions(L, s->pick[k].at, s->pick[k].extent);
  out->at = push_combined(L, s, at);
}

plan_node *lt_push_unpicked(lua_State *L, plan_node *x, const lt_picked *c,
                            const plan_node *part) {
  const plan_shape *s = plan_shape_of(part);
  int64_t dim[PLAN_RANK];
  int top = lua_gettop(L);
  if (plan_shape_of(x) != s && !c->moved) {
    lt_push_reshape(L, top, s);
  } else if (c->moved) {
    for (uint32_t i = 0; i < s->rank; i++) dim[c->back[i]] = s->dim[i];
    lt_push_reshape(L, top, lt_shape_of(L, (int)s->rank, dim));
    lt_push_permute(L, lt_tensor_test(L, -1), c->back);
  }
  return lt_tensor_test(L, -1);
}
