/* part.c - a part of a value, for the price of that part: the ops that make a
 * pending value element by element are recorded again on parts of what they
 * read. All of them have one shape, so one range serves them all. */
#include "priv.h"

static int is_map(const plan_node *n) {
  return n->state == NODE_PENDING &&
         (plan_ops[n->op].class_ == OP_MAP || n->op == TSH_OP_full) &&
         n->nin <= 3;
}

/* Marks x and the MAP ops of x's shape that it is made of. */
static void mark_maps(const plan *p, const plan_node *x, uint8_t *mark) {
  mark[x->at] = 1;
  for (uint32_t i = x->at + 1; i-- > 0;) {
    plan_node *n = p->trace.node[i];
    if (!mark[i]) continue;
    if (!is_map(n)) continue;
    for (int k = 0; k < n->nin; k++)
      if (n->in[k].kind == PLAN_TENSOR && n->in[k].node->shape == x->shape &&
          n->in[k].node->state == NODE_PENDING)
        mark[n->in[k].node->at] = 1;
  }
}

/* The part of n, whose inputs in the trace have theirs in `made`. */
static tsh_status part_of(plan *p, plan_node *n, const plan_range *range,
                          const plan_shape *shape, plan_node **made,
                          plan_node **out, tsh_err *err) {
  plan_operand in[3];
  plan_node *own[3] = {NULL, NULL, NULL};
  tsh_status rc = TSH_OK;
  if (!is_map(n)) return plan_slice(p, n, range, out, err);
  for (int k = 0; k < n->nin; k++) {
    plan_node *y = n->in[k].node;
    in[k] = n->in[k];
    if (in[k].kind != PLAN_TENSOR) continue;
    if (y->shape == n->shape && y->state == NODE_PENDING && made[y->at]) {
      in[k].node = made[y->at];
      continue;
    }
    TRY(plan_slice(p, y, range, &own[k], err));
    in[k].node = own[k];
  }
  TRY(record_map(p, n->op, n->dtype, n->d, shape, in, n->nin, out, err));
out:
  for (int k = 0; k < 3; k++) node_temp(p, own[k]);
  return rc;
}

tsh_status plan_part(plan *p, plan_node *x, const plan_range *range,
                     plan_node **out, tsh_err *err) {
  uint32_t n = x->state == NODE_PENDING ? x->at + 1 : 0;
  plan_node **made = NULL, *first = NULL;
  uint8_t *mark = NULL;
  tsh_status rc = plan_slice(p, x, range, &first, err);
  *out = NULL;
  if (rc != TSH_OK || !n || !is_map(x)) {
    *out = first;
    return rc;
  }
  made = plan_alloc(sizeof *made * n);
  mark = plan_alloc(n);
  if (!made || !mark) {
    rc = plan_nomem(err, "a part");
    goto out;
  }
  mark_maps(p, x, mark);
  for (uint32_t i = 0; i < n; i++)
    if (mark[i])
      TRY(part_of(p, p->trace.node[i], range, first->shape, made, &made[i],
                  err));
  *out = made[n - 1];
  made[n - 1] = NULL;
out:
  for (uint32_t i = 0; made && i < n; i++) node_temp(p, made[i]);
  plan_release(made);
  plan_release(mark);
  node_temp(p, first);
  return rc;
}
