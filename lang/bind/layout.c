/* layout.c - the shape of a printed tensor: which positions are shown, one
 * number format for all of them, brackets and columns. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "layout.h"

/* ---- elements ----------------------------------------------------------- */

double layout_real(int dtype, const void *cells, int64_t i) {
  switch (dtype) {
  case TSH_f16:
  case TSH_bf16:
    return plan_half_value(dtype, ((const uint16_t *)cells)[i]);
  case TSH_f32:
    return (double)((const float *)cells)[i];
  default:
    return ((const double *)cells)[i];
  }
}

static void whole_text(int dtype, const void *cells, int64_t i, char *text) {
  const char *at = (const char *)cells + i * plan_dtype_bytes(dtype);
  uint64_t u = 0;
  int shift = 64 - 8 * (int)plan_dtype_bytes(dtype);
  /* Little-endian, as every host that tsh is built for. */
  memcpy(&u, at, plan_dtype_bytes(dtype));
  if (plan_dtype_kind(dtype) == TSH_KIND_BOOL)
    strcpy(text, u ? "true" : "false");
  else if (plan_dtype_kind(dtype) == TSH_KIND_UINT)
    snprintf(text, LAYOUT_CELL, "%llu", (unsigned long long)u);
  else
    snprintf(text, LAYOUT_CELL, "%lld", (long long)(u << shift) >> shift);
}

/* Text of what has no digits, or NULL. */
static const char *special_text(double v) {
  if (isnan(v)) return "nan"; /* its sign means nothing */
  if (isinf(v)) return v < 0 ? "-inf" : "inf";
  return NULL;
}

/* So many decimal digits survive a trip through the dtype; whole halves show
 * all of theirs up to the largest f16: 256, not 2.6e+02. */
static int sure_digits(int dtype, double v) {
  switch (dtype) {
  case TSH_bf16:
    return v == floor(v) && fabs(v) < 1e5 ? 5 : 2;
  case TSH_f16:
    return v == floor(v) ? 5 : 3;
  case TSH_f32:
    return 6;
  default:
    return 15;
  }
}

static int same_value(int dtype, double v, const char *text) {
  double back = strtod(text, NULL);
  switch (dtype) {
  case TSH_f16:
  case TSH_bf16:
    return plan_half_of(dtype, back) == plan_half_of(dtype, v);
  case TSH_f32:
    return (float)back == (float)v;
  default:
    return back == v;
  }
}

char *layout_exact(int dtype, const void *cells, int64_t i, char *text) {
  double v;
  if (plan_dtype_kind(dtype) != TSH_KIND_FLOAT) {
    whole_text(dtype, cells, i, text);
    return text;
  }
  v = layout_real(dtype, cells, i);
  if (special_text(v)) return strcpy(text, special_text(v));
  for (int digits = sure_digits(dtype, v); digits <= 17; digits++) {
    snprintf(text, LAYOUT_CELL, "%.*g", digits, v);
    if (same_value(dtype, v, text)) break;
  }
  return text;
}

/* ---- one format for all shown elements ---------------------------------- */

typedef struct {
  int style, digits, width;
} format;
enum { EXACT, WHOLE, FIXED, SCIENTIFIC };

typedef struct {
  double largest, smallest; /* magnitudes; smallest of those not 0 */
  int whole;
} spread;

static void spread_add(spread *s, double v) {
  double size = fabs(v);
  if (special_text(v)) return;
  if (size > s->largest) s->largest = size;
  if (size > 0 && size < s->smallest) s->smallest = size;
  if (floor(v) != v) s->whole = 0;
}

/* Without e-notation a number may be long, but not longer than a cell. */
static int style_of(const spread *s, const layout_rules *rules, int precision) {
  /* 1e-4 in f32 is a little less, and looks right with four decimals. */
  double least = 0.99995 * pow(10, -precision);
  if (rules->sci == LAYOUT_ON) return SCIENTIFIC;
  if (rules->sci == LAYOUT_OFF)
    return s->largest >= 1e15 ? SCIENTIFIC : s->whole ? WHOLE : FIXED;
  if (s->whole && s->largest < 1e8) return WHOLE;
  return s->largest < 1e6 && s->smallest >= least ? FIXED : SCIENTIFIC;
}

/* A half has no more digits than these. */
static int digits_of(int dtype, int style, int precision) {
  int most = dtype == TSH_bf16 ? 2 : dtype == TSH_f16 ? 3 : precision;
  return style == SCIENTIFIC && most < precision ? most : precision;
}

static int cell_text(const format *f, int dtype, const void *cells, int64_t i,
                     char *text) {
  double v;
  if (f->style == EXACT)
    return (int)strlen(layout_exact(dtype, cells, i, text));
  v = layout_real(dtype, cells, i);
  if (special_text(v)) return (int)strlen(strcpy(text, special_text(v)));
  if (f->style == WHOLE) return snprintf(text, LAYOUT_CELL, "%.0f.", v);
  return snprintf(text, LAYOUT_CELL, f->style == FIXED ? "%#.*f" : "%.*e",
                  f->digits, v);
}

/* ---- the block of shown elements ---------------------------------------- */

/* What of the fetched block is written: every row, and of its n columns the
 * first `left` and the last `right`. */
typedef struct {
  const layout *l;
  const void *cells;
  FILE *out;
  int64_t n, left, right;
  int gap;  /* columns are missing between left and right */
  int most; /* digits */
  format f;
} page;

static int64_t extent_shown(const layout *l, int axis) {
  return l->head[axis] + l->tail[axis];
}

/* Format and width, from the columns that are written. */
static void choose_format(page *g) {
  const layout_rules *rules = &g->l->rules;
  int dtype = g->l->dtype;
  int precision = rules->precision < g->most ? rules->precision : g->most;
  spread s = {0, INFINITY, 1};
  char text[LAYOUT_CELL];
  int64_t rows = g->n ? g->l->shown / g->n : 0;
  g->f = (format){EXACT, 0, 0};
  for (int pass = plan_dtype_kind(dtype) == TSH_KIND_FLOAT ? 0 : 1; pass < 2;
       pass++) {
    for (int64_t i = 0; i < rows * g->n; i++) {
      int64_t column = i % g->n;
      if (column >= g->left && column < g->n - g->right) continue;
      if (pass == 0) {
        spread_add(&s, layout_real(dtype, g->cells, i));
      } else {
        int size = cell_text(&g->f, dtype, g->cells, i, text);
        if (size > g->f.width) g->f.width = size;
      }
    }
    if (pass == 0) g->f.style = style_of(&s, rules, precision);
    g->f.digits = digits_of(dtype, g->f.style, precision);
  }
}

static int64_t line_width(const page *g) {
  int64_t c = g->left + g->right;
  return 2 * g->l->rank + c * g->f.width + 2 * (c - 1) + (g->gap ? 5 : 0);
}

/* Takes columns out of the middle until a line fits. Fewer columns may mean
 * another format and so another width: hence the loop. A last column that is
 * too wide loses digits; when even that does not help, only "..." stays. */
static void choose_columns(page *g) {
  const layout *l = g->l;
  int axis = l->rank - 1;
  g->n = extent_shown(l, axis);
  g->left = l->head[axis];
  g->right = l->tail[axis];
  g->gap = g->right != 0;
  choose_format(g);
  while (line_width(g) > l->width && g->left + g->right > 1) {
    int64_t room = l->width - 2 * l->rank - 5 + 2;
    int64_t fit = room / (g->f.width + 2), c = g->left + g->right;
    if (fit >= c) fit = c - 1;
    if (fit < 1) fit = 1;
    g->left = (fit + 1) / 2;
    g->right = fit / 2;
    g->gap = 1;
    choose_format(g);
  }
  while (line_width(g) > l->width && g->f.digits > 0) {
    g->most = g->f.digits - 1;
    choose_format(g);
  }
  if (line_width(g) <= l->width) return;
  g->left = g->right = 0;
  g->gap = 1;
}

static void write_row(const page *g, int64_t first) {
  char text[LAYOUT_CELL];
  const char *between = "";
  for (int64_t i = 0; i < g->n; i++) {
    if (g->gap && i == g->left) {
      fprintf(g->out, "%s...", between);
      between = ", ";
      i = g->n - g->right;
      if (i == g->n) break;
    }
    cell_text(&g->f, g->l->dtype, g->cells, first + i, text);
    fprintf(g->out, "%s%*s", between, g->f.width, text);
    between = ", ";
  }
}

static void write_break(const page *g, int axis) {
  /* Blocks of rows are parted by an empty line. */
  fprintf(g->out, axis < g->l->rank - 2 ? ",\n\n%*s" : ",\n%*s", axis + 1, "");
}

static int64_t write_axis(const page *g, int axis, int64_t first) {
  const layout *l = g->l;
  fputc('[', g->out);
  if (axis == l->rank - 1) {
    write_row(g, first);
    first += g->n;
  } else {
    for (int64_t i = 0; i < extent_shown(l, axis); i++) {
      if (i) write_break(g, axis);
      if (i == l->head[axis]) {
        fputs("...", g->out);
        write_break(g, axis);
      }
      first = write_axis(g, axis + 1, first);
    }
  }
  fputc(']', g->out);
  return first;
}

int layout_write(const layout *l, const void *cells, int header, FILE *out) {
  page g = {.l = l, .cells = cells, .out = out, .most = INT_MAX};
  char text[LAYOUT_CELL];
  if (l->rank == 0) {
    fprintf(out, " %s", layout_exact(l->dtype, cells, 0, text));
    return 0;
  }
  if (l->count == 0) {
    fputs(" []", out);
    return 0;
  }
  choose_columns(&g);
  fputc(l->rank == 1 && header + 1 + line_width(&g) <= l->width ? ' ' : '\n',
        out);
  write_axis(&g, 0, 0);
  return l->shortened || g.gap;
}

static int64_t inline_axis(const page *g, int axis, int64_t first) {
  fputc('[', g->out);
  for (int64_t i = 0; i < g->l->dim[axis]; i++) {
    char text[LAYOUT_CELL];
    if (i) fputs(", ", g->out);
    if (axis < g->l->rank - 1) {
      first = inline_axis(g, axis + 1, first);
    } else {
      cell_text(&g->f, g->l->dtype, g->cells, first++, text);
      fputs(text, g->out);
    }
  }
  fputc(']', g->out);
  return first;
}

void layout_inline(const layout *l, const void *cells, FILE *out) {
  page g = {.l = l, .cells = cells, .out = out, .most = INT_MAX};
  if (l->rank == 0 || l->count == 0) {
    layout_write(l, cells, 0, out);
    return;
  }
  g.n = g.left = l->dim[l->rank - 1];
  choose_format(&g);
  fputc(' ', out);
  inline_axis(&g, 0, 0);
}

/* ---- what is shown ------------------------------------------------------ */

static int64_t lines_of(const layout *l) {
  int64_t rows = 1, breaks = 0;
  for (int axis = 0; axis < l->rank - 1; axis++) {
    if (axis < l->rank - 2) breaks = rows * l->dim[axis] - 1;
    rows *= l->dim[axis];
  }
  return rows + breaks;
}

static void choose_edges(layout *l, int64_t edge) {
  l->shown = 1;
  for (int axis = 0; axis < l->rank; axis++) {
    int all = l->dim[axis] <= 2 * edge;
    l->head[axis] = all ? l->dim[axis] : edge;
    l->tail[axis] = all ? 0 : edge;
    l->shown *= extent_shown(l, axis);
  }
  l->shortened = l->shown != l->count;
}

void layout_choose(layout *l, const plan_shape *shape, int dtype,
                   const layout_rules *rules, int width, int rows) {
  *l = (layout){.rank = (int)shape->rank,
                .dtype = dtype,
                .count = shape->count,
                .width = width,
                .rules = *rules};
  memcpy(l->dim, shape->dim, sizeof l->dim);
  choose_edges(l, INT64_MAX / 2);
  if (l->count == 0) return;
  if (l->count <= rules->max && (rows == 0 || lines_of(l) <= rows)) return;
  /* Eight axes of three edges each would be a million elements. */
  for (int64_t edge = rules->edge; edge > 0; edge--) {
    choose_edges(l, edge);
    if (l->shown <= rules->max) break;
  }
}

static void grouped(int64_t n, char *text, size_t size) {
  char digits[32];
  int count = snprintf(digits, sizeof digits, "%lld", (long long)n), at = 0;
  for (int i = 0; i < count && (size_t)at + 2 < size; i++) {
    if (i && (count - i) % 3 == 0) text[at++] = ',';
    text[at++] = digits[i];
  }
  text[at] = '\0';
}

void layout_size(const layout *l, int width, FILE *out) {
  static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
  double bytes = (double)l->count * plan_dtype_bytes(l->dtype);
  char count[40], size[40];
  size_t i = 0;
  int used;
  grouped(l->count, count, sizeof count);
  while (bytes >= 1000 && i + 1 < sizeof unit / sizeof *unit) {
    bytes /= 1000;
    i++;
  }
  used = snprintf(size, sizeof size, i ? ", %.1f %s" : ", %.0f %s", bytes,
                  unit[i]);
  used += fprintf(out, l->count == 1 ? "%s element" : "%s elements", count);
  if (used <= width) fputs(size, out);
}
