/* form_views.c - several launches over one buffer, outputs in place, mixed
 * dtypes and many axes. */
#include <string.h>

#include "cf.h"

/* ---- softmax in three launches of one phase each, rows through memory ---- */
typedef struct {
  cf_stage max, sum, div;
  cf_mem *x, *m, *s, *y;
} split;

static void build_split(split *p, int dtype) {
  cf_kern *k = &p->max.k;
  cf_stage_init(&p->max, 2, 1);
  cf_stage_init(&p->sum, 2, 1);
  cf_stage_init(&p->div, 2, 1);
  for (int i = 0; i < 2; i++) cf_arg(k, dtype, TSH_STRIDED);
  cf_load(k, 0, 0);
  cf_inst(k, TSH_OP_max, dtype, 0, 0, 0);
  cf_store(k, 1, 1, TSH_ROW);
  k = &p->sum.k;
  for (int i = 0; i < 3; i++) cf_arg(k, dtype, TSH_STRIDED);
  cf_load(k, 0, 0);
  cf_load(k, 1, TSH_ROW);
  cf_inst(k, TSH_OP_sub, dtype, 0, 1, 0);
  cf_inst(k, TSH_OP_square, dtype, 2, 0, 0);
  cf_inst(k, TSH_OP_sum, dtype, 3, 0, 0);
  cf_store(k, 4, 2, TSH_ROW);
  k = &p->div.k;
  for (int i = 0; i < 4; i++) cf_arg(k, dtype, TSH_STRIDED);
  cf_load(k, 0, 0);
  cf_load(k, 1, TSH_ROW);
  cf_load(k, 2, TSH_ROW);
  cf_inst(k, TSH_OP_sub, dtype, 0, 1, 0);
  cf_inst(k, TSH_OP_square, dtype, 3, 0, 0);
  cf_inst(k, TSH_OP_div, dtype, 4, 2, 0);
  cf_store(k, 5, 3, 0);
}

static void jobs_of_split(split *p, int64_t rows, int64_t cols, cf_job *j) {
  const int64_t extent[2] = {rows, cols}, full[2] = {cols, 1}, row[2] = {1, 0};
  cf_stage *stage[3] = {&p->max, &p->sum, &p->div};
  for (int i = 0; i < 3; i++) {
    cf_job_init(&j[i], &stage[i]->k, "%dx%d, launch %d", (int)rows, (int)cols,
                i);
    cf_job_extent(&j[i], extent);
    cf_job_arg(&j[i], 0, p->x, 0, full);
    cf_job_arg(&j[i], 1, p->m, 0, row);
    if (i > 0) cf_job_arg(&j[i], 2, p->s, 0, row);
    cf_after_all(j, (uint32_t)i);
  }
  cf_job_arg(&j[2], 3, p->y, 0, full);
}

void cf_form_split(cf *t, int dtype) {
  static const int64_t shape[2][2] = {{33, 65}, {2, 1000}};
  split p;
  cf_job j[3];
  if (!cf_begin(t, "form/%s/split", cf_dtype_name(dtype))) return;
  build_split(&p, dtype);
  p.x = cf_stage_mem(t, &p.max, dtype, 3000, CF_PLAIN);
  p.m = cf_stage_mem(t, &p.max, dtype, 64, CF_BLANK);
  p.s = cf_stage_mem(t, &p.max, dtype, 64, CF_BLANK);
  p.y = cf_stage_mem(t, &p.max, dtype, 3000, CF_BLANK);
  if (cf_stage_ready(t, &p.max) && cf_stage_ready(t, &p.sum) &&
      cf_stage_ready(t, &p.div))
    for (int i = 0; i < 2; i++) {
      jobs_of_split(&p, shape[i][0], shape[i][1], j);
      cf_try(t, j, 3);
    }
  cf_stage_free(t, &p.sum);
  cf_stage_free(t, &p.div);
  cf_stage_free(t, &p.max);
  cf_end(t);
}

/* ---- sub-views ---------------------------------------------------------- */
/* x + s into the middle of a buffer and its border as four slabs: a pad. */
static void run_pad(cf *t, int dtype, int64_t rows, int64_t cols) {
  const int64_t wide = cols + 5;
  const int64_t in[2] = {cols, 1}, out[2] = {wide, 1}, none[2] = {0, 0};
  const int64_t slab[5][3] = {{2 * wide + 3, rows, cols}, /* at, extents */
                              {0, 2, wide},
                              {(rows + 2) * wide, 1, wide},
                              {2 * wide, rows, 3},
                              {2 * wide + 3 + cols, rows, 2}};
  cf_stage s;
  cf_mem *x, *y;
  cf_job j[5];
  if (!cf_begin(t, "form/%s/pad-%d", cf_dtype_name(dtype), (int)cols)) return;
  cf_stage_init(&s, 2, 0);
  for (int i = 0; i < 2; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_scalar(&s.k, dtype);
  cf_inst(&s.k, TSH_OP_add, dtype, 0, 1, 0);
  cf_store(&s.k, 2, 1, 0);
  x = cf_stage_mem(t, &s, dtype, rows * cols + 1, CF_PLAIN);
  y = cf_stage_mem(t, &s, dtype, (rows + 3) * wide + 4, CF_BLANK);
  if (cf_stage_ready(t, &s)) {
    for (int i = 0; i < 5; i++) {
      cf_job_init(&j[i], &s.k, "slab %d", i);
      j[i].extent[0] = slab[i][1];
      j[i].extent[1] = slab[i][2];
      j[i].scalar[0].f = i ? -1.25 : 2;
      cf_job_arg(&j[i], 0, x, i ? rows * cols : 1, i ? none : in);
      cf_job_arg(&j[i], 1, y, slab[i][0] + 1, out);
    }
    cf_try(t, j, 5);
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* Every second element of a buffer, updated in place, twice in one batch. */
static void run_in_place(cf *t, int dtype) {
  static const int64_t extent[2] = {257, 100}, step[2] = {2, -1};
  cf_stage s;
  cf_mem *x;
  cf_job j[2];
  if (!cf_begin(t, "form/%s/in-place", cf_dtype_name(dtype))) return;
  cf_stage_init(&s, 1, 0);
  for (int i = 0; i < 2; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_scalar(&s.k, dtype);
  cf_inst(&s.k, TSH_OP_mul, dtype, 0, 1, 0);
  cf_inst(&s.k, TSH_OP_add, dtype, 2, 0, 0);
  cf_store(&s.k, 3, 1, 0);
  x = cf_stage_mem(t, &s, dtype, 600, CF_PLAIN);
  if (cf_stage_ready(t, &s)) {
    for (int i = 0; i < 2; i++) {
      cf_job_init(&j[i], &s.k, "launch %d", i);
      j[i].extent[0] = extent[i];
      j[i].scalar[0].f = i ? 0.375 : -3;
      cf_job_arg(&j[i], 0, x, i ? 300 : 5, &step[i]);
      cf_job_arg(&j[i], 1, x, i ? 300 : 5, &step[i]);
      cf_after_all(j, (uint32_t)i);
    }
    cf_try(t, j, 2);
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- mixed dtypes: a mask from positions, its count, its sum ------------- */
static void build_mask(cf_kern *k, int dtype) {
  cf_arg(k, dtype, TSH_STRIDED);
  cf_arg(k, TSH_i32, TSH_STRIDED); /* positions */
  cf_arg(k, dtype, TSH_STRIDED);
  cf_arg(k, TSH_bool, TSH_STRIDED);
  cf_arg(k, TSH_i32, TSH_STRIDED);
  cf_load(k, 0, 0);
  cf_index(k, 1, 0);
  cf_scalar(k, TSH_i32);
  cf_inst(k, TSH_OP_lt, TSH_bool, 1, 2, 0);
  cf_const(k, dtype, 0);
  cf_inst(k, TSH_OP_where, dtype, 3, 0, 4);
  cf_inst(k, TSH_OP_sum, dtype, 5, 0, 0);
  cf_inst(k, TSH_OP_cast, TSH_i32, 3, 0, 0);
  cf_inst(k, TSH_OP_sum, TSH_i32, 7, 0, 0);
  cf_store(k, 6, 2, TSH_ROW);
  cf_store(k, 3, 3, 0);
  cf_store(k, 8, 4, TSH_ROW);
}

static void run_mask(cf *t, int dtype) {
  static const int64_t extent[2][2] = {{7, 40}, {3, 333}};
  cf_stage s;
  cf_mem *x, *o[3];
  if (!cf_begin(t, "form/%s/mask", cf_dtype_name(dtype))) return;
  cf_stage_init(&s, 2, 1);
  build_mask(&s.k, dtype);
  x = cf_stage_mem(t, &s, dtype, 1000, CF_PLAIN);
  o[0] = cf_stage_mem(t, &s, dtype, 16, CF_BLANK);
  o[1] = cf_stage_mem(t, &s, TSH_bool, 1000, CF_BLANK);
  o[2] = cf_stage_mem(t, &s, TSH_i32, 16, CF_BLANK);
  if (cf_fits(t, &s.k) && cf_stage_ready(t, &s))
    for (int i = 0; i < 2; i++) {
      const int64_t full[2] = {extent[i][1], 1}, row[2] = {2, 0};
      const int64_t diagonal[2] = {-1, 1};
      cf_job j;
      cf_job_init(&j, &s.k, "launch %d", i);
      cf_job_extent(&j, extent[i]);
      cf_job_arg(&j, 0, x, 0, full);
      cf_job_arg(&j, 1, NULL, i, diagonal);
      cf_job_arg(&j, 2, o[0], 0, row);
      cf_job_arg(&j, 3, o[1], i, full);
      cf_job_arg(&j, 4, o[2], 1, row);
      j.scalar[0].i = i ? 300 : 20;
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- as many axes as the device has ------------------------------------- */
static void run_axes(cf *t, int dtype, int nfold) {
  static const int64_t a[12] = {2, 1, 3, 1, 2, 1, 2, 2, 1, 2, 3, 2};
  static const int64_t b[12] = {1, 2, 1, 2, 1, 1, 3, 1, 2, 2, 2, 2};
  const int rank = t->props.max_rank < 12 ? (int)t->props.max_rank : 12;
  cf_stage s;
  cf_mem *x, *y;
  if (!cf_begin(t, "form/%s/axes-%d-%d", cf_dtype_name(dtype), rank, nfold))
    return;
  cf_stage_init(&s, rank, nfold);
  for (int i = 0; i < 2; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  if (nfold) cf_inst(&s.k, TSH_OP_sum, dtype, 0, 0, 0);
  cf_store(&s.k, nfold ? 1 : 0, 1, nfold ? TSH_ROW : 0);
  x = cf_stage_mem(t, &s, dtype, 1200, CF_PLAIN);
  y = cf_stage_mem(t, &s, dtype, 1200, CF_BLANK);
  if (cf_stage_ready(t, &s))
    for (int i = 0; i < 2; i++) {
      const int64_t *extent = i ? b : a;
      int64_t in[12], out[12], step = 1;
      cf_job j;
      for (int n = 0; n < rank; n++) { /* the first axis is the nearest */
        in[n] = step;
        step *= extent[n];
      }
      cf_dense(rank - nfold, extent, out);
      for (int n = rank - nfold; n < rank; n++) out[n] = 0;
      cf_job_init(&j, &s.k, "launch %d", i);
      cf_job_extent(&j, extent);
      cf_job_arg(&j, 0, x, i, in);
      cf_job_arg(&j, 1, y, i, out);
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* With nothing folded TSH_ROW has no meaning. */
static void run_row_flag(cf *t, int dtype) {
  static const int64_t n[2] = {5, 300}, one[1] = {1};
  cf_stage s;
  cf_mem *x, *y;
  if (!cf_begin(t, "form/%s/row-flag", cf_dtype_name(dtype))) return;
  cf_stage_init(&s, 1, 0);
  for (int i = 0; i < 2; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, TSH_ROW);
  cf_inst(&s.k, TSH_OP_neg, dtype, 0, 0, 0);
  cf_store(&s.k, 1, 1, TSH_ROW);
  x = cf_stage_mem(t, &s, dtype, 400, CF_PLAIN);
  y = cf_stage_mem(t, &s, dtype, 400, CF_BLANK);
  if (cf_stage_ready(t, &s))
    for (int i = 0; i < 2; i++) {
      cf_job j;
      cf_job_init(&j, &s.k, "launch %d", i);
      j.extent[0] = n[i];
      cf_job_arg(&j, 0, x, i, one);
      cf_job_arg(&j, 1, y, i, one);
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* No axis at all: one point. */
static void run_point(cf *t, int dtype) {
  cf_stage s;
  cf_mem *x, *y;
  if (!cf_begin(t, "form/%s/axes-0", cf_dtype_name(dtype))) return;
  cf_stage_init(&s, 0, 0);
  for (int i = 0; i < 2; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_inst(&s.k, TSH_OP_square, dtype, 0, 0, 0);
  cf_store(&s.k, 1, 1, 0);
  x = cf_stage_mem(t, &s, dtype, 8, CF_PLAIN);
  y = cf_stage_mem(t, &s, dtype, 8, CF_BLANK);
  if (cf_stage_ready(t, &s))
    for (int i = 0; i < 3; i += 2) {
      const int64_t none[1] = {0};
      cf_job j;
      cf_job_init(&j, &s.k, "element %d", i);
      cf_job_arg(&j, 0, x, i, none);
      cf_job_arg(&j, 1, y, 7 - i, none);
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- at the limits of props --------------------------------------------- */
/* As many inputs as there are arguments, added up; then as many instructions
 * as there may be, each on the one before. */
static void run_limits(cf *t, int dtype) {
  const uint32_t most = t->props.max_args, insts = t->props.max_insts;
  const int nargs = most < CF_ARGS ? (int)most : CF_ARGS;
  const int ninst = insts < CF_INSTS ? (int)insts : CF_INSTS;
  cf_stage s;
  cf_mem *x, *y;
  int v;
  if (!cf_begin(t, "form/%s/limits", cf_dtype_name(dtype))) return;
  cf_stage_init(&s, 1, 0);
  for (int i = 0; i < nargs; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  v = cf_load(&s.k, 0, 0);
  for (int i = 1; i < nargs - 1 && s.k.k.ninst < ninst - 3; i++) {
    int next = cf_load(&s.k, i, 0);
    v = cf_inst(&s.k, i % 2 ? TSH_OP_add : TSH_OP_mul, dtype, v, next, 0);
  }
  while (s.k.k.ninst < ninst - 1)
    v = cf_inst(&s.k, s.k.k.ninst % 2 ? TSH_OP_sub : TSH_OP_maximum, dtype, v,
                s.k.k.ninst % 3 == 0 ? 0 : v - 1, 0);
  cf_store(&s.k, v, nargs - 1, 0);
  x = cf_stage_mem(t, &s, dtype, 400, CF_PLAIN);
  y = cf_stage_mem(t, &s, dtype, 400, CF_BLANK);
  if (cf_stage_ready(t, &s))
    for (int64_t n = 1; n < 400; n += 299) {
      const int64_t one[1] = {1};
      cf_job j;
      cf_job_init(&j, &s.k, "size %d", (int)n);
      j.extent[0] = n;
      for (int i = 0; i < nargs - 1; i++) cf_job_arg(&j, i, x, i * 7, one);
      cf_job_arg(&j, nargs - 1, y, 1, one);
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

void cf_form_views(cf *t, int dtype) {
  run_row_flag(t, dtype);
  run_point(t, dtype);
  run_limits(t, dtype);
  run_pad(t, dtype, 7, 9);
  run_pad(t, dtype, 40, 64);
  run_in_place(t, dtype);
  run_mask(t, dtype);
  run_axes(t, dtype, 0);
  run_axes(t, dtype, 1);
  run_axes(t, dtype, 5);
}
