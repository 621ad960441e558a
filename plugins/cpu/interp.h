/* interp.h - what the walks over a launch share. Compiled once per instruction
 * set, see isa.h. */
#ifndef CPU_INTERP_H
#define CPU_INTERP_H

#include "isa.h"

/* Offset of the first of n lanes from a cursor on, and the step to the next,
 * in elements. 0: they lie in more than one run. */
static inline int cpu_find_lanes(const cpu_run *run, const cpu_port *port,
                                 int kind, const cpu_space *space,
                                 const cpu_cursor *c, size_t n, int64_t *at,
                                 int64_t *step) {
  const int64_t *stride = run->place[port->arg].stride;
  int last = space->rank - 1;
  if (kind != CPU_MIXED) {
    *step = kind == CPU_LINEAR;
    *at = kind == CPU_LINEAR ? c->p : 0;
    return 1;
  }
  *at = cpu_cursor_at(c, stride, last);
  *step = stride[last];
  /* Axes that another port holds apart may be one for this port. */
  int64_t ext = space->ext[last], first = c->idx[last];
  for (; first + (int64_t)n > ext; ext *= space->ext[last]) {
    if (last-- == 0 || stride[last] != *step * ext) return 0;
    first += c->idx[last] * ext;
  }
  return 1;
}

void cpu_run_steps(cpu_run *run, const cpu_code *code, cpu_span steps,
                   size_t n);
/* Fills uniform registers; ports that give one element everywhere. */
void cpu_uniforms(cpu_run *run, const cpu_code *code, const tsh_launch *launch,
                  size_t lanes);
void cpu_ports(cpu_run *run, const cpu_code *code, const cpu_space *space,
               int row, size_t lanes);
/* Ports of a span of code->order for n points from a cursor on. aim: before
 * the steps, where values that are stored directly go. */
void cpu_load(cpu_run *run, const cpu_code *code, cpu_span span,
              const cpu_space *space, const cpu_cursor *c, size_t n);
void cpu_aim(cpu_run *run, const cpu_code *code, cpu_span span,
             const cpu_space *space, const cpu_cursor *c, size_t n);
void cpu_store(cpu_run *run, const cpu_code *code, cpu_span span,
               const cpu_space *space, const cpu_cursor *c, size_t n);

/* The state of a shared job: the first failure. */
static inline void cpu_job_end(tsh_status *rc, tsh_status one) {
  if (one != TSH_OK) __atomic_store_n(rc, one, __ATOMIC_RELAXED);
}

/* Is there memory for the values that a row of n elements (or a block of so
 * many lanes times elements) keeps? */
static inline int cpu_spill_fits(const cpu_run *run, const cpu_code *code,
                                 int64_t n) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < code->nspill; i++) bytes += code->spill[i].size;
  return code->memory && run->spill &&
         n <= (CPU_SPILL_BYTES - 64 * (int64_t)code->nspill) / bytes;
}

/* Registers of kept values: the lanes from element `at` of n on. */
static inline void cpu_aim_spills(cpu_run *run, const cpu_code *code, int64_t n,
                                  int64_t at) {
  char *base = run->spill;
  for (uint32_t i = 0; i < code->nspill; i++) {
    const cpu_spill *s = &code->spill[i];
    run->reg[s->d] = base + at * s->size;
    base += (n * s->size + 63) / 64 * 64;
  }
}

/* Lanes of a block: blocks end where a long last axis ends, so that they are
 * one run for every port; a short last axis is flattened. */
size_t cpu_block(const cpu_space *space, size_t most);
static inline size_t cpu_block_at(const cpu_space *space, const cpu_cursor *c,
                                  size_t block, int64_t left) {
  int last = space->rank - 1;
  int64_t n = (int64_t)block;
  if (last > 0 && space->ext[last] >= n && n > space->ext[last] - c->idx[last])
    n = space->ext[last] - c->idx[last];
  return (size_t)(n < left ? n : left);
}

/* Runs code without folds on `count` points from p on. Uniforms and ports are
 * ready. */
tsh_status cpu_walk(cpu_run *run, const cpu_code *code, const cpu_space *space,
                    int64_t p, int64_t count, size_t block);
/* Rows on the way. Lanes are folded elements. */
typedef struct {
  const tsh_prog *prog;
  const tsh_launch *launch;
  const cpu_code *code;
  const cpu_space *outer, *fold;
  cpu_space all;      /* outer axes, then folded ones */
  int64_t most;       /* rows of a block */
  cpu_cursor row, at; /* in outer, in all */
  size_t nrow;        /* rows of this block */
} cpu_row_walk;

/* What a run needs once: uniforms, kinds of ports. */
void cpu_rows_begin(cpu_run *run, const cpu_row_walk *w);
/* Row values that are there before pass p. */
void cpu_rows_stage(cpu_run *run, const cpu_row_walk *w, uint32_t p);
/* Folded elements [from, from + count) of the rows of a block, as if they were
 * all. */
tsh_status cpu_rows_pass(cpu_run *run, cpu_row_walk *w, const cpu_phase *ph,
                         int64_t from, int64_t count);
/* Is each row better shared than the rows? The number of threads, or 0. ns: of
 * the launch. */
int cpu_long_row(cpu_run *run, const cpu_row_walk *w, double ns);
tsh_status cpu_long_rows(cpu_run *run, cpu_row_walk *w, double ns, int threads);

tsh_status cpu_rows(cpu_run *run, const tsh_prog *prog,
                    const tsh_launch *launch, const cpu_space *outer,
                    const cpu_space *fold);
tsh_status cpu_cols(cpu_run *run, const tsh_prog *prog,
                    const tsh_launch *launch, const cpu_space *outer,
                    const cpu_space *fold);
tsh_status cpu_program(cpu_run *run, const tsh_prog *prog,
                       const tsh_launch *launch);
tsh_status cpu_gemm(cpu_run *run, const tsh_prog *prog,
                    const tsh_launch *launch);

#endif
