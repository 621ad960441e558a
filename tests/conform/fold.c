/* fold.c - every FOLD of every compute dtype over every stride pattern, from
 * the empty fold to 2^20 elements. Each program runs all its patterns and
 * sizes. The lane order of float sums shows in their last bits. */
#include <string.h>

#include "cf.h"

enum { LONG = 1 << 20, POOL = LONG + 700, REGION = 80, NSIZE = 5 };
static const int64_t sizes[NSIZE] = {0, 1, 255, 256, 257};
static const int64_t few[NSIZE] = {1, 2, 3, 17, 32};

/* ---- patterns ----------------------------------------------------------- */
enum { LINE, PLANE, SPACE, NKERN }; /* rank 1, 2, 3; nfold 1, 1, 2 */

/* N is the size, A times B is the size. A negative stride begins at the far
 * end. `out` is the stride of the first axis of the output. */
#define N  INT64_C(-1000)
#define NB INT64_C(-3000) /* -N */
#define N2 INT64_C(-4000) /* 2 N */
#define A  INT64_C(-5000)
#define B  INT64_C(-6000)
typedef struct {
  const char *name;
  int kern;
  int64_t extent[3], in[3], in_at, out;
} pattern;

static const pattern patterns[] = {
    {"whole", LINE, {N}, {1}, 0, 0},
    {"rows", PLANE, {4, N}, {N, 1}, 0, 1},
    {"columns", PLANE, {4, N}, {1, 4}, 0, 1},
    {"reversed", PLANE, {3, N}, {NB, -1}, 0, -2},
    {"sliced", PLANE, {3, N}, {N2, 2}, 0, 2},
    {"offset", PLANE, {3, N}, {N, 1}, 3, 1},
    {"repeated", PLANE, {3, N}, {1, 0}, 9, 1},
    {"same", PLANE, {3, N}, {0, 1}, 9, 1},
    {"overlapping", PLANE, {5, N}, {1, 1}, 0, 1},
    {"one", PLANE, {1, N}, {1, 3}, 5, 1},
    {"axes", SPACE, {2, A, B}, {N, B, 1}, 0, 1},
    {"turned", SPACE, {3, A, B}, {N, 1, A}, 0, 1},
};
enum { NPATTERN = sizeof patterns / sizeof *patterns };
static const pattern special = {"special", PLANE, {64, N}, {N, 1}, 0, 1};
static const pattern zeros = {"zeros", PLANE, {64, N}, {N, 1}, 0, 1};

static int64_t number(int64_t v, int64_t n) {
  int64_t a = n == 255 ? 15 : n == 256 ? 16 : n == 257 ? 257 : 1;
  switch (v) {
  case N:
    return n;
  case NB:
    return -n;
  case N2:
    return 2 * n;
  case A:
    return a;
  case B:
    return n / a;
  default:
    return v;
  }
}

/* ---- what is folded ----------------------------------------------------- */
typedef struct {
  const cf_row *row;
  int dtype;
  cf_kern kern[NKERN];
  int out_dtype[NKERN];
  cf_mem in[2], out[NKERN];
} subject;

static int is_position(const subject *s) { return s->row->gives == CF_SECOND; }

static void build(subject *s, int which) {
  static const int rank[NKERN] = {1, 2, 3}, nfold[NKERN] = {1, 1, 2};
  cf_kern *k = &s->kern[which];
  int second = is_position(s) ? (which == SPACE ? TSH_i64 : TSH_i32) : s->dtype;
  int n = s->row->arity;
  s->out_dtype[which] = is_position(s) ? second : s->dtype;
  cf_kern_init(k, rank[which], nfold[which]);
  cf_arg(k, s->dtype, which == LINE ? TSH_DENSE : TSH_STRIDED);
  if (n == 2)
    cf_arg(k, second,
           which == LINE && !is_position(s) ? TSH_DENSE : TSH_STRIDED);
  cf_arg(k, s->out_dtype[which], TSH_STRIDED);
  cf_load(k, 0, 0);
  if (n == 2 && is_position(s)) cf_index(k, 1, 0);
  if (n == 2 && !is_position(s)) cf_load(k, 1, 0);
  cf_inst(k, s->row->id, s->out_dtype[which], 0, n - 1, 0);
  cf_store(k, n, n, TSH_ROW);
}

static void place(subject *s, const pattern *p, int64_t n, int region,
                  cf_job *j) {
  cf_kern *k = &s->kern[p->kern];
  const int rank = k->k.rank;
  int64_t extent[3], in[3], count[3], out[3] = {0, 0, 0};
  int64_t at = p->in_at, out_at = region;
  for (int i = 0; i < rank; i++) {
    extent[i] = number(p->extent[i], n);
    in[i] = number(p->in[i], n);
    if (in[i] < 0 && extent[i] > 0) at -= in[i] * (extent[i] - 1);
  }
  out[0] = p->out;
  if (p->out < 0) out_at -= p->out * (extent[0] - 1);
  cf_dense(rank, extent, count);
  if (rank > k->k.nfold) count[0] = 0; /* positions count within a fold */
  cf_job_init(j, k, "size %d", (int)n);
  cf_job_extent(j, extent);
  cf_job_arg(j, 0, &s->in[0], at, in);
  if (s->row->arity == 2)
    cf_job_arg(j, 1, is_position(s) ? NULL : &s->in[1], is_position(s) ? 0 : at,
               is_position(s) ? count : in);
  cf_job_arg(j, s->row->arity, &s->out[p->kern], out_at, out);
}

static void run_pattern(cf *t, subject *s, const pattern *p,
                        const int64_t *size) {
  cf_job jobs[NSIZE];
  uint32_t n = 0;
  if (!cf_begin(t, "fold/%s/%s/%s", cf_dtype_name(s->dtype), s->row->name,
                p->name))
    return;
  cf_mem_fill(&s->out[p->kern], 0xa5);
  for (int i = 0; i < NSIZE; i++)
    if (size[i] > 0 || s->row->start != CF_NONE)
      place(s, p, size[i], i * REGION, &jobs[n++]);
  if (cf_mem_up(t, &s->out[p->kern])) cf_try(t, jobs, n);
  cf_end(t);
}

static void run_long(cf *t, subject *s) {
  static const int64_t n[] = {4095,  4096, 4097,  8192, 12293,
                              65537, LONG, 12293, 65537};
  static const pattern columns = {"", PLANE, {9, N}, {1, 9}, 1, 1};
  if (!cf_begin(t, "fold/%s/%s/long", cf_dtype_name(s->dtype), s->row->name))
    return;
  for (int i = 0; i < 9; i++) {
    const pattern *p = i < 7 ? &patterns[0] : &columns;
    cf_job j;
    cf_mem_fill(&s->out[p->kern], 0xa5);
    place(s, p, n[i], 0, &j);
    if (cf_mem_up(t, &s->out[p->kern])) cf_try(t, &j, 1);
  }
  cf_end(t);
}

/* ---- data --------------------------------------------------------------- */
/* bool: one odd element in some 300, so that any and all have to find it. */
static void fill_sparse(cf_mem *m, int odd) {
  uint64_t state = 3;
  for (uint64_t i = 0; i < m->bytes; i++)
    m->want[i] = (uint8_t)(cf_rand(&state) % 300 == 0 ? odd : !odd);
}

static void fill(const subject *s, cf_mem *m, int operand) {
  int op = s->row->id;
  if (s->dtype == TSH_bool)
    fill_sparse(m, op != TSH_OP_all && op != TSH_OP_min && op != TSH_OP_argmin);
  else
    cf_fill(m,
            is_position(s)      ? CF_TIES
            : op == TSH_OP_prod ? CF_NEAR1
                                : CF_PLAIN,
            operand);
}

/* Both zeros, and what the two lose to. */
static void fill_zeros(const subject *s, cf_mem *m) {
  int least = s->row->id == TSH_OP_min || s->row->id == TSH_OP_argmin;
  uint64_t state = 8;
  for (int64_t i = 0; i < POOL; i++) {
    uint64_t r = cf_rand(&state) >> 20;
    uint64_t v = cf_from_int(s->dtype, r % 3 ? 0 : least ? 3 : -3);
    if (cf_kind(s->dtype) == TSH_KIND_FLOAT && r % 3 == 1)
      v = cf_from_double(s->dtype, -0.0);
    cf_put(m->want, i, s->dtype, v);
  }
}

/* ---- positions that are not in order ------------------------------------ */
static void run_shuffled(cf *t, subject *s, int pos) {
  const int64_t extent[2] = {6, 101}, in[2] = {101, 1}, out[2] = {1, 0};
  cf_kern k;
  cf_mem at, o;
  cf_job j;
  memset(&o, 0, sizeof o);
  if (!cf_begin(t, "fold/%s/%s/shuffled-%s", cf_dtype_name(s->dtype),
                s->row->name, cf_dtype_name(pos)))
    return;
  cf_kern_init(&k, 2, 1);
  cf_arg(&k, s->dtype, TSH_STRIDED);
  cf_arg(&k, pos, TSH_STRIDED);
  cf_arg(&k, pos, TSH_STRIDED);
  cf_load(&k, 0, 0);
  cf_load(&k, 1, 0);
  cf_inst(&k, s->row->id, pos, 0, 1, 0);
  cf_store(&k, 2, 2, TSH_ROW);
  if (cf_mem_new(t, pos, 700, &at) && cf_mem_new(t, pos, 8, &o)) {
    for (int i = 0; i < 700; i++)
      cf_put(at.want, i, pos, cf_from_int(pos, i * 37 % 101 - 50));
    cf_job_init(&j, &k, "shuffled");
    cf_job_extent(&j, extent);
    cf_job_arg(&j, 0, &s->in[0], 0, in);
    cf_job_arg(&j, 1, &at, 3, in);
    cf_job_arg(&j, 2, &o, 1, out);
    if (cf_mem_up(t, &at) && cf_mem_up(t, &o) && cf_compile(t, &k))
      cf_try(t, &j, 1);
  }
  cf_drop(t, &k);
  cf_mem_free(t, &at);
  cf_mem_free(t, &o);
  cf_end(t);
}

/* ---- one op of one dtype ------------------------------------------------ */
static int prepare(cf *t, subject *s) {
  for (int i = 0; i < s->row->arity && !(i && is_position(s)); i++) {
    if (!cf_mem_new(t, s->dtype, POOL, &s->in[i])) return 0;
    fill(s, &s->in[i], i);
    if (!cf_mem_up(t, &s->in[i])) return 0;
  }
  for (int i = 0; i < NKERN; i++) {
    build(s, i);
    if (!cf_mem_new(t, s->out_dtype[i], NSIZE * REGION, &s->out[i]) ||
        !cf_compile(t, &s->kern[i]))
      return 0;
  }
  return 1;
}

static void run_op(cf *t, const cf_row *row, int dtype) {
  subject s;
  memset(&s, 0, sizeof s);
  s.row = row;
  s.dtype = dtype;
  if (t->list || prepare(t, &s)) {
    for (int i = 0; i < NPATTERN; i++) run_pattern(t, &s, &patterns[i], sizes);
    run_long(t, &s);
    if (is_position(&s)) {
      run_shuffled(t, &s, TSH_i32);
      run_shuffled(t, &s, TSH_i64);
    }
    for (int i = 0; i < row->arity && s.in[i].want; i++) {
      cf_fill(&s.in[i], CF_SPECIAL, i);
      cf_mem_up(t, &s.in[i]);
    }
    run_pattern(t, &s, &special, few);
    for (int i = 0; i < row->arity && s.in[i].want; i++) {
      fill_zeros(&s, &s.in[i]);
      cf_mem_up(t, &s.in[i]);
    }
    run_pattern(t, &s, &zeros, few);
  }
  for (int i = 0; i < NKERN; i++) {
    cf_drop(t, &s.kern[i]);
    cf_mem_free(t, &s.out[i]);
  }
  for (int i = 0; i < 2; i++) cf_mem_free(t, &s.in[i]);
}

void cf_test_fold(cf *t) {
  for (int dtype = 1; dtype < TSH_NDTYPE; dtype++)
    for (int i = 0; i < cf_nrows; i++)
      if (cf_rows[i].class_ == CF_FOLD && cf_has(t, cf_rows[i].id, dtype) &&
          cf_stores(t, dtype) && cf_judged(cf_rows[i].id, dtype))
        run_op(t, &cf_rows[i], dtype);
}
