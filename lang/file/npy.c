/* npy.c - NumPy's files: a magic word, the length of a header, the header (a
 * Python dict of descr, fortran_order and shape), then the elements. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "npy.h"

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

/* ---- the header as text ----------------------------------------------------
 */

typedef struct {
  const file *f;
  file_entry *e;
  const char *begin, *at, *end;
  uint64_t offset; /* of begin in the npy file */
} walk;

/* "m.npz: weight: ..." */
static tsh_status fail(const file *f, const file_entry *e, tsh_err *err,
                       const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static tsh_status fail(const file *f, const file_entry *e, tsh_err *err,
                       const char *format, ...) {
  char text[400], name[200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  file_show(e->name, strlen(e->name), name, sizeof name);
  return stream_fail(&f->s, err, "%s%s%s", name, *name ? ": " : "", text);
}

static tsh_status fail_at(const walk *w, const char *what, tsh_err *err) {
  return fail(w->f, w->e, err, "byte %llu of its header: %s",
              (unsigned long long)w->offset +
                  (unsigned long long)(w->at - w->begin),
              what);
}

static void skip_blanks(walk *w) {
  while (w->at != w->end && (*w->at == ' ' || (*w->at >= 9 && *w->at <= 13)))
    w->at++;
}

static int is_next(walk *w, char c) {
  skip_blanks(w);
  if (w->at == w->end || *w->at != c) return 0;
  w->at++;
  return 1;
}

static tsh_status expect(walk *w, char c, tsh_err *err) {
  char text[] = "'x' is missing";
  if (is_next(w, c)) return TSH_OK;
  text[1] = c;
  return fail_at(w, text, err);
}

/* A text between quotes, without escapes. */
static tsh_status take_text(walk *w, const char **out, size_t *n,
                            tsh_err *err) {
  char quote;
  skip_blanks(w);
  quote = w->at != w->end ? *w->at : 0;
  if (quote != '\'' && quote != '"') return fail_at(w, "no text", err);
  *out = ++w->at;
  while (w->at != w->end && *w->at != quote && *w->at != '\\') w->at++;
  if (w->at == w->end || *w->at == '\\')
    return fail_at(w, "a text that does not end", err);
  *n = (size_t)(w->at++ - *out);
  return TSH_OK;
}

static int is_word(walk *w, const char *word) {
  size_t n = strlen(word);
  skip_blanks(w);
  if ((size_t)(w->end - w->at) < n || memcmp(w->at, word, n) != 0) return 0;
  w->at += n;
  return 1;
}

static tsh_status take_extent(walk *w, int64_t *out, tsh_err *err) {
  skip_blanks(w);
  *out = 0;
  if (w->at != w->end && *w->at == '-')
    return fail_at(w, "an extent below 0", err);
  if (w->at == w->end || *w->at < '0' || *w->at > '9')
    return fail_at(w, "no extent", err);
  while (w->at != w->end && *w->at >= '0' && *w->at <= '9') {
    int digit = *w->at - '0';
    if (*out > (INT64_MAX - digit) / 10)
      return fail_at(w, "an extent beyond 2^63", err);
    *out = *out * 10 + digit;
    w->at++;
  }
  if (w->at != w->end && *w->at == 'L') w->at++; /* of Python 2 */
  return TSH_OK;
}

/* ---- its three fields ------------------------------------------------------
 */

static tsh_status take_shape(walk *w, tsh_err *err) {
  file_entry *e = w->e;
  tsh_status rc;
  TRY(expect(w, '(', err));
  while (!is_next(w, ')')) {
    int64_t extent;
    TRY(take_extent(w, &extent, err));
    if (e->rank == PLAN_RANK)
      return fail(w->f, e, err, "it has more than the %d axes of a tensor",
                  PLAN_RANK);
    e->dim[e->rank++] = extent;
    if (is_next(w, ',')) continue;
    if (e->rank == 1) return fail_at(w, "a shape is a tuple: (3,)", err);
    rc = expect(w, ')', err);
    break;
  }
out:
  return rc;
}

typedef struct {
  char kind;
  int bytes, dtype;
} known;

static const known dtypes[] = {
    {'b', 1, TSH_bool}, {'i', 1, TSH_i8},  {'i', 2, TSH_i16}, {'i', 4, TSH_i32},
    {'i', 8, TSH_i64},  {'u', 1, TSH_u8},  {'u', 2, TSH_u16}, {'u', 4, TSH_u32},
    {'u', 8, TSH_u64},  {'f', 2, TSH_f16}, {'f', 4, TSH_f32}, {'f', 8, TSH_f64},
    {'c', 8, TSH_c64}};
enum { NDTYPES = sizeof dtypes / sizeof *dtypes };

static const char *why_not(const char *descr, size_t n) {
  switch (n ? *descr : 0) {
  case 'O':
    return "Python objects, which only Python may open";
  case 'U':
  case 'S':
  case 'a':
    return "texts, not numbers";
  case 'M':
  case 'm':
    return "dates or times, not numbers";
  case 'V':
    return "raw bytes (bfloat16 is written so by ml_dtypes: save it as "
           ".safetensors)";
  default:
    return "no dtype of tsh";
  }
}

/* e->why for a dtype that is not ours. */
static tsh_status refuse(walk *w, const char *descr, size_t n, const char *why,
                         tsh_err *err) {
  char text[320], shown[100];
  snprintf(text, sizeof text, "its elements, '%s', are %s",
           file_show(descr, n, shown, sizeof shown), why);
  w->e->why = file_copy(w->f, text, strlen(text), err);
  return w->e->why ? TSH_OK : TSH_ENOMEM;
}

static tsh_status set_dtype(walk *w, const char *descr, size_t n,
                            tsh_err *err) {
  const char *at = descr, *end = descr + n;
  int little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  char order = '=';
  if (at != end && strchr("<>|=", *at)) order = *at++;
  for (int i = 0; i < NDTYPES; i++) {
    if (end - at != 2 || *at != dtypes[i].kind ||
        at[1] != '0' + dtypes[i].bytes)
      continue;
    w->e->dtype = dtypes[i].dtype;
    if (dtypes[i].bytes > 1) w->e->swap = order == (little ? '>' : '<');
    return TSH_OK;
  }
  return refuse(w, descr, n, why_not(at, (size_t)(end - at)), err);
}

/* A list of fields is passed over, so that the shape behind it is seen. */
static tsh_status pass_list(walk *w, tsh_err *err) {
  int depth = 0;
  do {
    const char *text;
    size_t n;
    tsh_status rc = TSH_OK;
    skip_blanks(w);
    if (w->at == w->end) return fail_at(w, "a list that does not end", err);
    if (*w->at == '\'' || *w->at == '"') {
      rc = take_text(w, &text, &n, err);
      if (rc != TSH_OK) return rc;
      continue;
    }
    depth +=
        (*w->at == '[' || *w->at == '(') - (*w->at == ']' || *w->at == ')');
    w->at++;
  } while (depth > 0);
  return refuse(w, "[...]", 5, "records of several fields", err);
}

static tsh_status take_descr(walk *w, tsh_err *err) {
  const char *text;
  size_t n;
  tsh_status rc;
  skip_blanks(w);
  if (w->at != w->end && *w->at == '[') return pass_list(w, err);
  rc = take_text(w, &text, &n, err);
  return rc == TSH_OK ? set_dtype(w, text, n, err) : rc;
}

static tsh_status take_order(walk *w, tsh_err *err) {
  if (is_word(w, "True"))
    w->e->reversed = 1;
  else if (!is_word(w, "False"))
    return fail_at(w, "fortran_order is True or False", err);
  return TSH_OK;
}

static tsh_status take_field(walk *w, int *seen, tsh_err *err) {
  static const struct {
    const char *name;
    tsh_status (*take)(walk *w, tsh_err *err);
  } field[] = {{"descr", take_descr},
               {"fortran_order", take_order},
               {"shape", take_shape}};
  const char *key;
  size_t n;
  tsh_status rc;
  TRY(take_text(w, &key, &n, err));
  TRY(expect(w, ':', err));
  for (int i = 0; i < 3; i++) {
    if (n != strlen(field[i].name) || memcmp(key, field[i].name, n) != 0)
      continue;
    if (*seen & 1 << i) return fail_at(w, "a field that was there", err);
    *seen |= 1 << i;
    return field[i].take(w, err);
  }
  rc = fail_at(w, "fields are descr, fortran_order and shape", err);
out:
  return rc;
}

static tsh_status take_header(walk *w, tsh_err *err) {
  tsh_status rc;
  int seen = 0;
  TRY(expect(w, '{', err));
  while (!is_next(w, '}')) {
    TRY(take_field(w, &seen, err));
    if (is_next(w, ',')) continue;
    TRY(expect(w, '}', err));
    break;
  }
  if (seen != 7)
    return fail(w->f, w->e, err, "its header lacks %s",
                !(seen & 1)   ? "descr"
                : !(seen & 2) ? "fortran_order"
                              : "shape");
  skip_blanks(w);
  if (w->at != w->end) rc = fail_at(w, "text after its end", err);
out:
  return rc;
}

/* ---- reading ---------------------------------------------------------------
 */

static tsh_status take_length(const file *f, cursor *c, file_entry *e,
                              uint64_t *n, tsh_err *err) {
  unsigned char h[12];
  tsh_status rc = cursor_take(c, h, 8, err);
  if (rc != TSH_OK) return rc;
  if (memcmp(h, "\x93NUMPY", 6) != 0)
    return fail(f, e, err, "no npy file: it does not begin with \\x93NUMPY");
  if (h[6] < 1 || h[6] > 3 || h[7])
    return fail(f, e, err, "version %d.%d of npy is unknown", h[6], h[7]);
  rc = cursor_take(c, h + 8, h[6] == 1 ? 2 : 4, err);
  if (rc != TSH_OK) return rc;
  *n = h[8] | (uint64_t)h[9] << 8;
  if (h[6] > 1) *n |= (uint64_t)h[10] << 16 | (uint64_t)h[11] << 24;
  e->skip = h[6] == 1 ? 10 : 12;
  if (*n > NPY_HEADER)
    return fail(f, e, err, "its header has %llu bytes, at most %d are read",
                (unsigned long long)*n, NPY_HEADER);
  return TSH_OK;
}

tsh_status npy_head(const file *f, cursor *c, file_entry *e, tsh_err *err) {
  char text[NPY_HEADER];
  uint64_t n = 0;
  walk w = {.f = f, .e = e, .begin = text, .at = text};
  tsh_status rc;
  TRY(take_length(f, c, e, &n, err));
  TRY(cursor_take(c, text, n, err));
  w.offset = e->skip;
  w.end = text + n;
  e->skip += n;
  TRY(take_header(&w, err));
  if (e->why) return TSH_OK;
  rc = file_measure(f, e, plan_dtype_bytes(e->dtype), err);
  if (e->dtype == TSH_c64 && e->swap) /* two numbers each */
    rc = refuse(&w, ">c8", 3, "complex numbers in big-endian order", err);
out:
  return rc;
}

tsh_status file_npy_open(file *f, tsh_err *err) {
  cursor c = {0};
  file_entry *e = file_add(f, "", 0, err);
  tsh_status rc;
  uint64_t rest;
  if (!e) return TSH_ENOMEM;
  e->stored = f->s.size;
  TRY(cursor_open(&c, &f->s, 0, f->s.size, STREAM_PLAIN, err));
  TRY(npy_head(f, &c, e, err));
  rest = e->stored - e->skip;
  if (!e->why && e->bytes != rest)
    rc =
        fail(f, e, err, "%sits header says %llu bytes of elements, %llu follow",
             e->bytes > rest ? "cut short: " : "", (unsigned long long)e->bytes,
             (unsigned long long)rest);
out:
  cursor_close(&c);
  return rc;
}

/* ---- writing ---------------------------------------------------------------
 */

size_t npy_write_head(const file_item *item, char *out) {
  int little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, i = 0, bytes;
  char text[NPY_WRITTEN];
  size_t n, whole;
  while (i < NDTYPES && dtypes[i].dtype != item->dtype) i++;
  if (i == NDTYPES) return 0;
  bytes = dtypes[i].bytes;
  n = (size_t)snprintf(text, sizeof text,
                       "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
                       bytes == 1 ? '|'
                       : little   ? '<'
                                  : '>',
                       dtypes[i].kind, bytes);
  for (int k = 0; k < item->rank; k++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld", k ? ", " : "",
                          (long long)item->dim[k]);
  n += (size_t)snprintf(text + n, sizeof text - n, "%s), }",
                        item->rank == 1 ? "," : "");
  whole = (10 + n + 1 + 63) / 64 * 64;
  memset(out, ' ', whole);
  memcpy(out, "\x93NUMPY\1\0", 8);
  out[8] = (char)((whole - 10) & 255);
  out[9] = (char)((whole - 10) >> 8);
  memcpy(out + 10, text, n);
  out[whole - 1] = '\n';
  return whole;
}
