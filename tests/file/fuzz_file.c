/* fuzz_file.c - throws bytes at the readers of npy, npz, idx and safetensors.
 * Any input gives a list of entries whose elements can all be read, or an
 * error with a text; never a crash, a leak, or memory that the file's size
 * does not call for.
 *
 * With libFuzzer: clang -fsanitize=fuzzer,address -I... tests/file/fuzz_file.c
 * lang/file/[a-z]*.c, the host room's error.c and plan/shape.c; -lz. With
 * -DFUZZ_MAIN it is a program that takes the files it is given, as AFL does.
 * tests/file/test_fuzz.c calls it for changed copies of right files. */
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
  fprintf(stderr, "fuzz_file: %s\n", what);
  abort();
}

static void read_entry(file *f, int64_t i, tsh_err *err) {
  static const int as[] = {0, TSH_f32, TSH_i32};
  const file_entry *e = file_at(f, i);
  if (e->why) {
    check(file_begin(f, i, 0, err) != TSH_OK, "what cannot be read is");
    return;
  }
  for (int k = 0; k < 3; k++) {
    char cells[4096];
    int dtype = as[k] ? as[k] : e->dtype;
    uint64_t each = plan_dtype_bytes(dtype);
    uint64_t left = e->bytes / plan_dtype_bytes(e->dtype) * each;
    tsh_status rc;
    if (!file_converts(e->dtype, dtype)) continue;
    rc = file_begin(f, i, as[k], err);
    while (rc == TSH_OK && left) {
      uint64_t n = left < sizeof cells ? left : sizeof cells / each * each;
      rc = file_take(f, cells, n, err);
      left -= n;
    }
    if (rc == TSH_OK) rc = file_end(f, err);
    check(rc == TSH_OK || err->text[0], "an error without text");
  }
}

static void read_path(const char *path, uint64_t size) {
  for (int format = FILE_idx; format <= FILE_safetensors; format++) {
    tsh_err err = {.size = sizeof err};
    file *f;
    tsh_status rc = file_open(path, format, NULL, &f, &err);
    if (rc != TSH_OK) {
      check(!f && err.text[0], "an error without text");
      continue;
    }
    for (int64_t i = 0; i < file_count(f); i++) {
      check(file_at(f, i)->bytes <= size * 1032, "an entry beyond its file");
      read_entry(f, i, &err);
    }
    file_close(f);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  int fd = memfd_create("file", 0);
  char path[64];
  if (fd < 0) return 0;
  if (write(fd, bytes, size) == (ssize_t)size) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_path(path, size);
  }
  close(fd);
  return 0;
}

#ifdef FUZZ_MAIN
int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) read_path(argv[i], UINT32_MAX);
  return 0;
}
#endif
