/* cursor.c - bytes of a stream one after the other: as they lie there, or
 * inflated by zlib. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "stream.h"

struct stream_inflater {
  z_stream z;
  int gzip, done; /* done: the packed data said that they end */
  unsigned char in[1 << 16];
};

static tsh_status begin_inflate(cursor *c, int packing, tsh_err *err) {
  stream_inflater *z = calloc(1, sizeof *z);
  int bits = packing == STREAM_GZIP ? 15 + 16 : -15;
  if (z && inflateInit2(&z->z, bits) == Z_OK) {
    z->gzip = packing == STREAM_GZIP;
    c->z = z;
    return TSH_OK;
  }
  free(z);
  return dev_fail(err, TSH_ENOMEM, "%.400s: no memory to inflate it",
                  c->s->path);
}

tsh_status cursor_open(cursor *c, const stream *s, uint64_t at, uint64_t bytes,
                       int packing, tsh_err *err) {
  *c = (cursor){.s = s, .at = at, .left = bytes};
  if (at > s->size || bytes > s->size - at)
    return stream_fail(s, err, "%llu bytes from byte %llu reach past its end",
                       (unsigned long long)bytes, (unsigned long long)at);
  return packing == STREAM_PLAIN ? TSH_OK : begin_inflate(c, packing, err);
}

void cursor_close(cursor *c) {
  if (c->z) inflateEnd(&c->z->z);
  free(c->z);
  *c = (cursor){0};
}

static tsh_status cut_short(const cursor *c, uint64_t lack, tsh_err *err) {
  return stream_fail(c->s, err, "cut short: %llu bytes are missing",
                     (unsigned long long)lack);
}

/* ---- inflating ------------------------------------------------------------
 */

static tsh_status refill(cursor *c, tsh_err *err) {
  stream_inflater *z = c->z;
  uint64_t n = c->left < sizeof z->in ? c->left : sizeof z->in;
  tsh_status rc = stream_read(c->s, c->at, z->in, n, err);
  if (rc != TSH_OK) return rc;
  z->z.next_in = z->in;
  z->z.avail_in = (uInt)n;
  c->at += n;
  c->left -= n;
  return TSH_OK;
}

/* One call of inflate; *n: bytes of room, then bytes made. */
static tsh_status step(cursor *c, void *to, uint64_t *n, tsh_err *err) {
  stream_inflater *z = c->z;
  uInt room = (uInt)(*n < STREAM_PIECE ? *n : STREAM_PIECE);
  int code;
  if (z->done && z->gzip && (z->z.avail_in || c->left)) {
    inflateReset(&z->z); /* what follows is another member */
    z->done = 0;
  }
  *n = 0;
  if (z->done) return TSH_OK;
  if (!z->z.avail_in && c->left) {
    tsh_status rc = refill(c, err);
    if (rc != TSH_OK) return rc;
  }
  z->z.next_out = to;
  z->z.avail_out = room;
  code = inflate(&z->z, Z_NO_FLUSH);
  *n = room - z->z.avail_out;
  if (code == Z_STREAM_END) z->done = 1;
  if (code == Z_STREAM_END || code == Z_OK) return stream_go_on(c->s, err);
  if (code == Z_MEM_ERROR)
    return dev_fail(err, TSH_ENOMEM, "%.400s: no memory to inflate it",
                    c->s->path);
  if (code == Z_BUF_ERROR)
    return stream_fail(c->s, err, "cut short: the compressed data do not end");
  return stream_fail(c->s, err, "the compressed data are damaged: %s",
                     z->z.msg ? z->z.msg : "no deflate stream");
}

static tsh_status inflate_all(cursor *c, char *to, uint64_t n, tsh_err *err) {
  while (n) {
    uint64_t made = n;
    tsh_status rc = step(c, to, &made, err);
    if (rc != TSH_OK) return rc;
    if (!made && c->z->done && !c->z->z.avail_in && !c->left)
      return cut_short(c, n, err);
    if (!made && c->z->done && !c->z->gzip) return cut_short(c, n, err);
    to += made;
    n -= made;
  }
  return TSH_OK;
}

/* ---- taking ---------------------------------------------------------------
 */

static tsh_status copy(cursor *c, void *to, uint64_t n, tsh_err *err) {
  tsh_status rc;
  if (n > c->left) return cut_short(c, n - c->left, err);
  rc = stream_read(c->s, c->at, to, n, err);
  c->at += n;
  c->left -= n;
  return rc;
}

tsh_status cursor_take(cursor *c, void *to, uint64_t n, tsh_err *err) {
  char *at = to;
  while (n) {
    uint64_t piece = n < STREAM_PIECE ? n : STREAM_PIECE;
    tsh_status rc =
        c->z ? inflate_all(c, at, piece, err) : copy(c, at, piece, err);
    if (rc != TSH_OK) return rc;
    if (c->counted)
      c->crc = (uint32_t)crc32(c->crc, (const Bytef *)at, (uInt)piece);
    at += piece;
    n -= piece;
  }
  return TSH_OK;
}

tsh_status cursor_skip(cursor *c, uint64_t n, tsh_err *err) {
  char waste[4096];
  while (n) {
    uint64_t piece = n < sizeof waste ? n : sizeof waste;
    tsh_status rc = cursor_take(c, waste, piece, err);
    if (rc != TSH_OK) return rc;
    n -= piece;
  }
  return TSH_OK;
}

static tsh_status too_long(const cursor *c, tsh_err *err) {
  return stream_fail(c->s, err, "bytes follow that no element needs");
}

tsh_status cursor_end(cursor *c, tsh_err *err) {
  char one;
  if (!c->z) return c->left ? too_long(c, err) : TSH_OK;
  do {
    uint64_t made = 1;
    tsh_status rc = step(c, &one, &made, err);
    if (rc != TSH_OK) return rc;
    if (made) return too_long(c, err);
  } while (!c->z->done || (c->z->gzip && (c->z->z.avail_in || c->left)));
  return c->z->z.avail_in || c->left ? too_long(c, err) : TSH_OK;
}
