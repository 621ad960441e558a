/* graph.h - what the miss path works on: the graph of distinct values, the
 * groups that become kernels, and the finished plan. For lang/plan/ only. */
#ifndef PLAN_GRAPH_H
#define PLAN_GRAPH_H

#include "priv.h"

#define NO        UINT32_MAX
#define MAX_ATOMS 16

enum {
  G_LEAF,  /* a ready value */
  G_FULL,  /* one scalar: in[0] is IN_SCALAR | slot */
  G_IOTA,  /* positions of its shape, row-major */
  G_EMPTY, /* no element */
  G_VIEW,  /* base seen through acc */
  G_MAP,   /* also copies; with box: writes into a part of it */
  G_FOLD,
  G_CALL,
  G_TO, /* its input on another device */
  G_BOX /* memory that G_MAP nodes fill: cat, pad, set */
};

/* Why a value had to be written to memory, or a kernel to end. */
#define CUTS(X)                                                                \
  X(NONE, "")                                                                  \
  X(LIVE, "is wanted")                                                         \
  X(OPERAND, "is read many times by a matrix product")                         \
  X(AXES, "is needed by a reduction over other axes")                          \
  X(VIEW, "is read in another order or part")                                  \
  X(BROADCAST, "is repeated along an outer axis")                              \
  X(PHASES, "the device has no further pass in one kernel")                    \
  X(CALL, "is read by an op that is no kernel form")                           \
  X(CALLED, "is the result of an op that is no kernel form")                   \
  X(DEVICE, "is moved to another device")                                      \
  X(LIMIT, "the kernel would pass a device limit")                             \
  X(ORDER, "must be complete before something else reads it")                  \
  X(OFF, "fusion is off")
#define CUT_X(name, text) CUT_##name,
enum { CUTS(CUT_X) CUT_N };
#undef CUT_X
const char *cut_text(int cut);

typedef struct {
  uint8_t kind, dtype, live, needed, mat, level, fixed;
  uint8_t cut;   /* why it is materialised */
  uint8_t nlist; /* atoms of its elements, row-major */
  uint8_t list[MAX_ATOMS];
  uint8_t nread; /* FOLD: atoms of its operands, row-major */
  uint8_t read[MAX_ATOMS];
  uint16_t op;
  uint16_t phase, ready; /* as kit_value: passes before it, and to wait for */
  uint32_t device, nin, in[3], axes, keep;
  const plan_shape *shape;
  uint32_t leaf;             /* G_LEAF: number in the trace */
  uint32_t base;             /* G_VIEW: the value it shows, never a view */
  uint32_t view_op, view_of; /* G_VIEW: trace position of the view, its input */
  plan_access acc;           /* G_VIEW, G_LEAF: how; with box: where it goes */
  uint32_t box;              /* G_MAP: the box it fills, or NO */
  uint32_t after;            /* value that must be complete first, or NO */
  uint32_t storage;          /* G_BOX: the value whose memory it takes, or NO */
  uint32_t put, nput;        /* G_BOX: its G_MAP nodes in graph.puts */
  uint32_t group, value, trace; /* trace: position of the op, or NO */
  uint32_t uses;
} gnode;

typedef struct {
  uint32_t device, alias; /* alias: group it was merged into, or itself */
  uint32_t *member, nmember, member_cap; /* gnodes in order */
  uint32_t *pred, npred, pred_cap;       /* groups it reads from */
  int64_t ext[MAX_ATOMS];
  uint8_t natom, no, ni, fold, single; /* single: no kernel, a CALL or TO */
  uint8_t outer[MAX_ATOMS], inner[MAX_ATOMS];
  uint32_t ninst, narg, phases, mark;
  uint8_t cut;     /* why it is a kernel of its own */
  uint32_t cut_by; /* gnode that it could not be fused with, or NO */
} group;

/* What becomes of a trace node after the run. */
enum { END_DEAD, END_VALUE, END_LEAF, END_EMPTY };
typedef struct {
  uint8_t kind;
  uint32_t value; /* END_VALUE: value; END_LEAF: leaf number */
  plan_access acc;
  const plan_layout *layout;
} node_end;

typedef struct {
  plan *p;
  const plan_trace *t;
  const uint8_t *live; /* by trace position */
  int unfused, no_update, slab;
  uint32_t set_copies; /* whole copies that sets make */
  gnode *g;
  uint32_t n, cap;
  uint32_t *of; /* trace position -> gnode */
  uint32_t *leaf_of;
  uint32_t *trace_uses, *leaf_uses;
  uint32_t *hash, hash_cap;
  uint32_t *puts, nput, put_cap;
  node_end *end; /* by trace position */
  group *group;
  uint32_t ngroup, group_cap;
  uint32_t *order, norder; /* groups in the order they run */
  uint32_t mark;
  struct axis_atoms *temp[8]; /* lists that splits must keep right */
  uint32_t temp_group[8], ntemp;
} graph;

/* graph.c */
tsh_status graph_build(graph *gr, tsh_err *err);
void graph_free(graph *gr);
/* In long loops of the passes: TSH_ECANCELLED when a stop was asked for. Looks
 * every 256th time. */
tsh_status graph_go_on(const graph *gr, uint32_t i, tsh_err *err);
uint32_t graph_base(const graph *gr, uint32_t g); /* through a view */
void graph_access(const graph *gr, uint32_t g, plan_access *a);
int graph_is_generator(const gnode *n); /* FULL IOTA EMPTY: no memory */
gnode graph_blank(int kind, int op, int dtype, uint32_t device,
                  const plan_shape *shape);
/* Number of n, or of an equal older node; NO: out of memory. So below. */
uint32_t graph_intern(graph *gr, const gnode *n);
uint32_t graph_copy(graph *gr, uint32_t g, uint32_t trace);
uint32_t graph_view(graph *gr, uint32_t base, const plan_access *a,
                    const plan_shape *shape);
/* g as seen on a device: itself, or a view of a copy there. */
uint32_t graph_on_device(graph *gr, uint32_t g, uint32_t device,
                         uint32_t trace);
uint32_t graph_input(const graph *gr, uint32_t in); /* by its trace code */
/* box.c: the gnode of the cat, pad or set at trace position i */
uint32_t box_cat(graph *gr, uint32_t i);
uint32_t box_pad(graph *gr, uint32_t i);
uint32_t box_set(graph *gr, uint32_t i);
/* ends.c */
int ends_find(graph *gr); /* 0: no memory */
void ends_mark(graph *gr);
int graph_is_compute(const gnode *n); /* MAP FOLD CALL TO: has a group */
int graph_compute_dtype(const graph *gr, const gnode *n);

/* atoms.c: the axes of a kernel and how a node's axes lie in them */
uint32_t atoms_find(const graph *gr, uint32_t group); /* through aliases */
int atoms_split(graph *gr, uint32_t grp, uint32_t atom, int64_t inner);
/* Per axis of `shape`: the atoms of group grp that axis runs over when value
 * p (in grp) is read through strides. n[a] = 0 and repeated[a] = 1 for an axis
 * of stride 0. Returns CUT_NONE or why not. */
typedef struct axis_atoms {
  uint8_t n[PLAN_RANK], atom[PLAN_RANK][MAX_ATOMS], repeated[PLAN_RANK];
} axis_atoms;
int atoms_read(graph *gr, uint32_t grp, uint32_t p, const int64_t *stride,
               const plan_shape *shape, axis_atoms *out);
void atoms_watch(graph *gr, uint32_t grp, axis_atoms *list); /* ntemp-- ends */
int atoms_new(graph *gr, uint32_t grp, int64_t extent);      /* -1: too many */

/* group.c */
tsh_status group_all(graph *gr, tsh_err *err);
/* 1: some group that `later` waits for is `earlier`; 2: no memory to find out.
 */
int group_depends(graph *gr, uint32_t later, uint32_t earlier);
/* Is operand `in`, through views, a value that grp computes in its kernel? */
int group_holds(const graph *gr, uint32_t in, uint32_t grp);
/* place.c: puts node g into group grp, which holds one of its operands; or
 * returns why it can't be. */
int place_map(graph *gr, uint32_t g, uint32_t grp);
int place_fold(graph *gr, uint32_t g, uint32_t grp);
int place_alone(graph *gr, uint32_t g, uint32_t grp); /* in an empty group */
/* Reads operand `in` of shape `shape` in group grp. */
int place_operand(graph *gr, uint32_t grp, uint32_t in, const plan_shape *shape,
                  axis_atoms *out);
/* What the operands of g in group grp say together of g's axes. */
typedef struct {
  axis_atoms at;
  uint8_t known[PLAN_RANK];
  int full; /* an operand has one value per point */
  uint32_t phase, ready;
} reading;
int place_read(graph *gr, uint32_t g, uint32_t grp, reading *r);
void place_take_inner(group *k, const uint8_t *inner, uint32_t ni);
enum { LEVEL_ROW = 1, LEVEL_FULL = 2 };
/* merge.c: makes b part of a so that g can read both; or why not. */
int merge_groups(graph *gr, uint32_t g, uint32_t a, uint32_t b);

/* ---- the finished plan -------------------------------------------------- */
enum { VALUE_LEAF, VALUE_OUT, VALUE_TEMP };
typedef struct {
  uint8_t kind, update; /* update: takes the buffer of leaf `leaf` */
  uint8_t placed, slab; /* slab: an output in the shared buffer */
  uint32_t device, leaf, dtype_bytes, writer; /* writer: last launch */
  uint64_t bytes, at; /* at: offset in the scratch or slab */
  int64_t first;      /* the same in elements */
} made_value;

typedef struct {
  uint32_t value; /* NO: an INDEX view, or an unused slot */
  int64_t offset; /* elements, besides terms and the leaf's offset */
  uint32_t nterm;
  struct {
    uint32_t slot;
    int64_t mult;
  } * term;
} made_arg;

typedef struct {
  uint32_t slot; /* of the trace */
  uint8_t kind;  /* TSH_KIND of the instruction's dtype */
} made_scalar;

typedef struct {
  tsh_prog *prog; /* NULL: a copy to another device, arg[0] to arg[1] */
  struct plan_program *program; /* its owner, shared; see cache_program */
  uint32_t device, rank, nfold, narg, nout, nscalar, nops, phases;
  int64_t *extent; /* NULL: CALL */
  tsh_view *view;  /* extents and strides for ever; buf and offset at run */
  made_arg *arg;   /* inputs, then nout outputs */
  tsh_scalar *scalar;
  made_scalar *scalar_from;
  uint32_t *after, nafter;
  uint16_t *ops;          /* table ids of its members, for counters */
  uint32_t *out;          /* gnode of each output, while the plan is made */
  uint32_t group, trace;  /* trace: position of its last op, for errors */
  uint64_t points, bytes; /* bytes: of a copy */
  double flops;
  uint8_t update;
} made_launch;

/* A run of launches on one device, or one copy. */
typedef struct {
  uint32_t copy, device, first, n;
} made_step;

struct plan_entry {
  struct plan_entry *next; /* in its hash bucket */
  struct plan_entry *newer, *older;
  uint64_t key, bytes, serial;
  /* the key itself, compared on a hit */
  trace_word *word;
  int64_t *aux;
  uint8_t *live;
  struct leaf_key {
    uint32_t shape, layout, shared; /* shared: 1 + older leaf on the buffer */
    uint8_t dtype, device, donatable, pad;
  } * leaf;
  uint32_t n, naux, nleaf, nscalar;
  /* what to run */
  made_value *value;
  made_launch *launch;
  made_step *step;
  node_end *end;
  uint32_t nvalue, nlaunch, nstep, nupdate; /* the last nupdate are UPDATE */
  tsh_launch *batch;   /* [nlaunch] in the order they run */
  plan_buf **buf;      /* [nvalue] while it runs */
  plan_error **failed; /* [nvalue] while it runs */
  uint64_t *scratch;   /* [ndevice] bytes */
  uint64_t slab; /* bytes of the buffer that small outputs share; 0: none */
  uint32_t slab_device, set_copies;
  uint32_t ndevice;
  struct arena_block *arena;
  char *dump; /* text for :plan; only when asked for */
};

void *arena_alloc(plan_entry *e, size_t bytes); /* zeroed; NULL: no memory */
void entry_free(plan *p, plan_entry *e);

/* lower.c */
/* Values, then one made_launch per group in the order they run. */
tsh_status lower_all(graph *gr, plan_entry *e, tsh_err *err);
/* memory.c */
tsh_status memory_values(graph *gr, plan_entry *e, tsh_err *err);
/* In-place outputs, scratch, dependencies, steps. TSH_EPENDING: a set could
 * not take its leaf's memory; make the plan again with no_update. */
tsh_status memory_plan(graph *gr, plan_entry *e, tsh_err *err);
/* cache.c */
/* Compiles k, or finds it compiled, for launch m, which then shares it until
 * its plan is freed. */
tsh_status cache_program(plan *p, dev *d, const tsh_kernel *k, made_launch *m,
                         tsh_err *err);
/* The kernel of a launch that has a program, as it was compiled; borrowed, but
 * for the attributes: those are copied to attr. */
void cache_kernel(const made_launch *m, tsh_kernel *out, int64_t attr[3]);
int cache_new(plan *p);
void cache_free(plan *p);
void cache_trim(plan *p); /* drops every plan, and so every program */
/* The plan of t with these live nodes, or NULL; *key for cache_add. */
enum { CACHE_SLAB = 1, CACHE_EXACT = 2 };
plan_entry *cache_find(plan *p, const plan_trace *t, const uint8_t *live,
                       int slab, uint64_t *key);
/* Takes e; it may be dropped at any later cache call. */
void cache_add(plan *p, plan_entry *e, const plan_trace *t, const uint8_t *live,
               uint64_t key);
/* make.c: the passes in plain sight */
enum { MAKE_UNFUSED = 1, MAKE_NO_UPDATE = 2, MAKE_SLAB = 4 };
tsh_status plan_make(plan *p, plan_trace *t, const uint8_t *live, int flags,
                     plan_entry **out, tsh_err *err);
tsh_status plan_make_text(plan *p, plan_trace *t, const uint8_t *live,
                          int flags, FILE *out, tsh_err *err);
/* explain.c; took: seconds of each launch, or NULL. flags: PLAN_SOURCE ... */
void explain_entry(graph *gr, const plan_entry *e, const double *took,
                   int flags, FILE *out);
void explain_kernel_name(const made_launch *m, uint32_t i, char *text,
                         size_t size);
/* Bytes of the distinct values that arguments first..last-1 of a launch touch:
 * at most the value, at most what the points can reach. */
double explain_touched(const plan_entry *e, const made_launch *m,
                       uint32_t first, uint32_t last);
void explain_ops(const made_launch *m, char *text, size_t size);
void explain_dot(graph *gr, const plan_entry *e, FILE *out);
void source_launch(const made_launch *m, FILE *out); /* source.c */
/* run.c. Both leave finished nodes ready or failed. The rest stay pending. */
typedef struct {
  uint32_t done;      /* launches that are complete */
  uint32_t oom_value; /* TSH_ENOMEM: value that found no memory; NO: scratch */
} run_result;
tsh_status run_entry(plan *p, plan_trace *t, plan_entry *e, run_result *r,
                     tsh_err *err);
/* One launch after another; took (may be NULL) gets the seconds of each. */
tsh_status run_isolated(plan *p, plan_trace *t, plan_entry *e, run_result *r,
                        double *took, tsh_err *err);
void scratch_free(plan *p);
/* estimate.c: instead of sending a plan its launches are counted, and what they
 * would overwrite is unknown from then on. */
void estimate_entry(plan *p, plan_trace *t, const plan_entry *e);
void estimate_fill(const plan_node *x, void *host); /* see plan_read */
/* Reads a known view that is not row-major, without a kernel. */
tsh_status estimate_gather(plan *p, const plan_node *x, void *host,
                           tsh_err *err);
/* verify.c: 0 and a text when the graph breaks a rule */
int verify_graph(const graph *gr, char *text, size_t size);
int verify_groups(graph *gr, char *text, size_t size);
int verify_entry(const plan_entry *e, char *text, size_t size);

#endif
