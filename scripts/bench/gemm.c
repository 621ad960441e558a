/* gemm.c - speed of the cpu plugin's matrix product beside the machine's
 * limits, which are measured beside each row: clocks and neighbours change.
 *
 *   make -C build scripts/bench/gemm
 *   build/scripts/bench/gemm [ISA [THREADS [WORD]]]
 *
 * ISA: base, v3 or v4, the best if not given. WORD: only rows whose name holds
 * it. Times are the least of many: of this thread's processor, or of the wall
 * with two threads. "NN+": with bias and relu; T: that operand transposed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peak.h"
#include "device.h"

const tsh_plugin *tsh_cpu_query(uint32_t major, uint32_t minor);

enum { AXES = 8, ARGS = 4, MANY = 4096 };

/* A product: axes, folded ones last, and the strides of x, y, bias, out. */
typedef struct {
  char name[48];
  int dtype, rank, nfold, layer; /* layer: bias and relu behind it */
  int64_t ext[AXES], x[AXES], y[AXES], out[AXES];
  double flops, bytes; /* bytes: compared with reading instead */
} product;

typedef struct {
  tsh_inst inst[8];
  uint8_t dtype[ARGS], class_[ARGS], rank[ARGS];
  tsh_kernel k;
} kernel;

static const tsh_plugin *cpu;

/* ---- one product -------------------------------------------------------- */
static void make_kernel(const product *p, kernel *c) {
  uint8_t t = (uint8_t)p->dtype;
  int n = 0, narg = p->layer ? 4 : 3, v = 2;
  memset(c, 0, sizeof *c);
  for (int i = 0; i < narg; i++) c->dtype[i] = t, c->rank[i] = (uint8_t)p->rank;
  for (uint64_t i = 0; i < 2; i++)
    c->inst[n++] = (tsh_inst){.op = TSH_OP_LOAD, .dtype = t, .imm = i};
  c->inst[n++] = (tsh_inst){.op = TSH_OP_dot, .dtype = t, .a = 0, .b = 1};
  if (p->layer) {
    c->inst[n++] =
        (tsh_inst){.op = TSH_OP_LOAD, .dtype = t, .imm = 2, .flags = TSH_ROW};
    c->inst[n++] = (tsh_inst){.op = TSH_OP_add, .dtype = t, .a = 2, .b = 3};
    c->inst[n++] = (tsh_inst){.op = TSH_OP_relu, .dtype = t, .a = 4};
    v = 5;
  }
  c->inst[n++] = (tsh_inst){.op = TSH_OP_STORE,
                            .a = (uint16_t)v,
                            .imm = (uint64_t)narg - 1,
                            .flags = TSH_ROW};
  c->k = (tsh_kernel){.size = sizeof c->k,
                      .op = TSH_OP_PROGRAM,
                      .rank = (uint16_t)p->rank,
                      .nfold = (uint16_t)p->nfold,
                      .ninst = (uint16_t)n,
                      .narg = (uint16_t)narg,
                      .flags = TSH_HINT_DOT,
                      .inst_size = sizeof *c->inst,
                      .inst = c->inst,
                      .arg_dtype = c->dtype,
                      .arg_class = c->class_,
                      .arg_rank = c->rank};
}

/* Elements from the lowest to the highest, all strides being positive. */
static uint64_t reach(const product *p, const int64_t *stride) {
  int64_t last = 0;
  for (int k = 0; k < p->rank; k++) last += (p->ext[k] - 1) * stride[k];
  return (uint64_t)last + 1;
}

static tsh_buf *filled(tsh_dev *dev, const product *p, const int64_t *stride) {
  tsh_buf *buf = NULL;
  uint64_t n = reach(p, stride);
  tsh_err err = {.size = sizeof err};
  uint64_t bytes = n * kit_dtype_bytes(p->dtype);
  if (cpu->alloc(dev, bytes, &buf, &err) != TSH_OK) return NULL;
  for (uint64_t i = 0; i < n; i++) {
    double v = (double)(i * 2654435761u % 1000) / 1000 - 0.5;
    if (p->dtype == TSH_f32)
      ((float *)buf->mem)[i] = (float)v;
    else
      ((double *)buf->mem)[i] = v;
  }
  return buf;
}

/* Seconds of one launch. Few microseconds: many of them to a batch. */
static double time_of(tsh_dev *dev, const product *p, const tsh_prog *prog,
                      const tsh_view *view, int threads) {
  static tsh_launch launch[MANY];
  tsh_launch one = {.size = sizeof one,
                    .prog = (tsh_prog *)prog,
                    .extent = p->ext,
                    .arg = view};
  tsh_batch batch = {
      .size = sizeof batch, .launch_size = sizeof one, .launch = launch};
  tsh_err err = {.size = sizeof err};
  uint64_t ticket;
  double best = 1e9, all = 0, guess = p->flops / 60e9 + 300e-9;
  batch.nlaunch = guess > 50e-6 ? 1 : (uint32_t)(50e-6 / guess) + 1;
  for (uint32_t i = 0; i < batch.nlaunch; i++) launch[i] = one;
  for (int i = 0; i < 2000 && (i < 5 || all < 0.15); i++) {
    double from = threads > 1 ? peak_wall_time() : peak_cpu_time();
    if (cpu->submit(dev, &batch, &ticket, &err) != TSH_OK) return 0;
    double took = threads > 1 ? peak_wall_time() : peak_cpu_time();
    took -= from;
    if (took < best) best = took;
    all += took;
  }
  return best / batch.nlaunch;
}

static double run(const cpu_isa *isa, const product *p, int threads) {
  uint32_t never = 0;
  tsh_host host = {
      .size = sizeof host, .cancel = &never, .threads = (uint32_t)threads};
  tsh_err err = {.size = sizeof err};
  tsh_dev *dev = NULL;
  tsh_prog *prog = NULL;
  int64_t bias[AXES] = {0};
  kernel c;
  double took = 0;
  make_kernel(p, &c);
  bias[p->rank - p->nfold - 1] = 1;
  const int64_t *stride[ARGS] = {p->x, p->y, p->layer ? bias : p->out, p->out};
  tsh_view view[ARGS];
  if (cpu_device_open(isa, &cpu_system, &host, &dev, &err) != TSH_OK) return 0;
  memset(view, 0, sizeof view);
  int good = cpu->compile(dev, &c.k, &prog, &err) == TSH_OK;
  for (int i = 0; i < c.k.narg; i++) {
    view[i].buf = filled(dev, p, stride[i]);
    view[i].stride = stride[i];
    good = good && view[i].buf;
  }
  if (good) took = time_of(dev, p, prog, view, threads);
  if (!good) fprintf(stderr, "%s: %s\n", p->name, err.text);
  for (int i = 0; i < c.k.narg; i++) cpu->free(dev, view[i].buf);
  cpu->drop(dev, prog);
  cpu->close(dev);
  return took;
}

/* ---- the table ---------------------------------------------------------- */
typedef struct {
  const cpu_isa *isa;
  const char *word;
  int threads;
} table;

static double peak(const table *t, const product *p) {
  return peak_fma(t->isa->name, p->dtype == TSH_f64, t->threads);
}

static void show(const table *t, const product *p) {
  if (t->word && !strstr(p->name, t->word)) return;
  double most = peak(t, p), took = run(t->isa, p, t->threads);
  double again = peak(t, p);
  if (again < most) most = again;
  printf("%-30s %10.2f us %8.1f GF/s %5.1f %%", p->name, took * 1e6,
         p->flops / took * 1e-9, 100 * p->flops / took / most);
  if (p->bytes > 0)
    printf("  %5.1f GB/s, %3.0f %% of reading", p->bytes / took * 1e-9,
           100 * p->bytes / took / peak_read((uint64_t)p->bytes));
  printf("\n");
  fflush(stdout);
}

/* x [m][k] or its transpose, y [k][n] or its transpose, out [m][n]. */
static product matrix(int dtype, int64_t m, int64_t n, int64_t k,
                      const char *form) {
  product p = {.dtype = dtype,
               .rank = 3,
               .nfold = 1,
               .ext = {m, n, k},
               .x = {k, 0, 1},
               .y = {0, 1, n},
               .out = {n, 1, 0},
               .flops = 2.0 * (double)(m * n * k)};
  if (form[0] == 'T') p.x[0] = 1, p.x[2] = m;
  if (form[1] == 'T') p.y[1] = k, p.y[2] = 1;
  p.layer = form[2] == '+';
  if (m == 1 || n == 1) p.bytes = (double)(m * n * k) * kit_dtype_bytes(dtype);
  snprintf(p.name, sizeof p.name, "%s %dx%dx%d %s", kit_dtype_name(dtype),
           (int)m, (int)n, (int)k, form);
  return p;
}

/* 3x3, pad 1: images of n x c x h x h in a frame, o filters. The axes are n, o,
 * y, x; c, ky, kx. */
static product forward(int64_t n, int64_t c, int64_t o, int64_t h,
                       int backward) {
  int64_t f = h + 2, plane = f * f;
  product p = {.dtype = TSH_f32,
               .rank = 7,
               .nfold = 3,
               .ext = {n, o, h, h, c, 3, 3},
               .x = {c * plane, 0, f, 1, plane, f, 1},
               .y = {0, c * 9, 0, 0, 9, 3, 1},
               .out = {o * h * h, h * h, h, 1},
               .flops = 18.0 * (double)(n * c * o * h * h)};
  snprintf(p.name, sizeof p.name, "conv %s N%d C%d->%d %dx%d",
           backward ? "data" : "forward", (int)n, (int)c, (int)o, (int)h,
           (int)h);
  if (backward) p.y[1] = 9, p.y[4] = o * 9;
  return p;
}

/* The axes are o, c, ky, kx; n, y, x. */
static product weights(int64_t n, int64_t c, int64_t o, int64_t h) {
  int64_t f = h + 2, plane = f * f;
  product p = {.dtype = TSH_f32,
               .rank = 7,
               .nfold = 3,
               .ext = {o, c, 3, 3, n, h, h},
               .x = {0, plane, f, 1, c * plane, f, 1},
               .y = {h * h, 0, 0, 0, o * h * h, h, 1},
               .out = {c * 9, 9, 3, 1},
               .flops = 18.0 * (double)(n * c * o * h * h)};
  snprintf(p.name, sizeof p.name, "conv weights N%d C%d->%d %dx%d", (int)n,
           (int)c, (int)o, (int)h, (int)h);
  return p;
}

static void squares(const table *t) {
  static const int size[] = {4,  8,   12,  16,  20,  24,  32,   48,  50,
                             64, 100, 128, 200, 256, 512, 1000, 1024};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    for (int d = 0; d < 2; d++) {
      int n = size[i];
      product p = matrix(d ? TSH_f64 : TSH_f32, n, n, n, "NN");
      show(t, &p);
    }
  product p = matrix(TSH_f32, 2048, 2048, 2048, "NN");
  show(t, &p);
}

static void layers(const table *t) {
  static const struct {
    int m, n, k;
    const char *form;
  } row[] = {
      {100, 128, 784, "NN"},    {100, 128, 784, "NN+"},   {784, 128, 100, "TN"},
      {100, 784, 128, "NT"},    {100, 10, 128, "NN"},     {100, 10, 128, "NN+"},
      {128, 10, 100, "TN"},     {100, 128, 10, "NT"},     {256, 256, 256, "NT"},
      {512, 512, 512, "NN+"},   {512, 512, 512, "TN"},    {512, 512, 512, "NT"},
      {1024, 1024, 1024, "TN"}, {1024, 1024, 1024, "NT"}, {1024, 64, 64, "NN"},
      {1000, 1000, 64, "NN"},   {64, 64, 1024, "NN"},     {1, 128, 784, "NN"},
      {784, 1, 128, "NN"},      {1, 1024, 1024, "NN"},    {1024, 1, 1024, "NN"},
      {1, 4096, 4096, "NN"},    {4096, 1, 4096, "NN"},    {1, 1024, 1024, "NT"},
      {4, 1024, 1024, "NN"},    {1024, 4, 1024, "NN"}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    product p = matrix(TSH_f32, row[i].m, row[i].n, row[i].k, row[i].form);
    show(t, &p);
  }
}

static void convolutions(const table *t) {
  static const int row[][4] = {
      {32, 1, 16, 28}, {32, 16, 32, 14}, {32, 64, 64, 28}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    const int *r = row[i];
    product p = forward(r[0], r[1], r[2], r[3], 0);
    show(t, &p);
    p = forward(r[0], r[2], r[1], r[3], 1);
    show(t, &p);
    p = weights(r[0], r[1], r[2], r[3]);
    show(t, &p);
  }
}

int main(int argc, char **argv) {
  tsh_err err = {.size = sizeof err};
  table t = {.isa = argc > 1 ? cpu_isa_get(argv[1]) : cpu_isa_best(&err),
             .threads = argc > 2 ? atoi(argv[2]) : 1,
             .word = argc > 3 ? argv[3] : NULL};
  if (!t.isa || t.threads < 1 || t.threads > 2) {
    fprintf(stderr, "gemm: %s\n",
            t.isa ? "1 or 2 threads" : "this machine cannot run that");
    return 1;
  }
  cpu = tsh_cpu_query(TSH_ABI_MAJOR, TSH_ABI_MINOR);
  tsh_props props = {.size = sizeof props};
  if (cpu->props(0, &props, &err) != TSH_OK) return 1;
  printf("%s; kernels: %s, threads: %d\n", props.name, t.isa->name, t.threads);
  for (int d = 0; d < 2; d++)
    printf("fma %s: %.1f GF/s\n", d ? "f64" : "f32",
           peak_fma(t.isa->name, d, t.threads) * 1e-9);
  squares(&t);
  layers(&t);
  convolutions(&t);
  return 0;
}
