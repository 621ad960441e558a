/* bench.c - what measuring needs: a function called many times, each time
 * until its tensors are there, and clocks. */
#include <sched.h>
#include <time.h>
#include "session.h"

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- running --------------------------------------------------------------
 */
enum { WAITED = 64 }; /* tensors of one call */

/* Tensors among the values from `first` on, and in tables there. */
static int tensors_of(lua_State *L, int first, plan_node **nodes) {
  int n = 0, top = lua_gettop(L);
  for (int i = first; i <= top; i++) {
    plan_node *x = lt_tensor_test(L, i);
    if (x && n < WAITED) nodes[n++] = x;
    if (!lua_istable(L, i)) continue;
    lua_pushnil(L);
    while (lua_next(L, i)) {
      x = lt_tensor_test(L, -1);
      if (x && n < WAITED) nodes[n++] = x;
      lua_pop(L, 1);
    }
  }
  return n;
}

static void wait_for(lua_State *L, int first) {
  plan_node *nodes[WAITED];
  tsh_err err = {.size = sizeof err};
  int n = tensors_of(L, first, nodes);
  if (n && lt_demand(L, nodes, n, 0, &err) != TSH_OK) lt_raise_demand(L, &err);
}

/* bench_run(f, n, wait): seconds that n calls of f take; wait: each is over
 * when its tensors are computed, else only the last. */
static int bench_run(lua_State *L) {
  lua_Integer n = luaL_checkinteger(L, 2);
  int wait = lua_toboolean(L, 3);
  double begin;
  lua_settop(L, 1);
  begin = seconds_of(CLOCK_MONOTONIC);
  for (lua_Integer i = 0; i < n; i++) {
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    lua_call(L, 0, LUA_MULTRET);
    if (wait) wait_for(L, 2);
  }
  if (!wait) {
    double recorded = seconds_of(CLOCK_MONOTONIC) - begin;
    wait_for(L, 2);
    lua_pushnumber(L, recorded);
    return 1;
  }
  lua_pushnumber(L, seconds_of(CLOCK_MONOTONIC) - begin);
  return 1;
}

/* bench_wait(...): its tensors, computed. */
static int bench_wait(lua_State *L) {
  luaL_checkstack(L, 10, NULL);
  wait_for(L, 1);
  return lua_gettop(L);
}

/* Wall seconds, and those of all threads of this process. */
static int bench_clock(lua_State *L) {
  lua_pushnumber(L, seconds_of(CLOCK_MONOTONIC));
  lua_pushnumber(L, seconds_of(CLOCK_PROCESS_CPUTIME_ID));
  return 2;
}

/* ---- the state of things ------------------------------------------------- */
/* forget(keep): plans, programs and, unless it is kept, cached memory are given
 * up: what runs next is cold. */
static int bench_forget(lua_State *L) {
  plan *p = lt_of(L)->plan;
  if (lua_toboolean(L, 1))
    plan_forget(p);
  else
    plan_trim(p);
  return 0;
}

/* Would a copy of the tensor be as the tensor is, but for its place? */
static int bench_movable(lua_State *L) {
  const plan_node *x = lt_tensor_test(L, 1);
  lua_pushboolean(L, x && plan_is_alone(x));
  return 1;
}

/* How many threads compute, as the user said or the system allows. */
static int bench_threads(lua_State *L) {
  lua_Integer n = lt_of(L)->threads;
  cpu_set_t set;
  if (!n && sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
  lua_pushinteger(L, n > 0 ? n : 1);
  return 1;
}

static int bench_options(lua_State *L) {
  static const struct {
    const char *word;
    char letter;
    const char *argument, *kind;
  } rows[] = {
#define ROW_X(word, letter, argument, kind, help)                              \
  {word, letter, argument, kind},
      LT_BENCH_OPTIONS(ROW_X)
#undef ROW_X
  };
  lua_newtable(L);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lua_createtable(L, 0, 4);
    lua_pushstring(L, rows[i].word);
    lua_setfield(L, -2, "word");
    lua_pushlstring(L, &rows[i].letter, rows[i].letter != 0);
    lua_setfield(L, -2, "letter");
    lua_pushstring(L, rows[i].argument);
    lua_setfield(L, -2, "argument");
    lua_pushstring(L, rows[i].kind);
    lua_setfield(L, -2, "kind");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

const luaL_Reg lt_bench_functions[] = {
    {"bench_run", bench_run},         {"bench_wait", bench_wait},
    {"bench_forget", bench_forget},   {"bench_movable", bench_movable},
    {"bench_threads", bench_threads}, {"bench_options", bench_options},
    {"clocks", bench_clock},          {NULL, NULL}};
