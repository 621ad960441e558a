/* run.c - a made plan meets buffers and scalars, and is sent to devices. */
#include <time.h>
#include "graph.h"

/* ---- buffers ------------------------------------------------------------ */
static tsh_status need_scratch(plan *p, uint32_t device, uint64_t bytes,
                               tsh_err *err) {
  plan_buf *b;
  if (!PLAN_GROW(p->scratch, p->scratch_cap, device + 1))
    return plan_nomem(err, "scratch");
  while (p->nscratch <= device) p->scratch[p->nscratch++] = NULL;
  b = p->scratch[device];
  if (!bytes || (b && b->bytes >= bytes)) return TSH_OK;
  buf_unref(p, b);
  p->scratch[device] = NULL;
  b = buf_new(p, p->device[device], bytes, err);
  p->scratch[device] = b;
  if (!b) return err && err->code ? err->code : TSH_ENOMEM;
  return TSH_OK;
}

void scratch_free(plan *p) {
  for (uint32_t i = 0; i < p->nscratch; i++) {
    buf_unref(p, p->scratch[i]);
    p->scratch[i] = NULL;
  }
}

static tsh_status take_buffer(plan *p, plan_trace *t, plan_entry *e, uint32_t i,
                              plan_buf *slab, tsh_err *err) {
  made_value *v = &e->value[i];
  if (v->kind == VALUE_LEAF || v->update) {
    e->buf[i] = t->leaf[v->leaf]->buf;
    p->counters.in_place += v->update;
  } else if (v->kind == VALUE_TEMP) {
    e->buf[i] = p->scratch[v->device];
  } else if (v->slab) {
    e->buf[i] = slab;
  } else {
    e->buf[i] = buf_new(p, p->device[v->device], v->bytes, err);
    return e->buf[i] ? TSH_OK : TSH_ENOMEM; /* its reference is ours */
  }
  if (e->buf[i]) e->buf[i]->refs++;
  return TSH_OK;
}

static void drop_buffers(plan *p, plan_entry *e) {
  for (uint32_t i = 0; i < e->nvalue; i++) {
    buf_unref(p, e->buf[i]);
    e->buf[i] = NULL;
    error_unref(e->failed[i]);
    e->failed[i] = NULL;
  }
}

/* The line of the first launch that has the value (or any, for NO) is to blame
 * when there is no memory for it. */
static void blame_value(plan *p, const plan_trace *t, const plan_entry *e,
                        uint32_t value) {
  for (uint32_t i = 0; i < e->nlaunch; i++) {
    const made_launch *m = &e->launch[i];
    int has = value == NO;
    for (uint32_t k = 0; k < m->narg; k++) has |= m->arg[k].value == value;
    if (!has || m->trace == NO) continue;
    p->error_site = t->node[m->trace]->site;
    return;
  }
}

static tsh_status take_buffers(plan *p, plan_trace *t, plan_entry *e,
                               run_result *r, tsh_err *err) {
  plan_buf *slab = NULL;
  tsh_status rc = TSH_OK;
  r->oom_value = NO;
  for (uint32_t d = 0; d < e->ndevice && rc == TSH_OK; d++)
    if (e->scratch[d]) rc = need_scratch(p, d, e->scratch[d], err);
  if (rc == TSH_OK && e->slab &&
      !(slab = buf_new(p, p->device[e->slab_device], e->slab, err)))
    rc = TSH_ENOMEM;
  for (uint32_t i = 0; i < e->nvalue && rc == TSH_OK; i++) {
    rc = take_buffer(p, t, e, i, slab, err);
    if (rc != TSH_OK) r->oom_value = i;
  }
  buf_unref(p, slab);
  if (rc != TSH_OK) {
    drop_buffers(p, e);
    blame_value(p, t, e, r->oom_value);
  }
  return rc;
}

/* ---- arguments ---------------------------------------------------------- */
static inline int64_t arg_offset(const plan_trace *t, const plan_entry *e,
                                 const made_arg *a) {
  int64_t at = a->offset;
  for (uint32_t i = 0; i < a->nterm; i++)
    at += a->term[i].mult * t->ints[a->term[i].slot];
  if (a->value == NO) return at;
  if (e->value[a->value].kind == VALUE_LEAF)
    return at + t->leaf[e->value[a->value].leaf]->offset;
  return at + e->value[a->value].first;
}

static void fill_scalar(tsh_scalar *out, const struct scalar_slot *s,
                        int kind) {
  int real = s->kind == PLAN_REAL;
  if (kind == TSH_KIND_FLOAT)
    out->f = real ? s->value.f : (double)s->value.i;
  else
    out->i = real ? (int64_t)s->value.f : s->value.i;
}

static void fill_launches(const plan_trace *t, plan_entry *e) {
  for (uint32_t i = 0; i < e->nlaunch; i++) {
    made_launch *m = &e->launch[i];
    for (uint32_t j = 0; j < m->narg; j++) {
      uint32_t v = m->arg[j].value;
      m->view[j].buf = v == NO || !e->buf[v] ? NULL : e->buf[v]->buf;
      m->view[j].offset = arg_offset(t, e, &m->arg[j]);
    }
    for (uint32_t j = 0; j < m->nscalar; j++)
      fill_scalar(&m->scalar[j], &t->scalar[m->scalar_from[j].slot],
                  m->scalar_from[j].kind);
  }
}

/* ---- sending ------------------------------------------------------------ */
static void count_launch(plan *p, const made_launch *m) {
  uint64_t *runs = p->op_runs + (size_t)m->device * TSH_NOPS;
  for (uint32_t i = 0; i < m->nops; i++) runs[m->ops[i]]++;
  p->counters.kernels++;
  p->counters.kernel_ops += m->nops;
  p->counters.phased += m->nfold && m->phases > 1;
}

static tsh_status send_batch(plan *p, plan_entry *e, uint32_t device,
                             uint32_t first, uint32_t n, uint64_t key,
                             tsh_err *err) {
  tsh_batch b = {.size = sizeof b,
                 .nlaunch = n,
                 .launch_size = sizeof(tsh_launch),
                 .key = key,
                 .launch = e->batch + first};
  uint64_t ticket = 0;
  tsh_status rc;
  for (uint32_t i = first; i < first + n; i++) count_launch(p, &e->launch[i]);
  rc = dev_submit(p->device[device], &b, &ticket, err);
  return rc == TSH_OK ? dev_wait(p->device[device], ticket, err) : rc;
}

static tsh_status send_copy(plan *p, plan_entry *e, const made_launch *m,
                            tsh_err *err) {
  const made_arg *from = &m->arg[0], *to = &m->arg[1];
  uint64_t each = e->value[to->value].dtype_bytes;
  p->counters.bytes_moved += m->bytes;
  p->op_runs[(size_t)m->device * TSH_NOPS + TSH_OP_to]++;
  return dev_move(p->device[m->device], m->view[1].buf,
                  (uint64_t)m->view[1].offset * each,
                  p->device[e->value[from->value].device], m->view[0].buf,
                  (uint64_t)m->view[0].offset * each, m->bytes, err);
}

/* Updates have begun: their inputs are gone with them, so the rest must be
 * finished now, whatever the cancel word says. They are short. */
static void finish_updates(plan *p, plan_entry *e, run_result *r) {
  uint32_t *cancel = dev_cancel_word(p->devices);
  uint32_t asked = __atomic_exchange_n(cancel, 0, __ATOMIC_RELAXED);
  tsh_status rc = TSH_OK;
  for (uint32_t i = r->done; i < e->nlaunch && rc == TSH_OK; i++) {
    tsh_launch alone = e->batch[i];
    tsh_batch b = {.size = sizeof b,
                   .nlaunch = 1,
                   .launch_size = sizeof alone,
                   .launch = &alone};
    dev *d = p->device[e->launch[i].device];
    tsh_err err = {.size = sizeof err};
    uint64_t ticket = 0;
    alone.nafter = 0;
    rc = dev_submit(d, &b, &ticket, &err);
    if (rc == TSH_OK) rc = dev_wait(d, ticket, &err);
    if (rc == TSH_OK) r->done = i + 1;
  }
  if (asked) __atomic_store_n(cancel, asked, __ATOMIC_RELAXED);
}

/* A stop names the op it stopped and remembers its line. */
static void name_stop(plan *p, const plan_trace *t, const plan_entry *e,
                      uint32_t launch, tsh_err *err) {
  const made_launch *m = launch < e->nlaunch ? &e->launch[launch] : NULL;
  const char *op;
  if (!m || m->trace == NO) return;
  p->error_site = t->node[m->trace]->site;
  if (err->code != TSH_ECANCELLED) return;
  op = plan_ops[t->node[m->trace]->op].name;
  for (uint32_t i = 0; i < m->nops; i++)
    if (m->ops[i] == TSH_OP_dot) op = "matmul";
  snprintf(err->text, sizeof err->text, "interrupted in %s (%s)", op,
           dev_name(p->device[m->device]));
}

static tsh_status send_step(plan *p, const plan_trace *t, plan_entry *e,
                            const made_step *s, uint32_t number, run_result *r,
                            tsh_err *err) {
  uint64_t key = e->serial << 12 | (number + 1);
  tsh_status rc;
  if (s->copy)
    rc = send_copy(p, e, &e->launch[s->first], err);
  else
    rc = send_batch(p, e, s->device, s->first, s->n, key, err);
  if (rc == TSH_OK) {
    r->done = s->first + s->n;
    return rc;
  }
  if (!s->copy && err->launch != TSH_NO_LAUNCH && err->launch <= s->n)
    r->done = s->first + err->launch;
  name_stop(p, t, e, r->done, err);
  if (e->nupdate && rc != TSH_EINDEX && r->done > e->nlaunch - e->nupdate)
    finish_updates(p, e, r);
  return rc;
}

/* ---- what the nodes become ---------------------------------------------- */
static int64_t end_offset(const plan_trace *t, const plan_entry *e,
                          const node_end *end) {
  int64_t at = end->acc.offset;
  for (uint32_t i = 0; i < end->acc.nterm; i++)
    at += end->acc.term[i].mult * t->ints[end->acc.term[i].slot];
  if (end->kind == END_LEAF) return at + t->leaf[end->value]->offset;
  return at + e->value[end->value].first;
}

/* The error of the positions of an empty result, or NULL. */
static plan_error *bad_positions(const plan_node *n) {
  const plan_node *at = n->in[1].node;
  if (plan_ops[n->op].class_ != OP_CALL || n->nin < 2) return NULL;
  return at->state == NODE_FAILED ? at->error : NULL;
}

/* Values whose last writer is complete become ready. */
static void finish_nodes(plan *p, plan_trace *t, plan_entry *e, uint32_t done) {
  for (uint32_t i = 0; i < t->n; i++) {
    const node_end *end = &e->end[i];
    plan_node *n = t->node[i];
    plan_buf *b = NULL;
    if (n->state != NODE_PENDING || end->kind == END_DEAD) continue;
    if (end->kind == END_VALUE) {
      if (e->value[end->value].writer >= done) continue;
      if (e->failed[end->value]) {
        node_set_failed(p, n, e->failed[end->value]);
        continue;
      }
      b = e->buf[end->value];
    }
    if (end->kind == END_EMPTY && bad_positions(n)) {
      node_set_failed(p, n, bad_positions(n));
      continue;
    }
    if (end->kind == END_LEAF) b = t->leaf[end->value]->buf;
    node_set_ready(p, n, b, end->kind == END_EMPTY ? 0 : end_offset(t, e, end),
                   end->layout);
  }
}

/* shapes_only: every value is ready, and none is known. */
static tsh_status pretend(plan *p, plan_trace *t, plan_entry *e,
                          run_result *r) {
  estimate_entry(p, t, e);
  r->done = e->nlaunch;
  finish_nodes(p, t, e, r->done);
  drop_buffers(p, e);
  return TSH_OK;
}

tsh_status run_entry(plan *p, plan_trace *t, plan_entry *e, run_result *r,
                     tsh_err *err) {
  tsh_status rc = take_buffers(p, t, e, r, err);
  r->done = 0;
  if (rc != TSH_OK) return rc;
  p->counters.flushes++;
  p->counters.copies_of_set += e->set_copies;
  if (p->options.shapes_only) return pretend(p, t, e, r);
  fill_launches(t, e);
  for (uint32_t i = 0; i < e->nstep && rc == TSH_OK; i++)
    rc = send_step(p, t, e, &e->step[i], i, r, err);
  if (rc != TSH_EINDEX) finish_nodes(p, t, e, r->done);
  drop_buffers(p, e);
  return rc;
}

/* ---- one op at a time --------------------------------------------------- */
/* Element number `at` of argument 0, as an integer of its dtype (i64, i32). */
static int read_index(plan *p, const plan_entry *e, const made_launch *m,
                      int64_t at, int64_t *out) {
  const made_value *v;
  int64_t offset = m->view[0].offset;
  uint32_t rank = m->rank;
  const int64_t *ext = m->extent ? m->extent : m->view[0].extent;
  int32_t narrow = 0;
  if (at < 0 || !ext || m->arg[0].value == NO) return 0;
  v = &e->value[m->arg[0].value];
  for (uint32_t i = rank; i-- > 0;) {
    offset += at % ext[i] * m->view[0].stride[i];
    at /= ext[i];
  }
  if (v->dtype_bytes == 8)
    return dev_read(p->device[v->device], m->view[0].buf, (uint64_t)offset * 8,
                    out, 8, NULL) == TSH_OK;
  if (dev_read(p->device[v->device], m->view[0].buf, (uint64_t)offset * 4,
               &narrow, 4, NULL) != TSH_OK)
    return 0;
  *out = narrow;
  return 1;
}

/* As the user calls it: t:set(at, v) is index_set. */
static const char *call_name(int op) {
  static const char own[] = "index_";
  const char *name = plan_ops[op].name;
  return strncmp(name, own, sizeof own - 1) ? name : name + sizeof own - 1;
}

/* The op that the user wrote: what reads the positions, through views and
 * through sums of positions along several axes. */
static const char *index_user(const plan_trace *t, uint32_t i) {
  for (uint32_t j = i + 1; j < t->n; j++) {
    plan_operand *in = node_in(t->node[j]);
    for (int k = 0; k < t->node[j]->nin; k++) {
      int op = t->node[j]->op;
      if (in[k].kind != PLAN_TENSOR || in[k].node != t->node[i]) continue;
      if (op == TSH_OP_eq) return "one_hot";
      if (plan_ops[op].class_ == OP_CALL) return call_name(op);
      i = j;
      break;
    }
  }
  return "index";
}

static void name_index(plan *p, const plan_trace *t, const plan_entry *e,
                       const made_launch *m, tsh_err *err) {
  const plan_node *n = m->trace == NO ? NULL : t->node[m->trace];
  int64_t value = 0, limit;
  if (n && plan_ops[n->op].class_ == OP_CALL)
    snprintf(err->text, sizeof err->text,
             "%s: a position is outside of the axis (element %lld)",
             call_name(n->op), (long long)err->at + 1);
  if (!n || n->op != TSH_OP_index || n->in[1].kind != PLAN_INT ||
      !read_index(p, e, m, err->at, &value))
    return;
  limit = n->in[1].num.i;
  snprintf(err->text, sizeof err->text,
           "%s: index %lld is outside 1..%lld (element %lld)",
           index_user(t, m->trace), (long long)value, (long long)limit,
           (long long)err->at + 1);
}

static plan_error *failed_input(const plan_entry *e, const made_launch *m) {
  for (uint32_t i = 0; i < m->narg - m->nout; i++) {
    uint32_t v = m->arg[i].value;
    if (v != NO && e->failed[v]) return e->failed[v];
  }
  return NULL;
}

static void fail_outputs(plan_entry *e, const made_launch *m, plan_error *x) {
  for (uint32_t i = m->narg - m->nout; i < m->narg; i++) {
    uint32_t v = m->arg[i].value;
    if (e->failed[v]) continue;
    x->refs++;
    e->failed[v] = x;
  }
}

static tsh_status isolate(plan *p, plan_trace *t, plan_entry *e, uint32_t i,
                          tsh_err *err) {
  made_launch *m = &e->launch[i];
  plan_error *x = failed_input(e, m);
  tsh_status rc;
  if (x) {
    fail_outputs(e, m, x);
    return TSH_OK;
  }
  e->batch[i].nafter = 0;
  rc = m->prog ? send_batch(p, e, m->device, i, 1, 0, err)
               : send_copy(p, e, m, err);
  if (rc != TSH_EINDEX) return rc;
  name_index(p, t, e, m, err);
  x = error_new(err, m->trace == NO ? 0 : t->node[m->trace]->site);
  if (!x) return plan_nomem(err, "an error");
  fail_outputs(e, m, x);
  error_unref(x);
  return TSH_OK;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

tsh_status run_isolated(plan *p, plan_trace *t, plan_entry *e, run_result *r,
                        double *took, tsh_err *err) {
  tsh_status rc = take_buffers(p, t, e, r, err);
  r->done = 0;
  if (rc != TSH_OK) return rc;
  p->counters.flushes++;
  if (p->options.shapes_only) return pretend(p, t, e, r);
  fill_launches(t, e);
  for (uint32_t i = 0; i < e->nlaunch && rc == TSH_OK; i++) {
    double begun = took ? seconds() : 0;
    rc = isolate(p, t, e, i, err);
    if (took) took[i] = seconds() - begun;
    if (rc == TSH_OK) r->done = i + 1;
  }
  finish_nodes(p, t, e, r->done);
  drop_buffers(p, e);
  return rc;
}
