/* cols.c - folds whose lanes are outer points: a block of them is walked along
 * the folded elements, one call of each step per element. Compiled once per
 * instruction set. */
#include "interp.h"

enum { FAR = 2 << 20 }; /* points: more than the caches hold */

typedef struct {
  const cpu_code *code;
  const cpu_space *outer, *fold;
  cpu_cursor at;             /* of the block, in outer */
  size_t n;                  /* lanes of the block */
  int64_t idx[TSH_MAX_RANK]; /* of the folded element */
  int64_t f;
  size_t block; /* lanes of a block, at most */
  int far;      /* the next element is not near in memory */
} cols;

static int64_t fold_offset(const cpu_run *run, const cols *w,
                           const cpu_port *port) {
  const int64_t *stride = run->place[port->arg].stride + w->outer->rank;
  int64_t at = 0;
  for (int k = 0; k < w->fold->rank; k++) at += w->idx[k] * stride[k];
  return at;
}

static void next_element(cols *w) {
  w->f++;
  for (int k = w->fold->rank; k-- > 0;) {
    if (++w->idx[k] < w->fold->ext[k]) return;
    w->idx[k] = 0;
  }
}

/* Where the lanes of the block lie at the first folded element. */
static void find_span(cpu_run *run, const cols *w, cpu_span span) {
  for (uint32_t e = span.at; e < span.end; e++) {
    unsigned i = w->code->order[e];
    const cpu_port *port = &w->code->port[i];
    const cpu_place *place = &run->place[port->arg];
    cpu_lanes *lanes = &run->lanes[i];
    int64_t at = 0;
    lanes->one_run = cpu_find_lanes(run, port, run->kind[i], w->outer, &w->at,
                                    w->n, &at, &lanes->step);
    if (!lanes->one_run) at = 0;
    lanes->start = place->start + at;
    lanes->at = port->op == TSH_OP_INDEX ? NULL : place->base + at * port->size;
  }
}

/* The hardware guesses the next line, not the next row: ask for one that comes
 * some elements later. */
static void ask_ahead(const cpu_run *run, const cols *w, const cpu_port *port,
                      const char *at) {
  int last = w->outer->rank + w->fold->rank - 1;
  int64_t row = run->place[port->arg].stride[last] * port->size;
  if (row < 2048 && row > -2048) return;
  for (size_t i = 0; i < w->n * port->size; i += 64)
    __builtin_prefetch(at + 8 * row + i);
}

static void count_element(cpu_run *run, const cols *w, const cpu_port *port,
                          const cpu_lanes *lanes, int64_t off) {
  void *slot = run->reg[port->slot];
  if (lanes->one_run)
    cpu_iota(slot, lanes->start + off, lanes->step, w->n, port->size);
  else
    cpu_iota_space(slot, lanes->start + off, run->place[port->arg].stride,
                   w->outer, &w->at, w->n, port->size);
}

static void load_element(cpu_run *run, const cols *w, unsigned i) {
  const cpu_port *port = &w->code->port[i];
  const cpu_lanes *lanes = &run->lanes[i];
  int64_t off = fold_offset(run, w, port);
  void *slot = run->reg[port->slot];
  run->reg[i] = slot;
  if (port->op == TSH_OP_INDEX) {
    count_element(run, w, port, lanes, off);
    return;
  }
  char *at = lanes->at + off * port->size;
  if (!lanes->one_run)
    cpu_gather_space(slot, at, run->place[port->arg].stride, w->outer, &w->at,
                     w->n, port->size);
  else if (lanes->step != 1 || port->copy)
    cpu_gather(slot, at, lanes->step, w->n, port->size);
  else
    run->reg[i] = at;
  if (w->far && run->reg[i] == at) ask_ahead(run, w, port, at);
}

static void aim_element(cpu_run *run, const cols *w, unsigned i) {
  const cpu_port *port = &w->code->port[i];
  const cpu_lanes *lanes = &run->lanes[i];
  if (!port->direct) return;
  run->reg[i] = run->reg[port->slot];
  if (lanes->one_run && lanes->step == 1)
    run->reg[i] = lanes->at + fold_offset(run, w, port) * port->size;
}

static void store_element(cpu_run *run, const cols *w, unsigned i) {
  const cpu_port *port = &w->code->port[i];
  const cpu_lanes *lanes = &run->lanes[i];
  const void *src = run->reg[port->direct ? i : port->src];
  if (port->direct && src != run->reg[port->slot]) return;
  char *at = lanes->at + fold_offset(run, w, port) * port->size;
  if (lanes->one_run)
    cpu_scatter(at, src, lanes->step, w->n, port->size);
  else
    cpu_scatter_space(at, src, run->place[port->arg].stride, w->outer, &w->at,
                      w->n, port->size);
}

static void cols_element(cpu_run *run, const cols *w, const cpu_phase *ph) {
  const cpu_code *code = w->code;
  cpu_aim_spills(run, code, w->fold->points * (int64_t)w->n,
                 w->f * (int64_t)w->n);
  for (uint32_t i = ph->load.at; i < ph->load.end; i++)
    load_element(run, w, code->order[i]);
  for (uint32_t i = ph->store.at; i < ph->store.end; i++)
    aim_element(run, w, code->order[i]);
  cpu_run_steps(run, code, ph->step, w->n);
  for (uint32_t i = ph->fold.at; i < ph->fold.end; i++) {
    const cpu_folding *f = &code->fold[i];
    f->fold->col_step(run->reg[f->d], run->reg[f->state], run->reg[f->a],
                      run->reg[f->b], w->n, w->f);
  }
  for (uint32_t i = ph->store.at; i < ph->store.end; i++)
    store_element(run, w, code->order[i]);
  if (run->bad_lane >= 0)
    cpu_note_bad(run, (w->at.p + run->bad_lane) * w->fold->points + w->f);
}

static tsh_status cols_pass(cpu_run *run, cols *w, const cpu_phase *ph) {
  const cpu_code *code = w->code;
  find_span(run, w, ph->load);
  find_span(run, w, ph->store);
  for (uint32_t i = ph->fold.at; i < ph->fold.end; i++) {
    const cpu_folding *f = &code->fold[i];
    f->fold->col_begin(run->reg[f->d], run->reg[f->state], w->n);
  }
  memset(w->idx, 0, sizeof w->idx);
  w->f = 0;
  while (w->f < w->fold->points) {
    if (cpu_cancelled(run)) return TSH_ECANCELLED;
    cols_element(run, w, ph);
    next_element(w);
  }
  for (uint32_t i = ph->fold.at; i < ph->fold.end; i++) {
    const cpu_folding *f = &code->fold[i];
    f->fold->col_end(run->reg[f->d], run->reg[f->state], w->n, w->f);
  }
  return TSH_OK;
}

static void cols_stage(cpu_run *run, const cols *w, uint32_t p) {
  const cpu_phase *ph = &w->code->phase[p];
  int64_t len = w->fold->points > 0 ? w->fold->points : 1;
  cpu_run_steps(run, w->code, ph->row_step, w->n);
  if (run->bad_lane >= 0) cpu_note_bad(run, (w->at.p + run->bad_lane) * len);
  /* A row value already has one lane per outer point. */
  for (uint32_t i = ph->spread.at; i < ph->spread.end; i++) {
    const cpu_spread *s = &w->code->spread[i];
    run->reg[s->d] = run->reg[s->src];
  }
}

static tsh_status cols_block(cpu_run *run, cols *w) {
  const cpu_code *code = w->code;
  cpu_load(run, code, code->row_load, w->outer, &w->at, w->n);
  for (uint32_t p = 0; p < code->nphase; p++) {
    cols_stage(run, w, p);
    tsh_status rc = cols_pass(run, w, &code->phase[p]);
    if (rc != TSH_OK) return rc;
  }
  cols_stage(run, w, code->nphase);
  cpu_store(run, code, code->row_store, w->outer, &w->at, w->n);
  return TSH_OK;
}

static tsh_status some_cols(cpu_run *run, cols *w, int64_t from,
                            int64_t count) {
  cpu_cursor_set(&w->at, w->outer, from);
  while (count > 0) {
    w->n = cpu_block_at(w->outer, &w->at, w->block, count);
    tsh_status rc = cols_block(run, w);
    if (rc != TSH_OK) return rc;
    count -= (int64_t)w->n;
    if (count > 0) cpu_cursor_move(&w->at, w->outer, (int64_t)w->n);
  }
  return TSH_OK;
}

/* ---- the launch --------------------------------------------------------- */
enum { NARROWEST = 16 }; /* lanes that are worth a walk along the fold */

typedef struct {
  cpu_run *run;
  const tsh_prog *prog;
  const tsh_launch *launch;
  const cols *w;
  int64_t piece; /* outer points of a part */
  tsh_status rc;
} cols_job;

static void begin_cols(cpu_run *run, const cols_job *j) {
  const cols *w = j->w;
  int64_t count = w->outer->points, most = w->code->col_lanes;
  size_t lanes = (size_t)(count < most ? count : most);
  cpu_uniforms(run, w->code, j->launch, lanes);
  cpu_ports(run, w->code, w->outer, 1, lanes);
  cpu_space_kinds(run, w->code, w->outer, 0);
}

static void cols_part(void *job, int64_t part, int worker) {
  cols_job *j = job;
  cpu_run *mine = cpu_run_of(j->run, worker);
  cols w = *j->w;
  int64_t from = part * j->piece, left = w.outer->points - from;
  if (cpu_run_begins(j->run, mine, j->prog->narg)) begin_cols(mine, j);
  cpu_job_end(&j->rc,
              some_cols(mine, &w, from, left < j->piece ? left : j->piece));
}

tsh_status cpu_cols(cpu_run *run, const tsh_prog *prog,
                    const tsh_launch *launch, const cpu_space *outer,
                    const cpu_space *fold) {
  cols w = {.code = &prog->code, .outer = outer, .fold = fold};
  cols_job j = {.run = run, .prog = prog, .launch = launch, .w = &w};
  size_t most = prog->code.col_lanes;
  int64_t count = outer->points, len = fold->points > 0 ? fold->points : 1;
  if (!(run->force & CPU_FORCE_PLAIN) && prog->spilled.memory &&
      cpu_spill_fits(run, &prog->spilled, fold->points * (int64_t)most))
    w.code = &prog->spilled;
  w.block = cpu_block(outer, most);
  w.far = count >= 1024 && count * fold->points >= FAR;
  begin_cols(run, &j);
  double ns = cpu_code_ns(w.code, count * len);
  /* A block for each worker, be it a narrow one. */
  int64_t unit = (int64_t)w.block, threads = cpu_team_size(run->team);
  int64_t wide = (count + threads - 1) / threads;
  wide = (wide + NARROWEST - 1) / NARROWEST * NARROWEST;
  if (unit > wide) unit = wide;
  int64_t parts = cpu_parts(run, ns, count, unit, &j.piece);
  if (parts < 2) return some_cols(run, &w, 0, count);
  cpu_run_share(run, cols_part, &j, parts);
  return j.rc;
}
