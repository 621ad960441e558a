/* cells.c - elements in memory: byte order, booleans, other dtypes. */
#include <stdint.h>
#include <string.h>
#include "format.h"

void file_swap(void *cells, uint64_t bytes, uint32_t each) {
  unsigned char *p = cells;
  switch (each) {
  case 2:
    for (uint64_t i = 0; i + 2 <= bytes; i += 2) {
      uint16_t v;
      memcpy(&v, p + i, 2);
      v = __builtin_bswap16(v);
      memcpy(p + i, &v, 2);
    }
    break;
  case 4:
    for (uint64_t i = 0; i + 4 <= bytes; i += 4) {
      uint32_t v;
      memcpy(&v, p + i, 4);
      v = __builtin_bswap32(v);
      memcpy(p + i, &v, 4);
    }
    break;
  case 8:
    for (uint64_t i = 0; i + 8 <= bytes; i += 8) {
      uint64_t v;
      memcpy(&v, p + i, 8);
      v = __builtin_bswap64(v);
      memcpy(p + i, &v, 8);
    }
    break;
  default:
    break;
  }
}

void file_booleans(void *cells, uint64_t bytes) {
  unsigned char *p = cells;
  for (uint64_t i = 0; i < bytes; i++) p[i] = p[i] != 0;
}

/* ---- other dtypes ---------------------------------------------------------
 */

static float from_bf16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float f;
  memcpy(&f, &wide, sizeof f);
  return f;
}

/* The fraction moves to where f32 has it; powers of two do the rest. */
static float from_f16(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fffu;
  uint32_t wide = rest << 13;
  float f;
  if (rest >= 0x7c00) {
    wide |= sign | 0x7f800000;
    memcpy(&f, &wide, sizeof f);
    return f;
  }
  memcpy(&f, &wide, sizeof f);
  f *= 0x1p112f;
  return sign ? -f : f;
}

#define AS_IS(v) (v)

#define CONVERT(type, get, out)                                                \
  for (uint64_t i = 0; i < n; i++) {                                           \
    type v;                                                                    \
    memcpy(&v, (const char *)from + i * sizeof v, sizeof v);                   \
    ((out *)to)[i] = (out)get(v);                                              \
  }                                                                            \
  return

#define FROM_INT(id, type)                                                     \
  case TSH_##id:                                                               \
    switch (as) {                                                              \
    case TSH_i32:                                                              \
      CONVERT(type, AS_IS, int32_t);                                           \
    case TSH_i64:                                                              \
      CONVERT(type, AS_IS, int64_t);                                           \
    case TSH_f32:                                                              \
      CONVERT(type, AS_IS, float);                                             \
    default:                                                                   \
      CONVERT(type, AS_IS, double);                                            \
    }

#define FROM_HALF(id, get)                                                     \
  case TSH_##id:                                                               \
    if (as == TSH_f32) {                                                       \
      CONVERT(uint16_t, get, float);                                           \
    }                                                                          \
    CONVERT(uint16_t, get, double);

static void convert(const void *from, int dtype, void *to, int as, uint64_t n) {
  switch (dtype) {
    FROM_INT(bool, uint8_t)
    FROM_INT(i8, int8_t)
    FROM_INT(i16, int16_t)
    FROM_INT(i32, int32_t)
    FROM_INT(i64, int64_t)
    FROM_INT(u8, uint8_t)
    FROM_INT(u16, uint16_t)
    FROM_INT(u32, uint32_t)
    FROM_INT(u64, uint64_t)
    FROM_HALF(f16, from_f16)
    FROM_HALF(bf16, from_bf16)
  default:
    return;
  }
}

/* Which of them leaves the range of the integer dtype. */
static uint64_t find_misfit(const void *from, int dtype, int as, uint64_t n) {
  int64_t least = as == TSH_i32 ? INT32_MIN : INT64_MIN;
  int64_t most = as == TSH_i32 ? INT32_MAX : INT64_MAX;
  for (uint64_t i = 0; i < n; i++) {
    int fits = 1;
    if (dtype == TSH_u64) {
      uint64_t v;
      memcpy(&v, (const char *)from + i * 8, 8);
      fits = v <= (uint64_t)most;
    } else if (dtype == TSH_i64) {
      int64_t v;
      memcpy(&v, (const char *)from + i * 8, 8);
      fits = v >= least && v <= most;
    } else if (dtype == TSH_u32 && as == TSH_i32) {
      uint32_t v;
      memcpy(&v, (const char *)from + i * 4, 4);
      fits = v <= INT32_MAX;
    }
    if (!fits) return i + 1;
  }
  return 0;
}

uint64_t file_convert(const void *from, int dtype, void *to, int as,
                      uint64_t n) {
  uint64_t bad = 0;
  if (as == TSH_i32 || as == TSH_i64) bad = find_misfit(from, dtype, as, n);
  if (!bad) convert(from, dtype, to, as, n);
  return bad;
}

int file_converts(int from, int to) {
  int kind = plan_dtype_kind(from);
  if (from == to) return 1;
  if (from == TSH_f16 || from == TSH_bf16)
    return to == TSH_f32 || to == TSH_f64;
  if (kind != TSH_KIND_BOOL && kind != TSH_KIND_INT && kind != TSH_KIND_UINT)
    return 0;
  return to == TSH_i32 || to == TSH_i64 || to == TSH_f32 || to == TSH_f64;
}
