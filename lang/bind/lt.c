/* lt.c - a Lua state with tensors in it, from opening to closing, and running
 * code in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "session.h"

/* The plugin that is linked in; its entry is renamed when it is built. */
extern const tsh_plugin *tsh_cpu_query(uint32_t major, uint32_t minor);

const char *lt_version(void) { return "tsh " TSH_VERSION ", " LUA_RELEASE; }

/* ---- opening and closing ------------------------------------------------- */

/* --enable-debug: the planner checks its graph between passes. */
#ifdef TSH_DEBUG
#define LT_VERIFY 1
#else
#define LT_VERIFY 0
#endif

static int say(tsh_status status, const tsh_err *err, char *text, size_t size) {
  if (status == TSH_OK) return LT_OK;
  snprintf(text, size, "%s", err->text);
  return status == TSH_ENOMEM   ? LT_NOMEM
         : status == TSH_ENODEV ? LT_NODEVICE
                                : LT_ERROR;
}

static int open_devices(lt *l, const lt_options *options, char *text,
                        size_t size) {
  dev_options devices = {.builtin = tsh_cpu_query,
                         .scheme = "cpu",
                         .path = options->plugin_path,
                         .no_plugins = options->no_plugins,
                         .threads = options->threads,
                         .memory = options->memory};
  plan_options checks = {.verify = LT_VERIFY,
                         .shapes_only = options->check != 0};
  tsh_err err = {.size = sizeof err};
  int code = say(dev_set_new(&devices, &l->devices, &err), &err, text, size);
  if (code != LT_OK) return code;
  code = say(plan_new(l->devices, &checks, &l->plan, &err), &err, text, size);
  if (code != LT_OK) return code;
  l->device = dev_builtin(l->devices);
  l->threads = options->threads;
  return options->device ? lt_set_device(l, options->device, text, size)
                         : LT_OK;
}

static int open_own(lua_State *L) {
  lt_show_open(L);
  lt_chunks_open(L);
  lt_interrupt_open(L);
  return 0;
}

int lt_open(const lt_options *options, lt **out, char *text, size_t size) {
  lt *l = calloc(1, sizeof *l);
  int code = LT_NOMEM;
  *out = NULL;
  snprintf(text, size, "not enough memory");
  if (l && (l->session = calloc(1, sizeof(lt_session)))) {
    lt_session_of(l)->number = 1;
    lt_settings_init(&lt_session_of(l)->set);
    l->quiet = options->quiet || options->check;
    l->verbose = options->verbose;
    l->color = options->color;
    l->shapes.on = options->check != 0;
    l->shapes.limit = options->check;
    lt_session_of(l)->editor = options->editor;
    lt_session_of(l)->commands = options->commands;
    lt_log_open(l, options);
    code = open_devices(l, options, text, size);
    lt_log_start(l);
    if (code == LT_OK) code = lt_state_open(l, text, size);
  }
  if (code == LT_OK) {
    lua_pushcfunction(l->L, open_own);
    if (lua_pcall(l->L, 0, 0, 0) != LUA_OK) code = LT_NOMEM;
  }
  if (code == LT_OK)
    *out = l;
  else
    lt_close(l);
  return code;
}

void lt_close(lt *l) {
  if (!l) return;
  if (l->L) lt_state_close(l);
  lt_log_close(l);
  plan_free(l->plan);
  dev_set_free(l->devices);
  free(l->session);
  free(l);
}

const char *lt_device(lt *l) { return dev_name(l->device); }

int lt_set_device(lt *l, const char *name, char *text, size_t size) {
  tsh_err err = {.size = sizeof err};
  dev *d;
  int code = say(dev_get(l->devices, name, &d, &err), &err, text, size);
  if (code == LT_OK) l->device = d;
  return code;
}

/* ---- running under protection -------------------------------------------- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double lt_seconds(const lt *l) { return now() - lt_session_of(l)->begun; }

int lt_code_of(lua_State *L, int status) {
  tsh_status why;
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  if (status == LUA_OK) return LT_OK;
  why = lt_status_of(L, -1);
  if (status == LUA_ERRMEM || why == TSH_ENOMEM) return LT_NOMEM;
  /* Lua's own message, caught and raised again. */
  if (strcmp(text, "not enough memory") == 0) return LT_NOMEM;
  return why == TSH_ENODEV ? LT_NODEVICE : LT_ERROR;
}

/* told: an error has been reported; what failed with it needs no note. */
static void note_failures(lt *l, int told, FILE *err) {
  unsigned n = plan_failures(l->plan);
  if (told) return;
  if (n == 1)
    fputs("note: a value that nothing asked for could not be computed\n", err);
  else if (n)
    fprintf(err,
            "note: %u values that nothing asked for could not be "
            "computed\n",
            n);
}

int lt_protect(lt *l, lua_CFunction body, void *ud, int form, FILE *err) {
  lua_State *L = l->L;
  int code = LT_OK, base = lua_gettop(L) + 1, status;
  lt_session_of(l)->called[0] = '\0';
  lt_session_of(l)->begun = now();
  lua_pushcfunction(L, lt_note_callers);
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, ud);
  plan_refuse(l->plan, 0); /* an interrupted tsh.check left it on */
  lt_interrupt_begin(l);
  status = lua_pcall(L, 1, 0, base);
  lt_bar_clear(l);
  if (status != LUA_OK) {
    code = lt_code_of(L, status);
    lt_report(l, form, err);
  } else if (l->interrupted) { /* just as it ended */
    lua_pushliteral(L, "interrupted");
    lt_report(l, form, err);
  }
  note_failures(l, status != LUA_OK, err);
  lua_settop(L, base - 1);
  if (!lt_interrupt_end(l, form == LT_SCRIPT)) return code;
  /* What was under way would be computed together with the next value. */
  lua_gc(L, LUA_GCCOLLECT);
  return LT_INTERRUPTED;
}

/* ---- a value for -o ------------------------------------------------------ */
void lt_keep(lt *l) { lt_session_of(l)->keep = 1; }

int lt_keep_wanted(lt *l) {
  int wanted = lt_session_of(l)->keep;
  lt_session_of(l)->keep = 0;
  return wanted;
}

void lt_keep_value(lua_State *L, int first) {
  if (lua_gettop(L) >= first)
    lua_pushvalue(L, first);
  else
    lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, LT_KEPT);
}

/* ---- scripts ------------------------------------------------------------- */

/* Pushes all of stdin; a first line that begins with # becomes empty. */
static const char *push_stdin(lua_State *L, size_t *size) {
  luaL_Buffer b;
  int c = getc(stdin);
  luaL_buffinit(L, &b);
  if (c == '#')
    while (c != EOF && c != '\n') c = getc(stdin);
  if (c != EOF) ungetc(c, stdin);
  for (;;) {
    char *room = luaL_prepbuffer(&b);
    size_t n = fread(room, 1, LUAL_BUFFERSIZE, stdin);
    luaL_addsize(&b, n);
    if (n == 0) break;
  }
  luaL_pushresult(&b);
  return lua_tolstring(L, -1, size);
}

static int load_script(lua_State *L, const char *path) {
  size_t size;
  const char *text;
  if (strcmp(path, "-") != 0) return luaL_loadfile(L, path);
  text = push_stdin(L, &size);
  if (ferror(stdin)) {
    lua_pushfstring(L, "cannot read stdin: %s", strerror(errno));
    return LUA_ERRFILE;
  }
  lt_source_add(lt_of(L), "=stdin", text, size);
  return luaL_loadbuffer(L, text, size, "=stdin");
}

int lt_run_script(lua_State *L) {
  lt_script *s = lua_touserdata(L, 1);
  int status, keep;
  char why[4400];
  luaL_checkstack(L, s->argc + 10, "too many arguments");
  lua_createtable(L, s->argc, 1);
  lua_pushstring(L, s->path);
  lua_rawseti(L, -2, 0);
  for (int i = 0; i < s->argc; i++) {
    lua_pushstring(L, s->argv[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setglobal(L, "arg");
  if (strcmp(s->path, "-") != 0 &&
      lt_script_problem(s->path, why, sizeof why)) {
    s->usage = 1;
    lua_pushstring(L, why);
    return lua_error(L);
  }
  status = load_script(L, s->path);
  s->usage = status == LUA_ERRFILE;
  if (status != LUA_OK) return lua_error(L);
  for (int i = 0; i < s->argc; i++) lua_pushstring(L, s->argv[i]);
  keep = lt_keep_wanted(lt_of(L));
  lua_call(L, s->argc, keep);
  if (keep) lt_keep_value(L, lua_gettop(L));
  return 0;
}

int lt_run(lt *l, const char *path, int argc, char **argv, FILE *err) {
  lt_script s = {path, argc, 0, argv};
  int code;
  if (strcmp(path, "-") == 0) lt_session_of(l)->stdin_taken = 1;
  code = lt_protect(l, lt_run_script, &s, LT_SCRIPT, err);
  return s.usage ? LT_USAGE : code;
}
