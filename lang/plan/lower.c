/* lower.c - a group becomes a tsh_kernel and the template of its launch. */
#include "graph.h"

typedef struct {
  uint32_t value; /* NO: INDEX */
  uint8_t dtype, row;
  int64_t offset, stride[MAX_ATOMS]; /* per atom of the group */
  const plan_access *access;         /* for its terms */
  uint32_t gnode, from;              /* of an output: node, instruction */
} low_arg;

typedef struct {
  graph *gr;
  plan_entry *e;
  group *k;
  uint32_t id; /* k's number */
  tsh_inst *inst;
  uint32_t ninst, inst_cap;
  low_arg *in, *out;
  uint32_t nin, in_cap, nout, out_cap;
  made_scalar *scalar;
  uint32_t nscalar, scalar_cap;
  uint32_t *number; /* gnode -> instruction, valid for members */
  uint32_t phases;
} low;

/* ---- instructions ------------------------------------------------------- */
static uint32_t emit(low *l, tsh_inst in) {
  for (uint32_t i = 0; in.op < TSH_OP_STORE && i < l->ninst; i++)
    if (memcmp(&l->inst[i], &in, sizeof in) == 0) return i;
  if (!PLAN_GROW(l->inst, l->inst_cap, l->ninst + 1)) return NO;
  l->inst[l->ninst] = in;
  return l->ninst++;
}

static uint32_t emit_scalar(low *l, uint32_t slot, int dtype) {
  tsh_inst in = {.op = TSH_OP_SCALAR, .dtype = (uint8_t)dtype};
  uint8_t kind = (uint8_t)plan_dtype_kind(dtype);
  uint32_t i = 0;
  while (i < l->nscalar &&
         (l->scalar[i].slot != slot || l->scalar[i].kind != kind))
    i++;
  if (i == l->nscalar) {
    if (!PLAN_GROW(l->scalar, l->scalar_cap, i + 1)) return NO;
    l->scalar[i].slot = slot;
    l->scalar[i].kind = kind;
    l->nscalar++;
  }
  in.imm = i;
  return emit(l, in);
}

/* Strides per axis of a shape -> strides per atom; list: the atoms of the
 * axes, row-major. */
static void spread(const group *k, const plan_shape *s, const uint8_t *list,
                   uint32_t nlist, const int64_t *stride, int64_t *out) {
  uint32_t at = nlist;
  memset(out, 0, sizeof *out * MAX_ATOMS);
  for (uint32_t a = s->rank; a-- > 0;) {
    int64_t left = s->dim[a], step = stride[a];
    while (left != 1 && at > 0) {
      uint8_t atom = list[--at];
      out[atom] = step;
      step *= k->ext[atom];
      if (k->ext[atom] == 0) break;
      left /= k->ext[atom];
    }
  }
}

static int row_only(const group *k, const int64_t *stride) {
  if (!k->ni && !k->fold) return 0;
  for (uint32_t i = 0; i < k->ni; i++)
    if (stride[k->inner[i]] != 0) return 0;
  return 1;
}

static uint32_t find_in(low *l, const low_arg *a) {
  for (uint32_t i = 0; i < l->nin; i++) {
    const low_arg *b = &l->in[i];
    if (a->value == b->value && a->offset == b->offset &&
        a->dtype == b->dtype && a->access->nterm == b->access->nterm &&
        memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
        memcmp(a->access->term, b->access->term,
               sizeof *a->access->term * a->access->nterm) == 0)
      return i;
  }
  if (!PLAN_GROW(l->in, l->in_cap, l->nin + 1)) return NO;
  l->in[l->nin] = *a;
  return l->nin++;
}

/* LOAD or INDEX of `in` as node n reads it. */
static uint32_t emit_load(low *l, const gnode *n, uint32_t in) {
  const gnode *base = &l->gr->g[graph_base(l->gr, in)];
  const plan_shape *s = l->gr->g[in].shape;
  int is_fold = n->kind == G_FOLD, index = base->kind == G_IOTA;
  tsh_inst load = {.op = index ? TSH_OP_INDEX : TSH_OP_LOAD};
  plan_access *a = plan_alloc(sizeof *a);
  low_arg arg = {.value = index ? NO : base->value, .dtype = base->dtype};
  uint32_t at;
  if (!a) return NO;
  graph_access(l->gr, in, a);
  arg.access = a;
  arg.offset = a->offset;
  spread(l->k, s, is_fold ? n->read : n->list, is_fold ? n->nread : n->nlist,
         a->stride, arg.stride);
  at = find_in(l, &arg);
  if (at == NO || l->in[at].access != a) plan_release(a);
  load.dtype = base->dtype;
  load.imm = at;
  load.flags = row_only(l->k, arg.stride) ? TSH_ROW : 0;
  return at == NO ? NO : emit(l, load);
}

static uint32_t operand(low *l, const gnode *n, uint32_t k) {
  uint32_t in = n->in[k];
  const gnode *base;
  tsh_inst zero = {.op = TSH_OP_CONST};
  if (in & IN_SCALAR) {
    int dtype = n->op == TSH_OP_where && k > 0 ? n->dtype
                                               : graph_compute_dtype(l->gr, n);
    return emit_scalar(l, IN_NUMBER(in), dtype);
  }
  base = &l->gr->g[graph_base(l->gr, in)];
  if (group_holds(l->gr, in, l->id)) return l->number[graph_base(l->gr, in)];
  if (base->kind == G_FULL)
    return emit_scalar(l, IN_NUMBER(base->in[0]), base->dtype);
  zero.dtype = base->dtype;
  if (base->kind == G_EMPTY) return emit(l, zero);
  return emit_load(l, n, in);
}

/* An output; its STORE is emitted after everything else. */
static int add_output(low *l, uint32_t g, uint32_t value) {
  const gnode *n = &l->gr->g[g];
  low_arg arg = {.dtype = n->dtype, .gnode = g, .from = value};
  plan_access *a = plan_alloc(sizeof *a);
  if (!a) return 0;
  if (n->box != NO)
    *a = n->acc;
  else
    shape_strides(n->shape, a->stride);
  arg.value = n->box != NO ? l->gr->g[n->box].value : n->value;
  arg.access = a;
  arg.offset = a->offset;
  spread(l->k, n->shape, n->list, n->nlist, a->stride, arg.stride);
  arg.row = (l->k->ni || l->k->fold) && n->level == LEVEL_ROW;
  if (!PLAN_GROW(l->out, l->out_cap, l->nout + 1)) {
    plan_release(a);
    return 0;
  }
  l->out[l->nout++] = arg;
  return 1;
}

/* All STOREs come last: an output may lie where an input is read, and what is
 * read there must be the old value. */
static int emit_stores(low *l) {
  for (uint32_t i = 0; i < l->nout; i++) {
    tsh_inst in = {.op = TSH_OP_STORE,
                   .dtype = l->out[i].dtype,
                   .flags = l->out[i].row ? TSH_ROW : 0,
                   .a = (uint16_t)l->out[i].from,
                   .imm = l->nin + i};
    if (emit(l, in) == NO) return 0;
  }
  return 1;
}

static int emit_member(low *l, uint32_t g) {
  gnode *n = &l->gr->g[g];
  tsh_inst in = {.op = n->op, .dtype = n->dtype};
  uint32_t use[3] = {0, 0, 0}, value;
  uint32_t last = n->level == LEVEL_ROW ? n->ready : n->phase + 1u;
  for (uint32_t k = 0; k < n->nin; k++)
    if ((use[k] = operand(l, n, k)) == NO) return 0;
  in.a = (uint16_t)use[0];
  in.b = (uint16_t)use[1];
  in.c = (uint16_t)use[2];
  value = n->op == TSH_OP_copy ? use[0] : emit(l, in);
  if (value == NO) return 0;
  l->number[g] = value;
  if (last > l->phases) l->phases = last;
  return !(n->mat || n->box != NO) || add_output(l, g, value);
}

/* ---- axes --------------------------------------------------------------- */
typedef struct {
  int64_t ext[MAX_ATOMS + 1];
  uint8_t atom[MAX_ATOMS + 1]; /* innermost atom of the axis; 255: none */
  uint32_t rank, nfold;
} low_axes;

static int mergeable(const low *l, const group *k, uint8_t a, uint8_t b) {
  for (uint32_t i = 0; i < l->nin; i++)
    if (l->in[i].stride[a] != l->in[i].stride[b] * k->ext[b]) return 0;
  for (uint32_t i = 0; i < l->nout; i++)
    if (l->out[i].stride[a] != l->out[i].stride[b] * k->ext[b]) return 0;
  return 1;
}

/* Neighbours that every argument steps over alike become one axis. */
static uint32_t add_axes(const low *l, const uint8_t *list, uint32_t n,
                         low_axes *x) {
  uint32_t first = x->rank;
  for (uint32_t i = 0; i < n; i++) {
    uint8_t atom = list[i];
    if (x->rank > first && mergeable(l, l->k, x->atom[x->rank - 1], atom)) {
      x->ext[x->rank - 1] *= l->k->ext[atom];
      x->atom[x->rank - 1] = atom;
    } else {
      x->ext[x->rank] = l->k->ext[atom];
      x->atom[x->rank++] = atom;
    }
  }
  return x->rank - first;
}

/* Outer axes in the order in which the widest output lies in memory. */
static void order_outer(low *l) {
  group *k = l->k;
  const gnode *best = NULL;
  uint8_t list[MAX_ATOMS];
  uint32_t n = 0, seen = 0, outer = 0;
  for (uint32_t i = 0; i < k->no; i++) outer |= UINT32_C(1) << k->outer[i];
  for (uint32_t i = 0; i < l->nout; i++)
    if (!best || l->gr->g[l->out[i].gnode].nlist > best->nlist)
      best = &l->gr->g[l->out[i].gnode];
  for (uint32_t i = 0; best && i < best->nlist; i++) {
    uint32_t bit = UINT32_C(1) << best->list[i];
    if (!(outer & bit) || seen & bit) continue;
    list[n++] = best->list[i];
    seen |= bit;
  }
  for (uint32_t i = 0; i < k->no; i++)
    if (!(seen >> k->outer[i] & 1)) list[n++] = k->outer[i];
  memcpy(k->outer, list, n);
}

static tsh_status make_axes(low *l, low_axes *x, tsh_err *err) {
  uint32_t max = dev_props(l->gr->p->device[l->k->device])->max_rank;
  memset(x, 0, sizeof *x);
  order_outer(l);
  add_axes(l, l->k->outer, l->k->no, x);
  x->nfold = add_axes(l, l->k->inner, l->k->ni, x);
  if ((l->k->fold && !x->nfold) || x->rank == 0) { /* an axis of one */
    x->ext[x->rank] = 1;
    x->atom[x->rank++] = 255;
    x->nfold = l->k->fold ? 1 : 0;
  }
  if (x->rank > max)
    return dev_fail(err, TSH_EUNSUPPORTED, "a kernel of %u axes", x->rank);
  return TSH_OK;
}

/* ---- the launch template ------------------------------------------------ */
static int copy_terms(plan_entry *e, made_arg *out, const plan_access *a) {
  out->nterm = a->nterm;
  if (!a->nterm) return 1;
  out->term = arena_alloc(e, sizeof *out->term * a->nterm);
  if (!out->term) return 0;
  for (uint32_t i = 0; i < a->nterm; i++) {
    out->term[i].slot = a->term[i].slot;
    out->term[i].mult = a->term[i].mult;
  }
  return 1;
}

static int fill_arg(low *l, const low_arg *a, const low_axes *x, tsh_view *v,
                    made_arg *m) {
  int64_t *stride = arena_alloc(l->e, sizeof *stride * x->rank);
  if (!stride) return 0;
  for (uint32_t i = 0; i < x->rank; i++)
    stride[i] = x->atom[i] == 255 ? 0 : a->stride[x->atom[i]];
  v->stride = stride;
  m->value = a->value;
  m->offset = a->offset;
  return copy_terms(l->e, m, a->access);
}

static int fill_launch(low *l, const low_axes *x, made_launch *m) {
  uint32_t n = l->nin + l->nout;
  int64_t *extent = arena_alloc(l->e, sizeof *extent * x->rank);
  m->view = arena_alloc(l->e, sizeof *m->view * n);
  m->arg = arena_alloc(l->e, sizeof *m->arg * n);
  m->scalar = arena_alloc(l->e, sizeof *m->scalar * (l->nscalar + 1));
  m->scalar_from = arena_alloc(l->e, sizeof *l->scalar * (l->nscalar + 1));
  m->out = arena_alloc(l->e, sizeof *m->out * l->nout);
  if (!extent || !m->view || !m->arg || !m->scalar || !m->scalar_from ||
      !m->out)
    return 0;
  m->extent = extent;
  m->points = 1;
  for (uint32_t i = 0; i < x->rank; i++)
    m->points *= (uint64_t)(extent[i] = x->ext[i]);
  for (uint32_t i = 0; i < n; i++)
    if (!fill_arg(l, i < l->nin ? &l->in[i] : &l->out[i - l->nin], x,
                  &m->view[i], &m->arg[i]))
      return 0;
  for (uint32_t i = 0; i < l->nout; i++) m->out[i] = l->out[i].gnode;
  if (l->nscalar)
    memcpy(m->scalar_from, l->scalar, sizeof *l->scalar * l->nscalar);
  m->narg = n;
  m->nout = l->nout;
  m->nscalar = l->nscalar;
  m->rank = x->rank;
  m->nfold = x->nfold;
  m->phases = l->phases;
  return 1;
}

static int is_dot(const low *l) {
  uint32_t dots = 0;
  for (uint32_t i = 0; i < l->ninst; i++) {
    const tsh_inst *in = &l->inst[i];
    if (plan_ops[in->op].class_ != OP_FOLD) continue;
    if (in->op != TSH_OP_dot || dots++) return 0;
    if (l->inst[in->a].op != TSH_OP_LOAD || l->inst[in->a].flags ||
        l->inst[in->b].op != TSH_OP_LOAD || l->inst[in->b].flags)
      return 0;
  }
  if (!dots) return 0;
  for (uint32_t i = 0; i < l->nout; i++)
    if (l->gr->g[l->out[i].gnode].level != LEVEL_ROW) return 0;
  return 1;
}

/* Windows of one array: more points than elements to read. */
static int overlaps(const made_launch *m, uint32_t arg) {
  double points = 1, span = 1;
  for (uint32_t i = 0; i < m->rank; i++) {
    int64_t step = m->view[arg].stride[i];
    if (step == 0) continue;
    points *= (double)m->extent[i];
    span += (double)(m->extent[i] - 1) * (double)(step < 0 ? -step : step);
  }
  return points > span;
}

static uint32_t hints(const low *l, const made_launch *m) {
  if (!is_dot(l)) return 0;
  for (uint32_t i = 0; i < l->ninst; i++)
    if (l->inst[i].op == TSH_OP_LOAD && !l->inst[i].flags &&
        overlaps(m, (uint32_t)l->inst[i].imm))
      return TSH_HINT_DOT | TSH_HINT_CONV;
  return TSH_HINT_DOT;
}

static tsh_status compile(low *l, const low_axes *x, made_launch *m,
                          tsh_err *err) {
  uint32_t n = m->narg;
  uint8_t *bytes = plan_alloc(3 * (n + 1));
  tsh_kernel k = {.size = sizeof k};
  tsh_status rc;
  if (!bytes) return plan_nomem(err, "a kernel");
  for (uint32_t i = 0; i < n; i++) {
    int64_t last = m->view[i].stride[x->rank - 1];
    bytes[i] = i < l->nin ? l->in[i].dtype : l->out[i - l->nin].dtype;
    bytes[n + i] = last == 1 ? TSH_DENSE : last == 0 ? TSH_SPLAT : TSH_STRIDED;
    bytes[2 * n + i] = (uint8_t)x->rank;
  }
  k.flags = hints(l, m);
  k.rank = (uint16_t)x->rank;
  k.nfold = (uint16_t)x->nfold;
  k.narg = (uint16_t)n;
  k.nscalar = (uint16_t)l->nscalar;
  k.ninst = (uint16_t)l->ninst;
  k.inst_size = sizeof *l->inst;
  k.inst = l->inst;
  k.arg_dtype = bytes;
  k.arg_class = bytes + n;
  k.arg_rank = bytes + 2 * n;
  rc = cache_program(l->gr->p, l->gr->p->device[l->k->device], &k, m, err);
  plan_release(bytes);
  return rc;
}

static void count_ops(low *l, made_launch *m) {
  m->trace = NO;
  for (uint32_t i = 0; i < l->k->nmember; i++) {
    const gnode *n = &l->gr->g[l->k->member[i]];
    m->ops[m->nops++] = n->op;
    if (n->trace != NO && (m->trace == NO || n->op == TSH_OP_index))
      m->trace = n->trace;
    m->flops += plan_ops[n->op].class_ == OP_FOLD
                    ? (double)m->points * (n->op == TSH_OP_dot ? 2 : 1)
                    : (double)n->shape->count;
  }
}

static void sort_members(group *k) {
  for (uint32_t i = 1; i < k->nmember; i++) { /* nearly sorted */
    uint32_t v = k->member[i], j = i;
    for (; j > 0 && k->member[j - 1] > v; j--) k->member[j] = k->member[j - 1];
    k->member[j] = v;
  }
}

static tsh_status lower_kernel(low *l, made_launch *m, tsh_err *err) {
  low_axes x;
  tsh_status rc;
  sort_members(l->k);
  for (uint32_t i = 0; i < l->k->nmember; i++)
    if (!emit_member(l, l->k->member[i])) return plan_nomem(err, "a kernel");
  if (!emit_stores(l)) return plan_nomem(err, "a kernel");
  if (l->ninst > UINT16_MAX || l->nin + l->nout > UINT16_MAX)
    return dev_fail(err, TSH_EUNSUPPORTED, "a kernel of %u steps", l->ninst);
  if ((rc = make_axes(l, &x, err)) != TSH_OK) return rc;
  m->ops = arena_alloc(l->e, sizeof *m->ops * l->k->nmember);
  if (!m->ops || !fill_launch(l, &x, m)) return plan_nomem(err, "a kernel");
  count_ops(l, m);
  return compile(l, &x, m, err);
}

static void low_free(low *l) {
  for (uint32_t i = 0; i < l->nin; i++)
    plan_release((void *)(uintptr_t)l->in[i].access);
  for (uint32_t i = 0; i < l->nout; i++)
    plan_release((void *)(uintptr_t)l->out[i].access);
  plan_release(l->inst);
  plan_release(l->in);
  plan_release(l->out);
  plan_release(l->scalar);
}

/* ---- CALL and TO -------------------------------------------------------- */
static int own_arg(graph *gr, plan_entry *e, uint32_t g, uint32_t value,
                   tsh_view *v, made_arg *m) {
  const plan_shape *s = gr->g[g].shape;
  int64_t *extent = arena_alloc(e, sizeof *extent * (s->rank + 1));
  int64_t *stride = arena_alloc(e, sizeof *stride * (s->rank + 1));
  plan_access a;
  if (!extent || !stride) return 0;
  graph_access(gr, g, &a);
  for (uint32_t i = 0; i < s->rank; i++) {
    extent[i] = s->dim[i];
    stride[i] = a.stride[i];
  }
  v->extent = extent;
  v->stride = stride;
  m->value = value;
  m->offset = a.offset;
  return copy_terms(e, m, &a);
}

/* Attributes of a CALL, see the op table. Returns how many. */
static uint16_t call_attrs(const gnode *n, int64_t attr[3]) {
  attr[0] = n->axes;
  switch (n->op) {
  case TSH_OP_sort:
  case TSH_OP_argsort:
    attr[1] = n->keep != 0;
    return 2;
  case TSH_OP_argtopk:
    attr[1] = n->shape->dim[n->axes];
    attr[2] = n->keep != 0;
    return 3;
  case TSH_OP_nonzero:
    return 0;
  default:
    return 1;
  }
}

static tsh_status lower_single(graph *gr, plan_entry *e, uint32_t g,
                               made_launch *m, tsh_err *err) {
  gnode *n = &gr->g[g];
  uint8_t dtype[4], class_[4] = {0, 0, 0, 0}, rank[4];
  int64_t attr[3];
  tsh_kernel k = {.size = sizeof k, .op = n->op};
  m->narg = n->nin + 1;
  m->nout = 1;
  m->view = arena_alloc(e, sizeof *m->view * m->narg);
  m->arg = arena_alloc(e, sizeof *m->arg * m->narg);
  m->ops = arena_alloc(e, sizeof *m->ops);
  m->out = arena_alloc(e, sizeof *m->out);
  if (!m->view || !m->arg || !m->ops || !m->out) goto nomem;
  for (uint32_t i = 0; i <= n->nin; i++) {
    uint32_t x = i < n->nin ? n->in[i] : g;
    uint32_t value = gr->g[graph_base(gr, x)].value;
    if (!own_arg(gr, e, x, value, &m->view[i], &m->arg[i])) goto nomem;
    dtype[i] = gr->g[x].dtype;
    rank[i] = (uint8_t)gr->g[x].shape->rank;
  }
  m->ops[m->nops++] = n->op;
  m->out[0] = g;
  m->trace = n->trace;
  m->points = (uint64_t)n->shape->count;
  m->bytes = shape_bytes(n->shape, n->dtype);
  if (n->kind == G_TO) return TSH_OK;
  k.narg = (uint16_t)m->narg;
  k.nattr = call_attrs(n, attr);
  k.inst_size = sizeof(tsh_inst);
  k.arg_dtype = dtype;
  k.arg_class = class_;
  k.arg_rank = rank;
  k.attr = attr;
  return cache_program(gr->p, gr->p->device[n->device], &k, m, err);
nomem:
  return plan_nomem(err, "a kernel");
}

tsh_status lower_all(graph *gr, plan_entry *e, tsh_err *err) {
  uint32_t *number = plan_alloc(sizeof *number * (gr->n + 1));
  tsh_status rc =
      number ? memory_values(gr, e, err) : plan_nomem(err, "a plan");
  if (rc == TSH_OK &&
      !(e->launch = arena_alloc(e, sizeof *e->launch * (gr->norder + 1))))
    rc = plan_nomem(err, "a plan");
  for (uint32_t i = 0; i < gr->norder && rc == TSH_OK; i++) {
    group *k = &gr->group[gr->order[i]];
    low l = {.gr = gr, .e = e, .k = k, .id = gr->order[i], .number = number};
    made_launch *m = &e->launch[e->nlaunch++];
    m->device = k->device;
    m->group = gr->order[i];
    rc = graph_go_on(gr, i, err);
    if (rc == TSH_OK)
      rc = k->single ? lower_single(gr, e, k->member[0], m, err)
                     : lower_kernel(&l, m, err);
    low_free(&l);
  }
  plan_release(number);
  return rc;
}
