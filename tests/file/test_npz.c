/* test_npz.c - archives that unzip.c takes and refuses. Archives of NumPy are
 * in tests/shell/files.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <criterion/criterion.h>
#include "rig.h"

/* ---- an archive by hand
 * -------------------------------------------------------- */

static unsigned char bytes[1 << 17];
static size_t at;

static void put(uint64_t v, int n) {
  for (int i = 0; i < n; i++) bytes[at++] = (unsigned char)(v >> 8 * i);
}

static void put_text(const char *s, size_t n) {
  memcpy(bytes + at, s, n);
  at += n;
}

typedef struct {
  const char *name;
  int value; /* of its one element, a byte */
  int flags, method;
  uint64_t where;     /* of its local header, when moved is set */
  int moved, wide;    /* wide: sizes and place in the extra field */
  long more, packed;  /* added to the sizes in the directory */
  uint32_t crc;       /* changes its bits */
  const char *inside; /* the local header's name */
} entry;

static size_t npy(char *out, int value) {
  static const char head[] =
      "{'descr':'|u1','fortran_order':False,'shape':(1,)}";
  memcpy(out, "\x93NUMPY\1\0", 8);
  out[8] = sizeof head - 1;
  out[9] = 0;
  memcpy(out + 10, head, sizeof head - 1);
  out[10 + sizeof head - 1] = (char)value;
  return 10 + sizeof head;
}

static void put_local(const entry *e, const char *data, size_t n) {
  const char *name = e->inside ? e->inside : e->name;
  put(0x04034b50, 4);
  put(20, 2);
  put((uint64_t)e->flags, 2);
  put((uint64_t)e->method, 2);
  put(0, 4);
  put(crc32(0, (const Bytef *)data, (uInt)n), 4);
  put(n, 4);
  put(n, 4);
  put(strlen(name), 2);
  put(3, 2); /* an extra field of no meaning, only here */
  put_text(name, strlen(name));
  put_text("xyz", 3);
  put_text(data, n);
}

static void put_central(const entry *e, const char *data, size_t n,
                        size_t where) {
  uint64_t size = n + (uint64_t)e->more, packed = size + (uint64_t)e->packed;
  uint64_t place = e->moved ? e->where : where;
  put(0x02014b50, 4);
  put(20, 2);
  put(45, 2);
  put((uint64_t)e->flags, 2);
  put((uint64_t)e->method, 2);
  put(0, 4);
  put(crc32(0, (const Bytef *)data, (uInt)n) ^ e->crc, 4);
  put(e->wide ? UINT32_MAX : packed, 4);
  put(e->wide ? UINT32_MAX : size, 4);
  put(strlen(e->name), 2);
  put(e->wide ? 32 : 0, 2);
  put(0, 2);
  put(0, 8);
  put(e->wide ? UINT32_MAX : place, 4);
  put_text(e->name, strlen(e->name));
  if (!e->wide) return;
  put(0x7075, 2); /* one that is passed over */
  put(0, 2);
  put(1, 2);
  put(24, 2);
  put(size, 8);
  put(packed, 8);
  put(place, 8);
}

typedef struct {
  int wide, count; /* count: added */
  long begin, size;
  const char *comment;
} directory;

static void put_end(const directory *d, size_t n, size_t begin) {
  size_t end = at, size = end - begin + (size_t)d->size;
  n += (size_t)d->count;
  begin += (size_t)d->begin;
  if (d->wide) {
    put(0x06064b50, 4);
    put(44, 8);
    put(45, 2);
    put(45, 2);
    put(0, 8);
    put(n, 8);
    put(n, 8);
    put(size, 8);
    put(begin, 8);
    put(0x07064b50, 4);
    put(0, 4);
    put(end, 8);
    put(1, 4);
  }
  put(0x06054b50, 4);
  put(0, 4);
  put(d->wide ? UINT16_MAX : n, 2);
  put(d->wide ? UINT16_MAX : n, 2);
  put(d->wide ? UINT32_MAX : size, 4);
  put(d->wide ? UINT32_MAX : begin, 4);
  put(d->comment ? strlen(d->comment) : 0, 2);
  if (d->comment) put_text(d->comment, strlen(d->comment));
}

static void make(const entry *e, size_t n, const directory *d) {
  size_t place[8], begin;
  char data[128];
  at = 0;
  for (size_t i = 0; i < n; i++) {
    place[i] = at;
    put_local(&e[i], data, npy(data, e[i].value));
  }
  begin = at;
  for (size_t i = 0; i < n; i++)
    put_central(&e[i], data, npy(data, e[i].value), place[i]);
  put_end(d, n, begin);
}

/* ---- what is taken
 * ---------------------------------------------------------------- */

static void expect_elements(size_t n) {
  for (size_t i = 0; i < n; i++) {
    unsigned char *got = rig_elements(bytes, at, 0, (int64_t)i, 0);
    cr_assert(got, "%s", rig_err.text);
    cr_expect_eq(got[0], i + 7);
    free(got);
  }
}

Test(npz, stored_entries_with_narrow_and_wide_records) {
  entry e[] = {{.name = "a.npy", .value = 7}, {.name = "b/c.npy", .value = 8}};
  directory d[] = {{0}, {.comment = "PK\5\6 a comment"}, {.wide = 1}};
  for (int i = 0; i < 3; i++) {
    e[1].wide = i == 2;
    make(e, 2, &d[i]);
    cr_expect_eq(rig_read(bytes, at, 0), TSH_OK, "%d: %s", i, rig_err.text);
    expect_elements(2);
  }
}

Test(npz, an_empty_archive_has_no_entries) {
  directory d = {0};
  make(NULL, 0, &d);
  cr_expect_eq(rig_read(bytes, at, 0), TSH_OK, "%s", rig_err.text);
}

Test(npz, what_is_no_npy_file_is_marked) {
  entry e[] = {{.name = "a.txt"}, {.name = "b.npy"}, {.name = "f/"}};
  directory d = {0};
  file *f;
  tsh_err err = {.size = sizeof err};
  make(e, 3, &d);
  cr_assert_eq(file_open(rig_file(bytes, at), 0, NULL, &f, &err), TSH_OK);
  cr_assert_eq(file_count(f), 2);
  cr_expect(file_at(f, 0)->foreign && file_at(f, 0)->why);
  cr_expect(!file_at(f, 1)->foreign && !file_at(f, 1)->why);
  cr_expect_eq(file_begin(f, 0, 0, &err), TSH_EINVAL);
  file_close(f);
}

Test(npz, what_is_written_is_read_stored_and_deflated) {
  static int64_t longs[30000];
  for (int i = 0; i < 30000; i++) longs[i] = i * i % 1000;
  for (int packed = 0; packed < 2; packed++) {
    file_item item[] = {
        {.name = "a.b", .dtype = TSH_i64, .rank = 2, .dim = {300, 100}},
        {.name = "\xc3\xa4", .dtype = TSH_f64, .rank = 1, .dim = {0}},
        {.name = "", .dtype = TSH_bool}};
    file_content c = {
        .format = FILE_npz, .packed = packed, .item = item, .n = 3};
    const void *cells[] = {longs, longs, "\1"};
    size_t n = 0;
    char *written = rig_write(&c, cells, &n), *got;
    cr_assert(written, "%s", rig_err.text);
    if (packed) cr_expect_lt(n, sizeof longs / 2);
    got = rig_elements(written, n, 0, 0, 0);
    cr_assert(got, "%s", rig_err.text);
    cr_expect_eq(memcmp(got, longs, sizeof longs), 0);
    free(got);
    cr_expect_eq(rig_read(written, n, 0), TSH_OK, "%s", rig_err.text);
    free(written);
  }
}

/* ---- what is refused
 * ---------------------------------------------------------------- */

static void refused(const entry *e, size_t n, const directory *d,
                    const char *why) {
  directory plain = {0};
  make(e, n, d ? d : &plain);
  cr_expect_eq(rig_read(bytes, at, FILE_npz), TSH_EINVAL, "%s", why);
  cr_expect(strstr(rig_err.text, why), "%s: %s", why, rig_err.text);
}

Test(npz, entries_that_lie) {
  entry e = {.name = "a.npy"};
#define WITH(field, why)                                                       \
  do {                                                                         \
    entry bad = e;                                                             \
    bad.field;                                                                 \
    refused(&bad, 1, NULL, why);                                               \
  } while (0)
  WITH(flags = 1, "encrypted");
  WITH(method = 12, "stored or deflated");
  WITH(method = 8, "cut short");
  WITH(packed = 1, "two sizes differ");
  WITH(more = 1, "past the directory");
  WITH(more = -1, "differ in its size");
  WITH(more = 4000000000, "past the directory");
  WITH(crc = 1, "checksum");
  WITH(inside = "aa.npy", "differs from the directory");
  WITH(moved = 1; bad.where = 5, "differs from the directory");
  WITH(moved = 1; bad.where = 4294967294, "past the end");
  WITH(wide = 1; bad.moved = 1; bad.where = UINT64_MAX, "past the end");
  WITH(wide = 1; bad.moved = 1; bad.where = UINT64_C(1) << 63, "past the end");
#undef WITH
}

Test(npz, entries_that_share_names_or_bytes) {
  entry same[] = {{.name = "a.npy"}, {.name = "a.npy"}};
  entry over[] = {{.name = "a.npy"},
                  {.name = "b.npy", .moved = 1, .inside = "b.npy"}};
  refused(same, 2, NULL, "two entries are called 'a'");
  refused(over, 2, NULL, "overlap");
}

Test(npz, directories_that_lie) {
  entry e = {.name = "a.npy"};
  directory more = {.count = 1}, less = {.count = -1}, begin = {.begin = 1},
            far = {.begin = 1000000}, size = {.size = 1},
            huge = {.wide = 1, .begin = INT64_MAX},
            lots = {.wide = 1, .count = 1 << 30};
  refused(&e, 1, &more, "directory");
  refused(&e, 1, &less, "more entries");
  refused(&e, 1, &begin, "directory");
  refused(&e, 1, &far, "not where it should be");
  refused(&e, 1, &size, "directory");
  refused(&e, 1, &huge, "not where it should be");
  refused(&e, 1, &lots, "not where it should be");
}

Test(npz, every_cut_is_refused) {
  entry e[] = {{.name = "a.npy", .value = 7}, {.name = "b.npy", .value = 8}};
  directory d = {.wide = 1};
  make(e, 2, &d);
  for (size_t cut = 0; cut < at; cut++)
    cr_expect_eq(rig_read(bytes, cut, FILE_npz), TSH_EINVAL, "%zu", cut);
}
