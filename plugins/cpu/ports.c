/* ports.c - between arguments and registers: LOAD, INDEX, STORE of a block, and
 * what is the same for a whole launch. Compiled once per instruction set. */
#include "interp.h"
#include "kit_half.h"

/* ---- lanes of a port ---------------------------------------------------- */
static void count_lanes(cpu_run *run, const cpu_port *port, int kind,
                        const cpu_space *space, const cpu_cursor *c, size_t n) {
  const cpu_place *place = &run->place[port->arg];
  int64_t at, step;
  void *slot = run->reg[port->slot];
  if (cpu_find_lanes(run, port, kind, space, c, n, &at, &step))
    cpu_iota(slot, place->start + at, step, n, port->size);
  else
    cpu_iota_space(slot, place->start, place->stride, space, c, n, port->size);
}

static inline void load_lanes(cpu_run *run, const cpu_code *code, unsigned i,
                              const cpu_space *space, const cpu_cursor *c,
                              size_t n) {
  const cpu_port *port = &code->port[i];
  const cpu_place *place = &run->place[port->arg];
  int kind = run->kind[i];
  int64_t at, step;
  void *slot = run->reg[port->slot];
  if (kind == CPU_SPLAT) return;
  run->reg[i] = slot;
  if (port->op == TSH_OP_INDEX) {
    count_lanes(run, port, kind, space, c, n);
  } else if (!cpu_find_lanes(run, port, kind, space, c, n, &at, &step)) {
    cpu_gather_space(slot, place->base, place->stride, space, c, n, port->size);
  } else if (step == 1 && !port->copy) {
    run->reg[i] = place->base + at * port->size;
  } else {
    cpu_gather(slot, place->base + at * port->size, step, n, port->size);
  }
}

/* Before the steps: where a value that is stored directly goes. */
static inline void aim_store(cpu_run *run, const cpu_code *code, unsigned i,
                             const cpu_space *space, const cpu_cursor *c,
                             size_t n) {
  const cpu_port *port = &code->port[i];
  int64_t at, step;
  if (!port->direct) return;
  if (cpu_find_lanes(run, port, run->kind[i], space, c, n, &at, &step) &&
      step == 1)
    run->reg[i] = run->place[port->arg].base + at * port->size;
  else
    run->reg[i] = run->reg[port->slot];
}

/* After the steps: lanes that are not yet in the output. */
static inline void store_lanes(cpu_run *run, const cpu_code *code, unsigned i,
                               const cpu_space *space, const cpu_cursor *c,
                               size_t n) {
  const cpu_port *port = &code->port[i];
  const cpu_place *place = &run->place[port->arg];
  const void *src = run->reg[port->direct ? i : port->src];
  int64_t at, step;
  if (port->direct && src != run->reg[port->slot]) return;
  if (cpu_find_lanes(run, port, run->kind[i], space, c, n, &at, &step))
    cpu_scatter(place->base + at * port->size, src, step, n, port->size);
  else
    cpu_scatter_space(place->base, src, place->stride, space, c, n, port->size);
}

/* Do the elements of two ports of 4 bytes lie in turn, those of `one` first?
 * So do the columns of pooling windows. */
static inline int is_pair(const cpu_run *run, const cpu_code *code,
                          unsigned one, unsigned two, const cpu_space *space) {
  const cpu_port *p = &code->port[one], *q = &code->port[two];
  const cpu_place *a = &run->place[p->arg], *b = &run->place[q->arg];
  if (run->kind[one] != CPU_MIXED || run->kind[two] != CPU_MIXED) return 0;
  if (p->op != q->op || p->op == TSH_OP_INDEX) return 0;
  if (p->size != 4 || q->size != 4 || b->base - a->base != 4) return 0;
  if (a->stride[space->rank - 1] != 2) return 0;
  for (int k = 0; k < space->rank; k++)
    if (a->stride[k] != b->stride[k]) return 0;
  return 1;
}

static inline void load_pair(cpu_run *run, const cpu_code *code, unsigned one,
                             unsigned two, const cpu_space *space,
                             const cpu_cursor *c, size_t n) {
  const cpu_place *place = &run->place[code->port[one].arg];
  run->reg[one] = run->reg[code->port[one].slot];
  run->reg[two] = run->reg[code->port[two].slot];
  cpu_gather_pair(run->reg[one], run->reg[two], place->base, place->stride,
                  space, c, n);
}

static inline void store_pair(cpu_run *run, const cpu_code *code, unsigned one,
                              unsigned two, const cpu_space *space,
                              const cpu_cursor *c, size_t n) {
  const cpu_port *p = &code->port[one], *q = &code->port[two];
  const cpu_place *place = &run->place[p->arg];
  cpu_scatter_pair(place->base, run->reg[p->direct ? one : p->src],
                   run->reg[q->direct ? two : q->src], place->stride, space, c,
                   n);
}

void cpu_load(cpu_run *run, const cpu_code *code, cpu_span span,
              const cpu_space *space, const cpu_cursor *c, size_t n) {
  for (uint32_t i = span.at; i < span.end; i++) {
    unsigned one = code->order[i];
    unsigned two = i + 1 < span.end ? code->order[i + 1] : one;
    if (two != one && is_pair(run, code, one, two, space)) {
      load_pair(run, code, one, two, space, c, n);
      i++;
    } else {
      load_lanes(run, code, one, space, c, n);
    }
  }
}

void cpu_aim(cpu_run *run, const cpu_code *code, cpu_span span,
             const cpu_space *space, const cpu_cursor *c, size_t n) {
  for (uint32_t i = span.at; i < span.end; i++)
    aim_store(run, code, code->order[i], space, c, n);
}

void cpu_store(cpu_run *run, const cpu_code *code, cpu_span span,
               const cpu_space *space, const cpu_cursor *c, size_t n) {
  for (uint32_t i = span.at; i < span.end; i++) {
    unsigned one = code->order[i];
    unsigned two = i + 1 < span.end ? code->order[i + 1] : one;
    if (two != one && is_pair(run, code, one, two, space)) {
      store_pair(run, code, one, two, space, c, n);
      i++;
    } else {
      store_lanes(run, code, one, space, c, n);
    }
  }
}

/* ---- what is done once per launch --------------------------------------- */
static uint64_t scalar_bits(const cpu_uniform *u, const tsh_launch *launch) {
  union {
    float f;
    double d;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t bits;
  } w = {.bits = u->bits};
  if (u->scalar < 0) return w.bits;
  const tsh_scalar *s = &launch->scalar[u->scalar];
  w.bits = 0;
  switch (u->dtype) {
  case TSH_f32:
    w.f = (float)s->f;
    break;
  case TSH_f64:
    w.d = s->f;
    break;
  case TSH_f16:
    w.u16 = kit_f64_to_f16(s->f);
    break;
  case TSH_bf16:
    w.u16 = kit_f64_to_bf16(s->f);
    break;
  case TSH_bool:
    w.u8 = s->i != 0;
    break;
  default: /* the low end, also on a big-endian machine */
    if (u->size == 1) w.u8 = (uint8_t)s->u;
    if (u->size == 2) w.u16 = (uint16_t)s->u;
    if (u->size == 4) w.u32 = (uint32_t)s->u;
    if (u->size == 8) w.bits = s->u;
    break;
  }
  return w.bits;
}

void cpu_uniforms(cpu_run *run, const cpu_code *code, const tsh_launch *launch,
                  size_t lanes) {
  for (uint32_t i = 0; i < code->nuniform; i++) {
    const cpu_uniform *u = &code->uniform[i];
    uint64_t bits = scalar_bits(u, launch);
    cpu_splat(run->reg[u->d], &bits, lanes, u->size);
  }
  cpu_run_steps(run, code, code->uniform_step, lanes);
  if (run->bad_lane >= 0) cpu_note_bad(run, 0);
}

/* Ports that give one element everywhere. */
static void fill_splats(cpu_run *run, const cpu_code *code, int row,
                        size_t lanes) {
  for (uint32_t i = 0; i < code->nport; i++) {
    const cpu_port *port = &code->port[i];
    const cpu_place *place = &run->place[port->arg];
    if (port->row != row || run->kind[i] != CPU_SPLAT) continue;
    run->reg[i] = run->reg[port->slot];
    if (port->op == TSH_OP_LOAD)
      cpu_splat(run->reg[i], place->base, lanes, port->size);
    else if (port->op == TSH_OP_INDEX)
      cpu_iota(run->reg[i], place->start, 0, lanes, port->size);
  }
}

void cpu_ports(cpu_run *run, const cpu_code *code, const cpu_space *space,
               int row, size_t lanes) {
  cpu_space_kinds(run, code, space, row);
  fill_splats(run, code, row, lanes);
}
