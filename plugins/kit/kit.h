/* kit.h - what several plugins share: analysis of the kernel form, the f32
 * function sequences, Philox. Linked statically into each plugin; sees
 * tsh_plugin.h only. The inline arithmetic stands in kit_math.h. */
#ifndef KIT_H
#define KIT_H

#include "tsh_plugin.h"

/* ---- dtypes and ops ----------------------------------------------------- */
uint32_t kit_dtype_bytes(int dtype); /* 0 for no dtype */
const char *kit_dtype_name(int dtype);
const char *kit_op_name(int op); /* NULL for no op */

enum { KIT_MAP = 1, KIT_FOLD, KIT_MOVE, KIT_CALL };

/* One row of the op table, for code that walks it. takes: bits of dtypes. */
typedef struct {
  uint16_t id;
  uint8_t class_, arity; /* class_ KIT_MAP ... */
  uint32_t takes;        /* TSH_BIT of compute dtypes with a meaning */
  uint8_t gives;         /* KIT_SAME ... */
  uint8_t start;         /* KIT_ZERO ... */
  const char *name;
} kit_op;
enum { KIT_SAME = 1, KIT_BOOL, KIT_TO, KIT_SECOND };
enum { KIT_NONE = 0, KIT_ZERO, KIT_ONE, KIT_LOWEST, KIT_HIGHEST };
const kit_op *kit_op_get(int op); /* NULL when op is no table op */

/* ---- analysis of a program ---------------------------------------------- */
enum { KIT_UNIFORM = 0, KIT_ROW = 1, KIT_FULL = 2 };

/* What an instruction's value is. `phase` of a full value, a FOLD or a STORE
 * to a full view: the earliest pass over the folded axes in which it can be
 * computed. Of any other row value and of a STORE to a row view: how many
 * passes must be complete before it. A FOLD's result is there after its own
 * pass, so beside others it counts as 1 + phase. */
typedef struct {
  uint8_t level;   /* KIT_UNIFORM, KIT_ROW, KIT_FULL */
  uint8_t dtype;   /* result */
  uint8_t compute; /* compute dtype; 0 for LOAD, INDEX, SCALAR, CONST */
  uint8_t pad;
  uint16_t phase;
  uint16_t last_use; /* last instruction that reads it, or its own number */
} kit_value;

/* Instruction i < k->ninst; the host may know longer instructions than we. */
static inline const tsh_inst *kit_inst(const tsh_kernel *k, uint32_t i) {
  return (const tsh_inst *)((const char *)k->inst + (size_t)i * k->inst_size);
}

/* Checks that k is a well-formed program (operand numbers, dtypes, arguments,
 * levels, known ops) and fills out[k->ninst] and *nphase (at least 1).
 * TSH_EINVAL or TSH_EUNSUPPORTED with a sentence in err. */
tsh_status kit_analyze(const tsh_kernel *k, kit_value *out, uint32_t *nphase,
                       tsh_err *err);

/* TSH_EUNSUPPORTED, naming op and dtype, when an instruction's compute or
 * storage dtype is missing from the masks. */
tsh_status kit_supported(const tsh_kernel *k, const kit_value *v,
                         const uint32_t *op_types, uint32_t nops,
                         uint32_t storage, tsh_err *err);

/* Number of arguments that are outputs; they are the last ones. */
uint32_t kit_outputs(const tsh_kernel *k);

/* ---- errors ------------------------------------------------------------- */
/* Both write nothing behind the err->size bytes that the caller has, and
 * nothing at all when err is NULL. */

/* Fills err with code and a printf text; launch none, ticket 0, at -1. Returns
 * code. */
tsh_status kit_fail(tsh_err *err, tsh_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says in an err that kit_fail has filled where it happened. */
void kit_where(tsh_err *err, uint32_t launch, uint64_t ticket, int64_t at);

#endif
