/* cpu.h - the cpu room: a kernel is lowered once to steps on blocks of lanes
 * (lower.c) and then walked (interp.c). Files that hold inner loops are
 * compiled once per instruction set; their names end in it (CPU_NAME). */
#ifndef CPU_H
#define CPU_H

#include "kit.h"

enum {
  CPU_LANES = 512,                /* elements of a block */
  CPU_OVERHANG = 32,              /* bytes that may be written behind the
                                     lanes of a slot */
  CPU_UNIT = CPU_LANES * 4 + 128, /* bytes: a 4-byte slot, staggered so that
                                     slots share no low address bits */
  CPU_STATE = 32,                 /* units of a FOLD's state */
  CPU_LINKS = 2048,               /* table entries before the slots */
  CPU_NARROW = 16 * 1024,         /* bytes of 16 lanes per outer point */
  CPU_MAX_INSTS = 1024,
  CPU_MAX_ARGS = 256
};

/* The dtypes that kernels compute in: X(dtype, C type, kind). */
#define CPU_FLOATS(X)                                                          \
  X(f32, float, F)                                                             \
  X(f64, double, F)
#define CPU_INTS(X)                                                            \
  X(i8, int8_t, I)                                                             \
  X(i16, int16_t, I)                                                           \
  X(i32, int32_t, I)                                                           \
  X(i64, int64_t, I)                                                           \
  X(u8, uint8_t, I)                                                            \
  X(u16, uint16_t, I)                                                          \
  X(u32, uint32_t, I)                                                          \
  X(u64, uint64_t, I)
#define CPU_DTYPES(X) CPU_FLOATS(X) CPU_INTS(X) X(bool, uint8_t, B)

/* f16 and bf16 are 16 bits in memory and f32 that are rounded in slots
 * (narrow.c): X(dtype). */
#define CPU_HALVES(X) X(f16) X(bf16)

/* Steps that are no ops of the table: an f32 to the nearest of a half type, and
 * any number to the f32 from which that is its own nearest. */
enum { CPU_OP_ROUND_f16 = TSH_NOPS, CPU_OP_ROUND_bf16, CPU_OP_ODD, CPU_OP_END };

typedef struct cpu_run cpu_run;
typedef struct cpu_isa cpu_isa;

/* ---- the pool (pool.c) -------------------------------------------------- */
/* Where memory comes from; tests put a failing one here. get: NULL when there
 * is none. */
typedef struct {
  void *(*get)(uint64_t bytes, uint64_t align);
  void (*put)(void *p, uint64_t bytes);
} cpu_source;
extern const cpu_source cpu_system; /* malloc, mmap with large pages */

struct tsh_buf {
  char *mem;
  uint64_t bytes; /* of the block, by size class */
  tsh_buf *next;  /* in the free list of its class */
  uint32_t class_, pad;
};

enum { CPU_CLASSES = 4 * 58 };

typedef struct {
  const cpu_source *source;
  uint64_t used, cached, peak;
  uint64_t unchecked; /* fresh bytes since the last look at the machine */
  tsh_buf *idle[CPU_CLASSES];
} cpu_pool;

void cpu_pool_init(cpu_pool *pool, const cpu_source *source);
void cpu_pool_fini(cpu_pool *pool); /* takes a zeroed one */
/* Owned: cpu_pool_give. TSH_ENOMEM. */
tsh_status cpu_pool_take(cpu_pool *pool, uint64_t bytes, tsh_buf **out,
                         tsh_err *err);
void cpu_pool_give(cpu_pool *pool, tsh_buf *buf); /* takes NULL */
void cpu_pool_trim(cpu_pool *pool);
uint64_t cpu_memory_total(void);

/* ---- inner loops, per instruction set ----------------------------------- */
/* One MAP op on n lanes. d may be exactly a, b or c of equal element size. */
typedef void cpu_map_fn(void *d, const void *a, const void *b, const void *c,
                        size_t n, cpu_run *run);

/* One FOLD op. rows: lanes are folded elements, rows of n of them lie one
 * after the other; a row may come in several calls, the first and the last
 * marked. col: lanes are outer points, one call per folded element. */
enum { CPU_FIRST = 1, CPU_LAST = 2 };
typedef struct {
  void (*rows)(void *out, void *state, const void *a, const void *b,
               size_t rows, size_t n, int ends);
  void (*col_begin)(void *out, void *state, size_t n);
  void (*col_step)(void *out, void *state, const void *a, const void *b,
                   size_t n, int64_t f);
  void (*col_end)(void *out, void *state, size_t n, int64_t count);
  uint32_t lanes; /* largest n of col calls */
} cpu_fold;

/* ---- lowered code (lower.c) --------------------------------------------- */
/* A register is an index into run->reg, a table of addresses: first the links
 * (ports, spread row values), set while running, then the slots, fixed. */
typedef struct {
  cpu_map_fn *fn;
  uint16_t d, a, b, c;
} cpu_step;

/* LOAD, INDEX or STORE. Its register is its own number. A LOAD of contiguous
 * lanes points into the buffer; other loads fill the slot. */
typedef struct {
  uint8_t op, dtype, size, pad;
  uint8_t row;    /* one lane per outer point */
  uint8_t copy;   /* LOAD: never point into the buffer */
  uint8_t direct; /* STORE: the value is computed into this register */
  uint8_t pad2;
  uint16_t arg, slot, src; /* src: STORE, register of the value */
} cpu_port;

typedef struct {
  const cpu_fold *fold;
  uint16_t d, a, b, state; /* b: a when there is one operand */
  uint8_t size_a, size_b;  /* bytes of an element */
} cpu_folding;

/* A row value used beside full values. Register d is src itself where lanes
 * are outer points, else the slot with each value repeated along its row. */
typedef struct {
  uint16_t d, src, slot, size;
} cpu_spread;

/* A full value that a later phase reads from memory: register d points to the
 * block's part of it. */
typedef struct {
  uint16_t d, size;
} cpu_spill;

typedef struct {
  uint16_t d;
  uint8_t size, dtype;
  int32_t scalar; /* slot of tsh_launch.scalar, -1: bits */
  uint64_t bits;
} cpu_uniform;

typedef struct {
  uint32_t at, end;
} cpu_span;

/* Stage p (row steps, then spreads) comes before pass p over the folded axes.
 * load, store: spans of `order`. */
typedef struct {
  cpu_span row_step, spread;
  cpu_span load, step, fold, store;
} cpu_phase;

typedef struct {
  uint32_t nphase, nport, nspread, nspill, nuniform, nunit;
  uint32_t col_lanes; /* largest block when lanes are outer points */
  int can_fail;       /* there is an index op */
  cpu_span uniform_step, row_load, row_store;
  cpu_phase *phase; /* nphase + 1; the last is a stage only */
  cpu_step *step;
  cpu_port *port;
  uint16_t *order; /* ports */
  cpu_folding *fold;
  cpu_spread *spread;
  cpu_spill *spill;
  cpu_uniform *uniform;
  void *memory; /* of all the arrays */
} cpu_code;

/* Full values that later phases use are computed again, or kept in their slots
 * (rows that fit a block), or in memory where they are dear. Owned:
 * cpu_code_fini. */
enum { CPU_AGAIN, CPU_KEEP, CPU_SPILL };
tsh_status cpu_lower(const tsh_kernel *k, const kit_value *v, uint32_t nphase,
                     int keep, const cpu_isa *isa, cpu_code *out, tsh_err *err);
void cpu_code_fini(cpu_code *code); /* takes a zeroed one */

/* The same program without values of f16 and bf16, but for those loaded and to
 * be stored, and without folds of short integers (narrow.c). *k and *v are
 * replaced when there is something to replace; *memory is then owned: free. */
tsh_status cpu_narrow(tsh_kernel *k, const kit_value **v, void **memory,
                      tsh_err *err);

/* ---- programs (compile.c) ----------------------------------------------- */
enum { CPU_FORM_PROGRAM, CPU_FORM_GEMM, CPU_FORM_CALL };

struct tsh_prog {
  uint8_t form;
  uint8_t dtype;   /* GEMM: of the dot */
  uint8_t has_dot; /* so lanes should be outer points */
  uint16_t op, rank, nfold, narg;
  uint16_t a, b;    /* GEMM: arguments of the dot */
  int64_t attr[3];  /* CALL */
  cpu_code code;    /* the plain form; of a CALL its epilogue */
  cpu_code kept;    /* several phases, rows that fit a block; or empty */
  cpu_code spilled; /* several phases, values kept in memory; or empty */
  cpu_code tail;    /* GEMM: what is done with the dot's results, which are
                       its argument narg */
  uint8_t *arg;     /* [narg] CPU_ARG_ bits */
  uint8_t *bytes;   /* [narg] of an element */
  uint8_t *dtypes;  /* [narg] */
  uint8_t *ranks;   /* [narg] */
};
enum { CPU_ARG_USED = 1, CPU_ARG_FULL = 2 }; /* FULL: not only by TSH_ROW */

/* ---- a running launch --------------------------------------------------- */
/* Axes that are walked, the last fastest. lin: step of the row-major number
 * over the launch's index space, for tsh_err.at. */
typedef struct {
  int rank;
  int64_t points;
  int64_t ext[TSH_MAX_RANK], lin[TSH_MAX_RANK];
} cpu_space;

/* An argument: address (or INDEX value) of point 0 and its strides along the
 * axes of the space, in elements. */
typedef struct {
  char *base;
  int64_t start;
  int64_t stride[TSH_MAX_RANK];
} cpu_place;

typedef struct {
  int64_t p; /* row-major number in the space */
  int64_t idx[TSH_MAX_RANK];
} cpu_cursor;

/* Lanes of a port at the first folded element. */
typedef struct {
  char *at;
  int64_t start, step;
  int one_run;
} cpu_lanes;

/* How the lanes of a port lie: one after the other over the whole space, all
 * one element, or to be looked at block by block. */
enum { CPU_LINEAR, CPU_SPLAT, CPU_MIXED };

struct cpu_run {
  void **reg;             /* [CPU_LINKS + nunit] */
  int64_t bad_lane;       /* lowest lane that an index op refused, or -1 */
  int64_t bad_at;         /* lowest element number over the launch, or -1 */
  const uint32_t *cancel; /* never NULL */
  cpu_place *place;       /* [CPU_MAX_ARGS + 1] */
  uint8_t *kind;          /* [CPU_LINKS] per port */
  cpu_lanes *lanes; /* [CPU_LINKS] per port, while lanes are outer points */
  cpu_place *tail_place; /* [CPU_MAX_ARGS + 1], of a GEMM's tail */
  char *spill;           /* CPU_SPILL_BYTES, or NULL before it is needed */
  char *gemm;            /* CPU_GEMM_BYTES, or NULL before it is needed */
  uint32_t nunit;        /* slots there are */
  uint32_t force;        /* CPU_FORCE_ bits, for tests: all ways agree */
  char *slots;
};
enum { CPU_FORCE_ROWS = 1, CPU_FORCE_COLS = 2, CPU_FORCE_PLAIN = 4 };

/* ---- axes of a launch (space.c) ----------------------------------------- */
/* The launch's axes of a bit mask, joined where every used argument allows it;
 * fills space and from stride[at] on the strides of run->place. Returns the
 * number of axes. full: only CPU_ARG_FULL arguments move along them. */
int cpu_space_axes(cpu_run *run, const tsh_prog *prog, const tsh_launch *launch,
                   uint32_t axes, int at, int full, cpu_space *space);
#define CPU_AXES(first, end) ((UINT32_C(1) << (end)) - (UINT32_C(1) << (first)))
void cpu_space_bases(cpu_run *run, const tsh_prog *prog,
                     const tsh_launch *launch);
/* run->kind of ports whose lanes run over the space. row: of row ports. */
void cpu_space_kinds(cpu_run *run, const cpu_code *code, const cpu_space *space,
                     int row);
void cpu_cursor_set(cpu_cursor *c, const cpu_space *space, int64_t p);
void cpu_cursor_move(cpu_cursor *c, const cpu_space *space, int64_t n);
/* Are lanes better outer points than folded elements? */
int cpu_prefer_cols(const cpu_run *run, const tsh_prog *prog,
                    const cpu_space *outer, const cpu_space *fold);
/* Takes run->bad_lane for element number `at` of the launch. */
void cpu_note_bad(cpu_run *run, int64_t at);
/* Number over the launch's index space of point p. */
int64_t cpu_space_number(const cpu_space *space, int64_t p);

static inline int cpu_cancelled(const cpu_run *run) {
  return __atomic_load_n(run->cancel, __ATOMIC_RELAXED) != 0;
}

/* Elements to keys, unsigned integers in whose order they are, of 8 bytes when
 * `wide`, else of 4; n elements that are `step` apart. down: the other order.
 */
typedef struct {
  /* Is there a -0, whose key is that of +0? */
  int (*load)(void *keys, const void *x, int64_t n, int64_t step, int down);
  void (*store)(void *x, const void *keys, int64_t n, int64_t step, int down);
  /* Number of the first key below the limit; n when there is none. */
  int64_t (*below)(const void *keys, int64_t n, uint64_t limit);
  int wide;
} cpu_keys;

/* Sorts the columns of n rows of keys, n at most CPU_SHORT_MOST. */
enum { CPU_SHORT_LANES = 64, CPU_SHORT_MOST = 32 };
typedef void cpu_short_fn(uint32_t (*row)[CPU_SHORT_LANES], int n);

/* Running sums or products of n elements that are dd and ds apart. begun: the
 * result before the first is there. dense: of steps 1. cols: of as many lines
 * as `lanes`, which lie side by side. */
enum { CPU_SCAN_BLOCK = 16 };
typedef void cpu_scan_fn(void *d, const void *s, int64_t n, int64_t dd,
                         int64_t ds, int begun);
typedef struct {
  cpu_scan_fn *line, *dense;
  void (*cols)(void *d, const void *s, int64_t n, int64_t dd, int64_t ds,
               int64_t lanes, int begun);
} cpu_scans;

struct cpu_isa {
  const char *name;
  cpu_map_fn *(*map)(int op, int compute, int dtype); /* NULL: has it not */
  const cpu_fold *(*fold)(int op, int compute, int dtype);
  /* TSH_OK or TSH_ECANCELLED; data errors are in run->bad_at. */
  tsh_status (*program)(cpu_run *run, const tsh_prog *prog,
                        const tsh_launch *launch);
  tsh_status (*gemm)(cpu_run *run, const tsh_prog *prog,
                     const tsh_launch *launch);
  const cpu_keys *(*keys)(int dtype); /* NULL: has it not */
  cpu_short_fn *sort_short;
  const cpu_scans *(*scans)(int op, int dtype); /* NULL: has it not */
};
extern const cpu_isa cpu_isa_base;
extern const cpu_isa cpu_isa_v3;

enum { CPU_SPILL_BYTES = 4 << 20 };

/* Memory of a GEMM: packed B, packed A, a tile of results, offsets. */
enum {
  CPU_GEMM_B = 4 << 20,
  CPU_GEMM_ROWS = 96,
  CPU_GEMM_DEPTH = 256,
  CPU_GEMM_WIDTH = 2048, /* bytes */
  CPU_GEMM_A = CPU_GEMM_ROWS * CPU_GEMM_DEPTH * 8 + 4096,
  CPU_GEMM_C = CPU_GEMM_ROWS * CPU_GEMM_WIDTH + 4096,
  CPU_GEMM_BYTES = CPU_GEMM_B + CPU_GEMM_A + CPU_GEMM_C
};

#endif
