/* node.c - tensor values: their life, their buffers, their errors. */
#include "priv.h"

#define CHUNK 256
struct node_chunk {
  struct node_chunk *next;
  plan_node node[CHUNK];
};

static int more_nodes(plan *p) {
  struct node_chunk *c = plan_alloc(sizeof *c);
  if (!c) return 0;
  c->next = p->chunks;
  p->chunks = c;
  for (int i = 0; i < CHUNK; i++) {
    c->node[i].in[0].node = p->free_nodes;
    p->free_nodes = &c->node[i];
  }
  return 1;
}

void node_chunks_free(plan *p);
void node_chunks_free(plan *p) {
  while (p->chunks) {
    struct node_chunk *next = p->chunks->next;
    plan_release(p->chunks);
    p->chunks = next;
  }
  p->free_nodes = NULL;
}

plan_node *node_new(plan *p) {
  plan_node *n;
  if (!p->free_nodes && !more_nodes(p)) return NULL;
  n = p->free_nodes;
  p->free_nodes = n->in[0].node;
  /* Field by field: `in` counts up to nin only, and clearing it would be a
   * tenth of the cost of recording. */
  n->refs = n->holds = 1;
  n->op = n->nin = 0;
  n->dtype = n->flags = n->keep = 0;
  n->state = NODE_PENDING;
  n->site = p->site;
  n->axes = n->epoch = 0;
  n->attr = NULL;
  n->buf = NULL;
  n->offset = 0;
  n->layout = NULL;
  return n;
}

plan_node *plan_keep(plan_node *n) {
  n->refs++;
  n->holds++;
  return n;
}

/* Last owner gone: the node waits on a stack, so that a chain of a million
 * nodes is freed by a loop. The stack holds one link per node in the node
 * itself (site and epoch are free by then), so it never needs memory. */
static void bury(plan *p, plan_node *n, plan_node **stack) {
  (void)p;
  n->layout = (const plan_layout *)(const void *)*stack;
  *stack = n;
}

static void free_node(plan *p, plan_node *n, plan_node **stack) {
  plan_operand *in = node_in(n);
  for (int i = 0; i < n->nin; i++) {
    plan_node *x = in[i].kind == PLAN_TENSOR ? in[i].node : NULL;
    if (x && --x->refs == 0) bury(p, x, stack);
  }
  if (n->state == NODE_READY) buf_unref(p, n->buf);
  if (n->state == NODE_FAILED) error_unref(n->error);
  if (n->attr) {
    plan_release(n->attr->many);
    plan_release(n->attr);
  }
  n->in[0].node = p->free_nodes;
  p->free_nodes = n;
}

void node_unref(plan *p, plan_node *n) {
  plan_node *stack = NULL;
  if (!n || --n->refs > 0) return;
  bury(p, n, &stack);
  while (stack) {
    plan_node *x = stack;
    stack = (plan_node *)(uintptr_t)(const void *)x->layout;
    free_node(p, x, &stack);
  }
}

void plan_drop(plan *p, plan_node *n) {
  if (!n) return;
  n->holds--;
  node_unref(p, n);
}

void node_temp(plan *p, plan_node *n) {
  if (!n) return;
  if (n->holds == 1) n->flags |= NODE_TEMP;
  plan_drop(p, n);
}

void node_release_inputs(plan *p, plan_node *n) {
  plan_operand *in = node_in(n);
  int nin = n->nin;
  n->nin = 0;
  for (int i = 0; i < nin; i++)
    if (in[i].kind == PLAN_TENSOR) node_unref(p, in[i].node);
}

void node_set_ready(plan *p, plan_node *n, plan_buf *b, int64_t offset,
                    const plan_layout *layout) {
  if (b) b->refs++;
  n->state = NODE_READY;
  n->buf = b;
  n->offset = offset;
  n->layout = layout;
  if (!(n->flags & NODE_TAPED)) node_release_inputs(p, n);
}

void node_set_failed(plan *p, plan_node *n, plan_error *e) {
  e->refs++;
  n->state = NODE_FAILED;
  n->error = e;
  if (!(n->flags & NODE_TAPED)) node_release_inputs(p, n);
}

plan_error *error_new(const tsh_err *err, uint32_t site) {
  plan_error *e = plan_alloc(sizeof *e);
  if (!e) return NULL;
  e->refs = 1;
  e->site = site;
  e->err = *err;
  return e;
}

void error_unref(plan_error *e) {
  if (e && --e->refs == 0) plan_release(e);
}

/* ---- buffers ------------------------------------------------------------ */
static plan_buf *new_buf(plan *p, dev *d, uint64_t bytes, int hollow,
                         tsh_err *err) {
  plan_buf *b = plan_alloc(sizeof *b);
  if (!b) {
    plan_nomem(err, "a buffer");
    return NULL;
  }
  if (!hollow && dev_alloc(d, bytes, &b->buf, err) != TSH_OK) {
    plan_release(b);
    return NULL;
  }
  b->refs = 1;
  b->d = d;
  b->bytes = bytes;
  p->counters.buffers++;
  p->counters.bytes_allocated += bytes;
  p->counters.bytes_live += bytes;
  if (p->counters.bytes_live > p->counters.bytes_peak)
    p->counters.bytes_peak = p->counters.bytes_live;
  return b;
}

plan_buf *buf_new(plan *p, dev *d, uint64_t bytes, tsh_err *err) {
  return new_buf(p, d, bytes, p->options.shapes_only, err);
}

plan_buf *buf_new_filled(plan *p, dev *d, uint64_t bytes, tsh_err *err) {
  return new_buf(p, d, bytes, 0, err);
}

void buf_empty(plan_buf *b) {
  if (b->buf) dev_free(b->d, b->buf);
  b->buf = NULL;
}

void buf_unref(plan *p, plan_buf *b) {
  if (!b || --b->refs > 0) return;
  p->counters.bytes_live -= b->bytes;
  buf_empty(b);
  plan_release(b);
}

/* ---- devices ------------------------------------------------------------ */
uint32_t node_device(plan *p, dev *d, tsh_err *err) {
  uint32_t id = dev_id(d), n = id + 1;
  uint64_t *runs;
  if (n <= p->ndevice && p->device[id]) return id;
  if (!PLAN_GROW(p->device, p->device_cap, n)) goto nomem;
  runs = plan_realloc(p->op_runs, sizeof *runs * TSH_NOPS *
                                      (n > p->ndevice ? n : p->ndevice));
  if (!runs) goto nomem;
  p->op_runs = runs;
  while (p->ndevice < n) {
    memset(runs + (size_t)p->ndevice * TSH_NOPS, 0, sizeof *runs * TSH_NOPS);
    p->device[p->ndevice++] = NULL;
  }
  p->device[id] = d;
  return id;
nomem:
  plan_nomem(err, "a device");
  return UINT32_MAX;
}

/* ---- questions ---------------------------------------------------------- */
const plan_shape *plan_shape_of(const plan_node *n) { return n->shape; }
int plan_dtype_of(const plan_node *n) { return n->dtype; }
dev *plan_dev_of(const plan_node *n) { return n->d; }
uint32_t plan_site_of(const plan_node *n) { return n->site; }
int plan_is_ready(const plan_node *n) { return n->state == NODE_READY; }

int plan_is_known(const plan_node *n) {
  return n->state == NODE_READY && (!n->shape->count || n->buf->buf);
}

int plan_is_alone(const plan_node *n) {
  return n->state == NODE_READY && !n->layout && n->buf && n->buf->refs == 1;
}

const tsh_err *plan_error_of(const plan_node *n) {
  return n->state == NODE_FAILED ? &n->error->err : NULL;
}

char *plan_describe(const plan_node *n, char *text, size_t size) {
  char shape[200];
  const char *name = dev_name(n->d);
  int cpu = strcmp(name, "cpu") == 0;
  snprintf(text, size, "%s%s%s%s", plan_dtype_name(n->dtype),
           shape_text(n->shape, shape, sizeof shape), cpu ? "" : " @",
           cpu ? "" : name);
  return text;
}
