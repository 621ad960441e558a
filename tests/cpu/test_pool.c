/* test_pool.c - memory: reuse, trim, limits, and a system that refuses. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "device.h"

/* A source that counts what is out and refuses the n-th request. */
static int requests, refuse_at, blocks_out;

static void *counting_get(uint64_t bytes, uint64_t align) {
  if (++requests == refuse_at) return NULL;
  void *p = cpu_system.get(bytes, align);
  blocks_out += p != NULL;
  return p;
}

static void counting_put(void *p, uint64_t bytes) {
  blocks_out--;
  cpu_system.put(p, bytes);
}

static const cpu_source counting = {counting_get, counting_put};

Test(pool, blocks_are_aligned_apart_and_used_again) {
  cpu_pool pool;
  tsh_buf *a, *b, *c;
  cpu_pool_init(&pool, &counting);
  for (uint64_t bytes = 1; bytes < 40000000; bytes = bytes * 3 + 1) {
    cr_assert_eq(cpu_pool_take(&pool, bytes, &a, NULL), TSH_OK);
    cr_assert_eq(cpu_pool_take(&pool, bytes, &b, NULL), TSH_OK);
    cr_expect_eq((uintptr_t)a->mem % 64, 0);
    cr_expect(bytes < (8u << 20) || (uintptr_t)a->mem % (2u << 20) == 0);
    cr_expect(a->bytes >= bytes && a->mem != b->mem);
    memset(a->mem, 1, bytes);
    memset(b->mem, 2, bytes);
    cr_expect_eq(a->mem[bytes - 1], 1);
    cpu_pool_give(&pool, a);
    int before = requests;
    cr_assert_eq(cpu_pool_take(&pool, bytes, &c, NULL), TSH_OK);
    cr_expect(c == a && requests == before);
    cpu_pool_give(&pool, b);
    cpu_pool_give(&pool, c);
  }
  cr_expect_eq(pool.used, 0);
  cpu_pool_fini(&pool);
  cr_expect_eq(blocks_out, 0);
}

Test(pool, trim_gives_everything_idle_back) {
  cpu_pool pool;
  tsh_buf *a, *b;
  cpu_pool_init(&pool, &counting);
  cr_assert_eq(cpu_pool_take(&pool, 1000, &a, NULL), TSH_OK);
  cr_assert_eq(cpu_pool_take(&pool, 5000000, &b, NULL), TSH_OK);
  cr_expect(pool.used >= 5001000 && pool.peak == pool.used);
  cpu_pool_give(&pool, b);
  cr_expect(pool.cached >= 5000000 && pool.used < 2000);
  cpu_pool_trim(&pool);
  cr_expect(pool.cached == 0 && blocks_out == 1);
  cpu_pool_give(&pool, a);
  cpu_pool_fini(&pool);
  cr_expect_eq(blocks_out, 0);
}

/* The cache never makes the process much larger than its work ever was. */
Test(pool, sizes_that_change_do_not_pile_up) {
  cpu_pool pool;
  cpu_pool_init(&pool, &counting);
  for (uint64_t mib = 20; mib < 200; mib += 3) {
    tsh_buf *a;
    cr_assert_eq(cpu_pool_take(&pool, mib << 20, &a, NULL), TSH_OK);
    cpu_pool_give(&pool, a);
    cr_expect(pool.cached + pool.used <= pool.peak + (64u << 20));
  }
  cpu_pool_fini(&pool);
  cr_expect_eq(blocks_out, 0);
}

Test(pool, too_much_is_refused_with_numbers) {
  cpu_pool pool;
  tsh_buf *a;
  tsh_err err = {.size = sizeof err};
  const uint64_t sizes[] = {cpu_memory_total() * 2, UINT64_C(1) << 48,
                            UINT64_C(1) << 62, UINT64_MAX};
  cpu_pool_init(&pool, &cpu_system);
  for (int i = 0; i < 4; i++) {
    cr_expect_eq(cpu_pool_take(&pool, sizes[i], &a, &err), TSH_ENOMEM);
    cr_expect(a == NULL && strpbrk(err.text, "0123456789"));
  }
  cr_expect_eq(cpu_pool_take(&pool, 0, &a, &err), TSH_EINVAL);
  cr_expect_eq(pool.used, 0);
  cpu_pool_fini(&pool);
}

Test(pool, an_address_space_limit_is_no_crash) {
#ifndef __SANITIZE_ADDRESS__
  cpu_pool pool;
  tsh_buf *a;
  struct rlimit old, low;
  getrlimit(RLIMIT_AS, &old);
  low = old;
  low.rlim_cur = UINT64_C(600) << 20;
  cpu_pool_init(&pool, &cpu_system);
  cr_assert_eq(setrlimit(RLIMIT_AS, &low), 0);
  cr_expect_eq(cpu_pool_take(&pool, UINT64_C(700) << 20, &a, NULL), TSH_ENOMEM);
  cr_expect_eq(cpu_pool_take(&pool, 1 << 20, &a, NULL), TSH_OK);
  setrlimit(RLIMIT_AS, &old);
  cpu_pool_give(&pool, a);
  cpu_pool_fini(&pool);
#endif
}

/* Idle memory is given back before a request is refused. */
Test(pool, a_refusal_is_tried_again_without_the_cache) {
  cpu_pool pool;
  tsh_buf *a, *b;
  cpu_pool_init(&pool, &counting);
  cr_assert_eq(cpu_pool_take(&pool, 100, &a, NULL), TSH_OK);
  cpu_pool_give(&pool, a);
  refuse_at = requests + 1;
  cr_expect_eq(cpu_pool_take(&pool, 9000, &b, NULL), TSH_OK);
  cr_expect_eq(pool.cached, 0);
  cpu_pool_give(&pool, b);
  cpu_pool_fini(&pool);
  cr_expect_eq(blocks_out, 0);
}

/* Every step of open, alloc and compile may find no memory. */
static tsh_status whole_life(tsh_err *err) {
  const uint8_t f32[2] = {TSH_f32, TSH_f32}, none[2] = {0, 0}, rank[2] = {2, 2};
  const tsh_inst inst[] = {
      {.op = TSH_OP_LOAD, .dtype = TSH_f32},
      {.op = TSH_OP_dot, .dtype = TSH_f32},
      {.op = TSH_OP_STORE, .flags = TSH_ROW, .a = 1, .imm = 1}};
  const tsh_kernel k = {.size = sizeof k,
                        .flags = TSH_HINT_DOT,
                        .rank = 2,
                        .nfold = 1,
                        .narg = 2,
                        .ninst = 3,
                        .inst_size = sizeof *inst,
                        .inst = inst,
                        .arg_dtype = f32,
                        .arg_class = none,
                        .arg_rank = rank};
  tsh_dev *dev = NULL;
  tsh_buf *small = NULL, *large = NULL;
  tsh_prog *prog = NULL;
  tsh_status rc =
      cpu_device_open(cpu_isa_get("base"), &counting, NULL, &dev, err);
  if (rc == TSH_OK) rc = cpu_pool_take(&dev->pool, 100, &small, err);
  if (rc == TSH_OK) rc = cpu_pool_take(&dev->pool, 3 << 20, &large, err);
  if (rc == TSH_OK) rc = cpu_scratch_grow(dev, 500, err);
  if (rc == TSH_OK) rc = cpu_compile(dev, &k, &prog, err);
  cpu_prog_free(prog);
  if (dev) {
    cpu_pool_give(&dev->pool, small);
    cpu_pool_give(&dev->pool, large);
  }
  cpu_device_close(dev);
  return rc;
}

Test(pool, every_request_may_fail_and_nothing_leaks) {
  tsh_status rc = TSH_ENOMEM;
  int n = 0;
  for (; rc != TSH_OK && n < 100; n++) {
    tsh_err err = {.size = sizeof err};
    requests = 0;
    refuse_at = n + 1;
    rc = whole_life(&err);
    cr_expect(rc == TSH_OK || rc == TSH_ENOMEM, "request %d: %d", n, rc);
    cr_expect_eq(blocks_out, 0, "request %d: %d blocks left", n, blocks_out);
  }
  cr_expect(n > 8 && n < 100, "%d requests", n);
}
