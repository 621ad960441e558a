/* Every allocation may fail. The program is linked with --wrap for the names
 * below (variants.am says how), so the room's own calls come here; what the C
 * library allocates inside is left alone, scandir excepted. */
#define _XOPEN_SOURCE 700
#include "fake.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

typedef int pick_entry(const struct dirent *entry);
typedef int compare(const struct dirent **a, const struct dirent **b);

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
int __real_scandir(const char *folder, struct dirent ***names, pick_entry *pick,
                   compare *order);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
int __wrap_scandir(const char *folder, struct dirent ***names, pick_entry *pick,
                   compare *order);

static int calls = -1; /* good calls until the first failure; -1: no end */
static int from_then_on;

static int fails(void) {
  if (calls < 0) return 0;
  if (calls > 0) return calls--, 0;
  if (!from_then_on) calls = -1;
  return 1;
}

void *__wrap_malloc(size_t bytes) {
  return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes) {
  return fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *p, size_t bytes) {
  return fails() ? NULL : __real_realloc(p, bytes);
}

int __wrap_scandir(const char *folder, struct dirent ***names, pick_entry *pick,
                   compare *order) {
  if (!fails()) return __real_scandir(folder, names, pick, order);
  errno = ENOMEM;
  return -1;
}

/* One try of the tested job, with whatever it needs before; the job itself is
 * between arm and disarm. */
typedef tsh_status job(const char *folder, int n, tsh_err *err);

static void arm(int n) { calls = n; }
static void disarm(void) { calls = -1; }

/* Lets call 0, 1, 2 ... of the job fail until it succeeds in spite of it. */
static void every_call_fails(job *run, int at_least) {
  char *folder = fake_folder();
  fake.count = 2;
  fake_link(folder, "x.so", "good.so");
  fake_link(folder, "y.so", "good.so");
  unsetenv("TSH_PLUGIN_PATH");
  setenv("XDG_DATA_HOME", folder, 1);
  for (from_then_on = 0; from_then_on < 2; from_then_on++) {
    tsh_status rc = TSH_ENOMEM;
    int n = 0;
    for (; rc != TSH_OK && n < 1000; n++) {
      tsh_err err = {.code = TSH_OK};
      rc = run(folder, n, &err);
      if (rc == TSH_OK) break;
      cr_expect_eq(rc, TSH_ENOMEM);
      cr_expect_eq(err.code, TSH_ENOMEM);
      cr_expect_neq(err.text[0], '\0');
    }
    cr_expect_geq(n, at_least);
    cr_expect_lt(n, 1000);
  }
  fake_remove(folder);
}

static tsh_status new_set(const char *folder, int n, tsh_err *err) {
  dev_options options = {
      .builtin = fake_query, .scheme = "cpu", .path = folder};
  dev_set *set = (dev_set *)&options;
  tsh_status rc;
  arm(n);
  rc = dev_set_new(&options, &set, err);
  disarm();
  cr_expect_eq(set != NULL, rc == TSH_OK);
  dev_set_free(set);
  return rc;
}

Test(memory, a_set_that_finds_none_is_not_half_made) {
  every_call_fails(new_set, 15);
}

/* The set must go on after the failure. */
static tsh_status get_device(const char *folder, int n, tsh_err *err) {
  dev_set *set = fake_set(folder);
  tsh_status rc;
  dev *d;
  arm(n);
  rc = dev_get(set, "x:1", &d, err);
  disarm();
  cr_expect_eq(d != NULL, rc == TSH_OK);
  fake_get(set, "x:1");
  dev_set_free(set);
  return rc;
}

Test(memory, a_device_that_finds_none_can_be_had_later) {
  every_call_fails(get_device, 5);
}

/* A listing has no error to give: it gets shorter or says so. */
static tsh_status list(const char *folder, int n, tsh_err *err) {
  dev_set *set = fake_set(folder);
  dev_info info;
  uint32_t rows = 0, devices = 0;
  arm(n);
  for (; dev_info_at(set, rows, &info); rows++) devices += info.name != NULL;
  disarm();
  cr_expect_geq(rows, 4);
  cr_expect_leq(devices, 6);
  for (rows = devices = 0; dev_info_at(set, rows, &info); rows++)
    devices += info.name != NULL;
  cr_expect_eq(devices, 6);
  dev_set_free(set);
  if (n == 12) return TSH_OK; /* more than a listing allocates */
  return dev_fail(err, TSH_ENOMEM, "try %d", n);
}

Test(memory, a_listing_that_finds_none_lists_what_it_can) {
  every_call_fails(list, 12);
}

static tsh_status bounce(const char *folder, int n, tsh_err *err) {
  dev_set *set = fake_set(folder);
  dev *from = fake_get(set, "cpu:0"), *to = fake_get(set, "cpu:1");
  tsh_buf *a, *b;
  tsh_status rc;
  cr_assert_eq(dev_alloc(from, 64, &a, NULL), TSH_OK);
  cr_assert_eq(dev_alloc(to, 64, &b, NULL), TSH_OK);
  cr_assert_eq(dev_write(from, a, 0, "", 1, NULL), TSH_OK);
  arm(n);
  rc = dev_move(to, b, 0, from, a, 0, 1, err);
  disarm();
  dev_free(from, a);
  dev_free(to, b);
  dev_set_free(set);
  return rc;
}

Test(memory, a_move_that_finds_none_fails) { every_call_fails(bounce, 1); }
