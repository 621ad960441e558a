/* move.c - copies between two devices, by the shortest way that both have. */
#include "set.h"

#include <stdlib.h>

enum { BOUNCE = 16 * 1024 * 1024 };

/* One move; `at` counts from both beginnings. */
typedef struct {
  dev *dst, *src;
  tsh_buf *to, *from;
  uint64_t to_at, from_at, bytes;
} move;

static tsh_status by_peer(const move *m, tsh_err *err) {
  const tsh_plugin *table = &m->dst->plugin->table;
  tsh_err spare;
  tsh_status rc;
  if (m->dst->plugin != m->src->plugin || !TSH_HAS(table, copy_peer))
    return TSH_EUNSUPPORTED;
  err = dev_call_begin(err, &spare);
  rc = table->copy_peer(m->dst->handle, m->to, m->to_at, m->src->handle,
                        m->from, m->from_at, m->bytes, err);
  return dev_call_end(m->dst->name, "copy_peer", rc, err);
}

/* Memory seen through a host pointer may still be in use by work submitted
 * before. A copy comes after all such work, and unlike wait it takes no error
 * that somebody else is to see: one byte will do. */
static tsh_status settle(dev *d, tsh_buf *buf, uint64_t at, tsh_err *err) {
  char byte;
  return dev_read(d, buf, at, &byte, 1, err);
}

static tsh_status by_pointer(const move *m, tsh_err *err) {
  char *p = dev_host_ptr(m->src, m->from);
  tsh_status rc;
  if (p) {
    rc = settle(m->src, m->from, m->from_at, err);
    if (rc != TSH_OK) return rc;
    return dev_write(m->dst, m->to, m->to_at, p + m->from_at, m->bytes, err);
  }
  p = dev_host_ptr(m->dst, m->to);
  if (!p) return TSH_EUNSUPPORTED;
  rc = settle(m->dst, m->to, m->to_at, err);
  if (rc != TSH_OK) return rc;
  return dev_read(m->src, m->from, m->from_at, p + m->to_at, m->bytes, err);
}

static tsh_status by_bounce(const move *m, tsh_err *err) {
  const uint32_t *cancel = &m->src->plugin->set->cancel;
  uint64_t step = m->bytes < BOUNCE ? m->bytes : BOUNCE;
  tsh_status rc = TSH_OK;
  void *buffer = malloc(step);
  if (!buffer)
    return dev_fail(err, TSH_ENOMEM, "no memory to copy from %s to %s",
                    m->src->name, m->dst->name);
  for (uint64_t at = 0; at < m->bytes && rc == TSH_OK; at += step) {
    uint64_t n = m->bytes - at < step ? m->bytes - at : step;
    if (__atomic_load_n(cancel, __ATOMIC_RELAXED)) {
      rc = dev_fail(err, TSH_ECANCELLED, "copy from %s to %s interrupted",
                    m->src->name, m->dst->name);
      break;
    }
    rc = dev_read(m->src, m->from, m->from_at + at, buffer, n, err);
    if (rc == TSH_OK)
      rc = dev_write(m->dst, m->to, m->to_at + at, buffer, n, err);
  }
  free(buffer);
  return rc;
}

tsh_status dev_move(dev *dst, tsh_buf *to, uint64_t to_at, dev *src,
                    tsh_buf *from, uint64_t from_at, uint64_t bytes,
                    tsh_err *err) {
  const move m = {dst, src, to, from, to_at, from_at, bytes};
  tsh_status rc;
  if (bytes == 0) return TSH_OK;
  if (dst == src)
    return dev_copy_within(dst, to, to_at, from, from_at, bytes, err);
  rc = by_peer(&m, err);
  if (rc == TSH_EUNSUPPORTED) rc = by_pointer(&m, err);
  if (rc == TSH_EUNSUPPORTED) rc = by_bounce(&m, err);
  return rc;
}
