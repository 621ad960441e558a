/* alloc.c - the memory of a Lua state. Small blocks come from free lists by
 * size class. Owns every byte that Lua holds; knows of tensors only that a
 * handle begins with a magic word: when Lua frees one, its block is put aside
 * with the node inside, a death notice without a finalizer. It runs inside
 * the collector, so it calls neither Lua nor the planner. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "priv.h"

#define STEP        16
#define LARGEST     ((size_t)LT_CLASSES * STEP)
#define CHUNK_BYTES ((size_t)32 * 1024)
/* The old size of a new block is a tag: what Lua wants it for. */
#define TAG_PROTO ((size_t)LUA_NUMTYPES + 1)

struct lt_block {
  lt_block *next;
};

struct lt_chunk {
  lt_chunk *next;
  size_t kind; /* its size class */
  char data[];
};

static size_t class_of(size_t size) { return (size - 1) / STEP; }

void lt_heap_init(lt_heap *h) {
  struct timespec now;
  long fuse = h->fuse;
  memset(h, 0, sizeof *h);
  h->fuse = fuse;
  clock_gettime(CLOCK_MONOTONIC, &now);
  /* Address layout is random per process; that and the clock is enough to
   * keep a string in a script from passing for a handle. */
  h->secret = ((uint64_t)(uintptr_t)h << 16 ^ (uint64_t)now.tv_nsec) *
                  UINT64_C(0x9E3779B97F4A7C15) ^
              (uint64_t)now.tv_sec;
}

void lt_heap_fini(lt_heap *h) {
  while (h->chunks) {
    lt_chunk *next = h->chunks->next;
    free(h->chunks);
    h->chunks = next;
  }
}

static int spent(lt_heap *h) {
  if (h->fuse == 0) return 0;
  if (h->fuse == 1) return 1;
  h->fuse--;
  return 0;
}

static void *from_chunk(lt_heap *h, size_t kind) {
  size_t size = (kind + 1) * STEP;
  char *block = h->at[kind];
  if (!block || block + size > h->end[kind]) {
    lt_chunk *c = malloc(sizeof *c + CHUNK_BYTES);
    if (!c) return NULL;
    c->kind = kind;
    c->next = h->chunks;
    h->chunks = c;
    block = c->data;
    /* lt_tensor_test reads a word behind a userdata of no bytes: the last
     * block of a chunk needs something behind it, too. */
    h->end[kind] = c->data + CHUNK_BYTES - STEP;
  }
  h->at[kind] = block + size;
  return block;
}

static void *grab(lt_heap *h, size_t size) {
  size_t kind = class_of(size);
  void *block;
  if (size > LARGEST) {
    block = malloc(size);
  } else if (h->free[kind]) {
    block = h->free[kind];
    h->free[kind] = h->free[kind]->next;
  } else {
    block = from_chunk(h, kind);
  }
  if (block) h->bytes += size;
  return block;
}

static void put(lt_heap *h, void *block, size_t size) {
  h->bytes -= size;
  if (size > LARGEST) {
    free(block);
  } else {
    lt_block *b = block;
    b->next = h->free[class_of(size)];
    h->free[class_of(size)] = b;
  }
}

/* Lua's own header is in front of the payload, whatever its size. */
static lt_tensor *payload(const lt_heap *h, char *block) {
  return (lt_tensor *)(void *)(block + h->handle_block - sizeof(lt_tensor));
}

static int is_handle(const lt_heap *h, const lt_tensor *t) {
  return t->magic == (h->secret ^ (uintptr_t)t);
}

static void release(lt_heap *h, void *block, size_t size) {
  if (size == h->handle_block) {
    lt_tensor *t = payload(h, block);
    if (is_handle(h, t)) {
      t->magic = 0;
      if (t->node) {
        lt_block *b = block;
        b->next = h->dead;
        h->dead = b;
        return;
      }
    }
  }
  put(h, block, size);
}

plan_node *lt_heap_take(lt_heap *h) {
  lt_block *b = h->dead;
  plan_node *n;
  if (!b) return NULL;
  h->dead = b->next;
  n = payload(h, (char *)b)->node;
  put(h, b, h->handle_block);
  return n;
}

static void *resize(lt_heap *h, void *ptr, size_t osize, size_t nsize) {
  void *block;
  if (osize <= LARGEST && nsize <= LARGEST &&
      class_of(osize) == class_of(nsize)) {
    h->bytes += nsize - osize;
    return ptr;
  }
  if (nsize > osize && spent(h)) return NULL;
  if (osize > LARGEST && nsize > LARGEST) {
    block = realloc(ptr, nsize);
    if (block) h->bytes += nsize - osize;
    return block;
  }
  block = grab(h, nsize);
  if (!block) return nsize < osize ? ptr : NULL; /* shrinking never fails */
  memcpy(block, ptr, osize < nsize ? osize : nsize);
  put(h, ptr, osize);
  return block;
}

void *lt_heap_alloc(void *heap, void *ptr, size_t osize, size_t nsize) {
  lt_heap *h = heap;
  if (!ptr) {
    if (nsize == 0 || spent(h)) return NULL;
    if (osize == TAG_PROTO) h->protos++;
    h->last = nsize;
    return grab(h, nsize);
  }
  if (nsize == 0) {
    if (osize > 0) release(h, ptr, osize);
    return NULL;
  }
  return resize(h, ptr, osize, nsize);
}

void lt_heap_visit(lt_heap *h, void (*visit)(void *ud, plan_node *n),
                   void *ud) {
  size_t kind = class_of(h->handle_block), size = (kind + 1) * STEP;
  for (lt_chunk *c = h->chunks; c; c = c->next) {
    char *end = c->data + CHUNK_BYTES - STEP, *at = h->at[kind];
    if (c->kind != kind) continue;
    if (at > c->data && at <= end) end = at; /* not yet given out beyond */
    for (char *b = c->data; b + size <= end; b += size) {
      lt_tensor *t = payload(h, b);
      if (is_handle(h, t) && t->node) visit(ud, t->node);
    }
  }
}
