/* error.c - data errors: what TSH_EINDEX says, what the rest of its batch has
 * done, and what an UPDATE behind it has not. */
#include <inttypes.h>
#include <string.h>

#include "cf.h"

enum { ROWS = 31, COLS = 33, POINTS = ROWS * COLS, LIMIT = 9, ROOM = 1200 };

/* p = index(y, n) over two axes. */
static void build(cf_stage *s, int dtype) {
  cf_stage_init(s, 2, 0);
  cf_arg(&s->k, dtype, TSH_STRIDED);
  cf_arg(&s->k, dtype, TSH_STRIDED);
  cf_load(&s->k, 0, 0);
  cf_scalar(&s->k, dtype);
  cf_inst(&s->k, TSH_OP_index, dtype, 0, 1, 0);
  cf_store(&s->k, 2, 1, 0);
}

/* Positions lie transposed: element numbers are no addresses. */
static const int64_t turned[2] = {1, ROWS}, straight[2] = {COLS, 1};

static int64_t address(int64_t element) {
  return element / COLS + element % COLS * ROWS;
}

static void place(cf_job *j, cf_stage *s, cf_mem *y, cf_mem *p) {
  const int64_t extent[2] = {ROWS, COLS};
  cf_job_init(j, &s->k, "positions");
  cf_job_extent(j, extent);
  j->scalar[0].i = LIMIT;
  cf_job_arg(j, 0, y, 0, turned);
  cf_job_arg(j, 1, p, 0, straight);
}

static void fill(cf_mem *y) {
  for (int i = 0; i < ROOM; i++)
    cf_put(y->want, i, y->dtype,
           cf_from_int(y->dtype, i % 2 ? 1 + i % LIMIT : -1 - i % LIMIT));
}

static void spoil(cf_mem *y, int64_t element, int64_t value) {
  cf_put(y->want, address(element), y->dtype, cf_from_int(y->dtype, value));
}

/* Cases: the error is the right one, with ticket where wait has found it. */
static void check_outcome(cf *t, const cf_outcome *o, uint32_t launch,
                          int64_t at) {
  cf_check_err(t, "a position out of range", o->rc, &o->err);
  cf_check(t, o->rc == TSH_EINDEX, "got %s, want EINDEX",
           cf_status_name(o->rc));
  cf_check(t, o->err.launch == launch, "err.launch is %u, want %u",
           o->err.launch, launch);
  cf_check(t, o->err.at == at, "err.at is %" PRId64 ", want %" PRId64,
           o->err.at, at);
  cf_check(t, o->err.ticket == o->ticket,
           "err.ticket is %" PRIu64 ", want %" PRIu64, o->err.ticket,
           o->ticket);
}

/* An error is reported once. */
static void check_reported(cf *t, const cf_outcome *o) {
  tsh_err err;
  if (o->ticket)
    cf_check(t, cf_wait(t, o->ticket, &err) == TSH_OK,
             "the second wait reports again: %s", err.text);
}

/* ---- one launch --------------------------------------------------------- */
static void run_at(cf *t, int dtype) {
  static const int64_t where[] = {0, 1, 32, 33, 511, POINTS - 1};
  const int64_t values[6] = {0, LIMIT + 1, -LIMIT - 1, 0, INT32_MAX, INT32_MIN};
  cf_stage s;
  cf_mem *y, *p;
  if (!cf_begin(t, "error/%s/at", cf_dtype_name(dtype))) return;
  build(&s, dtype);
  y = cf_stage_mem(t, &s, dtype, ROOM, CF_BLANK);
  p = cf_stage_mem(t, &s, dtype, ROOM, CF_BLANK);
  if (cf_stage_ready(t, &s))
    for (int i = 0; i < 6; i++) {
      cf_outcome o;
      cf_job j;
      fill(y);
      spoil(y, where[i], values[i]);
      place(&j, &s, y, p);
      if (!cf_mem_up(t, y)) break;
      cf_outcome_of(t, &j, 1, &o);
      check_outcome(t, &o, 0, where[i]);
      check_reported(t, &o);
      cf_verify(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* Several bad elements: the first one is named. */
static void run_first(cf *t, int dtype) {
  cf_stage s;
  cf_mem *y, *p;
  if (!cf_begin(t, "error/%s/first", cf_dtype_name(dtype))) return;
  build(&s, dtype);
  y = cf_stage_mem(t, &s, dtype, ROOM, CF_BLANK);
  p = cf_stage_mem(t, &s, dtype, ROOM, CF_BLANK);
  if (cf_stage_ready(t, &s)) {
    cf_outcome o;
    cf_job j;
    fill(y);
    for (int64_t e = 700; e >= 70; e -= 35) spoil(y, e, LIMIT + e);
    place(&j, &s, y, p);
    if (cf_mem_up(t, y)) {
      cf_outcome_of(t, &j, 1, &o);
      check_outcome(t, &o, 0, 70);
      cf_verify(t, &j, 1);
    }
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- a batch ------------------------------------------------------------ */
typedef struct {
  cf_stage index, work;
  cf_mem *y, *p, *x, *a, *b, *old;
  cf_job j[6];
} batch;

/* 0 work, 1 index, 2 work, 3 index, 4 work, 5 UPDATE of an older buffer. */
static int open_batch(cf *t, batch *b) {
  build(&b->index, TSH_i32);
  cf_work_build(&b->work);
  b->y = cf_stage_mem(t, &b->index, TSH_i32, ROOM, CF_BLANK);
  b->p = cf_stage_mem(t, &b->index, TSH_i32, 2 * ROOM, CF_BLANK);
  b->x = cf_stage_mem(t, &b->work, TSH_f32, ROOM, CF_PLAIN);
  b->a = cf_stage_mem(t, &b->work, TSH_f32, ROOM, CF_BLANK);
  b->b = cf_stage_mem(t, &b->work, TSH_f32, 2 * ROOM, CF_BLANK);
  b->old = cf_stage_mem(t, &b->work, TSH_f32, ROOM, CF_NEAR1);
  if (!cf_stage_ready(t, &b->index) || !cf_stage_ready(t, &b->work)) return 0;
  fill(b->y);
  cf_work_job(&b->j[0], &b->work, b->x, 0, b->a, 0, 1000, 2);
  place(&b->j[1], &b->index, b->y, b->p);
  cf_work_job(&b->j[2], &b->work, b->x, 7, b->b, 0, 999, 3);
  place(&b->j[3], &b->index, b->y, b->p);
  b->j[3].arg[1].offset = ROOM;
  cf_work_job(&b->j[4], &b->work, b->a, 0, b->b, ROOM, 500, 4);
  b->j[4].nafter = 1; /* of launch 0 */
  cf_work_job(&b->j[5], &b->work, b->x, 1, b->old, 3, 800, 5);
  b->j[5].flags = TSH_LAUNCH_UPDATE;
  cf_after_all(b->j, 5);
  return 1;
}

static void close_batch(cf *t, batch *b) {
  cf_stage_free(t, &b->index);
  cf_stage_free(t, &b->work);
}

/* All but the UPDATE is done; then the good part is submitted again. */
static void check_left(cf *t, batch *b) {
  cf_job again;
  cf_verify(t, b->j, 5);
  cf_mem_check(t, b->old, "the UPDATE behind an error has begun");
  again = b->j[5];
  again.nafter = 0;
  cf_try(t, &again, 1);
}

static void run_batch(cf *t) {
  batch b;
  memset(&b, 0, sizeof b);
  if (!cf_begin(t, "error/batch")) return;
  if (open_batch(t, &b)) {
    cf_outcome o;
    b.j[3].arg[0].offset = 1; /* its last row runs past the bad element */
    spoil(b.y, 0, LIMIT + 5);
    if (cf_mem_up(t, b.y)) {
      cf_outcome_of(t, b.j, 6, &o);
      check_outcome(t, &o, 1, 0);
      check_reported(t, &o);
      check_left(t, &b);
    }
  }
  close_batch(t, &b);
  cf_end(t);
}

/* Two bad launches: the first is named. Then the batch without a fault. */
static void run_two(cf *t) {
  batch b;
  memset(&b, 0, sizeof b);
  if (!cf_begin(t, "error/two-launches")) return;
  if (open_batch(t, &b)) {
    cf_outcome o;
    spoil(b.y, 600, LIMIT + 5);
    if (cf_mem_up(t, b.y)) {
      cf_outcome_of(t, b.j, 6, &o);
      check_outcome(t, &o, 1, 600);
      check_left(t, &b);
    }
    fill(b.y);
    if (cf_mem_up(t, b.y)) cf_try(t, b.j, 6);
  }
  close_batch(t, &b);
  cf_end(t);
}

/* A bad launch behind an UPDATE is no reason to hold it back. */
static void run_before(cf *t) {
  batch b;
  cf_job j[2];
  cf_outcome o;
  memset(&b, 0, sizeof b);
  if (!cf_begin(t, "error/update-before")) return;
  if (open_batch(t, &b)) {
    j[0] = b.j[5];
    j[0].nafter = 0;
    j[1] = b.j[1];
    spoil(b.y, 5, 0);
    if (cf_mem_up(t, b.y)) {
      cf_outcome_of(t, j, 2, &o);
      check_outcome(t, &o, 1, 5);
      cf_verify(t, j, 2);
    }
  }
  close_batch(t, &b);
  cf_end(t);
}

/* ---- several tickets ---------------------------------------------------- */
/* Batches: bad, good, bad, good. Waiting for the last names the bad ones one
 * after the other, unless submit has named them. */
static void run_tickets(cf *t) {
  batch b;
  uint64_t ticket[4] = {0};
  tsh_err err;
  tsh_status rc[4];
  memset(&b, 0, sizeof b);
  if (!cf_begin(t, "error/tickets")) return;
  if (open_batch(t, &b)) {
    cf_job *order[4] = {&b.j[1], &b.j[0], &b.j[3], &b.j[2]};
    spoil(b.y, 100, 0);
    if (!cf_mem_up(t, b.y)) goto out;
    for (int i = 0; i < 4; i++) {
      rc[i] = cf_submit(t, order[i], 1, &ticket[i], &err);
      cf_check(t,
               rc[i] == TSH_OK || (rc[i] == TSH_EINDEX && i % 2 == 0 &&
                                   err.launch == 0 && err.at == 100),
               "submit %d: %s", i, cf_status_name(rc[i]));
    }
    for (int i = 0; i < 4; i += 2) {
      if (rc[i] != TSH_OK || rc[3] != TSH_OK) continue;
      rc[i] = cf_wait(t, ticket[3], &err);
      cf_check(t, rc[i] == TSH_EINDEX && err.ticket == ticket[i],
               "%s, ticket %" PRIu64 ", want EINDEX of %" PRIu64,
               cf_status_name(rc[i]), err.ticket, ticket[i]);
    }
    cf_check(t, cf_wait(t, ticket[3], &err) == TSH_OK, "a third error: %s",
             err.text);
    cf_verify(t, b.j, 4);
  }
out:
  close_batch(t, &b);
  cf_end(t);
}

void cf_test_error(cf *t) {
  run_at(t, TSH_i32);
  if (cf_has(t, TSH_OP_index, TSH_i64)) run_at(t, TSH_i64);
  run_first(t, TSH_i32);
  run_batch(t);
  run_two(t);
  run_before(t);
  run_tickets(t);
}
