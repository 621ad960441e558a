/* keys.c - elements of every dtype to keys and back, per instruction set. A
 * key is 4 bytes wide, or 8 for elements of 8 bytes; keys are in order as
 * unsigned integers: NaN (one of them all) behind the rest, -0 beside +0. */
#include "isa.h"

/* X(dtype, type of its bits, key, key of bits b, bits of key k, has -0).
 * FLOAT: sign and infinity of its bits. */
#define FLOAT_KEY(U, inf)                                                      \
  ((b & (U)(TOP(U) - 1)) > (U)(inf) ? (U)-1                                    \
   : b == TOP(U)                    ? TOP(U)                                   \
   : b & TOP(U)                     ? (U)~b                                    \
                                    : (U)(b | TOP(U)))
#define FLOAT_BITS(U, nan)                                                     \
  ((U)k == (U)-1 ? (U)(nan) : (U)k & TOP(U) ? (U)((U)k ^ TOP(U)) : (U) ~(U)k)
#define TOP(U) ((U)((U)1 << (8 * sizeof(U) - 1)))

#define KEY_DTYPES(X)                                                          \
  X(bool, uint8_t, uint32_t, b, (uint8_t)k, 0)                                 \
  X(u8, uint8_t, uint32_t, b, (uint8_t)k, 0)                                   \
  X(i8, uint8_t, uint32_t, b ^ TOP(uint8_t), (uint8_t)(k ^ TOP(uint8_t)), 0)   \
  X(u16, uint16_t, uint32_t, b, (uint16_t)k, 0)                                \
  X(i16, uint16_t, uint32_t, b ^ TOP(uint16_t), (uint16_t)(k ^ TOP(uint16_t)), \
    0)                                                                         \
  X(u32, uint32_t, uint32_t, b, k, 0)                                          \
  X(i32, uint32_t, uint32_t, b ^ TOP(uint32_t), k ^ TOP(uint32_t), 0)          \
  X(u64, uint64_t, uint64_t, b, k, 0)                                          \
  X(i64, uint64_t, uint64_t, b ^ TOP(uint64_t), k ^ TOP(uint64_t), 0)          \
  X(f16, uint16_t, uint32_t, FLOAT_KEY(uint16_t, 0x7c00),                      \
    FLOAT_BITS(uint16_t, 0x7e00), 1)                                           \
  X(bf16, uint16_t, uint32_t, FLOAT_KEY(uint16_t, 0x7f80),                     \
    FLOAT_BITS(uint16_t, 0x7fc0), 1)                                           \
  X(f32, uint32_t, uint32_t, FLOAT_KEY(uint32_t, 0x7f800000),                  \
    FLOAT_BITS(uint32_t, 0x7fc00000), 1)                                       \
  X(f64, uint64_t, uint64_t, FLOAT_KEY(uint64_t, 0x7ff0000000000000),          \
    FLOAT_BITS(uint64_t, 0x7ff8000000000000), 1)

/* Keys are of the width of the dtype, so what turns their order must be. */
#define MASK(T, K) ((K)(T)-1)

#define DEFINE(name, T, K, key, bits, zero)                                    \
  static int load_##name(void *keys, const void *from, int64_t n,              \
                         int64_t step, int down) {                             \
    const T *x = from;                                                         \
    K *out = keys, turn = down ? MASK(T, K) : 0;                               \
    unsigned minus = 0;                                                        \
    if (step == 1) {                                                           \
      for (int64_t i = 0; i < n; i++) {                                        \
        T b = x[i];                                                            \
        if (zero) minus |= b == TOP(T);                                        \
        out[i] = (K)(key) ^ turn;                                              \
      }                                                                        \
    } else {                                                                   \
      for (int64_t i = 0; i < n; i++) {                                        \
        T b = x[i * step];                                                     \
        if (zero) minus |= b == TOP(T);                                        \
        out[i] = (K)(key) ^ turn;                                              \
      }                                                                        \
    }                                                                          \
    return (int)minus;                                                         \
  }                                                                            \
  static void store_##name(void *to, const void *keys, int64_t n,              \
                           int64_t step, int down) {                           \
    T *x = to;                                                                 \
    const K *in = keys, turn = down ? MASK(T, K) : 0;                          \
    if (step == 1) {                                                           \
      for (int64_t i = 0; i < n; i++) {                                        \
        K k = in[i] ^ turn;                                                    \
        x[i] = bits;                                                           \
      }                                                                        \
    } else {                                                                   \
      for (int64_t i = 0; i < n; i++) {                                        \
        K k = in[i] ^ turn;                                                    \
        x[i * step] = bits;                                                    \
      }                                                                        \
    }                                                                          \
  }
KEY_DTYPES(DEFINE)
#undef DEFINE

/* ---- what is below a limit ---------------------------------------------- */
#define BELOW(name, K)                                                         \
  static int64_t name(const void *keys, int64_t n, uint64_t limit) {           \
    const K *x = keys, top = (K)limit;                                         \
    int64_t i = 0;                                                             \
    for (; i + 64 <= n; i += 64) {                                             \
      K any = 0;                                                               \
      for (int k = 0; k < 64; k++) any |= (K)(x[i + k] < top ? 1 : 0);         \
      if (any) break;                                                          \
    }                                                                          \
    while (i < n && x[i] >= top) i++;                                          \
    return i;                                                                  \
  }
BELOW(below_32, uint32_t)
BELOW(below_64, uint64_t)

/* ---- short lines -------------------------------------------------------- */
/* Each round orders neighbours, from the first or the second on; after n rounds
 * every lane is in order, whatever its keys are. */
void cpu_sort_short(uint32_t (*row)[CPU_SHORT_LANES], int n) {
  for (int i = 0; i < n; i++)
    for (int j = i & 1; j + 1 < n; j += 2) {
      uint32_t *x = row[j], *y = row[j + 1];
      CPU_LANES_FREE
      for (int l = 0; l < CPU_SHORT_LANES; l++) {
        uint32_t a = x[l], b = y[l];
        x[l] = a < b ? a : b;
        y[l] = a < b ? b : a;
      }
    }
}

const cpu_keys *cpu_keys_get(int dtype) {
#define ROW(name, T, K, key, bits, zero)                                       \
  [TSH_##name] = {load_##name, store_##name,                                   \
                  sizeof(K) == 8 ? below_64 : below_32, sizeof(K) == 8},
  static const cpu_keys rows[TSH_NDTYPE] = {KEY_DTYPES(ROW)};
#undef ROW
  return dtype >= 0 && dtype < TSH_NDTYPE && rows[dtype].load ? &rows[dtype]
                                                              : NULL;
}
