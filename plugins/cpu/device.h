/* device.h - an open device and what its entries share. Not seen by the inner
 * loops. */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H

#include "cpu.h"

#define CPU_BIT(name, ...) | TSH_BIT(TSH_##name)
#define CPU_STORAGE        (0u CPU_DTYPES(CPU_BIT) CPU_HALVES(CPU_BIT))

struct tsh_dev {
  const cpu_isa *isa;
  const uint32_t *cancel; /* the host's word */
  uint64_t ticket;
  cpu_pool pool;
  cpu_run run;
  uint32_t never; /* 0, the cancel word of launches that may not stop */
};

extern const uint32_t cpu_op_types[TSH_NOPS]; /* ops.c */

/* An owned program with all the slots it needs; cpu_prog_free. */
tsh_status cpu_compile(tsh_dev *dev, const tsh_kernel *k, tsh_prog **out,
                       tsh_err *err);
void cpu_prog_free(tsh_prog *prog); /* takes NULL */

/* ---- device.c ----------------------------------------------------------- */
/* Owned: cpu_device_close. Tests choose isa and source. */
tsh_status cpu_device_open(const cpu_isa *isa, const cpu_source *source,
                           const tsh_host *host, tsh_dev **out, tsh_err *err);
void cpu_device_close(tsh_dev *dev); /* takes NULL and half-built ones */
/* At least so many slots. Memory of the run that only some programs need. */
tsh_status cpu_scratch_grow(tsh_dev *dev, uint32_t units, tsh_err *err);
tsh_status cpu_scratch_more(tsh_dev *dev, char **memory, uint64_t bytes,
                            tsh_err *err);

/* ---- ops.c -------------------------------------------------------------- */
/* An instruction set by name, NULL when this machine has it not. The best one,
 * or what TSH_ISA names. */
const cpu_isa *cpu_isa_get(const char *name);
const cpu_isa *cpu_isa_best(void);

/* ---- CALL ops (call.c) -------------------------------------------------- */
tsh_status cpu_call_check(const tsh_kernel *k, tsh_err *err);
/* TSH_OK, TSH_ECANCELLED, or TSH_ENOMEM when there is no memory to work in;
 * data errors are in dev->run.bad_at. */
tsh_status cpu_call_run(tsh_dev *dev, const tsh_prog *prog,
                        const tsh_launch *launch);

#endif
