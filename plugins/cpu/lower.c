/* lower.c - from an analysed program to steps on registers: which value is
 * computed when, and in which slot. Knows nothing of extents and strides.
 *
 * Slots are shared among full values by their last use; uniform and row values
 * keep theirs. A value that is stored is computed straight into the output
 * where no buffer is read after it, because an output may be an input too. */
#include <stdlib.h>
#include <string.h>

#include "lower.h"

/* Dead instructions are left out. */
static void find_needed(cpu_lowering *l) {
  for (uint32_t i = l->n; i-- > 0;) {
    const tsh_inst *in = cpu_inst(l, i);
    if (in->op == TSH_OP_STORE) l->need[i] = 1;
    for (int j = 0; l->need[i] && j < cpu_arity(in->op); j++)
      l->need[cpu_operand(in, j)] = 1;
  }
}

/* ---- pieces of code ----------------------------------------------------- */
tsh_status cpu_lack(const cpu_lowering *l, uint32_t i, tsh_err *err) {
  const tsh_inst *in = cpu_inst(l, i);
  return kit_fail(err, TSH_EUNSUPPORTED, "cpu has no %s of %s",
                  kit_op_name(in->op), kit_dtype_name(l->v[i].compute));
}

tsh_status cpu_add_step(cpu_lowering *l, uint32_t i, int full, uint16_t d,
                        tsh_err *err) {
  const tsh_inst *in = cpu_inst(l, i);
  cpu_step *s = &l->code->step[l->nstep++];
  uint16_t r[3] = {0, 0, 0};
  s->fn = l->isa->map(in->op, l->v[i].compute, l->v[i].dtype);
  if (!s->fn) return cpu_lack(l, i, err);
  for (int j = 0; j < cpu_arity(in->op); j++) {
    uint16_t o = cpu_operand(in, j);
    r[j] = full ? cpu_full_reg(l, o) : l->reg[o];
  }
  s->d = d, s->a = r[0], s->b = r[1], s->c = r[2];
  if (in->op == TSH_OP_index) l->code->can_fail = 1;
  return TSH_OK;
}

static void add_ports(cpu_lowering *l) {
  cpu_code *c = l->code;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = cpu_inst(l, i);
    if (!l->need[i] || !(cpu_is_port(in->op) || in->op == TSH_OP_STORE))
      continue;
    cpu_port *port = &c->port[c->nport];
    int dtype = in->op == TSH_OP_STORE ? l->v[in->a].dtype : l->v[i].dtype;
    port->op = (uint8_t)in->op;
    port->dtype = (uint8_t)dtype;
    port->size = (uint8_t)kit_dtype_bytes(dtype);
    port->row = in->op == TSH_OP_STORE ? (uint8_t)cpu_is_row_store(l, in)
                                       : l->v[i].level == KIT_ROW;
    port->arg = (uint16_t)in->imm;
    port->slot = cpu_own_slot(l, dtype);
    l->reg[i] = (uint16_t)c->nport++;
  }
}

static tsh_status add_uniforms(cpu_lowering *l, tsh_err *err) {
  cpu_code *c = l->code;
  c->uniform_step.at = l->nstep;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = cpu_inst(l, i);
    if (!l->need[i] || l->v[i].level != KIT_UNIFORM || in->op == TSH_OP_STORE)
      continue;
    l->reg[i] = cpu_own_slot(l, l->v[i].dtype);
    if (cpu_is_class(in->op, KIT_MAP)) {
      tsh_status rc = cpu_add_step(l, i, 0, l->reg[i], err);
      if (rc != TSH_OK) return rc;
      continue;
    }
    cpu_uniform *u = &c->uniform[c->nuniform++];
    u->d = l->reg[i];
    u->dtype = l->v[i].dtype;
    u->size = (uint8_t)kit_dtype_bytes(u->dtype);
    u->scalar = in->op == TSH_OP_SCALAR ? (int32_t)in->imm : -1;
    u->bits = in->imm;
  }
  c->uniform_step.end = l->nstep;
  return TSH_OK;
}

static void add_row_ports(cpu_lowering *l) {
  cpu_code *c = l->code;
  c->row_load.at = l->norder;
  for (uint32_t i = 0; i < l->n; i++)
    if (l->need[i] && cpu_is_port(cpu_inst(l, i)->op) && !cpu_is_full(l, i))
      c->order[l->norder++] = l->reg[i];
  c->row_load.end = l->norder;
}

static void add_row_stores(cpu_lowering *l) {
  cpu_code *c = l->code;
  c->row_store.at = l->norder;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = cpu_inst(l, i);
    if (in->op != TSH_OP_STORE || !cpu_is_row_store(l, in)) continue;
    c->port[l->reg[i]].src = l->reg[in->a];
    c->order[l->norder++] = l->reg[i];
  }
  c->row_store.end = l->norder;
}

/* Row values that are there before pass p but not before pass p - 1. */
static tsh_status add_stage(cpu_lowering *l, uint32_t p, tsh_err *err) {
  cpu_code *c = l->code;
  cpu_phase *ph = &c->phase[p];
  ph->row_step.at = l->nstep;
  for (uint32_t i = 0; i < l->n; i++) {
    if (!l->need[i] || l->v[i].level != KIT_ROW || l->v[i].phase != p ||
        !cpu_is_class(cpu_inst(l, i)->op, KIT_MAP))
      continue;
    l->reg[i] = cpu_own_slot(l, l->v[i].dtype);
    tsh_status rc = cpu_add_step(l, i, 0, l->reg[i], err);
    if (rc != TSH_OK) return rc;
  }
  ph->row_step.end = l->nstep;
  ph->spread.at = c->nspread;
  for (uint32_t i = 0; i < l->n; i++) {
    uint32_t ready = cpu_is_class(cpu_inst(l, i)->op, KIT_FOLD)
                         ? l->v[i].phase + 1u
                         : l->v[i].phase;
    if (!l->spread[i] || ready != p) continue;
    cpu_spread *s = &c->spread[c->nspread];
    l->wide[i] = s->d = (uint16_t)(c->nport + c->nspread++);
    s->src = l->reg[i];
    s->size = (uint16_t)kit_dtype_bytes(l->v[i].dtype);
    s->slot = cpu_own_slot(l, l->v[i].dtype);
  }
  ph->spread.end = c->nspread;
  return TSH_OK;
}

/* With several STOREs one may overwrite what another is about to copy. */
static void mark_copies(cpu_lowering *l) {
  uint32_t stores = 0;
  for (uint32_t i = 0; i < l->n; i++)
    stores += cpu_inst(l, i)->op == TSH_OP_STORE;
  for (uint32_t i = 0; i < l->n && stores > 1; i++) {
    const tsh_inst *in = cpu_inst(l, i);
    if (in->op == TSH_OP_STORE && cpu_inst(l, in->a)->op == TSH_OP_LOAD)
      l->code->port[l->reg[in->a]].copy = 1;
  }
}

/* ---- memory ------------------------------------------------------------- */
/* Cuts an array off a block; with a NULL block it only adds up the sizes. */
static void *cut(char *block, size_t *at, size_t n, size_t size) {
  void *p = block ? block + *at : NULL;
  *at += (n * size + 15) / 16 * 16;
  return p;
}

static void lay_out_work(cpu_lowering *l, char *block, size_t *at) {
  l->member = cut(block, at, (size_t)l->n * l->nphase, 1);
  l->need = cut(block, at, l->n, 1);
  l->spread = cut(block, at, l->n, 1);
  l->spilled = cut(block, at, l->n, 1);
  l->cost = cut(block, at, l->n, sizeof *l->cost);
  l->last = cut(block, at, l->n, sizeof *l->last);
  l->reg = cut(block, at, l->n, sizeof *l->reg);
  l->wide = cut(block, at, l->n, sizeof *l->wide);
  l->small.idle = cut(block, at, l->n, sizeof *l->small.idle);
  l->large.idle = cut(block, at, l->n, sizeof *l->large.idle);
}

static void lay_out_code(cpu_code *c, size_t n, size_t steps, char *block,
                         size_t *at) {
  c->phase = cut(block, at, c->nphase + 1u, sizeof *c->phase);
  c->step = cut(block, at, steps, sizeof *c->step);
  c->port = cut(block, at, n, sizeof *c->port);
  c->order = cut(block, at, steps, sizeof *c->order);
  c->fold = cut(block, at, n, sizeof *c->fold);
  c->spread = cut(block, at, n, sizeof *c->spread);
  c->spill = cut(block, at, n, sizeof *c->spill);
  c->uniform = cut(block, at, n, sizeof *c->uniform);
}

static int code_new(cpu_lowering *l) {
  size_t steps = l->n, at = 0;
  for (size_t i = 0; i < (size_t)l->n * l->nphase; i++) steps += l->member[i];
  lay_out_code(l->code, l->n, steps, NULL, &at);
  l->code->memory = calloc(1, at);
  at = 0;
  if (l->code->memory) lay_out_code(l->code, l->n, steps, l->code->memory, &at);
  return l->code->memory != NULL;
}

void cpu_code_fini(cpu_code *code) {
  free(code->memory);
  memset(code, 0, sizeof *code);
}

static tsh_status emit(cpu_lowering *l, tsh_err *err) {
  tsh_status rc;
  add_ports(l);
  mark_copies(l);
  rc = add_uniforms(l, err);
  add_row_ports(l);
  for (uint32_t p = 0; rc == TSH_OK && p < l->nphase && l->keep == CPU_KEEP;
       p++)
    cpu_note_uses(l, p);
  for (uint32_t p = 0; rc == TSH_OK && p < l->nphase; p++) {
    rc = add_stage(l, p, err);
    if (rc == TSH_OK) rc = cpu_add_phase(l, p, err);
  }
  if (rc == TSH_OK) rc = add_stage(l, l->nphase, err);
  if (rc != TSH_OK) return rc;
  add_row_stores(l);
  l->code->nunit = l->unit;
  l->code->ns = cpu_point_ns(l);
  if (CPU_LINKS + l->unit > UINT16_MAX)
    return kit_fail(err, TSH_EUNSUPPORTED, "the kernel needs %u slots, over %d",
                    l->unit, UINT16_MAX - CPU_LINKS);
  return TSH_OK;
}

tsh_status cpu_lower(const tsh_kernel *k, const kit_value *v, uint32_t nphase,
                     int keep, const cpu_isa *isa, cpu_code *out,
                     tsh_err *err) {
  cpu_lowering l = {
      .k = k, .v = v, .isa = isa, .n = k->ninst, .nphase = nphase};
  size_t at = 0;
  tsh_status rc;
  memset(out, 0, sizeof *out);
  l.keep = keep;
  l.code = out;
  out->nphase = nphase;
  out->col_lanes = CPU_LANES;
  lay_out_work(&l, NULL, &at);
  char *work = calloc(1, at + 1);
  if (!work) return kit_fail(err, TSH_ENOMEM, "no memory to compile a kernel");
  at = 0;
  lay_out_work(&l, work, &at);
  find_needed(&l);
  cpu_find_members(&l);
  if (code_new(&l))
    rc = emit(&l, err);
  else
    rc = kit_fail(err, TSH_ENOMEM, "no memory for a program");
  if (rc != TSH_OK) cpu_code_fini(out);
  free(work);
  return rc;
}
