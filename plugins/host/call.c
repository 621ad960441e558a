/* call.c - calls on an open device. Each keeps the sizes right that the ABI
 * asks for, and turns a plugin's bare failure into a sentence. */
#include "set.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLICE_NS = 50 * 1000 * 1000 };

const char *dev_name(const dev *d) { return d->name; }
uint32_t dev_id(const dev *d) { return d->id; }
const tsh_props *dev_props(const dev *d) { return &d->props; }

int dev_has_op(const dev *d, int op, int compute_dtype) {
  if (op < 0 || (uint32_t)op >= d->props.nops) return 0;
  if (compute_dtype < 0 || compute_dtype >= TSH_NDTYPE) return 0;
  return (d->props.op_types[op] & TSH_BIT(compute_dtype)) != 0;
}

int dev_has_dtype(const dev *d, int dtype) {
  if (dtype < 0 || dtype >= TSH_NDTYPE) return 0;
  return (d->props.storage & TSH_BIT(dtype)) != 0;
}

/* "149 GiB"; the text lies in `text`. */
static const char *in_units(uint64_t bytes, char *text, size_t size) {
  static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double v = (double)bytes;
  int i = 0;
  while (v >= 1024 && i < 5) v /= 1024, i++;
  snprintf(text, size, v < 100 && i ? "%.3g %s" : "%.0f %s", v, unit[i]);
  return text;
}

uint64_t dev_limit(const dev *d) {
  const dev_set *set = d->plugin->set;
  return d->plugin == set->plugin[0] ? set->memory : 0;
}

/* Are `bytes` more within the limit? What the device keeps for later goes
 * before anything is refused. */
static tsh_status keep_limit(dev *d, uint64_t bytes, tsh_err *err) {
  uint64_t limit = dev_limit(d);
  tsh_memstat m = {.size = sizeof m};
  char need[32], used[32], most[32];
  if (!limit || dev_memstat(d, 0, &m, NULL) != TSH_OK) return TSH_OK;
  if (m.used <= limit && bytes <= limit - m.used) {
    if (m.cached > limit - m.used - bytes) dev_memstat(d, 1, &m, NULL);
    return TSH_OK;
  }
  in_units(bytes, need, sizeof need);
  in_units(m.used, used, sizeof used);
  in_units(limit, most, sizeof most);
  if (strcmp(need, most) == 0) { /* what is missing is less than a digit */
    snprintf(need, sizeof need, "%" PRIu64 " B", bytes);
    snprintf(used, sizeof used, "%" PRIu64 " B", m.used);
    snprintf(most, sizeof most, "%" PRIu64 " B", limit);
  }
  return dev_fail(
      err, TSH_ENOMEM,
      "out of memory on %s: need %s, %s of the limit of %s are in use", d->name,
      need, used, most);
}

/* Success without a result is a failure. */
static tsh_status result(const dev *d, const char *entry, tsh_status rc,
                         const void *got, tsh_err *err) {
  rc = dev_call_end(d->name, entry, rc, err);
  if (rc == TSH_OK && !got)
    rc = dev_fail(err, TSH_EDEVICE, "%s: %s gave no result", d->name, entry);
  return rc;
}

tsh_status dev_alloc(dev *d, uint64_t bytes, tsh_buf **out, tsh_err *err) {
  tsh_buf *buf = NULL;
  tsh_err spare;
  tsh_status rc;
  char need[32], most[32];
  *out = NULL;
  if (bytes == 0)
    return dev_fail(err, TSH_EINVAL, "%s: a buffer of 0 bytes", d->name);
  if (bytes > d->props.max_alloc)
    return dev_fail(err, TSH_ENOMEM,
                    "out of memory on %s: need %s, one buffer may have %s",
                    d->name, in_units(bytes, need, sizeof need),
                    in_units(d->props.max_alloc, most, sizeof most));
  if ((rc = keep_limit(d, bytes, err)) != TSH_OK) return rc;
  err = dev_call_begin(err, &spare);
  rc = d->plugin->table.alloc(d->handle, bytes, &buf, err);
  rc = result(d, "alloc", rc, buf, err);
  if (rc == TSH_OK) *out = buf;
  return rc;
}

void dev_free(dev *d, tsh_buf *buf) {
  if (buf) d->plugin->table.free(d->handle, buf);
}

static tsh_status copy(dev *d, const tsh_copy *what, tsh_err *err) {
  tsh_err spare;
  tsh_status rc;
  if (what->bytes == 0) return TSH_OK;
  err = dev_call_begin(err, &spare);
  rc = d->plugin->table.copy(d->handle, what, err);
  return dev_call_end(d->name, "copy", rc, err);
}

tsh_status dev_write(dev *d, tsh_buf *dst, uint64_t at, const void *src,
                     uint64_t bytes, tsh_err *err) {
  /* One field serves both ways; a plugin only reads it when dst is set. */
  tsh_copy what = {.size = sizeof what,
                   .dst = dst,
                   .dst_at = at,
                   .bytes = bytes,
                   .host = (void *)src};
  return copy(d, &what, err);
}

tsh_status dev_read(dev *d, tsh_buf *src, uint64_t at, void *dst,
                    uint64_t bytes, tsh_err *err) {
  tsh_copy what = {.size = sizeof what,
                   .src = src,
                   .src_at = at,
                   .bytes = bytes,
                   .host = dst};
  return copy(d, &what, err);
}

tsh_status dev_copy_within(dev *d, tsh_buf *dst, uint64_t dst_at, tsh_buf *src,
                           uint64_t src_at, uint64_t bytes, tsh_err *err) {
  tsh_copy what = {.size = sizeof what,
                   .dst = dst,
                   .src = src,
                   .dst_at = dst_at,
                   .src_at = src_at,
                   .bytes = bytes};
  return copy(d, &what, err);
}

void *dev_host_ptr(dev *d, tsh_buf *buf) {
  const tsh_plugin *table = &d->plugin->table;
  return TSH_HAS(table, host_ptr) ? table->host_ptr(d->handle, buf) : NULL;
}

tsh_status dev_compile(dev *d, const tsh_kernel *k, tsh_prog **out,
                       tsh_err *err) {
  tsh_prog *prog = NULL;
  tsh_err spare;
  tsh_status rc;
  *out = NULL;
  err = dev_call_begin(err, &spare);
  rc = d->plugin->table.compile(d->handle, k, &prog, err);
  rc = result(d, "compile", rc, prog, err);
  if (rc == TSH_OK) *out = prog;
  return rc;
}

void dev_drop(dev *d, tsh_prog *prog) {
  if (prog) d->plugin->table.drop(d->handle, prog);
}

tsh_status dev_submit(dev *d, const tsh_batch *batch, uint64_t *ticket,
                      tsh_err *err) {
  tsh_err spare;
  tsh_status rc;
  *ticket = 0;
  err = dev_call_begin(err, &spare);
  rc = d->plugin->table.submit(d->handle, batch, ticket, err);
  return dev_call_end(d->name, "submit", rc, err);
}

tsh_status dev_wait(dev *d, uint64_t ticket, tsh_err *err) {
  tsh_err spare;
  tsh_status rc;
  do {
    err = dev_call_begin(err, &spare);
    rc = d->plugin->table.wait(d->handle, ticket, SLICE_NS, err);
  } while (rc == TSH_EPENDING);
  return dev_call_end(d->name, "wait", rc, err);
}

tsh_status dev_memstat(dev *d, int trim, tsh_memstat *out, tsh_err *err) {
  const tsh_plugin *table = &d->plugin->table;
  tsh_memstat stat = {.size = sizeof stat};
  tsh_err spare;
  tsh_status rc;
  *out = stat;
  if (!TSH_HAS(table, memstat))
    return dev_fail(err, TSH_EUNSUPPORTED, "%s does not count its memory",
                    d->name);
  err = dev_call_begin(err, &spare);
  rc = table->memstat(d->handle, trim, &stat, err);
  stat.size = sizeof stat;
  *out = stat;
  return dev_call_end(d->name, "memstat", rc, err);
}
