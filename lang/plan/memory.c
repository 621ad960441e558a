/* memory.c - where values live: outputs in buffers of their own or in that of
 * a dying leaf, everything else in scratch memory that is reused; then who
 * must wait for whom. */
#include "graph.h"

#define ALIGN        64
#define UPDATE_LIMIT 50e6 /* point-instructions, about as many nanoseconds */

/* ---- values ------------------------------------------------------------- */
static uint32_t new_value(plan_entry *e, const gnode *n, int kind) {
  made_value *v = &e->value[e->nvalue];
  v->kind = (uint8_t)kind;
  v->device = n->device;
  v->leaf = NO;
  v->dtype_bytes = plan_dtype_bytes(n->dtype);
  v->bytes = shape_bytes(n->shape, n->dtype);
  return e->nvalue++;
}

static void box_value(graph *gr, plan_entry *e, uint32_t g) {
  gnode *n = &gr->g[g];
  const gnode *old = n->storage == NO ? NULL : &gr->g[n->storage];
  int kind = n->live ? VALUE_OUT : VALUE_TEMP;
  if (old && old->kind == G_BOX) {
    n->value = old->value;
    if (n->live) e->value[n->value].kind = VALUE_OUT;
    return;
  }
  n->value = new_value(e, n, kind);
  if (!old) return;
  e->value[n->value].update = 1; /* takes the memory of a leaf */
  e->value[n->value].leaf = old->leaf;
}

tsh_status memory_values(graph *gr, plan_entry *e, tsh_err *err) {
  e->value = arena_alloc(e, sizeof *e->value * (gr->n + gr->t->nleaf + 1));
  if (!e->value) return plan_nomem(err, "a plan");
  for (uint32_t k = 0; k < gr->t->nleaf; k++) {
    gnode *n = &gr->g[gr->leaf_of[k]];
    n->value = new_value(e, n, VALUE_LEAF);
    e->value[n->value].leaf = k;
  }
  for (uint32_t g = 0; g < gr->n; g++) {
    gnode *n = &gr->g[g];
    if (!n->needed) continue;
    if (n->kind == G_BOX)
      box_value(gr, e, g);
    else if (n->mat)
      n->value = new_value(e, n, n->live ? VALUE_OUT : VALUE_TEMP);
  }
  for (uint32_t i = 0; i < gr->t->n; i++)
    if (gr->end[i].kind == END_VALUE)
      gr->end[i].value = gr->g[gr->end[i].value].value;
  return TSH_OK;
}

/* ---- in place ----------------------------------------------------------- */
/* Per group: does something that is no update itself depend on it? */
static void find_followed(graph *gr, const uint8_t *update, uint8_t *followed) {
  memset(followed, 0, gr->ngroup);
  for (uint32_t i = 0; i < gr->norder; i++) {
    const group *k = &gr->group[gr->order[i]];
    if (update[gr->order[i]]) continue;
    for (uint32_t j = 0; j < k->npred; j++)
      followed[atoms_find(gr, k->pred[j])] = 1;
  }
}

static int writes_leaf(const plan_entry *e, const made_launch *m) {
  for (uint32_t i = m->narg - m->nout; i < m->narg; i++)
    if (m->arg[i].value != NO && e->value[m->arg[i].value].update) return 1;
  return 0;
}

/* An update must not fail on its own: it may have overwritten its input. */
static int may_fail(const made_launch *m) {
  for (uint32_t i = 0; i < m->nops; i++)
    if (m->ops[i] == TSH_OP_index || plan_ops[m->ops[i]].class_ == OP_CALL)
      return 1;
  return 0;
}

static double launch_cost(const made_launch *m) {
  return (double)m->points * (m->nops + 1) / (m->nfold ? 8 : 1);
}

/* Sets that write into a leaf: all of them, and whatever follows, must be
 * updates at the end of the one batch. */
static int check_sets(graph *gr, plan_entry *e, uint8_t *update,
                      uint8_t *followed) {
  int any = 0;
  for (uint32_t i = 0; i < e->nlaunch; i++)
    if (writes_leaf(e, &e->launch[i])) {
      if (!e->launch[i].prog || may_fail(&e->launch[i]) ||
          launch_cost(&e->launch[i]) > UPDATE_LIMIT)
        return 0;
      any = update[e->launch[i].group] = 1;
    }
  if (!any) return 1;
  find_followed(gr, update, followed);
  for (uint32_t i = 0; i < e->nlaunch; i++)
    if (update[e->launch[i].group] && followed[e->launch[i].group]) return 0;
  return 1;
}

static int one_batch(const plan_entry *e) {
  for (uint32_t i = 0; i < e->nlaunch; i++)
    if (!e->launch[i].prog || e->launch[i].device != e->launch[0].device)
      return 0;
  return 1;
}

static int same_place(const made_launch *m, uint32_t in, uint32_t out) {
  return m->arg[in].offset == 0 && m->arg[in].nterm == 0 &&
         m->arg[out].offset == 0 && m->arg[out].nterm == 0 &&
         memcmp(m->view[in].stride, m->view[out].stride,
                sizeof *m->view[in].stride * m->rank) == 0;
}

/* Does argument i of m read the buffer of leaf k, as that leaf or another? */
static int reads_buffer(const graph *gr, const plan_entry *e,
                        const made_launch *m, uint32_t i, uint32_t k) {
  uint32_t v = m->arg[i].value;
  return v != NO && e->value[v].kind == VALUE_LEAF &&
         gr->t->leaf[e->value[v].leaf]->buf == gr->t->leaf[k]->buf;
}

/* Argument of m through which leaf k could be overwritten by output `out`: the
 * same element at every point, and read in no other way. */
static int takes_leaf(const graph *gr, const plan_entry *e,
                      const made_launch *m, uint32_t out, uint32_t k) {
  int found = 0;
  for (uint32_t i = 0; i < m->narg - m->nout; i++) {
    if (!reads_buffer(gr, e, m, i, k)) continue;
    if (!same_place(m, i, out)) return 0;
    found = 1;
  }
  return found;
}

/* Does another update read leaf k? Launches that are none come before. */
static int read_by_update(const graph *gr, const plan_entry *e,
                          const uint8_t *update, uint32_t k,
                          const made_launch *but) {
  for (uint32_t i = 0; i < e->nlaunch; i++) {
    const made_launch *m = &e->launch[i];
    if (m == but || !update[m->group]) continue;
    for (uint32_t j = 0; j < m->narg - m->nout; j++)
      if (reads_buffer(gr, e, m, j, k)) return 1;
  }
  return 0;
}

static int leaf_kept(const graph *gr, uint32_t k) {
  for (uint32_t i = 0; i < gr->t->n; i++)
    if (gr->end[i].kind == END_LEAF &&
        gr->t->leaf[gr->end[i].value]->buf == gr->t->leaf[k]->buf)
      return 1;
  return 0;
}

/* Is everything read when this output is written? Without folded axes STOREs
 * come after all LOADs of a point; with them only a row value that waits for
 * the last pass does. */
static int stored_last(const graph *gr, const made_launch *m, uint32_t out) {
  const gnode *n = &gr->g[m->out[out - (m->narg - m->nout)]];
  return !m->nfold || (n->level == LEVEL_ROW && n->ready == m->phases);
}

/* An update runs after those before it: what they took, it must not read. */
static int reads_taken(const graph *gr, const plan_entry *e,
                       const made_launch *m, const uint8_t *taken) {
  for (uint32_t k = 0; k < gr->t->nleaf; k++)
    for (uint32_t i = 0; taken[k] && i < m->narg - m->nout; i++)
      if (reads_buffer(gr, e, m, i, k)) return 1;
  return 0;
}

/* Leaves may share a buffer; one output takes it for all of them. */
static int is_taken(const graph *gr, const uint8_t *taken, uint32_t k) {
  for (uint32_t j = 0; j < gr->t->nleaf; j++)
    if (taken[j] && gr->t->leaf[j]->buf == gr->t->leaf[k]->buf) return 1;
  return 0;
}

static void take_leaves(graph *gr, plan_entry *e, made_launch *m,
                        uint8_t *update, uint8_t *taken) {
  if (reads_taken(gr, e, m, taken)) return;
  for (uint32_t o = m->narg - m->nout; o < m->narg; o++) {
    made_value *v = &e->value[m->arg[o].value];
    if (v->kind != VALUE_OUT || v->update || !stored_last(gr, m, o) ||
        gr->g[m->out[o - (m->narg - m->nout)]].box != NO)
      continue;
    for (uint32_t i = 0; i < m->narg - m->nout; i++) {
      uint32_t in = m->arg[i].value, k;
      if (in == NO || e->value[in].kind != VALUE_LEAF) continue;
      k = e->value[in].leaf;
      if (!gr->t->donatable[k] || is_taken(gr, taken, k) || leaf_kept(gr, k) ||
          e->value[in].bytes != v->bytes ||
          e->value[in].dtype_bytes != v->dtype_bytes ||
          !takes_leaf(gr, e, m, o, k) || read_by_update(gr, e, update, k, m))
        continue;
      taken[k] = v->update = update[m->group] = 1;
      v->leaf = k;
      break;
    }
  }
}

static tsh_status find_updates(graph *gr, plan_entry *e, tsh_err *err) {
  uint8_t *update = plan_alloc(2 * gr->ngroup + gr->t->nleaf + 2);
  uint8_t *followed = update ? update + gr->ngroup : NULL;
  uint8_t *taken = update ? followed + gr->ngroup : NULL;
  tsh_status rc = TSH_OK;
  int batch = one_batch(e);
  if (!update) return plan_nomem(err, "a plan");
  if (!check_sets(gr, e, update, followed)) rc = TSH_EPENDING;
  for (uint32_t i = 0; i < e->nvalue && rc == TSH_OK; i++)
    if (e->value[i].update && !batch) rc = TSH_EPENDING;
  if (rc == TSH_OK && batch && !gr->no_update) {
    find_followed(gr, update, followed);
    for (uint32_t i = 0; i < e->nvalue; i++)
      if (e->value[i].update) taken[e->value[i].leaf] = 1;
    for (uint32_t i = 0; i < e->nlaunch; i++)
      if (!followed[e->launch[i].group] && !update[e->launch[i].group] &&
          !may_fail(&e->launch[i]) &&
          launch_cost(&e->launch[i]) <= UPDATE_LIMIT)
        take_leaves(gr, e, &e->launch[i], update, taken);
  }
  for (uint32_t i = 0; i < e->nlaunch; i++)
    e->launch[i].update = update[e->launch[i].group];
  plan_release(update);
  return rc;
}

/* Updates go to the end, the rest keep their order. */
static tsh_status updates_last(plan_entry *e, tsh_err *err) {
  made_launch *sorted = arena_alloc(e, sizeof *sorted * (e->nlaunch + 1));
  uint32_t n = 0;
  if (!sorted) return plan_nomem(err, "a plan");
  for (int update = 0; update < 2; update++)
    for (uint32_t i = 0; i < e->nlaunch; i++)
      if (e->launch[i].update == update) {
        sorted[n++] = e->launch[i];
        e->nupdate += (uint32_t)update;
      }
  e->launch = sorted;
  return TSH_OK;
}

/* ---- scratch ------------------------------------------------------------ */
typedef struct {
  uint32_t first, last, value; /* launches that touch it */
} life;

static uint64_t rounded(uint64_t bytes) {
  return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void find_lives(const plan_entry *e, life *lives) {
  for (uint32_t v = 0; v < e->nvalue; v++) {
    lives[v].first = NO;
    lives[v].last = 0;
    lives[v].value = v;
  }
  for (uint32_t i = 0; i < e->nlaunch; i++)
    for (uint32_t j = 0; j < e->launch[i].narg; j++) {
      uint32_t v = e->launch[i].arg[j].value;
      if (v == NO) continue;
      if (lives[v].first == NO) lives[v].first = i;
      lives[v].last = i;
      if (j >= e->launch[i].narg - e->launch[i].nout) e->value[v].writer = i;
    }
}

/* Many tiny outputs (a live mask of all ones): one buffer for all. */
static void place_slab(plan_entry *e) {
  for (uint32_t v = 0; v < e->nvalue; v++) {
    made_value *x = &e->value[v];
    if (x->kind != VALUE_OUT || x->update || x->bytes > 4096) continue;
    if (e->slab && x->device != e->slab_device) continue;
    e->slab_device = x->device;
    x->slab = 1;
    x->at = e->slab;
    e->slab += rounded(x->bytes);
  }
}

static int clash(const plan_entry *e, const life *a, const life *b,
                 uint64_t at) {
  const made_value *v = &e->value[a->value], *w = &e->value[b->value];
  return v->device == w->device && a->first <= b->last && b->first <= a->last &&
         at < w->at + rounded(w->bytes) && w->at < at + rounded(v->bytes);
}

/* First place where v fits beside the placed values alive with it. */
static void place_temp(plan_entry *e, life *lives, const uint32_t *placed,
                       uint32_t n, uint32_t v) {
  uint64_t at = 0;
  for (int again = 1; again;) {
    again = 0;
    for (uint32_t i = 0; i < n; i++) {
      const made_value *w = &e->value[placed[i]];
      if (!clash(e, &lives[v], &lives[placed[i]], at)) continue;
      at = w->at + rounded(w->bytes);
      again = 1;
    }
  }
  e->value[v].at = at;
  if (at + rounded(e->value[v].bytes) > e->scratch[e->value[v].device])
    e->scratch[e->value[v].device] = at + rounded(e->value[v].bytes);
}

static tsh_status place_temps(plan_entry *e, life *lives, tsh_err *err) {
  uint32_t *placed = plan_alloc(sizeof *placed * (e->nvalue + 1)), n = 0;
  if (!placed) return plan_nomem(err, "a plan");
  for (uint32_t i = 0; i < e->nlaunch; i++) /* in the order of first use */
    for (uint32_t j = 0; j < e->launch[i].narg; j++) {
      uint32_t v = e->launch[i].arg[j].value;
      if (v == NO || e->value[v].kind != VALUE_TEMP || e->value[v].update ||
          lives[v].first != i || e->value[v].placed)
        continue;
      place_temp(e, lives, placed, n, v);
      placed[n++] = v;
      e->value[v].placed = 1;
    }
  plan_release(placed);
  return TSH_OK;
}

/* ---- dependencies ------------------------------------------------------- */
typedef struct {
  uint32_t *launch_of; /* group -> launch */
  uint32_t *seen;      /* launch -> stamp */
  uint32_t *list, n;
} afters;

static void add_after(afters *a, uint32_t i, uint32_t first, uint32_t dep) {
  if (dep >= i || dep < first || a->seen[dep] == i + 1) return;
  a->seen[dep] = i + 1;
  a->list[a->n++] = dep - first;
}

/* Memory that i is the first to write after others are done with it. */
static void reuse_afters(const plan_entry *e, const life *lives, uint32_t i,
                         uint32_t first, afters *a) {
  const made_launch *m = &e->launch[i];
  for (uint32_t o = m->narg - m->nout; o < m->narg; o++) {
    uint32_t v = m->arg[o].value;
    if (e->value[v].kind != VALUE_TEMP || e->value[v].update) continue;
    for (uint32_t j = first; j < i; j++)
      for (uint32_t k = 0; k < e->launch[j].narg; k++) {
        uint32_t u = e->launch[j].arg[k].value;
        if (u == NO || u == v || e->value[u].kind != VALUE_TEMP ||
            e->value[u].update || lives[u].last >= lives[v].first)
          continue;
        if (e->value[u].device == e->value[v].device &&
            e->value[v].at < e->value[u].at + rounded(e->value[u].bytes) &&
            e->value[u].at < e->value[v].at + rounded(e->value[v].bytes))
          add_after(a, i, first, j);
      }
  }
}

static int after_of(graph *gr, plan_entry *e, const life *lives, uint32_t i,
                    uint32_t first, afters *a) {
  made_launch *m = &e->launch[i];
  const group *k = &gr->group[m->group];
  a->n = 0;
  if (m->update) {
    for (uint32_t j = first; j < i; j++) add_after(a, i, first, j);
  } else {
    for (uint32_t j = 0; j < k->npred; j++)
      add_after(a, i, first, a->launch_of[atoms_find(gr, k->pred[j])]);
    reuse_afters(e, lives, i, first, a);
  }
  if (!(m->after = arena_alloc(e, sizeof *m->after * (a->n + 1)))) return 0;
  memcpy(m->after, a->list, sizeof *m->after * a->n);
  m->nafter = a->n;
  return 1;
}

/* ---- steps -------------------------------------------------------------- */
static tsh_status make_steps(plan_entry *e, tsh_err *err) {
  e->step = arena_alloc(e, sizeof *e->step * (e->nlaunch + 1));
  if (!e->step) return plan_nomem(err, "a plan");
  for (uint32_t i = 0; i < e->nlaunch; i++) {
    const made_launch *m = &e->launch[i];
    made_step *s = e->nstep ? &e->step[e->nstep - 1] : NULL;
    if (!m->prog || !s || s->copy || s->device != m->device) {
      s = &e->step[e->nstep++];
      s->copy = m->prog == NULL;
      s->device = m->device;
      s->first = i;
    }
    s->n++;
  }
  return TSH_OK;
}

static tsh_status make_afters(graph *gr, plan_entry *e, const life *lives,
                              tsh_err *err) {
  uint32_t n = e->nlaunch + 1;
  uint32_t *memory = plan_alloc(sizeof *memory * (gr->ngroup + 1 + 2 * n));
  afters a;
  int ok = memory != NULL;
  if (!ok) return plan_nomem(err, "a plan");
  a.launch_of = memory;
  a.seen = memory + gr->ngroup + 1;
  a.list = a.seen + n;
  for (uint32_t i = 0; i < e->nlaunch; i++) a.launch_of[e->launch[i].group] = i;
  for (uint32_t s = 0; s < e->nstep && ok; s++)
    for (uint32_t i = 0; i < e->step[s].n && ok; i++)
      ok = after_of(gr, e, lives, e->step[s].first + i, e->step[s].first, &a);
  plan_release(memory);
  return ok ? TSH_OK : plan_nomem(err, "a plan");
}

/* ---- the batch ---------------------------------------------------------- */
static tsh_status fill_batch(plan_entry *e, tsh_err *err) {
  e->batch = arena_alloc(e, sizeof *e->batch * (e->nlaunch + 1));
  e->buf = arena_alloc(e, sizeof *e->buf * (e->nvalue + 1));
  e->failed = arena_alloc(e, sizeof *e->failed * (e->nvalue + 1));
  if (!e->batch || !e->buf || !e->failed) return plan_nomem(err, "a plan");
  for (uint32_t v = 0; v < e->nvalue; v++)
    e->value[v].first = (int64_t)(e->value[v].at / e->value[v].dtype_bytes);
  for (uint32_t i = 0; i < e->nlaunch; i++) {
    made_launch *m = &e->launch[i];
    tsh_launch *l = &e->batch[i];
    l->size = sizeof *l;
    l->flags = m->update ? TSH_LAUNCH_UPDATE : 0;
    l->prog = m->prog;
    l->extent = m->extent;
    l->arg = m->view;
    l->scalar = m->scalar;
    l->after = m->after;
    l->nafter = m->nafter;
    l->tag = i;
  }
  return TSH_OK;
}

tsh_status memory_plan(graph *gr, plan_entry *e, tsh_err *err) {
  life *lives = plan_alloc(sizeof *lives * (e->nvalue + 1));
  tsh_status rc = TSH_OK;
  if (!lives) return plan_nomem(err, "a plan");
  e->ndevice = gr->p->ndevice;
  e->scratch = arena_alloc(e, sizeof *e->scratch * (e->ndevice + 1));
  if (!e->scratch) {
    rc = plan_nomem(err, "a plan");
    goto out;
  }
  TRY(find_updates(gr, e, err));
  TRY(updates_last(e, err));
  find_lives(e, lives);
  TRY(make_steps(e, err));
  TRY(place_temps(e, lives, err));
  if (gr->slab) place_slab(e);
  TRY(make_afters(gr, e, lives, err));
  TRY(fill_batch(e, err));
out:
  plan_release(lives);
  return rc;
}
