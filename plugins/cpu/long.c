/* long.c - a long row that several threads share: in each phase they take
 * groups of its elements, and the values of the groups are combined to what one
 * thread would have had. Compiled once per instruction set.
 *
 * Float sum and prod combine blocks of 4,096 in pairs like a binary counter, so
 * the value of an aligned group of 2^k blocks is a node of that tree, and the
 * nodes are combined the same way. dot is one chain and is not split. */
#include "interp.h"

enum { BLOCK = 4096, GROUPS = 64, FOLDS = 8, GRAIN = 1000 /* ns */ };

/* Of a group, in cache lines of its own. */
typedef struct {
  _Alignas(64) char value[FOLDS][8];
  char best[FOLDS][8]; /* argmax, argmin: the largest, the smallest */
} result;

typedef struct {
  cpu_run *run;
  const cpu_row_walk *w;
  uint32_t phase;
  int64_t group, groups; /* elements of a group, number of groups */
  tsh_status rc;
  result of[GROUPS];
} long_job;

/* ---- whether ------------------------------------------------------------ */
static int can_split(const cpu_code *code) {
  for (uint32_t p = 0; p < code->nphase; p++) {
    cpu_span span = code->phase[p].fold;
    if (span.end - span.at > FOLDS) return 0;
    for (uint32_t i = span.at; i < span.end; i++)
      if (code->fold[i].fold->split == CPU_SPLIT_NEVER) return 0;
  }
  return 1;
}

int cpu_long_row(cpu_run *run, const cpu_row_walk *w, double ns) {
  int64_t rows = w->outer->points, len = w->fold->points;
  int forced = run->force & CPU_FORCE_SHARE;
  if (!run->team || len < 2 * BLOCK || !can_split(w->code)) return 0;
  if (!forced && rows >= 4 * (int64_t)cpu_team_size(run->team)) return 0;
  if (!forced && rows > 1 && ns / (double)rows < 20 * GRAIN) return 0;
  return cpu_threads(run, ns / (double)rows);
}

/* ---- a group ------------------------------------------------------------ */
/* The row values that are there before the phase: FOLDs of earlier phases from
 * the caller's run, all else computed here. */
static void follow(const long_job *j, cpu_run *mine, cpu_row_walk *w) {
  const cpu_code *code = w->code;
  cpu_rows_begin(mine, w);
  cpu_load(mine, code, code->row_load, w->outer, &w->row, 1);
  for (uint32_t p = 0; p <= j->phase; p++) {
    cpu_span done = {0, 0};
    if (p > 0) done = code->phase[p - 1].fold;
    for (uint32_t i = done.at; i < done.end; i++) {
      uint16_t d = code->fold[i].d;
      memcpy(mine->reg[d], j->run->reg[d], 8);
    }
    cpu_rows_stage(mine, w, p);
  }
}

static void keep_values(result *to, const cpu_code *code, cpu_span span,
                        const cpu_run *mine) {
  for (uint32_t i = span.at; i < span.end; i++) {
    const cpu_folding *f = &code->fold[i];
    memcpy(to->value[i - span.at], mine->reg[f->d], 8);
    if (f->fold->split == CPU_SPLIT_PAIRS)
      memcpy(to->best[i - span.at], mine->reg[f->state], 8);
  }
}

static void long_part(void *job, int64_t group, int worker) {
  long_job *j = job;
  cpu_run *mine = cpu_run_of(j->run, worker);
  cpu_row_walk w = *j->w;
  int64_t from = group * j->group, left = w.fold->points - from;
  char *spill = mine->spill;
  if (cpu_run_begins(j->run, mine, w.prog->narg)) follow(j, mine, &w);
  if (mine != j->run) mine->spill = j->run->spill; /* parts of one memory */
  tsh_status rc = cpu_rows_pass(mine, &w, &w.code->phase[j->phase], from,
                                left < j->group ? left : j->group);
  if (mine != j->run) mine->spill = spill;
  keep_values(&j->of[group], w.code, w.code->phase[j->phase].fold, mine);
  cpu_job_end(&j->rc, rc);
}

/* ---- a row -------------------------------------------------------------- */
static void merge_one(const long_job *j, const cpu_folding *f, uint32_t k) {
  void *d = j->run->reg[f->d], *state = j->run->reg[f->state];
  char value[GROUPS * 8], best[GROUPS * 8];
  int pairs = f->fold->split == CPU_SPLIT_PAIRS;
  size_t n = (size_t)j->groups, size = pairs ? f->size_b : f->size_a;
  for (size_t g = 0; g < n; g++) {
    memcpy(value + g * size, j->of[g].value[k], size);
    memcpy(best + g * f->size_a, j->of[g].best[k], f->size_a);
  }
  if (f->fold->split == CPU_SPLIT_BLOCKS)
    f->fold->merge(d, value, n);
  else
    f->fold->rows(d, state, pairs ? best : value, value, 1, n,
                  CPU_FIRST | CPU_LAST);
}

static void merge(const long_job *j) {
  const cpu_code *code = j->w->code;
  cpu_span span = code->phase[j->phase].fold;
  for (uint32_t i = span.at; i < span.end; i++)
    merge_one(j, &code->fold[i], i - span.at);
}

/* Groups are aligned, of 2^k blocks each, and take some time. */
static void choose_groups(long_job *j, double ns, int threads) {
  int64_t len = j->w->fold->points;
  double each = ns / (double)j->w->outer->points * BLOCK / (double)len;
  int small = j->run->force & CPU_FORCE_SHARE;
  for (j->group = BLOCK;; j->group *= 2, each *= 2) {
    j->groups = (len + j->group - 1) / j->group;
    if (j->groups <= GROUPS && (small || each >= GRAIN || j->groups <= threads))
      return;
  }
}

tsh_status cpu_long_rows(cpu_run *run, cpu_row_walk *w, double ns,
                         int threads) {
  const cpu_code *code = w->code;
  long_job j;
  j.run = run;
  j.w = w;
  j.rc = TSH_OK;
  choose_groups(&j, ns, threads);
  cpu_cursor_set(&w->row, w->outer, 0);
  w->nrow = 1;
  for (int64_t left = w->outer->points; left > 0; left--) {
    cpu_load(run, code, code->row_load, w->outer, &w->row, 1);
    for (j.phase = 0; j.phase < code->nphase && j.rc == TSH_OK; j.phase++) {
      cpu_rows_stage(run, w, j.phase);
      cpu_run_share(run, long_part, &j, j.groups);
      if (j.rc == TSH_OK) merge(&j);
    }
    if (j.rc != TSH_OK) return j.rc;
    cpu_rows_stage(run, w, code->nphase);
    cpu_store(run, code, code->row_store, w->outer, &w->row, 1);
    if (left > 1) cpu_cursor_move(&w->row, w->outer, 1);
  }
  return TSH_OK;
}
