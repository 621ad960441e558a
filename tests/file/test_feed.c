/* test_feed.c - rows read ahead by a thread: all of them, in the order asked
 * for, and errors instead of rows that are not there. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <criterion/criterion.h>

static long allowed = -1; /* allocations until one fails; -1: none does */
static int refuses(void) { return allowed >= 0 && allowed-- == 0; }
static void *test_malloc(size_t size) {
  return refuses() ? NULL : malloc(size);
}
static void *test_calloc(size_t n, size_t size) {
  return refuses() ? NULL : calloc(n, size);
}
#define malloc test_malloc
#define calloc test_calloc
#include "feed.c"
#undef malloc
#undef calloc

enum { ROWS = 1000, WIDTH = 3 };
static char path[] = "/tmp/tsh-feed-XXXXXX";
static file_rows source;
static tsh_err err;

/* Row i: i, i + 0.25, i + 0.5, behind 16 bytes of something else. */
static void make_file(void) {
  char head[16] = "something else";
  strcpy(path, "/tmp/tsh-feed-XXXXXX");
  source = (file_rows){path, mkstemp(path), sizeof head, WIDTH * 4, 1, 0};
  err.size = sizeof err;
  cr_assert(write(source.fd, head, sizeof head) == sizeof head);
  for (int i = 0; i < ROWS; i++) {
    float row[WIDTH] = {(float)i, (float)i + 0.25f, (float)i + 0.5f};
    cr_assert(write(source.fd, row, sizeof row) == sizeof row);
  }
}

static void remove_file(void) {
  close(source.fd);
  unlink(path);
}

static tsh_status next(file_feed *f, int64_t *rows, const void **data) {
  tsh_status rc;
  while ((rc = file_feed_next(f, 20, rows, data, &err)) == TSH_EPENDING) {
  }
  return rc;
}

/* Reads to the end; order: what must come. */
static void check_rows(file_feed *f, const int64_t *order, int64_t batch) {
  int64_t at = 0, rows;
  const void *data[1];
  for (;;) {
    cr_assert_eq(next(f, &rows, data), TSH_OK);
    if (rows == 0) break;
    cr_assert_eq(rows, ROWS - at < batch ? ROWS - at : batch);
    for (int64_t i = 0; i < rows; i++) {
      const float *row = (const float *)data[0] + i * WIDTH;
      float want = (float)(order ? order[at + i] : at + i);
      cr_assert(row[0] == want && row[2] == want + 0.5f, "row %d",
                (int)(at + i));
    }
    at += rows;
  }
  cr_assert_eq(at, ROWS);
}

Test(feed, gives_all_rows_in_order, .init = make_file, .fini = remove_file) {
  for (int64_t batch = 1; batch < 3 * ROWS; batch = batch * 3 + 1) {
    file_feed *f;
    cr_assert_eq(file_feed_open(&source, 1, NULL, ROWS, batch, 2, &f, &err),
                 TSH_OK);
    check_rows(f, NULL, batch);
    file_feed_close(f);
  }
}

Test(feed, follows_an_order_with_and_without_neighbours, .init = make_file,
     .fini = remove_file) {
  int64_t order[ROWS];
  for (int step = 1; step < 1000; step += 332) {
    file_feed *f;
    for (int64_t i = 0; i < ROWS; i++) order[i] = i * (step + 6) % ROWS;
    cr_assert_eq(file_feed_open(&source, 1, order, ROWS, 64, 3, &f, &err),
                 TSH_OK);
    check_rows(f, order, 64);
    file_feed_close(f);
  }
}

Test(feed, turns_the_bytes_of_elements, .init = make_file,
     .fini = remove_file) {
  file_rows turned = source;
  const void *data[1];
  unsigned char want[4] = {0x3f, 0x80, 0, 0}; /* 1.0f, its bytes turned */
  int64_t rows;
  file_feed *f;
  turned.swap = 4;
  cr_assert_eq(file_feed_open(&turned, 1, NULL, ROWS, 8, 1, &f, &err), TSH_OK);
  cr_assert_eq(next(f, &rows, data), TSH_OK);
  cr_assert_eq(memcmp((const char *)data[0] + WIDTH * 4, want, 4), 0);
  file_feed_close(f);
}

Test(feed, a_file_that_has_become_shorter_is_an_error_after_good_rows,
     .init = make_file, .fini = remove_file) {
  int64_t rows, got = 0;
  const void *data[1];
  file_feed *f;
  tsh_status rc;
  cr_assert_eq(ftruncate(source.fd, 16 + 500 * WIDTH * 4 + 5), 0);
  cr_assert_eq(file_feed_open(&source, 1, NULL, ROWS, 100, 2, &f, &err),
               TSH_OK);
  while ((rc = next(f, &rows, data)) == TSH_OK && rows) got += rows;
  cr_assert_eq(got, 500);
  cr_assert_eq(rc, TSH_EIO);
  cr_assert(strstr(err.text, path) && strstr(err.text, "ends at byte 6021"),
            "%s", err.text);
  cr_assert_eq(next(f, &rows, data), TSH_EIO);
  file_feed_close(f);
}

Test(feed, may_be_closed_at_any_time, .init = make_file, .fini = remove_file) {
  for (int n = 0; n < 12; n++) {
    const void *data[1];
    int64_t rows;
    file_feed *f;
    cr_assert_eq(file_feed_open(&source, 1, NULL, ROWS, 100, 1 + n, &f, &err),
                 TSH_OK);
    for (int i = 0; i < n; i++) cr_assert_eq(next(f, &rows, data), TSH_OK);
    file_feed_close(f);
  }
  file_feed_close(NULL);
}

Test(feed, no_rows_is_the_end_at_once, .init = make_file, .fini = remove_file) {
  int64_t rows = 1;
  const void *data[1];
  file_feed *f;
  cr_assert_eq(file_feed_open(&source, 1, NULL, 0, 100, 2, &f, &err), TSH_OK);
  cr_assert_eq(next(f, &rows, data), TSH_OK);
  cr_assert_eq(rows, 0);
  file_feed_close(f);
}

Test(feed, lack_of_memory_is_told, .init = make_file, .fini = remove_file) {
  int64_t order[ROWS] = {0};
  file_feed *f;
  for (long n = 0; n < 5; n++) {
    allowed = n;
    cr_assert_eq(file_feed_open(&source, 1, order, ROWS, 10, 2, &f, &err),
                 TSH_ENOMEM);
    cr_assert_null(f);
  }
  allowed = -1;
  cr_assert_eq(
      file_feed_open(&source, 1, NULL, ROWS, INT64_MAX / 2, 2, &f, &err),
      TSH_OK, "a batch is never larger than there are rows");
  file_feed_close(f);
  source.row_bytes = UINT64_MAX / 4;
  cr_assert_eq(file_feed_open(&source, 1, NULL, ROWS, 10, 2, &f, &err),
               TSH_ENOMEM);
}
