/* file.c - files of tensors: an open file is a userdata, which an error closes;
 * its entries become tensors. */
#include "file.h"
#include "priv.h"

#define HANDLE "tsh.file"

/* ---- the handle ---------------------------------------------------------- */
int lt_file_close(lua_State *L) {
  file **held = luaL_checkudata(L, 1, HANDLE);
  file_close(*held);
  *held = NULL;
  return 0;
}

static file **push_handle(lua_State *L) {
  file **held = lua_newuserdatauv(L, sizeof *held, 0);
  *held = NULL;
  if (luaL_newmetatable(L, HANDLE)) {
    lua_pushcfunction(L, lt_file_close);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return held;
}

file *lt_file_get(lua_State *L, int i) {
  file **held = luaL_checkudata(L, i, HANDLE);
  luaL_argcheck(L, *held, i, "an open file");
  return *held;
}

/* file_open(who, path, format or nil): the handle, its format. */
int lt_file_open(lua_State *L) {
  const char *who = luaL_checkstring(L, 1), *path = luaL_checkstring(L, 2);
  int format = file_format_find(luaL_optstring(L, 3, ""));
  file **held = push_handle(L);
  tsh_err err = {.size = sizeof err};
  lt_shapes_read(L, path);
  if (file_open(path, format, dev_cancel_word(lt_of(L)->devices), held, &err) !=
      TSH_OK)
    return lt_raise_as(L, who, &err, NULL);
  lua_pushstring(L, file_format_name(file_format(*held)));
  return 2;
}

/* ---- what is in it ------------------------------------------------------- */
/* file_entries(handle): the list of {name=, dtype= or why=, shape=, bytes=}. */
int lt_file_entries(lua_State *L) {
  const file *f = lt_file_get(L, 1);
  int64_t n = file_count(f);
  lua_createtable(L, (int)n, 0);
  for (int64_t i = 0; i < n; i++) {
    const file_entry *e = file_at(f, i);
    lua_createtable(L, 0, 5);
    lua_pushstring(L, e->name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, e->why ? e->why : plan_dtype_name(e->dtype));
    lua_setfield(L, -2, e->why ? "why" : "dtype");
    lua_createtable(L, e->rank, 0);
    for (int k = 0; k < e->rank; k++) {
      lua_pushinteger(L, e->dim[k]);
      lua_rawseti(L, -2, k + 1);
    }
    lua_setfield(L, -2, "shape");
    lua_pushinteger(L, (lua_Integer)e->bytes);
    lua_setfield(L, -2, "bytes");
    if (e->foreign) lua_pushboolean(L, 1), lua_setfield(L, -2, "foreign");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* file_notes(handle): the metadata as a table of strings. */
int lt_file_notes(lua_State *L) {
  const file *f = lt_file_get(L, 1);
  const char *key, *value;
  lua_newtable(L);
  for (int64_t i = 0; file_note(f, i, &key, &value); i++) {
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
  }
  return 1;
}

/* ---- its elements -------------------------------------------------------- */
static tsh_status fill(void *ud, void *to, uint64_t bytes, tsh_err *err) {
  return file_take(ud, to, bytes, err);
}

/* Raises nothing, as the entry is under way. */
static tsh_status load(lua_State *L, file *f, int64_t i, dev *d, int dtype,
                       const plan_shape *s, plan_node **out, tsh_err *err) {
  tsh_status rc = file_begin(f, i, dtype, err);
  if (rc == TSH_OK)
    rc = plan_fill(lt_of(L)->plan, d, dtype, s, fill, f, out, err);
  if (rc != TSH_OK) return rc;
  rc = file_end(f, err);
  if (rc != TSH_OK) {
    plan_drop(lt_of(L)->plan, *out);
    *out = NULL;
  }
  return rc;
}

/* The dtype in which the elements of e go to d on their way to `want`, or 0:
 * there is none. */
static int way(const file_entry *e, const dev *d, int want) {
  static const int wide[] = {TSH_i64, TSH_f32, TSH_f64};
  if (!want || dev_has_dtype(d, e->dtype))
    return dev_has_dtype(d, e->dtype) ? e->dtype : 0;
  if (file_converts(e->dtype, want) && dev_has_dtype(d, want)) return want;
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    if (file_converts(e->dtype, wide[i]) && dev_has_dtype(d, wide[i]))
      return wide[i];
  return 0;
}

static int fail_dtype(lua_State *L, const char *who, const file *f,
                      const file_entry *e, const dev *d) {
  tsh_err err = {.size = sizeof err};
  const char *dtype = plan_dtype_name(e->dtype);
  dev_fail(&err, TSH_EINVAL,
           "%.400s: %.100s%sits elements are %s, which %s "
           "has not",
           file_path(f), e->name, *e->name ? ": " : "", dtype, dev_name(d));
  if (!file_converts(e->dtype, TSH_f32)) return lt_raise_as(L, who, &err, NULL);
  return lt_raise_as(L, who, &err, "{dtype = \"f32\"} converts them");
}

/* Pushes the tensor of what was read: transposed when it lies reversed. */
static void turn(lua_State *L, const file_entry *e) {
  uint8_t order[PLAN_RANK] = {0};
  plan_node *x = lt_tensor_test(L, -1), **out;
  tsh_err err = {.size = sizeof err};
  if (!e->reversed || e->rank < 2) return;
  for (int i = 0; i < e->rank; i++) order[i] = (uint8_t)(e->rank - 1 - i);
  out = lt_tensor_new(L);
  lt_check(L, plan_permute(lt_of(L)->plan, x, order, out, &err), &err);
}

/* file_take(who, handle, i, dtype or nil, device or nil): entry i, from 1. */
int lt_file_take(lua_State *L) {
  const char *who = luaL_checkstring(L, 1);
  file *f = lt_file_get(L, 2);
  lua_Integer i = luaL_checkinteger(L, 3) - 1;
  int want = lua_isnoneornil(L, 4) ? 0 : lt_arg_dtype(L, 4), dtype;
  dev *d = lua_isnoneornil(L, 5) ? lt_of(L)->device : lt_arg_device(L, 5);
  const file_entry *e;
  int64_t dim[PLAN_RANK] = {0};
  const plan_shape *s;
  plan_node **out;
  tsh_err err = {.size = sizeof err};
  tsh_status rc;
  luaL_argcheck(L, i >= 0 && i < file_count(f), 3, "no such entry");
  e = file_at(f, i);
  dtype = e->why ? e->dtype : way(e, d, want);
  if (!dtype && !e->why) return fail_dtype(L, who, f, e, d);
  for (int k = 0; k < e->rank; k++)
    dim[k] = e->dim[e->reversed ? e->rank - 1 - k : k];
  s = lt_shape_of(L, e->rank, dim);
  lt_begin(L);
  out = lt_tensor_new(L);
  lt_gc_balance(L);
  rc = load(L, f, i, d, dtype, s, out, &err);
  if (rc == TSH_ENOMEM) {
    lt_collect(L);
    rc = load(L, f, i, d, dtype, s, out, &err);
  }
  if (rc != TSH_OK) return lt_raise_as(L, who, &err, NULL);
  turn(L, e);
  if (want) lt_push_cast(L, lt_tensor_test(L, -1), want);
  return lt_done(L, 1);
}
