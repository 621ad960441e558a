/* args.c - arguments of Lua functions: tensors, numbers, axes, sizes, dtypes,
 * devices, options. All raise, naming what was given. */
#include <math.h>
#include <string.h>
#include "priv.h"

/* ---- numbers ------------------------------------------------------------ */
/* An integer, or a float with an integral value (784/2). */
int lt_is_whole(lua_State *L, int i, int64_t *out) {
  int isnum;
  if (lua_type(L, i) != LUA_TNUMBER) return 0;
  *out = lua_tointegerx(L, i, &isnum);
  return isnum;
}

int64_t lt_arg_whole(lua_State *L, int i, const char *what) {
  int64_t v = 0;
  if (lt_is_whole(L, i, &v)) return v;
  if (lua_type(L, i) == LUA_TNUMBER)
    lt_fail(L, NULL, "%s must be a whole number, got %f", what,
            lt_shown(lua_tonumber(L, i)));
  lt_fail(L, NULL, "%s must be a whole number, got %s", what,
          lt_type_name(L, i));
  return 0;
}

/* A tensor, number or boolean as operand. */
void lt_arg_operand(lua_State *L, int i, plan_operand *out) {
  out->node = lt_tensor_test(L, i);
  out->kind = PLAN_TENSOR;
  if (out->node) return;
  switch (lua_type(L, i)) {
  case LUA_TNUMBER:
    if (lua_isinteger(L, i)) {
      out->kind = PLAN_INT;
      out->num.i = lua_tointeger(L, i);
    } else {
      out->kind = PLAN_REAL;
      out->num.f = lua_tonumber(L, i);
    }
    break;
  case LUA_TBOOLEAN:
    out->kind = PLAN_BOOL;
    out->num.i = lua_toboolean(L, i);
    break;
  default:
    lt_fail(L,
            lua_type(L, i) == LUA_TTABLE ? "tensor{...} makes one of a table"
                                         : NULL,
            "argument %d must be a tensor or a number, got %s", i,
            lt_type_name(L, i));
  }
}

/* ---- axes --------------------------------------------------------------- */
int lt_axis(lua_State *L, int64_t axis, int rank) {
  int64_t at = axis < 0 ? axis + rank : axis - 1;
  if (at >= 0 && at < rank && axis != 0) return (int)at;
  if (rank == 0) lt_fail(L, NULL, "axis %I of a tensor that has no axes", axis);
  lt_fail(L, axis == 0 ? "axes count from 1" : NULL, "axis %I is outside 1..%d",
          axis, rank);
  return 0;
}

int lt_arg_axis(lua_State *L, int i, int rank) {
  if (lua_type(L, i) == LUA_TSTRING)
    lt_fail(L, LT_COLUMNS, "an axis must be a whole number, got a string");
  return lt_axis(L, lt_arg_whole(L, i, "an axis"), rank);
}

uint32_t lt_arg_axes(lua_State *L, int i, int rank) {
  uint32_t axes = 0;
  if (lua_isnoneornil(L, i)) return (UINT32_C(1) << rank) - 1;
  if (lua_type(L, i) != LUA_TTABLE)
    return UINT32_C(1) << lt_arg_axis(L, i, rank);
  for (lua_Integer k = 1; lua_geti(L, i, k) != LUA_TNIL; k++) {
    uint32_t bit = UINT32_C(1) << lt_arg_axis(L, -1, rank);
    if (axes & bit)
      lt_fail(L, NULL, "axis %I is given twice", lua_tointeger(L, -1));
    axes |= bit;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return axes;
}

/* ---- sizes -------------------------------------------------------------- */
static int64_t size_at(lua_State *L, int i, int wild) {
  int64_t v = lt_arg_whole(L, i, "a size");
  if (v < 0 && !(wild && v == -1)) lt_fail(L, NULL, "a size cannot be %I", v);
  return v;
}

static int add_size(lua_State *L, int i, int wild, int rank, int64_t *dim) {
  if (rank >= PLAN_RANK)
    lt_fail(L, NULL, "a tensor has at most %d axes", PLAN_RANK);
  dim[rank] = size_at(L, i, wild);
  return rank + 1;
}

int lt_arg_sizes(lua_State *L, int first, int last, int wild, int64_t *dim) {
  int rank = 0;
  if (first == last && lua_type(L, first) == LUA_TTABLE) {
    for (lua_Integer k = 1; lua_geti(L, first, k) != LUA_TNIL; k++) {
      rank = add_size(L, -1, wild, rank, dim);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return rank;
  }
  for (int i = first; i <= last; i++) rank = add_size(L, i, wild, rank, dim);
  return rank;
}

const plan_shape *lt_shape_of(lua_State *L, int rank, const int64_t *dim) {
  tsh_err err;
  const plan_shape *s;
  err.size = sizeof err;
  s = plan_shape_get(lt_of(L)->plan, rank, dim, &err);
  if (!s) lt_raise(L, &err, NULL);
  return s;
}

/* ---- names -------------------------------------------------------------- */
const char *lt_arg_word(lua_State *L, int i) {
  size_t n;
  const char *word = lua_tolstring(L, i, &n);
  if (strlen(word) != n)
    lt_fail(L, NULL, "a name has no zero byte, this one has it after '%s'",
            word);
  return word;
}

/* ---- dtypes and devices ------------------------------------------------- */
#define NAME_X(id, name, type, bytes, kind) #name,
static const char *const dtype_names[] = {TSH_DTYPES(NAME_X) NULL};
#undef NAME_X
/* What other libraries call them. */
static const char *const other_names[][2] = {
    {"float", "f32"},     {"float32", "f32"},  {"double", "f64"},
    {"float64", "f64"},   {"half", "f16"},     {"float16", "f16"},
    {"bfloat16", "bf16"}, {"int8", "i8"},      {"int16", "i16"},
    {"int", "i32"},       {"int32", "i32"},    {"long", "i64"},
    {"int64", "i64"},     {"uint8", "u8"},     {"byte", "u8"},
    {"uint16", "u16"},    {"uint32", "u32"},   {"uint64", "u64"},
    {"boolean", "bool"},  {"complex64", "c64"}};

int lt_arg_dtype(lua_State *L, int i) {
  const char *name, *near = NULL;
  int dtype = 0;
  char hint[64];
  if (lua_type(L, i) != LUA_TSTRING)
    lt_fail(L, NULL, "a dtype is a word like \"f32\", got %s",
            lt_type_name(L, i));
  name = lt_arg_word(L, i);
  if ((dtype = plan_dtype_find(name)) != 0) return dtype;
  for (size_t k = 0; k < sizeof other_names / sizeof *other_names; k++)
    if (strcmp(name, other_names[k][0]) == 0) near = other_names[k][1];
  if (!near) near = lt_nearest(name, dtype_names);
  if (near)
    snprintf(hint, sizeof hint, "did you mean \"%s\"?", near);
  else
    snprintf(hint, sizeof hint,
             "bool u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64");
  lt_fail(L, hint, "unknown dtype '%s'", name);
  return 0;
}

dev *lt_arg_device(lua_State *L, int i) {
  tsh_err err;
  dev *d = NULL;
  err.size = sizeof err;
  if (lua_type(L, i) != LUA_TSTRING)
    lt_fail(L, NULL, "a device is a word like \"cpu\", got %s",
            lt_type_name(L, i));
  if (dev_get(lt_of(L)->devices, lt_arg_word(L, i), &d, &err) != TSH_OK)
    lt_raise(L, &err, NULL);
  lt_device_seen(lt_of(L), d);
  return d;
}

void lt_device_seen(lt *l, dev *d) {
  if (dev_id(d) < LT_DEVICES) l->seen[dev_id(d)] = d;
}

/* ---- options ------------------------------------------------------------ */
static int in_words(const char *words, const char *word, size_t n) {
  for (const char *at = words; *at;) {
    size_t m = strcspn(at, " ");
    if (m == n && strncmp(at, word, n) == 0) return 1;
    at += m + (at[m] == ' ');
  }
  return 0;
}

static void unknown_option(lua_State *L, const char *key, const char *allowed) {
  char words[160], hint[200];
  const char *names[17], *near;
  int n = 0;
  snprintf(words, sizeof words, "%s", allowed);
  for (char *at = strtok(words, " "); at && n < 16; at = strtok(NULL, " "))
    names[n++] = at;
  names[n] = NULL;
  near = lt_nearest_option(key, names);
  if (near)
    snprintf(hint, sizeof hint, "did you mean '%s'?", near);
  else if (n)
    snprintf(hint, sizeof hint, "it has: %s", allowed);
  else
    snprintf(hint, sizeof hint, "it has no options");
  lt_fail(L, hint, "unknown option '%s'", key);
}

int lt_arg_options(lua_State *L, int i, const char *allowed) {
  if (lua_isnoneornil(L, i)) return 0;
  if (lua_type(L, i) != LUA_TTABLE)
    lt_fail(L, NULL, "options are a table like {%s=...}, got %s",
            *allowed ? lua_pushlstring(L, allowed, strcspn(allowed, " "))
                     : "name",
            lt_type_name(L, i));
  lua_pushnil(L);
  while (lua_next(L, i)) {
    size_t n;
    const char *key;
    if (lua_type(L, -2) != LUA_TSTRING)
      lt_fail(L, NULL, "options have names, this table has the key %s",
              luaL_tolstring(L, -2, NULL));
    key = lua_tolstring(L, -2, &n);
    if (!in_words(allowed, key, n)) unknown_option(L, key, allowed);
    lua_pop(L, 1);
  }
  return 1;
}

int lt_is_options(lua_State *L, int i) {
  int named = 0;
  if (lua_type(L, i) != LUA_TTABLE || lua_rawlen(L, i) > 0) return 0;
  if (lt_shape_test(L, i)) return 0;
  lua_pushnil(L);
  if (lua_next(L, i)) {
    named = lua_type(L, -2) == LUA_TSTRING;
    lua_pop(L, 2);
  }
  return named;
}

/* Pushes a field of the options at i (nil when there are none). */
int lt_option(lua_State *L, int i, const char *name) {
  if (lua_type(L, i) == LUA_TTABLE) return lua_getfield(L, i, name);
  lua_pushnil(L);
  return LUA_TNIL;
}

int lt_option_flag(lua_State *L, int i, const char *name) {
  int type = lt_option(L, i, name), on = lua_toboolean(L, -1);
  if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    lt_fail(L, NULL, "%s must be true or false, got %s", name,
            lt_type_name(L, -1));
  lua_pop(L, 1);
  return on;
}

double lt_option_real(lua_State *L, int i, const char *name, double none) {
  int type = lt_option(L, i, name);
  double v = type == LUA_TNIL ? none : lua_tonumber(L, -1);
  if (type != LUA_TNIL && type != LUA_TNUMBER)
    lt_fail(L, NULL, "%s must be a number, got %s", name, lt_type_name(L, -1));
  lua_pop(L, 1);
  return v;
}

int lt_option_dtype(lua_State *L, int i, int none) {
  int dtype = none;
  if (lt_option(L, i, "dtype") != LUA_TNIL) dtype = lt_arg_dtype(L, -1);
  lua_pop(L, 1);
  return dtype;
}

dev *lt_option_device(lua_State *L, int i, dev *none) {
  dev *d = none;
  if (lt_option(L, i, "device") != LUA_TNIL) d = lt_arg_device(L, -1);
  lua_pop(L, 1);
  return d;
}

/* More arguments than a function takes are a mistake, not a courtesy. */
void lt_most_args(lua_State *L, int most) {
  int n = lua_gettop(L);
  if (n > most)
    lt_fail(L, NULL, "takes %d argument%s, got %d", most, most == 1 ? "" : "s",
            n);
}

/* ---- did you mean ------------------------------------------------------- */
#define WORD 32

static int distance(const char *a, size_t na, const char *b, size_t nb) {
  int row[WORD + 1];
  for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
  for (size_t i = 1; i <= na; i++) {
    int corner = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= nb; j++) {
      int here = corner + (a[i - 1] != b[j - 1]);
      corner = row[j];
      if (corner + 1 < here) here = corner + 1;
      if (row[j - 1] + 1 < here) here = row[j - 1] + 1;
      row[j] = here;
    }
  }
  return row[nb];
}

int lt_distance(const char *a, const char *b) {
  size_t na = strlen(a), nb = strlen(b);
  if (na > WORD || nb > WORD) return WORD;
  return distance(a, na, b, nb);
}

/* Are two neighbours swapped, and is all else the same? */
static int is_swap(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a && *b && a[0] == b[1] && a[1] == b[0] && strcmp(a + 2, b + 2) == 0;
}

int lt_slip(const char *typed, const char *name) {
  int n = (int)strlen(typed), most = n < 5 ? 1 : n < 8 ? 2 : 3, d;
  if (lt_same_letters(typed, name)) return 0;
  if (is_swap(typed, name)) return n > 2 ? 1 : LT_FAR;
  d = lt_distance(typed, name);
  if (d > most || n < 3 || strlen(name) < 2) return LT_FAR;
  if (*typed == *name || (n > 4 && d == 1)) return d;
  return LT_FAR;
}

const char *lt_nearest(const char *word, const char *const *names) {
  const char *best = NULL;
  int least = ((int)strlen(word) + 1) / 3;
  for (; *names; names++) {
    int d = lt_distance(word, *names);
    if (d <= least && (!best || d < least)) {
      best = *names;
      least = d;
    }
  }
  return best;
}

const char *lt_nearest_option(const char *word, const char *const *names) {
  const char *ours = lt_option_synonym(word, names);
  return ours ? ours : lt_nearest(word, names);
}
