/* array.c - arrays of numbers in JSON: one list, or a value for each row. The
 * text is read whole and walked once; cells are whole numbers until the first
 * that is none. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format.h"
#include "json.h"
#include "num.h"

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

typedef union {
  int64_t whole;
  double real;
} cell;

/* Depth counts the lists around a value, with the one that is all of the text:
 * rows lie at depth 1. */
enum { DEEPEST = PLAN_RANK + 1 };

typedef struct {
  json j;
  file_array *a;
  cell *cells, *spare; /* spare: [nname] */
  int64_t n, room;
  int leaf;                    /* the depth of numbers; 0: not known yet */
  int objects;                 /* rows of numbers are objects */
  int64_t extent[DEEPEST + 1]; /* of lists whose values have that depth; -1 */
  int64_t *place, *at, *seen;  /* [nname]: the column of the k-th field of the
                                  first row, of this row; the last row that
                                  had the column */
} reader;

/* ---- cells -----------------------------------------------------------------
 */

static tsh_status fail_memory(const reader *r, tsh_err *err) {
  return dev_fail(err, TSH_ENOMEM, "%.400s: no memory for %lld numbers",
                  r->j.s->path, (long long)r->n + 1);
}

static tsh_status add_cell(reader *r, cell c, tsh_err *err) {
  if (r->n == r->room) {
    int64_t room = r->room ? r->room + r->room / 2 : 256;
    cell *more = realloc(r->cells, (size_t)room * sizeof *more);
    if (!more) return fail_memory(r, err);
    r->cells = more;
    r->room = room;
  }
  r->cells[r->n++] = c;
  return r->n % 4096 ? TSH_OK : stream_go_on(r->j.s, err);
}

static tsh_status add_whole(reader *r, int64_t v, tsh_err *err) {
  cell c = {.whole = v};
  if (!r->a->whole) c.real = (double)v;
  return add_cell(r, c, err);
}

static tsh_status add_real(reader *r, double v, tsh_err *err) {
  if (r->a->whole)
    for (int64_t i = 0; i < r->n; i++)
      r->cells[i].real = (double)r->cells[i].whole;
  r->a->whole = 0;
  return add_cell(r, (cell){.real = v}, err);
}

/* ---- one number ------------------------------------------------------------
 */

static int is_word(json *j, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0) return 0;
  j->at += n;
  return 1;
}

static tsh_status fail_number(json *j, tsh_err *err) {
  const char *text;
  char message[160], shown[60];
  size_t n;
  if (j->at == j->end) return json_fail(j, "a number is missing", err);
  if (*j->at != '"') return json_fail(j, "a number is missing here", err);
  if (json_text(j, &text, &n, err) != TSH_OK) return TSH_EINVAL;
  if (n > 40) n = 40;
  for (size_t i = 0; i <= n; i++)
    shown[i] = i == n ? 0 : (unsigned char)text[i] < ' ' ? '?' : text[i];
  snprintf(message, sizeof message, "\"%s\" is a text, not a number", shown);
  return json_fail(j, message, err);
}

static tsh_status take_number(reader *r, tsh_err *err) {
  json *j = &r->j;
  const char *at = j->at, *end = at;
  int64_t whole;
  double real;
  if (is_word(j, "null")) return add_real(r, (double)NAN, err);
  if (is_word(j, "true")) return add_whole(r, 1, err);
  if (is_word(j, "false")) return add_whole(r, 0, err);
  while (end != j->end && (*end == '-' || (*end >= '0' && *end <= '9'))) end++;
  if ((end == j->end || !*end || !strchr(".eE", *end)) &&
      file_num_whole(&at, end, &whole) && at == end) {
    j->at = (char *)(uintptr_t)at;
    return add_whole(r, whole, err);
  }
  at = j->at;
  if (!file_num_double(&at, j->end, &real)) return fail_number(j, err);
  j->at = (char *)(uintptr_t)at;
  return add_real(r, real, err);
}

/* ---- extents ---------------------------------------------------------------
 */

static tsh_status check_leaf(reader *r, int depth, tsh_err *err) {
  if (!r->leaf) r->leaf = depth;
  if (depth < r->leaf)
    return json_fail(&r->j, "a number, where a list of them was before", err);
  return TSH_OK;
}

/* A list or an object begins at depth. */
static tsh_status check_list(reader *r, int depth, int object, tsh_err *err) {
  if (depth >= DEEPEST)
    return json_fail(&r->j, "more nested lists than a tensor has axes", err);
  if (!r->leaf) return TSH_OK;
  if (depth >= r->leaf)
    return json_fail(&r->j,
                     object ? "an object, where a number is needed"
                            : "a list, where a number was before",
                     err);
  if (object && (depth + 1 != r->leaf || !r->objects))
    return json_fail(&r->j, "an object, where a list was before", err);
  if (!object && depth + 1 == r->leaf && r->objects)
    return json_fail(&r->j, "a list, where an object was before", err);
  return TSH_OK;
}

static tsh_status check_extent(reader *r, int depth, int64_t n, tsh_err *err) {
  char text[120];
  int64_t *extent = &r->extent[depth];
  if (!r->leaf) r->leaf = depth; /* an empty list */
  if (*extent < 0) *extent = n;
  if (*extent == n) return TSH_OK;
  snprintf(text, sizeof text, "%lld %s%s, the first row has %lld", (long long)n,
           depth == r->leaf ? "number" : "list", n == 1 ? "" : "s",
           (long long)*extent);
  return json_fail(&r->j, text, err);
}

/* ---- objects ---------------------------------------------------------------
 */

static tsh_status fail_field(reader *r, const char *name, const char *what,
                             tsh_err *err) {
  char text[200];
  snprintf(text, sizeof text, "field '%.80s' %s", name, what);
  return json_fail(&r->j, text, err);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The column of a name, or -1. */
static int64_t column_of(const reader *r, const char *name) {
  const file_array *a = r->a;
  char **found =
      bsearch(&name, a->name, (size_t)a->nname, sizeof *a->name, by_text);
  return found ? found - a->name : -1;
}

/* The k-th field of a row that is not the first. */
static tsh_status place_field(reader *r, const char *name, int64_t k,
                              int64_t row, tsh_err *err) {
  int64_t c = k < r->a->nname ? r->place[k] : -1;
  if (c < 0 || strcmp(r->a->name[c], name) != 0) c = column_of(r, name);
  if (c < 0) return fail_field(r, name, "is not in the first row", err);
  if (r->seen[c] == row) return fail_field(r, name, "is there twice", err);
  r->seen[c] = row;
  r->at[k] = c;
  return TSH_OK;
}

/* A name of the first row. */
static tsh_status add_name(reader *r, const char *name, tsh_err *err) {
  file_array *a = r->a;
  char **more;
  if ((a->nname & (a->nname - 1)) == 0) { /* room is a power of two */
    size_t room = a->nname ? 2 * (size_t)a->nname : 1;
    more = realloc(a->name, room * sizeof *more);
    if (!more) return fail_memory(r, err);
    a->name = more;
  }
  a->name[a->nname] = strdup(name);
  if (!a->name[a->nname]) return fail_memory(r, err);
  a->nname++;
  return TSH_OK;
}

/* After the first row: names are sorted, each field gets its column. */
static tsh_status settle_names(reader *r, tsh_err *err) {
  file_array *a = r->a;
  size_t n = (size_t)a->nname, room = n ? n : 1;
  char **typed = malloc(room * sizeof *typed);
  r->place = malloc(room * sizeof *r->place);
  r->at = malloc(room * sizeof *r->at);
  r->seen = calloc(room, sizeof *r->seen);
  r->spare = malloc(room * sizeof *r->spare);
  if (!typed || !r->place || !r->at || !r->seen || !r->spare) {
    free(typed);
    return fail_memory(r, err);
  }
  if (n) memcpy(typed, a->name, n * sizeof *typed);
  if (n) qsort(a->name, n, sizeof *a->name, by_text);
  for (size_t k = 0; k < n; k++)
    r->at[k] = r->place[k] = column_of(r, typed[k]);
  free(typed);
  for (size_t c = 1; c < n; c++)
    if (strcmp(a->name[c - 1], a->name[c]) == 0)
      return fail_field(r, a->name[c], "is there twice", err);
  return TSH_OK;
}

/* The last n cells go to their columns. */
static tsh_status sort_row(reader *r, int64_t n, int64_t row, tsh_err *err) {
  cell *last = r->cells + (r->n - n);
  if (n < r->a->nname) {
    for (int64_t c = 0; c < r->a->nname; c++)
      if (r->seen[c] != row)
        return fail_field(r, r->a->name[c], "is missing", err);
  }
  for (int64_t k = 0; k < n; k++) r->spare[r->at[k]] = last[k];
  if (n) memcpy(last, r->spare, (size_t)n * sizeof *last);
  return TSH_OK;
}

static tsh_status take_object(reader *r, int depth, tsh_err *err) {
  tsh_status rc;
  int first = !r->leaf, more;
  int64_t n = 0, row = r->n + 1;
  TRY(check_list(r, depth, 1, err));
  TRY(check_leaf(r, depth + 1, err));
  r->objects = 1;
  more = !json_next(&r->j, '}');
  while (more) {
    const char *name;
    size_t size;
    TRY(json_key(&r->j, &name, &size, err));
    TRY(first ? add_name(r, name, err) : place_field(r, name, n, row, err));
    json_blanks(&r->j);
    if (r->j.at != r->j.end && (*r->j.at == '[' || *r->j.at == '{'))
      return fail_field(r, name, "is no number", err);
    TRY(take_number(r, err));
    TRY(json_comma(&r->j, '}', &more, err));
    n++;
  }
  if (first) TRY(settle_names(r, err));
  if (first && !n) rc = json_fail(&r->j, "an object without fields", err);
  if (rc == TSH_OK) rc = sort_row(r, n, row, err);
  if (rc == TSH_OK) rc = check_extent(r, depth + 1, n, err);
out:
  return rc;
}

/* ---- values ----------------------------------------------------------------
 */

static tsh_status take_value(reader *r, int depth, tsh_err *err);

static tsh_status take_list(reader *r, int depth, tsh_err *err) {
  tsh_status rc;
  int more;
  int64_t n = 0;
  TRY(check_list(r, depth, 0, err));
  more = !json_next(&r->j, ']');
  for (; more; n++) {
    TRY(take_value(r, depth + 1, err));
    TRY(json_comma(&r->j, ']', &more, err));
  }
  rc = check_extent(r, depth + 1, n, err);
out:
  return rc;
}

static tsh_status take_value(reader *r, int depth, tsh_err *err) {
  tsh_status rc;
  if (json_next(&r->j, '[')) return take_list(r, depth, err);
  if (json_next(&r->j, '{')) return take_object(r, depth, err);
  rc = take_number(r, err);
  return rc == TSH_OK ? check_leaf(r, depth, err) : rc;
}

/* The shape; without the outer axis when one list was all of the text. */
static tsh_status set_shape(reader *r, int single, tsh_err *err) {
  file_array *a = r->a;
  int from = single ? 2 : 1;
  a->rank = r->leaf - from + 1;
  if (a->rank > PLAN_RANK)
    return json_fail(&r->j, "more nested lists than a tensor has axes", err);
  for (int k = 0; k < a->rank; k++)
    a->dim[k] = r->extent[from + k] < 0 ? 0 : r->extent[from + k];
  a->cells = r->cells;
  r->cells = NULL;
  return TSH_OK;
}

static tsh_status parse(reader *r, int lines, tsh_err *err) {
  json *j = &r->j;
  tsh_status rc = TSH_OK;
  int list;
  int64_t n = 0;
  if (j->end - j->at >= 3 && !memcmp(j->at, "\xef\xbb\xbf", 3)) j->at += 3;
  json_blanks(j);
  if (j->at == j->end) return stream_fail(j->s, err, "there is nothing in it");
  list = *j->at == '[';
  for (; j->at != j->end; n++) {
    TRY(take_value(r, 1, err));
    json_blanks(j);
  }
  r->extent[1] = n;
  rc = set_shape(r, n == 1 && list && !lines, err);
out:
  return rc;
}

tsh_status file_json_take(file *f, file_array *out, tsh_err *err) {
  reader r = {.a = out};
  tsh_status rc;
  char *text = f->s.size < PTRDIFF_MAX ? malloc((size_t)f->s.size + 1) : NULL;
  memset(out, 0, sizeof *out);
  out->whole = 1;
  for (int i = 0; i <= DEEPEST; i++) r.extent[i] = -1;
  if (!text)
    return dev_fail(err, TSH_ENOMEM, "%.400s: no memory for its text",
                    f->s.path);
  text[f->s.size] = 0;
  rc = stream_read(&f->s, 0, text, f->s.size, err);
  if (rc == TSH_OK) {
    r.j = (json){&f->s, text, text, text + f->s.size, 0, 1};
    rc = parse(&r, f->format == FILE_jsonl, err);
  }
  free(text);
  free(r.cells);
  free(r.spare);
  free(r.place);
  free(r.at);
  free(r.seen);
  if (rc != TSH_OK) file_array_free(out);
  return rc;
}

void file_array_free(file_array *a) {
  for (int64_t i = 0; i < a->nname; i++) free(a->name[i]);
  free(a->name);
  free(a->cells);
  memset(a, 0, sizeof *a);
}
