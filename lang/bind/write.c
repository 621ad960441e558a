/* write.c - tensors become files. All values are computed before the file is
 * begun; each is then read into one piece of memory and written from there. */
#include <string.h>
#include "file.h"
#include "priv.h"

typedef struct {
  file_out *out;
  file_content content;
  int tensors, names; /* where their lists are on the stack */
  void *cells;        /* Lua's; for the largest of them */
} job;

static int free_job(lua_State *L) {
  job *j = lua_touserdata(L, 1);
  file_discard(j->out);
  j->out = NULL;
  return 0;
}

static job *push_job(lua_State *L) {
  job *j = lua_newuserdatauv(L, sizeof *j, 0);
  *j = (job){0};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, free_job);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return j;
}

/* n texts of the list at i as C has them; the memory is left on the stack. */
static const char *const *push_texts(lua_State *L, int i, int64_t n) {
  const char **text = lua_newuserdatauv(L, sizeof *text * (size_t)n + 1, 0);
  for (int64_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    text[k] = lt_arg_word(L, -1); /* the list keeps it */
    lua_pop(L, 1);
  }
  return text;
}

/* ---- what is written -------------------------------------------------------
 */
static plan_node *tensor_of(lua_State *L, const job *j, int64_t i) {
  plan_node *x;
  lua_rawgeti(L, j->tensors, (lua_Integer)i + 1);
  x = lt_tensor_test(L, -1);
  lua_pop(L, 1);
  return x;
}

static void describe(lua_State *L, job *j, file_item *item) {
  uint64_t most = 0;
  for (int64_t i = 0; i < j->content.n; i++) {
    plan_node *x = tensor_of(L, j, i);
    const plan_shape *s = plan_shape_of(x);
    uint64_t bytes = (uint64_t)s->count * plan_dtype_bytes(plan_dtype_of(x));
    item[i].dtype = plan_dtype_of(x);
    item[i].rank = (int)s->rank;
    for (uint32_t k = 0; k < s->rank; k++) item[i].dim[k] = s->dim[k];
    most = bytes > most ? bytes : most;
  }
  if (most > ((uint64_t)1 << 44))
    lt_fail(L, NULL, "%I bytes do not fit the memory of Lua",
            (LUAI_UACINT)most);
  if (lt_of(L)->shapes.on) most = 0; /* nothing is written */
  j->cells = lua_newuserdatauv(L, (size_t)most + 1, 0);
}

/* The items, whose memory is left on the stack. */
static void push_items(lua_State *L, job *j) {
  int64_t n = j->content.n;
  file_item *item = lua_newuserdatauv(L, sizeof *item * (size_t)n + 1, 0);
  const char *const *name = push_texts(L, j->names, n);
  for (int64_t i = 0; i < n; i++) {
    lua_rawgeti(L, j->tensors, (lua_Integer)i + 1);
    lt_tensor_get(L, -1);
    lua_pop(L, 1);
    item[i].name = name[i];
  }
  j->content.item = item;
  describe(L, j, item);
}

/* All of them are ready, or the user's line is told why not. */
static void demand(lua_State *L, const job *j) {
  size_t n = (size_t)j->content.n;
  plan_node **node = lua_newuserdatauv(L, sizeof *node * n + 1, 0);
  tsh_err err = {.size = sizeof err};
  for (size_t i = 0; i < n; i++) node[i] = tensor_of(L, j, (int64_t)i);
  if (n && lt_demand(L, node, (int)n, 0, &err) != TSH_OK)
    lt_raise_demand(L, &err);
  lua_pop(L, 1);
}

/* ---- writing ---------------------------------------------------------------
 */
static tsh_status put_all(lua_State *L, job *j, tsh_err *err) {
  tsh_status rc = TSH_OK;
  for (int64_t i = 0; rc == TSH_OK && i < j->content.n; i++) {
    rc = lt_read(L, tensor_of(L, j, i), j->cells, err);
    if (rc == TSH_OK) rc = file_put(j->out, j->cells, err);
  }
  return rc == TSH_OK ? file_commit(j->out, err) : rc;
}

/* file_write(who, path, format, tensors, names, packed, notes, header): the
 * lists of tensors and of their names; notes: key, value ... ; header: names
 * of columns. */
int lt_file_write(lua_State *L) {
  const char *who = luaL_checkstring(L, 1), *path = luaL_checkstring(L, 2);
  int format = file_format_find(luaL_checkstring(L, 3));
  tsh_err err = {.size = sizeof err};
  tsh_status rc;
  job *j;
  lua_settop(L, 8);
  luaL_checkstack(L, 30, NULL);
  for (int i = 4; i <= 8; i++)
    if (i != 6) luaL_checktype(L, i, LUA_TTABLE);
  j = push_job(L);
  j->tensors = 4;
  j->names = 5;
  j->content.format = format;
  j->content.packed = lua_toboolean(L, 6);
  j->content.n = (int64_t)lua_rawlen(L, 4);
  j->content.nnote = (int64_t)lua_rawlen(L, 7) / 2;
  j->content.nheader = (int64_t)lua_rawlen(L, 8);
  lt_begin(L);
  push_items(L, j);
  j->content.note = push_texts(L, 7, 2 * j->content.nnote);
  j->content.header = push_texts(L, 8, j->content.nheader);
  demand(L, j);
  if (lt_of(L)->shapes.on) {
    lt_shapes_write(L, path);
    return 0;
  }
  rc = file_create(path, &j->content, dev_cancel_word(lt_of(L)->devices),
                   &j->out, &err);
  if (rc == TSH_OK) rc = put_all(L, j, &err);
  file_discard(j->out);
  j->out = NULL;
  if (rc == TSH_OK) return 0;
  return lt_raise_as(L, who, &err,
                     strstr(err.text, "NumPy has no")
                         ? "a .safetensors file has every dtype"
                         : NULL);
}
