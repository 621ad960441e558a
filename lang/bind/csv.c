/* csv.c - numbers in text files: tables and JSON. */
#include <string.h>
#include "file.h"
#include "priv.h"

/* The table lies in a userdata, so that an error frees it. */
static int free_table(lua_State *L) {
  file_table_free(lua_touserdata(L, 1));
  return 0;
}

static file_table *push_holder(lua_State *L) {
  file_table *t = lua_newuserdatauv(L, sizeof *t, 0);
  *t = (file_table){0};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, free_table);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return t;
}

/* The list of names, or nil when there are none. */
static void push_names(lua_State *L, char *const *name, int64_t n) {
  if (!name) {
    lua_pushnil(L);
    return;
  }
  lua_createtable(L, (int)n, 0);
  for (int64_t i = 0; i < n; i++) {
    lua_pushstring(L, name[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* file_table(who, file, labels): data f32 [rows, columns], labels i64 [rows]
 * or nil, the list of column names or nil. who: the function for messages. */
int lt_read_csv(lua_State *L) {
  const char *who = luaL_checkstring(L, 1);
  file *f = lt_file_get(L, 2);
  int labels = lua_toboolean(L, 3);
  lt *l = lt_of(L);
  file_table *t = push_holder(L);
  int64_t dim[2];
  tsh_err err = {.size = sizeof err};
  if (file_csv_take(f, labels, t, &err) != TSH_OK)
    return lt_raise_as(L, who, &err, NULL);
  dim[0] = t->rows;
  dim[1] = t->columns;
  lt_begin(L);
  lt_check(L,
           lt_push_data(L, l->device, TSH_f32, lt_shape_of(L, 2, dim), t->data,
                        &err),
           &err);
  if (t->labels)
    lt_check(L,
             lt_push_data(L, l->device, TSH_i64, lt_shape_of(L, 1, dim),
                          t->labels, &err),
             &err);
  else
    lua_pushnil(L);
  push_names(L, t->header, t->nheader);
  file_table_free(t);
  *t = (file_table){0};
  return 3;
}

/* file_survey(who, file): rows, columns and the list of column names, or nil,
 * of a csv. */
int lt_survey_csv(lua_State *L) {
  const char *who = luaL_checkstring(L, 1);
  file *f = lt_file_get(L, 2);
  file_table *t = push_holder(L);
  tsh_err err = {.size = sizeof err};
  if (file_csv_survey(f, t, &err) != TSH_OK)
    return lt_raise_as(L, who, &err, NULL);
  lua_pushinteger(L, t->rows);
  lua_pushinteger(L, t->columns);
  push_names(L, t->header, t->nheader);
  file_table_free(t);
  return 3;
}

/* ---- JSON ------------------------------------------------------------------
 */
static int free_array(lua_State *L) {
  file_array_free(lua_touserdata(L, 1));
  return 0;
}

static file_array *push_array(lua_State *L) {
  file_array *a = lua_newuserdatauv(L, sizeof *a, 0);
  *a = (file_array){0};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, free_array);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return a;
}

/* The cells as the dtype that goes to the device on the way to `want`. */
static int cells_as(file_array *a, int want) {
  int64_t n = 1;
  double *from = a->cells;
  float *to = a->cells;
  if (a->whole) return TSH_i64;
  if (want == TSH_f64) return TSH_f64;
  for (int k = 0; k < a->rank; k++) n *= a->dim[k];
  for (int64_t i = 0; i < n; i++) {
    float v = (float)from[i];
    memcpy(&to[i], &v, sizeof v);
  }
  return TSH_f32;
}

/* file_array(who, file, dtype or nil, device or nil): the tensor, i64 when all
 * numbers are whole, else f32; the list of column names or nil. */
int lt_read_json(lua_State *L) {
  const char *who = luaL_checkstring(L, 1);
  file *f = lt_file_get(L, 2);
  int want = lua_isnoneornil(L, 3) ? 0 : lt_arg_dtype(L, 3), dtype;
  dev *d = lua_isnoneornil(L, 4) ? lt_of(L)->device : lt_arg_device(L, 4);
  file_array *a = push_array(L);
  tsh_err err = {.size = sizeof err};
  if (file_json_take(f, a, &err) != TSH_OK)
    return lt_raise_as(L, who, &err, NULL);
  dtype = cells_as(a, want);
  lt_begin(L);
  lt_check(L,
           lt_push_data(L, d, dtype, lt_shape_of(L, a->rank, a->dim), a->cells,
                        &err),
           &err);
  if (want && want != dtype) {
    lt_push_cast(L, lt_tensor_test(L, -1), want);
    lua_remove(L, -2);
  }
  push_names(L, a->name, a->nname);
  file_array_free(a);
  return 2;
}
