/* safetensors.c - reading: 8 bytes of length, a JSON object of that length
 *   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 * then the elements, which must fill the rest of the file exactly. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "safetensors.h"

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

static const struct {
  const char *name;
  int dtype, bits;
} dtypes[] = {
#define SAFE_X(name, dtype, bits) {#name, dtype, bits},
    SAFE_DTYPES(SAFE_X)
#undef SAFE_X
};
enum { NDTYPES = sizeof dtypes / sizeof *dtypes };

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
  return stream_fail(&f->s, err, "tensor '%s': %s",
                     file_show(e->name, strlen(e->name), name, sizeof name),
                     text);
}

/* ---- one tensor -------------------------------------------------------------
 */

typedef struct {
  int seen; /* bits of the fields that were there */
  int bits; /* of an element */
  int64_t begin, end;
  const char *dtype;
} claim;

static tsh_status take_dtype(json *j, const file *f, file_entry *e, claim *c,
                             tsh_err *err) {
  const char *name;
  char shown[200];
  size_t n;
  tsh_status rc = json_text(j, &name, &n, err);
  if (rc != TSH_OK) return rc;
  for (int i = 0; i < NDTYPES; i++)
    if (strcmp(dtypes[i].name, name) == 0) {
      c->dtype = dtypes[i].name;
      c->bits = dtypes[i].bits;
      e->dtype = dtypes[i].dtype;
      return TSH_OK;
    }
  return fail(f, e, err, "the format has no dtype '%s'",
              file_show(name, n, shown, sizeof shown));
}

static tsh_status take_shape(json *j, const file *f, file_entry *e,
                             tsh_err *err) {
  tsh_status rc;
  int more = 1;
  TRY(json_expect(j, '[', err));
  if (json_next(j, ']')) return TSH_OK;
  while (more) {
    if (e->rank == PLAN_RANK)
      return fail(f, e, err, "it has more than the %d axes of a tensor",
                  PLAN_RANK);
    TRY(json_whole(j, &e->dim[e->rank++], err));
    TRY(json_comma(j, ']', &more, err));
  }
out:
  return rc;
}

static tsh_status take_offsets(json *j, claim *c, tsh_err *err) {
  tsh_status rc;
  TRY(json_expect(j, '[', err));
  TRY(json_whole(j, &c->begin, err));
  TRY(json_expect(j, ',', err));
  TRY(json_whole(j, &c->end, err));
  TRY(json_expect(j, ']', err));
out:
  return rc;
}

static tsh_status take_field(json *j, const file *f, file_entry *e, claim *c,
                             tsh_err *err) {
  static const char *const name[] = {"dtype", "shape", "data_offsets"};
  const char *key;
  char shown[200];
  size_t n;
  int i = 0;
  tsh_status rc = json_key(j, &key, &n, err);
  if (rc != TSH_OK) return rc;
  while (i < 3 && strcmp(name[i], key) != 0) i++;
  if (i == 3)
    return fail(f, e, err, "the format has no field '%s'",
                file_show(key, n, shown, sizeof shown));
  if (c->seen & 1 << i)
    return fail(f, e, err, "its field '%s' is there twice", key);
  c->seen |= 1 << i;
  return i == 0   ? take_dtype(j, f, e, c, err)
         : i == 1 ? take_shape(j, f, e, err)
                  : take_offsets(j, c, err);
}

/* Bytes by shape and dtype; some elements are no whole byte. */
static tsh_status measure(const file *f, file_entry *e, const claim *c,
                          tsh_err *err) {
  tsh_status rc;
  if (c->bits % 8 == 0) return file_measure(f, e, (uint32_t)c->bits / 8, err);
  rc = file_measure(f, e, (uint32_t)c->bits, err);
  if (rc != TSH_OK) return rc;
  if (e->bytes % 8)
    return fail(f, e, err, "its %s elements end within a byte", c->dtype);
  e->bytes /= 8;
  return TSH_OK;
}

/* Where it lies, as the file says and as the shape says. */
static tsh_status check_claim(const file *f, file_entry *e, const claim *c,
                              uint64_t data, tsh_err *err) {
  uint64_t room = f->s.size - data;
  tsh_status rc = measure(f, e, c, err);
  if (rc != TSH_OK) return rc;
  if (c->begin > c->end)
    return fail(f, e, err,
                "data_offsets: it ends at %lld, before it begins, "
                "at %lld",
                (long long)c->end, (long long)c->begin);
  if ((uint64_t)c->end > room)
    return fail(f, e, err,
                "data_offsets: it ends at %lld, the file has %llu bytes of "
                "data",
                (long long)c->end, (unsigned long long)room);
  if ((uint64_t)(c->end - c->begin) != e->bytes)
    return fail(f, e, err,
                "data_offsets: they are %lld bytes apart, shape and %s need "
                "%llu",
                (long long)(c->end - c->begin), c->dtype,
                (unsigned long long)e->bytes);
  e->at = data + (uint64_t)c->begin;
  e->stored = e->bytes;
  e->swap = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__;
  return TSH_OK;
}

static tsh_status set_why(const file *f, file_entry *e, const claim *c,
                          tsh_err *err) {
  char text[64];
  if (e->dtype) return TSH_OK;
  snprintf(text, sizeof text, "its elements are %s, no dtype of tsh", c->dtype);
  e->why = file_copy(f, text, strlen(text), err);
  return e->why ? TSH_OK : TSH_ENOMEM;
}

static tsh_status take_tensor(json *j, file *f, const char *name, size_t n,
                              uint64_t data, tsh_err *err) {
  file_entry *e = file_add(f, name, n, err);
  claim c = {0};
  int more = 1;
  tsh_status rc;
  if (!e) return TSH_ENOMEM;
  TRY(json_expect(j, '{', err));
  if (json_next(j, '}')) more = 0;
  while (more) {
    TRY(take_field(j, f, e, &c, err));
    TRY(json_comma(j, '}', &more, err));
  }
  if (c.seen != 7)
    return fail(f, e, err, "its field '%s' is missing",
                !(c.seen & 1)   ? "dtype"
                : !(c.seen & 2) ? "shape"
                                : "data_offsets");
  TRY(check_claim(f, e, &c, data, err));
  rc = set_why(f, e, &c, err);
out:
  return rc;
}

/* ---- metadata
 * ---------------------------------------------------------------- */

static tsh_status take_metadata(json *j, file *f, tsh_err *err) {
  int more = 1;
  tsh_status rc;
  TRY(json_expect(j, '{', err));
  if (json_next(j, '}')) return TSH_OK;
  while (more) {
    const char *key, *value;
    size_t nkey, nvalue;
    TRY(json_key(j, &key, &nkey, err));
    TRY(json_text(j, &value, &nvalue, err));
    TRY(file_add_note(f, key, nkey, value, nvalue, err));
    TRY(json_comma(j, '}', &more, err));
  }
  if (file_sort_notes(f))
    return json_fail(j, "two metadata have one name", err);
out:
  return rc;
}

/* ---- the whole header
 * -------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
  const file_entry *x = *(const file_entry *const *)a;
  const file_entry *y = *(const file_entry *const *)b;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return x->stored < y->stored ? -1 : x->stored > y->stored;
}

/* The tensors fill the data, without holes, none over another. */
static tsh_status check_cover(const file *f, const file_entry **order,
                              uint64_t at, tsh_err *err) {
  for (int64_t i = 0; i < f->n; i++) {
    const file_entry *e = order[i];
    if (e->at != at)
      return fail(f, e, err,
                  "data_offsets: it begins at byte %llu of the "
                  "file, %s byte %llu",
                  (unsigned long long)e->at,
                  e->at > at ? "a hole is there from"
                             : "another tensor reaches to",
                  (unsigned long long)at);
    at += e->stored;
  }
  if (at == f->s.size) return TSH_OK;
  return stream_fail(&f->s, err, "%llu bytes follow the last tensor",
                     (unsigned long long)(f->s.size - at));
}

static tsh_status check_all(const file *f, uint64_t data, tsh_err *err) {
  const file_entry **order = malloc((size_t)(f->n ? f->n : 1) * sizeof *order);
  tsh_status rc;
  if (!order)
    return dev_fail(err, TSH_ENOMEM, "%.400s: no memory for %lld tensors",
                    f->s.path, (long long)f->n);
  for (int64_t i = 0; i < f->n; i++) order[i] = &f->entry[i];
  qsort(order, (size_t)f->n, sizeof *order, by_place);
  rc = check_cover(f, order, data, err);
  free(order);
  return rc == TSH_OK ? file_unique(f, err) : rc;
}

static tsh_status parse(json *j, file *f, uint64_t data, tsh_err *err) {
  tsh_status rc;
  int more = 1, noted = 0;
  if (*j->at != '{') return json_fail(j, "it does not begin with '{'", err);
  TRY(json_check(j, err));
  TRY(json_expect(j, '{', err));
  if (json_next(j, '}')) more = 0;
  while (more) {
    const char *name;
    size_t n;
    TRY(json_key(j, &name, &n, err));
    if (strcmp(name, SAFE_METADATA) != 0)
      TRY(take_tensor(j, f, name, n, data, err));
    else if (noted++)
      return json_fail(j, "metadata are there twice", err);
    else
      TRY(take_metadata(j, f, err));
    TRY(json_comma(j, '}', &more, err));
  }
  TRY(json_end(j, err));
  rc = check_all(f, data, err);
out:
  return rc;
}

static tsh_status take_length(const file *f, uint64_t *out, tsh_err *err) {
  unsigned char h[8];
  tsh_status rc = stream_read(&f->s, 0, h, 8, err);
  if (rc != TSH_OK) return rc;
  *out = 0;
  for (int i = 7; i >= 0; i--) *out = *out << 8 | h[i];
  if (*out > SAFE_HEADER)
    return stream_fail(&f->s, err,
                       "no safetensors file: bytes 0 to 7 say a header of %llu "
                       "bytes, at most %d are allowed",
                       (unsigned long long)*out, SAFE_HEADER);
  if (*out > f->s.size - 8)
    return stream_fail(&f->s, err,
                       "cut short: bytes 0 to 7 say a header of %llu bytes, "
                       "%llu follow",
                       (unsigned long long)*out,
                       (unsigned long long)(f->s.size - 8));
  if (*out < 2)
    return stream_fail(&f->s, err,
                       "bytes 0 to 7 say a header of %llu bytes, "
                       "{} has 2",
                       (unsigned long long)*out);
  return TSH_OK;
}

tsh_status file_safetensors_open(file *f, tsh_err *err) {
  uint64_t n = 0;
  char *text;
  tsh_status rc = take_length(f, &n, err);
  if (rc != TSH_OK) return rc;
  text = malloc((size_t)n);
  if (!text)
    return dev_fail(err, TSH_ENOMEM,
                    "%.400s: no memory for a header of %llu "
                    "bytes",
                    f->s.path, (unsigned long long)n);
  rc = stream_read(&f->s, 8, text, n, err);
  if (rc == TSH_OK) {
    json j = {&f->s, text, text, text + n, 8, 0};
    rc = parse(&j, f, 8 + n, err);
  }
  free(text);
  return rc;
}
