/* Copies between devices, by each of the ways. */
#define _XOPEN_SOURCE 700
#include "fake.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 64, AT_FROM = 8, AT_TO = 24, BYTES = 32 };

typedef struct {
  dev_set *set;
  dev *from_dev, *to_dev;
  tsh_buf *from, *to;
} pair;

/* Two buffers, on cpu:0 and on `name`; 0, 1, 2 ... in the first. */
static pair begin(const char *name) {
  pair p;
  char bytes[SIZE];
  fake.count = 2;
  p.set = fake_set(NULL);
  p.from_dev = fake_get(p.set, "cpu:0");
  p.to_dev = fake_get(p.set, name);
  cr_assert_eq(dev_alloc(p.from_dev, SIZE, &p.from, NULL), TSH_OK);
  cr_assert_eq(dev_alloc(p.to_dev, SIZE, &p.to, NULL), TSH_OK);
  for (int i = 0; i < SIZE; i++) bytes[i] = (char)i;
  dev_write(p.from_dev, p.from, 0, bytes, SIZE, NULL);
  memset(bytes, 99, SIZE);
  dev_write(p.to_dev, p.to, 0, bytes, SIZE, NULL);
  fake.log[0] = '\0';
  return p;
}

static tsh_status go(pair *p, tsh_err *err) {
  return dev_move(p->to_dev, p->to, AT_TO, p->from_dev, p->from, AT_FROM, BYTES,
                  err);
}

static void end(pair *p) {
  dev_free(p->from_dev, p->from);
  dev_free(p->to_dev, p->to);
  dev_set_free(p->set);
}

/* The move must go by the calls of `log`, and move these bytes alone. */
static void moves(const char *name, const char *log) {
  pair p = begin(name);
  char bytes[SIZE];
  cr_expect_eq(go(&p, NULL), TSH_OK);
  cr_expect_str_eq(fake.log, log);
  dev_read(p.to_dev, p.to, 0, bytes, SIZE, NULL);
  for (int i = 0; i < SIZE; i++)
    cr_expect_eq(bytes[i],
                 i < AT_TO || i >= AT_TO + BYTES ? 99 : i - AT_TO + AT_FROM);
  end(&p);
}

Test(move, by_copy_peer_within_a_plugin) {
  fake.peer = 1;
  fake.pointer[0] = 1;
  moves("cpu:1", "peer 1 0 32, ");
}

/* The one byte waits for the work that may still use the memory. */
Test(move, by_the_host_pointer_of_the_source) {
  fake.pointer[0] = 1;
  moves("cpu:1", "read 0 1, write 1 32, ");
}

Test(move, by_the_host_pointer_of_the_destination) {
  fake.pointer[1] = 1;
  moves("cpu:1", "read 1 1, read 0 32, ");
}

Test(move, by_a_bounce_buffer) { moves("cpu:1", "read 0 32, write 1 32, "); }

Test(move, by_a_bounce_buffer_without_optional_entries) {
  fake.bare = 1;
  fake.pointer[0] = fake.pointer[1] = 1;
  moves("cpu:1", "read 0 32, write 1 32, ");
}

Test(move, within_a_device_is_one_copy) { moves("cpu:0", "copy 0 32, "); }

Test(move, between_plugins_never_by_copy_peer) {
  char *folder = fake_folder();
  char back[4] = "";
  dev_set *set;
  dev *here, *there;
  tsh_buf *a, *b;
  fake.peer = 1;
  fake_link(folder, "x.so", "good.so");
  set = fake_set(folder);
  here = fake_get(set, "cpu");
  there = fake_get(set, "x:1");
  cr_assert_eq(dev_alloc(here, 4, &a, NULL), TSH_OK);
  cr_assert_eq(dev_alloc(there, 4, &b, NULL), TSH_OK);
  dev_write(here, a, 0, "abc", 4, NULL);
  fake.log[0] = '\0';
  cr_expect_eq(dev_move(there, b, 0, here, a, 0, 4, NULL), TSH_OK);
  cr_expect_str_eq(fake.log, "read 0 4, ");
  dev_read(there, b, 0, back, 4, NULL);
  cr_expect_str_eq(back, "abc");
  dev_free(here, a);
  dev_free(there, b);
  dev_set_free(set);
  fake_remove(folder);
}

Test(move, of_nothing_calls_nothing) {
  pair p = begin("cpu:1");
  cr_expect_eq(dev_move(p.to_dev, p.to, 0, p.from_dev, p.from, 0, 0, NULL),
               TSH_OK);
  cr_expect_str_eq(fake.log, "");
  end(&p);
}

Test(move, a_failure_comes_back_with_its_text) {
  pair p = begin("cpu:1");
  tsh_err err;
  fake.fails = TSH_EDEVICE;
  cr_expect_eq(go(&p, &err), TSH_EDEVICE);
  cr_expect_str_eq(err.text, "cpu: copy: the device failed or was lost");
  fake.fails = TSH_OK;
  end(&p);
}

enum { MIB = 1024 * 1024 };

/* 40 MiB from cpu:0 to cpu:1, through the bounce buffer. */
static void big(tsh_status want, const char *log) {
  tsh_buf *a, *b;
  dev_set *set;
  dev *from, *to;
  char *bytes = malloc(40 * MIB), *back = calloc(1, 40 * MIB);
  cr_assert(bytes && back);
  for (int i = 0; i < 40 * MIB; i++) bytes[i] = (char)(i * 7 + i / MIB);
  fake.count = 2;
  set = fake_set(NULL);
  from = fake_get(set, "cpu:0");
  to = fake_get(set, "cpu:1");
  cr_assert_eq(dev_alloc(from, 40 * MIB, &a, NULL), TSH_OK);
  cr_assert_eq(dev_alloc(to, 40 * MIB, &b, NULL), TSH_OK);
  dev_write(from, a, 0, bytes, 40 * MIB, NULL);
  fake.log[0] = '\0';
  cr_expect_eq(dev_move(to, b, 0, from, a, 0, 40 * MIB, NULL), want);
  cr_expect_str_eq(fake.log, log);
  if (want == TSH_OK) {
    dev_read(to, b, 0, back, 40 * MIB, NULL);
    cr_expect_eq(memcmp(bytes, back, 40 * MIB), 0);
  }
  dev_free(from, a);
  dev_free(to, b);
  dev_set_free(set);
  free(bytes);
  free(back);
}

Test(move, bounces_at_most_16_mib_at_once) {
  big(TSH_OK, "read 0 16777216, write 1 16777216, "
              "read 0 16777216, write 1 16777216, "
              "read 0 8388608, write 1 8388608, ");
}

Test(move, stops_between_two_bounces_when_interrupted) {
  fake.cancels = 3; /* 1 is the write before */
  big(TSH_ECANCELLED, "read 0 16777216, write 1 16777216, ");
}
