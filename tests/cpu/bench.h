/* bench.h - what a machine can do at most, to compare kernels with. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>

/* Seconds of this thread's processor, or of the wall. */
double bench_cpu_time(void);
double bench_wall_time(void);

/* Operations per second of independent fma on the widest vectors that the
 * named instruction set has. threads: that many at once, 1 or 2. */
double bench_fma_peak(const char *isa, int is_double, int threads);
/* Bytes per second of reading `bytes` again and again. */
double bench_read_speed(uint64_t bytes);

#endif
