/* kit_analyze: levels and phases of well-formed programs, a refusal for each
 * way to be malformed, and no read out of bounds whatever it is given. */
#include <criterion/criterion.h>

#include "kit.h"

#include <stdlib.h>
#include <string.h>

/* ---- programs ----------------------------------------------------------- */
typedef struct {
  tsh_inst inst[32];
  uint8_t dtype[8], class_[8], rank[8];
  tsh_kernel k;
} program;

static void begin(program *p, int rank, int nfold) {
  memset(p, 0, sizeof *p);
  p->k = (tsh_kernel){.size = sizeof p->k,
                      .rank = (uint16_t)rank,
                      .nfold = (uint16_t)nfold,
                      .inst_size = sizeof(tsh_inst),
                      .inst = p->inst,
                      .arg_dtype = p->dtype,
                      .arg_class = p->class_,
                      .arg_rank = p->rank};
}

static uint64_t arg(program *p, int dtype) {
  p->dtype[p->k.narg] = (uint8_t)dtype;
  p->rank[p->k.narg] = (uint8_t)p->k.rank;
  return p->k.narg++;
}

static uint16_t put(program *p, int op, int dtype, int a, int b, int c) {
  p->inst[p->k.ninst] = (tsh_inst){.op = (uint16_t)op,
                                   .dtype = (uint8_t)dtype,
                                   .a = (uint16_t)a,
                                   .b = (uint16_t)b,
                                   .c = (uint16_t)c};
  return p->k.ninst++;
}

static uint16_t load(program *p, int dtype, int flags) {
  uint16_t i = put(p, TSH_OP_LOAD, dtype, 0, 0, 0);
  p->inst[i].imm = arg(p, dtype);
  p->inst[i].flags = (uint8_t)flags;
  return i;
}

static uint16_t store(program *p, int dtype, int value, int flags) {
  uint16_t i = put(p, TSH_OP_STORE, dtype, value, 0, 0);
  p->inst[i].imm = arg(p, dtype);
  p->inst[i].flags = (uint8_t)flags;
  return i;
}

static tsh_status analyze(const program *p, kit_value *v, uint32_t *nphase) {
  tsh_err err = {.size = sizeof err};
  tsh_status rc = kit_analyze(&p->k, v, nphase, &err);
  cr_expect(rc == err.code && (!rc || err.text[0]), "%s", err.text);
  return rc;
}

static void softmax(program *p) {
  begin(p, 2, 1);
  int x = load(p, TSH_f32, 0);
  int top = put(p, TSH_OP_max, TSH_f32, x, 0, 0);
  int d = put(p, TSH_OP_sub, TSH_f32, x, top, 0);
  int e = put(p, TSH_OP_exp, TSH_f32, d, 0, 0);
  int sum = put(p, TSH_OP_sum, TSH_f32, e, 0, 0);
  int y = put(p, TSH_OP_div, TSH_f32, e, sum, 0);
  store(p, TSH_f32, y, 0);
}

/* ---- levels and phases -------------------------------------------------- */
Test(analyze, softmax_takes_three_phases) {
  static const kit_value want[] = {{KIT_FULL, TSH_f32, 0, 0, 0, 2},
                                   {KIT_ROW, TSH_f32, TSH_f32, 0, 0, 2},
                                   {KIT_FULL, TSH_f32, TSH_f32, 0, 1, 3},
                                   {KIT_FULL, TSH_f32, TSH_f32, 0, 1, 5},
                                   {KIT_ROW, TSH_f32, TSH_f32, 0, 1, 5},
                                   {KIT_FULL, TSH_f32, TSH_f32, 0, 2, 6},
                                   {KIT_FULL, TSH_f32, 0, 0, 2, 6}};
  program p;
  kit_value v[32];
  uint32_t nphase;
  softmax(&p);
  cr_assert_eq(analyze(&p, v, &nphase), TSH_OK);
  cr_expect_eq(nphase, 3);
  cr_expect_eq(kit_outputs(&p.k), 1);
  for (int i = 0; i < p.k.ninst; i++)
    cr_expect_arr_eq(&v[i], &want[i], sizeof v[i], "instruction %d", i);
}

Test(analyze, rows_wait_for_their_folds_and_cost_no_pass) {
  program p;
  kit_value v[32];
  uint32_t nphase;
  begin(&p, 3, 2);
  int x = load(&p, TSH_f32, 0);
  int b = load(&p, TSH_f32, TSH_ROW);
  int c = put(&p, TSH_OP_CONST, TSH_f32, 0, 0, 0);
  int d = put(&p, TSH_OP_dot, TSH_f32, x, b, 0);
  int s = put(&p, TSH_OP_add, TSH_f32, d, b, 0);
  int u = put(&p, TSH_OP_exp, TSH_f32, c, 0, 0);
  int r = put(&p, TSH_OP_mul, TSH_f32, b, u, 0);
  int st = store(&p, TSH_f32, s, TSH_ROW);
  cr_assert_eq(analyze(&p, v, &nphase), TSH_OK);
  cr_expect_eq(nphase, 1);
  cr_expect(v[d].level == KIT_ROW && v[d].phase == 0);
  cr_expect(v[s].level == KIT_ROW && v[s].phase == 1);
  cr_expect(v[u].level == KIT_UNIFORM);
  cr_expect(v[r].level == KIT_ROW && v[r].phase == 0);
  cr_expect(v[st].level == KIT_ROW && v[st].phase == 1);
}

Test(analyze, without_folded_axes_all_loads_are_full) {
  program p;
  kit_value v[32];
  uint32_t nphase;
  begin(&p, 2, 0);
  int x = load(&p, TSH_i32, TSH_ROW);
  int st = store(&p, TSH_i32, x, TSH_ROW);
  cr_assert_eq(analyze(&p, v, &nphase), TSH_OK);
  cr_expect_eq(v[x].level, KIT_FULL);
  cr_expect_eq(v[st].level, KIT_FULL);
  cr_expect_eq(nphase, 1);
}

Test(analyze, compute_dtypes_are_the_operands) {
  program p;
  kit_value v[32];
  uint32_t nphase;
  begin(&p, 1, 1);
  int x = load(&p, TSH_f32, 0), i = load(&p, TSH_i64, 0);
  int is = put(&p, TSH_OP_lt, TSH_bool, x, x, 0);
  int w = put(&p, TSH_OP_where, TSH_i64, is, i, i);
  int t = put(&p, TSH_OP_cast, TSH_i32, x, 0, 0);
  int m = put(&p, TSH_OP_argmax, TSH_i64, x, w, 0);
  store(&p, TSH_i64, m, TSH_ROW);
  cr_assert_eq(analyze(&p, v, &nphase), TSH_OK);
  cr_expect(v[is].compute == TSH_f32 && v[is].dtype == TSH_bool);
  cr_expect(v[w].compute == TSH_i64 && v[w].dtype == TSH_i64);
  cr_expect(v[t].compute == TSH_f32 && v[t].dtype == TSH_i32);
  cr_expect(v[m].compute == TSH_f32 && v[m].dtype == TSH_i64);
}

Test(analyze, longer_instructions_are_stepped_over) {
  struct {
    tsh_inst inst;
    uint64_t later[2];
  } big[8];
  program p;
  kit_value v[32];
  uint32_t nphase;
  softmax(&p);
  memset(big, 0xff, sizeof big);
  for (int i = 0; i < p.k.ninst; i++) big[i].inst = p.inst[i];
  p.k.inst = &big[0].inst;
  p.k.inst_size = sizeof big[0];
  cr_expect_eq(analyze(&p, v, &nphase), TSH_OK);
  cr_expect_eq(nphase, 3);
  cr_expect_eq(kit_outputs(&p.k), 1);
}

/* ---- refusals ----------------------------------------------------------- */
/* Each spoils a softmax (instructions: load max sub exp sum div store). */
static void own_number(program *p) { p->inst[3].a = 3; }
static void far_number(program *p) { p->inst[2].b = 65535; }
static void second_operand(program *p) { p->inst[5].b = 6; }
static void of_a_store(program *p) { put(p, TSH_OP_exp, TSH_f32, 6, 0, 0); }
static void no_argument(program *p) { p->inst[0].imm = 2; }
static void huge_argument(program *p) { p->inst[6].imm = UINT64_MAX; }
static void load_dtype(program *p) { p->dtype[0] = TSH_i32; }
static void store_dtype(program *p) { p->dtype[1] = TSH_f64; }
static void result_dtype(program *p) { p->inst[3].dtype = TSH_f64; }
static void zero_dtype(program *p) { p->inst[0].dtype = p->dtype[0] = 0; }
static void wild_dtype(program *p) { p->inst[3].dtype = 255; }
static void no_scalar(program *p) { put(p, TSH_OP_SCALAR, TSH_f32, 0, 0, 0); }
static void index_float(program *p) { p->inst[0].op = TSH_OP_INDEX; }
static void odd_bool(program *p) {
  p->inst[put(p, TSH_OP_CONST, TSH_bool, 0, 0, 0)].imm = 2;
}
static void full_to_row(program *p) { p->inst[6].flags = TSH_ROW; }
static void unknown_flag(program *p) { p->inst[3].flags = 128; }
static void a_move(program *p) { p->inst[3].op = TSH_OP_reshape; }
static void a_call(program *p) { p->inst[3].op = TSH_OP_take; }
static void mixed(program *p) {
  int c = put(p, TSH_OP_CONST, TSH_i32, 0, 0, 0);
  put(p, TSH_OP_add, TSH_f32, 0, c, 0);
}
static void where_float(program *p) { put(p, TSH_OP_where, TSH_f32, 0, 0, 0); }
static void float_position(program *p) {
  put(p, TSH_OP_argmax, TSH_f32, 0, 0, 0);
}
static void output_first(program *p) { p->inst[0].imm = 1, p->inst[6].imm = 0; }
static void in_and_out(program *p) { p->inst[6].imm = 0; }
static void unwritten(program *p) { arg(p, TSH_f32); }
static void load_and_index(program *p) {
  p->inst[put(p, TSH_OP_INDEX, TSH_i32, 0, 0, 0)].imm = 0;
}
static void bad_rank(program *p) { p->k.rank = TSH_MAX_RANK + 1; }
static void bad_fold(program *p) { p->k.nfold = 3; }
static void other_rank(program *p) { p->rank[1] = 1; }
static void bad_class(program *p) { p->class_[0] = 3; }
static void empty(program *p) { p->k.ninst = 0; }
static void short_inst(program *p) { p->k.inst_size = 16; }
static void crooked_inst(program *p) { p->k.inst_size = sizeof(tsh_inst) + 1; }
static void short_kernel(program *p) { p->k.size = 8; }
static void no_dtypes(program *p) { p->k.arg_dtype = NULL; }
static void unknown_op(program *p) { p->inst[3].op = 15; }
static void wild_op(program *p) { p->inst[3].op = 65535; }
static void int_exp(program *p) {
  int c = put(p, TSH_OP_CONST, TSH_i32, 0, 0, 0);
  put(p, TSH_OP_exp, TSH_i32, c, 0, 0);
}
static void half_sum(program *p) {
  int c = put(p, TSH_OP_CONST, TSH_f16, 0, 0, 0);
  put(p, TSH_OP_sum, TSH_f16, c, 0, 0);
}
static void complex_cast(program *p) { put(p, TSH_OP_cast, TSH_c64, 0, 0, 0); }
static void call_kernel(program *p) { p->k.op = TSH_OP_take; }

#define INVALID(name)                                                          \
  { #name, name, TSH_EINVAL }
#define UNSUPPORTED(name)                                                      \
  { #name, name, TSH_EUNSUPPORTED }
static const struct {
  const char *name;
  void (*spoil)(program *p);
  tsh_status want;
} spoilers[] = {
    INVALID(own_number),     INVALID(far_number),     INVALID(second_operand),
    INVALID(of_a_store),     INVALID(no_argument),    INVALID(huge_argument),
    INVALID(load_dtype),     INVALID(store_dtype),    INVALID(result_dtype),
    INVALID(zero_dtype),     INVALID(wild_dtype),     INVALID(no_scalar),
    INVALID(index_float),    INVALID(odd_bool),       INVALID(full_to_row),
    INVALID(unknown_flag),   INVALID(a_move),         INVALID(a_call),
    INVALID(mixed),          INVALID(where_float),    INVALID(float_position),
    INVALID(output_first),   INVALID(in_and_out),     INVALID(unwritten),
    INVALID(load_and_index), INVALID(bad_rank),       INVALID(bad_fold),
    INVALID(other_rank),     INVALID(bad_class),      INVALID(empty),
    INVALID(short_inst),     INVALID(crooked_inst),   INVALID(short_kernel),
    INVALID(no_dtypes),      UNSUPPORTED(unknown_op), UNSUPPORTED(wild_op),
    UNSUPPORTED(int_exp),    UNSUPPORTED(half_sum),   UNSUPPORTED(complex_cast),
    UNSUPPORTED(call_kernel)};

Test(analyze, each_malformed_program_is_refused) {
  for (size_t i = 0; i < sizeof spoilers / sizeof *spoilers; i++) {
    program p;
    kit_value v[32];
    uint32_t nphase;
    softmax(&p);
    spoilers[i].spoil(&p);
    cr_expect_eq(analyze(&p, v, &nphase), spoilers[i].want, "%s",
                 spoilers[i].name);
  }
}

/* ---- hostile bytes ------------------------------------------------------ */
static uint32_t noise(uint64_t *s) {
  *s = *s * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (uint32_t)(*s >> 33);
}

/* Mostly small numbers, so that some programs get far. */
static uint16_t small(uint64_t *s, uint32_t below) {
  return (uint16_t)(noise(s) % 16 ? noise(s) % below : noise(s));
}

/* Arrays of just the promised size: a sanitizer sees a step beyond. */
Test(analyze, noise_is_never_read_out_of_bounds) {
  uint64_t s = 1;
  int good = 0;
  for (int round = 0; round < 20000; round++) {
    uint32_t n = 1 + noise(&s) % 12, narg = noise(&s) % 4, nphase;
    tsh_inst *inst = calloc(n, sizeof *inst);
    kit_value *v = calloc(n, sizeof *v);
    uint8_t *bytes = calloc(3, narg + 1);
    tsh_err err = {.size = sizeof err};
    for (uint32_t i = 0; i < n; i++) {
      int op = noise(&s) % 3 ? 1 + noise(&s) % 5 : 16 + noise(&s) % 130;
      inst[i] =
          (tsh_inst){.op = noise(&s) % 50 ? (uint16_t)op : (uint16_t)noise(&s),
                     .dtype = noise(&s) % 9 ? TSH_i32 : (uint8_t)noise(&s),
                     .flags = noise(&s) % 9 ? 0 : (uint8_t)noise(&s),
                     .a = small(&s, i + 1),
                     .b = small(&s, i + 1),
                     .c = small(&s, i + 1),
                     .imm = small(&s, narg + 1)};
    }
    memset(bytes, TSH_i32, narg);
    tsh_kernel k = {.size = sizeof k,
                    .nfold = 0,
                    .narg = (uint16_t)narg,
                    .nscalar = 1,
                    .ninst = (uint16_t)n,
                    .inst_size = sizeof *inst,
                    .inst = inst,
                    .arg_dtype = bytes,
                    .arg_class = bytes + narg,
                    .arg_rank = bytes + 2 * narg};
    kit_outputs(&k);
    if (!kit_analyze(&k, v, &nphase, &err)) {
      good++;
      for (uint32_t i = 0; i < n; i++)
        cr_assert(v[i].last_use >= i && v[i].last_use < n);
    }
    free(inst);
    free(v);
    free(bytes);
  }
  cr_expect_gt(good, 100);
}

/* ---- tables ------------------------------------------------------------- */
Test(tables, dtypes_and_ops_are_as_in_the_header) {
  cr_expect_eq(kit_dtype_bytes(TSH_f64), 8);
  cr_expect_eq(kit_dtype_bytes(TSH_bool), 1);
  cr_expect_eq(kit_dtype_bytes(0), 0);
  cr_expect_eq(kit_dtype_bytes(-1), 0);
  cr_expect_eq(kit_dtype_bytes(TSH_NDTYPE), 0);
  cr_expect_str_eq(kit_dtype_name(TSH_bf16), "bf16");
  cr_expect_str_eq(kit_op_name(TSH_OP_add), "add");
  cr_expect_null(kit_op_name(15));
  cr_expect_null(kit_op_name(TSH_NOPS));
  cr_expect_null(kit_op_get(TSH_OP_LOAD));
  const kit_op *op = kit_op_get(TSH_OP_argmin);
  cr_expect(op->class_ == KIT_FOLD && op->arity == 2 &&
            op->gives == KIT_SECOND && op->start == KIT_NONE);
  op = kit_op_get(TSH_OP_bitand);
  cr_expect(op->class_ == KIT_MAP && !(op->takes & TSH_BIT(TSH_f32)) &&
            (op->takes & TSH_BIT(TSH_bool)) && (op->takes & TSH_BIT(TSH_u8)));
}

Test(tables, a_missing_op_or_dtype_is_named) {
  static uint32_t types[TSH_NOPS];
  program p;
  kit_value v[32];
  uint32_t nphase, storage = TSH_BIT(TSH_f32);
  tsh_err err = {.size = sizeof err};
  softmax(&p);
  cr_assert_eq(analyze(&p, v, &nphase), TSH_OK);
  for (int i = 0; i < TSH_NOPS; i++) types[i] = TSH_BIT(TSH_f32);
  cr_expect_eq(kit_supported(&p.k, v, types, TSH_NOPS, storage, &err), TSH_OK);
  types[TSH_OP_exp] = TSH_BIT(TSH_f64);
  cr_expect_eq(kit_supported(&p.k, v, types, TSH_NOPS, storage, &err),
               TSH_EUNSUPPORTED);
  cr_expect_str_eq(err.text, "no exp of f32");
  cr_expect_eq(kit_supported(&p.k, v, types, TSH_OP_sum, storage, &err),
               TSH_EUNSUPPORTED);
  cr_expect_eq(kit_supported(&p.k, v, types, TSH_NOPS, 0, &err),
               TSH_EUNSUPPORTED);
}
