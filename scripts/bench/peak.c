/* peak.c - see peak.h. */
#include "peak.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
double peak_cpu_time(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }
double peak_wall_time(void) { return seconds(CLOCK_MONOTONIC); }

/* ---- fma ---------------------------------------------------------------- */
enum { CHAINS = 14, STEPS = 4000, LIMIT = 40 };
static volatile double sink;

#ifdef __x86_64__
#define LOOP(name, level, V, all, fma)                                         \
  static __attribute__((target(level))) void name(void) {                      \
    V x = all(1.0), y = all(1e-30), acc[CHAINS];                               \
    for (int i = 0; i < CHAINS; i++) acc[i] = all(i);                          \
    for (int s = 0; s < STEPS; s++)                                            \
      _Pragma("GCC unroll 14") for (int i = 0; i < CHAINS; i++) acc[i] =       \
          fma(acc[i], x, y);                                                   \
    double total = 0;                                                          \
    for (int i = 0; i < CHAINS; i++) total += (double)acc[i][0];               \
    sink = total;                                                              \
  }
LOOP(fma_v4_f32, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps)
LOOP(fma_v4_f64, "avx512f", __m512d, _mm512_set1_pd, _mm512_fmadd_pd)
LOOP(fma_v3_f32, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps)
LOOP(fma_v3_f64, "avx2,fma", __m256d, _mm256_set1_pd, _mm256_fmadd_pd)
#endif

/* The loop of an instruction set, and operations of one call. */
static void (*loop_of(const char *isa, int is_double, double *flops))(void) {
#ifdef __x86_64__
  int wide = strcmp(isa, "v4") == 0;
  *flops = 2.0 * CHAINS * STEPS * (wide ? 64 : 32) / (is_double ? 8 : 4);
  if (wide) return is_double ? fma_v4_f64 : fma_v4_f32;
  if (strcmp(isa, "v3") == 0) return is_double ? fma_v3_f64 : fma_v3_f32;
#endif
  (void)isa, (void)is_double, (void)flops;
  return NULL;
}

static volatile int stop;
static void *beside(void *fn) {
  while (!stop) (*(void (**)(void))fn)();
  return NULL;
}

double peak_fma(const char *isa, int is_double, int threads) {
  double flops = 0, best = 1e9;
  void (*fn)(void) = loop_of(isa, is_double, &flops);
  pthread_t other;
  if (!fn) return 0;
  stop = 0;
  int two = threads > 1 && pthread_create(&other, NULL, beside, &fn) == 0;
  for (int i = 0; i < LIMIT; i++) {
    double from = two ? peak_wall_time() : peak_cpu_time();
    fn();
    double took = (two ? peak_wall_time() : peak_cpu_time()) - from;
    if (took < best) best = took;
  }
  stop = 1;
  if (two) pthread_join(other, NULL);
  return flops / best * (two ? 2 : 1);
}

/* ---- reading ------------------------------------------------------------ */
double peak_read(uint64_t bytes) {
  uint64_t n = bytes / 8, reps = 1 + (4u << 20) / (bytes + 1);
  uint64_t *p = aligned_alloc(64, n * 8 + 64);
  double best = 1e9;
  if (!p) return 0;
  memset(p, 1, n * 8);
  for (int t = 0; t < 20; t++) {
    double from = peak_cpu_time();
    uint64_t sum[16] = {0};
    for (uint64_t r = 0; r < reps; r++) {
      for (uint64_t i = 0; i + 16 <= n; i += 16)
        for (int l = 0; l < 16; l++) sum[l] += p[i + (uint64_t)l];
      __asm__ volatile("" ::: "memory");
    }
    for (int l = 0; l < 16; l++) sink = sink + (double)sum[l];
    double took = (peak_cpu_time() - from) / (double)reps;
    if (took < best) best = took;
  }
  free(p);
  return (double)bytes / best;
}
