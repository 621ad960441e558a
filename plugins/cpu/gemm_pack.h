/* gemm_pack.h - copies a part of an operand to a panel [depth][width], the form
 * that the innermost loops read fastest. Included by gemm_type.h once per type;
 * no guard, on purpose.
 *
 * A lane is a row of A or a column of B: element k of lane j lies at
 * from[lane[j] + depth[k]]. What lies one after the other decides how it is
 * copied: lanes in runs (vectors, cut where a run ends), depth in runs (squares
 * that are turned in registers), or nothing (one by one). Vectors may write up
 * to their length behind a row: rows are written in order, and behind a panel
 * there is room. */

typedef struct {
  int64_t at, n, from;
} FN(run);

/* Are the n offsets consecutive? */
static int FN(in_line)(const int64_t *off, int64_t n) {
  int line = 1;
  for (int64_t i = 1; i < n; i++) line &= off[i] == off[0] + i;
  return line;
}

/* How many of the n offsets follow each other. */
static inline int64_t FN(run_of)(const int64_t *off, int64_t n) {
  int64_t i = 1;
  while (i < n && off[i] == off[i - 1] + 1) i++;
  return i;
}

/* Lanes as runs: their number, or `most` + 1 when there are more. */
static int FN(find_runs)(const int64_t *lane, int64_t n, int most,
                         FN(run) * run) {
  int count = 0;
  for (int64_t j = 0; j < n; j += run[count++].n) {
    if (count == most) return most + 1;
    run[count] = (FN(run)){j, FN(run_of)(lane + j, n - j), lane[j]};
  }
  return count;
}

/* ---- lanes in runs ------------------------------------------------------ */
#ifdef VZERO
/* A vector of lanes is one load of each run that it meets, the others masked.
 */
typedef struct {
  int64_t from; /* of lane 0 of the vector, if it were of this run */
  VMASK mask;
} FN(piece);
typedef struct {
  FN(piece) piece[2][MOST_RUNS];
  int n[2];
} FN(pieces);

static void FN(cut_runs)(const FN(run) * run, int count, FN(pieces) * p) {
  enum { VW = FN(VW) };
  p->n[0] = p->n[1] = 0;
  for (int i = 0; i < count; i++)
    for (int64_t at = run[i].at, end = at + run[i].n; at < end;) {
      int64_t v = at / VW, next = (v + 1) * VW < end ? (v + 1) * VW : end;
      VMASK mask = FN(lanes)(at - v * VW, next - v * VW);
      p->piece[v][p->n[v]++] =
          (FN(piece)){run[i].from - run[i].at + v * VW, mask};
      at = next;
    }
}

/* With n0 and n1 known the masks stay in registers. */
static inline __attribute__((always_inline)) void
FN(copy_pieces)(const T *from, const FN(pieces) * p, int n0, int n1,
                const int64_t *depth, int64_t nk, T *out, int64_t width) {
  for (int64_t k = 0; k < nk; k++, out += width) {
    const T *line = from + depth[k];
    VEC x = VLOADM(p->piece[0][0].mask, line + p->piece[0][0].from);
    for (int i = 1; i < n0; i++)
      x = VMERGE(x, p->piece[0][i].mask, line + p->piece[0][i].from);
    VSTORE(out, x);
    if (n1 == 0) continue;
    x = VLOADM(p->piece[1][0].mask, line + p->piece[1][0].from);
    for (int i = 1; i < n1; i++)
      x = VMERGE(x, p->piece[1][i].mask, line + p->piece[1][i].from);
    VSTORE(out + FN(VW), x);
  }
}

static void FN(copy_full)(const T *from, const int64_t *depth, int64_t nk,
                          T *out) {
  for (int64_t k = 0; k < nk; k++, out += FN(NR)) {
    const T *line = from + depth[k];
    VSTORE(out, VLOAD(line));
    VSTORE(out + FN(VW), VLOAD(line + FN(VW)));
  }
}

static void FN(copy_runs)(const T *from, const FN(run) * run, int count,
                          const int64_t *depth, int64_t nk, T *out,
                          int64_t width) {
  FN(pieces) p;
  if (count == 1 && run->n == FN(NR) && width == FN(NR)) {
    FN(copy_full)(from + run->from, depth, nk, out);
    return;
  }
  FN(cut_runs)(run, count, &p);
#define CUT(n0, n1)                                                            \
  case n0 * 16 + n1:                                                           \
    FN(copy_pieces)(from, &p, n0, n1, depth, nk, out, width);                  \
    break;
  switch (p.n[0] * 16 + p.n[1]) {
    CUT(1, 0)
    CUT(2, 0)
    CUT(1, 1)
    CUT(1, 2)
    CUT(2, 1)
    CUT(2, 2)
    CUT(2, 3)
    CUT(3, 2)
    CUT(3, 3)
  default:
    FN(copy_pieces)(from, &p, p.n[0], p.n[1], depth, nk, out, width);
    break;
  }
#undef CUT
}
#else
static void FN(copy_runs)(const T *from, const FN(run) * run, int count,
                          const int64_t *depth, int64_t nk, T *out,
                          int64_t width) {
  for (int64_t k = 0; k < nk; k++, out += width)
    for (int i = 0; i < count; i++)
      for (int64_t j = 0; j < run[i].n; j++)
        out[run[i].at + j] = from[run[i].from + j + depth[k]];
}
#endif

/* ---- depth in runs ------------------------------------------------------ */
#ifdef VZERO
/* n <= VW lanes by nk elements of depth. */
static void FN(turn_run)(const T *from, const int64_t *lane, int64_t n,
                         int64_t nk, T *out, int64_t width) {
  enum { VW = FN(VW) };
  const T *column[VW];
  for (int j = 0; j < VW; j++) column[j] = from + lane[j < n ? j : 0];
  for (int64_t k = 0; k < nk; k += VW) {
    VEC r[VW];
    int64_t left = nk - k;
    if (left >= VW) {
      for (int j = 0; j < VW; j++) r[j] = VLOAD(column[j] + k);
      FN(turn)(r);
      for (int i = 0; i < VW; i++) VSTORE(out + (k + i) * width, r[i]);
    } else {
      VMASK mask = FN(first_lanes)(left);
      for (int j = 0; j < VW; j++) r[j] = VLOADM(mask, column[j] + k);
      FN(turn)(r);
      for (int i = 0; i < VW; i++)
        if (i < left) VSTORE(out + (k + i) * width, r[i]);
    }
  }
}

/* The last lanes come first: what they write behind their row is where the
 * first lanes of the next row go. */
static void FN(turn_runs)(const T *from, const int64_t *lane, int64_t n,
                          const int64_t *depth, int64_t nk, T *out,
                          int64_t width) {
  enum { VW = FN(VW) };
  for (int64_t k = 0, run; k < nk; k += run) {
    run = FN(run_of)(depth + k, nk - k);
    for (int64_t j = (n - 1) / VW * VW; j >= 0; j -= VW) FN(turn_run)
    (from + depth[k], lane + j, n - j < VW ? n - j : VW, run,
     out + k * width + j, width);
  }
}

/* Squares that are turned need a run of some length; the first one may be the
 * rest of one. */
static int FN(turns)(const int64_t *depth, int64_t nk) {
  int64_t least = nk < FN(VW) ? 4 : FN(VW) / 2, run;
  if (nk < 4) return 0;
  run = FN(run_of)(depth, nk);
  return run >= least ||
         (run < nk && FN(run_of)(depth + run, nk - run) >= least);
}
#else
static void FN(turn_runs)(const T *from, const int64_t *lane, int64_t n,
                          const int64_t *depth, int64_t nk, T *out,
                          int64_t width) {
  for (int64_t k = 0; k < nk; k++)
    for (int64_t j = 0; j < n; j++)
      out[k * width + j] = from[lane[j] + depth[k]];
}
static int FN(turns)(const int64_t *depth, int64_t nk) {
  (void)depth, (void)nk;
  return 0;
}
#endif

/* ---- a panel ------------------------------------------------------------ */
static void FN(pack)(const T *from, const int64_t *lane, int64_t n,
                     const int64_t *depth, int64_t nk, T *out, int64_t width) {
  FN(run) run[MOST_RUNS];
  int count = FN(find_runs)(lane, n, MOST_RUNS, run);
  if (count <= MOST_RUNS && (count * 4 <= n || count == 1))
    FN(copy_runs)(from, run, count, depth, nk, out, width);
  else if (FN(turns)(depth, nk))
    FN(turn_runs)(from, lane, n, depth, nk, out, width);
  else
    for (int64_t k = 0; k < nk; k++)
      for (int64_t j = 0; j < n; j++)
        out[k * width + j] = from[lane[j] + depth[k]];
}
