/* short.c - sorting of lines of few elements: as many lines as a row of keys
 * has lanes go together, each in a lane of its own. */
#include <string.h>

#include "order.h"

enum { LANES = CPU_SHORT_LANES };

typedef struct {
  const cpu_call *c;
  const cpu_keys *keys;
  int axis, beside, down; /* beside: the axis that lanes run along */
  uint32_t row[CPU_SHORT_MOST][LANES];
} work;

/* Another axis with enough lines, -1: none. The one whose elements lie next
 * to each other, where there is a choice. */
static int find_beside(const cpu_call *c, int axis) {
  const tsh_view *x = call_view(c, 0);
  for (int k = call_rank(c, 0); k-- > 0;)
    if (k != axis && x->extent[k] >= LANES / 2) return k;
  return -1;
}

int order_is_short(const cpu_call *c) {
  int axis = (int)c->prog->attr[0];
  return call_bytes(c, 0) < 8 &&
         call_view(c, 0)->extent[axis] <= CPU_SHORT_MOST &&
         find_beside(c, axis) >= 0;
}

/* Is there a -0? Then only a sort line by line knows where it belongs. */
static int sort_lanes(work *w, const char *x, char *out, int lines) {
  const tsh_view *vx = call_view(w->c, 0), *vo = call_view(w->c, 1);
  int64_t n = vx->extent[w->axis], bytes = call_bytes(w->c, 0);
  int minus = 0;
  for (int64_t i = 0; i < n; i++)
    minus |= w->keys->load(w->row[i], x + i * vx->stride[w->axis] * bytes,
                           lines, vx->stride[w->beside], w->down);
  if (minus) return 1;
  w->c->isa->sort_short(w->row, (int)n);
  for (int64_t i = 0; i < n; i++)
    w->keys->store(out + i * vo->stride[w->axis] * bytes, w->row[i], lines,
                   vo->stride[w->beside], w->down);
  return 0;
}

/* The same lines one by one. */
static tsh_status sort_single(const work *w, const void *job, order_fn *fn,
                              const char *x, char *out, int lines, char *room) {
  const tsh_view *vx = call_view(w->c, 0), *vo = call_view(w->c, 1);
  int64_t bytes = call_bytes(w->c, 0);
  tsh_status rc = TSH_OK;
  for (int k = 0; k < lines && rc == TSH_OK; k++) {
    order_line l = {x + k * vx->stride[w->beside] * bytes,
                    out + k * vo->stride[w->beside] * bytes,
                    vx->stride[w->axis], vo->stride[w->axis], room};
    rc = fn(w->c, job, &l);
  }
  return rc;
}

tsh_status order_short(const cpu_call *c, order_fn *fn, const void *job) {
  const tsh_view *x = call_view(c, 0), *out = call_view(c, 1);
  work w = {.c = c,
            .keys = c->isa->keys(call_dtype(c, 0)),
            .axis = (int)c->prog->attr[0],
            .down = c->prog->attr[1] != 0};
  int64_t ext[TSH_MAX_RANK], bytes = call_bytes(c, 0), wide, dx, dout;
  _Alignas(64) char room[2 * CPU_SHORT_MOST * 8];
  const char *from = call_base(c, 0);
  char *to = call_base(c, 1);
  call_lines lines;
  w.beside = find_beside(c, w.axis);
  wide = x->extent[w.beside];
  dx = x->stride[w.beside] * bytes;
  dout = out->stride[w.beside] * bytes;
  memcpy(ext, x->extent, sizeof *ext * (size_t)call_rank(c, 0));
  ext[w.beside] = 1;
  call_lines_init(&lines, call_rank(c, 0), ext, w.axis);
  call_lines_add(&lines, x->stride, w.axis, -1);
  call_lines_add(&lines, out->stride, w.axis, -1);
  do {
    for (int64_t i = 0; i < wide; i += LANES) {
      int m = wide - i < LANES ? (int)(wide - i) : LANES;
      const char *a = from + lines.at[0] * bytes + i * dx;
      char *b = to + lines.at[1] * bytes + i * dout;
      if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
      if (!sort_lanes(&w, a, b, m)) continue;
      tsh_status rc = sort_single(&w, job, fn, a, b, m, room);
      if (rc != TSH_OK) return rc;
    }
  } while (call_lines_next(&lines));
  return TSH_OK;
}
