/* merge.c - two groups that one node reads become one kernel when their spaces
 * are the same, seen from that node. */
#include "graph.h"

#define NONE 255

typedef struct {
  uint8_t of[MAX_ATOMS]; /* atom of b -> atom of a */
  uint32_t in_a, in_b;   /* atoms that have a partner */
} pairing;

static int pair(pairing *m, uint8_t a, uint8_t b) {
  if (m->in_a >> a & 1 || m->in_b >> b & 1) return 0; /* u[i] - u[j] */
  m->of[b] = a;
  m->in_a |= UINT32_C(1) << a;
  m->in_b |= UINT32_C(1) << b;
  return 1;
}

/* Pairs the atoms of one axis, splitting the longer of two. */
static int pair_axis(graph *gr, uint32_t a, uint32_t b, reading *ra,
                     reading *rb, uint32_t axis, pairing *m) {
  for (uint32_t i = 0;; i++) {
    uint8_t x, y;
    int64_t ex, ey;
    if (i == ra->at.n[axis] || i == rb->at.n[axis])
      return ra->at.n[axis] == rb->at.n[axis];
    x = ra->at.atom[axis][i];
    y = rb->at.atom[axis][i];
    ex = gr->group[a].ext[x];
    ey = gr->group[b].ext[y];
    if (ex > ey && (ex % ey || !atoms_split(gr, a, x, ex / ey))) return 0;
    if (ey > ex && (ey % ex || !atoms_split(gr, b, y, ey / ex))) return 0;
    if (!pair(m, x, y)) return 0;
  }
}

static int pair_all(graph *gr, uint32_t g, uint32_t a, uint32_t b, pairing *m) {
  const plan_shape *s = gr->g[g].shape;
  reading ra, rb;
  int ok;
  memset(m, 0, sizeof *m);
  memset(m->of, NONE, sizeof m->of);
  if (place_read(gr, g, a, &ra)) return 0;
  atoms_watch(gr, a, &ra.at);
  ok = !place_read(gr, g, b, &rb);
  atoms_watch(gr, b, &rb.at);
  for (uint32_t i = 0; i < s->rank && ok; i++)
    if (ra.known[i] && rb.known[i]) ok = pair_axis(gr, a, b, &ra, &rb, i, m);
  gr->ntemp -= 2;
  return ok;
}

/* Two reductions that the node does not see into: their folded axes are one
 * when their extents agree in order. */
static void pair_inner(const group *a, const group *b, pairing *m) {
  if (!a->ni || a->ni != b->ni) return;
  for (uint32_t i = 0; i < a->ni; i++)
    if (a->ext[a->inner[i]] != b->ext[b->inner[i]] ||
        m->in_a >> a->inner[i] & 1 || m->in_b >> b->inner[i] & 1)
      return;
  for (uint32_t i = 0; i < a->ni; i++) pair(m, a->inner[i], b->inner[i]);
}

static uint32_t image(const pairing *m, const uint8_t *list, uint32_t n,
                      uint8_t *out) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < n; i++) {
    out[i] = m->of[list[i]];
    mask |= UINT32_C(1) << out[i];
  }
  return mask;
}

static uint32_t all_atoms(const group *k) {
  return k->natom == 32 ? UINT32_MAX : (UINT32_C(1) << k->natom) - 1;
}

/* b reduces: a must have the same folded axes in the same order, or none yet
 * and cover the whole space. */
static int fit_folding(group *a, const group *b, const pairing *m) {
  uint8_t outer[MAX_ATOMS], inner[MAX_ATOMS];
  uint32_t o = image(m, b->outer, b->no, outer), ao = 0;
  uint32_t i = image(m, b->inner, b->ni, inner);
  for (uint32_t k = 0; k < a->no; k++) ao |= UINT32_C(1) << a->outer[k];
  if (a->ni || a->fold)
    return ao == o && a->ni == b->ni && memcmp(inner, a->inner, b->ni) == 0;
  if ((o | i) != all_atoms(a)) return 0;
  place_take_inner(a, inner, b->ni);
  a->fold = b->fold;
  return 1;
}

/* b is elementwise: its points are all of a's, or a's rows. */
static int fit_plain(const group *a, const group *b, const pairing *m,
                     int *rows) {
  uint8_t list[MAX_ATOMS];
  uint32_t o = image(m, b->outer, b->no, list), ao = 0;
  for (uint32_t k = 0; k < a->no; k++) ao |= UINT32_C(1) << a->outer[k];
  *rows = a->ni && o == ao;
  return *rows || o == all_atoms(a);
}

static int move_members(graph *gr, uint32_t a, uint32_t b, const pairing *m,
                        int rows) {
  group *ka = &gr->group[a], *kb = &gr->group[b];
  if (!PLAN_GROW(ka->member, ka->member_cap, ka->nmember + kb->nmember) ||
      !PLAN_GROW(ka->pred, ka->pred_cap, ka->npred + kb->npred))
    return 0;
  for (uint32_t i = 0; i < kb->nmember; i++) {
    gnode *n = &gr->g[kb->member[i]];
    for (uint32_t j = 0; j < n->nlist; j++) n->list[j] = m->of[n->list[j]];
    for (uint32_t j = 0; j < n->nread; j++) n->read[j] = m->of[n->read[j]];
    if (rows) {
      n->level = LEVEL_ROW;
      n->phase = n->ready = 0;
    }
    ka->member[ka->nmember++] = kb->member[i];
  }
  for (uint32_t i = 0; i < kb->npred; i++) ka->pred[ka->npred++] = kb->pred[i];
  ka->ninst += kb->ninst;
  ka->narg += kb->narg;
  kb->alias = a;
  return 1;
}

int merge_groups(graph *gr, uint32_t g, uint32_t a, uint32_t b) {
  const tsh_props *props = dev_props(gr->p->device[gr->group[a].device]);
  group *ka = &gr->group[a], *kb = &gr->group[b];
  int rows = 0;
  pairing m;
  if (ka->device != kb->device) return CUT_DEVICE;
  if (ka->ninst + kb->ninst > props->max_insts ||
      ka->narg + kb->narg > props->max_args / 4 * 3)
    return CUT_LIMIT;
  if (group_depends(gr, a, b) || group_depends(gr, b, a)) return CUT_ORDER;
  if (!pair_all(gr, g, a, b, &m)) return CUT_VIEW;
  pair_inner(ka, kb, &m);
  if (m.in_b != all_atoms(kb)) {
    if (m.in_a != all_atoms(ka)) return CUT_VIEW;
    return merge_groups(gr, g, b, a); /* a's space lies in b's */
  }
  if (kb->ni || kb->fold) {
    if (!fit_folding(ka, kb, &m)) return CUT_AXES;
  } else if (!fit_plain(ka, kb, &m, &rows)) {
    return CUT_BROADCAST;
  }
  return move_members(gr, a, b, &m, rows) ? CUT_NONE : CUT_LIMIT;
}
