/* batch.c - a batch is borrowed, so whoever runs it later needs a copy of it
 * all. The programs are shared with it, for a drop may come first. */
#include "example.h"

#if OPAQUE
#include <stdlib.h>
#include <string.h>

void ex_batch_free(ex_batch *x) {
  if (!x) return;
  for (uint32_t i = 0; i < x->batch.nlaunch; i++)
    ex_prog_release(ex_launch(&x->batch, i)->prog);
  free(x);
}

/* Bytes behind a launch. All of its parts are made of 8 bytes. */
static size_t launch_bytes(const tsh_launch *l) {
  size_t narg = l->prog->narg, rank = l->prog->rank;
  return narg * (sizeof(tsh_view) + rank * sizeof(int64_t)) +
         rank * sizeof(int64_t) + l->prog->nscalar * sizeof(tsh_scalar);
}

/* Copies n bytes to *to and moves it on. */
static void *keep(char **to, const void *from, size_t n) {
  void *at = *to;
  if (n) memcpy(at, from, n);
  *to += n;
  return at;
}

ex_batch *ex_batch_new(const tsh_batch *b, uint64_t ticket) {
  size_t bytes = sizeof(ex_batch) + b->nlaunch * sizeof(tsh_launch);
  for (uint32_t i = 0; i < b->nlaunch; i++)
    bytes += launch_bytes(ex_launch(b, i));
  ex_batch *x = calloc(1, bytes);
  if (!x) return NULL;
  tsh_launch *to = (tsh_launch *)(x + 1);
  char *at = (char *)(to + b->nlaunch);
  for (uint32_t i = 0; i < b->nlaunch; i++) {
    const tsh_launch *l = ex_launch(b, i);
    const tsh_prog *p = l->prog;
    size_t axes = p->rank * sizeof(int64_t);
    to[i] = *l;
    to[i].prog = ex_prog_retain(l->prog);
    to[i].extent = keep(&at, l->extent, axes);
    to[i].scalar = keep(&at, l->scalar, p->nscalar * sizeof(tsh_scalar));
    tsh_view *v = keep(&at, l->arg, p->narg * sizeof(tsh_view));
    for (uint32_t j = 0; j < p->narg; j++)
      v[j].stride = keep(&at, v[j].stride, axes);
    to[i].arg = v;
  }
  x->ticket = ticket;
  x->batch = *b;
  x->batch.launch = to;
  x->batch.launch_size = sizeof *to;
  x->err = (tsh_err){.size = sizeof x->err, .launch = TSH_NO_LAUNCH, .at = -1};
  return x;
}

#endif
