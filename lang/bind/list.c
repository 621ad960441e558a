/* list.c - listings: devices and plugin files; commands that are made of Lua.
 */
#include <string.h>
#include <unistd.h>
#include "session.h"

/* ---- tables -------------------------------------------------------------- */

enum { COLUMNS = 6, CELL = 160 };

typedef struct {
  char cell[COLUMNS][CELL];
} row;

/* Fills the i-th row; 0 past the last. */
typedef int (*row_maker)(lt *l, uint32_t i, row *r);

static int cell_width(const row *r, int column) {
  return lt_columns(r->cell[column], strlen(r->cell[column]));
}

/* The last column is not padded, so that no line ends in blanks. */
static void write_row(const row *r, const int *width, int n, FILE *out) {
  char line[COLUMNS * 2 * CELL];
  size_t at = 0;
  int last = n - 1, hang = 0;
  while (last > 0 && !*r->cell[last]) last--;
  for (int c = 0; c <= last && at < sizeof line; c++) {
    int pad = c < last ? width[c] - cell_width(r, c) + 2 : 0;
    if (pad) hang += width[c] + 2;
    at += (size_t)snprintf(line + at, sizeof line - at, "%s%*s", r->cell[c],
                           pad, "");
  }
  lt_fold(line, hang, out);
  fputc('\n', out);
}

static void write_table(lt *l, const row *head, row_maker make, FILE *out) {
  int width[COLUMNS], n = 0;
  row r = *head;
  for (int c = 0; c < COLUMNS; c++) width[c] = cell_width(head, c);
  while (n < COLUMNS && *head->cell[n]) n++;
  for (uint32_t i = 0; make(l, i, &r); i++)
    for (int c = 0; c < n; c++) {
      int size = cell_width(&r, c);
      if (size > width[c]) width[c] = size;
    }
  write_row(head, width, n, out);
  memset(&r, 0, sizeof r);
  for (uint32_t i = 0; make(l, i, &r); i++) {
    write_row(&r, width, n, out);
    memset(&r, 0, sizeof r);
  }
}

static void put(row *r, int column, const char *text) {
  snprintf(r->cell[column], CELL, "%s", text ? text : "");
}

static void put_bytes(row *r, int column, uint64_t bytes) {
  static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = (double)bytes;
  int i = 0;
  for (; size >= 1024 && i < 4; i++) size /= 1024;
  snprintf(r->cell[column], CELL, i ? "%.1f %s" : "%.0f %s", size, unit[i]);
}

/* ---- devices ------------------------------------------------------------- */

static const char *kind_text(uint32_t kind) {
  switch (kind) {
  case TSH_CPU:
    return "cpu";
  case TSH_GPU:
    return "gpu";
  case TSH_NPU:
    return "npu";
  case TSH_REMOTE:
    return "remote";
  default:
    return "other";
  }
}

static void put_used(lt *l, row *r, const char *name) {
  tsh_memstat memory = {.size = sizeof memory};
  tsh_err err = {.size = sizeof err};
  dev *d;
  if (dev_get(l->devices, name, &d, &err) == TSH_OK &&
      dev_memstat(d, 0, &memory, &err) == TSH_OK)
    put_bytes(r, 4, memory.used);
  else
    put(r, 4, "-");
}

static int device_row(lt *l, uint32_t i, row *r) {
  dev_info info;
  if (!dev_info_at(l->devices, i, &info)) return 0;
  if (!info.name) {
    snprintf(r->cell[0], CELL, "  %s", info.scheme);
    for (int c = 1; c < 5; c++) put(r, c, "-");
    put(r, 5, *info.reason ? info.reason : "no device");
    return 1;
  }
  snprintf(r->cell[0], CELL, "%s %s",
           strcmp(info.name, lt_device(l)) == 0 ? "*" : " ", info.name);
  put(r, 1, kind_text(info.props.kind));
  put(r, 2, info.props.name);
  if (info.props.memory)
    put_bytes(r, 3, info.props.memory);
  else
    put(r, 3, "-");
  if (info.open)
    put_used(l, r, info.name);
  else
    put(r, 4, "-");
  put(r, 5, info.open ? "ready" : "not opened");
  return 1;
}

int lt_devices(lt *l, FILE *out) {
  static const row head = {
      {"  NAME", "KIND", "DEVICE", "MEMORY", "USED", "STATE"}};
  write_table(l, &head, device_row, out);
  return LT_OK;
}

/* ---- plugins ------------------------------------------------------------- */

static int plugin_row(lt *l, uint32_t i, row *r) {
  dev_plugin_info info;
  if (!dev_plugin_at(l->devices, i, &info)) return 0;
  put(r, 0, info.scheme);
  put(r, 1, info.state);
  put(r, 2, info.version && *info.version ? info.version : "-");
  put(r, 3, info.path);
  put(r, 4, info.reason);
  return 1;
}

/* Where a new NAME.so would be found; without any, no plugin is asked for. */
static void list_folders(lt *l, FILE *out) {
  const char *folder;
  for (uint32_t i = 0; (folder = dev_folder_at(l->devices, i)) != NULL; i++) {
    if (i == 0) fputs("\nNAME.so is looked for in\n", out);
    fputs("  ", out);
    fputs(folder, out);
    fputs(access(folder, F_OK) == 0 ? "\n" : "  (not there yet)\n", out);
  }
}

static int any_refused(lt *l) {
  dev_plugin_info info;
  for (uint32_t i = 0; dev_plugin_at(l->devices, i, &info); i++)
    if (strcmp(info.state, "refused") == 0) return 1;
  return 0;
}

/* A file that nothing has named yet is not loaded; who asks for the list wants
 * to know whether it could be. */
int lt_plugins(lt *l, FILE *out) {
  static const row head = {{"SCHEME", "STATE", "VERSION", "FILE", "REASON"}};
  dev_info device;
  for (uint32_t i = 0; dev_info_at(l->devices, i, &device); i++) continue;
  write_table(l, &head, plugin_row, out);
  list_folders(l, out);
  if (any_refused(l)) fputs("`tsh doctor` says what helps\n", out);
  return LT_OK;
}

/* ---- all of a value ------------------------------------------------------ */

typedef struct {
  const char *expr;
  FILE *out;
} question;

/* Calls the expression; its values begin at index 2. Gives back how many. */
static int call_expression(lua_State *L, const char *expr, const char *chunk) {
  lt_source_add(lt_of(L), chunk, expr, strlen(expr));
  lua_pushfstring(L, "return %s\n", expr);
  if (luaL_loadbufferx(L, lua_tostring(L, -1), lua_rawlen(L, -1), chunk, "t") !=
      LUA_OK)
    return lua_error(L);
  lua_remove(L, -2);
  lua_call(L, 0, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

static int show_full(lua_State *L) {
  question *q = lua_touserdata(L, 1);
  lt_screen screen = lt_screen_all(lt_of(L), stdout);
  int n = call_expression(L, q->expr, "=full");
  lt_show_on(L, 2, n, &screen, q->out);
  return 0;
}

int lt_full(lt *l, const char *expr, FILE *out, FILE *err) {
  question q = {expr, out};
  return lt_protect(l, show_full, &q, LT_ENTRY, err);
}

/* ---- commands and words made of Lua -------------------------------------- */

typedef struct {
  const char *name, *rest;
} order;

static int command(lua_State *L) {
  order *o = lua_touserdata(L, 1);
  lt_source_add(lt_of(L), "=line", o->rest, strlen(o->rest));
  lt_push_library(L, "commands");
  lua_getfield(L, -1, "command");
  lua_getfield(L, -1, o->name);
  lua_pushstring(L, o->rest);
  lua_call(L, 1, 0);
  return 0;
}

int lt_command(lt *l, const char *name, const char *rest, FILE *err) {
  order o = {name, rest};
  return lt_protect(l, command, &o, LT_ENTRY, err);
}

typedef struct {
  const char *name;
  int argc;
  char **argv;
} word_call;

static int call_word(lua_State *L) {
  word_call *w = lua_touserdata(L, 1);
  luaL_checkstack(L, w->argc + 10, "too many arguments");
  lt_push_library(L, "words");
  lua_getfield(L, -1, "word");
  lua_getfield(L, -1, w->name);
  for (int i = 0; i < w->argc; i++) lua_pushstring(L, w->argv[i]);
  lua_call(L, w->argc, 0);
  return 0;
}

int lt_word(lt *l, const char *name, int argc, char **argv, FILE *err) {
  word_call w = {name, argc, argv};
  int code;
  lt_session_of(l)->usage = 0;
  code = lt_protect(l, call_word, &w, LT_SCRIPT, err);
  return lt_session_of(l)->usage ? LT_USAGE : code;
}
