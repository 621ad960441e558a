/* explain.c - the text of :plan: kernels in order, what each fused, what it
 * reads and writes, and why it is a kernel of its own. */
#include "graph.h"

static const char *si(char *text, size_t size, double v, const char *unit) {
  static const char *const prefix[] = {"", "k", "M", "G", "T"};
  int i = 0;
  while (v >= 1000 && i < 4) v /= 1000, i++;
  snprintf(text, size, v < 10 && i ? "%.1f %s%s" : "%.0f %s%s", v, prefix[i],
           unit);
  return text;
}

/* Bytes of the distinct values that arguments first..last-1 touch: at most the
 * value, at most what the points can reach. */
static double touched(const plan_entry *e, const made_launch *m, uint32_t first,
                      uint32_t last) {
  double sum = 0;
  for (uint32_t i = first; i < last; i++) {
    uint32_t v = m->arg[i].value;
    int seen = v == NO;
    double reach = 1;
    for (uint32_t j = first; j < i && !seen; j++) seen = m->arg[j].value == v;
    if (seen) continue;
    for (uint32_t k = 0; k < m->rank; k++)
      if (m->view[i].stride[k]) reach *= (double)m->extent[k];
    reach *= e->value[v].dtype_bytes;
    sum += m->rank && reach < (double)e->value[v].bytes
               ? reach
               : (double)e->value[v].bytes;
  }
  return sum;
}

static void op_names(const made_launch *m, char *text, size_t size) {
  size_t at = 0;
  uint32_t shown = 0;
  text[0] = 0;
  for (uint32_t i = 0; i < m->nops && at < size; i++) {
    uint32_t same = 1;
    if (m->ops[i] == TSH_OP_copy && m->nops > 1) continue;
    while (i + same < m->nops && m->ops[i + same] == m->ops[i]) same++;
    at += (size_t)snprintf(text + at, size - at, "%s%s", shown ? ", " : "",
                           plan_ops[m->ops[i]].name);
    if (same > 1 && at < size)
      at += (size_t)snprintf(text + at, size - at, " x%u", same);
    i += same - 1;
    if (++shown == 12 && i + 1 < m->nops && at < size) {
      snprintf(text + at, size - at, " ... (%u ops)", m->nops);
      return;
    }
  }
}

static const char *kernel_kind(const made_launch *m) {
  if (!m->prog) return "move";
  if (!m->rank) return "call";
  for (uint32_t i = 0; i < m->nops; i++)
    if (m->ops[i] == TSH_OP_dot) return "matmul";
  return m->nfold ? "reduce" : "map";
}

static void explain_launch(graph *gr, const plan_entry *e, uint32_t i,
                           FILE *out) {
  const made_launch *m = &e->launch[i];
  const group *k = &gr->group[m->group];
  uint32_t nin = m->narg - m->nout;
  char ops[160], reads[24], writes[24], flops[24], name[32];
  op_names(m, ops, sizeof ops);
  snprintf(name, sizeof name, "%s_%u", kernel_kind(m), i + 1);
  fprintf(out, "%-3u %-10s %-8s %-8s %-8s %s%s\n", i + 1, name,
          si(reads, sizeof reads, touched(e, m, 0, nin), "B"),
          si(writes, sizeof writes, touched(e, m, nin, m->narg), "B"),
          si(flops, sizeof flops, m->flops, ""), ops,
          m->update ? "  (in place)" : "");
  if (m->phases > 1 && m->nfold)
    fprintf(out, "               %u passes over each row\n", m->phases);
  if (i == 0 || k->cut == CUT_NONE || k->cut_by == NO) return;
  fprintf(out, "               cut: %s %s\n",
          gr->g[k->cut_by].op ? plan_ops[gr->g[k->cut_by].op].name : "a value",
          cut_text(k->cut));
}

void explain_entry(graph *gr, const plan_entry *e, FILE *out) {
  uint64_t scratch = 0;
  uint32_t ops = 0;
  char text[24];
  if (e->nlaunch)
    fprintf(out, "%-3s %-10s %-8s %-8s %-8s %s\n", "#", "kernel", "reads",
            "writes", "flop", "from");
  for (uint32_t i = 0; i < e->nlaunch; i++) {
    if (i == 0 || e->launch[i].device != e->launch[i - 1].device)
      fprintf(out, "on %s:\n", dev_name(gr->p->device[e->launch[i].device]));
    explain_launch(gr, e, i, out);
    ops += e->launch[i].nops;
  }
  for (uint32_t d = 0; d < e->ndevice; d++) scratch += e->scratch[d];
  fprintf(out, "%u launch%s (%u ops recorded, %u computed), peak extra %s\n",
          e->nlaunch, e->nlaunch == 1 ? "" : "es", gr->t->n, ops,
          si(text, sizeof text, (double)scratch, "B"));
}
