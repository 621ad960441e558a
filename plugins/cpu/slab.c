/* slab.c - a box of two arguments: one is copied to the other, or combined. */
#include <string.h>

#include "call.h"

#define RUN(fn, T, expr)                                                       \
  static void fn(T *d, const T *s, int64_t n, int64_t dd, int64_t ds) {        \
    for (int64_t i = 0; i < n; i++, d += dd, s += ds) *d = (T)(expr);          \
  }
RUN(copy_1, uint8_t, *s)
RUN(copy_2, uint16_t, *s)
RUN(copy_4, uint32_t, *s)
RUN(copy_8, uint64_t, *s)
RUN(add_f32, float, *d + *s)
RUN(add_f64, double, *d + *s)
/* Integers wrap, with or without a sign. */
RUN(add_1, uint8_t, *d + *s)
RUN(add_2, uint16_t, *d + *s)
RUN(add_4, uint32_t, *d + *s)
RUN(add_8, uint64_t, *d + *s)
#undef RUN

/* X(bytes) of an element */
#define SIZES(X) X(1) X(2) X(4) X(8)

static void run_of(const cpu_slab *b, void *d, const void *s, int64_t n,
                   int64_t dd, int64_t ds) {
  if (b->fn) {
    b->fn(d, s, n, dd, ds);
    return;
  }
  if (b->add == TSH_f32) {
    add_f32(d, s, n, dd, ds);
    return;
  }
  if (b->add == TSH_f64) {
    add_f64(d, s, n, dd, ds);
    return;
  }
  if (b->add == SLAB_COPY && dd == 1 && ds == 1) {
    memcpy(d, s, (size_t)n * b->bytes);
    return;
  }
  switch (b->bytes) {
#define CASE(size)                                                             \
  case size:                                                                   \
    (b->add == SLAB_COPY ? copy_##size : add_##size)(d, s, n, dd, ds);         \
    return;
    SIZES(CASE)
#undef CASE
  }
}

/* Axes from `axis` on, from d and s. */
static tsh_status run_axes(const cpu_slab *b, int axis, char *d,
                           const char *s) {
  int64_t n = axis < b->rank ? b->ext[axis] : 1;
  int64_t dd = axis < b->rank ? b->d[axis] : 0;
  int64_t ds = axis < b->rank ? b->s[axis] : 0;
  int last = axis >= b->rank - 1;
  int64_t step = last ? CALL_PIECE : 1;
  for (int64_t i = 0; i < n; i += step) {
    char *to = d + i * dd * b->bytes;
    const char *from = s + i * ds * b->bytes;
    if (cpu_cancelled(b->run)) return TSH_ECANCELLED;
    if (last)
      run_of(b, to, from, n - i < step ? n - i : step, dd, ds);
    else if (run_axes(b, axis + 1, to, from) != TSH_OK)
      return TSH_ECANCELLED;
  }
  return TSH_OK;
}

tsh_status cpu_slab_run(const cpu_slab *b, char *d, const char *s) {
  return run_axes(b, 0, d, s);
}

void cpu_slab_one(const cpu_slab *b, char *d, const char *s) {
  run_of(b, d, s, 1, 0, 0);
}

tsh_status cpu_slab_copy(const cpu_call *c, int i) {
  const tsh_view *x = call_view(c, i), *out = call_view(c, c->nin);
  cpu_slab b = {.bytes = (uint8_t)call_bytes(c, i), .run = c->run};
  char *to = call_base(c, c->nin);
  const char *from = call_base(c, i);
  b.rank = call_rank(c, i);
  memcpy(b.ext, x->extent, sizeof *b.ext * (size_t)b.rank);
  memcpy(b.d, out->stride, sizeof *b.d * (size_t)b.rank);
  memcpy(b.s, x->stride, sizeof *b.s * (size_t)b.rank);
  return from == to ? TSH_OK : cpu_slab_run(&b, to, from);
}
