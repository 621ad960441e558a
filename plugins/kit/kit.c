/* kit.c - the tables of tsh_plugin.h as data, and errors. */
#include "kit.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- dtypes ------------------------------------------------------------- */
uint32_t kit_dtype_bytes(int dtype) {
#define KIT_X(id, name, type, bytes, kind) [id] = bytes,
  static const uint8_t size[TSH_NDTYPE] = {TSH_DTYPES(KIT_X)};
#undef KIT_X
  return dtype >= 0 && dtype < TSH_NDTYPE ? size[dtype] : 0;
}

const char *kit_dtype_name(int dtype) {
#define KIT_X(id, name, type, bytes, kind) [id] = #name,
  static const char *const text[TSH_NDTYPE] = {TSH_DTYPES(KIT_X)};
#undef KIT_X
  const char *s = dtype >= 0 && dtype < TSH_NDTYPE ? text[dtype] : NULL;
  return s ? s : "no dtype";
}

/* ---- ops ---------------------------------------------------------------- */
enum {
  KIT_TAKES_B = TSH_BIT(TSH_bool),
  KIT_TAKES_I = TSH_BIT(TSH_i8) | TSH_BIT(TSH_i16) | TSH_BIT(TSH_i32) |
                TSH_BIT(TSH_i64) | TSH_BIT(TSH_u8) | TSH_BIT(TSH_u16) |
                TSH_BIT(TSH_u32) | TSH_BIT(TSH_u64),
  KIT_TAKES_HALF = TSH_BIT(TSH_f16) | TSH_BIT(TSH_bf16),
  KIT_TAKES_F = KIT_TAKES_HALF | TSH_BIT(TSH_f32) | TSH_BIT(TSH_f64),
  KIT_TAKES_FI = KIT_TAKES_F | KIT_TAKES_I,
  KIT_TAKES_IB = KIT_TAKES_I | KIT_TAKES_B,
  KIT_TAKES_FIB = KIT_TAKES_FI | KIT_TAKES_B
};

const kit_op *kit_op_get(int op) {
#define KIT_X(id, name, class, arity, takes, gives, start, ...)                \
  [id] = {id,          KIT_##class, arity, KIT_TAKES_##takes,                  \
          KIT_##gives, KIT_##start, #name},
  static const kit_op table[TSH_NOPS] = {TSH_OPS(KIT_X)};
#undef KIT_X
  return op >= 0 && op < TSH_NOPS && table[op].name ? &table[op] : NULL;
}

const char *kit_op_name(int op) {
  static const char *const form[] = {"program", "load",  "index_of",
                                     "scalar",  "const", "store"};
  const kit_op *row = kit_op_get(op);
  if (row) return row->name;
  return op >= 0 && op <= TSH_OP_STORE ? form[op] : NULL;
}

/* ---- errors ------------------------------------------------------------- */
/* A host of an older version may have room for the first fields only. */
#define HAS(err, field)                                                        \
  ((err)->size >= offsetof(tsh_err, field) + sizeof((err)->field))

static size_t text_room(const tsh_err *err) {
  const size_t at = offsetof(tsh_err, text);
  size_t room = err->size > at ? err->size - at : 0;
  return room < sizeof err->text ? room : sizeof err->text;
}

void kit_where(tsh_err *err, uint32_t launch, uint64_t ticket, int64_t at) {
  if (!err) return;
  if (HAS(err, launch)) err->launch = launch;
  if (HAS(err, ticket)) err->ticket = ticket;
  if (HAS(err, at)) err->at = at;
}

tsh_status kit_fail(tsh_err *err, tsh_status code, const char *format, ...) {
  va_list ap;
  if (!err || !HAS(err, code)) return code;
  err->code = code;
  kit_where(err, TSH_NO_LAUNCH, 0, -1);
  if (!text_room(err)) return code;
  va_start(ap, format);
  vsnprintf(err->text, text_room(err), format, ap);
  va_end(ap);
  return code;
}
