/* priv.h - structs of the planner, for lang/plan/ and its tests.
 *
 * The way of a value:
 *   record.c fold.c move.c create.c call.c compose.c random.c
 *                            append nodes to the trace (trace.c)
 *   graph.c box.c ends.c     trace -> gnodes: one per distinct value
 *   group.c (atoms.c)        gnodes -> groups: what runs in one kernel, and why
 *                            each cut was made
 *   lower.c                  groups -> kernels and launch templates
 *   memory.c                 buffers: outputs, scratch, in place
 *   cache.c run.c demand.c   keep, run, finish
 */
#ifndef PLAN_PRIV_H
#define PLAN_PRIV_H

#include <string.h>
#include "plan.h"

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

/* ---- memory of the room: every allocation passes here (tests fail them) -- */
void *plan_alloc(size_t bytes);
void *plan_realloc(void *old, size_t bytes);
void plan_release(void *ptr);
/* Called with the size before each allocation; returning 0 makes it fail. */
extern int (*plan_alloc_hook)(size_t bytes);
/* Grows *array (elements of `size`) so that n elements fit; 0 on failure. */
int plan_grow(void *array, uint32_t *cap, uint32_t n, size_t size);
#define PLAN_GROW(array, cap, n)                                               \
  ((n) <= (cap) || plan_grow((void *)&(array), &(cap), (n), sizeof *(array)))

tsh_status plan_nomem(tsh_err *err, const char *what);

/* ---- op table, as data -------------------------------------------------- */
enum { OP_MAP = 1, OP_FOLD, OP_MOVE, OP_CALL };
enum { TAKES_F = 1, TAKES_I = 2, TAKES_B = 4 };
enum { GIVES_SAME = 1, GIVES_BOOL, GIVES_TO, GIVES_SECOND };
typedef struct {
  uint8_t class_, arity, takes, gives;
  const char *name;
} op_info;
extern const op_info plan_ops[TSH_NOPS];
/* reshape permute expand slice detach windows custom */
static inline int plan_is_view(int op) {
  return (op >= TSH_OP_reshape && op <= TSH_OP_slice) || op == TSH_OP_detach ||
         op == TSH_OP_windows || op == TSH_OP_custom;
}
/* The same elements in the same shape: detach custom */
static inline int plan_is_same(int op) {
  return op == TSH_OP_detach || op == TSH_OP_custom;
}

/* ---- buffers ------------------------------------------------------------ */
typedef struct plan_buf {
  uint32_t refs;
  uint32_t epoch, leaf; /* newest leaf on it in the trace of that epoch */
  uint32_t unheld, pad; /* owners that only the trace knows, while planning */
  dev *d;
  tsh_buf *buf; /* NULL: shapes_only, it only counts */
  uint64_t bytes;
} plan_buf;

/* Interned strides of a ready view that is not row-major. */
typedef struct {
  uint32_t id, rank;
  int64_t stride[PLAN_RANK];
} plan_layout;

/* An error shared by the nodes that failed through it. */
typedef struct {
  uint32_t refs, site;
  int told, counted; /* reported to the user; in plan.failures */
  tsh_err err;
} plan_error;

/* ---- nodes -------------------------------------------------------------- */
enum {
  NODE_PENDING, /* in the trace */
  NODE_READY,   /* buf, offset, layout say where the elements are */
  NODE_FAILED,  /* error; this and what follows needs care as an input */
  NODE_GONE     /* fused away; a record that can be computed again */
};
enum {
  NODE_TAPED = 1, /* a tape retains it: inputs stay */
  NODE_SAVED = 2, /* a rule names its value: live while a tape is open */
  NODE_TEMP = 4   /* made inside a composition: no handle ever saw it */
};

typedef struct {
  union {
    uint8_t order[PLAN_RANK];
    plan_range range[PLAN_RANK];
    struct {
      int64_t before[PLAN_RANK], after[PLAN_RANK];
    } pad;
    plan_window window;
  };
  plan_operand *many; /* cat, custom: nin operands */
} plan_attr;

struct plan_node {
  uint32_t refs;  /* all owners */
  uint32_t holds; /* owners outside the room */
  uint16_t op, nin;
  uint8_t dtype, state, flags, keep;
  uint32_t site, axes;
  dev *d;
  uint32_t at;          /* position in the trace while pending */
  uint32_t epoch, leaf; /* leaf number in the trace of that epoch */
  uint32_t uses;        /* by nodes of that trace, while it is planned */
  const plan_shape *shape;
  plan_operand in[3];
  plan_attr *attr;
  union { /* NODE_READY: buf; NODE_FAILED: error */
    plan_buf *buf;
    plan_error *error;
  };
  int64_t offset;            /* elements */
  const plan_layout *layout; /* NULL: row-major */
};

/* ---- the trace ---------------------------------------------------------- */
#define IN_LEAF       0x80000000u
#define IN_SCALAR     0x40000000u
#define IN_NONE       0xffffffffu
#define IN_NUMBER(in) ((in)&0x3fffffffu)

/* One recorded op as the key sees it: everything but buffers, offsets and
 * scalar values. aux, ints: where its words begin in the trace's arrays. */
typedef struct {
  uint16_t op;
  uint8_t dtype, device;
  uint32_t shape, in[3], axes, aux, ints;
} trace_word;

typedef struct {
  uint32_t n, node_cap, word_cap;
  plan_node **node; /* owned references */
  trace_word *word;
  uint32_t nleaf, leaf_cap;
  plan_node **leaf;                   /* borrowed: a recorded node owns each */
  uint32_t *leaf_next, leaf_next_cap; /* older leaf on the same buffer */
  uint32_t nseen, seen_cap;
  plan_node **seen;   /* every node that is a leaf, equal ones too; borrowed */
  uint8_t *donatable; /* per leaf: see trace_find_donatable */
  uint32_t donatable_cap;
  uint32_t nscalar, scalar_cap;
  struct scalar_slot {
    tsh_scalar value;
    int kind;
  } * scalar;
  uint32_t *slot_hash, slot_hash_cap; /* slot number + 1, open addressing */
  uint32_t nint, int_cap;
  int64_t *ints; /* slice starts: launch arguments */
  uint32_t naux, aux_cap;
  int64_t *aux; /* steps, counts, borders, inputs of cat: in the key */
  uint64_t hash, bytes;
  uint32_t epoch; /* leaf numbers of nodes are those of this epoch */
  int slow_compile;
} plan_trace;

typedef struct plan_entry plan_entry; /* a made plan; see graph.h */

struct plan {
  dev_set *devices;
  dev **device; /* by dev_id */
  uint32_t ndevice, device_cap;
  plan_options options;
  plan_counters counters;
  plan_estimate estimate;
  uint64_t *op_runs; /* [ndevice][TSH_NOPS] */

  plan_trace trace;
  uint32_t epoch, site, last_cut_site;
  int running, wants_cut, refuse;
  int first; /* what is recorded now begins the trace */
  dev *seen; /* device of the last op, and what its limits say */
  uint64_t seen_budget;
  int seen_slow;

  plan_shape **shape_table;
  uint32_t nshape, shape_cap;
  plan_layout **layout_table;
  uint32_t nlayout, layout_cap;

  plan_node *free_nodes;
  struct node_chunk *chunks;
  plan_node **dead; /* stack of nodes whose last owner went */
  uint32_t ndead, dead_cap;

  plan_node **tape; /* retained records, oldest first */
  uint32_t ntape, tape_cap, tapes_open, tape_first;
  uint32_t saves[TSH_NOPS];

  struct plan_cache *cache;
  plan_buf **scratch; /* by dev_id; grows, given back by plan_trim */
  uint32_t nscratch, scratch_cap;

  uint8_t *live; /* room for a live mask */
  uint32_t live_cap;
  uint32_t error_site, failures;
};

/* ---- node.c ------------------------------------------------------------- */
plan_node *node_new(plan *p); /* refs 1, holds 1; NULL: no memory */
static inline plan_node *node_ref(plan_node *n) {
  n->refs++;
  return n;
}
void node_unref(plan *p, plan_node *n);
void node_release_inputs(plan *p, plan_node *n);
static inline plan_operand *node_in(plan_node *n) { /* inline or many */
  return n->attr && n->attr->many ? n->attr->many : n->in;
}
/* A temporary of a composition is no longer needed. */
void node_temp(plan *p, plan_node *n);
uint32_t node_device(plan *p, dev *d, tsh_err *err); /* its id; UINT32_MAX */
void node_set_ready(plan *p, plan_node *n, plan_buf *b /* shared */,
                    int64_t offset, const plan_layout *layout);
void node_set_failed(plan *p, plan_node *n, plan_error *e /* shared */);
plan_error *error_new(const tsh_err *err, uint32_t site);
void error_unref(plan_error *e);
plan_buf *buf_new(plan *p, dev *d, uint64_t bytes, tsh_err *err);
/* Of elements that the host gives: with memory also when shapes_only. */
plan_buf *buf_new_filled(plan *p, dev *d, uint64_t bytes, tsh_err *err);
void buf_empty(plan_buf *b); /* gives its memory back, goes on counting */
void buf_unref(plan *p, plan_buf *b);

/* ---- shape.c ------------------------------------------------------------ */
const plan_layout *layout_get(plan *p, int rank, const int64_t *stride);
/* Row-major strides of a shape. */
void shape_strides(const plan_shape *s, int64_t *stride);
/* Broadcast of two shapes; NULL with err when they do not meet. */
const plan_shape *shape_broadcast(plan *p, const char *what,
                                  const plan_shape *a, const plan_shape *b,
                                  tsh_err *err);
/* Why a shape is NULL, from its err. */
static inline tsh_status shape_status(const tsh_err *err) {
  return err && err->code ? err->code : TSH_EINVAL;
}
char *shape_text(const plan_shape *s, char *text, size_t size); /* "[2,3]" */
uint64_t shape_bytes(const plan_shape *s, int dtype); /* UINT64_MAX: too many */

/* ---- trace.c ------------------------------------------------------------ */
/* Appends a pending node (its inputs recorded, revived if gone); the trace
 * takes a reference. On failure the node is untouched. */
tsh_status trace_add(plan_trace *t, plan_node *n, tsh_err *err);
/* Fills t->donatable: leaves whose buffer a result may take; none unless the
 * caller has just collected (exact). 0: no memory. */
int trace_find_donatable(plan_trace *t, int exact);
void trace_clear(plan *p, plan_trace *t); /* drops references, keeps memory */
void trace_free(plan *p, plan_trace *t);
/* Puts a node that is gone, and what it needs, back into the trace. */
tsh_status trace_revive(plan *p, plan_node *n, tsh_err *err);
/* Finishes a recorded node: tape, trace or failure of an input. Moves n to
 * *out, or drops it and returns an error. */
tsh_status trace_record(plan *p, plan_node *n, plan_node **out, tsh_err *err);
/* New trace of the nodes of t that are still pending. */
tsh_status trace_rebuild(plan *p, tsh_err *err);
tsh_status tape_add(plan *p, plan_node *n, tsh_err *err);

/* ---- record.c ----------------------------------------------------------- */
int record_takes(int dtype); /* its TAKES_ bit */
int record_fits(int64_t v, int dtype);
dev *record_device(const plan_operand *in, int n); /* where they meet */
/* One operand in a dtype, device and shape; a tensor in *out is owned. */
tsh_status record_conform(plan *p, const plan_operand *in, int dtype, dev *d,
                          const plan_shape *shape, plan_operand *out,
                          tsh_err *err);
plan_operand operand_of(plan_node *n);
plan_operand operand_int(int64_t v);
plan_operand operand_real(double v);
/* One MAP node of operands that already agree (shape, compute dtype). */
tsh_status record_map(plan *p, int op, int dtype, dev *d,
                      const plan_shape *shape, const plan_operand *in, int n,
                      plan_node **out, tsh_err *err);

/* ---- access.c: strided views -------------------------------------------- */
/* A view of some base: element of axis positions i is at offset + sum terms +
 * sum i*stride. Terms are launch-time integers: mult * ints[slot]. */
#define ACCESS_TERMS 16
typedef struct {
  int64_t offset;
  uint32_t nterm;
  struct {
    uint32_t slot;
    int64_t mult;
  } term[ACCESS_TERMS];
  int64_t stride[PLAN_RANK];
} plan_access;

/* Applies a view op to a view. 0 when the result is no strided view (reshape)
 * or has too many terms. ints: slot of the first start of a slice, or
 * UINT32_MAX to use the starts themselves. */
int access_view(plan_access *a, const plan_shape *from, const plan_node *n,
                uint32_t ints);
int access_reshape(const plan_shape *from, const int64_t *stride,
                   const plan_shape *to, int64_t *out);

#endif
