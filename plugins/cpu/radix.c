/* radix.c - radix sorts of keys: the lowest digit first, all digits counted in
 * one walk, a digit that all keys share is passed over. So no input is slow. */
#include <string.h>

#include "order.h"

enum {
  FEW = 32, /* are sorted by insertion */
  BITS = 8, /* of a digit */
  DIGITS = 1 << BITS,
  MOST = 64 / BITS /* digits of a key */
};

/* By moving the smaller of two on, which has no branch to be guessed. */
#define FEW_WHOLE(name, T)                                                     \
  static void name##_few(T *x, int64_t n) {                                    \
    for (int64_t i = 1; i < n; i++) {                                          \
      T v = x[i];                                                              \
      for (int64_t j = i; j > 0; j--) {                                        \
        T w = x[j - 1];                                                        \
        x[j] = w > v ? w : v;                                                  \
        v = w > v ? v : w;                                                     \
      }                                                                        \
      x[0] = v;                                                                \
    }                                                                          \
  }
FEW_WHOLE(sort_32, uint32_t)
FEW_WHOLE(sort_64, uint64_t)

static void sort_pair_few(order_pair *x, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    order_pair v = x[i];
    int64_t j = i;
    for (; j > 0 && x[j - 1].key > v.key; j--) x[j] = x[j - 1];
    x[j] = v;
  }
}

/* first, end: the digits of the key that count. */
#define RADIX(name, T, KEY)                                                    \
  static void name##_count(int64_t(*count)[DIGITS], const T *x, int64_t n,     \
                           int first, int end) {                               \
    for (int64_t i = 0; i < n; i++)                                            \
      for (int d = first; d < end; d++)                                        \
        count[d][KEY(x[i]) >> (d * BITS) & (DIGITS - 1)]++;                    \
  }                                                                            \
  static void name##_move(T *to, const T *x, int64_t n, int64_t *at,           \
                          int shift) {                                         \
    for (int64_t i = 0; i < n; i++)                                            \
      to[at[KEY(x[i]) >> shift & (DIGITS - 1)]++] = x[i];                      \
  }                                                                            \
  static T *name(const cpu_run *run, T *x, T *other, int64_t n, int first,     \
                 int end) {                                                    \
    int64_t count[MOST][DIGITS];                                               \
    if (n <= FEW) {                                                            \
      name##_few(x, n);                                                        \
      return x;                                                                \
    }                                                                          \
    memset(count[first], 0, sizeof *count *(size_t)(end - first));             \
    for (int64_t i = 0; i < n; i += CALL_PIECE) {                              \
      if (cpu_cancelled(run)) return NULL;                                     \
      name##_count(count, x + i, n - i < CALL_PIECE ? n - i : CALL_PIECE,      \
                   first, end);                                                \
    }                                                                          \
    for (int d = first; d < end; d++) {                                        \
      T *swap = x;                                                             \
      if (!starts(count[d], n)) continue;                                      \
      for (int64_t i = 0; i < n; i += CALL_PIECE) {                            \
        if (cpu_cancelled(run)) return NULL;                                   \
        name##_move(other, x + i, n - i < CALL_PIECE ? n - i : CALL_PIECE,     \
                    count[d], d * BITS);                                       \
      }                                                                        \
      x = other;                                                               \
      other = swap;                                                            \
    }                                                                          \
    return x;                                                                  \
  }

/* Counts become where each digit's keys begin. 0: all keys have one digit. */
static int starts(int64_t *count, int64_t n) {
  int64_t sum = 0;
  for (int k = 0; k < DIGITS; k++) {
    int64_t more = count[k];
    if (more == n) return 0;
    count[k] = sum;
    sum += more;
  }
  return 1;
}

#define SELF(x) (x)
#define KEY(x)  ((x).key)
RADIX(sort_32, uint32_t, SELF)
RADIX(sort_64, uint64_t, SELF)
RADIX(sort_pair, order_pair, KEY)

uint32_t *order_32(const cpu_run *run, uint32_t *x, uint32_t *other,
                   int64_t n) {
  return sort_32(run, x, other, n, 0, 32 / BITS);
}

uint64_t *order_64(const cpu_run *run, uint64_t *x, uint64_t *other,
                   int64_t n) {
  return sort_64(run, x, other, n, 0, 64 / BITS);
}

uint64_t *order_64_of(const cpu_run *run, uint64_t *x, uint64_t *other,
                      int64_t n) {
  return sort_64(run, x, other, n, 32 / BITS, 64 / BITS);
}

order_pair *order_pairs(const cpu_run *run, order_pair *x, order_pair *other,
                        int64_t n, int digits) {
  return sort_pair(run, x, other, n, 0, digits);
}
