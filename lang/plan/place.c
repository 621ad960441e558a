/* place.c - may a node be computed in a group, at the group's own points? */
#include "graph.h"

#define ROW  LEVEL_ROW
#define FULL LEVEL_FULL

static uint32_t mask_of(const uint8_t *list, uint32_t n) {
  uint32_t m = 0;
  for (uint32_t i = 0; i < n; i++) m |= UINT32_C(1) << list[i];
  return m;
}

int place_operand(graph *gr, uint32_t grp, uint32_t in, const plan_shape *shape,
                  axis_atoms *out) {
  plan_access a;
  graph_access(gr, in, &a);
  if (a.offset || a.nterm) return CUT_VIEW;
  return atoms_read(gr, grp, graph_base(gr, in), a.stride, shape, out);
}

static int same_axis(const axis_atoms *a, const axis_atoms *b, uint32_t i) {
  return a->n[i] == b->n[i] && memcmp(a->atom[i], b->atom[i], a->n[i]) == 0;
}

static int add_reading(graph *gr, uint32_t grp, uint32_t in,
                       const plan_shape *shape, reading *r) {
  const gnode *p;
  axis_atoms one;
  int why;
  atoms_watch(gr, grp, &r->at);
  why = place_operand(gr, grp, in, shape, &one);
  gr->ntemp--;
  if (why) return why;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->dim[i] == 1 || one.repeated[i]) continue;
    if (r->known[i] && !same_axis(&r->at, &one, i)) return CUT_VIEW;
    r->at.n[i] = one.n[i];
    memcpy(r->at.atom[i], one.atom[i], one.n[i]);
    r->known[i] = 1;
  }
  p = &gr->g[graph_base(gr, in)];
  if (p->level == FULL) {
    r->full = 1;
    if (p->phase > r->phase) r->phase = p->phase;
  } else if (p->ready > r->ready) {
    r->ready = p->ready;
  }
  return CUT_NONE;
}

int place_read(graph *gr, uint32_t g, uint32_t grp, reading *r) {
  const plan_shape *shape = gr->g[g].shape;
  memset(r, 0, sizeof *r);
  for (uint32_t k = 0; k < gr->g[g].nin; k++) {
    int why;
    if (!group_holds(gr, gr->g[g].in[k], grp)) continue;
    if ((why = add_reading(gr, grp, gr->g[g].in[k], shape, r))) return why;
  }
  return CUT_NONE;
}

static uint32_t known_mask(const reading *r, const plan_shape *s) {
  uint32_t m = 0;
  for (uint32_t i = 0; i < s->rank; i++)
    m |= mask_of(r->at.atom[i], r->at.n[i]);
  return m;
}

/* u[i] - u[j]: two axes cannot run over one atom. */
static int atom_twice(const reading *r, const plan_shape *s) {
  uint32_t seen = 0;
  for (uint32_t i = 0; i < s->rank; i++) {
    uint32_t m = mask_of(r->at.atom[i], r->at.n[i]);
    if (seen & m) return 1;
    seen |= m;
  }
  return 0;
}

static int is_open(const reading *r, const plan_shape *s, uint32_t i) {
  return s->dim[i] != 1 && !r->known[i];
}

static int has_open(const reading *r, const plan_shape *s) {
  for (uint32_t i = 0; i < s->rank; i++)
    if (is_open(r, s, i)) return 1;
  return 0;
}

/* The repeated axes run over the group's folded axes when their extents are
 * the same in order. */
static int open_as_inner(graph *gr, uint32_t grp, const plan_shape *s,
                         reading *r) {
  group *k = &gr->group[grp];
  uint32_t at = 0;
  atoms_watch(gr, grp, &r->at);
  for (uint32_t i = 0; i < s->rank; i++) {
    int64_t left = s->dim[i];
    if (!is_open(r, s, i)) continue;
    while (left > 1) {
      uint8_t atom;
      if (at == k->ni) goto no;
      atom = k->inner[at];
      if (k->ext[atom] == 0) goto no;
      if (left % k->ext[atom]) {
        if (k->ext[atom] % left ||
            !atoms_split(gr, grp, atom, k->ext[atom] / left))
          goto no;
      }
      r->at.atom[i][r->at.n[i]++] = atom;
      left /= k->ext[atom];
      at++;
    }
  }
  gr->ntemp--;
  return at == k->ni ? CUT_NONE : CUT_BROADCAST;
no:
  gr->ntemp--;
  return CUT_BROADCAST;
}

/* The repeated axes become new folded axes; what the group holds is then
 * computed once per row. Only where they stand innermost, so that the kernel
 * walks memory in order. */
static int open_as_new(graph *gr, uint32_t grp, const plan_shape *s,
                       reading *r) {
  group *k = &gr->group[grp];
  uint32_t seen = 0;
  for (uint32_t i = 0; i < s->rank; i++) {
    if (s->dim[i] == 1) continue;
    if (is_open(r, s, i))
      seen++;
    else if (seen)
      return CUT_BROADCAST;
  }
  if (k->natom + seen > MAX_ATOMS) return CUT_LIMIT;
  for (uint32_t i = 0; i < s->rank; i++) {
    int atom;
    if (!is_open(r, s, i)) continue;
    if ((atom = atoms_new(gr, grp, s->dim[i])) < 0) return CUT_LIMIT;
    r->at.atom[i][0] = (uint8_t)atom;
    r->at.n[i] = 1;
    k->inner[k->ni++] = (uint8_t)atom;
  }
  for (uint32_t i = 0; i < k->nmember; i++) {
    gr->g[k->member[i]].level = ROW;
    gr->g[k->member[i]].phase = gr->g[k->member[i]].ready = 0;
  }
  r->full = 0;
  return CUT_NONE;
}

static int place_open(graph *gr, uint32_t grp, const plan_shape *s,
                      reading *r) {
  const group *k = &gr->group[grp];
  uint32_t outer = mask_of(k->outer, k->no);
  if (known_mask(r, s) != outer || (r->full && k->ni)) return CUT_BROADCAST;
  if (k->ni) return open_as_inner(gr, grp, s, r);
  if (k->fold) return CUT_AXES;
  return open_as_new(gr, grp, s, r);
}

static void store_list(const axis_atoms *at, const plan_shape *s, uint8_t *list,
                       uint8_t *n) {
  *n = 0;
  for (uint32_t i = 0; i < s->rank; i++) {
    memcpy(list + *n, at->atom[i], at->n[i]);
    *n = (uint8_t)(*n + at->n[i]);
  }
}

static int phase_allowed(const graph *gr, const group *k, uint32_t phase) {
  const tsh_props *props = dev_props(gr->p->device[k->device]);
  uint64_t inner = 1;
  if (phase == 0) return 1;
  if (phase >= props->max_phases) return 0;
  for (uint32_t i = 0; i < k->ni; i++) inner *= (uint64_t)k->ext[k->inner[i]];
  return inner <= props->max_phase_inner;
}

int place_map(graph *gr, uint32_t g, uint32_t grp) {
  const plan_shape *s = gr->g[g].shape;
  group *k = &gr->group[grp];
  uint32_t known, phase;
  reading r;
  int why, full;
  if ((why = place_read(gr, g, grp, &r))) return why;
  if (atom_twice(&r, s)) return CUT_VIEW;
  if (has_open(&r, s)) {
    if (!phase_allowed(gr, k, r.ready)) return CUT_PHASES;
    if ((why = place_open(gr, grp, s, &r))) return why;
    known = mask_of(k->outer, k->no) | mask_of(k->inner, k->ni);
    full = 1;
  } else {
    uint32_t outer = mask_of(k->outer, k->no);
    known = known_mask(&r, s);
    full = known != outer || r.full || (!k->ni && !k->fold);
    if (full && known != (outer | mask_of(k->inner, k->ni))) return CUT_VIEW;
  }
  phase = full ? (r.phase > r.ready ? r.phase : r.ready) : 0;
  if (!phase_allowed(gr, k, phase)) return CUT_PHASES;
  gr->g[g].level = full ? FULL : ROW;
  gr->g[g].phase = (uint16_t)phase;
  gr->g[g].ready = (uint16_t)(full ? 0 : r.ready);
  store_list(&r.at, s, gr->g[g].list, &gr->g[g].nlist);
  return CUT_NONE;
}

/* ---- FOLD --------------------------------------------------------------- */
/* Lists of the operand, of the result and of the folded axes. */
static uint32_t fold_lists(const axis_atoms *at, const plan_shape *s, gnode *n,
                           uint8_t *inner) {
  uint32_t ni = 0;
  store_list(at, s, n->read, &n->nread);
  n->nlist = 0;
  for (uint32_t i = 0; i < s->rank; i++)
    for (uint32_t j = 0; j < at->n[i]; j++) {
      if (n->axes >> i & 1)
        inner[ni++] = at->atom[i][j];
      else
        n->list[n->nlist++] = at->atom[i][j];
    }
  return ni;
}

/* The group has no folded axes yet: these become them. */
void place_take_inner(group *k, const uint8_t *inner, uint32_t ni) {
  uint32_t m = mask_of(inner, ni), no = 0;
  for (uint32_t i = 0; i < k->no; i++)
    if (!(m >> k->outer[i] & 1)) k->outer[no++] = k->outer[i];
  k->no = (uint8_t)no;
  memcpy(k->inner, inner, ni);
  k->ni = (uint8_t)ni;
}

int place_fold(graph *gr, uint32_t g, uint32_t grp) {
  uint32_t in = gr->g[g].in[0], ni, all;
  const plan_shape *s = gr->g[in].shape;
  group *k = &gr->group[grp];
  uint8_t inner[MAX_ATOMS];
  gnode trial;
  reading r;
  int why;
  memset(&r, 0, sizeof r);
  if ((why = add_reading(gr, grp, in, s, &r))) return why;
  if (has_open(&r, s)) return CUT_BROADCAST;
  all = mask_of(k->outer, k->no) | mask_of(k->inner, k->ni);
  if (known_mask(&r, s) != all || !r.full) return CUT_AXES;
  trial = gr->g[g];
  ni = fold_lists(&r.at, s, &trial, inner);
  if (k->ni || k->fold) {
    if (ni != k->ni || memcmp(inner, k->inner, ni) != 0) return CUT_AXES;
  } else {
    place_take_inner(k, inner, ni);
  }
  k->fold = 1;
  trial.level = ROW;
  trial.phase = (uint16_t)r.phase;
  trial.ready = (uint16_t)(r.phase + 1);
  gr->g[g] = trial;
  return CUT_NONE;
}

/* ---- a group of its own ------------------------------------------------- */
int place_alone(graph *gr, uint32_t g, uint32_t grp) {
  int is_fold = gr->g[g].kind == G_FOLD;
  const plan_shape *s = is_fold ? gr->g[gr->g[g].in[0]].shape : gr->g[g].shape;
  group *k = &gr->group[grp];
  axis_atoms at;
  memset(&at, 0, sizeof at);
  for (uint32_t i = 0; i < s->rank; i++) {
    int atom;
    if (s->dim[i] == 1) continue;
    if ((atom = atoms_new(gr, grp, s->dim[i])) < 0) return CUT_LIMIT;
    at.atom[i][0] = (uint8_t)atom;
    at.n[i] = 1;
    k->outer[k->no++] = (uint8_t)atom;
  }
  gr->g[g].level = FULL;
  if (!is_fold) {
    store_list(&at, s, gr->g[g].list, &gr->g[g].nlist);
    return CUT_NONE;
  }
  uint8_t inner[MAX_ATOMS];
  uint32_t ni = fold_lists(&at, s, &gr->g[g], inner);
  place_take_inner(k, inner, ni);
  k->fold = 1;
  gr->g[g].level = ROW;
  gr->g[g].ready = 1;
  return CUT_NONE;
}
