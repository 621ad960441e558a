/* core.c - require "tsh.core": the primitives that the library in Lua is made
 * of. Positions and ranges are from 0 where a name ends in 0, axes from 1.
 * These functions check only what could do harm. */
#include <string.h>
#include "index.h"

/* ---- arguments ---------------------------------------------------------- */
static plan_node *arg(lua_State *L, int i) {
  plan_node *n = lt_tensor_test(L, i);
  if (!n) luaL_typeerror(L, i, "tensor");
  return n;
}

static int arg_op(lua_State *L, int i) {
  int op = lt_op_find(luaL_checkstring(L, i));
  if (!op) luaL_error(L, "no op '%s'", lua_tostring(L, i));
  return op;
}

/* The list at i, of as many whole numbers as there are axes. */
static void arg_list(lua_State *L, int i, int rank, int64_t *out) {
  luaL_checktype(L, i, LUA_TTABLE);
  for (int k = 0; k < rank; k++) {
    lua_rawgeti(L, i, k + 1);
    if (!lt_is_whole(L, -1, &out[k]))
      luaL_error(L, "argument %d: element %d is no whole number", i, k + 1);
    lua_pop(L, 1);
  }
}

static void arg_ranges(lua_State *L, int i, int rank, plan_range *out) {
  luaL_checktype(L, i, LUA_TTABLE);
  for (int k = 0; k < rank; k++) {
    int64_t r[3];
    lua_rawgeti(L, i, k + 1);
    arg_list(L, lua_gettop(L), 3, r);
    lua_pop(L, 1);
    out[k].start = r[0];
    out[k].count = r[1];
    out[k].step = r[2];
  }
}

static const plan_shape *arg_shape(lua_State *L, int i) {
  int64_t dim[PLAN_RANK];
  return lt_shape_of(L, lt_arg_sizes(L, i, i, 0, dim), dim);
}

static uint32_t axis_bits(lua_State *L, int i, const plan_node *x) {
  if (lua_isnoneornil(L, i)) return (UINT32_C(1) << plan_shape_of(x)->rank) - 1;
  return lt_arg_axes(L, i, (int)plan_shape_of(x)->rank);
}

/* ---- what a tensor is --------------------------------------------------- */
static int core_is_tensor(lua_State *L) {
  lua_pushboolean(L, lt_tensor_test(L, 1) != NULL);
  return 1;
}

/* "a tensor", "a number", "nil": for messages. */
static int core_kind(lua_State *L) {
  lua_pushstring(L, lt_type_name(L, 1));
  return 1;
}

static int core_id(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)(uintptr_t)arg(L, 1));
  return 1;
}

static int core_count(lua_State *L) {
  lua_pushinteger(L, plan_shape_of(arg(L, 1))->count);
  return 1;
}

/* The number that a pending f32 or f64 tensor was filled with, else nil. */
static int core_filled(lua_State *L) {
  double v;
  if (!plan_is_filled(arg(L, 1), &v)) return 0;
  lua_pushnumber(L, v);
  return 1;
}

static int core_alias(lua_State *L) {
  const plan_shape *s = plan_shape_of(arg(L, 1));
  lt_begin(L);
  lt_push_reshape(L, 1, s);
  return lt_done(L, 1);
}

/* ---- recording ---------------------------------------------------------- */
static int core_map(lua_State *L) {
  int op = arg_op(L, 1), n = lua_gettop(L) - 1, tensors = 0;
  luaL_argcheck(L, n >= 1 && n <= 3, 2, "one to three operands");
  lua_remove(L, 1);
  for (int i = 1; i <= n; i++) tensors += lt_tensor_test(L, i) != NULL;
  if (tensors) return lt_push_map(L, op, n, 1, 2, 3);
  for (int i = 1; i <= n; i++)
    if (lua_type(L, i) != LUA_TBOOLEAN) luaL_checknumber(L, i);
  return lt_number_map(L, op, n);
}

static int core_fold(lua_State *L) {
  int op = arg_op(L, 1);
  plan_node *x = arg(L, 2), **out;
  uint32_t axes = axis_bits(L, 3, x);
  int keep = lua_toboolean(L, 4);
  tsh_err err;
  lt *l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_fold(l->plan, op, x, axes, keep, out, &err), &err);
  return lt_done(L, 1);
}

static int core_dot(lua_State *L) {
  plan_node *a = arg(L, 1), *b = arg(L, 2), **out;
  const plan_node *wide =
      plan_shape_of(b)->rank > plan_shape_of(a)->rank ? b : a;
  uint32_t axes = axis_bits(L, 3, wide);
  int keep = lua_toboolean(L, 4);
  tsh_err err;
  lt *l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_dot(l->plan, a, b, axes, keep, out, &err), &err);
  return lt_done(L, 1);
}

/* full(shape, value, dtype, device) */
static int core_full(lua_State *L) {
  const plan_shape *s = arg_shape(L, 1);
  int dtype = lua_isnoneornil(L, 3) ? 0 : lt_arg_dtype(L, 3);
  dev *d = lua_isnoneornil(L, 4) ? lt_of(L)->device : lt_arg_device(L, 4);
  plan_operand v;
  plan_node **out;
  tsh_err err;
  lt *l;
  lt_arg_operand(L, 2, &v);
  if (dtype == TSH_bool && v.kind == PLAN_INT) v.kind = PLAN_BOOL;
  if (dtype) lt_number_fit(L, &v, dtype);
  l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_full(l->plan, d, dtype, s, &v, out, &err), &err);
  return lt_done(L, 1);
}

static int core_slice0(lua_State *L) {
  plan_range r[PLAN_RANK];
  plan_node *x = arg(L, 1);
  arg_ranges(L, 2, (int)plan_shape_of(x)->rank, r);
  lt_begin(L);
  lt_push_slice(L, x, r);
  return lt_done(L, 1);
}

static int core_set0(lua_State *L) {
  plan_range r[PLAN_RANK];
  plan_node *x = arg(L, 1), **out;
  plan_operand v;
  tsh_err err;
  arg_ranges(L, 2, (int)plan_shape_of(x)->rank, r);
  lt_arg_operand(L, 3, &v);
  if (v.kind != PLAN_TENSOR) lt_number_fit(L, &v, plan_dtype_of(x));
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_set(lt_of(L)->plan, x, r, &v, out, &err), &err);
  return lt_done(L, 1);
}

static int core_pad0(lua_State *L) {
  int64_t before[PLAN_RANK], after[PLAN_RANK];
  plan_node *x = arg(L, 1), **out;
  int rank = (int)plan_shape_of(x)->rank;
  plan_operand v = {.kind = PLAN_INT};
  tsh_err err;
  arg_list(L, 2, rank, before);
  arg_list(L, 3, rank, after);
  if (!lua_isnoneornil(L, 4)) lt_arg_operand(L, 4, &v);
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_pad(lt_of(L)->plan, x, before, after, &v, out, &err), &err);
  return lt_done(L, 1);
}

static int core_cat(lua_State *L) {
  plan_node *first;
  int axis;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  lua_rawgeti(L, 1, 1);
  first = arg(L, 3);
  axis = lt_arg_axis(L, 2, (int)plan_shape_of(first)->rank);
  lt_begin(L);
  lt_push_cat(L, 1, (int64_t)lua_rawlen(L, 1), axis);
  return lt_done(L, 1);
}

/* windows(x, axis, size, stride, dilation) */
static int core_windows(lua_State *L) {
  plan_node *x = arg(L, 1), **out;
  int axis = lt_arg_axis(L, 2, (int)plan_shape_of(x)->rank);
  plan_window w = {luaL_checkinteger(L, 3), luaL_checkinteger(L, 4),
                   luaL_checkinteger(L, 5)};
  tsh_err err;
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_windows(lt_of(L)->plan, x, axis, &w, out, &err), &err);
  return lt_done(L, 1);
}

/* custom(value, inputs...): value, with the inputs on its record */
static int core_custom(lua_State *L) {
  int n = lua_gettop(L);
  plan_node **x = lua_newuserdatauv(L, sizeof *x * ((size_t)n + 1), 0), **out;
  tsh_err err;
  for (int i = 0; i < n; i++) x[i] = arg(L, i + 1);
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_custom(lt_of(L)->plan, x, n, out, &err), &err);
  return lt_done(L, 1);
}

static int core_take0(lua_State *L) {
  plan_node *x = arg(L, 1), *at = arg(L, 2);
  int axis = lt_arg_axis(L, 3, (int)plan_shape_of(x)->rank);
  lt_begin(L);
  lt_push_take(L, x, at, axis);
  return lt_done(L, 1);
}

/* index0(at, n): the positions from 0 of those from 1, of 1..n. */
static int core_index(lua_State *L) {
  plan_node *at = arg(L, 1);
  int64_t n = lt_arg_whole(L, 2, "the extent");
  lt_begin(L);
  lt_push_positions(L, at, n);
  return lt_done(L, 1);
}

/* index_put(op, x, at, v, axis); op: index_add, index_set ... */
static int core_index_put(lua_State *L) {
  int op = arg_op(L, 1);
  plan_node *x = arg(L, 2), *at = arg(L, 3), *v = arg(L, 4), **out;
  int axis = lt_arg_axis(L, 5, (int)plan_shape_of(x)->rank);
  tsh_err err;
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_index_put(lt_of(L)->plan, op, x, at, v, axis, out, &err),
           &err);
  return lt_done(L, 1);
}

static int core_index_add(lua_State *L) {
  lua_pushliteral(L, "index_add");
  lua_insert(L, 1);
  return core_index_put(L);
}

/* one_hot(at from 0, n, dtype); what is no class has a row of zeros. */
static int core_one_hot(lua_State *L) {
  plan_node *at = arg(L, 1), **out;
  int64_t n = lt_arg_whole(L, 2, "the number of classes");
  int dtype = lua_isnoneornil(L, 3) ? TSH_i64 : lt_arg_dtype(L, 3);
  tsh_err err;
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_one_hot(lt_of(L)->plan, at, n, dtype, out, &err), &err);
  return lt_done(L, 1);
}

/* ---- draws that depend on nothing but their key ------------------------- */
static plan_rng arg_rng(lua_State *L) {
  plan_rng rng;
  rng.key = (uint64_t)luaL_checkinteger(L, 1);
  rng.base = (uint64_t)luaL_checkinteger(L, 2);
  return rng;
}

/* rand_key(key, counter, n): n random words, i64. */
static int core_rand_key(lua_State *L) {
  plan_rng rng = arg_rng(L);
  int64_t n = lt_arg_whole(L, 3, "the number of words");
  const plan_shape *s = lt_shape_of(L, 1, &n);
  plan_node **out;
  tsh_err err;
  lt *l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_random(l->plan, l->device, s, &rng, out, &err), &err);
  return lt_done(L, 1);
}

static int keyed(lua_State *L, lt_drawer draw) {
  plan_rng rng = arg_rng(L);
  const plan_shape *s = arg_shape(L, 3);
  int dtype = lua_isnoneornil(L, 4) ? TSH_f32 : lt_arg_dtype(L, 4);
  return lt_push_draw(L, draw, lt_of(L)->device, dtype, s, &rng);
}

/* draw(shape): words of the stream that rand takes from, i64, on the device
 * where new tensors go. */
static int core_draw(lua_State *L) {
  const plan_shape *s = arg_shape(L, 1);
  plan_node **out;
  tsh_err err;
  lt *l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_random(l->plan, l->device, s, &l->rng, out, &err), &err);
  return lt_done(L, 1);
}

static int core_randn_key(lua_State *L) { return keyed(L, plan_randn); }
static int core_uniform(lua_State *L) { return keyed(L, plan_rand); }

/* ---- files, errors, ops ------------------------------------------------- */
static int core_fail(lua_State *L) {
  const char *hint = lua_isnoneornil(L, 2) ? NULL : luaL_checkstring(L, 2);
  return lt_fail_text(L, NULL, luaL_checkstring(L, 1), hint);
}

static int core_note(lua_State *L) {
  lt_note("%s", luaL_checkstring(L, 1));
  return 0;
}

/* nearest(word, "axis keep"): the option that was meant, or nil. */
static int core_nearest(lua_State *L) {
  const char *names[32];
  char *words;
  int n = 0;
  size_t size;
  const char *text = luaL_checklstring(L, 2, &size);
  words = lua_newuserdatauv(L, size + 1, 0);
  memcpy(words, text, size + 1);
  for (char *at = strtok(words, " "); at && n < 31; at = strtok(NULL, " "))
    names[n++] = at;
  names[n] = NULL;
  lua_pushstring(L, lt_nearest_option(luaL_checkstring(L, 1), names));
  return 1;
}

/* synonyms(): {name, hint} of what has another name elsewhere. */
static int core_synonyms(lua_State *L) {
  const char *name;
  char hint[160];
  lua_newtable(L);
  for (size_t i = 0; (name = lt_synonym_at(i, hint, sizeof hint)); i++) {
    lua_createtable(L, 2, 0);
    lua_pushstring(L, name);
    lua_rawseti(L, -2, 1);
    lua_pushstring(L, hint);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static const luaL_Reg core_functions[] = {{"tape_open", lt_tape_open},
                                          {"tape_close", lt_tape_close},
                                          {"stop_watching", lt_tape_stop},
                                          {"watching", lt_tape_watching},
                                          {"customs", lt_tape_customs},
                                          {"set_rule", lt_walk_set_rule},
                                          {"walk_new", lt_walk_new},
                                          {"walk_back", lt_walk_back},
                                          {"walk_give", lt_walk_give},
                                          {"id", core_id},
                                          {"count", core_count},
                                          {"alias", core_alias},
                                          {"filled", core_filled},
                                          {"is_tensor", core_is_tensor},
                                          {"kind", core_kind},
                                          {"sorted_keys", lt_sorted_keys},
                                          {"tree_gather", lt_tree_gather},
                                          {"tree_build", lt_tree_build},
                                          {"is_like", lt_is_like},
                                          {"has_half", lt_has_half},
                                          {"sizes", lt_sizes},
                                          {"has_sizes", lt_has_sizes},
                                          {"map", core_map},
                                          {"fold", core_fold},
                                          {"dot", core_dot},
                                          {"full", core_full},
                                          {"data", lt_create_tensor},
                                          {"slice0", core_slice0},
                                          {"set0", core_set0},
                                          {"pad0", core_pad0},
                                          {"cat", core_cat},
                                          {"windows", core_windows},
                                          {"custom", core_custom},
                                          {"take0", core_take0},
                                          {"index0", core_index},
                                          {"index_add", core_index_add},
                                          {"index_put", core_index_put},
                                          {"one_hot", core_one_hot},
                                          {"rand_key", core_rand_key},
                                          {"randn_key", core_randn_key},
                                          {"rand_key_uniform", core_uniform},
                                          {"draw", core_draw},
                                          {"tidy", lt_gc_between},
                                          {"fail", core_fail},
                                          {"note", core_note},
                                          {"nearest", core_nearest},
                                          {"synonyms", core_synonyms},
                                          {"ops", lt_tsh_ops},
                                          {"functions", lt_functions_list},
                                          {"file_open", lt_file_open},
                                          {"file_close", lt_file_close},
                                          {"file_entries", lt_file_entries},
                                          {"file_notes", lt_file_notes},
                                          {"file_take", lt_file_take},
                                          {"file_table", lt_read_csv},
                                          {"file_survey", lt_survey_csv},
                                          {"file_array", lt_read_json},
                                          {"file_write", lt_file_write},
                                          {NULL, NULL}};

int lt_open_tsh_core(lua_State *L) {
  luaL_newlib(L, core_functions);
  luaL_setfuncs(L, lt_bench_functions, 0);
  luaL_setfuncs(L, lt_inspect_functions, 0);
  luaL_setfuncs(L, lt_bar_functions, 0);
  luaL_setfuncs(L, lt_core_calls, 0);
  luaL_setfuncs(L, lt_core_back, 0);
  luaL_setfuncs(L, lt_feed_functions, 0);
  luaL_setfuncs(L, lt_shapes_functions, 0);
  lua_pushliteral(L, LT_COLUMNS);
  lua_setfield(L, -2, "columns_hint");
  return 1;
}
