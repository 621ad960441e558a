/* order.h - what sorting is made of: lines, and the radix sorts of keys, which
 * are unsigned integers in whose order the elements are wanted. */
#ifndef CPU_ORDER_H
#define CPU_ORDER_H

#include "call.h"

enum { ORDER_PIECE = 2048 }; /* keys that are made at a time */

/* ---- lines (order.c) ---------------------------------------------------- */
/* One line along the axis; steps in elements. room: the job's memory, which
 * all lines share. */
typedef struct {
  const char *x;
  char *out;
  int64_t dx, dout;
  char *room;
} order_line;

typedef tsh_status order_fn(const cpu_call *c, const void *job,
                            const order_line *l);

/* fn for each line of argument 0 and the output. TSH_ENOMEM when there is no
 * room; then nothing was begun. */
tsh_status order_each(const cpu_call *c, int64_t room, order_fn *fn,
                      const void *job);

/* ---- short lines (short.c) ---------------------------------------------- */
int order_is_short(const cpu_call *c); /* may order_short be called? */
/* Sorts the values of all lines of argument 0 into the output; fn is called
 * for the few that need it, with room for CPU_SHORT_MOST keys, twice. */
tsh_status order_short(const cpu_call *c, order_fn *fn, const void *job);

/* ---- sorts (radix.c) ---------------------------------------------------- */
typedef struct {
  uint64_t key;
  int64_t at;
} order_pair;

/* Sort n keys, with room for as many in `other`, stably. Returns where they
 * are then, NULL when cancelled. _of: keys in the upper 32 bits, their order
 * below. digits: bytes of the key that count. */
uint32_t *order_32(const cpu_run *run, uint32_t *x, uint32_t *other, int64_t n);
uint64_t *order_64(const cpu_run *run, uint64_t *x, uint64_t *other, int64_t n);
uint64_t *order_64_of(const cpu_run *run, uint64_t *x, uint64_t *other,
                      int64_t n);
order_pair *order_pairs(const cpu_run *run, order_pair *x, order_pair *other,
                        int64_t n, int digits);

#endif
