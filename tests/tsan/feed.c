/* feed.c - rows of files that a thread reads ahead, for ThreadSanitizer: all
 * rows come in order, and a feed may be closed at any moment. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

enum { ROWS = 400, WIDTH = 33 };

static int passed, failed;
static file_rows source[2];
static tsh_err err = {.size = sizeof err};

static void expect(int good, const char *what) {
  passed += good != 0;
  if (good) return;
  fprintf(stderr, "feed: %s\n", what);
  failed++;
}

/* Row i of file k is filled with i + k, big-endian where k is 1. */
static void make_file(int k) {
  char path[] = "/tmp/tsh-tsan-XXXXXX";
  int fd = mkstemp(path);
  source[k] = (file_rows){"rows", fd, 0, WIDTH * 4, k ? 4 : 1, 0};
  unlink(path);
  for (int i = 0; i < ROWS; i++) {
    uint32_t row[WIDTH];
    for (int j = 0; j < WIDTH; j++)
      row[j] = k ? __builtin_bswap32((uint32_t)(i + k)) : (uint32_t)(i + k);
    if (write(fd, row, sizeof row) != sizeof row) exit(1);
  }
}

static tsh_status next(file_feed *f, int64_t *rows, const void **data) {
  tsh_status rc;
  do rc = file_feed_next(f, 1, rows, data, &err);
  while (rc == TSH_EPENDING);
  return rc;
}

static int is_batch(const int64_t *order, int64_t rows, const void **data) {
  for (int k = 0; k < 2; k++)
    for (int64_t i = 0; i < rows * WIDTH; i++)
      if (((const uint32_t *)data[k])[i] != (uint32_t)(order[i / WIDTH] + k))
        return 0;
  return 1;
}

/* Walks `most` batches; pause: us between two, so that either side waits. */
static void walk(int64_t size, int ahead, int64_t most, unsigned pause) {
  int64_t order[ROWS], at = 0, rows = 0;
  file_feed *f;
  for (int i = 0; i < ROWS; i++) order[i] = i * 7 % ROWS;
  if (file_feed_open(source, 2, order, ROWS, size, ahead, &f, &err) != TSH_OK)
    exit(1);
  for (int64_t i = 0; i < most; i++) {
    const void *data[2];
    expect(next(f, &rows, data) == TSH_OK, "a batch");
    if (rows == 0) break;
    expect(is_batch(order + at, rows, data), "its rows");
    at += rows;
    if (pause) usleep(pause);
  }
  if (rows == 0) expect(at == ROWS || !most, "all rows");
  file_feed_close(f);
}

/* Two feeds of the same files at once. */
static void two_at_once(void) {
  file_feed *f[2];
  int64_t rows = 1;
  for (int k = 0; k < 2; k++)
    if (file_feed_open(source, 2, NULL, ROWS, 9, 3, &f[k], &err) != TSH_OK)
      exit(1);
  while (rows) {
    const void *a[2], *b[2];
    int64_t more = 0;
    expect(next(f[0], &rows, a) == TSH_OK && next(f[1], &more, b) == TSH_OK,
           "two batches");
    expect(rows == more && (!rows || !memcmp(a[1], b[1], rows * WIDTH * 4)),
           "the same rows");
  }
  file_feed_close(f[0]);
  file_feed_close(f[1]);
}

/* The thread ends with an error, which the reader gets after the good rows. */
static void cut_short(void) {
  file_feed *f;
  int64_t rows, got = 0;
  const void *data[2];
  tsh_status rc;
  if (ftruncate(source[0].fd, 100 * WIDTH * 4) != 0) exit(1);
  if (file_feed_open(source, 2, NULL, ROWS, 10, 2, &f, &err) != TSH_OK) exit(1);
  while ((rc = next(f, &rows, data)) == TSH_OK && rows) got += rows;
  expect(rc == TSH_EIO && got == 100, "an error after the good rows");
  file_feed_close(f);
}

int main(void) {
  make_file(0);
  make_file(1);
  for (int64_t size = 1; size <= 2 * ROWS; size = size * 3 + 1)
    for (int ahead = 1; ahead < 9; ahead += 3) walk(size, ahead, ROWS + 1, 0);
  walk(50, 2, ROWS, 3000);
  for (int i = 0; i < 100; i++) walk(5, 4, i % 10, i % 3 ? 0 : 200);
  two_at_once();
  cut_short();
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
