/* mem.c - device buffers with two host images each. Every transfer passes
 * through cf_copy, which hands over a struct larger than the plugin knows. */
#include <stdlib.h>
#include <string.h>

#include "cf.h"

typedef struct {
  tsh_copy copy;
  uint8_t junk[24];
} grown_copy;

tsh_status cf_copy(cf *t, tsh_buf *dst, uint64_t dst_at, tsh_buf *src,
                   uint64_t src_at, uint64_t bytes, void *host, tsh_err *err) {
  grown_copy g;
  memset(&g, 0xee, sizeof g);
  g.copy = (tsh_copy){.size = t->calls++ & 1 ? sizeof g : sizeof g.copy,
                      .dst = dst,
                      .src = src,
                      .dst_at = dst_at,
                      .src_at = src_at,
                      .bytes = bytes,
                      .host = host};
  return t->p->copy(t->dev, &g.copy, err);
}

void cf_mem_fill(cf_mem *m, int byte) {
  memset(m->want, byte, m->bytes);
  memset(m->got, byte, m->bytes);
}

int cf_mem_new(cf *t, int dtype, int64_t n, cf_mem *out) {
  tsh_err err;
  memset(out, 0, sizeof *out);
  out->dtype = dtype;
  out->bytes = (uint64_t)(n ? n : 1) * cf_bytes(dtype);
  out->want = malloc(out->bytes);
  out->got = malloc(out->bytes);
  if (!out->want || !out->got) {
    cf_fail(t, "no host memory for the test");
    cf_mem_free(t, out);
    return 0;
  }
  cf_mem_fill(out, 0xa5);
  cf_err_init(&err);
  if (t->p->alloc(t->dev, out->bytes, &out->buf, &err) != TSH_OK) {
    out->buf = NULL;
    cf_fail(t, "alloc of %llu bytes: %s", (unsigned long long)out->bytes,
            err.text);
    cf_mem_free(t, out);
    return 0;
  }
  return 1;
}

void cf_mem_free(cf *t, cf_mem *m) {
  if (m->buf) t->p->free(t->dev, m->buf);
  free(m->want);
  free(m->got);
  memset(m, 0, sizeof *m);
}

int cf_mem_up(cf *t, cf_mem *m) {
  tsh_err err;
  cf_err_init(&err);
  if (cf_copy(t, m->buf, 0, NULL, 0, m->bytes, m->want, &err) == TSH_OK)
    return 1;
  cf_fail(t, "copy to the device: %s", err.text);
  return 0;
}

int cf_mem_down(cf *t, cf_mem *m) {
  tsh_err err;
  cf_err_init(&err);
  if (cf_copy(t, NULL, 0, m->buf, 0, m->bytes, m->got, &err) == TSH_OK)
    return 1;
  cf_fail(t, "copy from the device: %s", err.text);
  return 0;
}

int cf_mem_check(cf *t, cf_mem *m, const char *what) {
  uint64_t at = 0;
  if (!cf_mem_down(t, m)) return 0;
  if (memcmp(m->want, m->got, m->bytes) == 0) {
    cf_pass(t);
    return 1;
  }
  while (m->want[at] == m->got[at]) at++;
  cf_fail(t, "%s: byte %llu of the buffer is 0x%02x, want 0x%02x", what,
          (unsigned long long)at, m->got[at], m->want[at]);
  return 0;
}
