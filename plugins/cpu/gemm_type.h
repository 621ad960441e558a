/* gemm_type.h - the matrix product for one C type. Included by gemm.c once per
 * type with T, FN(name) and the vector macros V... defined; no guard, on
 * purpose. */

enum {
  FN(VW) = sizeof(VEC) / sizeof(T),
  FN(NV) = 64 / sizeof(VEC),
  FN(NR) = 64 / sizeof(T),
  FN(WIDTH) = CPU_GEMM_WIDTH / sizeof(T)
};

/* ---- packing ------------------------------------------------------------ */
/* Columns [j, j + nj) as panels of NR columns, each [nk][NR], filled up with
 * zeros. */
static void FN(pack_panel)(const T *b, const int64_t *n_off,
                           const int64_t *k_off, int64_t nj, int64_t nk,
                           T *out) {
  enum { NR = FN(NR) };
  int run = nj == NR;
  for (int j = 1; j < NR && run; j++) run = n_off[j] == n_off[0] + j;
  for (int64_t k = 0; k < nk && run; k++)
    memcpy(out + k * NR, b + k_off[k] + n_off[0], NR * sizeof(T));
  for (int64_t j = 0; j < NR && !run; j++) {
    const T *column = b + (j < nj ? n_off[j] : 0);
    for (int64_t k = 0; k < nk; k++)
      out[k * NR + j] = j < nj ? column[k_off[k]] : 0;
  }
}

static void FN(pack_b)(const gemm *g, const T *b, int64_t nj, int64_t nk,
                       T *out) {
  enum { NR = FN(NR) };
  for (int64_t j = 0; j < nj; j += NR, out += nk * NR)
    FN(pack_panel)(b, g->n_off + j, g->kb_off, nj - j < NR ? nj - j : NR, nk,
                   out);
}

/* Rows [i, i + mr) as [nk][MR]. */
static void FN(pack_a)(const gemm *g, const T *a, int64_t ni, int64_t nk,
                       T *out) {
  for (int64_t i = 0; i < ni; i += MR, out += nk * MR) {
    int64_t mr = ni - i < MR ? ni - i : MR;
    for (int64_t r = 0; r < mr; r++) {
      const T *row = a + g->m_off[i + r];
      for (int64_t k = 0; k < nk; k++) out[k * MR + r] = row[g->ka_off[k]];
    }
  }
}

/* ---- micro-kernel: mr rows of A (element k of row r at a[r][k * step]) by one
 * panel of B, onto c ------------------------------------------------------- */
static inline __attribute__((always_inline)) void
FN(micro)(const int mr, const T *const a[MR], int64_t step, const T *b,
          int64_t nk, T *c, int64_t width) {
  enum { NV = FN(NV), VW = FN(VW), NR = FN(NR) };
  VEC acc[MR][NV];
  int64_t at = 0;
  for (int r = 0; r < mr; r++)
    for (int v = 0; v < NV; v++) acc[r][v] = VLOAD(c + r * width + v * VW);
  for (int64_t k = 0; k < nk; k++, b += NR, at += step) {
    VEC bv[NV];
    for (int v = 0; v < NV; v++) bv[v] = VLOAD(b + v * VW);
    for (int r = 0; r < mr; r++) {
      VEC av = VALL(a[r] + at);
      for (int v = 0; v < NV; v++) acc[r][v] = VFMA(av, bv[v], acc[r][v]);
    }
  }
  for (int r = 0; r < mr; r++)
    for (int v = 0; v < NV; v++) VSTORE(c + r * width + v * VW, acc[r][v]);
}

static void FN(micro_any)(int64_t mr, const T *const a[MR], int64_t step,
                          const T *b, int64_t nk, T *c, int64_t width) {
  switch (mr) {
  case 1: FN(micro)(1, a, step, b, nk, c, width); break;
  case 2: FN(micro)(2, a, step, b, nk, c, width); break;
  case 3: FN(micro)(3, a, step, b, nk, c, width); break;
  case 4: FN(micro)(4, a, step, b, nk, c, width); break;
  case 5: FN(micro)(5, a, step, b, nk, c, width); break;
  default: FN(micro)(6, a, step, b, nk, c, width); break;
  }
}

/* ---- a block of rows by a block of columns by a block of depth ---------- */
static tsh_status FN(block)(cpu_run *run, gemm *g, const T *a, const T *b,
                            int64_t ni, int64_t nj, int64_t nk) {
  enum { NR = FN(NR), WIDTH = FN(WIDTH) };
  int plain = g->k.rank <= 1;
  int64_t step = MR;
  T *pack = (T *)g->pack_a, *tile = (T *)g->tile;
  if (plain)
    step = g->k.rank ? g->a->stride[g->ak] : 0;
  else
    FN(pack_a)(g, a, ni, nk, pack);
  for (int64_t j = 0; j < nj; j += NR, b += nk * NR) {
    if (cpu_cancelled(run)) return TSH_ECANCELLED;
    for (int64_t i = 0; i < ni; i += MR) {
      int64_t mr = ni - i < MR ? ni - i : MR;
      const T *rows[MR];
      for (int64_t r = 0; r < MR; r++) {
        int64_t row = r < mr ? i + r : i;
        rows[r] = plain ? a + g->m_off[row] + g->ka_off[0]
                        : pack + i * nk + r;
      }
      FN(micro_any)(mr, rows, step, b, nk, tile + i * WIDTH + j, WIDTH);
    }
  }
  return TSH_OK;
}

/* The other instructions on the results of rows [i, i + ni), columns
 * [j, j + nj). */
static tsh_status FN(tail)(cpu_run *run, const gemm *g, int64_t i, int64_t ni,
                           int64_t j, int64_t nj) {
  const cpu_code *code = &g->prog->tail;
  int64_t all = g->n.points;
  cpu_place *results = &run->place[g->prog->narg];
  size_t block = CPU_NAME(cpu_block)(&g->out, CPU_LANES);
  results->base = g->tile - (i * FN(WIDTH) + j) * (int64_t)sizeof(T);
  if (nj == all)
    return CPU_NAME(cpu_walk)(run, code, &g->out, i * all, ni * all, block);
  for (int64_t r = i; r < i + ni; r++) {
    tsh_status rc =
        CPU_NAME(cpu_walk)(run, code, &g->out, r * all + j, nj, block);
    if (rc != TSH_OK) return rc;
  }
  return TSH_OK;
}

static tsh_status FN(rows)(cpu_run *run, gemm *g, const T *a, const T *b,
                           int64_t j, int64_t nj, int packed) {
  enum { NR = FN(NR) };
  int64_t depth = g->k.points, wide = (nj + NR - 1) / NR * NR;
  T *pack = (T *)g->pack_b;
  for (int64_t i = 0; i < g->m.points; i += ROWS) {
    int64_t ni = g->m.points - i < ROWS ? g->m.points - i : ROWS;
    tsh_status rc = TSH_OK;
    offsets(&g->m, g->a->stride + g->am, i, ni, g->m_off);
    memset(g->tile, 0, (size_t)ni * CPU_GEMM_WIDTH);
    for (int64_t k = 0; k < depth && rc == TSH_OK; k += DEPTH) {
      int64_t nk = depth - k < DEPTH ? depth - k : DEPTH;
      offsets(&g->k, g->a->stride + g->ak, k, nk, g->ka_off);
      if (!packed) {
        offsets(&g->k, g->b->stride + g->ak, k, nk, g->kb_off);
        FN(pack_b)(g, b, nj, nk, pack);
      }
      rc = FN(block)(run, g, a, pack + (packed ? k * wide : 0), ni, nj, nk);
    }
    if (rc == TSH_OK) rc = FN(tail)(run, g, i, ni, j, nj);
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
#undef VLOAD
#undef VSTORE
#undef VALL
#undef VFMA
