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

uint32_t box_cat(graph *gr, uint32_t i) {
  const plan_node *x = gr->t->node[i];
  const int64_t *in = gr->t->aux + gr->t->word[i].aux;
  uint32_t box = new_box(gr, x, i);
  plan_access at = {0};
  if (box == NO) return NO;
  shape_strides(x->shape, at.stride);
  for (int k = 0; k < x->nin; k++) {
    uint32_t g = graph_input(gr, (uint32_t)in[k]);
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
