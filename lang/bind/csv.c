/* csv.c - numbers in text files: tables and JSON. */
#include <stdlib.h>
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

/* The dtype in which fields are read that become `want`; 0: as they are. */
static int field_dtype(int want) {
  int kind = want ? plan_dtype_kind(want) : 0;
  if (!want || want == TSH_f64) return want;
  return kind == TSH_KIND_INT || kind == TSH_KIND_UINT ? TSH_i64 : TSH_f32;
}

/* 1, -1 or, without the option, 0. */
static int arg_header(lua_State *L, int i) {
  if (lua_isnoneornil(L, i)) return 0;
  return lua_toboolean(L, i) ? 1 : -1;
}

static void note_rounded(const char *who, const char *path,
                         const file_table *t) {
  if (t->rounded_row)
    lt_note("%s: %s: %lld in row %lld, column %lld is rounded to f32; "
            "dtype=\"f64\" keeps it",
            who, path, (long long)t->rounded, (long long)t->rounded_row,
            (long long)t->rounded_column);
}

/* The data of t as a tensor of the dtype that is wanted. */
static void push_table(lua_State *L, const file_table *t, dev *d, int want) {
  int64_t dim[2] = {t->rows, t->columns};
  tsh_err err = {.size = sizeof err};
  lt_check(L,
           lt_push_data(L, d, t->dtype, lt_shape_of(L, 2, dim), t->data, &err),
           &err);
  if (!want || want == t->dtype) return;
  lt_push_cast(L, lt_tensor_test(L, -1), want);
  lua_remove(L, -2);
}

/* What parts the fields of a file's first line: , ; or a tab; 0: quotes are in
 * the way, or there is one field. */
static char separator_of(const char *path) {
  static const char signs[] = ",;\t";
  size_t count[3] = {0}, best = 0;
  char line[1000];
  FILE *in = fopen(path, "re");
  int has = in && fgets(line, sizeof line, in);
  if (in) fclose(in);
  if (!has || strchr(line, '"')) return 0;
  for (const char *at = line; *at; at++)
    for (size_t i = 0; i < 3; i++) count[i] += *at == signs[i];
  for (size_t i = 1; i < 3; i++)
    if (count[i] > count[best]) best = i;
  return count[best] ? signs[best] : 0;
}

/* Does it stand there as "1,5"? */
static int has_decimal_comma(const char *quoted) {
  const char *at = quoted + (*quoted == '"');
  size_t before, after;
  at += *at == '-';
  before = strspn(at, "0123456789");
  if (at[before] != ',') return 0;
  after = strspn(at + before + 1, "0123456789");
  return before && after && at[before + 1 + after] == '"';
}

/* What can be done about 'field 2 is no number: "abc"'. */
static const char *number_hint(lua_State *L, const char *text,
                               const char *path) {
  static const char what[] = " is no number: ";
  const char *at = strstr(text, what), *field = strstr(text, ": field ");
  int plain = path[strcspn(path, " \t'\"$\\")] == '\0' && *path != '-' &&
              strncmp(path, "/dev/", 5) != 0;
  char by, option[8] = "";
  if (!at) return NULL;
  if (has_decimal_comma(at + sizeof what - 1))
    return lua_pushfstring(L,
                           "it has decimal commas; the shell makes points of "
                           "them: tr , . <%s >new.csv",
                           plain ? path : "FILE");
  by = plain && field ? separator_of(path) : 0;
  if (!by) return "a table holds numbers; a column of texts cannot be read";
  if (by != '\t') snprintf(option, sizeof option, "-d'%c' ", by);
  return lua_pushfstring(L,
                         "a table holds numbers; the shell leaves column %d "
                         "out: cut %s--complement -f%d %s >new.csv",
                         atoi(field + 8), option, atoi(field + 8), path);
}

/* file_table(who, file, path, labels, header, dtype, device): data [rows,
 * columns], labels i64 [rows] or nil, the list of column names or nil. who: the
 * function for messages; header, dtype and device may be nil. */
int lt_read_csv(lua_State *L) {
  const char *who = luaL_checkstring(L, 1), *path = luaL_checkstring(L, 3);
  file *f = lt_file_get(L, 2);
  int want = lua_isnoneornil(L, 6) ? 0 : lt_arg_dtype(L, 6);
  dev *d = lua_isnoneornil(L, 7) ? lt_of(L)->device : lt_arg_device(L, 7);
  file_table_how how = {.labels = lua_toboolean(L, 4),
                        .header = arg_header(L, 5),
                        .dtype = field_dtype(want)};
  file_table *t = push_holder(L);
  tsh_err err = {.size = sizeof err};
  if (file_csv_take(f, &how, t, &err) != TSH_OK)
    return lt_raise_as(L, who, &err, number_hint(L, err.text, path));
  note_rounded(who, path, t);
  lt_begin(L);
  push_table(L, t, d, want);
  if (t->labels)
    lt_check(L,
             lt_push_data(L, d, TSH_i64, lt_shape_of(L, 1, &t->rows), t->labels,
                          &err),
             &err);
  else
    lua_pushnil(L);
  push_names(L, t->header, t->nheader);
  file_table_free(t);
  *t = (file_table){0};
  return 3;
}

/* file_survey(who, file): rows, columns, dtype and the list of column names, or
 * nil, of a csv. */
int lt_survey_csv(lua_State *L) {
  const char *who = luaL_checkstring(L, 1);
  file *f = lt_file_get(L, 2);
  file_table *t = push_holder(L);
  tsh_err err = {.size = sizeof err};
  if (file_csv_survey(f, t, &err) != TSH_OK)
    return lt_raise_as(L, who, &err, NULL);
  lua_pushinteger(L, t->rows);
  lua_pushinteger(L, t->columns);
  lua_pushstring(L, plan_dtype_name(t->dtype));
  push_names(L, t->header, t->nheader);
  file_table_free(t);
  return 4;
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
