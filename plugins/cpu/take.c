/* take.c - the CALL ops take, index_add and its kin: a slab for each position,
 * in the order of the positions, one after the other. */
#include <string.h>

#include "call.h"

/* ---- positions ---------------------------------------------------------- */
typedef struct {
  const tsh_view *view;
  const char *base;
  int dtype, rank;
  int64_t count, idx[TSH_MAX_RANK];
} positions;

static positions positions_of(const cpu_call *c) {
  const tsh_view *v = call_view(c, 1);
  positions p = {.view = v, .dtype = call_dtype(c, 1), .rank = call_rank(c, 1)};
  p.base = call_base(c, 1);
  p.count = 1;
  for (int k = 0; k < p.rank; k++) p.count *= v->extent[k];
  return p;
}

/* The position at idx; moves idx on. */
static int64_t positions_next(positions *p) {
  int64_t at = 0;
  for (int k = 0; k < p->rank; k++) at += p->idx[k] * p->view->stride[k];
  for (int k = p->rank; k-- > 0;) {
    if (++p->idx[k] < p->view->extent[k]) break;
    p->idx[k] = 0;
  }
  return p->dtype == TSH_i32 ? ((const int32_t *)p->base)[at]
                             : ((const int64_t *)p->base)[at];
}

/* Offset of point idx along the axes of the positions, which begin at
 * `axis`. */
static int64_t spread_offset(const positions *p, const tsh_view *v, int axis) {
  int64_t at = 0;
  for (int k = 0; k < p->rank; k++) at += p->idx[k] * v->stride[axis + k];
  return at;
}

/* ---- the ops ------------------------------------------------------------ */
/* The axes beside `axis` of x. one: has the rank of x; many: has the axes of
 * the positions in place of `axis`. */
static cpu_slab slab_of(const cpu_call *c, const tsh_view *one,
                        const tsh_view *many, int many_is_d) {
  cpu_slab b = {.bytes = (uint8_t)call_bytes(c, 0), .run = c->run};
  int axis = (int)c->prog->attr[0], wide = call_rank(c, 1);
  for (int k = 0; k < call_rank(c, 0); k++) {
    if (k == axis) continue;
    int other = k < axis ? k : k - 1 + wide;
    b.ext[b.rank] = one->extent[k];
    b.d[b.rank] = many_is_d ? many->stride[other] : one->stride[k];
    b.s[b.rank] = many_is_d ? one->stride[k] : many->stride[other];
    b.rank++;
  }
  return b;
}

/* x and positions have one axis: then a slab is one element, and the op of
 * single elements does the same. */
static int is_line(const cpu_call *c) {
  return call_rank(c, 0) == 1 && call_rank(c, 1) == 1;
}

static tsh_status run_slab(const cpu_slab *b, int64_t i, char *d,
                           const char *s) {
  if (b->rank) return cpu_slab_run(b, d, s);
  if (i % CALL_PIECE == 0 && cpu_cancelled(b->run)) return TSH_ECANCELLED;
  cpu_slab_one(b, d, s);
  return TSH_OK;
}

tsh_status cpu_take(const cpu_call *c) {
  static const uint64_t zero = 0;
  const tsh_view *x = call_view(c, 0), *out = call_view(c, 2);
  int axis = (int)c->prog->attr[0];
  positions p = positions_of(c);
  cpu_slab b = slab_of(c, x, out, 1), empty = b;
  char *from = call_base(c, 0), *to = call_base(c, 2);
  if (is_line(c)) return cpu_gather_at(c);
  memset(empty.s, 0, sizeof empty.s);
  for (int64_t i = 0; i < p.count; i++) {
    char *d = to + spread_offset(&p, out, axis) * b.bytes;
    int64_t at = positions_next(&p);
    int good = at >= 0 && at < x->extent[axis];
    if (!good && c->run->bad_at < 0) c->run->bad_at = i;
    tsh_status rc =
        good ? run_slab(&b, i, d, from + at * x->stride[axis] * b.bytes)
             : run_slab(&empty, i, d, (const char *)&zero);
    if (rc != TSH_OK) return rc;
  }
  return TSH_OK;
}

/* add: dtype to add in; else fn, or a copy. */
static tsh_status put(const cpu_call *c, int add, cpu_slab_fn *fn) {
  const tsh_view *z = call_view(c, 2), *out = call_view(c, 3);
  int axis = (int)c->prog->attr[0];
  positions p = positions_of(c);
  cpu_slab b = slab_of(c, out, z, 0);
  char *to = call_base(c, 3);
  const char *from = call_base(c, 2);
  tsh_status rc = cpu_slab_copy(c, 0);
  b.add = (uint8_t)add;
  b.fn = fn;
  for (int64_t i = 0; i < p.count && rc == TSH_OK; i++) {
    const char *s = from + spread_offset(&p, z, axis) * b.bytes;
    int64_t at = positions_next(&p);
    if (at >= 0 && at < out->extent[axis])
      rc = run_slab(&b, i, to + at * out->stride[axis] * b.bytes, s);
    else if (c->run->bad_at < 0)
      c->run->bad_at = i;
  }
  return rc;
}

tsh_status cpu_index_add(const cpu_call *c) {
  return is_line(c) ? cpu_scatter_add(c) : put(c, call_dtype(c, 0), NULL);
}

tsh_status cpu_index_put(const cpu_call *c) {
  if (c->prog->op == TSH_OP_index_set && is_line(c)) return cpu_scatter_set(c);
  return put(c, SLAB_COPY, cpu_put_get(c->prog->op, call_dtype(c, 0)));
}
