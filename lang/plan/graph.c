/* graph.c - trace -> graph of distinct values. Equal ops on equal inputs are
 * one gnode; views are resolved to strides over their base, and sunk through
 * elementwise ops that nothing else reads; cat, pad and set become boxes that
 * copies fill; what a device lacks is given to cpu with copies between. */
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

/* ---- hash consing -----------------------------------------------------------
 */
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

static gnode blank(int kind, int op, int dtype, uint32_t device,
                   const plan_shape *shape) {
  gnode n;
  memset(&n, 0, sizeof n);
  n.kind = (uint8_t)kind;
  n.op = (uint16_t)op;
  n.dtype = (uint8_t)dtype;
  n.device = device;
  n.shape = shape;
  n.base = n.box = n.after = n.storage = n.group = n.value = n.trace = NO;
  return n;
}

/* Number of n, an equal older node where there is one; NO: out of memory. */
static uint32_t intern(graph *gr, const gnode *n) {
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

/* ---- views
 * -------------------------------------------------------------------- */
void graph_access(const graph *gr, uint32_t g, plan_access *a) {
  const gnode *n = &gr->g[g];
  if (n->kind == G_VIEW || n->kind == G_LEAF) {
    *a = n->acc;
    return;
  }
  memset(a, 0, sizeof *a);
  shape_strides(n->shape, a->stride);
}

static uint32_t make_copy(graph *gr, uint32_t g, uint32_t trace) {
  gnode n = blank(G_MAP, TSH_OP_copy, gr->g[g].dtype, gr->g[g].device,
                  gr->g[g].shape);
  n.nin = 1;
  n.in[0] = g;
  n.trace = trace;
  return intern(gr, &n);
}

static uint32_t view_of(graph *gr, uint32_t base, const plan_access *a,
                        const plan_shape *shape) {
  gnode n = blank(G_VIEW, 0, gr->g[base].dtype, gr->g[base].device, shape);
  if (shape->count == 0) n.kind = G_EMPTY;
  n.base = base;
  n.acc = *a;
  return intern(gr, &n);
}

static int is_identity(const graph *gr, uint32_t g, const plan_access *a,
                       const plan_shape *shape) {
  plan_access own;
  graph_access(gr, g, &own);
  return shape == gr->g[g].shape && same_access(a, &own, shape->rank);
}

static uint32_t apply_view(graph *gr, uint32_t g, const plan_node *v,
                           uint32_t ints, uint32_t trace, int depth);

/* A view of an elementwise op that nothing else reads, or a small part of one,
 * is that op on views. */
static uint32_t sink(graph *gr, uint32_t g, const plan_node *v, uint32_t ints,
                     uint32_t trace, int depth) {
  gnode n = gr->g[g];
  for (uint32_t i = 0; i < n.nin; i++) {
    if (n.in[i] & IN_SCALAR) continue;
    n.in[i] = apply_view(gr, n.in[i], v, ints, trace, depth + 1);
    if (n.in[i] == NO) return NO;
  }
  n.shape = v->shape;
  if (v->shape->count == 0) n.kind = G_EMPTY;
  return intern(gr, &n);
}

static int can_sink(const graph *gr, uint32_t g, const plan_node *v,
                    int depth) {
  const gnode *n = &gr->g[g];
  if (n->kind != G_MAP || n->box != NO || n->op == TSH_OP_index || depth > 48 ||
      v->shape->count > n->shape->count || v->op == TSH_OP_detach)
    return 0;
  /* Permuting or reshaping loses nothing where it stands: the atoms of a
   * group follow it. Only a part saves work. */
  if (v->shape->count == n->shape->count && v->op != TSH_OP_slice) return 0;
  if (n->trace == NO || gr->live[n->trace]) return 0;
  /* A small part is cheaper to compute again than the whole is to write. */
  return gr->trace_uses[n->trace] == 1 ||
         v->shape->count <= n->shape->count / 64;
}

static uint32_t apply_view(graph *gr, uint32_t g, const plan_node *v,
                           uint32_t ints, uint32_t trace, int depth) {
  uint32_t base = graph_base(gr, g);
  plan_access a;
  if (v->shape->count == 0) {
    gnode n = blank(G_EMPTY, 0, gr->g[g].dtype, gr->g[g].device, v->shape);
    return intern(gr, &n);
  }
  if (gr->g[g].kind == G_FULL) { /* one value in any shape */
    gnode n = gr->g[g];
    n.shape = v->shape;
    return intern(gr, &n);
  }
  if (!gr->unfused && can_sink(gr, g, v, depth))
    return sink(gr, g, v, ints, trace, depth);
  graph_access(gr, g, &a);
  if (!access_view(&a, gr->g[g].shape, v, ints)) {
    uint32_t copy = make_copy(gr, g, trace);
    if (copy == NO) return NO;
    graph_access(gr, copy, &a);
    if (!access_view(&a, gr->g[copy].shape, v, ints)) return NO;
    return view_of(gr, copy, &a, v->shape);
  }
  if (is_identity(gr, base, &a, v->shape)) return base;
  return view_of(gr, base, &a, v->shape);
}

/* ---- devices
 * --------------------------------------------------------------------- */
static int is_generator(const gnode *n) {
  return n->kind == G_FULL || n->kind == G_IOTA || n->kind == G_EMPTY;
}

/* g as seen on a device: itself, or a view of a copy there. */
static uint32_t on_device(graph *gr, uint32_t g, uint32_t device,
                          uint32_t trace) {
  uint32_t base = graph_base(gr, g), moved;
  gnode n = gr->g[base];
  if (is_generator(&n) || n.device == device) return g;
  if (n.kind == G_LEAF) { /* its memory may be a strided view: pack it */
    int64_t dense[PLAN_RANK];
    shape_strides(n.shape, dense);
    if (memcmp(dense, n.acc.stride, sizeof *dense * n.shape->rank) != 0)
      base = g = make_copy(gr, g, trace);
    if (base == NO) return NO;
  }
  n = blank(G_TO, TSH_OP_to, gr->g[base].dtype, device, gr->g[base].shape);
  n.nin = 1;
  n.in[0] = base;
  n.trace = trace;
  if ((moved = intern(gr, &n)) == NO || gr->g[g].kind != G_VIEW) return moved;
  return view_of(gr, moved, &gr->g[g].acc, gr->g[g].shape);
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
    n->in[i] = on_device(gr, n->in[i], n->device, n->trace);
    if (n->in[i] == NO) return NO;
  }
  g = intern(gr, n);
  return g == NO || n->device == home ? g : on_device(gr, g, home, n->trace);
}

/* ---- boxes
 * ------------------------------------------------------------------------- */
/* A copy of g (any shape) that fills the part of box that `where` says. */
static int put(graph *gr, uint32_t box, uint32_t g, const plan_access *where,
               uint32_t after, uint32_t trace) {
  gnode n = blank(G_MAP, TSH_OP_copy, gr->g[box].dtype, gr->g[box].device,
                  gr->g[g].shape);
  uint32_t id;
  if (n.shape->count == 0) return 1;
  n.nin = 1;
  n.in[0] = on_device(gr, g, n.device, trace);
  n.box = box;
  n.acc = *where;
  n.after = after;
  n.trace = trace;
  if (n.in[0] == NO || (id = intern(gr, &n)) == NO ||
      !PLAN_GROW(gr->puts, gr->put_cap, gr->nput + 1))
    return 0;
  gr->puts[gr->nput++] = id;
  gr->g[box].nput++;
  return 1;
}

static uint32_t new_box(graph *gr, const plan_node *x, uint32_t trace) {
  gnode n = blank(G_BOX, x->op, x->dtype, dev_id(x->d), x->shape);
  uint32_t box;
  n.trace = trace;
  n.put = gr->nput;
  box = intern(gr, &n);
  return box;
}

static uint32_t input(const graph *gr, uint32_t in) {
  return in & IN_LEAF ? gr->leaf_of[IN_NUMBER(in)] : gr->of[in];
}

static uint32_t build_cat(graph *gr, uint32_t i) {
  const plan_node *x = gr->t->node[i];
  const int64_t *in = gr->t->aux + gr->t->word[i].aux;
  uint32_t box = new_box(gr, x, i);
  plan_access at = {0};
  if (box == NO) return NO;
  shape_strides(x->shape, at.stride);
  for (int k = 0; k < x->nin; k++) {
    uint32_t g = input(gr, (uint32_t)in[k]);
    if (!put(gr, box, g, &at, NO, i)) return NO;
    at.offset += at.stride[x->axes] * gr->g[g].shape->dim[x->axes];
  }
  return box;
}

/* The border around x in slabs: before and after each axis, inside the earlier
 * axes' interior, so that no element is written twice. */
static int pad_slab(graph *gr, uint32_t box, uint32_t fill, uint32_t i,
                    uint32_t axis, int high) {
  const plan_node *x = gr->t->node[i];
  const plan_shape *inner = node_in(gr->t->node[i])[0].node->shape, *shape;
  const int64_t *before = x->attr->pad.before, *after = x->attr->pad.after;
  int64_t dim[PLAN_RANK], start[PLAN_RANK] = {0};
  plan_access at = {0}, whole = {0};
  uint32_t g;
  for (uint32_t k = 0; k < inner->rank; k++) {
    start[k] = k < axis ? before[k] : 0;
    dim[k] = k < axis ? inner->dim[k] : x->shape->dim[k];
  }
  dim[axis] = high ? after[axis] : before[axis];
  start[axis] = high ? before[axis] + inner->dim[axis] : 0;
  if (!(shape = plan_shape_get(gr->p, (int)inner->rank, dim, NULL))) return 0;
  if (shape->count == 0) return 1;
  shape_strides(x->shape, at.stride);
  for (uint32_t k = 0; k < inner->rank; k++)
    at.offset += start[k] * at.stride[k];
  graph_access(gr, fill, &whole); /* 0-d: repeated along every axis */
  memset(whole.stride, 0, sizeof whole.stride);
  if (gr->g[fill].kind == G_FULL) {
    gnode n = gr->g[fill];
    n.shape = shape;
    g = intern(gr, &n);
  } else {
    g = view_of(gr, graph_base(gr, fill), &whole, shape);
  }
  return g != NO && put(gr, box, g, &at, NO, i);
}

static uint32_t build_pad(graph *gr, uint32_t i) {
  plan_node *x = gr->t->node[i];
  uint32_t box = new_box(gr, x, i), inner = input(gr, gr->t->word[i].in[0]);
  uint32_t fill = input(gr, gr->t->word[i].in[1]);
  plan_access at = {0};
  if (box == NO) return NO;
  shape_strides(x->shape, at.stride);
  for (uint32_t k = 0; k < x->shape->rank; k++)
    at.offset += at.stride[k] * x->attr->pad.before[k];
  if (!put(gr, box, inner, &at, NO, i)) return NO;
  for (uint32_t k = 0; k < x->shape->rank; k++)
    if (!pad_slab(gr, box, fill, i, k, 0) || !pad_slab(gr, box, fill, i, k, 1))
      return NO;
  return box;
}

/* May a set write into the memory of its first input? When nothing else ever
 * reads it: a pending value with this one use, or a leaf that is dying. */
static int takes_over(const graph *gr, uint32_t in, uint32_t g) {
  const gnode *n = &gr->g[g];
  if (in & IN_LEAF) {
    uint32_t k = IN_NUMBER(in);
    return !gr->no_update && gr->leaf_uses[k] == 1 && n->kind == G_LEAF &&
           gr->t->donatable[k] && gr->t->leaf[k]->buf->leaf == k &&
           gr->t->leaf_next[k] == IN_NONE; /* no other leaf shows it */
  }
  return n->kind == G_BOX && n->trace == in && gr->trace_uses[in] == 1 &&
         !gr->live[in];
}

static uint32_t build_set(graph *gr, uint32_t i) {
  plan_node *x = gr->t->node[i];
  const trace_word *w = &gr->t->word[i];
  uint32_t old = input(gr, w->in[0]), part = input(gr, w->in[1]), box, first;
  plan_access at = {0}, whole = {0};
  if (gr->g[part].shape->count == 0) return old;
  if ((box = new_box(gr, x, i)) == NO) return NO;
  shape_strides(x->shape, at.stride);
  whole = at;
  if (takes_over(gr, w->in[0], old)) {
    gr->g[box].storage = old;
    first = old;
  } else {
    if (!put(gr, box, old, &whole, NO, i)) return NO;
    first = gr->puts[gr->nput - 1];
    gr->set_copies++;
  }
  if (!access_view(&at, x->shape,
                   &(plan_node){.op = TSH_OP_slice,
                                .attr = x->attr,
                                .shape = gr->g[part].shape},
                   w->ints))
    return NO;
  return put(gr, box, part, &at, first, i) ? box : NO;
}

/* ---- one gnode per recorded op
 * --------------------------------------------------------- */
static uint32_t build_leaf(graph *gr, uint32_t k) {
  plan_node *x = gr->t->leaf[k];
  gnode n = blank(x->shape->count ? G_LEAF : G_EMPTY, 0, x->dtype, dev_id(x->d),
                  x->shape);
  n.leaf = k;
  n.axes = k; /* two leaves are never one node */
  if (x->layout)
    memcpy(n.acc.stride, x->layout->stride,
           sizeof *n.acc.stride * x->shape->rank);
  else
    shape_strides(x->shape, n.acc.stride);
  return intern(gr, &n);
}

static uint32_t build_compute(graph *gr, uint32_t i, int kind) {
  plan_node *x = gr->t->node[i];
  const trace_word *w = &gr->t->word[i];
  gnode n = blank(kind, x->op, x->dtype, dev_id(x->d), x->shape);
  if (x->shape->count == 0) n.kind = G_EMPTY;
  n.nin = x->nin;
  n.axes = x->axes;
  n.keep = x->keep;
  n.trace = i;
  if (n.kind == G_EMPTY || n.kind == G_IOTA) {
    n.nin = 0;
    return intern(gr, &n);
  }
  for (uint32_t k = 0; k < n.nin; k++)
    n.in[k] = w->in[k] & IN_SCALAR && !(w->in[k] & IN_LEAF)
                  ? w->in[k]
                  : input(gr, w->in[k]);
  if (x->op == TSH_OP_index_add && gr->g[n.in[2]].kind == G_EMPTY)
    return n.in[0];                                      /* nothing to add */
  for (uint32_t k = 0; kind == G_CALL && k < n.nin; k++) /* reads memory */
    if (is_generator(&gr->g[graph_base(gr, n.in[k])]) &&
        (n.in[k] = make_copy(gr, n.in[k], i)) == NO)
      return NO;
  return kind == G_FULL ? intern(gr, &n) : add_compute(gr, &n);
}

static uint32_t build_to(graph *gr, uint32_t i) {
  plan_node *x = gr->t->node[i];
  uint32_t g = input(gr, gr->t->word[i].in[0]), device = dev_id(x->d);
  if (is_generator(&gr->g[g])) {
    gnode n = gr->g[g];
    n.device = device;
    return intern(gr, &n);
  }
  return on_device(gr, g, device, i);
}

static uint32_t build_one(graph *gr, uint32_t i) {
  plan_node *x = gr->t->node[i];
  if (plan_is_view(x->op))
    return apply_view(gr, input(gr, gr->t->word[i].in[0]), x,
                      gr->t->word[i].ints, i, 0);
  if (x->shape->count == 0) return build_compute(gr, i, G_EMPTY);
  switch (x->op) {
  case TSH_OP_cat:
    return build_cat(gr, i);
  case TSH_OP_pad:
    return build_pad(gr, i);
  case TSH_OP_set:
    return build_set(gr, i);
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

/* ---- uses
 * --------------------------------------------------------------------------------
 */
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
}

/* ---- what becomes of live nodes
 * ------------------------------------------------------------ */
/* A live view shares its base's memory, unless it is a small part of a value
 * that nobody else wants: then the part alone is copied out. */
static uint32_t live_view(graph *gr, uint32_t g, uint32_t i) {
  uint32_t base = gr->g[g].base;
  const gnode *b = &gr->g[base];
  if (b->kind == G_LEAF || b->live) return g;
  if (is_generator(b)) return make_copy(gr, g, i);
  if (gr->g[g].shape->count >= b->shape->count) {
    gr->g[base].live = 1;
    return g;
  }
  return make_copy(gr, g, i);
}

static int end_of(graph *gr, uint32_t i, uint32_t g) {
  node_end *e = &gr->end[i];
  uint32_t base = graph_base(gr, g);
  const gnode *n = &gr->g[g];
  const plan_shape *s = n->shape;
  int64_t dense[PLAN_RANK];
  if (n->kind == G_EMPTY) {
    e->kind = END_EMPTY;
    return 1;
  }
  e->kind = gr->g[base].kind == G_LEAF ? END_LEAF : END_VALUE;
  e->value = e->kind == END_LEAF ? gr->g[base].leaf : base;
  graph_access(gr, g, &e->acc);
  shape_strides(s, dense);
  for (uint32_t k = 0; k < s->rank; k++) {
    if (s->dim[k] == 1 || dense[k] == e->acc.stride[k]) continue;
    e->layout = layout_get(gr->p, (int)s->rank, e->acc.stride);
    return e->layout != NULL;
  }
  return 1;
}

static int finish_live(graph *gr) {
  for (uint32_t i = 0; i < gr->t->n; i++) { /* whole values first */
    uint32_t g = gr->of[i];
    if (!gr->live[i] || gr->g[g].kind == G_VIEW) continue;
    if (gr->g[g].kind == G_FULL || gr->g[g].kind == G_IOTA)
      if ((gr->of[i] = g = make_copy(gr, g, i)) == NO) return 0;
    gr->g[g].live = 1;
  }
  for (uint32_t i = 0; i < gr->t->n; i++) {
    uint32_t g = gr->of[i];
    if (!gr->live[i]) continue;
    if (gr->g[g].kind == G_VIEW) {
      if ((g = live_view(gr, g, i)) == NO) return 0;
      gr->of[i] = g;
      gr->g[g].live = 1;
    }
    if (!end_of(gr, i, g)) return 0;
  }
  return 1;
}

/* Dead-node removal: needed is what live nodes reach. Whatever reads a box
 * stands behind its puts, so one pass from the end sees the box first. */
static void mark_needed(graph *gr) {
  for (uint32_t i = gr->n; i-- > 0;) {
    gnode *n = &gr->g[i];
    const gnode *box = n->box == NO ? NULL : &gr->g[n->box];
    if (n->live || (box && (box->needed || box->live))) n->needed = 1;
    if (!n->needed) continue;
    if (n->kind == G_VIEW) gr->g[n->base].needed = 1;
    for (uint32_t k = 0; k < n->nin; k++)
      if (!(n->in[k] & IN_SCALAR)) gr->g[n->in[k]].needed = 1;
    if (n->after != NO) gr->g[n->after].needed = 1;
    if (n->storage != NO) gr->g[n->storage].needed = 1;
  }
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

tsh_status graph_build(graph *gr, tsh_err *err) {
  int ok = alloc_tables(gr);
  if (ok) count_uses(gr);
  for (uint32_t k = 0; ok && k < gr->t->nleaf; k++)
    ok = (gr->leaf_of[k] = build_leaf(gr, k)) != NO;
  for (uint32_t i = 0; ok && i < gr->t->n; i++)
    ok = (gr->of[i] = build_one(gr, i)) != NO;
  ok = ok && finish_live(gr);
  if (!ok) return plan_nomem(err, "a plan");
  mark_needed(gr);
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
