/* scan.c - the CALL ops cumsum and cumprod. tsh_plugin.h says in which order
 * floats are added: blocks of 16. */
#include "call.h"

enum { BLOCK = 16 };

/* n elements of one line; *carry: the last result before, when there is one.
 */
typedef void scan_fn(void *d, const void *s, int64_t n, int64_t dd, int64_t ds,
                     int begun);

#define SCAN(name, T, OP)                                                      \
  static void name(void *to, const void *from, int64_t n, int64_t dd,          \
                   int64_t ds, int begun) {                                    \
    T *d = to, e[BLOCK];                                                       \
    const T *s = from;                                                         \
    for (int64_t at = 0; at < n; at += BLOCK) {                                \
      int64_t m = n - at < BLOCK ? n - at : BLOCK;                             \
      for (int64_t i = 0; i < m; i++) e[i] = s[(at + i) * ds];                 \
      for (int64_t k = 1; k < BLOCK; k *= 2)                                   \
        for (int64_t i = m; i-- > k;) e[i] = (T)(e[i - k] OP e[i]);            \
      if (at > 0 || begun) {                                                   \
        T carry = d[(at - 1) * dd];                                            \
        for (int64_t i = 0; i < m; i++) e[i] = (T)(carry OP e[i]);             \
      }                                                                        \
      for (int64_t i = 0; i < m; i++) d[(at + i) * dd] = e[i];                 \
    }                                                                          \
  }

#define BOTH_F(name, T) SCAN(sum_##name, T, +) SCAN(prod_##name, T, *)
#define BOTH_I(name, T) BOTH_F(name, T)
#define BOTH_B(name, T)
#define CPU_X(name, T, kind) BOTH_##kind(name, T)
CPU_DTYPES(CPU_X)
#undef CPU_X

#define CASE_F(name)                                                           \
  case TSH_##name:                                                             \
    return op == TSH_OP_cumsum ? sum_##name : prod_##name;
#define CASE_I(name) CASE_F(name)
#define CASE_B(name)
static scan_fn *scan_of(int op, int dtype) {
  switch (dtype) {
#define CPU_X(name, T, kind) CASE_##kind(name)
    CPU_DTYPES(CPU_X)
#undef CPU_X
  default:
    return NULL;
  }
}

tsh_status cpu_scan(const cpu_call *c) {
  const tsh_view *x = call_view(c, 0), *out = call_view(c, 1);
  int axis = (int)c->prog->attr[0];
  int64_t n = x->extent[axis], bytes = call_bytes(c, 0);
  int64_t dx = x->stride[axis], dout = out->stride[axis];
  const char *from = call_base(c, 0);
  char *to = call_base(c, 1);
  scan_fn *fn = scan_of(c->prog->op, call_dtype(c, 0));
  call_lines w;
  call_lines_init(&w, call_rank(c, 0), x->extent, axis);
  call_lines_add(&w, x->stride, axis, -1);
  call_lines_add(&w, out->stride, axis, -1);
  do {
    for (int64_t i = 0; i < n; i += CALL_PIECE) {
      if (cpu_cancelled(c->run)) return TSH_ECANCELLED;
      fn(to + (w.at[1] + i * dout) * bytes, from + (w.at[0] + i * dx) * bytes,
         n - i < CALL_PIECE ? n - i : CALL_PIECE, dout, dx, i > 0);
    }
  } while (call_lines_next(&w));
  return TSH_OK;
}
