/* call.c - the CALL ops with positions, each only where the device declares it:
 * positions of both dtypes along each axis, duplicates, strided views, an
 * epilogue, and a bad position that must touch nothing else. Absent ones must
 * be refused. */
#include <string.h>

#include "cf.h"

enum { ROOM = 1500, POSITIONS = 1000 };

typedef struct {
  int op, dtype, pos, axis, epilogue;
} subject;

static int is_gather(const subject *s) {
  return s->op == TSH_OP_gather || s->op == TSH_OP_scatter_add;
}

/* Arguments: x, positions, (z,) out; rank 3 but for positions of take. */
static void build(cf_kern *k, const subject *s) {
  int n = cf_row_get(s->op)->arity + 1, v;
  cf_kern_init(k, 3, 0);
  k->k.op = (uint16_t)s->op;
  k->k.nattr = 1;
  k->attr[0] = s->axis;
  for (int i = 0; i < n; i++)
    cf_arg(k, i == 1 ? s->pos : s->dtype, TSH_STRIDED);
  if (!is_gather(s)) k->rank[1] = 1;
  if (!s->epilogue) return;
  v = cf_load(k, n - 1, 0);
  v = cf_inst(k, TSH_OP_mul, s->dtype, v, cf_scalar(k, s->dtype), 0);
  cf_store(k, v, n - 1, 0);
}

/* `count` positions; shapes and strides differ between the two rounds. */
static void place(cf_job *j, cf_stage *st, const subject *s, cf_mem *const *m,
                  int64_t count, int round) {
  static const int64_t shapes[2][3] = {{5, 7, 6}, {11, 2, 9}};
  int64_t x[3], other[3], dense[3], step[1] = {round ? -1 : 1};
  int out = cf_row_get(s->op)->arity, next = (s->axis + 1) % 3;
  cf_job_init(j, &st->k, "%d positions", (int)count);
  memcpy(x, shapes[round], sizeof x);
  memcpy(other, x, sizeof x);
  other[s->axis] = count;
  if (is_gather(s) && round) other[next] -= other[next] / 2; /* a part of x */
  for (int i = 0; i <= out; i++) {
    /* take's out, z, positions of gather */
    const int64_t *extent = i == 2 || i == 1 ? other : x;
    if (i == 1 && !is_gather(s)) {
      cf_job_arg(j, 1, m[1], round ? count : 1, step);
      j->arg[1].extent[0] = count;
      continue;
    }
    cf_dense(3, extent, dense);
    if (i < 2 && round) /* transposed in memory */
      dense[0] = 1, dense[1] = extent[0], dense[2] = extent[0] * extent[1];
    cf_job_arg(j, i, m[i], i == out ? 3 + round : i, dense);
    memcpy(j->arg[i].extent, extent, 3 * sizeof *extent);
  }
  j->scalar[0].f = 2;
  if (cf_kind(s->dtype) != TSH_KIND_FLOAT) j->scalar[0].i = 2;
}

static void fill_positions(cf_mem *m, int64_t n) {
  uint64_t state = 11;
  for (int64_t i = 0; i < POSITIONS + 4; i++)
    cf_put(m->want, i, m->dtype,
           cf_from_int(m->dtype, (int64_t)(cf_rand(&state) % (uint64_t)n)));
}

static int64_t axis_extent(const cf_job *j, const subject *s) {
  return j->arg[0].extent[s->axis];
}

/* Small whole numbers: their sums are exact, whatever the order. */
static void open_stage(cf *t, cf_stage *st, const subject *s, cf_mem **m) {
  int n = cf_row_get(s->op)->arity + 1;
  cf_stage_init(st, 0, 0);
  build(&st->k, s);
  for (int i = 0; i < n; i++)
    m[i] = i == 1 ? cf_stage_mem(t, st, s->pos, POSITIONS + 4, CF_TIES)
                  : cf_stage_mem(t, st, s->dtype, ROOM,
                                 i == n - 1 ? CF_BLANK : CF_TIES);
}

static void run_good(cf *t, const subject *s) {
  static const int64_t counts[3] = {1, 4, 11};
  cf_stage st;
  cf_mem *m[4];
  int out = cf_row_get(s->op)->arity;
  if (!cf_begin(t, "call/%s/%s/%s/axis-%d%s", cf_row_get(s->op)->name,
                cf_dtype_name(s->dtype), cf_dtype_name(s->pos), s->axis,
                s->epilogue ? "/epilogue" : ""))
    return;
  open_stage(t, &st, s, m);
  if (cf_stage_ready(t, &st))
    for (int i = 0; i < 6; i++) {
      tsh_err err;
      tsh_status rc;
      cf_job j;
      int64_t bad;
      place(&j, &st, s, m, counts[i / 2], i & 1);
      fill_positions(m[1], axis_extent(&j, s));
      if (!cf_mem_up(t, m[1])) break;
      rc = cf_run(t, &j, 1, &err);
      if (!cf_check(t, rc == TSH_OK, "%s: %s", j.what, err.text)) break;
      cf_eval(&j, &bad);
      cf_mem_check(t, m[out], j.what);
    }
  cf_stage_free(t, &st);
  cf_end(t);
}

/* ---- a bad position ----------------------------------------------------- */
/* `at` may count positions or elements of the space they are used in. */
static int names_bad(int64_t at, int64_t position, const cf_job *j,
                     const subject *s) {
  const int64_t *e = j->arg[2].extent;
  int64_t inner = cf_points(e + s->axis + 1, 2 - s->axis);
  return at == position || at == position * inner;
}

static void check_bad(cf *t, cf_stage *st, const subject *s, cf_mem **m,
                      int64_t value) {
  int out = cf_row_get(s->op)->arity;
  int64_t bad;
  uint64_t elements;
  tsh_err err;
  tsh_status rc;
  cf_job j;
  place(&j, st, s, m, 4, 0);
  fill_positions(m[1], axis_extent(&j, s));
  cf_put(m[1]->want, 1 + 2, s->pos, cf_from_int(s->pos, value));
  if (!cf_mem_up(t, m[1])) return;
  rc = cf_run(t, &j, 1, &err);
  cf_check_err(t, "a bad position", rc, &err);
  cf_check(t, rc == TSH_EINDEX && err.launch == 0, "%s, launch %u",
           cf_status_name(rc), err.launch);
  cf_check(t, names_bad(err.at, 2, &j, s), "position 2 is bad, at is %lld",
           (long long)err.at);
  cf_eval(&j, &bad);
  if (!cf_mem_down(t, m[out])) return;
  /* What the output holds is free; what is around it is not. */
  elements =
      (uint64_t)(3 + cf_points(j.arg[out].extent, 3)) * cf_bytes(s->dtype);
  cf_check(t,
           !memcmp(m[out]->got, m[out]->want, 3 * cf_bytes(s->dtype)) &&
               !memcmp(m[out]->got + elements, m[out]->want + elements,
                       m[out]->bytes - elements),
           "memory outside the output was written");
}

static void run_bad(cf *t, const subject *s) {
  static const int64_t values[3] = {-1, 11, INT32_MAX};
  cf_stage st;
  cf_mem *m[4];
  if (!cf_begin(t, "call/%s/%s/%s/axis-%d/bad", cf_row_get(s->op)->name,
                cf_dtype_name(s->dtype), cf_dtype_name(s->pos), s->axis))
    return;
  open_stage(t, &st, s, m);
  if (cf_stage_ready(t, &st))
    for (int i = 0; i < 3; i++) check_bad(t, &st, s, m, values[i]);
  cf_stage_free(t, &st);
  cf_end(t);
}

/* ---- absent ------------------------------------------------------------- */
static void run_absent(cf *t, subject s) {
  tsh_err err;
  tsh_status rc;
  cf_kern k;
  if (!cf_begin(t, "call/%s/%s/absent", cf_row_get(s.op)->name,
                cf_dtype_name(s.dtype)))
    return;
  build(&k, &s);
  rc = cf_compile_raw(t, &k, &err);
  cf_check_err(t, "a CALL that is not declared", rc, &err);
  cf_check(t, rc == TSH_EUNSUPPORTED, "%s", cf_status_name(rc));
  cf_drop(t, &k);
  cf_end(t);
}

static void run_op(cf *t, int op, int dtype) {
  subject s = {op, dtype, TSH_i32, 0, 0};
  if (!cf_has(t, op, dtype)) {
    run_absent(t, s);
    return;
  }
  for (int i = 0; i < 6; i++) {
    s.pos = i & 1 ? TSH_i64 : TSH_i32;
    s.axis = i / 2;
    run_good(t, &s);
    run_bad(t, &s);
  }
  s.epilogue = cf_has(t, TSH_OP_mul, dtype);
  if (s.epilogue) run_good(t, &s);
}

void cf_test_call(cf *t) {
  static const int ops[] = {
      TSH_OP_take,      TSH_OP_index_add, TSH_OP_gather,    TSH_OP_scatter_add,
      TSH_OP_index_set, TSH_OP_index_mul, TSH_OP_index_max, TSH_OP_index_min};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    for (int dtype = 1; dtype < TSH_NDTYPE; dtype++)
      if (cf_stores(t, dtype) && cf_row_get(ops[i])->takes & TSH_BIT(dtype))
        run_op(t, ops[i], dtype);
}
