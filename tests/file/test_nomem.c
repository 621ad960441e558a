/* test_nomem.c - memory runs out at the n-th allocation, for every n: an error
 * that says so, nothing lost (ASan counts), no half a file. */
#include <stdlib.h>
#include <string.h>
#include <criterion/criterion.h>
#include "rig.h"

static float cells[6] = {1, 2, 3, 4, 5, 6};
static const char *const note[] = {"key", "value", "more", "text"};
static const char *const header[] = {"a", "b", "c"};

static file_item items[] = {
    {.name = "", .dtype = TSH_f32, .rank = 2, .dim = {2, 3}},
    {.name = "b", .dtype = TSH_f32, .rank = 2, .dim = {2, 3}},
    {.name = "c", .dtype = TSH_u8, .rank = 1, .dim = {3}},
    {.name = "d", .dtype = TSH_u8, .rank = 1, .dim = {3}},
    {.name = "e", .dtype = TSH_u8, .rank = 1, .dim = {3}}};
static const void *const list[] = {cells, cells, cells, cells, cells};

static file_content content(int format, int packed) {
  int many = format == FILE_npz || format == FILE_safetensors;
  file_content c = {.format = format,
                    .packed = packed,
                    .item = items,
                    .n = many ? 5 : 1,
                    .note = note,
                    .nnote = format == FILE_safetensors ? 2 : 0,
                    .header = header,
                    .nheader = format == FILE_csv ? 3 : 0};
  return c;
}

static tsh_status write_once(const char *path, const file_content *c,
                             tsh_err *err) {
  file_out *o = NULL;
  tsh_status rc = file_create(path, c, NULL, &o, err);
  for (int64_t i = 0; rc == TSH_OK && i < c->n; i++)
    rc = file_put(o, list[i], err);
  if (rc == TSH_OK) rc = file_commit(o, err);
  file_discard(o);
  return rc;
}

static tsh_status read_once(const char *path, tsh_err *err) {
  char got[64];
  file *f = NULL;
  file_table t = {0};
  tsh_status rc = file_open(path, 0, NULL, &f, err);
  if (rc == TSH_OK && file_format(f) == FILE_csv) {
    rc = file_csv_take(f, 0, &t, err);
    if (rc == TSH_OK) cr_expect_eq(((const float *)t.data)[5], 6);
    file_table_free(&t);
  }
  for (int64_t i = 0; rc == TSH_OK && i < file_count(f); i++) {
    rc = file_begin(f, i, 0, err);
    if (rc == TSH_OK) rc = file_take(f, got, file_at(f, i)->bytes, err);
    if (rc == TSH_OK) rc = file_end(f, err);
    if (rc == TSH_OK) cr_expect_eq(memcmp(got, cells, file_at(f, i)->bytes), 0);
  }
  file_close(f);
  return rc;
}

static void starve(const char *path, const file_content *c) {
  tsh_status rc = TSH_ENOMEM;
  long n = 0;
  for (; rc != TSH_OK && n < 1000; n++) {
    tsh_err err = {.size = sizeof err};
    rig_fuse = n;
    rc = c ? write_once(path, c, &err) : read_once(path, &err);
    rig_fuse = -1;
    if (rc == TSH_OK) break;
    cr_expect_eq(rc, TSH_ENOMEM, "allocation %ld: %s", n, err.text);
    cr_expect(strstr(err.text, "memory"), "%s", err.text);
  }
  cr_expect_eq(rc, TSH_OK);
  cr_expect_gt(n, 1);
}

Test(nomem, every_format_is_written_and_read) {
  static const struct {
    int format, packed;
  } way[] = {{FILE_npy, 0},
             {FILE_npz, 0},
             {FILE_npz, 1},
             {FILE_csv, 0},
             {FILE_safetensors, 0}};
  char path[128];
  for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
    file_content c = content(way[i].format, way[i].packed);
    const char *end = file_format_name(way[i].format);
    cr_assert_lt(strlen(rig_file("", 0)) + strlen(end) + 2, sizeof path);
    strcpy(path, rig_file("", 0));
    strcat(strcat(path, "."), end);
    starve(path, &c);
    starve(path, NULL);
    remove(path);
  }
}

Test(nomem, what_is_refused) {
  static const char *const bad[] = {
      "\x93NUMPY\1\0\1\0x",
      "PK\3\4PK\5\6",
      "{}",
  };
  for (int i = 0; i < 3; i++)
    for (long n = 0; n < 20; n++) {
      tsh_err err = {.size = sizeof err};
      file *f = NULL;
      const char *path = rig_file(bad[i], strlen(bad[i]));
      rig_fuse = n;
      cr_expect_neq(file_open(path, FILE_safetensors, NULL, &f, &err), TSH_OK);
      rig_fuse = -1;
      cr_expect_null(f);
    }
}
