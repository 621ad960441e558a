/* site.c - which line of the user's script runs now? Every recorded op asks,
 * so the answer comes from a cache keyed on the saved program counter of the
 * calling Lua function, which is read where Lua 5.4 keeps it. That place is
 * private to Lua: at start it is compared with what lua_getinfo says, and not
 * used if anything differs. */
#include <stdlib.h>
#include <string.h>
#include "priv.h"

#define CACHE      1024
#define MOST_SITES (1u << 20)

/* Lua's CallInfo as far as it is read here. */
struct frame {
  void *func, *top;
  struct frame *previous, *next;
  const char *pc; /* of a Lua function; something else in a C function's */
  void *u1, *u2;
  int u3;
  short nresults;
  unsigned short status;
};
#define STATUS_C 2

typedef struct {
  uint32_t source; /* number in sources */
  int line;
} site;

struct lt_sites {
  int fast; /* the layout above was found to be true */
  uint32_t protos;
  struct entry {
    const char *pc;
    uint32_t site;
    int library;
  } cache[CACHE];
  site *site; /* site[0] is unknown */
  uint32_t n, cap;
  uint32_t *hash, hash_cap; /* site number, 0 free; open addressing */
};

/* ---- numbers of lines -----------------------------------------------------
 */
static uint32_t mix(uint32_t source, int line) {
  uint32_t h = source * 0x9E3779B1u ^ (uint32_t)line * 0x85EBCA77u;
  return h ^ h >> 15;
}

static int grow(lt_sites *s) {
  uint32_t cap = s->cap ? 2 * s->cap : 256, mask = 2 * cap - 1;
  site *bigger = realloc(s->site, cap * sizeof *bigger);
  uint32_t *hash;
  if (!bigger) return 0;
  s->site = bigger;
  hash = calloc(2 * (size_t)cap, sizeof *hash);
  if (!hash) return 0;
  for (uint32_t i = 1; i < s->n; i++) {
    uint32_t h = mix(s->site[i].source, s->site[i].line);
    while (hash[h & mask]) h++;
    hash[h & mask] = i;
  }
  free(s->hash);
  s->hash = hash;
  s->hash_cap = 2 * cap;
  s->cap = cap;
  return 1;
}

/* 0 when there is no room: the line is then unknown, nothing worse. */
static uint32_t number_of(lt_sites *s, uint32_t source, int line) {
  uint32_t h = mix(source, line), at;
  if (!source || line <= 0) return 0;
  if (s->n >= s->cap && (s->n >= MOST_SITES || !grow(s))) return 0;
  for (; (at = s->hash[h & (s->hash_cap - 1)]) != 0; h++)
    if (s->site[at].source == source && s->site[at].line == line) return at;
  s->site[s->n].source = source;
  s->site[s->n].line = line;
  s->hash[h & (s->hash_cap - 1)] = s->n;
  return s->n++;
}

static uint32_t number_here(lua_State *L, lua_Debug *ar, int *library) {
  lt *l = lt_of(L);
  lua_getinfo(L, "Sl", ar);
  *library = lt_source_is_library(ar->source);
  if (ar->currentline <= 0) return 0;
  return number_of(l->sites, lt_source_number(l, ar->source, ar->srclen),
                   ar->currentline);
}

/* ---- the frame that runs ----------------------------------------------------
 */
static uint32_t slow_site(lua_State *L) {
  lua_Debug ar;
  uint32_t fallback = 0;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    int library;
    uint32_t n = number_here(L, &ar, &library);
    if (n && !library) return n;
    if (n && !fallback) fallback = n;
  }
  return fallback;
}

static struct entry *look_up(lua_State *L, lt_sites *s, struct frame *f) {
  struct entry *e = &s->cache[(uintptr_t)f->pc / 4 % CACHE];
  if (e->pc != f->pc) {
    lua_Debug ar;
    memset(&ar, 0, sizeof ar);
    ar.i_ci = (struct CallInfo *)(void *)f;
    e->pc = NULL;
    e->site = number_here(L, &ar, &e->library);
    e->pc = f->pc;
  }
  return e;
}

uint32_t lt_site(lua_State *L) {
  lt *l = lt_of(L);
  lt_sites *s = l->sites;
  uint32_t fallback = 0;
  lua_Debug ar;
  if (!s->fast) return slow_site(L);
  if (s->protos != l->heap.protos) { /* an address may mean another line now */
    s->protos = l->heap.protos;
    memset(s->cache, 0, sizeof s->cache);
  }
  if (!lua_getstack(L, 0, &ar)) return 0;
  for (struct frame *f = (void *)ar.i_ci; f; f = f->previous) {
    struct entry *e;
    if (f->status & STATUS_C) continue;
    e = look_up(L, s, f);
    if (!e->library && e->site) return e->site;
    if (!fallback) fallback = e->site;
  }
  return fallback;
}

/* ---- the self-check ----------------------------------------------------- */
/* Called three times from lines 1, 2, 2 of one function and once by pcall:
 * the saved counter must grow in steps of instructions, frames must be linked
 * and marked as expected. */
typedef struct {
  int calls, bad;
  const char *first, *last;
} probe;

static int probe_call(lua_State *L) {
  static const int lines[] = {1, 2, 2, 3};
  probe *p = lua_touserdata(L, lua_upvalueindex(1));
  int level = p->calls == 3 ? 2 : 1; /* a pcall lies between */
  lua_Debug own, ar;
  struct frame *f, *g;
  if (!lua_getstack(L, 0, &own) || !lua_getstack(L, level, &ar) ||
      p->calls > 3) {
    p->bad = 1;
    return 0;
  }
  g = (void *)own.i_ci;
  f = (void *)ar.i_ci;
  lua_getinfo(L, "l", &ar);
  if (!(g->status & STATUS_C) || (f->status & STATUS_C)) p->bad = 1;
  for (int i = 0; i < level; i++) {
    g = g->previous;
    if (i < level - 1 && !(g->status & STATUS_C)) p->bad = 1;
  }
  if (g != f || ar.currentline != lines[p->calls]) p->bad = 1;
  if (p->calls == 0)
    p->first = f->pc;
  else if (f->pc <= p->last || (f->pc - p->last) % 4 || f->pc - p->first > 256)
    p->bad = 1;
  p->last = f->pc;
  p->calls++;
  return 0;
}

static int layout_holds(lua_State *L) {
  static const char code[] = "local f, pcall = ...; f()\nf() f()\npcall(f)";
  uint32_t before = lt_of(L)->heap.protos;
  probe p = {0, 0, NULL, NULL};
  if (LUA_VERSION_NUM != 504 || sizeof(struct frame) != 64) return 0;
  if (luaL_loadbufferx(L, code, sizeof code - 1, "=probe", "t") != LUA_OK)
    return lua_error(L);
  if (lt_of(L)->heap.protos == before) p.bad = 1;
  lua_pushlightuserdata(L, &p);
  lua_pushcclosure(L, probe_call, 1);
  lua_getglobal(L, "pcall");
  lua_call(L, 2, 0);
  return !p.bad && p.calls == 4;
}

int lt_sites_open(lua_State *L) {
  lt *l = lt_of(L);
  l->sites = calloc(1, sizeof *l->sites);
  if (!l->sites || !grow(l->sites)) return 0;
  l->sites->n = 1;
  l->sites->fast = layout_holds(L);
  return 1;
}

void lt_sites_close(lt *l) {
  if (!l->sites) return;
  free(l->sites->site);
  free(l->sites->hash);
  free(l->sites);
  l->sites = NULL;
}

int lt_sites_fast(lt *l, int fast) {
  int was = l->sites->fast;
  l->sites->fast = fast;
  return was;
}

char *lt_site_text(lt *l, uint32_t at, char *text, size_t size) {
  const lt_sites *s = l->sites;
  if (!at || at >= s->n)
    snprintf(text, size, "?");
  else
    snprintf(text, size, "%s:%d", lt_source_short(l, s->site[at].source),
             s->site[at].line);
  return text;
}

int lt_site_source(lt *l, uint32_t at, char *text, size_t size) {
  const lt_sites *s = l->sites;
  if (!at || at >= s->n) return 0;
  return lt_source_line(l, lt_source_name(l, s->site[at].source),
                        s->site[at].line, text, size);
}
