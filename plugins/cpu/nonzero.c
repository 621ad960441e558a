/* nonzero.c - the CALL op nonzero: positions of the true elements. */
#include <string.h>

#include "call.h"

enum { BLOCK = 32 }; /* elements that are passed over when none is true */

/* Where the next position goes. */
typedef struct {
  int64_t *out;
  int64_t step, left;
} sink;

static void put(sink *s, int64_t at) {
  if (s->left == 0) return;
  *s->out = at;
  s->out += s->step;
  s->left--;
}

/* As below while there is room for every one of the n: each position is
 * written, and the next over it when that was false. */
static void find_all(sink *s, const uint8_t *x, int64_t n, int64_t at) {
  int64_t *out = s->out, *begin = out;
  for (int64_t i = 0; i < n; i++) {
    *out = at + i;
    out += x[i] != 0;
  }
  s->out = out;
  s->left -= out - begin;
}

static int any_true(const uint8_t *x) {
  uint64_t v[BLOCK / 8], any = 0;
  memcpy(v, x, sizeof v);
  for (int k = 0; k < BLOCK / 8; k++) any |= v[k];
  return any != 0;
}

/* n elements, the first of which is number `at`. */
static void find(sink *s, const uint8_t *x, int64_t step, int64_t n,
                 int64_t at) {
  int64_t i = 0;
  int dense = step == 1 && s->step == 1;
  for (; dense && i + BLOCK <= n && s->left > BLOCK; i += BLOCK)
    if (any_true(x + i)) find_all(s, x + i, BLOCK, at + i);
  for (; i < n; i++)
    if (x[i * step]) put(s, at + i);
}

tsh_status cpu_nonzero(const cpu_call *c) {
  static const int64_t one[1] = {1}, none[1] = {0};
  const tsh_view *x = call_view(c, 0), *out = call_view(c, 1);
  int rank = call_rank(c, 0), last = rank ? rank - 1 : 0;
  const int64_t *extent = rank ? x->extent : one;
  const int64_t *stride = rank ? x->stride : none;
  const uint8_t *from = (const uint8_t *)call_base(c, 0);
  sink s = {(int64_t *)call_base(c, 1), out->stride[0], out->extent[0]};
  int64_t n = extent[last], number = 0;
  call_lines w;
  call_lines_init(&w, rank, extent, last);
  call_lines_add(&w, stride, last, -1);
  do {
    for (int64_t i = 0; i < n && s.left; i += CALL_PIECE) {
      int64_t piece = n - i < CALL_PIECE ? n - i : CALL_PIECE;
      if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
      find(&s, from + w.at[0] + i * stride[last], stride[last], piece,
           number + i);
    }
    number += n;
  } while (s.left && call_lines_next(&w));
  while (s.left) put(&s, 0);
  return TSH_OK;
}
