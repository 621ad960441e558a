/* test_call.c - CALL ops where the size matters: lines of thousands in every
 * order agree with qsort, a stop is soon, and without memory nothing is begun.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rig.h"

const tsh_plugin *tsh_cpu_query(uint32_t major, uint32_t minor);

/* ---- one call on a device of its own ------------------------------------ */
typedef struct {
  tsh_dev *dev;
  tsh_prog *prog;
  tsh_buf *x, *y;
  int64_t ext[2][2], stride[2][2];
  tsh_err err;
} call;

static const tsh_plugin *cpu(void) {
  return tsh_cpu_query(TSH_ABI_MAJOR, TSH_ABI_MINOR);
}

static void open_call(call *c, const char *isa, const cpu_source *source,
                      const uint32_t *cancel) {
  tsh_host host = {.size = sizeof host, .cancel = cancel};
  memset(c, 0, sizeof *c);
  c->err.size = sizeof c->err;
  if (!cpu_isa_get(isa)) isa = "base";
  cr_assert_eq(
      cpu_device_open(cpu_isa_get(isa), source, &host, &c->dev, &c->err),
      TSH_OK);
}

/* rows x n elements of `dtype` in x, out_n results a row in y. */
static void prepare(call *c, int op, int dtype, const int64_t *attr, int nattr,
                    int64_t rows, int64_t n, int64_t out_n) {
  int gives = op == TSH_OP_argsort || op == TSH_OP_argtopk ? TSH_i64 : dtype;
  uint8_t types[2] = {(uint8_t)dtype, (uint8_t)gives};
  uint8_t class_[2] = {0, 0}, rank[2] = {2, 2};
  tsh_kernel k = {.size = sizeof k,
                  .op = (uint16_t)op,
                  .rank = 2,
                  .narg = 2,
                  .inst_size = sizeof(tsh_inst),
                  .nattr = (uint16_t)nattr,
                  .arg_dtype = types,
                  .arg_class = class_,
                  .arg_rank = rank,
                  .attr = attr};
  const tsh_plugin *p = cpu();
  for (int i = 0; i < 2; i++) {
    c->ext[i][0] = rows;
    c->ext[i][1] = c->stride[i][0] = i ? out_n : n;
    c->stride[i][1] = 1;
  }
  cr_assert_eq(p->compile(c->dev, &k, &c->prog, &c->err), TSH_OK);
  cr_assert_eq(p->alloc(c->dev, (uint64_t)(rows * n) * 8, &c->x, &c->err),
               TSH_OK);
  cr_assert_eq(p->alloc(c->dev, (uint64_t)(rows * out_n) * 8, &c->y, &c->err),
               TSH_OK);
}

static tsh_status run(call *c) {
  tsh_view view[2] = {{c->x, 0, c->ext[0], c->stride[0]},
                      {c->y, 0, c->ext[1], c->stride[1]}};
  tsh_launch launch = {.size = sizeof launch, .prog = c->prog, .arg = view};
  tsh_batch batch = {.size = sizeof batch,
                     .nlaunch = 1,
                     .launch_size = sizeof launch,
                     .launch = &launch};
  uint64_t ticket;
  return cpu()->submit(c->dev, &batch, &ticket, &c->err);
}

static void close_call(call *c) {
  const tsh_plugin *p = cpu();
  p->free(c->dev, c->x);
  p->free(c->dev, c->y);
  p->drop(c->dev, c->prog);
  p->close(c->dev);
}

/* ---- orders ------------------------------------------------------------- */
enum { N = 40000, ORDERS = 5 };

/* Random, sorted, sorted the other way, one value, few values. */
static double value_of(int order, int i, uint32_t *seed) {
  switch (order) {
  case 0:
    return rig_below(seed, 1 << 20) / 3.0 - 100000;
  case 1:
    return i * 0.5 - 5000;
  case 2:
    return 5000 - i * 0.5;
  case 3:
    return -2.5;
  default:
    return rig_below(seed, 7) - 3;
  }
}

typedef struct {
  double v;
  int64_t at;
} item;

static int by_value(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->v != y->v) return x->v < y->v ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static int by_value_down(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->v != y->v) return x->v > y->v ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static void put(call *c, int dtype, int i, double v) {
  if (dtype == TSH_f32) ((float *)c->x->mem)[i] = (float)v;
  if (dtype == TSH_f64) ((double *)c->x->mem)[i] = v;
  if (dtype == TSH_i32) ((int32_t *)c->x->mem)[i] = (int32_t)v;
  if (dtype == TSH_i64) ((int64_t *)c->x->mem)[i] = (int64_t)v;
}

static double get(const void *mem, int dtype, int64_t i) {
  return dtype == TSH_f32   ? ((const float *)mem)[i]
         : dtype == TSH_f64 ? ((const double *)mem)[i]
         : dtype == TSH_i32 ? ((const int32_t *)mem)[i]
                            : (double)((const int64_t *)mem)[i];
}

/* Sorts values, positions, and takes the first k, against qsort. */
static void against_qsort(const char *isa, int dtype, int order, int down) {
  static item want[N];
  static const int64_t k[] = {1, 10, 3000, N};
  for (int what = 0; what < 6; what++) {
    uint32_t seed = 9;
    int op = what == 0   ? TSH_OP_sort
             : what == 1 ? TSH_OP_argsort
                         : TSH_OP_argtopk;
    int64_t out = what < 2 ? N : k[what - 2];
    int64_t attr[3] = {1, what < 2 ? down : out, down};
    call c;
    open_call(&c, isa, &cpu_system, NULL);
    prepare(&c, op, dtype, attr, what < 2 ? 2 : 3, 1, N, out);
    for (int i = 0; i < N; i++) {
      put(&c, dtype, i, value_of(order, i, &seed));
      want[i] = (item){get(c.x->mem, dtype, i), i};
    }
    qsort(want, N, sizeof *want, down ? by_value_down : by_value);
    cr_assert_eq(run(&c), TSH_OK, "%s", c.err.text);
    for (int64_t i = 0; i < out; i++) {
      if (op == TSH_OP_sort)
        cr_assert_eq(get(c.y->mem, dtype, i), want[i].v);
      else
        cr_assert_eq(((int64_t *)c.y->mem)[i], want[i].at,
                     "%s, dtype %d, order %d, what %d, %d", isa, dtype, order,
                     what, (int)i);
    }
    close_call(&c);
  }
}

Test(call, long_lines_in_every_order_agree_with_qsort) {
  static const int dtypes[4] = {TSH_f32, TSH_f64, TSH_i32, TSH_i64};
  for (int d = 0; d < 4; d++)
    for (int order = 0; order < ORDERS; order++)
      for (int down = 0; down < 2; down++)
        against_qsort("v3", dtypes[d], order, down);
  against_qsort("base", TSH_f32, 0, 0);
}

/* ---- no memory ---------------------------------------------------------- */
static int64_t fuse; /* allocations that succeed; below 0: all */

static void *fused_get(uint64_t bytes, uint64_t align) {
  if (fuse == 0) return NULL;
  if (fuse > 0) fuse--;
  return cpu_system.get(bytes, align);
}

static void fused_put(void *p, uint64_t bytes) { cpu_system.put(p, bytes); }

Test(call, without_memory_to_work_in_nothing_is_begun) {
  static const cpu_source fused = {fused_get, fused_put};
  static const int ops[3] = {TSH_OP_sort, TSH_OP_argsort, TSH_OP_argtopk};
  enum { LINE = 300000 };
  for (int i = 0; i < 3; i++) {
    int64_t attr[3] = {1, i == 2 ? LINE : 0, 1};
    call c;
    fuse = -1;
    open_call(&c, "v3", &fused, NULL);
    prepare(&c, ops[i], TSH_f32, attr, i == 2 ? 3 : 2, 1, LINE, LINE);
    for (int k = 0; k < LINE; k++) put(&c, TSH_f32, k, LINE - k);
    memset(c.y->mem, 0x77, LINE * 8);
    fuse = 0;
    cr_expect_eq(run(&c), TSH_ENOMEM);
    cr_expect_eq(c.err.launch, 0);
    cr_expect_not_null(strstr(c.err.text, "memory"), "%s", c.err.text);
    for (int k = 0; k < LINE * 8; k++) cr_assert_eq(c.y->mem[k], 0x77);
    fuse = -1;
    cr_expect_eq(run(&c), TSH_OK);
    close_call(&c);
  }
}

/* ---- stops -------------------------------------------------------------- */
static uint32_t cancel;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *stop_later(void *at) {
  const struct timespec t = {0, 15000000};
  nanosleep(&t, NULL);
  *(int64_t *)at = now();
  __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
  return NULL;
}

/* Eight million elements take much longer than the 15 ms before the stop. */
Test(call, a_long_sort_stops_soon) {
  enum { LINE = 1 << 23 };
  static const int ops[2] = {TSH_OP_sort, TSH_OP_argsort};
  for (int i = 0; i < 2; i++) {
    const int64_t attr[2] = {1, 0};
    uint32_t seed = 3;
    pthread_t thread;
    int64_t asked = 0;
    call c;
    cancel = 0;
    open_call(&c, "v3", &cpu_system, &cancel);
    prepare(&c, ops[i], TSH_f64, attr, 2, 1, LINE, LINE);
    for (int k = 0; k < LINE; k++)
      put(&c, TSH_f64, k, rig_below(&seed, 1 << 20));
    cr_assert_eq(pthread_create(&thread, NULL, stop_later, &asked), 0);
    cr_expect_eq(run(&c), TSH_ECANCELLED);
    int64_t end = now();
    pthread_join(thread, NULL);
    /* 20 ms are promised; a busy machine may add its own. */
    cr_expect_lt(end - asked, 200000000);
    close_call(&c);
  }
}
