/* example.h - what the files of the example plugin share.
 *
 * example.c  the entries: start reading there
 * program.c  compiles a kernel
 * run.c      checks and runs launches
 * ops.c      what each op does, expanded from the op table
 * direct.c   memory and queue of a device that finishes work inside submit */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include "kit.h"
#include "tsh_plugin.h"

#if OPAQUE
/* Built a second time with -DOPAQUE=1, with opaque.c for direct.c: a device
 * whose memory the host cannot see and whose work waits; batch.c is what it
 * keeps of a batch. The template that is installed has nothing of this. */
#define EX_NAME "opaque"
enum { EX_MAX_PHASES = 1 };
#else
#define EX_NAME "example"
enum { EX_MAX_PHASES = 256 };
#endif

enum {
  EX_DEVICES = 2,
  EX_MAX_ARGS = 64,
  EX_MAX_INSTS = 256,
  EX_ALIGN = 64,
  EX_BLOCK = 128, /* points that an instruction handles in one go */
  EX_LANES = 16,  /* of a fold, see the op table */
  EX_LEVELS = 52  /* of its blocks: 4,096 times 2^51 elements are 2^63 */
};

/* The dtypes of this device: X(dtype, C type in memory, C type of arithmetic).
 * It has no f64, so that it shows what the host does about that. */
#define EX_DTYPES(X)                                                           \
  X(f16, uint16_t, float)                                                      \
  X(bf16, uint16_t, float)                                                     \
  X(f32, float, float)                                                         \
  X(i8, int8_t, int8_t)                                                        \
  X(i16, int16_t, int16_t)                                                     \
  X(i32, int32_t, int32_t)                                                     \
  X(i64, int64_t, int64_t)                                                     \
  X(u8, uint8_t, uint8_t)                                                      \
  X(u16, uint16_t, uint16_t)                                                   \
  X(u32, uint32_t, uint32_t)                                                   \
  X(u64, uint64_t, uint64_t)                                                   \
  X(bool, uint8_t, uint8_t)

#define EX_X(dtype, M, T) | TSH_BIT(TSH_##dtype)
#define EX_STORAGE        (0u EX_DTYPES(EX_X))

/* ---- values ------------------------------------------------------------- */
/* One value of any dtype that this device has: m_f32, m_i8 and so on. Halves
 * are their bits. */
#define EX_M(dtype, M, T) M m_##dtype;
typedef union {
  EX_DTYPES(EX_M)
} ex_cell;
#undef EX_M

/* The first bad element of a launch, for tsh_err. */
typedef struct {
  int64_t at; /* -1 none */
  int64_t position, count;
} ex_fault;

/* One instruction over n points. Operand i of point p is in[i][p * step[i]]:
 * step 0 repeats one value. */
typedef struct {
  ex_cell *out;
  const ex_cell *in[3];
  uint32_t step[3], n;
  int64_t at; /* number of the first point in the launch's index space */
  ex_fault *fault;
} ex_args;

typedef void (*ex_map)(const ex_args *x);

/* A fold under way over one row. level[k] holds a value of 2^k blocks while
 * bit k of the number of full blocks is set. */
typedef struct {
  ex_cell lane[EX_LANES], level[EX_LEVELS], acc;
  int64_t count;
} ex_fold;

typedef struct {
  void (*begin)(ex_fold *f);
  void (*step)(ex_fold *f, const ex_args *x);
  void (*end)(ex_fold *f, ex_cell *out);
} ex_folder;

/* NULL when the device does not have op on that dtype. to: of cast. */
ex_map ex_map_get(int op, int dtype, int to);
const ex_folder *ex_folder_get(int op, int dtype, int position);
extern const uint32_t ex_op_types[TSH_NOPS];

ex_cell ex_scalar(int dtype, const tsh_scalar *s);
ex_cell ex_constant(int dtype, uint64_t bits);
void ex_load(ex_cell *out, int dtype, const void *from, const int64_t *offset,
             uint32_t n);
void ex_store(void *to, const int64_t *offset, int dtype, const ex_cell *in,
              uint32_t step, uint32_t n);

/* ---- programs ----------------------------------------------------------- */
enum { BY_NOTHING = 0, BY_OUTER = 1, BY_ALL = 2 };

/* A compiled kernel with the memory that its launches work in. */
struct tsh_prog {
  uint32_t refs;
  uint32_t narg, nscalar, ninst, nphase;
  uint32_t rank, nouter; /* axes; those behind the outer ones are folded */
  tsh_inst *inst;
  kit_value *value;
  uint8_t *need;      /* [nphase][ninst] does this pass compute full value i? */
  uint8_t *arg_by;    /* [narg] over which axes is the view read: BY_ ... */
  uint8_t *arg_dtype; /* [narg] */
  ex_map *map;        /* [ninst] of MAP ops, else NULL */
  const ex_folder **folder; /* [ninst] of FOLD ops, else NULL */
  ex_fold *fold;            /* [ninst] */
  ex_cell *row;             /* [ninst] uniform and row values */
  ex_cell *block;           /* [ninst][EX_BLOCK] full values */
};

tsh_status ex_compile(const tsh_kernel *k, tsh_prog **out, tsh_err *err);
tsh_prog *ex_prog_retain(tsh_prog *prog);
void ex_prog_release(tsh_prog *prog); /* NULL is fine */

/* TSH_EINVAL when a launch is malformed or a view would leave its buffer. */
tsh_status ex_check_batch(const tsh_batch *batch, tsh_err *err);

/* The launches of a checked batch in order, with the rules of submit about
 * errors and TSH_LAUNCH_UPDATE. Allocates nothing. */
tsh_status ex_run_batch(const tsh_batch *batch, const uint32_t *cancel,
                        tsh_err *err);

/* Launch i of a batch; the host may know longer launches than we. */
static inline const tsh_launch *ex_launch(const tsh_batch *b, uint32_t i) {
  return (const tsh_launch *)((const char *)b->launch +
                              (size_t)i * b->launch_size);
}

#if OPAQUE
/* ---- batches that wait: batch.c ------------------------------------------ */
typedef struct ex_batch ex_batch;
struct ex_batch {
  ex_batch *next;
  uint64_t ticket;
  tsh_batch batch; /* of copies; everything is in one block with this */
  tsh_err err;     /* err.code: how it ended */
};

/* NULL when there is no memory; owned. */
ex_batch *ex_batch_new(const tsh_batch *batch, uint64_t ticket);
void ex_batch_free(ex_batch *batch); /* NULL is fine */

#endif
/* ---- memory and queue ---------------------------------------------------- */
struct tsh_buf {
  char *data;
  uint64_t bytes;
#if OPAQUE
  tsh_buf *next;
  uint64_t last; /* once freed: the ticket that may still use it */
  int freed;
#endif
};

struct tsh_dev {
  const uint32_t *cancel;
  uint64_t limit; /* bytes that all buffers together may take */
  uint64_t used, peak;
  uint64_t ticket; /* of the last submit */
#if OPAQUE
  struct ex_queue *queue;
#endif
};

tsh_status ex_queue_open(tsh_dev *dev, tsh_err *err);
void ex_queue_close(tsh_dev *dev);
tsh_status ex_alloc(tsh_dev *dev, uint64_t bytes, tsh_buf **out, tsh_err *err);
void ex_free(tsh_dev *dev, tsh_buf *buf);
/* A checked batch, as dev->ticket. */
tsh_status ex_submit(tsh_dev *dev, const tsh_batch *batch, tsh_err *err);
tsh_status ex_wait(tsh_dev *dev, uint64_t ticket, uint64_t timeout,
                   tsh_err *err);

/* Between these two all submitted work is done and buffers can be touched. */
void ex_touch_begin(tsh_dev *dev);
void ex_touch_end(tsh_dev *dev);

/* TSH_ENOMEM when the device, or the machine, has not so much left. */
tsh_status ex_room(const tsh_dev *dev, uint64_t bytes, tsh_err *err);

#endif
