/* cast.c - the same elements in another dtype, on another device, or as a
 * constant. */
#include "priv.h"

plan_node *lt_push_cast(lua_State *L, plan_node *x, int dtype) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_cast(lt_of(L)->plan, x, dtype, out, &err), &err);
  return *out;
}

plan_node *lt_push_to(lua_State *L, plan_node *x, dev *d) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_to(lt_of(L)->plan, x, d, out, &err), &err);
  return *out;
}

/* ---- cast, to, detach ---------------------------------------------------- */
static int shape_cast(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  int dtype;
  lt_most_args(L, 2);
  dtype = lt_arg_dtype(L, 2);
  lt_begin(L);
  lt_push_cast(L, x, dtype);
  return lt_done(L, 1);
}

/* x:to("npu:0"), x:to("f16"). */
static int shape_to(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
  dev *d;
  lt_most_args(L, 2);
  if (name && plan_dtype_find(name)) return shape_cast(L);
  d = lt_arg_device(L, 2);
  lt_begin(L);
  lt_push_to(L, x, d);
  return lt_done(L, 1);
}

static int shape_detach(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  plan_node **out;
  tsh_err err;
  lt_most_args(L, 1);
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_detach(lt_of(L)->plan, x, out, &err), &err);
  return lt_done(L, 1);
}

#define CAST_X(id, name, type, bytes, kind)                                    \
  static int to_##name(lua_State *L) {                                         \
    plan_node *x = lt_tensor_get(L, 1);                                        \
    lt_most_args(L, 1);                                                        \
    lt_begin(L);                                                               \
    lt_push_cast(L, x, id);                                                    \
    return lt_done(L, 1);                                                      \
  }
TSH_DTYPES(CAST_X)
#undef CAST_X

#define BOTH (LT_GLOBAL | LT_METHOD)
const lt_function lt_cast_functions[] = {
    {"cast", "x, dtype", "",
     "In another dtype. Floats to integers are cut towards 0 and saturate, nan "
     "gives 0.",
     shape_cast, NULL, NULL, BOTH},
    {"to", "x, device", "", "On another device; also x:to(dtype).", shape_to,
     NULL, NULL, LT_METHOD},
    {"detach", "x", "", "As a constant: gradients stop here.", shape_detach,
     NULL, NULL, BOTH},
#define CAST_ROW(id, name, type, bytes, kind)                                  \
  {#name,     "x",  "",   "x:" #name "() is x:cast(\"" #name "\").",           \
   to_##name, NULL, NULL, LT_METHOD},
    TSH_DTYPES(CAST_ROW)
#undef CAST_ROW
        {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
