/* order.c - the CALL ops along an axis, each only where the device declares it:
 * short and long lines along each axis, specials, equal elements, inputs that
 * are turned, backwards or repeated, outputs that are turned, an epilogue. */
#include <string.h>

#include "cf.h"

enum { ROOM = 7000, RANK = 3 };

typedef struct {
  int op, dtype, axis, flag, k; /* flag: descending, largest */
  int style, epilogue;
} subject;

/* How arguments lie in memory. */
enum { DENSE, TURNED, BACKWARDS, REPEATED, SPREAD, LAYOUTS };

static int out_dtype(const subject *s) {
  return cf_row_get(s->op)->gives == CF_TO ? TSH_i64 : s->dtype;
}

static void build(cf_kern *k, const subject *s) {
  cf_kern_init(k, s->op == TSH_OP_nonzero ? 1 : RANK, 0);
  k->k.op = (uint16_t)s->op;
  k->attr[0] = s->axis;
  k->attr[1] = s->op == TSH_OP_argtopk ? s->k : s->flag;
  k->attr[2] = s->flag;
  k->k.nattr = s->op == TSH_OP_nonzero                           ? 0
               : s->op == TSH_OP_argtopk                         ? 3
               : s->op == TSH_OP_sort || s->op == TSH_OP_argsort ? 2
                                                                 : 1;
  cf_arg(k, s->dtype, TSH_STRIDED);
  cf_arg(k, out_dtype(s), TSH_STRIDED);
  k->rank[0] = RANK;
  if (!s->epilogue) return;
  int v = cf_load(k, 1, 0);
  v = cf_inst(k, TSH_OP_mul, out_dtype(s), v, cf_scalar(k, out_dtype(s)), 0);
  cf_store(k, v, 1, 0);
}

/* Strides of a layout, and where its first element is. */
static int64_t lay(int layout, const int64_t *e, int axis, int64_t *stride) {
  int64_t at = 3;
  cf_dense(RANK, e, stride);
  switch (layout) {
  case TURNED:
    stride[0] = 1, stride[1] = e[0], stride[2] = e[0] * e[1];
    break;
  case BACKWARDS:
    for (int i = 0; i < RANK; i++) {
      at += (e[i] - 1) * stride[i];
      stride[i] = -stride[i];
    }
    break;
  case REPEATED: /* the next axis; every line is one of few */
    stride[(axis + 1) % RANK] = 0;
    break;
  case SPREAD:
    for (int i = 0; i < RANK; i++) stride[i] *= 2;
    break;
  default:
    break;
  }
  return at;
}

static void place(cf_job *j, cf_stage *st, const subject *s, cf_mem *x,
                  cf_mem *y, const int64_t *extent, int layout) {
  int64_t stride[RANK], out[RANK], one[1] = {1};
  cf_job_init(j, &st->k, "%dx%dx%d, layout %d", (int)extent[0], (int)extent[1],
              (int)extent[2], layout);
  cf_job_arg(j, 0, x, lay(layout, extent, s->axis, stride), stride);
  memcpy(j->arg[0].extent, extent, sizeof out);
  memcpy(out, extent, sizeof out);
  if (s->op == TSH_OP_nonzero) {
    one[0] = layout == TURNED ? 2 : 1;
    cf_job_arg(j, 1, y, 5, one);
    j->arg[1].extent[0] = s->k;
  } else {
    if (s->op == TSH_OP_argtopk) out[s->axis] = s->k;
    cf_job_arg(j, 1, y, lay(layout == TURNED ? TURNED : DENSE, out, 0, stride),
               stride);
    memcpy(j->arg[1].extent, out, sizeof out);
  }
  j->scalar[0].i = 2;
  if (cf_kind(out_dtype(s)) == TSH_KIND_FLOAT) j->scalar[0].f = 2;
}

/* Every element as wanted, NaNs being one value. */
static int same(cf *t, cf_mem *m, const char *what) {
  int64_t n = (int64_t)(m->bytes / cf_bytes(m->dtype));
  char a[64], b[64];
  if (!cf_mem_down(t, m)) return 0;
  for (int64_t i = 0; i < n; i++) {
    uint64_t want = cf_get(m->want, i, m->dtype);
    uint64_t got = cf_get(m->got, i, m->dtype);
    if (want == got || (cf_is_nan(m->dtype, want) && cf_is_nan(m->dtype, got)))
      continue;
    cf_fail(t, "%s: element %lld of the buffer is %s, want %s", what,
            (long long)i, cf_show(a, m->dtype, got),
            cf_show(b, m->dtype, want));
    return 0;
  }
  cf_pass(t);
  return 1;
}

/* The lines are short, longer than 16 and 32, and one of thousands. */
static void run_shapes(cf *t, cf_stage *st, const subject *s, cf_mem *x,
                       cf_mem *y) {
  int64_t shape[5][RANK] = {
      {5, 7, 6}, {3, 3, 9}, {2, 5, 9}, {3, 3, 3}, {1, 1, 1}};
  shape[1][s->axis] = 43;
  shape[2][s->axis] = 70;
  shape[3][(s->axis + 1) % RANK] = 71; /* many lines, side by side */
  shape[3][s->axis] = 6;
  shape[4][s->axis] = 2900;
  int shapes = s->axis == 2 && s->style == CF_BITS ? 5 : 4;
  for (int i = 0; i < shapes; i++)
    for (int layout = 0; layout < (i == 4 ? 1 : LAYOUTS); layout++) {
      tsh_err err;
      tsh_status rc;
      cf_job j;
      int64_t bad;
      if (s->op == TSH_OP_argtopk && shape[i][s->axis] < s->k) continue;
      place(&j, st, s, x, y, shape[i], layout);
      rc = cf_run(t, &j, 1, &err);
      if (!cf_check(t, rc == TSH_OK, "%s: %s", j.what, err.text)) return;
      if (cf_eval(&j, &bad) != TSH_OK || !same(t, y, j.what)) return;
    }
}

static void run(cf *t, const subject *s) {
  static const char *const style[] = {[CF_BITS] = "bits",
                                      [CF_TIES] = "ties",
                                      [CF_NEAR1] = "near1",
                                      [CF_SPECIAL] = "special"};
  cf_stage st;
  cf_mem *x, *y;
  if (!cf_begin(t, "order/%s/%s/axis-%d/%s%s%s", cf_row_get(s->op)->name,
                cf_dtype_name(s->dtype), s->axis, style[s->style],
                s->flag ? "/down" : "", s->epilogue ? "/epilogue" : ""))
    return;
  cf_stage_init(&st, 0, 0);
  build(&st.k, s);
  x = cf_stage_mem(t, &st, s->dtype, ROOM, s->style);
  y = cf_stage_mem(t, &st, out_dtype(s), ROOM, CF_BLANK);
  if (cf_stage_ready(t, &st)) run_shapes(t, &st, s, x, y);
  cf_stage_free(t, &st);
  cf_end(t);
}

static void run_absent(cf *t, const subject *s) {
  tsh_err err;
  tsh_status rc;
  cf_kern k;
  if (!cf_begin(t, "order/%s/%s/absent", cf_row_get(s->op)->name,
                cf_dtype_name(s->dtype)))
    return;
  build(&k, s);
  rc = cf_compile_raw(t, &k, &err);
  cf_check_err(t, "a CALL that is not declared", rc, &err);
  cf_check(t, rc == TSH_EUNSUPPORTED, "%s", cf_status_name(rc));
  cf_drop(t, &k);
  cf_end(t);
}

static void run_op(cf *t, int op, int dtype) {
  static const int styles[3] = {CF_BITS, CF_TIES, CF_SPECIAL};
  int scan = op == TSH_OP_cumsum || op == TSH_OP_cumprod;
  subject s = {op, dtype, 0, 0, 5, CF_BITS, 0};
  if (!cf_has(t, op, dtype)) {
    run_absent(t, &s);
    return;
  }
  for (s.axis = 0; s.axis < (op == TSH_OP_nonzero ? 1 : RANK); s.axis++)
    for (int i = 0; i < 3; i++)
      for (s.flag = 0; s.flag < (scan || op == TSH_OP_nonzero ? 1 : 2);
           s.flag++) {
        s.style = scan && styles[i] == CF_TIES ? CF_NEAR1 : styles[i];
        s.k = i == 1 ? 1 : i == 2 ? 70 : 5; /* 70: more than are true, too */
        run(t, &s);
      }
  s.axis = s.flag = 0;
  s.k = 4;
  s.style = CF_TIES;
  s.epilogue = cf_has(t, TSH_OP_mul, out_dtype(&s));
  if (s.epilogue) run(t, &s);
}

void cf_test_order(cf *t) {
  static const int ops[] = {TSH_OP_sort,   TSH_OP_argsort, TSH_OP_argtopk,
                            TSH_OP_cumsum, TSH_OP_cumprod, TSH_OP_nonzero};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    for (int dtype = 1; dtype < TSH_NDTYPE; dtype++)
      if (cf_stores(t, dtype) && cf_row_get(ops[i])->takes & TSH_BIT(dtype))
        run_op(t, ops[i], dtype);
}
