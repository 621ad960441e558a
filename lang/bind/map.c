/* map.c - the MAP ops of the op table as Lua functions, methods and operators.
 * Each op is one C function without upvalues, made from its row. */
#include <string.h>
#include "priv.h"

static void check_policy(lua_State *L, const plan_operand *in, int n) {
  lt *l = lt_of(L);
  const plan_node *first = NULL;
  for (int i = 0; i < n; i++) {
    plan_node *x = in[i].kind == PLAN_TENSOR ? in[i].node : NULL;
    if (!x || plan_shape_of(x)->rank == 0) continue;
    if (!first) first = x;
    if (plan_dev_of(first) == plan_dev_of(x)) continue;
    if (l->policy == LT_POLICY_ERROR)
      lt_fail(L, "x:to(device) moves it, tsh.policy(\"auto\") allows moves",
              "operands lie on two devices, %s and %s",
              dev_name(plan_dev_of(first)), dev_name(plan_dev_of(x)));
    lt_note("a tensor is moved between %s and %s", dev_name(plan_dev_of(first)),
            dev_name(plan_dev_of(x)));
    return;
  }
}

/* Pushes op of the operands. */
static int push_map(lua_State *L, int op, const plan_operand *in, int n) {
  lt *l = lt_begin(L);
  plan_node **out;
  tsh_err err;
  if (l->policy != LT_POLICY_AUTO) check_policy(L, in, n);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  if (plan_map(l->plan, op, in, n, out, &err) != TSH_OK)
    return lt_raise(L, &err, NULL);
  return lt_done(L, 1);
}

int lt_push_map(lua_State *L, int op, int n, int a, int b, int c) {
  const int at[3] = {a, b, c};
  plan_operand in[3];
  for (int i = 0; i < n; i++) lt_arg_operand(L, at[i], &in[i]);
  push_map(L, op, in, n);
  return 1;
}

/* No operand is a tensor: all must be numbers, or booleans. */
static int map_numbers(lua_State *L, int op, int n) {
  for (int i = 1; i <= n; i++) {
    int type = lua_type(L, i);
    if (type == LUA_TNUMBER || type == LUA_TBOOLEAN) continue;
    return lt_fail(
        L, type == LUA_TTABLE ? "tensor{...} makes one of a table" : NULL,
        "argument %d must be a tensor or a number, got %s", i,
        lt_type_name(L, i));
  }
  return lt_number_map(L, op, n);
}

static int map(lua_State *L, int op, int n) {
  plan_operand in[3];
  int tensors = 0;
  if (lua_gettop(L) > n) lt_most_args(L, n);
  for (int i = 0; i < n; i++) {
    in[i].node = lt_tensor_test(L, i + 1);
    in[i].kind = PLAN_TENSOR;
    tensors += in[i].node != NULL;
  }
  if (tensors == 0) return map_numbers(L, op, n);
  if (tensors < n)
    for (int i = 0; i < n; i++)
      if (!in[i].node) lt_arg_operand(L, i + 1, &in[i]);
  return push_map(L, op, in, n);
}

/* ---- powers -------------------------------------------------------------
 * x^2, x^0.5 and their kin are other ops when the exponent is a number. It is
 * decided here, by value, once: nothing later looks at a scalar's value. */
static int cube(lua_State *L) {
  lt_push_map(L, TSH_OP_square, 1, 1, 0, 0);
  return lt_push_map(L, TSH_OP_mul, 2, lua_gettop(L), 1, 0);
}

static int power_zero(lua_State *L, plan_node *x) {
  lt *l = lt_begin(L);
  plan_operand one = {.kind = PLAN_REAL, .num.f = 1};
  tsh_err err;
  plan_node **out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L,
           plan_full(l->plan, plan_dev_of(x), plan_dtype_of(x),
                     plan_shape_of(x), &one, out, &err),
           &err);
  return lt_done(L, 1);
}

static int power(lua_State *L) {
  plan_node *x = lt_tensor_test(L, 1);
  double y;
  if (!x || lua_type(L, 2) != LUA_TNUMBER ||
      plan_dtype_kind(plan_dtype_of(x)) != TSH_KIND_FLOAT)
    return map(L, TSH_OP_pow, 2);
  y = lua_tonumber(L, 2);
  if (y == 2) return lt_push_map(L, TSH_OP_square, 1, 1, 0, 0);
  if (y == 3) return cube(L);
  if (y == 0.5) return lt_push_map(L, TSH_OP_sqrt, 1, 1, 0, 0);
  if (y == -1) return lt_push_map(L, TSH_OP_reciprocal, 1, 1, 0, 0);
  if (y == -0.5) return lt_push_map(L, TSH_OP_rsqrt, 1, 1, 0, 0);
  if (y == 0) return power_zero(L, x);
  if (y == 1) {
    lua_pushvalue(L, 1);
    return 1;
  }
  return map(L, TSH_OP_pow, 2);
}

/* ---- one function per row ----------------------------------------------- */
#define MAP_X(id, name, class_, arity, ...)                                    \
  static int map_##name(lua_State *L) {                                        \
    return id == TSH_OP_pow ? power(L) : map(L, id, arity);                    \
  }
TSH_OPS_MAP1(MAP_X)
TSH_OPS_MAP2(MAP_X)
TSH_OPS_MAP3(MAP_X)
#undef MAP_X

/* t:add(v) is t + v, t:add(index, v) a changed copy: update.c. */
static int method_add(lua_State *L) {
  return lua_gettop(L) > 2 ? lt_update_add(L) : map_add(L);
}
static int method_mul(lua_State *L) {
  return lua_gettop(L) > 2 ? lt_update_mul(L) : map_mul(L);
}

/* Lua gives unary operators their operand twice. */
static int unary_neg(lua_State *L) {
  lua_settop(L, 1);
  return map_neg(L);
}
static int unary_bitnot(lua_State *L) {
  lua_settop(L, 1);
  return map_bitnot(L);
}

#define ARGS_1 "x"
#define ARGS_2 "x, y"
#define ARGS_3 "x, y, z"
#define ROW_X(id, name, class_, arity, takes, gives, start, fe, ie, doc)       \
  {#name,                                                                      \
   id == TSH_OP_where  ? "condition, x, y"                                     \
   : id == TSH_OP_lerp ? "x, y, w"                                             \
                       : ARGS_##arity,                                         \
   "",                                                                         \
   doc,                                                                        \
   map_##name,                                                                 \
   id == TSH_OP_add      ? method_add                                          \
   : id == TSH_OP_mul    ? method_mul                                          \
   : id == TSH_OP_neg    ? unary_neg                                           \
   : id == TSH_OP_bitnot ? unary_bitnot                                        \
                         : NULL,                                               \
   NULL,                                                                       \
   LT_GLOBAL | LT_METHOD},
#define ALIAS(name, of) {name, "", "", "", NULL, NULL, of, 0},

/* index and random are made of by others; cast and copy have other forms. */
const lt_function lt_map_functions[] = {
    TSH_OPS_MAP1(ROW_X) TSH_OPS_MAP2(ROW_X) TSH_OPS_MAP3(ROW_X) ALIAS(
        "absolute", "abs") ALIAS("negative", "neg") ALIAS("subtract", "sub")
        ALIAS("multiply", "mul") ALIAS("divide", "div")
            ALIAS("floor_divide", "floordiv") ALIAS("remainder", "mod") ALIAS(
                "bitwise_not", "bitnot") ALIAS("bitwise_and", "bitand")
                ALIAS("bitwise_or", "bitor") ALIAS("bitwise_xor", "bitxor")
                    ALIAS("bitwise_left_shift", "shl") ALIAS(
                        "bitwise_right_shift", "shr") ALIAS("greater", "gt")
                        ALIAS("greater_equal", "ge") ALIAS("less", "lt")
                            ALIAS("less_equal", "le") ALIAS("not_equal", "ne"){
                                NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};

int lt_is_hidden_map(const char *name) {
  static const char *const hidden[] = {"index", "random", "cast", "copy"};
  for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
    if (strcmp(name, hidden[i]) == 0) return 1;
  return 0;
}

/* Sets the operators in the metatable on top of the stack. */
void lt_map_metamethods(lua_State *L) {
  static const luaL_Reg own[] = {
      {"__add", map_add},   {"__sub", map_sub},       {"__mul", map_mul},
      {"__div", map_div},   {"__idiv", map_floordiv}, {"__mod", map_mod},
      {"__pow", map_pow},   {"__unm", unary_neg},     {"__band", map_bitand},
      {"__bor", map_bitor}, {"__bxor", map_bitxor},   {"__shl", map_shl},
      {"__shr", map_shr},   {"__bnot", unary_bitnot}, {NULL, NULL}};
  luaL_setfuncs(L, own, 0);
}
