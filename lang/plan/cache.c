/* cache.c - made plans by the key of their trace, least recently used first
 * out by bytes; compiled programs by their contents. */
#include "graph.h"

#define BUCKETS       1024
#define PROGRAM_BYTES (32u << 10)
#define MIX           UINT64_C(0x9e3779b97f4a7c15)

/* Shared by the plans that launch it; goes with the last of them. */
typedef struct plan_program {
  struct plan_program *next;
  dev *d;
  uint64_t refs, hash, size;
  tsh_prog *prog;
  uint8_t bytes[];
} program;

static void program_unref(plan *p, program *x);

/* What stands for a compiled program when shapes_only. */
static char uncompiled;
#define UNCOMPILED ((tsh_prog *)(void *)&uncompiled)

struct plan_cache {
  plan_entry *bucket[BUCKETS];
  plan_entry *newest, *oldest;
  uint64_t bytes, serial;
  program *program[BUCKETS];
  struct leaf_key *leaf; /* of the trace that is being looked up */
  uint32_t leaf_cap;
};

/* ---- the arena of a plan ------------------------------------------------ */
struct arena_block {
  struct arena_block *next;
  size_t used, size;
  max_align_t data[];
};

void *arena_alloc(plan_entry *e, size_t bytes) {
  struct arena_block *b = e->arena;
  void *at;
  bytes = (bytes + 15) & ~(size_t)15;
  if (!b || b->size - b->used < bytes) {
    size_t size = bytes > 4000 ? bytes : 4000;
    if (size > SIZE_MAX / 2 || !(b = plan_alloc(sizeof *b + size))) return NULL;
    b->size = size;
    b->next = e->arena;
    e->arena = b;
    e->bytes += sizeof *b + size;
  }
  at = (char *)b->data + b->used;
  b->used += bytes;
  return at;
}

void entry_free(plan *p, plan_entry *e) {
  for (uint32_t i = 0; e && i < e->nlaunch; i++)
    program_unref(p, e->launch[i].program);
  while (e && e->arena) {
    struct arena_block *next = e->arena->next;
    plan_release(e->arena);
    e->arena = next;
  }
  plan_release(e);
}

/* ---- programs ----------------------------------------------------------- */
static uint64_t hash_bytes(const uint8_t *b, uint64_t n) {
  uint64_t h = n * MIX;
  for (uint64_t i = 0; i < n; i++) h = (h ^ b[i]) * UINT64_C(0x100000001b3);
  return (h ^ (h >> 32)) * MIX;
}

static uint8_t *append(uint8_t *at, const void *from, size_t n) {
  if (n) memcpy(at, from, n);
  return at + n;
}

/* All that a kernel is, in one run of bytes. */
static program *describe(dev *d, const tsh_kernel *k) {
  uint16_t head[8] = {k->op,      k->rank,  k->nfold, k->narg,
                      k->nscalar, k->ninst, k->nattr, (uint16_t)k->flags};
  size_t insts = (size_t)k->ninst * sizeof *k->inst;
  size_t size = sizeof head + insts + 3u * k->narg + 8u * k->nattr;
  program *x = plan_alloc(sizeof *x + size);
  uint8_t *at;
  if (!x) return NULL;
  at = append(x->bytes, head, sizeof head);
  at = append(at, k->inst, insts);
  at = append(at, k->arg_dtype, k->narg);
  at = append(at, k->arg_class, k->narg);
  at = append(at, k->arg_rank, k->narg);
  append(at, k->attr, 8u * k->nattr);
  x->d = d;
  x->size = size;
  x->hash = hash_bytes(x->bytes, size);
  return x;
}

void cache_kernel(const made_launch *m, tsh_kernel *out, int64_t attr[3]) {
  const uint8_t *at = m->program->bytes;
  uint16_t head[8];
  memcpy(head, at, sizeof head);
  *out = (tsh_kernel){.size = sizeof *out,
                      .op = head[0],
                      .rank = head[1],
                      .nfold = head[2],
                      .narg = head[3],
                      .nscalar = head[4],
                      .ninst = head[5],
                      .nattr = head[6],
                      .flags = head[7],
                      .inst_size = sizeof(tsh_inst),
                      .attr = attr};
  at += sizeof head;
  out->inst = (const tsh_inst *)(const void *)at;
  at += (size_t)out->ninst * sizeof *out->inst;
  out->arg_dtype = at;
  out->arg_class = at + out->narg;
  out->arg_rank = at + 2 * out->narg;
  memcpy(attr, at + 3 * out->narg,
         sizeof *attr * (out->nattr < 3 ? out->nattr : 3));
}

static void program_unref(plan *p, program *x) {
  program **at;
  if (!x || --x->refs) return;
  at = &p->cache->program[x->hash % BUCKETS];
  while (*at != x) at = &(*at)->next;
  *at = x->next;
  if (x->prog != UNCOMPILED) dev_drop(x->d, x->prog);
  plan_release(x);
}

tsh_status cache_program(plan *p, dev *d, const tsh_kernel *k, made_launch *m,
                         tsh_err *err) {
  program *x = describe(d, k), **at;
  tsh_kernel hashed = *k;
  tsh_status rc;
  if (!x) return plan_nomem(err, "a kernel");
  at = &p->cache->program[x->hash % BUCKETS];
  for (program *y = *at; y; y = y->next)
    if (y->hash == x->hash && y->d == d && y->size == x->size &&
        memcmp(y->bytes, x->bytes, x->size) == 0) {
      plan_release(x);
      y->refs++;
      m->program = y;
      m->prog = y->prog;
      return TSH_OK;
    }
  hashed.hash = x->hash;
  x->prog = UNCOMPILED;
  rc = TSH_OK;
  if (!p->options.shapes_only) rc = dev_compile(d, &hashed, &x->prog, err);
  if (rc != TSH_OK) {
    plan_release(x);
    return rc;
  }
  p->counters.programs += !p->options.shapes_only;
  x->refs = 1;
  x->next = *at;
  *at = x;
  m->program = x;
  m->prog = x->prog;
  return TSH_OK;
}

/* ---- keys --------------------------------------------------------------- */
static int leaf_keys(plan *p, const plan_trace *t) {
  struct plan_cache *c = p->cache;
  if (!PLAN_GROW(c->leaf, c->leaf_cap, t->nleaf)) return 0;
  for (uint32_t k = 0; k < t->nleaf; k++) {
    const plan_node *x = t->leaf[k];
    memset(&c->leaf[k], 0, sizeof c->leaf[k]);
    c->leaf[k].shape = x->shape->id;
    c->leaf[k].layout = x->layout ? x->layout->id : 0;
    c->leaf[k].dtype = x->dtype;
    c->leaf[k].device = (uint8_t)dev_id(x->d);
    c->leaf[k].donatable = t->donatable[k];
    c->leaf[k].shared = t->leaf_next[k] + 1;
  }
  return 1;
}

static uint64_t key_of(plan *p, const plan_trace *t, const uint8_t *live,
                       int flags) {
  uint64_t h = t->hash ^ t->n * MIX;
  uint32_t i = 0;
  for (uint32_t k = 0; k < t->nleaf; k++) {
    uint32_t half[sizeof(struct leaf_key) / 4];
    memcpy(half, &p->cache->leaf[k], sizeof half);
    for (size_t j = 0; j < sizeof half / sizeof *half; j++) {
      h = (h ^ half[j]) * MIX;
    }
  }
  for (; i + 8 <= t->n; i += 8) {
    uint64_t eight;
    memcpy(&eight, live + i, 8);
    h = (h ^ eight) * MIX;
  }
  for (; i < t->n; i++) h = (h ^ live[i]) * MIX;
  h = (h ^ (uint64_t)(flags * 2 + p->options.unfused)) * MIX;
  return h ^ (h >> 32);
}

static int same_key(plan *p, const plan_entry *e, const plan_trace *t,
                    const uint8_t *live) {
  return e->n == t->n && e->naux == t->naux && e->nleaf == t->nleaf &&
         e->nscalar == t->nscalar &&
         memcmp(e->word, t->word, sizeof *t->word * t->n) == 0 &&
         memcmp(e->live, live, t->n) == 0 &&
         (!t->naux || memcmp(e->aux, t->aux, sizeof *t->aux * t->naux) == 0) &&
         (!t->nleaf ||
          memcmp(e->leaf, p->cache->leaf, sizeof *e->leaf * t->nleaf) == 0);
}

/* ---- the list, newest first --------------------------------------------- */
static void unlink_entry(struct plan_cache *c, plan_entry *e) {
  if (e->newer)
    e->newer->older = e->older;
  else
    c->newest = e->older;
  if (e->older)
    e->older->newer = e->newer;
  else
    c->oldest = e->newer;
}

static void link_newest(struct plan_cache *c, plan_entry *e) {
  e->newer = NULL;
  e->older = c->newest;
  if (c->newest)
    c->newest->newer = e;
  else
    c->oldest = e;
  c->newest = e;
}

static void evict(plan *p, plan_entry *e) {
  struct plan_cache *c = p->cache;
  plan_entry **at = &c->bucket[e->key % BUCKETS];
  while (*at != e) at = &(*at)->next;
  *at = e->next;
  unlink_entry(c, e);
  c->bytes -= e->bytes;
  entry_free(p, e);
}

plan_entry *cache_find(plan *p, const plan_trace *t, const uint8_t *live,
                       int flags, uint64_t *key) {
  struct plan_cache *c = p->cache;
  *key = 0;
  if (!leaf_keys(p, t)) return NULL;
  *key = key_of(p, t, live, flags) | 1;
  for (plan_entry *e = c->bucket[*key % BUCKETS]; e; e = e->next)
    if (e->key == *key && same_key(p, e, t, live)) {
      if (c->newest != e) {
        unlink_entry(c, e);
        link_newest(c, e);
      }
      return e;
    }
  return NULL;
}

static int keep_key(plan *p, plan_entry *e, const plan_trace *t,
                    const uint8_t *live) {
  e->word = arena_alloc(e, sizeof *t->word * t->n);
  e->live = arena_alloc(e, t->n);
  e->aux = arena_alloc(e, sizeof *t->aux * (t->naux + 1));
  e->leaf = arena_alloc(e, sizeof *e->leaf * (t->nleaf + 1));
  if (!e->word || !e->live || !e->aux || !e->leaf) return 0;
  memcpy(e->word, t->word, sizeof *t->word * t->n);
  memcpy(e->live, live, t->n);
  if (t->naux) memcpy(e->aux, t->aux, sizeof *t->aux * t->naux);
  if (t->nleaf) memcpy(e->leaf, p->cache->leaf, sizeof *e->leaf * t->nleaf);
  e->n = t->n;
  e->naux = t->naux;
  e->nleaf = t->nleaf;
  e->nscalar = t->nscalar;
  return 1;
}

void cache_add(plan *p, plan_entry *e, const plan_trace *t, const uint8_t *live,
               uint64_t key) {
  struct plan_cache *c = p->cache;
  uint64_t limit =
      p->options.cache_bytes ? p->options.cache_bytes : UINT64_C(64) << 20;
  /* A device keeps its own copy of each program, with room to run it; how
   * large that is it does not say. */
  e->bytes += (uint64_t)e->nlaunch * PROGRAM_BYTES;
  e->serial = ++c->serial;
  e->key = key;
  if (!key || !keep_key(p, e, t, live)) e->key = key = 0;
  e->next = c->bucket[key % BUCKETS]; /* key 0 is found by nobody */
  c->bucket[key % BUCKETS] = e;
  link_newest(c, e);
  c->bytes += e->bytes;
  while (c->bytes > limit && c->oldest != c->newest) evict(p, c->oldest);
}

/* ---- life --------------------------------------------------------------- */
int cache_new(plan *p) {
  p->cache = plan_alloc(sizeof *p->cache);
  return p->cache != NULL;
}

void cache_trim(plan *p) {
  while (p->cache->oldest) evict(p, p->cache->oldest);
}

void cache_free(plan *p) {
  if (!p->cache) return;
  cache_trim(p);
  plan_release(p->cache->leaf);
  plan_release(p->cache);
  p->cache = NULL;
}
