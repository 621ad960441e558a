/* graph.c - trace -> graph of distinct values. Equal ops on equal inputs are
 * one gnode; views are resolved to strides over their base, and sunk through
 * elementwise ops that nothing else reads; cat, pad and set become boxes
 * (box.c); what a device lacks is given to cpu with copies between. */
#include "graph.h"

uint32_t graph_base(const graph *gr, uint32_t g) {
  return gr->g[g].kind == G_VIEW ? gr->g[g].base : g;
}

int graph_is_compute(const gnode *n) {
  return n->kind == G_MAP || n->kind == G_FOLD || n->kind == G_CALL ||
         n->kind == G_TO;
}

int graph_compute_dtype(const graph *gr, const gnode *n) {
  int k = n->op == TSH_OP_where ? 1 : 0;
  for (uint32_t i = (uint32_t)k; i < n->nin; i++)
    if (!(n->in[i] & IN_SCALAR)) return gr->g[n->in[i]].dtype;
  return n->dtype;
}

/* ---- hash consing ------------------------------------------------------- */
#define MIX UINT64_C(0x9e3779b97f4a7c15)

static uint64_t node_hash(const gnode *n) {
  uint64_t h = n->kind | (uint64_t)n->op << 8 | (uint64_t)n->dtype << 24 |
               (uint64_t)n->device << 32;
  h = (h * MIX) ^ n->shape->id;
  for (uint32_t i = 0; i < n->nin; i++) h = (h ^ n->in[i]) * MIX;
  h = (h ^ n->axes ^ (uint64_t)n->keep << 32) * MIX;
  if (n->kind == G_VIEW) {
    h = (h ^ n->base ^ (uint64_t)n->acc.offset << 20) * MIX;
    for (uint32_t i = 0; i < n->shape->rank; i++)
      h = (h ^ (uint64_t)n->acc.stride[i]) * MIX;
  }
  return h ^ (h >> 31);
}

static int same_access(const plan_access *a, const plan_access *b,
                       uint32_t rank) {
  if (a->offset != b->offset || a->nterm != b->nterm) return 0;
  for (uint32_t i = 0; i < a->nterm; i++)
    if (a->term[i].slot != b->term[i].slot ||
        a->term[i].mult != b->term[i].mult)
      return 0;
  return memcmp(a->stride, b->stride, sizeof *a->stride * rank) == 0;
}

static int same_node(const gnode *a, const gnode *b) {
  if (a->kind != b->kind || a->op != b->op || a->dtype != b->dtype ||
      a->device != b->device || a->shape != b->shape || a->nin != b->nin ||
      a->axes != b->axes || a->keep != b->keep || b->box != NO ||
      b->after != NO)
    return 0;
  for (uint32_t i = 0; i < a->nin; i++)
    if (a->in[i] != b->in[i]) return 0;
  return a->kind != G_VIEW ||
         (a->base == b->base && same_access(&a->acc, &b->acc, a->shape->rank));
}

static int rehash(graph *gr, uint32_t cap) {
  uint32_t *table = plan_alloc(sizeof *table * cap);
  if (!table) return 0;
  for (uint32_t i = 0; i < gr->n; i++) {
    uint64_t h = node_hash(&gr->g[i]);
    while (table[h & (cap - 1)]) h++;
    table[h & (cap - 1)] = i + 1;
  }
  plan_release(gr->hash);
  gr->hash = table;
  gr->hash_cap = cap;
  return 1;
}

gnode graph_blank(int kind, int op, int dtype, uint32_t device,
                  const plan_shape *shape) {
  gnode n;
  memset(&n, 0, sizeof n);
  n.kind = (uint8_t)kind;
  n.op = (uint16_t)op;
  n.dtype = (uint8_t)dtype;
  n.device = device;
  n.shape = shape;
  n.base = n.view_op = n.view_of = n.box = n.after = n.storage = n.group =
      n.value = n.trace = NO;
  return n;
}

/* Number of n, an equal older node where there is one; NO: out of memory. */
uint32_t graph_intern(graph *gr, const gnode *n) {
  uint64_t h = node_hash(n);
  int unique = n->box != NO || n->after != NO || n->kind == G_BOX;
  if (2 * gr->n >= gr->hash_cap &&
      !rehash(gr, gr->hash_cap ? 2 * gr->hash_cap : 256))
    return NO;
  for (;; h++) {
    uint32_t at = gr->hash[h & (gr->hash_cap - 1)];
    if (!at) break;
    if (!unique && same_node(n, &gr->g[at - 1])) return at - 1;
  }
  if (!PLAN_GROW(gr->g, gr->cap, gr->n + 1)) return NO;
  gr->g[gr->n] = *n;
  gr->hash[h & (gr->hash_cap - 1)] = ++gr->n;
  return gr->n - 1;
}

/* ---- views -------------------------------------------------------------- */
void graph_access(const graph *gr, uint32_t g, plan_access *a) {
  const gnode *n = &gr->g[g];
  if (n->kind == G_VIEW || n->kind == G_LEAF) {
    *a = n->acc;
    return;
  }
  memset(a, 0, sizeof *a);
  shape_strides(n->shape, a->stride);
}

uint32_t graph_copy(graph *gr, uint32_t g, uint32_t trace) {
  gnode n = graph_blank(G_MAP, TSH_OP_copy, gr->g[g].dtype, gr->g[g].device,
                        gr->g[g].shape);
  n.nin = 1;
  n.in[0] = g;
  n.trace = trace;
  return graph_intern(gr, &n);
}

uint32_t graph_view(graph *gr, uint32_t base, const plan_access *a,
                    const plan_shape *shape) {
  gnode n =
      graph_blank(G_VIEW, 0, gr->g[base].dtype, gr->g[base].device, shape);
  if (shape->count == 0) n.kind = G_EMPTY;
  n.base = base;
  n.acc = *a;
  return graph_intern(gr, &n);
}

static int is_identity(const graph *gr, uint32_t g, const plan_access *a,
                       const plan_shape *shape) {
  plan_access own;
  graph_access(gr, g, &own);
  return shape == gr->g[g].shape && same_access(a, &own, shape->rank);
}

static uint32_t apply_view(graph *gr, uint32_t g, const plan_node *v,
                           uint32_t ints, uint32_t trace, int depth);

/* What the view at trace position `op` makes of g. */
static uint32_t note_view(graph *gr, uint32_t made, uint32_t g, uint32_t op) {
  if (made == NO || gr->g[made].kind != G_VIEW || made == g) return made;
  if (gr->g[made].view_op != NO || graph_base(gr, g) != gr->g[made].base)
    return made;
  gr->g[made].view_op = op;
  gr->g[made].view_of = g;
  return made;
}

/* The views that lead from base to g, oldest first, of x instead of base. */
static uint32_t same_views(graph *gr, uint32_t base, uint32_t g, uint32_t x,
                           uint32_t trace, int depth) {
  uint32_t op, of;
  if (g == base) return x;
  op = gr->g[g].kind == G_VIEW ? gr->g[g].view_op : NO;
  of = gr->g[g].view_of;
  if (op == NO || depth > 48) return NO;
  x = same_views(gr, base, of, x, trace, depth + 1);
  if (x == NO) return NO;
  of = apply_view(gr, x, gr->t->node[op], gr->t->word[op].ints, trace,
                  depth + 1);
  return note_view(gr, of, x, op);
}

/* A view of an elementwise op that nothing else reads, or a small part of one,
 * is that op on views. g: the op, or a view of it. */
static uint32_t sink(graph *gr, uint32_t g, const plan_node *v, uint32_t ints,
                     uint32_t trace, int depth) {
  uint32_t base = graph_base(gr, g);
  gnode n = gr->g[base];
  for (uint32_t i = 0; i < n.nin; i++) {
    if (n.in[i] & IN_SCALAR) continue;
    n.in[i] = same_views(gr, base, g, n.in[i], trace, depth);
    if (n.in[i] == NO) return NO;
    n.in[i] = apply_view(gr, n.in[i], v, ints, trace, depth + 1);
    if (n.in[i] == NO) return NO;
  }
  n.shape = v->shape;
  if (v->shape->count == 0) n.kind = G_EMPTY;
  return graph_intern(gr, &n);
}

/* Every view between g and its base is known, and read by nothing else. */
static int views_free(const graph *gr, uint32_t base, uint32_t g, int small) {
  for (; g != base; g = gr->g[g].view_of) {
    uint32_t op = gr->g[g].kind == G_VIEW ? gr->g[g].view_op : NO;
    if (op == NO || gr->live[op] || (!small && gr->trace_uses[op] != 1))
      return 0;
  }
  return 1;
}

static int can_sink(const graph *gr, uint32_t g, const plan_node *v,
                    int depth) {
  uint32_t base = graph_base(gr, g);
  const gnode *n = &gr->g[base];
  int small = v->shape->count <= n->shape->count / 64;
  if (n->kind != G_MAP || n->box != NO || n->op == TSH_OP_index || depth > 48 ||
      v->shape->count > n->shape->count || plan_is_same(v->op))
    return 0;
  /* Permuting or reshaping loses nothing where it stands: the atoms of a
   * group follow it. Only a part saves work. */
  if (v->shape->count == n->shape->count && v->op != TSH_OP_slice) return 0;
  if (n->trace == NO || gr->live[n->trace]) return 0;
  /* A small part is cheaper to compute again than the whole is to write. */
  return (small || gr->trace_uses[n->trace] == 1) &&
         views_free(gr, base, g, small);
}

static uint32_t apply_view(graph *gr, uint32_t g, const plan_node *v,
                           uint32_t ints, uint32_t trace, int depth) {
  uint32_t base = graph_base(gr, g);
  plan_access a;
  if (v->shape->count == 0) {
    gnode n =
        graph_blank(G_EMPTY, 0, gr->g[g].dtype, gr->g[g].device, v->shape);
    return graph_intern(gr, &n);
  }
  if (gr->g[g].kind == G_FULL) { /* one value in any shape */
    gnode n = gr->g[g];
    n.shape = v->shape;
    return graph_intern(gr, &n);
  }
  if (!gr->unfused && can_sink(gr, g, v, depth))
    return sink(gr, g, v, ints, trace, depth);
  graph_access(gr, g, &a);
  if (!access_view(&a, gr->g[g].shape, v, ints)) {
    uint32_t copy = graph_copy(gr, g, trace);
    if (copy == NO) return NO;
    graph_access(gr, copy, &a);
    if (!access_view(&a, gr->g[copy].shape, v, ints)) return NO;
    return graph_view(gr, copy, &a, v->shape);
  }
  if (is_identity(gr, base, &a, v->shape)) return base;
  return graph_view(gr, base, &a, v->shape);
}

/* ---- devices ------------------------------------------------------------ */
int graph_is_generator(const gnode *n) {
  return n->kind == G_FULL || n->kind == G_IOTA || n->kind == G_EMPTY;
}

/* g as seen on a device: itself, or a view of a copy there. */
uint32_t graph_on_device(graph *gr, uint32_t g, uint32_t device,
                         uint32_t trace) {
  uint32_t base = graph_base(gr, g), moved;
  gnode n = gr->g[base];
  if (graph_is_generator(&n) || n.device == device) return g;
  if (n.kind == G_LEAF) { /* its memory may be a strided view: pack it */
    int64_t dense[PLAN_RANK];
    shape_strides(n.shape, dense);
    if (memcmp(dense, n.acc.stride, sizeof *dense * n.shape->rank) != 0)
      base = g = graph_copy(gr, g, trace);
    if (base == NO) return NO;
  }
  n = graph_blank(G_TO, TSH_OP_to, gr->g[base].dtype, device,
                  gr->g[base].shape);
  n.nin = 1;
  n.in[0] = base;
  n.trace = trace;
  if ((moved = graph_intern(gr, &n)) == NO || gr->g[g].kind != G_VIEW)
    return moved;
  return graph_view(gr, moved, &gr->g[g].acc, gr->g[g].shape);
}

/* Device that computes n: its own, or cpu when that lacks the op. */
static uint32_t computing_device(const graph *gr, const gnode *n) {
  dev *d = gr->p->device[n->device];
  return dev_has_op(d, n->op, graph_compute_dtype(gr, n))
             ? n->device
             : dev_id(dev_builtin(gr->p->devices));
}

static uint32_t add_compute(graph *gr, gnode *n) {
  uint32_t home = n->device, g;
  if (n->op != TSH_OP_copy) n->device = computing_device(gr, n);
  for (uint32_t i = 0; i < n->nin; i++) {
    if (n->in[i] & IN_SCALAR) continue;
    n->in[i] = graph_on_device(gr, n->in[i], n->device, n->trace);
    if (n->in[i] == NO) return NO;
  }
  g = graph_intern(gr, n);
  return g == NO || n->device == home ? g
                                      : graph_on_device(gr, g, home, n->trace);
}

/* ---- one gnode per recorded op ------------------------------------------ */
uint32_t graph_input(const graph *gr, uint32_t in) {
  return in & IN_LEAF ? gr->leaf_of[IN_NUMBER(in)] : gr->of[in];
}

static uint32_t build_leaf(graph *gr, uint32_t k) {
  plan_node *x = gr->t->leaf[k];
  gnode n = graph_blank(x->shape->count ? G_LEAF : G_EMPTY, 0, x->dtype,
                        dev_id(x->d), x->shape);
  n.leaf = k;
  n.axes = k; /* two leaves are never one node */
  if (x->layout)
    memcpy(n.acc.stride, x->layout->stride,
           sizeof *n.acc.stride * x->shape->rank);
  else
    shape_strides(x->shape, n.acc.stride);
  return graph_intern(gr, &n);
}

static uint32_t build_compute(graph *gr, uint32_t i, int kind) {
  plan_node *x = gr->t->node[i];
  const trace_word *w = &gr->t->word[i];
  gnode n = graph_blank(kind, x->op, x->dtype, dev_id(x->d), x->shape);
  if (x->shape->count == 0) n.kind = G_EMPTY;
  n.nin = x->nin;
  n.axes = x->axes;
  n.keep = x->keep;
  n.trace = i;
  if (n.kind == G_EMPTY || n.kind == G_IOTA) {
    n.nin = 0;
    return graph_intern(gr, &n);
  }
  for (uint32_t k = 0; k < n.nin; k++)
    n.in[k] = w->in[k] & IN_SCALAR && !(w->in[k] & IN_LEAF)
                  ? w->in[k]
                  : graph_input(gr, w->in[k]);
  if (kind == G_CALL && n.nin == 3 && gr->g[n.in[2]].kind == G_EMPTY)
    return n.in[0]; /* nothing to put into it */
  for (uint32_t k = 0; kind == G_CALL && k < n.nin; k++) /* reads memory */
    if (graph_is_generator(&gr->g[graph_base(gr, n.in[k])]) &&
        (n.in[k] = graph_copy(gr, n.in[k], i)) == NO)
      return NO;
  return kind == G_FULL ? graph_intern(gr, &n) : add_compute(gr, &n);
}

static uint32_t build_to(graph *gr, uint32_t i) {
  plan_node *x = gr->t->node[i];
  uint32_t g = graph_input(gr, gr->t->word[i].in[0]), device = dev_id(x->d);
  if (graph_is_generator(&gr->g[g])) {
    gnode n = gr->g[g];
    n.device = device;
    return graph_intern(gr, &n);
  }
  return graph_on_device(gr, g, device, i);
}

static uint32_t view_one(graph *gr, uint32_t i) {
  uint32_t g = graph_input(gr, gr->t->word[i].in[0]);
  uint32_t made = apply_view(gr, g, gr->t->node[i], gr->t->word[i].ints, i, 0);
  return note_view(gr, made, g, i);
}

static uint32_t build_one(graph *gr, uint32_t i) {
  plan_node *x = gr->t->node[i];
  if (plan_is_view(x->op)) return view_one(gr, i);
  if (x->shape->count == 0) return build_compute(gr, i, G_EMPTY);
  switch (x->op) {
  case TSH_OP_cat:
    return box_cat(gr, i);
  case TSH_OP_pad:
    return box_pad(gr, i);
  case TSH_OP_set:
    return box_set(gr, i);
  case TSH_OP_full:
    return build_compute(gr, i, G_FULL);
  case TSH_OP_iota:
    return build_compute(gr, i, G_IOTA);
  case TSH_OP_to:
    return build_to(gr, i);
  default:
    break;
  }
  switch (plan_ops[x->op].class_) {
  case OP_FOLD:
    return build_compute(gr, i, G_FOLD);
  case OP_CALL:
    return build_compute(gr, i, G_CALL);
  default:
    return build_compute(gr, i, G_MAP);
  }
}

/* ---- uses --------------------------------------------------------------- */
static void count_use(graph *gr, uint32_t in) {
  if (in == IN_NONE) return;
  if (in & IN_LEAF)
    gr->leaf_uses[IN_NUMBER(in)]++;
  else if (!(in & IN_SCALAR))
    gr->trace_uses[in]++;
}

static void count_uses(graph *gr) {
  for (uint32_t i = 0; i < gr->t->n; i++) {
    const trace_word *w = &gr->t->word[i];
    const plan_node *x = gr->t->node[i];
    if (x->op == TSH_OP_cat) {
      for (int k = 0; k < x->nin; k++)
        count_use(gr, (uint32_t)gr->t->aux[w->aux + k]);
      continue;
    }
    for (int k = 0; k < 3; k++) count_use(gr, w->in[k]);
  }
  for (uint32_t i = gr->t->n; i-- > 0;) /* detach is used as its input is */
    if (plan_is_same(gr->t->node[i]->op) && !(gr->t->word[i].in[0] & IN_LEAF))
      gr->trace_uses[gr->t->word[i].in[0]] +=
          gr->trace_uses[i] + (gr->live[i] != 0) - 1;
}

static int alloc_tables(graph *gr) {
  uint32_t n = gr->t->n + 1, k = gr->t->nleaf + 1;
  gr->of = plan_alloc(sizeof *gr->of * n);
  gr->end = plan_alloc(sizeof *gr->end * n);
  gr->trace_uses = plan_alloc(sizeof *gr->trace_uses * n);
  gr->leaf_of = plan_alloc(sizeof *gr->leaf_of * k);
  gr->leaf_uses = plan_alloc(sizeof *gr->leaf_uses * k);
  return gr->of && gr->end && gr->trace_uses && gr->leaf_of && gr->leaf_uses;
}

tsh_status graph_go_on(const graph *gr, uint32_t i, tsh_err *err) {
  if (i % 256 ||
      !__atomic_load_n(dev_cancel_word(gr->p->devices), __ATOMIC_RELAXED))
    return TSH_OK;
  return dev_fail(err, TSH_ECANCELLED, "interrupted while a plan was made");
}

tsh_status graph_build(graph *gr, tsh_err *err) {
  int ok = alloc_tables(gr);
  if (ok) count_uses(gr);
  for (uint32_t k = 0; ok && k < gr->t->nleaf; k++)
    ok = (gr->leaf_of[k] = build_leaf(gr, k)) != NO;
  for (uint32_t i = 0; ok && i < gr->t->n; i++) {
    tsh_status rc = graph_go_on(gr, i, err);
    if (rc != TSH_OK) return rc;
    ok = (gr->of[i] = build_one(gr, i)) != NO;
  }
  ok = ok && ends_find(gr);
  if (!ok) return plan_nomem(err, "a plan");
  ends_mark(gr);
  return TSH_OK;
}

void graph_free(graph *gr) {
  for (uint32_t i = 0; i < gr->ngroup; i++) {
    plan_release(gr->group[i].member);
    plan_release(gr->group[i].pred);
  }
  plan_release(gr->group);
  plan_release(gr->order);
  plan_release(gr->g);
  plan_release(gr->of);
  plan_release(gr->leaf_of);
  plan_release(gr->trace_uses);
  plan_release(gr->leaf_uses);
  plan_release(gr->hash);
  plan_release(gr->puts);
  plan_release(gr->end);
}
