/* lib.c - the library in Lua, embedded. A file is parsed when one of the names
 * that it provides is used first; its first line says which those are:
 *   -- names: grad value_and_grad gradcheck
 * Those that are methods of tensors, too, stand in a line below:
 *   -- methods: clamp stack
 * TSH_LIB=folder takes the files from there instead. */
#include <stdlib.h>
#include <string.h>
#include "priv.h"
#include "embedded.inc"

#define NAMES   "-- names: "
#define METHODS "-- methods: "
#define FILES   (sizeof embedded / sizeof *embedded - 1)

int lt_library_at(size_t i, const char **name, const char **text,
                  size_t *size) {
  if (i >= FILES) return 0;
  *name = embedded[i].name;
  *text = (const char *)embedded[i].bytes;
  *size = embedded[i].size;
  return 1;
}

/* A word of a line of file i. */
typedef struct {
  const char *at, *end;
  int n;
} word;

/* To the next word of the line. */
static int word_next(word *w) {
  w->at += w->n;
  w->at += strspn(w->at, " ");
  w->n = w->at < w->end ? (int)strcspn(w->at, " \r\n") : 0;
  return w->n > 0;
}

/* To the first word of the line of file i that begins with `head`: the first
 * or the second. */
static int word_first(size_t i, const char *head, word *w) {
  const char *text = (const char *)embedded[i].bytes;
  for (int line = 0; line < 2; line++) {
    const char *end = strchr(text, '\n');
    if (!end) return 0;
    if (strncmp(text, head, strlen(head)) == 0) {
      w->at = text + strlen(head);
      w->end = end;
      w->n = 0;
      return word_next(w);
    }
    text = end + 1;
  }
  return 0;
}

/* The file in whose line stands the name. */
static size_t file_with(const char *head, const char *name) {
  int length = (int)strlen(name);
  word w;
  for (size_t i = 0; i < FILES; i++)
    for (int ok = word_first(i, head, &w); ok; ok = word_next(&w))
      if (w.n == length && memcmp(w.at, name, (size_t)w.n) == 0) return i;
  return FILES;
}

static size_t provider(const char *name) { return file_with(NAMES, name); }

const char *lt_library_name_at(size_t at, size_t *n, int *method) {
  word w;
  for (size_t i = 0; i < FILES; i++)
    for (int ok = word_first(i, NAMES, &w); ok; ok = word_next(&w)) {
      if (at-- > 0) continue;
      char name[80];
      snprintf(name, sizeof name, "%.*s", w.n, w.at);
      *n = (size_t)w.n;
      *method = file_with(METHODS, name) != FILES;
      return w.at;
    }
  return NULL;
}

const char *lt_library_nearest(const char *name, int *least) {
  static char best[40];
  int found = 0;
  word w;
  for (size_t i = 0; i < FILES; i++)
    for (int ok = word_first(i, METHODS, &w); ok; ok = word_next(&w)) {
      char text[sizeof best];
      int d;
      snprintf(text, sizeof text, "%.*s", w.n, w.at);
      d = lt_slip(name, text);
      if (d >= *least) continue;
      *least = d;
      found = 1;
      memcpy(best, text, sizeof best);
    }
  return found ? best : NULL;
}

int lt_library_member(const char *name, char *text, size_t size) {
  static const char *const modules[] = {"nn.", "optim.", "data.", "schedule."};
  for (size_t i = 0; i < FILES; i++) {
    const char *at = (const char *)embedded[i].bytes;
    while ((at = strstr(at, "\n--- ")) != NULL) {
      char head[40];
      int n = (int)strspn(at += 5, "abcdefghijklmnopqrstuvwxyz_0123456789.");
      snprintf(head, sizeof head, "%.*s", n, at);
      for (size_t k = 0; k < sizeof modules / sizeof *modules; k++) {
        size_t lead = strlen(modules[k]);
        if (strncmp(head, modules[k], lead) != 0 ||
            !lt_same_letters(head + lead, name))
          continue;
        snprintf(text, size, "%s", head);
        return 1;
      }
    }
  }
  return 0;
}

/* ---- loading ------------------------------------------------------------ */
/* Pushes the text of file i, from TSH_LIB when it is there. */
static const char *push_text(lua_State *L, size_t i, size_t *size) {
  const char *folder = getenv("TSH_LIB");
  char path[4096];
  FILE *f;
  luaL_Buffer b;
  snprintf(path, sizeof path, "%s/%s.lua", folder ? folder : "",
           embedded[i].name);
  if (!folder || !(f = fopen(path, "rb"))) {
    *size = embedded[i].size;
    return lua_pushlstring(L, (const char *)embedded[i].bytes, *size);
  }
  fclose(f);
  luaL_buffinit(L, &b);
  lua_pushfstring(L, "%s", path); /* so that nothing is open when Lua raises */
  lua_pop(L, 1);
  f = fopen(path, "rb");
  while (f) {
    char part[1024];
    size_t n = fread(part, 1, sizeof part, f);
    if (!n) break;
    luaL_addlstring(&b, part, n);
  }
  if (f) fclose(f);
  luaL_pushresult(&b);
  return lua_tolstring(L, -1, size);
}

/* Runs file i and pushes what it returns. Library files see our functions even
 * where the user has taken a name for something else, and make no globals. */
static void run_file(lua_State *L, size_t i) {
  const char *name = embedded[i].name, *text;
  size_t size;
  text = push_text(L, i, &size);
  lua_pushfstring(L, LT_LIBRARY "%s.lua", name);
  if (luaL_loadbufferx(L, text, size, lua_tostring(L, -1), "t") != LUA_OK)
    lua_error(L);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, lt_of(L)->own);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setupvalue(L, -2, 1);
  lua_call(L, 0, 1);
  lua_replace(L, -3);
  lua_pop(L, 1);
  lt_gc_settle(L);
}

/* package.preload["tsh.NAME"]: upvalue 1 is the file's number. */
static int load_file(lua_State *L) {
  run_file(L, (size_t)lua_tointeger(L, lua_upvalueindex(1)));
  return 1;
}

/* package.preload["NAME"]: the value NAME of the file that provides it. */
static int load_short(lua_State *L) {
  size_t i = (size_t)lua_tointeger(L, lua_upvalueindex(1));
  lua_getglobal(L, "require");
  lua_pushfstring(L, "tsh.%s", embedded[i].name);
  lua_call(L, 1, 1);
  lua_getfield(L, -1, embedded[i].name);
  return 1;
}

/* Pushes the table of file i, loaded once. */
static void push_file(lua_State *L, size_t i) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, lt_of(L)->own);
  lua_getfield(L, -1, "require");
  lua_remove(L, -2);
  lua_pushfstring(L, "tsh.%s", embedded[i].name);
  lua_call(L, 1, 1);
  if (!lua_istable(L, -1))
    luaL_error(L, "library file '%s' gave no table", embedded[i].name);
}

void lt_push_library(lua_State *L, const char *file) {
  size_t i = 0;
  while (i + 1 < FILES && strcmp(embedded[i].name, file) != 0) i++;
  push_file(L, i);
}

/* Pushes the value of a name of the library, keeping it among ours. */
static int push_provided(lua_State *L, const char *name) {
  size_t i = provider(name);
  if (i == FILES) return 0;
  push_file(L, i);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
  lua_rawgeti(L, LUA_REGISTRYINDEX, lt_of(L)->own);
  lua_pushstring(L, name);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  return 1;
}

/* __index of the globals, and of all that is ours: (table, name). */
static int missing_global(lua_State *L) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (!push_provided(L, name)) return 0;
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

int lt_library_method(lua_State *L, const char *name) {
  if (file_with(METHODS, name) == FILES) return 0;
  push_provided(L, name);
  if (!lua_isfunction(L, -1)) {
    lua_pop(L, 1);
    return 0;
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, lt_of(L)->methods);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
  return 1;
}

static void set_missing(lua_State *L) {
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, missing_global);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

/* Does file i provide its own name? Others would only hide files of the user:
 * require "sort" is his. */
static int is_module(size_t i) { return provider(embedded[i].name) == i; }

void lt_library_open(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  for (size_t i = 0; i < FILES; i++) {
    lua_pushinteger(L, (lua_Integer)i);
    lua_pushcclosure(L, load_file, 1);
    lua_pushfstring(L, "tsh.%s", embedded[i].name);
    lua_insert(L, -2);
    lua_rawset(L, -3);
    if (!is_module(i)) continue;
    lua_pushinteger(L, (lua_Integer)i);
    lua_pushcclosure(L, load_short, 1);
    lua_setfield(L, -2, embedded[i].name);
  }
  lua_pop(L, 1);
  lua_pushglobaltable(L);
  set_missing(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, lt_of(L)->own);
  set_missing(L);
  lua_pop(L, 2);
}
