/* evalorder.c - the evaluator of CALL ops along an axis: sorting by insertion,
 * scans block by block, and nonzero; then of gather and scatter_add. */
#include <string.h>

#include "cf.h"

enum { BLOCK = 16, LONGEST = 6000 };

/* ---- elements by their point -------------------------------------------- */
static uint64_t load(const cf_job *j, int arg, int64_t point) {
  const cf_view *v = &j->arg[arg];
  return cf_get(v->mem->want, cf_place(v->extent, j->kern->rank[arg], v, point),
                v->mem->dtype);
}

static void store(const cf_job *j, int arg, int64_t point, uint64_t bits) {
  const cf_view *v = &j->arg[arg];
  cf_put(v->mem->want, cf_place(v->extent, j->kern->rank[arg], v, point),
         v->mem->dtype, bits);
}

/* Points of line number `line` along an axis: first, and the step between. */
typedef struct {
  int64_t first, step, n, lines;
} row;

static row row_of(const cf_job *j, int arg, int axis, int64_t line) {
  const int64_t *e = j->arg[arg].extent;
  int rank = j->kern->rank[arg];
  row r = {0, cf_points(e + axis + 1, rank - axis - 1), e[axis], 0};
  r.lines = cf_points(e, rank) / r.n;
  r.first = line / r.step * r.step * r.n + line % r.step;
  return r;
}

/* ---- order -------------------------------------------------------------- */
static int below(int dtype, uint64_t a, uint64_t b) {
  switch (cf_kind(dtype)) {
  case TSH_KIND_FLOAT:
    if (cf_is_nan(dtype, a)) return 0;
    return cf_is_nan(dtype, b) ||
           cf_to_double(dtype, a) < cf_to_double(dtype, b);
  case TSH_KIND_INT:
    return (int64_t)cf_cast(dtype, TSH_i64, a) <
           (int64_t)cf_cast(dtype, TSH_i64, b);
  default:
    return a < b;
  }
}

/* Positions of a row's elements in order: each goes in front of those that it
 * must come before, and of no equal one. */
static void sort_row(const cf_job *j, row r, int down, int64_t *at) {
  int dtype = j->arg[0].mem->dtype;
  static uint64_t x[LONGEST];
  for (int64_t i = 0; i < r.n; i++) x[i] = load(j, 0, r.first + i * r.step);
  for (int64_t i = 0; i < r.n; i++) {
    uint64_t v = x[i];
    int64_t k = i;
    for (; k > 0; k--) {
      uint64_t w = x[at[k - 1]];
      if (down ? !below(dtype, w, v) : !below(dtype, v, w)) break;
      at[k] = at[k - 1];
    }
    at[k] = i;
  }
}

static void eval_sort(const cf_job *j, int out) {
  const tsh_kernel *k = &j->kern->k;
  const int64_t *attr = j->kern->attr;
  int axis = (int)attr[0], down = (int)attr[k->op == TSH_OP_argtopk ? 2 : 1];
  static int64_t at[LONGEST];
  row r = row_of(j, 0, axis, 0);
  for (int64_t line = 0; line < r.lines; line++) {
    row x = row_of(j, 0, axis, line), y = row_of(j, out, axis, line);
    sort_row(j, x, down, at);
    for (int64_t i = 0; i < y.n; i++)
      store(j, out, y.first + i * y.step,
            k->op == TSH_OP_sort ? load(j, 0, x.first + at[i] * x.step)
                                 : (uint64_t)at[i]);
  }
}

/* ---- scans -------------------------------------------------------------- */
static void eval_scan(const cf_job *j, int out) {
  int axis = (int)j->kern->attr[0], dtype = j->arg[0].mem->dtype, bad;
  int op = j->kern->k.op == TSH_OP_cumsum ? TSH_OP_add : TSH_OP_mul;
  row r = row_of(j, 0, axis, 0);
  for (int64_t line = 0; line < r.lines; line++) {
    row x = row_of(j, 0, axis, line), y = row_of(j, out, axis, line);
    uint64_t e[BLOCK], old[BLOCK], carry = 0;
    for (int64_t i = 0; i < x.n; i += BLOCK) {
      int64_t m = x.n - i < BLOCK ? x.n - i : BLOCK;
      for (int64_t k = 0; k < m; k++)
        e[k] = load(j, 0, x.first + (i + k) * x.step);
      for (int64_t d = 1; d < BLOCK; d *= 2) {
        memcpy(old, e, sizeof e);
        for (int64_t k = d; k < m; k++)
          e[k] = cf_map(op, dtype, old[k - d], old[k], 0, &bad);
      }
      for (int64_t k = 0; i && k < m; k++)
        e[k] = cf_map(op, dtype, carry, e[k], 0, &bad);
      for (int64_t k = 0; k < m; k++)
        store(j, out, y.first + (i + k) * y.step, e[k]);
      carry = e[m - 1];
    }
  }
}

/* ---- nonzero ------------------------------------------------------------ */
static void eval_nonzero(const cf_job *j, int out) {
  int64_t n = 0, room = j->arg[out].extent[0];
  for (int64_t i = 0; i < cf_points(j->arg[0].extent, j->kern->rank[0]); i++)
    if (load(j, 0, i) && n < room) store(j, out, n++, (uint64_t)i);
  while (n < room) store(j, out, n++, 0);
}

/* ---- gather, scatter_add ------------------------------------------------ */
/* Point of argument `arg` under point i of the positions, at position p along
 * the axis. */
static int64_t under(const cf_job *j, int arg, int64_t i, int64_t p) {
  const int64_t *e = j->arg[1].extent, *x = j->arg[arg].extent;
  int64_t at = 0, step = 1;
  for (int k = j->kern->rank[1] - 1; k >= 0; k--) {
    at += (k == (int)j->kern->attr[0] ? p : i % e[k]) * step;
    i /= e[k];
    step *= x[k];
  }
  return at;
}

static void eval_gather(const cf_job *j, int out, int64_t *bad) {
  int add = j->kern->k.op == TSH_OP_scatter_add, dtype = j->arg[0].mem->dtype;
  int64_t n = j->arg[0].extent[j->kern->attr[0]];
  for (int64_t i = 0; add && i < cf_points(j->arg[0].extent, j->kern->rank[0]);
       i++)
    store(j, out, i, load(j, 0, i));
  for (int64_t i = 0; i < cf_points(j->arg[1].extent, j->kern->rank[1]); i++) {
    int64_t p = (int64_t)cf_cast(j->arg[1].mem->dtype, TSH_i64, load(j, 1, i));
    int wrong;
    if (p < 0 || p >= n) {
      if (*bad < 0) *bad = i;
    } else if (!add) {
      store(j, out, i, load(j, 0, under(j, 0, i, p)));
    } else {
      int64_t to = under(j, out, i, p);
      store(j, out, to,
            cf_map(TSH_OP_add, dtype, load(j, out, to), load(j, 2, i), 0,
                   &wrong));
    }
  }
}

void cf_eval_order(const cf_job *j, int out, int64_t *bad) {
  switch (j->kern->k.op) {
  case TSH_OP_gather:
  case TSH_OP_scatter_add:
    eval_gather(j, out, bad);
    break;
  case TSH_OP_cumsum:
  case TSH_OP_cumprod:
    eval_scan(j, out);
    break;
  case TSH_OP_nonzero:
    eval_nonzero(j, out);
    break;
  default:
    eval_sort(j, out);
  }
}
