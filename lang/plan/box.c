/* box.c - cat, pad and set: memory that copies fill, part by part. */
#include "graph.h"

/* A copy of g (any shape) that fills the part of box that `where` says. */
static int put(graph *gr, uint32_t box, uint32_t g, const plan_access *where,
               uint32_t after, uint32_t trace) {
  gnode n = graph_blank(G_MAP, TSH_OP_copy, gr->g[box].dtype, gr->g[box].device,
                        gr->g[g].shape);
  uint32_t id;
  if (n.shape->count == 0) return 1;
  n.nin = 1;
  n.in[0] = graph_on_device(gr, g, n.device, trace);
  n.box = box;
  n.acc = *where;
  n.after = after;
  n.trace = trace;
  if (n.in[0] == NO || (id = graph_intern(gr, &n)) == NO ||
      !PLAN_GROW(gr->puts, gr->put_cap, gr->nput + 1))
    return 0;
  gr->puts[gr->nput++] = id;
  gr->g[box].nput++;
  return 1;
}

static uint32_t new_box(graph *gr, const plan_node *x, uint32_t trace) {
  gnode n = graph_blank(G_BOX, x->op, x->dtype, dev_id(x->d), x->shape);
  uint32_t box;
  n.trace = trace;
  n.put = gr->nput;
  box = graph_intern(gr, &n);
  return box;
}

/* ---- parts that are joined from parts ------------------------------------ */
/* Strides that the axes of box `inner` have in memory where view g of it has
 * the strides of `at`; 0 when there are none. The view only groups axes. */
static int inner_strides(const graph *gr, uint32_t inner, uint32_t g,
                         const plan_access *at, int64_t *out) {
  const plan_shape *s = gr->g[inner].shape, *v = gr->g[g].shape;
  int64_t own[PLAN_RANK];
  plan_access a;
  graph_access(gr, g, &a);
  if (a.offset || a.nterm || v->count != s->count) return 0;
  shape_strides(s, own);
  for (uint32_t k = 0; k < s->rank; k++) {
    uint32_t axis = 0;
    out[k] = 0;
    if (s->dim[k] == 1) continue;
    while (axis < v->rank &&
           (v->dim[axis] == 1 || a.stride[axis] < 1 ||
            own[k] % a.stride[axis] ||
            own[k] * s->dim[k] > a.stride[axis] * v->dim[axis]))
      axis++;
    if (axis == v->rank) return 0;
    out[k] = at->stride[axis] * (own[k] / a.stride[axis]);
  }
  return 1;
}

/* The place in the outer memory of what lies at *a in box `inner`. */
static void move_access(const plan_shape *inner, const int64_t *stride,
                        int64_t offset, plan_access *a) {
  int64_t own[PLAN_RANK], rest = a->offset;
  shape_strides(inner, own);
  a->offset = offset;
  for (uint32_t k = 0; k < inner->rank; k++) {
    if (inner->dim[k] == 1) continue; /* its stride means nothing */
    a->offset += rest / own[k] * stride[k];
    rest %= own[k];
    a->stride[k] = a->stride[k] / own[k] * stride[k];
  }
}

/* Is the value of trace position `to` seen by nothing but views that lead to
 * position `in`, and these by one reader? Also views that change nothing, of
 * which the graph knows nothing, count. */
static int read_once(const graph *gr, uint32_t in, uint32_t to) {
  for (;; in = gr->t->word[in].in[0]) {
    if (in & IN_LEAF || gr->live[in] || gr->trace_uses[in] != 1) return 0;
    if (in == to) return 1;
    if (!plan_is_view(gr->t->node[in]->op)) return 0;
  }
}

/* Joining what was joined, or given a border, for this alone: its parts go to
 * their places at once. 1: done, 0: no memory, -1: it must be copied. */
static int put_parts(graph *gr, uint32_t box, uint32_t in,
                     const plan_access *at) {
  uint32_t g = graph_input(gr, in), inner = graph_base(gr, g);
  const gnode *n = &gr->g[inner];
  int64_t stride[PLAN_RANK];
  if (gr->unfused || n->kind != G_BOX || n->op == TSH_OP_set ||
      n->device != gr->g[box].device || n->dtype != gr->g[box].dtype ||
      !read_once(gr, in, n->trace) || !inner_strides(gr, inner, g, at, stride))
    return -1;
  for (uint32_t k = 0; k < gr->g[inner].nput; k++) {
    uint32_t id = gr->puts[gr->g[inner].put + k];
    if (!PLAN_GROW(gr->puts, gr->put_cap, gr->nput + 1)) return 0;
    move_access(gr->g[inner].shape, stride, at->offset, &gr->g[id].acc);
    gr->g[id].box = box;
    gr->puts[gr->nput++] = id;
    gr->g[box].nput++;
  }
  gr->g[inner].nput = 0;
  return 1;
}

uint32_t box_cat(graph *gr, uint32_t i) {
  const plan_node *x = gr->t->node[i];
  const int64_t *in = gr->t->aux + gr->t->word[i].aux;
  uint32_t box = new_box(gr, x, i);
  plan_access at = {0};
  if (box == NO) return NO;
  shape_strides(x->shape, at.stride);
  for (int k = 0; k < x->nin; k++) {
    uint32_t g = graph_input(gr, (uint32_t)in[k]);
    int done = put_parts(gr, box, (uint32_t)in[k], &at);
    if (done == 0 || (done < 0 && !put(gr, box, g, &at, NO, i))) return NO;
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
    g = graph_intern(gr, &n);
  } else {
    g = graph_view(gr, graph_base(gr, fill), &whole, shape);
  }
  return g != NO && put(gr, box, g, &at, NO, i);
}

uint32_t box_pad(graph *gr, uint32_t i) {
  plan_node *x = gr->t->node[i];
  uint32_t box = new_box(gr, x, i),
           inner = graph_input(gr, gr->t->word[i].in[0]);
  uint32_t fill = graph_input(gr, gr->t->word[i].in[1]);
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

uint32_t box_set(graph *gr, uint32_t i) {
  plan_node *x = gr->t->node[i];
  const trace_word *w = &gr->t->word[i];
  uint32_t old = graph_input(gr, w->in[0]), part = graph_input(gr, w->in[1]),
           box, first;
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
