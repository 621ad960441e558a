/* call.c - functions that are neither one MAP nor one FOLD: matmul take
 * one_hot, and the tests equal and allclose. */
#include <string.h>
#include "index.h"

static int call_matmul(lua_State *L) {
  plan_node *a = lt_tensor_get(L, 1), *b = lt_tensor_get(L, 2), **out;
  const plan_shape *s = plan_shape_of(a), *t = plan_shape_of(b);
  char *shapes;
  tsh_err err;
  lt *l;
  lt_most_args(L, 2);
  l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  if (plan_matmul(l->plan, a, b, out, &err) == TSH_OK) return lt_done(L, 1);
  lua_settop(L, 2);
  shapes = strstr(err.text, " (");
  if (shapes) *shapes = '\0'; /* the facts below say them */
  if (s->rank == 2 && t->rank == 2 && s->dim[1] != t->dim[0]) {
    const char *dtype = plan_dtype_name(plan_dtype_of(b));
    if (s->dim[1] == t->dim[1])
      return lt_raise(L, &err, "b.T is %s[%lld,%lld]", dtype,
                      (long long)t->dim[1], (long long)t->dim[0]);
    if (s->dim[0] == t->dim[0])
      return lt_raise(L, &err, "a.T is %s[%lld,%lld]",
                      plan_dtype_name(plan_dtype_of(a)), (long long)s->dim[1],
                      (long long)s->dim[0]);
  }
  return lt_raise(L, &err, NULL);
}

/* The axis of f(x, y, axis) or f(x, y, {axis=}), or `none`. */
static int arg_axis(lua_State *L, int i, int rank, int none) {
  lt_most_args(L, i);
  if (lua_isnoneornil(L, i)) return none;
  if (lua_type(L, i) == LUA_TNUMBER) return lt_arg_axis(L, i, rank);
  lt_arg_options(L, i, "axis");
  return lt_option(L, i, "axis") == LUA_TNIL ? none : lt_arg_axis(L, -1, rank);
}

/* Positions: an integer tensor, a number, or a list of numbers. */
static plan_node *arg_positions(lua_State *L, int i) {
  plan_node *at = lt_tensor_test(L, i);
  int kind;
  if (!at) {
    if (lua_type(L, i) != LUA_TNUMBER && lua_type(L, i) != LUA_TTABLE)
      lt_fail(L, NULL, "positions are an integer tensor, got %s",
              lt_type_name(L, i));
    lua_pushcfunction(L, lt_create_tensor);
    lua_pushvalue(L, i);
    lua_pushliteral(L, "i64");
    lua_call(L, 2, 1);
    at = lt_tensor_test(L, -1);
  }
  kind = plan_dtype_kind(plan_dtype_of(at));
  if (kind != TSH_KIND_INT && kind != TSH_KIND_UINT)
    lt_fail(L, kind == TSH_KIND_BOOL ? "where(mask, x, 0)" : "at:cast(\"i64\")",
            "positions must be integers, not %s",
            plan_dtype_name(plan_dtype_of(at)));
  return at;
}

static int call_take(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1), *at;
  const plan_shape *s = plan_shape_of(x);
  int axis;
  if (s->rank == 0)
    return lt_fail(L, NULL, "a tensor without axes has no positions");
  axis = arg_axis(L, 3, (int)s->rank, 0);
  at = arg_positions(L, 2);
  lt_begin(L);
  at = lt_push_positions(L, at, s->dim[axis]);
  lt_push_take(L, x, at, axis);
  return lt_done(L, 1);
}

static int call_one_hot(lua_State *L) {
  plan_node *at, **out;
  int64_t n;
  int dtype = TSH_i64;
  tsh_err err;
  lt *l;
  lt_most_args(L, 3);
  n = lt_arg_whole(L, 2, "the number of classes");
  if (n < 0) return lt_fail(L, NULL, "a size cannot be %I", n);
  if (lua_type(L, 3) == LUA_TSTRING)
    dtype = lt_arg_dtype(L, 3);
  else if (lt_arg_options(L, 3, "dtype"))
    dtype = lt_option_dtype(L, 3, dtype);
  at = arg_positions(L, 1);
  l = lt_begin(L);
  at = lt_push_positions(L, at, n);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_one_hot(l->plan, at, n, dtype, out, &err), &err);
  return lt_done(L, 1);
}

static int call_promote(lua_State *L) {
  int a = lt_arg_dtype(L, 1), b = lt_arg_dtype(L, 2), c = plan_promote(a, b);
  lt_most_args(L, 2);
  if (!c)
    return lt_fail(L, NULL, "%s and %s have no common dtype",
                   plan_dtype_name(a), plan_dtype_name(b));
  lua_pushstring(L, plan_dtype_name(c));
  return 1;
}

/* ---- one boolean of two tensors ----------------------------------------- */
static int all_true(lua_State *L, int i) {
  plan_node *x = lt_tensor_test(L, i), **out = lt_tensor_new(L);
  uint8_t answer = 0;
  tsh_err err;
  uint32_t axes = (UINT32_C(1) << plan_shape_of(x)->rank) - 1;
  err.size = sizeof err;
  lt_check(L, plan_fold(lt_of(L)->plan, TSH_OP_all, x, axes, 0, out, &err),
           &err);
  if (lt_read(L, *out, &answer, &err) != TSH_OK) lt_raise_demand(L, &err);
  lua_pushboolean(L, answer);
  return 1;
}

static int call_equal(lua_State *L) {
  plan_node *a = lt_tensor_get(L, 1), *b = lt_tensor_get(L, 2);
  lt_most_args(L, 2);
  if (plan_shape_of(a) != plan_shape_of(b)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  lt_push_map(L, TSH_OP_eq, 2, 1, 2, 0);
  return all_true(L, lua_gettop(L));
}

/* d, or the built-in device when d has no f64. */
static dev *with_f64(lua_State *L, dev *d) {
  return dev_has_dtype(d, TSH_f64) ? d : dev_builtin(lt_of(L)->devices);
}

/* Pushes the f64 form of the tensor or number at i. */
static int push_f64(lua_State *L, int i) {
  plan_node *x = lt_tensor_test(L, i);
  if (x) {
    x = lt_push_to(L, x, with_f64(L, plan_dev_of(x)));
    lt_push_cast(L, x, TSH_f64);
  } else {
    lua_pushcfunction(L, lt_create_tensor);
    lua_pushvalue(L, i);
    lua_createtable(L, 0, 2);
    lua_pushliteral(L, "f64");
    lua_setfield(L, -2, "dtype");
    lua_pushstring(L, dev_name(with_f64(L, lt_of(L)->device)));
    lua_setfield(L, -2, "device");
    lua_call(L, 2, 1);
  }
  return lua_gettop(L);
}

/* Pushes op of the values at a and b; its index. */
static int op2(lua_State *L, int op, int a, int b) {
  lt_push_map(L, op, 2, a, b, 0);
  return lua_gettop(L);
}

static int op1(lua_State *L, int op, int a) {
  lt_push_map(L, op, 1, a, 0, 0);
  return lua_gettop(L);
}

static int push_number(lua_State *L, double v) {
  lua_pushnumber(L, v);
  return lua_gettop(L);
}

/* a == b, or |a - b| <= atol + rtol |b| with b finite; nan is near to nothing
 * unless equal_nan. */
static int call_allclose(lua_State *L) {
  double rtol, atol;
  int a, b, room, near;
  lt_most_args(L, 3);
  lua_settop(L, 3);
  if (lua_type(L, 1) != LUA_TNUMBER) lt_tensor_get(L, 1);
  if (lua_type(L, 2) != LUA_TNUMBER) lt_tensor_get(L, 2);
  lt_arg_options(L, 3, "rtol atol equal_nan");
  rtol = lt_option_real(L, 3, "rtol", 1e-5);
  atol = lt_option_real(L, 3, "atol", 1e-8);
  luaL_checkstack(L, 30, NULL);
  a = push_f64(L, 1);
  b = push_f64(L, 2);
  room = op2(L, TSH_OP_mul, op1(L, TSH_OP_abs, b), push_number(L, rtol));
  room = op2(L, TSH_OP_add, room, push_number(L, atol));
  near = op1(L, TSH_OP_abs, op2(L, TSH_OP_sub, a, b));
  near = op2(L, TSH_OP_le, near, room);
  near = op2(L, TSH_OP_bitand, near, op1(L, TSH_OP_isfinite, b));
  near = op2(L, TSH_OP_bitor, near, op2(L, TSH_OP_eq, a, b));
  if (lt_option_flag(L, 3, "equal_nan"))
    near = op2(L, TSH_OP_bitor, near,
               op2(L, TSH_OP_bitand, op1(L, TSH_OP_isnan, a),
                   op1(L, TSH_OP_isnan, b)));
  return all_true(L, near);
}

#define BOTH (LT_GLOBAL | LT_METHOD)
const lt_function lt_call_functions[] = {
    {"matmul", "a, b", "",
     "Matrix product as NumPy has it: the last axis of a with the second last "
     "of b, batch axes in front broadcast, tensors of one axis are vectors.",
     call_matmul, NULL, NULL, BOTH},
    {"mm", "", "", "", NULL, NULL, "matmul", 0},
    {"take", "x, at, axis", "axis",
     "Elements at the positions of an integer tensor (from 1, negative from "
     "the end) along axis (1). A position outside is an error when computed.",
     call_take, NULL, NULL, BOTH},
    {"one_hot", "at, n", "dtype",
     "A new last axis of n, 1 at the position (1..n), else 0; i64 unless "
     "dtype= says else.",
     call_one_hot, NULL, NULL, BOTH},
    {"promote", "a, b", "",
     "The dtype of an op of two tensors of dtypes a and b, as a word.",
     call_promote, NULL, NULL, LT_GLOBAL},
    {"equal", "a, b", "",
     "One boolean: are shapes and all elements equal? nan equals nothing.",
     call_equal, NULL, NULL, BOTH},
    {"allclose", "a, b", "rtol atol equal_nan",
     "One boolean: is |a - b| <= atol + rtol |b| everywhere (rtol 1e-5, atol "
     "1e-8)?",
     call_allclose, NULL, NULL, BOTH},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
