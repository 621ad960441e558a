/* proxy.c - t.shape: a read-only table that is compared, measured and printed
 * like the list of extents. It must be a table: Lua never asks __eq about a
 * userdata and a table. The extents are not stored in it (writes to them would
 * pass unnoticed) but in the shape, to which its own metatable points. */
#include "priv.h"

static const char shape_key = 0; /* in a proxy's metatable: the plan_shape */
static const char cache_key = 0; /* registry: shape id -> proxy, weak */
/* Registry: the proxies used last, which a collection would take though the
 * next training step asks for them again; a list, by shape id. */
static const char recent_key = 0;
enum { RECENT = 64 };

const plan_shape *lt_shape_test(lua_State *L, int i) {
  const plan_shape *s = NULL;
  if (lua_type(L, i) != LUA_TTABLE || !lua_getmetatable(L, i)) return NULL;
  if (lua_rawgetp(L, -1, &shape_key) == LUA_TLIGHTUSERDATA)
    s = lua_touserdata(L, -1);
  lua_pop(L, 2);
  return s;
}

void lt_shape_table(lua_State *L, int i) {
  const plan_shape *s = lt_shape_test(L, i);
  lua_createtable(L, (int)s->rank, 0);
  for (uint32_t k = 0; k < s->rank; k++) {
    lua_pushinteger(L, s->dim[k]);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
}

static const plan_shape *self(lua_State *L) {
  const plan_shape *s = lt_shape_test(L, 1);
  if (!s) luaL_typeerror(L, 1, "shape");
  return s;
}

static int shape_table(lua_State *L) {
  self(L);
  lt_shape_table(L, 1);
  return 1;
}

static int shape_index(lua_State *L) {
  const plan_shape *s = self(L);
  int64_t i, rank = s->rank;
  if (lua_type(L, 2) == LUA_TNUMBER) {
    if (!lt_is_whole(L, 2, &i)) return 0;
    if (i == 0)
      return lt_fail_text(L, "shape", "shape: 0 is no axis",
                          "axes count from 1, x.shape[-1] is the last");
    if (i < 0) i += rank + 1;
    if (i < 1 || i > rank) return 0; /* as of any list: ipairs ends here */
    lua_pushinteger(L, s->dim[i - 1]);
    return 1;
  }
  if (lua_type(L, 2) == LUA_TSTRING) {
    const char *name = lua_tostring(L, 2);
    if (name[0] == 't' && lua_rawequal(L, 2, lua_upvalueindex(1))) {
      lua_pushcfunction(L, shape_table);
      return 1;
    }
    if (lua_rawequal(L, 2, lua_upvalueindex(2))) { /* the shape of the shape */
      lt_shape_push(L, lt_shape_of(L, 1, &rank));
      return 1;
    }
  }
  return 0;
}

static int shape_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)self(L)->rank);
  return 1;
}

static int shape_eq(lua_State *L) {
  int p = lt_shape_test(L, 1) ? 1 : 2, equal = 1;
  const plan_shape *s = lt_shape_test(L, p), *t = lt_shape_test(L, 3 - p);
  if (!s) luaL_typeerror(L, 1, "shape"); /* called by hand */
  if (t || lua_type(L, 3 - p) != LUA_TTABLE) {
    lua_pushboolean(L, s == t);
    return 1;
  }
  equal = luaL_len(L, 3 - p) == (lua_Integer)s->rank;
  for (uint32_t i = 0; equal && i < s->rank; i++) {
    lua_geti(L, 3 - p, (lua_Integer)i + 1);
    equal = lua_isnumber(L, -1) && lua_tonumber(L, -1) == (double)s->dim[i];
    lua_pop(L, 1);
  }
  lua_pushboolean(L, equal);
  return 1;
}

static int shape_newindex(lua_State *L) {
  return lt_fail(L, "t:reshape(...) gives a tensor of another shape",
                 "a shape cannot be changed");
}

static int shape_tostring(lua_State *L) {
  const plan_shape *s = self(L);
  luaL_Buffer b;
  char text[32];
  luaL_buffinit(L, &b);
  luaL_addchar(&b, '[');
  for (uint32_t i = 0; i < s->rank; i++) {
    snprintf(text, sizeof text, "%s%lld", i ? "," : "", (long long)s->dim[i]);
    luaL_addstring(&b, text);
  }
  luaL_addchar(&b, ']');
  luaL_pushresult(&b);
  return 1;
}

static int shape_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

static int next_extent(lua_State *L) {
  const plan_shape *s = self(L);
  int64_t i = lua_isnoneornil(L, 2) ? 0 : lua_tointeger(L, 2);
  if (i < 0 || i >= (int64_t)s->rank) return 0;
  lua_pushinteger(L, i + 1);
  lua_pushinteger(L, s->dim[i]);
  return 2;
}

static int shape_pairs(lua_State *L) {
  self(L);
  lua_pushcfunction(L, next_extent);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

static void push_new(lua_State *L, const plan_shape *s) {
  static const luaL_Reg own[] = {{"__len", shape_len},
                                 {"__eq", shape_eq},
                                 {"__newindex", shape_newindex},
                                 {"__tostring", shape_tostring},
                                 {"__pairs", shape_pairs},
                                 {"__concat", shape_concat},
                                 {NULL, NULL}};
  lua_newtable(L);
  luaL_newlib(L, own);
  lua_pushliteral(L, "table");
  lua_pushliteral(L, "shape");
  lua_pushcclosure(L, shape_index, 2);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "shape");
  lua_setfield(L, -2, "__name");
  /* getmetatable shows a word; setmetatable is refused. */
  lua_pushliteral(L, "shape");
  lua_setfield(L, -2, "__metatable");
  lua_pushlightuserdata(L, (void *)(uintptr_t)s);
  lua_rawsetp(L, -2, &shape_key);
  lua_setmetatable(L, -2);
}

/* A proxy is shared by all tensors of its shape: what rawset or debug did to
 * the one on top must not reach them. */
static int is_good(lua_State *L, const plan_shape *s) {
  if (lt_shape_test(L, -1) != s) return 0;
  lua_pushnil(L);
  if (!lua_next(L, -2)) return 1;
  lua_pop(L, 2);
  return 0;
}

static void push_found(lua_State *L, const plan_shape *s) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &cache_key);
  lua_rawgeti(L, -1, (lua_Integer)s->id);
  if (!is_good(L, s)) {
    lua_pop(L, 1);
    push_new(L, s);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, (lua_Integer)s->id);
  }
  lua_remove(L, -2);
}

void lt_shape_push(lua_State *L, const plan_shape *s) {
  lua_Integer at = (lua_Integer)(s->id % RECENT) + 1;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &recent_key);
  lua_rawgeti(L, -1, at);
  if (!is_good(L, s)) {
    lua_pop(L, 1);
    push_found(L, s);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, at);
  }
  lua_remove(L, -2);
}

void lt_shape_open(lua_State *L) {
  lua_createtable(L, RECENT, 0);
  for (int i = 1; i <= RECENT; i++) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, -2, i);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &recent_key);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &cache_key);
}
