/* gemm.c - one dot of two LOADs: a matrix product with any strides and any
 * number of axes. Compiled once per instruction set.
 *
 * Outer axes that move only the first operand are rows (m), only the second
 * are columns (n), both or none are the batch; folded axes are the depth (k).
 * Each result is one chain of fma in the order of k, so it has the bits of the
 * plain form: a layer of depth goes on from the results of the one before.
 *
 *   for each block, rows by columns of one matrix of the batch:
 *     for each layer of depth:
 *       for each panel of columns:   packed, or read in place
 *         for each panel of rows:    results += A B, the innermost loops
 *     tail: the other instructions, on the results
 *
 * A block needs nothing of another, so threads may share them; blocks of the
 * same rows follow each other and share packed rows, or those of the same
 * columns where only these are packed. More dtypes will widen while packing. */
#include "interp.h"
#include "kit_math.h"

#ifdef __FMA__
#include <immintrin.h>
#endif

enum {
  ROWS = CPU_GEMM_ROWS,       /* of a block at most */
  COLUMNS = CPU_GEMM_COLUMNS, /* of a block at most */
  DEPTH = 512,                /* of a layer at most */
  SWEEP = 4096,
  KEPT = 64,    /* blocks of columns kept packed, at most */
  MOST_RUNS = 8 /* of a panel that is copied by vectors */
};

/* Ways: tiles of registers; rows of B added to rows of results; squares of B
 * turned. The last two are for few rows, where packing B would cost most. */
enum { TILES, SWEEPS, TURNS };

typedef struct {
  int64_t i, ni, j, nj; /* rows, columns */
} gemm_block;

/* A launch seen as a product, and where the work is. Offsets in elements. */
typedef struct {
  const tsh_prog *prog;
  cpu_space batch, m, n, k;
  cpu_space out; /* axes m, then n, joined where the tail allows it */
  int out_m;     /* how many of them are rows */
  uint8_t out_of[TSH_MAX_RANK]; /* stride of axis k in run->place */
  int am, bn, ak; /* first stride of the axes m, n and k in run->place */
  const cpu_place *a, *b, *c; /* c: the output, or NULL: there is a tail */
  /* How it is done. */
  int way, pack_a, pack_b, far_a, fetch;
  int down;     /* blocks of the same columns follow each other, not of rows */
  int whole_a;  /* rows are packed with all depth */
  int64_t kept; /* blocks of columns kept packed */
  int64_t a_row, a_step; /* operands that are not packed */
  int64_t b_step, b_column;
  int64_t rows, columns, depth, units; /* of a block; blocks of all */
  int64_t lanes;                       /* of the tail */
  const cpu_place *place;              /* of all arguments, of matrix 0 */
  int64_t c_row;                       /* results of a row, and of columns */
  int scattered;                       /* that are not in line */
  /* Of each worker: the current matrix of the batch, the rows packed last. */
  int64_t matrix, at_a, at_b, at_c, rows_packed, *c_off;
  char *a_panels, *b_panel, *tile;
  int64_t kept_now[KEPT]; /* numbers of the columns' blocks */
  int64_t m_off[ROWS], n_off[COLUMNS], a_off[DEPTH], k_off[DEPTH],
      c_table[COLUMNS];
} gemm;

static inline int64_t gemm_part(int64_t all, int64_t from, int64_t most) {
  return all - from < most ? all - from : most;
}

/* Offsets of `count` points from `from` on, along strides of one operand. */
static void gemm_offsets(const cpu_space *space, const int64_t *stride,
                         int64_t from, int64_t count, int64_t *out) {
  int last = space->rank - 1;
  if (last <= 0) {
    int64_t step = last == 0 ? stride[0] : 0;
    for (int64_t i = 0; i < count; i++) out[i] = (from + i) * step;
    return;
  }
  cpu_cursor c;
  cpu_cursor_set(&c, space, from);
  for (int64_t i = 0, n; i < count; i += n) {
    int64_t at = 0, step = stride[last];
    n = gemm_part(space->ext[last], c.idx[last], count - i);
    for (int k = 0; k <= last; k++) at += c.idx[k] * stride[k];
    for (int64_t l = 0; l < n; l++) out[i + l] = at + l * step;
    cpu_cursor_move(&c, space, n);
  }
}

/* ---- results ------------------------------------------------------------ */
/* The STORE of the bare dot, when the tail is nothing else; or NULL. */
static const cpu_port *only_store(const cpu_code *code, int results) {
  const cpu_phase *ph = &code->phase[0];
  if (ph->step.at != ph->step.end || ph->store.end - ph->store.at != 1)
    return NULL;
  const cpu_port *store = &code->port[code->order[ph->store.at]];
  if (store->src >= code->nport) return NULL;
  return code->port[store->src].arg == results ? store : NULL;
}

/* Are the columns of the output one after the other? */
static int in_line(const gemm *g, const cpu_place *c) {
  int64_t next = 1;
  for (int k = g->n.rank; k-- > 0; next *= g->n.ext[k])
    if (c->stride[g->bn + k] != next) return 0;
  return 1;
}

/* Can the results be computed into the output? Partial results must not
 * overwrite an operand. */
static void choose_results(cpu_run *run, gemm *g) {
  const cpu_port *store = only_store(&g->prog->tail, g->prog->narg);
  const cpu_place *c = store ? &run->place[store->arg] : NULL;
  g->c = NULL;
  g->scattered = 0;
  if (!c || g->m.rank > 1 || g->k.points == 0) return;
  if (c->base == g->a->base || c->base == g->b->base) return;
  if (!in_line(g, c)) {
    if (g->way != TILES) return;
    g->scattered = 1;
  }
  g->c = c;
  g->c_row = g->m.rank ? c->stride[g->am] : 0;
}

/* The tile, rows of `wide`, as argument narg of the tail. */
static void tile_strides(cpu_run *run, const gemm *g, int64_t wide) {
  int64_t *stride = run->tail_place[g->prog->narg].stride, step = 1;
  int k = g->out.rank;
  for (; k-- > g->out_m; step *= g->out.ext[k]) stride[k] = step;
  for (k = g->out_m; k-- > 0; wide *= g->out.ext[k]) stride[k] = wide;
}

/* Where the results of a block are to be computed. With c_off, of column 0. */
static void *gemm_aim(cpu_run *run, gemm *g, const gemm_block *at) {
  int64_t bytes = g->prog->bytes[g->prog->a];
  if (g->c) {
    int64_t from = g->at_c + at->i * g->c_row;
    if (g->c_off)
      gemm_offsets(&g->n, g->c->stride + g->bn, at->j, at->nj, g->c_off);
    else
      from += at->j;
    return g->c->base + from * bytes;
  }
  g->c_row = at->nj;
  if (g->k.points == 0) memset(g->tile, 0, (size_t)(at->ni * at->nj * bytes));
  tile_strides(run, g, at->nj);
  run->place[g->prog->narg].base = g->tile - (at->i * at->nj + at->j) * bytes;
  return g->tile;
}

/* The other instructions on the results of a block. */
static tsh_status gemm_tail(cpu_run *run, const gemm *g, const gemm_block *at) {
  const cpu_code *code = &g->prog->tail;
  int64_t all = g->n.points;
  size_t block;
  if (g->c) return TSH_OK;
  block = cpu_block(&g->out, CPU_LANES);
  cpu_space_kinds(run, code, &g->out, 0);
  if (at->nj == all)
    return cpu_walk(run, code, &g->out, at->i * all, at->ni * all, block);
  for (int64_t r = at->i; r < at->i + at->ni; r++) {
    tsh_status rc =
        cpu_walk(run, code, &g->out, r * all + at->j, at->nj, block);
    if (rc != TSH_OK) return rc;
  }
  return TSH_OK;
}

/* ---- float and double --------------------------------------------------- */
#define T        float
#define FN(name) name##_f32
#include "gemm_type.h"

#define T        double
#define FN(name) name##_f64
#define GEMM_F64
#include "gemm_type.h"

/* ---- axes --------------------------------------------------------------- */
static void find_axes(cpu_run *run, gemm *g, const tsh_launch *launch) {
  const tsh_prog *prog = g->prog;
  const int64_t *sa = launch->arg[prog->a].stride;
  const int64_t *sb = launch->arg[prog->b].stride;
  int outer = prog->rank - prog->nfold;
  uint32_t m = 0, n = 0, batch = 0;
  for (int k = 0; k < outer; k++) {
    uint32_t bit = UINT32_C(1) << k;
    if (launch->extent[k] == 1) continue;
    if (sa[k] != 0 && sb[k] == 0)
      m |= bit;
    else if (sa[k] == 0 && sb[k] != 0)
      n |= bit;
    else
      batch |= bit;
  }
  int at = cpu_space_axes(run, prog, launch, batch, 0, 0, &g->batch);
  g->am = at;
  at += cpu_space_axes(run, prog, launch, m, at, 0, &g->m);
  g->bn = at;
  at += cpu_space_axes(run, prog, launch, n, at, 0, &g->n);
  g->ak = at;
  cpu_space_axes(run, prog, launch, CPU_AXES(outer, prog->rank), at, 1, &g->k);
  g->a = &run->place[prog->a];
  g->b = &run->place[prog->b];
}

/* Do the last axis's elements lie in runs worth a vector? */
static int in_runs(const cpu_space *space, const int64_t *stride) {
  int last = space->rank - 1;
  return last >= 0 && stride[last] == 1 && space->ext[last] >= 8;
}

/* How many more arguments of the tail have neighbours along the rows than along
 * the columns: each would be read or written element by element. */
static int lines_along_rows(const cpu_run *run, const gemm *g) {
  const cpu_code *tail = &g->prog->tail;
  int more = 0;
  for (uint32_t i = 0; i < tail->nport; i++) {
    if (tail->port[i].arg >= g->prog->narg) continue; /* the results */
    const int64_t *stride = run->place[tail->port[i].arg].stride;
    more += stride[g->am + g->m.rank - 1] == 1;
    more -= stride[g->bn + g->n.rank - 1] == 1;
  }
  return more;
}

/* Columns are vectors, so the side is better that has more than a few of them,
 * then the one that lies in runs (pixels, not filters), then the one along
 * which what the tail reads and writes does. */
static int rows_are_better(const cpu_run *run, const gemm *g) {
  int64_t m = g->m.points, n = g->n.points;
  if (n < 8 && m > n) return 1;
  if (m < 16) return 0;
  if (g->k.rank > 1) {
    int runs = in_runs(&g->n, g->b->stride + g->bn);
    if (in_runs(&g->m, g->a->stride + g->am) != runs) return !runs;
    return g->n.rank > g->m.rank;
  }
  if (g->m.rank == 0 || g->n.rank == 0) return 0;
  return lines_along_rows(run, g) > 0;
}

static void choose_sides(cpu_run *run, gemm *g) {
  if (!rows_are_better(run, g)) return;
  const cpu_place *place = g->a;
  cpu_space space = g->m;
  int at = g->am;
  g->a = g->b, g->b = place;
  g->m = g->n, g->n = space;
  g->am = g->bn, g->bn = at;
}

/* The places of the tail. */
static void find_tail(cpu_run *run, const gemm *g) {
  for (int i = 0; i < g->prog->narg; i++)
    for (int k = 0; k < g->out.rank; k++)
      run->tail_place[i].stride[k] = g->place[i].stride[g->out_of[k]];
}

/* May an axis with the stride `at` of run->place be joined to the last one of
 * out? An operand, which the tail does not read, often forbids it to the
 * product: windows of an image. */
static int joins_out(const gemm *g, int at, int64_t ext, int64_t lin) {
  const cpu_code *code = &g->prog->tail;
  int last = g->out.rank - 1;
  if (g->out.lin[last] != lin * ext) return 0;
  for (uint32_t i = 0; i < code->nport; i++) {
    const int64_t *stride = g->place[code->port[i].arg].stride;
    if (code->port[i].arg != g->prog->narg &&
        stride[g->out_of[last]] != stride[at] * ext)
      return 0;
  }
  return 1;
}

static void add_out(gemm *g, const cpu_space *axes, int first) {
  cpu_space *out = &g->out;
  int before = out->rank;
  for (int k = 0; k < axes->rank; k++) {
    int64_t ext = axes->ext[k];
    if (out->rank > before && joins_out(g, first + k, ext, axes->lin[k]))
      out->ext[out->rank - 1] *= ext;
    else
      out->ext[out->rank++] = ext;
    out->lin[out->rank - 1] = axes->lin[k];
    g->out_of[out->rank - 1] = (uint8_t)(first + k);
  }
}

static void find_out(gemm *g) {
  g->out.rank = 0;
  add_out(g, &g->m, g->am);
  g->out_m = g->out.rank;
  add_out(g, &g->n, g->bn);
  g->out.points = g->m.points * g->n.points;
  g->lanes = gemm_part(g->out.points, 0, CPU_LANES);
}

/* ---- how it is done ----------------------------------------------------- */
/* The largest part of at most `most`, a multiple of `unit`, when n are split
 * evenly. */
static int64_t even(int64_t n, int64_t most, int64_t unit) {
  int64_t parts = (n + most - 1) / most;
  if (parts <= 1) return n > 0 ? n : 1;
  int64_t part = (n + parts - 1) / parts;
  return (part + unit - 1) / unit * unit;
}

static void choose_way(gemm *g) {
  int64_t m = g->m.points, n = g->n.points;
  g->a_row = g->m.rank ? g->a->stride[g->am] : 0;
  g->a_step = g->k.rank ? g->a->stride[g->ak] : 0;
  g->b_step = g->k.rank ? g->b->stride[g->ak] : 0;
  g->b_column = g->n.rank ? g->b->stride[g->bn] : 0;
  g->way = TILES;
  if (g->n.rank != 1 || n < 8) return;
  if (m <= 4 && n >= 32 && g->b_column == 1)
    g->way = SWEEPS;
  else if (m <= 4 && g->m.rank <= 1 && g->k.rank == 1 && g->b_step == 1)
    g->way = TURNS;
}

/* Operands are read in place when that is possible, they fit the near cache
 * together, and their rows do not meet in few sets of it. */
static void choose_packing(const cpu_run *run, gemm *g) {
  int64_t bytes = g->prog->bytes[g->prog->a];
  int64_t m = g->m.points, n = g->n.points, k = g->k.points;
  int near = (m + n) * k <= (int64_t)run->near_cache * 6 / 10 / bytes;
  int line = g->n.rank == 0 || (g->n.rank == 1 && g->b->stride[g->bn] == 1);
  int sets_a = k <= 64 || g->a_row * bytes % 2048 != 0 || g->a_step != 1;
  int sets_b = k <= 64 || g->b_step * bytes % 2048 != 0;
  /* Packed rows that few columns use cost more than reading by offsets. */
  int far = g->m.rank > 1 || g->k.rank > 1;
  g->far_a = far && n <= 128;
  g->pack_a = far && !g->far_a;
  if (((n >= 256 && !near) || (n >= 96 && !sets_a)) && !far) g->pack_a = 1;
  g->pack_b = !line || g->k.rank > 1;
  if (m > 2 * 14 && (!near || !sets_b)) g->pack_b = 1;
}

static void choose_layers(const cpu_run *run, gemm *g) {
  int64_t bytes = g->prog->bytes[g->prog->a], near = (int64_t)run->near_cache;
  int64_t m = g->m.points, n = g->n.points, k = g->k.points;
  g->depth = k > DEPTH ? even(k, DEPTH, 8) : k > 0 ? k : 1;
  int64_t most = near * 7 / 10 / bytes / g->depth / 14 * 14;
  if (most < 252) most = 252;
  if (most > ROWS) most = ROWS;
  g->rows = even(m, most, 14);
  g->columns = even(n, g->rows <= 128 ? COLUMNS : COLUMNS / 4, 32);
  g->whole_a = g->rows * k <= CPU_GEMM_A / bytes - 64;
  g->fetch = g->c && m * n * bytes > near / 4;
}

static int64_t count_blocks(const gemm *g) {
  return (g->m.points + g->rows - 1) / g->rows *
         ((g->n.points + g->columns - 1) / g->columns) * g->batch.points;
}

/* Columns that several blocks of rows need are kept packed where there is room;
 * they are packed when a worker meets them first. */
static void choose_kept(gemm *g) {
  int64_t bytes = g->prog->bytes[g->prog->a];
  int64_t block = ((g->columns + 31) / 32 * 32 * g->k.points + 64) * bytes;
  int64_t across = (g->n.points + g->columns - 1) / g->columns;
  g->kept = g->down = 0;
  if (g->way != TILES || !g->pack_b || g->m.points <= g->rows || block == 0)
    return;
  if (across <= KEPT && across * block <= CPU_GEMM_B) g->kept = across;
  g->down = g->kept && !g->pack_a && !g->far_a;
}

/* Smaller blocks, until every worker has some of a few microseconds. Rows are
 * split evenly to the row: as many panels as before, only shorter ones. */
static void split_blocks(gemm *g, int workers, double ns) {
  int64_t most = INT64_C(4) * workers;
  for (;;) {
    int64_t units = count_blocks(g), rows = g->rows, columns = g->columns;
    if (units >= most || (units >= workers && ns / (double)units < 8000))
      return;
    if (columns > 32 && (columns >= rows || rows <= 28))
      g->columns = even(g->n.points, (columns / 2 + 31) / 32 * 32, 32);
    else if (rows > 14 && g->way == TILES)
      g->rows = even(g->m.points, (rows / 2 + 13) / 14 * 14, 1);
    if (g->rows == rows && g->columns == columns) return;
  }
}

/* Returns the number of workers. */
static int choose_blocks(cpu_run *run, gemm *g) {
  double work = (double)g->m.points * (double)g->n.points *
                (double)g->k.points * (double)g->batch.points;
  double ns = work * (g->prog->dtype == TSH_f32 ? 0.02 : 0.04);
  int tiny = (run->force & CPU_FORCE_SHARE) != 0, workers = 1;
  if (g->way != TILES) {
    ns = work * 0.1;
    g->rows = g->m.points;
    g->columns = g->m.points == 1 ? SWEEP : SWEEP / 4;
  } else {
    choose_packing(run, g);
    choose_layers(run, g);
  }
  if (!g->c)
    ns += cpu_code_ns(&g->prog->tail,
                      g->m.points * g->n.points * g->batch.points);
  if (run->team && (tiny || (ns > 1000 && cpu_team_worth(run->team, ns))))
    workers = cpu_run_peers(run);
  if (tiny && g->way == TILES) g->rows = 14;
  if (tiny) g->columns = 32;
  if (workers > 1) split_blocks(g, workers, ns);
  choose_kept(g);
  g->units = count_blocks(g);
  return workers;
}

/* ---- the work ----------------------------------------------------------- */
static void tail_bases(cpu_run *run, const gemm *g, const cpu_cursor *c) {
  const tsh_prog *prog = g->prog;
  for (int i = 0; i < prog->narg; i++) {
    const cpu_place *from = &g->place[i];
    int64_t at = 0;
    for (int k = 0; k < g->batch.rank; k++) at += c->idx[k] * from->stride[k];
    run->tail_place[i].base =
        from->base ? from->base + at * prog->bytes[i] : NULL;
    run->tail_place[i].start = from->start + at;
  }
}

/* Goes to a matrix of the batch. */
static void enter_matrix(cpu_run *run, gemm *g, int64_t matrix) {
  cpu_cursor c;
  cpu_cursor_set(&c, &g->batch, matrix);
  int64_t at_a = g->at_a, at_b = g->at_b;
  g->at_a = g->at_b = g->at_c = 0;
  for (int k = 0; k < g->batch.rank; k++) {
    g->at_a += c.idx[k] * g->a->stride[k];
    g->at_b += c.idx[k] * g->b->stride[k];
    if (g->c) g->at_c += c.idx[k] * g->c->stride[k];
  }
  if (g->matrix < 0 || at_a != g->at_a) g->rows_packed = -1;
  for (int64_t i = 0; i < g->kept; i++)
    if (g->matrix < 0 || at_b != g->at_b) g->kept_now[i] = -1;
  g->matrix = matrix;
  if (g->c) return;
  tail_bases(run, g, &c);
  cpu_ports(run, &g->prog->tail, &g->out, 0, (size_t)g->lanes);
}

/* What a worker needs beside the plan. */
static void begin(cpu_run *run, gemm *g, const tsh_launch *launch) {
  g->matrix = -1;
  g->at_a = g->at_b = 0;
  g->a_panels = run->gemm;
  g->b_panel = g->a_panels + CPU_GEMM_A;
  g->tile = g->b_panel + CPU_GEMM_B;
  g->c_off = g->scattered ? g->c_table : NULL;
  if (g->c) return;
  find_tail(run, g);
  tile_strides(run, g, g->n.points);
  cpu_uniforms(run, &g->prog->tail, launch, (size_t)g->lanes);
}

/* Block number `unit`: columns fastest, or rows; then the others, then the
 * batch. */
static tsh_status one_block(cpu_run *run, gemm *g, int64_t unit) {
  int64_t across = (g->n.points + g->columns - 1) / g->columns;
  int64_t down = (g->m.points + g->rows - 1) / g->rows;
  int64_t matrix = unit / (across * down);
  gemm_block at;
  if (matrix != g->matrix) enter_matrix(run, g, matrix);
  unit -= matrix * across * down;
  at.i = (g->down ? unit % down : unit / across) * g->rows;
  at.j = (g->down ? unit / down : unit % across) * g->columns;
  at.ni = gemm_part(g->m.points, at.i, g->rows);
  at.nj = gemm_part(g->n.points, at.j, g->columns);
  static tsh_status (*const fn[][2])(cpu_run *, gemm *, const gemm_block *) = {
      [TILES] = {block_f32, block_f64},
      [SWEEPS] = {sweep_f32, sweep_f64},
      [TURNS] = {turned_f32, turned_f64}};
  return fn[g->way][g->prog->dtype == TSH_f64](run, g, &at);
}

/* ---- several workers ---------------------------------------------------- */
typedef struct {
  cpu_run *run; /* of worker 0 */
  gemm *g;
  const tsh_launch *launch;
  tsh_status rc;
} job;

static void part(void *data, int64_t unit, int worker) {
  job *j = data;
  cpu_run *run = cpu_run_of(j->run, worker);
  gemm *g = j->g;
  if (__atomic_load_n(&j->rc, __ATOMIC_RELAXED) != TSH_OK) return;
  if (worker > 0) {
    g = (gemm *)(run->gemm + CPU_GEMM_A + CPU_GEMM_B + CPU_GEMM_C);
    if (cpu_run_begins(j->run, run, 0)) {
      memcpy(g, j->g, offsetof(gemm, matrix));
      begin(run, g, j->launch);
    }
  }
  cpu_place *place = run->place;
  if (worker > 0 && !g->c) run->place = run->tail_place;
  tsh_status rc = one_block(run, g, unit);
  if (worker > 0) run->place = place;
  if (rc != TSH_OK) __atomic_store_n(&j->rc, rc, __ATOMIC_RELAXED);
}

_Static_assert(sizeof(gemm) <= CPU_GEMM_STATE, "a worker's product has room");

tsh_status cpu_gemm(cpu_run *run, const tsh_prog *prog,
                    const tsh_launch *launch) {
  gemm g;
  cpu_place *place = run->place;
  g.prog = prog;
  g.place = place;
  cpu_space_bases(run, prog, launch);
  find_axes(run, &g, launch);
  choose_sides(run, &g);
  choose_way(&g);
  choose_results(run, &g);
  int workers = choose_blocks(run, &g);
  if (!g.c) find_out(&g);
  begin(run, &g, launch);
  if (!g.c) run->place = run->tail_place;
  job j = {run, &g, launch, TSH_OK};
  if (workers > 1 && g.units > 1)
    cpu_run_share(run, part, &j, g.units);
  else
    for (int64_t unit = 0; unit < g.units && j.rc == TSH_OK; unit++)
      j.rc = one_block(run, &g, unit);
  run->place = place;
  return j.rc;
}
