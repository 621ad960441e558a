/* index.c - t[index]: positions from 1, ranges with their end, "...", newaxis,
 * tensors of positions, masks; and the fields of a tensor. */
#include <ctype.h>
#include <string.h>
#include "index.h"

#define NEW_AXIS "newaxis"
#define REST     "..."

/* ---- one position, one range -------------------------------------------- */
/* t[{2,9}] may have been meant as rows 2 to 9. */
static const char *pair_hint(lua_State *L, int i) {
  int64_t a, b;
  if (lua_type(L, i) != LUA_TTABLE || lua_rawlen(L, i) != 2) return NULL;
  lua_rawgeti(L, i, 1);
  lua_rawgeti(L, i, 2);
  if (!lt_is_whole(L, -2, &a) || !lt_is_whole(L, -1, &b)) return NULL;
  return lua_pushfstring(L,
                         "t[{%I,%I}] is one element; t[{{%I,%I}}] are the "
                         "rows from %I to %I",
                         a, b, a, b, a, b);
}

/* index: where the whole index stands. */
static void out_of_range(lua_State *L, int index, int axis, int64_t at,
                         int64_t extent) {
  const char *hint = NULL;
  if (extent == 0)
    lt_fail(L, NULL, "position %I: axis %d has no element", at, axis + 1);
  if (at == 0)
    hint = "positions count from 1";
  else if (at == extent + 1 && lua_type(L, index) == LUA_TNUMBER)
    hint = "for i, row in t:rows() do visits every row";
  else
    hint = pair_hint(L, index);
  lt_fail(L, hint, "%I is outside 1..%I of axis %d", at, extent, axis + 1);
}

/* The position on top, of the index at `index`. */
static int64_t position(lua_State *L, int index, int axis, int64_t extent) {
  int64_t at = lt_arg_whole(L, -1, "a position");
  int64_t from0 = at < 0 ? at + extent : at - 1;
  if (at == 0 || from0 < 0 || from0 >= extent)
    out_of_range(L, index, axis, at, extent);
  return from0;
}

static void bad_range(lua_State *L, int axis, const int64_t *r,
                      int64_t extent) {
  lt_fail(L,
          "data.batches(x, n) cuts rows, a short rest last; {a, -1} ends at "
          "the end",
          "range {%I,%I} is outside 1..%I of axis %d", r[0], r[1], extent,
          axis + 1);
}

/* r: first, last, step as written. Like Lua's for, a last before the first is
 * an empty range, also one that begins just behind the end. */
static void resolve(lua_State *L, int axis, const int64_t *r, int64_t extent,
                    plan_range *out) {
  int64_t step = r[2];
  int64_t a = r[0] < 0 ? r[0] + extent + 1 : r[0];
  int64_t b = r[1] < 0 ? r[1] + extent + 1 : r[1];
  int64_t low = step > 0 ? a : b, high = step > 0 ? b : a;
  if (step == 0) lt_fail(L, NULL, "the step of a range cannot be 0");
  if (step == INT64_MIN) step++;
  out->start = 0;
  out->step = 1;
  out->count = 0;
  if (high < low) {
    if (low < 1 || low > extent + 1 || high < 0 || high > extent)
      bad_range(L, axis, r, extent);
    return;
  }
  if (low < 1 || high > extent) {
    if (r[0] == 0 || r[1] == 0)
      lt_fail(L, "positions count from 1", "range {%I,%I} has position 0", r[0],
              r[1]);
    bad_range(L, axis, r, extent);
  }
  out->start = a - 1;
  out->step = step;
  out->count = (high - low) / (step > 0 ? step : -step) + 1;
}

static void range(lua_State *L, int axis, int64_t extent, plan_range *out) {
  int64_t r[3] = {1, extent, 1};
  lua_Unsigned n = lua_rawlen(L, -1);
  if (n == 1 || n > 3)
    lt_fail(L, "{} all, {first, last}, {first, last, step}",
            "a range has two or three numbers, this one %I", (LUAI_UACINT)n);
  for (lua_Unsigned i = 0; i < n; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    r[i] = lt_arg_whole(L, -1, "the end of a range");
    lua_pop(L, 1);
  }
  resolve(L, axis, r, extent, out);
}

/* ---- a whole index ------------------------------------------------------ */
static void all_of(lt_selection *s, const plan_shape *x, int axis) {
  s->range[axis].start = 0;
  s->range[axis].count = x->dim[axis];
  s->range[axis].step = 1;
  s->dim[s->rank++] = x->dim[axis];
}

static void add_axis(lua_State *L, lt_selection *s) {
  if (s->rank >= PLAN_RANK)
    lt_fail(L, NULL, "a tensor has at most %d axes", PLAN_RANK);
  s->dim[s->rank++] = 1;
  s->reshaped = 1;
}

/* A mask of the next axes of x, which become one. */
static int add_mask(lua_State *L, lt_selection *s, const plan_shape *x,
                    int axis, const plan_shape *mask) {
  int n = (int)mask->rank, same = axis + n <= (int)x->rank;
  for (int i = 0; i < n && same; i++) same = mask->dim[i] == x->dim[axis + i];
  if (!same) {
    const char *of_mask, *of_x;
    lt_shape_push(L, mask);
    of_mask = luaL_tolstring(L, -1, NULL);
    lt_shape_push(L, x);
    of_x = luaL_tolstring(L, -1, NULL);
    lt_fail(L, "a mask has the extents of the axes that it stands for",
            "a mask %s does not fit the axes of %s from axis %d on", of_mask,
            of_x, axis + 1);
  }
  if (n == 0) {
    add_axis(L, s);
    return 0;
  }
  for (int i = 0; i < n; i++) all_of(s, x, axis + i);
  s->rank -= n - 1;
  s->dim[s->rank - 1] = mask->count;
  s->reshaped |= n > 1;
  return n;
}

/* The axes of x that it takes. */
static int add_tensor(lua_State *L, lt_selection *s, const plan_shape *x,
                      int axis, plan_node *at) {
  int kind = plan_dtype_kind(plan_dtype_of(at)), n = 1;
  lt_picker *p = &s->pick[s->npick];
  p->at = at;
  p->axis = s->rank;
  p->is_mask = kind == TSH_KIND_BOOL;
  if (p->is_mask) {
    n = add_mask(L, s, x, axis, plan_shape_of(at));
    s->nmask++;
  } else if (kind == TSH_KIND_INT || kind == TSH_KIND_UINT) {
    all_of(s, x, axis);
  } else {
    lt_fail(L, "at:cast(\"i64\")", "positions must be integers, not %s",
            plan_dtype_name(plan_dtype_of(at)));
  }
  p->extent = s->dim[s->rank - 1];
  if (!p->is_mask && p->extent == 0 && plan_shape_of(at)->count)
    lt_fail(L, NULL, "axis %d has no element", axis + 1);
  s->npick++;
  return n;
}

/* The item on top, of the index at `index`, from `axis` of x on; how many axes
 * it takes. */
static int add_item(lua_State *L, int index, lt_selection *s,
                    const plan_shape *x, int axis) {
  plan_node *at = lt_tensor_test(L, -1);
  if (at) return add_tensor(L, s, x, axis, at);
  if (lua_type(L, -1) == LUA_TNUMBER) {
    s->range[axis].start = position(L, index, axis, x->dim[axis]);
    s->range[axis].count = s->range[axis].step = 1;
    s->sliced = s->reshaped = 1;
  } else if (lua_type(L, -1) == LUA_TTABLE) {
    range(L, axis, x->dim[axis], &s->range[axis]);
    s->dim[s->rank++] = s->range[axis].count;
    s->sliced = 1;
  } else {
    lt_fail(L,
            lua_type(L, -1) == LUA_TSTRING
                ? "columns have numbers: x, names = read(path) gives "
                  "x[{{}, names.price}]"
                : "a number, {first, last}, {}, \"...\", newaxis or a tensor",
            "%s is no index", lt_type_name(L, -1));
  }
  return 1;
}

enum { ITEM, ITEM_REST, ITEM_NEW };

/* Pushes item k of the table at i. */
static int kind_of_item(lua_State *L, int i, lua_Integer k) {
  const char *word;
  int kind = ITEM;
  if (lua_rawgeti(L, i, k) == LUA_TSTRING) {
    word = lt_arg_word(L, -1);
    if (strcmp(word, REST) == 0)
      kind = ITEM_REST;
    else if (strcmp(word, NEW_AXIS) == 0)
      kind = ITEM_NEW;
  }
  return kind;
}

/* How many axes the item on top names. */
static int axes_of_item(lua_State *L) {
  plan_node *at = lt_tensor_test(L, -1);
  if (!at || plan_dtype_kind(plan_dtype_of(at)) != TSH_KIND_BOOL) return 1;
  return (int)plan_shape_of(at)->rank;
}

/* How many axes the items of the table at i name; rest: is there a "..."? */
static int count_axes(lua_State *L, int i, lua_Integer n, int *rest) {
  int axes = 0;
  *rest = 0;
  for (lua_Integer k = 1; k <= n; k++) {
    int kind = kind_of_item(L, i, k);
    if (lua_isnil(L, -1))
      lt_fail(L, NULL, "position %I of the index is nil", k);
    if (kind == ITEM) axes += axes_of_item(L);
    lua_pop(L, 1);
    if (kind == ITEM_REST && (*rest)++)
      lt_fail(L, NULL, "an index has one \"...\"");
  }
  return axes;
}

static void parse_table(lua_State *L, int i, const plan_shape *x,
                        lt_selection *s) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, i);
  int rest, axis = 0, axes = count_axes(L, i, n, &rest);
  if (axes > (int)x->rank)
    lt_fail(L, pair_hint(L, i), "%d positions for a tensor of %d axes", axes,
            (int)x->rank);
  for (lua_Integer k = 1; k <= n; k++) {
    int kind = kind_of_item(L, i, k);
    if (kind == ITEM)
      axis += add_item(L, i, s, x, axis);
    else if (kind == ITEM_NEW)
      add_axis(L, s);
    else
      for (int left = (int)x->rank - axes; left > 0; left--)
        all_of(s, x, axis++);
    lua_pop(L, 1);
  }
  while (axis < (int)x->rank) all_of(s, x, axis++);
}

void lt_select_parse(lua_State *L, int i, const plan_node *t, lt_selection *s) {
  const plan_shape *x = plan_shape_of(t);
  int axis;
  s->rank = s->sliced = s->reshaped = s->npick = s->nmask = 0;
  if (lua_type(L, i) == LUA_TTABLE) {
    if (lt_is_options(L, i)) lt_fail(L, NULL, "a table with names is no index");
    parse_table(L, i, x, s);
    return;
  }
  lua_pushvalue(L, i);
  if (x->rank == 0 && axes_of_item(L))
    lt_fail(L, "x:item() is its value",
            "a tensor without axes has no "
            "positions");
  axis = add_item(L, i, s, x, 0);
  lua_pop(L, 1);
  while (axis < (int)x->rank) all_of(s, x, axis++);
}

/* ---- taking it ----------------------------------------------------------- */
plan_node *lt_push_selected(lua_State *L, int i, const lt_selection *s) {
  plan_node *x = lt_tensor_test(L, i);
  if (s->sliced)
    x = lt_push_slice(L, x, s->range);
  else
    lua_pushvalue(L, i);
  if (!s->reshaped) return x;
  lt_push_reshape(L, -1, lt_shape_of(L, s->rank, s->dim));
  return lt_tensor_test(L, -1);
}

/* Pushes the 0-based positions of 1-based ones. */
plan_node *lt_push_positions(lua_State *L, plan_node *at, int64_t extent) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_index(lt_of(L)->plan, at, extent, out, &err), &err);
  return *out;
}

plan_node *lt_push_take(lua_State *L, plan_node *x, plan_node *at0, int axis) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_take(lt_of(L)->plan, x, at0, axis, out, &err), &err);
  return *out;
}

static int select_at(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  lt_selection s;
  lt_picked c;
  lt_select_parse(L, 2, x, &s);
  lt_begin(L);
  x = lt_push_selected(L, 1, &s);
  if (s.npick) {
    luaL_checkstack(L, 4 * s.npick + 8, NULL);
    lt_push_picked(L, &s, x, &c);
    lt_push_take(L, c.x, c.at, c.axis);
  }
  return lt_done(L, 1);
}

void lt_push_row(lua_State *L, plan_node *x, int64_t i) {
  const plan_shape *s = plan_shape_of(x);
  plan_range r[PLAN_RANK];
  for (uint32_t k = 0; k < s->rank; k++) {
    r[k].start = k ? 0 : i;
    r[k].count = k ? s->dim[k] : 1;
    r[k].step = 1;
  }
  lt_push_slice(L, x, r);
  lt_push_reshape(L, -1, lt_shape_of(L, (int)s->rank - 1, s->dim + 1));
}

static int row_at(lua_State *L, plan_node *x) {
  const plan_shape *s = plan_shape_of(x);
  if (s->rank == 0)
    return lt_fail(L, "x:item() is its value",
                   "a tensor without axes has no positions");
  lua_settop(L, 2);
  lt_begin(L);
  lt_push_row(L, x, position(L, 2, 0, s->dim[0]));
  return lt_done(L, 1);
}

/* ---- fields -------------------------------------------------------------- */
static const char *const fields[] = {"shape", "dtype", "device", "T", NULL};

static int is_method(const char *name) {
  const lt_function *f = lt_function_find(name);
  return f && (f->alias || f->kind & LT_METHOD);
}

/* Can it stand behind a dot? */
static int is_name(const char *text) {
  if (isdigit((unsigned char)*text)) return 0;
  while (isalnum((unsigned char)*text) || *text == '_') text++;
  return !*text;
}

static int unknown_field(lua_State *L, const char *name) {
  const lt_function *f;
  const char *near = NULL, *library;
  char hint[200], stem[40];
  size_t size = strlen(name);
  int least = LT_FAR;
  for (const char *const *at = fields; *at; at++) {
    int d = lt_slip(name, *at);
    if (d >= least) continue;
    near = *at;
    least = d;
  }
  for (size_t i = 0; (f = lt_function_at(i)) != NULL; i++) {
    int d = f->kind & LT_METHOD ? lt_slip(name, f->name) : least;
    if (d >= least) continue;
    near = f->name;
    least = d;
  }
  library = lt_library_nearest(name, &least);
  if (library) near = library;
  snprintf(stem, sizeof stem, "%.*s", (int)size - 1, name);
  if (size > 1 && size < sizeof stem && name[size - 1] == '_' &&
      is_method(stem))
    snprintf(hint, sizeof hint, "tensors are values: x = x:%s(...)", stem);
  else if (lt_synonym(name, hint, sizeof hint))
    ;
  else if (near)
    snprintf(hint, sizeof hint, "did you mean '%s'?", near);
  else if (plan_shape_of(lt_tensor_get(L, 1))->rank == 2 && size < 40)
    snprintf(hint, sizeof hint,
             "a column of a file is x[{{}, names%s%s%s}] with x, names = "
             "read(path); :doc tensor lists the methods",
             is_name(name) ? "." : "[\"", name, is_name(name) ? "" : "\"]");
  else
    snprintf(hint, sizeof hint,
             "it has shape, dtype, device, T; :doc tensor lists its methods");
  return lt_fail_text(
      L, name, lua_pushfstring(L, "a tensor has no field or method '%s'", name),
      hint);
}

static int field(lua_State *L, plan_node *x) {
  const char *name;
  lua_rawgeti(L, LUA_REGISTRYINDEX, lt_of(L)->methods);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, -2) != LUA_TNIL) return 1;
  lua_settop(L, 2);
  name = lt_arg_word(L, 2);
  if (strcmp(name, "shape") == 0)
    lt_shape_push(L, plan_shape_of(x));
  else if (strcmp(name, "dtype") == 0)
    lua_pushstring(L, plan_dtype_name(plan_dtype_of(x)));
  else if (strcmp(name, "device") == 0)
    lua_pushstring(L, dev_name(plan_dev_of(x)));
  else if (strcmp(name, "T") == 0)
    return lt_push_reversed(L, x);
  else if (!lt_library_method(L, name))
    return unknown_field(L, name);
  return 1;
}

int lt_index(lua_State *L) {
  plan_node *x = lt_tensor_get(L, 1);
  switch (lua_type(L, 2)) {
  case LUA_TSTRING:
    return field(L, x);
  case LUA_TNUMBER:
    return row_at(L, x);
  default:
    return select_at(L);
  }
}

/* The functional form, and the name under which errors of t[i] appear. */
static int index_slice(lua_State *L) {
  lt_tensor_get(L, 1);
  lt_most_args(L, 2);
  if (lua_gettop(L) < 2) return lt_fail(L, NULL, "needs an index");
  return select_at(L);
}

const lt_function lt_index_functions[] = {
    {"index", "t, index", "", "t[index].", lt_index, NULL, NULL, 0},
    {"slice", "t, index", "",
     "t[index] under a name. A number takes one position (from 1, negative "
     "from "
     "the end) and drops the axis; {first, last, step} is a range, end "
     "included; {} all; \"...\" the axes in between; newaxis a new axis of "
     "extent 1; an integer tensor takes positions, a bool tensor the places "
     "of the axes that it covers where it is true. Several of them are "
     "broadcast together; their axes stand where theirs stood when these are "
     "neighbours, else in front.",
     index_slice, NULL, NULL, LT_GLOBAL | LT_METHOD},
    {"shape", "t", "",
     "The extents, as a read-only list: #t.shape, "
     "t.shape[1], t.shape == {2,3}.",
     NULL, NULL, NULL, LT_FIELD},
    {"dtype", "t", "", "The dtype as a word, \"f32\".", NULL, NULL, NULL,
     LT_FIELD},
    {"device", "t", "", "The device as a word, \"cpu\".", NULL, NULL, NULL,
     LT_FIELD},
    {"T", "t", "", "The axes in reverse order.", NULL, NULL, NULL, LT_FIELD},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
