/* memory.c - alloc, free and copy: sizes, offsets, limits, content. */
#include <stdlib.h>
#include <string.h>

#include "cf.h"

static const uint64_t sizes[] = {1,  2,    3,    7,    8,     63,     64,
                                 65, 4095, 4096, 4097, 65537, 1 << 20};
enum { NSIZE = sizeof sizes / sizeof *sizes };

static void fill_bytes(uint8_t *p, uint64_t n, uint64_t seed) {
  for (uint64_t i = 0; i < n; i++) p[i] = (uint8_t)(cf_rand(&seed) >> 11);
}

/* ---- copy --------------------------------------------------------------- */
static void run_whole(cf *t) {
  if (!cf_begin(t, "memory/copy/whole")) return;
  for (int i = 0; i < NSIZE; i++) {
    cf_mem m;
    if (!cf_mem_new(t, TSH_u8, (int64_t)sizes[i], &m)) break;
    fill_bytes(m.want, m.bytes, sizes[i]);
    if (cf_mem_up(t, &m)) cf_mem_check(t, &m, "to the device and back");
    cf_mem_free(t, &m);
  }
  cf_end(t);
}

/* Pieces at offsets that are no multiple of anything: host to device, device
 * to device, device to host, each in its own direction of drift. */
static void run_pieces(cf *t) {
  static const uint64_t at[] = {0, 1, 3, 5, 17, 64, 101, 1021};
  cf_mem a, b;
  tsh_err err;
  memset(&b, 0, sizeof b);
  if (!cf_begin(t, "memory/copy/pieces")) return;
  if (cf_mem_new(t, TSH_u8, 70000, &a) && cf_mem_new(t, TSH_u8, 70000, &b) &&
      cf_mem_up(t, &a) && cf_mem_up(t, &b))
    for (int i = 0; i < 8; i++)
      for (int k = 0; k < NSIZE - 1; k++) {
        uint64_t n = sizes[k], from = at[i], to = at[7 - i];
        cf_err_init(&err);
        fill_bytes(a.want + from, n, n + from);
        memcpy(b.want + to, a.want + from, n);
        if (cf_copy(t, a.buf, from, NULL, 0, n, a.want + from, &err) ||
            cf_copy(t, b.buf, to, a.buf, from, n, NULL, &err)) {
          cf_fail(t, "copy of %d bytes: %s", (int)n, err.text);
          continue;
        }
        memset(b.got, 0, n + 2);
        cf_copy(t, NULL, 0, b.buf, to, n, b.got + 1, &err);
        cf_check(t,
                 b.got[0] == 0 && b.got[n + 1] == 0 &&
                     memcmp(b.got + 1, b.want + to, n) == 0,
                 "%d bytes from %d to %d differ", (int)n, (int)from, (int)to);
      }
  if (a.buf && b.buf) {
    cf_mem_check(t, &a, "the source");
    cf_mem_check(t, &b, "the target");
  }
  cf_mem_free(t, &a);
  cf_mem_free(t, &b);
  cf_end(t);
}

/* ---- many buffers ------------------------------------------------------- */
static void run_many(cf *t) {
  enum { MANY = 200 };
  cf_mem *m = calloc(MANY, sizeof *m);
  int n = 0;
  if (m && cf_begin(t, "memory/many")) {
    for (; n < MANY; n++) {
      if (!cf_mem_new(t, TSH_u8, 1 + n * 37 % 5000, &m[n])) break;
      fill_bytes(m[n].want, m[n].bytes, (uint64_t)n);
      if (!cf_mem_up(t, &m[n])) break;
      if (n % 3 == 2) cf_mem_free(t, &m[n - 1]); /* holes */
    }
    for (int i = 0; i < n; i++)
      if (m[i].buf) cf_mem_check(t, &m[i], "one of many buffers");
    for (int i = 0; i < n; i++) cf_mem_free(t, &m[i]);
    cf_end(t);
  }
  free(m);
}

/* ---- more than there is ------------------------------------------------- */
static void refused(cf *t, uint64_t bytes, const char *what) {
  tsh_buf *buf = NULL;
  tsh_err err;
  tsh_status rc;
  cf_err_init(&err);
  rc = t->p->alloc(t->dev, bytes, &buf, &err);
  cf_check_err(t, what, rc, &err);
  cf_check(t, rc == TSH_ENOMEM, "%s: %s", what, cf_status_name(rc));
  if (rc == TSH_OK) t->p->free(t->dev, buf);
}

static void run_nomem(cf *t) {
  cf_mem m;
  if (!cf_begin(t, "memory/nomem")) return;
  refused(t, UINT64_C(1) << 62, "alloc of 2^62 bytes");
  refused(t, UINT64_MAX, "alloc of 2^64 - 1 bytes");
  if (t->props.max_alloc < UINT64_MAX)
    refused(t, t->props.max_alloc + 1, "alloc of max_alloc + 1 bytes");
  if (cf_mem_new(t, TSH_u8, 1000, &m)) {
    fill_bytes(m.want, m.bytes, 9);
    if (cf_mem_up(t, &m)) cf_mem_check(t, &m, "after a refused alloc");
    cf_mem_free(t, &m);
  }
  cf_end(t);
}

/* ---- optional entries --------------------------------------------------- */
static void run_host_ptr(cf *t) {
  if (!CF_OPTIONAL(t, host_ptr) || !cf_begin(t, "memory/host_ptr")) return;
  for (int i = 0; i < NSIZE; i++) {
    cf_mem m;
    uint8_t *p;
    if (!cf_mem_new(t, TSH_u8, (int64_t)sizes[i], &m)) break;
    fill_bytes(m.want, m.bytes, 4);
    p = cf_mem_up(t, &m) ? t->p->host_ptr(t->dev, m.buf) : NULL;
    if (p) {
      cf_check(t, (uintptr_t)p % t->props.align == 0, "not aligned");
      cf_check(t, memcmp(p, m.want, m.bytes) == 0, "content differs");
      p[m.bytes - 1] ^= 1;
      m.want[m.bytes - 1] ^= 1;
      cf_mem_check(t, &m, "written through host_ptr");
      cf_check(t, t->p->host_ptr(t->dev, m.buf) == p, "the address moves");
    }
    cf_mem_free(t, &m);
  }
  cf_end(t);
}

static void run_memstat(cf *t) {
  tsh_memstat before = {.size = sizeof before}, after = {.size = sizeof after};
  tsh_err err;
  cf_mem m;
  if (!CF_OPTIONAL(t, memstat) || !cf_begin(t, "memory/memstat")) return;
  cf_err_init(&err);
  after.size = offsetof(tsh_memstat, peak); /* a smaller struct */
  after.peak = 77;
  cf_check(t,
           t->p->memstat(t->dev, 0, &after, &err) == TSH_OK && after.peak == 77,
           "a smaller tsh_memstat is written beyond its size");
  after.size = sizeof after;
  cf_check(t, t->p->memstat(t->dev, 1, &before, &err) == TSH_OK, "%s",
           err.text);
  if (cf_mem_new(t, TSH_u8, 1 << 20, &m)) {
    cf_check(t, t->p->memstat(t->dev, 0, &after, &err) == TSH_OK, "%s",
             err.text);
    cf_check(t, after.used >= before.used + (1 << 20),
             "used does not count an alloc");
    cf_check(t, after.peak >= after.used, "peak is below used");
    cf_mem_free(t, &m);
    cf_check(t, t->p->memstat(t->dev, 1, &after, &err) == TSH_OK, "%s",
             err.text);
    cf_check(t, after.used <= before.used, "used does not count a free");
  }
  cf_end(t);
}

void cf_test_memory(cf *t) {
  run_whole(t);
  run_pieces(t);
  run_many(t);
  run_nomem(t);
  run_host_ptr(t);
  run_memstat(t);
}
