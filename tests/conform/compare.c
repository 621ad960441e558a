/* compare.c - judging what a run has left: each output element against the
 * evaluator within its limit, and every other byte as it was. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cf.h"

static void report(cf *t, const cf_job *j, int dtype, int64_t i, int64_t n,
                   uint64_t got, uint64_t want) {
  char got_text[64], want_text[64], ulp_text[32] = "";
  uint64_t ulp = cf_ulp(dtype, got, want);
  if (ulp < UINT64_MAX)
    snprintf(ulp_text, sizeof ulp_text, ", %" PRIu64 " ulp", ulp);
  cf_fail(t, "%s: element %" PRId64 " of %" PRId64 ": got %s, want %s%s",
          j->what, i, n, cf_show(got_text, dtype, got),
          cf_show(want_text, dtype, want), ulp_text);
}

typedef struct {
  const cf_job *j;
  const cf_view *v;
  int rank, dtype;
  int64_t n;
} output;

/* Compares one output; takes what is near enough into `want`, so that the
 * rest of the buffer can be compared byte by byte. */
static int compare_output(cf *t, const output *o) {
  cf_mem *m = o->v->mem;
  for (int64_t i = 0; i < o->n; i++) {
    int64_t at = cf_place(o->j->extent, o->rank, o->v, i);
    uint64_t got = cf_get(m->got, at, o->dtype);
    uint64_t want = cf_get(m->want, at, o->dtype);
    if (cf_ulp(o->dtype, got, want) > o->v->limit) {
      report(t, o->j, o->dtype, i, o->n, got, want);
      return 0;
    }
    cf_put(m->want, at, o->dtype, got);
  }
  return 1;
}

static int compare_program(cf *t, const cf_job *j) {
  const tsh_kernel *k = &j->kern->k;
  for (int i = 0; i < k->ninst; i++) {
    const tsh_inst *in = &j->kern->inst[i];
    output o;
    if (in->op != TSH_OP_STORE) continue;
    o.j = j;
    o.v = &j->arg[in->imm];
    o.dtype = o.v->mem->dtype;
    o.rank = in->flags & TSH_ROW ? k->rank - k->nfold : k->rank;
    o.n = cf_points(j->extent, o.rank);
    if (!compare_output(t, &o)) return 0;
  }
  return 1;
}

/* The output buffers of the jobs, each once. */
static uint32_t outputs_of(cf_job *jobs, uint32_t n, cf_mem **out,
                           uint32_t max) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++)
    for (int k = 0; k < jobs[i].kern->k.ninst; k++) {
      const tsh_inst *in = &jobs[i].kern->inst[k];
      cf_mem *m;
      uint32_t seen = 0;
      if (in->op != TSH_OP_STORE) continue;
      m = jobs[i].arg[in->imm].mem;
      while (seen < count && out[seen] != m) seen++;
      if (seen == count && count < max) out[count++] = m;
    }
  return count;
}

static int rest_untouched(cf *t, cf_mem *m) {
  uint64_t at = 0;
  while (at < m->bytes && m->want[at] == m->got[at]) at++;
  return cf_check(t, at == m->bytes,
                  "byte %" PRIu64 " outside the outputs was written", at);
}

int cf_verify(cf *t, cf_job *jobs, uint32_t n) {
  cf_mem *out[64];
  uint32_t nout = outputs_of(jobs, n, out, 64);
  int64_t bad;
  int good = 1;
  for (uint32_t i = 0; i < n; i++) {
    tsh_status rc = cf_eval(&jobs[i], &bad);
    if (rc == TSH_OK || rc == TSH_EINDEX) continue;
    cf_fail(t, "%s: the test itself fails: %s", jobs[i].what,
            cf_status_name(rc));
    return 0;
  }
  for (uint32_t i = 0; i < nout; i++)
    if (!cf_mem_down(t, out[i])) return 0;
  for (uint32_t i = 0; i < n; i++) {
    int same = compare_program(t, &jobs[i]);
    if (same) cf_pass(t);
    good &= same;
  }
  for (uint32_t i = 0; good && i < nout; i++) good &= rest_untouched(t, out[i]);
  return good;
}

int cf_try(cf *t, cf_job *jobs, uint32_t n) {
  tsh_err err;
  tsh_status rc = cf_run(t, jobs, n, &err);
  if (rc == TSH_OK) return cf_verify(t, jobs, n);
  cf_fail(t, "%s: %s: %s", jobs[0].what, cf_status_name(rc), err.text);
  return 0;
}
