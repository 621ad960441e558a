/* gc.c - when is garbage collected? Lua sees 48 bytes where a device holds
 * megabytes, so this room counts device bytes and forces collections, always
 * before a trace is sealed: they may run finalizers, and what those record
 * still belongs to the flush. In generational mode a young collection costs
 * 0.1 us and finds every temporary of the last steps; a handle that outlives
 * two of them is only found by a full one. */
#include <string.h>
#include "priv.h"

#define MIB         ((uint64_t)1 << 20)
#define YOUNG_BYTES (16 * MIB) /* allocated: a young collection */
#define FULL_FLOOR  (64 * MIB) /* alive above 1.5 x: a full one */
#define LITTLE      (MIB / 4)  /* more alive: a full one between epochs */
#define CHEAP_HEAP  (16 * MIB) /* of Lua: some ms */
#define BIGGEST     3          /* tensors listed when memory is out */

#define FULL_FIRST 4   /* full ones in a row, where they pay, */
#define FULL_MOST  256 /* and later */
#define SETTLE     2   /* young ones until bytes are counted anew */

/* At a limit of memory collections cost less than what running into it does:
 * everything is freed then, the plans with it. */
static uint64_t young_bytes(const lt *l) {
  uint64_t limit = dev_limit(dev_builtin(l->devices));
  return limit && limit / 8 < YOUNG_BYTES ? limit / 8 : YOUNG_BYTES;
}

static uint64_t full_above(const lt *l, uint64_t live) {
  uint64_t limit = dev_limit(dev_builtin(l->devices)), above, least;
  above = live + live / 2 + FULL_FLOOR;
  least = live + limit / 8; /* else it would be one after the other */
  if (!limit || above <= limit / 4 * 3) return above;
  return least > limit / 4 * 3 ? least : limit / 4 * 3;
}

/* Dies in every collection and is born again: so collections are counted. */
static int sentinel_gc(lua_State *L) {
  lt_of(L)->cycles++;
  lua_newuserdatauv(L, 0, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_setmetatable(L, -2);
  return 0;
}

static void start_sentinel(lua_State *L) {
  lua_newuserdatauv(L, 0, 0);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, sentinel_gc, 1);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

/* Young collections by themselves after the heap has tripled: seldom inside a
 * step, since each forced one begins the count anew. */
void lt_gc_start(lua_State *L) {
  start_sentinel(L);
  lua_gc(L, LUA_GCGEN, 200, 300);
  lt_of(L)->full_above = full_above(lt_of(L), 0);
  lt_of(L)->settle = SETTLE;
}

static void full(lua_State *L) {
  lt *l = lt_of(L);
  uint64_t live;
  lua_gc(L, LUA_GCCOLLECT);
  lt_drain(l);
  live = plan_counters_get(l->plan)->bytes_live;
  l->full_above = full_above(l, live);
  l->full_left = live;
  l->settle = SETTLE;
  l->cycles_ours = l->cycles;
}

/* A young collection sees every handle that died since the last of ours. But
 * one that Lua made by itself in between has aged the handles of the step
 * before, and only a full one finds those. */
static void young(lua_State *L) {
  lt *l = lt_of(L);
  if (l->cycles != l->cycles_ours) {
    full(L);
    return;
  }
  lua_gc(L, LUA_GCSTEP, 0);
  l->cycles_ours = l->cycles;
  lt_drain(l);
}

/* Are so many bytes worth a full one? It goes by the size of Lua's heap and
 * takes some 0.1 us a KiB, fresh memory from the system twice that and more. */
static int pays(const lt *l, uint64_t bytes) {
  return bytes > LITTLE / 2 + l->heap.bytes / 2;
}

/* Bytes that have gathered since the last full one. It made old what was alive,
 * so that one step later there are those, too, and they stay. */
static uint64_t gathered(lt *l) {
  uint64_t live = plan_counters_get(l->plan)->bytes_live;
  if (l->settle && --l->settle == 0) l->settled = live;
  return !l->settle && live > l->settled ? live - l->settled : 0;
}

/* A full one. When it finds most of these bytes, and there was another one
 * shortly before, more follow. */
static void try_full(lua_State *L, uint64_t bytes) {
  lt *l = lt_of(L);
  uint64_t was = plan_counters_get(l->plan)->bytes_live;
  int again = l->young_run <= 2 * SETTLE;
  full(L);
  l->full_found = was - l->full_left;
  if (!again || l->full_found < bytes / 2)
    l->full_run = 0;
  else
    l->full_run = l->full_run ? 2 * l->full_run : FULL_FIRST;
  if (l->full_run > FULL_MOST) l->full_run = FULL_MOST;
  l->full_next = l->full_run;
  l->young_run = 0;
}

/* Collects before a trace is sealed. No young collection finds what a closure
 * has put into a variable outside: Lua holds it for old at once, the parameters
 * of the last step for example. When a full one finds such bytes, the steps to
 * come have more, and full ones are made; now and then young ones, to see. */
static void collect(lua_State *L) {
  lt *l = lt_of(L);
  uint64_t more;
  if (l->full_next > 0 && pays(l, l->full_found)) {
    l->full_next--;
    full(L);
  } else {
    more = gathered(l);
    if (pays(l, more)) {
      try_full(L, more);
    } else {
      l->young_run++;
      young(L);
    }
  }
  l->young_at = plan_counters_get(l->plan)->bytes_allocated;
}

void lt_gc_settle(lua_State *L) { full(L); }

/* What the counters call for. Returns 1 when it collected. */
int lt_gc_balance(lua_State *L) {
  lt *l = lt_of(L);
  const plan_counters *c = plan_counters_get(l->plan);
  if (c->bytes_live > l->full_above) {
    full(L);
    l->young_at = c->bytes_allocated;
    return 1;
  }
  if (c->bytes_allocated - l->young_at < young_bytes(l)) return 0;
  collect(L);
  return 1;
}

/* An evaluation lets parameters live through several young collections; when
 * the next step replaces them no young one finds them. Between epochs there is
 * time for a full one, so memory does not grow from epoch to epoch. */
int lt_gc_between(lua_State *L) {
  lt *l = lt_of(L);
  const plan_counters *c = plan_counters_get(l->plan);
  lt_drain(l);
  if (c->bytes_live <= l->full_left + LITTLE) return 0;
  if (l->heap.bytes > CHEAP_HEAP) return 0;
  full(L);
  l->young_at = c->bytes_allocated;
  return 0;
}

void lt_collect(lua_State *L) {
  /* The second one frees what finalizers of the first one held. */
  full(L);
  full(L);
  plan_trim(lt_of(L)->plan);
}

tsh_status lt_demand(lua_State *L, plan_node *const *nodes, int n, int flags,
                     tsh_err *err) {
  lt *l = lt_of(L);
  tsh_status rc;
  int exact = lt_gc_balance(L);
  err->size = sizeof *err;
  /* A trace is cut where it repeats: most of it is dead, and finding that out
   * costs less than one kernel. */
  if (!exact && (n == 0 || plan_wants_collect(l->plan))) {
    collect(L);
    exact = 1;
  }
  if (exact)
    flags |= PLAN_EXACT;
  else
    lt_drain(l);
  rc = plan_demand(l->plan, nodes, n, flags, err);
  lt_shapes_count(L);
  if (rc == TSH_ENOMEM) {
    lt_collect(L);
    rc = plan_demand(l->plan, nodes, n, flags | PLAN_EXACT | PLAN_LAST, err);
  }
  return rc;
}

tsh_status lt_read(lua_State *L, plan_node *n, void *host, tsh_err *err) {
  tsh_status rc = plan_is_ready(n) ? TSH_OK : lt_demand(L, &n, 1, 0, err);
  plan *p = lt_of(L)->plan;
  err->size = sizeof *err;
  if (rc != TSH_OK) return rc;
  rc = plan_read(p, n, host, 0, err);
  lt_shapes_asked(L, n);
  if (rc != TSH_ENOMEM) return rc;
  lt_collect(L);
  return plan_read(p, n, host, PLAN_EXACT | PLAN_LAST, err);
}

/* ---- who holds the memory ----------------------------------------------- */
typedef struct {
  lt *l;
  struct big {
    plan_node *node;
    uint64_t bytes;
  } big[BIGGEST];
} census;

static uint64_t bytes_of(const plan_node *n) {
  if (!plan_is_ready(n)) return 0;
  return (uint64_t)plan_shape_of(n)->count * plan_dtype_bytes(plan_dtype_of(n));
}

static void count(void *ud, plan_node *n) {
  struct big *big = ((census *)ud)->big;
  uint64_t bytes = bytes_of(n);
  int at = BIGGEST;
  for (int i = 0; i < BIGGEST; i++)
    if (big[i].node == n) return;
  while (at > 0 && bytes > big[at - 1].bytes) at--;
  if (at == BIGGEST) return;
  memmove(&big[at + 1], &big[at], sizeof *big * (size_t)(BIGGEST - 1 - at));
  big[at].node = n;
  big[at].bytes = bytes;
}

/* The name of the global that holds n, or NULL; it stays on the stack. */
static const char *global_of(lua_State *L, const plan_node *n) {
  int top = lua_gettop(L);
  lua_pushglobaltable(L);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (lt_tensor_test(L, -1) == n && lua_type(L, -2) == LUA_TSTRING) {
      lua_pop(L, 1);
      return lua_tostring(L, -1);
    }
    lua_pop(L, 1);
  }
  lua_settop(L, top);
  return NULL;
}

static const char *in_units(uint64_t bytes, char *text, size_t size) {
  static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = (double)bytes;
  int i = 0;
  while (v >= 1024 && i < 4) v /= 1024, i++;
  snprintf(text, size, v < 100 && i ? "%.3g %s" : "%.0f %s", v, unit[i]);
  return text;
}

void lt_push_biggest(lua_State *L, const char **fact) {
  census c = {.l = lt_of(L)};
  char line[600], bytes[32], place[LUA_IDSIZE + 16];
  size_t at = 0;
  luaL_checkstack(L, BIGGEST + 5, NULL);
  lt_heap_visit(&c.l->heap, count, &c);
  for (int i = 0; i < BIGGEST && c.big[i].bytes && at < sizeof line; i++) {
    const char *name = global_of(L, c.big[i].node);
    lt_site_text(c.l, plan_site_of(c.big[i].node), place, sizeof place);
    at += (size_t)snprintf(line + at, sizeof line - at, "%s%s %s%s%s%s",
                           i ? ", " : "biggest: ", name ? name : "a tensor",
                           in_units(c.big[i].bytes, bytes, sizeof bytes),
                           name ? " (global)" : " (made at ", name ? "" : place,
                           name ? "" : ")");
  }
  if (at) *fact = lua_pushstring(L, line);
}
