/* value.c - where values come from: LOAD of every storable dtype, INDEX,
 * SCALAR, CONST, and the two MAP ops with a contract of their own, index and
 * random. */
#include <string.h>

#include "cf.h"

enum { OUT = 4096 };

/* ---- LOAD and STORE ----------------------------------------------------- */
static void run_load(cf *t, int dtype) {
  static const int64_t extent[2][3] = {{3, 5, 7}, {1, 4, 31}};
  static const int64_t in[2][3] = {{1, 3, 15}, {0, -40, 2}};
  static const int64_t out[2][3] = {{35, 7, 1}, {9, 62, 2}};
  cf_kern k;
  cf_mem m, o;
  cf_job jobs[2];
  memset(&o, 0, sizeof o);
  if (!cf_begin(t, "value/load/%s", cf_dtype_name(dtype))) return;
  cf_kern_init(&k, 3, 0);
  cf_arg(&k, dtype, TSH_STRIDED);
  cf_arg(&k, dtype, TSH_STRIDED);
  cf_load(&k, 0, 0);
  cf_store(&k, 0, 1, 0);
  if (cf_mem_new(t, dtype, 600, &m) && cf_mem_new(t, dtype, 600, &o)) {
    cf_fill(&m, CF_BITS, 1);
    if (cf_mem_up(t, &m) && cf_mem_up(t, &o) && cf_compile(t, &k)) {
      for (int i = 0; i < 2; i++) {
        cf_job_init(&jobs[i], &k, "launch %d", i);
        cf_job_extent(&jobs[i], extent[i]);
        cf_job_arg(&jobs[i], 0, &m, i ? 300 : 7, in[i]);
        cf_job_arg(&jobs[i], 1, &o, i ? 110 : 1, out[i]);
      }
      cf_try(t, jobs, 2);
    }
  }
  cf_drop(t, &k);
  cf_mem_free(t, &m);
  cf_mem_free(t, &o);
  cf_end(t);
}

/* ---- INDEX -------------------------------------------------------------- */
/* Full and row INDEX; i64 beyond 32 bits. */
static void build_index(cf_kern *k, int dtype) {
  cf_kern_init(k, 3, 1);
  cf_arg(k, dtype, TSH_STRIDED); /* full */
  cf_arg(k, dtype, TSH_STRIDED); /* row */
  cf_arg(k, dtype, TSH_STRIDED);
  cf_arg(k, dtype, TSH_STRIDED);
  cf_index(k, 0, 0);
  cf_index(k, 1, TSH_ROW);
  cf_store(k, 0, 2, 0);
  cf_store(k, 1, 3, TSH_ROW);
}

static void run_index(cf *t, int dtype) {
  static const int64_t extent[2][3] = {{4, 3, 5}, {2, 9, 33}};
  static const int64_t steps[2][3] = {{15, 5, 1}, {-7, 1000, -3}};
  const int64_t far = dtype == TSH_i64 ? INT64_C(1) << 40 : 77;
  cf_kern k;
  cf_mem full, row;
  memset(&row, 0, sizeof row);
  if (!cf_begin(t, "value/index/%s", cf_dtype_name(dtype))) return;
  build_index(&k, dtype);
  if (cf_mem_new(t, dtype, OUT, &full) && cf_mem_new(t, dtype, OUT, &row) &&
      cf_mem_up(t, &full) && cf_mem_up(t, &row) && cf_compile(t, &k))
    for (int i = 0; i < 2; i++) {
      int64_t dense[3], line[3] = {0, 1, 0}, far_step[3] = {far, -far, 0};
      cf_job j;
      cf_job_init(&j, &k, "launch %d", i);
      cf_job_extent(&j, extent[i]);
      cf_dense(3, extent[i], dense);
      line[0] = extent[i][1];
      cf_job_arg(&j, 0, NULL, i ? -500 : 0, steps[i]);
      cf_job_arg(&j, 1, NULL, far, far_step);
      cf_job_arg(&j, 2, &full, i, dense);
      cf_job_arg(&j, 3, &row, i, line);
      cf_try(t, &j, 1);
    }
  cf_drop(t, &k);
  cf_mem_free(t, &full);
  cf_mem_free(t, &row);
  cf_end(t);
}

/* ---- SCALAR and CONST --------------------------------------------------- */
static tsh_scalar scalar_of(int dtype, int which) {
  tsh_scalar s = {.u = 0};
  switch (cf_kind(dtype)) {
  case TSH_KIND_FLOAT:
    s.f = which ? -3.5 : 0.15625;
    break;
  case TSH_KIND_COMPLEX:
    s.c[0] = which ? 2.5f : -1;
    s.c[1] = which ? -0.0f : 7;
    break;
  case TSH_KIND_BOOL:
    s.i = which;
    break;
  case TSH_KIND_UINT:
    s.u = which ? 200 : 3;
    break;
  default:
    s.i = which ? -100 : 3;
  }
  return s;
}

static void run_scalar(cf *t, int dtype) {
  const int64_t one[1] = {1};
  cf_kern k;
  cf_mem o;
  if (!cf_begin(t, "value/scalar/%s", cf_dtype_name(dtype))) return;
  cf_kern_init(&k, 1, 0);
  cf_arg(&k, dtype, TSH_STRIDED);
  cf_arg(&k, dtype, TSH_STRIDED);
  cf_store(&k, cf_scalar(&k, dtype), 0, 0);
  cf_store(&k, cf_scalar(&k, dtype), 1, 0);
  if (cf_mem_new(t, dtype, OUT, &o) && cf_mem_up(t, &o) && cf_compile(t, &k))
    for (int i = 0; i < 2; i++) {
      cf_job j;
      cf_job_init(&j, &k, "launch %d", i);
      j.extent[0] = i ? 3 : 257;
      j.scalar[0] = scalar_of(dtype, i);
      j.scalar[1] = scalar_of(dtype, !i);
      cf_job_arg(&j, 0, &o, 300 * i, one);
      cf_job_arg(&j, 1, &o, 1000 + 300 * i, one);
      cf_try(t, &j, 1);
    }
  cf_drop(t, &k);
  cf_mem_free(t, &o);
  cf_end(t);
}

/* Four constants a kernel, each stored on its own. */
static void run_const(cf *t, int dtype) {
  const int64_t one[1] = {1};
  cf_kern k;
  cf_mem o, from;
  cf_job j;
  memset(&from, 0, sizeof from);
  if (!cf_begin(t, "value/const/%s", cf_dtype_name(dtype))) return;
  if (cf_mem_new(t, dtype, OUT, &o) && cf_mem_new(t, dtype, 256, &from)) {
    cf_fill(&from, CF_BITS, 1);
    for (int i = 0; i < 16; i += 4) {
      cf_kern_init(&k, 1, 0);
      for (int n = 0; n < 4; n++) cf_arg(&k, dtype, TSH_STRIDED);
      for (int n = 0; n < 4; n++)
        cf_store(&k, cf_const(&k, dtype, cf_get(from.want, i + n, dtype)), n,
                 0);
      cf_job_init(&j, &k, "constants %d to %d", i, i + 3);
      j.extent[0] = 5 + i;
      for (int n = 0; n < 4; n++) cf_job_arg(&j, n, &o, n * 100 + i, one);
      if (cf_mem_up(t, &o) && cf_compile(t, &k)) cf_try(t, &j, 1);
      cf_drop(t, &k);
    }
  }
  cf_mem_free(t, &o);
  cf_mem_free(t, &from);
  cf_end(t);
}

/* ---- index and random --------------------------------------------------- */
static void fill_positions(cf_mem *m, int64_t n) {
  uint64_t state = 5;
  int sign = cf_kind(m->dtype) == TSH_KIND_INT;
  for (int64_t i = 0; i < 257; i++) {
    int64_t y = 1 + (int64_t)(cf_rand(&state) % (uint64_t)n);
    cf_put(m->want, i, m->dtype, cf_from_int(m->dtype, sign && i & 1 ? -y : y));
  }
}

static void run_position(cf *t, int dtype) {
  static const int64_t one[1] = {1}, limit[3] = {1, 5, 100};
  cf_kern k;
  cf_mem m, o;
  memset(&o, 0, sizeof o);
  if (!cf_begin(t, "value/position/%s", cf_dtype_name(dtype))) return;
  cf_kern_init(&k, 1, 0);
  cf_arg(&k, dtype, TSH_STRIDED);
  cf_arg(&k, dtype, TSH_STRIDED);
  cf_load(&k, 0, 0);
  cf_scalar(&k, dtype);
  cf_inst(&k, TSH_OP_index, dtype, 0, 1, 0);
  cf_store(&k, 2, 1, 0);
  if (cf_mem_new(t, dtype, OUT, &m) && cf_mem_new(t, dtype, OUT, &o) &&
      cf_mem_up(t, &o) && cf_compile(t, &k))
    for (int i = 0; i < 3; i++) {
      cf_job j;
      cf_job_init(&j, &k, "n = %d", (int)limit[i]);
      j.extent[0] = i ? 257 : 3;
      j.scalar[0].i = limit[i];
      fill_positions(&m, limit[i]);
      cf_job_arg(&j, 0, &m, 0, one);
      cf_job_arg(&j, 1, &o, i, one);
      if (cf_mem_up(t, &m)) cf_try(t, &j, 1);
    }
  cf_drop(t, &k);
  cf_mem_free(t, &m);
  cf_mem_free(t, &o);
  cf_end(t);
}

/* random(j, key, base) for j = 0, 1, ... under several keys and bases. */
static void run_random(cf *t) {
  static const int64_t one[1] = {1}, dtype = TSH_i64;
  static const int64_t seed[3][2] = {
      {0, 0}, {-1, -2}, {INT64_C(0x123456789abcdef), INT64_C(0xffffffff)}};
  cf_kern k;
  cf_mem o;
  if (!cf_has(t, TSH_OP_random, dtype) || !cf_begin(t, "value/random")) return;
  cf_kern_init(&k, 1, 0);
  cf_arg(&k, dtype, TSH_STRIDED);
  cf_arg(&k, dtype, TSH_STRIDED);
  cf_index(&k, 0, 0);
  cf_scalar(&k, dtype);
  cf_scalar(&k, dtype);
  cf_inst(&k, TSH_OP_random, dtype, 0, 1, 2);
  cf_store(&k, 3, 1, 0);
  if (cf_mem_new(t, dtype, OUT, &o) && cf_mem_up(t, &o) && cf_compile(t, &k))
    for (int i = 0; i < 3; i++) {
      cf_job j;
      cf_job_init(&j, &k, "seed %d", i);
      j.extent[0] = 1000 + i;
      j.scalar[0].i = seed[i][0];
      j.scalar[1].i = seed[i][1];
      cf_job_arg(&j, 0, NULL, i == 2 ? INT64_C(1) << 33 : 0, one);
      cf_job_arg(&j, 1, &o, i, one);
      if (cf_try(t, &j, 1) && i == 0)
        cf_check(t,
                 cf_get(o.got, 0, dtype) == 0x6627e8d5 &&
                     cf_get(o.got, 3, dtype) == 0x9b00dbd8,
                 "not the words of Philox4x32-10");
    }
  cf_drop(t, &k);
  cf_mem_free(t, &o);
  cf_end(t);
}

void cf_test_value(cf *t) {
  for (int dtype = 1; dtype < TSH_NDTYPE; dtype++) {
    if (!cf_kind(dtype) || !cf_stores(t, dtype)) continue;
    run_load(t, dtype);
    run_scalar(t, dtype);
    run_const(t, dtype);
    if (cf_has(t, TSH_OP_index, dtype)) run_position(t, dtype);
  }
  run_index(t, TSH_i32);
  run_index(t, TSH_i64);
  run_random(t);
}
