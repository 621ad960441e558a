/* call.h - what the files of the CALL ops share: a running call, its walk over
 * lines, boxes of two arguments, memory to work in. */
#ifndef CPU_CALL_H
#define CPU_CALL_H

#include "device.h"

/* A CALL that runs. args: its own arguments, those of the op table; the last
 * is the output. */
typedef struct {
  tsh_dev *dev;
  cpu_run *run;
  const tsh_prog *prog;
  const tsh_launch *launch;
  const cpu_isa *isa;
  int nin; /* inputs of the op; the epilogue's own come after them */
} cpu_call;

enum { CALL_PIECE = 1 << 16 }; /* elements between looks at the cancel word */

/* Argument i of the op, its output when i is nin. */
static inline int call_arg(const cpu_call *c, int i) {
  return i < c->nin ? i : c->prog->narg - 1;
}

static inline const tsh_view *call_view(const cpu_call *c, int i) {
  return &c->launch->arg[call_arg(c, i)];
}

static inline int call_dtype(const cpu_call *c, int i) {
  return c->prog->dtypes[call_arg(c, i)];
}

static inline int call_rank(const cpu_call *c, int i) {
  return c->prog->ranks[call_arg(c, i)];
}

static inline int64_t call_bytes(const cpu_call *c, int i) {
  return c->prog->bytes[call_arg(c, i)];
}

/* Address of the view's first element. */
char *call_base(const cpu_call *c, int i);

/* Memory to work in, owned: call_room_free. TSH_ENOMEM is the launch's. */
tsh_status call_room(const cpu_call *c, uint64_t bytes, tsh_buf **out);
void call_room_free(const cpu_call *c, tsh_buf *room); /* takes NULL */

/* ---- lines -------------------------------------------------------------- */
/* Walks up to three arguments of one shape over all axes but one, row-major.
 * at[i]: offset of the line in argument i, in elements. */
typedef struct {
  int rank, narg;
  int64_t ext[TSH_MAX_RANK], idx[TSH_MAX_RANK];
  int64_t stride[3][TSH_MAX_RANK], at[3];
} call_lines;

/* The lines along `axis` of `extent`; of rank 0 there is one. */
void call_lines_init(call_lines *w, int rank, const int64_t *extent, int axis);
/* One more argument; `not`: an axis along which it does not move, or -1. */
void call_lines_add(call_lines *w, const int64_t *stride, int axis, int not );
int call_lines_next(call_lines *w); /* 0: that was the last */

/* ---- boxes (slab.c) ----------------------------------------------------- */
enum { SLAB_COPY = 0 };
/* Elements d, d + dd ... combined with s, s + ds ... */
typedef void cpu_slab_fn(void *d, const void *s, int64_t n, int64_t dd,
                         int64_t ds);
typedef struct {
  int rank;
  int64_t ext[TSH_MAX_RANK], d[TSH_MAX_RANK], s[TSH_MAX_RANK]; /* strides */
  uint8_t bytes, add; /* add: dtype to add in, or SLAB_COPY */
  cpu_slab_fn *fn;    /* instead of these, or NULL */
  const cpu_run *run;
} cpu_slab;

/* d = s, or d += s, over the box. TSH_ECANCELLED. */
tsh_status cpu_slab_run(const cpu_slab *b, char *d, const char *s);
/* The same where the box is one element. */
void cpu_slab_one(const cpu_slab *b, char *d, const char *s);
/* Another combination than these: op is index_mul, index_max or index_min; for
 * index_set it is NULL, a copy. */
cpu_slab_fn *cpu_put_get(int op, int dtype);
/* 0 where op combines and has no function for the dtype. */
int cpu_put_has(int op, int dtype);
/* The whole of argument i into the output. */
tsh_status cpu_slab_copy(const cpu_call *c, int i);

/* ---- the ops ------------------------------------------------------------ */
/* TSH_OK, TSH_ECANCELLED or TSH_ENOMEM; bad positions are in run->bad_at. */
tsh_status cpu_take(const cpu_call *c);
tsh_status cpu_index_add(const cpu_call *c);
tsh_status cpu_index_put(const cpu_call *c);
tsh_status cpu_gather_at(const cpu_call *c);
tsh_status cpu_scatter_add(const cpu_call *c);
/* What index_set is where x and positions have one axis. */
tsh_status cpu_scatter_set(const cpu_call *c);
tsh_status cpu_sort(const cpu_call *c);
tsh_status cpu_argsort(const cpu_call *c);
tsh_status cpu_argtopk(const cpu_call *c);
tsh_status cpu_scan(const cpu_call *c);
tsh_status cpu_nonzero(const cpu_call *c);

#endif
