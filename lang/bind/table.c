/* table.c - every public function of C, and their registration. */
#include <string.h>
#include "priv.h"

static const lt_function *const lists[] = {
    lt_map_functions,     lt_fold_functions,   lt_create_functions,
    lt_fromlua_functions, lt_tolua_functions,  lt_shape_functions,
    lt_index_functions,   lt_update_functions, lt_call_functions,
    lt_join_functions,    lt_cast_functions};

const lt_function *lt_function_at(size_t i) {
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
    for (const lt_function *f = lists[k]; f->name; f++) {
      if (lt_is_hidden_map(f->name) && k == 0) continue;
      if (i-- == 0) return f;
    }
  return NULL;
}

const lt_function *lt_function_find(const char *name) {
  const lt_function *f;
  for (size_t i = 0; (f = lt_function_at(i)) != NULL; i++)
    if (strcmp(f->name, name) == 0) return f;
  return NULL;
}

/* t[name] = c for the table at index t. */
static void set(lua_State *L, int t, const char *name, lua_CFunction c) {
  lua_pushcfunction(L, c);
  lua_setfield(L, t, name);
}

/* Globals and methods; own gets the globals, too, as they were. */
void lt_functions_open(lua_State *L, int globals, int methods, int own) {
  const lt_function *f, *real;
  for (size_t i = 0; (f = lt_function_at(i)) != NULL; i++) {
    real = f->alias ? lt_function_find(f->alias) : f;
    if (real->kind & LT_GLOBAL) {
      set(L, globals, f->name, real->call);
      set(L, own, f->name, real->call);
    }
    if (real->kind & LT_METHOD)
      set(L, methods, f->name, real->method ? real->method : real->call);
  }
}

static void set_text(lua_State *L, const char *key, const char *text) {
  if (!text) return;
  lua_pushstring(L, text);
  lua_setfield(L, -2, key);
}

static void set_kind(lua_State *L, const char *key, int on) {
  lua_pushboolean(L, on);
  lua_setfield(L, -2, key);
}

int lt_functions_list(lua_State *L) {
  const lt_function *f;
  lua_Integer n = 0;
  lua_newtable(L);
  for (size_t i = 0; (f = lt_function_at(i)) != NULL; i++) {
    int kind = f->alias ? lt_function_find(f->alias)->kind : f->kind;
    if (!kind) continue; /* has a name for errors only */
    lua_createtable(L, 0, 8);
    set_text(L, "name", f->name);
    set_text(L, "args", f->args);
    set_text(L, "options", f->options);
    set_text(L, "doc", f->doc);
    set_text(L, "alias", f->alias);
    set_text(L, "example", f->alias ? NULL : lt_example(f->name));
    set_kind(L, "global", kind & LT_GLOBAL);
    set_kind(L, "method", kind & LT_METHOD);
    set_kind(L, "field", kind & LT_FIELD);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}
