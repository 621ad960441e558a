/* make.c - a plan is made: the passes in plain sight. */
#include "graph.h"

static tsh_status check(plan *p, int ok, const char *pass, const char *text,
                        tsh_err *err) {
  if (!p->options.verify || ok) return TSH_OK;
  return dev_fail(err, TSH_EINVAL, "planner fault after %s: %s", pass, text);
}

static tsh_status passes(graph *gr, plan_entry *e, tsh_err *err) {
  plan *p = gr->p;
  int verify = p->options.verify;
  char text[256] = "";
  tsh_status rc;
  TRY(graph_build(gr, err));
  TRY(check(p, !verify || verify_graph(gr, text, sizeof text), "graph", text,
            err));
  TRY(group_all(gr, err));
  TRY(check(p, !verify || verify_groups(gr, text, sizeof text), "group", text,
            err));
  TRY(lower_all(gr, e, err));
  TRY(memory_plan(gr, e, err));
  TRY(check(p, !verify || verify_entry(e, text, sizeof text), "memory", text,
            err));
  e->end = arena_alloc(e, sizeof *e->end * (gr->t->n + 1));
  if (!e->end) return plan_nomem(err, "a plan");
  memcpy(e->end, gr->end, sizeof *e->end * gr->t->n);
  e->set_copies = gr->set_copies;
out:
  return rc;
}

/* What :plan wants to know of a plan; NULL: nothing. */
typedef struct {
  plan_trace *t;
  int flags;
  FILE *out;
} asked;

static tsh_status tell(graph *gr, plan_entry *e, const asked *a, tsh_err *err) {
  double *took = NULL;
  run_result r;
  tsh_status rc = TSH_OK;
  if (a->flags & PLAN_RUN) {
    took = plan_alloc(sizeof *took * (e->nlaunch + 1));
    if (!took) return plan_nomem(err, "a plan");
    rc = run_isolated(gr->p, a->t, e, &r, took, err);
  }
  if (rc == TSH_OK && a->flags & PLAN_DOT)
    explain_dot(gr, e, a->out);
  else if (rc == TSH_OK)
    explain_entry(gr, e, took, a->flags, a->out);
  plan_release(took);
  return rc;
}

static tsh_status make_once(plan *p, const plan_trace *t, const uint8_t *live,
                            int flags, const asked *a, plan_entry **out,
                            tsh_err *err) {
  plan_entry *e = plan_alloc(sizeof *e);
  graph gr = {.p = p, .t = t, .live = live};
  tsh_status rc;
  *out = NULL;
  if (!e) return plan_nomem(err, "a plan");
  e->bytes = sizeof *e;
  gr.unfused = (flags & MAKE_UNFUSED) != 0 || p->options.unfused;
  gr.no_update = (flags & MAKE_NO_UPDATE) != 0;
  gr.slab = (flags & MAKE_SLAB) != 0;
  rc = passes(&gr, e, err);
  if (rc == TSH_OK && a)
    rc = tell(&gr, e, a, err);
  else if (rc == TSH_OK && p->options.dump)
    explain_entry(&gr, e, NULL, 0, p->options.dump);
  graph_free(&gr);
  if (rc != TSH_OK) {
    entry_free(p, e);
    return rc;
  }
  *out = e;
  return TSH_OK;
}

static tsh_status make(plan *p, plan_trace *t, const uint8_t *live, int flags,
                       const asked *a, plan_entry **out, tsh_err *err) {
  tsh_status rc;
  rc = make_once(p, t, live, flags, a, out, err);
  if (rc == TSH_EPENDING) /* a set could not take its leaf's memory */
    rc = make_once(p, t, live, flags |= MAKE_NO_UPDATE, a, out, err);
  if (rc == TSH_EUNSUPPORTED && !(flags & MAKE_UNFUSED)) /* a device limit */
    rc = make_once(p, t, live, flags | MAKE_UNFUSED | MAKE_NO_UPDATE, a, out,
                   err);
  return rc;
}

tsh_status plan_make(plan *p, plan_trace *t, const uint8_t *live, int flags,
                     plan_entry **out, tsh_err *err) {
  p->counters.plan_misses++;
  return make(p, t, live, flags, NULL, out, err);
}

tsh_status plan_make_text(plan *p, plan_trace *t, const uint8_t *live,
                          int flags, FILE *out, tsh_err *err) {
  asked a = {t, flags, out};
  plan_entry *e = NULL;
  /* A run that is stopped between launches must find its inputs again. */
  tsh_status rc =
      make(p, t, live, flags & PLAN_RUN ? MAKE_NO_UPDATE : 0, &a, &e, err);
  entry_free(p, e);
  return rc;
}
