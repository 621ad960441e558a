/* gemm_micro.h - the innermost loops of the matrix product: n rows of A by one
 * or two vectors of columns of B. Included by gemm_type.h once per type; no
 * guard, on purpose. */

/* Element (r, k) of A is a[r * a_row + k * a_step], row k of B begins at
 * b + k * b_step. first: results begin at 0, else they go on from c. fetch:
 * the results that come next, to be brought near; or NULL. Where rows or depth
 * of A have several axes, element (r, k) is a[rows[r] + steps[k]]. */
typedef struct {
  const T *a, *b, *fetch;
  T *c;
  int64_t a_row, a_step, b_step, c_row;
  int64_t depth, columns;
  const int64_t *rows, *steps;
  int first;
} FN(work);
typedef void FN(micro)(const FN(work) * w);

#ifdef VZERO
/* Every accumulator has a name: an array of them may end up in memory. Three
 * rows share a pointer. */
#define A_0       p0
#define A_1       (p0 + row)
#define A_2       (p0 + 2 * row)
#define A_3       p1
#define A_4       (p1 + row)
#define A_5       (p1 + 2 * row)
#define A_6       p2
#define A_7       (p2 + row)
#define A_8       (p2 + 2 * row)
#define A_9       p3
#define A_10      (p3 + row)
#define A_11      (p3 + 2 * row)
#define A_12      p4
#define A_13      (p4 + row)
#define NAME_2(r) VEC x##r = VZERO, y##r = VZERO;
#define NAME_1(r) VEC y##r = VZERO;
/* A full vector is not stored by mask: older machines do that slowly. */
#define TAKE_FULL_2(r)                                                         \
  x##r = VLOAD(c + (r)*w->c_row);                                              \
  y##r = VLOAD(c + (r)*w->c_row + FN(VW));
#define TAKE_MASKED_2(r)                                                       \
  x##r = VLOAD(c + (r)*w->c_row);                                              \
  y##r = VLOADM(mask, c + (r)*w->c_row + FN(VW));
#define TAKE_MASKED_1(r) y##r = VLOADM(mask, c + (r)*w->c_row);
#define STORE_FULL_2(r)                                                        \
  VSTORE(c + (r)*w->c_row, x##r);                                              \
  VSTORE(c + (r)*w->c_row + FN(VW), y##r);
#define STORE_MASKED_2(r)                                                      \
  VSTORE(c + (r)*w->c_row, x##r);                                              \
  VSTOREM(mask, c + (r)*w->c_row + FN(VW), y##r);
#define STORE_MASKED_1(r) VSTOREM(mask, c + (r)*w->c_row, y##r);
#define STEP_2(r)                                                              \
  v = VALL(*(const T *)A_##r);                                                 \
  x##r = VFMA(v, b0, x##r);                                                    \
  y##r = VFMA(v, b1, y##r);
#define STEP_1(r) y##r = VFMA(VALL(*(const T *)A_##r), b1, y##r);
#define B_FULL_2  VEC b0 = VLOAD(b), b1 = VLOAD((const T *)b + FN(VW)), v;
#define B_MASKED_2                                                             \
  VEC b0 = VLOAD(b), b1 = VLOADM(mask, (const T *)b + FN(VW)), v;
#define B_MASKED_1 VEC b1 = VLOADM(mask, b);

/* The depth is walked in n pieces when results are fetched, a row of them
 * before each: many fetches at once would stall. */
#define MICRO(n, ROWS_OF, kind, nv)                                            \
  static void FN(micro_##n##_##kind##_##nv)(const FN(work) * w) {              \
    const int64_t row = w->a_row * (int64_t)sizeof(T);                         \
    const int64_t step = w->a_step * (int64_t)sizeof(T);                       \
    const char *p0 = (const char *)w->a, *p1 = p0 + 3 * row;                   \
    const char *p2 = p1 + 3 * row, *p3 = p2 + 3 * row, *p4 = p3 + 3 * row;     \
    const T *b = w->b;                                                         \
    T *c = w->c;                                                               \
    const VMASK mask = FN(first_lanes)(w->columns - (nv - 1) * FN(VW));        \
    int64_t left = w->depth, b_step = w->b_step;                               \
    int64_t piece = w->fetch && left >= 2 * n ? left / n : left;               \
    const char *fetch = (const char *)w->fetch;                                \
    ROWS_OF(NAME_##nv)                                                         \
    if (!w->first) {                                                           \
      ROWS_OF(TAKE_##kind##_##nv)                                              \
    }                                                                          \
    while (left > 0) {                                                         \
      int64_t k = left < 2 * piece ? left : piece;                             \
      left -= k;                                                               \
      if (fetch) {                                                             \
        __builtin_prefetch(fetch, 1);                                          \
        __builtin_prefetch(fetch + 64, 1);                                     \
        fetch += w->c_row * (int64_t)sizeof(T);                                \
      }                                                                        \
      do {                                                                     \
        B_##kind##_##nv;                                                       \
        ROWS_OF(STEP_##nv)                                                     \
        b += b_step;                                                           \
        p0 += step, p1 += step, p2 += step, p3 += step, p4 += step;            \
      } while (--k > 0);                                                       \
    }                                                                          \
    (void)mask, (void)p1, (void)p2, (void)p3, (void)p4, (void)row;             \
    ROWS_OF(STORE_##kind##_##nv)                                               \
  }
/* The same with offsets. */
#define FAR_2(r)                                                               \
  v = VALL(p[rows[r]]);                                                        \
  x##r = VFMA(v, b0, x##r);                                                    \
  y##r = VFMA(v, b1, y##r);
#define FAR_1(r) y##r = VFMA(VALL(p[rows[r]]), b1, y##r);
#define MICRO_FAR(n, ROWS_OF, nv)                                              \
  static void FN(micro_##n##_FAR_##nv)(const FN(work) * w) {                   \
    const int64_t *rows = w->rows, *steps = w->steps;                          \
    const T *a = w->a, *b = w->b;                                              \
    T *c = w->c;                                                               \
    const VMASK mask = FN(first_lanes)(w->columns - (nv - 1) * FN(VW));        \
    int64_t b_step = w->b_step, left = w->depth;                               \
    ROWS_OF(NAME_##nv)                                                         \
    if (!w->first) {                                                           \
      ROWS_OF(TAKE_MASKED_##nv)                                                \
    }                                                                          \
    for (int64_t k = 0; k < left; k++, b += b_step) {                          \
      const T *p = a + steps[k];                                               \
      B_MASKED_##nv;                                                           \
      ROWS_OF(FAR_##nv)                                                        \
    }                                                                          \
    ROWS_OF(STORE_MASKED_##nv)                                                 \
  }

#define ROWS_1(X)  X(0)
#define ROWS_2(X)  ROWS_1(X) X(1)
#define ROWS_3(X)  ROWS_2(X) X(2)
#define ROWS_4(X)  ROWS_3(X) X(3)
#define ROWS_5(X)  ROWS_4(X) X(4)
#define ROWS_6(X)  ROWS_5(X) X(5)
#define ROWS_7(X)  ROWS_6(X) X(6)
#define ROWS_8(X)  ROWS_7(X) X(7)
#define ROWS_9(X)  ROWS_8(X) X(8)
#define ROWS_10(X) ROWS_9(X) X(9)
#define ROWS_11(X) ROWS_10(X) X(10)
#define ROWS_12(X) ROWS_11(X) X(11)
#define ROWS_13(X) ROWS_12(X) X(12)
#define ROWS_14(X) ROWS_13(X) X(13)
#define SIZES_6(X) X(1) X(2) X(3) X(4) X(5) X(6)
#if MR == 14
#define SIZES(X) SIZES_6(X) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#else
#define SIZES(X) SIZES_6(X)
#endif
#define MICRO_FULL(n)   MICRO(n, ROWS_##n, FULL, 2)
#define MICRO_MASKED(n) MICRO(n, ROWS_##n, MASKED, 2)
#define MICRO_SLIM(n)   MICRO(n, ROWS_##n, MASKED, 1)
#define MICRO_FAR_2(n)  MICRO_FAR(n, ROWS_##n, 2)
#define MICRO_FAR_1(n)  MICRO_FAR(n, ROWS_##n, 1)
SIZES(MICRO_FULL)
SIZES(MICRO_MASKED)
SIZES(MICRO_SLIM)
SIZES(MICRO_FAR_2)
SIZES(MICRO_FAR_1)

#define ROW_FULL(n)   FN(micro_##n##_FULL_2),
#define ROW_MASKED(n) FN(micro_##n##_MASKED_2),
#define ROW_SLIM(n)   FN(micro_##n##_MASKED_1),
#define ROW_FAR_2(n)  FN(micro_##n##_FAR_2),
#define ROW_FAR_1(n)  FN(micro_##n##_FAR_1),
static FN(micro) *const FN(micros)[5][MR] = {{SIZES(ROW_FULL)},
                                             {SIZES(ROW_MASKED)},
                                             {SIZES(ROW_SLIM)},
                                             {SIZES(ROW_FAR_2)},
                                             {SIZES(ROW_FAR_1)}};

static inline void FN(multiply)(int64_t rows, const FN(work) * w) {
  int kind = w->columns >= 2 * FN(VW) ? 0 : w->columns > FN(VW) ? 1 : 2;
  if (w->steps) kind = kind == 2 ? 4 : 3;
  FN(micros)[kind][rows - 1](w);
}

#undef A_0
#undef A_1
#undef A_2
#undef A_3
#undef A_4
#undef A_5
#undef A_6
#undef A_7
#undef A_8
#undef A_9
#undef A_10
#undef A_11
#undef A_12
#undef A_13
#undef NAME_1
#undef NAME_2
#undef TAKE_FULL_2
#undef TAKE_MASKED_2
#undef TAKE_MASKED_1
#undef STORE_FULL_2
#undef STORE_MASKED_2
#undef STORE_MASKED_1
#undef STEP_1
#undef STEP_2
#undef B_FULL_2
#undef B_MASKED_2
#undef B_MASKED_1
#undef MICRO
#undef ROWS_1
#undef ROWS_2
#undef ROWS_3
#undef ROWS_4
#undef ROWS_5
#undef ROWS_6
#undef ROWS_7
#undef ROWS_8
#undef ROWS_9
#undef ROWS_10
#undef ROWS_11
#undef ROWS_12
#undef ROWS_13
#undef ROWS_14
#undef SIZES_6
#undef SIZES
#undef MICRO_FULL
#undef MICRO_MASKED
#undef MICRO_SLIM
#undef MICRO_FAR
#undef MICRO_FAR_2
#undef MICRO_FAR_1
#undef FAR_2
#undef FAR_1
#undef ROW_FAR_2
#undef ROW_FAR_1
#undef ROW_FULL
#undef ROW_MASKED
#undef ROW_SLIM
#else
static void FN(multiply)(int64_t rows, const FN(work) * w) {
  for (int64_t r = 0; r < rows; r++) {
    T acc[FN(NR)], *c = w->c + r * w->c_row;
    for (int64_t j = 0; j < w->columns; j++) acc[j] = w->first ? 0 : c[j];
    for (int64_t k = 0; k < w->depth; k++) {
      T a = w->steps ? w->a[w->rows[r] + w->steps[k]]
                     : w->a[r * w->a_row + k * w->a_step];
      const T *b = w->b + k * w->b_step;
      for (int64_t j = 0; j < w->columns; j++) acc[j] = VFMA(a, b[j], acc[j]);
    }
    for (int64_t j = 0; j < w->columns; j++) c[j] = acc[j];
  }
}
#endif
