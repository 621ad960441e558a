/* interp.c - walks lowered code over the points of a launch, block by block.
 * Compiled once per instruction set.
 *
 *   walk  nothing is folded: lanes are points
 *   rows  lanes are folded elements; short rows share a block, long rows take
 *         several, with one pass per phase
 *   cols  lanes are outer points, the folded elements come one by one
 *
 * All give equal bits; which is used depends on how the arguments lie. Threads
 * will share the outer loop of each; an emitter will replace run_steps. */
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
size_t cpu_block(const cpu_space *space, size_t most) {
  int64_t ext = space->rank ? space->ext[space->rank - 1] : 1;
  if (space->rank < 2 || ext < (int64_t)most / 2) return most;
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

static tsh_status run_walk(cpu_run *run, const tsh_prog *prog,
                           const tsh_launch *launch) {
  cpu_space space;
  cpu_space_axes(run, prog, launch, CPU_AXES(0, prog->rank), 0, 0, &space);
  size_t block = cpu_block(&space, CPU_LANES);
  size_t lanes = space.points < CPU_LANES ? (size_t)space.points : CPU_LANES;
  cpu_uniforms(run, &prog->code, launch, lanes);
  cpu_ports(run, &prog->code, &space, 0, lanes);
  return cpu_walk(run, &prog->code, &space, 0, space.points, block);
}

/* ---- rows --------------------------------------------------------------- */
typedef struct {
  const cpu_code *code;
  const cpu_space *outer, *fold;
  cpu_space all;                 /* outer axes, then folded ones */
  cpu_cursor row, at;            /* in outer, in all */
  size_t nrow;                   /* rows of this block */
  char column[2][CPU_LANES * 8]; /* one folded element of all rows */
} rows;

static void note_rows(cpu_run *run, const rows *w) {
  if (run->bad_lane < 0) return;
  int64_t len = w->fold->points > 0 ? w->fold->points : 1;
  cpu_note_bad(run, (w->row.p + run->bad_lane) * len);
}

static void rows_stage(cpu_run *run, const rows *w, uint32_t p) {
  const cpu_phase *ph = &w->code->phase[p];
  size_t len =
      w->fold->points < CPU_LANES ? (size_t)w->fold->points : CPU_LANES;
  cpu_run_steps(run, w->code, ph->row_step, w->nrow);
  note_rows(run, w);
  for (uint32_t i = ph->spread.at; i < ph->spread.end; i++) {
    const cpu_spread *s = &w->code->spread[i];
    run->reg[s->d] = run->reg[s->slot];
    cpu_spread_rows(run->reg[s->slot], run->reg[s->src], w->nrow, len, s->size);
  }
}

/* Short rows fold faster element by element over all rows at once. */
static void fold_short(cpu_run *run, rows *w, const cpu_folding *f, size_t n) {
  void *d = run->reg[f->d], *state = run->reg[f->state];
  const char *a = run->reg[f->a], *b = run->reg[f->b];
  f->fold->col_begin(d, state, w->nrow);
  for (size_t i = 0; i < n; i++) {
    void *x = w->column[0], *y = f->b != f->a ? w->column[1] : x;
    cpu_gather(x, a + i * f->size_a, (int64_t)n, w->nrow, f->size_a);
    if (y != x)
      cpu_gather(y, b + i * f->size_b, (int64_t)n, w->nrow, f->size_b);
    f->fold->col_step(d, state, x, y, w->nrow, (int64_t)i);
  }
  f->fold->col_end(d, state, w->nrow, (int64_t)n);
}

static void fold_rows(cpu_run *run, rows *w, const cpu_folding *f, size_t n,
                      int ends) {
  if (n <= 24 && w->nrow >= 16 && w->nrow <= f->fold->lanes)
    fold_short(run, w, f, n);
  else
    f->fold->rows(run->reg[f->d], run->reg[f->state], run->reg[f->a],
                  run->reg[f->b], w->nrow, n, ends);
}

/* n folded elements of each row. */
static void rows_block(cpu_run *run, rows *w, const cpu_phase *ph, size_t n,
                       int ends) {
  const cpu_code *code = w->code;
  size_t lanes = w->nrow * n;
  cpu_load(run, code, ph->load, &w->all, &w->at, lanes);
  cpu_aim(run, code, ph->store, &w->all, &w->at, lanes);
  cpu_run_steps(run, code, ph->step, lanes);
  for (uint32_t i = ph->fold.at; i < ph->fold.end; i++)
    fold_rows(run, w, &code->fold[i], n, ends);
  cpu_store(run, code, ph->store, &w->all, &w->at, lanes);
  if (run->bad_lane >= 0) cpu_note_bad(run, w->at.p + run->bad_lane);
}

static tsh_status rows_pass(cpu_run *run, rows *w, const cpu_phase *ph) {
  int64_t left = w->fold->points;
  int ends = CPU_FIRST;
  for (int k = 0; k < w->all.rank; k++)
    w->at.idx[k] = k < w->outer->rank ? w->row.idx[k] : 0;
  w->at.p = w->row.p * w->fold->points;
  do {
    int64_t n = left < CPU_LANES ? left : CPU_LANES;
    if (cpu_cancelled(run)) return TSH_ECANCELLED;
    left -= n;
    if (left == 0) ends |= CPU_LAST;
    cpu_aim_spills(run, w->code, w->fold->points, w->fold->points - left - n);
    rows_block(run, w, ph, (size_t)n, ends);
    ends = 0;
    if (left > 0) cpu_cursor_move(&w->at, &w->all, n);
  } while (left > 0);
  return TSH_OK;
}

static tsh_status run_rows(cpu_run *run, rows *w, const tsh_launch *launch) {
  const cpu_code *code = w->code;
  int64_t len = w->fold->points, most = 1, count = w->outer->points;
  if (len < CPU_LANES) most = CPU_LANES / (len > 0 ? len : 1);
  int64_t points = len > 0 ? w->all.points : count;
  size_t lanes = points < CPU_LANES ? (size_t)points : CPU_LANES;
  cpu_uniforms(run, code, launch, lanes);
  cpu_ports(run, code, w->outer, 1, lanes);
  cpu_ports(run, code, &w->all, 0, lanes);
  cpu_cursor_set(&w->row, w->outer, 0);
  while (count > 0) {
    tsh_status rc = TSH_OK;
    w->nrow = (size_t)(most < count ? most : count);
    cpu_load(run, code, code->row_load, w->outer, &w->row, w->nrow);
    for (uint32_t p = 0; p < code->nphase && rc == TSH_OK; p++) {
      rows_stage(run, w, p);
      rc = rows_pass(run, w, &code->phase[p]);
    }
    if (rc != TSH_OK) return rc;
    rows_stage(run, w, code->nphase);
    cpu_store(run, code, code->row_store, w->outer, &w->row, w->nrow);
    count -= (int64_t)w->nrow;
    if (count > 0) cpu_cursor_move(&w->row, w->outer, (int64_t)w->nrow);
  }
  return TSH_OK;
}

tsh_status cpu_rows(cpu_run *run, const tsh_prog *prog,
                    const tsh_launch *launch, const cpu_space *outer,
                    const cpu_space *fold) {
  rows w;
  w.code = &prog->code;
  if (!(run->force & CPU_FORCE_PLAIN) && prog->kept.memory) {
    if (fold->points <= CPU_LANES)
      w.code = &prog->kept;
    else if (cpu_spill_fits(run, &prog->spilled, fold->points))
      w.code = &prog->spilled;
  }
  w.outer = outer;
  w.fold = fold;
  w.all.rank = outer->rank + fold->rank;
  w.all.points = outer->points * fold->points;
  for (int k = 0; k < w.all.rank; k++)
    w.all.ext[k] = k < outer->rank ? outer->ext[k] : fold->ext[k - outer->rank];
  return run_rows(run, &w, launch);
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
