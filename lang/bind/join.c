/* join.c - tensors made of parts: cat, pad, and stacking for tensor{...}. */
#include <string.h>
#include "priv.h"

/* ---- cat, stack ---------------------------------------------------------- */
/* Pushes a buffer of the n nodes in the table at i, made with reshape to s
 * first when s is given. The handles stay in the table. */
static plan_node **push_nodes(lua_State *L, int i, int64_t n) {
  plan_node **x = lua_newuserdatauv(L, (size_t)n * sizeof *x + 1, 0);
  for (int64_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    x[k] = lt_tensor_test(L, -1);
    if (!x[k])
      lt_fail(L, NULL, "element %I must be a tensor, got %s", k + 1,
              lt_type_name(L, -1));
    lua_pop(L, 1);
  }
  return x;
}

void lt_push_cat(lua_State *L, int i, int64_t n, int axis) {
  plan_node **x = push_nodes(L, i, n), **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_cat(lt_of(L)->plan, x, (int)n, axis, out, &err), &err);
}

/* cat(list, axis), cat(list, {axis=}), the first axis without it; also
 * cat(a, b, ...) and a:cat(b). */
static int shape_cat(lua_State *L) {
  int n = 0, at = 2, axis = 0, rank;
  plan_node *first;
  if (lt_tensor_test(L, 1)) { /* gather the leading tensors in a table */
    while (lt_tensor_test(L, n + 1)) n++;
    lua_createtable(L, n, 0);
    for (int i = 1; i <= n; i++) {
      lua_pushvalue(L, i);
      lua_rawseti(L, -2, i);
    }
    lua_insert(L, 1);
    at = n + 2;
  } else if (lua_type(L, 1) == LUA_TTABLE) {
    if (lua_rawlen(L, 1) > INT32_MAX) return lt_fail(L, NULL, "too many");
    n = (int)lua_rawlen(L, 1);
  } else {
    return lt_fail(L, "cat{a, b}", "a list of tensors is needed, got %s",
                   lt_type_name(L, 1));
  }
  lt_most_args(L, at);
  lua_settop(L, at);
  if (n == 0) return lt_fail(L, NULL, "there is nothing to join");
  lua_rawgeti(L, 1, 1);
  if (!(first = lt_tensor_test(L, -1)))
    return lt_fail(L, NULL, "element 1 must be a tensor, got %s",
                   lt_type_name(L, -1));
  rank = (int)plan_shape_of(first)->rank;
  if (rank == 0)
    return lt_fail(L, "stack{a, b}", "tensors without axes cannot be joined");
  if (lua_type(L, at) == LUA_TTABLE) {
    lt_arg_options(L, at, "axis");
    if (lt_option(L, at, "axis") != LUA_TNIL) axis = lt_arg_axis(L, -1, rank);
  } else if (!lua_isnil(L, at)) {
    axis = lt_arg_axis(L, at, rank);
  }
  lt_begin(L);
  lt_push_cat(L, 1, n, axis);
  return lt_done(L, 1);
}

/* Joins n tensors of one shape, in the table at i, along a new first axis. */
void lt_push_stack(lua_State *L, int i, int64_t n) {
  int64_t dim[PLAN_RANK + 1];
  const plan_shape *s;
  lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
  for (int64_t k = 1; k <= n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k);
    s = plan_shape_of(lt_tensor_test(L, -1));
    dim[0] = 1;
    memcpy(dim + 1, s->dim, sizeof *dim * s->rank);
    lt_push_reshape(L, -1, lt_shape_of(L, (int)s->rank + 1, dim));
    lua_rawseti(L, -3, (lua_Integer)k);
    lua_pop(L, 1);
  }
  lt_push_cat(L, lua_gettop(L), n, 0);
}

/* ---- pad ----------------------------------------------------------------- */
/* The pair of an axis from the table at 2. */
static void arg_pair(lua_State *L, int axis, int64_t *before, int64_t *after) {
  int64_t *out[2] = {before, after};
  if (lua_rawgeti(L, 2, axis + 1) != LUA_TTABLE || lua_rawlen(L, -1) != 2)
    lt_fail(L, "pad(x, {{before, after}, ...})",
            "axis %d needs a pair {before, after}", axis + 1);
  for (int i = 0; i < 2; i++) {
    lua_rawgeti(L, -1, i + 1);
    *out[i] = lt_arg_whole(L, -1, "a border");
    if (*out[i] < 0)
      lt_fail(L, "x[{{2, -2}}] takes a border off", "a border cannot be %I",
              *out[i]);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static int shape_pad(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  int rank = (int)plan_shape_of(x)->rank;
  int64_t before[PLAN_RANK], after[PLAN_RANK];
  plan_operand value = {.kind = PLAN_INT};
  plan_node **out;
  tsh_err err;
  lt_most_args(L, 3);
  lua_settop(L, 3);
  if (lua_type(L, 2) != LUA_TTABLE || (int)lua_rawlen(L, 2) != rank)
    return lt_fail(L, "pad(x, {{before, after}, ...})",
                   "one pair for each of the %d axes is needed", rank);
  for (int i = 0; i < rank; i++) arg_pair(L, i, &before[i], &after[i]);
  if (lua_type(L, 3) == LUA_TNUMBER || lua_type(L, 3) == LUA_TBOOLEAN) {
    lt_arg_operand(L, 3, &value);
  } else if (lt_arg_options(L, 3, "value")) {
    if (lt_option(L, 3, "value") != LUA_TNIL) lt_arg_operand(L, -1, &value);
  }
  if (value.kind == PLAN_TENSOR)
    return lt_fail(L, NULL, "the value must be a number, got a tensor");
  if (plan_dtype_of(x) == TSH_bool && value.kind == PLAN_INT &&
      (value.num.i == 0 || value.num.i == 1))
    value.kind = PLAN_BOOL;
  lt_number_fit(L, &value, plan_dtype_of(x));
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_pad(lt_of(L)->plan, x, before, after, &value, out, &err),
           &err);
  return lt_done(L, 1);
}

#define BOTH (LT_GLOBAL | LT_METHOD)
const lt_function lt_join_functions[] = {
    {"cat", "list, axis", "axis",
     "The tensors of a list joined along axis (1 without it); their other "
     "extents must agree.",
     shape_cat, NULL, NULL, BOTH},
    {"pad", "x, pairs, value", "value",
     "With a border: pairs = {{before, after}, ...}, one for each axis, filled "
     "with value (0).",
     shape_pad, NULL, NULL, BOTH},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
