/* stage.c - what most tests need: one kernel, some buffers, freed together. */
#include <string.h>

#include "cf.h"

void cf_stage_init(cf_stage *s, int rank, int nfold) {
  memset(s, 0, sizeof *s);
  cf_kern_init(&s->k, rank, nfold);
  s->good = 1;
}

cf_mem *cf_stage_mem(cf *t, cf_stage *s, int dtype, int64_t n, int style) {
  cf_mem *m = &s->m[s->n++];
  if (!s->good) return m;
  s->good = cf_mem_new(t, dtype, n, m);
  if (!s->good) return m;
  if (style != CF_BLANK) cf_fill(m, style, s->n);
  s->good = cf_mem_up(t, m);
  return m;
}

int cf_stage_ready(cf *t, cf_stage *s) {
  return s->good && cf_compile(t, &s->k);
}

int cf_stage_phases(cf *t, cf_stage *s, uint32_t phases, int64_t inner) {
  tsh_err err;
  tsh_status rc;
  if (t->props.max_phases >= phases &&
      t->props.max_phase_inner >= (uint64_t)inner)
    return cf_stage_ready(t, s);
  if (!s->good) return 0;
  if (t->props.max_phases >= phases) return 0; /* only the launch is too big */
  rc = cf_compile_raw(t, &s->k, &err);
  if (rc == TSH_OK) return 1;
  cf_check(t, rc == TSH_EUNSUPPORTED || rc == TSH_EINVAL,
           "a kernel of %u phases on a device of %u: %s", phases,
           t->props.max_phases, cf_status_name(rc));
  return 0;
}

void cf_stage_free(cf *t, cf_stage *s) {
  cf_drop(t, &s->k);
  for (int i = 0; i < s->n; i++) cf_mem_free(t, &s->m[i]);
}

/* ---- the work around what is tested ------------------------------------- */
void cf_work_build(cf_stage *s) {
  cf_stage_init(s, 1, 0);
  cf_arg(&s->k, TSH_f32, TSH_STRIDED);
  cf_arg(&s->k, TSH_f32, TSH_STRIDED);
  cf_load(&s->k, 0, 0);
  cf_scalar(&s->k, TSH_f32);
  cf_inst(&s->k, TSH_OP_mul, TSH_f32, 0, 1, 0);
  cf_inst(&s->k, TSH_OP_add, TSH_f32, 2, 0, 0);
  cf_store(&s->k, 3, 1, 0);
}

void cf_work_job(cf_job *j, cf_stage *s, cf_mem *x, int64_t x_at, cf_mem *y,
                 int64_t y_at, int64_t n, double factor) {
  static const int64_t one[1] = {1};
  cf_job_init(j, &s->k, "%d points", (int)n);
  j->extent[0] = n;
  j->scalar[0].f = factor;
  cf_job_arg(j, 0, x, x_at, one);
  cf_job_arg(j, 1, y, y_at, one);
}
