/* lower.c - from an analysed program to steps on registers: which value is
 * computed when, and in which slot. Knows nothing of extents and strides.
 *
 * Slots are shared among full values by their last use; uniform and row values
 * keep theirs. A value that is stored is computed straight into the output
 * where no buffer is read after it, because an output may be an input too. */
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

enum { NOWHERE = UINT16_MAX };

typedef struct {
  uint16_t *idle; /* units that may be taken again */
  uint32_t n;
} slot_list;

typedef struct {
  const tsh_kernel *k;
  const kit_value *v;
  const cpu_isa *isa;
  uint32_t n, nphase;
  int keep;
  uint8_t *member;  /* [nphase][n]: computed in this phase */
  uint8_t *need;    /* [n]: not dead */
  uint8_t *spread;  /* [n]: row value used beside full ones */
  uint32_t *last;   /* [n]: time of the last use of a full value */
  uint16_t *reg;    /* [n]: register, as a row, uniform or full value */
  uint16_t *wide;   /* [n]: register of a row value as a full one */
  slot_list small, large;
  uint32_t unit; /* next fresh unit */
  uint32_t nstep, norder, nfold;
  cpu_code *code;
} lower;

static const tsh_inst *inst_at(const lower *l, uint32_t i) {
  return kit_inst(l->k, i);
}

static int is_port(int op) { return op == TSH_OP_LOAD || op == TSH_OP_INDEX; }

static int is_fold(int op) {
  const kit_op *row = kit_op_get(op);
  return row && row->class_ == KIT_FOLD;
}

static int is_map(int op) {
  const kit_op *row = kit_op_get(op);
  return row && row->class_ == KIT_MAP;
}

static int arity(int op) {
  const kit_op *row = kit_op_get(op);
  return op == TSH_OP_STORE ? 1 : row ? row->arity : 0;
}

static uint16_t operand(const tsh_inst *in, int i) {
  return i == 0 ? in->a : i == 1 ? in->b : in->c;
}

static int is_row_store(const lower *l, const tsh_inst *in) {
  return l->k->nfold > 0 && (in->flags & TSH_ROW);
}

static int is_full(const lower *l, uint32_t i) {
  return l->v[i].level == KIT_FULL;
}

/* ---- slots -------------------------------------------------------------- */
static uint16_t fresh_slot(lower *l, uint32_t units) {
  uint32_t at = l->unit;
  l->unit += units;
  return (uint16_t)(CPU_LINKS + at);
}

static uint16_t slot_take(lower *l, uint32_t bytes) {
  slot_list *list = bytes > 4 ? &l->large : &l->small;
  if (list->n > 0) return list->idle[--list->n];
  return fresh_slot(l, bytes > 4 ? 2 : 1);
}

static void slot_give(lower *l, uint16_t slot, uint32_t bytes) {
  slot_list *list = bytes > 4 ? &l->large : &l->small;
  list->idle[list->n++] = slot;
}

static uint16_t own_slot(lower *l, int dtype) {
  return fresh_slot(l, kit_dtype_bytes(dtype) > 4 ? 2 : 1);
}

/* ---- what is computed when ---------------------------------------------- */
static void find_needed(lower *l) {
  for (uint32_t i = l->n; i-- > 0;) {
    const tsh_inst *in = inst_at(l, i);
    if (in->op == TSH_OP_STORE) l->need[i] = 1;
    for (int j = 0; l->need[i] && j < arity(in->op); j++)
      l->need[operand(in, j)] = 1;
  }
}

/* FOLDs and full STOREs belong to one phase; a full value to each phase that
 * uses it, or when values are kept to the first. */
static void find_members(lower *l, uint32_t p) {
  uint8_t *m = l->member + (size_t)p * l->n;
  for (uint32_t i = l->n; i-- > 0;) {
    const tsh_inst *in = inst_at(l, i);
    int root = is_fold(in->op) ||
               (in->op == TSH_OP_STORE && !is_row_store(l, in));
    if (root && l->need[i] && l->v[i].phase == p) m[i] = 1;
    if (l->keep && !root && is_full(l, i) && l->need[i] && l->v[i].phase == p)
      m[i] = 1;
    for (int j = 0; m[i] && j < arity(in->op); j++) {
      uint16_t o = operand(in, j);
      if (is_full(l, o) && !l->keep) m[o] = 1;
      if (l->v[o].level == KIT_ROW) l->spread[o] = 1;
    }
  }
}

static uint32_t time_of(const lower *l, uint32_t p, uint32_t i) {
  return p * (l->n + 1) + i;
}

/* Operands of FOLDs and STOREs are read when all steps of the phase are done. */
static void note_uses(lower *l, uint32_t p) {
  const uint8_t *m = l->member + (size_t)p * l->n;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = inst_at(l, i);
    uint32_t t = time_of(l, p, is_map(in->op) ? i : l->n);
    for (int j = 0; m[i] && j < arity(in->op); j++) {
      uint16_t o = operand(in, j);
      if (is_full(l, o) && l->last[o] < t) l->last[o] = t;
    }
  }
}

/* ---- pieces of code ----------------------------------------------------- */
static tsh_status lack(const lower *l, uint32_t i, tsh_err *err) {
  const tsh_inst *in = inst_at(l, i);
  return kit_fail(err, TSH_EUNSUPPORTED, "cpu has no %s of %s",
                  kit_op_name(in->op), kit_dtype_name(l->v[i].compute));
}

/* Register of operand o of a full instruction. */
static uint16_t full_reg(const lower *l, uint16_t o) {
  return l->v[o].level == KIT_ROW ? l->wide[o] : l->reg[o];
}

static tsh_status add_step(lower *l, uint32_t i, int full, uint16_t d,
                           tsh_err *err) {
  const tsh_inst *in = inst_at(l, i);
  cpu_step *s = &l->code->step[l->nstep++];
  uint16_t r[3] = {0, 0, 0};
  s->fn = l->isa->map(in->op, l->v[i].compute, l->v[i].dtype);
  if (!s->fn) return lack(l, i, err);
  for (int j = 0; j < arity(in->op); j++) {
    uint16_t o = operand(in, j);
    r[j] = full ? full_reg(l, o) : l->reg[o];
  }
  s->d = d, s->a = r[0], s->b = r[1], s->c = r[2];
  if (in->op == TSH_OP_index) l->code->can_fail = 1;
  return TSH_OK;
}

static void add_ports(lower *l) {
  cpu_code *c = l->code;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = inst_at(l, i);
    if (!l->need[i] || !(is_port(in->op) || in->op == TSH_OP_STORE)) continue;
    cpu_port *port = &c->port[c->nport];
    int dtype = in->op == TSH_OP_STORE ? l->v[in->a].dtype : l->v[i].dtype;
    port->op = (uint8_t)in->op;
    port->dtype = (uint8_t)dtype;
    port->size = (uint8_t)kit_dtype_bytes(dtype);
    port->row = in->op == TSH_OP_STORE ? (uint8_t)is_row_store(l, in)
                                       : l->v[i].level == KIT_ROW;
    port->arg = (uint16_t)in->imm;
    port->slot = own_slot(l, dtype);
    l->reg[i] = (uint16_t)c->nport++;
  }
}

static tsh_status add_uniforms(lower *l, tsh_err *err) {
  cpu_code *c = l->code;
  c->uniform_step.at = l->nstep;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = inst_at(l, i);
    if (!l->need[i] || l->v[i].level != KIT_UNIFORM || in->op == TSH_OP_STORE)
      continue;
    l->reg[i] = own_slot(l, l->v[i].dtype);
    if (is_map(in->op)) {
      tsh_status rc = add_step(l, i, 0, l->reg[i], err);
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

static void add_row_ports(lower *l) {
  cpu_code *c = l->code;
  c->row_load.at = l->norder;
  for (uint32_t i = 0; i < l->n; i++)
    if (l->need[i] && is_port(inst_at(l, i)->op) && !is_full(l, i))
      c->order[l->norder++] = l->reg[i];
  c->row_load.end = l->norder;
}

static void add_row_stores(lower *l) {
  cpu_code *c = l->code;
  c->row_store.at = l->norder;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = inst_at(l, i);
    if (in->op != TSH_OP_STORE || !is_row_store(l, in)) continue;
    c->port[l->reg[i]].src = l->reg[in->a];
    c->order[l->norder++] = l->reg[i];
  }
  c->row_store.end = l->norder;
}

/* Row values that are there before pass p but not before pass p - 1. */
static tsh_status add_stage(lower *l, uint32_t p, tsh_err *err) {
  cpu_code *c = l->code;
  cpu_phase *ph = &c->phase[p];
  ph->row_step.at = l->nstep;
  for (uint32_t i = 0; i < l->n; i++) {
    if (!l->need[i] || l->v[i].level != KIT_ROW || l->v[i].phase != p ||
        !is_map(inst_at(l, i)->op))
      continue;
    l->reg[i] = own_slot(l, l->v[i].dtype);
    tsh_status rc = add_step(l, i, 0, l->reg[i], err);
    if (rc != TSH_OK) return rc;
  }
  ph->row_step.end = l->nstep;
  ph->spread.at = c->nspread;
  for (uint32_t i = 0; i < l->n; i++) {
    uint32_t ready = is_fold(inst_at(l, i)->op) ? l->v[i].phase + 1u
                                                : l->v[i].phase;
    if (!l->spread[i] || ready != p) continue;
    cpu_spread *s = &c->spread[c->nspread];
    l->wide[i] = s->d = (uint16_t)(c->nport + c->nspread++);
    s->src = l->reg[i];
    s->size = (uint16_t)kit_dtype_bytes(l->v[i].dtype);
    s->slot = own_slot(l, l->v[i].dtype);
  }
  ph->spread.end = c->nspread;
  return TSH_OK;
}

/* ---- a phase ------------------------------------------------------------ */
static int reads_buffer(const lower *l, const tsh_inst *in) {
  for (int j = 0; j < arity(in->op); j++)
    if (inst_at(l, operand(in, j))->op == TSH_OP_LOAD) return 1;
  return 0;
}

/* May the value of STORE s be computed into the output? Only when nothing of
 * the phase reads a buffer later: FOLDs and STOREs come after all steps. */
static int may_be_direct(const lower *l, uint32_t p, uint32_t s) {
  const uint8_t *m = l->member + (size_t)p * l->n;
  uint16_t v = inst_at(l, s)->a;
  if (!m[v] || !is_map(inst_at(l, v)->op)) return 0;
  if (l->code->port[l->reg[s]].size != kit_dtype_bytes(l->v[v].dtype)) return 0;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = inst_at(l, i);
    if (!m[i] || (is_map(in->op) && i <= v)) continue;
    if (in->op == TSH_OP_STORE && in->a == v && i < s) return 0;
    if (reads_buffer(l, in)) return 0;
  }
  return 1;
}

static void choose_direct(lower *l, uint32_t p) {
  const uint8_t *m = l->member + (size_t)p * l->n;
  for (uint32_t i = 0; i < l->n; i++) {
    const tsh_inst *in = inst_at(l, i);
    if (!m[i] || in->op != TSH_OP_STORE || !may_be_direct(l, p, i)) continue;
    l->code->port[l->reg[i]].direct = 1;
    l->reg[in->a] = l->reg[i];
  }
}

static void release(lower *l, uint16_t o, uint32_t t) {
  if (!is_full(l, o) || !is_map(inst_at(l, o)->op)) return;
  if (l->last[o] != t || l->reg[o] < CPU_LINKS) return;
  slot_give(l, l->reg[o], kit_dtype_bytes(l->v[o].dtype));
  l->last[o] = UINT32_MAX; /* not twice */
}

/* A result may take the slot of an operand of equal size that dies here: each
 * lane is read before it is written. Of another size it may not. */
static tsh_status add_full_step(lower *l, uint32_t p, uint32_t i,
                                tsh_err *err) {
  const tsh_inst *in = inst_at(l, i);
  uint32_t t = time_of(l, p, i), size = kit_dtype_bytes(l->v[i].dtype);
  uint16_t old[3];
  int n = arity(in->op);
  for (int j = 0; j < n; j++) {
    old[j] = operand(in, j);
    if (kit_dtype_bytes(l->v[old[j]].dtype) == size) release(l, old[j], t);
  }
  uint16_t d = l->reg[i];
  if (d == NOWHERE) d = slot_take(l, size);
  for (int j = 0; j < n; j++) release(l, old[j], t);
  tsh_status rc = add_step(l, i, 1, d, err);
  l->reg[i] = d;
  return rc;
}

static tsh_status add_folding(lower *l, uint32_t i, tsh_err *err) {
  const tsh_inst *in = inst_at(l, i);
  cpu_folding *f = &l->code->fold[l->nfold++];
  f->fold = l->isa->fold(in->op, l->v[i].compute, l->v[i].dtype);
  if (!f->fold) return lack(l, i, err);
  f->a = full_reg(l, in->a);
  f->b = arity(in->op) > 1 ? full_reg(l, in->b) : f->a;
  f->size_a = (uint8_t)kit_dtype_bytes(l->v[in->a].dtype);
  f->size_b = (uint8_t)kit_dtype_bytes(l->v[in->b].dtype);
  f->d = l->reg[i] = own_slot(l, l->v[i].dtype);
  f->state = fresh_slot(l, CPU_STATE);
  if (l->code->col_lanes > f->fold->lanes) l->code->col_lanes = f->fold->lanes;
  return TSH_OK;
}

static void add_store(lower *l, uint32_t i) {
  cpu_port *port = &l->code->port[l->reg[i]];
  const tsh_inst *in = inst_at(l, i);
  port->src = full_reg(l, in->a);
  l->code->order[l->norder++] = l->reg[i];
}

static tsh_status add_phase(lower *l, uint32_t p, tsh_err *err) {
  cpu_phase *ph = &l->code->phase[p];
  const uint8_t *m = l->member + (size_t)p * l->n;
  tsh_status rc = TSH_OK;
  if (!l->keep) memset(l->last, 0, l->n * sizeof *l->last);
  if (!l->keep) note_uses(l, p);
  for (uint32_t i = 0; i < l->n; i++)
    if (m[i] && is_map(inst_at(l, i)->op)) l->reg[i] = NOWHERE;
  choose_direct(l, p);

  ph->load.at = l->norder;
  for (uint32_t i = 0; i < l->n; i++)
    if (m[i] && is_port(inst_at(l, i)->op))
      l->code->order[l->norder++] = l->reg[i];
  ph->load.end = l->norder;

  ph->step.at = l->nstep;
  for (uint32_t i = 0; i < l->n && rc == TSH_OK; i++)
    if (m[i] && is_map(inst_at(l, i)->op)) rc = add_full_step(l, p, i, err);
  ph->step.end = l->nstep;

  ph->fold.at = l->nfold;
  for (uint32_t i = 0; i < l->n && rc == TSH_OK; i++)
    if (m[i] && is_fold(inst_at(l, i)->op)) rc = add_folding(l, i, err);
  ph->fold.end = l->nfold;

  ph->store.at = l->norder;
  for (uint32_t i = 0; i < l->n; i++)
    if (m[i] && inst_at(l, i)->op == TSH_OP_STORE) add_store(l, i);
  ph->store.end = l->norder;
  for (uint32_t i = 0; i < l->n; i++)
    release(l, (uint16_t)i, time_of(l, p, l->n));
  return rc;
}

/* With several STOREs one may overwrite what another is about to copy. */
static void mark_copies(lower *l) {
  uint32_t stores = 0;
  for (uint32_t i = 0; i < l->n; i++)
    stores += inst_at(l, i)->op == TSH_OP_STORE;
  for (uint32_t i = 0; i < l->n && stores > 1; i++) {
    const tsh_inst *in = inst_at(l, i);
    if (in->op == TSH_OP_STORE && inst_at(l, in->a)->op == TSH_OP_LOAD)
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

static void lay_out_work(lower *l, char *block, size_t *at) {
  l->member = cut(block, at, (size_t)l->n * l->nphase, 1);
  l->need = cut(block, at, l->n, 1);
  l->spread = cut(block, at, l->n, 1);
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
  c->uniform = cut(block, at, n, sizeof *c->uniform);
}

static int code_new(lower *l) {
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

static tsh_status emit(lower *l, tsh_err *err) {
  tsh_status rc;
  add_ports(l);
  mark_copies(l);
  rc = add_uniforms(l, err);
  add_row_ports(l);
  for (uint32_t p = 0; rc == TSH_OK && p < l->nphase && l->keep; p++)
    note_uses(l, p);
  for (uint32_t p = 0; rc == TSH_OK && p < l->nphase; p++) {
    rc = add_stage(l, p, err);
    if (rc == TSH_OK) rc = add_phase(l, p, err);
  }
  if (rc == TSH_OK) rc = add_stage(l, l->nphase, err);
  if (rc != TSH_OK) return rc;
  add_row_stores(l);
  l->code->nunit = l->unit;
  if (CPU_LINKS + l->unit > UINT16_MAX)
    return kit_fail(err, TSH_EUNSUPPORTED, "the kernel needs %u slots, over %d",
                    l->unit, UINT16_MAX - CPU_LINKS);
  return TSH_OK;
}

tsh_status cpu_lower(const tsh_kernel *k, const kit_value *v, uint32_t nphase,
                     int keep, const cpu_isa *isa, cpu_code *out,
                     tsh_err *err) {
  lower l = {.k = k, .v = v, .isa = isa, .n = k->ninst, .nphase = nphase};
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
  for (uint32_t p = 0; p < nphase; p++) find_members(&l, p);
  if (code_new(&l))
    rc = emit(&l, err);
  else
    rc = kit_fail(err, TSH_ENOMEM, "no memory for a program");
  if (rc != TSH_OK) cpu_code_fini(out);
  free(work);
  return rc;
}
