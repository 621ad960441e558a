/* narrow.c - dtypes that are computed in wider ones. Values of f16 and bf16 are
 * f32 in slots: a LOAD is followed by a cast, a MAP op by a rounding where its
 * f32 result may be none of theirs, a STORE comes after a cast. Short integers
 * have ops of their own, but are folded as i32 or i64: what wraps does so at
 * the end as well. */
#include <stdlib.h>
#include <string.h>

#include "lower.h"

enum { NOTHING = UINT16_MAX, MOST = 5 }; /* instructions that one becomes */

typedef struct {
  const tsh_kernel *k;
  const kit_value *v;
  tsh_inst *inst;
  kit_value *value;
  uint16_t *to;  /* [k->ninst] new number; of a half: as f32 */
  uint16_t *raw; /* [new] what a rounding or a widening was made of */
  uint32_t n;
} narrowing;

static int is_half(int dtype) { return dtype == TSH_f16 || dtype == TSH_bf16; }

/* The dtype that a FOLD of this one is computed in. */
static int fold_dtype(int dtype) {
  switch (dtype) {
  case TSH_i8:
  case TSH_i16:
  case TSH_u8:
  case TSH_u16:
    return TSH_i32;
  case TSH_u32:
    return TSH_i64;
  default:
    return is_half(dtype) ? TSH_f32 : dtype;
  }
}

/* Ops whose result is one of the half type when their operands are. */
static int is_exact(int op) {
  switch (op) {
  case TSH_OP_neg:
  case TSH_OP_abs:
  case TSH_OP_sign:
  case TSH_OP_floor:
  case TSH_OP_ceil:
  case TSH_OP_trunc:
  case TSH_OP_round:
  case TSH_OP_frac:
  case TSH_OP_relu:
  case TSH_OP_copy:
  case TSH_OP_fmod:
  case TSH_OP_maximum:
  case TSH_OP_minimum:
  case TSH_OP_copysign:
  case TSH_OP_where:
    return 1;
  default:
    return 0;
  }
}

/* ---- new instructions --------------------------------------------------- */
static uint16_t add(narrowing *w, const tsh_inst *in, int compute, int level,
                    uint32_t phase) {
  uint32_t i = w->n++;
  w->inst[i] = *in;
  w->raw[i] = NOTHING;
  w->value[i] = (kit_value){.dtype = in->dtype,
                            .level = (uint8_t)level,
                            .compute = (uint8_t)compute,
                            .phase = (uint16_t)phase,
                            .last_use = (uint16_t)i};
  return (uint16_t)i;
}

/* op of one operand, new number a; it is there as soon as that is. */
static uint16_t add_step(narrowing *w, int op, int compute, int dtype,
                         uint16_t a) {
  tsh_inst in = {.op = (uint16_t)op, .dtype = (uint8_t)dtype, .a = a};
  const kit_value *x = &w->value[a];
  int folded = cpu_is_class(w->inst[a].op, KIT_FOLD);
  return add(w, &in, compute, x->level, x->phase + (uint32_t)folded);
}

static uint16_t add_cast(narrowing *w, int from, int to, uint16_t a) {
  return from == to ? a : add_step(w, TSH_OP_cast, from, to, a);
}

static int round_op(int half) {
  return half == TSH_f16 ? CPU_OP_ROUND_f16 : CPU_OP_ROUND_bf16;
}

static uint16_t add_round(narrowing *w, int half, uint16_t a) {
  uint16_t i = add_step(w, round_op(half), TSH_f32, TSH_f32, a);
  w->raw[i] = a;
  return i;
}

static uint16_t add_widen(narrowing *w, int half, uint16_t a) {
  uint16_t i = add_step(w, TSH_OP_cast, half, TSH_f32, a);
  w->raw[i] = a;
  return i;
}

/* ---- what an instruction becomes ---------------------------------------- */
static tsh_inst renumbered(const narrowing *w, const tsh_inst *in) {
  tsh_inst out = *in;
  int n = cpu_arity(in->op);
  if (n > 0) out.a = w->to[in->a];
  if (n > 1) out.b = w->to[in->b];
  if (n > 2) out.c = w->to[in->c];
  return out;
}

/* f32 number a as the bits of a half: those that were loaded, or what a
 * rounding to it rounds, narrowed. */
static uint16_t add_narrow(narrowing *w, int half, uint16_t a) {
  const tsh_inst *in = &w->inst[a];
  uint16_t raw = w->raw[a];
  if (raw != NOTHING && in->op == TSH_OP_cast && w->value[a].compute == half)
    return raw;
  if (raw != NOTHING && in->op == round_op(half)) a = raw;
  return add_cast(w, TSH_f32, half, a);
}

static uint16_t narrow_store(narrowing *w, const tsh_inst *in,
                             const kit_value *v) {
  tsh_inst out = renumbered(w, in);
  if (is_half(v->dtype)) out.a = add_narrow(w, v->dtype, out.a);
  return add(w, &out, 0, v->level, v->phase);
}

static uint16_t narrow_cast(narrowing *w, const tsh_inst *in,
                            const kit_value *v) {
  int from = is_half(v->compute) ? TSH_f32 : v->compute, to = in->dtype;
  uint16_t a = w->to[in->a];
  if (v->compute == to) return a;
  if (!is_half(to)) return add_cast(w, from, to, a);
  if (from != TSH_f32) a = add_step(w, CPU_OP_ODD, from, TSH_f32, a);
  return add_round(w, to, a);
}

static uint16_t narrow_map(narrowing *w, const tsh_inst *in,
                           const kit_value *v) {
  tsh_inst out = renumbered(w, in);
  int half = is_half(v->compute), rounds = half && is_half(v->dtype);
  if (rounds) out.dtype = TSH_f32;
  uint16_t i = add(w, &out, half ? TSH_f32 : v->compute, v->level, v->phase);
  return rounds && !is_exact(in->op) ? add_round(w, v->dtype, i) : i;
}

/* The lowest or the highest of a short integer dtype. */
static int64_t end_of(int op, int dtype) {
  switch (dtype) {
  case TSH_i8:
    return op == TSH_OP_max ? INT8_MIN : INT8_MAX;
  case TSH_i16:
    return op == TSH_OP_max ? INT16_MIN : INT16_MAX;
  case TSH_u8:
    return op == TSH_OP_max ? 0 : UINT8_MAX;
  case TSH_u16:
    return op == TSH_OP_max ? 0 : UINT16_MAX;
  default:
    return op == TSH_OP_max ? 0 : UINT32_MAX;
  }
}

/* A max or min over nothing is the end of the short dtype, not of the wide. */
static uint16_t add_end(narrowing *w, int op, int dtype, int wide, uint16_t a) {
  tsh_inst end = {.op = TSH_OP_CONST, .dtype = (uint8_t)wide};
  tsh_inst in = {.dtype = (uint8_t)wide, .a = a};
  end.imm = (uint64_t)end_of(op, dtype);
  in.op = op == TSH_OP_max ? TSH_OP_maximum : TSH_OP_minimum;
  in.b = add(w, &end, 0, KIT_UNIFORM, 0);
  return add(w, &in, wide, KIT_ROW, w->value[a].phase + 1u);
}

static uint16_t narrow_fold(narrowing *w, const tsh_inst *in,
                            const kit_value *v) {
  tsh_inst out = renumbered(w, in);
  int wide = fold_dtype(v->compute), same = in->dtype == v->compute;
  int position = in->op == TSH_OP_argmax || in->op == TSH_OP_argmin;
  if (wide != v->compute && wide != TSH_f32) {
    out.a = add_cast(w, v->compute, wide, out.a);
    if (cpu_arity(in->op) > 1 && !position)
      out.b = add_cast(w, v->compute, wide, out.b);
  }
  if (same && !position) out.dtype = (uint8_t)wide;
  uint16_t i = add(w, &out, wide, v->level, v->phase);
  if (position || is_half(v->compute) || wide == v->compute) return i;
  if (in->op == TSH_OP_max || in->op == TSH_OP_min)
    i = add_end(w, in->op, v->compute, wide, i);
  return add_cast(w, wide, v->compute, i);
}

static uint16_t narrow_inst(narrowing *w, const tsh_inst *in,
                            const kit_value *v) {
  if (in->op == TSH_OP_STORE) return narrow_store(w, in, v);
  if (cpu_is_class(in->op, KIT_FOLD)) return narrow_fold(w, in, v);
  if (in->op == TSH_OP_cast) return narrow_cast(w, in, v);
  if (cpu_is_class(in->op, KIT_MAP)) return narrow_map(w, in, v);
  uint16_t i = add(w, in, 0, v->level, v->phase);
  return is_half(v->dtype) ? add_widen(w, v->dtype, i) : i;
}

/* ---- the whole ---------------------------------------------------------- */
static int is_wanted(const tsh_kernel *k, const kit_value *v) {
  for (uint32_t i = 0; i < k->ninst; i++) {
    int fold = cpu_is_class(kit_inst(k, i)->op, KIT_FOLD);
    if (is_half(v[i].dtype)) return 1;
    if (fold && fold_dtype(v[i].compute) != v[i].compute) return 1;
  }
  return 0;
}

tsh_status cpu_narrow(tsh_kernel *k, const kit_value **v, void **memory,
                      tsh_err *err) {
  size_t n = k->ninst, most = MOST * n;
  narrowing w = {.k = k, .v = *v};
  *memory = NULL;
  if (!is_wanted(k, *v)) return TSH_OK;
  char *block = calloc(most, sizeof *w.inst + sizeof *w.value + sizeof *w.raw +
                                 sizeof *w.to);
  if (!block) return kit_fail(err, TSH_ENOMEM, "no memory to compile a kernel");
  w.inst = (tsh_inst *)(void *)block;
  w.value = (kit_value *)(void *)(w.inst + most);
  w.raw = (uint16_t *)(w.value + most);
  w.to = w.raw + most;
  for (uint32_t i = 0; i < n; i++)
    w.to[i] = narrow_inst(&w, kit_inst(k, i), &(*v)[i]);
  k->inst = w.inst;
  k->inst_size = sizeof *w.inst;
  k->ninst = (uint16_t)w.n;
  *v = w.value;
  *memory = block;
  return TSH_OK;
}
