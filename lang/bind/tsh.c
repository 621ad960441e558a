/* tsh.c - the global table tsh: what the program itself knows. */
#include <string.h>
#include "session.h"

/* ---- counters ----------------------------------------------------------- */
#define OP_X(id, name, ...) {id, #name},
static const struct {
  int id;
  const char *name;
} op_names[] = {TSH_OPS(OP_X)};
#undef OP_X
#define NOPS (sizeof op_names / sizeof *op_names)

static void push_op_runs(lua_State *L, const dev *d) {
  plan *p = lt_of(L)->plan;
  lua_newtable(L);
  for (size_t i = 0; i < NOPS; i++) {
    uint64_t n = plan_op_runs(p, op_names[i].id, dev_id(d));
    if (!n) continue;
    lua_pushinteger(L, (lua_Integer)n);
    lua_setfield(L, -2, op_names[i].name);
  }
}

static int tsh_counters(lua_State *L) {
  lt *l = lt_of(L);
  const plan_counters *c = plan_counters_get(l->plan);
  lt_shapes_asked(L, NULL); /* those of a check are not those of a run */
  lua_newtable(L);
#define COUNTER_X(name, doc)                                                   \
  lua_pushinteger(L, (lua_Integer)c->name);                                    \
  lua_setfield(L, -2, #name);
  PLAN_COUNTERS(COUNTER_X)
#undef COUNTER_X
  lua_newtable(L);
  lt_device_seen(l, dev_builtin(l->devices));
  lt_device_seen(l, l->device);
  for (int i = 0; i < LT_DEVICES; i++) {
    if (!l->seen[i]) continue;
    push_op_runs(L, l->seen[i]);
    lua_setfield(L, -2, dev_name(l->seen[i]));
  }
  lua_setfield(L, -2, "by_op");
  return 1;
}

/* ---- devices ------------------------------------------------------------ */
static const char *const kinds[] = {"", "cpu", "gpu", "npu", "remote"};

static void push_device(lua_State *L, const dev_info *info) {
  lt *l = lt_of(L);
  lua_newtable(L);
  lua_pushstring(L, info->name ? info->name : info->scheme);
  lua_setfield(L, -2, "name");
  lua_pushboolean(L, info->name != NULL);
  lua_setfield(L, -2, "available");
  lua_pushstring(L, info->reason);
  lua_setfield(L, -2, "reason");
  lua_pushboolean(L, info->open);
  lua_setfield(L, -2, "open");
  if (!info->name) return;
  lua_pushboolean(L, strcmp(info->name, dev_name(l->device)) == 0);
  lua_setfield(L, -2, "default");
  lua_pushstring(L, info->props.name);
  lua_setfield(L, -2, "description");
  lua_pushstring(L, info->props.kind < 5 ? kinds[info->props.kind] : "");
  lua_setfield(L, -2, "kind");
  lua_pushinteger(L, (lua_Integer)info->props.memory);
  lua_setfield(L, -2, "memory");
}

static int tsh_devices(lua_State *L) {
  dev_info info;
  lua_newtable(L);
  for (uint32_t i = 0; dev_info_at(lt_of(L)->devices, i, &info); i++) {
    push_device(L, &info);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* device(), device(name): the one where new tensors are made; was. */
static int tsh_device(lua_State *L) {
  lt *l = lt_of(L);
  dev *was = l->device;
  if (!lua_isnoneornil(L, 1)) l->device = lt_arg_device(L, 1);
  lua_pushstring(L, dev_name(was));
  return 1;
}

static int tsh_policy(lua_State *L) {
  static const char *const names[] = {"auto", "warn", "error", NULL};
  lt *l = lt_of(L);
  int was = l->policy;
  if (!lua_isnoneornil(L, 1)) {
    const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "";
    int i = 0;
    while (names[i] && strcmp(names[i], name) != 0) i++;
    if (!names[i])
      return lt_fail_text(L, NULL, "tsh.policy: it is auto, warn or error",
                          NULL);
    l->policy = i;
  }
  lua_pushstring(L, names[was]);
  return 1;
}

/* ---- plans -------------------------------------------------------------- */
/* The options of a table on top, which is popped. */
static int plan_flags(lua_State *L) {
  static const char *const names[] = {"run", "source", "dot"};
  int flags = 0, i;
  if (!lua_istable(L, -1)) return 0;
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    const char *key =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    for (i = 0; i < 3 && strcmp(names[i], key) != 0; i++) continue;
    if (i == 3)
      lt_fail_text(L, NULL,
                   lua_pushfstring(L, "tsh.plan: unknown option '%s'", key),
                   "it has run, source and dot");
    if (lua_toboolean(L, -1)) flags |= 1 << i;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return flags;
}

/* Tensors at 1..n; what is none of them is an error. */
static int explain(lua_State *L, int n, int flags) {
  plan_node **nodes = lua_newuserdatauv(L, (size_t)n * sizeof *nodes + 1, 0);
  tsh_err err;
  tsh_status rc;
  lt_sheet *s;
  for (int i = 0; i < n; i++)
    if (!(nodes[i] = lt_tensor_test(L, i + 1)))
      return lt_fail_text(L, NULL,
                          "tsh.plan: takes tensors, or a function that "
                          "returns them",
                          NULL);
  s = lt_sheet_new(L);
  err.size = sizeof err;
  for (int i = 0; i < n && !(flags & PLAN_DOT); i++) {
    char name[320];
    if (plan_is_ready(nodes[i]))
      fprintf(s->out, "%s is ready already: nothing to run\n",
              plan_describe(nodes[i], name, sizeof name));
  }
  rc = plan_explain(lt_of(L)->plan, nodes, n, flags, s->out, &err);
  lt_sheet_close(L, s);
  if (rc != TSH_OK) lt_raise_demand(L, &err);
  lua_pushlstring(L, s->text, s->size);
  return 1;
}

static int tsh_plan(lua_State *L) {
  int flags = plan_flags(L);
  if (lua_isfunction(L, 1)) lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return explain(L, lua_gettop(L), flags);
}

/* wait(t, ...): computes these now, without reading them; returns them. */
static int tsh_wait(lua_State *L) {
  int n = lua_gettop(L);
  plan_node **nodes = lua_newuserdatauv(L, (size_t)n * sizeof *nodes + 1, 0);
  tsh_err err;
  err.size = sizeof err;
  for (int i = 0; i < n; i++)
    if (!(nodes[i] = lt_tensor_test(L, i + 1)))
      return lt_fail_text(L, NULL, "tsh.wait: takes tensors", NULL);
  if (lt_demand(L, nodes, n, 0, &err) != TSH_OK)
    return lt_raise_demand(L, &err);
  lua_settop(L, n);
  return n;
}

/* ---- ops ----------------------------------------------------------------- */
enum { SAME, BOOL, TO, SECOND };
enum { F = 1, I = 2, B = 4, FI = F | I, IB = I | B, FIB = F | I | B };
#define ROW_X(id, name, class_, arity, takes, gives, start, fe, ie, doc)       \
  {#name, #class_, #gives, doc, arity, takes},
static const struct {
  const char *name, *class_, *gives, *doc;
  int arity, takes;
} rows[] = {TSH_OPS(ROW_X)};
#undef ROW_X

int lt_tsh_ops(lua_State *L) {
  lua_createtable(L, (int)NOPS, 0);
  for (size_t i = 0; i < NOPS; i++) {
    lua_createtable(L, 0, 7);
    lua_pushstring(L, rows[i].name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, rows[i].class_);
    lua_setfield(L, -2, "class");
    lua_pushstring(L, rows[i].gives);
    lua_setfield(L, -2, "gives");
    lua_pushstring(L, rows[i].doc);
    lua_setfield(L, -2, "doc");
    lua_pushinteger(L, rows[i].arity);
    lua_setfield(L, -2, "arity");
    lua_pushboolean(L, rows[i].takes & F);
    lua_setfield(L, -2, "float");
    lua_pushfstring(L, "%s%s%s", rows[i].takes & F ? "F" : "",
                    rows[i].takes & I ? "I" : "", rows[i].takes & B ? "B" : "");
    lua_setfield(L, -2, "takes");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Open addressing by the name's bytes; library functions ask for every op that
 * they record. Filled at the first question. */
enum { OP_SLOTS = 512 };
static uint32_t slot_of(const char *name) {
  uint32_t h = 5381;
  for (; *name; name++) h = h * 33 + (unsigned char)*name;
  return h % OP_SLOTS;
}

int lt_op_find(const char *name) {
  static uint8_t slot[OP_SLOTS]; /* 1 + place in op_names */
  static int filled;
  uint32_t at;
  for (size_t i = 0; i < NOPS && !filled; i++) {
    for (at = slot_of(op_names[i].name); slot[at]; at = (at + 1) % OP_SLOTS) {
    }
    slot[at] = (uint8_t)(i + 1);
  }
  filled = 1;
  for (at = slot_of(name); slot[at]; at = (at + 1) % OP_SLOTS)
    if (strcmp(op_names[slot[at] - 1].name, name) == 0)
      return op_names[slot[at] - 1].id;
  return 0;
}

const char *lt_op_name(int op) {
  static const char *const names[TSH_NOPS] = {
#define OP_X(id, name, ...) [id] = #name,
      TSH_OPS(OP_X)
#undef OP_X
  };
  return op > 0 && op < TSH_NOPS && names[op] ? names[op] : "?";
}

static int tsh_collect(lua_State *L) {
  lt_collect(L);
  return 0;
}

/* The rest of tsh is made of Lua, in lang/lib/commands.lua. */
static int missing(lua_State *L) {
  lt_push_library(L, "commands");
  lua_getfield(L, -1, "twins");
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  return 1;
}

int lt_open_tsh(lua_State *L) {
  static const luaL_Reg own[] = {{"counters", tsh_counters},
                                 {"devices", tsh_devices},
                                 {"device", tsh_device},
                                 {"policy", tsh_policy},
                                 {"plan", tsh_plan},
                                 {"ops", lt_tsh_ops},
                                 {"collect", tsh_collect},
                                 {"wait", tsh_wait},
                                 {NULL, NULL}};
  luaL_newlib(L, own);
  lua_pushliteral(L, TSH_VERSION);
  lua_setfield(L, -2, "version");
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, missing);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  return 1;
}
