/* state.c - making a Lua state with tensors in it, and taking it down. */
#include <string.h>
#include "priv.h"

/* ---- string.format: what to do with a tensor ---------------------------- */
/* The conversion of the n-th argument of a format, or 0. */
static char conversion(const char *format, int n) {
  for (; *format; format++) {
    if (*format != '%') continue;
    if (*++format == '%') continue;
    format += strspn(format, "-+ #0123456789.");
    if (--n == 0 || !*format) return *format;
  }
  return 0;
}

static int string_format(lua_State *L) {
  int n = lua_gettop(L);
  for (int i = 2; i <= n; i++) {
    char c;
    if (!lt_tensor_test(L, i)) continue;
    c = conversion(luaL_checkstring(L, 1), i - 1);
    if (c && c != 's')
      return lt_fail_text(L, NULL,
                          lua_pushfstring(L,
                                          "format: argument %d is a tensor, "
                                          "%%%c takes a number",
                                          i, c),
                          "x:item() is the number of a tensor with one "
                          "element");
  }
  return lt_of(L)->format(L);
}

static void wrap_format(lua_State *L) {
  lua_getglobal(L, "string");
  lua_getfield(L, -1, "format");
  lt_of(L)->format = lua_tocfunction(L, -1);
  lua_pop(L, 1);
  lua_pushcfunction(L, string_format);
  lua_setfield(L, -2, "format");
  lua_pop(L, 1);
}

/* ---- opening ------------------------------------------------------------ */
/* A copy of the globals, so that library files find Lua's own functions. */
static void copy_globals(lua_State *L, int globals, int own) {
  lua_pushnil(L);
  while (lua_next(L, globals)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, own);
  }
}

/* Names that stand for themselves: {dtype = f32} may not be {dtype = nil}. */
static void set_words(lua_State *L) {
#define WORD_X(id, name, ...) #name,
  static const char *const words[] = {TSH_DTYPES(WORD_X) "newaxis"};
#undef WORD_X
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    lua_pushstring(L, words[i]);
    lua_setglobal(L, words[i]);
  }
}

/* Tables of the loaded libraries: math, string ... stay shared, they are only
 * looked up by name here. */
int lt_open_core(lua_State *L) {
  lt *l = lt_of(L);
  int globals, methods, own;
  lua_newtable(L);
  own = lua_gettop(L);
  lua_pushvalue(L, own);
  l->own = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_newtable(L);
  methods = lua_gettop(L);
  lua_pushvalue(L, methods);
  l->methods = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pushglobaltable(L);
  globals = lua_gettop(L);
  wrap_format(L);
  lt_shape_open(L);
  lt_tensor_open(L);
  lt_functions_open(L, globals, methods, own);
  set_words(L);
  luaL_requiref(L, "tsh", lt_open_tsh, 1);
  lua_pop(L, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, lt_open_tsh_core);
  lua_setfield(L, -2, "tsh.core");
  lua_pop(L, 1);
  copy_globals(L, globals, own);
  lt_library_open(L);
  lua_settop(L, 0);
  return 0;
}

static int open_all(lua_State *L) {
  lt *l = lt_of(L);
  luaL_openlibs(L);
  if (!lt_sources_open(l) || !lt_sites_open(L))
    return luaL_error(L, "not enough memory");
  lt_open_core(L);
  lt_seed_by_clock(l);
  lt_gc_start(L);
  return 0;
}

int lt_state_open(lt *l, char *text, size_t size) {
  lua_State *L;
  int rc = LT_NOMEM;
  lt_heap_init(&l->heap);
  l->L = L = lua_newstate(lt_heap_alloc, &l->heap);
  if (!L) {
    snprintf(text, size, "not enough memory");
    lt_heap_fini(&l->heap);
    return LT_NOMEM;
  }
  lt_of(L) = l;
  lua_pushcfunction(L, open_all);
  if (lua_pcall(L, 0, 0, 0) == LUA_OK) return LT_OK;
  snprintf(text, size, "%s",
           lua_isstring(L, -1) ? lua_tostring(L, -1) : "cannot open Lua");
  if (lua_status(L) == LUA_OK && strstr(text, "memory") == NULL) rc = LT_ERROR;
  lt_state_close(l);
  return rc;
}

void lt_state_close(lt *l) {
  if (!l->L) return;
  lua_close(l->L);
  l->L = NULL;
  lt_drain(l);
  lt_sites_close(l);
  lt_sources_close(l);
  lt_heap_fini(&l->heap);
}
