/* keys.c - for the walks of lang/lib/tree.lua, which every training step makes
 * several times: the keys of a table in their one order, and what a tensor is
 * beside another. */
#include <stdlib.h>
#include <string.h>
#include "priv.h"

typedef struct {
  const char *text; /* NULL: an integer; lives as long as the table has it */
  size_t size;
  lua_Integer n;
} key;

/* Integers first, then strings by their bytes. */
static int compare(const void *x, const void *y) {
  const key *a = x, *b = y;
  int c;
  if (!a->text || !b->text) {
    if (a->text || b->text) return a->text ? 1 : -1;
    return (a->n > b->n) - (a->n < b->n);
  }
  c = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
  return c ? c : (a->size > b->size) - (a->size < b->size);
}

/* The keys of the table at 1; -1: one is neither integer nor string. */
static lua_Integer read_keys(lua_State *L, key *keys, lua_Integer room) {
  lua_Integer n = 0;
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    key k = {NULL, 0, 0};
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING)
      k.text = lua_tolstring(L, -1, &k.size);
    else if (lua_isinteger(L, -1))
      k.n = lua_tointeger(L, -1);
    else
      return -1;
    if (n < room) keys[n] = k;
    n++;
  }
  return n;
}

/* sorted_keys(t): a list of them, or nil where one cannot be ordered. */
int lt_sorted_keys(lua_State *L) {
  enum { FEW = 32 };
  key few[FEW], *keys = few;
  lua_Integer n;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  n = read_keys(L, few, FEW);
  if (n < 0) return 0;
  if (n > FEW) {
    keys = lua_newuserdatauv(L, (size_t)n * sizeof *keys, 0);
    read_keys(L, keys, n);
  }
  if (n > 1) qsort(keys, (size_t)n, sizeof *keys, compare);
  lua_createtable(L, (int)n, 0);
  for (lua_Integer i = 0; i < n; i++) {
    if (keys[i].text)
      lua_pushlstring(L, keys[i].text, keys[i].size);
    else
      lua_pushinteger(L, keys[i].n);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* is_like(a, b): have they one shape, dtype and device? */
int lt_is_like(lua_State *L) {
  const plan_node *a = lt_tensor_get(L, 1), *b = lt_tensor_get(L, 2);
  lua_pushboolean(L, plan_shape_of(a) == plan_shape_of(b) &&
                         plan_dtype_of(a) == plan_dtype_of(b) &&
                         plan_dev_of(a) == plan_dev_of(b));
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
