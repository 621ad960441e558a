/* verify.c - what must hold between the passes; run in debug builds and by the
 * tests. Each function returns 1, or 0 with a text. */
#include "graph.h"

#define FAULT(...)                                                             \
  do {                                                                         \
    snprintf(text, size, __VA_ARGS__);                                         \
    return 0;                                                                  \
  } while (0)

int verify_graph(const graph *gr, char *text, size_t size) {
  for (uint32_t i = 0; i < gr->n; i++) {
    const gnode *n = &gr->g[i];
    for (uint32_t k = 0; k < n->nin; k++) {
      if (n->in[k] & IN_SCALAR) continue;
      if (n->in[k] >= i) FAULT("node %u reads the later %u", i, n->in[k]);
      if (n->kind == G_MAP && gr->g[n->in[k]].shape != n->shape)
        FAULT("node %u (%s): operand %u has another shape", i,
              plan_ops[n->op].name, k);
      const gnode *base = &gr->g[graph_base(gr, n->in[k])];
      if (graph_is_compute(n) && n->kind != G_TO && !graph_is_generator(base) &&
          base->device != n->device)
        FAULT("node %u (%s): operand %u is on another device", i,
              plan_ops[n->op].name, k);
    }
    if (n->kind == G_VIEW && gr->g[n->base].kind == G_VIEW)
      FAULT("view %u shows a view", i);
    if (n->box != NO && (gr->g[n->box].kind != G_BOX || n->box >= i))
      FAULT("node %u fills no box", i);
  }
  return 1;
}

static int check_list(const graph *gr, uint32_t g, const group *k, char *text,
                      size_t size) {
  const gnode *n = &gr->g[g];
  int64_t count = 1;
  uint32_t seen = 0;
  for (uint32_t i = 0; i < n->nlist; i++) {
    if (n->list[i] >= k->natom || seen >> n->list[i] & 1)
      FAULT("node %u (%s): atom %u of %u twice or unknown, list of %u", g,
            plan_ops[n->op].name, n->list[i], k->natom, n->nlist);
    seen |= UINT32_C(1) << n->list[i];
    count *= k->ext[n->list[i]];
  }
  if (count != n->shape->count)
    FAULT("node %u (%s): atoms give %lld elements, the shape %lld", g,
          plan_ops[n->op].name, (long long)count, (long long)n->shape->count);
  return 1;
}

int verify_groups(graph *gr, char *text, size_t size) {
  for (uint32_t i = 0; i < gr->norder; i++) {
    const group *k = &gr->group[gr->order[i]];
    uint32_t seen = 0;
    if (k->single) continue;
    for (uint32_t j = 0; j < k->no + k->ni; j++) {
      uint8_t atom = j < k->no ? k->outer[j] : k->inner[j - k->no];
      if (atom >= k->natom || seen >> atom & 1)
        FAULT("group %u: atom %u twice or unknown", gr->order[i], atom);
      seen |= UINT32_C(1) << atom;
    }
    if (seen != (UINT32_C(1) << k->natom) - 1)
      FAULT("group %u: an atom on no axis", gr->order[i]);
    for (uint32_t j = 0; j < k->nmember; j++)
      if (!check_list(gr, k->member[j], k, text, size)) return 0;
    if (group_depends(gr, gr->order[i], gr->order[i]) == 1)
      FAULT("group %u depends on itself", gr->order[i]);
  }
  return 1;
}

/* Every element that argument j can reach lies in its value. Launch-time terms
 * are checked when they are recorded. */
static int in_bounds(const plan_entry *e, const made_launch *m, uint32_t j) {
  const made_value *v = &e->value[m->arg[j].value];
  int64_t lo = m->arg[j].offset, hi = lo;
  if (v->kind == VALUE_LEAF || m->arg[j].nterm || !m->rank) return 1;
  for (uint32_t k = 0; k < m->rank; k++) {
    int64_t reach = m->view[j].stride[k] * (m->extent[k] - 1);
    if (m->extent[k] == 0) return 1;
    if (reach < 0)
      lo += reach;
    else
      hi += reach;
  }
  return lo >= 0 && (uint64_t)hi < v->bytes / v->dtype_bytes;
}

int verify_entry(const plan_entry *e, char *text, size_t size) {
  for (uint32_t i = 0; i < e->nlaunch; i++) {
    const made_launch *m = &e->launch[i];
    for (uint32_t j = 0; j < m->narg; j++) {
      if (m->arg[j].value == NO) continue;
      if (m->arg[j].value >= e->nvalue)
        FAULT("launch %u: argument %u has no value", i, j);
      if (!in_bounds(e, m, j))
        FAULT("launch %u: argument %u leaves its value", i, j);
    }
    if (m->update != (i >= e->nlaunch - e->nupdate))
      FAULT("launch %u: updates must come last", i);
  }
  return 1;
}
