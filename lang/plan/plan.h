/* plan.h - the planner: what is computed, in how many kernels?
 *
 * Ops are recorded into one pending trace and computed when a value is
 * demanded. A plan_node is a tensor value: shape, dtype and device are known
 * when it is recorded, its elements once it is ready. Axes, indices and
 * ranges are 0-based here. Nothing here knows Lua. One thread owns a plan.
 *
 * Every function returns a tsh_status; on failure err holds one sentence, *out
 * is NULL and nothing was recorded. *out is owned: plan_drop it.
 */
#ifndef PLAN_H
#define PLAN_H

#include <stdio.h>
#include "dev.h"
#include "tsh_plugin.h"

#define PLAN_RANK 8 /* axes of a tensor */

typedef struct plan plan;
typedef struct plan_node plan_node;

/* Interned: equal shapes are one pointer. Borrowed from the plan for ever. */
typedef struct {
  uint32_t id, rank;
  int64_t count; /* product of dim */
  int64_t dim[PLAN_RANK];
} plan_shape;

typedef struct {
  int unfused;          /* one kernel per op (tests, error isolation) */
  int verify;           /* check the graph between passes */
  int shapes_only;      /* plans are made, but nothing is compiled, run or
                           stored: see plan_is_known */
  uint64_t cache_bytes; /* plan cache limit; 0: 64 MiB */
  FILE *dump;           /* every plan that is made is explained here; NULL */
} plan_options;

tsh_status plan_new(dev_set *devices, const plan_options *options, plan **out,
                    tsh_err *err);
void plan_free(plan *p); /* takes NULL; every node must have been dropped */
void plan_set_options(plan *p, const plan_options *options);

/* ---- nodes -------------------------------------------------------------- */
plan_node *plan_keep(plan_node *n);    /* one more owner */
void plan_drop(plan *p, plan_node *n); /* takes NULL */
const plan_shape *plan_shape_of(const plan_node *n);
int plan_dtype_of(const plan_node *n);
/* Was n filled with one f32 or f64 number, and not computed yet? */
int plan_is_filled(const plan_node *n, double *value);
dev *plan_dev_of(const plan_node *n);
uint32_t plan_site_of(const plan_node *n); /* see plan_at */
int plan_is_ready(const plan_node *n);     /* its elements exist */
/* Has its elements: ready, and not just as shapes_only makes it ready. */
int plan_is_known(const plan_node *n);
/* Ready, row-major, and no other value lies in its buffer. */
int plan_is_alone(const plan_node *n);
/* The error of a failed node (borrowed), or NULL. */
const tsh_err *plan_error_of(const plan_node *n);

const plan_shape *plan_shape_get(plan *p, int rank, const int64_t *dim,
                                 tsh_err *err); /* NULL on failure */
const char *plan_dtype_name(int dtype);
int plan_dtype_find(const char *name); /* 0 when unknown */
uint32_t plan_dtype_bytes(int dtype);
int plan_dtype_kind(int dtype); /* TSH_KIND_* */
int plan_is_half(int dtype);    /* f16, bf16 */
/* An element of a half dtype as a double, and the nearest one to v. */
double plan_half_value(int dtype, uint16_t bits);
uint16_t plan_half_of(int dtype, double v);
/* An integer as a double that rounds to a half as the integer itself would. */
double plan_half_odd(int64_t v);
/* The one promotion table; 0 when the two have no common dtype. */
int plan_promote(int dtype_a, int dtype_b);
/* "f32[2,3]", " @npu:0" appended unless on cpu. Returns text. */
char *plan_describe(const plan_node *n, char *text, size_t size);

/* The call site of the ops recorded from now on: any number that the caller
 * can turn into a line; 0 unknown. */
void plan_at(plan *p, uint32_t site);

/* An operand: a tensor, or a number that takes the tensors' dtype. */
enum { PLAN_TENSOR = 0, PLAN_INT, PLAN_REAL, PLAN_BOOL };
typedef struct {
  plan_node *node; /* borrowed; for PLAN_TENSOR */
  tsh_scalar num;  /* .i for INT and BOOL, .f for REAL */
  int kind;
} plan_operand;

/* ---- recording: creation ------------------------------------------------ */
tsh_status plan_full(plan *p, dev *d, int dtype, const plan_shape *shape,
                     const plan_operand *value, plan_node **out, tsh_err *err);
/* 0, 1, 2 ... in row-major order, i64 or i32. */
tsh_status plan_iota(plan *p, dev *d, int dtype, const plan_shape *shape,
                     plan_node **out, tsh_err *err);
/* n elements start + i*step; both INT: exact integers; else floats computed in
 * double and rounded once. dtype 0: i64, or f32 when one is a float. */
tsh_status plan_arange(plan *p, dev *d, int dtype, const plan_operand *start,
                       const plan_operand *step, int64_t n, plan_node **out,
                       tsh_err *err);
/* A copy of row-major host elements; ready at once. */
tsh_status plan_data(plan *p, dev *d, int dtype, const plan_shape *shape,
                     const void *host, plan_node **out, tsh_err *err);
/* The same of elements that `fill` writes: into the device's own memory where
 * the host sees it, else piece by piece into a buffer that is copied. It is
 * called for consecutive bytes, at least once unless there are none. */
typedef tsh_status (*plan_filler)(void *ud, void *to, uint64_t bytes,
                                  tsh_err *err);
tsh_status plan_fill(plan *p, dev *d, int dtype, const plan_shape *shape,
                     plan_filler fill, void *ud, plan_node **out, tsh_err *err);
typedef struct {
  uint64_t key, base; /* base advances with each draw, in Philox blocks */
} plan_rng;
/* Uniform in [0, 1) and standard normal, of any float dtype. A uniform half has
 * as many random bits as it can hold, so that none is rounded to 1. */
tsh_status plan_rand(plan *p, dev *d, int dtype, const plan_shape *shape,
                     plan_rng *rng, plan_node **out, tsh_err *err);
tsh_status plan_randn(plan *p, dev *d, int dtype, const plan_shape *shape,
                      plan_rng *rng, plan_node **out, tsh_err *err);
/* Random words 0..2^32-1 as i64 (what rand and shuffles are made of). */
tsh_status plan_random(plan *p, dev *d, const plan_shape *shape, plan_rng *rng,
                       plan_node **out, tsh_err *err);

/* ---- recording: MAP, FOLD ----------------------------------------------- */
/* Any MAP op of the table but cast, copy. Broadcasts, promotes (language
 * rules: int with float literal gives f32, `/` and float functions of ints
 * give f32), moves a cpu operand to the other's device. At least one operand
 * is a tensor. where takes (bool condition, x, y). */
tsh_status plan_map(plan *p, int op, const plan_operand *in, int n,
                    plan_node **out, tsh_err *err);
tsh_status plan_cast(plan *p, plan_node *x, int dtype, plan_node **out,
                     tsh_err *err); /* x itself (kept) when it has dtype */
/* sum prod max min any all over the axes whose bit is set. sum, prod of bool
 * and signed integers give i64, of unsigned ones u64 (i64 on a device without
 * it); any, all take anything; max, min over no element are an error. Halves
 * are summed, multiplied, and in all that is made of sums, computed in f32 and
 * rounded once at the end. */
tsh_status plan_fold(plan *p, int op, plan_node *x, uint32_t axes, int keep,
                     plan_node **out, tsh_err *err);
/* 0-based i64 positions along an axis; axis -1: in the flattened tensor. */
tsh_status plan_argfold(plan *p, int op, plan_node *x, int axis, int keep,
                        plan_node **out, tsh_err *err);

/* FOLD dot of two tensors of one dtype, broadcast against each other, over the
 * axes whose bit is set: what matmul and its gradients are made of. */
tsh_status plan_dot(plan *p, plan_node *a, plan_node *b, uint32_t axes,
                    int keep, plan_node **out, tsh_err *err);

/* ---- recording: MOVE ---------------------------------------------------- */
typedef struct {
  int64_t start, count, step; /* elements start, start+step, ...; step != 0 */
} plan_range;

tsh_status plan_reshape(plan *p, plan_node *x, const plan_shape *shape,
                        plan_node **out, tsh_err *err);
tsh_status plan_permute(plan *p, plan_node *x, const uint8_t *order,
                        plan_node **out, tsh_err *err);
/* NumPy broadcasting of x to shape (which may have more axes in front). */
tsh_status plan_expand(plan *p, plan_node *x, const plan_shape *shape,
                       plan_node **out, tsh_err *err);
tsh_status plan_slice(plan *p, plan_node *x, const plan_range *range,
                      plan_node **out, tsh_err *err); /* one range per axis */
/* The same, but of a pending value no more is computed than the part needs,
 * as far as it is made element by element. */
tsh_status plan_part(plan *p, plan_node *x, const plan_range *range,
                     plan_node **out, tsh_err *err);
tsh_status plan_pad(plan *p, plan_node *x, const int64_t *before,
                    const int64_t *after, const plan_operand *value,
                    plan_node **out, tsh_err *err);
tsh_status plan_cat(plan *p, plan_node *const *x, int n, int axis,
                    plan_node **out, tsh_err *err);
/* x with x[range] = v (v broadcasts to the range); a new value. */
tsh_status plan_set(plan *p, plan_node *x, const plan_range *range,
                    const plan_operand *v, plan_node **out, tsh_err *err);
tsh_status plan_detach(plan *p, plan_node *x, plan_node **out, tsh_err *err);
typedef struct {
  int64_t size, stride, dilation; /* all from 1 */
} plan_window;
/* Axis of extent n becomes (n - dilation*(size-1) - 1) / stride + 1 windows,
 * and a new last axis runs through each: out[..i..,j] is
 * x[..i*stride + j*dilation..]. At least one window must fit. */
tsh_status plan_windows(plan *p, plan_node *x, int axis,
                        const plan_window *window, plan_node **out,
                        tsh_err *err);
/* x[0] for everything but gradients, which go to x[1] .. x[n-1]: those inputs
 * are kept by the record of a tape, and by nothing else. */
tsh_status plan_custom(plan *p, plan_node *const *x, int n, plan_node **out,
                       tsh_err *err);
tsh_status plan_to(plan *p, plan_node *x, dev *d, plan_node **out,
                   tsh_err *err); /* x itself (kept) when it is there */

/* ---- recording: CALL ---------------------------------------------------- */
/* 1-based or negative positions of 1..n to 0-based, checked when computed. */
tsh_status plan_index(plan *p, plan_node *y, int64_t n, plan_node **out,
                      tsh_err *err);
tsh_status plan_take(plan *p, plan_node *x, plan_node *at, int axis,
                     plan_node **out, tsh_err *err); /* at: 0-based ints */
tsh_status plan_index_add(plan *p, plan_node *x, plan_node *at, plan_node *v,
                          int axis, plan_node **out, tsh_err *err);
/* The same of index_add, index_set (of equal positions the last), index_mul,
 * index_max, index_min. */
tsh_status plan_index_put(plan *p, int op, plan_node *x, plan_node *at,
                          plan_node *v, int axis, plan_node **out,
                          tsh_err *err);
/* at: 0-based ints of x's rank, beside the axis no larger than x; each is
 * replaced by the element of x there. v of at's shape is added there. */
tsh_status plan_gather(plan *p, plan_node *x, plan_node *at, int axis,
                       plan_node **out, tsh_err *err);
tsh_status plan_scatter_add(plan *p, plan_node *x, plan_node *at, plan_node *v,
                            int axis, plan_node **out, tsh_err *err);
/* Stable in both directions; nan is the largest, -0 equals 0. Positions are
 * 0-based i64. */
tsh_status plan_sort(plan *p, plan_node *x, int axis, int descending,
                     plan_node **out, tsh_err *err);
tsh_status plan_argsort(plan *p, plan_node *x, int axis, int descending,
                        plan_node **out, tsh_err *err);
/* The first k positions of an argsort, descending when `largest`. */
tsh_status plan_argtopk(plan *p, plan_node *x, int axis, int64_t k, int largest,
                        plan_node **out, tsh_err *err);
/* op: cumsum or cumprod. bool and ints give i64. */
tsh_status plan_scan(plan *p, int op, plan_node *x, int axis, plan_node **out,
                     tsh_err *err);
/* 0-based row-major positions, i64[n], of the first n true elements of a bool
 * tensor; when there are fewer the rest is 0. */
tsh_status plan_nonzero(plan *p, plan_node *mask, int64_t n, plan_node **out,
                        tsh_err *err);

/* ---- recording: compositions -------------------------------------------- */
/* NumPy's matmul: ranks 1 and up, batch axes broadcast. */
tsh_status plan_matmul(plan *p, plan_node *a, plan_node *b, plan_node **out,
                       tsh_err *err);
tsh_status plan_mean(plan *p, plan_node *x, uint32_t axes, int keep,
                     plan_node **out, tsh_err *err);
tsh_status plan_var(plan *p, plan_node *x, uint32_t axes, int keep,
                    double correction, plan_node **out, tsh_err *err);
tsh_status plan_softmax(plan *p, plan_node *x, int axis, plan_node **out,
                        tsh_err *err);
tsh_status plan_log_softmax(plan *p, plan_node *x, int axis, plan_node **out,
                            tsh_err *err);
/* at: 0-based ints; adds a last axis of n; dtype of the result. */
tsh_status plan_one_hot(plan *p, plan_node *at, int64_t n, int dtype,
                        plan_node **out, tsh_err *err);

/* ---- demanding ---------------------------------------------------------- */
enum {
  PLAN_EXACT = 1, /* the caller has just collected: dead nodes are dropped */
  PLAN_LAST = 2,  /* second try after TSH_ENOMEM: fail the node that needs it */
  PLAN_ONLY = 4   /* compute just these and what they need, leave the rest */
};
/* Runs the whole pending trace (PLAN_ONLY: see above); the nodes are ready or
 * failed afterwards. TSH_OK even when some other node failed. An error of one
 * of the nodes comes back (site: plan_error_site). TSH_ECANCELLED,
 * TSH_ENOMEM, TSH_EDEVICE: the nodes stay pending and may be demanded again.
 * TSH_EINVAL when a demand is running. n 0 runs the trace. */
tsh_status plan_demand(plan *p, plan_node *const *nodes, int n, int flags,
                       tsh_err *err);
/* Recording has reached a point where the trace should be cut (repeats, 4,096
 * ops, or too many live bytes): the caller demands nothing with n 0. */
int plan_wants_cut(const plan *p);
/* Intermediates are large enough that the caller should collect garbage and
 * pass PLAN_EXACT. */
int plan_wants_collect(const plan *p);
/* Demands x, then copies its elements row-major to host (bytes = count *
 * dtype bytes). Those of a value that is not known are nan, 1 or false. */
tsh_status plan_read(plan *p, plan_node *x, void *host, int flags,
                     tsh_err *err);
/* Until it is off again a demand of what is not ready fails with TSH_EINVAL and
 * changes nothing; n 0 is passed over. */
int plan_refuse(plan *p, int on);        /* was it on? */
uint32_t plan_error_site(const plan *p); /* of the last error returned */
/* Failed since the last call of this function and not demanded: count. */
uint32_t plan_failures(plan *p);

/* ---- the way back (back.c): of gradients --- */
/* g, a fold of a tensor of shape s over these axes, repeated along them. */
tsh_status plan_spread(plan *p, plan_node *g, const plan_shape *s,
                       uint32_t axes, plan_node **out, tsh_err *err);
/* g summed over the axes along which a tensor of this shape was expanded. */
tsh_status plan_unexpand(plan *p, plan_node *g, const plan_shape *shape,
                         plan_node **out, tsh_err *err);
/* A matmul is a dot of two expanded operands. Summing the product of g, the
 * gradient of the dot over these axes, and the other operand, over what the
 * expand of the first one from `small` to s repeated, is a dot, too. NULL: it
 * repeated nothing. */
tsh_status plan_dot_back(plan *p, plan_node *g, const plan_shape *s,
                         uint32_t axes, plan_node *other,
                         const plan_shape *small, plan_node **out,
                         tsh_err *err);

/* ---- the tape ------------------------------------------------------------
 * While a tape is open every recorded node is retained as a record. Tapes nest;
 * a tape sees the records made since it was opened. --- */
tsh_status plan_tape_open(plan *p, uint32_t *tape, tsh_err *err);
void plan_tape_close(plan *p, uint32_t tape);
uint32_t plan_tape_end(const plan *p); /* records are tape..end-1 */
plan_node *plan_tape_node(const plan *p, uint32_t i); /* borrowed */
/* Which values the gradient rule of an op names: bit 0 the result, bit k input
 * k (from 1). They are kept when a flush falls between. */
void plan_set_saves(plan *p, int op, uint32_t bits);

/* A record's contents, borrowed. */
typedef struct {
  int op, n;              /* table id; number of inputs */
  const plan_operand *in; /* a node, or the number as recorded */
  uint32_t axes; /* FOLD: folded axes; axis of cat, windows and CALL ops */
  int keep;      /* FOLD: the axes stay with extent 1; sort argsort: descending;
                    argtopk: largest */
  const uint8_t *order;          /* permute */
  const plan_range *range;       /* slice, set */
  const int64_t *before, *after; /* pad */
  const plan_window *window;
} plan_record;
void plan_record_of(const plan_node *n, plan_record *out);

/* ---- looking ------------------------------------------------------------ */
enum {
  PLAN_RUN = 1,    /* runs it too, launch by launch, and tells their times */
  PLAN_SOURCE = 2, /* also the program of each kernel */
  PLAN_DOT = 4     /* a graph in the language of Graphviz instead */
};
/* Text for :plan: kernels of the pending trace, what was fused, why each cut
 * was made, reads, writes, flops. Without PLAN_RUN the nodes stay pending. */
tsh_status plan_explain(plan *p, plan_node *const *nodes, int n, int flags,
                        FILE *out, tsh_err *err);

/* X(name, doc) */
#define PLAN_COUNTERS(X)                                                       \
  X(ops, "ops recorded")                                                       \
  X(flushes, "traces run")                                                     \
  X(kernels, "launches sent to devices")                                       \
  X(kernel_ops, "ops that these launches contained")                           \
  X(phased, "launches with more than one pass over their rows")                \
  X(plan_hits, "flushes that found their plan")                                \
  X(plan_misses, "plans made")                                                 \
  X(programs, "kernels compiled")                                              \
  X(buffers, "buffers allocated for values")                                   \
  X(bytes_allocated, "bytes of these buffers")                                 \
  X(bytes_live, "bytes of buffers alive now")                                  \
  X(bytes_peak, "largest bytes_live")                                          \
  X(bytes_moved, "bytes copied between devices")                               \
  X(bytes_uploaded, "bytes copied from the host")                              \
  X(bytes_downloaded, "bytes copied to the host")                              \
  X(in_place, "values that took the buffer of a dead one")                     \
  X(copies_of_set, "full copies made for set")                                 \
  X(recomputed, "values computed again after they were fused away")

typedef struct {
#define PLAN_X(name, doc) uint64_t name;
  PLAN_COUNTERS(PLAN_X)
#undef PLAN_X
} plan_counters;
const plan_counters *plan_counters_get(plan *p);
/* With shapes_only: what would have been sent. */
typedef struct {
  uint64_t launches, moves;           /* moves: copies between devices */
  double flops, read, written, moved; /* all but flops in bytes */
} plan_estimate;
const plan_estimate *plan_estimate_get(const plan *p);
/* Executions of op on the device with this dev_id. */
uint64_t plan_op_runs(const plan *p, int op, uint32_t device);
/* Gives cached memory (scratch, plans, programs) back. */
void plan_trim(plan *p);
void plan_forget(plan *p); /* plans and programs only */

#endif
