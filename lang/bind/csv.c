/* csv.c - tables of numbers from files. */
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
  if (t->header) {
    lua_createtable(L, (int)t->nheader, 0);
    for (int64_t i = 0; i < t->nheader; i++) {
      lua_pushstring(L, t->header[i]);
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
  } else {
    lua_pushnil(L);
  }
  file_table_free(t);
  *t = (file_table){0};
  return 3;
}
