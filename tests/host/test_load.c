/* Which plugins are accepted, and what is said of those that are not. */
#define _XOPEN_SOURCE 700
#include "fake.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

typedef struct {
  const char *fault, *reason; /* "": accepted */
} verdict;

/* Loads the fault as device scheme "x" and gives the reason of its refusal,
 * which must also be what the listing of devices and the error say. */
static void judge(const char *fault, const char *reason) {
  char *folder = fake_folder();
  char *path = fake_path(folder, "x.so");
  char text[1024];
  dev_info info;
  dev_plugin_info row;
  dev_set *set;
  dev *d;
  tsh_err err;
  fake_link(folder, "x.so", fault);
  set = fake_set(folder);
  cr_expect_eq(dev_get(set, "x", &d, &err), TSH_ENODEV, "%s", fault);
  cr_expect_null(d);
  snprintf(text, sizeof text,
           "unknown device 'x': %s was refused: %s; known: "
           "cpu",
           path, reason);
  cr_expect_str_eq(err.text, text);
  row = fake_row(set, "x");
  cr_expect_str_eq(row.state, "refused");
  cr_expect_str_eq(row.reason, reason);
  cr_expect(dev_info_at(set, 1, &info));
  cr_expect_null(info.name);
  cr_expect_str_eq(info.scheme, "x");
  cr_expect_str_eq(info.reason, reason);
  dev_set_free(set);
  free(path);
  fake_remove(folder);
}

static const char *numbers(int major, int minor) {
  static char text[128];
  snprintf(text, sizeof text,
           "it is made for plugin ABI %d.%d, this tsh has %d.%d",
           major & 0xffff, minor & 0xffff, TSH_ABI_MAJOR, TSH_ABI_MINOR);
  return text;
}

static const char *bytes(size_t n) {
  static char text[128];
  snprintf(text, sizeof text,
           "its table has %zu bytes, the mandatory entries need %zu", n,
           offsetof(tsh_plugin, host_ptr));
  return text;
}

Test(load, another_abi_is_refused_with_both_numbers) {
  judge("old_major.so", numbers(TSH_ABI_MAJOR - 1, TSH_ABI_MINOR));
  judge("new_major.so", numbers(TSH_ABI_MAJOR + 1, TSH_ABI_MINOR));
  cr_assert_eq(TSH_ABI_MAJOR, 0, "from 1.0 on every minor is accepted");
  judge("old_minor.so", numbers(TSH_ABI_MAJOR, TSH_ABI_MINOR - 1));
  judge("new_minor.so", numbers(TSH_ABI_MAJOR, TSH_ABI_MINOR + 1));
}

Test(load, a_table_without_the_mandatory_part_is_refused) {
  judge("size_zero.so", bytes(0));
  judge("size_short.so", bytes(offsetof(tsh_plugin, host_ptr) - 1));
  judge("no_table.so", "tsh_plugin_query gave no table");
  judge("no_compile.so", "its table has no entry 'compile'");
}

Test(load, what_would_end_the_process_is_refused) {
  judge("opening_crashes.so",
        "opening it crashed (signal 11, Segmentation fault)");
  judge("query_crashes.so",
        "its query crashed (signal 11, Segmentation fault)");
  judge("table_wild.so",
        "reading its table crashed (signal 11, Segmentation fault)");
  judge("query_exits.so", "its query ended the process (exit code 7)");
}

Test(load, what_never_comes_back_is_refused, .timeout = 30) {
  judge("query_hangs.so", "its query takes longer than 2 s");
}

/* A second set finds the library open, and asks no child. */
Test(load, a_file_is_probed_once) {
  char *folder = fake_folder();
  dev_set *set;
  fake_link(folder, "x.so", "good.so");
  set = fake_set(folder);
  fake_get(set, "x:0");
  dev_set_free(set);
  cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1); /* the first one was reaped */
  set = fake_set(folder);
  fake_get(set, "x:0");
  dev_set_free(set);
  fake_remove(folder);
}

Test(load, a_library_without_the_entry_says_what_the_linker_says) {
  judge("no_entry.so", "undefined symbol: tsh_plugin_query");
}

Test(load, files_that_are_no_libraries_say_what_the_linker_says) {
  char *folder = fake_folder();
  dev_set *set;
  dev_info info;
  uint32_t i;
  fake_file(folder, "empty.so", "");
  fake_file(folder, "text.so",
            "this is no library, but long enough to be one: "
            "................................................"
            "................................................");
  set = fake_set(folder);
  for (i = 0; dev_info_at(set, i, &info); i++)
    if (i > 0) cr_expect_null(info.name);
  cr_expect_eq(i, 3);
  cr_expect_str_eq(fake_row(set, "empty").reason, "file too short");
  cr_expect_str_eq(fake_row(set, "text").reason, "invalid ELF header");
  dev_set_free(set);
  fake_remove(folder);
}

/* The first bytes of a sound plugin, as a copy that was broken off leaves. */
static void cut_copy(const char *folder, const char *name, long keep) {
  char *from = fake_path(folder, "whole.so"), *to = fake_path(folder, name);
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  cr_assert(in && out);
  for (int c; keep-- > 0 && (c = getc(in)) != EOF;) putc(c, out);
  fclose(in);
  fclose(out);
  free(from);
  free(to);
}

Test(load, a_library_that_was_cut_short_is_refused_not_mapped) {
  char *folder = fake_folder();
  dev_set *set;
  tsh_err err;
  dev *d;
  fake_link(folder, "whole.so", "good.so");
  cut_copy(folder, "cut.so", 5000);
  set = fake_set(folder);
  cr_expect_eq(dev_get(set, "cut", &d, &err), TSH_ENODEV);
  cr_expect_str_eq(fake_row(set, "cut").reason, "the file is cut short");
  dev_set_free(set);
  fake_remove(folder);
}

/* A sound table in spite of its looks. host_ptr tells whether the host reads
 * entries that the plugin did not say it has. */
static void accept(const char *fault, int sees_optional, const char *version) {
  char *folder = fake_folder();
  dev_set *set;
  dev *d;
  tsh_buf *buf;
  cr_log_info("%s", fault);
  fake_link(folder, "x.so", fault);
  set = fake_set(folder);
  d = fake_get(set, "x:1");
  cr_expect_str_eq(dev_name(d), "x:1");
  cr_assert_eq(dev_alloc(d, 8, &buf, NULL), TSH_OK);
  cr_expect_eq(dev_host_ptr(d, buf) != NULL, sees_optional, "%s", fault);
  dev_free(d, buf);
  cr_expect_str_eq(fake_row(set, "x").state, "loaded");
  cr_expect_str_eq(fake_row(set, "x").reason, "");
  cr_expect_str_eq(fake_row(set, "x").version, version);
  dev_set_free(set);
  fake_remove(folder);
}

Test(load, a_table_of_another_size_is_read_as_far_as_both_know_it) {
  accept("good.so", 1, "1.2.3");
  accept("size_huge.so", 1, "1.2.3");
  accept("size_cut.so", 0, "1.2.3");
  accept("size_half.so", 0, "1.2.3"); /* ends inside of host_ptr */
}

Test(load, a_plugin_without_strings_is_accepted) {
  accept("no_strings.so", 1, "");
}

/* Which file answers to a scheme never depends on what the files hold. */
Test(load, a_refused_plugin_keeps_its_scheme) {
  char *a = fake_folder(), *b = fake_folder();
  char *second = fake_path(b, "x.so");
  char path[256];
  dev_set *set;
  dev *d;
  fake_link(a, "x.so", "no_table.so");
  fake_link(b, "x.so", "good.so");
  snprintf(path, sizeof path, "%s:%s", a, b);
  set = fake_set(path);
  cr_expect_eq(dev_get(set, "x", &d, NULL), TSH_ENODEV);
  cr_expect_eq(dev_get(set, "x", &d, NULL), TSH_ENODEV);
  cr_expect_str_eq(fake_row(set, "x").state, "refused");
  cr_expect_str_eq(fake_row(set, second).state, "shadowed");
  dev_set_free(set);
  free(second);
  fake_remove(a);
  fake_remove(b);
}

static const tsh_plugin *no_builtin(uint32_t major, uint32_t minor) {
  (void)major;
  (void)minor;
  return NULL;
}

Test(load, a_builtin_that_is_refused_fails_the_set) {
  dev_options options = {
      .builtin = no_builtin, .scheme = "cpu", .no_plugins = 1};
  dev_set *set = (dev_set *)&options;
  tsh_err err;
  cr_expect_eq(dev_set_new(&options, &set, &err), TSH_ENODEV);
  cr_expect_null(set);
  fake_ends(err.text, "tsh_plugin_query gave no table");
  fake.count = 0;
  options.builtin = fake_query;
  cr_expect_eq(dev_set_new(&options, &set, &err), TSH_ENODEV);
  cr_expect_null(set);
  dev_set_free(NULL);
}
