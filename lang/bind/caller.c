/* caller.c - which public function did the user call? An error is raised deep
 * in the library, by cat inside of stack: its message begins with what stands
 * on the user's line. Looked up only when an error is raised. */
#include <string.h>
#include "priv.h"

static const char *const modules[] = {"nn",       "optim", "data", "tree",
                                      "schedule", "tsh",   NULL};

const lt_function *lt_function_of(lua_CFunction c) {
  const lt_function *f;
  for (size_t i = 0; c && (f = lt_function_at(i)); i++)
    if (!f->alias && (f->call == c || f->method == c)) return f;
  return NULL;
}

/* The key under which the table on top holds the value below it; of several
 * the one that was typed, else the first in the alphabet. */
static int key_of_value(lua_State *L, const char *typed, char *key,
                        size_t size) {
  int table = lua_gettop(L), value = table - 1, found = 0;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    const char *name =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    int is_it = name && lua_rawequal(L, -1, value);
    if (is_it && (!found || (typed && strcmp(name, typed) == 0) ||
                  (strcmp(name, key) < 0 && (!typed || strcmp(key, typed))))) {
      snprintf(key, size, "%s", name);
      found = 1;
    }
    lua_settop(L, table + 1);
  }
  return found;
}

/* "stack" or "nn.linear" for the function of the library on top. */
static int library_name(lua_State *L, const char *typed, char *name,
                        size_t size) {
  int top = lua_gettop(L), found;
  lua_rawgeti(L, LUA_REGISTRYINDEX, lt_of(L)->own);
  found = key_of_value(L, typed, name, size);
  for (int i = 0; !found && modules[i]; i++) {
    size_t n = strlen(modules[i]) + 1;
    lua_settop(L, top + 1);
    lua_pushstring(L, modules[i]);
    if (lua_rawget(L, -2) != LUA_TTABLE) continue;
    lua_pushvalue(L, top);
    lua_replace(L, -3);
    found = key_of_value(L, typed, name + n, size - n);
    if (found) memcpy(name, modules[i], n - 1), name[n - 1] = '.';
    lua_settop(L, top);
    lua_rawgeti(L, LUA_REGISTRYINDEX, lt_of(L)->own);
  }
  lua_settop(L, top);
  return found;
}

/* A function of C under the name that was typed, as view for reshape. */
static void c_name(const lua_Debug *at, const lt_function *f, char *name,
                   size_t size) {
  const lt_function *typed = at->name ? lt_function_find(at->name) : NULL;
  int alias = typed && typed->alias && strcmp(typed->alias, f->name) == 0;
  snprintf(name, size, "%s", alias ? typed->name : f->name);
}

/* The level of the innermost frame of the user's, or -1. */
static int user_level(lua_State *L) {
  lua_Debug at;
  for (int level = 0; lua_getstack(L, level, &at); level++) {
    lua_getinfo(L, "Sl", &at);
    if (at.currentline > 0 && !lt_source_is_library(at.source)) return level;
  }
  return -1;
}

int lt_called(lua_State *L, char *name, size_t size) {
  lua_Debug at;
  luaL_checkstack(L, 20, NULL);
  for (int level = user_level(L) - 1; level >= 0; level--) {
    const lt_function *f;
    int found, is_c;
    if (!lua_getstack(L, level, &at)) return 0;
    lua_getinfo(L, "nf", &at);
    is_c = lua_iscfunction(L, -1);
    f = lt_function_of(lua_tocfunction(L, -1));
    found = !is_c && library_name(L, at.name, name, size);
    lua_pop(L, 1);
    if (f) c_name(&at, f, name, size);
    /* pcall and its like are passed over. */
    if (f || !is_c) return f || found;
  }
  return 0;
}
