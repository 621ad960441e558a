/* ends.c - what becomes of the nodes that are alive after the run, and which
 * gnodes they need. */
#include "graph.h"

/* A live view shares its base's memory, unless it is a small part of a value
 * that nobody else wants: then the part alone is copied out. */
static uint32_t live_view(graph *gr, uint32_t g, uint32_t i) {
  uint32_t base = gr->g[g].base;
  const gnode *b = &gr->g[base];
  if (b->kind == G_LEAF || b->live) return g;
  if (graph_is_generator(b)) return graph_copy(gr, g, i);
  if (gr->g[g].shape->count >= b->shape->count) {
    gr->g[base].live = 1;
    return g;
  }
  return graph_copy(gr, g, i);
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

int ends_find(graph *gr) {
  for (uint32_t i = 0; i < gr->t->n; i++) { /* whole values first */
    uint32_t g = gr->of[i];
    if (!gr->live[i] || gr->g[g].kind == G_VIEW) continue;
    if (gr->g[g].kind == G_FULL || gr->g[g].kind == G_IOTA)
      if ((gr->of[i] = g = graph_copy(gr, g, i)) == NO) return 0;
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
void ends_mark(graph *gr) {
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
