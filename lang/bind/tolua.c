/* tolua.c - values back: item, table, rows. */
#include "session.h"

/* The elements of x row-major, in a buffer that Lua owns (pushed). */
static const void *push_cells(lua_State *L, plan_node *x) {
  const plan_shape *s = plan_shape_of(x);
  uint64_t each = plan_dtype_bytes(plan_dtype_of(x));
  tsh_err err;
  void *cells;
  lt_begin(L);
  if ((uint64_t)s->count > ((uint64_t)1 << 40) / each)
    lt_fail(L, "take a part of it, x[{{1,10}}]",
            "%I elements do not fit the memory of Lua", s->count);
  cells = lua_newuserdatauv(L, (size_t)(each * (uint64_t)s->count) + 1, 0);
  err.size = sizeof err;
  if (lt_read(L, x, cells, &err) != TSH_OK) lt_raise_demand(L, &err);
  return cells;
}

static int tensor_item(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  uint64_t cell = 0;
  tsh_err err;
  lt_most_args(L, 1);
  if (plan_shape_of(x)->count != 1)
    return lt_fail(L, "x:table() gives all of them",
                   "one element is needed, this tensor has %I",
                   plan_shape_of(x)->count);
  lt_begin(L);
  err.size = sizeof err;
  if (lt_read(L, x, &cell, &err) != TSH_OK) return lt_raise_demand(L, &err);
  lt_push_cell(L, plan_dtype_of(x), &cell, 0);
  return 1;
}

static int tensor_numel(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  lt_most_args(L, 1);
  lua_pushinteger(L, plan_shape_of(x)->count);
  return 1;
}

/* Prints its arguments as a session shows values. */
static int show_values(lua_State *L) {
  lt_bar_clear(lt_of(L));
  lt_show(L, 1, lua_gettop(L), stdout);
  return 0;
}

/* Pushes the part of a table that begins at cell *at. */
static void push_table(lua_State *L, const plan_shape *s, uint32_t axis,
                       int dtype, const void *cells, int64_t *at) {
  int64_t n = s->dim[axis];
  lt_stop_point(L);
  lua_createtable(L, n < INT32_MAX ? (int)n : INT32_MAX, 0);
  for (int64_t i = 1; i <= n; i++) {
    if (axis + 1 == s->rank)
      lt_push_cell(L, dtype, cells, (*at)++);
    else
      push_table(L, s, axis + 1, dtype, cells, at);
    lua_rawseti(L, -2, (lua_Integer)i);
  }
}

static int tensor_table(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  const plan_shape *s = plan_shape_of(x);
  const void *cells;
  int64_t at = 0;
  lt_most_args(L, 1);
  luaL_checkstack(L, 2 * PLAN_RANK + 8, NULL);
  cells = push_cells(L, x);
  if (s->rank == 0)
    lt_push_cell(L, plan_dtype_of(x), cells, 0);
  else
    push_table(L, s, 0, plan_dtype_of(x), cells, &at);
  return 1;
}

/* ---- rows ---------------------------------------------------------------- */
static int next_row(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  int64_t i = lt_arg_whole(L, 2, "a position") + 1;
  if (i > plan_shape_of(x)->dim[0]) return 0;
  lt_begin(L);
  lt_push_row(L, x, i - 1);
  lua_pushinteger(L, i);
  lua_insert(L, -2);
  return lt_done(L, 2);
}

static int tensor_rows(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  lt_most_args(L, 1);
  if (plan_shape_of(x)->rank == 0)
    return lt_fail(L, "x:item() is its value",
                   "a tensor without axes has no rows");
  lua_pushcfunction(L, next_row);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

const lt_function lt_tolua_functions[] = {
    {"item", "x", "",
     "The value of a tensor of one element as a Lua number or boolean.",
     tensor_item, NULL, NULL, LT_METHOD},
    {"numel", "x", "", "The number of elements, a Lua number.", tensor_numel,
     NULL, NULL, LT_GLOBAL | LT_METHOD},
    {"show", "value", "",
     "Prints values as a session does: the fields of a table, also nested, "
     "where print gives its address.",
     show_values, NULL, NULL, LT_GLOBAL},
    {"table", "x", "",
     "A nested Lua table of all elements (a number for a tensor without axes).",
     tensor_table, NULL, NULL, LT_METHOD},
    {"repr", "x", "", "Lua code that makes the same tensor.", lt_repr, NULL,
     NULL, LT_METHOD},
    {"rows", "x", "", "for i, row in x:rows() do: each x[i] in turn.",
     tensor_rows, NULL, NULL, LT_METHOD},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
