/* lower.h - what lower.c and phase.c share while a program is lowered. */
#ifndef CPU_LOWER_H
#define CPU_LOWER_H

#include "cpu.h"

typedef struct {
  uint16_t *idle; /* slots that may be taken again */
  uint32_t n;
} cpu_slot_list;

typedef struct {
  const tsh_kernel *k;
  const kit_value *v;
  const cpu_isa *isa;
  uint32_t n, nphase;
  int keep;         /* CPU_AGAIN ... */
  uint8_t *member;  /* [nphase][n]: computed in this phase */
  uint8_t *need;    /* [n]: not dead */
  uint8_t *spread;  /* [n]: row value used beside full ones */
  uint8_t *spilled; /* [n]: full value kept in memory for later phases */
  uint16_t *cost;   /* [n]: of computing a full value again */
  uint32_t *last;   /* [n]: time of the last use of a full value */
  uint16_t *reg;    /* [n]: register, as a row, uniform or full value */
  uint16_t *wide;   /* [n]: register of a row value as a full one */
  cpu_slot_list small, large;
  uint32_t unit; /* next fresh unit */
  uint32_t nstep, norder, nfold;
  cpu_code *code;
} cpu_lowering;

static inline const tsh_inst *cpu_inst(const cpu_lowering *l, uint32_t i) {
  return kit_inst(l->k, i);
}

static inline int cpu_is_inner(int op) {
  return op >= CPU_OP_ROUND_f16 && op < CPU_OP_END;
}

static inline int cpu_is_class(int op, int class_) {
  const kit_op *row = kit_op_get(op);
  return row ? row->class_ == class_ : cpu_is_inner(op) && class_ == KIT_MAP;
}

static inline int cpu_is_port(int op) {
  return op == TSH_OP_LOAD || op == TSH_OP_INDEX;
}

static inline int cpu_arity(int op) {
  const kit_op *row = kit_op_get(op);
  return op == TSH_OP_STORE || cpu_is_inner(op) ? 1 : row ? row->arity : 0;
}

static inline uint16_t cpu_operand(const tsh_inst *in, int i) {
  return i == 0 ? in->a : i == 1 ? in->b : in->c;
}

static inline int cpu_is_row_store(const cpu_lowering *l, const tsh_inst *in) {
  return l->k->nfold > 0 && (in->flags & TSH_ROW);
}

static inline int cpu_is_full(const cpu_lowering *l, uint32_t i) {
  return l->v[i].level == KIT_FULL;
}

/* Register of operand o of a full instruction. */
static inline uint16_t cpu_full_reg(const cpu_lowering *l, uint16_t o) {
  return l->v[o].level == KIT_ROW ? l->wide[o] : l->reg[o];
}

/* A slot of `units` that is nobody else's. */
static inline uint16_t cpu_fresh_slot(cpu_lowering *l, uint32_t units) {
  uint32_t at = l->unit;
  l->unit += units;
  return (uint16_t)(CPU_LINKS + at);
}

static inline uint16_t cpu_own_slot(cpu_lowering *l, int dtype) {
  return cpu_fresh_slot(l, kit_dtype_bytes(dtype) > 4 ? 2 : 1);
}

/* lower.c */
tsh_status cpu_lack(const cpu_lowering *l, uint32_t i, tsh_err *err);
/* Appends instruction i with its result in register d. full: operands of row
 * values are the spread ones. */
tsh_status cpu_add_step(cpu_lowering *l, uint32_t i, int full, uint16_t d,
                        tsh_err *err);

/* phase.c */
void cpu_find_members(cpu_lowering *l);
void cpu_note_uses(cpu_lowering *l, uint32_t p);
tsh_status cpu_add_phase(cpu_lowering *l, uint32_t p, tsh_err *err);

#endif
