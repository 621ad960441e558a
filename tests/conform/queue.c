/* queue.c - one queue in order: tickets, polling, what copy and free wait for,
 * dependencies inside a batch, structs of other sizes. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cf.h"

enum { POINTS = 1 << 18 };

/* ---- tickets ------------------------------------------------------------ */
static void run_tickets(cf *t) {
  cf_stage s;
  cf_mem *x, *y;
  cf_job j[3];
  uint64_t ticket[3];
  tsh_err err;
  if (!cf_begin(t, "queue/tickets")) return;
  cf_work_build(&s);
  x = cf_stage_mem(t, &s, TSH_f32, POINTS, CF_PLAIN);
  y = cf_stage_mem(t, &s, TSH_f32, 3 * POINTS, CF_BLANK);
  if (cf_stage_ready(t, &s)) {
    int good = 1;
    for (int i = 0; i < 3; i++) {
      cf_work_job(&j[i], &s, x, 0, y, (int64_t)i * POINTS, POINTS - i, i);
      good &= cf_check(t, cf_submit(t, &j[i], 1, &ticket[i], &err) == TSH_OK,
                       "submit: %s", err.text);
    }
    cf_check(t, good && ticket[0] < ticket[1] && ticket[1] < ticket[2],
             "tickets do not grow");
    cf_check(t, good && cf_wait(t, ticket[2], &err) == TSH_OK, "wait: %s",
             err.text);
    for (int i = 0; i < 3; i++) { /* done once, done for ever */
      cf_err_init(&err);
      cf_check(t, good && t->p->wait(t->dev, ticket[i], 0, &err) == TSH_OK,
               "ticket %d of 3 is not done after the last", i + 1);
    }
    if (good) cf_verify(t, j, 3);
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* A poll says done or not yet, and never waits for the work. */
static void run_poll(cf *t) {
  cf_stage s;
  cf_mem *x, *y;
  cf_job j;
  uint64_t ticket;
  tsh_err err;
  if (!cf_begin(t, "queue/poll")) return;
  cf_work_build(&s);
  x = cf_stage_mem(t, &s, TSH_f32, POINTS, CF_PLAIN);
  y = cf_stage_mem(t, &s, TSH_f32, POINTS, CF_BLANK);
  if (cf_stage_ready(t, &s)) {
    cf_work_job(&j, &s, x, 0, y, 0, POINTS, 2);
    if (cf_check(t, cf_submit(t, &j, 1, &ticket, &err) == TSH_OK, "submit: %s",
                 err.text)) {
      tsh_status rc;
      cf_err_init(&err);
      rc = t->p->wait(t->dev, ticket, 0, &err);
      cf_check(t, rc == TSH_OK || rc == TSH_EPENDING, "poll: %s",
               cf_status_name(rc));
      cf_check(t, cf_wait(t, ticket, &err) == TSH_OK, "wait: %s", err.text);
      cf_err_init(&err);
      cf_check(t, t->p->wait(t->dev, ticket, 0, &err) == TSH_OK,
               "a poll after wait is not done");
      cf_verify(t, &j, 1);
    }
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- order -------------------------------------------------------------- */
/* No wait: copy comes after the work, and the next copy before later work. */
static void run_copy_order(cf *t) {
  cf_stage s;
  cf_mem *x, *y;
  cf_job j[2];
  uint64_t ticket;
  tsh_err err;
  if (!cf_begin(t, "queue/copy-order")) return;
  cf_work_build(&s);
  x = cf_stage_mem(t, &s, TSH_f32, POINTS, CF_PLAIN);
  y = cf_stage_mem(t, &s, TSH_f32, 2 * POINTS, CF_BLANK);
  if (cf_stage_ready(t, &s)) {
    cf_work_job(&j[0], &s, x, 0, y, 0, POINTS, 3);
    cf_work_job(&j[1], &s, x, 0, y, POINTS, POINTS, 5);
    cf_check(t, cf_submit(t, &j[0], 1, &ticket, &err) == TSH_OK, "%s",
             err.text);
    cf_verify(t, &j[0], 1);
    cf_fill(x, CF_NEAR1, 0); /* the first job has read x by now */
    cf_mem_up(t, x);
    cf_check(t, cf_submit(t, &j[1], 1, &ticket, &err) == TSH_OK, "%s",
             err.text);
    cf_verify(t, &j[1], 1);
    cf_check(t, cf_wait(t, ticket, &err) == TSH_OK, "%s", err.text);
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* The input is freed and its memory asked for again while work is queued. */
static void run_free_order(cf *t) {
  cf_stage s;
  cf_mem x, junk, *y;
  cf_job j;
  uint64_t ticket;
  tsh_err err;
  memset(&x, 0, sizeof x);
  memset(&junk, 0, sizeof junk);
  if (!cf_begin(t, "queue/free-order")) return;
  cf_work_build(&s);
  y = cf_stage_mem(t, &s, TSH_f32, POINTS, CF_BLANK);
  if (cf_stage_ready(t, &s) && cf_mem_new(t, TSH_f32, POINTS, &x)) {
    cf_fill(&x, CF_PLAIN, 0);
    if (cf_mem_up(t, &x)) {
      cf_work_job(&j, &s, &x, 0, y, 0, POINTS, 7);
      cf_check(t, cf_submit(t, &j, 1, &ticket, &err) == TSH_OK, "%s", err.text);
      t->p->free(t->dev, x.buf);
      x.buf = NULL;
      if (cf_mem_new(t, TSH_f32, POINTS, &junk)) cf_mem_up(t, &junk);
      cf_check(t, cf_wait(t, ticket, &err) == TSH_OK, "%s", err.text);
      cf_verify(t, &j, 1);
    }
  }
  cf_mem_free(t, &x);
  cf_mem_free(t, &junk);
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- dependencies ------------------------------------------------------- */
/* A batch of 64: chains of four over one buffer, each reading what the launch
 * before has written, and between them launches that read two chains. */
static void run_chain(cf *t, int n) {
  enum { STEP = 300, SLOT = 320 };
  cf_stage s;
  cf_mem *x, *y;
  cf_job *j = calloc((size_t)n, sizeof *j);
  if (j && cf_begin(t, "queue/chain-%d", n)) {
    cf_work_build(&s);
    x = cf_stage_mem(t, &s, TSH_f32, STEP, CF_PLAIN);
    y = cf_stage_mem(t, &s, TSH_f32, n * SLOT, CF_BLANK);
    if (cf_stage_ready(t, &s)) {
      for (int i = 0; i < n; i++) {
        int first = i % 4 == 0;
        cf_work_job(&j[i], &s, first ? x : y, first ? 0 : (i - 1) * SLOT, y,
                    i * SLOT, STEP - i, 0.25 * i);
        j[i].nafter = !first;
        j[i].after[0] = (uint32_t)i - 1;
      }
      cf_try(t, j, (uint32_t)n);
    }
    cf_stage_free(t, &s);
    cf_end(t);
  }
  free(j);
}

/* Batches of one key: other buffers, offsets, extents and scalars. */
static void run_key(cf *t) {
  cf_stage s;
  cf_mem *x, *y[2];
  if (!cf_begin(t, "queue/key")) return;
  cf_work_build(&s);
  x = cf_stage_mem(t, &s, TSH_f32, 2000, CF_PLAIN);
  y[0] = cf_stage_mem(t, &s, TSH_f32, 4000, CF_BLANK);
  y[1] = cf_stage_mem(t, &s, TSH_f32, 4000, CF_BLANK);
  if (cf_stage_ready(t, &s)) {
    t->key = 12345;
    for (int i = 0; i < 5; i++) {
      cf_job j[2];
      cf_work_job(&j[0], &s, x, i, y[i & 1], 3 * i, 100 + 257 * i, i);
      cf_work_job(&j[1], &s, y[i & 1], 3 * i, y[i & 1], 2000 + i, 90 + 250 * i,
                  2);
      cf_after_all(j, 1);
      cf_try(t, j, 2);
    }
    t->key = 0;
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- programs ----------------------------------------------------------- */
/* Two kernels that differ under one hash, and one that is compiled twice:
 * only equal bytes may be shared, and what is shared outlives a drop. */
static void run_shared(cf *t) {
  cf_stage s[3];
  cf_mem *x, *y;
  int good = 1;
  if (!cf_begin(t, "queue/shared")) return;
  t->hash = 42;
  for (int i = 0; i < 3; i++) {
    cf_work_build(&s[i]);
    if (i == 1) s[i].k.inst[3].op = TSH_OP_sub;
    good &= cf_stage_ready(t, &s[i]);
  }
  t->hash = 0;
  cf_drop(t, &s[0].k);
  x = cf_stage_mem(t, &s[2], TSH_f32, 1000, CF_PLAIN);
  y = cf_stage_mem(t, &s[2], TSH_f32, 1000, CF_BLANK);
  if (good && s[2].good)
    for (int i = 1; i < 3; i++) {
      cf_job j;
      cf_work_job(&j, &s[i], x, i, y, 500 * i - 500, 400 + i, 3);
      cf_try(t, &j, 1);
    }
  for (int i = 0; i < 3; i++) cf_stage_free(t, &s[i]);
  cf_end(t);
}

/* ---- structs ------------------------------------------------------------ */
/* A host of an older version passes a smaller tsh_err. */
static void run_short_err(cf *t) {
  static const uint32_t sizes[3] = {offsetof(tsh_err, ticket),
                                    offsetof(tsh_err, text),
                                    offsetof(tsh_err, text) + 24};
  if (!cf_begin(t, "queue/short-err")) return;
  for (int i = 0; i < 3; i++) {
    tsh_err *err = malloc(sizeof *err);
    const uint8_t *room = (const uint8_t *)err;
    tsh_buf *buf = NULL;
    uint32_t at = sizes[i];
    tsh_status rc;
    if (!err) break;
    memset(err, 0x5a, sizeof *err);
    err->size = sizes[i];
    rc = t->p->alloc(t->dev, UINT64_C(1) << 62, &buf, err);
    cf_check(t, rc == TSH_ENOMEM && err->code == rc, "code %d of %d", err->code,
             rc);
    while (at < sizeof *err && room[at] == 0x5a) at++;
    cf_check(t, at == sizeof *err, "size %u, byte %u was written", sizes[i],
             at);
    free(err);
  }
  cf_end(t);
}

/* ---- threads ------------------------------------------------------------ */
/* Linux shows what each thread blocks: all but KILL, STOP and what the C
 * library keeps for itself. */
static int blocks_all(const char *tid) {
  char path[64], line[128];
  unsigned long long mask = ~0ULL;
  FILE *f;
  snprintf(path, sizeof path, "/proc/self/task/%.20s/status", tid);
  f = fopen(path, "r");
  if (!f) return 1;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "SigBlk: %llx", &mask) == 1) break;
  fclose(f);
  return (mask & 0x7ffbfeff) == 0x7ffbfeff;
}

static void run_signals(cf *t) {
  DIR *dir = opendir("/proc/self/task");
  struct dirent *e;
  char self[24] = "";
  FILE *f = fopen("/proc/thread-self/stat", "r");
  if (f && fscanf(f, "%20s", self) != 1) self[0] = 0;
  if (f) fclose(f);
  if (dir && *self && cf_begin(t, "queue/signals")) {
    while ((e = readdir(dir)))
      if (*e->d_name != '.' && strcmp(e->d_name, self) != 0)
        cf_check(t, blocks_all(e->d_name), "thread %s takes signals",
                 e->d_name);
    cf_end(t);
  }
  if (dir) closedir(dir);
}

/* ---- optional entries --------------------------------------------------- */
static void run_elapsed(cf *t) {
  cf_stage s;
  cf_mem *x, *y;
  cf_job j;
  cf_outcome o;
  uint64_t ns = 0;
  tsh_err err;
  if (!CF_OPTIONAL(t, elapsed) || !cf_begin(t, "queue/elapsed")) return;
  cf_work_build(&s);
  x = cf_stage_mem(t, &s, TSH_f32, POINTS, CF_PLAIN);
  y = cf_stage_mem(t, &s, TSH_f32, POINTS, CF_BLANK);
  if (cf_stage_ready(t, &s)) {
    int64_t start = cf_now();
    cf_work_job(&j, &s, x, 0, y, 0, POINTS, 2);
    cf_outcome_of(t, &j, 1, &o);
    start = cf_now() - start;
    cf_err_init(&err);
    cf_check(t, t->p->elapsed(t->dev, o.ticket, &ns, &err) == TSH_OK, "%s",
             err.text);
    cf_check(t, ns > 0 && ns <= (uint64_t)start,
             "%llu ns of %llu from submit to wait", (unsigned long long)ns,
             (unsigned long long)start);
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- devices at once ---------------------------------------------------- */
static void *work_on(void *arg) {
  cf *t = arg;
  for (int i = 0; i < 30; i++) {
    cf_stage s;
    cf_mem *x, *y;
    cf_job j;
    cf_work_build(&s);
    x = cf_stage_mem(t, &s, TSH_f32, 40000, CF_PLAIN);
    y = cf_stage_mem(t, &s, TSH_f32, 40000, CF_BLANK);
    if (cf_stage_ready(t, &s)) {
      cf_work_job(&j, &s, x, i, y, i, 30000 + i, i);
      cf_try(t, &j, 1);
    }
    cf_stage_free(t, &s);
  }
  return NULL;
}

/* Another device of the plugin, if there is one, works at the same time. */
static void run_two(cf *t) {
  cf one = *t, two = *t;
  pthread_t thread;
  tsh_err err;
  cf_err_init(&err);
  two.index = t->index ? 0 : 1;
  /* The planted faults of the self-test know one device only. */
  if (t->quiet || two.index >= t->p->count(&err)) return;
  if (!cf_begin(t, "queue/two-devices")) return;
  one.quiet = two.quiet = 1;
  one.failed = two.failed = 0;
  if (cf_check(t, cf_open(&two, &err), "device %u: %s", two.index, err.text) &&
      pthread_create(&thread, NULL, work_on, &two) == 0) {
    work_on(&one);
    pthread_join(thread, NULL);
    cf_check(t, !one.failed && !two.failed, "%d and %d of 60 cases fail",
             (int)one.failed, (int)two.failed);
  }
  cf_close(&two);
  t->ticket = one.ticket;
  cf_end(t);
}

/* ---- close and open ----------------------------------------------------- */
static void run_reopen(cf *t) {
  cf_mem m;
  tsh_err err;
  if (!cf_begin(t, "queue/reopen")) return;
  for (int i = 0; i < 3; i++) {
    cf_close(t);
    if (!cf_check(t, cf_open(t, &err), "open again: %s", err.text)) break;
    if (!cf_mem_new(t, TSH_f32, 100, &m)) break;
    cf_fill(&m, CF_BITS, 0);
    if (cf_mem_up(t, &m)) cf_mem_check(t, &m, "after opening again");
    cf_mem_free(t, &m);
  }
  cf_end(t);
}

void cf_test_queue(cf *t) {
  run_tickets(t);
  run_poll(t);
  run_copy_order(t);
  run_free_order(t);
  run_chain(t, 8);
  run_chain(t, 64);
  run_key(t);
  run_shared(t);
  run_short_err(t);
  run_signals(t);
  run_elapsed(t);
  run_two(t);
  run_reopen(t);
}
