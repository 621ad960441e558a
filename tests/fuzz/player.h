/* player.h - what the files of the graph fuzzer share: the values that are
 * alive while a graph is recorded, and the choices. */
#ifndef FUZZ_PLAYER_H
#define FUZZ_PLAYER_H

#include "graphs.h"

enum { ALIVE = 12 };

typedef struct {
  uint64_t state;
  plan *p;
  dev *d;
  plan_node *x[ALIVE];
  int n, used; /* used: bits of what the graph contains */
  plan_rng rng;
  tsh_err err;
} player;

uint32_t play_draw(player *g, uint32_t n); /* 0..n-1 */
plan_node *play_pick(player *g);           /* borrowed */
int play_dtype(player *g);

/* calls.c: each records one op and gives its result, or NULL. */
plan_node *play_positions(player *g);
plan_node *play_order(player *g);

#endif
