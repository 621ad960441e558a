#include <math.h>
#include <stdlib.h>
#include "rig.h"

const tsh_plugin *tsh_cpu_query(uint32_t major, uint32_t minor);

/* ---- life ---------------------------------------------------------------- */
void rig_open(rig *r, const char *device) {
  const char *build = getenv("TSH_BUILD");
  plan_options options = {.verify = 1};
  char path[1024];
  dev_options where = {.builtin = tsh_cpu_query, .scheme = "cpu"};
  memset(r, 0, sizeof *r);
  r->err.size = sizeof r->err;
  where.no_plugins = strcmp(device, "cpu") == 0;
  if (!where.no_plugins) {
    cr_assert_not_null(build, "TSH_BUILD must name the build folder");
    snprintf(path, sizeof path, "%s/plugins/example/.libs", build);
    where.path = path;
  }
  cr_assert_eq(dev_set_new(&where, &r->devices, &r->err), TSH_OK, "%s",
               r->err.text);
  cr_assert_eq(dev_get(r->devices, device, &r->d, &r->err), TSH_OK, "%s",
               r->err.text);
  cr_assert_eq(plan_new(r->devices, &options, &r->p, &r->err), TSH_OK, "%s",
               r->err.text);
}

void rig_close(rig *r) {
  rig_drop_since(r, 0, NULL);
  trace_clear(r->p, &r->p->trace);
  plan_trim(r->p);
  cr_expect_eq(COUNTER(r, bytes_live), 0, "%llu bytes are left",
               (unsigned long long)COUNTER(r, bytes_live));
  plan_free(r->p);
  dev_set_free(r->devices);
  free(r->node);
}

void rig_drop(rig *r, plan_node *x) {
  for (uint32_t i = r->n; i-- > 0;) {
    if (r->node[i] != x) continue;
    r->node[i] = r->node[--r->n];
    plan_drop(r->p, x);
    return;
  }
  cr_assert_fail("dropped a node that was not owned");
}

void rig_drop_since(rig *r, uint32_t n, const plan_node *x) {
  plan_node *kept = NULL;
  while (r->n > n) {
    plan_node *y = r->node[--r->n];
    if (y == x && !kept)
      kept = y;
    else
      plan_drop(r->p, y);
  }
  if (kept) r->node[r->n++] = kept;
}

plan_node *rig_own(rig *r, tsh_status rc, plan_node *x) {
  cr_assert_eq(rc, TSH_OK, "status %d: %s", rc, r->err.text);
  cr_assert_not_null(x);
  if (r->n == r->cap) {
    r->cap = r->cap ? 2 * r->cap : 64;
    r->node = realloc(r->node, r->cap * sizeof *r->node);
    cr_assert_not_null(r->node);
  }
  return r->node[r->n++] = x;
}

tsh_status rig_fails(rig *r, tsh_status rc, plan_node **x) {
  cr_expect_neq(rc, TSH_OK);
  cr_expect_null(*x);
  cr_expect_eq(r->err.code, rc);
  cr_expect_neq(r->err.text[0], 0);
  return rc;
}

/* ---- operands and leaves ------------------------------------------------- */
const plan_shape *shape_of(rig *r, int rank, const int64_t *dim) {
  const plan_shape *s = plan_shape_get(r->p, rank, dim, &r->err);
  cr_assert_not_null(s, "%s", r->err.text);
  return s;
}

plan_operand num(double v) {
  plan_operand o = {.num.f = v, .kind = PLAN_REAL};
  return o;
}

plan_operand whole(int64_t v) {
  plan_operand o = {.num.i = v, .kind = PLAN_INT};
  return o;
}

plan_operand truth(int v) {
  plan_operand o = {.num.i = v, .kind = PLAN_BOOL};
  return o;
}

plan_node *leaf(rig *r, int dtype, const void *host, int rank,
                const int64_t *dim) {
  plan_node *x = NULL;
  tsh_status rc =
      plan_data(r->p, r->d, dtype, shape_of(r, rank, dim), host, &x, &r->err);
  return rig_own(r, rc, x);
}

plan_node *ramp(rig *r, int rank, const int64_t *dim) {
  size_t n = (size_t)shape_of(r, rank, dim)->count;
  float *host = malloc((n + 1) * sizeof *host);
  plan_node *x;
  cr_assert_not_null(host);
  for (size_t i = 0; i < n; i++) host[i] = (float)i;
  x = leaf(r, TSH_f32, host, rank, dim);
  free(host);
  return x;
}

/* ---- recorded ------------------------------------------------------------ */
plan_node *full(rig *r, double v, int rank, const int64_t *dim) {
  plan_operand value = num(v);
  plan_node *x = NULL;
  tsh_status rc = plan_full(r->p, r->d, TSH_f32, shape_of(r, rank, dim), &value,
                            &x, &r->err);
  return rig_own(r, rc, x);
}

static plan_node *map(rig *r, int op, plan_node *a, plan_operand b, int n) {
  plan_operand in[2] = {operand_of(a), b};
  plan_node *y = NULL;
  tsh_status rc = plan_map(r->p, op, in, n, &y, &r->err);
  return rig_own(r, rc, y);
}

plan_node *map1(rig *r, int op, plan_node *a) {
  return map(r, op, a, num(0), 1);
}

plan_node *map2(rig *r, int op, plan_node *a, plan_node *b) {
  return map(r, op, a, operand_of(b), 2);
}

plan_node *mapn(rig *r, int op, plan_node *a, double b) {
  return map(r, op, a, num(b), 2);
}

plan_node *mapi(rig *r, int op, plan_node *a, int64_t b) {
  return map(r, op, a, whole(b), 2);
}

plan_node *cast(rig *r, plan_node *x, int dtype) {
  plan_node *y = NULL;
  tsh_status rc = plan_cast(r->p, x, dtype, &y, &r->err);
  return rig_own(r, rc, y);
}

plan_node *fold(rig *r, int op, plan_node *x, uint32_t axes) {
  plan_node *y = NULL;
  tsh_status rc = plan_fold(r->p, op, x, axes, 0, &y, &r->err);
  return rig_own(r, rc, y);
}

plan_node *fold_keep(rig *r, int op, plan_node *x, uint32_t axes) {
  plan_node *y = NULL;
  tsh_status rc = plan_fold(r->p, op, x, axes, 1, &y, &r->err);
  return rig_own(r, rc, y);
}

plan_node *matmul(rig *r, plan_node *a, plan_node *b) {
  plan_node *y = NULL;
  tsh_status rc = plan_matmul(r->p, a, b, &y, &r->err);
  return rig_own(r, rc, y);
}

plan_node *reshape(rig *r, plan_node *x, int rank, const int64_t *dim) {
  plan_node *y = NULL;
  tsh_status rc = plan_reshape(r->p, x, shape_of(r, rank, dim), &y, &r->err);
  return rig_own(r, rc, y);
}

plan_node *permute(rig *r, plan_node *x, const uint8_t *order) {
  plan_node *y = NULL;
  tsh_status rc = plan_permute(r->p, x, order, &y, &r->err);
  return rig_own(r, rc, y);
}

plan_node *transpose(rig *r, plan_node *x) {
  return permute(r, x, ORDER(1, 0));
}

plan_node *slice(rig *r, plan_node *x, const plan_range *range) {
  plan_node *y = NULL;
  tsh_status rc = plan_slice(r->p, x, range, &y, &r->err);
  return rig_own(r, rc, y);
}

plan_node *expand(rig *r, plan_node *x, int rank, const int64_t *dim) {
  plan_node *y = NULL;
  tsh_status rc = plan_expand(r->p, x, shape_of(r, rank, dim), &y, &r->err);
  return rig_own(r, rc, y);
}

plan_node *set(rig *r, plan_node *x, const plan_range *range, double v) {
  plan_operand o = num(v);
  plan_node *y = NULL;
  tsh_status rc = plan_set(r->p, x, range, &o, &y, &r->err);
  return rig_own(r, rc, y);
}

plan_node *index_of(rig *r, plan_node *y, int64_t n) {
  plan_node *x = NULL;
  tsh_status rc = plan_index(r->p, y, n, &x, &r->err);
  return rig_own(r, rc, x);
}

/* ---- values -------------------------------------------------------------- */
tsh_status demand(rig *r, plan_node *x, int flags) {
  return plan_demand(r->p, &x, 1, flags, &r->err);
}

static void *read_all(rig *r, plan_node *x) {
  size_t n = (size_t)plan_shape_of(x)->count;
  void *host = malloc((n + 1) * plan_dtype_bytes(plan_dtype_of(x)));
  cr_assert_not_null(host);
  cr_assert_eq(plan_read(r->p, x, host, 0, &r->err), TSH_OK, "%s", r->err.text);
  return host;
}

static double element(const void *host, int dtype, int64_t i) {
  switch (dtype) {
  case TSH_f32:
    return (double)((const float *)host)[i];
  case TSH_f64:
    return ((const double *)host)[i];
  case TSH_i32:
    return ((const int32_t *)host)[i];
  case TSH_i64:
    return (double)((const int64_t *)host)[i];
  default:
    return ((const uint8_t *)host)[i];
  }
}

double value(rig *r, plan_node *x, int64_t i) {
  void *host = read_all(r, x);
  double v = element(host, plan_dtype_of(x), i);
  free(host);
  return v;
}

static int same(double a, double b) {
  if (a != a || b != b) return a != a && b != b;
  return a == b && signbit(a) == signbit(b);
}

int are(rig *r, plan_node *x, int n, const double *want) {
  void *host = read_all(r, x);
  int good = plan_shape_of(x)->count == n;
  if (!good)
    snprintf(r->text, sizeof r->text, "%lld elements, want %d",
             (long long)plan_shape_of(x)->count, n);
  for (int i = 0; i < n && good; i++) {
    double got = element(host, plan_dtype_of(x), i);
    if ((good = same(got, want[i]))) continue;
    snprintf(r->text, sizeof r->text, "element %d is %.17g, want %.17g", i, got,
             want[i]);
  }
  free(host);
  return good;
}

uint64_t launches_of(rig *r, plan_node *const *x, int n) {
  uint64_t before = COUNTER(r, kernels);
  cr_assert_eq(plan_demand(r->p, x, n, PLAN_EXACT, &r->err), TSH_OK, "%s",
               r->err.text);
  return COUNTER(r, kernels) - before;
}
