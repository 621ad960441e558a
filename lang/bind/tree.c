/* tree.c - the walks of lang/lib/tree.lua, which every training step makes
 * several times: tables of tensors to lists and back, the keys of each table in
 * their one order. What is too deep for them, or has keys without an order,
 * they leave to the walks in Lua, which can name it. */
#include <stdlib.h>
#include <string.h>
#include "priv.h"

enum { DEEP = 100, FEW = 32 };

/* ---- keys --------------------------------------------------------------- */
typedef struct {
  const char *text; /* NULL: an integer; kept by the Lua stack */
  size_t size;
  lua_Integer n;
} key;

typedef struct {
  lua_Integer n;
  int texts; /* how many are strings */
  key *at, few[FEW];
} key_list;

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

/* Keeps the text on top of the stack: a metamethod or a finalizer may take it
 * out of its table while that is walked. */
static void hold_text(lua_State *L, lua_Integer i, int names) {
  lua_pushvalue(L, -1);
  if (names)
    lua_rawseti(L, names, i + 1);
  else
    lua_insert(L, -2);
}

/* The first keys of the table at t, as many as there is room for, their texts
 * in the table at names, or on the stack. 0: one is neither integer nor string.
 * Allocates nothing where names has the room, so the table stays as it is. */
static int read_keys(lua_State *L, int t, int names, key_list *keys,
                     lua_Integer room) {
  keys->n = keys->texts = 0;
  lua_pushnil(L);
  while (lua_next(L, t)) {
    key k = {NULL, 0, 0};
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING)
      k.text = lua_tolstring(L, -1, &k.size);
    else if (lua_isinteger(L, -1))
      k.n = lua_tointeger(L, -1);
    else
      return 0;
    keys->texts += k.text != NULL;
    if (keys->n < room) {
      keys->at[keys->n] = k;
      if (k.text) hold_text(L, keys->n, names);
    }
    keys->n++;
  }
  return 1;
}

/* The same where there are many. */
static int read_many(lua_State *L, int t, key_list *keys) {
  lua_Integer room = keys->n;
  keys->at = lua_newuserdatauv(L, (size_t)room * sizeof *keys->at, 0);
  lua_createtable(L, keys->texts ? (int)room : 0, 0);
  if (!read_keys(L, t, lua_gettop(L), keys, room)) return 0;
  if (keys->n > room) keys->n = room; /* a finalizer has put some in */
  return 1;
}

/* Pushes what holds the keys of the table at t; 0: they have no order. There
 * is room for FEW + 8 more on the stack. */
static int sorted_keys(lua_State *L, int t, key_list *keys) {
  int sorted = 1;
  keys->at = keys->few;
  if (!read_keys(L, t, 0, keys, FEW)) return 0;
  if (keys->n > FEW && !read_many(L, t, keys)) return 0;
  for (lua_Integer i = 1; i < keys->n && sorted; i++)
    sorted = compare(&keys->at[i - 1], &keys->at[i]) < 0;
  if (!sorted) qsort(keys->at, (size_t)keys->n, sizeof *keys->at, compare);
  return 1;
}

static void push_key(lua_State *L, const key *k) {
  if (k->text)
    lua_pushlstring(L, k->text, k->size);
  else
    lua_pushinteger(L, k->n);
}

/* sorted_keys(t): a list of them, or nil where one cannot be ordered. */
int lt_sorted_keys(lua_State *L) {
  key_list keys;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  luaL_checkstack(L, FEW + 8, NULL);
  if (!sorted_keys(L, 1, &keys)) return 0;
  lua_createtable(L, (int)keys.n, 0);
  for (lua_Integer i = 0; i < keys.n; i++) {
    push_key(L, &keys.at[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* ---- to a list ---------------------------------------------------------- */
typedef struct {
  int list, trees;   /* its index; trees that are walked together */
  lua_Integer count; /* of tensors in the first one */
} gathering;

/* The trees lie on the stack from `at` on. 0: this is for the walk in Lua. */
static int gather(lua_State *L, gathering *g, int at, int depth) {
  key_list keys;
  if (lt_tensor_test(L, at)) {
    for (int i = 0; i < g->trees; i++) {
      lua_pushvalue(L, at + i);
      lua_rawseti(L, g->list, g->count * g->trees + i + 1);
    }
    g->count++;
    return 1;
  }
  if (lua_type(L, at) != LUA_TTABLE) return 1;
  luaL_checkstack(L, g->trees + FEW + 8, NULL);
  if (depth >= DEEP || !sorted_keys(L, at, &keys)) return 0;
  for (lua_Integer k = 0; k < keys.n; k++) {
    int top = lua_gettop(L);
    for (int i = 0; i < g->trees; i++) {
      if (lua_type(L, at + i) != LUA_TTABLE) {
        lua_pushnil(L);
        continue;
      }
      push_key(L, &keys.at[k]);
      lua_gettable(L, at + i);
    }
    if (!gather(L, g, top + 1, depth + 1)) return 0;
    lua_settop(L, top);
  }
  return 1;
}

/* tree_gather(t, ...): a list with every tensor of t, each followed by what the
 * other trees have at its place, and how many tensors there are; or nil. */
int lt_tree_gather(lua_State *L) {
  int n = lua_gettop(L);
  gathering g = {1, n, 0};
  luaL_argcheck(L, n >= 1, 1, "a tree");
  lua_createtable(L, 8, 0);
  lua_insert(L, 1);
  if (!gather(L, &g, 2, 0)) return 0;
  lua_settop(L, 1);
  lua_pushinteger(L, g.count);
  return 2;
}

/* ---- and back ----------------------------------------------------------- */
typedef struct {
  int values, bare; /* bare: what is no tensor has no entry */
  int holes;        /* nor has a tensor whose value is false */
  lua_Integer at;
} building;

/* Pushes a tree like the one at t. 0: this is for the walk in Lua. */
static int build(lua_State *L, building *b, int t, int depth) {
  key_list keys;
  int copy;
  if (lt_tensor_test(L, t)) {
    if (lua_rawgeti(L, b->values, ++b->at) == LUA_TBOOLEAN && b->holes &&
        !lua_toboolean(L, -1)) {
      lua_pop(L, 1);
      lua_pushnil(L);
    }
    return 1;
  }
  if (lua_type(L, t) != LUA_TTABLE) {
    if (b->bare)
      lua_pushnil(L);
    else
      lua_pushvalue(L, t);
    return 1;
  }
  luaL_checkstack(L, FEW + 10, NULL);
  if (depth >= DEEP || !sorted_keys(L, t, &keys)) return 0;
  lua_createtable(L, (int)keys.n - keys.texts, keys.texts);
  copy = lua_gettop(L);
  for (lua_Integer k = 0; k < keys.n; k++) {
    push_key(L, &keys.at[k]);
    lua_pushvalue(L, -1);
    lua_rawget(L, t);
    if (!build(L, b, copy + 2, depth + 1)) return 0;
    lua_replace(L, copy + 2);
    lua_settop(L, copy + 2);
    lua_rawset(L, copy);
  }
  return 1;
}

/* tree_build(t, values, bare, holes): a tree like t with the values, in order,
 * for its tensors; or nil, false. */
int lt_tree_build(lua_State *L) {
  building b = {2, lua_toboolean(L, 3), lua_toboolean(L, 4), 0};
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 4);
  if (build(L, &b, 1, 0)) return 1;
  lua_pushnil(L);
  lua_pushboolean(L, 0);
  return 2;
}
