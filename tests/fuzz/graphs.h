/* graphs.h - a random graph replayed from its seed against a planner. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "plan.h"

#define GRAPH_RESULTS 64

typedef struct {
  int dtype, failed;
  size_t count;
  unsigned char *data;
  char what[240];
} graph_result;

typedef struct {
  graph_result result[GRAPH_RESULTS];
  int n;
  char error[1024];
} graph_run;

typedef struct {
  unsigned long views, set, cat, pad, matmul, folds, nan, in_place;
} graph_stats;

/* Records the graph of `seed` with about `ops` ops on d, demanding now and
 * then, and reads what is alive at the end. 0: run->error says why. */
int graph_play(unsigned long seed, int ops, plan *p, dev *d, graph_run *run,
               graph_stats *stats);
void graph_run_free(graph_run *run);

#endif
