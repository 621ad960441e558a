/* cast.c - every pair of dtypes: saturation, nan, one rounding, wrapping. */
#include <math.h>
#include <string.h>

#include "cf.h"

enum { POOL = 1024, FIRST = 256, SIZE = 640, ALL = 65536 };

/* Where a conversion turns: beyond the ends of the integers, between two
 * numbers of a float, at the ends of the halves. */
static const double turns[] = {
    0.49999,    0.5,           1.5,          2.5,         -0.5,
    -1.5,       127.5,         128,          -128.5,      -129,
    255.5,      256,           -0.99,        32767.5,     32768,
    -32769,     65519.99,      65520,        65535.5,     65536,
    0x1p31,     0x1p31 - 1,    -0x1p31,      -0x1p31 - 1, 0x1p32,
    0x1p32 - 1, 0x1p63,        -0x1p63,      0x1p64,      0x1p63 - 1024,
    0x1p24 + 1, 0x1p24 + 3,    0x1.002p0,    0x1.006p0,   0x1.002001p0,
    0x1.01p0,   0x1.03p0,      0x1.010001p0, 0x1p-25,     0x1.8p-25,
    0x1.8p-24,  0x1.ffep-15,   0x1p-134,     0x1.8p-133,  0x1.0000011p0,
    0x1p-150,   0x1.00001p-150};
static const uint64_t whole[] = {(UINT64_C(1) << 24) + 1,
                                 (UINT64_C(1) << 24) + 3,
                                 (UINT64_C(1) << 53) + 1,
                                 (UINT64_C(1) << 53) + 3,
                                 (UINT64_C(1) << 62) + (UINT64_C(1) << 54) + 1,
                                 (UINT64_C(1) << 62) + (UINT64_C(1) << 38) + 1,
                                 (UINT64_C(1) << 62) + (UINT64_C(1) << 38),
                                 (UINT64_C(1) << 62) + (UINT64_C(3) << 38),
                                 UINT64_MAX - 1,
                                 UINT64_MAX >> 1,
                                 UINT64_C(1) << 63,
                                 2049,
                                 2051,
                                 257,
                                 259,
                                 65519,
                                 65520};
enum {
  NTURN = sizeof turns / sizeof *turns,
  NWHOLE = sizeof whole / sizeof *whole
};

static void fill(cf_mem *m) {
  int n = FIRST;
  cf_fill(m, CF_BITS, 1);
  if (cf_kind(m->dtype) == TSH_KIND_FLOAT)
    for (int i = 0; i < NTURN; i++)
      cf_put(m->want, n++, m->dtype, cf_from_double(m->dtype, turns[i]));
  else
    for (int i = 0; i < NWHOLE && m->dtype != TSH_bool; i++)
      cf_put(m->want, n++, m->dtype, cf_from_int(m->dtype, (int64_t)whole[i]));
}

/* Every value of a dtype of 16 bits; but one nan, as all are one value. */
static void fill_all(cf_mem *m) {
  for (int64_t i = 0; i < ALL; i++) {
    uint64_t bits = (uint64_t)i;
    int nan = cf_is_nan(m->dtype, bits);
    cf_put(m->want, i, m->dtype, nan ? cf_from_double(m->dtype, NAN) : bits);
  }
}

static void build(cf_kern *k, int from, int to) {
  cf_kern_init(k, 1, 0);
  cf_arg(k, from, TSH_STRIDED);
  cf_arg(k, to, TSH_STRIDED);
  cf_load(k, 0, 0);
  cf_inst(k, TSH_OP_cast, to, 0, 0, 0);
  cf_store(k, 1, 1, 0);
}

static void run_pair(cf *t, cf_mem *in, int to) {
  static const int64_t in_stride[3] = {1, -1, 0}, out_stride[3] = {1, 2, -1};
  static const int64_t in_at[3] = {0, 999, 5}, out_at[3] = {0, 641, 2100};
  cf_kern k;
  cf_mem out;
  cf_job jobs[3];
  if (!cf_begin(t, "cast/%s/%s", cf_dtype_name(in->dtype), cf_dtype_name(to)))
    return;
  build(&k, in->dtype, to);
  if (cf_mem_new(t, to, 4 * SIZE, &out)) {
    if (cf_mem_up(t, &out) && cf_compile(t, &k)) {
      for (int i = 0; i < 3; i++) {
        cf_job_init(&jobs[i], &k, "launch %d", i);
        jobs[i].extent[0] = i == 2 ? 100 : SIZE;
        cf_job_arg(&jobs[i], 0, in, in_at[i], &in_stride[i]);
        cf_job_arg(&jobs[i], 1, &out, out_at[i], &out_stride[i]);
      }
      cf_try(t, jobs, 3);
    }
  }
  cf_drop(t, &k);
  cf_mem_free(t, &out);
  cf_end(t);
}

static void run_all(cf *t, cf_mem *in, int to) {
  const int64_t one[1] = {1};
  cf_kern k;
  cf_mem out;
  cf_job j;
  if (!cf_begin(t, "cast/%s/%s/all", cf_dtype_name(in->dtype),
                cf_dtype_name(to)))
    return;
  build(&k, in->dtype, to);
  if (cf_mem_new(t, to, ALL, &out) && cf_mem_up(t, &out) && cf_compile(t, &k)) {
    cf_job_init(&j, &k, "all values");
    j.extent[0] = ALL;
    cf_job_arg(&j, 0, in, 0, one);
    cf_job_arg(&j, 1, &out, 0, one);
    cf_try(t, &j, 1);
  }
  cf_drop(t, &k);
  cf_mem_free(t, &out);
  cf_end(t);
}

static void run_from(cf *t, int from, int64_t n, void fill_with(cf_mem *m),
                     void run(cf *t, cf_mem *in, int to)) {
  cf_mem in;
  if (!cf_mem_new(t, from, n, &in)) return;
  fill_with(&in);
  if (cf_mem_up(t, &in))
    for (int to = 1; to < TSH_NDTYPE; to++)
      if (cf_kind(to) && cf_kind(to) != TSH_KIND_COMPLEX && cf_stores(t, to))
        run(t, &in, to);
  cf_mem_free(t, &in);
}

void cf_test_cast(cf *t) {
  for (int from = 1; from < TSH_NDTYPE; from++) {
    if (!cf_kind(from) || !cf_stores(t, from) || !cf_has(t, TSH_OP_cast, from))
      continue;
    run_from(t, from, POOL, fill, run_pair);
    if (cf_bytes(from) == 2) run_from(t, from, ALL, fill_all, run_all);
  }
}
