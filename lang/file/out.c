/* out.c - a file that is being written: which format, and item by item. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "npy.h"
#include "out.h"

tsh_status out_fail(const file_out *o, tsh_err *err, const char *format, ...) {
  char text[sizeof err->text];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return dev_fail(err, TSH_EINVAL, "%.400s: %s", o->s.path, text);
}

uint64_t out_count(const file_item *item) {
  uint64_t n = 1;
  for (int i = 0; i < item->rank; i++) n *= (uint64_t)item->dim[i];
  return n;
}

/* ---- what a format takes
 * ----------------------------------------------------- */

static tsh_status check(const file_out *o, tsh_err *err) {
  const file_content *c = o->c;
  char head[NPY_WRITTEN];
  if (c->format == FILE_json && c->item->dtype == TSH_c64)
    return out_fail(o, err, "JSON has no complex numbers");
  if (c->format != FILE_npy && c->format != FILE_npz) return TSH_OK;
  for (int64_t i = 0; i < c->n; i++)
    if (!npy_write_head(&c->item[i], head))
      return out_fail(o, err, "%.100s%sNumPy has no dtype %s", c->item[i].name,
                      *c->item[i].name ? ": " : "",
                      plan_dtype_name(c->item[i].dtype));
  return TSH_OK;
}

static tsh_status begin(file_out *o, tsh_err *err) {
  tsh_status rc = check(o, err);
  if (rc != TSH_OK) return rc;
  switch (o->c->format) {
  case FILE_safetensors:
    return out_safetensors_head(o, err);
  case FILE_npz:
    return out_zip_begin(o, err);
  case FILE_csv:
    return out_csv_head(o, err);
  case FILE_npy:
  case FILE_json:
    return TSH_OK;
  default:
    return out_fail(o, err, "no writer for this kind of file");
  }
}

tsh_status file_create(const char *path, const file_content *content,
                       const uint32_t *cancel, file_out **out, tsh_err *err) {
  file_out *o = calloc(1, sizeof *o);
  tsh_status rc;
  *out = NULL;
  if (!o) return dev_fail(err, TSH_ENOMEM, "%.400s: no memory", path);
  o->c = content;
  rc = sink_open(&o->s, path, cancel, err);
  if (rc == TSH_OK) rc = begin(o, err);
  if (rc == TSH_OK)
    *out = o;
  else
    file_discard(o);
  return rc;
}

void file_discard(file_out *o) {
  if (!o) return;
  sink_close(&o->s);
  out_zip_free(o->zip);
  free(o);
}

/* ---- items
 * ------------------------------------------------------------------- */

static tsh_status put_npy(file_out *o, const file_item *item, const void *cells,
                          uint64_t bytes, tsh_err *err) {
  char head[NPY_WRITTEN];
  tsh_status rc = sink_write(&o->s, head, npy_write_head(item, head), err);
  return rc == TSH_OK ? sink_write(&o->s, cells, bytes, err) : rc;
}

/* Little-endian, whatever this machine is. */
static tsh_status put_little(file_out *o, const file_item *item,
                             const char *cells, uint64_t bytes, tsh_err *err) {
  uint64_t piece[1024];
  tsh_status rc = TSH_OK;
  if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
    return sink_write(&o->s, cells, bytes, err);
  while (rc == TSH_OK && bytes) {
    uint64_t n = bytes < sizeof piece ? bytes : sizeof piece;
    memcpy(piece, cells, n);
    file_swap(piece, n, plan_dtype_bytes(item->dtype));
    rc = sink_write(&o->s, piece, n, err);
    cells += n;
    bytes -= n;
  }
  return rc;
}

tsh_status file_put(file_out *o, const void *cells, tsh_err *err) {
  const file_item *item = &o->c->item[o->at++];
  uint64_t bytes = out_count(item) * plan_dtype_bytes(item->dtype);
  switch (o->c->format) {
  case FILE_npy:
    return put_npy(o, item, cells, bytes, err);
  case FILE_npz:
    return out_zip_item(o, item, cells, err);
  case FILE_csv:
    return out_csv_item(o, item, cells, err);
  case FILE_json:
    return out_json_item(o, item, cells, err);
  default:
    return put_little(o, item, cells, bytes, err);
  }
}

tsh_status file_commit(file_out *o, tsh_err *err) {
  tsh_status rc = o->c->format == FILE_npz ? out_zip_end(o, err) : TSH_OK;
  return rc == TSH_OK ? sink_commit(&o->s, err) : rc;
}
