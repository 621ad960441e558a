/* tape.c - what a gradient needs to know about the ops recorded while a tape
 * was open: those between some tensors and their results, as Lua tables. */
#include <stdlib.h>
#include <string.h>
#include "priv.h"

/* ---- open tapes ---------------------------------------------------------- */
/* A tape is a userdata: it is closed at the end of its block, by C, which
 * Ctrl-C cannot keep from running; when the coroutine that opened it has
 * failed; and when it is garbage, as that of a coroutine which nobody resumes.
 * An open tape keeps every record, and the trace is not cut. */
typedef struct lt_tape lt_tape;
struct lt_tape {
  lt_tape *next; /* of the open ones */
  lua_State *owner;
  uint32_t id;
  uint8_t open, watching; /* watching: its function still runs */
};

static const char tape_keys[2]; /* registry: the metatable, the customs */

static void stop_watching(lt *l, lt_tape *t) {
  l->watching -= t->watching;
  t->watching = 0;
}

/* The functions of custom_grad are kept as long as a tape is open. The table
 * stays the same: one that an old closure is given counts as old itself, and a
 * young collection would keep every tensor of the step. */
static void forget_customs(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &tape_keys[1]) == LUA_TTABLE) {
    lua_pushnil(L);
    while (lua_next(L, -2)) {
      lua_pop(L, 1);
      lua_pushvalue(L, -1);
      lua_pushnil(L);
      lua_rawset(L, -4);
    }
  }
  lua_pop(L, 1);
}

static void close_tape(lua_State *L, lt_tape *t) {
  lt *l = lt_of(L);
  if (!t->open) return;
  for (lt_tape **at = &l->tapes; *at; at = &(*at)->next)
    if (*at == t) {
      *at = t->next;
      break;
    }
  t->open = 0;
  stop_watching(l, t);
  plan_tape_close(l->plan, t->id);
  if (!l->tapes) forget_customs(L);
}

void lt_tapes_close(lua_State *L, lua_State *owner) {
  lt_tape *next;
  if (!lua_checkstack(L, 6)) return;
  for (lt_tape *t = lt_of(L)->tapes; t; t = next) {
    next = t->next;
    if (!owner || t->owner == owner) close_tape(L, t);
  }
}

static lt_tape *arg_tape(lua_State *L, int i) {
  lt_tape *t = lua_touserdata(L, i);
  if (!t || !lua_getmetatable(L, i)) luaL_typeerror(L, i, "tape");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &tape_keys[0]);
  if (!lua_rawequal(L, -1, -2)) luaL_typeerror(L, i, "tape");
  lua_pop(L, 2);
  return t;
}

int lt_tape_close(lua_State *L) {
  close_tape(L, arg_tape(L, 1));
  return 0;
}

static void push_metatable(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &tape_keys[0]) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, lt_tape_close);
  lua_setfield(L, -2, "__close");
  lua_pushcfunction(L, lt_tape_close);
  lua_setfield(L, -2, "__gc");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &tape_keys[0]);
}

int lt_tape_open(lua_State *L) {
  lt *l = lt_of(L);
  lt_tape *t = lua_newuserdatauv(L, sizeof *t, 0);
  tsh_err err = {.size = sizeof err};
  memset(t, 0, sizeof *t);
  push_metatable(L);
  lua_setmetatable(L, -2);
  lt_check(L, plan_tape_open(l->plan, &t->id, &err), &err);
  t->owner = L;
  t->open = t->watching = 1;
  l->watching++;
  t->next = l->tapes;
  l->tapes = t;
  return 1;
}

/* stop_watching(tape): its function has returned; what is recorded from now on
 * is of interest to tapes further out only. */
int lt_tape_stop(lua_State *L) {
  stop_watching(lt_of(L), arg_tape(L, 1));
  return 0;
}

/* watching(): does a function run whose gradient is asked for? */
int lt_tape_watching(lua_State *L) {
  lua_pushboolean(L, lt_of(L)->watching > 0);
  return 1;
}

/* customs(): the table of the functions of custom_grad, see forget_customs. */
int lt_tape_customs(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &tape_keys[1]) == LUA_TTABLE) return 1;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &tape_keys[1]);
  return 1;
}

/* ---- a set of nodes ----------------------------------------------------- */
typedef struct {
  const plan_node **at; /* in a userdata; open addressing */
  size_t cap;           /* a power of two, more than twice what goes in */
} node_set;

static size_t slot(const node_set *s, const plan_node *n) {
  size_t h = (size_t)((uintptr_t)n / 16 * UINT64_C(0x9E3779B97F4A7C15) >> 20);
  while (s->at[h & (s->cap - 1)] && s->at[h & (s->cap - 1)] != n) h++;
  return h & (s->cap - 1);
}

static void push_set(lua_State *L, size_t most, node_set *s) {
  s->cap = 16;
  while (s->cap < 2 * most + 2) s->cap *= 2;
  s->at = lua_newuserdatauv(L, s->cap * sizeof *s->at, 0);
  for (size_t i = 0; i < s->cap; i++) s->at[i] = NULL;
}

static void put(node_set *s, const plan_node *n) { s->at[slot(s, n)] = n; }
static int has(const node_set *s, const plan_node *n) {
  return s->at[slot(s, n)] == n;
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

static void set_inputs(lua_State *L, const plan_record *r) {
  lua_createtable(L, r->n, 0);
  lua_createtable(L, r->n, 0);
  for (int i = 0; i < r->n; i++) {
    plan_node *n = r->in[i].kind == PLAN_TENSOR ? r->in[i].node : NULL;
    if (n)
      push_handle(L, n);
    else
      push_number(L, &r->in[i]);
    lua_rawseti(L, -3, i + 1);
    if (n)
      lua_pushinteger(L, (lua_Integer)(uintptr_t)n);
    else
      lua_pushboolean(L, 0);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -3, "in_ids");
  lua_setfield(L, -2, "in");
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

static void push_record(lua_State *L, plan_node *n, const plan_record *r) {
  const plan_operand *first = r->n ? &r->in[0] : NULL;
  uint32_t rank = first && first->kind == PLAN_TENSOR
                      ? plan_shape_of(first->node)->rank
                      : 0;
  lua_createtable(L, 0, 8);
  lua_pushstring(L, lt_op_name(r->op));
  lua_setfield(L, -2, "op");
  push_handle(L, n);
  lua_setfield(L, -2, "out");
  lua_pushinteger(L, (lua_Integer)(uintptr_t)n);
  lua_setfield(L, -2, "out_id");
  set_inputs(L, r);
  set_details(L, r, rank);
}

/* ---- all of them -------------------------------------------------------- */
/* tape_records(id, wrt): the records of float results that depend on a tensor
 * in the list wrt, oldest first. */
int lt_tape_records(lua_State *L) {
  plan *p = lt_of(L)->plan;
  uint32_t from = arg_tape(L, 1)->id, end = plan_tape_end(p);
  lua_Integer n = (luaL_checktype(L, 2, LUA_TTABLE), luaL_len(L, 2)), kept = 0;
  node_set set;
  push_set(L, (size_t)n + (end > from ? end - from : 0), &set);
  for (lua_Integer i = 1; i <= n; i++) {
    const plan_node *x;
    lua_rawgeti(L, 2, i);
    x = lt_tensor_test(L, -1);
    if (x) put(&set, x);
    lua_pop(L, 1);
  }
  lua_newtable(L);
  for (uint32_t i = from; i < end; i++) {
    plan_node *x = plan_tape_node(p, i);
    plan_record r;
    int depends = 0;
    if (i % 4096 == 0) lt_stop_point(L);
    if (plan_dtype_kind(plan_dtype_of(x)) != TSH_KIND_FLOAT) continue;
    plan_record_of(x, &r);
    for (int k = 0; k < r.n && !depends; k++)
      depends = r.in[k].kind == PLAN_TENSOR && has(&set, r.in[k].node);
    if (!depends) continue;
    put(&set, x);
    push_record(L, x, &r);
    lua_rawseti(L, -2, ++kept);
  }
  return 1;
}
