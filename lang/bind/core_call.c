/* core_call.c - the part of require "tsh.core" that records CALL ops: gather,
 * scatter_add, sorting, scans, nonzero. Positions are from 0 where a name ends
 * in 0, axes from 1. */
#include "priv.h"

static plan_node *arg(lua_State *L, int i) {
  plan_node *n = lt_tensor_test(L, i);
  if (!n) luaL_typeerror(L, i, "tensor");
  return n;
}

/* An axis of a 0-d tensor is left to the planner, whose sentence is better. */
static int arg_axis(lua_State *L, int i, const plan_node *x) {
  int rank = (int)plan_shape_of(x)->rank;
  return rank ? lt_arg_axis(L, i, rank) : 0;
}

/* An empty result on the stack that the planner fills. */
static plan_node **result(lua_State *L, tsh_err *err) {
  lt_begin(L);
  err->size = sizeof *err;
  return lt_tensor_new(L);
}

static plan *planner(lua_State *L) { return lt_of(L)->plan; }

/* gather0(x, at, axis) */
static int core_gather(lua_State *L) {
  plan_node *x = arg(L, 1), *at = arg(L, 2), **out;
  int axis = arg_axis(L, 3, x);
  tsh_err err;
  out = result(L, &err);
  lt_check(L, plan_gather(planner(L), x, at, axis, out, &err), &err);
  return lt_done(L, 1);
}

/* scatter_add0(x, at, v, axis) */
static int core_scatter_add(lua_State *L) {
  plan_node *x = arg(L, 1), *at = arg(L, 2), *v = arg(L, 3), **out;
  int axis = arg_axis(L, 4, x);
  tsh_err err;
  out = result(L, &err);
  lt_check(L, plan_scatter_add(planner(L), x, at, v, axis, out, &err), &err);
  return lt_done(L, 1);
}

/* sort(x, axis, descending) */
static int core_sort(lua_State *L) {
  plan_node *x = arg(L, 1), **out;
  int axis = arg_axis(L, 2, x), down = lua_toboolean(L, 3);
  tsh_err err;
  out = result(L, &err);
  lt_check(L, plan_sort(planner(L), x, axis, down, out, &err), &err);
  return lt_done(L, 1);
}

/* argsort0(x, axis, descending) */
static int core_argsort(lua_State *L) {
  plan_node *x = arg(L, 1), **out;
  int axis = arg_axis(L, 2, x), down = lua_toboolean(L, 3);
  tsh_err err;
  out = result(L, &err);
  lt_check(L, plan_argsort(planner(L), x, axis, down, out, &err), &err);
  return lt_done(L, 1);
}

/* argtopk0(x, axis, k, largest) */
static int core_argtopk(lua_State *L) {
  plan_node *x = arg(L, 1), **out;
  int axis = arg_axis(L, 2, x), largest = lua_toboolean(L, 4);
  int64_t k = lt_arg_whole(L, 3, "the number of elements");
  tsh_err err;
  out = result(L, &err);
  lt_check(L, plan_argtopk(planner(L), x, axis, k, largest, out, &err), &err);
  return lt_done(L, 1);
}

/* scan(op, x, axis); op: "cumsum" or "cumprod" */
static int core_scan(lua_State *L) {
  static const char *const names[] = {"cumsum", "cumprod", NULL};
  static const int ops[] = {TSH_OP_cumsum, TSH_OP_cumprod};
  int op = ops[luaL_checkoption(L, 1, NULL, names)];
  plan_node *x = arg(L, 2), **out;
  int axis = arg_axis(L, 3, x);
  tsh_err err;
  out = result(L, &err);
  lt_check(L, plan_scan(planner(L), op, x, axis, out, &err), &err);
  return lt_done(L, 1);
}

/* nonzero0(mask, n) */
static int core_nonzero(lua_State *L) {
  plan_node *mask = arg(L, 1), **out;
  int64_t n = lt_arg_whole(L, 2, "the number of positions");
  tsh_err err;
  out = result(L, &err);
  lt_check(L, plan_nonzero(planner(L), mask, n, out, &err), &err);
  return lt_done(L, 1);
}

const luaL_Reg lt_core_calls[] = {
    {"gather0", core_gather},   {"scatter_add0", core_scatter_add},
    {"sort", core_sort},        {"argsort0", core_argsort},
    {"argtopk0", core_argtopk}, {"scan", core_scan},
    {"nonzero0", core_nonzero}, {NULL, NULL}};
