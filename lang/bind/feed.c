/* feed.c - rows of files as batches of tensors, read ahead by a thread: what
 * data.batches is made of when it is given paths. */
#include <string.h>
#include "file.h"
#include "priv.h"

#define HANDLE "tsh.feed"

enum { LOOK_EVERY = 20 }; /* ms: then Ctrl-C is seen */

/* A userdata: an error, the end of a loop or the collector closes it. */
typedef struct {
  file *file[FILE_FEED_SOURCES];
  file_feed *feed; /* NULL until it is started */
  file_rows source[FILE_FEED_SOURCES];
  int n;
  int64_t rows;
  dev *device; /* where the batches go */
  int busy;    /* a batch is copied, and a finalizer of the user may run */
} holder;

/* ---- the handle ---------------------------------------------------------- */
/* The feed first: it reads from the files. */
static void close_all(holder *h) {
  file_feed_close(h->feed);
  h->feed = NULL;
  for (int i = 0; i < h->n; i++) file_close(h->file[i]);
  h->n = 0;
}

static int feed_collect(lua_State *L) {
  close_all(luaL_checkudata(L, 1, HANDLE));
  return 0;
}

static int feed_close(lua_State *L) {
  holder *h = luaL_checkudata(L, 1, HANDLE);
  if (!h->busy) close_all(h);
  return 0;
}

static holder *push_holder(lua_State *L) {
  static const luaL_Reg own[] = {
      {"__gc", feed_collect}, {"__close", feed_close}, {NULL, NULL}};
  holder *h = lua_newuserdatauv(L, sizeof *h, 0);
  memset(h, 0, sizeof *h);
  if (luaL_newmetatable(L, HANDLE)) luaL_setfuncs(L, own, 0);
  lua_setmetatable(L, -2);
  return h;
}

/* ---- opening ------------------------------------------------------------- */
static tsh_status check_dtype(const holder *h, const file *f, tsh_err *err) {
  int dtype = file_at(f, 0)->dtype;
  if (dev_has_dtype(h->device, dtype)) return TSH_OK;
  return dev_fail(err, TSH_EINVAL,
                  "%.400s: its elements are %s, which %s has not", file_path(f),
                  plan_dtype_name(dtype), dev_name(h->device));
}

static tsh_status check_rows(const holder *h, tsh_err *err) {
  const file *a = h->file[0], *b = h->file[h->n - 1];
  long long m = file_at(a, 0)->dim[0], n = file_at(b, 0)->dim[0];
  if (m == n) return TSH_OK;
  return dev_fail(err, TSH_EINVAL, "%.200s has %lld rows, %.200s has %lld",
                  file_path(a), m, file_path(b), n);
}

static tsh_status add_file(lua_State *L, holder *h, const char *path,
                           tsh_err *err) {
  file **f = &h->file[h->n];
  const uint32_t *cancel = dev_cancel_word(lt_of(L)->devices);
  tsh_status rc = file_open(path, FILE_UNKNOWN, cancel, f, err);
  if (rc != TSH_OK) return rc;
  rc = file_rows_of(*f, &h->source[h->n++], err);
  if (rc == TSH_OK) rc = check_dtype(h, *f, err);
  return rc == TSH_OK ? check_rows(h, err) : rc;
}

/* feed_open(who, path, ...): the handle and how many rows there are. */
static int feed_open(lua_State *L) {
  const char *who = luaL_checkstring(L, 1);
  int n = lua_gettop(L) - 1;
  holder *h = push_holder(L);
  tsh_err err = {.size = sizeof err};
  luaL_argcheck(L, n >= 1 && n <= FILE_FEED_SOURCES, 2, "one to four files");
  h->device = lt_of(L)->device;
  for (int i = 0; i < n; i++)
    if (add_file(L, h, luaL_checkstring(L, i + 2), &err) != TSH_OK)
      return lt_raise_as(L, who, &err, NULL);
  h->rows = file_at(h->file[0], 0)->dim[0];
  lua_pushinteger(L, h->rows);
  return 2;
}

/* ---- starting ------------------------------------------------------------ */
/* The order at i, i64 from 0, as numbers that live in a userdata; NULL: nil. */
static const int64_t *read_order(lua_State *L, int i, int64_t rows) {
  plan_node *x = lt_tensor_test(L, i);
  int64_t *order;
  tsh_err err = {.size = sizeof err};
  if (lua_isnoneornil(L, i)) return NULL;
  luaL_argcheck(
      L, x && plan_dtype_of(x) == TSH_i64 && plan_shape_of(x)->count == rows, i,
      "an i64 for every row");
  order = lua_newuserdatauv(L, (size_t)rows * sizeof *order + 1, 0);
  if (lt_demand(L, &x, 1, 0, &err) != TSH_OK) lt_raise_demand(L, &err);
  if (lt_shapes_hides(lt_of(L), x)) return NULL; /* any order will do */
  if (lt_read(L, x, order, &err) != TSH_OK) lt_raise_demand(L, &err);
  return order;
}

/* feed_start(who, handle, order or nil, size, ahead): the thread reads. */
static int feed_start(lua_State *L) {
  const char *who = luaL_checkstring(L, 1);
  holder *h = luaL_checkudata(L, 2, HANDLE);
  int64_t size = luaL_checkinteger(L, 4), ahead = luaL_checkinteger(L, 5);
  const int64_t *order;
  tsh_err err = {.size = sizeof err};
  luaL_argcheck(L, h->n && !h->feed, 2, "a feed that is not started");
  luaL_argcheck(L, size > 0 && ahead > 0, 4, "from 1");
  order = read_order(L, 3, h->rows);
  if (file_feed_open(h->source, h->n, order, h->rows, size,
                     ahead < INT32_MAX ? (int)ahead : INT32_MAX, &h->feed,
                     &err) != TSH_OK)
    return lt_raise_as(L, who, &err, NULL);
  return 0;
}

/* ---- batches ------------------------------------------------------------- */
static tsh_status wait_for(lua_State *L, holder *h, int64_t *rows,
                           const void **data, tsh_err *err) {
  tsh_status rc;
  while ((rc = file_feed_next(h->feed, LOOK_EVERY, rows, data, err)) ==
         TSH_EPENDING)
    lt_stop_point(L);
  return rc;
}

/* Pushes the rows of file i as a tensor. */
static tsh_status push_rows(lua_State *L, const holder *h, int i, int64_t rows,
                            const void *data, tsh_err *err) {
  const file_entry *e = file_at(h->file[i], 0);
  int64_t dim[PLAN_RANK];
  memcpy(dim, e->dim, sizeof dim);
  dim[0] = rows;
  return lt_push_data(L, h->device, e->dtype, lt_shape_of(L, e->rank, dim),
                      data, err);
}

/* feed_next(who, handle): a tensor for each file, nothing at the end. */
static int feed_next(lua_State *L) {
  const char *who = luaL_checkstring(L, 1);
  holder *h = luaL_checkudata(L, 2, HANDLE);
  const void *data[FILE_FEED_SOURCES] = {NULL};
  int64_t rows = 0;
  tsh_err err = {.size = sizeof err};
  tsh_status rc = TSH_OK;
  if (!h->feed || h->busy) return 0;
  rc = wait_for(L, h, &rows, data, &err);
  if (rc == TSH_OK && rows) {
    lt_begin(L);
    h->busy = 1;
    for (int i = 0; i < h->n && rc == TSH_OK; i++)
      rc = push_rows(L, h, i, rows, data[i], &err);
    h->busy = 0;
    if (rc == TSH_OK) return lt_done(L, h->n);
  }
  close_all(h);
  return rc == TSH_OK ? 0 : lt_raise_as(L, who, &err, NULL);
}

const luaL_Reg lt_feed_functions[] = {{"feed_open", feed_open},
                                      {"feed_start", feed_start},
                                      {"feed_next", feed_next},
                                      {"feed_close", feed_close},
                                      {NULL, NULL}};
