/* rig.c - files from bytes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <criterion/criterion.h>
#include "rig.h"

long rig_fuse = -1;
size_t rig_biggest;
tsh_err rig_err;

/* ---- memory
 * ------------------------------------------------------------------ */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);

static int refuses(size_t bytes) {
  if (bytes > rig_biggest) rig_biggest = bytes;
  return rig_fuse >= 0 && rig_fuse-- == 0;
}

void *__wrap_malloc(size_t bytes) {
  return refuses(bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes) {
  return refuses(n * bytes) ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *p, size_t bytes) {
  return refuses(bytes) ? NULL : __real_realloc(p, bytes);
}

/* ---- files
 * ------------------------------------------------------------------- */

static char folder[64], path[128];

static void remove_all(void) {
  if (!*folder) return;
  unlink(path);
  rmdir(folder);
  *folder = 0;
}

static void make_folder(void) {
  if (!*folder) {
    strcpy(folder, "/tmp/test_file.XXXXXX");
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t", folder);
    atexit(remove_all);
  }
}

const char *rig_file(const void *bytes, size_t n) {
  int fd;
  make_folder();
  fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  cr_assert(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && close(fd) == 0);
  return path;
}

static tsh_status shorten(tsh_status rc) {
  char *at;
  while (*folder && (at = strstr(rig_err.text, folder)) != NULL)
    memmove(at, at + strlen(folder) + 1, strlen(at + strlen(folder) + 1) + 1);
  return rc;
}

/* In pieces of any size, as a device may ask. */
static tsh_status read_entry(file *f, int64_t i, int dtype, char *to,
                             uint64_t room) {
  const file_entry *e = file_at(f, i);
  uint32_t was = plan_dtype_bytes(e->dtype), each = plan_dtype_bytes(dtype);
  uint64_t n = was ? e->bytes / was * each : 0, piece = room / each * each;
  tsh_status rc = file_begin(f, i, dtype, &rig_err);
  while (rc == TSH_OK && n) {
    uint64_t now = n < piece ? n : piece;
    rc = file_take(f, to, now, &rig_err);
    n -= now;
    if (room > 4096) to += now;
  }
  return rc == TSH_OK ? file_end(f, &rig_err) : rc;
}

tsh_status rig_read(const void *bytes, size_t n, int format) {
  char cells[4096];
  file *f;
  tsh_status rc, first = TSH_OK;
  rig_err = (tsh_err){.size = sizeof rig_err};
  rc = file_open(rig_file(bytes, n), format, NULL, &f, &rig_err);
  for (int64_t i = 0; rc == TSH_OK && i < file_count(f); i++) {
    const file_entry *e = file_at(f, i);
    if (e->why) continue;
    cr_assert_leq(e->bytes, (uint64_t)n * 1032, "an entry beyond its file");
    first = read_entry(f, i, e->dtype, cells, sizeof cells);
    if (first != TSH_OK) break;
  }
  if (rc == TSH_OK) file_close(f);
  if (rc == TSH_OK) rc = first;
  cr_assert(rc == TSH_OK || rig_err.text[0], "an error without a text");
  cr_assert(rc == TSH_OK || rig_err.code == rc);
  return shorten(rc);
}

void *rig_elements(const void *bytes, size_t n, int format, int64_t i,
                   int dtype) {
  file *f;
  char *cells = NULL;
  tsh_status rc;
  rig_err = (tsh_err){.size = sizeof rig_err};
  rc = file_open(rig_file(bytes, n), format, NULL, &f, &rig_err);
  if (rc == TSH_OK) {
    const file_entry *e = file_at(f, i);
    if (!dtype) dtype = e->dtype;
    cells = malloc((size_t)e->bytes * 8 + 8192);
    rc = read_entry(f, i, dtype, cells, e->bytes * 8 + 8192);
    file_close(f);
  }
  shorten(rc);
  if (rc == TSH_OK) return cells;
  free(cells);
  return NULL;
}

char *rig_write(const file_content *c, const void *const *cells, size_t *n) {
  file_out *o = NULL;
  tsh_status rc;
  char *bytes = NULL;
  make_folder();
  rig_err = (tsh_err){.size = sizeof rig_err};
  rc = file_create(path, c, NULL, &o, &rig_err);
  for (int64_t i = 0; rc == TSH_OK && i < c->n; i++)
    rc = file_put(o, cells[i], &rig_err);
  if (rc == TSH_OK) rc = file_commit(o, &rig_err);
  file_discard(o);
  if (rc == TSH_OK) {
    FILE *f = fopen(path, "rb");
    long size = 0;
    cr_assert(f && fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0);
    rewind(f);
    bytes = malloc((size_t)size + 1);
    *n = fread(bytes, 1, (size_t)size, f);
    fclose(f);
  }
  shorten(rc);
  return bytes;
}
