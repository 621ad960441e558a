/* rig.h - what the planner's tests share: a planner over one device, tensors
 * made of C arrays, and the owner of every node until it is told to let go.
 * Whatever goes wrong here ends the test. */
#ifndef RIG_H
#define RIG_H

#include <criterion/criterion.h>
#include "graph.h" /* brings priv.h */

typedef struct {
  dev_set *devices;
  dev *d;
  plan *p;
  tsh_err err;
  plan_node **node; /* owned, in the order they were made */
  uint32_t n, cap;
  char text[512]; /* of the last expectation */
} rig;

/* device: "cpu", "example" or "opaque"; the planner checks its graphs. */
void rig_open(rig *r, const char *device);
/* Drops all, and expects that no buffer is left. */
void rig_close(rig *r);
void rig_drop(rig *r, plan_node *x);
/* Drops every node made since there were n of them, but x (may be NULL): what
 * a garbage collector does after a step. */
void rig_drop_since(rig *r, uint32_t n, const plan_node *x);
plan_node *rig_own(rig *r, tsh_status rc, plan_node *x); /* rc must be OK */
/* A recording that must fail: its status, and *x for its node. */
tsh_status rig_fails(rig *r, tsh_status rc, plan_node **x);

/* A rank and extents, as the two arguments that they are. */
#define DIMS(...)                                                              \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) {     \
    __VA_ARGS__                                                                \
  }
#define SCALAR     0, NULL
#define RANGE(...) ((const plan_range[]){__VA_ARGS__})
#define ORDER(...) ((const uint8_t[]){__VA_ARGS__})

const plan_shape *shape_of(rig *r, int rank, const int64_t *dim);
plan_operand num(double v);
plan_operand whole(int64_t v);
plan_operand truth(int v);

/* ---- leaves: ready at once ---- */
plan_node *leaf(rig *r, int dtype, const void *host, int rank,
                const int64_t *dim);
plan_node *ramp(rig *r, int rank, const int64_t *dim); /* f32 0, 1, 2 ... */
#define FLOATS(r, ...)                                                         \
  leaf((r), TSH_f32, (float[]){__VA_ARGS__},                                   \
       DIMS((int64_t)(sizeof((float[]){__VA_ARGS__}) / sizeof(float))))
#define LONGS(r, ...)                                                          \
  leaf((r), TSH_i64, (int64_t[]){__VA_ARGS__},                                 \
       DIMS((int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))))

/* ---- recorded ---- */
plan_node *full(rig *r, double v, int rank, const int64_t *dim); /* f32 */
plan_node *map1(rig *r, int op, plan_node *a);
plan_node *map2(rig *r, int op, plan_node *a, plan_node *b);
plan_node *mapn(rig *r, int op, plan_node *a, double b);
plan_node *mapi(rig *r, int op, plan_node *a, int64_t b);
plan_node *cast(rig *r, plan_node *x, int dtype);
plan_node *fold(rig *r, int op, plan_node *x, uint32_t axes);
plan_node *fold_keep(rig *r, int op, plan_node *x, uint32_t axes);
plan_node *matmul(rig *r, plan_node *a, plan_node *b);
plan_node *reshape(rig *r, plan_node *x, int rank, const int64_t *dim);
plan_node *permute(rig *r, plan_node *x, const uint8_t *order);
plan_node *transpose(rig *r, plan_node *x); /* of two axes */
plan_node *slice(rig *r, plan_node *x, const plan_range *range);
plan_node *expand(rig *r, plan_node *x, int rank, const int64_t *dim);
plan_node *set(rig *r, plan_node *x, const plan_range *range, double v);
plan_node *index_of(rig *r, plan_node *y, int64_t n);

/* ---- values ---- */
tsh_status demand(rig *r, plan_node *x, int flags);
double value(rig *r, plan_node *x, int64_t i); /* element i, row-major */
/* Are the elements of x these numbers? NaNs are one value, 0 is not -0. */
int are(rig *r, plan_node *x, int n, const double *want);
#define EXPECT(r, x, ...)                                                      \
  cr_expect(are((r), (x), sizeof((double[]){__VA_ARGS__}) / sizeof(double),    \
                (double[]){__VA_ARGS__}),                                      \
            "%s", (r)->text)

/* Launches that a demand of these nodes sends, others being collected. */
uint64_t launches_of(rig *r, plan_node *const *x, int n);
#define LAUNCHES(r, ...)                                                       \
  launches_of(                                                                 \
      (r), (plan_node *[]){__VA_ARGS__},                                       \
      (int)(sizeof((plan_node *[]){__VA_ARGS__}) / sizeof(plan_node *)))
#define COUNTER(r, name) (plan_counters_get((r)->p)->name)

#endif
