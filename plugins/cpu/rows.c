/* rows.c - folds whose lanes are folded elements: several short rows in a
 * block, or several blocks of a long row. Compiled once per instruction set. */
#include "interp.h"

/* ---- a block ------------------------------------------------------------ */
static void note_rows(cpu_run *run, const cpu_row_walk *w) {
  if (run->bad_lane < 0) return;
  int64_t len = w->fold->points > 0 ? w->fold->points : 1;
  cpu_note_bad(run, (w->row.p + run->bad_lane) * len);
}

void cpu_rows_stage(cpu_run *run, const cpu_row_walk *w, uint32_t p) {
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
static void fold_short(cpu_run *run, const cpu_row_walk *w,
                       const cpu_folding *f, size_t n) {
  void *d = run->reg[f->d], *state = run->reg[f->state];
  const char *a = run->reg[f->a], *b = run->reg[f->b];
  char column[2][CPU_LANES * 8]; /* one folded element of all rows */
  void *x = column[0], *y = f->b != f->a ? column[1] : x;
  f->fold->col_begin(d, state, w->nrow);
  for (size_t i = 0; i < n; i++) {
    cpu_gather(x, a + i * f->size_a, (int64_t)n, w->nrow, f->size_a);
    if (y != x)
      cpu_gather(y, b + i * f->size_b, (int64_t)n, w->nrow, f->size_b);
    f->fold->col_step(d, state, x, y, w->nrow, (int64_t)i);
  }
  f->fold->col_end(d, state, w->nrow, (int64_t)n);
}

static void fold_rows(cpu_run *run, const cpu_row_walk *w, const cpu_folding *f,
                      size_t n, int ends) {
  if (n <= 24 && w->nrow >= 16 && w->nrow <= f->fold->lanes)
    fold_short(run, w, f, n);
  else
    f->fold->rows(run->reg[f->d], run->reg[f->state], run->reg[f->a],
                  run->reg[f->b], w->nrow, n, ends);
}

/* n folded elements of each row. */
static void rows_block(cpu_run *run, cpu_row_walk *w, const cpu_phase *ph,
                       size_t n, int ends) {
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

/* How many of the elements from `at` on go together, `left` at most. Where the
 * last axis is long, a block ends with it, so that it is one run for every
 * port; sums want multiples of 16, and an end at each multiple of 4,096. */
static int64_t piece_at(const cpu_row_walk *w, int64_t at, int64_t left) {
  const cpu_space *fold = w->fold;
  int64_t n = left < CPU_LANES ? left : CPU_LANES, last = fold->rank - 1;
  if (last < 1 || fold->points <= CPU_LANES) return n;
  int64_t ext = fold->ext[last], run = ext - at % ext;
  if (ext < CPU_LANES / 2 || ext % 16 != 0) return n;
  int64_t pieces = (run + CPU_LANES - 1) / CPU_LANES;
  run = (run / pieces + 15) / 16 * 16;
  if (n > run) n = run;
  return n < 4096 - at % 4096 ? n : 4096 - at % 4096;
}

tsh_status cpu_rows_pass(cpu_run *run, cpu_row_walk *w, const cpu_phase *ph,
                         int64_t from, int64_t count) {
  int64_t all = w->fold->points, left = count;
  int ends = CPU_FIRST;
  if (from > 0) {
    cpu_cursor_set(&w->at, &w->all, w->row.p * all + from);
  } else {
    for (int k = 0; k < w->all.rank; k++)
      w->at.idx[k] = k < w->outer->rank ? w->row.idx[k] : 0;
    w->at.p = w->row.p * all;
  }
  do {
    int64_t n = piece_at(w, from + count - left, left);
    if (cpu_cancelled(run)) return TSH_ECANCELLED;
    cpu_aim_spills(run, w->code, all, from + count - left);
    left -= n;
    if (left == 0) ends |= CPU_LAST;
    rows_block(run, w, ph, (size_t)n, ends);
    ends = 0;
    if (left > 0) cpu_cursor_move(&w->at, &w->all, n);
  } while (left > 0);
  return TSH_OK;
}

/* ---- a range of rows ---------------------------------------------------- */
void cpu_rows_begin(cpu_run *run, const cpu_row_walk *w) {
  int64_t len = w->fold->points;
  int64_t points = len > 0 ? w->all.points : w->outer->points;
  size_t lanes = points < CPU_LANES ? (size_t)points : CPU_LANES;
  cpu_uniforms(run, w->code, w->launch, lanes);
  cpu_ports(run, w->code, w->outer, 1, lanes);
  cpu_ports(run, w->code, &w->all, 0, lanes);
}

static tsh_status some_rows(cpu_run *run, cpu_row_walk *w, int64_t from,
                            int64_t count) {
  const cpu_code *code = w->code;
  cpu_cursor_set(&w->row, w->outer, from);
  while (count > 0) {
    tsh_status rc = TSH_OK;
    w->nrow = (size_t)(w->most < count ? w->most : count);
    cpu_load(run, code, code->row_load, w->outer, &w->row, w->nrow);
    for (uint32_t p = 0; p < code->nphase && rc == TSH_OK; p++) {
      cpu_rows_stage(run, w, p);
      rc = cpu_rows_pass(run, w, &code->phase[p], 0, w->fold->points);
    }
    if (rc != TSH_OK) return rc;
    cpu_rows_stage(run, w, code->nphase);
    cpu_store(run, code, code->row_store, w->outer, &w->row, w->nrow);
    count -= (int64_t)w->nrow;
    if (count > 0) cpu_cursor_move(&w->row, w->outer, (int64_t)w->nrow);
  }
  return TSH_OK;
}

/* ---- the launch --------------------------------------------------------- */
typedef struct {
  cpu_run *run;
  const cpu_row_walk *w;
  int64_t piece; /* rows of a part */
  tsh_status rc;
} row_job;

static void rows_part(void *job, int64_t part, int worker) {
  row_job *j = job;
  cpu_run *mine = cpu_run_of(j->run, worker);
  cpu_row_walk w = *j->w;
  int64_t from = part * j->piece, left = w.outer->points - from;
  if (cpu_run_begins(j->run, mine, w.prog->narg)) cpu_rows_begin(mine, &w);
  cpu_job_end(&j->rc,
              some_rows(mine, &w, from, left < j->piece ? left : j->piece));
}

static const cpu_code *choose_code(const cpu_run *run, const tsh_prog *prog,
                                   int64_t len) {
  if ((run->force & CPU_FORCE_PLAIN) || !prog->kept.memory) return &prog->code;
  if (len <= CPU_LANES) return &prog->kept;
  return cpu_spill_fits(run, &prog->spilled, len) ? &prog->spilled
                                                  : &prog->code;
}

tsh_status cpu_rows(cpu_run *run, const tsh_prog *prog,
                    const tsh_launch *launch, const cpu_space *outer,
                    const cpu_space *fold) {
  cpu_row_walk w;
  int64_t len = fold->points, count = outer->points;
  row_job j = {.run = run, .w = &w};
  w.prog = prog;
  w.launch = launch;
  w.code = choose_code(run, prog, len);
  w.outer = outer;
  w.fold = fold;
  w.most = len < CPU_LANES ? CPU_LANES / (len > 0 ? len : 1) : 1;
  w.all.rank = outer->rank + fold->rank;
  w.all.points = count * len;
  for (int k = 0; k < w.all.rank; k++)
    w.all.ext[k] = k < outer->rank ? outer->ext[k] : fold->ext[k - outer->rank];
  cpu_rows_begin(run, &w);
  double ns = cpu_code_ns(w.code, count * (len > 0 ? len : 1));
  int threads = cpu_long_row(run, &w, ns);
  if (threads > 1) return cpu_long_rows(run, &w, ns, threads);
  int64_t parts = cpu_parts(run, ns, count, w.most, &j.piece);
  if (parts < 2) return some_rows(run, &w, 0, count);
  cpu_run_share(run, rows_part, &j, parts);
  return j.rc;
}
