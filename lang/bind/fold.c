/* fold.c - functions that fold axes: sum prod max min any all mean var argmax
 * argmin softmax log_softmax. */
#include "priv.h"

#define FOLD_OPTIONS "axis keep"
#define SUM_OPTIONS  "axis keep dtype"
#define VAR_OPTIONS  "axis keep correction"

typedef struct {
  plan_node *x;
  uint32_t axes;
  int at; /* where the axis value stands, or 0 */
  int options, keep;
} fold_args;

/* f(x), f(x, axis), f(x, {axes}), f(x, {axis=, keep=}), f(x, axis, {keep=}). */
static void fold_parse(lua_State *L, const char *allowed, fold_args *a) {
  int rank;
  a->x = lt_tensor_get(L, 1);
  lt_most_args(L, 3);
  lua_settop(L, 3);
  a->options =
      lua_isnil(L, 3) && (lt_is_options(L, 2) ||
                          (lua_type(L, 2) == LUA_TTABLE && !lua_rawlen(L, 2)))
          ? 2
          : 3;
  lt_arg_options(L, a->options, allowed);
  a->at = a->options == 3 && !lua_isnil(L, 2) ? 2 : 0;
  a->keep = lt_option_flag(L, a->options, "keep");
  if (lt_option(L, a->options, "axis") == LUA_TNIL) {
    lua_pop(L, 1);
  } else {
    if (a->at) lt_fail(L, NULL, "the axis is given twice");
    a->at = lua_gettop(L); /* the value stays there */
  }
  rank = (int)plan_shape_of(a->x)->rank;
  a->axes = a->at ? lt_arg_axes(L, a->at, rank) : (UINT32_C(1) << rank) - 1;
}

/* The operand of sum{dtype=}: cast first, as the dtype is what is summed in. */
static plan_node *fold_cast(lua_State *L, const fold_args *a) {
  int dtype = lt_option_dtype(L, a->options, 0);
  if (!dtype || dtype == plan_dtype_of(a->x)) return a->x;
  return lt_push_cast(L, a->x, dtype);
}

static int fold(lua_State *L, int op) {
  int summed = op == TSH_OP_sum || op == TSH_OP_prod;
  fold_args a;
  plan_node **out, *x;
  tsh_err err;
  lt *l;
  fold_parse(L, summed ? SUM_OPTIONS : FOLD_OPTIONS, &a);
  l = lt_begin(L);
  x = summed ? fold_cast(L, &a) : a.x;
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_fold(l->plan, op, x, a.axes, a.keep, out, &err), &err);
  return lt_done(L, 1);
}

static int fold_sum(lua_State *L) { return fold(L, TSH_OP_sum); }
static int fold_prod(lua_State *L) { return fold(L, TSH_OP_prod); }
static int fold_any(lua_State *L) { return fold(L, TSH_OP_any); }
static int fold_all(lua_State *L) { return fold(L, TSH_OP_all); }

/* ---- max and min: Lua's names for two things ---------------------------- */
static int number_extreme(lua_State *L, int n, int largest) {
  int best = 1;
  for (int i = 2; i <= n; i++) {
    double v = lua_tonumber(L, i), w = lua_tonumber(L, best);
    if (w != w) break;
    if (v != v ||
        lua_compare(L, largest ? best : i, largest ? i : best, LUA_OPLT))
      best = i;
  }
  lua_pushvalue(L, best);
  return 1;
}

static int extreme(lua_State *L, int fold_op, int map_op, const char *name) {
  int numbers = 0, n = lua_gettop(L);
  char hint[120];
  for (int i = 1; i <= n; i++) numbers += lua_type(L, i) == LUA_TNUMBER;
  if (n > 0 && numbers == n) return number_extreme(L, n, fold_op == TSH_OP_max);
  if (n == 2 && lt_tensor_test(L, 1) && lt_tensor_test(L, 2))
    return lt_push_map(L, map_op, 2, 1, 2, 0);
  if (lua_type(L, 1) != LUA_TNUMBER && lua_type(L, 2) != LUA_TNUMBER)
    return fold(L, fold_op);
  snprintf(hint, sizeof hint,
           "%simum(x, 1) for the %s of two, %s(x, {axis=1}) along an axis",
           name, fold_op == TSH_OP_max ? "larger" : "smaller", name);
  return lt_fail(L, hint, "a tensor and a number can mean two things");
}

static int fold_max(lua_State *L) {
  return extreme(L, TSH_OP_max, TSH_OP_maximum, "max");
}
static int fold_min(lua_State *L) {
  return extreme(L, TSH_OP_min, TSH_OP_minimum, "min");
}

/* x:max(1) is the axis, x:max(y) the larger of two, x:max(index, v) a changed
 * copy. */
static int method_extreme(lua_State *L, int fold_op, int map_op,
                          lua_CFunction update) {
  if (lt_tensor_test(L, 2) && lua_gettop(L) == 2)
    return lt_push_map(L, map_op, 2, 1, 2, 0);
  if (lua_gettop(L) > 2 && !lua_isnil(L, 3) &&
      (lua_type(L, 3) == LUA_TNUMBER || lt_tensor_test(L, 3)))
    return update(L);
  return fold(L, fold_op);
}

static int method_max(lua_State *L) {
  return method_extreme(L, TSH_OP_max, TSH_OP_maximum, lt_update_max);
}
static int method_min(lua_State *L) {
  return method_extreme(L, TSH_OP_min, TSH_OP_minimum, lt_update_min);
}

/* ---- mean and var ------------------------------------------------------- */
static int fold_mean(lua_State *L) {
  fold_args a;
  plan_node **out, *x;
  tsh_err err;
  lt *l;
  fold_parse(L, SUM_OPTIONS, &a);
  l = lt_begin(L);
  x = fold_cast(L, &a);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_mean(l->plan, x, a.axes, a.keep, out, &err), &err);
  return lt_done(L, 1);
}

static int fold_var(lua_State *L) {
  fold_args a;
  double correction;
  plan_node **out;
  tsh_err err;
  lt *l;
  fold_parse(L, VAR_OPTIONS, &a);
  correction = lt_option_real(L, a.options, "correction", 1);
  l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_var(l->plan, a.x, a.axes, a.keep, correction, out, &err),
           &err);
  return lt_done(L, 1);
}

/* ---- argmax and argmin: the planner counts from 0, Lua from 1 ----------- */
static int argfold(lua_State *L, int op) {
  fold_args a;
  int axis = -1;
  plan_operand in[2] = {{.kind = PLAN_TENSOR}, {.kind = PLAN_INT, .num.i = 1}};
  plan_node **out;
  tsh_err err;
  lt *l;
  fold_parse(L, FOLD_OPTIONS, &a);
  if (a.at) axis = lt_arg_axis(L, a.at, (int)plan_shape_of(a.x)->rank);
  l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_argfold(l->plan, op, a.x, axis, a.keep, out, &err), &err);
  in[0].node = *out;
  out = lt_tensor_new(L);
  lt_check(L, plan_map(l->plan, TSH_OP_add, in, 2, out, &err), &err);
  return lt_done(L, 1);
}

static int fold_argmax(lua_State *L) { return argfold(L, TSH_OP_argmax); }
static int fold_argmin(lua_State *L) { return argfold(L, TSH_OP_argmin); }

/* ---- softmax ------------------------------------------------------------- */
static int soft(lua_State *L, tsh_status (*record)(plan *, plan_node *, int,
                                                   plan_node **, tsh_err *)) {
  fold_args a;
  int rank, axis;
  plan_node **out;
  tsh_err err;
  lt *l;
  fold_parse(L, "axis", &a);
  rank = (int)plan_shape_of(a.x)->rank;
  axis = a.at ? lt_arg_axis(L, a.at, rank) : lt_axis(L, -1, rank);
  l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, record(l->plan, a.x, axis, out, &err), &err);
  return lt_done(L, 1);
}

static int fold_softmax(lua_State *L) { return soft(L, plan_softmax); }
static int fold_log_softmax(lua_State *L) { return soft(L, plan_log_softmax); }

#define BOTH (LT_GLOBAL | LT_METHOD)
#define AXES                                                                   \
  "axis: a number or a list; all axes without it. keep=true leaves "           \
  "them with extent 1."
const lt_function lt_fold_functions[] = {
    {"sum", "x, axis", SUM_OPTIONS,
     "Sum of the elements. " AXES " Sums of bool and integers are i64 "
     "(unsigned: u64); dtype= casts first.",
     fold_sum, NULL, NULL, BOTH},
    {"prod", "x, axis", SUM_OPTIONS,
     "Product of the elements. " AXES " Products of bool and integers are i64 "
     "(unsigned: u64); dtype= casts first.",
     fold_prod, NULL, NULL, BOTH},
    {"max", "x, axis", FOLD_OPTIONS,
     "Largest element; nan wins. " AXES " max(a, b) of two tensors is "
     "maximum(a, b), of numbers the larger number; x:max(index, v) is x with "
     "the larger of x[index] and v there.",
     fold_max, method_max, NULL, BOTH},
    {"min", "x, axis", FOLD_OPTIONS,
     "Smallest element; nan wins. " AXES " min(a, b) of two tensors is "
     "minimum(a, b), of numbers the smaller number; x:min(index, v) is x with "
     "the smaller of x[index] and v there.",
     fold_min, method_min, NULL, BOTH},
    {"any", "x, axis", FOLD_OPTIONS, "True when one element is not 0. " AXES,
     fold_any, NULL, NULL, BOTH},
    {"all", "x, axis", FOLD_OPTIONS, "True when no element is 0. " AXES,
     fold_all, NULL, NULL, BOTH},
    {"mean", "x, axis", SUM_OPTIONS,
     "Arithmetic mean. " AXES " Of bool and integers it is f32; dtype= casts "
     "first.",
     fold_mean, NULL, NULL, BOTH},
    {"var", "x, axis", VAR_OPTIONS,
     "Variance, divided by the number of elements - correction (1). " AXES,
     fold_var, NULL, NULL, BOTH},
    {"argmax", "x, axis", FOLD_OPTIONS,
     "Position (from 1, i64) of the largest element along axis; without axis "
     "in the flattened tensor. nan wins, then the first.",
     fold_argmax, NULL, NULL, BOTH},
    {"argmin", "x, axis", FOLD_OPTIONS,
     "Position (from 1, i64) of the smallest element along axis; without axis "
     "in the flattened tensor. nan wins, then the first.",
     fold_argmin, NULL, NULL, BOTH},
    {"softmax", "x, axis", "axis",
     "exp(x) divided by its sum along axis (the last one without it).",
     fold_softmax, NULL, NULL, BOTH},
    {"log_softmax", "x, axis", "axis",
     "Logarithm of softmax along axis (the last one without it).",
     fold_log_softmax, NULL, NULL, BOTH},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
