/* gemm.c - one dot of two LOADs: a matrix product with any strides and any
 * number of axes. Compiled once per instruction set.
 *
 * Outer axes that move only the first operand are rows (m), only the second
 * are columns (n), both or none are the batch; folded axes are the depth (k).
 * Each result is one chain of fma in the order of k, so it has the bits of the
 * plain form: depth blocks go on from the tile of results.
 *
 *   for each batch, for each block of columns:      pack B once, if it fits
 *     for each block of rows:
 *       for each block of depth: results += A B     micro-kernel MR x NR
 *       tail: the other instructions, on the results
 *
 * Threads will share the row blocks. More dtypes will widen while packing; a
 * prefetch of results and of the next panel belongs into the micro-kernel. */
#include "interp.h"
#include "kit_math.h"

#ifdef __FMA__
#include <immintrin.h>
#endif

enum { ROWS = CPU_GEMM_ROWS, DEPTH = CPU_GEMM_DEPTH, MR = 6, SWEEP = 4096 };

/* A launch seen as a product. Offsets in elements. */
typedef struct {
  const tsh_prog *prog;
  cpu_space batch, m, n, k;
  int am, bn, ak; /* first stride of the axes m, n and k in run->place */
  const cpu_place *a, *b;
  int64_t m_off[ROWS];                    /* of A, of a row */
  int64_t n_off[CPU_GEMM_WIDTH / 4 + 16]; /* of B, of a column */
  int64_t ka_off[DEPTH], kb_off[DEPTH];
  char *pack_a, *pack_b, *tile;
  cpu_space out;     /* axes m, then n */
  int direct;        /* results go into the output; there is no other work */
  char *c_row[ROWS]; /* where the results of a row go */
  int64_t c_columns; /* and how many columns may be written there */
} gemm;

/* Offsets of `count` points from `from` on, along strides of one operand. */
static void offsets(const cpu_space *space, const int64_t *stride, int64_t from,
                    int64_t count, int64_t *out) {
  cpu_cursor c;
  if (space->rank <= 1) {
    int64_t step = space->rank ? stride[0] : 0;
    for (int64_t i = 0; i < count; i++) out[i] = (from + i) * step;
    return;
  }
  cpu_cursor_set(&c, space, from);
  for (int64_t i = 0; i < count; i++) {
    out[i] = 0;
    for (int k = 0; k < space->rank; k++) out[i] += c.idx[k] * stride[k];
    cpu_cursor_move(&c, space, 1);
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

/* Can the results be computed into the output? Its columns must lie one after
 * the other, and partial results must not overwrite an operand. */
static void choose_direct(cpu_run *run, gemm *g) {
  const cpu_port *store = only_store(&g->prog->tail, g->prog->narg);
  const int64_t *stride =
      store ? run->tail_place[store->arg].stride + g->m.rank : NULL;
  int64_t next = 1;
  g->direct = store != NULL;
  for (int k = g->n.rank; k-- > 0 && g->direct; next *= g->n.ext[k])
    g->direct = stride[k] == next;
  if (g->k.points == 0) g->direct = 0;
  if (store && (run->place[store->arg].base == g->a->base ||
                run->place[store->arg].base == g->b->base))
    g->direct = 0;
}

/* The tile, rows of `wide`, as argument narg of the tail. */
static void tile_strides(cpu_run *run, const gemm *g, int64_t wide) {
  int64_t *stride = run->tail_place[g->prog->narg].stride, step = 1;
  int m = g->m.rank, n = g->n.rank;
  for (int k = n; k-- > 0; step *= g->n.ext[k]) stride[m + k] = step;
  for (int k = m; k-- > 0; wide *= g->m.ext[k]) stride[k] = wide;
}

/* Where rows [i, i + ni), columns from j on are to be computed. */
static void aim_results(cpu_run *run, gemm *g, int64_t i, int64_t ni, int64_t j,
                        int64_t wide) {
  const tsh_prog *prog = g->prog;
  int64_t bytes = kit_dtype_bytes(prog->dtype);
  if (g->direct) {
    const cpu_port *store = only_store(&prog->tail, prog->narg);
    const cpu_place *out = &run->place[store->arg];
    int64_t at[ROWS];
    offsets(&g->m, out->stride, i, ni, at);
    for (int64_t r = 0; r < ni; r++)
      g->c_row[r] = out->base + (at[r] + j) * bytes;
    g->c_columns = g->n.points - j;
    return;
  }
  for (int64_t r = 0; r < ni; r++) g->c_row[r] = g->tile + r * wide * bytes;
  g->c_columns = wide;
  if (g->k.points == 0) memset(g->tile, 0, (size_t)(ni * wide * bytes));
  tile_strides(run, g, wide);
  run->place[prog->narg].base = g->tile - (i * wide + j) * bytes;
}

/* The other instructions on the results of rows [i, i + ni), columns
 * [j, j + nj). */
static tsh_status tail(cpu_run *run, const gemm *g, int64_t i, int64_t ni,
                       int64_t j, int64_t nj) {
  const cpu_code *code = &g->prog->tail;
  int64_t all = g->n.points;
  size_t block = cpu_block(&g->out, CPU_LANES);
  if (g->direct) return TSH_OK;
  cpu_space_kinds(run, code, &g->out, 0);
  if (nj == all) return cpu_walk(run, code, &g->out, i * all, ni * all, block);
  for (int64_t r = i; r < i + ni; r++) {
    tsh_status rc = cpu_walk(run, code, &g->out, r * all + j, nj, block);
    if (rc != TSH_OK) return rc;
  }
  return TSH_OK;
}

/* Few rows, and columns one after the other. */
static int sweeps(const gemm *g) {
  return g->m.points <= 4 && g->n.points >= 32 && g->n.rank == 1 &&
         g->b->stride[g->bn] == 1;
}

/* ---- float and double --------------------------------------------------- */
#define T        float
#define FN(name) name##_f32
#ifdef __FMA__
#define VEC           __m256
#define VZERO         _mm256_setzero_ps()
#define VLOAD(p)      _mm256_loadu_ps(p)
#define VSTORE(p, v)  _mm256_storeu_ps(p, v)
#define VALL(p)       _mm256_broadcast_ss(p)
#define VFMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define VTURN         turn_8
/* Eight elements of eight columns to eight rows. */
static inline void turn_8(const float *const *column, int64_t k, float *out,
                          int64_t width) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(column[i] + k);
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; i++) {
    __m256 low = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
    __m256 high = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    _mm256_storeu_ps(out + i * width, low);
    _mm256_storeu_ps(out + (i + 4) * width, high);
  }
}
#else
#define VEC           float
#define VFMA(a, b, c) fmaf(a, b, c)
#endif
#include "gemm_type.h"

#define T        double
#define FN(name) name##_f64
#ifdef __FMA__
#define VEC           __m256d
#define VZERO         _mm256_setzero_pd()
#define VLOAD(p)      _mm256_loadu_pd(p)
#define VSTORE(p, v)  _mm256_storeu_pd(p, v)
#define VALL(p)       _mm256_broadcast_sd(p)
#define VFMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#else
#define VEC           double
#define VFMA(a, b, c) (fma)(a, b, c)
#endif
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

/* Columns are vectors. With few of them rows are better. */
static void choose_sides(gemm *g) {
  if (g->n.points >= 8 || g->m.points <= g->n.points) return;
  const cpu_place *place = g->a;
  cpu_space space = g->m;
  int at = g->am;
  g->a = g->b, g->b = place;
  g->m = g->n, g->n = space;
  g->am = g->bn, g->bn = at;
}

/* The places of the tail: axes m, then n. */
static void find_tail(cpu_run *run, gemm *g) {
  const tsh_prog *prog = g->prog;
  int m = g->m.rank, n = g->n.rank;
  cpu_space *out = &g->out;
  *out = g->m;
  out->rank += n;
  out->points *= g->n.points;
  for (int k = 0; k < n; k++) {
    out->ext[m + k] = g->n.ext[k];
    out->lin[m + k] = g->n.lin[k];
  }
  for (int i = 0; i < prog->narg; i++) {
    const int64_t *from = run->place[i].stride;
    int64_t *to = run->tail_place[i].stride;
    for (int k = 0; k < m; k++) to[k] = from[g->am + k];
    for (int k = 0; k < n; k++) to[m + k] = from[g->bn + k];
  }
}

static void tail_bases(cpu_run *run, const gemm *g, const cpu_cursor *c) {
  const tsh_prog *prog = g->prog;
  for (int i = 0; i < prog->narg; i++) {
    const cpu_place *from = &run->place[i];
    int64_t at = 0;
    for (int k = 0; k < g->batch.rank; k++) at += c->idx[k] * from->stride[k];
    run->tail_place[i].base =
        from->base ? from->base + at * prog->bytes[i] : NULL;
    run->tail_place[i].start = from->start + at;
  }
}

tsh_status cpu_gemm(cpu_run *run, const tsh_prog *prog,
                    const tsh_launch *launch) {
  gemm g;
  cpu_place *place = run->place;
  tsh_status rc = TSH_OK;
  g.prog = prog;
  cpu_space_bases(run, prog, launch);
  find_axes(run, &g, launch);
  choose_sides(&g);
  find_tail(run, &g);
  choose_direct(run, &g);
  tile_strides(run, &g, g.n.points);
  g.pack_b = run->gemm;
  g.pack_a = run->gemm + CPU_GEMM_B;
  g.tile = g.pack_a + CPU_GEMM_A;
  size_t lanes = g.out.points < CPU_LANES ? (size_t)g.out.points : CPU_LANES;
  cpu_uniforms(run, &prog->tail, launch, lanes);
  cpu_cursor c;
  cpu_cursor_set(&c, &g.batch, 0);
  for (int64_t i = 0; i < g.batch.points && rc == TSH_OK; i++) {
    int64_t at_a = 0, at_b = 0;
    for (int k = 0; k < g.batch.rank; k++) {
      at_a += c.idx[k] * g.a->stride[k];
      at_b += c.idx[k] * g.b->stride[k];
    }
    tail_bases(run, &g, &c);
    run->place = run->tail_place;
    cpu_ports(run, &prog->tail, &g.out, 0, lanes);
    rc = prog->dtype == TSH_f32 ? product_f32(run, &g, at_a, at_b)
                                : product_f64(run, &g, at_a, at_b);
    run->place = place;
    cpu_cursor_move(&c, &g.batch, 1);
  }
  return rc;
}
