/* group.c - gnodes -> groups. In recorded order each node joins the kernels of
 * its inputs where the one form allows it; else it begins a kernel of its own,
 * and the value it reads is written to memory, with the reason. */
#include "graph.h"

#define CUT_X(name, text) text,
static const char *const cut_texts[] = {CUTS(CUT_X)};
#undef CUT_X
const char *cut_text(int cut) {
  return cut >= 0 && cut < CUT_N ? cut_texts[cut] : "";
}

/* ---- dependencies ------------------------------------------------------- */
static int push(uint32_t **list, uint32_t *n, uint32_t *cap, uint32_t v) {
  if (!PLAN_GROW(*list, *cap, *n + 1)) return 0;
  (*list)[(*n)++] = v;
  return 1;
}

/* Groups that must have run before value g can be read, appended to list. */
static int writers(const graph *gr, uint32_t g, uint32_t **list, uint32_t *n,
                   uint32_t *cap) {
  const gnode *x = &gr->g[graph_base(gr, g)];
  if (graph_is_compute(x))
    return x->group == NO || push(list, n, cap, atoms_find(gr, x->group));
  /* A put into memory that is taken over waits for the puts before it, so the
   * box's own puts are enough. */
  for (uint32_t i = 0; x->kind == G_BOX && i < x->nput; i++) {
    uint32_t w = gr->g[gr->puts[x->put + i]].group;
    if (w != NO && !push(list, n, cap, atoms_find(gr, w))) return 0;
  }
  return 1;
}

int group_depends(graph *gr, uint32_t later, uint32_t earlier) {
  uint32_t *stack = NULL, n = 0, cap = 0, mark = ++gr->mark;
  int found = 0;
  later = atoms_find(gr, later);
  earlier = atoms_find(gr, earlier);
  if (!push(&stack, &n, &cap, later)) return 2; /* no memory: do not fuse */
  while (n && !found) {
    group *k = &gr->group[stack[--n]];
    if (k->mark == mark) continue;
    k->mark = mark;
    for (uint32_t i = 0; i < k->npred && !found; i++) {
      uint32_t p = atoms_find(gr, k->pred[i]);
      if (p == earlier)
        found = 1;
      else if (gr->group[p].mark != mark && !push(&stack, &n, &cap, p))
        found = 2;
    }
  }
  plan_release(stack);
  return found;
}

/* ---- one node ----------------------------------------------------------- */
typedef struct {
  uint32_t outside[3], noutside;  /* operands read from memory */
  uint32_t *before, nbefore, cap; /* groups that must have run */
} needs;

int group_holds(const graph *gr, uint32_t in, uint32_t grp) {
  const gnode *b;
  if (in & IN_SCALAR) return 0;
  b = &gr->g[graph_base(gr, in)];
  return graph_is_compute(b) && b->box == NO && b->group != NO &&
         atoms_find(gr, b->group) == grp;
}

/* What g reads from outside of grp (NO: everything). 0: no memory. */
static int find_needs(const graph *gr, uint32_t g, uint32_t grp, needs *out) {
  const gnode *n = &gr->g[g];
  out->noutside = out->nbefore = 0;
  for (uint32_t k = 0; k < n->nin; k++) {
    if (n->in[k] & IN_SCALAR) continue;
    if (grp != NO && group_holds(gr, n->in[k], grp)) continue;
    out->outside[out->noutside++] = n->in[k];
    if (!writers(gr, n->in[k], &out->before, &out->nbefore, &out->cap))
      return 0;
  }
  if (n->after == NO) return 1;
  if (n->kind == G_MAP && gr->g[n->after].group != NO &&
      !push(&out->before, &out->nbefore, &out->cap,
            atoms_find(gr, gr->g[n->after].group)))
    return 0;
  return writers(gr, n->after, &out->before, &out->nbefore, &out->cap);
}

static int can_enter(graph *gr, uint32_t g, uint32_t grp, needs *d) {
  const group *k = &gr->group[grp];
  const tsh_props *props = dev_props(gr->p->device[k->device]);
  if (k->single || k->device != gr->g[g].device) return CUT_DEVICE;
  if (k->ninst + 5 > props->max_insts || k->narg + 4 > props->max_args / 4 * 3)
    return CUT_LIMIT;
  if (!find_needs(gr, g, grp, d)) return CUT_LIMIT;
  for (uint32_t i = 0; i < d->nbefore; i++)
    if (d->before[i] == grp || group_depends(gr, d->before[i], grp))
      return CUT_ORDER;
  return CUT_NONE;
}

static int try_group(graph *gr, uint32_t g, uint32_t grp, needs *d) {
  int why = can_enter(gr, g, grp, d);
  if (why) return why;
  return gr->g[g].kind == G_FOLD ? place_fold(gr, g, grp)
                                 : place_map(gr, g, grp);
}

/* Kernels that hold g's operands, the largest operand first. */
static uint32_t candidates(const graph *gr, uint32_t g, uint32_t *out) {
  const gnode *n = &gr->g[g];
  uint32_t count = 0, nin = n->kind == G_FOLD ? 1 : n->nin;
  for (uint32_t k = 0; k < nin; k++) {
    const gnode *b;
    uint32_t grp, at = count;
    if (n->in[k] & IN_SCALAR) continue;
    b = &gr->g[graph_base(gr, n->in[k])];
    if (!graph_is_compute(b) || b->box != NO || b->group == NO) continue;
    grp = atoms_find(gr, b->group);
    for (uint32_t i = 0; i < count; i++)
      if (out[i] == grp) at = NO;
    if (at == NO || gr->group[grp].single) continue;
    out[count++] = grp;
  }
  return count;
}

static int try_join(graph *gr, uint32_t g, uint32_t *joined, needs *d) {
  uint32_t cand[3], n = candidates(gr, g, cand), into;
  int why = CUT_NONE, first = CUT_NONE;
  if (n == 0) return CUT_NONE;
  into = cand[0];
  for (uint32_t i = 1; i < n && gr->g[g].kind == G_MAP; i++)
    if (merge_groups(gr, g, into, cand[i]) == CUT_NONE)
      into = atoms_find(gr, into);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t grp = atoms_find(gr, cand[i]);
    if ((why = try_group(gr, g, grp, d)) == CUT_NONE) {
      *joined = grp;
      return CUT_NONE;
    }
    if (!first) first = why;
  }
  return first;
}

static void materialise(graph *gr, uint32_t g, int why) {
  gnode *n = &gr->g[graph_base(gr, g)];
  if (!graph_is_compute(n) || n->box != NO || n->mat) return;
  n->mat = 1;
  n->cut = (uint8_t)why;
  if (n->group != NO) gr->group[atoms_find(gr, n->group)].narg++;
}

static uint32_t new_group(graph *gr, uint32_t g) {
  group *k;
  if (!PLAN_GROW(gr->group, gr->group_cap, gr->ngroup + 1)) return NO;
  k = &gr->group[gr->ngroup];
  memset(k, 0, sizeof *k);
  k->alias = gr->ngroup;
  k->device = gr->g[g].device;
  k->cut_by = NO;
  k->single = gr->g[g].kind == G_CALL || gr->g[g].kind == G_TO;
  return gr->ngroup++;
}

static int enter(graph *gr, uint32_t g, uint32_t grp, needs *d) {
  group *k = &gr->group[grp];
  gnode *n = &gr->g[g];
  n->group = grp;
  k->ninst += 2 + n->nin;
  k->narg += d->noutside + (n->live || n->box != NO);
  if (!push(&k->member, &k->nmember, &k->member_cap, g)) return 0;
  for (uint32_t i = 0; i < d->nbefore; i++)
    if (!push(&k->pred, &k->npred, &k->pred_cap, d->before[i])) return 0;
  return 1;
}

static int alone_reason(const graph *gr, uint32_t g, int why) {
  const gnode *n = &gr->g[g];
  if (gr->unfused) return CUT_OFF;
  if (n->kind == G_CALL) return CUT_CALL;
  if (n->kind == G_TO) return CUT_DEVICE;
  if (n->op == TSH_OP_dot) return CUT_OPERAND;
  return why ? why : CUT_VIEW;
}

/* Does g begin a kernel because it reads what no kernel computes? */
static int reads_call(const graph *gr, const needs *d) {
  for (uint32_t i = 0; i < d->noutside; i++)
    if (gr->g[graph_base(gr, d->outside[i])].kind == G_CALL) return 1;
  return 0;
}

static tsh_status group_one(graph *gr, uint32_t g, needs *d, tsh_err *err) {
  gnode *n = &gr->g[g];
  uint32_t grp = NO;
  int why = CUT_NONE;
  if (n->live && !n->mat) n->mat = 1, n->cut = CUT_LIVE;
  if (n->kind == G_CALL || n->kind == G_TO) n->mat = 1;
  if (!gr->unfused &&
      (n->kind == G_MAP || (n->kind == G_FOLD && n->op != TSH_OP_dot)))
    why = try_join(gr, g, &grp, d);
  if (grp == NO) {
    if ((grp = new_group(gr, g)) == NO || !find_needs(gr, g, NO, d))
      return plan_nomem(err, "a plan");
    if (!gr->group[grp].single && place_alone(gr, g, grp))
      return dev_fail(err, TSH_EUNSUPPORTED, "too many axes in one kernel");
    if (!why && reads_call(gr, d)) why = CUT_CALLED;
    gr->group[grp].cut = (uint8_t)alone_reason(gr, g, why);
    for (uint32_t i = 0; i < d->noutside; i++)
      if (graph_is_compute(&gr->g[graph_base(gr, d->outside[i])]))
        gr->group[grp].cut_by = graph_base(gr, d->outside[i]);
    for (uint32_t i = 0; i < d->noutside; i++)
      materialise(gr, d->outside[i], alone_reason(gr, g, why));
  } else {
    for (uint32_t i = 0; i < d->noutside; i++)
      materialise(gr, d->outside[i], CUT_VIEW);
  }
  return enter(gr, g, grp, d) ? TSH_OK : plan_nomem(err, "a plan");
}

/* ---- the order they run in ---------------------------------------------- */
static int visit(graph *gr, uint32_t root, uint32_t **stack, uint32_t *cap) {
  uint32_t n = 0;
  if (!push(stack, &n, cap, root)) return 0;
  while (n) {
    uint32_t top = (*stack)[n - 1], next = NO;
    group *k = &gr->group[top];
    k->mark = gr->mark - 1; /* on the way */
    for (uint32_t i = 0; i < k->npred && next == NO; i++) {
      uint32_t p = atoms_find(gr, k->pred[i]);
      if (gr->group[p].mark < gr->mark - 1) next = p;
    }
    if (next != NO) {
      if (!push(stack, &n, cap, next)) return 0;
      continue;
    }
    k->mark = gr->mark;
    gr->order[gr->norder++] = top;
    n--;
  }
  return 1;
}

static tsh_status order_groups(graph *gr, tsh_err *err) {
  uint32_t *stack = NULL, cap = 0;
  int ok = 1;
  gr->mark += 2; /* mark: done; mark - 1: on the way; below: not seen */
  gr->order = plan_alloc(sizeof *gr->order * (gr->ngroup + 1));
  if (!gr->order) return plan_nomem(err, "a plan");
  for (uint32_t i = 0; i < gr->ngroup && ok; i++)
    if (gr->group[i].alias == i && gr->group[i].mark != gr->mark)
      ok = visit(gr, i, &stack, &cap);
  plan_release(stack);
  return ok ? TSH_OK : plan_nomem(err, "a plan");
}

tsh_status group_all(graph *gr, tsh_err *err) {
  needs d = {0};
  tsh_status rc = TSH_OK;
  for (uint32_t g = 0; g < gr->n && rc == TSH_OK; g++) {
    rc = graph_go_on(gr, g, err);
    if (rc == TSH_OK && gr->g[g].needed && graph_is_compute(&gr->g[g]))
      rc = group_one(gr, g, &d, err);
  }
  plan_release(d.before);
  return rc == TSH_OK ? order_groups(gr, err) : rc;
}
