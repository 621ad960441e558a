/* base.c - memory of the room and the op table as data. */
#include <stdlib.h>
#include "priv.h"

int (*plan_alloc_hook)(size_t bytes);

void *plan_alloc(size_t bytes) {
  if (plan_alloc_hook && !plan_alloc_hook(bytes)) return NULL;
  return calloc(1, bytes ? bytes : 1);
}

void *plan_realloc(void *old, size_t bytes) {
  if (plan_alloc_hook && !plan_alloc_hook(bytes)) return NULL;
  return realloc(old, bytes ? bytes : 1);
}

void plan_release(void *ptr) { free(ptr); }

int plan_grow(void *array, uint32_t *cap, uint32_t n, size_t size) {
  void **slot = array, *bigger;
  uint32_t want = *cap ? *cap : 16;
  if (n <= *cap) return 1;
  while (want < n) {
    if (want > UINT32_MAX / 2) return 0;
    want *= 2;
  }
  if (want > SIZE_MAX / size) return 0;
  bigger = plan_realloc(*slot, want * size);
  if (!bigger) return 0;
  *slot = bigger;
  *cap = want;
  return 1;
}

tsh_status plan_nomem(tsh_err *err, const char *what) {
  return dev_fail(err, TSH_ENOMEM, "out of memory for %s", what);
}

/* ---- the op table ------------------------------------------------------- */
#define F   TAKES_F
#define I   TAKES_I
#define B   TAKES_B
#define FI  (F | I)
#define IB  (I | B)
#define FIB (F | I | B)
#define OP_X(id, name, class_, arity, takes, gives, start, fexpr, iexpr, doc)  \
  [id] = {OP_##class_, arity, takes, GIVES_##gives, #name},
const op_info plan_ops[TSH_NOPS] = {TSH_OPS(OP_X)};
#undef OP_X
