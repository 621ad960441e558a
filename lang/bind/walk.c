/* walk.c - the way back through the ops that were recorded while a tape was
 * open: those between some tensors and their results, newest first, each as a
 * Lua table when its turn has come. lang/lib/grad.lua makes it, and the table
 * of gradients, by the ids of the tensors they belong to. */
#include <string.h>
#include "priv.h"

/* ---- a set of nodes ----------------------------------------------------- */
/* Nodes that the gradient passes: the tensors it is asked for, and what depends
 * on them. All are kept by the tape as long as it is open. */
typedef struct {
  lt_tape *tape;         /* kept by the user value */
  uint32_t n, end;       /* records: whose turn has not come, in all */
  size_t cap;            /* a power of two, more than twice what goes in */
  const plan_node **set; /* [cap], open addressing */
  plan_node **record;    /* oldest first */
} walk;

static const char walk_keys[2]; /* registry: the metatable, rules by op */

static size_t slot(const walk *w, const plan_node *n) {
  size_t h = (size_t)((uintptr_t)n / 16 * UINT64_C(0x9E3779B97F4A7C15) >> 20);
  while (w->set[h & (w->cap - 1)] && w->set[h & (w->cap - 1)] != n) h++;
  return h & (w->cap - 1);
}

static void put(walk *w, const plan_node *n) { w->set[slot(w, n)] = n; }
static int has(const walk *w, const plan_node *n) {
  return w->set[slot(w, n)] == n;
}

/* ---- rules -------------------------------------------------------------- */
/* set_rule(op, rule, saves, passes): the rule of lang/lib/rules.lua for an op.
 * saves: see plan_set_saves; passes: the inputs that have a gradient, from bit
 * 1 on, the last bit for all that have none of their own. */
int lt_walk_set_rule(lua_State *L) {
  lt *l = lt_of(L);
  int op = lt_op_find(luaL_checkstring(L, 1));
  if (!op) return luaL_error(L, "no op '%s'", lua_tostring(L, 1));
  luaL_checktype(L, 2, LUA_TTABLE);
  l->rule[op].saves = (uint32_t)luaL_checkinteger(L, 3);
  l->rule[op].passes = (uint32_t)luaL_checkinteger(L, 4);
  plan_set_saves(l->plan, op, l->rule[op].saves);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &walk_keys[1]) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &walk_keys[1]);
  }
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, op);
  return 0;
}

/* The first input from number k (from 0) on that the gradient goes to; -1: none
 * is left. */
static int next_input(const lt *l, const walk *w, const plan_record *r, int k) {
  uint32_t passes = l->rule[r->op].passes;
  for (; k < r->n; k++)
    if (r->in[k].kind == PLAN_TENSOR && passes >> (k < 30 ? k + 1 : 31) & 1 &&
        has(w, r->in[k].node))
      return k;
  return -1;
}

/* ---- one record --------------------------------------------------------- */
static void push_number(lua_State *L, const plan_operand *v) {
  if (v->kind == PLAN_REAL)
    lua_pushnumber(L, v->num.f);
  else if (v->kind == PLAN_BOOL)
    lua_pushboolean(L, v->num.i != 0);
  else
    lua_pushinteger(L, v->num.i);
}

static void push_handle(lua_State *L, plan_node *n) {
  plan_node **out = lt_tensor_new(L);
  *out = plan_keep(n);
}

static void set_list(lua_State *L, const char *name, uint32_t n,
                     const int64_t *v) {
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    lua_pushinteger(L, v[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, name);
}

static void set_axes(lua_State *L, const plan_record *r, uint32_t rank) {
  int64_t axes[PLAN_RANK];
  uint32_t n = 0;
  for (uint32_t i = 0; i < rank; i++)
    if (r->axes >> i & 1) axes[n++] = i + 1;
  set_list(L, "axes", n, axes);
  lua_pushboolean(L, r->keep);
  lua_setfield(L, -2, "keep");
}

static void set_ranges(lua_State *L, const plan_record *r, uint32_t rank) {
  lua_createtable(L, (int)rank, 0);
  for (uint32_t i = 0; i < rank; i++) {
    const int64_t v[3] = {r->range[i].start, r->range[i].count,
                          r->range[i].step};
    lua_createtable(L, 3, 0);
    for (int k = 0; k < 3; k++) {
      lua_pushinteger(L, v[k]);
      lua_rawseti(L, -2, k + 1);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "ranges");
}

static void set_details(lua_State *L, const plan_record *r, uint32_t rank) {
  int64_t order[PLAN_RANK];
  switch (r->op) {
  case TSH_OP_permute:
    for (uint32_t i = 0; i < rank; i++) order[i] = r->order[i] + 1;
    set_list(L, "order", rank, order);
    break;
  case TSH_OP_slice:
  case TSH_OP_set:
    set_ranges(L, r, rank);
    break;
  case TSH_OP_pad:
    set_list(L, "before", rank, r->before);
    set_list(L, "after", rank, r->after);
    break;
  case TSH_OP_windows:
    set_list(L, "window", 3, &r->window->size);
    lua_pushinteger(L, (lua_Integer)r->axes + 1);
    lua_setfield(L, -2, "axis");
    break;
  case TSH_OP_sort:
    lua_pushboolean(L, r->keep);
    lua_setfield(L, -2, "descending"); /* fall through */
  case TSH_OP_cat:
  case TSH_OP_take:
  case TSH_OP_index_add:
  case TSH_OP_index_set:
  case TSH_OP_index_mul:
  case TSH_OP_index_max:
  case TSH_OP_index_min:
  case TSH_OP_gather:
  case TSH_OP_scatter_add:
  case TSH_OP_cumsum:
  case TSH_OP_cumprod:
    lua_pushinteger(L, (lua_Integer)r->axes + 1);
    lua_setfield(L, -2, "axis");
    break;
  default:
    if (r->op >= TSH_OP_sum && r->op <= TSH_OP_argmin) set_axes(L, r, rank);
  }
}

static void push_operand(lua_State *L, const plan_operand *v) {
  if (v->kind == PLAN_TENSOR)
    push_handle(L, v->node);
  else
    push_number(L, v);
}

static void push_id(lua_State *L, const plan_node *n) {
  lua_pushinteger(L, (lua_Integer)(uintptr_t)n);
}

/* from[k] = {what was expanded to input k, id=}, where the gradient goes
 * through that expand. */
static void set_from(lua_State *L, const walk *w, const plan_record *r) {
  lua_createtable(L, r->n, 0);
  for (int k = 0; k < r->n; k++) {
    plan_record e;
    if (r->in[k].kind != PLAN_TENSOR || !has(w, r->in[k].node)) continue;
    plan_record_of(r->in[k].node, &e);
    if (e.op != TSH_OP_expand || e.n < 1 || !has(w, e.in[0].node)) continue;
    lua_createtable(L, 1, 1);
    push_handle(L, e.in[0].node);
    lua_rawseti(L, -2, 1);
    push_id(L, e.in[0].node);
    lua_setfield(L, -2, "id");
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "from");
}

/* What the rules of an op say that they look at. */
static void set_saved(lua_State *L, plan_node *n, const plan_record *r) {
  static const char *const names[] = {"out", "x", "y", "z"};
  uint32_t saves = lt_of(L)->rule[r->op].saves;
  if (saves & 1) {
    push_handle(L, n);
    lua_setfield(L, -2, names[0]);
  }
  for (int k = 0; k < r->n && k < 3; k++) {
    if (!(saves >> (k + 1) & 1)) continue;
    lua_rawgeti(L, -1, k + 1);
    lua_setfield(L, -2, names[k + 1]);
  }
}

/* Inputs by number, and what else there is to know. */
static void push_record(lua_State *L, const walk *w, plan_node *n,
                        const plan_record *r) {
  const plan_operand *first = r->n ? &r->in[0] : NULL;
  uint32_t rank = first && first->kind == PLAN_TENSOR
                      ? plan_shape_of(first->node)->rank
                      : 0;
  lua_createtable(L, r->n, 2);
  for (int k = 0; k < r->n; k++) {
    push_operand(L, &r->in[k]);
    lua_rawseti(L, -2, k + 1);
  }
  set_saved(L, n, r);
  set_details(L, r, rank);
  if (r->op == TSH_OP_dot) set_from(L, w, r);
  if (r->op != TSH_OP_custom) return;
  push_id(L, n);
  lua_setfield(L, -2, "out_id");
}

/* ---- the way ------------------------------------------------------------ */
static walk *arg_walk(lua_State *L, int i) {
  walk *w = lua_touserdata(L, i);
  if (!w || !lua_getmetatable(L, i)) luaL_typeerror(L, i, "walk");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &walk_keys[0]);
  if (!lua_rawequal(L, -1, -2)) luaL_typeerror(L, i, "walk");
  lua_pop(L, 2);
  if (!lt_tape_is_open(w->tape)) luaL_error(L, "the tape is closed");
  return w;
}

/* Pushes one for at most `most` nodes. */
static walk *push_walk(lua_State *L, lt_tape *t, size_t most) {
  size_t cap = 16;
  walk *w;
  while (cap < 2 * most + 2) cap *= 2;
  w = lua_newuserdatauv(
      L, sizeof *w + cap * sizeof *w->set + most * sizeof *w->record, 1);
  w->tape = t;
  w->n = w->end = 0;
  w->cap = cap;
  w->set = (const plan_node **)(void *)(w + 1);
  w->record = (plan_node **)(void *)(w->set + cap);
  for (size_t i = 0; i < cap; i++) w->set[i] = NULL;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &walk_keys[0]) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &walk_keys[0]);
  }
  lua_setmetatable(L, -2);
  return w;
}

static void put_leaves(lua_State *L, walk *w, lua_Integer n) {
  for (lua_Integer i = 1; i <= n; i++) {
    const plan_node *x;
    lua_rawgeti(L, 2, i);
    x = lt_tensor_test(L, -1);
    if (x) put(w, x);
    lua_pop(L, 1);
  }
}

/* walk_new(tape, leaves): the way back to the tensors in this list, which lie
 * on it where it ends. */
int lt_walk_new(lua_State *L) {
  lt *l = lt_of(L);
  lt_tape *t = lt_tape_get(L, 1);
  uint32_t from = lt_tape_first(t), end = plan_tape_end(l->plan);
  lua_Integer leaves = (luaL_checktype(L, 2, LUA_TTABLE), luaL_len(L, 2));
  walk *w = push_walk(L, t, (size_t)leaves + (end > from ? end - from : 0));
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  put_leaves(L, w, leaves);
  for (uint32_t i = from; i < end; i++) {
    plan_node *n = plan_tape_node(l->plan, i);
    plan_record r;
    if (i % 4096 == 0) lt_stop_point(L);
    if (plan_dtype_kind(plan_dtype_of(n)) != TSH_KIND_FLOAT || has(w, n))
      continue;
    plan_record_of(n, &r);
    if (next_input(l, w, &r, 0) < 0) continue;
    put(w, n);
    w->record[w->n++] = n;
  }
  w->end = w->n;
  return 1;
}

/* walk_back(walk, gradients): the newest record not yet visited whose result
 * has a gradient, which leaves the table. Gives the record, the gradient, the
 * number of the first input that it goes to, and the rule of the op; nothing at
 * the end. */
int lt_walk_back(lua_State *L) {
  walk *w = arg_walk(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  while (w->n > 0) {
    plan_node *n = w->record[--w->n];
    plan_record r;
    if (w->n % 4096 == 0) lt_stop_point(L);
    if (lua_rawgeti(L, 2, (lua_Integer)(uintptr_t)n) == LUA_TNIL) {
      lua_pop(L, 1);
      continue;
    }
    lua_pushnil(L);
    lua_rawseti(L, 2, (lua_Integer)(uintptr_t)n);
    plan_record_of(n, &r);
    push_record(L, w, n, &r);
    lua_insert(L, 3);
    lua_pushinteger(L, next_input(lt_of(L), w, &r, 0) + 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &walk_keys[1]);
    lua_rawgeti(L, -1, r.op);
    lua_remove(L, -2);
    return 4;
  }
  return 0;
}

/* walk_give(walk, gradients, k, d, id): adds d, which may be nil, to the
 * gradient of input k of the record visited last, or to that of the tensor with
 * this id. Gives the number of the next input, or nothing; or false, and has
 * done nothing: d has another shape, dtype or device than the input. */
int lt_walk_give(lua_State *L) {
  walk *w = arg_walk(L, 1);
  int k = (int)luaL_checkinteger(L, 3);
  const plan_node *d;
  plan_record r;
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_argcheck(L, w->n < w->end, 1, "no record was visited");
  lua_settop(L, 5);
  plan_record_of(w->record[w->n], &r);
  luaL_argcheck(L, k >= 1 && k <= r.n, 3, "no input");
  if ((d = lt_tensor_test(L, 4))) {
    lua_Integer id = (lua_Integer)(uintptr_t)r.in[k - 1].node;
    if (!lua_isnil(L, 5)) {
      id = luaL_checkinteger(L, 5);
    } else if (r.in[k - 1].kind != PLAN_TENSOR ||
               !lt_alike(d, r.in[k - 1].node)) {
      lua_pushboolean(L, 0);
      return 1;
    }
    if (lua_rawgeti(L, 2, id) != LUA_TNIL)
      lt_push_map(L, TSH_OP_add, 2, 6, 4, 0);
    else
      lua_pushvalue(L, 4);
    lua_rawseti(L, 2, id);
  }
  k = next_input(lt_of(L), w, &r, k);
  if (k < 0) return 0;
  lua_pushinteger(L, k + 1);
  return 1;
}
