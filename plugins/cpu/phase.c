/* phase.c - one pass over the folded axes: which full values it computes, in
 * which slots. See lower.c. */
#include <string.h>

#include "lower.h"

enum { NOWHERE = UINT16_MAX };

/* ---- slots -------------------------------------------------------------- */
static uint16_t slot_take(cpu_lowering *l, uint32_t bytes) {
  cpu_slot_list *list = bytes > 4 ? &l->large : &l->small;
  if (list->n > 0) return list->idle[--list->n];
  return cpu_fresh_slot(l, bytes > 4 ? 2 : 1);
}

static void slot_give(cpu_lowering *l, uint16_t slot, uint32_t bytes) {
  cpu_slot_list *list = bytes > 4 ? &l->large : &l->small;
  list->idle[list->n++] = slot;
}

/* ---- what is computed when ---------------------------------------------- */
/* Rough cost of an op, in those of an addition. */
uint16_t cpu_op_cost(int op, int compute) {
  switch (op) {
  case TSH_OP_div:
  case TSH_OP_sqrt:
  case TSH_OP_rsqrt:
  case TSH_OP_reciprocal:
  case TSH_OP_floordiv:
  case TSH_OP_addcdiv:
    return compute == TSH_f32 || compute == TSH_f64 ? 2 : 9;
  case TSH_OP_exp:
  case TSH_OP_expm1:
  case TSH_OP_log:
  case TSH_OP_log1p:
  case TSH_OP_sin:
  case TSH_OP_cos:
  case TSH_OP_tanh:
  case TSH_OP_sigmoid:
  case TSH_OP_erf:
  case TSH_OP_mod:
  case TSH_OP_fmod:
  case TSH_OP_pow:
  case TSH_OP_random:
    return 9;
  default:
    return 1;
  }
}

static void find_costs(cpu_lowering *l) {
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = cpu_inst(l, i);
    uint32_t cost = 0;
    if (!cpu_is_full(l, i) || !cpu_is_class(in->op, KIT_MAP)) continue;
    cost = cpu_op_cost(in->op, l->v[i].compute);
    for (int j = 0; j < cpu_arity(in->op); j++)
      cost += l->cost[cpu_operand(in, j)];
    l->cost[i] = (uint16_t)(cost < 1000 ? cost : 1000);
  }
}

enum { WORTH_MEMORY = 5 }; /* a value that costs more is not computed again */

/* Does full value o, used in phase p, come from memory? */
static int comes_from_memory(const cpu_lowering *l, uint16_t o, uint32_t p) {
  return l->keep == CPU_SPILL && l->v[o].phase < p && l->cost[o] > WORTH_MEMORY;
}

/* FOLDs and full STOREs belong to one phase; a full value to each phase that
 * uses it, or when values are kept to the first. */
static void find_members_of(cpu_lowering *l, uint32_t p) {
  uint8_t *m = l->member + (size_t)p * l->n;
  for (uint32_t i = l->n; i-- > 0;) {
    const tsh_inst *in = cpu_inst(l, i);
    int here = l->need[i] && l->v[i].phase == p;
    if (cpu_is_class(in->op, KIT_FOLD) ||
        (in->op == TSH_OP_STORE && !cpu_is_row_store(l, in)))
      m[i] = (uint8_t)here;
    else if (cpu_is_full(l, i) && here &&
             (l->keep == CPU_KEEP || l->spilled[i]))
      m[i] = 1;
    for (int j = 0; m[i] && j < cpu_arity(in->op); j++) {
      uint16_t o = cpu_operand(in, j);
      if (l->v[o].level == KIT_ROW) l->spread[o] = 1;
      if (!cpu_is_full(l, o) || l->keep == CPU_KEEP) continue;
      if (comes_from_memory(l, o, p))
        l->spilled[o] = 1;
      else
        m[o] = 1;
    }
  }
}

/* From the last phase on, so that what it wants kept is known before. */
void cpu_find_members(cpu_lowering *l) {
  if (l->keep == CPU_SPILL) find_costs(l);
  for (uint32_t p = l->nphase; p-- > 0;) find_members_of(l, p);
}

static uint32_t time_of(const cpu_lowering *l, uint32_t p, uint32_t i) {
  return p * (l->n + 1) + i;
}

/* Operands of FOLDs and STOREs are read when all steps of the phase are done.
 */
void cpu_note_uses(cpu_lowering *l, uint32_t p) {
  const uint8_t *m = l->member + (size_t)p * l->n;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = cpu_inst(l, i);
    uint32_t t = time_of(l, p, cpu_is_class(in->op, KIT_MAP) ? i : l->n);
    for (int j = 0; m[i] && j < cpu_arity(in->op); j++) {
      uint16_t o = cpu_operand(in, j);
      if (cpu_is_full(l, o) && l->last[o] < t) l->last[o] = t;
    }
  }
}

/* ---- a phase ------------------------------------------------------------ */
static int reads_buffer(const cpu_lowering *l, const tsh_inst *in) {
  for (int j = 0; j < cpu_arity(in->op); j++)
    if (cpu_inst(l, cpu_operand(in, j))->op == TSH_OP_LOAD) return 1;
  return 0;
}

/* May the value of STORE s be computed into the output? Only when nothing of
 * the phase reads a buffer later: FOLDs and STOREs come after all steps. */
static int may_be_direct(const cpu_lowering *l, uint32_t p, uint32_t s) {
  const uint8_t *m = l->member + (size_t)p * l->n;
  uint16_t v = cpu_inst(l, s)->a;
  if (!m[v] || !cpu_is_class(cpu_inst(l, v)->op, KIT_MAP) || l->spilled[v])
    return 0;
  if (l->code->port[l->reg[s]].size != kit_dtype_bytes(l->v[v].dtype)) return 0;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = cpu_inst(l, i);
    if (!m[i] || (cpu_is_class(in->op, KIT_MAP) && i <= v)) continue;
    if (in->op == TSH_OP_STORE && in->a == v && i < s) return 0;
    if (reads_buffer(l, in)) return 0;
  }
  return 1;
}

static void choose_direct(cpu_lowering *l, uint32_t p) {
  const uint8_t *m = l->member + (size_t)p * l->n;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = cpu_inst(l, i);
    if (!m[i] || in->op != TSH_OP_STORE || !may_be_direct(l, p, i)) continue;
    l->code->port[l->reg[i]].direct = 1;
    l->reg[in->a] = l->reg[i];
  }
}

static void release(cpu_lowering *l, uint16_t o, uint32_t t) {
  if (!cpu_is_full(l, o) || !cpu_is_class(cpu_inst(l, o)->op, KIT_MAP)) return;
  if (l->last[o] != t || l->reg[o] < CPU_LINKS) return;
  slot_give(l, l->reg[o], kit_dtype_bytes(l->v[o].dtype));
  l->last[o] = UINT32_MAX; /* not twice */
}

/* A result may take the slot of an operand of equal size that dies here: each
 * lane is read before it is written. Of another size it may not. */
static tsh_status add_full_step(cpu_lowering *l, uint32_t p, uint32_t i,
                                tsh_err *err) {
  const tsh_inst *in = cpu_inst(l, i);
  uint32_t t = time_of(l, p, i), size = kit_dtype_bytes(l->v[i].dtype);
  uint16_t old[3];
  int n = cpu_arity(in->op);
  for (int j = 0; j < n; j++) {
    old[j] = cpu_operand(in, j);
    if (kit_dtype_bytes(l->v[old[j]].dtype) == size) release(l, old[j], t);
  }
  uint16_t d = l->reg[i];
  if (d == NOWHERE) d = slot_take(l, size);
  for (int j = 0; j < n; j++) release(l, old[j], t);
  tsh_status rc = cpu_add_step(l, i, 1, d, err);
  l->reg[i] = d;
  return rc;
}

/* The link of a value that is kept in memory. */
static uint16_t spill_of(cpu_lowering *l, uint32_t i) {
  cpu_code *c = l->code;
  cpu_spill *s = &c->spill[c->nspill++];
  s->d = (uint16_t)(CPU_LINKS - c->nspill);
  s->size = (uint16_t)kit_dtype_bytes(l->v[i].dtype);
  return s->d;
}

static tsh_status add_folding(cpu_lowering *l, uint32_t i, tsh_err *err) {
  const tsh_inst *in = cpu_inst(l, i);
  cpu_folding *f = &l->code->fold[l->nfold++];
  f->fold = l->isa->fold(in->op, l->v[i].compute, l->v[i].dtype);
  if (!f->fold) return cpu_lack(l, i, err);
  f->a = cpu_full_reg(l, in->a);
  f->b = cpu_arity(in->op) > 1 ? cpu_full_reg(l, in->b) : f->a;
  f->size_a = (uint8_t)kit_dtype_bytes(l->v[in->a].dtype);
  f->size_b = (uint8_t)kit_dtype_bytes(l->v[in->b].dtype);
  f->d = l->reg[i] = cpu_own_slot(l, l->v[i].dtype);
  f->state = cpu_fresh_slot(l, CPU_STATE);
  if (l->code->col_lanes > f->fold->lanes) l->code->col_lanes = f->fold->lanes;
  return TSH_OK;
}

static void add_store(cpu_lowering *l, uint32_t i) {
  cpu_port *port = &l->code->port[l->reg[i]];
  const tsh_inst *in = cpu_inst(l, i);
  port->src = cpu_full_reg(l, in->a);
  l->code->order[l->norder++] = l->reg[i];
}

tsh_status cpu_add_phase(cpu_lowering *l, uint32_t p, tsh_err *err) {
  cpu_phase *ph = &l->code->phase[p];
  const uint8_t *m = l->member + (size_t)p * l->n;
  tsh_status rc = TSH_OK;
  if (l->keep != CPU_KEEP) memset(l->last, 0, l->n * sizeof *l->last);
  if (l->keep != CPU_KEEP) cpu_note_uses(l, p);
  for (uint32_t i = 0; i < l->n; i++)
    if (m[i] && cpu_is_class(cpu_inst(l, i)->op, KIT_MAP))
      l->reg[i] = l->spilled[i] ? spill_of(l, i) : NOWHERE;
  choose_direct(l, p);

  ph->load.at = l->norder;
  for (uint32_t i = 0; i < l->n; i++)
    if (m[i] && cpu_is_port(cpu_inst(l, i)->op))
      l->code->order[l->norder++] = l->reg[i];
  ph->load.end = l->norder;

  ph->step.at = l->nstep;
  for (uint32_t i = 0; i < l->n && rc == TSH_OK; i++)
    if (m[i] && cpu_is_class(cpu_inst(l, i)->op, KIT_MAP))
      rc = add_full_step(l, p, i, err);
  ph->step.end = l->nstep;

  ph->fold.at = l->nfold;
  for (uint32_t i = 0; i < l->n && rc == TSH_OK; i++)
    if (m[i] && cpu_is_class(cpu_inst(l, i)->op, KIT_FOLD))
      rc = add_folding(l, i, err);
  ph->fold.end = l->nfold;

  ph->store.at = l->norder;
  for (uint32_t i = 0; i < l->n; i++)
    if (m[i] && cpu_inst(l, i)->op == TSH_OP_STORE) add_store(l, i);
  ph->store.end = l->norder;
  for (uint32_t i = 0; i < l->n; i++)
    release(l, (uint16_t)i, time_of(l, p, l->n));
  return rc;
}
