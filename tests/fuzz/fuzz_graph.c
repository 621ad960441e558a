/* fuzz_graph.c - random graphs: fused == unfused bit for bit, on every device.
 *
 * A graph is a seed: the same choices are replayed against a planner that
 * fuses, one that runs op by op, and every plugin asked for. All NaNs are one
 * value. Usage: fuzz-graph [--graphs N] [--seed S] [--plugins DIR]
 *                          [--devices A,B] [--ops N] [-v]
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graphs.h"

const tsh_plugin *tsh_cpu_query(uint32_t major, uint32_t minor);

typedef struct {
  const char *label;
  plan *p;
  dev *d;
  int f64; /* the device has f64: draws of dtypes may use it */
} target;

typedef struct {
  unsigned long graphs, seed;
  const char *plugins, *devices;
  int ops, verbose;
} options;

static int parse(int argc, char **argv, options *o) {
  for (int i = 1; i < argc; i++) {
    int more = i + 1 < argc;
    if (!strcmp(argv[i], "-v"))
      o->verbose = 1;
    else if (more && !strcmp(argv[i], "--graphs"))
      o->graphs = strtoul(argv[++i], NULL, 10);
    else if (more && !strcmp(argv[i], "--seed"))
      o->seed = strtoul(argv[++i], NULL, 10);
    else if (more && !strcmp(argv[i], "--plugins"))
      o->plugins = argv[++i];
    else if (more && !strcmp(argv[i], "--devices"))
      o->devices = argv[++i];
    else if (more && !strcmp(argv[i], "--ops"))
      o->ops = atoi(argv[++i]);
    else
      return 0;
  }
  return 1;
}

static int add_target(target *t, int n, dev_set *set, const char *name,
                      const char *label, int unfused) {
  plan_options po = {.unfused = unfused, .verify = 1};
  if (getenv("FUZZ_TRACE")) po.dump = stderr;
  tsh_err err = {.size = sizeof err};
  if (dev_get(set, name, &t[n].d, &err) != TSH_OK ||
      plan_new(set, &po, &t[n].p, &err) != TSH_OK) {
    fprintf(stderr, "fuzz-graph: %s: %s\n", name, err.text);
    exit(2);
  }
  t[n].label = label;
  t[n].f64 = dev_has_op(t[n].d, TSH_OP_add, TSH_f64);
  return n + 1;
}

static int open_targets(target *t, dev_set *set, const char *devices) {
  static char names[256];
  int n = add_target(t, 0, set, "cpu", "cpu unfused", 1);
  n = add_target(t, n, set, "cpu", "cpu", 0);
  if (!devices) return n;
  snprintf(names, sizeof names, "%s", devices);
  for (char *s = strtok(names, ","); s && n < 8; s = strtok(NULL, ",")) {
    char *unfused = strchr(s, '/'); /* "npu/unfused" */
    if (unfused) *unfused = 0;
    n = add_target(t, n, set, s, s, unfused != NULL);
  }
  return n;
}

/* First difference of two results, or -1. NaNs are one value. */
static long differs(const graph_result *a, const graph_result *b) {
  uint32_t each = plan_dtype_bytes(a->dtype);
  for (long i = 0; i < (long)a->count; i++) {
    const unsigned char *x = a->data + (size_t)i * each;
    const unsigned char *y = b->data + (size_t)i * each;
    if (memcmp(x, y, each) == 0) continue;
    if (a->dtype == TSH_f32) {
      float fx, fy;
      memcpy(&fx, x, 4);
      memcpy(&fy, y, 4);
      if (fx != fx && fy != fy) continue;
    }
    if (plan_is_half(a->dtype)) {
      uint16_t hx, hy;
      memcpy(&hx, x, 2);
      memcpy(&hy, y, 2);
      if (isnan(plan_half_value(a->dtype, hx)) &&
          isnan(plan_half_value(a->dtype, hy)))
        continue;
    }
    if (a->dtype == TSH_f64) {
      double dx, dy;
      memcpy(&dx, x, 8);
      memcpy(&dy, y, 8);
      if (dx != dx && dy != dy) continue;
    }
    return i;
  }
  return -1;
}

static void show(const graph_result *r, long at) {
  const unsigned char *x = r->data + (size_t)at * plan_dtype_bytes(r->dtype);
  float f;
  double d;
  uint16_t h;
  int64_t l = 0;
  if (plan_is_half(r->dtype)) {
    memcpy(&h, x, 2);
    printf("%.9g", plan_half_value(r->dtype, h));
    return;
  }
  switch (r->dtype) {
  case TSH_f32:
    memcpy(&f, x, 4);
    printf("%.9g", (double)f);
    break;
  case TSH_f64:
    memcpy(&d, x, 8);
    printf("%.17g", d);
    break;
  default: /* the bits, of signed ones as well */
    memcpy(&l, x, plan_dtype_bytes(r->dtype));
    printf("%#llx", (unsigned long long)l);
  }
}

static int compare(const graph_run *want, const graph_run *got,
                   const char *label, unsigned long seed) {
  if (want->n != got->n) {
    printf("FAIL graph %lu on %s: %d results, want %d\n", seed, label, got->n,
           want->n);
    return 0;
  }
  for (int i = 0; i < want->n; i++) {
    long at;
    if (want->result[i].failed != got->result[i].failed) {
      printf("FAIL graph %lu on %s: result %d %s\n", seed, label, i,
             got->result[i].failed ? "failed" : "did not fail");
      return 0;
    }
    if (want->result[i].failed) continue;
    if ((at = differs(&want->result[i], &got->result[i])) >= 0) {
      printf("FAIL graph %lu on %s: result %d (%s) differs at element %ld: ",
             seed, label, i, want->result[i].what, at);
      show(&got->result[i], at);
      printf(", want ");
      show(&want->result[i], at);
      printf("\n");
      return 0;
    }
  }
  return 1;
}

static uint64_t total(const target *t, size_t offset) {
  return *(const uint64_t *)((const char *)plan_counters_get(t->p) + offset);
}

static void report(const target *t, int n, const graph_stats *s) {
  uint64_t unfused = total(&t[0], offsetof(plan_counters, kernels));
  printf("graphs with: views %lu, set %lu, cat %lu, pad %lu, matmul %lu, "
         "reductions %lu, nan %lu, in place %lu\n",
         s->views, s->set, s->cat, s->pad, s->matmul, s->folds, s->nan,
         s->in_place);
  for (int i = 1; i < n; i++) {
    uint64_t kernels = total(&t[i], offsetof(plan_counters, kernels));
    printf(
        "%-10s launches %llu / %llu unfused = %.3f, with several phases "
        "%llu, in place %llu, plan hits %llu\n",
        t[i].label, (unsigned long long)kernels, (unsigned long long)unfused,
        unfused ? (double)kernels / (double)unfused : 0,
        (unsigned long long)total(&t[i], offsetof(plan_counters, phased)),
        (unsigned long long)total(&t[i], offsetof(plan_counters, in_place)),
        (unsigned long long)total(&t[i], offsetof(plan_counters, plan_hits)));
  }
}

/* Ops that a plugin device left to cpu: only CALL ops may, and those of a dtype
 * that it can only store. */
static int check_cpu_ops(const target *t) {
  int bad = 0;
  if (dev_id(t->d) == 0 || !dev_has_op(t->d, TSH_OP_add, TSH_bf16)) return 0;
  for (int op = 16; op < 160; op++)
    if (plan_op_runs(t->p, op, 0) && op != TSH_OP_copy) {
      printf("FAIL %s: op %d ran on cpu %llu times\n", t->label, op,
             (unsigned long long)plan_op_runs(t->p, op, 0));
      bad++;
    }
  return bad;
}

int main(int argc, char **argv) {
  options o = {.graphs = 1000, .seed = 1, .ops = 24};
  dev_options dopt = {.builtin = tsh_cpu_query, .scheme = "cpu"};
  unsigned long passed = 0, failed = 0;
  graph_stats stats = {0};
  target t[8];
  dev_set *set;
  tsh_err err = {.size = sizeof err};
  int n;
  if (!parse(argc, argv, &o)) return 2;
  dopt.path = o.plugins;
  if (dev_set_new(&dopt, &set, &err) != TSH_OK) {
    fprintf(stderr, "fuzz-graph: %s\n", err.text);
    return 2;
  }
  n = open_targets(t, set, o.devices);
  for (unsigned long g = 0; g < o.graphs; g++) {
    graph_run want = {0};
    int good = 1;
    for (int i = 0; i < n; i++) {
      graph_run got = {0};
      if (!graph_play(o.seed + g, o.ops, t[i].p, t[i].d, i ? &got : &want,
                      i ? NULL : &stats)) {
        printf("FAIL graph %lu on %s: %s\n", o.seed + g, t[i].label,
               i ? got.error : want.error);
        good = 0;
      } else if (i && !compare(&want, &got, t[i].label, o.seed + g)) {
        good = 0;
      }
      if (i) graph_run_free(&got);
    }
    graph_run_free(&want);
    if (good)
      passed++;
    else
      failed++;
    if (failed > 20) break;
    if (o.verbose && g % 1000 == 999) fprintf(stderr, "%lu graphs\n", g + 1);
  }
  report(t, n, &stats);
  for (int i = 1; i < n; i++) failed += (unsigned long)check_cpu_ops(&t[i]);
  for (int i = 0; i < n; i++) plan_free(t[i].p);
  dev_set_free(set);
  printf("%lu passed, %lu failed\n", passed, failed);
  return failed != 0;
}
