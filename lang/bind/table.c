/* table.c - every public function of C, and their registration. */
#include <string.h>
#include "priv.h"

static const lt_function *const lists[] = {
    lt_map_functions,     lt_fold_functions,   lt_create_functions,
    lt_fromlua_functions, lt_tolua_functions,  lt_shape_functions,
    lt_index_functions,   lt_update_functions, lt_call_functions,
    lt_join_functions,    lt_cast_functions};

/* A walk through all lists: what begins every run walks once, not once for
 * each function. */
typedef struct {
  size_t list;
  const lt_function *at; /* the next one, or NULL: the list's first */
} walk;

static const lt_function *next(walk *w) {
  while (w->list < sizeof lists / sizeof *lists) {
    const lt_function *f = w->at ? w->at : lists[w->list];
    w->at = f + 1;
    if (!f->name) {
      w->list++;
      w->at = NULL;
    } else if (w->list != 0 || !lt_is_hidden_map(f->name)) {
      return f;
    }
  }
  return NULL;
}

const lt_function *lt_function_at(size_t i) {
  const lt_function *f;
  walk w = {0, NULL};
  while ((f = next(&w)) != NULL && i > 0) i--;
  return f;
}

const lt_function *lt_function_find(const char *name) {
  const lt_function *f;
  walk w = {0, NULL};
  while ((f = next(&w)) != NULL && strcmp(f->name, name) != 0) continue;
  return f;
}

/* t[name] = c for the table at index t. */
static void set(lua_State *L, int t, const char *name, lua_CFunction c) {
  lua_pushcfunction(L, c);
  lua_setfield(L, t, name);
}

/* Globals and methods; own gets the globals, too, as they were. */
void lt_functions_open(lua_State *L, int globals, int methods, int own) {
  const lt_function *f, *real;
  walk w = {0, NULL};
  while ((f = next(&w)) != NULL) {
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
  walk w = {0, NULL};
  lua_newtable(L);
  while ((f = next(&w)) != NULL) {
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
