/* tape.c - tapes, which a gradient opens so that the ops of its function are
 * kept. What it then sees of them is in walk.c. */
#include <string.h>
#include "priv.h"

/* A tape is a userdata: it is closed at the end of its block, by C, which
 * Ctrl-C cannot keep from running; when the coroutine that opened it has
 * failed; and when it is garbage, as that of a coroutine which nobody resumes.
 * An open tape keeps every record, and the trace is not cut. */
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

lt_tape *lt_tape_get(lua_State *L, int i) {
  lt_tape *t = lua_touserdata(L, i);
  if (!t || !lua_getmetatable(L, i)) luaL_typeerror(L, i, "tape");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &tape_keys[0]);
  if (!lua_rawequal(L, -1, -2)) luaL_typeerror(L, i, "tape");
  lua_pop(L, 2);
  return t;
}

uint32_t lt_tape_first(const lt_tape *t) { return t->id; }
int lt_tape_is_open(const lt_tape *t) { return t->open; }

int lt_tape_close(lua_State *L) {
  close_tape(L, lt_tape_get(L, 1));
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
  stop_watching(lt_of(L), lt_tape_get(L, 1));
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
