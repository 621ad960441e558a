/* direct.c - memory and queue of the plain device: memory is the machine's own
 * and a batch is finished when submit returns. This is all that a synchronous
 * plugin needs. */
#include "example.h"

#if !OPAQUE
#include <stdlib.h>

tsh_status ex_queue_open(tsh_dev *dev, tsh_err *err) {
  (void)dev, (void)err;
  return TSH_OK;
}

void ex_queue_close(tsh_dev *dev) { (void)dev; }

/* aligned_alloc wants whole multiples of the alignment. */
static uint64_t rounded(uint64_t bytes) {
  return (bytes + EX_ALIGN - 1) & ~(uint64_t)(EX_ALIGN - 1);
}

tsh_status ex_alloc(tsh_dev *dev, uint64_t bytes, tsh_buf **out, tsh_err *err) {
  tsh_status rc = ex_room(dev, bytes, err);
  if (rc) return rc;
  tsh_buf *b = calloc(1, sizeof *b);
  if (b) b->data = aligned_alloc(EX_ALIGN, rounded(bytes));
  if (!b || !b->data) {
    free(b);
    return kit_fail(err, TSH_ENOMEM, "no memory for %llu bytes",
                    (unsigned long long)bytes);
  }
  b->bytes = bytes;
  dev->used += bytes;
  if (dev->used > dev->peak) dev->peak = dev->used;
  *out = b;
  return TSH_OK;
}

void ex_free(tsh_dev *dev, tsh_buf *b) {
  dev->used -= b->bytes;
  free(b->data);
  free(b);
}

tsh_status ex_submit(tsh_dev *dev, const tsh_batch *batch, tsh_err *err) {
  return ex_run_batch(batch, dev->cancel, err);
}

tsh_status ex_wait(tsh_dev *dev, uint64_t ticket, uint64_t timeout,
                   tsh_err *err) {
  (void)dev, (void)ticket, (void)timeout, (void)err;
  return TSH_OK; /* an error was reported by submit */
}

void ex_touch_begin(tsh_dev *dev) { (void)dev; }

void ex_touch_end(tsh_dev *dev) { (void)dev; }

#endif
