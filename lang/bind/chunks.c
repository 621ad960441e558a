/* chunks.c - load, loadfile and dofile: Lua's own, but the name of a data file
 * is no Lua, and is said to be none. */
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "session.h"

enum { NAME = 500 }; /* bytes of a text that may be the name of a file */

static int has_ending(const char *path, const char *const *endings) {
  const char *dot = strrchr(path, '.');
  if (!dot || dot == path || strchr(dot, '/')) return 0;
  for (; *endings; endings++)
    if (strcasecmp(dot + 1, *endings) == 0) return 1;
  return 0;
}

/* Of files that read takes, and of those that others make. */
static const char *const ours[] = {"npy", "npz",  "safetensors", "csv",
                                   "tsv", "json", "jsonl",       NULL};
static const char *const others[] = {"pt",   "pth", "ckpt",    "pkl", "pickle",
                                     "hdf5", "h5",  "parquet", "mat", NULL};

int lt_is_data_name(const char *path) {
  return has_ending(path, ours) || has_ending(path, others);
}

static int is_file(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int refuse(lua_State *L, const char *name, const char *path,
                  const char *what) {
  const char *const lua[] = {"lua", NULL};
  const char *hint, *why;
  if (has_ending(path, others))
    hint = "tsh reads npy, npz, safetensors, csv and json files";
  else
    hint = lua_pushfstring(L, "%s(\"%s\")",
                           has_ending(path, lua) ? "dofile" : "read", path);
  why = lua_pushfstring(L, "%s: %s %s", name, path, what);
  return lt_fail_text(L, name, why, hint);
}

/* load(text): what is no Lua, but the name of a file, was meant as that. */
static int load_text(lua_State *L) {
  const char *text = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
  int n = lua_gettop(L);
  lua_settop(L, n < 4 ? n : 4);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 2);
  lua_pushvalue(L, 1);
  lua_insert(L, 3);
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  if (text && lua_isnil(L, 2) && strlen(text) < NAME && !strchr(text, '\n') &&
      (lt_is_data_name(text) || is_file(text)))
    return refuse(L, "load", text, "is the name of a file, and no Lua text");
  return lua_gettop(L) - 1;
}

static void check_path(lua_State *L, const char *name) {
  const char *path = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
  if (path && strlen(path) < NAME && lt_is_data_name(path))
    refuse(L, name, path, "holds data, and no Lua");
}

static int load_file(lua_State *L) {
  check_path(L, "loadfile");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int after_file(lua_State *L, int status, lua_KContext unused) {
  (void)status;
  (void)unused;
  return lua_gettop(L);
}

/* The script may yield. */
static int do_file(lua_State *L) {
  check_path(L, "dofile");
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_callk(L, lua_isnil(L, 2) ? (lua_pop(L, 1), 0) : 1, LUA_MULTRET, 0,
            after_file);
  return after_file(L, LUA_OK, 0);
}

void lt_chunks_open(lua_State *L) {
  static const luaL_Reg own[] = {{"load", load_text},
                                 {"loadfile", load_file},
                                 {"dofile", do_file},
                                 {NULL, NULL}};
  for (const luaL_Reg *f = own; f->name; f++) {
    lua_getglobal(L, f->name);
    lua_pushcclosure(L, f->func, 1);
    lua_setglobal(L, f->name);
  }
}
