/* shape.c - functions that move elements without computing: reshape permute
 * expand cat slice pad and their kin; cast to detach. */
#include <string.h>
#include "priv.h"

/* ---- pushed by other files, too
 * ---------------------------------------------------- */
void lt_push_reshape(lua_State *L, int i, const plan_shape *s) {
  plan_node *x = lt_tensor_test(L, i);
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_reshape(lt_of(L)->plan, x, s, out, &err), &err);
}

plan_node *lt_push_cast(lua_State *L, plan_node *x, int dtype) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_cast(lt_of(L)->plan, x, dtype, out, &err), &err);
  return *out;
}

plan_node *lt_push_to(lua_State *L, plan_node *x, dev *d) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_to(lt_of(L)->plan, x, d, out, &err), &err);
  return *out;
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

static plan_node *push_permute(lua_State *L, plan_node *x,
                               const uint8_t *order) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_permute(lt_of(L)->plan, x, order, out, &err), &err);
  return *out;
}

/* ---- reshape
 * ------------------------------------------------------------------------ */
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

/* ---- permute
 * ----------------------------------------------------------------------------
 */
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
  push_permute(L, x, order);
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
  push_permute(L, x, order);
  return lt_done(L, 1);
}

/* x.T: all axes in reverse. */
int lt_push_reversed(lua_State *L, plan_node *x) {
  int rank = (int)plan_shape_of(x)->rank;
  uint8_t order[PLAN_RANK];
  for (int i = 0; i < rank; i++) order[i] = (uint8_t)(rank - 1 - i);
  lt_begin(L);
  push_permute(L, x, order);
  return lt_done(L, 1);
}

/* ---- expand
 * ----------------------------------------------------------------------------------
 */
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

/* ---- cat, stack
 * --------------------------------------------------------------------------------
 */
/* Pushes a buffer of the n nodes in the table at i, made with reshape to s
 * first when s is given. The handles stay in the table. */
static plan_node **push_nodes(lua_State *L, int i, int64_t n) {
  plan_node **x = lua_newuserdatauv(L, (size_t)n * sizeof *x + 1, 0);
  for (int64_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    x[k] = lt_tensor_test(L, -1);
    if (!x[k])
      lt_fail(L, NULL, "element %I must be a tensor, got %s", k + 1,
              lt_type_name(L, -1));
    lua_pop(L, 1);
  }
  return x;
}

void lt_push_cat(lua_State *L, int i, int64_t n, int axis) {
  plan_node **x = push_nodes(L, i, n), **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_cat(lt_of(L)->plan, x, (int)n, axis, out, &err), &err);
}

/* cat(list, axis), cat(list, {axis=}), the first axis without it; also
 * cat(a, b, ...) and a:cat(b). */
static int shape_cat(lua_State *L) {
  int n = 0, at = 2, axis = 0, rank;
  plan_node *first;
  if (lt_tensor_test(L, 1)) { /* gather the leading tensors in a table */
    while (lt_tensor_test(L, n + 1)) n++;
    lua_createtable(L, n, 0);
    for (int i = 1; i <= n; i++) {
      lua_pushvalue(L, i);
      lua_rawseti(L, -2, i);
    }
    lua_insert(L, 1);
    at = n + 2;
  } else if (lua_type(L, 1) == LUA_TTABLE) {
    if (lua_rawlen(L, 1) > INT32_MAX) return lt_fail(L, NULL, "too many");
    n = (int)lua_rawlen(L, 1);
  } else {
    return lt_fail(L, "cat{a, b}", "a list of tensors is needed, got %s",
                   lt_type_name(L, 1));
  }
  lt_most_args(L, at);
  lua_settop(L, at);
  if (n == 0) return lt_fail(L, NULL, "there is nothing to join");
  lua_rawgeti(L, 1, 1);
  if (!(first = lt_tensor_test(L, -1)))
    return lt_fail(L, NULL, "element 1 must be a tensor, got %s",
                   lt_type_name(L, -1));
  rank = (int)plan_shape_of(first)->rank;
  if (rank == 0)
    return lt_fail(L, "stack{a, b}", "tensors without axes cannot be joined");
  if (lua_type(L, at) == LUA_TTABLE) {
    lt_arg_options(L, at, "axis");
    if (lt_option(L, at, "axis") != LUA_TNIL) axis = lt_arg_axis(L, -1, rank);
  } else if (!lua_isnil(L, at)) {
    axis = lt_arg_axis(L, at, rank);
  }
  lt_begin(L);
  lt_push_cat(L, 1, n, axis);
  return lt_done(L, 1);
}

/* Joins n tensors of one shape, in the table at i, along a new first axis. */
void lt_push_stack(lua_State *L, int i, int64_t n) {
  int64_t dim[PLAN_RANK + 1];
  const plan_shape *s;
  lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
  for (int64_t k = 1; k <= n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k);
    s = plan_shape_of(lt_tensor_test(L, -1));
    dim[0] = 1;
    memcpy(dim + 1, s->dim, sizeof *dim * s->rank);
    lt_push_reshape(L, -1, lt_shape_of(L, (int)s->rank + 1, dim));
    lua_rawseti(L, -3, (lua_Integer)k);
    lua_pop(L, 1);
  }
  lt_push_cat(L, lua_gettop(L), n, 0);
}

/* ---- pad
 * ------------------------------------------------------------------------------------------
 */
/* The pair of an axis from the table at 2. */
static void arg_pair(lua_State *L, int axis, int64_t *before, int64_t *after) {
  int64_t *out[2] = {before, after};
  if (lua_rawgeti(L, 2, axis + 1) != LUA_TTABLE || lua_rawlen(L, -1) != 2)
    lt_fail(L, "pad(x, {{before, after}, ...})",
            "axis %d needs a pair {before, after}", axis + 1);
  for (int i = 0; i < 2; i++) {
    lua_rawgeti(L, -1, i + 1);
    *out[i] = lt_arg_whole(L, -1, "a border");
    if (*out[i] < 0)
      lt_fail(L, "x[{{2, -2}}] takes a border off", "a border cannot be %I",
              *out[i]);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static int shape_pad(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  int rank = (int)plan_shape_of(x)->rank;
  int64_t before[PLAN_RANK], after[PLAN_RANK];
  plan_operand value = {.kind = PLAN_INT};
  plan_node **out;
  tsh_err err;
  lt_most_args(L, 3);
  lua_settop(L, 3);
  if (lua_type(L, 2) != LUA_TTABLE || (int)lua_rawlen(L, 2) != rank)
    return lt_fail(L, "pad(x, {{before, after}, ...})",
                   "one pair for each of the %d axes is needed", rank);
  for (int i = 0; i < rank; i++) arg_pair(L, i, &before[i], &after[i]);
  if (lua_type(L, 3) == LUA_TNUMBER || lua_type(L, 3) == LUA_TBOOLEAN) {
    lt_arg_operand(L, 3, &value);
  } else if (lt_arg_options(L, 3, "value")) {
    if (lt_option(L, 3, "value") != LUA_TNIL) lt_arg_operand(L, -1, &value);
  }
  if (value.kind == PLAN_TENSOR)
    return lt_fail(L, NULL, "the value must be a number, got a tensor");
  if (plan_dtype_of(x) == TSH_bool && value.kind == PLAN_INT &&
      (value.num.i == 0 || value.num.i == 1))
    value.kind = PLAN_BOOL;
  lt_number_fit(L, &value, plan_dtype_of(x));
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_pad(lt_of(L)->plan, x, before, after, &value, out, &err),
           &err);
  return lt_done(L, 1);
}

void lt_number_fit(lua_State *L, plan_operand *v, int dtype) {
  plan_operand was = *v;
  if (lt_number_as(v, dtype)) return;
  if (was.kind == PLAN_REAL)
    lt_fail(L, NULL, "%f does not fit %s", was.num.f, plan_dtype_name(dtype));
  if (was.kind == PLAN_BOOL)
    lt_fail(L, NULL, "a boolean does not fit %s", plan_dtype_name(dtype));
  lt_fail(L, NULL, "%I does not fit %s", (LUAI_UACINT)was.num.i,
          plan_dtype_name(dtype));
}

/* ---- cast, to, detach
 * ------------------------------------------------------------------------------
 */
static int shape_cast(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  int dtype;
  lt_most_args(L, 2);
  dtype = lt_arg_dtype(L, 2);
  lt_begin(L);
  lt_push_cast(L, x, dtype);
  return lt_done(L, 1);
}

/* x:to("npu:0"), x:to("f16"). */
static int shape_to(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
  dev *d;
  lt_most_args(L, 2);
  if (name && plan_dtype_find(name)) return shape_cast(L);
  d = lt_arg_device(L, 2);
  lt_begin(L);
  lt_push_to(L, x, d);
  return lt_done(L, 1);
}

static int shape_detach(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  plan_node **out;
  tsh_err err;
  lt_most_args(L, 1);
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_detach(lt_of(L)->plan, x, out, &err), &err);
  return lt_done(L, 1);
}

#define CAST_X(id, name, type, bytes, kind)                                    \
  static int to_##name(lua_State *L) {                                         \
    plan_node *x = lt_tensor_get(L, 1);                                        \
    lt_most_args(L, 1);                                                        \
    lt_begin(L);                                                               \
    lt_push_cast(L, x, id);                                                    \
    return lt_done(L, 1);                                                      \
  }
TSH_DTYPES(CAST_X)
#undef CAST_X

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
    {"broadcast_to", "", "", "", NULL, NULL, "expand", 0},
    {"cat", "list, axis", "axis",
     "The tensors of a list joined along axis (1 without it); their other "
     "extents must agree.",
     shape_cat, NULL, NULL, BOTH},
    {"pad", "x, pairs, value", "value",
     "With a border: pairs = {{before, after}, ...}, one for each axis, filled "
     "with value (0).",
     shape_pad, NULL, NULL, BOTH},
    {"cast", "x, dtype", "",
     "In another dtype. Floats to integers are cut towards 0 and saturate, nan "
     "gives 0.",
     shape_cast, NULL, NULL, BOTH},
    {"to", "x, device", "", "On another device; also x:to(dtype).", shape_to,
     NULL, NULL, LT_METHOD},
    {"detach", "x", "", "As a constant: gradients stop here.", shape_detach,
     NULL, NULL, BOTH},
#define CAST_ROW(id, name, type, bytes, kind)                                  \
  {#name,     "x",  "",   "x:" #name "() is x:cast(\"" #name "\").",           \
   to_##name, NULL, NULL, LT_METHOD},
    TSH_DTYPES(CAST_ROW)
#undef CAST_ROW
        {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
