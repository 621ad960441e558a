/* copy.c - large copies, which threads share. */
#include <string.h>

#include "cpu.h"

/* PIECE: bytes of a part. NS: of a byte, where memory is the limit. */
enum { PIECE = 256 * 1024 };
#define NS 0.05

typedef struct {
  char *to;
  const char *from;
  uint64_t bytes, piece;
} copying;

static void copy_part(void *job, int64_t part, int worker) {
  const copying *c = job;
  uint64_t at = (uint64_t)part * c->piece, left = c->bytes - at;
  (void)worker;
  memcpy(c->to + at, c->from + at, left < c->piece ? left : c->piece);
}

static int overlap(const char *a, const char *b, uint64_t bytes) {
  uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return x < y + bytes && y < x + bytes;
}

void cpu_copy(cpu_run *run, void *to, const void *from, uint64_t bytes) {
  copying c = {.to = to, .from = from, .bytes = bytes};
  int64_t piece, parts = 1;
  if (!overlap(to, from, bytes))
    parts = cpu_parts(run, NS * (double)bytes, (int64_t)bytes, PIECE, &piece);
  if (parts < 2) {
    memmove(to, from, bytes);
    return;
  }
  c.piece = (uint64_t)piece;
  cpu_run_share(run, copy_part, &c, parts);
}
