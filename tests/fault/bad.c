/* bad.c - a small plugin with one fault, chosen by a -D switch; variants.am
 * lists the switches. Without one it is a sound plugin of two devices whose
 * memory is the host's and whose programs do nothing.
 *
 * TSH_TEST_MARKER names a file; what happens to the library in the process of
 * number TSH_TEST_HOST is appended there: "loaded", "open 0", "close 0". */
#include "tsh_plugin.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MAJOR
#define MAJOR TSH_ABI_MAJOR
#endif
#ifndef MINOR
#define MINOR TSH_ABI_MINOR
#endif
#ifndef SIZE
#define SIZE sizeof(tsh_plugin)
#endif
#ifndef COUNT
#define COUNT 2
#endif
#define MANDATORY offsetof(tsh_plugin, host_ptr)

struct tsh_dev {
  uint32_t index, nalloc;
  uint64_t ticket;
};

static void mark(const char *what, uint32_t index) {
  const char *path = getenv("TSH_TEST_MARKER"), *host = getenv("TSH_TEST_HOST");
  FILE *f = path && host && atol(host) == getpid() ? fopen(path, "a") : NULL;
  if (!f) return;
  fprintf(f, "%s %u\n", what, (unsigned)index);
  fclose(f);
}

__attribute__((constructor)) static void loaded(void) {
#ifdef CRASHES_EARLY
  raise(SIGSEGV);
#endif
  mark("loaded", 0);
}

static tsh_status fail(tsh_err *err, tsh_status code, const char *text) {
  err->code = code;
  strcpy(err->text, text);
  return code;
}

/* ---- devices ------------------------------------------------------------ */
static uint32_t bad_count(tsh_err *err) {
#ifdef SAYS_WHY
  fail(err, TSH_ENODEV, "no driver: libfault.so.1 not found");
#elif defined UNENDED
  err->size = 0;
  memset(err->text, '\n', sizeof err->text);
#else
  (void)err;
#endif
  return COUNT;
}

static const uint32_t op_types[TSH_NOPS] = {
    [TSH_OP_add] = TSH_BIT(TSH_f32) | TSH_BIT(TSH_i32),
};

/* One absurdity per device; the last device only looks absurd. */
static void spoil(uint32_t index, tsh_props *p) {
  if (index == 0) p->align = 96;
  if (index == 1) p->align = 32;
  if (index == 2) p->max_rank = 99;
  if (index == 3) p->max_rank = 7;
  if (index == 4) p->op_types = NULL;
  if (index == 5) p->storage &= ~TSH_BIT(TSH_i64);
  if (index == 6) p->max_args = 1;
  if (index == 7) {
    p->size = 0;
    p->nops = UINT32_MAX;
    p->max_rank = p->max_args = p->max_insts = p->max_phases = 0;
    p->max_loop = p->max_phase_inner = p->max_alloc = UINT64_MAX;
    memset(p->name, 'n', sizeof p->name);
    p->name[1] = '\033';
  }
}

static tsh_status bad_props(uint32_t index, tsh_props *out, tsh_err *err) {
#ifdef PROPS_FAIL
  return fail(err, TSH_EDEVICE, "the device fell off the bus");
#endif
  (void)err;
  out->kind = TSH_NPU;
  snprintf(out->name, sizeof out->name, "fault device %u", (unsigned)index);
  out->memory = 1 << 20;
  out->max_args = out->max_insts = out->max_phases = 64;
  out->max_rank = 8;
  out->max_loop = out->max_phase_inner = out->max_alloc = 1 << 20;
  out->align = 64;
  out->storage = TSH_BIT(TSH_bool) | TSH_BIT(TSH_i32) | TSH_BIT(TSH_i64) |
                 TSH_BIT(TSH_f32);
  out->nops = TSH_NOPS;
  out->op_types = op_types;
#ifdef ABSURD
  spoil(index, out);
#else
  (void)spoil;
#endif
  return TSH_OK;
}

static tsh_status bad_open(uint32_t index, const tsh_host *host, tsh_dev **out,
                           tsh_err *err) {
  (void)host;
  (void)err;
  mark("open", index);
#ifdef OPEN_FAILS
  return TSH_EDEVICE; /* and says nothing */
#elif defined OPEN_SAYS
  return fail(err, TSH_ENOMEM, "the device is in use by process 42");
#elif defined NO_RESULT
  return TSH_OK;
#endif
  *out = calloc(1, sizeof **out);
  if (!*out) return fail(err, TSH_ENOMEM, "no memory for a device");
  (*out)->index = index;
  return TSH_OK;
}

static void bad_close(tsh_dev *dev) {
  mark("close", dev->index);
  free(dev);
}

/* ---- memory ------------------------------------------------------------- */
static tsh_status bad_alloc(tsh_dev *dev, uint64_t bytes, tsh_buf **out,
                            tsh_err *err) {
#ifdef ALLOC_FAILS /* every n-th */
  if (++dev->nalloc % ALLOC_FAILS == 0)
    return fail(err, TSH_ENOMEM, "the fault device is full");
#endif
#ifdef STATUS
  return STATUS; /* and says nothing */
#elif defined NO_BUFFER
  return TSH_OK;
#endif
  (void)dev;
  *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
  return *out ? TSH_OK : fail(err, TSH_ENOMEM, "no memory");
}

static void bad_free(tsh_dev *dev, tsh_buf *buf) {
  (void)dev;
  free(buf);
}

static tsh_status bad_copy(tsh_dev *dev, const tsh_copy *c, tsh_err *err) {
  char *dst = c->dst ? (char *)c->dst + c->dst_at : (char *)c->host;
  const char *src = c->src ? (char *)c->src + c->src_at : (char *)c->host;
  (void)dev;
  (void)err;
  memcpy(dst, src, c->bytes);
  return TSH_OK;
}

static void *bad_host_ptr(tsh_dev *dev, tsh_buf *buf) {
  (void)dev;
  return buf;
}

/* ---- programs ----------------------------------------------------------- */
static tsh_status bad_compile(tsh_dev *dev, const tsh_kernel *kernel,
                              tsh_prog **out, tsh_err *err) {
  (void)dev;
  (void)kernel;
#ifdef COMPILE_FAILS
  return fail(err, TSH_EUNSUPPORTED, "the compiler of the device has no op 7");
#endif
  *out = malloc(1);
  return *out ? TSH_OK : fail(err, TSH_ENOMEM, "no memory");
}

static void bad_drop(tsh_dev *dev, tsh_prog *prog) {
  (void)dev;
  free(prog);
}

static tsh_status bad_submit(tsh_dev *dev, const tsh_batch *batch,
                             uint64_t *ticket, tsh_err *err) {
  (void)batch;
  (void)err;
  *ticket = ++dev->ticket;
  return TSH_OK;
}

static tsh_status bad_wait(tsh_dev *dev, uint64_t ticket, uint64_t timeout_ns,
                           tsh_err *err) {
  (void)dev;
  (void)ticket;
  (void)timeout_ns;
  (void)err;
  return TSH_OK;
}

static const tsh_plugin table = {
    .size = SIZE,
    .major = (uint16_t)(MAJOR),
    .minor = (uint16_t)(MINOR),
#ifndef NO_STRINGS
    .name = "fault",
    .version = "1.2.3",
#endif
    .count = bad_count,
    .props = bad_props,
    .open = bad_open,
    .close = bad_close,
    .alloc = bad_alloc,
    .free = bad_free,
    .copy = bad_copy,
#ifndef NO_COMPILE
    .compile = bad_compile,
#else
    .compile = NULL,
#endif
    .drop = bad_drop,
    .submit = bad_submit,
    .wait = bad_wait,
    .host_ptr = bad_host_ptr,
};

#ifdef NO_ENTRY
/* Keeps the rest from being unused; the name that counts is missing. */
TSH_EXPORT const tsh_plugin *tsh_plugin_qeury(uint32_t major, uint32_t minor);
#define tsh_plugin_query tsh_plugin_qeury
#endif

#ifdef TWO_SYMBOLS
TSH_EXPORT int tsh_plugin_quiet;
int tsh_plugin_quiet = 1;
#endif

const tsh_plugin *tsh_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major;
  (void)host_minor;
  (void)bad_compile;
#ifdef QUERY_CRASHES
  raise(SIGSEGV);
#elif defined QUERY_EXITS
  exit(7);
#elif defined QUERY_HANGS
  for (;;) pause();
#endif
#ifdef NO_TABLE
  (void)table;
  return NULL;
#elif defined WILD_TABLE
  (void)table;
  return (const tsh_plugin *)(uintptr_t)64;
#else
  return &table;
#endif
}
