/* expr_type.h - the op table's expressions for one C type. Included by expr.c
 * once per type with T, CF_FN(name), CF_WORD (the unsigned integer of T's
 * size) and CF_PICK(fexpr, iexpr) defined; no guard, on purpose. */

static T CF_FN(from)(uint64_t bits) {
  CF_WORD w = (CF_WORD)bits;
  T v;
  memcpy(&v, &w, sizeof v);
  return v;
}

static uint64_t CF_FN(bits)(T v) {
  CF_WORD w;
  memcpy(&w, &v, sizeof w);
  return w;
}

static uint64_t CF_FN(map)(int op, uint64_t x, uint64_t y, uint64_t z,
                           int *bad) {
  T a = CF_FN(from)(x), b = CF_FN(from)(y), c = CF_FN(from)(z), r = 0;
  (void)bad;
  if (op == TSH_OP_where) a = (T)(x & 1);
  switch (op) {
#define CF_X(id, name, class, arity, takes, gives, start, fexpr, iexpr, doc)   \
  case id:                                                                     \
    r = (T)(CF_PICK(fexpr, iexpr));                                            \
    if (CF_##gives == CF_BOOL) return r != 0;                                  \
    break;
    TSH_OPS_MAP1(CF_X)
    TSH_OPS_MAP2(CF_X)
    TSH_OPS_MAP3(CF_X)
#undef CF_X
  }
  return CF_FN(bits)(r);
}

/* a and b are the accumulator and the next element; dot has its own acc. */
static uint64_t CF_FN(step)(int op, uint64_t accumulator, uint64_t x,
                            uint64_t y) {
  T acc = CF_FN(from)(accumulator), r = 0;
  T a = op == TSH_OP_dot ? CF_FN(from)(x) : acc;
  T b = CF_FN(from)(op == TSH_OP_dot ? y : x);
  switch (op) {
#define CF_X(id, name, class, arity, takes, gives, start, fexpr, iexpr, doc)   \
  case id:                                                                     \
    r = (T)(CF_PICK(fexpr, iexpr));                                            \
    break;
    TSH_OPS_FOLD(CF_X)
#undef CF_X
  }
  return CF_FN(bits)(r);
}

#undef T
#undef CF_FN
#undef CF_WORD
