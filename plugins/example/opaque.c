/* opaque.c - memory and queue of a device that hides all it can, so that a host
 * which leans on more than the ABI promises fails here and not on a GPU:
 *
 * - memory is one mapping that nobody may touch but while a batch or a copy of
 *   this plugin runs; new memory is poisoned, f32 and f64 read nan;
 * - a batch is only kept by submit, and runs when it is waited for, or when a
 *   copy needs what it computes; its error is reported by wait;
 * - the first poll of a batch always says that it is not finished;
 * - memory freed while work waits stays until that work is done. */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "example.h"

#if OPAQUE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct ex_batch ex_batch;
struct ex_batch {
  ex_batch *next;
  uint64_t ticket;
  int done, polled;
  tsh_batch batch; /* of copies; everything is in one block with this */
  tsh_err err;     /* err.code: how it ended */
};

struct ex_queue {
  char *base;
  uint64_t size;
  tsh_buf *bufs; /* by address */
  ex_batch *head, **tail;
  uint64_t done; /* last ticket that is done */
};

/* ---- the mapping -------------------------------------------------------- */
static void show(ex_queue *q) {
  mprotect(q->base, q->size, PROT_READ | PROT_WRITE);
}

static void hide(ex_queue *q) { mprotect(q->base, q->size, PROT_NONE); }

/* Only addresses are taken, so there may be twice as many as bytes: freed gaps
 * then do not matter. */
tsh_status ex_queue_open(tsh_dev *dev, tsh_err *err) {
  const uint64_t page = UINT64_C(1) << 21;
  ex_queue *q = calloc(1, sizeof *q);
  if (!q) return kit_fail(err, TSH_ENOMEM, "no memory for a queue");
  q->size = (dev->limit / page + 1) * 2 * page;
  q->tail = &q->head;
  for (;; q->size /= 2) {
    q->base = mmap(NULL, q->size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (q->base != MAP_FAILED) break;
    if (q->size > 2 * page) continue;
    free(q);
    return kit_fail(err, TSH_ENOMEM, "no addresses for device memory");
  }
  dev->queue = q;
  return TSH_OK;
}

static uint64_t rounded(uint64_t bytes) {
  return (bytes + EX_ALIGN - 1) & ~(uint64_t)(EX_ALIGN - 1);
}

/* The first gap that is wide enough; returns the link where it belongs. */
static tsh_buf **find_gap(ex_queue *q, uint64_t bytes, char **at) {
  char *end = q->base;
  tsh_buf **link = &q->bufs;
  for (; *link; link = &(*link)->next) {
    if ((uint64_t)((*link)->data - end) >= bytes) break;
    end = (*link)->data + rounded((*link)->bytes);
  }
  *at = end;
  uint64_t left = q->size - (uint64_t)(end - q->base);
  return *link || left >= bytes ? link : NULL;
}

/* Really frees what was given back and is no longer in use. */
static int sweep(tsh_dev *dev) {
  int n = 0;
  for (tsh_buf **link = &dev->queue->bufs; *link;) {
    tsh_buf *b = *link;
    if (b->freed && b->last <= dev->queue->done) {
      *link = b->next;
      dev->used -= b->bytes;
      free(b);
      n++;
    } else {
      link = &b->next;
    }
  }
  return n;
}

/* ---- batches ------------------------------------------------------------ */
static void batch_free(ex_batch *x) {
  if (!x) return;
  for (uint32_t i = 0; i < x->batch.nlaunch; i++)
    ex_prog_release(ex_launch(&x->batch, i)->prog);
  free(x);
}

/* Bytes behind a launch. All of its parts are made of 8 bytes. */
static size_t launch_bytes(const tsh_launch *l) {
  size_t narg = l->prog->narg, rank = l->prog->rank;
  return narg * (sizeof(tsh_view) + rank * sizeof(int64_t)) +
         rank * sizeof(int64_t) + l->prog->nscalar * sizeof(tsh_scalar);
}

/* Copies n bytes to *to and moves it on. */
static void *keep(char **to, const void *from, size_t n) {
  void *at = *to;
  if (n) memcpy(at, from, n);
  *to += n;
  return at;
}

/* A batch is borrowed, so whoever runs it later needs a copy of it all. */
static ex_batch *batch_copy(const tsh_batch *b) {
  size_t bytes = sizeof(ex_batch) + b->nlaunch * sizeof(tsh_launch);
  for (uint32_t i = 0; i < b->nlaunch; i++)
    bytes += launch_bytes(ex_launch(b, i));
  ex_batch *x = calloc(1, bytes);
  if (!x) return NULL;
  tsh_launch *to = (tsh_launch *)(x + 1);
  char *at = (char *)(to + b->nlaunch);
  for (uint32_t i = 0; i < b->nlaunch; i++) {
    const tsh_launch *l = ex_launch(b, i);
    const tsh_prog *p = l->prog;
    size_t axes = p->rank * sizeof(int64_t);
    to[i] = *l;
    to[i].prog = ex_prog_retain(l->prog);
    to[i].extent = keep(&at, l->extent, axes);
    to[i].scalar = keep(&at, l->scalar, p->nscalar * sizeof(tsh_scalar));
    tsh_view *v = keep(&at, l->arg, p->narg * sizeof(tsh_view));
    for (uint32_t j = 0; j < p->narg; j++)
      v[j].stride = keep(&at, v[j].stride, axes);
    to[i].arg = v;
  }
  x->batch = *b;
  x->batch.launch = to;
  x->batch.launch_size = sizeof *to;
  x->err = (tsh_err){.size = sizeof x->err, .launch = TSH_NO_LAUNCH, .at = -1};
  return x;
}

static void run(tsh_dev *dev, ex_batch *x) {
  if (x->done) return;
  show(dev->queue);
  ex_run_batch(&x->batch, dev->cancel, &x->err);
  hide(dev->queue);
  x->done = 1;
  dev->queue->done = x->ticket;
  sweep(dev);
}

static void run_all(tsh_dev *dev) {
  for (ex_batch *x = dev->queue->head; x; x = x->next) run(dev, x);
}

static void pop(ex_queue *q) {
  ex_batch *x = q->head;
  q->head = x->next;
  if (!q->head) q->tail = &q->head;
  batch_free(x);
}

tsh_status ex_submit(tsh_dev *dev, const tsh_batch *batch, tsh_err *err) {
  ex_batch *x = batch_copy(batch);
  if (!x) return kit_fail(err, TSH_ENOMEM, "no memory to keep a batch");
  x->ticket = dev->ticket;
  *dev->queue->tail = x;
  dev->queue->tail = &x->next;
  return TSH_OK;
}

tsh_status ex_wait(tsh_dev *dev, uint64_t ticket, uint64_t timeout,
                   tsh_err *err) {
  ex_queue *q = dev->queue;
  tsh_status rc = TSH_OK;
  while (!rc && q->head && q->head->ticket <= ticket) {
    ex_batch *x = q->head;
    if (!x->done && !timeout && !x->polled++)
      return kit_fail(err, TSH_EPENDING, "not finished yet");
    run(dev, x);
    if ((rc = x->err.code)) kit_fail(err, rc, "%s", x->err.text);
    if (rc && err) {
      err->launch = x->err.launch;
      err->at = x->err.at;
      err->ticket = x->ticket;
    }
    pop(q);
  }
  return rc;
}

void ex_touch_begin(tsh_dev *dev) {
  run_all(dev);
  show(dev->queue);
}

void ex_touch_end(tsh_dev *dev) { hide(dev->queue); }

/* ---- buffers ------------------------------------------------------------ */
tsh_status ex_alloc(tsh_dev *dev, uint64_t bytes, tsh_buf **out, tsh_err *err) {
  ex_queue *q = dev->queue;
  tsh_status rc;
  char *at;
  tsh_buf **link = NULL;
  tsh_buf *b = calloc(1, sizeof *b);
  if (!b) return kit_fail(err, TSH_ENOMEM, "no memory for a buffer");
  /* Freed memory that work still uses may be what is missing: finish it. */
  if ((rc = ex_room(dev, bytes, err)) ||
      !(link = find_gap(q, rounded(bytes), &at))) {
    run_all(dev);
    rc = ex_room(dev, bytes, err);
    if (!rc && !(link = find_gap(q, rounded(bytes), &at)))
      rc = kit_fail(err, TSH_ENOMEM, "no gap of %llu bytes",
                    (unsigned long long)bytes);
  }
  if (rc) {
    free(b);
    return rc;
  }
  *b = (tsh_buf){.data = at, .bytes = bytes, .next = *link};
  *link = b;
  dev->used += bytes;
  if (dev->used > dev->peak) dev->peak = dev->used;
  show(q);
  memset(at, 0xff, bytes);
  hide(q);
  *out = b;
  return TSH_OK;
}

void ex_free(tsh_dev *dev, tsh_buf *b) {
  b->freed = 1;
  b->last = dev->ticket;
  if (!dev->queue->head) dev->queue->done = dev->ticket;
  sweep(dev);
}

void ex_queue_close(tsh_dev *dev) {
  ex_queue *q = dev->queue;
  if (!q) return;
  while (q->head) pop(q);
  for (tsh_buf *b = q->bufs, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  munmap(q->base, q->size);
  free(q);
}

#endif
