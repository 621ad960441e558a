/* example.c - a complete device plugin for tsh, made to be copied. Its devices
 * are the machine itself, one point at a time. It shows what each entry of
 * tsh_plugin must do and has nothing that a plugin need not have.
 *
 * To begin your own: copy this folder, let ex_alloc and the copies talk to your
 * device, translate in ex_compile, and run your translation where ex_run_batch
 * walks over values. Declare in op_types what you have: the host cuts programs
 * to that. Then run tsh-conform on the result. */
#include "example.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory of the machine ---------------------------------------------- */
static uint64_t machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* What could be used now. The system would promise more, and kill us later. */
static uint64_t machine_available(void) {
  unsigned long long kib;
  char line[128];
  FILE *f = fopen("/proc/meminfo", "re");
  if (!f) return machine_memory();
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "MemAvailable: %llu kB", &kib) != 1) continue;
    fclose(f);
    return kib * 1024;
  }
  fclose(f);
  return machine_memory();
}

/* TSH_EXAMPLE_MEM=bytes is for tests of what happens when memory ends. */
static uint64_t memory_limit(void) {
  const char *s = getenv("TSH_EXAMPLE_MEM");
  uint64_t limit = s ? strtoull(s, NULL, 10) : 0;
  if (!limit) limit = machine_memory();
  return limit ? limit : UINT64_C(1) << 32;
}

tsh_status ex_room(const tsh_dev *dev, uint64_t bytes, tsh_err *err) {
  enum { SMALL = 1 << 24 }; /* not worth a look at the machine */
  uint64_t left = dev->limit - dev->used;
  if (bytes > left || (bytes > SMALL && bytes > machine_available()))
    return kit_fail(err, TSH_ENOMEM, "%llu bytes asked, %llu of %llu in use",
                    (unsigned long long)bytes, (unsigned long long)dev->used,
                    (unsigned long long)dev->limit);
  return TSH_OK;
}

/* ---- devices ------------------------------------------------------------ */
/* Bytes of a struct to fill: the host says how much it knows, and a newer one
 * knows more than we. */
static uint32_t known(uint32_t theirs, size_t ours) {
  return theirs < ours ? theirs : (uint32_t)ours;
}

/* Cheap, and from any thread: nothing here depends on an open device. Without
 * a device write into err->text why there is none, and return 0. */
static uint32_t count(tsh_err *err) {
  (void)err;
  return EX_DEVICES;
}

static tsh_status no_device(uint32_t index, tsh_err *err) {
  return kit_fail(err, TSH_ENODEV, "no %s:%u, there are %d", EX_NAME, index,
                  EX_DEVICES);
}

static tsh_status props(uint32_t index, tsh_props *out, tsh_err *err) {
  if (index >= EX_DEVICES) return no_device(index, err);
  tsh_props p = {
      .kind = TSH_CPU,
      .uuid = {'t', 's', 'h', EX_NAME[0], (uint8_t)index},
      .memory = memory_limit(),
      .max_args = EX_MAX_ARGS,
      .max_insts = EX_MAX_INSTS,
      .max_rank = TSH_MAX_RANK,
      .max_phases = EX_MAX_PHASES,
      .max_loop = INT64_MAX,
      .max_phase_inner = INT64_MAX,
      .max_alloc = memory_limit(),
      .align = EX_ALIGN,
      .storage = EX_STORAGE,
      .nops = TSH_NOPS,
      .op_types = ex_op_types,
      .compile_us = 2,
      .launch_us = 0.2,
  };
  snprintf(p.name, sizeof p.name, "%s, point by point", EX_NAME);
  p.size = known(out->size, sizeof p);
  memcpy(out, &p, p.size);
  return TSH_OK;
}

static void close_(tsh_dev *dev) {
  if (!dev) return;
  ex_queue_close(dev);
  free(dev);
}

static tsh_status open_(uint32_t index, const tsh_host *host, tsh_dev **out,
                        tsh_err *err) {
  *out = NULL;
  if (index >= EX_DEVICES) return no_device(index, err);
  tsh_dev *dev = calloc(1, sizeof *dev);
  if (!dev) return kit_fail(err, TSH_ENOMEM, "no memory for a device");
  dev->cancel = host ? host->cancel : NULL;
  dev->limit = memory_limit();
  tsh_status rc = ex_queue_open(dev, err);
  if (!rc)
    *out = dev;
  else
    close_(dev);
  return rc;
}

/* ---- memory ------------------------------------------------------------- */
static tsh_status alloc(tsh_dev *dev, uint64_t bytes, tsh_buf **out,
                        tsh_err *err) {
  *out = NULL;
  if (!bytes) return kit_fail(err, TSH_EINVAL, "a buffer of 0 bytes");
  return ex_alloc(dev, bytes, out, err);
}

static void free_(tsh_dev *dev, tsh_buf *buf) {
  if (buf) ex_free(dev, buf);
}

static int within(const tsh_buf *b, uint64_t at, uint64_t bytes) {
  return !b || (at <= b->bytes && bytes <= b->bytes - at);
}

static tsh_status copy(tsh_dev *dev, const tsh_copy *c, tsh_err *err) {
  if ((!c->dst && !c->src) || ((!c->dst || !c->src) && c->bytes && !c->host))
    return kit_fail(err, TSH_EINVAL, "a copy without %s",
                    c->dst || c->src ? "host memory" : "a buffer");
  if (!within(c->dst, c->dst_at, c->bytes) ||
      !within(c->src, c->src_at, c->bytes))
    return kit_fail(err, TSH_EINVAL, "a copy of %llu bytes leaves its buffer",
                    (unsigned long long)c->bytes);
  ex_touch_begin(dev);
  if (c->bytes)
    memmove(c->dst ? c->dst->data + c->dst_at : c->host,
            c->src ? c->src->data + c->src_at : c->host, c->bytes);
  ex_touch_end(dev);
  return TSH_OK;
}

static tsh_status memstat(tsh_dev *dev, int trim, tsh_memstat *out,
                          tsh_err *err) {
  (void)trim, (void)err; /* nothing is cached */
  tsh_memstat s = {.used = dev->used, .peak = dev->peak};
  s.size = known(out->size, sizeof s);
  memcpy(out, &s, s.size);
  return TSH_OK;
}

#if !OPAQUE
static void *host_ptr(tsh_dev *dev, tsh_buf *buf) {
  (void)dev;
  return buf->data;
}
#endif

/* ---- work --------------------------------------------------------------- */
static tsh_status compile(tsh_dev *dev, const tsh_kernel *kernel,
                          tsh_prog **out, tsh_err *err) {
  (void)dev;
  return ex_compile(kernel, out, err);
}

static void drop(tsh_dev *dev, tsh_prog *prog) {
  (void)dev;
  ex_prog_release(prog);
}

static tsh_status submit(tsh_dev *dev, const tsh_batch *batch, uint64_t *ticket,
                         tsh_err *err) {
  tsh_status rc = ex_check_batch(batch, err);
  *ticket = dev->ticket;
  if (rc) return rc;
  *ticket = ++dev->ticket;
  return ex_submit(dev, batch, err);
}

static tsh_status wait_(tsh_dev *dev, uint64_t ticket, uint64_t timeout_ns,
                        tsh_err *err) {
  if (ticket > dev->ticket)
    return kit_fail(err, TSH_EINVAL, "no ticket %llu yet",
                    (unsigned long long)ticket);
  return ex_wait(dev, ticket, timeout_ns, err);
}

/* ---- the table ---------------------------------------------------------- */
/* Entries that are not named are NULL: the host then does without. */
static const tsh_plugin table = {
    .size = sizeof table,
    .major = TSH_ABI_MAJOR,
    .minor = TSH_ABI_MINOR,
    .name = EX_NAME,
    .version = "0.1",
    .count = count,
    .props = props,
    .open = open_,
    .close = close_,
    .alloc = alloc,
    .free = free_,
    .copy = copy,
    .compile = compile,
    .drop = drop,
    .submit = submit,
    .wait = wait_,
#if !OPAQUE
    .host_ptr = host_ptr,
#endif
    .memstat = memstat,
};

const tsh_plugin *tsh_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor; /* the host compares and refuses */
  return &table;
}
