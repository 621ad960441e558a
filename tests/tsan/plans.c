/* plans.c - two threads, each with devices and a plan of its own, for
 * ThreadSanitizer: nothing is shared behind their backs, neither the cache of
 * plans nor what plugins keep. Results are those of one thread. A third thread
 * sets a cancel word, as the handler of Ctrl-C does. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"

const tsh_plugin *tsh_cpu_query(uint32_t major, uint32_t minor);

enum { STEPS = 60, SIDE = 96 };

typedef struct {
  dev_set *devices;
  plan *p;
  tsh_err err;
  plan_node *node[64]; /* of a step, dropped at its end */
  int n;
} session;

static int passed, failed;

static void expect(int good, const char *what) {
  passed += good != 0;
  if (good) return;
  fprintf(stderr, "plans: %s\n", what);
  failed++;
}

static void need(session *s, tsh_status rc) {
  if (rc == TSH_OK) return;
  fprintf(stderr, "plans: %s\n", s->err.text);
  exit(1);
}

static void open_session(session *s) {
  const dev_options where = {
      .builtin = tsh_cpu_query, .scheme = "cpu", .no_plugins = 1, .threads = 2};
  /* Few enough that plans are dropped as well. */
  const plan_options options = {.verify = 1, .cache_bytes = 200000};
  memset(s, 0, sizeof *s);
  s->err.size = sizeof s->err;
  need(s, dev_set_new(&where, &s->devices, &s->err));
  need(s, plan_new(s->devices, &options, &s->p, &s->err));
}

static void close_session(session *s) {
  plan_free(s->p);
  dev_set_free(s->devices);
}

static plan_node **place(session *s) { return &s->node[s->n++]; }
static plan_node *last(session *s) { return s->node[s->n - 1]; }

static plan_node *draw(session *s, uint64_t key, int64_t rows) {
  const int64_t dim[2] = {rows, SIDE};
  const plan_shape *shape = plan_shape_get(s->p, 2, dim, &s->err);
  plan_rng rng = {key, 0};
  need(s, plan_randn(s->p, dev_builtin(s->devices), TSH_f32, shape, &rng,
                     place(s), &s->err));
  return last(s);
}

static plan_node *binary(session *s, int op, plan_node *a, plan_node *b) {
  const plan_operand in[2] = {{.node = a}, {.node = b}};
  need(s, plan_map(s->p, op, in, 2, place(s), &s->err));
  return last(s);
}

/* softmax(a @ b), its order, and a sum over both: shapes return. */
static void record_step(session *s, int step) {
  int64_t rows = SIDE + step % 7;
  plan_node *a = draw(s, (uint64_t)step, rows), *b = draw(s, 99, SIDE);
  plan_node *soft, *x;
  need(s, plan_matmul(s->p, a, b, place(s), &s->err));
  x = last(s);
  need(s, plan_softmax(s->p, x, 1, place(s), &s->err));
  soft = last(s);
  need(s, plan_argsort(s->p, soft, 1, step % 2, place(s), &s->err));
  x = last(s);
  need(s, plan_cast(s->p, x, TSH_f32, place(s), &s->err));
  x = binary(s, TSH_OP_mul, soft, last(s));
  for (int i = 0; i < step % 5; i++) x = binary(s, TSH_OP_add, x, soft);
  need(s, plan_fold(s->p, TSH_OP_sum, x, 3, 0, place(s), &s->err));
}

static void drop_step(session *s) {
  while (s->n) plan_drop(s->p, s->node[--s->n]);
}

typedef struct {
  float sum[STEPS];
} results;

static void *train(void *out) {
  results *r = out;
  session s;
  open_session(&s);
  for (int i = 0; i < STEPS; i++) {
    record_step(&s, i);
    need(&s, plan_read(s.p, last(&s), &r->sum[i], 0, &s.err));
    drop_step(&s);
  }
  close_session(&s);
  return NULL;
}

static void two_plans(const results *want) {
  enum { MANY = 3 };
  static results got[MANY];
  pthread_t thread[MANY];
  for (int i = 0; i < MANY; i++)
    if (pthread_create(&thread[i], NULL, train, &got[i])) exit(1);
  for (int i = 0; i < MANY; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < MANY; i++)
    expect(memcmp(&got[i], want, sizeof *want) == 0, "a plan beside others");
}

/* ---- a stop from outside ------------------------------------------------- */
static void *cancel_soon(void *word) {
  usleep(30000);
  __atomic_store_n((uint32_t *)word, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void stopped(const results *want) {
  session s;
  pthread_t other;
  tsh_status rc = TSH_OK;
  float sum;
  open_session(&s);
  if (pthread_create(&other, NULL, cancel_soon, dev_cancel_word(s.devices)))
    exit(1);
  for (int i = 0; rc == TSH_OK; i = (i + 1) % STEPS) {
    drop_step(&s);
    record_step(&s, i);
    rc = plan_read(s.p, last(&s), &sum, 0, &s.err);
    if (rc != TSH_OK) {
      pthread_join(other, NULL);
      expect(rc == TSH_ECANCELLED, "a demand is stopped");
      __atomic_store_n(dev_cancel_word(s.devices), 0, __ATOMIC_RELAXED);
      need(&s, plan_read(s.p, last(&s), &sum, 0, &s.err));
      expect(sum == want->sum[i], "and may be asked for again");
    }
  }
  drop_step(&s);
  close_session(&s);
}

int main(void) {
  static results want;
  train(&want);
  expect(want.sum[0] != want.sum[1], "steps differ");
  two_plans(&want);
  for (int i = 0; i < 3; i++) stopped(&want);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
