/* fake.c - see fake.h. */
#define _XOPEN_SOURCE 700
#include "fake.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

fake_plugin fake = {.count = 1};

struct tsh_dev {
  uint32_t index;
  uint64_t ticket;
};

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...) {
  size_t n = strlen(fake.log);
  va_list args;
  va_start(args, format);
  vsnprintf(fake.log + n, sizeof fake.log - n, format, args);
  va_end(args);
}

/* ---- the builtin -------------------------------------------------------- */
static uint32_t fake_count(tsh_err *err) {
  (void)err;
  return fake.count;
}

static const uint32_t op_types[] = {[TSH_OP_add] = TSH_BIT(TSH_f32)};

static tsh_status fake_props(uint32_t index, tsh_props *out, tsh_err *err) {
  (void)err;
  cr_assert_eq(out->size, sizeof *out);
  out->kind = TSH_CPU;
  snprintf(out->name, sizeof out->name, "fake %u", (unsigned)index);
  out->max_alloc = UINT64_C(1) << 40;
  out->align = 64;
  out->storage = UINT32_MAX;
  out->nops = sizeof op_types / sizeof *op_types;
  out->op_types = op_types;
  return TSH_OK;
}

static tsh_status fake_open(uint32_t index, const tsh_host *host, tsh_dev **out,
                            tsh_err *err) {
  cr_assert_eq(host->size, sizeof *host);
  cr_assert_eq(err->size, sizeof *err);
  fake.cancel = host->cancel;
  *out = calloc(1, sizeof **out);
  if (!*out) return TSH_ENOMEM;
  (*out)->index = index;
  note("open %u, ", (unsigned)index);
  return TSH_OK;
}

static void fake_close(tsh_dev *d) {
  note("close %u, ", (unsigned)d->index);
  free(d);
}

static tsh_status fake_alloc(tsh_dev *d, uint64_t bytes, tsh_buf **out,
                             tsh_err *err) {
  (void)d;
  cr_assert_eq(err->text[0], '\0');
  if (fake.fails) return fake.fails;
  *out = malloc(bytes);
  return *out ? TSH_OK : TSH_ENOMEM;
}

static void fake_free(tsh_dev *d, tsh_buf *buf) {
  (void)d;
  cr_assert_not_null(buf);
  free(buf);
}

static tsh_status fake_copy(tsh_dev *d, const tsh_copy *c, tsh_err *err) {
  char *dst = c->dst ? (char *)c->dst + c->dst_at : (char *)c->host;
  const char *src = c->src ? (char *)c->src + c->src_at : (char *)c->host;
  cr_assert_eq(c->size, sizeof *c);
  cr_assert_eq(err->size, sizeof *err);
  if (fake.cancels && --fake.cancels == 0) *(uint32_t *)fake.cancel = 1;
  note("%s %u %" PRIu64 ", ",
       !c->src  ? "write"
       : c->dst ? "copy"
                : "read",
       (unsigned)d->index, c->bytes);
  if (fake.fails) return fake.fails;
  memcpy(dst, src, c->bytes);
  return TSH_OK;
}

static tsh_status fake_compile(tsh_dev *d, const tsh_kernel *kernel,
                               tsh_prog **out, tsh_err *err) {
  (void)d;
  (void)kernel;
  (void)err;
  if (fake.fails) return fake.fails;
  *out = malloc(1);
  return *out ? TSH_OK : TSH_ENOMEM;
}

static void fake_drop(tsh_dev *d, tsh_prog *prog) {
  (void)d;
  cr_assert_not_null(prog);
  free(prog);
}

static tsh_status fake_submit(tsh_dev *d, const tsh_batch *batch,
                              uint64_t *ticket, tsh_err *err) {
  (void)batch;
  (void)err;
  *ticket = ++d->ticket;
  return fake.fails;
}

static tsh_status fake_wait(tsh_dev *d, uint64_t ticket, uint64_t timeout_ns,
                            tsh_err *err) {
  note("wait %u %" PRIu64 " %" PRIu64 ", ", (unsigned)d->index, ticket,
       timeout_ns / 1000000);
  if (fake.pending-- > 0) return TSH_EPENDING;
  if (!fake.fails) return TSH_OK;
  err->launch = 3;
  err->ticket = ticket;
  err->at = 41;
  return fake.fails;
}

static void *fake_host_ptr(tsh_dev *d, tsh_buf *buf) {
  return fake.pointer[d->index] ? buf : NULL;
}

static tsh_status fake_copy_peer(tsh_dev *dst_dev, tsh_buf *dst,
                                 uint64_t dst_at, tsh_dev *src_dev,
                                 tsh_buf *src, uint64_t src_at, uint64_t bytes,
                                 tsh_err *err) {
  (void)err;
  note("peer %u %u %" PRIu64 ", ", (unsigned)dst_dev->index,
       (unsigned)src_dev->index, bytes);
  memcpy((char *)dst + dst_at, (char *)src + src_at, bytes);
  return TSH_OK;
}

static tsh_status fake_memstat(tsh_dev *d, int trim, tsh_memstat *out,
                               tsh_err *err) {
  (void)err;
  cr_assert_eq(out->size, sizeof *out);
  out->used = d->index + 10;
  out->cached = trim ? 0 : 5;
  return fake.fails;
}

const tsh_plugin *fake_query(uint32_t major, uint32_t minor) {
  static tsh_plugin table;
  const tsh_plugin full = {
      .size = sizeof full,
      .major = (uint16_t)major,
      .minor = (uint16_t)minor,
      .name = "fake",
      .version = "0",
      .count = fake_count,
      .props = fake_props,
      .open = fake_open,
      .close = fake_close,
      .alloc = fake_alloc,
      .free = fake_free,
      .copy = fake_copy,
      .compile = fake_compile,
      .drop = fake_drop,
      .submit = fake_submit,
      .wait = fake_wait,
      .host_ptr = fake.bare ? NULL : fake_host_ptr,
      .copy_peer = fake.peer ? fake_copy_peer : NULL,
      .memstat = fake.bare ? NULL : fake_memstat,
  };
  table = full;
  return &table;
}

/* ---- sets --------------------------------------------------------------- */
dev_set *fake_set(const char *path) {
  dev_options options = {.builtin = fake_query,
                         .scheme = "cpu",
                         .path = path,
                         .no_plugins = path == NULL};
  dev_set *set;
  tsh_err err;
  unsetenv("TSH_PLUGIN_PATH");
  setenv("XDG_DATA_HOME", "/nonexistent", 1);
  cr_assert_eq(dev_set_new(&options, &set, &err), TSH_OK, "%s", err.text);
  return set;
}

dev *fake_get(dev_set *set, const char *name) {
  tsh_err err;
  dev *d;
  cr_assert_eq(dev_get(set, name, &d, &err), TSH_OK, "%s", err.text);
  return d;
}

void fake_ends(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  cr_expect(n >= m && strcmp(text + n - m, end) == 0,
            "\"%s\" does not end in \"%s\"", text, end);
}

dev_plugin_info fake_row(dev_set *set, const char *scheme_or_path) {
  dev_plugin_info row;
  for (uint32_t i = 0; dev_plugin_at(set, i, &row); i++)
    if (strcmp(row.scheme, scheme_or_path) == 0 ||
        strcmp(row.path, scheme_or_path) == 0)
      return row;
  memset(&row, 0, sizeof row);
  return row;
}

/* ---- files -------------------------------------------------------------- */
char *fake_path(const char *folder, const char *name) {
  size_t n = strlen(folder) + strlen(name) + 2;
  char *path = malloc(n);
  cr_assert_not_null(path);
  snprintf(path, n, "%s/%s", folder, name);
  return path;
}

char *fake_folder(void) {
  char made[] = "/tmp/tsh-host-XXXXXX";
  char *folder;
  cr_assert_not_null(mkdtemp(made));
  folder = realpath(made, NULL);
  cr_assert_not_null(folder);
  return folder;
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *at) {
  (void)st;
  (void)flag;
  (void)at;
  return remove(path);
}

void fake_remove(char *folder) {
  nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(folder);
}

void fake_link(const char *folder, const char *name, const char *fault) {
  const char *plugins = getenv("TSH_TEST_PLUGINS");
  char *link = fake_path(folder, name);
  char *file, *target;
  cr_assert_not_null(plugins, "TSH_TEST_PLUGINS: where tests/fault was built");
  file = fake_path(plugins, fault);
  target = realpath(file, NULL);
  cr_assert_not_null(target, "%s is not there", file);
  cr_assert_eq(symlink(target, link), 0);
  free(target);
  free(file);
  free(link);
}

void fake_file(const char *folder, const char *name, const char *content) {
  char *path = fake_path(folder, name);
  FILE *f = fopen(path, "w");
  cr_assert_not_null(f);
  fputs(content, f);
  cr_assert_eq(fclose(f), 0);
  free(path);
}

char *fake_read(const char *path) {
  char *text = calloc(1, 4096);
  FILE *f = fopen(path, "r");
  cr_assert_not_null(text);
  if (!f) return text;
  text[fread(text, 1, 4095, f)] = '\0';
  fclose(f);
  return text;
}
