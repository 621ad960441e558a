/* keys.c - what a tensor is beside another: asked by the library in Lua at
 * every training step. */
#include "priv.h"

int lt_alike(const plan_node *a, const plan_node *b) {
  return plan_shape_of(a) == plan_shape_of(b) &&
         plan_dtype_of(a) == plan_dtype_of(b) &&
         plan_dev_of(a) == plan_dev_of(b);
}

/* has_half(...): is one of them a tensor of f16 or bf16? */
int lt_has_half(lua_State *L) {
  int n = lua_gettop(L), half = 0;
  for (int i = 1; i <= n && !half; i++) {
    const plan_node *x = lt_tensor_test(L, i);
    int dtype = x ? plan_dtype_of(x) : 0;
    half = dtype == TSH_f16 || dtype == TSH_bf16;
  }
  lua_pushboolean(L, half);
  return 1;
}

/* is_like(a, b): have they one shape, dtype and device? */
int lt_is_like(lua_State *L) {
  lua_pushboolean(L, lt_alike(lt_tensor_get(L, 1), lt_tensor_get(L, 2)));
  return 1;
}

/* has_sizes(t, list): are these its extents? */
int lt_has_sizes(lua_State *L) {
  const plan_shape *s = plan_shape_of(lt_tensor_get(L, 1));
  int same;
  luaL_checktype(L, 2, LUA_TTABLE);
  same = lua_rawlen(L, 2) == s->rank;
  for (uint32_t i = 0; i < s->rank && same; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    same = lua_tointeger(L, -1) == s->dim[i];
    lua_pop(L, 1);
  }
  lua_pushboolean(L, same);
  return 1;
}

/* sizes(t): its extents, as a plain list. */
int lt_sizes(lua_State *L) {
  const plan_shape *s = plan_shape_of(lt_tensor_get(L, 1));
  lua_createtable(L, (int)s->rank, 0);
  for (uint32_t i = 0; i < s->rank; i++) {
    lua_pushinteger(L, s->dim[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
