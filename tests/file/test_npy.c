/* test_npy.c - headers that npy.c takes and refuses. Elements against NumPy
 * are in tests/shell/files.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <criterion/criterion.h>
#include "rig.h"

static char bytes[70000];

/* An npy file of version v with this header and n bytes of elements 1, 2, ...
 */
static size_t make(int v, const char *header, size_t n) {
  size_t at = v == 1 ? 10 : 12, length = strlen(header);
  memcpy(bytes, "\x93NUMPY", 6);
  bytes[6] = (char)v;
  bytes[7] = 0;
  for (size_t i = 8; i < at; i++) bytes[i] = (char)(length >> 8 * (i - 8));
  memcpy(bytes + at, header, length);
  for (size_t i = 0; i < n; i++) bytes[at + length + i] = (char)(i + 1);
  return at + length + n;
}

static void refused(const char *header, size_t n, const char *why) {
  tsh_status rc = rig_read(bytes, make(1, header, n), FILE_UNKNOWN);
  cr_expect_eq(rc, TSH_EINVAL, "%s", header);
  cr_expect(strstr(rig_err.text, why), "%s: %s", header, rig_err.text);
  cr_expect_eq(strncmp(rig_err.text, "t: ", 3), 0, "%s", rig_err.text);
}

#define HEAD(descr, order, shape)                                              \
  "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

static void taken(int v, const char *header, size_t n, int dtype, int rank,
                  int64_t first, int reversed) {
  file *f;
  size_t size = make(v, header, n);
  tsh_err err = {.size = sizeof err};
  cr_assert_eq(rig_read(bytes, size, FILE_UNKNOWN), TSH_OK, "%s: %s", header,
               rig_err.text);
  cr_assert_eq(file_open(rig_file(bytes, size), 0, NULL, &f, &err), TSH_OK);
  cr_expect_eq(file_format(f), FILE_npy);
  cr_expect_eq(file_count(f), 1);
  cr_expect_eq(file_at(f, 0)->dtype, dtype, "%s", header);
  cr_expect_eq(file_at(f, 0)->rank, rank, "%s", header);
  if (rank) cr_expect_eq(file_at(f, 0)->dim[0], first, "%s", header);
  cr_expect_eq(file_at(f, 0)->reversed, reversed, "%s", header);
  file_close(f);
}

Test(npy, headers_of_every_version_and_spelling) {
  taken(1, HEAD("'<f4'", "False", "(2, 3)"), 24, TSH_f32, 2, 2, 0);
  taken(2, HEAD("'<f4'", "True", "(2, 3)"), 24, TSH_f32, 2, 2, 1);
  taken(3, HEAD("'<i8'", "False", "(1,)"), 8, TSH_i64, 1, 1, 0);
  taken(1, HEAD("'|u1'", "False", "()"), 1, TSH_u8, 0, 0, 0);
  taken(1, HEAD("'<f8'", "False", "(0, 5)"), 0, TSH_f64, 2, 0, 0);
  taken(1, HEAD("'<f8'", "False", "(0, 9223372036854775807)"), 0, TSH_f64, 2, 0,
        0);
  taken(1, HEAD("'<f2'", "False", "(2L, 1L)"), 4, TSH_f16, 2, 2, 0);
  taken(1, HEAD("\"i2\"", "False", "(2,)"), 4, TSH_i16, 1, 2, 0);
  taken(1, HEAD("'=u4'", "False", "(1,)"), 4, TSH_u32, 1, 1, 0);
  taken(1, "{\n'shape' :(1,1 ) ,\t'descr':'|b1','fortran_order':True}  \n", 1,
        TSH_bool, 2, 1, 1);
  taken(1, HEAD("'<c8'", "False", "(1,)"), 8, TSH_c64, 1, 1, 0);
  taken(1, HEAD("'<f4'", "False", "(1,1,1,1,1,1,1,1)"), 4, TSH_f32, 8, 1, 0);
}

Test(npy, big_endian_elements_are_swapped) {
  static const char *const head[] = {HEAD("'>i2'", "False", "(4,)"),
                                     HEAD("'>i4'", "False", "(2,)"),
                                     HEAD("'>u8'", "False", "(1,)")};
  size_t n = make(1, head[0], 8);
  int16_t *a = rig_elements(bytes, n, 0, 0, 0);
  int32_t *b;
  uint64_t *c;
  cr_assert(a);
  cr_expect(a[0] == 0x0102 && a[3] == 0x0708);
  n = make(1, head[1], 8);
  b = rig_elements(bytes, n, 0, 0, 0);
  cr_assert(b);
  cr_expect(b[0] == 0x01020304 && b[1] == 0x05060708);
  n = make(1, head[2], 8);
  c = rig_elements(bytes, n, 0, 0, 0);
  cr_assert(c);
  cr_expect(*c == UINT64_C(0x0102030405060708));
  free(a);
  free(b);
  free(c);
}

Test(npy, dtypes_that_tsh_has_not_are_refused_by_name) {
  static const char *const descr[] = {"|O",  "<U2", "|S5",   "<M8[ns]", "<m8",
                                      "<V2", "|V8", "<f16",  "<c16",    "b2",
                                      "f3",  "",    "float", "<",       "<i99"};
  for (size_t i = 0; i < sizeof descr / sizeof *descr; i++) {
    file *f;
    char header[200];
    size_t n;
    tsh_err err = {.size = sizeof err};
    snprintf(header, sizeof header, HEAD("'%s'", "False", "(1,)"), descr[i]);
    n = make(1, header, 8);
    cr_assert_eq(file_open(rig_file(bytes, n), 0, NULL, &f, &err), TSH_OK, "%s",
                 err.text);
    cr_expect_eq(file_begin(f, 0, 0, &err), TSH_EINVAL);
    cr_expect(strstr(err.text, descr[i]), "%s", err.text);
    file_close(f);
  }
  cr_expect_null(rig_elements(
      bytes,
      make(1, HEAD("[('a', '<f4'), ('b', '<i4', (2,))]", "False", "(1,)"), 12),
      0, 0, 0));
  cr_expect(strstr(rig_err.text, "records"), "%s", rig_err.text);
}

Test(npy, malformed_headers_are_refused_with_their_place) {
  refused("", 0, "byte 10 of its header: '{' is missing");
  refused("[]", 0, "'{' is missing");
  refused("{", 0, "no text");
  refused("{}", 0, "lacks descr");
  refused("{'descr': '<f4', 'fortran_order': False}", 0, "lacks shape");
  refused("{'descr': '<f4', 'shape': ()}", 4, "lacks fortran_order");
  refused("{'descr': '<f4', 'descr': '<f4'}", 0, "was there");
  refused("{'descr' '<f4'}", 0, "byte 19 of its header: ':' is missing");
  refused("{'what': 1}", 0, "fields are");
  refused("{'descr': '<f4}", 0, "does not end");
  refused("{'descr': '<f\\x34'}", 0, "does not end");
  refused("{'descr': [('a', '<f4'}", 0, "does not end");
  refused("{'descr': ['<f", 0, "does not end");
  refused(HEAD("'<f4'", "Maybe", "(1,)"), 4, "True or False");
  refused(HEAD("'<f4'", "False", "(1)"), 4, "tuple");
  refused(HEAD("'<f4'", "False", "(1,,)"), 4, "no extent");
  refused(HEAD("'<f4'", "False", "(,)"), 4, "no extent");
  refused(HEAD("'<f4'", "False", "(1, x)"), 4, "no extent");
  refused(HEAD("'<f4'", "False", "1"), 4, "'(' is missing");
  refused(HEAD("'<f4'", "False", "(1, 2 x"), 4, "')' is missing");
  refused(HEAD("'<f4'", "False", "(-1,)"), 4, "below 0");
  refused(HEAD("'<f4'", "False", "(9223372036854775808,)"), 4, "beyond 2^63");
  refused(HEAD("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"), 4, "8 axes");
  refused(HEAD("'<f4'", "False", "(1,)") " x", 4, "after its end");
}

Test(npy, sizes_are_those_of_the_file) {
  refused(HEAD("'<f4'", "False", "(2,)"), 4, "cut short");
  refused(HEAD("'<f4'", "False", "(1,)"), 5, "4 bytes of elements, 5 follow");
  refused(HEAD("'<f4'", "False", "(1,)"), 3, "cut short");
  refused(HEAD("'<f4'", "False", "()"), 0, "cut short");
  refused(HEAD("'<f4'", "False", "(4294967296, 4294967296)"), 4, "2^62");
  refused(HEAD("'<f8'", "False", "(9223372036854775807,)"), 8, "2^62");
  refused(HEAD("'<f4'", "False", "(1000000000000,)"), 4, "cut short");
}

Test(npy, heads_that_lie) {
  size_t n = make(1, HEAD("'<f4'", "False", "(1,)"), 4);
  for (size_t cut = 0; cut < n; cut++)
    cr_expect_eq(rig_read(bytes, cut, FILE_npy), TSH_EINVAL, "%zu", cut);
  bytes[6] = 4;
  cr_expect_eq(rig_read(bytes, n, 0), TSH_EINVAL);
  cr_expect(strstr(rig_err.text, "version 4.0"), "%s", rig_err.text);
  bytes[6] = 2; /* the length is now of 32 bits, and large */
  cr_expect_eq(rig_read(bytes, n, 0), TSH_EINVAL);
  cr_expect(strstr(rig_err.text, "at most 10000"), "%s", rig_err.text);
  bytes[0] = 'X';
  cr_expect_eq(rig_read(bytes, n, FILE_npy), TSH_EINVAL);
  cr_expect(strstr(rig_err.text, "no npy file"), "%s", rig_err.text);
}

Test(npy, what_is_written_is_read) {
  for (int rank = 0; rank <= PLAN_RANK; rank++)
    for (int dtype = 1; dtype < TSH_NDTYPE; dtype++) {
      file_item item = {.name = "", .dtype = dtype, .rank = rank};
      file_content c = {.format = FILE_npy, .item = &item, .n = 1};
      char cells[2048];
      const void *list[] = {cells};
      char *written, *read;
      size_t n = 0, each = plan_dtype_bytes(dtype), count = 1;
      if (!each) continue;
      for (int i = 0; i < rank; i++) count *= (size_t)(item.dim[i] = 1 + i % 2);
      for (size_t i = 0; i < sizeof cells; i++)
        cells[i] = (char)(dtype == TSH_bool ? i % 2 : i * 7);
      written = rig_write(&c, list, &n);
      if (dtype == TSH_bf16) {
        cr_expect_null(written);
        cr_expect(strstr(rig_err.text, "NumPy has no dtype bf16"));
        continue;
      }
      cr_assert(written, "%s", rig_err.text);
      cr_expect_eq((n - count * each) % 64, 0, "the elements are aligned");
      read = rig_elements(written, n, 0, 0, 0);
      cr_assert(read, "%s", rig_err.text);
      cr_expect_eq(memcmp(read, cells, count * each), 0, "dtype %d", dtype);
      free(written);
      free(read);
    }
}
