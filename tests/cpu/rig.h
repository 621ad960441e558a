/* rig.h - programs, arguments and devices for the tests of plugins/cpu. A rig
 * holds one kernel and the host images of its arguments; rig_run runs it on a
 * device of its own and gives the outputs back as bytes. */
#ifndef RIG_H
#define RIG_H

#include "device.h"

enum { RIG_INSTS = 96, RIG_ARGS = 16, RIG_BYTES = 1 << 18 };

typedef struct {
  tsh_inst inst[RIG_INSTS];
  uint8_t dtype[RIG_ARGS], class_[RIG_ARGS], rank[RIG_ARGS];
  int64_t ext[TSH_MAX_RANK];
  int64_t stride[RIG_ARGS][TSH_MAX_RANK], offset[RIG_ARGS];
  int alias[RIG_ARGS];      /* output: input with the identical view, or -1 */
  uint32_t bytes;           /* of an image, 65,536 if not changed */
  uint8_t *image[RIG_ARGS]; /* NULL: an INDEX view */
  tsh_scalar scalar[4];
  tsh_kernel k;
} rig;

/* Ways to run that must give equal bits. */
typedef struct {
  const char *isa;
  uint32_t force; /* RIG_THREADS(n) among it: n of them, else one */
} rig_way;
#define RIG_THREADS(n) ((uint32_t)(n) << 8 | CPU_FORCE_SHARE)

void rig_init(rig *r, int rank, int nfold);
void rig_fini(rig *r);
int rig_arg(rig *r, int dtype); /* its number; zero strides, no image */
/* Bytes for it; tame: small finite floats, so that long sums stay numbers. */
void rig_image(rig *r, int arg, uint32_t *seed);
void rig_image_tame(rig *r, int arg, uint32_t *seed);
int rig_inst(rig *r, int op, int dtype, int a, int b, int c, uint64_t imm,
             int flags); /* its number */

/* Runs and writes the bytes of argument `arg` to out[RIG_BYTES], NaNs made one
 * and zeros behind. Returns the status; *at: of a data error. */
tsh_status rig_run(const rig *r, rig_way way, int arg, uint8_t *out,
                   int64_t *at);

uint32_t rig_random(uint32_t *seed); /* xorshift */
int rig_below(uint32_t *seed, int n);

/* A random well-formed program with random views. fold: at least one axis is
 * folded. */
void rig_program(rig *r, uint32_t seed, int fold);

#endif
