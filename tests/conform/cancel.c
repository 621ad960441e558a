/* cancel.c - stops: how soon, what they say, what they leave, and going on
 * after them. The long job is integer work whose length is found by trying. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cf.h"

/* FOLDED points a row; every row sums the same numbers. */
enum { FOLDED = 1 << 16, SHORT = 1000 };
#define SOON (200 * CF_MS)  /* from the word being set to the answer */
#define LONG (1500 * CF_MS) /* wanted of the long job */
#define LESS (600 * CF_MS)  /* the same for the self-test; enough */

typedef struct {
  cf_stage slow, work;
  cf_mem *sums, *x, *a, *old;
  cf_job j[CF_JOBS];
  uint32_t n;         /* launches: a short one, the long ones, an UPDATE */
  int64_t rows, span; /* rows of a long launch; ns of the whole */
} job;

/* sum over i of (i * i >> 3) + i */
static void build_slow(cf_stage *s) {
  cf_stage_init(s, 2, 1);
  cf_arg(&s->k, TSH_i32, TSH_STRIDED);
  cf_arg(&s->k, TSH_i32, TSH_STRIDED);
  cf_index(&s->k, 0, 0);
  cf_inst(&s->k, TSH_OP_mul, TSH_i32, 0, 0, 0);
  cf_const(&s->k, TSH_i32, 3);
  cf_inst(&s->k, TSH_OP_shr, TSH_i32, 1, 2, 0);
  cf_inst(&s->k, TSH_OP_add, TSH_i32, 3, 0, 0);
  cf_inst(&s->k, TSH_OP_sum, TSH_i32, 4, 0, 0);
  cf_store(&s->k, 5, 1, TSH_ROW);
}

static int32_t sum_of_row(void) {
  int32_t sum = 0;
  for (int32_t i = 0; i < FOLDED; i++)
    sum = (int32_t)((uint32_t)sum +
                    (uint32_t)((int32_t)((uint32_t)i * (uint32_t)i) >> 3) +
                    (uint32_t)i);
  return sum;
}

static void place_slow(cf_job *j, job *b, int64_t rows, int64_t folded) {
  const int64_t in[2] = {0, 1}, out[2] = {1, 0};
  cf_job_init(j, &b->slow.k, "%d long rows", (int)rows);
  j->extent[0] = rows;
  j->extent[1] = folded;
  cf_job_arg(j, 0, NULL, 0, in);
  cf_job_arg(j, 1, b->sums, 0, out);
}

/* ns that `rows` take; -1 when they fail. */
static int64_t time_of(cf *t, job *b, int64_t rows) {
  tsh_err err;
  int64_t start = cf_now();
  place_slow(&b->j[0], b, rows, FOLDED);
  if (cf_run(t, &b->j[0], 1, &err) == TSH_OK) return cf_now() - start;
  cf_fail(t, "the long job: %s", err.text);
  return -1;
}

enum { MOST = 1 << 20 };

/* The machine may be busy with others: of what takes time the best of a few
 * tries counts. A fault that makes each one slow is found by three, too. */
static int tries(const cf *t) { return t->quiet ? 3 : 10; }

/* Finds how many rows make the job long, and how many a launch may have. */
static int size_up(cf *t, job *b) {
  int64_t rows = 16, ns, most = (int64_t)(t->props.max_loop / FOLDED);
  if (most > MOST) most = MOST;
  while ((ns = time_of(t, b, rows)) >= 0 && ns < 60 * CF_MS && rows * 2 <= most)
    rows *= 2;
  for (int i = 0; i < 3 && ns >= 0; i++) {
    int64_t again = time_of(t, b, rows);
    if (again < ns) ns = again;
  }
  if (ns < 0) return 0;
  b->span = t->quiet ? LESS : LONG;
  b->rows = (int64_t)((double)rows * (double)b->span / (double)ns);
  b->n = 1 + (uint32_t)((b->rows + most - 1) / most);
  if (b->n > CF_JOBS - 2) b->n = CF_JOBS - 2;
  if (b->rows > most) b->rows = most;
  return 1;
}

static int open_job(cf *t, job *b) {
  memset(b, 0, sizeof *b);
  build_slow(&b->slow);
  cf_work_build(&b->work);
  b->sums = cf_stage_mem(t, &b->slow, TSH_i32, MOST, CF_BLANK);
  b->x = cf_stage_mem(t, &b->work, TSH_f32, SHORT, CF_PLAIN);
  b->a = cf_stage_mem(t, &b->work, TSH_f32, SHORT, CF_BLANK);
  b->old = cf_stage_mem(t, &b->work, TSH_f32, SHORT, CF_NEAR1);
  if (!cf_stage_ready(t, &b->slow) || !cf_stage_ready(t, &b->work) ||
      !size_up(t, b))
    return 0;
  cf_work_job(&b->j[0], &b->work, b->x, 0, b->a, 0, SHORT, 2);
  for (uint32_t i = 1; i < b->n; i++) {
    place_slow(&b->j[i], b, b->rows, FOLDED);
    cf_after_all(b->j, i); /* all write the same sums */
  }
  cf_work_job(&b->j[b->n], &b->work, b->x, 0, b->old, 0, SHORT, 3);
  b->j[b->n].flags = TSH_LAUNCH_UPDATE;
  cf_after_all(b->j, b->n++);
  return 1;
}

static void close_job(cf *t, job *b) {
  cf_stage_free(t, &b->slow);
  cf_stage_free(t, &b->work);
}

/* ---- the word ----------------------------------------------------------- */
static void set(cf *t, uint32_t value) {
  __atomic_store_n(&t->cancel, value, __ATOMIC_RELAXED);
}

typedef struct {
  cf *t;
  int64_t delay, at;
} setter;

static void *set_later(void *arg) {
  setter *s = arg;
  cf_sleep(s->delay);
  s->at = cf_now();
  set(s->t, 1);
  return NULL;
}

/* Runs jobs and sets the word `delay` ns after their start (0: before). Gives
 * the ns from there to the answer. */
static int64_t stop(cf *t, const cf_job *j, uint32_t n, int64_t delay,
                    cf_outcome *o) {
  setter s = {t, delay, cf_now()};
  pthread_t thread;
  int64_t end;
  int threaded = delay > 0 && !pthread_create(&thread, NULL, set_later, &s);
  if (!threaded) set(t, 1);
  cf_outcome_of(t, j, n, o);
  end = cf_now();
  if (threaded) pthread_join(thread, NULL);
  set(t, 0);
  return end - s.at;
}

/* ---- cases -------------------------------------------------------------- */
/* The launches before the one named are complete, the UPDATE has not begun. */
static void check_left(cf *t, job *b, const cf_outcome *o) {
  cf_check_err(t, "a stop", o->rc, &o->err);
  cf_check(t, o->rc == TSH_ECANCELLED, "got %s, want ECANCELLED",
           cf_status_name(o->rc));
  cf_check(t, o->err.launch < b->n, "err.launch is %u of %u", o->err.launch,
           b->n);
  cf_check(t, o->err.ticket == o->ticket, "err.ticket is %llu, want %llu",
           (unsigned long long)o->err.ticket, (unsigned long long)o->ticket);
  if (o->err.launch > 0 && o->err.launch < b->n) cf_verify(t, &b->j[0], 1);
  cf_mem_check(t, b->old, "the UPDATE behind a stop has begun");
}

/* A job may be done before the word is set, where that thread had to wait for
 * its turn; this says nothing, and the next try sets it sooner. What runs on for
 * long after it has ignored the word. */
static void run_stop(cf *t, job *b, const char *name, int64_t delay) {
  int64_t best = INT64_MAX;
  if (!cf_begin(t, "cancel/%s", name)) return;
  for (int i = 0; i < tries(t) && best > SOON; i++) {
    cf_outcome o;
    int64_t ns;
    cf_mem_fill(b->a, 0x3c);
    cf_mem_up(t, b->a);
    ns = stop(t, b->j, b->n, delay, &o);
    if (delay > 0 && o.rc == TSH_OK && ns <= SOON) {
      cf_fill(b->old, CF_NEAR1, 0);
      cf_mem_up(t, b->old);
      delay = delay / 2 + 1;
      continue;
    }
    if (ns < best) best = ns;
    check_left(t, b, &o);
  }
  cf_check(t, best <= SOON, "the stop takes %lld ms",
           (long long)(best / CF_MS));
  cf_end(t);
}

/* The longest of a few waits for a job that runs, in ns. */
static int64_t poll(cf *t, job *b) {
  static const uint64_t timeouts[3] = {0, 50 * CF_MS, 0};
  uint64_t ticket;
  int64_t worst = 0;
  tsh_err err;
  tsh_status rc = cf_submit(t, b->j, b->n, &ticket, &err);
  cf_check(t, rc == TSH_OK, "submit: %s", err.text);
  for (int i = 0; i < 3 && rc == TSH_OK; i++) {
    int64_t ns = cf_now();
    tsh_status got;
    cf_err_init(&err);
    got = t->p->wait(t->dev, ticket, timeouts[i], &err);
    ns = cf_now() - ns;
    if (ns > worst) worst = ns;
    cf_check(t, got == TSH_OK || got == TSH_EPENDING, "wait: %s",
             cf_status_name(got));
  }
  set(t, 1);
  if (rc == TSH_OK) rc = cf_wait(t, ticket, &err);
  set(t, 0);
  cf_check(t, rc == TSH_OK || rc == TSH_ECANCELLED, "the end: %s",
           cf_status_name(rc));
  cf_fill(b->old, CF_NEAR1, 0); /* as the later cases find it */
  cf_mem_up(t, b->old);
  return worst;
}

/* While the job runs a poll and a short wait come back soon. */
static void run_poll(cf *t, job *b) {
  int64_t best = INT64_MAX;
  if (!cf_begin(t, "cancel/poll")) return;
  for (int i = 0; i < tries(t) && best > SOON; i++) {
    int64_t ns = poll(t, b);
    if (ns < best) best = ns;
  }
  cf_check(t, best <= SOON, "a wait of at most 50 ms takes %d ms",
           (int)(best / CF_MS));
  cf_end(t);
}

/* One row only: the word is read inside a fold, too. */
static void run_row(cf *t, job *b) {
  const int64_t most =
      t->props.max_loop < INT32_MAX ? (int64_t)t->props.max_loop : INT32_MAX;
  int64_t best = INT64_MAX, points = b->rows * (b->n - 2) * FOLDED;
  if (!cf_begin(t, "cancel/row")) return;
  for (int i = 0; i < tries(t) && best > SOON; i++) {
    cf_outcome o;
    cf_job j;
    int64_t ns;
    place_slow(&j, b, 1, points < most ? points : most);
    ns = stop(t, &j, 1, b->span / 5, &o);
    if (ns < best) best = ns;
    /* A device may have been done before the word was set. */
    cf_check(t, o.rc == TSH_OK || (o.rc == TSH_ECANCELLED && !o.err.launch),
             "%s, launch %u", cf_status_name(o.rc), o.err.launch);
  }
  cf_check(t, best <= SOON, "the stop takes %d ms", (int)(best / CF_MS));
  cf_end(t);
}

/* Rows of the long job that hold `want`, from the first on. */
static int64_t rows_with(cf *t, job *b, uint32_t want, int64_t rows) {
  int64_t n = 0;
  if (!cf_mem_down(t, b->sums)) return -1;
  while (n < rows && cf_get(b->sums->got, n, TSH_i32) == want) n++;
  return n;
}

/* The whole batch once more, with the word at 0. */
static void run_again(cf *t, job *b) {
  tsh_err err;
  tsh_status rc;
  int64_t ns = cf_now();
  if (!cf_begin(t, "cancel/again")) return;
  rc = cf_run(t, b->j, b->n, &err);
  ns = cf_now() - ns;
  cf_check(t, rc == TSH_OK, "after a stop: %s: %s", cf_status_name(rc),
           err.text);
  if (rc == TSH_OK) {
    int64_t good = rows_with(t, b, (uint32_t)sum_of_row(), b->rows);
    cf_verify(t, &b->j[0], 1);
    cf_verify(t, &b->j[b->n - 1], 1);
    cf_check(t, good == b->rows, "row %d of the long job is wrong", (int)good);
  }
  if (ns < LESS && !t->quiet)
    printf("note  cancel: the long job takes %d ms only\n", (int)(ns / CF_MS));
  cf_end(t);
}

/* The word is set while an UPDATE runs: it has not begun, or it ends. */
static void run_inside(cf *t, job *b) {
  const int64_t rows = b->rows / 10 + 1;
  cf_outcome o;
  cf_job j;
  int64_t good;
  if (!cf_begin(t, "cancel/inside-update")) return;
  cf_mem_fill(b->sums, 0x11);
  cf_mem_up(t, b->sums);
  place_slow(&j, b, rows, FOLDED);
  j.flags = TSH_LAUNCH_UPDATE;
  stop(t, &j, 1, b->span / 40, &o);
  cf_check(t, o.rc == TSH_OK || o.rc == TSH_ECANCELLED, "%s",
           cf_status_name(o.rc));
  good = rows_with(t, b, o.rc ? 0x11111111 : (uint32_t)sum_of_row(), rows);
  cf_check(t, good == rows, "%s, but row %d of the UPDATE is not",
           o.rc ? "not begun" : "complete", (int)good);
  cf_end(t);
}

/* The word is set before an UPDATE alone: it runs whole or not at all. */
static void run_update(cf *t, job *b) {
  cf_outcome o;
  cf_job j;
  if (!cf_begin(t, "cancel/update")) return;
  j = b->j[b->n - 1];
  j.nafter = 0;
  cf_fill(b->old, CF_TIES, 0);
  cf_mem_up(t, b->old);
  set(t, 1);
  cf_outcome_of(t, &j, 1, &o);
  set(t, 0);
  if (o.rc == TSH_OK) {
    cf_verify(t, &j, 1);
  } else {
    cf_check(t, o.rc == TSH_ECANCELLED, "%s", cf_status_name(o.rc));
    cf_mem_check(t, b->old, "a refused UPDATE has begun");
  }
  cf_end(t);
}

void cf_test_cancel(cf *t) {
  job *b = calloc(1, sizeof *b);
  if (!b) return;
  snprintf(t->group, sizeof t->group, "cancel/long-job");
  if (!t->list && !open_job(t, b)) goto out;
  run_poll(t, b);
  run_stop(t, b, "before", 0);
  run_stop(t, b, "middle", b->span / 5);
  run_row(t, b);
  run_again(t, b);
  run_update(t, b);
  run_inside(t, b);
out:
  close_job(t, b);
  free(b);
}
