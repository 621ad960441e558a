/* idx.c - the files of MNIST: two zero bytes, a type, the number of axes, an
 * extent for each (32 bits), then the elements; all numbers are big-endian. */
#include <string.h>
#include "format.h"

static int dtype_of(unsigned char code) {
  switch (code) {
  case 0x08:
    return TSH_u8;
  case 0x09:
    return TSH_i8;
  case 0x0b:
    return TSH_i16;
  case 0x0c:
    return TSH_i32;
  case 0x0d:
    return TSH_f32;
  case 0x0e:
    return TSH_f64;
  default:
    return 0;
  }
}

static int64_t extent(const unsigned char *p) {
  return (int64_t)p[0] << 24 | (int64_t)p[1] << 16 | (int64_t)p[2] << 8 | p[3];
}

static tsh_status read_shape(file *f, cursor *c, file_entry *e, tsh_err *err) {
  unsigned char head[4], dims[4 * PLAN_RANK];
  tsh_status rc = cursor_take(c, head, 4, err);
  if (rc != TSH_OK) return rc;
  if (c->z && (head[0] || head[1]))
    return stream_fail(&f->s, err,
                       "compressed data, and no idx file in them; "
                       "gunzip them first");
  if (head[0] || head[1])
    return stream_fail(&f->s, err,
                       "no idx file: it begins with bytes %02x %02x, not with "
                       "two zeros",
                       head[0], head[1]);
  e->dtype = dtype_of(head[2]);
  if (!e->dtype)
    return stream_fail(&f->s, err, "byte 2 is 0x%02x, which is no idx type",
                       head[2]);
  if (head[3] > PLAN_RANK)
    return stream_fail(&f->s, err,
                       "byte 3 says %d axes, a tensor has at most "
                       "%d",
                       head[3], PLAN_RANK);
  e->rank = head[3];
  e->skip = 4 + 4 * (uint64_t)e->rank;
  rc = cursor_take(c, dims, e->skip - 4, err);
  for (int i = 0; rc == TSH_OK && i < e->rank; i++)
    e->dim[i] = extent(dims + 4 * i);
  return rc;
}

static tsh_status check_size(const file *f, file_entry *e, tsh_err *err) {
  uint32_t each = plan_dtype_bytes(e->dtype);
  uint64_t most = file_most(e->stored, e->packing);
  tsh_status rc = file_measure(f, e, each, err);
  if (rc != TSH_OK) return rc;
  if (!e->packing && e->bytes != e->stored - e->skip)
    return stream_fail(&f->s, err,
                       "%sits head says %llu bytes of elements, %llu follow",
                       e->bytes > e->stored - e->skip ? "cut short: " : "",
                       (unsigned long long)e->bytes,
                       (unsigned long long)(e->stored - e->skip));
  if (e->bytes > most)
    return stream_fail(&f->s, err,
                       "cut short: its head says %llu bytes of elements, "
                       "%llu compressed bytes cannot hold them",
                       (unsigned long long)e->bytes,
                       (unsigned long long)e->stored);
  e->swap = each > 1 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  return TSH_OK;
}

tsh_status file_idx_open(file *f, tsh_err *err) {
  cursor c = {0};
  file_entry *e = file_add(f, "", 0, err);
  unsigned char magic[2] = {0};
  tsh_status rc;
  if (!e) return TSH_ENOMEM;
  e->stored = f->s.size;
  if (f->s.size >= 2) {
    rc = stream_read(&f->s, 0, magic, 2, err);
    if (rc != TSH_OK) return rc;
  }
  if (magic[0] == 0x1f && magic[1] == 0x8b) e->packing = STREAM_GZIP;
  rc = cursor_open(&c, &f->s, 0, f->s.size, e->packing, err);
  if (rc == TSH_OK) rc = read_shape(f, &c, e, err);
  cursor_close(&c);
  return rc == TSH_OK ? check_size(f, e, err) : rc;
}
