/* map.c - every MAP op of every compute dtype over every stride pattern at the
 * sizes where blocks begin and end. Each program runs all its patterns and
 * sizes, so extents, strides and offsets move under it. */
#include <math.h>
#include <string.h>

#include "cf.h"

enum { POOL = 4096, REGION = 1300, NSIZE = 4 };
static const int64_t sizes[NSIZE] = {1, 255, 256, 257};

/* ---- patterns ----------------------------------------------------------- */
/* A kernel per rank and set of classes. */
enum { DENSE, SPLAT, LINE, PLANE, NKERN };

/* Extents, strides of each operand and of the output, offsets. A negative
 * stride begins at the far end. */
typedef struct {
  const char *name;
  int kern;
  int64_t extent[2];
  int64_t in[3][2], out[2]; /* N stands for the size */
  int64_t in_at, out_at;
} pattern;

#define N INT64_C(-1000) /* "the size" in the table below */
static const pattern patterns[] = {
    {"contiguous", DENSE, {N, 1}, {{1}, {1}, {1}}, {1}, 0, 0},
    {"offset", DENSE, {N, 1}, {{1}, {1}, {1}}, {1}, 3, 5},
    {"splat", SPLAT, {N, 1}, {{0}, {1}, {1}}, {1}, 7, 0},
    {"reversed", LINE, {N, 1}, {{-1}, {-1}, {-1}}, {1}, 1, 0},
    {"sliced", LINE, {N, 1}, {{2}, {2}, {2}}, {1}, 0, 0},
    {"scattered", LINE, {N, 1}, {{1}, {1}, {1}}, {-3}, 0, 0},
    {"broadcast", PLANE, {3, N}, {{0, 1}, {1, 0}, {0, 0}}, {N, 1}, 11, 1},
    {"transposed", PLANE, {5, N}, {{1, 5}, {1, 5}, {1, 5}}, {N, 1}, 0, 0},
    {"turned", PLANE, {5, N}, {{N, 1}, {1, 5}, {N, 1}}, {1, 5}, 0, 2},
    {"overlapping", PLANE, {N, 3}, {{1, 1}, {1, 1}, {1, 1}}, {3, 1}, 0, 0},
};
enum { NPATTERN = sizeof patterns / sizeof *patterns };

/* What is being mapped. */
typedef struct {
  const cf_row *row;
  int dtype, to; /* compute dtype, result dtype */
  cf_kern kern[NKERN];
  cf_mem *in[3], out;
} subject;

static int64_t number(int64_t v, int64_t n) { return v == N ? n : v; }

/* Strides with n put in; the offset moves to the far end of negative ones. */
static int64_t put_in(const int64_t *from, const int64_t *extent, int64_t n,
                      int64_t *stride) {
  int64_t at = 0;
  for (int i = 0; i < 2; i++) {
    stride[i] = number(from[i], n);
    if (stride[i] < 0) at -= stride[i] * (extent[i] - 1);
  }
  return at;
}

static void place(subject *s, const pattern *p, int which, cf_job *j) {
  const int64_t n = sizes[which];
  cf_kern *k = &s->kern[p->kern];
  int64_t extent[2] = {number(p->extent[0], n), number(p->extent[1], n)};
  int64_t stride[2], at;
  cf_job_init(j, k, "size %d", (int)n);
  cf_job_extent(j, extent);
  for (int i = 0; i < s->row->arity; i++) {
    at = put_in(p->in[i], extent, n, stride);
    at += p->in_at + (p == patterns ? 0 : 97 * (p - patterns));
    cf_job_arg(j, i, s->in[i], at, stride);
  }
  at = put_in(p->out, extent, n, stride) + p->out_at;
  cf_job_arg(j, s->row->arity, &s->out, at + which * REGION, stride);
  j->arg[s->row->arity].limit = cf_limit(s->row->id, s->dtype);
}

static void run_pattern(cf *t, subject *s, const pattern *p) {
  cf_job jobs[NSIZE];
  if (!cf_begin(t, "map/%s/%s/%s", cf_dtype_name(s->dtype), s->row->name,
                p->name))
    return;
  cf_mem_fill(&s->out, 0xa5);
  if (cf_mem_up(t, &s->out)) {
    for (int i = 0; i < NSIZE; i++) place(s, p, i, &jobs[i]);
    cf_try(t, jobs, NSIZE);
  }
  cf_end(t);
}

/* ---- kernels ------------------------------------------------------------ */
static void build(cf_kern *k, const subject *s, int which) {
  int n = s->row->arity, v[3] = {0, 0, 0}, r;
  int first = which == DENSE ? TSH_DENSE : which == SPLAT ? TSH_SPLAT : 0;
  int other = which == DENSE || which == SPLAT ? TSH_DENSE : TSH_STRIDED;
  cf_kern_init(k, which == PLANE ? 2 : 1, 0);
  for (int i = 0; i < n; i++)
    cf_arg(k, s->in[i]->dtype, i == 0 ? first : other);
  cf_arg(k, s->to, other);
  for (int i = 0; i < n; i++) v[i] = cf_load(k, i, 0);
  r = cf_inst(k, s->row->id, s->to, v[0], v[1], v[2]);
  cf_store(k, r, n, 0);
}

static int compile_all(cf *t, subject *s) {
  for (int i = 0; i < NKERN; i++) {
    build(&s->kern[i], s, i);
    if (!cf_compile(t, &s->kern[i])) return 0;
  }
  return 1;
}

/* ---- special inputs of functions with a limit: no ulp to spare ---------- */
static const double exact_in[] = {NAN, INFINITY, -INFINITY, 0,   -0.0,
                                  1,   -1,       1e30,      0.5, 3};
enum { NEXACT = sizeof exact_in / sizeof *exact_in };

static int is_exact_result(double v) {
  return v != v || isinf(v) || v == 0 || fabs(v) == 1 || v == 0.5;
}

/* Gathers the pairs of inputs whose result is known to the last bit. */
static int64_t gather(subject *s, cf_mem *a, cf_mem *b) {
  int64_t n = 0;
  for (int i = 0; i < NEXACT; i++)
    for (int k = 0; k < (s->row->arity == 2 ? NEXACT : 1); k++) {
      uint64_t x = cf_from_double(s->dtype, exact_in[i]);
      uint64_t y = cf_from_double(s->dtype, exact_in[k]);
      int bad;
      uint64_t r = cf_map(s->row->id, s->dtype, x, y, 0, &bad);
      if (!is_exact_result(cf_to_double(s->dtype, r))) continue;
      cf_put(a->want, n, s->dtype, x);
      cf_put(b->want, n++, s->dtype, y);
    }
  return n;
}

static void run_special(cf *t, subject *s) {
  const int64_t one[1] = {1};
  const int n = s->row->arity;
  cf_mem a, b;
  cf_job j;
  if (!cf_limit(s->row->id, s->dtype)) return;
  if (!cf_begin(t, "map/%s/%s/special", cf_dtype_name(s->dtype), s->row->name))
    return;
  memset(&b, 0, sizeof b);
  if (cf_mem_new(t, s->dtype, NEXACT * NEXACT, &a) &&
      cf_mem_new(t, s->dtype, NEXACT * NEXACT, &b)) {
    cf_job_init(&j, &s->kern[LINE], "special inputs");
    j.extent[0] = gather(s, &a, &b);
    cf_job_arg(&j, 0, &a, 0, one);
    if (n == 2) cf_job_arg(&j, 1, &b, 0, one);
    cf_job_arg(&j, n, &s->out, 0, one);
    cf_mem_fill(&s->out, 0xa5);
    if (cf_mem_up(t, &a) && cf_mem_up(t, &b) && cf_mem_up(t, &s->out))
      cf_try(t, &j, 1);
  }
  cf_mem_free(t, &a);
  cf_mem_free(t, &b);
  cf_end(t);
}

/* ---- one op of one dtype ------------------------------------------------ */
static int is_subject(const cf *t, const cf_row *row, int dtype) {
  return row->class_ == CF_MAP && cf_has(t, row->id, dtype) &&
         cf_judged(row->id, dtype) && row->id != TSH_OP_cast &&
         row->id != TSH_OP_index;
}

static void run_op(cf *t, const cf_row *row, int dtype, cf_mem *pool) {
  subject s;
  memset(&s, 0, sizeof s);
  s.row = row;
  s.dtype = dtype;
  s.to = row->gives == CF_BOOL ? TSH_bool : dtype;
  for (int i = 0; i < 3; i++)
    s.in[i] = row->id == TSH_OP_where && i == 0 ? &pool[3] : &pool[i];
  if (t->list ||
      (cf_mem_new(t, s.to, NSIZE * REGION + 8, &s.out) && compile_all(t, &s))) {
    for (int i = 0; i < NPATTERN; i++) run_pattern(t, &s, &patterns[i]);
    run_special(t, &s);
  }
  for (int i = 0; i < NKERN; i++) cf_drop(t, &s.kern[i]);
  cf_mem_free(t, &s.out);
}

/* 65,537 and 2^20 points of one op. */
static void run_long(cf *t, int dtype) {
  static const int64_t n[2] = {65537, 1 << 20}, one[1] = {1};
  int op = cf_has(t, TSH_OP_add, dtype) ? TSH_OP_add : TSH_OP_copy;
  subject s;
  cf_job j;
  cf_mem in[2], *p[2] = {&in[0], &in[1]};
  memset(&s, 0, sizeof s);
  memset(in, 0, sizeof in);
  s.row = cf_row_get(op);
  s.dtype = s.to = dtype;
  if (!cf_has(t, op, dtype) ||
      !cf_begin(t, "map/%s/%s/long", cf_dtype_name(dtype), s.row->name))
    return;
  memcpy(s.in, p, sizeof p);
  if (cf_mem_new(t, dtype, n[1] + 8, &in[0]) &&
      cf_mem_new(t, dtype, n[1] + 8, &in[1]) &&
      cf_mem_new(t, dtype, n[1] + 8, &s.out)) {
    cf_fill(&in[0], CF_BITS, 0);
    cf_fill(&in[1], CF_BITS, 1);
    build(&s.kern[DENSE], &s, DENSE);
    if (cf_mem_up(t, &in[0]) && cf_mem_up(t, &in[1]) && cf_mem_up(t, &s.out) &&
        cf_compile(t, &s.kern[DENSE]))
      for (int i = 0; i < 2; i++) {
        cf_job_init(&j, &s.kern[DENSE], "size %d", (int)n[i]);
        j.extent[0] = n[i];
        for (int k = 0; k <= s.row->arity; k++)
          cf_job_arg(&j, k, k < s.row->arity ? s.in[k] : &s.out, i, one);
        cf_try(t, &j, 1);
      }
  }
  cf_drop(t, &s.kern[DENSE]);
  for (int i = 0; i < 2; i++) cf_mem_free(t, &in[i]);
  cf_mem_free(t, &s.out);
  cf_end(t);
}

/* pool: three operands of the dtype, then conditions. */
static void run_dtype(cf *t, int dtype) {
  cf_mem pool[4];
  int good = 1;
  memset(pool, 0, sizeof pool);
  for (int i = 0; i < 4 && good && !t->list; i++) {
    good = cf_mem_new(t, i < 3 ? dtype : TSH_bool, POOL, &pool[i]);
    if (!good) break;
    cf_fill(&pool[i], CF_BITS, i);
    good = cf_mem_up(t, &pool[i]);
  }
  for (int i = 0; i < cf_nrows && good; i++)
    if (is_subject(t, &cf_rows[i], dtype)) run_op(t, &cf_rows[i], dtype, pool);
  for (int i = 0; i < 4; i++) cf_mem_free(t, &pool[i]);
}

void cf_test_map(cf *t) {
  for (int dtype = 1; dtype < TSH_NDTYPE; dtype++) {
    if (!cf_kind(dtype) || !cf_stores(t, dtype)) continue;
    run_dtype(t, dtype);
    run_long(t, dtype);
  }
}
