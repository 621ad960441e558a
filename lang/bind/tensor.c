/* tensor.c - handles: a userdata of one fixed size with a magic word and an
 * owned node, no finalizer. When Lua frees one, alloc.c notes it; the node is
 * dropped at the next record or demand. */
#include <string.h>
#include "priv.h"

plan_node **lt_tensor_new(lua_State *L) {
  lt *l = lt_of(L);
  lt_tensor *t = lua_newuserdatauv(L, sizeof *t, 0);
  t->node = NULL;
  t->magic = l->heap.secret ^ (uintptr_t)t;
  lua_rawgeti(L, LUA_REGISTRYINDEX, l->metatable);
  lua_setmetatable(L, -2);
  return &t->node;
}

/* Was the function that runs called as x.sum()? */
static int is_dotted_call(lua_State *L) {
  lua_Debug ar;
  if (!lua_getstack(L, 0, &ar)) return 0;
  lua_getinfo(L, "n", &ar);
  return strcmp(ar.namewhat, "field") == 0;
}

plan_node *lt_tensor_get(lua_State *L, int i) {
  plan_node *n = lt_tensor_test(L, i);
  if (n) return n;
  lt_fail(L,
          lua_type(L, i) == LUA_TTABLE  ? "tensor{...} makes one of a table"
          : i == 1 && is_dotted_call(L) ? "x:name(...) with a colon"
                                        : NULL,
          "argument %d must be a tensor, got %s", i, lt_type_name(L, i));
  return NULL;
}

const char *lt_type_name(lua_State *L, int i) {
  if (lt_tensor_test(L, i)) return "a tensor";
  switch (lua_type(L, i)) {
  case LUA_TNONE:
    return "nothing";
  case LUA_TNIL:
    return "nil";
  case LUA_TBOOLEAN:
    return "a boolean";
  case LUA_TNUMBER:
    return "a number";
  case LUA_TSTRING:
    return "a string";
  case LUA_TTABLE:
    return lt_shape_test(L, i) ? "a shape" : "a table";
  case LUA_TFUNCTION:
    return "a function";
  case LUA_TTHREAD:
    return "a coroutine";
  default:
    return "a userdata";
  }
}

void lt_drain(lt *l) {
  plan_node *n;
  while ((n = lt_heap_take(&l->heap))) plan_drop(l->plan, n);
}

lt *lt_begin(lua_State *L) {
  lt *l = lt_of(L);
  if (l->heap.dead) lt_drain(l);
  plan_at(l->plan, lt_site(L));
  return l;
}

int lt_done(lua_State *L, int nresults) {
  lt *l = lt_of(L);
  if (plan_wants_cut(l->plan)) {
    tsh_err err;
    tsh_status rc = lt_demand(L, NULL, 0, 0, &err);
    if (rc != TSH_OK) lt_raise_demand(L, &err);
  }
  return nresults;
}

/* ---- the metatable ---------------------------------------------------------
 */
static int tensor_len(lua_State *L) {
  const plan_shape *s = plan_shape_of(lt_tensor_get(L, 1));
  if (s->rank == 0)
    return lt_fail(L, "x:item() is its value",
                   "a tensor without axes has no length");
  lua_pushinteger(L, s->dim[0]);
  return 1;
}

static int tensor_newindex(lua_State *L) {
  plan_node *n = lt_tensor_get(L, 1);
  (void)n;
  if (lua_type(L, 2) == LUA_TSTRING)
    return lt_fail(L, "t = t:cast(dtype), t:to(device), t:reshape(...)",
                   "'%s' of a tensor cannot be assigned: tensors are values",
                   lua_tostring(L, 2));
  return lt_fail(L, "t = t:set(i, v)",
                 "an element cannot be assigned: tensors are values");
}

static int tensor_concat(lua_State *L) {
  if (lt_tensor_test(L, 1) && lt_tensor_test(L, 2))
    return lt_fail(L,
                   "cat{a, b} joins tensors; for text write "
                   "tostring(t), as \"a \"..t..u is t..u first",
                   "'..' does not join two tensors");
  for (int i = 1; i <= 2; i++) {
    int type = lua_type(L, i);
    if (!lt_tensor_test(L, i) && type != LUA_TSTRING && type != LUA_TNUMBER)
      return lt_fail(L, NULL, "'..' cannot join a tensor and %s",
                     lt_type_name(L, i));
  }
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

/* turned: the method where the first operand is a number. */
static int refuse_compare(lua_State *L, const char *sign, const char *name,
                          const char *turned) {
  int number = lua_type(L, 1) == LUA_TNUMBER;
  const char *b = number                          ? luaL_tolstring(L, 1, NULL)
                  : lua_type(L, 2) == LUA_TNUMBER ? luaL_tolstring(L, 2, NULL)
                                                  : "b";
  const char *why = lua_pushfstring(
      L,
      "a tensor comparison has many answers; use a:%s(%s), or equal(a,b) for "
      "one boolean",
      number ? turned : name, b);
  return lt_fail_text(L, sign, why, NULL);
}

static int tensor_eq(lua_State *L) {
  return refuse_compare(L, "==", "eq", "eq");
}
/* Lua asks a < b for b > a, too. */
static int tensor_lt(lua_State *L) {
  return refuse_compare(L, "<", "lt", "gt");
}
static int tensor_le(lua_State *L) {
  return refuse_compare(L, "<=", "le", "ge");
}

/* A loop calls what stands behind its `in` with two values, nil at first. */
static int tensor_call(lua_State *L) {
  if (lua_gettop(L) == 3 && lua_isnil(L, 2) && lua_isnil(L, 3))
    return lt_fail(L, "for i, row in x:rows() do visits every row",
                   "a tensor is no iterator");
  if (lua_gettop(L) == 2 && lua_type(L, 2) == LUA_TSTRING)
    return lt_fail(L, "[[ ]] is a string; x[tensor{1, 3}] takes rows 1 and 3",
                   "a tensor is no function");
  return lt_fail(L, "t[i] takes an element or a row",
                 "a tensor is no function");
}

void lt_tensor_open(lua_State *L) {
  static const luaL_Reg own[] = {
      {"__len", tensor_len},       {"__newindex", tensor_newindex},
      {"__concat", tensor_concat}, {"__eq", tensor_eq},
      {"__lt", tensor_lt},         {"__le", tensor_le},
      {"__call", tensor_call},     {"__tostring", lt_tostring},
      {"__index", lt_index},       {NULL, NULL}};
  lt *l = lt_of(L);
  lua_createtable(L, 0, 32);
  lua_pushvalue(L, -1);
  l->metatable = luaL_ref(L, LUA_REGISTRYINDEX);
  luaL_setfuncs(L, own, 0);
  lt_map_metamethods(L);
  lua_pushliteral(L, "tensor");
  lua_setfield(L, -2, "__name");
  /* getmetatable(t) shows a word, so that a script cannot take __index off. */
  lua_pushliteral(L, "tensor");
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
  /* The first handle tells the allocator how large their blocks are. */
  lua_gc(L, LUA_GCSTOP);
  lua_newuserdatauv(L, sizeof(lt_tensor), 0);
  l->heap.handle_block = l->heap.last;
  lua_pop(L, 1);
  lua_gc(L, LUA_GCRESTART);
}
