/* fuzz_csv.c - throws bytes at csv.c. Any input gives a table that is whole or
 * an error with a text; never a crash, a leak or half a table.
 *
 * With libFuzzer: clang -fsanitize=fuzzer,address -I... tests/file/fuzz_csv.c
 * lang/file/csv.c lang/file/num.c and the host room. With -DFUZZ_MAIN it is a
 * program that takes the files it is given, as AFL does. */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "fuzz_csv: %s\n", what);
  abort();
}

static volatile double sum; /* so that every element is read */

static double element(const file_table *t, int64_t i) {
  if (t->dtype == TSH_f32) return (double)((const float *)t->data)[i];
  if (t->dtype == TSH_f64) return ((const double *)t->data)[i];
  return (double)((const int64_t *)t->data)[i];
}

static void read_path(const char *path, int labels, int dtype) {
  tsh_err err = {.size = sizeof err};
  file_table_how how = {.labels = labels, .dtype = dtype};
  file_table t;
  tsh_status rc = file_csv_read(path, &how, &t, &err);
  if (rc != TSH_OK) {
    check(err.text[0] != 0, "an error without text");
    check(!t.data && !t.labels && !t.header && !t.rows, "half a table");
    return;
  }
  for (int64_t i = 0; i < t.rows * t.columns; i++) sum += element(&t, i);
  for (int64_t i = 0; labels && i < t.rows; i++) sum += (double)t.labels[i];
  for (int64_t i = 0; i < t.nheader; i++) sum += (double)strlen(t.header[i]);
  check(!t.header || t.nheader == t.columns + labels, "names are missing");
  file_table_free(&t);
}

static void read_in_all_ways(const char *path) {
  read_path(path, 0, 0);
  read_path(path, 1, 0);
  read_path(path, 0, TSH_f64);
  read_path(path, 1, TSH_i64);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  int fd = memfd_create("csv", 0);
  char path[64];
  if (fd < 0) return 0;
  if (write(fd, bytes, size) == (ssize_t)size) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_in_all_ways(path);
  }
  close(fd);
  return 0;
}

#ifdef FUZZ_MAIN
int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) read_in_all_ways(argv[i]);
  return 0;
}
#endif
