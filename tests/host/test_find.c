/* Where plugin files are found, in which order, and what is no plugin file. */
#define _XOPEN_SOURCE 700
#include "fake.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void subfolder(const char *folder, const char *name) {
  char *path = fake_path(folder, name);
  cr_assert_eq(mkdir(path, 0700), 0);
  free(path);
}

/* The path of the file that owns a scheme must be folder/name. */
static void owned_by(dev_set *set, const char *scheme, const char *folder,
                     const char *name) {
  dev_plugin_info row = fake_row(set, scheme);
  char *path = fake_path(folder, name);
  cr_assert_not_null(row.state, "no %s in the listing", scheme);
  cr_expect_str_eq(row.path, path);
  cr_expect_str_eq(row.state, "not loaded");
  free(path);
}

static dev_set *set_of(const char *path) {
  dev_options options = {.builtin = fake_query, .scheme = "cpu", .path = path};
  dev_set *set;
  tsh_err err;
  cr_assert_eq(dev_set_new(&options, &set, &err), TSH_OK, "%s", err.text);
  return set;
}

Test(find, files_of_a_folder_are_sorted_by_bytes_and_end_in_so) {
  static const char *const want[] = {"cpu", "B", "a", "a b", "ä"};
  char *folder = fake_folder();
  dev_plugin_info row;
  dev_set *set;
  uint32_t i;
  fake_link(folder, "ä.so", "good.so");
  fake_link(folder, "a.so", "good.so");
  fake_link(folder, "a b.so", "good.so");
  fake_link(folder, "B.so", "good.so");
  fake_file(folder, "README.txt", "");
  fake_file(folder, "x.so~", "");
  fake_file(folder, "x.so.1", "");
  fake_file(folder, "xso", "");
  fake_file(folder, ".so", "");
  fake_file(folder, ".hidden.so", "");
  set = fake_set(folder);
  for (i = 0; dev_plugin_at(set, i, &row); i++) {
    cr_assert_lt(i, 5, "%s is too much", row.path);
    /* "a b.so" before "a.so": file names are compared, not schemes. */
    cr_expect_str_eq(row.scheme, i == 2 ? want[3] : i == 3 ? want[2] : want[i]);
  }
  cr_expect_eq(i, 5);
  cr_expect_str_eq(dev_name(fake_get(set, "a b:1")), "a b:1");
  cr_expect_str_eq(dev_name(fake_get(set, "ä")), "ä:0");
  dev_set_free(set);
  fake_remove(folder);
}

Test(find, option_then_environment_then_user_and_the_first_wins) {
  char *a = fake_folder(), *b = fake_folder(), *c = fake_folder();
  char *user, *path, *text;
  dev_set *set;
  dev_plugin_info row;
  subfolder(c, "tsh");
  user = fake_path(c, "tsh");
  subfolder(user, "plugins");
  free(user);
  user = fake_path(c, "tsh/plugins");
  fake_link(a, "one.so", "good.so");
  fake_link(b, "one.so", "good.so");
  fake_link(b, "two.so", "good.so");
  fake_link(user, "two.so", "good.so");
  fake_link(user, "three.so", "good.so");
  setenv("TSH_PLUGIN_PATH", b, 1);
  setenv("XDG_DATA_HOME", c, 1);
  set = set_of(a);
  owned_by(set, "one", a, "one.so");
  owned_by(set, "two", b, "two.so");
  owned_by(set, "three", user, "three.so");
  path = fake_path(b, "one.so");
  row = fake_row(set, path);
  cr_expect_str_eq(row.state, "shadowed");
  text = fake_path(a, "one.so");
  fake_ends(row.reason, text);
  dev_set_free(set);
  free(path);
  free(text);
  free(user);
  fake_remove(a);
  fake_remove(b);
  fake_remove(c);
}

Test(find, home_is_used_without_xdg_data_home) {
  char *home = fake_folder();
  char *user;
  dev_set *set;
  subfolder(home, ".local");
  subfolder(home, ".local/share");
  subfolder(home, ".local/share/tsh");
  subfolder(home, ".local/share/tsh/plugins");
  user = fake_path(home, ".local/share/tsh/plugins");
  fake_link(user, "npu.so", "good.so");
  unsetenv("TSH_PLUGIN_PATH");
  setenv("HOME", home, 1);
  setenv("XDG_DATA_HOME", "relative", 1); /* counts as none */
  set = set_of(NULL);
  owned_by(set, "npu", user, "npu.so");
  dev_set_free(set);
  unsetenv("HOME");
  set = set_of(NULL);
  cr_expect_null(fake_row(set, "npu").state);
  dev_set_free(set);
  free(user);
  fake_remove(home);
}

/* Copies this very program to where it has folders beside it, and runs the
 * next test there. */
Test(find, folders_beside_the_executable) {
  char *root = fake_folder();
  char *report = fake_path(root, "report"), *text;
  char command[1024];
  subfolder(root, "bin");
  subfolder(root, "bin/plugins");
  subfolder(root, "lib");
  subfolder(root, "lib/tsh");
  subfolder(root, "lib/tsh/plugins");
  fake_link(root, "bin/plugins/npu.so", "good.so");
  fake_link(root, "lib/tsh/plugins/npu.so", "good.so");
  fake_link(root, "lib/tsh/plugins/tpu.so", "good.so");
  /* Criterion's own variables would make the copy a worker of this run. */
  snprintf(command, sizeof command,
           "cp /proc/%d/exe %s/bin/t && env -i TSH_TEST_ROOT=%s %s/bin/t "
           "--filter find/child -j1 >/dev/null 2>&1",
           (int)getpid(), root, root, root);
  cr_expect_eq(system(command), 0);
  text = fake_read(report);
  cr_expect_str_eq(text, "bin/plugins/npu.so\nlib/tsh/plugins/tpu.so\n");
  free(text);
  free(report);
  fake_remove(root);
}

Test(find, child) {
  const char *root = getenv("TSH_TEST_ROOT");
  char *report;
  dev_set *set;
  FILE *f;
  if (!root) return; /* only the test before runs this with a sense */
  unsetenv("TSH_PLUGIN_PATH");
  set = set_of(NULL);
  report = fake_path(root, "report");
  f = fopen(report, "w");
  cr_assert_not_null(f);
  fprintf(f, "%s\n", fake_row(set, "npu").path + strlen(root) + 1);
  fprintf(f, "%s\n", fake_row(set, "tpu").path + strlen(root) + 1);
  fclose(f);
  free(report);
  dev_set_free(set);
}

Test(find, an_empty_element_is_not_the_current_folder) {
  char *folder = fake_folder();
  dev_set *set;
  fake_link(folder, "npu.so", "good.so");
  cr_assert_eq(chdir(folder), 0);
  setenv("XDG_DATA_HOME", "/nonexistent", 1);
  setenv("TSH_PLUGIN_PATH", "::", 1);
  set = set_of("");
  cr_expect_null(fake_row(set, "npu").state);
  dev_set_free(set);
  fake_remove(folder);
}

Test(find, a_relative_folder_still_opens_after_a_change_of_folder) {
  char *folder = fake_folder();
  dev_set *set;
  subfolder(folder, "sub");
  fake_link(folder, "sub/npu.so", "good.so");
  cr_assert_eq(chdir(folder), 0);
  set = fake_set("sub");
  cr_assert_eq(chdir("/"), 0);
  fake_get(set, "npu");
  dev_set_free(set);
  fake_remove(folder);
}

Test(find, a_folder_named_twice_is_listed_once) {
  char *folder = fake_folder();
  char path[256];
  dev_plugin_info row;
  dev_set *set;
  fake_link(folder, "npu.so", "good.so");
  snprintf(path, sizeof path, "%s:%s/.", folder, folder);
  set = fake_set(path);
  cr_expect(dev_plugin_at(set, 1, &row));
  cr_expect_not(dev_plugin_at(set, 2, &row));
  dev_set_free(set);
  fake_remove(folder);
}

Test(find, a_folder_that_the_user_named_and_that_is_not_there_is_told) {
  dev_set *set = fake_set("/nonexistent/plugins");
  dev_plugin_info row = fake_row(set, "/nonexistent/plugins");
  dev_info info;
  cr_assert_not_null(row.state);
  cr_expect_str_eq(row.state, "refused");
  cr_expect_str_eq(row.reason, "No such file or directory");
  cr_expect_not(dev_info_at(set, 1, &info)); /* it is no device */
  dev_set_free(set);
}

Test(find, what_is_no_file_is_refused_without_opening_and_shadows_nothing) {
  char *a = fake_folder(), *b = fake_folder();
  char path[256];
  char *pipe = fake_path(a, "pipe.so"), *link = fake_path(a, "dangling.so");
  dev_set *set;
  subfolder(a, "dir.so");
  cr_assert_eq(mkfifo(pipe, 0600), 0); /* to open it would wait for ever */
  cr_assert_eq(symlink("/nonexistent/x.so", link), 0);
  fake_link(a, "npu:1.so", "good.so");
  fake_link(a, "bell\a.so", "good.so");
  fake_link(b, "dangling.so", "good.so");
  snprintf(path, sizeof path, "%s:%s", a, b);
  set = fake_set(path);
  cr_expect_str_eq(fake_row(set, "dir").state, "refused");
  cr_expect_str_eq(fake_row(set, "dir").reason, "it is not a file");
  cr_expect_str_eq(fake_row(set, "pipe").reason, "it is not a file");
  cr_expect_str_eq(fake_row(set, link).reason, "No such file or directory");
  cr_expect_str_eq(fake_row(set, "npu:1").state, "refused");
  cr_expect_str_eq(fake_row(set, "bell\a").state, "refused");
  fake_get(set, "dangling");
  dev_set_free(set);
  free(pipe);
  free(link);
  fake_remove(a);
  fake_remove(b);
}

Test(find, cpu_is_built_in_whatever_the_path_holds) {
  char *folder = fake_folder();
  char *path;
  dev_set *set;
  fake_link(folder, "cpu.so", "good.so");
  set = fake_set(folder);
  path = fake_path(folder, "cpu.so");
  cr_expect_str_eq(fake_row(set, path).state, "shadowed");
  cr_expect_str_eq(fake_row(set, path).reason, "cpu is built in");
  cr_expect_eq(fake_get(set, "cpu"), dev_builtin(set));
  dev_set_free(set);
  free(path);
  fake_remove(folder);
}

Test(find, no_plugins_leaves_exactly_the_builtin) {
  char *folder = fake_folder();
  dev_options options = {
      .builtin = fake_query, .scheme = "cpu", .path = folder, .no_plugins = 1};
  dev_plugin_info row;
  dev_set *set;
  fake_link(folder, "npu.so", "good.so");
  setenv("TSH_PLUGIN_PATH", folder, 1);
  cr_assert_eq(dev_set_new(&options, &set, NULL), TSH_OK);
  cr_expect(dev_plugin_at(set, 0, &row));
  cr_expect_str_eq(row.path, "built in");
  cr_expect_str_eq(row.state, "loaded");
  cr_expect_not(dev_plugin_at(set, 1, &row));
  dev_set_free(set);
  fake_remove(folder);
}
