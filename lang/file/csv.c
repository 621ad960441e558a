/* csv.c - tables of numbers in text. The file is read whole, then walked once,
 * line by line and field by field; nothing is ever written into the text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format.h"
#include "num.h"

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

/* ---- the file ----------------------------------------------------------- */

/* All bytes of the file, and a closing 0. Owned; NULL: see *rc. */
static char *content_read(const stream *s, tsh_status *rc, tsh_err *err) {
  unsigned char magic[2] = {0};
  char *text = s->size < PTRDIFF_MAX ? malloc((size_t)s->size + 1) : NULL;
  if (!text) {
    *rc = dev_fail(err, TSH_ENOMEM, "%.400s: no memory for %llu bytes of text",
                   s->path, (unsigned long long)s->size);
    return NULL;
  }
  *rc = stream_read(s, 0, text, s->size, err);
  if (*rc == TSH_OK && s->size >= 2) memcpy(magic, text, 2);
  if (magic[0] == 0x1f && magic[1] == 0x8b)
    *rc = stream_fail(s, err, "compressed text; gunzip it first");
  text[s->size] = 0;
  if (*rc == TSH_OK) return text;
  free(text);
  return NULL;
}

/* ---- lines and fields ---------------------------------------------------- */

typedef struct {
  const stream *s;
  const char *path, *next, *end; /* what is left of the text */
  const char *line, *line_end;   /* the line at hand, its end without \r\n */
  int64_t number;                /* of this line, from 1 */
  char comma;                    /* what separates fields; ' ': blanks */
  const char *remark;            /* behind what is said of a bad field */
} walk;

typedef struct {
  const char *begin, *end; /* without quotes and blanks around */
} field;

static tsh_status fail_at(const walk *w, const char *at, const char *what,
                          tsh_err *err) {
  return dev_fail(err, TSH_EINVAL, "%s:%lld:%lld: %s", w->path,
                  (long long)w->number, (long long)(at - w->line) + 1, what);
}

/* A blank that is not the separator itself. */
static int is_blank(const walk *w, char c) {
  return c == ' ' || (c == '\t' && w->comma != '\t');
}

/* Blanks that separate do so in any number and kind. */
static int is_comma(const walk *w, char c) {
  return c == w->comma || (w->comma == ' ' && c == '\t');
}

static const char *skip_blanks(const walk *w, const char *s) {
  while (s != w->line_end && is_blank(w, *s)) s++;
  return s;
}

/* A line ends with \n, \r\n or \r. */
static int next_line(walk *w) {
  const char *s = w->next;
  if (s == w->end) return 0;
  w->line = s;
  while (s != w->end && *s != '\n' && *s != '\r') s++;
  w->line_end = s;
  if (s != w->end && *s == '\r') s++;
  if (s != w->end && *s == '\n') s++;
  w->next = s;
  w->number++;
  return 1;
}

static int next_full_line(walk *w) {
  while (next_line(w))
    if (skip_blanks(w, w->line) != w->line_end) return 1;
  return 0;
}

/* The separator: the first of these that the line has outside quotes. */
static char find_comma(const walk *w) {
  static const char order[] = ",;\t";
  size_t best = sizeof order - 1;
  int quoted = 0;
  for (const char *s = w->line; s != w->line_end; s++) {
    const char *found = quoted || !*s ? NULL : strchr(order, *s);
    if (*s == '"') quoted = !quoted;
    if (found && (size_t)(found - order) < best) best = (size_t)(found - order);
  }
  return best < sizeof order - 1 ? order[best] : ' ';
}

/* Past the closing quote of the field that begins at s, or NULL. */
static const char *past_quote(const walk *w, const char *s) {
  while (++s < w->line_end) {
    if (*s != '"') continue;
    if (s + 1 == w->line_end || s[1] != '"') return s + 1;
    s++;
  }
  return NULL;
}

/* From past a field to the next one, or to NULL after the last. */
static tsh_status pass_comma(const walk *w, const char *s, const char **at,
                             tsh_err *err) {
  const char *p = skip_blanks(w, s);
  if (p == w->line_end)
    *at = NULL;
  else if (*p == w->comma)
    *at = p + 1;
  else if (w->comma == ' ' && p != s)
    *at = p;
  else
    return fail_at(w, p, "text after a closing quote", err);
  return TSH_OK;
}

/* Takes one field from *at, which is moved to the next one or, after the last,
 * to NULL. */
static tsh_status take_field(const walk *w, const char **at, field *out,
                             tsh_err *err) {
  const char *s = skip_blanks(w, *at), *p = s;
  if (p != w->line_end && *p == '"') {
    p = past_quote(w, s);
    if (!p) return fail_at(w, s, "a quote that is not closed on its line", err);
    *out = (field){s + 1, p - 1};
  } else {
    while (p != w->line_end && !is_comma(w, *p)) p++;
    *out = (field){s, p};
    while (out->end != s && is_blank(w, out->end[-1])) out->end--;
  }
  return pass_comma(w, p, at, err);
}

/* Bytes of the UTF-8 character at s, at most n; 0: it is none. */
static size_t character_size(const unsigned char *s, size_t n) {
  size_t size = *s < 0x80   ? 1
                : *s < 0xc2 ? 0
                : *s < 0xe0 ? 2
                : *s < 0xf0 ? 3
                            : 4;
  if (size > n || *s > 0xf4) return 0;
  for (size_t i = 1; i < size; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  return size;
}

/* The field for a message: short, and printable whatever is in it. */
static void show_field(const field *f, char *out, size_t size) {
  size_t at = 0, n = (size_t)(f->end - f->begin), i;
  for (i = 0; i < n && i < 32 && at + 8 < size;) {
    const unsigned char *c = (const unsigned char *)f->begin + i;
    size_t bytes = *c >= ' ' && *c != 0x7f ? character_size(c, n - i) : 0;
    at += (size_t)(bytes ? snprintf(out + at, size - at, "%.*s", (int)bytes,
                                    (const char *)c)
                         : snprintf(out + at, size - at, "\\x%02x", *c));
    i += bytes ? bytes : 1;
  }
  snprintf(out + at, size - at, "%s", i < n ? "..." : "");
}

static tsh_status fail_field(const walk *w, const field *f, int64_t number,
                             const char *what, tsh_err *err) {
  char shown[160], message[320];
  show_field(f, shown, sizeof shown);
  snprintf(message, sizeof message, "field %lld is no %s: \"%s\"%s",
           (long long)number, what, shown, w->remark ? w->remark : "");
  return fail_at(w, f->begin, message, err);
}

/* ---- fields to numbers --------------------------------------------------- */

static int field_float(const field *f, float *out) {
  const char *p = f->begin;
  *out = NAN; /* of an empty field */
  return p == f->end || (file_num_float(&p, f->end, out) && p == f->end);
}

static int field_double(const field *f, double *out) {
  const char *p = f->begin;
  *out = NAN;
  return p == f->end || (file_num_double(&p, f->end, out) && p == f->end);
}

static int field_whole(const field *f, int64_t *out) {
  const char *p = f->begin;
  return file_num_whole(&p, f->end, out) && p == f->end;
}

/* Digits only: 3.0 and -0 are floats. */
static int field_integer(const field *f, int64_t *out) {
  const char *p = f->begin;
  if (p != f->end && (*p == '-' || *p == '+')) p++;
  for (; p != f->end; p++)
    if (*p < '0' || *p > '9') return 0;
  return field_whole(f, out) && (*out != 0 || *f->begin != '-');
}

/* Counts the fields of the line; *named: it is not empty, and none of its
 * fields is a number. */
static tsh_status survey(const walk *w, int64_t *count, int *named,
                         tsh_err *err) {
  const char *at = w->line;
  int numbers = 0, words = 0;
  tsh_status rc = TSH_OK;
  field f;
  float x;
  *count = 0;
  while (rc == TSH_OK && at) {
    rc = take_field(w, &at, &f, err);
    if (rc == TSH_OK && f.begin != f.end) {
      if (field_float(&f, &x))
        numbers++;
      else
        words++;
    }
    ++*count;
  }
  *named = words && !numbers;
  return rc;
}

/* ---- the table ----------------------------------------------------------- */

typedef struct {
  file_table *t;
  int64_t fields; /* of every row, label included */
  int64_t room;   /* rows */
  int labels, header;
  int free;    /* the dtype follows from the fields */
  int counted; /* nothing is stored */
} filling;

static size_t cell_size(const filling *x) {
  return x->counted ? 0 : x->t->dtype == TSH_f32 ? 4 : 8;
}

/* A copy of the field as a name; a doubled quote is one. */
static char *copy_name(const field *f) {
  char *name = malloc((size_t)(f->end - f->begin) + 1), *to = name;
  if (!name) return NULL;
  for (const char *s = f->begin; s < f->end; s++) {
    *to++ = *s;
    if (*s == '"' && s + 1 < f->end && s[1] == '"') s++;
  }
  *to = 0;
  return name;
}

static tsh_status read_header(const walk *w, filling *x, tsh_err *err) {
  const char *at = w->line;
  tsh_status rc = TSH_OK;
  file_table *t = x->t;
  field f;
  t->header = calloc((size_t)x->fields, sizeof *t->header);
  if (!t->header) goto nomem;
  while (at) {
    TRY(take_field(w, &at, &f, err));
    if (memchr(f.begin, 0, (size_t)(f.end - f.begin)))
      return fail_field(w, &f, t->nheader + 1, "name", err);
    t->header[t->nheader] = copy_name(&f);
    if (!t->header[t->nheader]) goto nomem;
    t->nheader++;
  }
out:
  return rc;
nomem:
  return dev_fail(err, TSH_ENOMEM, "%s: no memory for %lld names", w->path,
                  (long long)x->fields);
}

/* count * size bytes at *p, or 0; *p is kept on failure. */
static int resize(void **p, int64_t count, size_t size) {
  void *q;
  if (count < 0 || (size && (uint64_t)count > PTRDIFF_MAX / size)) return 0;
  q = realloc(*p, count && size ? (size_t)count * size : 1);
  if (q) *p = q;
  return q != NULL;
}

static tsh_status set_room(const walk *w, filling *x, int64_t rows,
                           tsh_err *err) {
  void *data = x->t->data, *labels = x->t->labels;
  int ok = resize(&data, rows, (size_t)x->t->columns * cell_size(x));
  x->t->data = data;
  if (ok && x->labels) ok = resize(&labels, rows, sizeof(int64_t));
  x->t->labels = labels;
  if (!ok)
    return dev_fail(err, TSH_ENOMEM, "%s: no memory for %lld rows of %lld",
                    w->path, (long long)rows, (long long)x->fields);
  x->room = rows;
  return TSH_OK;
}

/* What was an integer so far becomes f32; a whole number rounds as its text
 * does. Cells of 4 bytes never overtake those of 8. */
static void to_floats(filling *x, int64_t cells) {
  char *to = x->t->data;
  x->t->dtype = TSH_f32;
  for (int64_t i = 0; !x->counted && i < cells; i++) {
    int64_t whole;
    float v;
    memcpy(&whole, to + 8 * i, sizeof whole);
    v = (float)whole;
    memcpy(to + 4 * i, &v, sizeof v);
  }
}

/* Remembers the first integer that f32 rounds. */
static void note_rounded(filling *x, int64_t v, int64_t i) {
  file_table *t = x->t;
  float f = (float)v;
  if (t->rounded_row || (f < 0x1p63f && (int64_t)f == v)) return;
  t->rounded = v;
  t->rounded_row = t->rows + 1;
  t->rounded_column = i + 1;
}

/* The number goes to cell i of the row at hand; 0: it is none. */
static int put_number(filling *x, const field *f, int64_t i) {
  file_table *t = x->t;
  int64_t at = t->rows * t->columns + i, whole = 0;
  union {
    float f32;
    double f64;
    int64_t i64;
  } v;
  int integer = x->free && field_integer(f, &whole), ok;
  if (integer) note_rounded(x, whole, i);
  if (x->free && !integer && t->dtype == TSH_i64) to_floats(x, at);
  if (t->dtype == TSH_i64)
    ok = integer ? (v.i64 = whole, 1) : field_whole(f, &v.i64);
  else
    ok = t->dtype == TSH_f64 ? field_double(f, &v.f64) : field_float(f, &v.f32);
  if (ok && !x->counted)
    memcpy((char *)t->data + (size_t)at * cell_size(x), &v, cell_size(x));
  return ok;
}

static tsh_status put_field(const walk *w, filling *x, const field *f,
                            int64_t i, tsh_err *err) {
  file_table *t = x->t;
  if (i < t->columns) {
    if (put_number(x, f, i)) return TSH_OK;
    return fail_field(w, f, i + 1,
                      t->dtype == TSH_i64 ? "whole number" : "number", err);
  }
  if (i >= x->fields || field_whole(f, t->labels + t->rows)) return TSH_OK;
  return fail_field(w, f, i + 1, "whole number, as a label is", err);
}

static tsh_status read_row(const walk *w, filling *x, tsh_err *err) {
  const char *at = w->line;
  tsh_status rc = TSH_OK;
  int64_t n = 0;
  field f;
  if (x->t->rows == x->room) TRY(set_room(w, x, x->room * 2, err));
  while (at) {
    TRY(take_field(w, &at, &f, err));
    TRY(put_field(w, x, &f, n++, err));
  }
  if (n != x->fields)
    return dev_fail(err, TSH_EINVAL, "%s:%lld: %lld fields, the %s has %lld",
                    w->path, (long long)w->number, (long long)n,
                    x->t->header ? "header" : "first row",
                    (long long)x->fields);
  x->t->rows++;
out:
  return rc;
}

/* The first line says what separates fields, how many there are, and whether
 * they are names. */
static tsh_status begin(walk *w, filling *x, tsh_err *err) {
  tsh_status rc = TSH_OK;
  int named = 0;
  if (!next_full_line(w))
    return dev_fail(err, TSH_EINVAL, "%s: there is nothing in it", w->path);
  w->comma = find_comma(w);
  TRY(survey(w, &x->fields, &named, err));
  if (x->labels && x->fields < 2)
    return fail_at(w, w->line, "one column, labels need one more", err);
  x->t->columns = x->fields - x->labels;
  TRY(set_room(w, x, 16, err));
  if (x->header > 0 || (x->header == 0 && named)) return read_header(w, x, err);
  if (x->header == 0) w->remark = "; header=true if the first line has names";
  rc = read_row(w, x, err);
  w->remark = NULL;
out:
  return rc;
}

/* The byte order mark in front, of n bytes. */
static int has_mark(const walk *w, const char *mark, size_t n) {
  return (size_t)(w->end - w->next) >= n && !memcmp(w->next, mark, n);
}

/* A text of one line is rather no table than one without rows. */
static tsh_status check_rows(const walk *w, const filling *x, tsh_err *err) {
  if (x->t->rows || x->header > 0) return TSH_OK;
  return dev_fail(err, TSH_EINVAL,
                  "%s: one line and no number in it; header=true if it has the "
                  "names of a table without rows",
                  w->path);
}

static tsh_status parse(walk *w, filling *x, tsh_err *err) {
  tsh_status rc = TSH_OK;
  if (has_mark(w, "\xff\xfe", 2) || has_mark(w, "\xfe\xff", 2))
    return dev_fail(err, TSH_EINVAL, "%s: UTF-16 text; save it as UTF-8",
                    w->path);
  if (has_mark(w, "\xef\xbb\xbf", 3)) w->next += 3;
  TRY(begin(w, x, err));
  while (next_full_line(w)) {
    if (w->number % 4096 == 0) TRY(stream_go_on(w->s, err));
    TRY(read_row(w, x, err));
  }
  if (x->t->dtype == TSH_i64) x->t->rounded_row = 0;
  rc = check_rows(w, x, err);
out:
  return rc;
}

static tsh_status read_table(const stream *s, filling *x, tsh_err *err) {
  tsh_status rc;
  char *text = content_read(s, &rc, err);
  if (text) {
    walk w = {.s = s, .path = s->path, .next = text, .end = text + s->size};
    rc = parse(&w, x, err);
  }
  free(text);
  if (rc != TSH_OK) file_table_free(x->t);
  return rc;
}

/* Before the first field; features beside labels are floats. */
static filling prepare(const file_table_how *how, file_table *t) {
  filling x = {.t = t};
  memset(t, 0, sizeof *t);
  if (how) {
    x.labels = how->labels != 0;
    x.header = how->header;
    t->dtype = how->dtype;
  }
  x.free = !t->dtype;
  if (x.free) t->dtype = x.labels ? TSH_f32 : TSH_i64;
  return x;
}

tsh_status file_csv_take(file *f, const file_table_how *how, file_table *out,
                         tsh_err *err) {
  filling x = prepare(how, out);
  return read_table(&f->s, &x, err);
}

tsh_status file_csv_survey(file *f, file_table *t, tsh_err *err) {
  filling x = prepare(NULL, t);
  x.counted = 1;
  return read_table(&f->s, &x, err);
}

tsh_status file_csv_read(const char *path, const file_table_how *how,
                         file_table *out, tsh_err *err) {
  filling x = prepare(how, out);
  stream s;
  tsh_status rc = stream_open(&s, path, NULL, err);
  if (rc == TSH_OK) rc = read_table(&s, &x, err);
  stream_close(&s);
  return rc;
}

void file_table_free(file_table *t) {
  if (!t) return;
  for (int64_t i = 0; i < t->nheader; i++) free(t->header[i]);
  free(t->header);
  free(t->data);
  free(t->labels);
  memset(t, 0, sizeof *t);
}
