/* file.c - an open file: which format it is, its list of entries, and the
 * elements of one. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "format.h"

/* ---- formats ---------------------------------------------------------------
 */

static const char *const names[FILE_NFORMATS] = {"?",
#define FILE_X(name, doc) #name,
                                                 FILE_FORMATS(FILE_X)
#undef FILE_X
};

const char *file_format_name(int format) {
  return format > 0 && format < FILE_NFORMATS ? names[format] : names[0];
}

int file_format_find(const char *name) {
  for (int i = 1; i < FILE_NFORMATS; i++)
    if (strcasecmp(names[i], name) == 0) return i;
  if (!strcasecmp(name, "txt") || !strcasecmp(name, "tsv")) return FILE_csv;
  if (!strcasecmp(name, "ndjson")) return FILE_jsonl;
  return FILE_UNKNOWN;
}

/* By the ending; ".gz" behind it is passed over. */
static int format_of_path(const char *path) {
  char ending[16];
  size_t end = strlen(path), at;
  if (end > 3 && !strcasecmp(path + end - 3, ".gz")) end -= 3;
  for (at = end; at && path[at - 1] != '.' && path[at - 1] != '/';) at--;
  if (!at || path[at - 1] == '/' || end - at >= sizeof ending)
    return FILE_UNKNOWN;
  memcpy(ending, path + at, end - at);
  ending[end - at] = 0;
  return file_format_find(ending);
}

static int is_idx_type(int c) { return c >= 0x08 && c <= 0x0e && c != 0x0a; }

static int format_of_head(const unsigned char *h, size_t n) {
  if (n >= 6 && !memcmp(h, "\x93NUMPY", 6)) return FILE_npy;
  if (n >= 4 && !memcmp(h, "PK", 2) &&
      ((h[2] == 3 && h[3] == 4) || (h[2] == 5 && h[3] == 6)))
    return FILE_npz;
  if (n >= 4 && !h[0] && !h[1] && is_idx_type(h[2])) return FILE_idx;
  /* A length below 2^32, then the text of an object. */
  if (n >= 9 && !h[4] && !h[5] && !h[6] && !h[7] && h[8] == '{')
    return FILE_safetensors;
  return FILE_UNKNOWN;
}

enum { HEAD = 1 << 16 }; /* where an index of a model says that it is one */

/* The first byte of text that is no blank; 0: this is no text. */
static unsigned char text_begin(const unsigned char *h, size_t n) {
  unsigned char first = 0;
  size_t i = n >= 3 && !memcmp(h, "\xef\xbb\xbf", 3) ? 3 : 0;
  for (; i < n; i++) {
    if (h[i] < ' ' && !(h[i] >= '\t' && h[i] <= '\r')) return 0;
    if (!first && h[i] > ' ') first = h[i];
  }
  return first;
}

static int format_of_text(const unsigned char *h, size_t n) {
  unsigned char first = text_begin(h, n);
  if (first == '[' || first == '{') return FILE_json;
  return first ? FILE_csv : FILE_UNKNOWN;
}

/* A json is numbers, or the index of a model. */
static int format_of_json(const char *path, const unsigned char *h, size_t n) {
  static const char end[] = ".index.json", word[] = "\"weight_map\"";
  size_t length = strlen(path);
  if (length >= sizeof end - 1 &&
      strcmp(path + length - (sizeof end - 1), end) == 0)
    return FILE_index;
  return text_begin(h, n) == '{' && memmem(h, n, word, sizeof word - 1)
             ? FILE_index
             : FILE_json;
}

static tsh_status find_format(file *f, const char *path, int format,
                              tsh_err *err) {
  unsigned char head[HEAD];
  size_t n = f->s.size < sizeof head ? (size_t)f->s.size : sizeof head;
  tsh_status rc = stream_read(&f->s, 0, head, n, err);
  if (rc != TSH_OK) return rc;
  f->format = format_of_head(head, n);
  if (!f->format) f->format = format;
  if (!f->format) f->format = format_of_path(path);
  if (!f->format && f->s.loose) f->format = format_of_text(head, n);
  if (f->format == FILE_json) f->format = format_of_json(path, head, n);
  if (!f->format && n >= 2 && head[0] == 0x1f && head[1] == 0x8b)
    f->format = FILE_idx; /* what else is stored so has an ending */
  return TSH_OK;
}

static tsh_status fail_unknown(const file *f, tsh_err *err) {
  if (!f->s.size) return stream_fail(&f->s, err, "there is nothing in it");
  if (f->s.loose)
    return stream_fail(&f->s, err,
                       "what is in it is no npy, npz, safetensors, idx, csv "
                       "or json");
  return stream_fail(&f->s, err,
                     "no reader for this kind of file; it reads npy, npz, "
                     "safetensors, idx, csv and json, text also by "
                     "format=\"csv\"");
}

static tsh_status open_format(file *f, tsh_err *err) {
  switch (f->format) {
  case FILE_csv:
  case FILE_json:
  case FILE_jsonl:
    return TSH_OK;
  case FILE_idx:
    return file_idx_open(f, err);
  case FILE_npy:
    return file_npy_open(f, err);
  case FILE_npz:
    return file_npz_open(f, err);
  case FILE_safetensors:
    return file_safetensors_open(f, err);
  case FILE_index:
    return file_index_open(f, err);
  default:
    return fail_unknown(f, err);
  }
}

/* ---- opening and closing ---------------------------------------------------
 */

tsh_status file_open(const char *path, int format, const uint32_t *cancel,
                     file **out, tsh_err *err) {
  file *f = calloc(1, sizeof *f);
  tsh_status rc;
  *out = NULL;
  if (!f) return dev_fail(err, TSH_ENOMEM, "%.400s: no memory", path);
  rc = stream_open(&f->s, path, cancel, err);
  if (rc == TSH_OK) rc = find_format(f, path, format, err);
  if (rc == TSH_OK) rc = open_format(f, err);
  if (rc == TSH_OK)
    *out = f;
  else
    file_close(f);
  return rc;
}

void file_close(file *f) {
  if (!f) return;
  cursor_close(&f->c);
  for (int64_t i = 0; i < f->n; i++) {
    free(f->entry[i].name);
    free(f->entry[i].why);
  }
  free(f->entry);
  for (int64_t i = 0; i < 2 * f->nnote; i++) free(f->note[i]);
  free(f->note);
  stream_close(&f->s);
  free(f);
}

int file_format(const file *f) { return f->format; }
const char *file_path(const file *f) { return f->s.path; }
int64_t file_count(const file *f) { return f->n; }
const file_entry *file_at(const file *f, int64_t i) { return &f->entry[i]; }

/* ---- for the formats -------------------------------------------------------
 */

char *file_copy(const file *f, const char *text, size_t n, tsh_err *err) {
  char *copy = malloc(n + 1);
  if (!copy) {
    dev_fail(err, TSH_ENOMEM, "%.400s: no memory for %zu bytes", f->s.path, n);
    return NULL;
  }
  if (n) memcpy(copy, text, n);
  copy[n] = 0;
  return copy;
}

file_entry *file_add(file *f, const char *name, size_t size, tsh_err *err) {
  file_entry *e;
  if (f->n == f->room) {
    int64_t room = f->room ? f->room * 2 : 4;
    e = realloc(f->entry, (size_t)room * sizeof *e);
    if (!e) {
      dev_fail(err, TSH_ENOMEM, "%.400s: no memory for %lld entries", f->s.path,
               (long long)room);
      return NULL;
    }
    f->entry = e;
    f->room = room;
  }
  e = &f->entry[f->n];
  memset(e, 0, sizeof *e);
  e->name = file_copy(f, name, size, err);
  if (!e->name) return NULL;
  f->n++;
  return e;
}

tsh_status file_measure(const file *f, file_entry *e, uint32_t each,
                        tsh_err *err) {
  uint64_t n = each;
  int empty = 0;
  for (int i = 0; i < e->rank; i++) empty |= e->dim[i] == 0;
  for (int i = 0; !empty && i < e->rank; i++) {
    if (n > (uint64_t)INT64_MAX / 2 / (uint64_t)e->dim[i])
      return stream_fail(&f->s, err,
                         "%s%sthe extents multiply to more than 2^62 bytes",
                         e->name, *e->name ? ": " : "");
    n *= (uint64_t)e->dim[i];
  }
  e->bytes = empty ? 0 : n;
  return TSH_OK;
}

uint64_t file_most(uint64_t n, int packing) {
  if (packing == STREAM_PLAIN) return n;
  return n > UINT64_MAX / STREAM_RATIO ? UINT64_MAX : n * STREAM_RATIO;
}

const char *file_show(const char *name, size_t n, char *text, size_t size) {
  size_t at = 0, i;
  for (i = 0; i < n && i < 60 && at + 8 < size; i++) {
    unsigned char c = (unsigned char)name[i];
    at += (size_t)snprintf(text + at, size - at,
                           c < ' ' || c == 0x7f ? "\\x%02x" : "%c", c);
  }
  snprintf(text + at, size - at, "%s", i < n ? "..." : "");
  return text;
}

static int by_name(const void *a, const void *b) {
  const file_entry *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

tsh_status file_unique(const file *f, tsh_err *err) {
  const file_entry **order;
  tsh_status rc = TSH_OK;
  char text[200];
  if (f->n < 2) return TSH_OK;
  order = malloc((size_t)f->n * sizeof *order);
  if (!order)
    return dev_fail(err, TSH_ENOMEM, "%.400s: no memory for %lld names",
                    f->s.path, (long long)f->n);
  for (int64_t i = 0; i < f->n; i++) order[i] = &f->entry[i];
  qsort(order, (size_t)f->n, sizeof *order, by_name);
  for (int64_t i = 1; rc == TSH_OK && i < f->n; i++)
    if (strcmp(order[i - 1]->name, order[i]->name) == 0)
      rc = stream_fail(
          &f->s, err, "two entries are called '%s'",
          file_show(order[i]->name, strlen(order[i]->name), text, sizeof text));
  free(order);
  return rc;
}

/* ---- the elements of one entry ----------------------------------------------
 */

tsh_status file_begin(file *f, int64_t i, int dtype, tsh_err *err) {
  const file_entry *e = &f->entry[i];
  tsh_status rc;
  cursor_close(&f->c);
  f->now = e;
  f->dtype = dtype ? dtype : e->dtype;
  if (e->why)
    return stream_fail(&f->s, err, "%.200s%s%s", e->name, *e->name ? ": " : "",
                       e->why);
  if (!file_converts(e->dtype, f->dtype))
    return stream_fail(&f->s, err, "it holds %s, which does not become %s here",
                       plan_dtype_name(e->dtype), plan_dtype_name(f->dtype));
  rc = cursor_open(&f->c, &f->s, e->at, e->stored, e->packing, err);
  f->c.counted = e->checked;
  return rc == TSH_OK ? cursor_skip(&f->c, e->skip, err) : rc;
}

static tsh_status take_own(file *f, void *to, uint64_t bytes, tsh_err *err) {
  const file_entry *e = f->now;
  tsh_status rc = cursor_take(&f->c, to, bytes, err);
  if (rc != TSH_OK) return rc;
  if (e->swap) file_swap(to, bytes, plan_dtype_bytes(e->dtype));
  if (e->dtype == TSH_bool) file_booleans(to, bytes);
  return TSH_OK;
}

/* So many at once, while they are in the cache. */
enum { PIECE = 1 << 15 };

static tsh_status take_other(file *f, char *to, uint64_t n, tsh_err *err) {
  uint64_t cells[PIECE / 8];
  uint32_t each = plan_dtype_bytes(f->now->dtype);
  uint32_t wide = plan_dtype_bytes(f->dtype);
  while (n) {
    uint64_t piece = n < PIECE / each ? n : PIECE / each;
    tsh_status rc = take_own(f, cells, piece * each, err);
    if (rc != TSH_OK) return rc;
    if (file_convert(cells, f->now->dtype, to, f->dtype, piece))
      return stream_fail(&f->s, err, "%s%sa number does not fit %s",
                         f->now->name, *f->now->name ? ": " : "",
                         plan_dtype_name(f->dtype));
    to += piece * wide;
    n -= piece;
  }
  return TSH_OK;
}

tsh_status file_take(file *f, void *to, uint64_t bytes, tsh_err *err) {
  const file_entry *e = f->now;
  char *at = to;
  if (f->dtype != e->dtype)
    return take_other(f, to, bytes / plan_dtype_bytes(f->dtype), err);
  if (!e->swap && e->dtype != TSH_bool)
    return cursor_take(&f->c, to, bytes, err);
  while (bytes) {
    uint64_t piece = bytes < PIECE ? bytes : PIECE;
    tsh_status rc = take_own(f, at, piece, err);
    if (rc != TSH_OK) return rc;
    at += piece;
    bytes -= piece;
  }
  return TSH_OK;
}

tsh_status file_end(file *f, tsh_err *err) {
  const file_entry *e = f->now;
  tsh_status rc = cursor_end(&f->c, err);
  uint32_t crc = f->c.crc;
  cursor_close(&f->c);
  f->now = NULL;
  if (rc == TSH_OK && e->checked && crc != e->crc)
    return stream_fail(&f->s, err,
                       "%s: its checksum is %08x, the archive says %08x: the "
                       "file is damaged",
                       e->name, crc, e->crc);
  return rc;
}
