/* unzip.c - npz archives: a zip file whose entries are npy files. Only the
 * directory at its end counts; local headers must agree with it. */
#include <stdlib.h>
#include <string.h>
#include "npy.h"
#include "zip.h"

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

typedef struct {
  uint64_t at, bytes; /* of the directory */
  uint64_t count;
} place;

/* ---- the end record -------------------------------------------------------
 */

static tsh_status no_zip(const file *f, const char *what, tsh_err *err) {
  return stream_fail(&f->s, err, "no whole zip archive: %s", what);
}

/* The end record: the last place where one may begin whose comment reaches to
 * the end of the file. */
static tsh_status find_end(const file *f, unsigned char *end, uint64_t *at,
                           tsh_err *err) {
  enum { LEAST = 22, MOST = LEAST + 65535 };
  uint64_t n = f->s.size < MOST ? f->s.size : MOST, from = f->s.size - n;
  unsigned char *tail;
  tsh_status rc;
  if (n < LEAST) return no_zip(f, "it is too short", err);
  tail = malloc((size_t)n);
  if (!tail) return dev_fail(err, TSH_ENOMEM, "%.400s: no memory", f->s.path);
  rc = stream_read(&f->s, from, tail, n, err);
  for (uint64_t i = n - LEAST + 1; rc == TSH_OK && i-- > 0;) {
    if (zip_u32(tail + i) != ZIP_END) continue;
    if (i + LEAST + zip_u16(tail + i + 20) != n) continue;
    memcpy(end, tail + i, LEAST);
    *at = from + i;
    free(tail);
    return TSH_OK;
  }
  free(tail);
  return rc != TSH_OK ? rc : no_zip(f, "its directory is missing", err);
}

/* Where the record of 64 bit says, if there is one. */
static tsh_status find_end64(const file *f, uint64_t end, place *p,
                             tsh_err *err) {
  unsigned char locator[20], record[56];
  uint64_t at;
  tsh_status rc = TSH_OK;
  if (end < sizeof locator) return TSH_OK;
  TRY(stream_read(&f->s, end - sizeof locator, locator, sizeof locator, err));
  if (zip_u32(locator) != ZIP_LOCATOR64) return TSH_OK;
  at = zip_u64(locator + 8);
  if (at > end - sizeof locator || end - sizeof locator - at < sizeof record)
    return no_zip(f, "its 64 bit directory is missing", err);
  TRY(stream_read(&f->s, at, record, sizeof record, err));
  if (zip_u32(record) != ZIP_END64)
    return no_zip(f, "its 64 bit directory is missing", err);
  p->count = zip_u64(record + 32);
  p->bytes = zip_u64(record + 40);
  p->at = zip_u64(record + 48);
out:
  return rc;
}

static tsh_status find_directory(const file *f, place *p, tsh_err *err) {
  unsigned char end[22] = {0};
  uint64_t at = 0;
  tsh_status rc;
  TRY(find_end(f, end, &at, err));
  if (zip_u16(end + 4) || zip_u16(end + 6))
    return no_zip(f, "it has several parts", err);
  p->count = zip_u16(end + 10);
  p->bytes = zip_u32(end + 12);
  p->at = zip_u32(end + 16);
  TRY(find_end64(f, at, p, err));
  if (p->at > at || p->bytes > at - p->at || p->count > p->bytes / 46)
    return no_zip(f, "its directory is not where it should be", err);
out:
  return rc;
}

/* ---- one entry -------------------------------------------------------------
 */

typedef struct {
  const unsigned char *fixed; /* 46 bytes of the directory */
  const unsigned char *name, *extra;
  uint16_t nname, nextra, flags, method;
  uint64_t packed, bytes, at; /* at: of the local header */
} member;

static tsh_status fail(const file *f, const member *m, const char *what,
                       tsh_err *err) {
  char text[200];
  return stream_fail(
      &f->s, err, "entry '%s': %s",
      file_show((const char *)m->name, m->nname, text, sizeof text), what);
}

/* Sizes that are all ones stand in the extra field. */
static tsh_status widen(const file *f, member *m, tsh_err *err) {
  uint64_t *field[] = {&m->bytes, &m->packed, &m->at};
  const unsigned char *p = m->extra, *end = p + m->nextra;
  if (m->bytes != UINT32_MAX && m->packed != UINT32_MAX && m->at != UINT32_MAX)
    return TSH_OK;
  while (end - p >= 4) {
    size_t n = zip_u16(p + 2);
    const unsigned char *v = p + 4, *stop = v + n;
    if ((size_t)(end - v) < n) break;
    p = stop;
    if (zip_u16(v - 4) != ZIP_EXTRA64) continue;
    for (int i = 0; i < 3; i++) {
      if (*field[i] != UINT32_MAX) continue;
      if (stop - v < 8) return fail(f, m, "its 64 bit sizes are missing", err);
      *field[i] = zip_u64(v);
      v += 8;
    }
    return TSH_OK;
  }
  return TSH_OK; /* the size is this number */
}

/* From the directory at *p; moves *p. */
static tsh_status take_member(const file *f, const unsigned char **p,
                              const unsigned char *end, member *m,
                              tsh_err *err) {
  const unsigned char *h = *p;
  size_t tail;
  if (end - h < 46 || zip_u32(h) != ZIP_CENTRAL)
    return no_zip(f, "its directory is damaged", err);
  *m = (member){.fixed = h,
                .name = h + 46,
                .nname = zip_u16(h + 28),
                .nextra = zip_u16(h + 30),
                .flags = zip_u16(h + 8),
                .method = zip_u16(h + 10),
                .packed = zip_u32(h + 20),
                .bytes = zip_u32(h + 24),
                .at = zip_u32(h + 42)};
  tail = (size_t)m->nname + m->nextra + zip_u16(h + 32);
  if ((size_t)(end - m->name) < tail)
    return no_zip(f, "its directory is damaged", err);
  m->extra = m->name + m->nname;
  *p = m->name + tail;
  if (memchr(m->name, 0, m->nname))
    return fail(f, m, "a zero byte in its name", err);
  return widen(f, m, err);
}

static tsh_status check_member(const file *f, const member *m, tsh_err *err) {
  if (m->flags & ZIP_FLAG_SECRET) return fail(f, m, "it is encrypted", err);
  if (m->method != ZIP_STORED && m->method != ZIP_DEFLATED)
    return fail(f, m, "it is packed in a way other than stored or deflated",
                err);
  if (m->method == ZIP_STORED && m->packed != m->bytes)
    return fail(f, m, "it is stored, but its two sizes differ", err);
  if (m->bytes > file_most(m->packed, m->method))
    return fail(f, m, "so few bytes cannot unpack to so many", err);
  return TSH_OK;
}

/* The local header says where the data begin. */
static tsh_status find_data(const file *f, const member *m, uint64_t limit,
                            file_entry *e, tsh_err *err) {
  unsigned char h[30];
  tsh_status rc;
  if (m->at > limit || limit - m->at < sizeof h)
    return fail(f, m, "it begins past the end", err);
  rc = stream_read(&f->s, m->at, h, sizeof h, err);
  if (rc != TSH_OK) return rc;
  if (zip_u32(h) != ZIP_LOCAL || zip_u16(h + 8) != m->method ||
      zip_u16(h + 26) != m->nname)
    return fail(f, m, "its own header differs from the directory", err);
  e->at = m->at + sizeof h + m->nname + zip_u16(h + 28);
  if (e->at > limit || m->packed > limit - e->at)
    return fail(f, m, "cut short: it reaches past the directory", err);
  e->stored = m->packed;
  return TSH_OK;
}

static const char ending[] = ".npy";
enum { NENDING = sizeof ending - 1 };

static int is_npy(const member *m) {
  return m->nname >= NENDING &&
         memcmp(m->name + m->nname - NENDING, ending, NENDING) == 0;
}

/* What the npy header says must be what the directory says. */
static tsh_status take_head(const file *f, const member *m, file_entry *e,
                            tsh_err *err) {
  cursor c = {0};
  tsh_status rc = cursor_open(&c, &f->s, e->at, e->stored, e->packing, err);
  if (rc == TSH_OK) rc = npy_head(f, &c, e, err);
  cursor_close(&c);
  if (rc != TSH_OK || e->why) return rc;
  if (m->bytes < e->skip || e->bytes != m->bytes - e->skip)
    return fail(f, m, "its header and the directory differ in its size", err);
  return TSH_OK;
}

static tsh_status add_member(file *f, const member *m, uint64_t limit,
                             tsh_err *err) {
  size_t n = m->nname - (is_npy(m) ? NENDING : 0u);
  file_entry *e;
  tsh_status rc;
  static const char other[] = "it is no .npy file";
  if (m->nname && m->name[m->nname - 1] == '/') return TSH_OK; /* a folder */
  e = file_add(f, (const char *)m->name, n, err);
  if (!e) return TSH_ENOMEM;
  TRY(check_member(f, m, err));
  TRY(find_data(f, m, limit, e, err));
  if (!is_npy(m)) {
    e->why = file_copy(f, other, sizeof other - 1, err);
    e->foreign = 1;
    return e->why ? TSH_OK : TSH_ENOMEM;
  }
  if (m->method == ZIP_DEFLATED) e->packing = STREAM_DEFLATE;
  e->checked = 1;
  e->crc = zip_u32(m->fixed + 16);
  rc = take_head(f, m, e, err);
out:
  return rc;
}

/* ---- all of them ------------------------------------------------------------
 */

static int by_place(const void *a, const void *b) {
  const file_entry *x = *(const file_entry *const *)a;
  const file_entry *y = *(const file_entry *const *)b;
  return x->at < y->at ? -1 : x->at > y->at;
}

/* No byte belongs to two entries: a small file stays small. */
static tsh_status check_overlap(const file *f, tsh_err *err) {
  const file_entry **order = malloc((size_t)(f->n ? f->n : 1) * sizeof *order);
  tsh_status rc = TSH_OK;
  if (!order) return dev_fail(err, TSH_ENOMEM, "%.400s: no memory", f->s.path);
  for (int64_t i = 0; i < f->n; i++) order[i] = &f->entry[i];
  qsort(order, (size_t)f->n, sizeof *order, by_place);
  for (int64_t i = 1; rc == TSH_OK && i < f->n; i++)
    if (order[i - 1]->at + order[i - 1]->stored > order[i]->at)
      rc = stream_fail(&f->s, err, "entries '%.100s' and '%.100s' overlap",
                       order[i - 1]->name, order[i]->name);
  free(order);
  return rc;
}

static tsh_status take_directory(file *f, const place *p,
                                 const unsigned char *text, tsh_err *err) {
  const unsigned char *at = text, *end = text + p->bytes;
  tsh_status rc = TSH_OK;
  for (uint64_t i = 0; i < p->count; i++) {
    member m;
    TRY(take_member(f, &at, end, &m, err));
    TRY(add_member(f, &m, p->at, err));
    TRY(stream_go_on(&f->s, err));
  }
  if (at != end) return no_zip(f, "its directory has more entries", err);
  TRY(check_overlap(f, err));
  rc = file_unique(f, err);
out:
  return rc;
}

tsh_status file_npz_open(file *f, tsh_err *err) {
  place p = {0};
  unsigned char *text;
  tsh_status rc = find_directory(f, &p, err);
  if (rc != TSH_OK) return rc;
  text = malloc((size_t)p.bytes + 1);
  if (!text)
    return dev_fail(err, TSH_ENOMEM, "%.400s: no memory for its directory",
                    f->s.path);
  rc = stream_read(&f->s, p.at, text, p.bytes, err);
  if (rc == TSH_OK) rc = take_directory(f, &p, text, err);
  free(text);
  return rc;
}
