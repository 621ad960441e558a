/* atoms.c - the axes of a kernel are atoms: factors fine enough that every
 * axis of every node in the group is a product of some. A node's list of atoms
 * is the row-major order of its elements, so that a reshape changes nothing
 * and a permutation reorders the list. */
#include "graph.h"

uint32_t atoms_find(const graph *gr, uint32_t grp) {
  while (gr->group[grp].alias != grp) grp = gr->group[grp].alias;
  return grp;
}

int atoms_new(graph *gr, uint32_t grp, int64_t extent) {
  group *k = &gr->group[grp];
  if (k->natom == MAX_ATOMS) return -1;
  k->ext[k->natom] = extent;
  return k->natom++;
}

void atoms_watch(graph *gr, uint32_t grp, axis_atoms *list) {
  gr->temp[gr->ntemp] = list;
  gr->temp_group[gr->ntemp++] = grp;
}

/* [.. atom ..] becomes [.. atom, extra ..]. */
static void split_list(uint8_t *list, uint8_t *n, uint32_t atom,
                       uint32_t extra) {
  for (uint32_t i = 0; i < *n; i++) {
    if (list[i] != atom) continue;
    memmove(list + i + 2, list + i + 1, (size_t)(*n - i - 1));
    list[i + 1] = (uint8_t)extra;
    (*n)++;
    return;
  }
}

int atoms_split(graph *gr, uint32_t grp, uint32_t atom, int64_t inner) {
  group *k = &gr->group[grp];
  int extra = atoms_new(gr, grp, inner);
  if (extra < 0) return 0;
  k->ext[atom] /= inner;
  split_list(k->outer, &k->no, atom, (uint32_t)extra);
  split_list(k->inner, &k->ni, atom, (uint32_t)extra);
  for (uint32_t i = 0; i < k->nmember; i++) {
    gnode *n = &gr->g[k->member[i]];
    split_list(n->list, &n->nlist, atom, (uint32_t)extra);
    split_list(n->read, &n->nread, atom, (uint32_t)extra);
  }
  for (uint32_t t = 0; t < gr->ntemp; t++)
    for (uint32_t a = 0; a < PLAN_RANK && gr->temp_group[t] == grp; a++)
      split_list(gr->temp[t]->atom[a], &gr->temp[t]->n[a], atom,
                 (uint32_t)extra);
  return 1;
}

/* The atom of p whose steps in memory hold `at`: its place in the list, and
 * its stride in p; -1 when there is none. */
static int atom_at(const group *k, const gnode *p, int64_t at,
                   int64_t *stride) {
  int64_t step = 1;
  for (int i = p->nlist - 1; i >= 0; i--) {
    int64_t ext = k->ext[p->list[i]];
    if (at >= step && at < step * ext) {
      *stride = step;
      return i;
    }
    step *= ext;
  }
  return -1;
}

/* Atoms of p that one axis of extent e and stride s runs over, outermost
 * first; splits where the axis ends inside an atom. */
static int read_axis(graph *gr, uint32_t grp, uint32_t p, int64_t s, int64_t e,
                     uint8_t *list, uint8_t *n) {
  group *k = &gr->group[grp];
  int64_t lo = s, hi, step = 0;
  if (s < 0 || e > (INT64_MAX / 2) / s) return 0;
  hi = s * e;
  *n = 0;
  while (lo < hi) {
    int i = atom_at(k, &gr->g[p], lo, &step);
    uint8_t atom;
    int64_t ext;
    if (i < 0) return 0;
    atom = gr->g[p].list[i];
    ext = k->ext[atom];
    if (step != lo) {
      if (lo % step || ext % (lo / step)) return 0;
      if (!atoms_split(gr, grp, atom, lo / step)) return 0;
      continue;
    }
    if (step * ext > hi) {
      if (hi % step || ext % (hi / step)) return 0;
      if (!atoms_split(gr, grp, atom, hi / step)) return 0;
      continue;
    }
    memmove(list + 1, list, *n);
    list[0] = atom;
    (*n)++;
    lo *= ext;
  }
  return lo == hi;
}

int atoms_read(graph *gr, uint32_t grp, uint32_t p, const int64_t *stride,
               const plan_shape *shape, axis_atoms *out) {
  uint32_t seen = 0, total = 0;
  memset(out, 0, sizeof *out);
  atoms_watch(gr, grp, out);
  for (uint32_t a = 0; a < shape->rank; a++) {
    if (shape->dim[a] == 1) continue;
    if (stride[a] == 0) {
      out->repeated[a] = 1;
      continue;
    }
    if (!read_axis(gr, grp, p, stride[a], shape->dim[a], out->atom[a],
                   &out->n[a])) {
      gr->ntemp--;
      return CUT_VIEW;
    }
  }
  gr->ntemp--;
  for (uint32_t a = 0; a < shape->rank; a++)
    for (uint32_t i = 0; i < out->n[a]; i++) {
      if (seen >> out->atom[a][i] & 1) return CUT_VIEW;
      seen |= UINT32_C(1) << out->atom[a][i];
      total++;
    }
  return total == gr->g[p].nlist ? CUT_NONE : CUT_VIEW;
}
