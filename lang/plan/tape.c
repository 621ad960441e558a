/* tape.c - the trace is the tape: while one is open, records are retained with
 * their inputs; values only where a rule names them. */
#include "priv.h"

tsh_status tape_add(plan *p, plan_node *n, tsh_err *err) {
  plan_operand *in = node_in(n);
  uint32_t saves = p->saves[n->op];
  if (!PLAN_GROW(p->tape, p->tape_cap, p->ntape + 1))
    return plan_nomem(err, "the tape");
  p->tape[p->ntape++] = node_ref(n);
  n->flags |= NODE_TAPED;
  if (saves & 1) n->flags |= NODE_SAVED;
  for (int i = 0; i < n->nin; i++)
    if (saves >> (i < 30 ? i + 1 : 31) & 1 && in[i].kind == PLAN_TENSOR)
      in[i].node->flags |= NODE_SAVED;
  return TSH_OK;
}

tsh_status plan_tape_open(plan *p, uint32_t *tape, tsh_err *err) {
  (void)err;
  p->tapes_open++;
  *tape = p->ntape;
  return TSH_OK;
}

/* Inputs that only a gradient asks for. */
static void release_custom(plan *p, plan_node *n) {
  plan_operand *in = node_in(n);
  int nin = n->nin;
  if (n->op != TSH_OP_custom || nin < 2) return;
  n->nin = 1;
  for (int i = 1; i < nin; i++) node_unref(p, in[i].node);
}

static void untape(plan *p, plan_node *n) {
  plan_operand *in = node_in(n);
  n->flags &= (uint8_t) ~(NODE_TAPED | NODE_SAVED);
  for (int i = 0; i < n->nin; i++)
    if (in[i].kind == PLAN_TENSOR) in[i].node->flags &= (uint8_t)~NODE_SAVED;
  release_custom(p, n);
  if (n->state == NODE_READY || n->state == NODE_FAILED)
    node_release_inputs(p, n);
  node_unref(p, n);
}

void plan_tape_close(plan *p, uint32_t tape) {
  (void)tape; /* an outer tape still sees the records of an inner one */
  if (!p->tapes_open || --p->tapes_open) return;
  while (p->ntape) untape(p, p->tape[--p->ntape]);
}

uint32_t plan_tape_end(const plan *p) { return p->ntape; }
plan_node *plan_tape_node(const plan *p, uint32_t i) { return p->tape[i]; }

void plan_set_saves(plan *p, int op, uint32_t bits) {
  if (op > 0 && op < TSH_NOPS) p->saves[op] = bits;
}

void plan_record_of(const plan_node *n, plan_record *out) {
  const plan_attr *a = n->attr;
  memset(out, 0, sizeof *out);
  out->op = n->op;
  out->n = n->nin;
  out->in = a && a->many ? a->many : n->in;
  out->axes = n->axes;
  out->keep = n->keep;
  if (!a) return;
  out->order = a->order;
  out->range = a->range;
  out->before = a->pad.before;
  out->after = a->pad.after;
  out->window = &a->window;
}
