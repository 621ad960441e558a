/* sort.c - the CALL ops sort and argsort of a line: keys are made, sorted, and
 * become elements or positions. */
#include <string.h>

#include "order.h"

typedef struct {
  int64_t n, bytes, half; /* bytes of an element; of each half of the room */
  const cpu_keys *keys;
  int down;
} sorting;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static uint64_t key_at(const sorting *s, const void *keys, int64_t i) {
  return s->keys->wide ? ((const uint64_t *)keys)[i]
                       : ((const uint32_t *)keys)[i];
}

/* ---- elements ----------------------------------------------------------- */
/* First place in the sorted keys that is not below the key. */
static int64_t lower_bound(const sorting *s, const void *keys, uint64_t key) {
  int64_t lo = 0, hi = s->n;
  while (lo < hi) {
    int64_t mid = lo + (hi - lo) / 2;
    if (key_at(s, keys, mid) < key)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* +0, or -0, whose sign is in the last byte. */
static int is_zero(const char *x, int64_t bytes) {
  static const uint64_t none = 0;
  return memcmp(x, &none, (size_t)bytes - 1) == 0 && (x[bytes - 1] & 0x7f) == 0;
}

/* Both zeros have one key: the line's own, in their order, are put back. */
static tsh_status restore_zeros(const cpu_call *c, const sorting *s,
                                const order_line *l, const void *keys) {
  const uint64_t zero = 0;
  uint64_t key[1] = {0};
  const char *x = l->x;
  char *to;
  s->keys->load(key, &zero, 1, 1, s->down);
  to = l->out + lower_bound(s, keys, key_at(s, key, 0)) * l->dout * s->bytes;
  for (int64_t i = 0; i < s->n; i++, x += l->dx * s->bytes) {
    if (i % CALL_PIECE == 0 && cpu_cancelled(c->run)) return TSH_ECANCELLED;
    if (!is_zero(x, s->bytes)) continue;
    memcpy(to, x, (size_t)s->bytes);
    to += l->dout * s->bytes;
  }
  return TSH_OK;
}

static tsh_status sort_values(const cpu_call *c, const void *job,
                              const order_line *l) {
  const sorting *s = job;
  int64_t each = s->keys->wide ? 8 : 4;
  char *keys = l->room;
  void *sorted, *other = l->room + s->half;
  int minus = 0;
  for (int64_t i = 0; i < s->n; i += CALL_PIECE) {
    if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
    minus |= s->keys->load(keys + i * each, l->x + i * l->dx * s->bytes,
                           least(s->n - i, CALL_PIECE), l->dx, s->down);
  }
  if (s->keys->wide)
    sorted = order_64(c->run, (uint64_t *)(void *)keys, other, s->n);
  else
    sorted = order_32(c->run, (uint32_t *)(void *)keys, other, s->n);
  if (!sorted) return TSH_ECANCELLED;
  for (int64_t i = 0; i < s->n; i += CALL_PIECE) {
    if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
    s->keys->store(l->out + i * l->dout * s->bytes, (char *)sorted + i * each,
                   least(s->n - i, CALL_PIECE), l->dout, s->down);
  }
  return minus ? restore_zeros(c, s, l, sorted) : TSH_OK;
}

/* ---- positions ---------------------------------------------------------- */
/* A 4-byte key and a position of 32 bits are one number. */
static tsh_status positions_narrow(const cpu_call *c, const void *job,
                                   const order_line *l) {
  const sorting *s = job;
  uint64_t *x = (uint64_t *)(void *)l->room, *sorted;
  uint64_t *other = (uint64_t *)(void *)(l->room + s->half);
  int64_t *out = (int64_t *)(void *)l->out;
  uint32_t part[ORDER_PIECE];
  for (int64_t i = 0; i < s->n; i += ORDER_PIECE) {
    int64_t m = least(s->n - i, ORDER_PIECE);
    if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
    s->keys->load(part, l->x + i * l->dx * s->bytes, m, l->dx, s->down);
    for (int64_t k = 0; k < m; k++)
      x[i + k] = (uint64_t)part[k] << 32 | (uint64_t)(i + k);
  }
  if (!(sorted = order_64_of(c->run, x, other, s->n))) return TSH_ECANCELLED;
  for (int64_t i = 0; i < s->n; i++) {
    if (i % CALL_PIECE == 0 && cpu_cancelled(c->run)) return TSH_ECANCELLED;
    out[i * l->dout] = (int64_t)(sorted[i] & UINT32_MAX);
  }
  return TSH_OK;
}

static tsh_status positions_wide(const cpu_call *c, const void *job,
                                 const order_line *l) {
  const sorting *s = job;
  order_pair *x = (order_pair *)(void *)l->room, *sorted;
  order_pair *other = (order_pair *)(void *)(l->room + s->half);
  int64_t *out = (int64_t *)(void *)l->out;
  uint64_t part[ORDER_PIECE];
  for (int64_t i = 0; i < s->n; i += ORDER_PIECE) {
    int64_t m = least(s->n - i, ORDER_PIECE);
    if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
    s->keys->load(part, l->x + i * l->dx * s->bytes, m, l->dx, s->down);
    for (int64_t k = 0; k < m; k++)
      x[i + k] = (order_pair){key_at(s, part, k), i + k};
  }
  sorted = order_pairs(c->run, x, other, s->n, s->keys->wide ? 8 : 4);
  if (!sorted) return TSH_ECANCELLED;
  for (int64_t i = 0; i < s->n; i++) {
    if (i % CALL_PIECE == 0 && cpu_cancelled(c->run)) return TSH_ECANCELLED;
    out[i * l->dout] = sorted[i].at;
  }
  return TSH_OK;
}

/* ---- the ops ------------------------------------------------------------ */
static tsh_status sort_lines(const cpu_call *c, order_fn *fn, int64_t each) {
  sorting s = {.n = call_view(c, 0)->extent[c->prog->attr[0]],
               .bytes = call_bytes(c, 0),
               .keys = c->isa->keys(call_dtype(c, 0)),
               .down = c->prog->attr[1] != 0};
  s.half = (s.n * each + 63) / 64 * 64;
  if (fn == sort_values && order_is_short(c)) return order_short(c, fn, &s);
  return order_each(c, 2 * s.half, fn, &s);
}

tsh_status cpu_sort(const cpu_call *c) {
  return sort_lines(c, sort_values, call_bytes(c, 0) == 8 ? 8 : 4);
}

tsh_status cpu_argsort(const cpu_call *c) {
  int64_t n = call_view(c, 0)->extent[c->prog->attr[0]];
  if (call_bytes(c, 0) < 8 && n <= UINT32_MAX)
    return sort_lines(c, positions_narrow, sizeof(uint64_t));
  return sort_lines(c, positions_wide, sizeof(order_pair));
}
