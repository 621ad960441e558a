/* form.c - the kernel form beyond one op: rows beside full values, several
 * FOLDs, several outputs, sub-views, outputs in place, many axes. */
#include <string.h>

#include "cf.h"

/* Row-major strides of a matrix and of a row value of it. */
static void matrix(cf_job *j, cf_stage *s, int64_t rows, int64_t cols) {
  cf_job_init(j, &s->k, "%dx%d", (int)rows, (int)cols);
  j->extent[0] = rows;
  j->extent[1] = cols;
}

static void full(cf_job *j, int arg, cf_mem *m, int64_t at) {
  const int64_t stride[2] = {j->extent[1], 1};
  cf_job_arg(j, arg, m, at, stride);
}

static void turned(cf_job *j, int arg, cf_mem *m, int64_t at) {
  const int64_t stride[2] = {1, j->extent[0]};
  cf_job_arg(j, arg, m, at, stride);
}

static void row(cf_job *j, int arg, cf_mem *m, int64_t at) {
  const int64_t stride[2] = {1, 0};
  cf_job_arg(j, arg, m, at, stride);
}

static const int64_t shapes[4][2] = {{5, 300}, {257, 3}, {1, 20000}, {3, 16}};
enum { NSHAPE = 4, ROOM = 20100, ROWS = 300 };

/* ---- several folds in one kernel ---------------------------------------- */
/* sum(x), sum(x * x): mean and variance in one pass. */
static void run_moments(cf *t, int dtype) {
  cf_stage s;
  cf_mem *x, *a, *b;
  if (!cf_begin(t, "form/%s/moments", cf_dtype_name(dtype))) return;
  cf_stage_init(&s, 2, 1);
  for (int i = 0; i < 3; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_inst(&s.k, TSH_OP_sum, dtype, 0, 0, 0);
  cf_inst(&s.k, TSH_OP_square, dtype, 0, 0, 0);
  cf_inst(&s.k, TSH_OP_sum, dtype, 2, 0, 0);
  cf_store(&s.k, 1, 1, TSH_ROW);
  cf_store(&s.k, 3, 2, TSH_ROW);
  x = cf_stage_mem(t, &s, dtype, ROOM, CF_PLAIN);
  a = cf_stage_mem(t, &s, dtype, ROWS, CF_BLANK);
  b = cf_stage_mem(t, &s, dtype, ROWS, CF_BLANK);
  if (cf_stage_ready(t, &s))
    for (int i = 0; i < NSHAPE; i++) {
      cf_job j;
      matrix(&j, &s, shapes[i][0], shapes[i][1]);
      full(&j, 0, x, i);
      row(&j, 1, a, i);
      row(&j, 2, b, 2 * i);
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* sum, max, min, argmax of one LOAD and a product of two of them. */
static void run_several(cf *t, int dtype) {
  cf_stage s;
  cf_mem *x, *o[4];
  if (!cf_begin(t, "form/%s/several", cf_dtype_name(dtype))) return;
  cf_stage_init(&s, 2, 1);
  cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_arg(&s.k, TSH_i32, TSH_STRIDED);
  for (int i = 0; i < 4; i++)
    cf_arg(&s.k, i == 3 ? TSH_i32 : dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_index(&s.k, 1, 0);
  cf_inst(&s.k, TSH_OP_sum, dtype, 0, 0, 0);
  cf_inst(&s.k, TSH_OP_max, dtype, 0, 0, 0);
  cf_inst(&s.k, TSH_OP_argmax, TSH_i32, 0, 1, 0);
  cf_inst(&s.k, TSH_OP_min, dtype, 0, 0, 0);
  cf_inst(&s.k, TSH_OP_mul, dtype, 2, 5, 0);
  cf_store(&s.k, 2, 2, TSH_ROW);
  cf_store(&s.k, 3, 3, TSH_ROW);
  cf_store(&s.k, 6, 4, TSH_ROW);
  cf_store(&s.k, 4, 5, TSH_ROW);
  x = cf_stage_mem(t, &s, dtype, ROOM, CF_PLAIN);
  for (int i = 0; i < 4; i++)
    o[i] = cf_stage_mem(t, &s, i == 3 ? TSH_i32 : dtype, ROWS, CF_BLANK);
  if (cf_fits(t, &s.k) && cf_stage_ready(t, &s))
    for (int i = 0; i < NSHAPE; i++) {
      const int64_t count[2] = {0, 1};
      cf_job j;
      matrix(&j, &s, shapes[i][0], shapes[i][1]);
      full(&j, 0, x, i);
      cf_job_arg(&j, 1, NULL, 0, count);
      for (int n = 0; n < 4; n++) row(&j, 2 + n, o[n], i);
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- phases ------------------------------------------------------------- */
/* f(x - max) / sum f(x - max) with f = exp or, to the last bit, square. */
static void run_softmax(cf *t, int dtype, int f) {
  cf_stage s;
  cf_mem *x, *y;
  if (!cf_begin(t, "form/%s/softmax-%s", cf_dtype_name(dtype),
                cf_row_get(f)->name))
    return;
  cf_stage_init(&s, 2, 1);
  cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_inst(&s.k, TSH_OP_max, dtype, 0, 0, 0);
  cf_inst(&s.k, TSH_OP_sub, dtype, 0, 1, 0);
  cf_inst(&s.k, f, dtype, 2, 0, 0);
  cf_inst(&s.k, TSH_OP_sum, dtype, 3, 0, 0);
  cf_inst(&s.k, TSH_OP_div, dtype, 3, 4, 0);
  cf_store(&s.k, 5, 1, 0);
  x = cf_stage_mem(t, &s, dtype, ROOM, CF_PLAIN);
  y = cf_stage_mem(t, &s, dtype, ROOM, CF_BLANK);
  for (int i = 0; i < NSHAPE; i++) {
    cf_job j;
    if (!s.k.prog && !cf_stage_phases(t, &s, 3, shapes[i][1])) break;
    if ((uint64_t)shapes[i][1] > t->props.max_phase_inner) continue;
    matrix(&j, &s, shapes[i][0], shapes[i][1]);
    full(&j, 0, x, i);
    full(&j, 1, y, 2 * i);
    j.arg[1].limit = f == TSH_OP_exp ? 12 : 0;
    cf_try(t, &j, 1);
    turned(&j, 0, x, i);
    cf_try(t, &j, 1);
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* The instructions of a layer norm: x, gain and bias full, gain and bias with
 * stride 0 along the rows. */
static void build_norm(cf_kern *k, int dtype) {
  int x, d, n, eps;
  for (int i = 0; i < 4; i++) cf_arg(k, dtype, TSH_STRIDED);
  x = cf_load(k, 0, 0);
  n = cf_scalar(k, dtype);
  eps = cf_scalar(k, dtype);
  d = cf_inst(k, TSH_OP_sum, dtype, x, 0, 0);
  d = cf_inst(k, TSH_OP_mul, dtype, d, n, 0);
  x = cf_inst(k, TSH_OP_sub, dtype, x, d, 0);
  d = cf_inst(k, TSH_OP_square, dtype, x, 0, 0);
  d = cf_inst(k, TSH_OP_sum, dtype, d, 0, 0);
  d = cf_inst(k, TSH_OP_mul, dtype, d, n, 0);
  d = cf_inst(k, TSH_OP_add, dtype, d, eps, 0);
  d = cf_inst(k, TSH_OP_rsqrt, dtype, d, 0, 0);
  x = cf_inst(k, TSH_OP_mul, dtype, x, d, 0);
  d = cf_load(k, 1, 0);
  x = cf_inst(k, TSH_OP_mul, dtype, x, d, 0);
  d = cf_load(k, 2, 0);
  x = cf_inst(k, TSH_OP_add, dtype, x, d, 0);
  cf_store(k, x, 3, 0);
}

static void run_norm(cf *t, int dtype) {
  static const int64_t line[2] = {0, 1};
  cf_stage s;
  cf_mem *x, *gain, *bias, *y;
  if (!cf_begin(t, "form/%s/layernorm", cf_dtype_name(dtype))) return;
  cf_stage_init(&s, 2, 1);
  build_norm(&s.k, dtype);
  x = cf_stage_mem(t, &s, dtype, ROOM, CF_PLAIN);
  gain = cf_stage_mem(t, &s, dtype, ROOM, CF_PLAIN);
  bias = cf_stage_mem(t, &s, dtype, ROOM, CF_PLAIN);
  y = cf_stage_mem(t, &s, dtype, ROOM, CF_BLANK);
  for (int i = 0; i < NSHAPE && cf_fits(t, &s.k); i++) {
    cf_job j;
    if (!s.k.prog && !cf_stage_phases(t, &s, 3, shapes[i][1])) break;
    matrix(&j, &s, shapes[i][0], shapes[i][1]);
    full(&j, 0, x, i);
    cf_job_arg(&j, 1, gain, i, line);
    cf_job_arg(&j, 2, bias, 2 * i, line);
    full(&j, 3, y, 0);
    j.scalar[0].f = 1.0 / (double)shapes[i][1];
    j.scalar[1].f = 0x1p-16;
    if (dtype == TSH_f32) j.scalar[0].f = (float)j.scalar[0].f;
    if ((uint64_t)shapes[i][1] <= t->props.max_phase_inner) cf_try(t, &j, 1);
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- rows --------------------------------------------------------------- */
/* Row LOADs beside full values, MAP of rows, all kinds of STORE of a row that
 * waits for no FOLD: one phase. */
static void run_rows(cf *t, int dtype) {
  cf_stage s;
  cf_mem *x, *r, *o[4];
  if (!cf_begin(t, "form/%s/rows", cf_dtype_name(dtype))) return;
  cf_stage_init(&s, 2, 1);
  for (int i = 0; i < 6; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_load(&s.k, 1, TSH_ROW);
  cf_inst(&s.k, TSH_OP_sub, dtype, 0, 1, 0);
  cf_inst(&s.k, TSH_OP_sum, dtype, 2, 0, 0);
  cf_inst(&s.k, TSH_OP_mul, dtype, 3, 1, 0);
  cf_scalar(&s.k, dtype);
  cf_inst(&s.k, TSH_OP_add, dtype, 1, 5, 0);
  cf_store(&s.k, 4, 2, TSH_ROW); /* of a fold and a row */
  cf_store(&s.k, 6, 3, TSH_ROW); /* of a row and a scalar */
  cf_store(&s.k, 6, 4, 0);       /* the same, full */
  cf_store(&s.k, 5, 5, TSH_ROW); /* a scalar, per row */
  x = cf_stage_mem(t, &s, dtype, ROOM, CF_PLAIN);
  r = cf_stage_mem(t, &s, dtype, ROWS, CF_PLAIN);
  for (int i = 0; i < 4; i++)
    o[i] = cf_stage_mem(t, &s, dtype, i == 2 ? ROOM : ROWS, CF_BLANK);
  if (cf_fits(t, &s.k) && cf_stage_ready(t, &s))
    for (int i = 0; i < NSHAPE; i++) {
      cf_job j;
      matrix(&j, &s, shapes[i][0], shapes[i][1]);
      full(&j, 0, x, i);
      row(&j, 1, r, i);
      for (int n = 0; n < 4; n++)
        if (n != 2) row(&j, 2 + n, o[n], i);
      full(&j, 4, o[2], 3 * i);
      j.scalar[0].f = 0.75 + i;
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* A FOLD's result written to every point, and x beside it: two phases. */
static void run_spread(cf *t, int dtype) {
  cf_stage s;
  cf_mem *x, *y, *z;
  if (!cf_begin(t, "form/%s/spread", cf_dtype_name(dtype))) return;
  cf_stage_init(&s, 2, 1);
  for (int i = 0; i < 3; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_inst(&s.k, TSH_OP_sum, dtype, 0, 0, 0);
  cf_store(&s.k, 1, 1, 0);
  cf_inst(&s.k, TSH_OP_mul, dtype, 0, 1, 0);
  cf_store(&s.k, 3, 2, 0);
  x = cf_stage_mem(t, &s, dtype, ROOM, CF_PLAIN);
  y = cf_stage_mem(t, &s, dtype, ROOM, CF_BLANK);
  z = cf_stage_mem(t, &s, dtype, ROOM, CF_BLANK);
  for (int i = 0; i < NSHAPE; i++) {
    cf_job j;
    if (!s.k.prog && !cf_stage_phases(t, &s, 2, shapes[i][1])) break;
    matrix(&j, &s, shapes[i][0], shapes[i][1]);
    full(&j, 0, x, i);
    full(&j, 1, y, i);
    full(&j, 2, z, 2 * i);
    if ((uint64_t)shapes[i][1] <= t->props.max_phase_inner) cf_try(t, &j, 1);
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

void cf_test_form(cf *t) {
  static const int dtypes[2] = {TSH_f32, TSH_f64};
  for (int i = 0; i < 2; i++) {
    int dtype = dtypes[i];
    if (!cf_stores(t, dtype) || !cf_has(t, TSH_OP_sum, dtype) ||
        !cf_has(t, TSH_OP_rsqrt, dtype))
      continue;
    run_moments(t, dtype);
    run_several(t, dtype);
    run_softmax(t, dtype, TSH_OP_exp);
    run_softmax(t, dtype, TSH_OP_square);
    cf_form_split(t, dtype);
    run_norm(t, dtype);
    run_rows(t, dtype);
    run_spread(t, dtype);
    cf_form_views(t, dtype);
  }
}
