/* zip.c - writing npz archives. Sizes and checksums of stored entries are known
 * before their bytes; those of deflated ones follow them, so that no byte of
 * the file is written twice. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "npy.h"
#include "out.h"
#include "zip.h"

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

/* From here on a size takes 64 bits; a margin for what deflate may add. */
#define WIDE ((uint64_t)0xff000000)

typedef struct {
  uint64_t at, packed, bytes;
  uint32_t crc;
} member;

struct out_zip {
  member *list; /* owned */
  z_stream z;   /* in use when packs is set */
  int packs;
  unsigned char made[1 << 16];
};

/* ---- fields
 * ------------------------------------------------------------------ */

typedef struct {
  unsigned char b[128];
  size_t n;
} record;

static void add(record *r, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) r->b[r->n++] = (unsigned char)(v >> 8 * i);
}

static int is_wide(const member *m) { return m->bytes >= WIDE; }

static int is_ascii(const char *s) {
  while (*s > 0) s++;
  return !*s;
}

static int flags(const file_out *o, const char *name) {
  return (o->c->packed ? ZIP_FLAG_DATA : 0) |
         (is_ascii(name) ? 0 : ZIP_FLAG_UTF8);
}

/* Version, flags, method, time: midnight of 1980-01-01, so that equal tensors
 * give equal files. */
static void add_common(record *r, const file_out *o, const char *name,
                       int wide) {
  add(r, wide ? 45 : 20, 2);
  add(r, (uint64_t)flags(o, name), 2);
  add(r, o->c->packed ? ZIP_DEFLATED : ZIP_STORED, 2);
  add(r, 0, 2);
  add(r, 1 << 5 | 1, 2);
}

static tsh_status put_name(file_out *o, const char *name, tsh_err *err) {
  tsh_status rc = sink_write(&o->s, name, strlen(name), err);
  return rc == TSH_OK ? sink_write(&o->s, ".npy", 4, err) : rc;
}

static tsh_status put_local(file_out *o, const char *name, const member *m,
                            tsh_err *err) {
  record r = {.n = 0}, extra = {.n = 0};
  int packed = o->c->packed, wide = is_wide(m);
  uint64_t bytes = packed ? 0 : m->bytes;
  tsh_status rc;
  add(&r, ZIP_LOCAL, 4);
  add_common(&r, o, name, wide);
  add(&r, packed ? 0 : m->crc, 4);
  add(&r, wide ? UINT32_MAX : bytes, 4);
  add(&r, wide ? UINT32_MAX : bytes, 4);
  add(&r, strlen(name) + 4, 2);
  add(&r, wide ? 20 : 0, 2);
  TRY(sink_write(&o->s, r.b, r.n, err));
  TRY(put_name(o, name, err));
  if (!wide) return TSH_OK;
  add(&extra, ZIP_EXTRA64, 2);
  add(&extra, 16, 2);
  add(&extra, bytes, 8);
  add(&extra, bytes, 8);
  rc = sink_write(&o->s, extra.b, extra.n, err);
out:
  return rc;
}

static tsh_status put_descriptor(file_out *o, const member *m, tsh_err *err) {
  record r = {.n = 0};
  int size = is_wide(m) ? 8 : 4;
  add(&r, ZIP_DATA, 4);
  add(&r, m->crc, 4);
  add(&r, m->packed, size);
  add(&r, m->bytes, size);
  return sink_write(&o->s, r.b, r.n, err);
}

/* ---- the bytes of an entry
 * ----------------------------------------------------- */

static uint32_t checksum(uint32_t crc, const void *bytes, uint64_t n) {
  const unsigned char *p = bytes;
  while (n) {
    uInt piece = n < 1 << 30 ? (uInt)n : 1 << 30;
    crc = (uint32_t)crc32(crc, p, piece);
    p += piece;
    n -= piece;
  }
  return crc;
}

/* Deflates n bytes; finish: they are the last. */
static tsh_status pack(file_out *o, const void *bytes, uint64_t n, int finish,
                       tsh_err *err) {
  out_zip *z = o->zip;
  const unsigned char *p = bytes;
  tsh_status rc;
  int code = Z_OK;
  do {
    uInt piece = n < 1 << 20 ? (uInt)n : 1 << 20;
    z->z.next_in = (Bytef *)(uintptr_t)p;
    z->z.avail_in = piece;
    p += piece;
    n -= piece;
    do {
      z->z.next_out = z->made;
      z->z.avail_out = sizeof z->made;
      code = deflate(&z->z, finish && !n ? Z_FINISH : Z_NO_FLUSH);
      TRY(sink_write(&o->s, z->made, sizeof z->made - z->z.avail_out, err));
    } while (z->z.avail_out == 0);
  } while (n);
  rc = code == Z_STREAM_ERROR ? out_fail(o, err, "zlib failed") : TSH_OK;
out:
  return rc;
}

static tsh_status put_packed(file_out *o, const char *head, size_t nhead,
                             const void *cells, member *m, tsh_err *err) {
  uint64_t from = o->s.at;
  tsh_status rc;
  deflateReset(&o->zip->z);
  TRY(pack(o, head, nhead, 0, err));
  TRY(pack(o, cells, m->bytes - nhead, 1, err));
  m->packed = o->s.at - from;
  rc = put_descriptor(o, m, err);
out:
  return rc;
}

static tsh_status put_stored(file_out *o, const char *head, size_t nhead,
                             const void *cells, member *m, tsh_err *err) {
  tsh_status rc = sink_write(&o->s, head, nhead, err);
  m->packed = m->bytes;
  return rc == TSH_OK ? sink_write(&o->s, cells, m->bytes - nhead, err) : rc;
}

tsh_status out_zip_item(file_out *o, const file_item *item, const void *cells,
                        tsh_err *err) {
  char head[NPY_WRITTEN];
  size_t nhead = npy_write_head(item, head);
  uint64_t bytes = out_count(item) * plan_dtype_bytes(item->dtype);
  member *m = &o->zip->list[o->at - 1];
  tsh_status rc;
  *m = (member){.at = o->s.at, .bytes = nhead + bytes};
  m->crc = checksum(checksum(0, head, nhead), cells, bytes);
  rc = put_local(o, item->name, m, err);
  if (rc != TSH_OK) return rc;
  return o->c->packed ? put_packed(o, head, nhead, cells, m, err)
                      : put_stored(o, head, nhead, cells, m, err);
}

/* ---- the directory
 * -------------------------------------------------------------- */

static tsh_status put_central(file_out *o, const char *name, const member *m,
                              tsh_err *err) {
  record r = {.n = 0}, extra = {.n = 0};
  int far = m->at >= WIDE, wide = is_wide(m);
  tsh_status rc;
  if (wide) add(&extra, m->bytes, 8);
  if (wide) add(&extra, m->packed, 8);
  if (far) add(&extra, m->at, 8);
  add(&r, ZIP_CENTRAL, 4);
  add(&r, 3 << 8 | 45, 2); /* made by: unix, version 4.5 */
  add_common(&r, o, name, wide || far);
  add(&r, m->crc, 4);
  add(&r, wide ? UINT32_MAX : m->packed, 4);
  add(&r, wide ? UINT32_MAX : m->bytes, 4);
  add(&r, strlen(name) + 4, 2);
  add(&r, extra.n ? extra.n + 4 : 0, 2);
  add(&r, 0, 2); /* comment, part, kind of text */
  add(&r, 0, 4);
  add(&r, (uint64_t)0100644 << 16, 4);
  add(&r, far ? UINT32_MAX : m->at, 4);
  TRY(sink_write(&o->s, r.b, r.n, err));
  TRY(put_name(o, name, err));
  if (!extra.n) return TSH_OK;
  r.n = 0;
  add(&r, ZIP_EXTRA64, 2);
  add(&r, extra.n, 2);
  TRY(sink_write(&o->s, r.b, r.n, err));
  rc = sink_write(&o->s, extra.b, extra.n, err);
out:
  return rc;
}

static void add_end64(record *r, uint64_t n, uint64_t at, uint64_t bytes) {
  add(r, ZIP_END64, 4);
  add(r, 44, 8);
  add(r, 45, 2);
  add(r, 45, 2);
  add(r, 0, 8);
  add(r, n, 8);
  add(r, n, 8);
  add(r, bytes, 8);
  add(r, at, 8);
  add(r, ZIP_LOCATOR64, 4);
  add(r, 0, 4);
  add(r, at + bytes, 8);
  add(r, 1, 4);
}

tsh_status out_zip_end(file_out *o, tsh_err *err) {
  uint64_t n = (uint64_t)o->c->n, at = o->s.at, bytes;
  record r = {.n = 0};
  int wide;
  tsh_status rc = TSH_OK;
  for (uint64_t i = 0; i < n; i++)
    TRY(put_central(o, o->c->item[i].name, &o->zip->list[i], err));
  bytes = o->s.at - at;
  wide = n >= UINT16_MAX || at >= WIDE || bytes >= WIDE;
  if (wide) add_end64(&r, n, at, bytes);
  add(&r, ZIP_END, 4);
  add(&r, 0, 4);
  add(&r, wide ? UINT16_MAX : n, 2);
  add(&r, wide ? UINT16_MAX : n, 2);
  add(&r, wide ? UINT32_MAX : bytes, 4);
  add(&r, wide ? UINT32_MAX : at, 4);
  add(&r, 0, 2);
  rc = sink_write(&o->s, r.b, r.n, err);
out:
  return rc;
}

/* ---- the archive
 * ------------------------------------------------------------------ */

tsh_status out_zip_begin(file_out *o, tsh_err *err) {
  size_t n = (size_t)o->c->n;
  out_zip *z = calloc(1, sizeof *z);
  o->zip = z;
  for (size_t i = 0; i < n; i++)
    if (strlen(o->c->item[i].name) > UINT16_MAX - 4)
      return out_fail(o, err, "a name of %zu bytes is too long for an archive",
                      strlen(o->c->item[i].name));
  if (z) z->list = calloc(n ? n : 1, sizeof *z->list);
  if (z && z->list && o->c->packed)
    z->packs = deflateInit2(&z->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8,
                            Z_DEFAULT_STRATEGY) == Z_OK;
  if (z && z->list && z->packs == (o->c->packed != 0)) return TSH_OK;
  return dev_fail(err, TSH_ENOMEM, "%.400s: no memory for %zu entries",
                  o->s.path, n);
}

void out_zip_free(out_zip *z) {
  if (!z) return;
  if (z->packs) deflateEnd(&z->z);
  free(z->list);
  free(z);
}
