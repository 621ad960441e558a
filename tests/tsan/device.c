/* device.c - launches that threads of the cpu plugin share, for
 * ThreadSanitizer: every way of walking, a stop from another thread, the memory
 * of the workers. Results are those of one thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"

const tsh_plugin *tsh_cpu_query(uint32_t major, uint32_t minor);

enum { ROWS = 40, COLUMNS = 9000, ALL = ROWS * COLUMNS, ARGS = 3 };

static int passed, failed;
static const tsh_plugin *p;

static void expect(int good, const char *what) {
  passed += good != 0;
  if (good) return;
  fprintf(stderr, "device: %s\n", what);
  failed++;
}

static void need(tsh_status rc, const tsh_err *err) {
  if (rc == TSH_OK) return;
  fprintf(stderr, "device: %s\n", err->text);
  exit(1);
}

/* ---- programs: argument 0 is f32, 1 is i32, 2 is the output ------------- */
typedef struct {
  const char *name;
  int nfold, ninst;
  tsh_inst inst[10];
  int64_t rows, columns, row_stride, column_stride;
  int out; /* dtype */
} task;

#define F .dtype = TSH_f32
#define READ(n)                                                                \
  { .op = TSH_OP_LOAD, F, .imm = n }
#define OF(o, x)                                                               \
  { .op = TSH_OP_##o, F, .a = x }
#define OF2(o, x, y)                                                           \
  { .op = TSH_OP_##o, F, .a = x, .b = y }
#define WRITE(x)                                                               \
  { .op = TSH_OP_STORE, .a = x, .imm = 2 }
#define WRITE_ROW(x)                                                           \
  { .op = TSH_OP_STORE, .flags = TSH_ROW, .a = x, .imm = 2 }
#define SOFTMAX                                                                \
  {                                                                            \
    READ(0), OF(max, 0), OF2(sub, 0, 1), OF(exp, 2), OF(sum, 3),               \
        OF2(div, 3, 4), WRITE(5)                                               \
  }
static const task tasks[] = {
    {"a map",
     0,
     4,
     {READ(0), OF(exp, 0), OF2(add, 0, 1), WRITE(2)},
     ROWS,
     COLUMNS,
     COLUMNS,
     1,
     TSH_f32},
    {"short rows", 1, 7, SOFTMAX, COLUMNS, ROWS, ROWS, 1, TSH_f32},
    {"rows", 1, 7, SOFTMAX, ROWS, COLUMNS, COLUMNS, 1, TSH_f32},
    {"columns", 1, 7, SOFTMAX, COLUMNS, ROWS, 1, COLUMNS, TSH_f32},
    {"a long row", 1, 7, SOFTMAX, 1, ALL, ALL, 1, TSH_f32},
    {"a position",
     1,
     4,
     {READ(0),
      {.op = TSH_OP_INDEX, .dtype = TSH_i64, .imm = 1},
      {.op = TSH_OP_argmax, .dtype = TSH_i64, .a = 0, .b = 1},
      WRITE_ROW(2)},
     1,
     ALL,
     ALL,
     1,
     TSH_i64},
    {"a chain",
     1,
     3,
     {READ(0), OF2(dot, 0, 0), WRITE_ROW(1)},
     ROWS,
     COLUMNS,
     COLUMNS,
     1,
     TSH_f32},
};

static tsh_prog *compile(tsh_dev *dev, const task *k) {
  const uint8_t dtype[ARGS] = {
      TSH_f32, k->inst[1].op == TSH_OP_INDEX ? TSH_i64 : TSH_i32,
      (uint8_t)k->out};
  static const uint8_t class_[ARGS], rank[ARGS] = {2, 2, 2};
  tsh_kernel kernel = {.size = sizeof kernel,
                       .rank = 2,
                       .nfold = (uint16_t)k->nfold,
                       .narg = ARGS,
                       .ninst = (uint16_t)k->ninst,
                       .inst_size = sizeof *k->inst,
                       .inst = k->inst,
                       .arg_dtype = dtype,
                       .arg_class = class_,
                       .arg_rank = rank};
  tsh_err err = {.size = sizeof err};
  tsh_prog *prog = NULL;
  need(p->compile(dev, &kernel, &prog, &err), &err);
  return prog;
}

static tsh_dev *open_device(uint32_t threads, const uint32_t *cancel) {
  const tsh_host host = {
      .size = sizeof host, .cancel = cancel, .threads = threads};
  tsh_err err = {.size = sizeof err};
  tsh_dev *dev;
  need(cpu_device_open(cpu_isa_best(&err), &cpu_system, &host, &dev, &err),
       &err);
  dev->run.force = CPU_FORCE_SHARE;
  return dev;
}

static tsh_status launch(tsh_dev *dev, tsh_prog *prog, const task *k,
                         tsh_buf *const *buf, tsh_err *err) {
  const int64_t extent[2] = {k->rows, k->columns};
  const int64_t stride[2] = {k->row_stride, k->column_stride};
  const int index = k->inst[1].op == TSH_OP_INDEX;
  tsh_view view[ARGS] = {{buf[0], 0, NULL, stride},
                         {index ? NULL : buf[1], 0, NULL, stride},
                         {buf[2], 0, NULL, stride}};
  tsh_launch one = {
      .size = sizeof one, .prog = prog, .extent = extent, .arg = view};
  tsh_batch batch = {.size = sizeof batch,
                     .nlaunch = 1,
                     .launch_size = sizeof one,
                     .launch = &one};
  uint64_t ticket;
  *err = (tsh_err){.size = sizeof *err, .at = -1};
  return p->submit(dev, &batch, &ticket, err);
}

static void fill(tsh_dev *dev, tsh_buf **buf) {
  tsh_err err = {.size = sizeof err};
  for (int i = 0; i < ARGS; i++)
    need(p->alloc(dev, ALL * 8, &buf[i], &err), &err);
  for (int i = 0; i < ALL; i++) {
    ((float *)buf[0]->mem)[i] = (float)(i * 7919 % 1000) * 0.002f;
    ((int32_t *)buf[1]->mem)[i] = 1 + i % 10;
  }
}

static void run_task(const task *k, uint32_t threads, char *out) {
  tsh_dev *dev = open_device(threads, NULL);
  tsh_prog *prog = compile(dev, k);
  tsh_buf *buf[ARGS];
  tsh_err err;
  fill(dev, buf);
  for (int i = 0; i < 3; i++) {
    tsh_memstat m = {.size = sizeof m};
    memset(buf[2]->mem, 0, ALL * 8);
    expect(launch(dev, prog, k, buf, &err) == TSH_OK, k->name);
    if (i == 1) p->memstat(dev, 1, &m, &err); /* and again without peers */
    if (i == 1) expect(!dev->run.peer, "trim leaves memory of workers");
  }
  memcpy(out, buf[2]->mem, ALL * 8);
  for (int i = 0; i < ARGS; i++) p->free(dev, buf[i]);
  p->drop(dev, prog);
  p->close(dev);
}

static void same_results(void) {
  static char one[ALL * 8], many[ALL * 8];
  for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++) {
    run_task(&tasks[k], 1, one);
    for (uint32_t threads = 2; threads < 5; threads++) {
      run_task(&tasks[k], threads, many);
      expect(memcmp(one, many, sizeof one) == 0, tasks[k].name);
    }
  }
}

/* ---- the first bad element ---------------------------------------------- */
static void bad_elements(void) {
  static const task k = {
      "positions",
      0,
      4,
      {{.op = TSH_OP_LOAD, .dtype = TSH_i32, .imm = 1},
       {.op = TSH_OP_CONST, .dtype = TSH_i32, .imm = 10},
       {.op = TSH_OP_index, .dtype = TSH_i32, .a = 0, .b = 1},
       WRITE(2)},
      ROWS,
      COLUMNS,
      COLUMNS,
      1,
      TSH_i32};
  tsh_dev *dev = open_device(3, NULL);
  tsh_prog *prog = compile(dev, &k);
  tsh_buf *buf[ARGS];
  tsh_err err;
  fill(dev, buf);
  expect(launch(dev, prog, &k, buf, &err) == TSH_OK, "good positions");
  for (int first = ALL - 1; first > 0; first = first * 2 / 3) {
    ((int32_t *)buf[1]->mem)[first] = 11;
    expect(launch(dev, prog, &k, buf, &err) == TSH_EINDEX, "a bad position");
    expect(err.at == first, "the first bad position");
  }
  for (int i = 0; i < ARGS; i++) p->free(dev, buf[i]);
  p->drop(dev, prog);
  p->close(dev);
}

/* ---- a stop ------------------------------------------------------------- */
static void *cancel_soon(void *word) {
  usleep(30000);
  __atomic_store_n((uint32_t *)word, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void stops(const task *k) {
  uint32_t word = 0;
  tsh_dev *dev = open_device(3, &word);
  tsh_prog *prog = compile(dev, k);
  tsh_buf *buf[ARGS];
  tsh_err err;
  pthread_t other;
  tsh_status rc = TSH_OK;
  fill(dev, buf);
  pthread_create(&other, NULL, cancel_soon, &word);
  while (rc == TSH_OK) rc = launch(dev, prog, k, buf, &err);
  pthread_join(other, NULL);
  expect(rc == TSH_ECANCELLED, "a launch is stopped");
  word = 0;
  expect(launch(dev, prog, k, buf, &err) == TSH_OK, "and goes on after it");
  for (int i = 0; i < ARGS; i++) p->free(dev, buf[i]);
  p->drop(dev, prog);
  p->close(dev);
}

/* ---- copies ------------------------------------------------------------- */
static void copies(void) {
  enum { BYTES = 3000001 };
  static char from[BYTES], to[BYTES];
  tsh_dev *dev = open_device(3, NULL);
  tsh_buf *buf;
  tsh_err err = {.size = sizeof err};
  dev->run.force = 0;
  for (int i = 0; i < BYTES; i++) from[i] = (char)(i * 31 % 251);
  need(p->alloc(dev, 2 * BYTES, &buf, &err), &err);
  for (int i = 0; i < 20; i++) { /* the first ones without threads */
    tsh_copy in = {.size = sizeof in, .dst = buf, .bytes = BYTES, .host = from};
    tsh_copy by = {.size = sizeof by, .dst = buf, .src = buf, .bytes = BYTES};
    tsh_copy out = {.size = sizeof out, .src = buf, .bytes = BYTES, .host = to};
    by.dst_at = out.src_at = i % 2 ? 1000 : BYTES; /* overlapping, apart */
    need(p->copy(dev, &in, &err), &err);
    need(p->copy(dev, &by, &err), &err);
    need(p->copy(dev, &out, &err), &err);
    expect(memcmp(from, to, BYTES) == 0, "a copy");
    memset(to, 0, BYTES);
  }
  p->free(dev, buf);
  p->close(dev);
}

int main(void) {
  p = tsh_cpu_query(TSH_ABI_MAJOR, TSH_ABI_MINOR);
  same_results();
  bad_elements();
  copies();
  for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++) stops(&tasks[k]);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
