/* index.h - what an index means for one tensor. */
#ifndef LT_INDEX_H
#define LT_INDEX_H

#include "priv.h"

/* One tensor of an index. Integers pick along one axis; a bool mask names
 * places of as many axes as it has, which become one axis. */
typedef struct {
  plan_node *at;     /* borrowed from the index */
  int is_mask, axis; /* axis: of dim */
  int64_t extent;    /* of that axis */
} lt_picker;

/* x[index] is: slice with range, reshape to dim, pick along axes. */
typedef struct {
  plan_range range[PLAN_RANK]; /* one per axis of x */
  int rank;
  int64_t dim[3 * PLAN_RANK]; /* without dropped axes, with new ones */
  int sliced, reshaped;       /* is the step needed? */
  int npick, nmask;           /* tensors; how many of them are masks */
  lt_picker pick[2 * PLAN_RANK];
} lt_selection;

/* All that the tensors of an index pick, as positions along one axis. */
typedef struct {
  plan_node *x;  /* the part with the axes picked from made one: see axis */
  plan_node *at; /* i64 positions from 0, in the shape that they all have */
  int axis;
  int moved;               /* were the axes moved to the front? */
  uint8_t back[PLAN_RANK]; /* then: the order that undoes it */
} lt_picked;

/* The index at i for t; raises. */
void lt_select_parse(lua_State *L, int i, const plan_node *t, lt_selection *s);
/* Pushes the tensor at i sliced and reshaped (not yet taken from). */
plan_node *lt_push_selected(lua_State *L, int i, const lt_selection *s);
/* Pushes what picked says, of the part just selected (on the stack below).
 * Counts what masks name, so what is pending may run. */
void lt_push_picked(lua_State *L, const lt_selection *s, plan_node *part,
                    lt_picked *out);
/* Pushes picked->x's successor in the shape of the part. */
plan_node *lt_push_unpicked(lua_State *L, plan_node *x, const lt_picked *c,
                            const plan_node *part);
/* Pushes the 0-based positions of the true elements of a mask, row-major. */
plan_node *lt_push_places(lua_State *L, plan_node *mask);
plan_node *lt_push_positions(lua_State *L, plan_node *at, int64_t extent);
plan_node *lt_push_take(lua_State *L, plan_node *x, plan_node *at0, int axis);

#endif
