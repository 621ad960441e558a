/* dot.c - the fold of two operands as what it is used for: products with a
 * bias, batched, transposed, empty; convolutions over overlapping strides; the
 * fma chain shows in every last bit, whatever the device replaces it by. */
#include <string.h>

#include "cf.h"

/* ---- relu(A W + b) ------------------------------------------------------ */
/* Space: batch, m, n | k. */
static void build_layer(cf_kern *k, int dtype, int hint) {
  int v;
  k->k.flags = (uint32_t)hint;
  for (int i = 0; i < 4; i++) cf_arg(k, dtype, TSH_STRIDED);
  cf_load(k, 0, 0);
  cf_load(k, 1, 0);
  v = cf_inst(k, TSH_OP_dot, dtype, 0, 1, 0);
  cf_load(k, 2, TSH_ROW);
  v = cf_inst(k, TSH_OP_add, dtype, v, 3, 0);
  v = cf_inst(k, TSH_OP_relu, dtype, v, 0, 0);
  cf_store(k, v, 3, TSH_ROW);
}

typedef struct {
  int64_t batch, m, n, k;
  int turn_a, turn_b; /* transposed in memory */
} product;

static const product products[] = {
    {1, 1, 1, 1, 0, 0},    {1, 64, 64, 64, 0, 0},  {1, 33, 7, 129, 0, 1},
    {1, 1, 65, 300, 1, 0}, {3, 17, 31, 20, 0, 0},  {2, 50, 1, 40, 1, 1},
    {1, 5, 6, 0, 0, 0},    {1, 31, 100, 33, 1, 0}, {1, 257, 3, 2, 0, 1},
};
enum { NPRODUCT = sizeof products / sizeof *products, ROOM = 20000 };

static void place_layer(const product *p, cf_stage *s, cf_mem *const *m,
                        cf_job *j) {
  const int64_t extent[4] = {p->batch, p->m, p->n, p->k};
  const int64_t a[4] = {p->m * p->k, p->turn_a ? 1 : p->k, 0,
                        p->turn_a ? p->m : 1};
  const int64_t b[4] = {p->k * p->n, 0, p->turn_b ? p->k : 1,
                        p->turn_b ? 1 : p->n};
  const int64_t bias[4] = {0, 0, 1, 0}, out[4] = {p->m * p->n, p->n, 1, 0};
  cf_job_init(j, &s->k, "%d x %dx%dx%d", (int)p->batch, (int)p->m, (int)p->n,
              (int)p->k);
  cf_job_extent(j, extent);
  cf_job_arg(j, 0, m[0], 1, a);
  cf_job_arg(j, 1, m[1], 2, b);
  cf_job_arg(j, 2, m[2], 3, bias);
  cf_job_arg(j, 3, m[3], 0, out);
}

static void run_layer(cf *t, int dtype, int hint) {
  cf_stage s;
  cf_mem *m[4];
  if (!cf_begin(t, "dot/%s/layer%s", cf_dtype_name(dtype), hint ? "-hint" : ""))
    return;
  cf_stage_init(&s, 4, 1);
  build_layer(&s.k, dtype, hint);
  for (int i = 0; i < 4; i++)
    m[i] = cf_stage_mem(t, &s, dtype, ROOM, i == 3 ? CF_BLANK : CF_PLAIN);
  if (cf_stage_ready(t, &s))
    for (int i = 0; i < NPRODUCT; i++) {
      cf_job j;
      place_layer(&products[i], &s, m, &j);
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* The plain product of two matrices, rank 3, and its epilogue in place of the
 * output: y = A W + y. */
static void run_plain(cf *t, int dtype, int epilogue) {
  static const int64_t shape[3][3] = {{64, 48, 96}, {1, 17, 5}, {130, 3, 65}};
  cf_stage s;
  cf_mem *m[3];
  if (!cf_begin(t, "dot/%s/%s", cf_dtype_name(dtype),
                epilogue ? "onto" : "plain"))
    return;
  cf_stage_init(&s, 3, 1);
  s.k.k.flags = TSH_HINT_DOT;
  for (int i = 0; i < 3 + epilogue; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_load(&s.k, 1, 0);
  cf_inst(&s.k, TSH_OP_dot, dtype, 0, 1, 0);
  if (epilogue) cf_load(&s.k, 2, TSH_ROW);
  if (epilogue) cf_inst(&s.k, TSH_OP_add, dtype, 2, 3, 0);
  cf_store(&s.k, epilogue ? 4 : 2, 2 + epilogue, TSH_ROW);
  for (int i = 0; i < 3; i++)
    m[i] = cf_stage_mem(t, &s, dtype, ROOM,
                        i == 2 && !epilogue ? CF_BLANK : CF_PLAIN);
  if (cf_stage_ready(t, &s))
    for (int i = 0; i < 3; i++) {
      const int64_t *e = shape[i], a[3] = {e[2], 0, 1}, b[3] = {0, 1, e[1]};
      const int64_t out[3] = {e[1], 1, 0};
      cf_job j;
      cf_job_init(&j, &s.k, "%dx%dx%d", (int)e[0], (int)e[1], (int)e[2]);
      cf_job_extent(&j, e);
      cf_job_arg(&j, 0, m[0], i, a);
      cf_job_arg(&j, 1, m[1], 3, b);
      cf_job_arg(&j, 2, m[2], i, out);
      if (epilogue) cf_job_arg(&j, 3, m[2], i, out);
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* ---- windows ------------------------------------------------------------ */
/* Space: channel, y, x | window: a 3x3 convolution of one plane as a dot over
 * two axes with overlapping strides. */
static void run_conv(cf *t, int dtype, int hint) {
  static const int64_t size[2][3] = {{4, 10, 12}, {1, 33, 5}};
  cf_stage s;
  cf_mem *m[3];
  if (!cf_begin(t, "dot/%s/conv%s", cf_dtype_name(dtype), hint ? "-hint" : ""))
    return;
  cf_stage_init(&s, 5, 2);
  s.k.k.flags = (uint32_t)hint;
  for (int i = 0; i < 3; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_load(&s.k, 1, 0);
  cf_inst(&s.k, TSH_OP_dot, dtype, 0, 1, 0);
  cf_store(&s.k, 2, 2, TSH_ROW);
  for (int i = 0; i < 3; i++)
    m[i] = cf_stage_mem(t, &s, dtype, 800, i == 2 ? CF_BLANK : CF_PLAIN);
  if (cf_stage_ready(t, &s))
    for (int i = 0; i < 2; i++) {
      const int64_t c = size[i][0], h = size[i][1], w = size[i][2];
      const int64_t extent[5] = {c, h, w, 3, 3},
                    in[5] = {0, w + 2, 1, w + 2, 1};
      const int64_t weight[5] = {9, 0, 0, 3, 1}, out[5] = {h * w, w, 1, 0, 0};
      cf_job j;
      cf_job_init(&j, &s.k, "%d planes of %dx%d", (int)c, (int)h, (int)w);
      cf_job_extent(&j, extent);
      cf_job_arg(&j, 0, m[0], i, in);
      cf_job_arg(&j, 1, m[1], 1, weight);
      cf_job_arg(&j, 2, m[2], 2, out);
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

/* Space: y, x | window: the largest of 2x2, stepping by 2, and of 3x3,
 * stepping by 1. */
static void run_pool(cf *t, int dtype, int hint) {
  cf_stage s;
  cf_mem *x, *y;
  if (!cf_begin(t, "dot/%s/pool%s", cf_dtype_name(dtype), hint ? "-hint" : ""))
    return;
  cf_stage_init(&s, 4, 2);
  s.k.k.flags = (uint32_t)hint;
  for (int i = 0; i < 2; i++) cf_arg(&s.k, dtype, TSH_STRIDED);
  cf_load(&s.k, 0, 0);
  cf_inst(&s.k, TSH_OP_max, dtype, 0, 0, 0);
  cf_store(&s.k, 1, 1, TSH_ROW);
  x = cf_stage_mem(t, &s, dtype, 900, CF_PLAIN);
  y = cf_stage_mem(t, &s, dtype, 900, CF_BLANK);
  if (cf_stage_ready(t, &s))
    for (int64_t step = 2; step >= 1; step--) {
      const int64_t w = 28, window = 4 - step, h = step == 2 ? 14 : 20;
      const int64_t extent[4] = {h, 13, window, window};
      const int64_t in[4] = {step * w, step, w, 1}, out[4] = {13, 1, 0, 0};
      cf_job j;
      cf_job_init(&j, &s.k, "step %d", (int)step);
      cf_job_extent(&j, extent);
      cf_job_arg(&j, 0, x, 2, in);
      cf_job_arg(&j, 1, y, step, out);
      cf_try(t, &j, 1);
    }
  cf_stage_free(t, &s);
  cf_end(t);
}

void cf_test_dot(cf *t) {
  static const int dtypes[] = {TSH_f32, TSH_f64, TSH_i32, TSH_i64, TSH_u8};
  for (unsigned i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    int dtype = dtypes[i];
    if (!cf_stores(t, dtype) || !cf_has(t, TSH_OP_dot, dtype) ||
        !cf_has(t, TSH_OP_add, dtype) || !cf_has(t, TSH_OP_relu, dtype))
      continue;
    run_layer(t, dtype, 0);
    run_layer(t, dtype, TSH_HINT_DOT);
    run_plain(t, dtype, 0);
    run_plain(t, dtype, 1);
    run_conv(t, dtype, 0);
    run_conv(t, dtype, TSH_HINT_CONV);
    run_pool(t, dtype, 0);
    run_pool(t, dtype, TSH_HINT_POOL);
  }
}
