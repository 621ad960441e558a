/* plugin.c - the table of the cpu plugin and its entries. Batches are done when
 * submit returns. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

/* ---- properties --------------------------------------------------------- */
static char processor[72];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_processor(void) {
  char line[256];
  FILE *f = fopen("/proc/cpuinfo", "r");
  snprintf(processor, sizeof processor, "cpu");
  while (f && fgets(line, sizeof line, f)) {
    char *name = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !name) continue;
    name += strspn(name, ": \t");
    name[strcspn(name, "\n")] = 0;
    snprintf(processor, sizeof processor, "%.60s", name);
    break;
  }
  if (f) fclose(f);
}

static uint32_t count(tsh_err *err) {
  if (err) err->text[0] = 0;
  return cpu_isa_best(err) ? 1 : 0;
}

/* An older host gave a shorter struct: nothing is written beyond its size. */
static void hand_out(void *to, const void *from, size_t size, size_t known) {
  memcpy(to, from, size < known ? size : known);
}

static tsh_status props(uint32_t index, tsh_props *out, tsh_err *err) {
  uint64_t memory = cpu_memory_total();
  tsh_props p = {
      .size = out->size,
      .kind = TSH_CPU,
      .uuid = "tsh cpu",
      .memory = memory,
      .max_args = CPU_MAX_ARGS,
      .max_insts = CPU_MAX_INSTS,
      .max_rank = TSH_MAX_RANK,
      .max_phases = UINT32_MAX,
      .max_loop = INT64_MAX,
      .max_phase_inner = INT64_MAX,
      .max_alloc = memory ? memory : INT64_MAX,
      .align = 64,
      .storage = CPU_STORAGE,
      .nops = TSH_NOPS,
      .op_types = cpu_op_types,
      .compile_us = 5,
      .launch_us = 0.1,
  };
  if (index > 0) return kit_fail(err, TSH_ENODEV, "no device cpu:%u", index);
  const cpu_isa *isa = cpu_isa_best(err);
  if (!isa) return TSH_ENODEV;
  pthread_once(&once, find_processor);
  snprintf(p.name, sizeof p.name, "%s, %s%s", processor,
           isa == &cpu_isa_base ? "" : "x86-64-",
           isa == &cpu_isa_base ? "baseline" : isa->name);
  hand_out(out, &p, out->size, sizeof p);
  return TSH_OK;
}

/* ---- devices ------------------------------------------------------------ */
static tsh_status open_device(uint32_t index, const tsh_host *host,
                              tsh_dev **out, tsh_err *err) {
  *out = NULL;
  if (index > 0) return kit_fail(err, TSH_ENODEV, "no device cpu:%u", index);
  const cpu_isa *isa = cpu_isa_best(err);
  if (!isa) return TSH_ENODEV;
  tsh_status rc = cpu_device_open(isa, &cpu_system, host, out, err);
  /* For tests: threads in the smallest launch. */
  if (rc == TSH_OK && getenv("TSH_SHARE_ALL"))
    (*out)->run.force = CPU_FORCE_SHARE;
  return rc;
}

/* ---- memory ------------------------------------------------------------- */
static tsh_status alloc(tsh_dev *dev, uint64_t bytes, tsh_buf **out,
                        tsh_err *err) {
  return cpu_pool_take(&dev->pool, bytes, out, err);
}

static void free_buffer(tsh_dev *dev, tsh_buf *buf) {
  cpu_pool_give(&dev->pool, buf);
}

static tsh_status copy(tsh_dev *dev, const tsh_copy *c, tsh_err *err) {
  char *to = c->dst ? c->dst->mem + c->dst_at : c->host;
  const char *from = c->src ? c->src->mem + c->src_at : c->host;
  if (c->bytes == 0) return TSH_OK;
  if (!to || !from)
    return kit_fail(err, TSH_EINVAL, "a copy of %llu bytes without memory",
                    (unsigned long long)c->bytes);
  cpu_copy(&dev->run, to, from, c->bytes);
  return TSH_OK;
}

static void *host_ptr(tsh_dev *dev, tsh_buf *buf) {
  (void)dev;
  return buf->mem;
}

static tsh_status memstat(tsh_dev *dev, int trim, tsh_memstat *out,
                          tsh_err *err) {
  (void)err;
  if (trim) cpu_pool_trim(&dev->pool), cpu_run_trim(&dev->run);
  tsh_memstat m = {out->size, 0, dev->pool.used, dev->pool.cached,
                   dev->pool.peak};
  hand_out(out, &m, out->size, sizeof m);
  return TSH_OK;
}

/* ---- work --------------------------------------------------------------- */
static void drop(tsh_dev *dev, tsh_prog *prog) {
  (void)dev;
  cpu_prog_free(prog);
}

static tsh_status run_launch(tsh_dev *dev, const tsh_launch *launch) {
  const tsh_prog *prog = launch->prog;
  cpu_run *run = &dev->run;
  run->bad_at = -1;
  run->cancel = launch->flags & TSH_LAUNCH_UPDATE ? &dev->never : dev->cancel;
  if (prog->form == CPU_FORM_CALL) return cpu_call_run(dev, prog, launch);
  if (prog->form == CPU_FORM_GEMM && !(run->force & CPU_FORCE_PLAIN))
    return dev->isa->gemm(run, prog, launch);
  return dev->isa->program(run, prog, launch);
}

/* A data error does not stop the batch, but UPDATE launches after it do not
 * begin. A stop is told with the first launch that is not good. */
static tsh_status submit(tsh_dev *dev, const tsh_batch *batch, uint64_t *ticket,
                         tsh_err *err) {
  tsh_status first = TSH_OK;
  uint32_t bad = TSH_NO_LAUNCH;
  int64_t at = -1;
  *ticket = ++dev->ticket;
  for (uint32_t i = 0; i < batch->nlaunch; i++) {
    const tsh_launch *launch =
        (const tsh_launch *)((const char *)batch->launch +
                             (size_t)i * batch->launch_size);
    if (first != TSH_OK && (launch->flags & TSH_LAUNCH_UPDATE)) continue;
    tsh_status rc = __atomic_load_n(dev->cancel, __ATOMIC_RELAXED)
                        ? TSH_ECANCELLED
                        : run_launch(dev, launch);
    if (rc == TSH_OK && dev->run.bad_at >= 0) rc = TSH_EINDEX;
    if (rc == TSH_OK) continue;
    if (first == TSH_OK) bad = i, at = rc == TSH_EINDEX ? dev->run.bad_at : -1;
    if (first == TSH_OK || rc != TSH_EINDEX) first = rc;
    if (rc != TSH_EINDEX) break;
  }
  if (first == TSH_OK) return TSH_OK;
  if (first == TSH_EINDEX)
    kit_fail(err, first, "index out of range at element %lld", (long long)at);
  else if (first == TSH_ENOMEM)
    kit_fail(err, first, "out of memory to work in");
  else
    kit_fail(err, first, "stopped at launch %u of %u", bad, batch->nlaunch);
  if (err && err->size >= offsetof(tsh_err, text))
    err->launch = bad, err->at = first == TSH_EINDEX ? at : -1;
  return first;
}

static tsh_status wait_ticket(tsh_dev *dev, uint64_t ticket,
                              uint64_t timeout_ns, tsh_err *err) {
  (void)timeout_ns;
  if (ticket <= dev->ticket) return TSH_OK;
  return kit_fail(err, TSH_EINVAL, "ticket %llu, the last is %llu",
                  (unsigned long long)ticket, (unsigned long long)dev->ticket);
}

const tsh_plugin *tsh_plugin_query(uint32_t host_major, uint32_t host_minor) {
  static const tsh_plugin table = {
      .size = sizeof table,
      .major = TSH_ABI_MAJOR,
      .minor = TSH_ABI_MINOR,
      .name = "cpu",
      .version = TSH_VERSION,
      .count = count,
      .props = props,
      .open = open_device,
      .close = cpu_device_close,
      .alloc = alloc,
      .free = free_buffer,
      .copy = copy,
      .compile = cpu_compile,
      .drop = drop,
      .submit = submit,
      .wait = wait_ticket,
      .host_ptr = host_ptr,
      .memstat = memstat,
  };
  (void)host_major, (void)host_minor;
  return &table;
}
