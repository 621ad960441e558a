/* gemm_type.h - the matrix product for one C type. Included by gemm.c once per
 * type with T, FN(name) and the vector macros V... defined; no guard, on
 * purpose. */

enum {
  FN(VW) = sizeof(VEC) / sizeof(T),
  FN(NR) = 64 / sizeof(T), /* columns of a panel: one cache line */
  FN(WIDTH) = CPU_GEMM_WIDTH / sizeof(T)
};

/* ---- packing ------------------------------------------------------------ */
/* Are the n offsets consecutive? */
static int FN(in_line)(const int64_t *off, int64_t n) {
  int line = 1;
  for (int64_t i = 1; i < n; i++) line &= off[i] == off[0] + i;
  return line;
}

/* W columns that are contiguous along k, turned into rows of W. */
static void FN(turn)(const T *const *column, int W, int64_t nk, T *out,
                     int64_t width) {
  int64_t k = 0;
#ifdef VTURN
  for (int j = 0; W == FN(NR) && j < W; j += FN(VW))
    for (k = 0; k + FN(VW) <= nk; k += FN(VW))
      VTURN(column + j, k, out + k * width + j, width);
#endif
  for (; k < nk; k++)
    for (int j = 0; j < W; j++) out[k * width + j] = column[j][k];
}

/* nj columns as one panel [nk][NR], filled up with zeros. */
static void FN(pack_panel)(const T *b, const int64_t *n_off,
                           const int64_t *k_off, int k_line, int64_t nj,
                           int64_t nk, T *out) {
  enum { NR = FN(NR) };
  const T *column[NR];
  if (nj == NR && FN(in_line)(n_off, NR)) {
    for (int64_t k = 0; k < nk; k++)
      memcpy(out + k * NR, b + k_off[k] + n_off[0], NR * sizeof(T));
    return;
  }
  if (nj < NR) memset(out, 0, (size_t)(nk * NR) * sizeof(T));
  for (int64_t j = 0; j < nj; j++) column[j] = b + n_off[j];
  if (k_line) {
    for (int64_t j = 0; j < nj; j++) column[j] += k_off[0];
    FN(turn)(column, (int)nj, nk, out, NR);
    return;
  }
  for (int64_t k = 0; k < nk; k++)
    for (int64_t j = 0; j < nj; j++) out[k * NR + j] = column[j][k_off[k]];
}

static void FN(pack_b)(const gemm *g, const T *b, int64_t nj, int64_t nk,
                       T *out) {
  enum { NR = FN(NR) };
  int line = FN(in_line)(g->kb_off, nk);
  for (int64_t j = 0; j < nj; j += NR, out += nk * NR) FN(pack_panel)
  (b, g->n_off + j, g->kb_off, line, nj - j < NR ? nj - j : NR, nk, out);
}

/* ni rows as panels [nk][MR]; the last may have fewer rows. */
static void FN(pack_a)(const gemm *g, const T *a, int64_t ni, int64_t nk,
                       T *out) {
  int k_line = FN(in_line)(g->ka_off, nk), m_line = FN(in_line)(g->m_off, ni);
  for (int64_t i = 0; i < ni; i += MR, out += nk * MR) {
    int64_t mr = ni - i < MR ? ni - i : MR;
    const T *row[MR];
    for (int64_t r = 0; r < MR; r++)
      row[r] = a + g->m_off[r < mr ? i + r : i] + (k_line ? g->ka_off[0] : 0);
    if (k_line)
      FN(turn)(row, MR, nk, out, MR);
    else if (m_line && mr == MR)
      for (int64_t k = 0; k < nk; k++)
        memcpy(out + k * MR, row[0] + g->ka_off[k], MR * sizeof(T));
    else
      for (int64_t k = 0; k < nk; k++)
        for (int r = 0; r < MR; r++) out[k * MR + r] = row[r][g->ka_off[k]];
  }
}

/* ---- micro-kernels ------------------------------------------------------ */
/* mr rows of A, element k of row r at a[r][k * step], by one panel of B. first:
 * begin at 0, else go on from c. */
#ifdef __FMA__
/* Every accumulator has a name: an array of them may end up in memory. */
#define NAMED(r)                                                               \
  const T *a##r = a[r];                                                        \
  VEC x##r = VZERO, y##r = VZERO;
#define LOADED(r) x##r = VLOAD(c[r]), y##r = VLOAD(c[r] + FN(VW));
#define STORED(r)                                                              \
  VSTORE(c[r], x##r);                                                          \
  VSTORE(c[r] + FN(VW), y##r);
#define STEPPED(r)                                                             \
  v = VALL(a##r + at);                                                         \
  x##r = VFMA(v, b0, x##r);                                                    \
  y##r = VFMA(v, b1, y##r);
#define MICRO(n, ROWS_OF)                                                      \
  static void FN(micro_##n)(const T *const a[MR], int64_t step, const T *b,    \
                            int64_t nk, T *const c[MR], int first) {           \
    int64_t at = 0;                                                            \
    ROWS_OF(NAMED)                                                             \
    if (!first) {                                                              \
      ROWS_OF(LOADED)                                                          \
    }                                                                          \
    for (; nk > 0; nk--, b += FN(NR), at += step) {                            \
      VEC b0 = VLOAD(b), b1 = VLOAD(b + FN(VW)), v;                            \
      ROWS_OF(STEPPED)                                                         \
    }                                                                          \
    ROWS_OF(STORED)                                                            \
  }
#else
#define MICRO(n, ROWS_OF)                                                      \
  static void FN(micro_##n)(const T *const a[MR], int64_t step, const T *b,    \
                            int64_t nk, T *const c[MR], int first) {           \
    for (int r = 0; r < n; r++) {                                              \
      T acc[FN(NR)];                                                           \
      for (int j = 0; j < FN(NR); j++) acc[j] = first ? 0 : c[r][j];           \
      for (int64_t k = 0; k < nk; k++)                                         \
        for (int j = 0; j < FN(NR); j++)                                       \
          acc[j] = VFMA(a[r][k * step], b[k * FN(NR) + j], acc[j]);            \
      for (int j = 0; j < FN(NR); j++) c[r][j] = acc[j];                       \
    }                                                                          \
  }
#endif
#define ROWS_1(X) X(0)
#define ROWS_2(X) ROWS_1(X) X(1)
#define ROWS_3(X) ROWS_2(X) X(2)
#define ROWS_4(X) ROWS_3(X) X(3)
#define ROWS_5(X) ROWS_4(X) X(4)
#define ROWS_6(X) ROWS_5(X) X(5)
MICRO(1, ROWS_1)
MICRO(2, ROWS_2)
MICRO(3, ROWS_3)
MICRO(4, ROWS_4)
MICRO(5, ROWS_5)
MICRO(6, ROWS_6)
#undef ROWS_1
#undef ROWS_2
#undef ROWS_3
#undef ROWS_4
#undef ROWS_5
#undef ROWS_6
#undef MICRO
#undef NAMED
#undef LOADED
#undef STORED
#undef STEPPED

static void FN(micro_any)(int64_t mr, const T *const a[MR], int64_t step,
                          const T *b, int64_t nk, T *const c[MR], int first) {
  switch (mr) {
  case 1:
    FN(micro_1)(a, step, b, nk, c, first);
    break;
  case 2:
    FN(micro_2)(a, step, b, nk, c, first);
    break;
  case 3:
    FN(micro_3)(a, step, b, nk, c, first);
    break;
  case 4:
    FN(micro_4)(a, step, b, nk, c, first);
    break;
  case 5:
    FN(micro_5)(a, step, b, nk, c, first);
    break;
  default:
    FN(micro_6)(a, step, b, nk, c, first);
    break;
  }
}

/* ---- a block of rows by a block of columns by a block of depth ---------- */
/* Rows of A are read in place where they lie well: contiguous along k and not
 * in the same few cache sets. Else they are packed, if that pays. */
static int FN(reads_a_in_place)(const gemm *g, int64_t nk) {
  if (g->k.rank > 1) return 0;
  if (nk <= 1 || g->n.points < 96) return 1;
  int64_t line = 1024 / (int64_t)sizeof(T);
  if (g->a->stride[g->ak] != 1) return 0;
  return g->m.rank != 1 || g->a->stride[g->am] % line != 0;
}

/* The last columns of an output, where not all of a panel is there. */
static void FN(micro_edge)(int64_t mr, const T *const a[MR], int64_t step,
                           const T *b, int64_t nk, T *const c[MR], int first,
                           int64_t columns) {
  T edge[MR][FN(NR)], *part[MR];
  size_t bytes = (size_t)columns * sizeof(T);
  for (int64_t r = 0; r < mr; r++) {
    part[r] = edge[r];
    if (!first) memcpy(edge[r], c[r], bytes);
  }
  FN(micro_any)(mr, a, step, b, nk, part, first);
  for (int64_t r = 0; r < mr; r++) memcpy(c[r], edge[r], bytes);
}

static tsh_status FN(block)(cpu_run *run, gemm *g, const T *a, const T *b,
                            int64_t ni, int64_t nj, int64_t nk, int first) {
  enum { NR = FN(NR) };
  int plain = FN(reads_a_in_place)(g, nk);
  int64_t step = MR;
  T *pack = (T *)g->pack_a;
  if (plain)
    step = g->k.rank ? g->a->stride[g->ak] : 0;
  else
    FN(pack_a)(g, a, ni, nk, pack);
  for (int64_t j = 0; j < nj; j += NR, b += nk * NR) {
    int64_t left = g->c_columns - j;
    if (cpu_cancelled(run)) return TSH_ECANCELLED;
    for (int64_t i = 0; i < ni; i += MR) {
      int64_t mr = ni - i < MR ? ni - i : MR;
      const T *row[MR];
      T *c[MR];
      for (int64_t r = 0; r < mr; r++) {
        row[r] = plain ? a + g->m_off[i + r] + g->ka_off[0] : pack + i * nk + r;
        c[r] = (T *)g->c_row[i + r] + j;
      }
      if (left >= NR)
        FN(micro_any)(mr, row, step, b, nk, c, first);
      else
        FN(micro_edge)(mr, row, step, b, nk, c, first, left);
    }
  }
  return TSH_OK;
}

/* ---- the whole ---------------------------------------------------------- */
static tsh_status FN(rows)(cpu_run *run, gemm *g, const T *a, const T *b,
                           int64_t j, int64_t nj, int packed) {
  enum { NR = FN(NR) };
  int64_t depth = g->k.points, wide = (nj + NR - 1) / NR * NR;
  T *pack = (T *)g->pack_b;
  for (int64_t i = 0; i < g->m.points; i += ROWS) {
    int64_t ni = g->m.points - i < ROWS ? g->m.points - i : ROWS;
    tsh_status rc = TSH_OK;
    offsets(&g->m, g->a->stride + g->am, i, ni, g->m_off);
    aim_results(run, g, i, ni, j, wide);
    for (int64_t k = 0; k < depth && rc == TSH_OK; k += DEPTH) {
      int64_t nk = depth - k < DEPTH ? depth - k : DEPTH;
      offsets(&g->k, g->a->stride + g->ak, k, nk, g->ka_off);
      if (!packed) {
        offsets(&g->k, g->b->stride + g->ak, k, nk, g->kb_off);
        FN(pack_b)(g, b, nj, nk, pack);
      }
      rc = FN(block)(run, g, a, pack + (packed ? k * wide : 0), ni, nj, nk,
                     k == 0);
    }
    if (rc == TSH_OK) rc = tail(run, g, i, ni, j, nj);
    if (rc != TSH_OK) return rc;
  }
  return TSH_OK;
}

/* ---- few rows ----------------------------------------------------------- */
/* Packing B would cost more than the product: rows of B are added to the rows
 * of results, four at a time, so that B is read once and in order. */
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

static tsh_status FN(sweep)(cpu_run *run, gemm *g, const T *a, const T *b) {
  int64_t rows = g->m.points, depth = g->k.points, columns = g->n.points;
  int64_t width = rows == 1 ? SWEEP : SWEEP / 4;
  offsets(&g->m, g->a->stride + g->am, 0, rows, g->m_off);
  for (int64_t j = 0; j < columns; j += width) {
    int64_t nj = columns - j < width ? columns - j : width;
    aim_results(run, g, 0, rows, j, nj);
    for (int64_t k = 0, nk; k < depth; k += nk) {
      int64_t at_a[4], at_b[4];
      const T *line[4];
      nk = depth - k < 4 ? 1 : 4;
      if (cpu_cancelled(run)) return TSH_ECANCELLED;
      offsets(&g->k, g->a->stride + g->ak, k, nk, at_a);
      offsets(&g->k, g->b->stride + g->ak, k, nk, at_b);
      for (int i = 0; i < nk; i++) line[i] = b + at_b[i] + j;
      for (int64_t r = 0; r < rows; r++) {
        T x[4];
        for (int i = 0; i < nk; i++) x[i] = a[g->m_off[r] + at_a[i]];
        FN(sweep_row)(line, x, nk, (T *)g->c_row[r], nj, k == 0);
      }
    }
    tsh_status rc = tail(run, g, 0, rows, j, nj);
    if (rc != TSH_OK) return rc;
  }
  return TSH_OK;
}

static tsh_status FN(product)(cpu_run *run, gemm *g, int64_t at_a,
                              int64_t at_b) {
  enum { NR = FN(NR), WIDTH = FN(WIDTH) };
  const T *a = (const T *)g->a->base + at_a;
  const T *b = (const T *)g->b->base + at_b;
  int64_t depth = g->k.points, columns = g->n.points;
  if (sweeps(g)) return FN(sweep)(run, g, a, b);
  int packed = depth <= CPU_GEMM_B / CPU_GEMM_WIDTH;
  for (int64_t j = 0; j < columns; j += WIDTH) {
    int64_t nj = columns - j < WIDTH ? columns - j : WIDTH;
    int64_t wide = (nj + NR - 1) / NR * NR;
    offsets(&g->n, g->b->stride + g->bn, j, nj, g->n_off);
    for (int64_t k = 0; k < depth && packed; k += DEPTH) {
      int64_t nk = depth - k < DEPTH ? depth - k : DEPTH;
      offsets(&g->k, g->b->stride + g->ak, k, nk, g->kb_off);
      FN(pack_b)(g, b, nj, nk, (T *)g->pack_b + k * wide);
    }
    tsh_status rc = FN(rows)(run, g, a, b, j, nj, packed);
    if (rc != TSH_OK) return rc;
  }
  return TSH_OK;
}

#undef T
#undef FN
#undef VEC
#undef VZERO
#undef VLOAD
#undef VSTORE
#undef VALL
#undef VFMA
#undef VTURN
