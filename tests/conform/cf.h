/* cf.h - the room of tsh-conform: does this plugin keep its promises? Sees
 * tsh_plugin.h only. It holds its own evaluator, expanded from the expressions
 * of the op table; no second plugin is asked.
 *
 * A test fills host images, sends them to the device, runs launches there and
 * the evaluator here, and compares every byte. */
#ifndef CF_H
#define CF_H

#include "tsh_plugin.h"

enum { CF_ARGS = 12, CF_INSTS = 128, CF_SCALARS = 8, CF_JOBS = 72 };
#define CF_MS                 INT64_C(1000000)
#define CF_OPTIONAL(t, entry) (!(t)->masked && TSH_HAS((t)->p, entry))

/* ---- the run (report.c) ------------------------------------------------- */
typedef struct {
  const tsh_plugin *p;
  const tsh_plugin *(*query)(uint32_t major, uint32_t minor);
  const char *path; /* of the file */
  uint32_t index;
  tsh_dev *dev;
  tsh_props props;
  struct { /* outlives the device; larger than the plugin knows */
    tsh_host host;
    uint8_t junk[16];
  } host;
  uint32_t cancel; /* the word the plugin reads */
  int masked;      /* optional entries count as absent */
  const char *only;
  int list, verbose, quiet;
  uint64_t passed, failed; /* of the whole run */
  uint64_t at_failed;      /* `failed` when the group began */
  uint32_t shown;          /* failures printed of this group */
  uint32_t calls;          /* turns the padding of structs on and off */
  uint64_t ticket;         /* the newest seen */
  uint64_t key;            /* of the batches to come */
  uint64_t hash;           /* of the kernels to come; 0: their own */
  char group[96];
} cf;

#define CF_FORMAT(n, m) __attribute__((format(printf, n, m)))

/* Begins a group named by the format; 0 when it is not to be run. */
int cf_begin(cf *t, const char *format, ...) CF_FORMAT(2, 3);
void cf_end(cf *t);
void cf_pass(cf *t);
void cf_fail(cf *t, const char *format, ...) CF_FORMAT(2, 3);
/* One case: passes when `good`, else fails with the text. Returns good. */
int cf_check(cf *t, int good, const char *format, ...) CF_FORMAT(3, 4);
/* One case: the call failed as it should and says so well. */
void cf_check_err(cf *t, const char *what, tsh_status rc, const tsh_err *err);
void cf_watch(cf *t); /* a crash or a hang inside t ends with a report */
int64_t cf_now(void); /* ns, monotonic */
void cf_sleep(int64_t ns);
void cf_err_init(tsh_err *err);

/* ---- the file (symbols.c) ----------------------------------------------- */
/* How many symbols a 64-bit ELF library exports, -1: it can't be read. other:
 * the name of one that is not tsh_plugin_query, or "". */
int cf_symbols(const char *path, char *other, size_t size);

/* ---- the op table as rows (table.c) ------------------------------------- */
enum { CF_MAP = 1, CF_FOLD, CF_MOVE, CF_CALL };
enum { CF_SAME = 1, CF_BOOL, CF_TO, CF_SECOND };
enum { CF_NONE = 0, CF_ZERO, CF_ONE, CF_LOWEST, CF_HIGHEST };
typedef struct {
  int id, class_, arity, gives, start;
  uint32_t takes; /* TSH_BIT of compute dtypes */
  const char *name;
} cf_row;
extern const cf_row cf_rows[];
extern const int cf_nrows;
const cf_row *cf_row_get(int op); /* NULL for no op of the table */

int cf_kind(int dtype); /* TSH_KIND_..., 0 for no dtype */
uint32_t cf_bytes(int dtype);
const char *cf_dtype_name(int dtype);
const char *cf_status_name(int status);
int cf_is_half(int dtype);
int cf_has(const cf *t, int op, int dtype); /* the device declares it */
int cf_stores(const cf *t, int dtype);
uint32_t cf_limit(int op, int dtype); /* ulp; 0 for equal bits */
int cf_judged(int op, int dtype);     /* 0 where the header leaves it open */

/* ---- numbers: a value is its bits, low end (number.c) ------------------- */
uint64_t cf_get(const uint8_t *base, int64_t at, int dtype);
void cf_put(uint8_t *base, int64_t at, int dtype, uint64_t bits);
double cf_to_double(int dtype, uint64_t bits); /* floats; exact */
uint64_t cf_from_double(int dtype, double v);  /* floats; rounded once */
uint64_t cf_from_int(int dtype, int64_t v);    /* any dtype but c64 */
uint64_t cf_cast(int from, int to, uint64_t bits);
int cf_is_nan(int dtype, uint64_t bits);
/* Distance in ulp, 0 when equal (all NaNs are one value, the zeros are two),
 * UINT64_MAX when there is no distance. */
uint64_t cf_ulp(int dtype, uint64_t a, uint64_t b);
char *cf_show(char text[64], int dtype, uint64_t bits);

/* ---- meaning (expr.c) --------------------------------------------------- */
/* MAP op on operands in the compute dtype (where: a is bool; cast: not here).
 * *bad is set when index is out of range. */
uint64_t cf_map(int op, int dtype, uint64_t a, uint64_t b, uint64_t c,
                int *bad);
/* One step of a FOLD: the accumulator and the next element (dot: two). */
uint64_t cf_step(int op, int dtype, uint64_t acc, uint64_t x, uint64_t y);
int64_t cf_random(int64_t j, int64_t key, int64_t base);
void cf_philox(const uint32_t counter[4], const uint32_t key[2],
               uint32_t out[4]);

/* ---- memory: a device buffer and its host images (mem.c) ---------------- */
typedef struct {
  tsh_buf *buf;
  uint8_t *want; /* what the buffer must hold */
  uint8_t *got;  /* what it held when last asked */
  uint64_t bytes;
  int dtype;
} cf_mem;

/* n elements of dtype, both images filled with 0xa5. 0 and a failure
 * reported when there is no memory. */
int cf_mem_new(cf *t, int dtype, int64_t n, cf_mem *out);
void cf_mem_free(cf *t, cf_mem *m); /* takes an empty one */
void cf_mem_fill(cf_mem *m, int byte);
int cf_mem_up(cf *t, cf_mem *m);   /* want -> device */
int cf_mem_down(cf *t, cf_mem *m); /* device -> got */
/* Down, then one case: every byte as wanted. */
int cf_mem_check(cf *t, cf_mem *m, const char *what);
tsh_status cf_copy(cf *t, tsh_buf *dst, uint64_t dst_at, tsh_buf *src,
                   uint64_t src_at, uint64_t bytes, void *host, tsh_err *err);

/* ---- inputs, always the same (gen.c) ------------------------------------ */
enum {
  CF_BITS,    /* pairs of specials, then random bits and plain values */
  CF_PLAIN,   /* plain finite values of both signs */
  CF_NEAR1,   /* floats near 1, of either sign: for products */
  CF_TIES,    /* few distinct values */
  CF_SPECIAL, /* few distinct values, nan, inf and -0 among them */
  CF_BLANK    /* 0xa5 in every byte */
};
/* Fills want of m; operand (0, 1, 2) chooses another sequence. */
void cf_fill(cf_mem *m, int style, int operand);
uint64_t cf_rand(uint64_t *state);

/* ---- kernels (kern.c) --------------------------------------------------- */
typedef struct {
  tsh_kernel k;
  tsh_inst inst[CF_INSTS];
  uint8_t dtype[CF_ARGS], class_[CF_ARGS], rank[CF_ARGS];
  int64_t attr[4];
  tsh_prog *prog;
} cf_kern;

void cf_kern_init(cf_kern *k, int rank, int nfold);
int cf_arg(cf_kern *k, int dtype, int arg_class); /* gives its number */
/* Instructions; each gives its value number. */
int cf_inst(cf_kern *k, int op, int dtype, int a, int b, int c);
int cf_load(cf_kern *k, int arg, int flags);
int cf_index(cf_kern *k, int arg, int flags);
int cf_scalar(cf_kern *k, int dtype);
int cf_const(cf_kern *k, int dtype, uint64_t bits);
void cf_store(cf_kern *k, int value, int arg, int flags);
/* Asks the plugin; the struct given is wiped when the call returns. */
tsh_status cf_compile_raw(cf *t, cf_kern *k, tsh_err *err);
int cf_compile(cf *t, cf_kern *k);          /* 0 and a failure reported */
void cf_drop(cf *t, cf_kern *k);            /* takes what never was compiled */
int cf_fits(const cf *t, const cf_kern *k); /* within the device's limits */

/* ---- launches (job.c) --------------------------------------------------- */
typedef struct {
  cf_mem *mem; /* NULL for INDEX */
  int64_t offset, stride[TSH_MAX_RANK], extent[TSH_MAX_RANK];
  uint32_t limit; /* of an output: ulp allowed */
} cf_view;

typedef struct {
  cf_kern *kern;
  int64_t extent[TSH_MAX_RANK];
  cf_view arg[CF_ARGS];
  tsh_scalar scalar[CF_SCALARS];
  uint32_t flags, nafter, after[CF_JOBS];
  char what[48]; /* named in failures */
} cf_job;

void cf_job_init(cf_job *j, cf_kern *k, const char *format, ...)
    CF_FORMAT(3, 4);
void cf_job_extent(cf_job *j, const int64_t *extent);
void cf_job_arg(cf_job *j, int arg, cf_mem *m, int64_t offset,
                const int64_t *stride);
void cf_dense(int rank, const int64_t *extent, int64_t *stride);
void cf_after_all(cf_job *jobs, uint32_t n); /* all earlier, for launch n */

tsh_status cf_submit(cf *t, const cf_job *jobs, uint32_t n, uint64_t *ticket,
                     tsh_err *err);
/* Waits in slices; gives up after a minute with TSH_EPENDING. */
tsh_status cf_wait(cf *t, uint64_t ticket, tsh_err *err);
tsh_status cf_run(cf *t, const cf_job *jobs, uint32_t n, tsh_err *err);

/* ---- a kernel and its memory, prepared and freed together (stage.c) ----- */
typedef struct {
  cf_kern k;
  cf_mem m[8];
  int n, good;
} cf_stage;

void cf_stage_init(cf_stage *s, int rank, int nfold);
/* Memory of the stage, filled and sent; style CF_BLANK leaves 0xa5. Never
 * NULL: a failure is reported and shows in cf_stage_ready. */
cf_mem *cf_stage_mem(cf *t, cf_stage *s, int dtype, int64_t n, int style);
int cf_stage_ready(cf *t, cf_stage *s); /* compiles; 1 when all is there */
/* The same for a kernel of several phases over `inner` folded points: where
 * the device has fewer it may refuse (a case passed, 0) or be right. */
int cf_stage_phases(cf *t, cf_stage *s, uint32_t phases, int64_t inner);
void cf_stage_free(cf *t, cf_stage *s);

/* Submits and waits, and says which of the two failed. */
typedef struct {
  tsh_status rc;
  tsh_err err;
  uint64_t ticket; /* 0 when submit failed */
} cf_outcome;
void cf_outcome_of(cf *t, const cf_job *jobs, uint32_t n, cf_outcome *out);

/* y = x * s + x of f32 over one axis: the work around what is tested. */
void cf_work_build(cf_stage *s);
void cf_work_job(cf_job *j, cf_stage *s, cf_mem *x, int64_t x_at, cf_mem *y,
                 int64_t y_at, int64_t n, double factor);

/* ---- the evaluator (eval.c, evalcall.c, evalorder.c) -------------------- */
enum { CF_UNIFORM = 0, CF_ROW = 1, CF_FULL = 2 };
/* Runs one launch on the `want` images. TSH_EINDEX sets *bad to the first bad
 * element; TSH_ENOMEM; TSH_EINVAL when the test leaves its own buffers. */
tsh_status cf_eval(const cf_job *j, int64_t *bad);
tsh_status cf_eval_call(const cf_job *j, int64_t *bad);
/* All but take and the index_ ops, without the epilogue. (evalorder.c) */
void cf_eval_order(const cf_job *j, int out, int64_t *bad);
void cf_levels(const cf_kern *k, int *level);
int64_t cf_place(const int64_t *extent, int rank, const cf_view *v,
                 int64_t point); /* element number of a point */
int64_t cf_points(const int64_t *extent, int rank);

/* ---- comparing (compare.c) ---------------------------------------------- */
/* Submits, waits, evaluates, compares: one case per job and one per output
 * buffer ("nothing else was written"). 1 when all is well. */
int cf_try(cf *t, cf_job *jobs, uint32_t n);
/* The second half: evaluates and compares what a run has left. */
int cf_verify(cf *t, cf_job *jobs, uint32_t n);

/* ---- groups ------------------------------------------------------------- */
#define CF_GROUPS(X)                                                           \
  X(load, "the table, props, the mandatory set")                               \
  X(memory, "alloc, free, copy")                                               \
  X(queue, "tickets, order, dependencies, struct sizes")                       \
  X(map, "every MAP op, dtype and stride pattern")                             \
  X(cast, "every pair of dtypes")                                              \
  X(value, "LOAD, INDEX, SCALAR, CONST, index, random")                        \
  X(fold, "every FOLD, dtype and stride pattern")                              \
  X(form, "rows, phases, sub-views, several outputs")                          \
  X(dot, "products and convolutions")                                          \
  X(refuse, "malformed programs")                                              \
  X(call, "reading and adding at positions")                                   \
  X(order, "sorting, scans, nonzero")                                          \
  X(error, "index errors and what they leave")                                 \
  X(cancel, "stops, and going on after them")
#define CF_X(name, doc) void cf_test_##name(cf *t);
CF_GROUPS(CF_X)
#undef CF_X

/* The rest of form (form_views.c). */
void cf_form_split(cf *t, int dtype);
void cf_form_views(cf *t, int dtype);

/* Opens device t->index of t->p, runs the groups named in words (NULL: all),
 * closes. 0 when the device does not open. (run.c) */
int cf_open(cf *t, tsh_err *err);
void cf_close(cf *t);
int cf_run_groups(cf *t, const char *words);

/* ---- the detector's own test (selftest.c, fault.c) ---------------------- */
/* X(name, groups each of which must find it) */
#define CF_FAULTS(X)                                                           \
  X(store_is_skipped, "queue")                                                 \
  X(one_ulp_off, "dot")                                                        \
  X(lanes_are_swapped, "form")                                                 \
  X(empty_fold_is_not_the_start, "dot")                                        \
  X(writes_beside_the_view, "value")                                           \
  X(wrong_launch_in_error, "error")                                            \
  X(wrong_element_in_error, "error")                                           \
  X(wrong_ticket_in_error, "error")                                            \
  X(error_is_reported_twice, "error")                                          \
  X(error_is_forgotten, "error")                                               \
  X(update_begins_after_error, "error cancel")                                 \
  X(cancel_is_ignored, "cancel")                                               \
  X(cancel_is_slow, "cancel")                                                  \
  X(stop_claims_too_much, "cancel")                                            \
  X(ticket_does_not_grow, "queue")                                             \
  X(err_is_written_beyond_size, "queue")                                       \
  X(err_code_is_not_set, "memory")                                             \
  X(copy_loses_the_last_byte, "memory")                                        \
  X(huge_alloc_is_accepted, "memory")                                          \
  X(malformed_is_accepted, "refuse")                                           \
  X(call_is_one_bit_off, "call")                                               \
  X(call_writes_beside, "call order")                                          \
  X(bad_position_is_missed, "call")                                            \
  X(bad_position_is_misnamed, "call")                                          \
  X(order_is_swapped, "order")                                                 \
  X(scan_loses_its_carry, "order")                                             \
  X(query_refuses_versions, "load")                                            \
  X(props_change, "load")                                                      \
  X(mandatory_op_is_missing, "load")

#define CF_X(name, groups) CF_FAULT_##name,
enum { CF_FAULT_none, CF_FAULTS(CF_X) CF_NFAULT };
#undef CF_X

/* The plugin's table, or query function, with one fault planted; static, one
 * at a time. fault 0 plants none. */
const tsh_plugin *cf_fault_table(const tsh_plugin *real, int fault);
const tsh_plugin *cf_fault_query(uint32_t major, uint32_t minor);

/* Has a CALL op run since cf_fault_table? */
int cf_fault_saw_call(void);

/* Every planted fault must be found: one case each. 1 when all are. */
int cf_selftest(const cf *t);

#endif
