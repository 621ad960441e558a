/* show.c - what any Lua value looks like at the prompt. Tables are written out
 * in the order of their keys, within limits; all tensors that one print shows
 * are computed in one flush. */
#include <limits.h>
#include <math.h>
#include <string.h>
#include "session.h"

enum { DEPTH = 4, FIELDS = 30, TOTAL = 1000 };

typedef struct {
  lua_State *L;
  FILE *out; /* NULL: collect the tensors into the list at index `held` */
  int held, flat, depth, left;
  long line; /* where in `out` the line begins */
  const void *above[DEPTH];
  lt_screen screen;
} show;

static void show_value(show *s, int i, int indent);

/* ---- plain values -------------------------------------------------------- */

static int is_nan(lua_State *L, int i) {
  return lua_type(L, i) == LUA_TNUMBER && isnan(lua_tonumber(L, i));
}

/* Pushes what tostring gives; the sign of nan is never shown. */
static const char *push_text(lua_State *L, int i, size_t *size) {
  if (!is_nan(L, i)) return luaL_tolstring(L, i, size);
  *size = 3;
  return lua_pushliteral(L, "nan");
}

static void show_plain(show *s, int i) {
  size_t size;
  const char *text;
  if (!s->out) return;
  text = push_text(s->L, i, &size);
  fwrite(text, 1, size, s->out);
  lua_pop(s->L, 1);
}

static void show_quoted(show *s, int i) {
  size_t size;
  const char *text = lua_tolstring(s->L, i, &size);
  if (!s->out) return;
  fputc('"', s->out);
  for (size_t k = 0; k < size; k++) {
    unsigned char c = (unsigned char)text[k];
    if (c == '"' || c == '\\')
      fprintf(s->out, "\\%c", c);
    else if (c == '\n')
      fputs("\\n", s->out);
    else if (c < ' ' || c == 127)
      fprintf(s->out, "\\%03d", c);
    else
      fputc(c, s->out);
  }
  fputc('"', s->out);
}

/* ---- keys ---------------------------------------------------------------- */

static int key_class(lua_State *L, int i) {
  switch (lua_type(L, i)) {
  case LUA_TNUMBER:
    return 0;
  case LUA_TSTRING:
    return 1;
  default:
    return 2;
  }
}

static int key_before(lua_State *L, int a, int b) {
  int x = key_class(L, a), y = key_class(L, b);
  if (x != y) return x < y;
  return x < 2 && lua_compare(L, a, b, LUA_OPLT);
}

/* Pushes a list of the first FIELDS keys of the table at t: numbers, then
 * strings in byte order, then others. Gives back how many keys there are. */
static int64_t first_keys(lua_State *L, int t) {
  int64_t total = 0;
  int used = 0, list;
  lua_newtable(L);
  list = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, t)) {
    int at = used;
    lua_pop(L, 1);
    total++;
    while (at > 0) {
      int before;
      lua_rawgeti(L, list, at);
      before = key_before(L, -2, -1);
      if (before && at < FIELDS)
        lua_rawseti(L, list, at + 1); /* makes room */
      else
        lua_pop(L, 1);
      if (!before) break;
      at--;
    }
    if (at == FIELDS) continue;
    lua_pushvalue(L, -1);
    lua_rawseti(L, list, at + 1);
    if (used < FIELDS) used++;
  }
  return total;
}

static int is_name(const char *text, size_t size) {
  if (size == 0 || (text[0] >= '0' && text[0] <= '9')) return 0;
  for (size_t i = 0; i < size; i++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                "0123456789",
                text[i]))
      return 0;
  return 1;
}

static void show_key(show *s, int i) {
  lua_State *L = s->L;
  size_t size = 0;
  const char *text =
      lua_type(L, i) == LUA_TSTRING ? lua_tolstring(L, i, &size) : NULL;
  if (!s->out) return;
  if (text && is_name(text, size)) {
    fputs(text, s->out);
  } else {
    fputc('[', s->out);
    if (text)
      show_quoted(s, i);
    else
      show_plain(s, i);
    fputc(']', s->out);
  }
  fputs(" = ", s->out);
}

/* ---- tables -------------------------------------------------------------- */

static void begin_line(show *s, int indent) {
  s->line = ftell(s->out) + 1;
  fprintf(s->out, "\n%*s", indent, "");
}

static void show_fields(show *s, int t, int indent) {
  lua_State *L = s->L;
  int64_t total = first_keys(L, t), i = 1;
  int keys = lua_gettop(L);
  for (; i <= total && i <= FIELDS && s->left > 0; i++) {
    int isint = lua_rawgeti(L, keys, i) == LUA_TNUMBER && lua_isinteger(L, -1);
    s->left--;
    if (s->out && i > 1) fputs(s->flat ? ", " : ",", s->out);
    if (s->out && !s->flat) begin_line(s, indent + 2);
    if (!isint || lua_tointeger(L, -1) != i) show_key(s, lua_gettop(L));
    lua_pushvalue(L, -1);
    lua_rawget(L, t);
    show_value(s, lua_gettop(L), indent + 2);
    lua_settop(L, keys);
    /* Too long for a line already: it will be written in lines. */
    if (s->out && s->flat && ftell(s->out) > s->screen.width) break;
  }
  if (s->out && i <= total) {
    fputs(s->flat ? ", " : ",", s->out);
    if (!s->flat) fprintf(s->out, "\n%*s", indent + 2, "");
    fprintf(s->out, "... %lld more", (long long)(total - i + 1));
  }
  if (s->out && !s->flat && total) fprintf(s->out, "\n%*s", indent, "");
  lua_settop(L, keys - 1);
}

/* In one line if it fits; 0 when not, and then nothing is written. */
static int show_flat(show *s, int t, int indent) {
  lua_State *L = s->L;
  FILE *out = s->out;
  int top = lua_gettop(L), left = s->left, fits;
  lt_sheet *line = lt_sheet_new(L);
  s->out = line->out;
  s->flat = 1;
  show_fields(s, t, indent);
  s->out = out;
  s->flat = 0;
  lt_sheet_close(L, line);
  fits = indent + lt_columns(line->text, line->size) + 2 <= s->screen.width &&
         !memchr(line->text, '\n', line->size);
  if (fits)
    fwrite(line->text, 1, line->size, out);
  else
    s->left = left;
  lua_settop(L, top);
  return fits;
}

static void show_table(show *s, int t, int indent) {
  const void *self = lua_topointer(s->L, t);
  for (int i = 0; i < s->depth; i++) {
    if (s->above[i] != self) continue;
    if (s->out) fputs("<cycle>", s->out);
    return;
  }
  if (s->depth == DEPTH) {
    if (s->out) fputs("{...}", s->out);
    return;
  }
  luaL_checkstack(s->L, 20, "table");
  s->above[s->depth++] = self;
  if (s->out) fputc('{', s->out);
  if (!s->out || s->flat || !show_flat(s, t, indent)) show_fields(s, t, indent);
  if (s->out) fputc('}', s->out);
  s->depth--;
}

/* ---- any value ----------------------------------------------------------- */

static void hold(lua_State *L, int list, int i) {
  lua_pushvalue(L, i);
  lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

/* Columns up to the edge, but for a comma. */
static int room_left(const show *s) {
  long used = ftell(s->out) - s->line;
  return used < s->screen.width ? s->screen.width - (int)used - 1 : 0;
}

static void show_tensor(show *s, int i) {
  int64_t count = plan_shape_of(lt_tensor_test(s->L, i))->count;
  if (s->out && s->depth)
    lt_print_short(s->L, i, s->flat ? INT_MAX : room_left(s), s->out);
  else if (s->out)
    lt_print_tensor(s->L, i, &s->screen, s->out);
  else if (!s->depth || count <= LT_SHORT_MAX)
    hold(s->L, s->held, i);
}

static void show_value(show *s, int i, int indent) {
  lua_State *L = s->L;
  if (lt_tensor_test(L, i)) {
    show_tensor(s, i);
  } else if (lua_type(L, i) == LUA_TSTRING && s->depth) {
    show_quoted(s, i);
  } else if (lua_type(L, i) == LUA_TTABLE &&
             luaL_getmetafield(L, i, "__tostring") == LUA_TNIL) {
    show_table(s, i, indent);
  } else {
    show_plain(s, i);
  }
}

void lt_show(lua_State *L, int first, int n, FILE *out) {
  lt_screen screen = lt_screen_for(lt_of(L), out);
  lt_show_on(L, first, n, &screen, out);
}

void lt_show_on(lua_State *L, int first, int n, const lt_screen *screen,
                FILE *out) {
  show s = {.L = L, .left = TOTAL, .screen = *screen};
  int top = lua_gettop(L), lines = 0;
  luaL_checkstack(L, n + 20, "too many values to show");
  lua_newtable(L);
  s.held = top + 1;
  for (int i = 0; i < n; i++) {
    show_value(&s, first + i, 0);
    lua_settop(L, top + 1);
  }
  lt_print_demand(L, s.held);
  for (int i = 0; i < n; i++) {
    lt_sheet *sheet = lt_sheet_new(L);
    int at = lua_gettop(L);
    s.out = sheet->out;
    s.left = TOTAL;
    show_value(&s, first + i, 0);
    lua_settop(L, at);
    lt_sheet_close(L, sheet);
    lines |= memchr(sheet->text, '\n', sheet->size) != NULL;
  }
  for (int i = 0; i < n; i++) {
    lt_sheet *sheet = lua_touserdata(L, top + 2 + i);
    if (i) fputs(lines ? "\n" : "  ", out);
    fwrite(sheet->text, 1, sheet->size, out);
  }
  if (n) fputc('\n', out);
  lua_settop(L, top);
}

/* ---- print and tostring ---------------------------------------------------
 */

/* Like Lua's, and several tensors are computed in one flush. */
static int print(lua_State *L) {
  int n = lua_gettop(L), tensors = 0;
  lt_screen screen;
  lt_bar_clear(lt_of(L));
  for (int i = 1; i <= n; i++) {
    if (!lt_tensor_test(L, i)) continue;
    if (!tensors++) lua_newtable(L);
    hold(L, n + 1, i);
  }
  if (tensors) {
    lt_print_demand(L, n + 1);
    screen = lt_screen_for(lt_of(L), stdout);
  }
  for (int i = 1; i <= n; i++) {
    if (i > 1) fputc('\t', stdout);
    if (lt_tensor_test(L, i)) {
      lt_print_tensor(L, i, &screen, stdout);
    } else {
      size_t size;
      const char *text = push_text(L, i, &size);
      fwrite(text, 1, size, stdout);
      lua_pop(L, 1);
    }
  }
  fputc('\n', stdout);
  fflush(stdout); /* a log that is watched shows each line at once */
  return 0;
}

static int to_string(lua_State *L) {
  size_t unused;
  luaL_checkany(L, 1);
  push_text(L, 1, &unused);
  return 1;
}

void lt_show_open(lua_State *L) {
  lua_register(L, "print", print);
  lua_register(L, "tostring", to_string);
}
