/* safetensors.h - what reading and writing of safetensors files share. */
#ifndef FILE_SAFETENSORS_H
#define FILE_SAFETENSORS_H

#include "format.h"

/* X(name, dtype or 0: tsh has none, bits of an element) */
#define SAFE_DTYPES(X)                                                         \
  X(BOOL, TSH_bool, 8)                                                         \
  X(U8, TSH_u8, 8)                                                             \
  X(I8, TSH_i8, 8)                                                             \
  X(I16, TSH_i16, 16)                                                          \
  X(U16, TSH_u16, 16)                                                          \
  X(F16, TSH_f16, 16)                                                          \
  X(BF16, TSH_bf16, 16)                                                        \
  X(I32, TSH_i32, 32)                                                          \
  X(U32, TSH_u32, 32)                                                          \
  X(F32, TSH_f32, 32)                                                          \
  X(F64, TSH_f64, 64)                                                          \
  X(I64, TSH_i64, 64)                                                          \
  X(U64, TSH_u64, 64)                                                          \
  X(C64, TSH_c64, 64)                                                          \
  X(F8_E5M2, 0, 8)                                                             \
  X(F8_E4M3, 0, 8)                                                             \
  X(F8_E8M0, 0, 8)                                                             \
  X(F8_E5M2FNUZ, 0, 8)                                                         \
  X(F8_E4M3FNUZ, 0, 8)                                                         \
  X(F6_E2M3, 0, 6)                                                             \
  X(F6_E3M2, 0, 6)                                                             \
  X(F4, 0, 4)

#define SAFE_METADATA "__metadata__"
enum { SAFE_HEADER = 100000000 }; /* bytes, the format's own limit */

#endif
