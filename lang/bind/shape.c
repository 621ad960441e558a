/* shape.c - functions that move elements without computing: reshape permute
 * expand and their kin. */
#include <string.h>
#include "priv.h"

/* ---- pushed by other files, too ----------------------------------------- */
void lt_push_reshape(lua_State *L, int i, const plan_shape *s) {
  plan_node *x = lt_tensor_test(L, i);
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_reshape(lt_of(L)->plan, x, s, out, &err), &err);
}

plan_node *lt_push_slice(lua_State *L, plan_node *x, const plan_range *range) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_slice(lt_of(L)->plan, x, range, out, &err), &err);
  return *out;
}

plan_node *lt_push_expand(lua_State *L, plan_node *x, const plan_shape *s) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_expand(lt_of(L)->plan, x, s, out, &err), &err);
  return *out;
}

plan_node *lt_push_permute(lua_State *L, plan_node *x, const uint8_t *order) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_permute(lt_of(L)->plan, x, order, out, &err), &err);
  return *out;
}

/* ---- reshape ------------------------------------------------------------ */
/* One size may be -1: what is left of the elements. */
static void fill_wild(lua_State *L, int64_t count, int rank, int64_t *dim) {
  int64_t known = 1;
  int wild = -1;
  for (int i = 0; i < rank; i++) {
    if (dim[i] >= 0) {
      if (dim[i] > 0 && known > INT64_MAX / dim[i])
        known = INT64_MAX;
      else
        known *= dim[i];
    } else if (wild >= 0) {
      lt_fail(L, NULL, "only one size can be -1");
    } else {
      wild = i;
    }
  }
  if (wild < 0) return;
  if (known == 0) lt_fail(L, NULL, "-1 beside a size of 0 could be anything");
  if (count % known)
    lt_fail(L, NULL, "%I elements do not divide into rows of %I", count, known);
  dim[wild] = count / known;
}

static int shape_reshape(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  int64_t dim[PLAN_RANK];
  int rank = lt_arg_sizes(L, 2, lua_gettop(L), 1, dim);
  fill_wild(L, plan_shape_of(x)->count, rank, dim);
  lt_begin(L);
  lt_push_reshape(L, 1, lt_shape_of(L, rank, dim));
  return lt_done(L, 1);
}

/* flatten(x), flatten(x, first, last): those axes become one. */
static int shape_flatten(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  const plan_shape *s = plan_shape_of(x);
  int rank = (int)s->rank, first = 0, last = rank - 1, n = 0;
  int64_t dim[PLAN_RANK];
  lt_most_args(L, 3);
  if (!lua_isnoneornil(L, 2)) first = lt_arg_axis(L, 2, rank);
  if (!lua_isnoneornil(L, 3)) last = lt_arg_axis(L, 3, rank);
  if (rank > 0 && last < first)
    return lt_fail(L, NULL, "the first axis stands behind the last");
  for (int i = 0; i < first; i++) dim[n++] = s->dim[i];
  dim[n] = 1;
  for (int i = first; i <= last; i++) dim[n] *= s->dim[i];
  n++;
  for (int i = last + 1; i < rank; i++) dim[n++] = s->dim[i];
  lt_begin(L);
  lt_push_reshape(L, 1, lt_shape_of(L, n, dim));
  return lt_done(L, 1);
}

/* ---- windows ------------------------------------------------------------- */
static int64_t from_one(lua_State *L, int i, const char *what, int64_t none) {
  int64_t v = lua_isnoneornil(L, i) ? none : lt_arg_whole(L, i, what);
  if (v < 1) lt_fail(L, NULL, "%s must be from 1, got %I", what, v);
  return v;
}

/* unfold(x, axis, size, step) or unfold(x, {axis=, size=, step=, dilation=}) */
static int shape_unfold(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1), **out;
  int axis, at = 2;
  plan_window w;
  tsh_err err;
  lt_most_args(L, 5);
  if (lt_is_options(L, 2)) {
    static const char *const names[] = {"axis", "size", "step", "dilation"};
    lt_arg_options(L, 2, "axis size step dilation");
    lua_settop(L, 2);
    for (int i = 0; i < 4; i++) lt_option(L, 2, names[i]);
    at = 3;
  }
  axis = lt_arg_axis(L, at, (int)plan_shape_of(x)->rank);
  w.size = from_one(L, at + 1, "size", 0);
  w.stride = from_one(L, at + 2, "step", 1);
  w.dilation = from_one(L, at + 3, "dilation", 1);
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_windows(lt_of(L)->plan, x, axis, &w, out, &err), &err);
  return lt_done(L, 1);
}

/* squeeze(x): all axes of extent 1 go; squeeze(x, axis): those named, if 1. */
static int shape_squeeze(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  const plan_shape *s = plan_shape_of(x);
  int64_t dim[PLAN_RANK];
  uint32_t axes;
  int n = 0, at = 2;
  lt_most_args(L, 2);
  if (lt_is_options(L, 2)) {
    lt_arg_options(L, 2, "axis");
    lt_option(L, 2, "axis");
    at = lua_gettop(L);
  }
  axes = lt_arg_axes(L, at, (int)s->rank);
  for (uint32_t i = 0; i < s->rank; i++)
    if (!(axes >> i & 1) || s->dim[i] != 1) dim[n++] = s->dim[i];
  lt_begin(L);
  lt_push_reshape(L, 1, lt_shape_of(L, n, dim));
  return lt_done(L, 1);
}

static int shape_unsqueeze(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  const plan_shape *s = plan_shape_of(x);
  int64_t dim[PLAN_RANK + 1];
  int axis, at = 2;
  lt_most_args(L, 2);
  if (lt_is_options(L, 2)) {
    lt_arg_options(L, 2, "axis");
    lt_option(L, 2, "axis");
    at = lua_gettop(L);
  }
  axis = lt_arg_axis(L, at, (int)s->rank + 1);
  memcpy(dim, s->dim, sizeof *dim * (size_t)axis);
  dim[axis] = 1;
  memcpy(dim + axis + 1, s->dim + axis, sizeof *dim * (s->rank - (size_t)axis));
  lt_begin(L);
  lt_push_reshape(L, 1, lt_shape_of(L, (int)s->rank + 1, dim));
  return lt_done(L, 1);
}

/* ---- permute ------------------------------------------------------------- */
static int shape_permute(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  int rank = (int)plan_shape_of(x)->rank, n = 0, list = 0;
  uint8_t order[PLAN_RANK];
  uint32_t seen = 0;
  if (lua_gettop(L) == 2 && lua_type(L, 2) == LUA_TTABLE) {
    n = (int)lua_rawlen(L, 2);
    list = 1;
  } else {
    n = lua_gettop(L) - 1;
  }
  if (n != rank)
    return lt_fail(L, NULL, "all %d axes in their new order are needed, got %d",
                   rank, n);
  for (int i = 0; i < rank; i++) {
    if (list)
      lua_rawgeti(L, 2, i + 1);
    else
      lua_pushvalue(L, i + 2);
    order[i] = (uint8_t)lt_arg_axis(L, -1, rank);
    lua_pop(L, 1);
    if (seen >> order[i] & 1)
      return lt_fail(L, NULL, "axis %d is given twice", order[i] + 1);
    seen |= UINT32_C(1) << order[i];
  }
  lt_begin(L);
  lt_push_permute(L, x, order);
  return lt_done(L, 1);
}

/* transpose(x, a, b) exchanges two axes; transpose(x) the last two. */
static int shape_transpose(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  int rank = (int)plan_shape_of(x)->rank, a = rank - 2, b = rank - 1;
  uint8_t order[PLAN_RANK];
  lt_most_args(L, 3);
  if (lua_gettop(L) > 1) {
    a = lt_arg_axis(L, 2, rank);
    b = lt_arg_axis(L, 3, rank);
  } else if (rank < 2) {
    return lt_fail(L, NULL, "a tensor of %d axes has no two to exchange", rank);
  }
  for (int i = 0; i < rank; i++) order[i] = (uint8_t)i;
  order[a] = (uint8_t)b;
  order[b] = (uint8_t)a;
  lt_begin(L);
  lt_push_permute(L, x, order);
  return lt_done(L, 1);
}

/* x.T: all axes in reverse. */
int lt_push_reversed(lua_State *L, plan_node *x) {
  int rank = (int)plan_shape_of(x)->rank;
  uint8_t order[PLAN_RANK];
  for (int i = 0; i < rank; i++) order[i] = (uint8_t)(rank - 1 - i);
  lt_begin(L);
  lt_push_permute(L, x, order);
  return lt_done(L, 1);
}

/* ---- expand -------------------------------------------------------------- */
/* -1 keeps an extent. */
static int shape_expand(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  const plan_shape *s = plan_shape_of(x);
  int64_t dim[PLAN_RANK];
  int rank = lt_arg_sizes(L, 2, lua_gettop(L), 1, dim);
  for (int i = 0; i < rank; i++) {
    int from = i - rank + (int)s->rank;
    if (dim[i] >= 0) continue;
    if (from < 0)
      return lt_fail(L, NULL, "-1 keeps an extent; axis %d is new", i + 1);
    dim[i] = s->dim[from];
  }
  lt_begin(L);
  lt_push_expand(L, x, lt_shape_of(L, rank, dim));
  return lt_done(L, 1);
}

#define BOTH (LT_GLOBAL | LT_METHOD)
const lt_function lt_shape_functions[] = {
    {"reshape", "x, sizes", "",
     "The same elements, row-major, in another shape; one size may be -1: what "
     "is left. Sizes are numbers or one table.",
     shape_reshape, NULL, NULL, BOTH},
    {"view", "", "", "", NULL, NULL, "reshape", 0},
    {"flatten", "x, first, last", "",
     "The axes from first to last (all without them) become one.",
     shape_flatten, NULL, NULL, BOTH},
    {"permute", "x, axes", "",
     "The axes in another order, each named once, as numbers or one table.",
     shape_permute, NULL, NULL, BOTH},
    {"transpose", "x, a, b", "",
     "Axes a and b exchanged; the last two without them. x.T reverses all.",
     shape_transpose, NULL, NULL, BOTH},
    {"squeeze", "x, axis", "axis",
     "Without the axes of extent 1; with axis (a number or a list) only those.",
     shape_squeeze, NULL, NULL, BOTH},
    {"unsqueeze", "x, axis", "axis",
     "With a new axis of extent 1, which gets the number axis; -1: at the end.",
     shape_unsqueeze, NULL, NULL, BOTH},
    {"expand", "x, sizes", "",
     "Axes of extent 1 repeated, new axes in front; -1 keeps an extent. "
     "Nothing is copied.",
     shape_expand, NULL, NULL, BOTH},
    {"unfold", "x, axis, size, step", "axis size step dilation",
     "Windows of size elements along an axis, one every step (1): the axis "
     "then counts the windows, and a new last axis runs through each. "
     "dilation (1): distance of a window's elements. Nothing is copied.",
     shape_unfold, NULL, NULL, BOTH},
    {"broadcast_to", "", "", "", NULL, NULL, "expand", 0},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
