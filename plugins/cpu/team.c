/* team.c - see team.h.
 *
 * A job is one word, its generation and the range of pieces nobody has taken:
 * a piece is taken by one compare-and-swap, from the front by even workers and
 * from the back by odd ones, so that two threads meet the same memory in job
 * after job. Whoever has taken a piece keeps the job from ending, and whoever
 * has not needs no say in it. The word, what the job is, and the count of
 * pieces done lie in one cache line. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* affinity */
#endif
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "team.h"

enum {
  PIECES = 65535,       /* of a job, at most */
  STACK = 1 << 20,      /* bytes of a worker's */
  SPIN = 50 * 1000,     /* ns: how long workers look for the next job */
  LOOKS = 32,           /* between two looks at the clock */
  MEASURES = 8,         /* of the lag */
  BETWEEN = 32,         /* jobs between two of them */
  TRIES = 8,            /* jobs of one of them */
  PATIENCE = 10 * 1000, /* ns: of one job */
  LEAST = 1000,         /* ns: jobs below are never shared */
  MOST = 10 * 1000,     /* ns: and above always */
  AWAY = 32,            /* jobs of a caller that has moved */
  WAKE = 100 * 1000,    /* ns of work that are worth waking workers: the call
                           takes some 10, their way to a processor 30 or more */
  START = 200 * 1000    /* the same for creating one */
};

typedef struct {
  cpu_team *team;
  int number;
  pthread_t thread;
} worker;

struct cpu_team {
  _Alignas(64) union {
    uint64_t word;    /* generation << 32 | front << 16 | back */
    uint32_t half[2]; /* workers sleep on the generation */
  } now;
  cpu_part_fn *fn;
  void *job;
  int64_t parts;
  uint32_t pieces, done;
  uint32_t sleepers; /* workers that sleep or are about to */
  uint32_t waiting;  /* the caller sleeps until pieces are done */
  uint16_t limit, stop, arrived;
  /* ---- of the caller alone ---- */
  int size;    /* planned, and once they are started: there */
  int started; /* workers beside the caller */
  int spin;    /* is there a processor for each? */
  uint32_t forks;
  double lag, least, owed;     /* ns */
  uint32_t together, measured; /* jobs while all were there, measurements */
  int home, away;              /* processor without workers; jobs elsewhere */
  cpu_set_t allowed;           /* when the team was opened */
  worker *worker;              /* [size - 1] */
};

/* How often this process is the child of one that had teams. */
static uint32_t forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forked(void) { forks++; }
static void watch_forks(void) { pthread_atfork(NULL, NULL, forked); }

static void futex_wait(uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(uint32_t *word, int n) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static int64_t clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ---- the word ----------------------------------------------------------- */
static uint64_t word_of(uint64_t generation, uint64_t front, uint64_t back) {
  return generation << 32 | front << 16 | back;
}

static uint32_t *generation_of(cpu_team *t) {
  return &t->now.half[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__];
}

static int has_pieces(uint64_t word) {
  return (uint16_t)(word >> 16) != (uint16_t)word;
}

/* Takes a piece: its number, or -1. A word seen late has another generation by
 * now, so nothing is taken of a job that was not looked at. */
static int64_t take_piece(cpu_team *t, int number) {
  uint64_t word = __atomic_load_n(&t->now.word, __ATOMIC_ACQUIRE);
  while (has_pieces(word)) {
    uint64_t left = number & 1 ? word - 1 : word + 65536;
    if (number >= __atomic_load_n(&t->limit, __ATOMIC_RELAXED)) return -1;
    if (__atomic_compare_exchange_n(&t->now.word, &word, left, 0,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return number & 1 ? (int64_t)(uint16_t)left
                        : (int64_t)(uint16_t)(word >> 16);
  }
  return -1;
}

/* After its `done` a piece may not look at the job any more. */
static void work(cpu_team *t, int number) {
  int64_t piece;
  while ((piece = take_piece(t, number)) >= 0) {
    int64_t n = t->pieces, parts = t->parts;
    int64_t at = parts / n * piece + (piece < parts % n ? piece : parts % n);
    int64_t end = at + parts / n + (piece < parts % n);
    for (; at < end; at++) t->fn(t->job, at, number);
    uint32_t done = __atomic_add_fetch(&t->done, 1, __ATOMIC_SEQ_CST);
    if (done == n && __atomic_load_n(&t->waiting, __ATOMIC_SEQ_CST))
      futex_wake(&t->done, 1);
  }
}

/* ---- workers ------------------------------------------------------------ */
static int stops(const cpu_team *t) {
  return __atomic_load_n(&t->stop, __ATOMIC_ACQUIRE);
}

static int calls(const cpu_team *t, int number) {
  return has_pieces(__atomic_load_n(&t->now.word, __ATOMIC_ACQUIRE)) &&
         number < __atomic_load_n(&t->limit, __ATOMIC_RELAXED);
}

/* 1: there is a job. */
static int spin_for_job(const cpu_team *t, int number) {
  int64_t end = clock_ns() + SPIN;
  do {
    for (int i = 0; i < LOOKS; i++) {
      if (calls(t, number)) return 1;
      relax();
    }
  } while (clock_ns() < end && !stops(t));
  return 0;
}

/* The count of sleepers comes before the last look, as the caller's new word
 * comes before its look at the count: one of the two sees the other. */
static void sleep_for_job(cpu_team *t, int number) {
  __atomic_add_fetch(&t->sleepers, 1, __ATOMIC_SEQ_CST);
  uint64_t word = __atomic_load_n(&t->now.word, __ATOMIC_SEQ_CST);
  if (!stops(t) && !calls(t, number))
    futex_wait(generation_of(t), (uint32_t)(word >> 32));
  __atomic_sub_fetch(&t->sleepers, 1, __ATOMIC_SEQ_CST);
}

static void *live(void *p) {
  worker *me = p;
  cpu_team *t = me->team;
  __atomic_add_fetch(&t->arrived, 1, __ATOMIC_RELAXED);
  while (!stops(t)) {
    if (!t->spin || !spin_for_job(t, me->number)) sleep_for_job(t, me->number);
    work(t, me->number);
  }
  return NULL;
}

/* ---- the caller --------------------------------------------------------- */
static void publish(cpu_team *t, uint32_t pieces) {
  uint64_t generation =
      (__atomic_load_n(&t->now.word, __ATOMIC_RELAXED) >> 32) + 1;
  __atomic_store_n(&t->now.word, word_of(generation, 0, pieces),
                   __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&t->sleepers, __ATOMIC_SEQ_CST))
    futex_wake(generation_of(t), pieces < 2 ? INT_MAX : (int)pieces - 1);
}

static int is_done(const cpu_team *t) {
  return __atomic_load_n(&t->done, __ATOMIC_ACQUIRE) == t->pieces;
}

/* Until the pieces that others took are done. */
static void await_pieces(cpu_team *t) {
  int64_t end = 0;
  for (int i = 1; t->spin && !is_done(t); i++) {
    relax();
    if (i % LOOKS != 0) continue;
    int64_t now = clock_ns();
    if (end == 0) end = now + SPIN;
    if (now >= end) break;
  }
  if (is_done(t)) return;
  __atomic_store_n(&t->waiting, 1, __ATOMIC_SEQ_CST);
  for (;;) {
    uint32_t done = __atomic_load_n(&t->done, __ATOMIC_SEQ_CST);
    if (done == t->pieces) break;
    futex_wait(&t->done, done);
  }
  __atomic_store_n(&t->waiting, 0, __ATOMIC_RELAXED);
}

static void share(cpu_team *t, cpu_part_fn *fn, void *job, int64_t parts) {
  t->fn = fn;
  t->job = job;
  t->parts = parts;
  t->pieces = parts < PIECES ? (uint32_t)parts : PIECES;
  __atomic_store_n(&t->done, 0, __ATOMIC_RELAXED);
  publish(t, t->pieces);
  work(t, 0);
  await_pieces(t);
}

/* ---- the lag ------------------------------------------------------------ */
typedef struct {
  uint32_t here, all;
  int64_t until;
} meeting;

/* Every worker gets one part, because none leaves before all have come. */
static void meet(void *job, int64_t part, int number) {
  meeting *m = job;
  (void)part, (void)number;
  __atomic_add_fetch(&m->here, 1, __ATOMIC_ACQ_REL);
  for (int i = 1; __atomic_load_n(&m->here, __ATOMIC_ACQUIRE) < m->all; i++) {
    relax();
    if (i % LOOKS == 0 && clock_ns() > m->until) return;
  }
}

/* The least of several at several times, since one is longer whenever others
 * use the machine. */
static void measure_lag(cpu_team *t) {
  double lag = t->lag;
  int64_t now = clock_ns();
  for (int i = 0; i < TRIES; i++) {
    int64_t from = now;
    meeting m = {0, (uint32_t)t->size, from + PATIENCE};
    share(t, meet, &m, t->size);
    now = clock_ns();
    if (now - from >= PATIENCE) break;
    if (lag == 0 || (double)(now - from) < lag) lag = (double)(now - from);
  }
  t->lag = lag;
  if (lag > 0) t->least = 5 * lag;
  if (t->least < LEAST) t->least = LEAST;
  if (t->least > MOST) t->least = MOST;
}

/* ---- processors --------------------------------------------------------- */
/* Workers may go where the process could when the team was opened, whatever the
 * calling thread has bound itself to since, but not to its own processor: a
 * worker that is woken there takes it away from the caller, or waits for it. */
static cpu_set_t places(cpu_team *t) {
  cpu_set_t set = t->allowed;
  t->home = sched_getcpu();
  t->away = 0;
  if (t->spin && t->home >= 0 && t->home < CPU_SETSIZE) CPU_CLR(t->home, &set);
  return CPU_COUNT(&set) ? set : t->allowed;
}

/* The caller has moved to another processor and stays there. */
static void move_home(cpu_team *t) {
  cpu_set_t set = places(t);
  for (int i = 0; i < t->started; i++)
    pthread_setaffinity_np(t->worker[i].thread, sizeof set, &set);
}

static void look_for_home(cpu_team *t) {
  if (!t->spin) return;
  t->away = sched_getcpu() == t->home ? 0 : t->away + 1;
  if (t->away >= AWAY) move_home(t);
}

/* ---- starting and stopping ---------------------------------------------- */
static int create(worker *w, const cpu_set_t *set) {
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return 0;
  pthread_attr_setstacksize(&attr, STACK);
  int bad = pthread_attr_setaffinity_np(&attr, sizeof *set, set);
  if (!bad) bad = pthread_create(&w->thread, &attr, live, w);
  if (bad) bad = pthread_create(&w->thread, NULL, live, w);
  pthread_attr_destroy(&attr);
  return !bad;
}

static void start(cpu_team *t) {
  sigset_t all, old;
  cpu_set_t set = places(t);
  int most = t->size;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (; t->started < most - 1; t->started++) {
    worker *w = &t->worker[t->started];
    *w = (worker){.team = t, .number = t->started + 1};
    if (!create(w, &set)) break;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  t->size = t->started + 1;
}

/* After a fork the workers are gone, wherever they were. */
static void look_for_fork(cpu_team *t) {
  if (t->forks == forks) return;
  t->forks = forks;
  t->started = t->arrived = 0;
  t->sleepers = t->waiting = 0;
  t->now.word = word_of(t->now.word >> 32, 0, 0);
}

void cpu_team_run(cpu_team *t, cpu_part_fn *fn, void *job, int64_t parts) {
  if (parts > 1 && t->size > 1 && t->limit > 1) {
    look_for_fork(t);
    if (!t->started) start(t);
    if (t->started) {
      look_for_home(t);
      share(t, fn, job, parts);
      return;
    }
  }
  for (int64_t i = 0; i < parts; i++) fn(job, i, 0);
}

int cpu_team_worth(cpu_team *t, double ns) {
  if (t->size < 2 || t->limit < 2 || ns < t->least) return 0;
  int started = t->forks == forks ? t->started : 0;
  int asleep = (int)__atomic_load_n(&t->sleepers, __ATOMIC_RELAXED);
  if (started && asleep < started) {
    if (t->measured < MEASURES && t->spin && asleep == 0 &&
        __atomic_load_n(&t->arrived, __ATOMIC_RELAXED) == started &&
        t->together++ % BETWEEN == 0) {
      t->measured++;
      measure_lag(t);
    }
    return ns >= t->least;
  }
  t->owed += ns;
  if (t->owed < (started ? WAKE : START * (t->size < 10 ? t->size : 10)))
    return 0;
  t->owed = 0;
  return 1;
}

double cpu_team_lag(const cpu_team *t) { return t->lag; }

int cpu_team_size(const cpu_team *t) { return t ? t->size : 1; }

void cpu_team_limit(cpu_team *t, int n) {
  __atomic_store_n(&t->limit, (uint16_t)n, __ATOMIC_RELAXED);
}

tsh_status cpu_team_open(int threads, cpu_team **out, tsh_err *err) {
  *out = NULL;
  pthread_once(&once, watch_forks);
  cpu_team *t = aligned_alloc(64, (sizeof *t + 63) / 64 * 64);
  if (!t) return kit_fail(err, TSH_ENOMEM, "no memory for threads");
  memset(t, 0, sizeof *t);
  /* It fails where there are more processors than the set holds. */
  int bad = sched_getaffinity(0, sizeof t->allowed, &t->allowed) != 0;
  int processors = bad ? 1 : CPU_COUNT(&t->allowed);
  if (threads <= 0) threads = processors;
  t->size = threads < CPU_TEAM_MOST ? threads : CPU_TEAM_MOST;
  t->limit = CPU_TEAM_MOST;
  t->spin = t->size <= processors;
  t->forks = forks;
  t->least = 2 * LEAST;
  if (t->size > 1) t->worker = calloc((size_t)t->size - 1, sizeof *t->worker);
  if (t->size > 1 && !t->worker) t->size = 1;
  *out = t;
  return TSH_OK;
}

void cpu_team_close(cpu_team *t) {
  if (!t) return;
  if (t->forks == forks) {
    __atomic_store_n(&t->stop, 1, __ATOMIC_SEQ_CST);
    publish(t, 0);
    for (int i = 0; i < t->started; i++)
      pthread_join(t->worker[i].thread, NULL);
  }
  free(t->worker);
  free(t);
}
