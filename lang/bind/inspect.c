/* inspect.c - for lang/lib/commands.lua: what memory holds, which globals the
 * user has made, what a tensor is. Nothing here computes. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "session.h"

/* ---- memory ----------------------------------------------------------------
 */
static void set_count(lua_State *L, const char *key, uint64_t n) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, key);
}

/* memory(): of each open device: name, total, used, cached, peak,
 * limit where there is one. */
static int memory(lua_State *L) {
  lt *l = lt_of(L);
  dev_info info;
  lua_newtable(L);
  for (uint32_t i = 0; dev_info_at(l->devices, i, &info); i++) {
    tsh_memstat m = {.size = sizeof m};
    tsh_err err = {.size = sizeof err};
    dev *d;
    if (!info.name || !info.open) continue;
    if (dev_get(l->devices, info.name, &d, &err) != TSH_OK ||
        dev_memstat(d, 0, &m, &err) != TSH_OK)
      continue;
    lua_createtable(L, 0, 5);
    lua_pushstring(L, info.name);
    lua_setfield(L, -2, "name");
    set_count(L, "total", info.props.memory);
    set_count(L, "used", m.used);
    set_count(L, "cached", m.cached);
    set_count(L, "peak", m.peak);
    if (dev_limit(d)) set_count(L, "limit", dev_limit(d));
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  return 1;
}

typedef struct {
  lt *l;
  const plan_node **at; /* in a userdata */
  size_t n, room;
} census;

static void note_node(void *ud, plan_node *n) {
  census *c = ud;
  if (c->n < c->room) c->at[c->n] = n;
  c->n++;
}

/* live(): every tensor alive: text, bytes (0: not computed), place, id. */
static int live(lua_State *L) {
  lt *l = lt_of(L);
  census c = {l, NULL, 0, 0};
  char text[320], place[LUA_IDSIZE + 16];
  lua_gc(L, LUA_GCCOLLECT);
  lt_drain(l);
  lt_heap_visit(&l->heap, note_node, &c);
  c.room = c.n;
  c.at = lua_newuserdatauv(L, (c.n + 1) * sizeof *c.at, 0);
  c.n = 0;
  lt_heap_visit(&l->heap, note_node, &c);
  if (c.n > c.room) c.n = c.room;
  lua_createtable(L, (int)c.n, 0);
  for (size_t i = 0; i < c.n; i++) {
    const plan_node *x = c.at[i];
    uint64_t bytes =
        (uint64_t)plan_shape_of(x)->count * plan_dtype_bytes(plan_dtype_of(x));
    lua_createtable(L, 0, 4);
    lua_pushstring(L, plan_describe(x, text, sizeof text));
    lua_setfield(L, -2, "text");
    set_count(L, "bytes", plan_is_ready(x) ? bytes : 0);
    lt_site_text(l, plan_site_of(x), place, sizeof place);
    lua_pushstring(L, place);
    lua_setfield(L, -2, "place");
    set_count(L, "id", (uint64_t)(uintptr_t)x);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* is_ours(name, value): is this global one that the user did not make? */
static int is_ours(lua_State *L) {
  int same;
  lua_settop(L, 2);
  lua_rawgeti(L, LUA_REGISTRYINDEX, lt_of(L)->own);
  lua_pushvalue(L, 1);
  lua_rawget(L, -2);
  same = !lua_isnil(L, -1) && lua_rawequal(L, -1, 2);
  lua_pushboolean(L, same);
  return 1;
}

/* ---- values ----------------------------------------------------------------
 */
static plan_node *arg(lua_State *L, int i) {
  plan_node *n = lt_tensor_test(L, i);
  if (!n) luaL_typeerror(L, i, "tensor");
  return n;
}

static int describe(lua_State *L) {
  char text[320];
  lua_pushstring(L, plan_describe(arg(L, 1), text, sizeof text));
  return 1;
}

static int is_ready(lua_State *L) {
  lua_pushboolean(L, plan_is_ready(arg(L, 1)));
  return 1;
}

static int dtype_bytes(lua_State *L) {
  lua_pushinteger(L, plan_dtype_bytes(lt_arg_dtype(L, 1)));
  return 1;
}

/* ---- globals ---------------------------------------------------------------
 */
static int globals(lua_State *L) {
  lua_pushglobaltable(L);
  return 1;
}

/* global(name): also one that the library provides. */
static int global(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_pushglobaltable(L);
  lua_pushvalue(L, 1);
  lua_gettable(L, -2);
  return 1;
}

/* ---- plugins and versions --------------------------------------------------
 */
static void set_text(lua_State *L, const char *key, const char *text) {
  lua_pushstring(L, text ? text : "");
  lua_setfield(L, -2, key);
}

/* plugins(): of each file scheme, state, version, path, reason. */
static int plugins(lua_State *L) {
  lt *l = lt_of(L);
  dev_plugin_info info;
  dev_info device;
  /* Loads them all: who asks wants to know whether that goes well. */
  for (uint32_t i = 0; dev_info_at(l->devices, i, &device); i++) continue;
  lua_newtable(L);
  for (uint32_t i = 0; dev_plugin_at(l->devices, i, &info); i++) {
    lua_createtable(L, 0, 5);
    set_text(L, "scheme", info.scheme);
    set_text(L, "state", info.state);
    set_text(L, "version", info.version);
    set_text(L, "path", info.path);
    set_text(L, "reason", info.reason);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int list_devices(lua_State *L) {
  lt_devices(lt_of(L), stdout);
  return 0;
}

static int list_plugins(lua_State *L) {
  lt_plugins(lt_of(L), stdout);
  return 0;
}

/* say(text, hang): a line or several, see lt_fold. */
static int say(lua_State *L) {
  lt_bar_clear(lt_of(L));
  lt_fold(luaL_checkstring(L, 1), (int)luaL_optinteger(L, 2, -1), stdout);
  fputc('\n', stdout);
  fflush(stdout);
  return 0;
}

/* line_width(): columns of the terminal; nil where standard output is none. */
static int line_width(lua_State *L) {
  int width = lt_line_width(stdout);
  if (width == INT_MAX) return 0;
  lua_pushinteger(L, width);
  return 1;
}

/* columns(text): of a terminal. */
static int columns(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  lua_pushinteger(L, lt_columns(text, size));
  return 1;
}

static int abi(lua_State *L) {
  lua_pushfstring(L, "%d.%d", TSH_ABI_MAJOR, TSH_ABI_MINOR);
  return 1;
}

static int lua_release(lua_State *L) {
  lua_pushliteral(L, LUA_RELEASE);
  return 1;
}

static int editor(lua_State *L) {
  const char *name = lt_session_of(lt_of(L))->editor;
  lua_pushstring(L, name ? name : "none: this build edits no lines");
  return 1;
}

/* stdin_use(): "terminal", or "script" when what runs comes from there; nil:
 * data may. */
static int stdin_use(lua_State *L) {
  if (isatty(STDIN_FILENO))
    lua_pushliteral(L, "terminal");
  else if (lt_session_of(lt_of(L))->stdin_taken)
    lua_pushliteral(L, "script");
  else
    lua_pushnil(L);
  return 1;
}

/* is_terminal(n): the open file n. */
static int is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* kept(): the value that lt_keep asked for. */
static int kept(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, LT_KEPT);
  return 1;
}

/* usage(text, hint): the arguments of a word are wrong. */
static int usage(lua_State *L) {
  lt_session_of(lt_of(L))->usage = 1;
  return lt_fail_text(L, NULL, luaL_checkstring(L, 1),
                      lua_isnoneornil(L, 2) ? NULL : luaL_checkstring(L, 2));
}

/* ---- the rest --------------------------------------------------------------
 */
static int trim(lua_State *L) {
  lt *l = lt_of(L);
  dev_info info;
  lt_collect(L);
  for (uint32_t i = 0; dev_info_at(l->devices, i, &info); i++) {
    tsh_memstat m = {.size = sizeof m};
    tsh_err err = {.size = sizeof err};
    dev *d;
    if (info.name && info.open &&
        dev_get(l->devices, info.name, &d, &err) == TSH_OK)
      dev_memstat(d, 1, &m, &err);
  }
  return 0;
}

/* make_folder(path): with all above it. What goes wrong shows when a file is
 * written there. */
static int make_folder(lua_State *L) {
  char path[4096];
  snprintf(path, sizeof path, "%s/", luaL_checkstring(L, 1));
  for (char *c = path + 1; (c = strchr(c, '/')) != NULL; c++) {
    *c = '\0';
    mkdir(path, 0777);
    *c = '/';
  }
  return 0;
}

/* show_source(name, text): errors in the chunk "=name" show its line. */
static int show_source(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 2, &size);
  lua_pushfstring(L, "=%s", luaL_checkstring(L, 1));
  lt_source_add(lt_of(L), lua_tostring(L, -1), text, size);
  return 0;
}

const luaL_Reg lt_inspect_functions[] = {{"memory", memory},
                                         {"live", live},
                                         {"is_ours", is_ours},
                                         {"describe", describe},
                                         {"is_ready", is_ready},
                                         {"dtype_bytes", dtype_bytes},
                                         {"globals", globals},
                                         {"global", global},
                                         {"plugins", plugins},
                                         {"list_devices", list_devices},
                                         {"list_plugins", list_plugins},
                                         {"say", say},
                                         {"columns", columns},
                                         {"abi", abi},
                                         {"lua_release", lua_release},
                                         {"editor", editor},
                                         {"usage", usage},
                                         {"stdin_use", stdin_use},
                                         {"is_terminal", is_terminal},
                                         {"kept", kept},
                                         {"trim", trim},
                                         {"make_folder", make_folder},
                                         {"show_source", show_source},
                                         {"script_problem", lt_script_check},
                                         {"documented", lt_documented},
                                         {"topics", lt_topics_list},
                                         {"lua_names", lt_lua_names},
                                         {"commands", lt_commands_list},
                                         {"line_width", line_width},
                                         {"settings", lt_settings_list},
                                         {"set", lt_settings_set},
                                         {"unset", lt_settings_unset},
                                         {NULL, NULL}};
