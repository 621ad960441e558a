/* refuse.c - malformed programs: compile says no and stays whole. A good
 * program is spoilt in one place at a time. */
#include <stdio.h>
#include <string.h>

#include "cf.h"

/* x + y, its product with a scalar, a comparison, a row sum:
 *   0 LOAD x   1 LOAD y   2 add 0 1   3 SCALAR   4 mul 2 3   5 lt 0 1
 *   6 where 5 4 0   7 sum 6   8 STORE 6   9 STORE 7 ROW   10 INDEX */
static void build(cf_kern *k) {
  cf_kern_init(k, 2, 1);
  cf_arg(k, TSH_f32, TSH_STRIDED);
  cf_arg(k, TSH_f32, TSH_STRIDED);
  cf_arg(k, TSH_i32, TSH_STRIDED);
  cf_arg(k, TSH_f32, TSH_STRIDED);
  cf_arg(k, TSH_f32, TSH_STRIDED);
  cf_load(k, 0, 0);
  cf_load(k, 1, 0);
  cf_inst(k, TSH_OP_add, TSH_f32, 0, 1, 0);
  cf_scalar(k, TSH_f32);
  cf_inst(k, TSH_OP_mul, TSH_f32, 2, 3, 0);
  cf_inst(k, TSH_OP_lt, TSH_bool, 0, 1, 0);
  cf_inst(k, TSH_OP_where, TSH_f32, 5, 4, 0);
  cf_inst(k, TSH_OP_sum, TSH_f32, 6, 0, 0);
  cf_store(k, 6, 3, 0);
  cf_store(k, 7, 4, TSH_ROW);
  cf_index(k, 2, 0);
}

/* X(name, what is spoilt) */
#define CF_SPOILT(X)                                                           \
  X(operand_is_itself, k->inst[2].a = 2)                                       \
  X(operand_comes_later, k->inst[2].b = 6)                                     \
  X(operand_beyond_all, k->inst[4].a = 60000)                                  \
  X(third_operand_comes_later, k->inst[6].c = 7)                               \
  X(operand_is_a_store, (k->inst[9].a = 8))                                    \
  X(stored_value_comes_later, k->inst[8].a = 9)                                \
  X(op_unknown, k->inst[2].op = 15)                                            \
  X(op_beyond_all, k->inst[2].op = 60000)                                      \
  X(op_is_a_move, k->inst[2].op = TSH_OP_reshape)                              \
  X(op_is_a_call, k->inst[2].op = TSH_OP_take)                                 \
  X(op_zero, k->inst[2].op = 0)                                                \
  X(op_of_floats_on_integers, k->inst[10].op = TSH_OP_exp)                     \
  X(dtype_zero, k->inst[2].dtype = 0)                                          \
  X(dtype_reserved, k->inst[2].dtype = 31)                                     \
  X(dtype_beyond_all, k->inst[2].dtype = 200)                                  \
  X(load_of_no_argument, k->inst[0].imm = 5)                                   \
  X(load_far_beyond, k->inst[0].imm = UINT64_C(1) << 40)                       \
  X(load_of_another_dtype, k->inst[0].dtype = TSH_i32)                         \
  X(index_of_no_argument, k->inst[10].imm = 99)                                \
  X(index_of_floats, k->inst[10].dtype = TSH_f32)                              \
  X(store_to_no_argument, k->inst[8].imm = 5)                                  \
  X(store_of_another_dtype, k->inst[8].a = 5)                                  \
  X(scalar_without_slot, k->inst[3].imm = 1)                                   \
  X(scalar_far_beyond, k->inst[3].imm = UINT64_C(1) << 33)                     \
  X(operands_of_two_dtypes, k->inst[4].b = 5)                                  \
  X(result_of_another_dtype, k->inst[2].dtype = TSH_i32)                       \
  X(comparison_gives_no_bool, k->inst[5].dtype = TSH_f32)                      \
  X(condition_is_no_bool, k->inst[6].a = 4)                                    \
  X(row_store_of_a_full_value, k->inst[8].flags = TSH_ROW)                     \
  X(rank_beyond_all, k->k.rank = 13)                                           \
  X(rank_far_beyond, k->k.rank = 60000)                                        \
  X(more_folded_than_axes, k->k.nfold = 3)                                     \
  X(argument_without_dtype, k->dtype[0] = 0)                                   \
  X(argument_of_unknown_dtype, k->dtype[4] = 77)                               \
  X(kernel_op_unknown, k->k.op = 250)                                          \
  X(kernel_op_is_a_map, k->k.op = TSH_OP_add)

#define CF_X(name, spoil)                                                      \
  static void spoil_##name(cf_kern *k) { spoil; }
CF_SPOILT(CF_X)
#undef CF_X

typedef struct {
  const char *name;
  void (*spoil)(cf_kern *k);
} fault;

#define CF_X(name, spoil) {#name, spoil_##name},
static const fault faults[] = {CF_SPOILT(CF_X)};
#undef CF_X

static void run_spoilt(cf *t, const fault *f) {
  cf_kern k;
  tsh_err err;
  tsh_status rc;
  if (!cf_begin(t, "refuse/%s", f->name)) return;
  build(&k);
  f->spoil(&k);
  rc = cf_compile_raw(t, &k, &err);
  cf_check_err(t, f->name, rc, &err);
  cf_check(t, rc == TSH_OK || rc == TSH_EINVAL || rc == TSH_EUNSUPPORTED, "%s",
           cf_status_name(rc));
  cf_drop(t, &k);
  cf_end(t);
}

/* ---- what the device does not have -------------------------------------- */
static void build_op(cf_kern *k, const cf_row *row, int dtype) {
  int to = row->gives == CF_BOOL                               ? TSH_bool
           : row->gives == CF_SECOND || row->id == TSH_OP_cast ? TSH_i32
                                                               : dtype;
  int n = row->arity, second = row->gives == CF_SECOND ? TSH_i32 : dtype;
  cf_kern_init(k, 1, row->class_ == CF_FOLD);
  for (int i = 0; i < n; i++)
    cf_arg(k,
           row->id == TSH_OP_where && i == 0 ? TSH_bool
           : i == 1                          ? second
                                             : dtype,
           TSH_STRIDED);
  cf_arg(k, to, TSH_STRIDED);
  for (int i = 0; i < n; i++) cf_load(k, i, 0);
  cf_inst(k, row->id, to, 0, n > 1 ? 1 : 0, n > 2 ? 2 : 0);
  cf_store(k, n, n, row->class_ == CF_FOLD ? TSH_ROW : 0);
}

static void run_missing(cf *t, const cf_row *row, int dtype) {
  cf_kern k;
  tsh_err err;
  tsh_status rc;
  build_op(&k, row, dtype);
  rc = cf_compile_raw(t, &k, &err);
  cf_check(t, rc == TSH_EUNSUPPORTED || rc == TSH_EINVAL,
           "%s of %s is not declared: %s", row->name, cf_dtype_name(dtype),
           cf_status_name(rc));
  cf_check(t, rc != TSH_EINVAL || !(row->takes & TSH_BIT(dtype)),
           "%s of %s is well-formed but missing: EINVAL, not EUNSUPPORTED",
           row->name, cf_dtype_name(dtype));
  cf_drop(t, &k);
}

static void run_undeclared(cf *t) {
  if (!cf_begin(t, "refuse/undeclared")) return;
  for (int i = 0; i < cf_nrows; i++)
    for (int dtype = 1; dtype < TSH_NDTYPE; dtype++)
      if (cf_kind(dtype) && !cf_has(t, cf_rows[i].id, dtype) &&
          (cf_rows[i].class_ == CF_MAP || cf_rows[i].class_ == CF_FOLD))
        run_missing(t, &cf_rows[i], dtype);
  cf_end(t);
}

/* ---- the good one, before and after ------------------------------------- */
static void run_good(cf *t, const char *when) {
  const int64_t extent[2] = {3, 50}, full[2] = {50, 1}, row[2] = {1, 0};
  cf_stage s;
  cf_mem *m[4];
  cf_job j;
  if (!cf_begin(t, "refuse/good-%s", when)) return;
  cf_stage_init(&s, 2, 1);
  build(&s.k);
  for (int i = 0; i < 4; i++)
    m[i] = cf_stage_mem(t, &s, TSH_f32, 200, i < 2 ? CF_PLAIN : CF_BLANK);
  if (cf_fits(t, &s.k) && cf_stage_ready(t, &s)) {
    cf_job_init(&j, &s.k, "%s", when);
    cf_job_extent(&j, extent);
    j.scalar[0].f = 3;
    cf_job_arg(&j, 0, m[0], 0, full);
    cf_job_arg(&j, 1, m[1], 0, full);
    cf_job_arg(&j, 2, NULL, 0, full);
    cf_job_arg(&j, 3, m[2], 0, full);
    cf_job_arg(&j, 4, m[3], 0, row);
    cf_try(t, &j, 1);
  }
  cf_stage_free(t, &s);
  cf_end(t);
}

void cf_test_refuse(cf *t) {
  run_good(t, "before");
  for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
    run_spoilt(t, &faults[i]);
  run_undeclared(t);
  run_good(t, "after");
}
