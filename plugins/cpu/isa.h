/* isa.h - for the files that are compiled once per instruction set, with
 * CPU_ISA the name of one. What they share among themselves. */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include <string.h>

#include "cpu.h"

#define CPU_JOIN2(name, isa) name##_##isa
#define CPU_JOIN(name, isa)  CPU_JOIN2(name, isa)
#define CPU_NAME(name)       CPU_JOIN(name, CPU_ISA)
#define CPU_TEXT2(x)         #x
#define CPU_TEXT(x)          CPU_TEXT2(x)

/* Iterations touch lanes of their own, also when the result overwrites an
 * operand. */
#ifdef __clang__
#define CPU_LANES_FREE _Pragma("clang loop vectorize(assume_safety)")
#else
#define CPU_LANES_FREE _Pragma("GCC ivdep")
#endif

/* Row of a dtype in the kernel tables. */
#define CPU_X(name, type, kind) CPU_##name,
enum { CPU_DTYPES(CPU_X) CPU_NDTYPE };
#undef CPU_X

static inline int cpu_row(int dtype) {
  switch (dtype) {
#define CPU_X(name, type, kind)                                                \
  case TSH_##name:                                                             \
    return CPU_##name;
    CPU_DTYPES(CPU_X)
#undef CPU_X
  default:
    return -1;
  }
}

cpu_map_fn *CPU_NAME(cpu_map)(int op, int compute, int dtype);
const cpu_fold *CPU_NAME(cpu_fold)(int op, int compute, int dtype);
/* ---- lanes from and to strided memory (move.c) -------------------------- */
void CPU_NAME(cpu_splat)(void *d, const void *value, size_t n, int size);
/* n elements at s, s + stride, ... */
void CPU_NAME(cpu_gather)(void *d, const void *s, int64_t stride, size_t n,
                          int size);
void CPU_NAME(cpu_scatter)(void *d, const void *s, int64_t stride, size_t n,
                           int size);
/* n points of a space from a cursor on; base: address of its point 0. */
void CPU_NAME(cpu_gather_space)(void *d, const char *base,
                                const int64_t *stride, const cpu_space *space,
                                const cpu_cursor *from, size_t n, int size);
void CPU_NAME(cpu_scatter_space)(char *base, const void *s,
                                 const int64_t *stride, const cpu_space *space,
                                 const cpu_cursor *from, size_t n, int size);
/* start, start + step, ... as i32 or i64 */
void CPU_NAME(cpu_iota)(void *d, int64_t start, int64_t step, size_t n,
                        int size);
void CPU_NAME(cpu_iota_space)(void *d, int64_t start, const int64_t *stride,
                              const cpu_space *space, const cpu_cursor *from,
                              size_t n, int size);
/* Row values, each repeated n times. */
void CPU_NAME(cpu_spread_rows)(void *d, const void *s, size_t rows, size_t n,
                               int size);

#endif
