/* peak.h - what a machine can do at most, to compare kernels with. */
#ifndef PEAK_H
#define PEAK_H

#include <stdint.h>

/* Seconds of this thread's processor, or of the wall. */
double peak_cpu_time(void);
double peak_wall_time(void);

/* Operations per second of independent fma on the widest vectors that the
 * named instruction set has. threads: that many at once, 1 or 2. */
double peak_fma(const char *isa, int is_double, int threads);
/* Bytes per second of reading `bytes` again and again. */
double peak_read(uint64_t bytes);

#endif
