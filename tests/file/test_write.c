/* test_write.c - a file is whole or not there: what is left in the folder when
 * writing fails, whose permissions it has, where links lead. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <criterion/criterion.h>
#include "rig.h"

static char folder[64], path[128], text[256];
static tsh_err err;
static double cells[40000];

static void begin(void) {
  strcpy(folder, "/tmp/test_write.XXXXXX");
  cr_assert(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/x.npy", folder);
}

static void end(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  cr_assert_eq(system(command), 0);
}

TestSuite(write, .init = begin, .fini = end);

static tsh_status save(const char *to, const uint32_t *cancel) {
  static file_item item = {
      .name = "", .dtype = TSH_f64, .rank = 1, .dim = {40000}};
  file_content c = {.format = FILE_npy, .item = &item, .n = 1};
  file_out *o = NULL;
  tsh_status rc;
  err = (tsh_err){.size = sizeof err};
  rc = file_create(to, &c, cancel, &o, &err);
  if (rc == TSH_OK) rc = file_put(o, cells, &err);
  if (rc == TSH_OK) rc = file_commit(o, &err);
  file_discard(o);
  return rc;
}

static void put_old(const char *to) {
  FILE *f = fopen(to, "w");
  cr_assert(f && fputs("old", f) >= 0 && fclose(f) == 0);
}

static const char *get(const char *from) {
  FILE *f = fopen(from, "r");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  text[n] = 0;
  return text;
}

static int files(void) {
  DIR *d = opendir(folder);
  int n = 0;
  cr_assert(d);
  while (readdir(d)) n++;
  closedir(d);
  return n - 2; /* . and .. */
}

static int mode_of(const char *of) {
  struct stat st;
  cr_assert_eq(stat(of, &st), 0);
  return (int)(st.st_mode & 07777);
}

Test(write, a_new_file_follows_the_umask_an_old_one_keeps_its_rights) {
  umask(027);
  cr_assert_eq(save(path, NULL), TSH_OK, "%s", err.text);
  cr_expect_eq(mode_of(path), 0640);
  cr_assert_eq(chmod(path, 0604), 0);
  cr_assert_eq(save(path, NULL), TSH_OK, "%s", err.text);
  cr_expect_eq(mode_of(path), 0604);
  cr_expect_eq(files(), 1);
  cr_expect_eq(memcmp(get(path), "\x93NUMPY", 6), 0);
}

Test(write, links_are_followed) {
  char link[128], second[128];
  snprintf(link, sizeof link, "%s/link", folder);
  snprintf(second, sizeof second, "%s/second", folder);
  cr_assert(symlink("x.npy", link) == 0 && symlink(link, second) == 0);
  cr_assert_eq(save(second, NULL), TSH_OK, "%s", err.text); /* to nothing yet */
  cr_expect_eq(memcmp(get(path), "\x93NUMPY", 6), 0);
  put_old(path);
  cr_assert_eq(save(second, NULL), TSH_OK, "%s", err.text);
  cr_expect_eq(memcmp(get(path), "\x93NUMPY", 6), 0);
  cr_expect_eq(files(), 3);
  unlink(link);
  cr_assert_eq(symlink("second", link), 0);
  cr_expect_eq(save(link, NULL), TSH_EIO);
  cr_expect(strstr(err.text, strerror(ELOOP)), "%s", err.text);
}

Test(write, what_is_no_place_for_a_file_is_refused) {
  char to[200];
  cr_expect_eq(save(folder, NULL), TSH_EIO);
  cr_expect(strstr(err.text, strerror(EISDIR)), "%s", err.text);
  snprintf(to, sizeof to, "%s/none/x.npy", folder);
  cr_expect_eq(save(to, NULL), TSH_EIO);
  cr_expect(strstr(err.text, strerror(ENOENT)), "%s", err.text);
  put_old(path);
  snprintf(to, sizeof to, "%s/x", path);
  cr_expect_eq(save(to, NULL), TSH_EIO);
  cr_expect(strstr(err.text, strerror(ENOTDIR)), "%s", err.text);
  cr_expect_eq(save("", NULL), TSH_EIO);
  cr_expect_eq(files(), 1);
}

/* Nothing is refused to root, so root becomes nobody for the test. */
static void become_nobody(void) {
  enum { NOBODY = 65534 };
  if (geteuid() != 0) return;
  cr_assert_eq(chown(folder, NOBODY, NOBODY), 0);
  cr_assert_eq(chown(path, NOBODY, NOBODY), 0);
  cr_assert(setegid(NOBODY) == 0 && seteuid(NOBODY) == 0);
}

static void become_root(void) {
  if (getuid() == 0) cr_assert(seteuid(0) == 0 && setegid(0) == 0);
}

Test(write, a_file_or_folder_that_may_not_be_written_is_refused) {
  char fresh[128];
  snprintf(fresh, sizeof fresh, "%s/fresh.npy", folder);
  put_old(path);
  become_nobody();
  cr_assert_eq(chmod(path, 0444), 0);
  cr_expect_eq(save(path, NULL), TSH_EIO);
  cr_expect(strstr(err.text, strerror(EACCES)), "%s", err.text);
  cr_assert_eq(chmod(path, 0644), 0);
  cr_assert_eq(chmod(folder, 0555), 0);
  cr_expect_eq(save(path, NULL), TSH_EIO);
  cr_expect_eq(save(fresh, NULL), TSH_EIO);
  cr_expect(strstr(err.text, "no new file in its folder: Permission denied"),
            "%s", err.text);
  cr_assert_eq(chmod(folder, 0755), 0);
  cr_expect_eq(save(fresh, NULL), TSH_OK, "%s", err.text);
  become_root();
  cr_expect_str_eq(get(path), "old");
  cr_expect_eq(files(), 2);
}

Test(write, a_limit_of_size_leaves_the_old_file) {
  struct rlimit old, small;
  put_old(path);
  signal(SIGXFSZ, SIG_IGN);
  cr_assert_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
  for (rlim_t limit = 0; limit < 320000; limit += 79000) {
    small = old;
    small.rlim_cur = limit;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    cr_expect_eq(save(path, NULL), TSH_EIO);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    cr_expect(strstr(err.text, strerror(EFBIG)), "%s", err.text);
    cr_expect(strstr(err.text, path), "%s", err.text);
    cr_expect_str_eq(get(path), "old");
    cr_expect_eq(files(), 1);
  }
  cr_expect_eq(save(path, NULL), TSH_OK);
}

Test(write, a_full_device_is_an_error) {
  cr_expect_eq(save("/dev/full", NULL), TSH_EIO);
  cr_expect_str_eq(err.text, "/dev/full: No space left on device");
  cr_expect_eq(save("/dev/null", NULL), TSH_OK, "%s", err.text);
}

Test(write, who_asks_to_stop_keeps_the_old_file) {
  uint32_t cancel = 1;
  put_old(path);
  cr_expect_eq(save(path, &cancel), TSH_ECANCELLED);
  cr_expect_str_eq(get(path), "old");
  cr_expect_eq(files(), 1);
}

Test(write, who_gives_up_keeps_the_old_file) {
  file_item item = {.name = "", .dtype = TSH_f64, .rank = 1, .dim = {40000}};
  file_content c = {.format = FILE_npy, .item = &item, .n = 1};
  file_out *o = NULL;
  put_old(path);
  cr_assert_eq(file_create(path, &c, NULL, &o, &err), TSH_OK);
  cr_assert_eq(file_put(o, cells, &err), TSH_OK);
  cr_expect_eq(files(), 2);
  file_discard(o);
  cr_expect_str_eq(get(path), "old");
  cr_expect_eq(files(), 1);
}

/* ---- csv
 * ---------------------------------------------------------------------- */

static void csv(int dtype, int rank, int64_t rows, int64_t columns,
                const char *const *header, const void *from, const char *want) {
  file_item item = {
      .name = "", .dtype = dtype, .rank = rank, .dim = {rows, columns}};
  file_content c = {.format = FILE_csv,
                    .item = &item,
                    .n = 1,
                    .header = header,
                    .nheader = header ? columns : 0};
  const void *list[] = {from};
  size_t n = 0;
  char *got = rig_write(&c, list, &n);
  cr_assert(got, "%s", rig_err.text);
  got[n] = 0;
  cr_expect_str_eq(got, want);
  free(got);
}

Test(write, csv_has_the_digits_that_are_needed) {
  static const char *const names[] = {"a", "b \"c\", d"};
  static const float f[] = {0.1f, 16777216, 1e-45f, -0.0f,
                            3,    1.0f / 3, 1e20f,  (float)NAN};
  static const double d[] = {0.1, 1.0 / 3, -HUGE_VAL, 5e-324};
  static const int64_t i[] = {INT64_MIN, INT64_MAX};
  static const uint16_t h[] = {0x3c00, 0x2e66};
  csv(TSH_f32, 2, 4, 2, names, f,
      "a,\"b \"\"c\"\", d\"\n0.1,16777216.0\n1.4013e-45,-0.0\n"
      "3.0,0.33333334\n1e+20,nan\n");
  csv(TSH_f64, 2, 2, 2, NULL, d,
      "0.1,0.3333333333333333\n-inf,4.94065645841247e-324\n");
  csv(TSH_i64, 1, 2, 0, NULL, i, "-9223372036854775808\n9223372036854775807\n");
  csv(TSH_f16, 1, 2, 0, NULL, h, "1.0\n0.099975586\n");
  csv(TSH_bool, 2, 1, 2, NULL, "\1\0", "1,0\n");
  csv(TSH_u8, 0, 0, 0, NULL, "\xff", "255\n");
  csv(TSH_f32, 2, 0, 3, NULL, f, "");
}

Test(write, csv_of_floats_gives_equal_floats) {
  static float f[3000];
  file_item item = {.name = "", .dtype = TSH_f32, .rank = 2, .dim = {1000, 3}};
  file_content c = {.format = FILE_csv, .item = &item, .n = 1};
  const void *list[] = {f};
  uint32_t bits = 12345;
  size_t n = 0;
  char *written;
  file_table t;
  for (int i = 0; i < 3000; i++) {
    bits = bits * 1664525u + 1013904223u;
    memcpy(&f[i], &bits, 4);
  }
  written = rig_write(&c, list, &n);
  cr_assert(written);
  cr_assert_eq(file_csv_read(rig_file(written, n), 0, &t, &err), TSH_OK, "%s",
               err.text);
  cr_assert_eq(t.dtype, TSH_f32);
  for (int i = 0; i < 3000; i++) {
    float v = ((const float *)t.data)[i];
    cr_expect(v == f[i] || (v != v && f[i] != f[i]));
  }
  file_table_free(&t);
  free(written);
}
