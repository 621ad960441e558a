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

/* The functions below have one name in the sources and one per instruction set
 * in the objects. */
#define cpu_map_get       CPU_NAME(cpu_map_get)
#define cpu_fold_get      CPU_NAME(cpu_fold_get)
#define cpu_splat         CPU_NAME(cpu_splat)
#define cpu_gather        CPU_NAME(cpu_gather)
#define cpu_scatter       CPU_NAME(cpu_scatter)
#define cpu_gather_space  CPU_NAME(cpu_gather_space)
#define cpu_gather_pair   CPU_NAME(cpu_gather_pair)
#define cpu_scatter_pair  CPU_NAME(cpu_scatter_pair)
#define cpu_scatter_space CPU_NAME(cpu_scatter_space)
#define cpu_iota          CPU_NAME(cpu_iota)
#define cpu_iota_space    CPU_NAME(cpu_iota_space)
#define cpu_spread_rows   CPU_NAME(cpu_spread_rows)
#define cpu_run_steps     CPU_NAME(cpu_run_steps)
#define cpu_uniforms      CPU_NAME(cpu_uniforms)
#define cpu_ports         CPU_NAME(cpu_ports)
#define cpu_load          CPU_NAME(cpu_load)
#define cpu_aim           CPU_NAME(cpu_aim)
#define cpu_store         CPU_NAME(cpu_store)
#define cpu_block         CPU_NAME(cpu_block)
#define cpu_walk          CPU_NAME(cpu_walk)
#define cpu_rows          CPU_NAME(cpu_rows)
#define cpu_rows_begin    CPU_NAME(cpu_rows_begin)
#define cpu_rows_stage    CPU_NAME(cpu_rows_stage)
#define cpu_rows_pass     CPU_NAME(cpu_rows_pass)
#define cpu_long_row      CPU_NAME(cpu_long_row)
#define cpu_long_rows     CPU_NAME(cpu_long_rows)
#define cpu_cols          CPU_NAME(cpu_cols)
#define cpu_program       CPU_NAME(cpu_program)
#define cpu_gemm          CPU_NAME(cpu_gemm)
#define cpu_keys_get      CPU_NAME(cpu_keys_get)
#define cpu_scans_get     CPU_NAME(cpu_scans_get)
#define cpu_sort_short    CPU_NAME(cpu_sort_short)

/* Iterations touch lanes of their own, also when the result overwrites an
 * operand. */
#ifdef __clang__
#define CPU_LANES_FREE _Pragma("clang loop vectorize(assume_safety)")
#else
#define CPU_LANES_FREE _Pragma("GCC ivdep")
#endif

/* Offset of a cursor along axes 0 to last. There are few: without the barrier
 * compilers make vectors of them, which costs more than it saves. */
static inline int64_t cpu_cursor_at(const cpu_cursor *c, const int64_t *stride,
                                    int last) {
  int64_t at = 0;
  for (int k = 0; k <= last; k++) {
    at += c->idx[k] * stride[k];
    __asm__("" : "+r"(at));
  }
  return at;
}

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

cpu_map_fn *cpu_map_get(int op, int compute, int dtype);
const cpu_fold *cpu_fold_get(int op, int compute, int dtype);
const cpu_keys *cpu_keys_get(int dtype);
const cpu_scans *cpu_scans_get(int op, int dtype);
cpu_short_fn cpu_sort_short;
/* ---- lanes from and to strided memory (move.c) -------------------------- */
void cpu_splat(void *d, const void *value, size_t n, int size);
/* n elements at s, s + stride, ... */
void cpu_gather(void *d, const void *s, int64_t stride, size_t n, int size);
void cpu_scatter(void *d, const void *s, int64_t stride, size_t n, int size);
/* n points of a space from a cursor on; base: address of its point 0. */
void cpu_gather_space(void *d, const char *base, const int64_t *stride,
                      const cpu_space *space, const cpu_cursor *from, size_t n,
                      int size);
void cpu_scatter_space(char *base, const void *s, const int64_t *stride,
                       const cpu_space *space, const cpu_cursor *from, size_t n,
                       int size);
/* Two of 4 bytes whose elements lie in turn, the first one's at base. */
void cpu_gather_pair(void *one, void *two, const char *base,
                     const int64_t *stride, const cpu_space *space,
                     const cpu_cursor *from, size_t n);
void cpu_scatter_pair(char *base, const void *one, const void *two,
                      const int64_t *stride, const cpu_space *space,
                      const cpu_cursor *from, size_t n);
/* start, start + step, ... as i32 or i64 */
void cpu_iota(void *d, int64_t start, int64_t step, size_t n, int size);
void cpu_iota_space(void *d, int64_t start, const int64_t *stride,
                    const cpu_space *space, const cpu_cursor *from, size_t n,
                    int size);
/* Row values, each repeated n times. */
void cpu_spread_rows(void *d, const void *s, size_t rows, size_t n, int size);

#endif
