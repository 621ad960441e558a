/* report.c - an error as a screen: what, the facts, the place with its source
 * line, who called. The errors of this room carry all but the callers in their
 * text (see priv.h); to Lua's own the source line is added. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "session.h"

enum { PLACE = LUA_IDSIZE + 16, SOURCE = 1024, SHOWN = 160, CALLERS = 6 };

/* ---- who called ---------------------------------------------------------- */

/* "train.lua:42" of the next frame of the user's at or above *level, or 0. */
static int user_frame(lua_State *L, int *level, lua_Debug *at, char *place) {
  for (; lua_getstack(L, *level, at); ++*level) {
    lua_getinfo(L, "Sln", at);
    if (at->currentline <= 0 || lt_source_is_library(at->source)) continue;
    snprintf(place, PLACE, "%s:%d", at->short_src, at->currentline);
    return 1;
  }
  return 0;
}

static int is_place_of(const char *message, const char *place) {
  size_t n = strlen(place);
  return message && strncmp(message, place, n) == 0 && message[n] == ':';
}

/* The level above the frame that the message blames, or above the first. */
static int blamed_level(lua_State *L, const char *message) {
  char place[PLACE];
  lua_Debug at;
  int first = -1;
  for (int level = 1; user_frame(L, &level, &at, place); level++) {
    if (first < 0) first = level + 1;
    if (is_place_of(message, place)) return level + 1;
    if (level > 100) break;
  }
  return first < 0 ? 1 : first;
}

int lt_note_callers(lua_State *L) {
  lt_session *s = lt_session_of(lt_of(L));
  char place[PLACE];
  lua_Debug at;
  int level = blamed_level(L, lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1)
                                                            : NULL);
  size_t used = 0;
  s->called[0] = '\0';
  lt_note_stack(L);
  for (int n = 0; user_frame(L, &level, &at, place); level++, n++) {
    size_t room = sizeof s->called - used;
    int more = n == CALLERS ? snprintf(s->called + used, room, ", ...")
                            : snprintf(s->called + used, room, "%s%s",
                                       n ? ", " : "", place);
    if (more < 0 || (size_t)more >= room) break;
    used += (size_t)more;
    if (n == CALLERS) break;
    if (strcmp(at.what, "main") == 0 || !at.name) continue;
    room = sizeof s->called - used;
    more = snprintf(s->called + used, room, " in '%s'", at.name);
    if (more < 0 || (size_t)more >= room) break;
    used += (size_t)more;
  }
  return 1;
}

/* ---- places and their source lines --------------------------------------- */

typedef struct {
  char text[PLACE]; /* "train.lua:42" */
  size_t size;
  int line;
  char chunk[PLACE + 1]; /* as in lua_Debug.source, when source is known */
  char source[SOURCE];   /* the whole line, or "" */
} place_info;

static int find_source(lt *l, place_info *p, size_t name) {
  for (const char *kind = "=@"; *kind; kind++) {
    snprintf(p->chunk, sizeof p->chunk, "%c%.*s", *kind, (int)name, p->text);
    if (lt_source_line(l, p->chunk, p->line, p->source, sizeof p->source))
      return 1;
  }
  return 0;
}

/* The end of a text lies below its last line: shown is that one. */
static int find_end(lt *l, place_info *p, size_t name) {
  int line = p->line;
  while (--p->line > 0 && line - p->line < 100)
    if (find_source(l, p, name)) {
      snprintf(p->text + name, sizeof p->text - name, ":%d", p->line);
      return 1;
    }
  p->line = line;
  return 0;
}

static int blames_end(const char *message, size_t size) {
  return size > 10 && strncmp(message + size - 10, "near <eof>", 10) == 0;
}

/* Does the message begin with a place whose source line is known? */
static int split_place(lt *l, const char *message, place_info *p) {
  const char *end = message + strcspn(message, "\n");
  const char *at = message;
  memset(p, 0, sizeof *p);
  while ((at = memchr(at, ':', (size_t)(end - at))) != NULL) {
    char *after;
    long line = strtol(at + 1, &after, 10);
    size_t name = (size_t)(at - message);
    at++;
    if (after == at || *after != ':' || after[1] != ' ') continue;
    if ((size_t)(after - message) >= sizeof p->text) return 0;
    p->size = (size_t)(after - message);
    memcpy(p->text, message, p->size);
    p->text[p->size] = '\0';
    p->line = (int)line;
    if (find_source(l, p, name)) return 1;
    if (blames_end(message, (size_t)(end - message)) && find_end(l, p, name))
      return 1;
  }
  return 0;
}

/* ---- the screen ---------------------------------------------------------- */

static int is_source_line(const place_info *p, const char *line) {
  return p->size && strncmp(line, "  ", 2) == 0 &&
         is_place_of(line + 2, p->text);
}

/* A line of the message. */
static void write_folded(const char *text, size_t size, FILE *err) {
  char *line = strndup(text, size);
  if (line)
    lt_fold(line, -1, err);
  else
    fwrite(text, 1, size, err);
  fputc('\n', err);
  free(line);
}

/* The caret's byte in text, from the line below it; NO_CARET where it has none.
 */
#define NO_CARET SIZE_MAX
static size_t caret_of(const char *text, const char *below, size_t size) {
  int columns = 0;
  size_t at = 0;
  if (size == 0 || below[size - 1] != '^') return NO_CARET;
  for (size_t i = 0; i + 1 < size; i++) {
    if (below[i] == '\t') {
      at += lt_fit(text + at, strcspn(text + at, "\t"), columns, NULL);
      at += text[at] == '\t';
      columns = 0;
    } else {
      columns++;
    }
  }
  return at + lt_fit(text + at, strlen(text + at), columns, NULL);
}

/* "  in[3]:1: " or "  42 | ", the source line, and the caret below it. Where a
 * narrow terminal leaves no room beside the place, they stand below it. */
static void write_source(const place_info *p, int form, const char *source,
                         size_t caret, FILE *err) {
  char lead[PLACE + 8], text[SOURCE];
  int blank = (int)strspn(p->source, " \t"), width = lt_line_width(err);
  int room, size = snprintf(lead, sizeof lead,
                            form == LT_ENTRY ? "  %s: " : "  %.0s%d | ",
                            p->text, p->line);
  size_t from;
  if (form != LT_ENTRY && lt_columns(p->source, (size_t)blank) > width / 4)
    blank = 0;
  if (form == LT_ENTRY) blank = 0;
  room = width - lt_columns(lead, (size_t)size) -
         lt_columns(p->source, (size_t)blank);
  fputs(lead, err);
  if (room < 16 && lt_columns(source, strlen(source)) > room &&
      form == LT_ENTRY) {
    fputs("\n  ", err);
    strcpy(lead, "  ");
    room = width - 2;
  }
  from = lt_excerpt(source, caret == NO_CARET ? 0 : caret,
                    room < SHOWN ? room : SHOWN, text, sizeof text);
  fprintf(err, "%.*s%s\n", blank, p->source, text);
  if (caret == NO_CARET) return;
  if (form == LT_ENTRY)
    fprintf(err, "%*s", lt_columns(lead, strlen(lead)), "");
  else
    fprintf(err, "%*s | %.*s", size - 3, "", blank, p->source);
  lt_write_pad(text, from, err);
  fputs("^\n", err);
}

static void write_own_source(const place_info *p, int form, FILE *err) {
  write_source(p, form, p->source + strspn(p->source, " \t"), NO_CARET, err);
}

/* The lines of an error that show its source, as err.c has made them; gives
 * back what follows. */
static const char *rewrite_source(const place_info *p, int form,
                                  const char *text, FILE *err) {
  char source[SOURCE];
  size_t size = strcspn(text, "\n"), lead = p->size + 4, below, indent;
  const char *next = text + size + (text[size] == '\n');
  size_t caret = NO_CARET;
  snprintf(source, sizeof source, "%.*s", (int)(size - lead), text + lead);
  below = strcspn(next, "\n");
  indent = (size_t)lt_columns(p->text, p->size) + 4;
  if (below > indent) caret = caret_of(source, next + indent, below - indent);
  write_source(p, form, source, caret, err);
  if (caret == NO_CARET) return next;
  return next + below + (next[below] == '\n');
}

/* The lines after the first; those that show the source are made anew. */
static void write_rest(const place_info *p, int form, const char *text,
                       FILE *err) {
  int shown = 0;
  while (*text) {
    size_t size = strcspn(text, "\n");
    if (is_source_line(p, text)) {
      text = rewrite_source(p, form, text, err);
      shown = 1;
      continue;
    }
    write_folded(text, size, err);
    text += size + (text[size] == '\n');
  }
  if (!shown && p->size) write_own_source(p, form, err);
}

/* An entry of one line is the place of what was shown after it had run. */
static int entry_place(lt *l, place_info *p) {
  char text[64];
  snprintf(text, sizeof text, "in[%d]:1: ", lt_session_of(l)->number);
  return split_place(l, text, p);
}

/* "item: interrupted" comes from a device: "interrupted in item". */
static void write_interrupted(const lt *l, const char *message, int size,
                              FILE *err) {
  static const char word[] = ": interrupted";
  int name = size - (int)(sizeof word - 1);
  if (name > 0 && strncmp(message + name, word, sizeof word - 1) == 0)
    fprintf(err, "interrupted in %.*s", name, message);
  else
    fprintf(err, "%.*s", size, message);
  fprintf(err, ", after %.2f s\n", lt_seconds(l));
}

static void write_note(const char *what, const char *text, FILE *err) {
  char line[700];
  int size = snprintf(line, sizeof line, "  %s%s", what, text);
  if (size > 0) write_folded(line, strlen(line), err);
}

static void write_first(const place_info *p, int form, const char *message,
                        int size, FILE *err) {
  char *line;
  const char *place = form == LT_SCRIPT && p->size ? p->text : "";
  if (asprintf(&line, "%s%serror: %.*s", place, *place ? ": " : "", size,
               message) < 0) {
    fprintf(err, "error: %.*s\n", size, message);
    return;
  }
  write_folded(line, strlen(line), err);
  free(line);
}

/* message: without its place. */
static int hint_at(lt *l, const place_info *p, const char *message, char *text,
                   size_t size) {
  if (lt_guess(l, message, p->size ? p->source : "", text, size)) return 1;
  return p->size && !strchr(message, '\n') &&
         lt_habit(l, p->chunk, p->line, message, text, size);
}

int lt_hint(lt *l, const char *message, char *text, size_t size) {
  place_info p;
  if (split_place(l, message, &p))
    message += p.size + 2;
  else
    p.size = 0;
  return hint_at(l, &p, message, text, size);
}

static void write_screen(lt *l, const char *message, int form, FILE *err) {
  const char *called = lt_session_of(l)->called;
  place_info p;
  char guess[240];
  int size;
  if (split_place(l, message, &p))
    message += p.size + 2;
  else if (!l->interrupted || form != LT_ENTRY || !entry_place(l, &p))
    p.size = 0;
  size = (int)strcspn(message, "\n");
  if (l->interrupted) {
    if (form == LT_SCRIPT && p.size) fprintf(err, "%s: ", p.text);
    write_interrupted(l, message, size, err);
  } else {
    write_first(&p, form, message, size, err);
  }
  write_rest(&p, form, message + size + (message[size] == '\n'), err);
  if (hint_at(l, &p, message, guess, sizeof guess))
    write_note("hint: ", guess, err);
  if (*called) write_note("called from ", called, err);
}

/* Text of an error value that is no string. */
static int describe(lua_State *L) {
  lt_sheet *s;
  if (luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL) {
    luaL_tolstring(L, 1, NULL);
    return 1;
  }
  lua_settop(L, 1);
  s = lt_sheet_new(L);
  lt_show(L, 1, 1, s->out);
  lt_sheet_close(L, s);
  /* Without the line end that lt_show gives. */
  lua_pushlstring(L, s->text, s->size ? s->size - 1 : 0);
  return 1;
}

void lt_report(lt *l, int form, FILE *err) {
  lua_State *L = l->L;
  const char *message;
  fflush(stdout); /* what was printed before stands before */
  /* The terminal has shown ^C. */
  if (l->interrupted && isatty(fileno(err))) fputc('\n', err);
  if (lua_type(L, -1) != LUA_TSTRING) {
    lua_pushcfunction(L, describe);
    lua_pushvalue(L, -2);
    lua_pcall(L, 1, 1, 0);
  } else {
    lua_pushvalue(L, -1);
  }
  message = lua_tostring(L, -1);
  write_screen(l, message ? message : "(an error without a text)", form, err);
  lt_write_stack(l, lt_status_of(L, -2), err);
  fflush(err);
  lua_pop(L, 2);
}
