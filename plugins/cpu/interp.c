/* interp.c - walks lowered code over the points of a launch, block by block.
 * Compiled once per instruction set.
 *
 *   walk  nothing is folded: lanes are points
 *   rows  lanes are folded elements; short rows share a block, long rows take
 *         several, with one pass per phase (rows.c, and long.c for a row that
 *         is shared)
 *   cols  lanes are outer points, the folded elements come one by one (cols.c)
 *
 * All give equal bits, however many threads share them; which is used depends
 * on how the arguments lie. An emitter will replace run_steps. */
#include "interp.h"

/* ---- steps --------------------------------------------------------------- */
void cpu_run_steps(cpu_run *run, const cpu_code *code, cpu_span steps,
                   size_t n) {
  void **reg = run->reg;
  for (uint32_t i = steps.at; i < steps.end; i++) {
    const cpu_step *s = &code->step[i];
    s->fn(reg[s->d], reg[s->a], reg[s->b], reg[s->c], n, run);
  }
}

/* ---- walk --------------------------------------------------------------- */
/* The most whole lines of ext that fill vectors: of a few bytes less than
 * could be, as the rest of a vector is done element by element. */
static size_t whole_lines(size_t ext, size_t most) {
  size_t n = most / ext * ext, best = n;
  for (size_t m = n; m > n / 4 * 3; m -= ext) {
    if (m % 64 == 0) return m;
    if (m % 32 == 0 && best % 32 != 0) best = m;
  }
  return best;
}

size_t cpu_block(const cpu_space *space, size_t most) {
  int64_t ext = space->rank ? space->ext[space->rank - 1] : 1;
  if (space->rank < 2 || ext == 0) return most;
  if (ext < (int64_t)most / 2) return whole_lines((size_t)ext, most);
  int64_t pieces = (ext + (int64_t)most - 1) / (int64_t)most;
  return (size_t)((ext + pieces - 1) / pieces + 15) / 16 * 16;
}

tsh_status cpu_walk(cpu_run *run, const cpu_code *code, const cpu_space *space,
                    int64_t p, int64_t count, size_t block) {
  const cpu_phase *ph = &code->phase[0];
  cpu_cursor c;
  cpu_cursor_set(&c, space, p);
  while (count > 0) {
    size_t n = cpu_block_at(space, &c, block, count);
    if (cpu_cancelled(run)) return TSH_ECANCELLED;
    cpu_load(run, code, ph->load, space, &c, n);
    cpu_aim(run, code, ph->store, space, &c, n);
    cpu_run_steps(run, code, ph->step, n);
    cpu_store(run, code, ph->store, space, &c, n);
    if (run->bad_lane >= 0)
      cpu_note_bad(run, cpu_space_number(space, c.p + run->bad_lane));
    count -= (int64_t)n;
    if (count > 0) cpu_cursor_move(&c, space, (int64_t)n);
  }
  return TSH_OK;
}

typedef struct {
  cpu_run *run;
  const tsh_prog *prog;
  const tsh_launch *launch;
  const cpu_space *space;
  size_t block, lanes;
  int64_t piece; /* points of a part */
  tsh_status rc;
} walk;

static void begin_walk(cpu_run *run, const walk *w) {
  cpu_uniforms(run, &w->prog->code, w->launch, w->lanes);
  cpu_ports(run, &w->prog->code, w->space, 0, w->lanes);
}

static void walk_part(void *job, int64_t part, int worker) {
  walk *w = job;
  cpu_run *mine = cpu_run_of(w->run, worker);
  int64_t from = part * w->piece, left = w->space->points - from;
  if (cpu_run_begins(w->run, mine, w->prog->narg)) begin_walk(mine, w);
  cpu_job_end(&w->rc, cpu_walk(mine, &w->prog->code, w->space, from,
                               left < w->piece ? left : w->piece, w->block));
}

static tsh_status run_walk(cpu_run *run, const tsh_prog *prog,
                           const tsh_launch *launch) {
  cpu_space space;
  walk w = {.run = run, .prog = prog, .launch = launch, .space = &space};
  cpu_space_axes(run, prog, launch, CPU_AXES(0, prog->rank), 0, 0, &space);
  w.block = cpu_block(&space, CPU_LANES);
  w.lanes = space.points < CPU_LANES ? (size_t)space.points : CPU_LANES;
  begin_walk(run, &w);
  int64_t parts = cpu_parts(run, cpu_code_ns(&prog->code, space.points),
                            space.points, (int64_t)w.block, &w.piece);
  if (parts < 2)
    return cpu_walk(run, &prog->code, &space, 0, space.points, w.block);
  cpu_run_share(run, walk_part, &w, parts);
  return w.rc;
}

/* ---- the entry ---------------------------------------------------------- */
tsh_status cpu_program(cpu_run *run, const tsh_prog *prog,
                       const tsh_launch *launch) {
  cpu_space_bases(run, prog, launch);
  if (prog->nfold == 0) return run_walk(run, prog, launch);
  cpu_space outer, fold;
  int first = prog->rank - prog->nfold;
  int n = cpu_space_axes(run, prog, launch, CPU_AXES(0, first), 0, 0, &outer);
  cpu_space_axes(run, prog, launch, CPU_AXES(first, prog->rank), n, 1, &fold);
  if (cpu_prefer_cols(run, prog, &outer, &fold))
    return cpu_cols(run, prog, launch, &outer, &fold);
  return cpu_rows(run, prog, launch, &outer, &fold);
}

const cpu_isa CPU_NAME(cpu_isa) = {
    .name = CPU_TEXT(CPU_ISA),
    .map = cpu_map_get,
    .fold = cpu_fold_get,
    .program = cpu_program,
    .gemm = cpu_gemm,
    .keys = cpu_keys_get,
    .sort_short = cpu_sort_short,
    .scans = cpu_scans_get,
};
