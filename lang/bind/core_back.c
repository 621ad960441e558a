/* core_back.c - the part of require "tsh.core" that gradients record: shapes on
 * their way back. Axes count from 1. */
#include "priv.h"

static plan_node *arg(lua_State *L, int i) {
  plan_node *n = lt_tensor_test(L, i);
  if (!n) luaL_typeerror(L, i, "tensor");
  return n;
}

static const plan_shape *arg_shape(lua_State *L, int i) {
  return plan_shape_of(arg(L, i));
}

/* An empty result on the stack that the planner fills. */
static plan_node **result(lua_State *L, tsh_err *err) {
  lt_begin(L);
  err->size = sizeof *err;
  return lt_tensor_new(L);
}

/* reshape_like(t, x): t in the shape of x */
static int back_reshape(lua_State *L) {
  const plan_shape *s = (arg(L, 1), arg_shape(L, 2));
  lt_begin(L);
  lt_push_reshape(L, 1, s);
  return lt_done(L, 1);
}

/* permute_back(t, order): what permute with this order made t of */
static int back_permute(lua_State *L) {
  uint8_t inverse[PLAN_RANK] = {0};
  int rank = (int)arg_shape(L, 1)->rank;
  luaL_checktype(L, 2, LUA_TTABLE);
  for (int i = 0; i < rank; i++) {
    lua_rawgeti(L, 2, i + 1);
    inverse[lt_arg_axis(L, -1, rank)] = (uint8_t)i;
    lua_pop(L, 1);
  }
  lt_begin(L);
  lt_push_permute(L, arg(L, 1), inverse);
  return lt_done(L, 1);
}

/* spread(g, x, axes): g, a fold of x over these axes, in the shape of x */
static int back_spread(lua_State *L) {
  plan_node *g = arg(L, 1), **out;
  const plan_shape *s = arg_shape(L, 2);
  uint32_t axes = lt_arg_axes(L, 3, (int)s->rank);
  tsh_err err;
  out = result(L, &err);
  lt_check(L, plan_spread(lt_of(L)->plan, g, s, axes, out, &err), &err);
  return lt_done(L, 1);
}

/* unexpand(g, x): the sum of g over the axes along which x was expanded */
static int back_unexpand(lua_State *L) {
  plan_node *g = arg(L, 1), **out;
  const plan_shape *s = arg_shape(L, 2);
  tsh_err err;
  luaL_argcheck(L, s->rank <= plan_shape_of(g)->rank, 2, "too many axes");
  out = result(L, &err);
  lt_check(L, plan_unexpand(lt_of(L)->plan, g, s, out, &err), &err);
  return lt_done(L, 1);
}

/* dot_back(g, x, axes, other, small): the gradient of the tensor that was
 * expanded to x, an operand of a dot over these axes; or nil, when expanding
 * repeated nothing. */
static int back_dot(lua_State *L) {
  plan_node *g = arg(L, 1), *other = arg(L, 4), **out;
  const plan_shape *s = arg_shape(L, 2), *small = arg_shape(L, 5);
  uint32_t axes = lt_arg_axes(L, 3, (int)s->rank);
  tsh_err err;
  luaL_argcheck(L, small->rank <= s->rank, 5, "too many axes");
  luaL_argcheck(L, plan_shape_of(other)->rank <= s->rank, 4, "too many axes");
  out = result(L, &err);
  lt_check(L,
           plan_dot_back(lt_of(L)->plan, g, s, axes, other, small, out, &err),
           &err);
  return *out ? lt_done(L, 1) : 0;
}

const luaL_Reg lt_core_back[] = {
    {"reshape_like", back_reshape}, {"permute_back", back_permute},
    {"spread", back_spread},        {"unexpand", back_unexpand},
    {"dot_back", back_dot},         {NULL, NULL}};
