/* log.c - what `-v` and TSH_LOG tell: where plugins were looked for and what
 * became of them, which device is used, and at the end what was run. Also the
 * whole stack below an error. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "session.h"

#define LT_TRACE "tsh.trace" /* name in the registry: of the last error */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void say(const lt_session *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(const lt_session *s, const char *format, ...) {
  va_list args;
  fprintf(s->log, "log %.3f s: ", now() - s->log_begun);
  va_start(args, format);
  vfprintf(s->log, format, args);
  va_end(args);
  fputc('\n', s->log);
}

/* ---- plugins ------------------------------------------------------------- */

/* touched: only those files that were opened. */
static void list_plugins(const lt *l, int touched) {
  const lt_session *s = lt_session_of(l);
  dev_plugin_info info;
  for (uint32_t i = touched ? 1 : 0; dev_plugin_at(l->devices, i, &info); i++) {
    if (touched && strcmp(info.state, "not loaded") == 0) continue;
    say(s, "plugin %s: %s, %s%s%s", *info.scheme ? info.scheme : "-",
        info.state, info.path, *info.reason ? ": " : "", info.reason);
  }
}

static void list_folders(const lt *l) {
  const char *folder;
  for (uint32_t i = 0; (folder = dev_folder_at(l->devices, i)) != NULL; i++)
    say(lt_session_of(l), "looked for plugins in %s", folder);
}

/* ---- the beginning and the end ------------------------------------------- */

/* os.exit ends the process and closes nothing. */
static lt *logged;

static void close_logged(void) {
  if (logged) lt_log_close(logged);
}

static void close_at_exit(lt *l) {
  static int asked;
  logged = l;
  if (!asked) asked = atexit(close_logged) == 0;
}

void lt_log_open(lt *l, const lt_options *options) {
  lt_session *s = lt_session_of(l);
  const char *path = options->log;
  s->log_begun = now();
  if (path && *path && strcmp(path, "stderr") != 0) {
    s->log = fopen(path, "ae");
    if (s->log)
      setvbuf(s->log, NULL, _IOLBF, BUFSIZ);
    else
      fprintf(stderr, "note: no log is written: %s: %s\n", path,
              strerror(errno));
  } else if (options->verbose || (path && *path)) {
    s->log = stderr;
  }
  if (s->log) close_at_exit(l);
}

void lt_log_start(lt *l) {
  const lt_session *s = lt_session_of(l);
  uint64_t limit;
  if (!s->log) return;
  say(s, "%s", lt_version());
  if (!l->devices) return;
  list_folders(l);
  list_plugins(l, 0);
  if (!l->device) return;
  say(s, "device %s: %s", dev_name(l->device), dev_props(l->device)->name);
  limit = dev_limit(dev_builtin(l->devices));
  if (limit)
    say(s, "at most %llu bytes of tensors on %s", (unsigned long long)limit,
        dev_name(dev_builtin(l->devices)));
}

void lt_log_close(lt *l) {
  lt_session *s = lt_session_of(l);
  if (!s || !s->log) return;
  logged = NULL;
  if (l->plan) {
    const plan_counters *c = plan_counters_get(l->plan);
    list_plugins(l, 1);
#define COUNT(name) (unsigned long long)c->name
    say(s,
        "%llu ops recorded, %llu kernels run in %llu flushes, %llu plans made, "
        "%llu kernels compiled",
        COUNT(ops), COUNT(kernels), COUNT(flushes), COUNT(plan_misses),
        COUNT(programs));
    say(s, "%llu bytes allocated, %llu at most at once, %llu between devices",
        COUNT(bytes_allocated), COUNT(bytes_peak), COUNT(bytes_moved));
#undef COUNT
  }
  if (s->log != stderr) fclose(s->log);
  s->log = NULL;
}

/* ---- the stack below an error -------------------------------------------- */

void lt_note_stack(lua_State *L) {
  if (!lt_of(L)->verbose) return;
  luaL_traceback(L, L, NULL, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, LT_TRACE);
}

static const char *name_of(tsh_status code) {
  switch (code) {
  case TSH_EINVAL:
    return "TSH_EINVAL";
  case TSH_ENOMEM:
    return "TSH_ENOMEM";
  case TSH_EUNSUPPORTED:
    return "TSH_EUNSUPPORTED";
  case TSH_ENODEV:
    return "TSH_ENODEV";
  case TSH_EDEVICE:
    return "TSH_EDEVICE";
  case TSH_EINDEX:
    return "TSH_EINDEX";
  case TSH_ECANCELLED:
    return "TSH_ECANCELLED";
  default:
    return NULL;
  }
}

void lt_write_stack(lt *l, tsh_status code, FILE *err) {
  lua_State *L = l->L;
  const char *line;
  if (!l->verbose) return;
  if (name_of(code)) fprintf(err, "  status: %s\n", name_of(code));
  lua_getfield(L, LUA_REGISTRYINDEX, LT_TRACE);
  line = lua_tostring(L, -1);
  while (line && *line) {
    size_t n = strcspn(line, "\n");
    fprintf(err, "  %.*s\n", (int)n, line);
    line += n + (line[n] == '\n');
  }
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, LT_TRACE);
}
