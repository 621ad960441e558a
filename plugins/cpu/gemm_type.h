/* gemm_type.h - the matrix product for one C type. Included by gemm.c once per
 * type with T and FN(name) defined; no guard, on purpose. */
#include "gemm_vec.h"

enum {
#ifdef VZERO
  FN(VW) = sizeof(VEC) / sizeof(T),
#else
  FN(VW) = 8,
#endif
  FN(NR) = 2 * FN(VW) /* columns of a panel */
};

#include "gemm_micro.h"
#include "gemm_pack.h"

/* ---- a block of rows by a block of columns ------------------------------ */
/* Rows [i, i + ni) are split evenly: 64 are 13 13 13 13 12, not 14 14 14 14 8.
 * Panel p: its first row in the block. */
static inline int64_t FN(panels)(int64_t ni) { return (ni + MR - 1) / MR; }
static inline int64_t FN(panel_at)(int64_t ni, int64_t count, int64_t p) {
  int64_t longer = ni % count;
  return p * (ni / count) + (p < longer ? p : longer);
}

/* The block's rows of A with depth [k, k + nk) as panels [nk][rows]. */
static void FN(pack_rows)(gemm *g, const T *a, int64_t ni, int64_t k,
                          int64_t nk, T *out) {
  int64_t count = FN(panels)(ni);
  gemm_offsets(&g->k, g->a->stride + g->ak, k, nk, g->k_off);
  for (int64_t p = 0; p < count; p++) {
    int64_t i = FN(panel_at)(ni, count, p);
    int64_t rows = FN(panel_at)(ni, count, p + 1) - i;
    FN(pack)(a, g->m_off + i, rows, g->k_off, nk, out + i * nk, rows);
  }
}

/* Depth [k, k + nk) of the block's columns as panels [nk][NR], some of each at
 * a time: rows of B may be far apart. The parts end where a run of depth does:
 * a row of an image. */
static void FN(pack_columns)(gemm *g, const T *b, int64_t nj, int64_t k,
                             int64_t nk, T *out) {
  enum { STEP = 32 };
  int64_t run = g->k.rank ? g->k.ext[g->k.rank - 1] : 1, step = STEP;
  if (run > 4 && run <= STEP) step = STEP / run * run;
  gemm_offsets(&g->k, g->b->stride + g->ak, k, nk, g->k_off);
  for (int64_t l = 0, part; l < nk; l += part) {
    part = gemm_part(nk, l, step - (k + l) % (step % run ? 1 : run));
    for (int64_t j = 0; j < nj; j += FN(NR)) FN(pack)
    (b, g->n_off + j, gemm_part(nj, j, FN(NR)), g->k_off + l, part,
     out + j * nk + l * FN(NR), FN(NR));
  }
}

/* Where the columns of a block are kept, packed with all their depth; or NULL.
 */
static T *FN(kept_columns)(gemm *g, const gemm_block *at, const T *b) {
  if (!g->kept) return NULL;
  int64_t number = at->j / g->columns, slot = number;
  int64_t wide = (g->columns + FN(NR) - 1) / FN(NR) * FN(NR);
  T *out = (T *)g->b_panel + slot * (wide * g->k.points + 64);
  if (g->kept_now[slot] == number) return out;
  for (int64_t k = 0, nk; k < g->k.points; k += nk) {
    nk = gemm_part(g->k.points, k, g->depth);
    FN(pack_columns)(g, b, at->nj, k, nk, out + k * wide);
  }
  g->kept_now[slot] = number;
  return out;
}

/* Columns that do not lie one after the other in the output go by an own small
 * tile. */
static void FN(scattered)(const gemm *g, int64_t rows, FN(work) * w, T *c,
                          const int64_t *at) {
  T edge[MR * FN(NR)];
  for (int64_t r = 0; r < rows && !w->first; r++)
    for (int64_t j = 0; j < w->columns; j++)
      edge[r * FN(NR) + j] = c[r * g->c_row + at[j]];
  w->c = edge;
  w->c_row = FN(NR);
  FN(multiply)(rows, w);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = 0; j < w->columns; j++)
      c[r * g->c_row + at[j]] = edge[r * FN(NR) + j];
}

/* A panel of columns by all rows of the block. w: what the rows share. packed:
 * panels of A, or NULL. */
static void FN(column_panel)(const gemm *g, const FN(work) * shared, const T *a,
                             const T *packed, int64_t ni, T *c,
                             const int64_t *at) {
  int64_t count = FN(panels)(ni), base = ni / count, longer = ni % count;
  int line = !at || FN(in_line)(at, shared->columns);
  for (int64_t p = 0, i = 0, rows; p < count; p++, i += rows) {
    FN(work) w = *shared;
    rows = base + (p < longer);
    w.a = a + (w.steps ? 0 : i * g->a_row);
    w.rows = g->m_off + i;
    if (packed) {
      w.a = packed + i * w.depth;
      w.a_row = 1;
      w.a_step = rows;
    }
    if (line) {
      w.c = c + i * g->c_row + (at ? at[0] : 0);
      w.fetch = g->fetch ? w.c + rows * g->c_row : NULL;
      FN(multiply)(rows, &w);
    } else {
      FN(scattered)(g, rows, &w, c + i * g->c_row, at);
    }
  }
}

/* Depth [k, k + nk) of a block. a, b: of row and column 0; kept: the columns
 * packed, or NULL; c: of this block's first result. */
static tsh_status FN(layer)(cpu_run *run, gemm *g, const gemm_block *at,
                            const T *a, const T *b, const T *kept, T *c,
                            int64_t k, int64_t nk) {
  FN(work)
  w = {.a_row = g->a_row,
       .a_step = g->a_step,
       .b_step = g->pack_b ? FN(NR) : g->b_step,
       .c_row = g->c_row,
       .depth = nk,
       .first = k == 0};
  int64_t wide = (g->columns + FN(NR) - 1) / FN(NR) * FN(NR);
  T *packed = g->pack_a ? (T *)g->a_panels : NULL;
  if (packed && g->whole_a)
    packed += k * at->ni;
  else if (packed)
    FN(pack_rows)(g, a, at->ni, k, nk, packed);
  else if (g->far_a) {
    gemm_offsets(&g->k, g->a->stride + g->ak, k, nk, g->a_off);
    w.steps = g->a_off;
  } else
    a += at->i * g->a_row + k * g->a_step;
  if (g->pack_b && !kept)
    gemm_offsets(&g->k, g->b->stride + g->ak, k, nk, g->k_off);
  for (int64_t j = 0; j < at->nj; j += FN(NR)) {
    w.columns = gemm_part(at->nj, j, FN(NR));
    if (kept) {
      w.b = kept + k * wide + j * nk;
    } else if (g->pack_b) {
      FN(pack)
      (b, g->n_off + j, w.columns, g->k_off, nk, (T *)g->b_panel, FN(NR));
      w.b = (const T *)g->b_panel;
    } else {
      w.b = b + k * g->b_step + at->j + j;
    }
    if (cpu_cancelled(run)) return TSH_ECANCELLED;
    FN(column_panel)
    (g, &w, a, packed, at->ni, g->c_off ? c : c + j,
     g->c_off ? g->c_off + j : NULL);
  }
  return TSH_OK;
}

static tsh_status FN(block)(cpu_run *run, gemm *g, const gemm_block *at) {
  const T *a = (const T *)g->a->base + g->at_a;
  const T *b = (const T *)g->b->base + g->at_b;
  T *c = gemm_aim(run, g, at);
  tsh_status rc = TSH_OK;
  if (g->pack_b)
    gemm_offsets(&g->n, g->b->stride + g->bn, at->j, at->nj, g->n_off);
  if ((g->pack_a || g->far_a) && g->rows_packed != at->i) {
    gemm_offsets(&g->m, g->a->stride + g->am, at->i, at->ni, g->m_off);
    for (int64_t k = 0; k < g->k.points && g->pack_a && g->whole_a;
         k += g->depth)
      FN(pack_rows)
    (g, a, at->ni, k, gemm_part(g->k.points, k, g->depth),
     (T *)g->a_panels + k * at->ni);
    g->rows_packed = at->i;
  }
  const T *kept = FN(kept_columns)(g, at, b);
  for (int64_t k = 0, nk; k < g->k.points && rc == TSH_OK; k += nk) {
    nk = gemm_part(g->k.points, k, g->depth);
    rc = FN(layer)(run, g, at, a, b, kept, c, k, nk);
  }
  return rc == TSH_OK ? gemm_tail(run, g, at) : rc;
}

/* ---- few rows ----------------------------------------------------------- */
/* Rows of B are added to the rows of results, four at a time, so that B is
 * read once and in order. */
static void FN(sweep_row)(const T *const *b, const T *a, int64_t nk, T *c,
                          int64_t nj, int first) {
  const T zero = 0, *b0 = b[0];
  if (nk == 4) {
    const T *b1 = b[1], *b2 = b[2], *b3 = b[3];
    CPU_LANES_FREE
    for (int64_t j = 0; j < nj; j++) {
      T acc = fma(a[0], b0[j], first ? zero : c[j]);
      acc = fma(a[1], b1[j], acc);
      acc = fma(a[2], b2[j], acc);
      c[j] = fma(a[3], b3[j], acc);
    }
    return;
  }
  CPU_LANES_FREE
  for (int64_t j = 0; j < nj; j++) c[j] = fma(a[0], b0[j], first ? zero : c[j]);
}

static tsh_status FN(sweep)(cpu_run *run, gemm *g, const gemm_block *at) {
  const T *a = (const T *)g->a->base + g->at_a;
  const T *b = (const T *)g->b->base + g->at_b + at->j;
  T *c = gemm_aim(run, g, at);
  int64_t depth = g->k.points;
  gemm_offsets(&g->m, g->a->stride + g->am, 0, at->ni, g->m_off);
  for (int64_t k = 0, nk; k < depth; k += nk) {
    int64_t at_a[4], at_b[4];
    const T *line[4];
    nk = depth - k < 4 ? 1 : 4;
    if (cpu_cancelled(run)) return TSH_ECANCELLED;
    gemm_offsets(&g->k, g->a->stride + g->ak, k, nk, at_a);
    gemm_offsets(&g->k, g->b->stride + g->ak, k, nk, at_b);
    for (int i = 0; i < nk; i++) line[i] = b + at_b[i];
    for (int64_t r = 0; r < at->ni; r++) {
      T x[4];
      for (int i = 0; i < nk; i++) x[i] = a[g->m_off[r] + at_a[i]];
      FN(sweep_row)(line, x, nk, c + r * g->c_row, at->nj, k == 0);
    }
  }
  return gemm_tail(run, g, at);
}

/* Columns that are contiguous along k, by few rows: squares are turned on the
 * way, and nothing is packed. */
#ifdef VZERO
static inline __attribute__((always_inline)) void
FN(turned_rows)(const gemm *g, int rows, const T *a, const T *b, int64_t n,
                T *c) {
  enum { VW = FN(VW) };
  int64_t depth = g->k.points, left = depth % VW;
  const T *column[VW];
  VEC acc[4] = {VZERO, VZERO, VZERO, VZERO}, x[VW];
  for (int j = 0; j < VW; j++) column[j] = b + (j < n ? j : 0) * g->b_column;
  for (int64_t k = 0; k + VW <= depth; k += VW, a += VW * g->a_step) {
    for (int j = 0; j < VW; j++) {
      __builtin_prefetch(column[j] + k + 4 * VW);
      x[j] = VLOAD(column[j] + k);
    }
    FN(turn)(x);
    for (int i = 0; i < VW; i++)
      for (int r = 0; r < rows; r++)
        acc[r] = VFMA(VALL(a[r * g->a_row + i * g->a_step]), x[i], acc[r]);
  }
  VMASK mask = FN(first_lanes)(left);
  for (int j = 0; j < VW; j++) x[j] = VLOADM(mask, column[j] + depth - left);
  FN(turn)(x);
  for (int i = 0; i < VW; i++)
    for (int r = 0; r < rows; r++)
      if (i < left)
        acc[r] = VFMA(VALL(a[r * g->a_row + i * g->a_step]), x[i], acc[r]);
  mask = FN(first_lanes)(n);
  for (int r = 0; r < rows; r++) VSTOREM(mask, c + r * g->c_row, acc[r]);
}

static void FN(turned_columns)(const gemm *g, const T *a, const T *b, int64_t n,
                               T *c) {
  switch (g->m.points) {
  case 1:
    FN(turned_rows)(g, 1, a, b, n, c);
    break;
  case 2:
    FN(turned_rows)(g, 2, a, b, n, c);
    break;
  case 3:
    FN(turned_rows)(g, 3, a, b, n, c);
    break;
  default:
    FN(turned_rows)(g, 4, a, b, n, c);
    break;
  }
}
#else
static void FN(turned_columns)(const gemm *g, const T *a, const T *b, int64_t n,
                               T *c) {
  for (int64_t r = 0; r < g->m.points; r++, a += g->a_row, c += g->c_row) {
    for (int64_t j = 0; j < n; j++) c[j] = 0;
    for (int64_t k = 0; k < g->k.points; k++)
      for (int64_t j = 0; j < n; j++)
        c[j] = VFMA(a[k * g->a_step], b[j * g->b_column + k], c[j]);
  }
}
#endif

static tsh_status FN(turned)(cpu_run *run, gemm *g, const gemm_block *at) {
  const T *a = (const T *)g->a->base + g->at_a;
  const T *b = (const T *)g->b->base + g->at_b + at->j * g->b_column;
  T *c = gemm_aim(run, g, at);
  for (int64_t j = 0; j < at->nj; j += FN(VW)) {
    if (cpu_cancelled(run)) return TSH_ECANCELLED;
    FN(turned_columns)
    (g, a, b + j * g->b_column, gemm_part(at->nj, j, FN(VW)), c + j);
  }
  return gemm_tail(run, g, at);
}

#undef T
#undef FN
#undef MR
#undef VEC
#undef VMASK
#undef VZERO
#undef VLOAD
#undef VSTORE
#undef VLOADM
#undef VMERGE
#undef VSTOREM
#undef VALL
#undef VFMA
