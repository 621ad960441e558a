/* threads.c - what threads of the cpu plugin cost and gain. Prints how long a
 * job takes to begin on all and to end, then single launches on one thread and
 * on several: the least of many tries, since others may use the machine.
 *
 *   make -C build scripts/bench/threads
 *   build/scripts/bench/threads [N [TASK]]
 *
 * N: the threads to compare with one, 2 if not given. TASK: only those whose
 * name begins so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device.h"

const tsh_plugin *tsh_cpu_query(uint32_t major, uint32_t minor);

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void need(tsh_status rc, const tsh_err *err) {
  if (rc == TSH_OK) return;
  fprintf(stderr, "threads: %s\n", err->text);
  exit(1);
}

/* ---- fork and join ------------------------------------------------------ */
enum { JOBS = 20000 };

typedef struct {
  int here, all;
} meeting;

/* Nobody leaves before all have come, so each worker takes a part. */
static void meet(void *job, int64_t part, int worker) {
  meeting *m = job;
  (void)part, (void)worker;
  __atomic_add_fetch(&m->here, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&m->here, __ATOMIC_ACQUIRE) < m->all) continue;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void spend(double ns) {
  for (double end = now_ns() + ns; now_ns() < end;) continue;
}

static void fork_join(int threads, const char *name, double between, int jobs) {
  static double t[JOBS];
  cpu_team *team;
  tsh_err err = {.size = sizeof err};
  double clock = now_ns();
  for (int i = 0; i < 100; i++) now_ns();
  clock = (now_ns() - clock) / 100;
  need(cpu_team_open(threads, &team, &err), &err);
  for (int i = -100; i < jobs; i++) {
    meeting m = {0, threads};
    if (between > 0) spend(between);
    double begin = now_ns();
    cpu_team_run(team, meet, &m, threads);
    if (i >= 0) t[i] = now_ns() - begin - clock;
  }
  cpu_team_close(team);
  qsort(t, (size_t)jobs, sizeof *t, ascending);
  printf("%-26s %8.2f %8.2f %8.2f\n", name, t[0] / 1e3, t[jobs / 2] / 1e3,
         t[jobs * 9 / 10] / 1e3);
}

/* ---- launches ----------------------------------------------------------- */
typedef struct {
  const char *name;
  int nfold, ninst;
  tsh_inst inst[8];
  int row_out; /* the output has one element */
} task;

/* Arguments: 0 and 1 are read, 2 is written. */
#define F .dtype = TSH_f32
#define READ(n)                                                                \
  { .op = TSH_OP_LOAD, F, .imm = n }
#define OF(o, x)                                                               \
  { .op = TSH_OP_##o, F, .a = x }
#define OF2(o, x, y)                                                           \
  { .op = TSH_OP_##o, F, .a = x, .b = y }
static const task tasks[] = {
    {"a + b",
     0,
     4,
     {READ(0), READ(1), OF2(add, 0, 1), {.op = TSH_OP_STORE, .a = 2, .imm = 2}},
     0},
    {"exp(a)",
     0,
     3,
     {READ(0), OF(exp, 0), {.op = TSH_OP_STORE, .a = 1, .imm = 2}},
     0},
    {"sum(a)",
     1,
     3,
     {READ(0),
      OF(sum, 0),
      {.op = TSH_OP_STORE, .flags = TSH_ROW, .a = 1, .imm = 2}},
     1},
    {"softmax(a)",
     1,
     7,
     {READ(0),
      OF(max, 0),
      OF2(sub, 0, 1),
      OF(exp, 2),
      OF(sum, 3),
      OF2(div, 3, 4),
      {.op = TSH_OP_STORE, .a = 5, .imm = 2}},
     0},
};

typedef struct {
  const tsh_plugin *p;
  tsh_dev *dev;
  tsh_prog *prog;
  tsh_buf *buf[3];
} bench;

static void open_bench(bench *b, uint32_t threads, const task *k, int64_t n) {
  static const uint8_t dtype[3] = {TSH_f32, TSH_f32, TSH_f32};
  static const uint8_t class_[3] = {TSH_DENSE, TSH_DENSE, TSH_STRIDED};
  static const uint8_t rank[3] = {1, 1, 1};
  tsh_err err = {.size = sizeof err};
  const tsh_host host = {.size = sizeof host, .threads = threads};
  tsh_kernel kernel = {.size = sizeof kernel,
                       .rank = 1,
                       .nfold = (uint16_t)k->nfold,
                       .narg = 3,
                       .ninst = (uint16_t)k->ninst,
                       .inst_size = sizeof *k->inst,
                       .inst = k->inst,
                       .arg_dtype = dtype,
                       .arg_class = class_,
                       .arg_rank = rank};
  b->p = tsh_cpu_query(TSH_ABI_MAJOR, TSH_ABI_MINOR);
  need(cpu_device_open(cpu_isa_best(&err), &cpu_system, &host, &b->dev, &err),
       &err);
  need(b->p->compile(b->dev, &kernel, &b->prog, &err), &err);
  for (int i = 0; i < 3; i++) {
    need(b->p->alloc(b->dev, (uint64_t)n * 4, &b->buf[i], &err), &err);
    float *x = (float *)b->buf[i]->mem;
    for (int64_t e = 0; e < n; e++) x[e] = (float)(e % 1000) * 0.001f;
  }
}

static void close_bench(bench *b) {
  for (int i = 0; i < 3; i++) b->p->free(b->dev, b->buf[i]);
  b->p->drop(b->dev, b->prog);
  b->p->close(b->dev);
}

/* Nanoseconds of a launch, of the fastest of `reps` in a row. */
static double time_launch(bench *b, const task *k, int64_t n, int reps) {
  static const int64_t one = 1, none = 0;
  const int64_t extent[1] = {n};
  tsh_view view[3] = {{b->buf[0], 0, NULL, &one},
                      {b->buf[1], 0, NULL, &one},
                      {b->buf[2], 0, NULL, k->row_out ? &none : &one}};
  tsh_launch launch = {
      .size = sizeof launch, .prog = b->prog, .extent = extent, .arg = view};
  tsh_batch batch = {.size = sizeof batch,
                     .nlaunch = 1,
                     .launch_size = sizeof launch,
                     .launch = &launch};
  tsh_err err = {.size = sizeof err};
  uint64_t ticket;
  double best = 1e18;
  for (int i = 0; i < reps; i++) {
    double begin = now_ns();
    need(b->p->submit(b->dev, &batch, &ticket, &err), &err);
    double ns = now_ns() - begin;
    if (ns < best) best = ns;
  }
  return best;
}

static void compare(const task *k, int64_t n, uint32_t threads) {
  bench one, many;
  double t1 = 1e18, tn = 1e18;
  int reps = n < 100000 ? 2000 : n < 4000000 ? 60 : 8;
  open_bench(&one, 1, k, n);
  open_bench(&many, threads, k, n);
  for (int i = 0; i < 8; i++) {
    double a = time_launch(&one, k, n, reps);
    double b = time_launch(&many, k, n, reps);
    if (a < t1) t1 = a;
    if (b < tn) tn = b;
  }
  printf("%-12s %10lld %10.2f %10.2f %8.2f %8.0f\n", k->name, (long long)n,
         t1 / 1e3, tn / 1e3, t1 / tn, cpu_team_lag(many.dev->run.team));
  close_bench(&one);
  close_bench(&many);
}

int main(int argc, char **argv) {
  static const int64_t sizes[] = {4096,   8192,    16384,   65536,
                                  100000, 1 << 20, 4 << 20, 16 << 20};
  int threads = argc > 1 ? atoi(argv[1]) : 2;
  const char *only = argc > 2 ? argv[2] : "";
  if (threads < 2 || threads > CPU_TEAM_MOST) {
    fprintf(stderr, "usage: threads [N [TASK]], with N from 2 to %d\n",
            CPU_TEAM_MOST);
    return 2;
  }
  printf("%d threads, us              min   median      p90\n", threads);
  fork_join(threads, "fork-join, back to back", 0, JOBS);
  fork_join(threads, "fork-join, 10 us between", 10e3, JOBS / 10);
  fork_join(threads, "fork-join, asleep", 1e6, 200);
  printf("\n%-12s %10s %10s %7d thr %8s %8s\n", "us", "elements", "1 thread",
         threads, "x", "lag, ns");
  for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      if (strncmp(tasks[k].name, only, strlen(only)) == 0)
        compare(&tasks[k], sizes[i], (uint32_t)threads);
  return 0;
}
