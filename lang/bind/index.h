/* index.h - what an index means for one tensor. */
#ifndef LT_INDEX_H
#define LT_INDEX_H

#include "priv.h"

/* x[index] is: slice with range, reshape to dim, take along axis. */
typedef struct {
  plan_range range[PLAN_RANK]; /* one per axis of x */
  int rank;
  int64_t dim[2 * PLAN_RANK]; /* without dropped axes, with new ones */
  int sliced, reshaped;       /* is the step needed? */
  plan_node *take; /* integer tensor of the index (borrowed) or NULL */
  int axis;        /* of dim, along which it takes */
  int64_t extent;  /* of that axis */
} lt_selection;

/* The index at i for t; raises. */
void lt_select_parse(lua_State *L, int i, const plan_node *t, lt_selection *s);
/* Pushes the tensor at i sliced and reshaped (not yet taken from). */
plan_node *lt_push_selected(lua_State *L, int i, const lt_selection *s);
plan_node *lt_push_positions(lua_State *L, plan_node *at, int64_t extent);
plan_node *lt_push_take(lua_State *L, plan_node *x, plan_node *at0, int axis);

#endif
