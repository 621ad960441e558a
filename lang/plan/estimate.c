/* estimate.c - a plan is made and not run (plan_options.shapes_only): what it
 * would have cost, and what stands for the values that nobody computed. */
#include <math.h>
#include "graph.h"

static void count_launch(plan_estimate *sum, const plan_entry *e,
                         const made_launch *m) {
  uint32_t nin = m->narg - m->nout;
  if (!m->prog) {
    sum->moves++;
    sum->moved += (double)m->bytes;
    return;
  }
  sum->launches++;
  sum->flops += m->flops;
  sum->read += explain_touched(e, m, 0, nin);
  sum->written += explain_touched(e, m, nin, m->narg);
}

void estimate_entry(plan *p, plan_trace *t, const plan_entry *e) {
  for (uint32_t i = 0; i < e->nlaunch; i++)
    count_launch(&p->estimate, e, &e->launch[i]);
  for (uint32_t v = 0; v < e->nvalue; v++)
    if (e->value[v].update) buf_empty(t->leaf[e->value[v].leaf]->buf);
}

const plan_estimate *plan_estimate_get(const plan *p) { return &p->estimate; }

typedef union {
  char bytes[8];
  float f32;
  double f64;
  uint8_t u1;
  uint16_t u2;
  uint32_t u4;
  uint64_t u8;
} cell;

static cell one_cell(int dtype) {
  int real = plan_dtype_kind(dtype) == TSH_KIND_FLOAT;
  cell c = {{0}};
  switch (plan_dtype_bytes(dtype)) {
  case 1:
    c.u1 = dtype != TSH_bool;
    break;
  case 2:
    c.u2 = real ? plan_half_of(dtype, NAN) : 1;
    break;
  case 4:
    c.u4 = 1;
    if (real) c.f32 = NAN;
    break;
  default:
    c.u8 = 1;
    if (real) c.f64 = NAN;
  }
  return c;
}

/* nan says of itself that it is no number; 1 is a position and a size that most
 * code can go on with, where 0 is neither. */
void estimate_fill(const plan_node *x, void *host) {
  uint64_t each = plan_dtype_bytes(x->dtype);
  cell c = one_cell(x->dtype);
  for (int64_t i = 0; i < x->shape->count; i++)
    memcpy((char *)host + (uint64_t)i * each, c.bytes, each);
}

/* The next position of a row-major walk over the shape. */
static void step(const plan_shape *s, int64_t *at) {
  for (uint32_t k = s->rank; k-- > 0;) {
    if (++at[k] < s->dim[k]) return;
    at[k] = 0;
  }
}

tsh_status estimate_gather(plan *p, const plan_node *x, void *host,
                           tsh_err *err) {
  uint64_t each = plan_dtype_bytes(x->dtype);
  int64_t at[PLAN_RANK] = {0};
  tsh_status rc = TSH_OK;
  for (int64_t i = 0; rc == TSH_OK && i < x->shape->count; i++) {
    int64_t from = x->offset;
    for (uint32_t k = 0; k < x->shape->rank; k++)
      from += at[k] * x->layout->stride[k];
    rc = dev_read(x->d, x->buf->buf, (uint64_t)from * each,
                  (char *)host + (uint64_t)i * each, each, err);
    step(x->shape, at);
  }
  p->counters.bytes_downloaded += (uint64_t)x->shape->count * each;
  return rc;
}
