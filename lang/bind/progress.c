/* progress.c - the last line of the terminal, which shows how far something
 * is: drawn over itself on stderr, and taken away before anything is printed.
 * What it says is made in lang/lib/progress.lua, and here for loads. */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "session.h"

enum {
  SHOW_AFTER = 1000, /* ms: what is shorter shows nothing */
  SHOW_EVERY = 100   /* ms between two drawings */
};

static int64_t clock_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int can_draw(const lt *l) {
  return !l->quiet && lt_screen_of(l, stderr).draws;
}

static void draw(lt *l, const char *text) {
  int width = lt_screen_of(l, stderr).width - 1; /* no wrap at the edge */
  fprintf(stderr, "\r%.*s\033[K", (int)lt_fit(text, strlen(text), width, NULL),
          text);
  fflush(stderr);
  l->bar.drawn = 1;
}

void lt_bar_clear(lt *l) {
  if (!l->bar.drawn) return;
  l->bar.drawn = 0;
  fputs("\r\033[K", stderr);
  fflush(stderr);
}

/* ---- loads --------------------------------------------------------------- */
static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

void lt_load_begin(lt *l) { l->bar.begun = l->bar.seen = clock_ms(); }

void lt_load_at(lt *l, const char *path, uint64_t done, uint64_t total) {
  int64_t now = clock_ms();
  double seconds = (double)(now - l->bar.begun) / 1000, rate;
  char text[400];
  if (now - l->bar.begun < SHOW_AFTER || now - l->bar.seen < SHOW_EVERY) return;
  l->bar.seen = now;
  if (!can_draw(l)) return;
  rate = (double)done / seconds;
  if (total && done)
    snprintf(text, sizeof text, "%.200s %3.0f%%  %.0f MB/s  %.0f s left",
             base_name(path), 100.0 * (double)done / (double)total, rate / 1e6,
             (double)(total - done) / rate);
  else
    snprintf(text, sizeof text, "%.200s  %.0f MB  %.0f MB/s", base_name(path),
             (double)done / 1e6, rate / 1e6);
  draw(l, text);
}

/* ---- for lang/lib/progress.lua ------------------------------------------- */
/* bar_width(): columns of the line, or nil where nothing is to be drawn. */
static int bar_width(lua_State *L) {
  const lt *l = lt_of(L);
  if (!can_draw(l)) return 0;
  lua_pushinteger(L, lt_screen_of(l, stderr).width - 1);
  return 1;
}

static int bar_draw(lua_State *L) {
  draw(lt_of(L), luaL_checkstring(L, 1));
  return 0;
}

static int bar_clear(lua_State *L) {
  lt_bar_clear(lt_of(L));
  return 0;
}

/* bar_note(text): a line of its own, unless the user wants it quiet. */
static int bar_note(lua_State *L) {
  lt *l = lt_of(L);
  lt_bar_clear(l);
  if (l->quiet) return 0;
  lt_fold(luaL_checkstring(L, 1), 2, stderr);
  fputc('\n', stderr);
  return 0;
}

/* Seconds of a clock that only goes forward. */
static int bar_clock(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (double)t.tv_sec + (double)t.tv_nsec * 1e-9);
  return 1;
}

const luaL_Reg lt_bar_functions[] = {
    {"bar_width", bar_width}, {"bar_draw", bar_draw}, {"bar_clear", bar_clear},
    {"bar_note", bar_note},   {"clock", bar_clock},   {NULL, NULL}};
