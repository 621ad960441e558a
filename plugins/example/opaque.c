/* opaque.c - memory and queue of a device that hides all it can, so that a host
 * which leans on more than the ABI promises fails here and not on a GPU:
 *
 * - memory is one mapping that nobody may touch but while a batch or a copy of
 *   this plugin runs; new memory is poisoned, f32 and f64 read nan;
 * - a batch is only kept by submit. It begins, on a thread of the queue's own,
 *   when it is waited for, or when a copy needs what it computes; its error is
 *   reported by wait;
 * - a poll that is the first wait for a batch says that it is not finished;
 * - memory freed while work waits stays until that work is done. */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "example.h"

#if OPAQUE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* The thread touches only what the lock guards, and of a batch that is wanted
 * and not done everything. All else is the caller's alone. */
typedef struct ex_queue ex_queue;
struct ex_queue {
  char *base;
  uint64_t size;
  tsh_buf *bufs; /* by address */
  pthread_t thread;
  int threaded;         /* there is a thread */
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t moved; /* wanted, done or closing has changed */
  int closing;
  int users; /* of the mapping; nobody may touch it when there are none */
  ex_batch *head, **tail;
  uint64_t wanted, done; /* last ticket that may begin, and that is done */
};

/* ---- the mapping -------------------------------------------------------- */
static void show(ex_queue *q) {
  pthread_mutex_lock(&q->lock);
  if (!q->users++) mprotect(q->base, q->size, PROT_READ | PROT_WRITE);
  pthread_mutex_unlock(&q->lock);
}

static void hide(ex_queue *q) {
  pthread_mutex_lock(&q->lock);
  if (!--q->users) mprotect(q->base, q->size, PROT_NONE);
  pthread_mutex_unlock(&q->lock);
}

/* Only addresses are taken, so there may be twice as many as bytes: freed gaps
 * then do not matter. Gives less when there are not so many; NULL for none. */
static char *map(uint64_t limit, uint64_t *size) {
  const uint64_t page = UINT64_C(1) << 21;
  *size = (limit / page + 1) * 2 * page;
  for (; *size >= page; *size /= 2) {
    void *p = mmap(NULL, *size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) return p;
  }
  return NULL;
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

/* Really frees what was given back and is no longer in use. Under the lock. */
static void sweep(tsh_dev *dev) {
  for (tsh_buf **link = &dev->queue->bufs; *link;) {
    tsh_buf *b = *link;
    if (b->freed && b->last <= dev->queue->done) {
      *link = b->next;
      dev->used -= b->bytes;
      free(b);
    } else {
      link = &b->next;
    }
  }
}

/* ---- the thread --------------------------------------------------------- */
/* Runs the next batch that is wanted; 0 when there is none. Under the lock, but
 * gives it up while the batch runs. */
static int run_next(tsh_dev *dev) {
  ex_queue *q = dev->queue;
  ex_batch *x = q->head;
  while (x && x->ticket <= q->done) x = x->next;
  if (!x || x->ticket > q->wanted) return 0;
  pthread_mutex_unlock(&q->lock);
  show(q);
  ex_run_batch(&x->batch, dev->cancel, &x->err);
  hide(q);
  pthread_mutex_lock(&q->lock);
  q->done = x->ticket;
  pthread_cond_broadcast(&q->moved);
  return 1;
}

static void *work(void *arg) {
  tsh_dev *dev = arg;
  ex_queue *q = dev->queue;
  pthread_mutex_lock(&q->lock);
  while (!q->closing)
    if (!run_next(dev)) pthread_cond_wait(&q->moved, &q->lock);
  pthread_mutex_unlock(&q->lock);
  return NULL;
}

/* A thread begins with its maker's mask: signals are the host's to handle. */
static void start(tsh_dev *dev) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  dev->queue->threaded = !pthread_create(&dev->queue->thread, NULL, work, dev);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Lets all batches up to the ticket begin. Where the machine gives no thread
 * the caller runs them here: late, but done. Under the lock. */
static void want(tsh_dev *dev, uint64_t ticket) {
  ex_queue *q = dev->queue;
  if (!q->head || ticket <= q->wanted) return;
  q->wanted = ticket;
  if (!q->threaded) start(dev);
  while (!q->threaded && run_next(dev)) continue;
  pthread_cond_broadcast(&q->moved);
}

/* Is the batch done, at the latest when `until` comes? NULL: now. Under the
 * lock. */
static int await(ex_queue *q, const ex_batch *x, const struct timespec *until) {
  int rc = 0;
  while (until && !rc && q->done < x->ticket)
    rc = pthread_cond_timedwait(&q->moved, &q->lock, until);
  return q->done >= x->ticket;
}

static struct timespec moment(uint64_t ns) {
  const uint64_t second = 1000000000, ever = second << 30;
  struct timespec t;
  if (ns > ever) ns = ever; /* some 30 years, which any clock can add */
  clock_gettime(CLOCK_MONOTONIC, &t);
  ns += (uint64_t)t.tv_nsec;
  t.tv_sec += (time_t)(ns / second);
  t.tv_nsec = (long)(ns % second);
  return t;
}

/* Does all that is queued. Errors stay for wait to report. */
static void finish(tsh_dev *dev) {
  const struct timespec never = moment(UINT64_MAX);
  ex_queue *q = dev->queue;
  pthread_mutex_lock(&q->lock);
  want(dev, dev->ticket);
  for (const ex_batch *x = q->head; x; x = x->next) await(q, x, &never);
  sweep(dev);
  pthread_mutex_unlock(&q->lock);
}

/* ---- the queue ---------------------------------------------------------- */
static int sync_init(ex_queue *q) {
  pthread_condattr_t clock;
  if (pthread_condattr_init(&clock)) return 0;
  int rc = pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  if (!rc) rc = pthread_cond_init(&q->moved, &clock);
  pthread_condattr_destroy(&clock);
  if (rc) return 0;
  if (!pthread_mutex_init(&q->lock, NULL)) return 1;
  pthread_cond_destroy(&q->moved);
  return 0;
}

tsh_status ex_queue_open(tsh_dev *dev, tsh_err *err) {
  ex_queue *q = calloc(1, sizeof *q);
  if (!q) return kit_fail(err, TSH_ENOMEM, "no memory for a queue");
  q->tail = &q->head;
  q->base = map(dev->limit, &q->size);
  if (q->base && sync_init(q)) {
    dev->queue = q;
    return TSH_OK;
  }
  if (q->base) munmap(q->base, q->size);
  free(q);
  return kit_fail(err, TSH_ENOMEM, "no addresses or no lock for a queue");
}

static void pop(ex_queue *q) {
  ex_batch *x = q->head;
  q->head = x->next;
  if (!q->head) q->tail = &q->head;
  ex_batch_free(x);
}

/* A batch that runs is finished, those behind it do not begin. */
void ex_queue_close(tsh_dev *dev) {
  ex_queue *q = dev->queue;
  if (!q) return;
  pthread_mutex_lock(&q->lock);
  q->closing = 1;
  pthread_cond_broadcast(&q->moved);
  pthread_mutex_unlock(&q->lock);
  if (q->threaded) pthread_join(q->thread, NULL);
  while (q->head) pop(q);
  for (tsh_buf *b = q->bufs, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  pthread_cond_destroy(&q->moved);
  pthread_mutex_destroy(&q->lock);
  munmap(q->base, q->size);
  free(q);
}

tsh_status ex_submit(tsh_dev *dev, const tsh_batch *batch, tsh_err *err) {
  ex_queue *q = dev->queue;
  ex_batch *x = ex_batch_new(batch, dev->ticket);
  if (!x) return kit_fail(err, TSH_ENOMEM, "no memory to keep a batch");
  pthread_mutex_lock(&q->lock);
  *q->tail = x;
  q->tail = &x->next;
  pthread_mutex_unlock(&q->lock);
  return TSH_OK;
}

static tsh_status report(const ex_batch *x, tsh_err *err) {
  if (!x->err.code) return TSH_OK;
  kit_fail(err, x->err.code, "%s", x->err.text);
  kit_where(err, x->err.launch, x->ticket, x->err.at);
  return x->err.code;
}

tsh_status ex_wait(tsh_dev *dev, uint64_t ticket, uint64_t timeout,
                   tsh_err *err) {
  const struct timespec until = moment(timeout);
  ex_queue *q = dev->queue;
  tsh_status rc = TSH_OK;
  pthread_mutex_lock(&q->lock);
  want(dev, ticket);
  while (!rc && q->head && q->head->ticket <= ticket) {
    if (!await(q, q->head, timeout ? &until : NULL)) {
      rc = kit_fail(err, TSH_EPENDING, "not finished yet");
    } else {
      rc = report(q->head, err);
      pop(q);
    }
  }
  sweep(dev);
  pthread_mutex_unlock(&q->lock);
  return rc;
}

void ex_touch_begin(tsh_dev *dev) {
  finish(dev);
  show(dev->queue);
}

void ex_touch_end(tsh_dev *dev) { hide(dev->queue); }

/* ---- buffers ------------------------------------------------------------ */
/* Where `bytes` would go; *at is their address. */
static tsh_status place(tsh_dev *dev, uint64_t bytes, tsh_buf ***link,
                        char **at, tsh_err *err) {
  tsh_status rc = ex_room(dev, bytes, err);
  if (rc) return rc;
  *link = find_gap(dev->queue, rounded(bytes), at);
  if (*link) return TSH_OK;
  return kit_fail(err, TSH_ENOMEM, "no gap of %llu bytes",
                  (unsigned long long)bytes);
}

tsh_status ex_alloc(tsh_dev *dev, uint64_t bytes, tsh_buf **out, tsh_err *err) {
  tsh_buf **link, *b = calloc(1, sizeof *b);
  char *at;
  if (!b) return kit_fail(err, TSH_ENOMEM, "no memory for a buffer");
  tsh_status rc = place(dev, bytes, &link, &at, err);
  if (rc) {
    /* Freed memory that work still uses may be what is missing. */
    finish(dev);
    rc = place(dev, bytes, &link, &at, err);
  }
  if (rc) {
    free(b);
    return rc;
  }
  *b = (tsh_buf){.data = at, .bytes = bytes, .next = *link};
  *link = b;
  dev->used += bytes;
  if (dev->used > dev->peak) dev->peak = dev->used;
  show(dev->queue);
  memset(at, 0xff, bytes);
  hide(dev->queue);
  *out = b;
  return TSH_OK;
}

void ex_free(tsh_dev *dev, tsh_buf *b) {
  ex_queue *q = dev->queue;
  pthread_mutex_lock(&q->lock);
  b->freed = 1;
  b->last = dev->ticket;
  if (!q->head) q->done = dev->ticket;
  sweep(dev);
  pthread_mutex_unlock(&q->lock);
}

#endif
