/* plan.c - a planner: made, asked, freed. */
#include "graph.h"

void node_chunks_free(plan *p);

tsh_status plan_new(dev_set *devices, const plan_options *options, plan **out,
                    tsh_err *err) {
  plan *p = plan_alloc(sizeof *p);
  *out = NULL;
  if (!p) return plan_nomem(err, "a planner");
  p->devices = devices;
  if (options) p->options = *options;
  p->epoch = p->trace.epoch = 1;
  if (!cache_new(p) ||
      node_device(p, dev_builtin(devices), err) == UINT32_MAX) {
    plan_free(p);
    return plan_nomem(err, "a planner");
  }
  *out = p;
  return TSH_OK;
}

void plan_free(plan *p) {
  if (!p) return;
  p->tapes_open = p->tapes_open ? 1 : 0;
  plan_tape_close(p, 0);
  trace_free(p, &p->trace);
  scratch_free(p);
  plan_release(p->scratch);
  cache_free(p);
  node_chunks_free(p);
  for (uint32_t i = 0; i < p->shape_cap; i++) plan_release(p->shape_table[i]);
  plan_release(p->shape_table);
  for (uint32_t i = 0; i < p->nlayout; i++) plan_release(p->layout_table[i]);
  plan_release(p->layout_table);
  plan_release(p->tape);
  plan_release(p->device);
  plan_release(p->op_runs);
  plan_release(p->live);
  plan_release(p);
}

void plan_set_options(plan *p, const plan_options *options) {
  p->options = *options;
}

const plan_counters *plan_counters_get(plan *p) { return &p->counters; }

uint64_t plan_op_runs(const plan *p, int op, uint32_t device) {
  if (device >= p->ndevice || op < 0 || op >= TSH_NOPS) return 0;
  return p->op_runs[(size_t)device * TSH_NOPS + (size_t)op];
}

void plan_forget(plan *p) {
  if (!p->running) cache_trim(p);
}

void plan_trim(plan *p) {
  tsh_memstat stat = {.size = sizeof stat};
  scratch_free(p);
  plan_forget(p);
  for (uint32_t i = 0; i < p->ndevice; i++)
    if (p->device[i]) dev_memstat(p->device[i], 1, &stat, NULL);
}
