/* The allocator of the Lua state: size classes, death notices, limits. */
#include <criterion/criterion.h>
#include <string.h>
#include "session.h" /* brings priv.h of lang/bind */

/* A handle as Lua lays it out: a header of any size, then the payload. */
enum { BLOCK = 48 };

static lt_tensor *payload_of(char *block) {
  return (lt_tensor *)(void *)(block + BLOCK - sizeof(lt_tensor));
}

static char *new_handle(lt_heap *h, plan_node *node) {
  char *block = lt_heap_alloc(h, NULL, LUA_TUSERDATA, BLOCK);
  lt_tensor *t = payload_of(block);
  t->magic = h->secret ^ (uintptr_t)t;
  t->node = node;
  return block;
}

static void release(lt_heap *h, void *block, size_t size) {
  cr_assert_null(lt_heap_alloc(h, block, size, 0));
}

static plan_node *node(int i) {
  return (plan_node *)(uintptr_t)(0x1000 + 16 * i); /* never looked into */
}

Test(alloc, blocks_are_aligned_apart_and_counted) {
  lt_heap h = {0};
  char *block[600];
  lt_heap_init(&h);
  for (size_t i = 0; i < 600; i++) {
    block[i] = lt_heap_alloc(&h, NULL, LUA_TTABLE, i + 1);
    cr_assert_not_null(block[i]);
    cr_expect_eq((uintptr_t)block[i] % 16, 0);
    memset(block[i], (int)(i & 255), i + 1);
  }
  cr_expect_eq(h.bytes, 600 * 601 / 2);
  for (size_t i = 0; i < 600; i++)
    for (size_t k = 0; k <= i; k++)
      cr_assert_eq((unsigned char)block[i][k], i & 255);
  for (size_t i = 0; i < 600; i++) release(&h, block[i], i + 1);
  cr_expect_eq(h.bytes, 0);
  lt_heap_fini(&h);
}

Test(alloc, freed_blocks_are_used_again) {
  lt_heap h = {0};
  void *a, *b;
  lt_heap_init(&h);
  a = lt_heap_alloc(&h, NULL, LUA_TSTRING, 40);
  release(&h, a, 40);
  b = lt_heap_alloc(&h, NULL, LUA_TSTRING, 33); /* same class */
  cr_expect_eq(a, b);
  release(&h, b, 33);
  lt_heap_fini(&h);
}

Test(alloc, resizing_keeps_the_contents) {
  lt_heap h = {0};
  char *p;
  size_t size = 1;
  lt_heap_init(&h);
  p = lt_heap_alloc(&h, NULL, 0, 1);
  p[0] = 1;
  for (size_t next = 2; next < 5000; next = next * 3 / 2 + 1) {
    p = lt_heap_alloc(&h, p, size, next);
    for (size_t i = size; i < next; i++) p[i] = (char)(i + 1);
    size = next;
  }
  for (size_t next = size; next > 1; next = next * 2 / 3) {
    p = lt_heap_alloc(&h, p, size, next);
    size = next;
    for (size_t i = 0; i < size; i++) cr_assert_eq(p[i], (char)(i + 1));
    cr_assert_eq(h.bytes, size);
  }
  release(&h, p, size);
  lt_heap_fini(&h);
}

Test(alloc, a_dead_handle_gives_notice_once) {
  lt_heap h = {0};
  char *a, *b;
  lt_heap_init(&h);
  h.handle_block = BLOCK;
  a = new_handle(&h, node(1));
  b = new_handle(&h, node(2));
  cr_expect_null(lt_heap_take(&h));
  release(&h, a, BLOCK);
  cr_expect_eq(payload_of(a)->magic, 0);
  release(&h, b, BLOCK);
  cr_expect_eq(lt_heap_take(&h), node(2));
  cr_expect_eq(lt_heap_take(&h), node(1));
  cr_expect_null(lt_heap_take(&h));
  cr_expect_eq(h.bytes, 0);
  lt_heap_fini(&h);
}

Test(alloc, what_is_no_handle_gives_no_notice) {
  lt_heap h = {0};
  char *empty, *other, *copy, *from;
  lt_heap_init(&h);
  h.handle_block = BLOCK;
  empty = new_handle(&h, NULL);
  release(&h, empty, BLOCK);
  other = lt_heap_alloc(&h, NULL, LUA_TUSERDATA, BLOCK);
  memset(other, 0x5a, BLOCK);
  release(&h, other, BLOCK);
  /* The words of a handle at another address are none. */
  from = new_handle(&h, node(3));
  copy = lt_heap_alloc(&h, NULL, LUA_TSTRING, BLOCK);
  memcpy(copy, from, BLOCK);
  release(&h, copy, BLOCK);
  cr_expect_null(lt_heap_take(&h));
  release(&h, from, BLOCK);
  cr_expect_eq(lt_heap_take(&h), node(3));
  lt_heap_fini(&h);
}

static void collect(void *ud, plan_node *n) {
  uint64_t *seen = ud;
  *seen |= UINT64_C(1) << (((uintptr_t)n - 0x1000) / 16);
}

Test(alloc, live_handles_are_found) {
  lt_heap h = {0};
  char *block[40];
  uint64_t seen = 0, want = 0;
  lt_heap_init(&h);
  h.handle_block = BLOCK;
  for (int i = 0; i < 40; i++) block[i] = new_handle(&h, node(i));
  for (int i = 0; i < 40; i += 3) release(&h, block[i], BLOCK);
  for (int i = 0; i < 40; i++)
    if (i % 3) want |= UINT64_C(1) << i;
  lt_heap_visit(&h, collect, &seen);
  cr_expect_eq(seen, want);
  while (lt_heap_take(&h)) continue;
  lt_heap_fini(&h);
}

Test(alloc, the_fuse_fails_growth_and_nothing_else) {
  lt_heap h = {.fuse = 3};
  void *a, *b;
  lt_heap_init(&h);
  a = lt_heap_alloc(&h, NULL, LUA_TTABLE, 100);
  b = lt_heap_alloc(&h, NULL, LUA_TTABLE, 700);
  cr_expect(a && b);
  cr_expect_null(lt_heap_alloc(&h, NULL, LUA_TTABLE, 10));
  cr_expect_null(lt_heap_alloc(&h, a, 100, 200));
  cr_expect_null(lt_heap_alloc(&h, b, 700, 900));
  b = lt_heap_alloc(&h, b, 700, 20);
  cr_expect_not_null(b);
  release(&h, a, 100);
  release(&h, b, 20);
  cr_expect_eq(h.bytes, 0);
  lt_heap_fini(&h);
}

Test(alloc, a_new_function_is_counted) {
  lt_heap h = {0};
  void *p;
  lt_heap_init(&h);
  p = lt_heap_alloc(&h, NULL, LUA_NUMTYPES + 1, 120);
  cr_expect_eq(h.protos, 1);
  release(&h, p, 120);
  lt_heap_fini(&h);
}
