/* fromlua.c - tensor(value): nested tables, numbers and booleans become
 * tensors. A first walk finds shape and dtype, a second one fills cells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"

#define TENSOR_OPTIONS "dtype device"

enum { HAS_BOOL = 1, HAS_INT = 2, HAS_REAL = 4, HAS_TENSOR = 8 };

typedef struct {
  int rank;
  int64_t dim[PLAN_RANK];
  int64_t at[PLAN_RANK]; /* position of the walk, from 1 */
  int has;
  int dtype;
  void *cells;
  int64_t n;               /* cells filled */
  const plan_operand *bad; /* a value that does not fit */
  plan_operand value;
} walk;

/* "[2][3]" of the walk's position down to depth axes. */
static const char *place(const walk *w, int depth, char *text, size_t size) {
  size_t n = 0;
  text[0] = 0;
  for (int i = 0; i < depth && n < size; i++)
    n += (size_t)snprintf(text + n, size - n, "[%lld]", (long long)w->at[i]);
  return text;
}

/* The extents along the first elements of each level. */
static void measure(lua_State *L, walk *w) {
  lua_pushvalue(L, 1);
  while (lua_type(L, -1) == LUA_TTABLE) {
    if (w->rank == PLAN_RANK)
      lt_fail(L, NULL, "the table is nested deeper than %d axes", PLAN_RANK);
    w->dim[w->rank++] = (int64_t)lua_rawlen(L, -1);
    if (lua_rawgeti(L, -1, 1) == LUA_TNIL) break;
    lua_remove(L, -2);
  }
  lua_settop(L, 2);
}

static int is_named(lua_State *L) {
  int named = 0;
  lua_pushnil(L);
  while (!named && lua_next(L, -2)) {
    named = lua_type(L, -2) != LUA_TNUMBER;
    lua_pop(L, 1);
  }
  if (named) lua_pop(L, 1);
  return named;
}

/* Keys besides 1..n. A list lies in the array part of its table, what follows
 * its last key there are the others; of a short one every key is looked at,
 * as it may be {[1]=1, [3]=3}. */
static void check_keys(lua_State *L, const walk *w, int depth, int64_t n) {
  enum { SHORT = 64 };
  char text[200];
  int64_t k;
  if (n < SHORT)
    lua_pushnil(L);
  else
    lua_pushinteger(L, n);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    if (lua_isinteger(L, -1) && (k = lua_tointeger(L, -1)) >= 1 && k <= n)
      continue;
    lt_fail(L, NULL, "%s has the key %s, which is no position 1..%I",
            depth ? place(w, depth, text, sizeof text) : "the table",
            luaL_tolstring(L, -1, NULL), (LUAI_UACINT)n);
  }
}

static void check_table(lua_State *L, const walk *w, int depth) {
  char text[200], first[200];
  lua_Unsigned n = lua_rawlen(L, -1);
  walk other = *w;
  if (depth >= w->rank)
    lt_fail(L, NULL, "ragged table: %s is a table, where the first is %s",
            place(w, depth, text, sizeof text),
            w->has & HAS_BOOL ? "a boolean" : "a number");
  if ((int64_t)n == w->dim[depth]) {
    if (n == 0 && is_named(L))
      lt_fail(L, NULL, "a table with names is no list of numbers");
    check_keys(L, w, depth, (int64_t)n);
    return;
  }
  for (int i = 0; i < depth; i++) other.at[i] = 1;
  lt_fail(L, NULL, "ragged table: %s has %I elements, %s has %I",
          depth ? place(w, depth, text, sizeof text) : "the table",
          (LUAI_UACINT)n, place(&other, depth, first, sizeof first),
          (LUAI_UACINT)w->dim[depth]);
}

static void check_leaf(lua_State *L, walk *w, int depth) {
  char text[200];
  int bit = 0;
  switch (lua_type(L, -1)) {
  case LUA_TBOOLEAN:
    bit = HAS_BOOL;
    break;
  case LUA_TNUMBER:
    bit = lua_isinteger(L, -1) ? HAS_INT : HAS_REAL;
    break;
  default:
    if (lt_tensor_test(L, -1))
      bit = HAS_TENSOR;
    else
      lt_fail(L, NULL, "%s is %s", place(w, depth, text, sizeof text),
              lt_type_name(L, -1));
  }
  if (depth != w->rank)
    lt_fail(L, NULL, "ragged table: %s is %s, where the first is a table",
            place(w, depth, text, sizeof text), lt_type_name(L, -1));
  w->has |= bit;
  if ((w->has & HAS_BOOL && w->has & (HAS_INT | HAS_REAL)) ||
      (w->has & HAS_TENSOR && w->has != HAS_TENSOR))
    lt_fail(L, NULL, "%s is %s, others are not",
            place(w, depth, text, sizeof text), lt_type_name(L, -1));
}

/* Checks what is on top, and below it (depth is at most PLAN_RANK). */
static void check(lua_State *L, walk *w, int depth) {
  if (lua_type(L, -1) != LUA_TTABLE) {
    check_leaf(L, w, depth);
    return;
  }
  check_table(L, w, depth);
  for (int64_t i = 1; i <= w->dim[depth]; i++) {
    if (i % 65536 == 1) lt_stop_point(L);
    w->at[depth] = i;
    lua_rawgeti(L, -1, (lua_Integer)i);
    check(L, w, depth + 1);
    lua_pop(L, 1);
  }
}

/* ---- the second walk: raises nothing, as cells are held ----------------- */
static int fill_leaf(lua_State *L, walk *w) {
  plan_operand *v = &w->value;
  if (lua_type(L, -1) == LUA_TBOOLEAN) {
    v->kind = PLAN_BOOL;
    v->num.i = lua_toboolean(L, -1);
    if (w->dtype != TSH_bool) v->kind = PLAN_INT;
  } else if (lua_isinteger(L, -1)) {
    v->kind = PLAN_INT;
    v->num.i = lua_tointeger(L, -1);
  } else {
    v->kind = PLAN_REAL;
    v->num.f = lua_tonumber(L, -1);
  }
  if (w->dtype == TSH_bool && v->kind == PLAN_INT && (v->num.u & ~1ull) == 0)
    v->kind = PLAN_BOOL;
  if (!lt_number_as(v, w->dtype)) return 0;
  lt_put_cell(w->dtype, w->cells, w->n++, v);
  return 1;
}

static int fill(lua_State *L, walk *w, int depth) {
  int ok = 1;
  if (depth == w->rank) return fill_leaf(L, w);
  for (int64_t i = 1; ok && i <= w->dim[depth]; i++) {
    w->at[depth] = i;
    lua_rawgeti(L, -1, (lua_Integer)i);
    ok = fill(L, w, depth + 1);
    lua_pop(L, 1);
  }
  return ok;
}

static void does_not_fit(lua_State *L, const walk *w) {
  char text[200], number[40];
  if (w->value.kind == PLAN_REAL)
    snprintf(number, sizeof number, "%.14g", lt_shown(w->value.num.f));
  else
    snprintf(number, sizeof number, LUA_INTEGER_FMT,
             (LUAI_UACINT)w->value.num.i);
  lt_fail(L, NULL, "%s%s does not fit %s",
          w->rank ? place(w, w->rank, text, sizeof text) : "",
          lua_pushfstring(L, w->rank ? ": %s" : "%s", number),
          plan_dtype_name(w->dtype));
}

static int dtype_of(const walk *w) {
  return w->has & HAS_REAL  ? TSH_f32
         : w->has & HAS_INT ? TSH_i64
         : w->has           ? TSH_bool
                            : TSH_f32;
}

/* plan_data, once more after a collection when memory is out. Raises nothing,
 * so its caller may hold the cells. */
static tsh_status data(lua_State *L, dev *d, int dtype, const plan_shape *s,
                       const void *cells, plan_node **out, tsh_err *err) {
  plan *p = lt_of(L)->plan;
  tsh_status rc;
  lt_gc_balance(L);
  err->size = sizeof *err;
  rc = plan_data(p, d, dtype, s, cells, out, err);
  if (rc != TSH_ENOMEM) return rc;
  lt_collect(L);
  return plan_data(p, d, dtype, s, cells, out, err);
}

tsh_status lt_push_data(lua_State *L, dev *d, int dtype, const plan_shape *s,
                        const void *cells, tsh_err *err) {
  plan_node **out = lt_tensor_new(L);
  return data(L, d, dtype, s, cells, out, err);
}

static tsh_status upload(lua_State *L, walk *w, dev *d, plan_node **out,
                         tsh_err *err) {
  const plan_shape *s = lt_shape_of(L, w->rank, w->dim);
  size_t bytes = (size_t)s->count * plan_dtype_bytes(w->dtype);
  tsh_status rc = TSH_OK;
  w->cells = malloc(bytes ? bytes : 1);
  if (!w->cells)
    return dev_fail(err, TSH_ENOMEM, "out of memory for %zu bytes", bytes);
  lua_pushvalue(L, 1);
  if (fill(L, w, 0))
    rc = data(L, d, w->dtype, s, w->cells, out, err);
  else
    w->bad = &w->value;
  lua_pop(L, 1);
  free(w->cells);
  w->cells = NULL;
  return rc;
}

/* tensors of one shape, joined along new axes in front */
static int stack_tensors(lua_State *L, walk *w, int dtype, dev *d);

static int from_table(lua_State *L, int dtype, dev *d) {
  walk w = {0};
  plan_node **out;
  tsh_err err;
  tsh_status rc;
  luaL_checkstack(L, PLAN_RANK + 20, NULL);
  measure(L, &w);
  lua_pushvalue(L, 1);
  check(L, &w, 0);
  lua_pop(L, 1);
  if (w.has & HAS_TENSOR) return stack_tensors(L, &w, dtype, d);
  w.dtype = dtype ? dtype : dtype_of(&w);
  if (w.dtype == TSH_c64) return lt_fail(L, NULL, "no c64 tensors yet");
  lt_shape_of(L, w.rank, w.dim);
  lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  rc = upload(L, &w, d, out, &err);
  if (w.bad) does_not_fit(L, &w);
  lt_check(L, rc, &err);
  return lt_done(L, 1);
}

/* ---- tables of tensors -------------------------------------------------- */
/* Pushes every tensor of the table on top, flattened to one row, and counts. */
static int push_rows(lua_State *L, const walk *w, int depth, int64_t *n) {
  if (depth == w->rank) {
    lua_pushvalue(L, -1);
    lua_rawseti(L, 4, ++*n);
    return 1;
  }
  for (int64_t i = 1; i <= w->dim[depth]; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i);
    push_rows(L, w, depth + 1, n);
    lua_pop(L, 1);
  }
  return 1;
}

static void same_shapes(lua_State *L, int64_t n, const plan_shape **shape) {
  char a[300], b[300];
  plan_node *first = NULL;
  for (int64_t i = 1; i <= n; i++) {
    plan_node *x;
    lua_rawgeti(L, 4, (lua_Integer)i);
    x = lt_tensor_test(L, -1);
    if (!first) first = x;
    if (plan_shape_of(x) != plan_shape_of(first))
      lt_fail(L, NULL, "tensors in a table must have one shape: %s and %s",
              plan_describe(first, a, sizeof a), plan_describe(x, b, sizeof b));
    lua_pop(L, 1);
  }
  *shape = plan_shape_of(first);
}

static int stack_tensors(lua_State *L, walk *w, int dtype, dev *d) {
  const plan_shape *each;
  int64_t dim[PLAN_RANK], n = 0;
  int rank = w->rank;
  lua_settop(L, 3);
  lua_newtable(L);     /* 4: the rows */
  lua_pushvalue(L, 1); /* 5: what is walked */
  push_rows(L, w, 0, &n);
  lua_settop(L, 4);
  same_shapes(L, n, &each);
  if (rank + (int)each->rank > PLAN_RANK)
    return lt_fail(L, NULL, "a tensor has at most %d axes", PLAN_RANK);
  memcpy(dim, w->dim, sizeof dim);
  for (uint32_t i = 0; i < each->rank; i++) dim[rank++] = each->dim[i];
  lt_push_stack(L, 4, n);
  lt_push_reshape(L, -1, lt_shape_of(L, rank, dim));
  if (dtype) lt_push_cast(L, lt_tensor_test(L, -1), dtype);
  if (d) lt_push_to(L, lt_tensor_test(L, -1), d);
  return lt_done(L, 1);
}

/* ---- tensor(value, dtype | {dtype=, device=}) --------------------------- */
/* [[1, 2], [3, 4]] is the string "1, 2], [3, 4" to Lua. */
static int is_rows(lua_State *L, int i) {
  const char *text = lua_type(L, i) == LUA_TSTRING ? lua_tostring(L, i) : "";
  return *text && strspn(text, " 0123456789.,+-eE[]\n") == strlen(text) &&
         strchr(text, ',') != NULL;
}

static int from_tensor(lua_State *L, int dtype, dev *d) {
  lt_begin(L);
  lua_pushvalue(L, 1);
  if (dtype) lt_push_cast(L, lt_tensor_test(L, -1), dtype);
  if (d) lt_push_to(L, lt_tensor_test(L, -1), d);
  return lt_done(L, 1);
}

int lt_create_tensor(lua_State *L) {
  int dtype = 0;
  dev *d = NULL;
  lt_most_args(L, 2);
  lua_settop(L, 2);
  if (lua_type(L, 2) == LUA_TSTRING) {
    dtype = lt_arg_dtype(L, 2);
  } else if (lt_arg_options(L, 2, TENSOR_OPTIONS)) {
    dtype = lt_option_dtype(L, 2, 0);
    d = lt_option_device(L, 2, NULL);
  }
  if (lt_tensor_test(L, 1)) return from_tensor(L, dtype, d);
  switch (lua_type(L, 1)) {
  case LUA_TTABLE:
    if (lt_shape_test(L, 1)) lt_shape_table(L, 1), lua_replace(L, 1);
    break;
  case LUA_TNUMBER:
  case LUA_TBOOLEAN:
    break;
  default:
    return lt_fail(
        L,
        is_rows(L, 1) ? "[[ ]] is a string here; rows are {{1, 2}, {3, 4}}"
                      : NULL,
        "takes a table, a number or a boolean, got %s", lt_type_name(L, 1));
  }
  return from_table(L, dtype, d ? d : lt_of(L)->device);
}

const lt_function lt_fromlua_functions[] = {
    {"tensor", "value, dtype", TENSOR_OPTIONS,
     "A tensor of a number, a boolean, a nested table of them, or of tensors "
     "of one shape. Whole numbers give i64, floats (also beside whole numbers) "
     "f32, booleans bool; dtype is a word or {dtype=, device=}. Rows of "
     "different lengths, and numbers that do not fit the dtype, are errors.",
     lt_create_tensor, NULL, NULL, LT_GLOBAL},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
