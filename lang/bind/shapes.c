/* shapes.c - tsh check: a script runs, and nothing is computed. The planner
 * makes every plan and sends none (plan_options.shapes_only); this file says
 * what the script gets where it asks for a value, when it has to stop, and
 * whose fault an error is. lang/lib/shapes.lua tells the user. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "session.h"

enum { ASKED_OPS = 100 }; /* that a value which is asked for counts as */

/* Their addresses are registry keys: paths that were to be written; what error
 * and assert of Lua are. */
static const char written_key = 0, error_key = 0, assert_key = 0;

/* ---- asking for values --------------------------------------------------- */

static void stop(lua_State *L, const char *why) {
  lt *l = lt_of(L);
  if (*l->shapes.why) return;
  snprintf(l->shapes.why, sizeof l->shapes.why, "%s", why);
  l->shapes.stopped_at = lt_site(L);
  lt_interrupt(l); /* no pcall of the script's goes on */
}

void lt_shapes_stop(lua_State *L, const char *why) {
  stop(L, why);
  lt_stop_point(L);
}

/* A loop that waits for a value records little and asks often. */
void lt_shapes_count(lua_State *L) {
  lt *l = lt_of(L);
  char text[120];
  uint64_t ops = plan_counters_get(l->plan)->ops, asked = l->shapes.asked;
  if (!l->shapes.on || ops + asked * ASKED_OPS <= l->shapes.limit) return;
  if (asked * ASKED_OPS > ops)
    snprintf(text, sizeof text,
             "it has asked for %llu values, which check does not compute; "
             "--ops N goes on longer",
             (unsigned long long)asked);
  else
    snprintf(text, sizeof text,
             "it has recorded %llu ops; --ops N goes on longer",
             (unsigned long long)ops);
  stop(L, text);
}

void lt_shapes_asked(lua_State *L, const plan_node *n) {
  lt *l = lt_of(L);
  if (!l->shapes.on || (n && plan_is_known(n))) return;
  l->shapes.asked++;
  if (!l->shapes.asked_at &&
      (!n || plan_dtype_kind(plan_dtype_of(n)) != TSH_KIND_FLOAT))
    l->shapes.asked_at = lt_site(L);
  lt_shapes_count(L);
}

int lt_shapes_hides(const lt *l, const plan_node *n) {
  return l->shapes.on && !plan_is_known(n);
}

/* ---- files that were to be written --------------------------------------- */

static void push_written(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &written_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &written_key);
}

void lt_shapes_write(lua_State *L, const char *path) {
  luaL_checkstack(L, 4, NULL);
  push_written(L);
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, path);
  lua_pop(L, 1);
}

void lt_shapes_read(lua_State *L, const char *path) {
  int was;
  if (!lt_of(L)->shapes.on) return;
  luaL_checkstack(L, 4, NULL);
  push_written(L);
  was = lua_getfield(L, -1, path) != LUA_TNIL;
  lua_pop(L, 2);
  if (was)
    lt_shapes_stop(L, lua_pushfstring(L,
                                      "it reads %s, which check has not "
                                      "written",
                                      path));
}

/* ---- what shapes.lua calls ----------------------------------------------- */

/* check_stop(why): ends the check at the user's line. */
static int core_stop(lua_State *L) {
  lt_shapes_stop(L, luaL_checkstring(L, 1));
  return 0;
}

static int core_write(lua_State *L) {
  lt_shapes_write(L, luaL_checkstring(L, 1));
  return 0;
}

/* check_read(path): stops when that file was to be written. */
static int core_read(lua_State *L) {
  lt_shapes_read(L, luaL_checkstring(L, 1));
  return 0;
}

/* is_hidden(x): asks for x; is its value one that check does not compute? */
static int core_is_hidden(lua_State *L) {
  plan_node *n = lt_tensor_get(L, 1);
  int on = lt_of(L)->shapes.on;
  tsh_err err = {.size = sizeof err};
  if (on && lt_demand(L, &n, 1, 0, &err) != TSH_OK) lt_raise_demand(L, &err);
  lua_pushboolean(L, lt_shapes_hides(lt_of(L), n));
  return 1;
}

/* refused(f, ...): what f gives, while no value is computed; asking for one is
 * an error, and so is a yield, which would leave others refused. */
static int core_refused(lua_State *L) {
  lt *l = lt_of(L);
  int was = plan_refuse(l->plan, 1);
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  plan_refuse(l->plan, was);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

/* source_line(name, line): of a place in an error's text, or nil. */
static int core_source_line(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  int line = (int)luaL_checkinteger(L, 2);
  char text[400];
  for (const char *kind = "=@"; *kind; kind++) {
    lua_pushfstring(L, *kind == '=' ? "=%s" : "@%s", name);
    if (lt_source_line(lt_of(L), lua_tostring(L, -1), line, text,
                       sizeof text)) {
      lua_pushstring(L, text);
      return 1;
    }
  }
  return 0;
}

const luaL_Reg lt_shapes_functions[] = {{"check_stop", core_stop},
                                        {"check_write", core_write},
                                        {"check_read", core_read},
                                        {"is_hidden", core_is_hidden},
                                        {"refused", core_refused},
                                        {"source_line", core_source_line},
                                        {NULL, NULL}};

/* ---- whose error it is --------------------------------------------------- */

typedef struct {
  lt_script script;
  int json, code;
  int muted; /* what it prints goes nowhere */
  int own;   /* error or assert was called by the script */
  char own_at[LUA_IDSIZE + 16];
} job;

static int is_global(lua_State *L, const void *key) {
  int same;
  lua_rawgetp(L, LUA_REGISTRYINDEX, key);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 1);
  return same;
}

/* Message handler: notes who raised, leaves the error as it is. */
static int on_error(lua_State *L) {
  job *j = lua_touserdata(L, lua_upvalueindex(1));
  lua_Debug at;
  lua_settop(L, 1);
  lt_note_callers(L);
  if (!lua_getstack(L, 1, &at) || !lua_getinfo(L, "f", &at)) return 1;
  j->own = is_global(L, &error_key) || is_global(L, &assert_key);
  lua_settop(L, 1);
  if (!j->own || !lua_getstack(L, 2, &at)) return 1;
  lua_getinfo(L, "Sl", &at);
  j->own = at.currentline > 0 && !lt_source_is_library(at.source);
  snprintf(j->own_at, sizeof j->own_at, "%s:%d", at.short_src, at.currentline);
  return 1;
}

/* ---- what came of it ----------------------------------------------------- */

static void set_text(lua_State *L, const char *key, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, key);
}

static void set_count(lua_State *L, const char *key, double n) {
  lua_pushinteger(L, n < 9e18 ? (lua_Integer)n : LUA_MAXINTEGER);
  lua_setfield(L, -2, key);
}

static void set_site(lua_State *L, const char *key, uint32_t site) {
  char place[LUA_IDSIZE + 16];
  if (site) set_text(L, key, lt_site_text(lt_of(L), site, place, sizeof place));
}

/* The error at index i: its text, the hint that lt_report would give, who
 * called; raised: the text of the last error of a tensor function. */
static void set_error(lua_State *L, const job *j, int i) {
  lt *l = lt_of(L);
  char hint[240];
  const char *text = luaL_tolstring(L, i, NULL);
  lua_setfield(L, -2, "message");
  if (lt_hint(l, text, hint, sizeof hint)) set_text(L, "guess", hint);
  if (*lt_session_of(l)->called)
    set_text(L, "callers", lt_session_of(l)->called);
  lt_push_raised(L);
  lua_setfield(L, -2, "raised");
  lua_pushboolean(L, j->own);
  lua_setfield(L, -2, "own");
  if (j->own) set_text(L, "own_at", j->own_at);
}

/* Where Ctrl-C came: in front of the text of the error at index i. */
static void set_interrupted(lua_State *L, int i) {
  const char *text = lua_tostring(L, i);
  const char *end = text ? strstr(text, ": interrupted") : NULL;
  if (!end) return;
  lua_pushlstring(L, text, (size_t)(end - text));
  lua_setfield(L, -2, "stopped_at");
}

/* Pushes the table that shapes.lua takes. */
static void push_facts(lua_State *L, const job *j, int status, int stopped) {
  lt *l = lt_of(L);
  const plan_estimate *e = plan_estimate_get(l->plan);
  const plan_counters *c = plan_counters_get(l->plan);
  int error = lua_gettop(L);
  lua_newtable(L);
  set_text(L, "file", j->script.path);
  set_text(L, "device", dev_name(l->device));
  set_count(L, "memory", (double)dev_props(l->device)->memory);
  set_count(L, "launches", (double)e->launches);
  set_count(L, "moves", (double)e->moves);
  set_count(L, "flops", e->flops);
  set_count(L, "bytes_read", e->read);
  set_count(L, "bytes_written", e->written);
  set_count(L, "bytes_moved", e->moved);
  set_count(L, "bytes_peak", (double)c->bytes_peak);
  set_count(L, "ops", (double)c->ops);
  set_count(L, "kernels", (double)c->kernels);
  set_count(L, "asked", (double)l->shapes.asked);
  set_site(L, "asked_at", l->shapes.asked_at);
  lua_pushboolean(L, stopped);
  lua_setfield(L, -2, "stopped");
  lua_pushboolean(L, j->json);
  lua_setfield(L, -2, "json");
  lua_pushboolean(L, j->muted);
  lua_setfield(L, -2, "muted");
  if (stopped && *l->shapes.why) {
    set_text(L, "why", l->shapes.why);
    set_site(L, "stopped_at", l->shapes.stopped_at);
  } else if (stopped) {
    set_interrupted(L, error);
  } else if (status != LUA_OK) {
    set_error(L, j, error);
  }
}

/* ---- running it ---------------------------------------------------------- */

/* What a script prints is no part of the JSON, and full of nan: else it is
 * shown with -v only. The number of the real stdout, or -1. */
static int mute(int on) {
  int null, was;
  fflush(stdout);
  if (!on || (was = dup(STDOUT_FILENO)) < 0) return -1;
  null = open("/dev/null", O_WRONLY);
  if (null >= 0) {
    dup2(null, STDOUT_FILENO);
    close(null);
  }
  return was;
}

static void unmute(int was) {
  fflush(stdout);
  if (was < 0) return;
  dup2(was, STDOUT_FILENO);
  close(was);
}

static int run(lua_State *L, job *j) {
  int status, was;
  lua_pushlightuserdata(L, j);
  lua_pushcclosure(L, on_error, 1);
  lua_pushcfunction(L, lt_run_script);
  lua_pushlightuserdata(L, &j->script);
  was = mute(j->muted);
  status = lua_pcall(L, 1, 0, -3);
  if (j->muted) lua_gc(L, LUA_GCCOLLECT); /* finalizers print, too */
  unmute(was);
  if (status == LUA_OK) lua_pushnil(L);
  lua_remove(L, -2);
  return status;
}

static int check(lua_State *L) {
  job *j = lua_touserdata(L, 1);
  lt *l = lt_of(L);
  int status, stopped;
  lua_getglobal(L, "error");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &error_key);
  lua_getglobal(L, "assert");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &assert_key);
  lt_push_library(L, "shapes");
  lua_getfield(L, -1, "prepare");
  lua_call(L, 0, 0);
  lua_getfield(L, -1, "finish");
  status = run(L, j);
  if (j->script.usage) return lua_error(L);
  stopped = lt_interrupt_end(l, 0);
  lt_interrupt_begin(l);
  j->code = lt_code_of(L, status);
  if (stopped) j->code = *l->shapes.why ? LT_OK : LT_INTERRUPTED;
  push_facts(L, j, status, stopped);
  lua_remove(L, -2);
  lua_call(L, 1, 1);
  if (!lua_toboolean(L, -1) && j->code != LT_INTERRUPTED)
    j->code = LT_OK;
  else if (j->code == LT_OK)
    j->code = LT_ERROR;
  return 0;
}

int lt_check_script(lt *l, const char *path, int argc, char **argv, int json,
                    FILE *err) {
  job j = {.script = {path, argc, 0, argv},
           .json = json,
           .muted = json || !l->verbose};
  int code;
  if (strcmp(path, "-") == 0) lt_session_of(l)->stdin_taken = 1;
  code = lt_protect(l, check, &j, LT_SCRIPT, err);
  if (j.script.usage) return LT_USAGE;
  return code == LT_OK ? j.code : code;
}
