/* topk.c - the CALL op argtopk: candidates below the worst of the best k so
 * far are collected; when there is no more room for them they are sorted and
 * the best k stay. So each element is looked at once, whatever its order. */
#include <string.h>

#include "order.h"

typedef struct {
  const cpu_keys *keys;
  int64_t n, k, most; /* of a line; results; room for candidates */
  int down;
} choice;

typedef struct {
  const choice *of;
  order_pair *best, *other; /* room for `most` each */
  int64_t n;                /* candidates */
  uint64_t limit;           /* keys below it are candidates; once `full` */
  int full;                 /* k are known to be below the limit */
} chosen;

/* The best k of the candidates, best first: the sort is stable, and they were
 * added in the order of their positions. */
static tsh_status settle(const cpu_call *c, chosen *t) {
  order_pair *sorted =
      order_pairs(c->run, t->best, t->other, t->n, t->of->keys->wide ? 8 : 4);
  if (!sorted) return TSH_ECANCELLED;
  if (sorted != t->best) {
    t->other = t->best;
    t->best = sorted;
  }
  if (t->n < t->of->k) return TSH_OK;
  t->n = t->of->k;
  t->limit = t->best[t->n - 1].key;
  t->full = 1;
  return TSH_OK;
}

/* m keys, the first of which is number `from`. */
static tsh_status offer(const cpu_call *c, chosen *t, const void *keys,
                        int64_t m, int64_t from) {
  const cpu_keys *of = t->of->keys;
  int64_t each = of->wide ? 8 : 4;
  for (int64_t i = 0; i < m; i++) {
    if (t->full) {
      i += of->below((const char *)keys + i * each, m - i, t->limit);
      if (i == m) break;
    }
    t->best[t->n].key =
        of->wide ? ((const uint64_t *)keys)[i] : ((const uint32_t *)keys)[i];
    t->best[t->n++].at = from + i;
    if (t->n < t->of->most) continue;
    tsh_status rc = settle(c, t);
    if (rc != TSH_OK) return rc;
  }
  return TSH_OK;
}

enum { SAMPLE = 1024, SAMPLED = 64 * SAMPLE };

/* A first limit: the k-th best of a sample. So there are k as good, and of a
 * long line most elements are passed over, also when it is sorted. */
static void guess(const cpu_call *c, chosen *t, const order_line *l) {
  const choice *of = t->of;
  int64_t step = of->n / SAMPLE;
  uint64_t keys[2 * SAMPLE];
  if (of->n < SAMPLED || of->k > SAMPLE / 8) return;
  of->keys->load(keys, l->x, SAMPLE, l->dx * step, of->down);
  if (of->keys->wide) {
    const uint64_t *x = order_64(c->run, keys, keys + SAMPLE, SAMPLE);
    if (!x || x[of->k - 1] == UINT64_MAX) return;
    t->limit = x[of->k - 1] + 1;
  } else {
    uint32_t *narrow = (uint32_t *)(void *)keys;
    const uint32_t *x = order_32(c->run, narrow, narrow + SAMPLE, SAMPLE);
    if (!x || x[of->k - 1] == UINT32_MAX) return;
    t->limit = x[of->k - 1] + UINT64_C(1);
  }
  t->full = 1;
}

static tsh_status choose(const cpu_call *c, const void *job,
                         const order_line *l) {
  const choice *of = job;
  chosen t = {.of = of, .best = (order_pair *)(void *)l->room};
  int64_t *out = (int64_t *)(void *)l->out, bytes = call_bytes(c, 0);
  uint64_t part[ORDER_PIECE];
  tsh_status rc = TSH_OK;
  t.other = t.best + of->most;
  guess(c, &t, l);
  for (int64_t i = 0; i < of->n && rc == TSH_OK; i += ORDER_PIECE) {
    int64_t m = of->n - i < ORDER_PIECE ? of->n - i : ORDER_PIECE;
    if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
    of->keys->load(part, l->x + i * l->dx * bytes, m, l->dx, of->down);
    rc = offer(c, &t, part, m, i);
  }
  if (rc == TSH_OK) rc = settle(c, &t);
  for (int64_t i = 0; i < of->k && rc == TSH_OK; i++)
    out[i * l->dout] = t.best[i].at;
  return rc;
}

tsh_status cpu_argtopk(const cpu_call *c) {
  int axis = (int)c->prog->attr[0];
  choice of = {.keys = c->isa->keys(call_dtype(c, 0)),
               .n = call_view(c, 0)->extent[axis],
               .k = call_view(c, 1)->extent[axis],
               .down = c->prog->attr[2] != 0};
  of.most = 2 * of.k > of.k + 1024 ? 2 * of.k : of.k + 1024;
  if (of.most > of.n) of.most = of.n;
  return order_each(c, 2 * of.most * (int64_t)sizeof(order_pair), choose, &of);
}
