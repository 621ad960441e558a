/* scan.c - the CALL ops cumsum and cumprod: which lines and columns there are.
 */
#include <string.h>

#include "call.h"

/* Lines along the axis, one at a time. */
static tsh_status lines(const cpu_call *c, const cpu_scans *fn, int axis) {
  const tsh_view *x = call_view(c, 0), *out = call_view(c, 1);
  int64_t n = x->extent[axis], bytes = call_bytes(c, 0);
  int64_t dx = x->stride[axis], dout = out->stride[axis];
  const char *from = call_base(c, 0);
  char *to = call_base(c, 1);
  cpu_scan_fn *scan = dx == 1 && dout == 1 ? fn->dense : fn->line;
  call_lines w;
  call_lines_init(&w, call_rank(c, 0), x->extent, axis);
  call_lines_add(&w, x->stride, axis, -1);
  call_lines_add(&w, out->stride, axis, -1);
  do {
    for (int64_t i = 0; i < n; i += CALL_PIECE) {
      if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
      scan(to + (w.at[1] + i * dout) * bytes, from + (w.at[0] + i * dx) * bytes,
           n - i < CALL_PIECE ? n - i : CALL_PIECE, dout, dx, i > 0);
    }
  } while (call_lines_next(&w));
  return TSH_OK;
}

enum { COLUMNS = CALL_PIECE / CPU_SCAN_BLOCK }; /* at a time */

/* Columns along the axis whose elements lie together along the last one. */
static tsh_status columns(const cpu_call *c, const cpu_scans *fn, int axis) {
  const tsh_view *x = call_view(c, 0), *out = call_view(c, 1);
  int last = call_rank(c, 0) - 1;
  int64_t n = x->extent[axis], wide = x->extent[last], bytes = call_bytes(c, 0);
  int64_t dx = x->stride[axis], dout = out->stride[axis];
  int64_t rows = CALL_PIECE / wide / CPU_SCAN_BLOCK * CPU_SCAN_BLOCK;
  int64_t ext[TSH_MAX_RANK];
  const char *from = call_base(c, 0);
  char *to = call_base(c, 1);
  call_lines w;
  memcpy(ext, x->extent, sizeof *ext * (size_t)(last + 1));
  ext[axis] = 1;
  if (rows == 0) rows = CPU_SCAN_BLOCK;
  call_lines_init(&w, last + 1, ext, last);
  call_lines_add(&w, x->stride, last, -1);
  call_lines_add(&w, out->stride, last, -1);
  do {
    for (int64_t i = 0; i < n; i += rows) {
      int64_t m = n - i < rows ? n - i : rows;
      for (int64_t k = 0; k < wide; k += COLUMNS) {
        if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
        fn->cols(to + (w.at[1] + i * dout + k) * bytes,
                 from + (w.at[0] + i * dx + k) * bytes, m, dout, dx,
                 wide - k < COLUMNS ? wide - k : COLUMNS, i > 0);
      }
    }
  } while (call_lines_next(&w));
  return TSH_OK;
}

tsh_status cpu_scan(const cpu_call *c) {
  const tsh_view *x = call_view(c, 0), *out = call_view(c, 1);
  int axis = (int)c->prog->attr[0], last = call_rank(c, 0) - 1;
  const cpu_scans *fn = c->isa->scans(c->prog->op, call_dtype(c, 0));
  if (axis != last && x->stride[last] == 1 && out->stride[last] == 1 &&
      x->extent[last] > 1)
    return columns(c, fn, axis);
  return lines(c, fn, axis);
}
