/* table.c - the op table and the dtypes as rows, and the two tables of
 * judgement: how far a function may be off, and what is not judged. */
#include <string.h>

#include "cf.h"

/* What `takes` names. */
enum {
  MASK_B = TSH_BIT(TSH_bool),
  MASK_I = TSH_BIT(TSH_i8) | TSH_BIT(TSH_i16) | TSH_BIT(TSH_i32) |
           TSH_BIT(TSH_i64) | TSH_BIT(TSH_u8) | TSH_BIT(TSH_u16) |
           TSH_BIT(TSH_u32) | TSH_BIT(TSH_u64),
  MASK_F = TSH_BIT(TSH_f16) | TSH_BIT(TSH_bf16) | TSH_BIT(TSH_f32) |
           TSH_BIT(TSH_f64),
  MASK_FI = MASK_F | MASK_I,
  MASK_IB = MASK_I | MASK_B,
  MASK_FIB = MASK_F | MASK_I | MASK_B
};

/* Ulp allowed, one table: the function, then f32, f64, f16 and bf16. The
 * reference is libm of the next wider type, rounded. Every op that is not
 * named here is exact. */
#define CF_LIMITS(X)                                                           \
  X(exp, 4, 4, 1)                                                              \
  X(expm1, 4, 4, 1)                                                            \
  X(log, 4, 4, 1)                                                              \
  X(log1p, 4, 4, 1)                                                            \
  X(sin, 4, 4, 1)                                                              \
  X(cos, 4, 4, 1)                                                              \
  X(tanh, 4, 4, 1)                                                             \
  X(sigmoid, 4, 4, 1)                                                          \
  X(erf, 8, 8, 1)                                                              \
  X(pow, 8, 8, 1)

#define CF_X(id, name, class, arity, takes, gives, start, fexpr, iexpr, doc)   \
  {id, CF_##class, arity, CF_##gives, CF_##start, MASK_##takes, #name},
const cf_row cf_rows[] = {TSH_OPS(CF_X)};
#undef CF_X
const int cf_nrows = sizeof cf_rows / sizeof *cf_rows;

const cf_row *cf_row_get(int op) {
  for (int i = 0; i < cf_nrows; i++)
    if (cf_rows[i].id == op) return &cf_rows[i];
  return NULL;
}

typedef struct {
  const char *name;
  uint32_t bytes;
  int kind;
} dtype_row;

#define CF_X(id, name, type, bytes, kind) [id] = {#name, bytes, kind},
static const dtype_row dtypes[TSH_NDTYPE] = {TSH_DTYPES(CF_X)};
#undef CF_X

int cf_kind(int dtype) {
  return dtype < 0 || dtype >= TSH_NDTYPE ? 0 : dtypes[dtype].kind;
}

uint32_t cf_bytes(int dtype) {
  return cf_kind(dtype) ? dtypes[dtype].bytes : 0;
}

const char *cf_dtype_name(int dtype) {
  return cf_kind(dtype) ? dtypes[dtype].name : "?";
}

int cf_is_half(int dtype) { return dtype == TSH_f16 || dtype == TSH_bf16; }

const char *cf_status_name(int status) {
#define CF_X(id, name, text) [id] = #name,
  static const char *const names[] = {TSH_STATUSES(CF_X)};
#undef CF_X
  return status < 0 || status >= TSH_NSTATUS ? "unknown" : names[status];
}

int cf_has(const cf *t, int op, int dtype) {
  const cf_row *row = cf_row_get(op);
  if (!row || !(row->takes & TSH_BIT(dtype))) return 0;
  return (uint32_t)op < t->props.nops &&
         (t->props.op_types[op] & TSH_BIT(dtype)) != 0;
}

int cf_stores(const cf *t, int dtype) {
  return (t->props.storage & TSH_BIT(dtype)) != 0;
}

uint32_t cf_limit(int op, int dtype) {
  switch (op) {
#define CF_X(name, single, twice, half)                                        \
  case TSH_OP_##name:                                                          \
    return dtype == TSH_f32    ? single                                        \
           : dtype == TSH_f64  ? twice                                         \
           : cf_is_half(dtype) ? half                                          \
                               : 0;
    CF_LIMITS(CF_X)
#undef CF_X
  default:
    return 0;
  }
}

int cf_judged(int op, int dtype) {
  switch (op) {
  /* A fold of halves is recorded as a fold of f32. */
  case TSH_OP_sum:
  case TSH_OP_prod:
  case TSH_OP_dot:
    return !cf_is_half(dtype);
  case TSH_OP_bitnot:
    return dtype != TSH_bool; /* "not of a bool" */
  case TSH_OP_random:
    return dtype == TSH_i64;
  default:
    return 1;
  }
}
