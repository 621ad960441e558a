/* trace.c - the pending trace: what was recorded and not yet run, with its
 * structural hash. Leaves are numbered by first use, scalar slots by first
 * equal value, so that a plan made for equal operands can never be taken for
 * different ones. */
#include "priv.h"

#define MIX UINT64_C(0x9e3779b97f4a7c15)

/* Four products that do not wait for each other, then one step of the chain.
 * Built from the fields: a wide load of what was just stored in pieces would
 * stall. */
static void hash_word(plan_trace *t, const trace_word *w) {
  uint64_t h = ((uint64_t)w->shape << 32 | (uint64_t)w->device << 24 |
                (uint64_t)w->dtype << 16 | w->op) *
               MIX;
  h ^= ((uint64_t)w->in[1] << 32 | w->in[0]) * UINT64_C(0xbf58476d1ce4e5b9);
  h ^= ((uint64_t)w->axes << 32 | w->in[2]) * UINT64_C(0x94d049bb133111eb);
  h ^= ((uint64_t)w->ints << 32 | w->aux) * UINT64_C(0xd6e8feb86659fd93);
  h ^= h >> 29;
  t->hash = ((t->hash << 23 | t->hash >> 41) ^ h) * MIX;
}

/* ---- scalars ------------------------------------------------------------ */
static uint64_t scalar_hash(tsh_scalar v, int kind) {
  uint64_t h = (v.u ^ (uint64_t)kind) * MIX;
  return h ^ (h >> 32);
}

static int rehash_slots(plan_trace *t, uint32_t cap) {
  uint32_t *table = plan_alloc(sizeof *table * cap);
  if (!table) return 0;
  for (uint32_t i = 0; i < t->nscalar; i++) {
    uint64_t h = scalar_hash(t->scalar[i].value, t->scalar[i].kind);
    while (table[h & (cap - 1)]) h++;
    table[h & (cap - 1)] = i + 1;
  }
  plan_release(t->slot_hash);
  t->slot_hash = table;
  t->slot_hash_cap = cap;
  return 1;
}

/* Slot of a value; bits and type decide, so 0.0 and -0.0, 1 and 1.0 differ. */
static uint32_t scalar_slot(plan_trace *t, tsh_scalar v, int kind) {
  uint64_t h = scalar_hash(v, kind);
  if (2 * t->nscalar >= t->slot_hash_cap &&
      !rehash_slots(t, t->slot_hash_cap ? 2 * t->slot_hash_cap : 32))
    return IN_NONE;
  for (;; h++) {
    uint32_t slot = t->slot_hash[h & (t->slot_hash_cap - 1)];
    if (!slot) break;
    if (t->scalar[slot - 1].value.u == v.u && t->scalar[slot - 1].kind == kind)
      return slot - 1;
  }
  if (!PLAN_GROW(t->scalar, t->scalar_cap, t->nscalar + 1)) return IN_NONE;
  t->scalar[t->nscalar].value = v;
  t->scalar[t->nscalar].kind = kind;
  t->slot_hash[h & (t->slot_hash_cap - 1)] = ++t->nscalar;
  return t->nscalar - 1;
}

/* ---- encoding ----------------------------------------------------------- */
/* Number of a leaf that shows the same elements, or IN_NONE: two views made
 * alike of one buffer are one leaf. */
static uint32_t same_leaf(const plan_trace *t, const plan_node *x) {
  uint32_t k = x->buf && x->buf->epoch == t->epoch ? x->buf->leaf : IN_NONE;
  for (; k != IN_NONE; k = t->leaf_next[k]) {
    const plan_node *y = t->leaf[k];
    if (y->offset == x->offset && y->layout == x->layout &&
        y->shape == x->shape && y->dtype == x->dtype)
      break;
  }
  return k;
}

static uint32_t encode_leaf(plan_trace *t, plan_node *x) {
  uint32_t k;
  if (x->epoch == t->epoch) return x->leaf | IN_LEAF;
  if (!PLAN_GROW(t->seen, t->seen_cap, t->nseen + 1)) return IN_NONE;
  t->seen[t->nseen] = x;
  if ((k = same_leaf(t, x)) == IN_NONE) {
    k = t->nleaf;
    if (!PLAN_GROW(t->leaf, t->leaf_cap, k + 1) ||
        !PLAN_GROW(t->leaf_next, t->leaf_next_cap, k + 1))
      return IN_NONE;
    t->leaf[k] = x;
    t->leaf_next[k] = IN_NONE;
    t->nleaf++;
    if (x->buf) {
      if (x->buf->epoch == t->epoch) t->leaf_next[k] = x->buf->leaf;
      x->buf->epoch = t->epoch;
      x->buf->leaf = k;
    }
  }
  x->epoch = t->epoch;
  x->leaf = k;
  t->nseen++;
  return k | IN_LEAF;
}

/* A leaf that is used by nodes of this trace and known to nobody else. A taped
 * record keeps its inputs, to be computed again. */
static int is_unheld(const plan_node *x) {
  return x->buf && !x->holds && x->refs == x->uses &&
         !(x->flags & (NODE_TAPED | NODE_SAVED));
}

static void count_uses(plan_trace *t) {
  for (uint32_t i = 0; i < t->nseen; i++) t->seen[i]->uses = 0;
  for (uint32_t i = 0; i < t->n; i++) {
    plan_operand *in = node_in(t->node[i]);
    if (t->node[i]->flags & NODE_TAPED) continue;
    for (int k = 0; k < t->node[i]->nin; k++)
      if (in[k].kind == PLAN_TENSOR) in[k].node->uses++;
  }
}

/* A buffer may be taken by a result when every node that owns it is such a
 * leaf. */
static int donatable(const plan_node *x) {
  return x->buf && x->buf->unheld == x->buf->refs && !x->layout &&
         x->offset == 0 && x->buf->bytes == shape_bytes(x->shape, x->dtype);
}

int trace_find_donatable(plan_trace *t, int exact) {
  if (!PLAN_GROW(t->donatable, t->donatable_cap, t->nleaf + 1)) return 0;
  memset(t->donatable, 0, t->nleaf + 1);
  if (!exact) return 1;
  count_uses(t);
  for (uint32_t i = 0; i < t->nseen; i++)
    if (t->seen[i]->buf) t->seen[i]->buf->unheld = 0;
  for (uint32_t i = 0; i < t->nseen; i++)
    if (is_unheld(t->seen[i])) t->seen[i]->buf->unheld++;
  for (uint32_t k = 0; k < t->nleaf; k++)
    t->donatable[k] = (uint8_t)donatable(t->leaf[k]);
  return 1;
}

static uint32_t encode_in(plan_trace *t, const plan_operand *in) {
  if (in->kind != PLAN_TENSOR) {
    uint32_t slot = scalar_slot(t, in->num, in->kind);
    return slot == IN_NONE ? IN_NONE : slot | IN_SCALAR;
  }
  return in->node->state == NODE_PENDING ? in->node->at
                                         : encode_leaf(t, in->node);
}

static int push_aux(plan_trace *t, int64_t v) {
  if (!PLAN_GROW(t->aux, t->aux_cap, t->naux + 1)) return 0;
  t->aux[t->naux++] = v;
  t->hash = (t->hash ^ (uint64_t)v) * MIX;
  return 1;
}

static int push_int(plan_trace *t, int64_t v) {
  if (!PLAN_GROW(t->ints, t->int_cap, t->nint + 1)) return 0;
  t->ints[t->nint++] = v;
  return 1;
}

/* What a word cannot hold: steps and counts of ranges (in the key), their
 * starts (launch arguments), borders, the axis order, the inputs of cat. */
static int encode_attr(plan_trace *t, plan_node *n) {
  const plan_attr *a = n->attr;
  uint32_t rank;
  if (!a) return 1;
  rank = node_in(n)[0].node->shape->rank;
  switch (n->op) {
  case TSH_OP_permute:
    for (uint32_t i = 0; i < rank; i++)
      if (!push_aux(t, a->order[i])) return 0;
    break;
  case TSH_OP_slice:
  case TSH_OP_set:
    for (uint32_t i = 0; i < rank; i++)
      if (!push_aux(t, a->range[i].step) || !push_aux(t, a->range[i].count) ||
          !push_int(t, a->range[i].start))
        return 0;
    break;
  case TSH_OP_pad:
    for (uint32_t i = 0; i < rank; i++)
      if (!push_aux(t, a->pad.before[i])) return 0;
    break;
  case TSH_OP_cat:
    for (int i = 0; i < n->nin; i++) {
      uint32_t in = encode_in(t, &node_in(n)[i]);
      if (in == IN_NONE || !push_aux(t, in)) return 0;
    }
    break;
  case TSH_OP_windows: /* the size is in the shape */
    return push_aux(t, a->window.stride) && push_aux(t, a->window.dilation);
  default:
    break;
  }
  return 1;
}

static int encode(plan_trace *t, plan_node *n, trace_word *w) {
  const plan_operand *in = node_in(n);
  w->op = n->op;
  w->dtype = n->dtype;
  w->device = (uint8_t)dev_id(n->d);
  w->shape = n->shape->id;
  w->axes = n->axes | (uint32_t)n->keep << 31;
  w->in[0] = w->in[1] = w->in[2] = IN_NONE;
  w->aux = t->naux;
  w->ints = t->nint;
  /* Of custom the first input alone is computed with. */
  for (int i = 0; i < n->nin && i < (n->op == TSH_OP_custom ? 1 : 3); i++)
    if ((w->in[i] = encode_in(t, &in[i])) == IN_NONE) return 0;
  return encode_attr(t, n);
}

/* Bytes that count towards a cut. What the device could never hold does not:
 * cutting would only try to. */
static uint64_t trace_bytes(const plan_node *n) {
  uint64_t memory, bytes;
  if (plan_is_view(n->op)) return 0;
  bytes = shape_bytes(n->shape, n->dtype);
  if (bytes < UINT64_C(1) << 30) return bytes;
  memory = dev_props(n->d)->memory;
  return bytes > (memory ? memory : UINT64_C(1) << 40) ? UINT64_C(1) << 20
                                                       : bytes;
}

/* Takes back what a half-encoded node left: leaves that nobody owns. */
static void undo_encode(plan_trace *t, uint32_t nleaf, uint32_t nseen,
                        const trace_word *w, uint64_t hash) {
  for (uint32_t i = nseen; i < t->nseen; i++) t->seen[i]->epoch = 0;
  t->nseen = nseen;
  for (uint32_t k = t->nleaf; k-- > nleaf;) {
    plan_node *x = t->leaf[k];
    if (!x->buf) continue;
    x->buf->leaf = t->leaf_next[k];
    if (x->buf->leaf == IN_NONE) x->buf->epoch = 0;
  }
  t->nleaf = nleaf;
  t->nint = w->ints;
  t->naux = w->aux;
  t->hash = hash;
}

tsh_status trace_add(plan_trace *t, plan_node *n, tsh_err *err) {
  uint32_t nleaf = t->nleaf, nseen = t->nseen;
  uint64_t hash = t->hash;
  trace_word *w;
  if (!PLAN_GROW(t->node, t->node_cap, t->n + 1) ||
      !PLAN_GROW(t->word, t->word_cap, t->n + 1))
    return plan_nomem(err, "the trace");
  w = &t->word[t->n];
  if (!encode(t, n, w)) {
    undo_encode(t, nleaf, nseen, w, hash);
    return plan_nomem(err, "the trace");
  }
  hash_word(t, w);
  t->node[t->n] = node_ref(n);
  n->at = t->n++;
  n->state = NODE_PENDING;
  t->bytes += trace_bytes(n);
  return TSH_OK;
}

void trace_clear(plan *p, plan_trace *t) {
  uint32_t n = t->n;
  t->n = t->nleaf = t->nseen = t->nscalar = t->nint = t->naux = 0;
  t->hash = t->bytes = 0;
  if (t->slot_hash_cap)
    memset(t->slot_hash, 0, sizeof *t->slot_hash * t->slot_hash_cap);
  for (uint32_t i = 0; i < n; i++) node_unref(p, t->node[i]);
  t->epoch = ++p->epoch;
  t->slow_compile = 0;
  p->wants_cut = 0;
}

void trace_free(plan *p, plan_trace *t) {
  trace_clear(p, t);
  plan_release(t->node);
  plan_release(t->word);
  plan_release(t->leaf);
  plan_release(t->leaf_next);
  plan_release(t->seen);
  plan_release(t->donatable);
  plan_release(t->scalar);
  plan_release(t->slot_hash);
  plan_release(t->ints);
  plan_release(t->aux);
  memset(t, 0, sizeof *t);
}

/* ---- records that are gone ---------------------------------------------- */
static plan_node *gone_input(plan_node *n) {
  plan_operand *in = node_in(n);
  for (int i = 0; i < n->nin; i++)
    if (in[i].kind == PLAN_TENSOR && in[i].node->state == NODE_GONE)
      return in[i].node;
  return NULL;
}

static plan_error *failed_input(plan_node *n) {
  plan_operand *in = node_in(n);
  for (int i = 0; i < n->nin; i++)
    if (in[i].kind == PLAN_TENSOR && in[i].node->state == NODE_FAILED)
      return in[i].node->error;
  return NULL;
}

tsh_status trace_revive(plan *p, plan_node *n, tsh_err *err) {
  plan_node **stack = NULL;
  uint32_t depth = 0, cap = 0;
  tsh_status rc = TSH_OK;
  if (n->state != NODE_GONE) return TSH_OK;
  if (!PLAN_GROW(stack, cap, 1)) return plan_nomem(err, "the trace");
  stack[depth++] = n;
  while (depth && rc == TSH_OK) {
    plan_node *top = stack[depth - 1], *need = gone_input(top);
    if (need) {
      if (!PLAN_GROW(stack, cap, depth + 1))
        rc = plan_nomem(err, "the trace");
      else
        stack[depth++] = need;
      continue;
    }
    if (failed_input(top))
      node_set_failed(p, top, failed_input(top));
    else
      rc = trace_add(&p->trace, top, err);
    p->counters.recomputed++;
    depth--;
  }
  plan_release(stack);
  return rc;
}

/* ---- recording ---------------------------------------------------------- */
/* What note_cut asks of a device, kept for the next op on it. */
static void see_device(plan *p, dev *d) {
  const tsh_props *props = dev_props(d);
  p->seen = d;
  p->seen_slow = props->compile_us > 100;
  p->seen_budget = props->memory ? props->memory / 4 : UINT64_C(4) << 30;
}

static void note_cut(plan *p, const plan_node *n) {
  plan_trace *t = &p->trace;
  if (n->d != p->seen) see_device(p, n->d);
  t->slow_compile |= p->seen_slow;
  /* A large value that stands alone may be wanted in part only. */
  if (t->bytes > p->seen_budget && !p->first) p->wants_cut = 1;
  if (p->tapes_open) return;
  if (t->n >= 4096) {
    p->last_cut_site = n->site;
    p->wants_cut = 1;
  } else if (t->n > 256 && n->site && n->site == p->last_cut_site) {
    p->wants_cut = 1;
  }
}

static tsh_status revive_inputs(plan *p, plan_node *n, tsh_err *err) {
  plan_operand *in = node_in(n);
  tsh_status rc = TSH_OK;
  for (int i = 0; i < n->nin && rc == TSH_OK; i++)
    if (in[i].kind == PLAN_TENSOR && in[i].node->state == NODE_GONE)
      rc = trace_revive(p, in[i].node, err);
  return rc;
}

/* Is an input failed, or gone? Seldom. */
static int odd_inputs(plan_node *n) {
  plan_operand *in = node_in(n);
  int odd = 0;
  for (int i = 0; i < n->nin; i++)
    odd |= in[i].kind == PLAN_TENSOR && in[i].node->state >= NODE_FAILED;
  return odd;
}

tsh_status trace_record(plan *p, plan_node *n, plan_node **out, tsh_err *err) {
  int odd = odd_inputs(n);
  plan_error *e = odd ? failed_input(n) : NULL;
  tsh_status rc = TSH_OK;
  *out = NULL;
  p->counters.ops++;
  if (e)
    node_set_failed(p, n, e);
  else if (n->state == NODE_PENDING) {
    if (odd && (rc = revive_inputs(p, n, err)) == TSH_OK) e = failed_input(n);
    if (rc == TSH_OK && !e) rc = trace_add(&p->trace, n, err);
    if (rc == TSH_OK && e) node_set_failed(p, n, e);
    if (rc == TSH_OK) note_cut(p, n);
  }
  if (rc == TSH_OK && p->tapes_open)
    rc = tape_add(p, n, err);
  else if (n->state == NODE_READY)
    node_release_inputs(p, n);
  if (rc != TSH_OK) {
    plan_drop(p, n);
    return rc;
  }
  *out = n;
  return TSH_OK;
}

tsh_status trace_rebuild(plan *p, tsh_err *err) {
  plan_trace old = p->trace;
  tsh_status rc = TSH_OK;
  memset(&p->trace, 0, sizeof p->trace);
  p->trace.epoch = ++p->epoch;
  for (uint32_t i = 0; i < old.n; i++) {
    plan_node *n = old.node[i];
    if (n->state != NODE_PENDING) continue;
    n->state = NODE_GONE; /* until it is in the new trace */
    if (rc == TSH_OK) rc = revive_inputs(p, n, err);
    if (rc == TSH_OK && failed_input(n))
      node_set_failed(p, n, failed_input(n));
    else if (rc == TSH_OK)
      rc = trace_add(&p->trace, n, err);
  }
  trace_free(p, &old);
  return rc;
}

int plan_wants_cut(const plan *p) { return p->wants_cut; }

int plan_wants_collect(const plan *p) {
  return p->trace.bytes > 16 << 10 || p->trace.slow_compile;
}
