/* put.c - how index_mul, index_max and index_min combine, for each dtype. */
#include <math.h>

#include "call.h"

#define RUN(op, name, T, expr)                                                 \
  static void op##_##name(void *to, const void *from, int64_t n, int64_t dd,   \
                          int64_t ds) {                                        \
    T *d = to;                                                                 \
    const T *s = from;                                                         \
    for (int64_t i = 0; i < n; i++, d += dd, s += ds) {                        \
      const T a = *d, b = *s;                                                  \
      *d = (T)(expr);                                                          \
    }                                                                          \
  }

/* As the op table says it of maximum and minimum. */
#define RUN_F(name, T)                                                         \
  RUN(mul, name, T, a *b)                                                      \
  RUN(max, name, T, a > b || a != a || (a == b && !signbit(a)) ? a : b)        \
  RUN(min, name, T, a < b || a != a || (a == b && signbit(a)) ? a : b)
/* Products wrap. */
#define RUN_I(name, T)                                                         \
  RUN(mul, name, T, (uint64_t)a *(uint64_t)b)                                  \
  RUN(max, name, T, a > b ? a : b)                                             \
  RUN(min, name, T, a < b ? a : b)
#define RUN_B(name, T)
#define CPU_X(name, T, kind) RUN_##kind(name, T)
CPU_DTYPES(CPU_X)
#undef CPU_X

#define CASE_F(name)                                                           \
  case TSH_##name:                                                             \
    return op == TSH_OP_index_mul   ? mul_##name                               \
           : op == TSH_OP_index_max ? max_##name                               \
                                    : min_##name;
#define CASE_I(name) CASE_F(name)
#define CASE_B(name)
cpu_slab_fn *cpu_put_get(int op, int dtype) {
  if (op == TSH_OP_index_set) return NULL;
  switch (dtype) {
#define CPU_X(name, T, kind) CASE_##kind(name)
    CPU_DTYPES(CPU_X)
#undef CPU_X
  default:
    return NULL;
  }
}

int cpu_put_has(int op, int dtype) {
  return op < TSH_OP_index_mul || op > TSH_OP_index_min ||
         cpu_put_get(op, dtype) != NULL;
}
