/* complete.c - names that go on from what was typed: globals, fields, methods.
 * Nothing of the user's is called and no tensor is touched: tables are read
 * raw, metatables only where __index is a table. */
#include <string.h>
#include "session.h"

enum { HOPS = 20 }; /* of __index */

static const char *const keywords[] = {
    "and",      "break",  "do",   "else", "elseif", "end",   "false", "for",
    "function", "goto",   "if",   "in",   "local",  "nil",   "not",   "or",
    "repeat",   "return", "then", "true", "until",  "while", NULL};
static const char *const properties[] = {"shape", "dtype", "device", "T", NULL};

typedef struct {
  const char *word; /* all that was typed */
  size_t stem;      /* bytes of it before the part that goes on */
  lt_completed each;
  void *ud;
} search;

/* ---- telling ------------------------------------------------------------- */
static void tell(const search *s, const char *name, size_t n, int function) {
  char text[256];
  size_t typed = strlen(s->word + s->stem);
  if (n < typed || s->stem + n >= sizeof text ||
      memcmp(name, s->word + s->stem, typed) != 0)
    return;
  memcpy(text, s->word, s->stem);
  memcpy(text + s->stem, name, n);
  text[s->stem + n] = '\0';
  s->each(s->ud, text, function);
}

static int is_name(const char *text, size_t n) {
  if (n == 0 || (text[0] >= '0' && text[0] <= '9')) return 0;
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c != '_' && !(c >= '0' && c <= '9') &&
        !((c | 32) >= 'a' && (c | 32) <= 'z'))
      return 0;
  }
  return 1;
}

/* Names among the keys of the table on top. */
static void tell_keys(lua_State *L, const search *s, int methods) {
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    int function = lua_isfunction(L, -1);
    size_t n;
    if (lua_type(L, -2) == LUA_TSTRING && (function || !methods)) {
      const char *name = lua_tolstring(L, -2, &n);
      if (is_name(name, n)) tell(s, name, n, function);
    }
    lua_pop(L, 1);
  }
}

static void tell_list(const search *s, const char *const *names, int function) {
  for (; *names; names++) tell(s, *names, strlen(*names), function);
}

/* What the library provides without having been loaded. */
static void tell_library(const search *s, int methods) {
  const char *name;
  size_t n;
  int method;
  for (size_t i = 0; (name = lt_library_name_at(i, &n, &method)) != NULL; i++)
    if (method || !methods) tell(s, name, n, 1);
}

/* ---- walking ------------------------------------------------------------- */
/* Replaces the value on top by the table in which its fields are found; 0: it
 * has none. */
static int fields_of(lua_State *L) {
  if (lua_istable(L, -1)) return 1;
  if (!luaL_getmetafield(L, -1, "__index")) return 0;
  lua_remove(L, -2);
  return lua_istable(L, -1);
}

/* Replaces the table on top by the one its metatable points to; 0: none. */
static int next_table(lua_State *L) {
  if (!luaL_getmetafield(L, -1, "__index")) return 0;
  lua_remove(L, -2);
  return lua_istable(L, -1);
}

static void push_ours(lua_State *L, int ref) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, ref);
}

/* Replaces the value on top by its field. Names of ours that nobody has used
 * so far are found, too. */
static void step(lua_State *L, const char *name, size_t n, int first) {
  if (!fields_of(L)) {
    lua_pop(L, 1);
    lua_pushnil(L);
    return;
  }
  for (int hop = 0; hop < HOPS; hop++) {
    lua_pushlstring(L, name, n);
    lua_rawget(L, -2);
    if (!lua_isnil(L, -1)) {
      lua_remove(L, -2);
      return;
    }
    lua_pop(L, 1);
    if (!next_table(L)) break;
  }
  lua_pop(L, 1);
  if (!first) {
    lua_pushnil(L);
    return;
  }
  push_ours(L, lt_of(L)->own);
  lua_pushlstring(L, name, n);
  lua_gettable(L, -2); /* may load a file of the library */
  lua_remove(L, -2);
}

static void tell_globals(lua_State *L, const search *s) {
  lua_pushglobaltable(L);
  tell_keys(L, s, 0);
  push_ours(L, lt_of(L)->own);
  tell_keys(L, s, 0);
  tell_library(s, 0);
  tell_list(s, keywords, 0);
  lua_pop(L, 2);
}

static void tell_members(lua_State *L, const search *s, char mark) {
  if (lt_tensor_test(L, -1)) {
    push_ours(L, lt_of(L)->methods);
    tell_keys(L, s, 1);
    lua_pop(L, 1);
    tell_library(s, 1);
    if (mark == '.') tell_list(s, properties, 0);
    return;
  }
  if (!fields_of(L)) return;
  for (int hop = 0; hop < HOPS; hop++) {
    tell_keys(L, s, mark == ':');
    if (!next_table(L)) return;
  }
}

static int complete(lua_State *L) {
  search *s = lua_touserdata(L, 1);
  const char *at = s->word;
  size_t n = strcspn(at, ".:");
  luaL_checkstack(L, 20, NULL);
  if (!at[n]) {
    tell_globals(L, s);
    return 0;
  }
  lua_pushglobaltable(L);
  for (int first = 1;; first = 0) {
    char mark = at[n];
    step(L, at, n, first);
    at += n + 1;
    n = strcspn(at, ".:");
    s->stem = (size_t)(at - s->word);
    if (at[n]) continue;
    tell_members(L, s, mark);
    return 0;
  }
}

void lt_complete(lt *l, const char *word, lt_completed each, void *ud) {
  lua_State *L = l->L;
  search s = {word, 0, each, ud};
  int top = lua_gettop(L);
  lua_pushcfunction(L, complete);
  lua_pushlightuserdata(L, &s);
  lua_pcall(L, 1, 0, 0); /* only memory can fail: then there are fewer */
  lua_settop(L, top);
}
