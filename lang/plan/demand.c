/* demand.c - a value is wanted: find or make the plan of the trace, run it,
 * and leave every node ready, failed or pending, whatever happened. */
#include <stdlib.h>
#include "graph.h"

/* ---- the live mask ------------------------------------------------------ */
/* An empty result is computed by nobody, but the positions that it was taken
 * at are checked all the same. */
static void keep_checks(const plan_trace *t, uint8_t *live) {
  for (uint32_t i = 0; i < t->n; i++) {
    const plan_node *n = t->node[i], *at = n->in[1].node;
    if (n->shape->count || plan_ops[n->op].class_ != OP_CALL || n->nin < 2)
      continue;
    if (at->state == NODE_PENDING && at->shape->count) live[at->at] = 1;
  }
}

/* Exact when the caller has just collected garbage, else all ones: never in
 * between, or the plan would depend on when the collector ran. A temporary of
 * a composition was never seen by anybody and is dead in both. */
static uint8_t *live_mask(plan *p, const plan_trace *t, int exact) {
  if (!PLAN_GROW(p->live, p->live_cap, t->n + 1)) return NULL;
  for (uint32_t i = 0; i < t->n; i++) {
    const plan_node *n = t->node[i];
    p->live[i] = n->holds > 0 || n->flags & NODE_SAVED ||
                 (!exact && !(n->flags & NODE_TEMP));
  }
  keep_checks(t, p->live);
  return p->live;
}

static uint8_t *live_only(plan *p, const plan_trace *t, plan_node *const *nodes,
                          int n) {
  if (!PLAN_GROW(p->live, p->live_cap, t->n + 1)) return NULL;
  memset(p->live, 0, t->n + 1);
  for (int i = 0; i < n; i++)
    if (nodes[i]->state == NODE_PENDING) p->live[nodes[i]->at] = 1;
  keep_checks(t, p->live);
  return p->live;
}

/* ---- running a trace ---------------------------------------------------- */
static tsh_status isolate(plan *p, plan_trace *t, const uint8_t *live,
                          run_result *r, tsh_err *err) {
  plan_entry *e = NULL;
  tsh_status rc = plan_make(p, t, live, MAKE_UNFUSED | MAKE_NO_UPDATE, &e, err);
  if (rc == TSH_OK) rc = run_isolated(p, t, e, r, NULL, err);
  r->oom_value = NO; /* a number of this plan, not of the caller's */
  entry_free(p, e);
  return rc;
}

static tsh_status run_trace(plan *p, plan_trace *t, const uint8_t *live,
                            int flags, run_result *r, plan_entry **used,
                            tsh_err *err) {
  uint64_t key;
  plan_entry *e;
  tsh_status rc = TSH_OK;
  *used = NULL;
  r->done = 0;
  r->oom_value = NO;
  if (!trace_find_donatable(t, flags & CACHE_EXACT))
    return plan_nomem(err, "a plan");
  e = cache_find(p, t, live, flags, &key);
  if (e) {
    p->counters.plan_hits++;
  } else {
    rc = plan_make(p, t, live, flags & CACHE_SLAB ? MAKE_SLAB : 0, &e, err);
    if (rc != TSH_OK) return rc;
    cache_add(p, e, t, live, key);
  }
  *used = e;
  rc = run_entry(p, t, e, r, err);
  return rc == TSH_EINDEX ? isolate(p, t, live, r, err) : rc;
}

/* What is not wanted and was fused away is a record from now on. */
static void retire(plan *p, plan_trace *t) {
  for (uint32_t i = 0; i < t->n; i++) {
    plan_node *n = t->node[i];
    if (n->state == NODE_PENDING) n->state = NODE_GONE;
    if (n->state != NODE_FAILED || !n->holds || n->error->told ||
        n->error->counted)
      continue;
    n->error->counted = 1;
    p->failures++;
  }
  trace_clear(p, t);
}

/* ---- out of memory ------------------------------------------------------ */
static int fail_node(plan_node *n, plan *p, const tsh_err *err) {
  uint32_t site = p->error_site ? p->error_site : n->site;
  plan_error *e = error_new(err, site);
  if (!e) return 0;
  node_set_failed(p, n, e);
  error_unref(e);
  return 1;
}

/* The node whose buffer was refused fails, or else those that were wanted, so
 * that everything beside them can be computed. */
static int fail_for_memory(plan *p, plan_trace *t, const plan_entry *e,
                           const run_result *r, plan_node *const *nodes, int n,
                           const tsh_err *err) {
  int failed = 0;
  for (uint32_t i = 0; e && r->oom_value != NO && i < t->n; i++)
    if (e->end[i].kind == END_VALUE && e->end[i].value == r->oom_value &&
        t->node[i]->state == NODE_PENDING)
      failed += fail_node(t->node[i], p, err);
  for (int i = 0; !failed && i < n; i++)
    if (nodes[i]->state == NODE_PENDING) failed += fail_node(nodes[i], p, err);
  for (uint32_t i = t->n; !failed && i-- > 0;)
    if (t->node[i]->holds && t->node[i]->state == NODE_PENDING)
      failed += fail_node(t->node[i], p, err);
  return failed;
}

static tsh_status flush(plan *p, plan_node *const *nodes, int n, int flags,
                        tsh_err *err) {
  plan_entry *e = NULL;
  run_result r;
  tsh_status rc;
  for (;;) {
    int exact = (flags & PLAN_EXACT) != 0;
    uint8_t *live = live_mask(p, &p->trace, exact);
    if (p->trace.n == 0) return TSH_OK;
    if (!live) return plan_nomem(err, "a plan");
    rc = run_trace(p, &p->trace, live, exact ? CACHE_EXACT : CACHE_SLAB, &r, &e,
                   err);
    if (rc == TSH_OK) {
      retire(p, &p->trace);
      return TSH_OK;
    }
    if (rc == TSH_ENOMEM && flags & PLAN_LAST &&
        fail_for_memory(p, &p->trace, e, &r, nodes, n, err)) {
      if ((rc = trace_rebuild(p, err)) != TSH_OK) return rc;
      continue;
    }
    if (r.done) trace_rebuild(p, NULL); /* what is ready left the trace */
    return rc;
  }
}

/* ---- a part of the trace ------------------------------------------------ */
/* Marks what the pending nodes need, by position. */
static uint8_t *needed_mask(plan *p, plan_node *const *nodes, int n) {
  uint8_t *need = plan_alloc(p->trace.n + 1);
  if (!need) return NULL;
  for (int i = 0; i < n; i++)
    if (nodes[i]->state == NODE_PENDING) need[nodes[i]->at] = 1;
  for (uint32_t i = p->trace.n; i-- > 0;) {
    plan_operand *in = node_in(p->trace.node[i]);
    for (int k = 0; need[i] && k < p->trace.node[i]->nin; k++)
      if (in[k].kind == PLAN_TENSOR && in[k].node->state == NODE_PENDING)
        need[in[k].node->at] = 1;
  }
  return need;
}

/* The needed nodes as a trace of their own; positions of all nodes are then
 * those of the part, until trace_rebuild. */
static tsh_status part_of(plan *p, const uint8_t *need, plan_trace *part,
                          tsh_err *err) {
  tsh_status rc = TSH_OK;
  memset(part, 0, sizeof *part);
  part->epoch = ++p->epoch;
  for (uint32_t i = 0; i < p->trace.n && rc == TSH_OK; i++)
    if (need[i] && p->trace.node[i]->state == NODE_PENDING)
      rc = trace_add(part, p->trace.node[i], err);
  return rc;
}

typedef tsh_status (*part_fn)(plan *p, plan_trace *part, const uint8_t *live,
                              int flags, FILE *out, tsh_err *err);

static tsh_status with_part(plan *p, plan_node *const *nodes, int n, part_fn fn,
                            int flags, FILE *out, tsh_err *err) {
  uint8_t *need = needed_mask(p, nodes, n), *live;
  plan_trace part;
  tsh_status rc, again;
  if (!need) return plan_nomem(err, "a plan");
  rc = part_of(p, need, &part, err);
  plan_release(need);
  if (rc == TSH_OK) {
    live = live_only(p, &part, nodes, n);
    rc = live ? fn(p, &part, live, flags, out, err) : plan_nomem(err, "a plan");
  }
  trace_free(p, &part);
  again = trace_rebuild(p, err);
  return rc ? rc : again;
}

static tsh_status run_part(plan *p, plan_trace *part, const uint8_t *live,
                           int flags, FILE *out, tsh_err *err) {
  plan_entry *e;
  run_result r;
  (void)out;
  return run_trace(p, part, live, flags, &r, &e, err);
}

/* PLAN_LAST: what is wanted fails when there is no memory for it. */
static tsh_status demand_part(plan *p, plan_node *const *nodes, int n,
                              int flags, tsh_err *err) {
  tsh_status rc = with_part(p, nodes, n, run_part, 0, NULL, err);
  if (rc != TSH_ENOMEM || !(flags & PLAN_LAST)) return rc;
  for (int i = 0; i < n; i++)
    if (nodes[i]->state == NODE_PENDING && !fail_node(nodes[i], p, err))
      return rc;
  return trace_rebuild(p, err);
}

/* ---- demands ------------------------------------------------------------ */
static tsh_status report(plan *p, const plan_node *n, tsh_err *err) {
  uint32_t size = err ? err->size : 0;
  if (n->state != NODE_FAILED) return TSH_OK;
  p->error_site = n->error->site;
  if (n->error->counted && !n->error->told && p->failures) p->failures--;
  n->error->told = 1;
  if (err) {
    *err = n->error->err;
    err->size = size;
  }
  return n->error->err.code ? n->error->err.code : TSH_EINVAL;
}

static int all_settled(plan_node *const *nodes, int n) {
  for (int i = 0; i < n; i++)
    if (nodes[i]->state == NODE_PENDING || nodes[i]->state == NODE_GONE)
      return 0;
  return n > 0;
}

static tsh_status settle(plan *p, plan_node *const *nodes, int n, int flags,
                         tsh_err *err) {
  tsh_status rc = TSH_OK;
  for (int i = 0; i < n && rc == TSH_OK; i++)
    rc = trace_revive(p, nodes[i], err);
  if (rc != TSH_OK || all_settled(nodes, n)) return rc;
  p->running = 1;
  rc = flags & PLAN_ONLY ? demand_part(p, nodes, n, flags, err)
                         : flush(p, nodes, n, flags, err);
  p->running = 0;
  return rc;
}

tsh_status plan_demand(plan *p, plan_node *const *nodes, int n, int flags,
                       tsh_err *err) {
  tsh_status rc = TSH_OK;
  tsh_err own = {.size = sizeof own};
  if (!err) err = &own;
  p->error_site = 0;
  if (p->running)
    return dev_fail(err, TSH_EINVAL,
                    "a value is demanded while values are being computed");
  if (p->refuse && n == 0) return TSH_OK;
  if (p->refuse && !all_settled(nodes, n))
    return dev_fail(err, TSH_EINVAL,
                    "a value is asked for, and only shapes are looked at here");
  if (!all_settled(nodes, n)) rc = settle(p, nodes, n, flags, err);
  for (int i = 0; i < n && rc == TSH_OK; i++) rc = report(p, nodes[i], err);
  return rc;
}

static tsh_status explain_part(plan *p, plan_trace *part, const uint8_t *live,
                               int flags, FILE *out, tsh_err *err) {
  if (!trace_find_donatable(part, 0)) return plan_nomem(err, "a plan");
  return plan_make_text(p, part, live, flags, out, err);
}

tsh_status plan_explain(plan *p, plan_node *const *nodes, int n, int flags,
                        FILE *out, tsh_err *err) {
  tsh_status rc = TSH_OK;
  p->error_site = 0;
  if (p->running)
    return dev_fail(err, TSH_EINVAL,
                    "a plan is asked for while values are being computed");
  for (int i = 0; i < n && rc == TSH_OK; i++)
    rc = trace_revive(p, nodes[i], err);
  if (rc != TSH_OK) return rc;
  p->running = 1;
  rc = with_part(p, nodes, n, explain_part, flags, out, err);
  p->running = 0;
  for (int i = 0; i < n && rc == TSH_OK; i++) rc = report(p, nodes[i], err);
  return rc;
}

/* ---- reading ------------------------------------------------------------ */
static tsh_status read_dense(plan *p, plan_node *x, void *host, tsh_err *err) {
  uint64_t each = plan_dtype_bytes(x->dtype);
  uint64_t bytes = shape_bytes(x->shape, x->dtype);
  p->counters.bytes_downloaded += bytes;
  return dev_read(x->d, x->buf->buf, (uint64_t)x->offset * each, host, bytes,
                  err);
}

tsh_status plan_read(plan *p, plan_node *x, void *host, int flags,
                     tsh_err *err) {
  plan_operand in = operand_of(x);
  plan_node *dense = NULL;
  tsh_status rc = plan_demand(p, &x, 1, flags, err);
  if (rc != TSH_OK || x->shape->count == 0) return rc;
  if (!plan_is_known(x)) {
    estimate_fill(x, host);
    return TSH_OK;
  }
  if (!x->layout) return read_dense(p, x, host, err);
  if (p->options.shapes_only) return estimate_gather(p, x, host, err);
  TRY(record_map(p, TSH_OP_copy, x->dtype, x->d, x->shape, &in, 1, &dense,
                 err));
  TRY(plan_demand(p, &dense, 1, PLAN_ONLY, err));
  TRY(read_dense(p, dense, host, err));
out:
  plan_drop(p, dense);
  return rc;
}

int plan_refuse(plan *p, int on) {
  int was = p->refuse;
  p->refuse = on;
  return was;
}

uint32_t plan_error_site(const plan *p) { return p->error_site; }

uint32_t plan_failures(plan *p) {
  uint32_t n = p->failures;
  p->failures = 0;
  return n;
}
