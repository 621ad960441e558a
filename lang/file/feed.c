/* feed.c - rows of files, read ahead by a thread while others compute. Batches
 * wait in a ring of slots; the thread fills one while another is in use. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "format.h"

enum { MOST_AHEAD = 64 };

typedef struct {
  int64_t rows;
  char *data[FILE_FEED_SOURCES]; /* owned */
} slot;

struct file_feed {
  file_rows source[FILE_FEED_SOURCES];
  int n, nslot;
  int64_t *order; /* owned; NULL: in order */
  int64_t rows, batch;
  slot slot[MOST_AHEAD + 1]; /* one is in the reader's hands */
  pthread_t thread;
  int started;
  /* Below: under the lock. */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int64_t filled, taken, given_back; /* batches, counted from the start */
  int stop;    /* also looked at while a batch is read, atomically */
  int ended;   /* no more will be filled */
  tsh_err bad; /* why it ended too early */
};

/* ---- the thread -----------------------------------------------------------
 */
static int stops(const file_feed *f) {
  return __atomic_load_n(&f->stop, __ATOMIC_RELAXED);
}

/* In pieces, so that who closes the feed waits for one of them only. */
static tsh_status read_at(const file_feed *f, const file_rows *s, uint64_t at,
                          char *to, uint64_t bytes, tsh_err *err) {
  while (bytes > 0 && !stops(f)) {
    size_t piece = bytes < STREAM_PIECE ? (size_t)bytes : (size_t)STREAM_PIECE;
    ssize_t got = pread(s->fd, to, piece, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return dev_fail(err, TSH_EIO, "%s: %s", s->path, strerror(errno));
    if (got == 0)
      return dev_fail(err, TSH_EIO, "%s: ends at byte %llu, was longer before",
                      s->path, (unsigned long long)at);
    at += (uint64_t)got;
    to += got;
    bytes -= (uint64_t)got;
  }
  return TSH_OK;
}

/* Rows [from, from + count) of the order; neighbours in one call. */
static tsh_status fill(const file_feed *f, int k, int64_t from, int64_t count,
                       char *to, tsh_err *err) {
  const file_rows *s = &f->source[k];
  for (int64_t i = 0, run; i < count; i += run) {
    int64_t row = f->order ? f->order[from + i] : from + i;
    tsh_status rc;
    for (run = 1; i + run < count; run++)
      if (f->order && f->order[from + i + run] != row + run) break;
    rc = read_at(f, s, s->at + (uint64_t)row * s->row_bytes,
                 to + (uint64_t)i * s->row_bytes, (uint64_t)run * s->row_bytes,
                 err);
    if (rc != TSH_OK) return rc;
  }
  if (s->swap > 1) file_swap(to, (uint64_t)count * s->row_bytes, s->swap);
  if (s->boolean) file_booleans(to, (uint64_t)count * s->row_bytes);
  return TSH_OK;
}

/* Waits for a slot; 0: it is to stop. */
static int wait_for_room(file_feed *f) {
  int go;
  pthread_mutex_lock(&f->lock);
  while (!f->stop && f->filled - f->given_back == f->nslot)
    pthread_cond_wait(&f->changed, &f->lock);
  go = !f->stop;
  pthread_mutex_unlock(&f->lock);
  return go;
}

static void tell(file_feed *f, int filled, int ended, const tsh_err *bad) {
  pthread_mutex_lock(&f->lock);
  f->filled += filled;
  f->ended = ended;
  if (bad) f->bad = *bad;
  pthread_cond_broadcast(&f->changed);
  pthread_mutex_unlock(&f->lock);
}

static void *run(void *feed) {
  file_feed *f = feed;
  int64_t at = 0;
  for (int64_t i = 0; at < f->rows; i++) {
    slot *s = &f->slot[i % f->nslot];
    tsh_err err = {.size = sizeof err};
    tsh_status rc = TSH_OK;
    if (!wait_for_room(f)) return NULL;
    s->rows = f->rows - at < f->batch ? f->rows - at : f->batch;
    for (int k = 0; k < f->n && rc == TSH_OK; k++)
      rc = fill(f, k, at, s->rows, s->data[k], &err);
    at += s->rows;
    if (rc != TSH_OK) {
      tell(f, 0, 1, &err);
      return NULL;
    }
    tell(f, 1, at == f->rows, NULL);
  }
  return NULL;
}

/* ---- which files have rows -------------------------------------------------
 */
static const char *why_not(const file *f, const file_entry *e) {
  if (e->why) return e->why;
  if (e->packing != STREAM_PLAIN)
    return "it is compressed, and rows are read at their places: unpack it";
  if (e->reversed && e->rank > 1)
    return "it lies in Fortran order, where rows are not in one piece: "
           "write(path, read(path)) turns it";
  if (e->rank == 0) return "it has no axes, so it has no rows";
  if (f->s.fd < 0) return "it is empty or no regular file";
  return NULL;
}

tsh_status file_rows_of(const file *f, file_rows *out, tsh_err *err) {
  const file_entry *e = f->entry;
  const char *why;
  if (f->format != FILE_npy && f->format != FILE_idx)
    return stream_fail(&f->s, err,
                       "rows are read ahead from .npy and idx files, this is "
                       "of kind %s",
                       file_format_name(f->format));
  why = why_not(f, e);
  if (why) return stream_fail(&f->s, err, "%s", why);
  *out = (file_rows){.path = f->s.path,
                     .fd = f->s.fd,
                     .at = e->at + e->skip,
                     .row_bytes = plan_dtype_bytes(e->dtype),
                     .swap = e->swap ? plan_dtype_bytes(e->dtype) : 1,
                     .boolean = e->dtype == TSH_bool};
  for (int i = 1; i < e->rank; i++) out->row_bytes *= (uint64_t)e->dim[i];
  if (e->dim[0] && !out->row_bytes)
    return stream_fail(&f->s, err, "its rows have no element");
  return TSH_OK;
}

/* ---- opening and closing --------------------------------------------------
 */
static int take_memory(file_feed *f, const int64_t *order) {
  if (order && f->rows) {
    if ((uint64_t)f->rows > SIZE_MAX / sizeof *order) return 0;
    f->order = malloc((size_t)f->rows * sizeof *order);
    if (!f->order) return 0;
    memcpy(f->order, order, (size_t)f->rows * sizeof *order);
  }
  for (int i = 0; i < f->nslot; i++)
    for (int k = 0; k < f->n; k++) {
      uint64_t bytes;
      if (__builtin_mul_overflow((uint64_t)f->batch, f->source[k].row_bytes,
                                 &bytes) ||
          bytes > SIZE_MAX || !(f->slot[i].data[k] = malloc((size_t)bytes)))
        return 0;
    }
  return 1;
}

/* Signals are for the main thread. */
static int start(file_feed *f) {
  sigset_t all, before;
  int rc;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  rc = pthread_create(&f->thread, NULL, run, f);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  f->started = rc == 0;
  return rc;
}

tsh_status file_feed_open(const file_rows *source, int n, const int64_t *order,
                          int64_t rows, int64_t batch, int ahead,
                          file_feed **out, tsh_err *err) {
  file_feed *f = calloc(1, sizeof *f);
  int rc;
  *out = NULL;
  if (!f) return dev_fail(err, TSH_ENOMEM, "no memory to read ahead");
  pthread_mutex_init(&f->lock, NULL);
  pthread_cond_init(&f->changed, NULL);
  memcpy(f->source, source, (size_t)n * sizeof *source);
  f->n = n;
  f->rows = rows;
  f->batch = batch < rows ? batch : rows;
  f->nslot = 1 + (ahead < 1 ? 1 : ahead < MOST_AHEAD ? ahead : MOST_AHEAD);
  f->ended = rows == 0;
  if (rows > 0 && !take_memory(f, order)) {
    file_feed_close(f);
    return dev_fail(err, TSH_ENOMEM,
                    "no memory to read %d batches of %lld rows ahead", ahead,
                    (long long)batch);
  }
  if (rows > 0 && (rc = start(f)) != 0) {
    file_feed_close(f);
    return dev_fail(err, TSH_EDEVICE, "no thread to read ahead: %s",
                    strerror(rc));
  }
  *out = f;
  return TSH_OK;
}

void file_feed_close(file_feed *f) {
  if (!f) return;
  pthread_mutex_lock(&f->lock);
  __atomic_store_n(&f->stop, 1, __ATOMIC_RELAXED);
  pthread_cond_broadcast(&f->changed);
  pthread_mutex_unlock(&f->lock);
  if (f->started) pthread_join(f->thread, NULL);
  pthread_cond_destroy(&f->changed);
  pthread_mutex_destroy(&f->lock);
  for (int i = 0; i < f->nslot; i++)
    for (int k = 0; k < f->n; k++) free(f->slot[i].data[k]);
  free(f->order);
  free(f);
}

/* ---- the reader's side ----------------------------------------------------
 */
static struct timespec in_ms(int ms) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += (long)(ms % 1000) * 1000000;
  t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

tsh_status file_feed_next(file_feed *f, int ms, int64_t *rows,
                          const void **data, tsh_err *err) {
  struct timespec until = in_ms(ms);
  tsh_status rc = TSH_OK;
  *rows = 0;
  pthread_mutex_lock(&f->lock);
  f->given_back = f->taken;
  pthread_cond_broadcast(&f->changed);
  while (f->taken == f->filled && !f->ended && rc == TSH_OK)
    if (pthread_cond_timedwait(&f->changed, &f->lock, &until) == ETIMEDOUT)
      rc = f->taken == f->filled && !f->ended ? TSH_EPENDING : TSH_OK;
  if (rc == TSH_OK && f->taken < f->filled) {
    const slot *s = &f->slot[f->taken++ % f->nslot];
    *rows = s->rows;
    for (int k = 0; k < f->n; k++) data[k] = s->data[k];
  } else if (rc == TSH_OK && f->bad.code != TSH_OK) {
    rc = dev_fail(err, f->bad.code, "%s", f->bad.text);
  }
  pthread_mutex_unlock(&f->lock);
  return rc;
}
