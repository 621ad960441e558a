/* pool.c - device memory: freed blocks are kept by size class and handed out
 * again, so that memory is not asked of the system, and not touched for the
 * first time, in every batch. Knows nothing of programs. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* madvise, MAP_ANONYMOUS */
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu.h"

#define LARGE (UINT64_C(1) << 20) /* from here on mapped, with large pages */
#define PAGE  (UINT64_C(2) << 20)
#define LOOK                                                                   \
  (UINT64_C(64) << 20) /* requests that are compared with what the             \
                          machine has; also the slack of the cache */

/* ---- the system --------------------------------------------------------- */
/* Maps `bytes` at an address that is a multiple of a large page. */
static void *map_large(uint64_t bytes) {
  char *p = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  uint64_t lead = (PAGE - (uintptr_t)p % PAGE) % PAGE;
  if (lead) munmap(p, lead);
  munmap(p + lead + bytes, PAGE - lead);
  madvise(p + lead, bytes, MADV_HUGEPAGE);
  return p + lead;
}

static void *system_get(uint64_t bytes, uint64_t align) {
  if (bytes > SIZE_MAX - 2 * PAGE) return NULL;
  return bytes >= LARGE ? map_large(bytes) : aligned_alloc(align, bytes);
}

static void system_put(void *p, uint64_t bytes) {
  if (bytes >= LARGE)
    munmap(p, bytes);
  else
    free(p);
}

const cpu_source cpu_system = {system_get, system_put};

uint64_t cpu_memory_total(void) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* What can be used without pushing others out; UINT64_MAX when unknown. */
static uint64_t memory_available(void) {
  char line[128];
  unsigned long long kib = 0;
  FILE *f = fopen("/proc/meminfo", "r");
  if (!f) return UINT64_MAX;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
  fclose(f);
  return kib ? kib << 10 : UINT64_MAX;
}

/* ---- size classes ------------------------------------------------------- */
/* Four per doubling from 64 bytes on: at most a quarter is wasted. */
static uint32_t class_of(uint64_t bytes) {
  if (bytes <= 64) return 0;
  uint32_t top = 63u - (uint32_t)__builtin_clzll(bytes - 1);
  return (top - 6) * 4 + (uint32_t)((bytes - 1) >> (top - 2) & 3) + 1;
}

static uint64_t class_bytes(uint32_t c) {
  if (c == 0) return 64;
  uint32_t top = (c - 1) / 4 + 6;
  return (UINT64_C(5) + (c - 1) % 4) << (top - 2);
}

/* Large blocks are whole pages and keep their header elsewhere. */
static uint64_t block_bytes(uint32_t c) {
  uint64_t bytes = (class_bytes(c) + 63) / 64 * 64;
  return bytes < LARGE ? bytes : (bytes + 4095) / 4096 * 4096;
}

/* ---- blocks ------------------------------------------------------------- */
enum { HEADER = 64 };

static tsh_buf *block_new(const cpu_pool *pool, uint32_t class_) {
  uint64_t bytes = block_bytes(class_);
  int inside = bytes + HEADER < LARGE;
  tsh_buf *buf = pool->source->get(inside ? HEADER + bytes : HEADER, HEADER);
  if (!buf) return NULL;
  buf->mem = inside ? (char *)buf + HEADER : pool->source->get(bytes, PAGE);
  buf->bytes = bytes;
  buf->class_ = class_;
  buf->next = NULL;
  if (buf->mem) return buf;
  pool->source->put(buf, HEADER);
  return NULL;
}

static void block_free(const cpu_pool *pool, tsh_buf *buf) {
  int inside = buf->bytes + HEADER < LARGE;
  if (!inside) pool->source->put(buf->mem, buf->bytes);
  pool->source->put(buf, inside ? HEADER + buf->bytes : HEADER);
}

/* Gives the largest idle blocks back until no more than `keep` bytes are. */
static void shrink(cpu_pool *pool, uint64_t keep) {
  for (uint32_t c = CPU_CLASSES; c-- > 0 && pool->cached > keep;)
    while (pool->idle[c] && pool->cached > keep) {
      tsh_buf *buf = pool->idle[c];
      pool->idle[c] = buf->next;
      pool->cached -= buf->bytes;
      block_free(pool, buf);
    }
}

/* ---- the pool ----------------------------------------------------------- */
void cpu_pool_init(cpu_pool *pool, const cpu_source *source) {
  memset(pool, 0, sizeof *pool);
  pool->source = source;
}

void cpu_pool_trim(cpu_pool *pool) { shrink(pool, 0); }

void cpu_pool_fini(cpu_pool *pool) {
  if (pool->source) cpu_pool_trim(pool);
}

/* Before fresh memory is taken: the cache must not make the process larger
 * than its work ever was, and the machine must have the memory. */
static tsh_status make_room(cpu_pool *pool, uint64_t bytes, tsh_err *err) {
  uint64_t most =
      pool->used + bytes > pool->peak ? pool->used + bytes : pool->peak;
  uint64_t keep = most + LOOK - pool->used - bytes;
  if (pool->cached > keep) shrink(pool, keep);
  pool->unchecked += bytes;
  if (pool->unchecked < LOOK) return TSH_OK;
  pool->unchecked = 0;
  uint64_t have = memory_available();
  if (bytes <= have) return TSH_OK;
  shrink(pool, 0);
  have = memory_available();
  if (bytes <= have) return TSH_OK;
  return kit_fail(err, TSH_ENOMEM, "%llu bytes asked, the machine has %llu",
                  (unsigned long long)bytes, (unsigned long long)have);
}

static tsh_status take_fresh(cpu_pool *pool, uint32_t class_, tsh_buf **out,
                             tsh_err *err) {
  uint64_t bytes = block_bytes(class_);
  tsh_status rc = make_room(pool, bytes, err);
  if (rc != TSH_OK) return rc;
  *out = block_new(pool, class_);
  if (!*out && pool->cached > 0) {
    shrink(pool, 0);
    *out = block_new(pool, class_);
  }
  if (*out) return TSH_OK;
  return kit_fail(err, TSH_ENOMEM, "the system refused %.4g GiB",
                  (double)bytes / (1 << 30));
}

tsh_status cpu_pool_take(cpu_pool *pool, uint64_t bytes, tsh_buf **out,
                         tsh_err *err) {
  *out = NULL;
  if (bytes == 0) return kit_fail(err, TSH_EINVAL, "a buffer of 0 bytes");
  if (bytes > INT64_MAX / 2)
    return kit_fail(err, TSH_ENOMEM, "a buffer of %llu bytes",
                    (unsigned long long)bytes);
  uint32_t class_ = class_of(bytes);
  tsh_buf *buf = pool->idle[class_];
  if (buf) {
    pool->idle[class_] = buf->next;
    pool->cached -= buf->bytes;
  } else {
    tsh_status rc = take_fresh(pool, class_, &buf, err);
    if (rc != TSH_OK) return rc;
  }
  pool->used += buf->bytes;
  if (pool->used > pool->peak) pool->peak = pool->used;
  *out = buf;
  return TSH_OK;
}

void cpu_pool_give(cpu_pool *pool, tsh_buf *buf) {
  if (!buf) return;
  buf->next = pool->idle[buf->class_];
  pool->idle[buf->class_] = buf;
  pool->used -= buf->bytes;
  pool->cached += buf->bytes;
}
