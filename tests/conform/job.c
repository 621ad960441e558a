/* job.c - launches. A batch is lent in one block, every second one with
 * launches and structs larger than the plugin knows, and wiped when submit
 * returns: what the plugin still needs by then it must have copied. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cf.h"

enum { GROWTH = 24 };

void cf_job_init(cf_job *j, cf_kern *k, const char *format, ...) {
  va_list args;
  memset(j, 0, sizeof *j);
  j->kern = k;
  va_start(args, format);
  vsnprintf(j->what, sizeof j->what, format, args);
  va_end(args);
}

void cf_job_extent(cf_job *j, const int64_t *extent) {
  memcpy(j->extent, extent, j->kern->k.rank * sizeof *extent);
}

void cf_job_arg(cf_job *j, int arg, cf_mem *m, int64_t offset,
                const int64_t *stride) {
  j->arg[arg].mem = m;
  j->arg[arg].offset = offset;
  memcpy(j->arg[arg].stride, stride, j->kern->rank[arg] * sizeof *stride);
}

void cf_dense(int rank, const int64_t *extent, int64_t *stride) {
  int64_t step = 1;
  for (int i = rank - 1; i >= 0; i--) {
    stride[i] = step;
    step *= extent[i] > 0 ? extent[i] : 1;
  }
}

void cf_after_all(cf_job *jobs, uint32_t n) {
  jobs[n].nafter = n;
  for (uint32_t i = 0; i < n; i++) jobs[n].after[i] = i;
}

/* ---- the block that is lent --------------------------------------------- */
typedef struct {
  tsh_launch launch;
  uint8_t junk[GROWTH];
} grown_launch;

typedef struct {
  tsh_view view[CF_ARGS];
  cf_job job; /* the arrays that the launch and its views point to */
} lent_job;

typedef struct {
  struct {
    tsh_batch b;
    uint8_t junk[GROWTH];
  } head;
  uint8_t *launches;
  lent_job *jobs;
} lent;

static void lend_launch(tsh_launch *l, lent_job *own, int grown) {
  const cf_job *j = &own->job;
  int call = j->kern->k.op != TSH_OP_PROGRAM;
  for (int i = 0; i < j->kern->k.narg; i++) {
    own->view[i].buf = j->arg[i].mem ? j->arg[i].mem->buf : NULL;
    own->view[i].offset = j->arg[i].offset;
    own->view[i].extent = call ? j->arg[i].extent : NULL;
    own->view[i].stride = j->arg[i].stride;
  }
  l->size = sizeof *l + (grown ? GROWTH : 0);
  l->flags = j->flags;
  l->prog = j->kern->prog;
  l->extent = call ? NULL : j->extent;
  l->arg = own->view;
  l->scalar = j->scalar;
  l->after = j->after;
  l->nafter = j->nafter;
  l->tag = 7;
}

static int lend(lent *l, const cf_job *jobs, uint32_t n, uint64_t key,
                int grown) {
  size_t step = grown ? sizeof(grown_launch) : sizeof(tsh_launch);
  l->launches = malloc(n * step);
  l->jobs = malloc(n * sizeof *l->jobs);
  if (!l->launches || !l->jobs) return 0;
  memset(l->launches, 0xee, n * step);
  for (uint32_t i = 0; i < n; i++) {
    l->jobs[i].job = jobs[i];
    lend_launch((tsh_launch *)(void *)(l->launches + i * step), &l->jobs[i],
                grown);
  }
  memset(&l->head, 0xee, sizeof l->head);
  l->head.b =
      (tsh_batch){.size = sizeof l->head.b + (grown ? GROWTH : 0),
                  .nlaunch = n,
                  .key = key,
                  .launch_size = (uint32_t)step,
                  .launch = (const tsh_launch *)(const void *)l->launches};
  return 1;
}

static void wipe(lent *l, uint32_t n, int grown) {
  size_t step = grown ? sizeof(grown_launch) : sizeof(tsh_launch);
  if (l->launches) memset(l->launches, 0xee, n * step);
  if (l->jobs) memset(l->jobs, 0xee, n * sizeof *l->jobs);
  free(l->launches);
  free(l->jobs);
  memset(l, 0xee, sizeof *l);
}

tsh_status cf_submit(cf *t, const cf_job *jobs, uint32_t n, uint64_t *ticket,
                     tsh_err *err) {
  lent *l = calloc(1, sizeof *l);
  int grown = t->calls++ & 1;
  tsh_status rc = TSH_ENOMEM;
  cf_err_init(err);
  *ticket = 0;
  if (l && lend(l, jobs, n, t->key, grown))
    rc = t->p->submit(t->dev, &l->head.b, ticket, err);
  if (l) wipe(l, n, grown);
  free(l);
  if (rc == TSH_OK && *ticket <= t->ticket)
    cf_fail(t, "ticket %" PRIu64 " after ticket %" PRIu64, *ticket, t->ticket);
  if (rc == TSH_OK) t->ticket = *ticket;
  return rc;
}

tsh_status cf_wait(cf *t, uint64_t ticket, tsh_err *err) {
  tsh_status rc = TSH_EPENDING;
  for (int64_t end = cf_now() + 60000 * CF_MS;
       rc == TSH_EPENDING && cf_now() < end;) {
    cf_err_init(err);
    rc = t->p->wait(t->dev, ticket, 50 * CF_MS, err);
  }
  return rc;
}

tsh_status cf_run(cf *t, const cf_job *jobs, uint32_t n, tsh_err *err) {
  uint64_t ticket;
  tsh_status rc = cf_submit(t, jobs, n, &ticket, err);
  return rc == TSH_OK ? cf_wait(t, ticket, err) : rc;
}

void cf_outcome_of(cf *t, const cf_job *jobs, uint32_t n, cf_outcome *out) {
  out->rc = cf_submit(t, jobs, n, &out->ticket, &out->err);
  if (out->rc == TSH_OK)
    out->rc = cf_wait(t, out->ticket, &out->err);
  else
    out->ticket = 0;
}
