/* team.c - the threads of plugins/cpu, for ThreadSanitizer: plain programs say
 * what failed and exit with 1. Sums over parts are what the test expects. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "team.h"

static int passed, failed;

static void expect(int good, const char *what) {
  passed += good != 0;
  if (good) return;
  fprintf(stderr, "team: %s\n", what);
  failed++;
}

static cpu_team *open_team(int threads) {
  cpu_team *team;
  tsh_err err = {.size = sizeof err};
  if (cpu_team_open(threads, &team, &err) == TSH_OK) return team;
  fprintf(stderr, "team: %s\n", err.text);
  exit(1);
}

/* ---- jobs --------------------------------------------------------------- */
enum { MOST = 100000 };

typedef struct {
  uint8_t seen[MOST]; /* plain: no part is run twice */
  uint32_t by[CPU_TEAM_MOST];
  int64_t base;
} tally;
static tally t;

static void count(void *job, int64_t part, int worker) {
  tally *own = job;
  own->seen[part]++;
  own->by[worker]++;
}

/* Every part once; 0 when not. */
static int run_counts(cpu_team *team, int64_t parts) {
  memset(&t, 0, sizeof t);
  cpu_team_run(team, count, &t, parts);
  int64_t sum = 0;
  for (int64_t i = 0; i < parts; i++)
    if (t.seen[i] != 1) return 0;
  for (int i = 0; i < CPU_TEAM_MOST; i++) sum += t.by[i];
  return sum == parts;
}

static void add(void *job, int64_t part, int worker) {
  (void)worker;
  ((int64_t *)job)[part] += part;
}

/* Many jobs one after the other on the same memory, without locks. */
static void small_jobs(int threads, int jobs) {
  static int64_t cell[7];
  cpu_team *team = open_team(threads);
  memset(cell, 0, sizeof cell);
  for (int i = 0; i < jobs; i++) {
    cpu_team_run(team, add, cell, 1 + i % 7);
    for (int k = 0; k < 7; k++) cell[k] += 1;
  }
  int64_t sum = 0, want = 7 * (int64_t)jobs;
  for (int k = 0; k < 7; k++) sum += cell[k];
  for (int i = 0; i < jobs; i++)
    for (int k = 0; k <= i % 7; k++) want += k;
  expect(sum == want, "small jobs lose parts");
  cpu_team_close(team);
}

static void every_count(void) {
  static const int64_t parts[] = {0, 1, 2, 3, 7, 1000, 65535, 65536, MOST};
  for (int threads = 1; threads <= 7; threads += 2) {
    cpu_team *team = open_team(threads);
    for (int i = 0; i < 9; i++)
      expect(run_counts(team, parts[i]), "a part is run twice or never");
    cpu_team_close(team);
  }
}

static void open_and_close(void) {
  for (int i = 0; i < 60; i++) {
    cpu_team *team = open_team(1 + i % 5);
    if (i % 3) expect(run_counts(team, i), "the first job of a team");
    if (i % 3 == 2) usleep(200); /* some sleep by now */
    cpu_team_close(team);
  }
}

static void limits(void) {
  cpu_team *team = open_team(4);
  for (int limit = 4; limit > 0; limit--) {
    cpu_team_limit(team, limit);
    for (int k = 0; k < 50; k++) {
      expect(run_counts(team, 1000), "a job of fewer workers");
      for (int i = limit; i < 4; i++)
        expect(t.by[i] == 0, "a worker beyond the limit took a part");
    }
  }
  cpu_team_close(team);
}

/* ---- sleeping workers --------------------------------------------------- */
static void sleepers_wake(void) {
  cpu_team *team = open_team(3);
  for (int i = 0; i < 40; i++) {
    expect(run_counts(team, 500), "a job for workers that sleep");
    usleep(i % 4 * 100);
  }
  cpu_team_close(team);
}

/* ---- cancel ------------------------------------------------------------- */
typedef struct {
  uint32_t word;
  int64_t done;
} stoppable;

static void until_cancelled(void *job, int64_t part, int worker) {
  stoppable *s = job;
  (void)part, (void)worker;
  if (__atomic_load_n(&s->word, __ATOMIC_RELAXED)) return;
  struct timespec ms = {0, 1000000};
  nanosleep(&ms, NULL);
  __atomic_add_fetch(&s->done, 1, __ATOMIC_RELAXED);
}

static void *cancel_soon(void *word) {
  usleep(20000);
  __atomic_store_n((uint32_t *)word, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void cancelled(void) {
  cpu_team *team = open_team(3);
  stoppable s = {0, 0};
  pthread_t other;
  pthread_create(&other, NULL, cancel_soon, &s.word);
  cpu_team_run(team, until_cancelled, &s, 20000);
  pthread_join(other, NULL);
  expect(s.done > 0 && s.done < 10000, "all parts see the cancel word");
  cpu_team_close(team);
}

/* ---- signals, fork, affinity -------------------------------------------- */
static void signals_of(void *job, int64_t part, int worker) {
  sigset_t mask;
  (void)part;
  struct timespec ms = {0, 2000000};
  nanosleep(&ms, NULL); /* so that others come */
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  if (worker && !sigismember(&mask, SIGINT))
    __atomic_store_n((int *)job, 1, __ATOMIC_RELAXED);
}

static void signals_are_blocked(void) {
  int open = 0;
  sigset_t mask;
  cpu_team *team = open_team(3);
  cpu_team_run(team, signals_of, &open, 9);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  expect(!open, "a worker takes signals");
  expect(!sigismember(&mask, SIGINT), "the caller's signals are still blocked");
  cpu_team_close(team);
}

static void fork_is_safe(void) {
  cpu_team *team = open_team(3);
  expect(run_counts(team, 1000), "before a fork");
  pid_t child = fork();
  if (child == 0) {
#ifndef __SANITIZE_THREAD__ /* it has no new threads in a child */
    for (int i = 0; i < 100; i++)
      if (!run_counts(team, 1000)) _exit(1);
#endif
    cpu_team_close(team);
    _exit(0);
  }
  int status = 1;
  expect(child > 0 && waitpid(child, &status, 0) == child && status == 0,
         "a job in the child");
  expect(run_counts(team, 1000), "after a fork");
  child = fork(); /* closes a team that it never used */
  if (child == 0) {
    cpu_team_close(team);
    _exit(0);
  }
  expect(waitpid(child, &status, 0) == child && status == 0, "a child closes");
  cpu_team_close(team);
}

static void affinity_of(void *job, int64_t part, int worker) {
  cpu_set_t set;
  (void)part;
  struct timespec ms = {0, 2000000};
  nanosleep(&ms, NULL);
  sched_getaffinity(0, sizeof set, &set);
  if (worker) __atomic_store_n((int *)job, CPU_COUNT(&set), __ATOMIC_RELAXED);
}

static void move_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/* The caller binds itself to a processor after the team was opened: workers
 * may be on all others. Then it moves to another one, and they make room. */
static void pinning_is_not_inherited(void) {
  cpu_set_t all;
  int found = 0, first = -1, last = -1;
  sched_getaffinity(0, sizeof all, &all);
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &all)) first = first < 0 ? i : first, last = i;
  if (first == last) return;
  cpu_team *team = open_team(2);
  move_to(first);
  cpu_team_run(team, affinity_of, &found, 9);
  expect(found == CPU_COUNT(&all) - 1, "workers are bound like the caller");
  move_to(last);
  for (int i = 0; i < 200; i++) run_counts(team, 9);
  found = 0;
  cpu_team_run(team, affinity_of, &found, 9);
  expect(found == CPU_COUNT(&all) - 1, "workers after the caller moved");
  cpu_team_close(team);
  team = open_team(0); /* one processor: one thread */
  expect(cpu_team_size(team) == 1, "more threads than processors by default");
  cpu_team_close(team);
  sched_setaffinity(0, sizeof all, &all);
}

int main(void) {
  every_count();
  small_jobs(2, 20000);
  small_jobs(3, 3000);
  open_and_close();
  limits();
  sleepers_wake();
  cancelled();
  signals_are_blocked();
  fork_is_safe();
  pinning_is_not_inherited();
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
