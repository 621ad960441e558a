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

double explain_touched(const plan_entry *e, const made_launch *m,
                       uint32_t first, uint32_t last) {
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

void explain_ops(const made_launch *m, char *text, size_t size) {
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

void explain_kernel_name(const made_launch *m, uint32_t i, char *text,
                         size_t size) {
  const char *kind = m->nfold ? "reduce" : "map";
  if (!m->prog)
    kind = "move";
  else if (!m->extent)
    kind = "call";
  for (uint32_t k = 0; k < m->nops; k++)
    if (m->ops[k] == TSH_OP_dot) kind = "matmul";
  snprintf(text, size, "%s_%u", kind, i + 1);
}

/* ---- cuts ---------------------------------------------------------------- */
static const char *op_name(const gnode *n) {
  return n->op ? plan_ops[n->op].name : "a value";
}

/* Why the launch is not part of one before it. */
static void explain_cut(graph *gr, const group *k, FILE *out) {
  const gnode *last = &gr->g[k->member[k->nmember - 1]];
  fputs("               cut: ", out);
  if (k->cut_by != NO && gr->g[k->cut_by].kind == G_TO)
    fputs("it reads what is moved here from another device\n", out);
  else if (k->cut_by != NO && k->cut != CUT_NONE)
    fprintf(out, "%s %s\n", op_name(&gr->g[k->cut_by]), cut_text(k->cut));
  else if (k->cut == CUT_OFF)
    fprintf(out, "%s\n", cut_text(CUT_OFF));
  else if (last->kind == G_CALL)
    fprintf(out, "%s is an op that is no kernel form\n", op_name(last));
  else if (last->kind == G_TO)
    fputs("a value is moved to another device\n", out);
  else if (last->box != NO)
    fputs("it writes its part of a larger value\n", out);
  else if (k->npred == 0)
    fputs("it shares nothing with the kernels before it\n", out);
  else
    fprintf(out, "%s %s\n", "an operand", cut_text(k->cut ? k->cut : CUT_VIEW));
}

static int first_of_device(const plan_entry *e, uint32_t i) {
  for (uint32_t j = 0; j < i; j++)
    if (e->launch[j].device == e->launch[i].device) return 0;
  return 1;
}

/* ---- the table ----------------------------------------------------------- */
static const char *time_text(char *text, size_t size, double s) {
  static const char *const unit[] = {"s", "ms", "us", "ns"};
  int i = 0;
  while (s < 0.9995 && i < 3) s *= 1000, i++;
  snprintf(text, size,
           s < 9.995   ? "%.2f %s"
           : s < 99.95 ? "%.1f %s"
                       : "%.0f %s",
           s, unit[i]);
  return text;
}

static void explain_launch(graph *gr, const plan_entry *e, uint32_t i,
                           const double *took, FILE *out) {
  const made_launch *m = &e->launch[i];
  uint32_t nin = m->narg - m->nout;
  char ops[160], reads[24], writes[24], flops[24], name[32], time[24] = "";
  explain_ops(m, ops, sizeof ops);
  explain_kernel_name(m, i, name, sizeof name);
  fprintf(out, "%-3u %-10s %-8s %-8s %-8s ", i + 1, name,
          si(reads, sizeof reads, explain_touched(e, m, 0, nin), "B"),
          si(writes, sizeof writes, explain_touched(e, m, nin, m->narg), "B"),
          si(flops, sizeof flops, m->flops, ""));
  if (took) fprintf(out, "%-8s ", time_text(time, sizeof time, took[i]));
  fprintf(out, "%s%s\n", ops, m->update ? "  (in place)" : "");
  if (m->phases > 1 && m->nfold)
    fprintf(out, "               %u passes over each row\n", m->phases);
  if (!first_of_device(e, i)) explain_cut(gr, &gr->group[m->group], out);
}

void explain_entry(graph *gr, const plan_entry *e, const double *took,
                   int flags, FILE *out) {
  uint64_t scratch = 0;
  uint32_t ops = 0;
  double sum = 0;
  char text[24];
  if (e->nlaunch)
    fprintf(out, "%-3s %-10s %-8s %-8s %-8s %s%s\n", "#", "kernel", "reads",
            "writes", "flop", took ? "time     " : "", "from");
  for (uint32_t i = 0; i < e->nlaunch; i++) {
    if (i == 0 || e->launch[i].device != e->launch[i - 1].device)
      fprintf(out, "on %s:\n", dev_name(gr->p->device[e->launch[i].device]));
    explain_launch(gr, e, i, took, out);
    if (flags & PLAN_SOURCE) source_launch(&e->launch[i], out);
    ops += e->launch[i].nops;
    sum += took ? took[i] : 0;
  }
  for (uint32_t d = 0; d < e->ndevice; d++) scratch += e->scratch[d];
  fprintf(out, "%u launch%s (%u ops recorded, %u computed), peak extra %s\n",
          e->nlaunch, e->nlaunch == 1 ? "" : "es", gr->t->n, ops,
          si(text, sizeof text, (double)scratch, "B"));
  if (took && e->nlaunch)
    fprintf(out,
            "%s in all, each launch alone and nothing in place: slower than "
            "together\n",
            time_text(text, sizeof text, sum));
}

/* ---- as a graph ---------------------------------------------------------- */
static void dot_edges(const plan_entry *e, uint32_t i, FILE *out) {
  const made_launch *m = &e->launch[i];
  char text[24];
  for (uint32_t j = 0; j < m->narg - m->nout; j++) {
    uint32_t v = m->arg[j].value;
    if (v == NO) continue;
    if (e->value[v].kind == VALUE_LEAF)
      fprintf(out, "  leaf%u -> k%u", e->value[v].leaf, i + 1);
    else
      fprintf(out, "  k%u -> k%u", e->value[v].writer + 1, i + 1);
    fprintf(out, " [label=\"%s\"];\n",
            si(text, sizeof text, (double)e->value[v].bytes, "B"));
  }
}

void explain_dot(graph *gr, const plan_entry *e, FILE *out) {
  char name[32], ops[160];
  fputs("digraph plan {\n  node [shape=box];\n", out);
  for (uint32_t v = 0; v < e->nvalue; v++)
    if (e->value[v].kind == VALUE_LEAF)
      fprintf(out, "  leaf%u [shape=ellipse, label=\"input %u\"];\n",
              e->value[v].leaf, e->value[v].leaf + 1);
  for (uint32_t i = 0; i < e->nlaunch; i++) {
    explain_kernel_name(&e->launch[i], i, name, sizeof name);
    explain_ops(&e->launch[i], ops, sizeof ops);
    fprintf(out, "  k%u [label=\"%s on %s\\n%s\"];\n", i + 1, name,
            dev_name(gr->p->device[e->launch[i].device]), ops);
  }
  for (uint32_t i = 0; i < e->nlaunch; i++) dot_edges(e, i, out);
  fputs("}\n", out);
}
