/* print.c - which elements of a tensor does a print need, and how do they get
 * here? Only the edges of a large one are read; layout.c arranges them. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "session.h"

/* A pending tensor up to this size is computed whole: it will be wanted. */
#define WHOLE_BYTES (UINT64_C(64) << 20)
enum { NAME_SIZE = 320 };

/* ---- text under construction --------------------------------------------- */

static int sheet_gc(lua_State *L) {
  lt_sheet *s = lua_touserdata(L, 1);
  if (s->out) fclose(s->out);
  free(s->text);
  s->out = NULL;
  s->text = NULL;
  return 0;
}

lt_sheet *lt_sheet_new(lua_State *L) {
  lt_sheet *s = lua_newuserdatauv(L, sizeof *s, 0);
  memset(s, 0, sizeof *s);
  if (luaL_newmetatable(L, "tsh.sheet")) {
    lua_pushcfunction(L, sheet_gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  s->out = open_memstream(&s->text, &s->size);
  if (!s->out) luaL_error(L, "not enough memory");
  return s;
}

void lt_sheet_close(lua_State *L, lt_sheet *s) {
  int failed = fclose(s->out);
  s->out = NULL;
  if (failed) luaL_error(L, "not enough memory");
}

/* A terminal whose user has not asked for plain text. */
static int knows_escapes(FILE *out) {
  const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
  return isatty(fileno(out)) && term && *term && strcmp(term, "dumb") != 0 &&
         (!no_color || !*no_color);
}

int lt_color(const lt *l, FILE *out) {
  const char *force = getenv("CLICOLOR_FORCE"), *no_color = getenv("NO_COLOR");
  if (l->color != LT_COLOR_AUTO) return l->color == LT_COLOR_ALWAYS;
  if (force && *force && strcmp(force, "0") != 0 && (!no_color || !*no_color))
    return 1;
  return knows_escapes(out);
}

/* The terminal's size; 80 columns and no rows where it does not tell. */
static struct winsize window_of(FILE *out) {
  struct winsize window = {0};
  if (ioctl(fileno(out), TIOCGWINSZ, &window) != 0) window.ws_row = 0;
  if (window.ws_col == 0) window.ws_col = 80;
  return window;
}

lt_screen lt_screen_of(const lt *l, FILE *out) {
  lt_screen screen = {.width = 80};
  struct winsize window;
  screen.dim = lt_color(l, out);
  if (!isatty(fileno(out))) return screen;
  screen.draws = knows_escapes(out);
  window = window_of(out);
  screen.width = window.ws_col;
  /* The header and the next prompt stay on the screen too. */
  if (window.ws_row > 4) screen.rows = window.ws_row - 3;
  return screen;
}

int lt_line_width(FILE *out) {
  return isatty(fileno(out)) ? window_of(out).ws_col : INT_MAX;
}

int lt_line_rows(FILE *out) {
  return isatty(fileno(out)) ? window_of(out).ws_row : 0;
}

lt_screen lt_screen_for(lt *l, FILE *out) {
  lt_screen screen = lt_screen_of(l, out);
  screen.rules = lt_session_of(l)->set.print;
  if (screen.rules.width) screen.width = screen.rules.width;
  return screen;
}

lt_screen lt_screen_all(lt *l, FILE *out) {
  lt_screen screen = lt_screen_for(l, out);
  screen.width = INT_MAX;
  screen.rows = screen.dim = 0;
  screen.rules.max = INT_MAX;
  return screen;
}

/* ---- demanding ----------------------------------------------------------- */

static int wants_whole(const plan_node *n) {
  uint64_t bytes = plan_dtype_bytes(plan_dtype_of(n));
  return (uint64_t)plan_shape_of(n)->count <= WHOLE_BYTES / bytes;
}

void lt_print_demand(lua_State *L, int list) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, list);
  tsh_err err = {.size = sizeof err};
  plan_node **nodes;
  int used = 0;
  if (n == 0) return;
  nodes = lua_newuserdatauv(L, (size_t)n * sizeof(plan_node *), 0);
  for (lua_Integer i = 1; i <= n; i++) {
    plan_node *x;
    lua_rawgeti(L, list, i);
    x = lt_tensor_test(L, -1);
    lua_pop(L, 1);
    if (x && !plan_is_ready(x) && wants_whole(x)) nodes[used++] = x;
  }
  if (used && lt_demand(L, nodes, used, 0, &err) != TSH_OK)
    lt_raise_demand(L, &err);
  lua_pop(L, 1);
}

/* ---- fetching ------------------------------------------------------------ */

/* The shown block falls into boxes: each shortened axis gives its head or its
 * tail, by one bit of the box's number. */
static int box_count(const layout *l) {
  int n = 1;
  for (int axis = 0; axis < l->rank; axis++)
    if (l->tail[axis]) n *= 2;
  return n;
}

static void box_range(const layout *l, int box, plan_range *range) {
  for (int axis = 0; axis < l->rank; axis++) {
    int tail = l->tail[axis] ? box & 1 : 0;
    if (l->tail[axis]) box >>= 1;
    range[axis].step = 1;
    range[axis].count = tail ? l->tail[axis] : l->head[axis];
    range[axis].start = tail ? l->dim[axis] - l->tail[axis] : 0;
  }
}

/* Copies the elements of one box to their places in the shown block. */
static void place_box(const layout *l, const plan_range *range,
                      const char *from, char *cells) {
  size_t bytes = plan_dtype_bytes(l->dtype);
  int last = l->rank - 1;
  int64_t at[PLAN_RANK] = {0};
  for (;;) {
    int64_t to = 0;
    int axis = last - 1;
    for (int k = 0; k < l->rank; k++) {
      int64_t first = range[k].start ? l->head[k] : 0;
      to = to * (l->head[k] + l->tail[k]) + first + at[k];
    }
    memcpy(cells + (size_t)to * bytes, from, (size_t)range[last].count * bytes);
    from += (size_t)range[last].count * bytes;
    while (axis >= 0 && ++at[axis] == range[axis].count) at[axis--] = 0;
    if (axis < 0) return;
  }
}

/* Reads the edges of x, and computes no more of it than them. */
static void fetch_boxes(lua_State *L, plan_node *x, const layout *l,
                        char *cells) {
  lt *state = lt_begin(L);
  tsh_err err = {.size = sizeof err};
  plan_range range[PLAN_RANK];
  int n = box_count(l), top = lua_gettop(L);
  size_t room = (size_t)l->shown * plan_dtype_bytes(l->dtype);
  char *host = lua_newuserdatauv(L, room, 0);
  plan_node **nodes = lua_newuserdatauv(L, (size_t)n * sizeof(plan_node *), 0);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    plan_node **out = lt_tensor_new(L);
    box_range(l, i, range);
    lt_check(L, plan_part(state->plan, x, range, out, &err), &err);
    nodes[i] = *out;
    lua_rawseti(L, -2, i + 1);
  }
  if (lt_demand(L, nodes, n, PLAN_ONLY, &err) != TSH_OK)
    lt_raise_demand(L, &err);
  for (int i = 0; i < n; i++) {
    if (plan_read(state->plan, nodes[i], host, PLAN_ONLY, &err) != TSH_OK)
      lt_raise_demand(L, &err);
    box_range(l, i, range);
    place_box(l, range, host, cells);
  }
  lua_settop(L, top);
}

/* Pushes a userdata with the shown elements of the tensor at index i. */
static const void *fetch(lua_State *L, int i, layout *look,
                         const lt_screen *screen) {
  plan_node *x = lt_tensor_get(L, i);
  tsh_err err = {.size = sizeof err};
  void *cells;
  layout_choose(look, plan_shape_of(x), plan_dtype_of(x), &screen->rules,
                screen->width, screen->rows);
  cells = lua_newuserdatauv(
      L, (size_t)look->shown * plan_dtype_bytes(look->dtype) + 1, 0);
  if (!plan_is_ready(x) && wants_whole(x) &&
      lt_demand(L, &x, 1, 0, &err) != TSH_OK)
    lt_raise_demand(L, &err);
  if (look->count == 0) return cells;
  if (look->shortened)
    fetch_boxes(L, x, look, cells);
  else if (!lt_shapes_hides(lt_of(L), x) &&
           lt_read(L, x, cells, &err) != TSH_OK)
    lt_raise_demand(L, &err);
  return cells;
}

/* ---- writing ------------------------------------------------------------- */

static int write_header(lua_State *L, int i, FILE *out) {
  char name[NAME_SIZE];
  return fprintf(out, "%s",
                 plan_describe(lt_tensor_get(L, i), name, sizeof name));
}

void lt_print_tensor(lua_State *L, int i, const lt_screen *screen, FILE *out) {
  layout look;
  const void *cells = fetch(L, i, &look, screen);
  if (lt_shapes_hides(lt_of(L), lt_tensor_get(L, i))) {
    write_header(L, i, out);
  } else if (layout_write(&look, cells, write_header(L, i, out), out)) {
    fputs(screen->dim ? "\n\033[2m" : "\n", out);
    layout_size(&look, screen->width, out);
    if (screen->dim) fputs("\033[0m", out);
  }
  lua_pop(L, 1);
}

void lt_print_short(lua_State *L, int i, int room, FILE *out) {
  lt_screen wide = lt_screen_all(lt_of(L), stdout);
  layout look;
  lt_sheet *sheet;
  const void *cells;
  room -= write_header(L, i, out);
  if (plan_shape_of(lt_tensor_get(L, i))->count > LT_SHORT_MAX) return;
  cells = fetch(L, i, &look, &wide);
  if (!lt_shapes_hides(lt_of(L), lt_tensor_get(L, i))) {
    sheet = lt_sheet_new(L);
    layout_inline(&look, cells, sheet->out);
    lt_sheet_close(L, sheet);
    if (sheet->size <= (size_t)(room > 0 ? room : 0))
      fwrite(sheet->text, 1, sheet->size, out);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

int lt_tostring(lua_State *L) {
  lt_screen screen = lt_screen_for(lt_of(L), stdout);
  lt_sheet *s;
  screen.dim = 0; /* it is a string, and may go anywhere */
  lt_tensor_get(L, 1);
  s = lt_sheet_new(L);
  lt_print_tensor(L, 1, &screen, s->out);
  lt_sheet_close(L, s);
  lua_pushlstring(L, s->text, s->size);
  return 1;
}

/* ---- text that can be pasted back ---------------------------------------- */

static void repr_element(int dtype, const void *cells, int64_t i, FILE *out) {
  char text[LAYOUT_CELL];
  layout_exact(dtype, cells, i, text);
  if (strcmp(text, "nan") == 0) {
    fputs("0/0", out);
  } else if (strcmp(text, "inf") == 0) {
    fputs("1/0", out);
  } else if (strcmp(text, "-inf") == 0) {
    fputs("-1/0", out);
  } else if (strcmp(text, "-9223372036854775808") == 0) {
    fputs("math.mininteger", out); /* the digits would be read as a float */
  } else {
    fputs(text, out);
    if (plan_dtype_kind(dtype) == TSH_KIND_FLOAT && !strpbrk(text, ".e"))
      fputs(".0", out);
  }
}

static int64_t repr_axis(const layout *l, const void *cells, int axis,
                         int64_t first, FILE *out) {
  if (axis == l->rank) {
    repr_element(l->dtype, cells, first, out);
    return first + 1;
  }
  fputc('{', out);
  for (int64_t i = 0; i < l->dim[axis]; i++) {
    if (i) fputs(", ", out);
    first = repr_axis(l, cells, axis + 1, first, out);
  }
  fputc('}', out);
  return first;
}

/* ", {dtype = "f64", device = "npu:0"}" where the constructor would choose
 * other ones. */
static void repr_options(const plan_node *x, int dtype_differs, FILE *out) {
  const char *device = dev_name(plan_dev_of(x)), *between = "";
  int elsewhere = strcmp(device, "cpu") != 0;
  if (!dtype_differs && !elsewhere) return;
  fputs(", {", out);
  if (dtype_differs) {
    fprintf(out, "dtype = \"%s\"", plan_dtype_name(plan_dtype_of(x)));
    between = ", ";
  }
  if (elsewhere) fprintf(out, "%sdevice = \"%s\"", between, device);
  fputc('}', out);
}

/* cells NULL: nobody knows them. */
static void repr_write(const plan_node *x, const void *cells, FILE *out) {
  const plan_shape *shape = plan_shape_of(x);
  int dtype = plan_dtype_of(x);
  layout l = {.rank = (int)shape->rank, .dtype = dtype};
  memcpy(l.dim, shape->dim, sizeof l.dim);
  if (shape->count == 0 || !cells) {
    fputs("zeros(", out);
    for (int i = 0; i < l.rank; i++)
      fprintf(out, i ? ", %lld" : "%lld", (long long)l.dim[i]);
    repr_options(x, dtype != TSH_f32, out);
  } else {
    fputs("tensor(", out);
    repr_axis(&l, cells, 0, 0, out);
    repr_options(x, dtype != TSH_f32 && dtype != TSH_i64 && dtype != TSH_bool,
                 out);
  }
  fputc(')', out);
}

int lt_repr(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  int hidden = lt_shapes_hides(lt_of(L), x);
  size_t bytes =
      (size_t)plan_shape_of(x)->count * plan_dtype_bytes(plan_dtype_of(x));
  void *cells = lua_newuserdatauv(L, hidden ? 1 : bytes + 1, 0);
  tsh_err err = {.size = sizeof err};
  lt_sheet *s;
  if (hidden ? lt_demand(L, &x, 1, 0, &err) != TSH_OK
             : bytes && lt_read(L, x, cells, &err) != TSH_OK)
    lt_raise_demand(L, &err);
  s = lt_sheet_new(L);
  repr_write(x, hidden ? NULL : cells, s->out);
  lt_sheet_close(L, s);
  lua_pushlstring(L, s->text, s->size);
  return 1;
}
