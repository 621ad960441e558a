/* test_csv.c - what tables csv.c reads and how it refuses. The file under test
 * is included, so that the tests decide which of its allocations fails. */
#define _GNU_SOURCE /* newlocale */
#include <locale.h>
#include <math.h>
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

static void *test_realloc(void *p, size_t size) {
  return refuses() ? NULL : realloc(p, size);
}

#define malloc  test_malloc
#define calloc  test_calloc
#define realloc test_realloc
#include "csv.c"
#undef malloc
#undef calloc
#undef realloc

/* ---- helpers ------------------------------------------------------------- */

static file_table table;
static tsh_err err;

/* Reads n bytes as a file called t.csv; its folder is cut from messages. */
static tsh_status read_how(const char *bytes, size_t n,
                           const file_table_how *how) {
  char folder[] = "/tmp/test_csv.XXXXXX", path[64];
  tsh_status rc;
  FILE *f;
  char *at;
  cr_assert(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/t.csv", folder);
  f = fopen(path, "wb");
  cr_assert(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
  err = (tsh_err){.size = sizeof err};
  rc = file_csv_read(path, how, &table, &err);
  at = strstr(err.text, folder);
  if (at) memmove(at, at + sizeof folder, strlen(at + sizeof folder) + 1);
  remove(path);
  rmdir(folder);
  return rc;
}

/* Tables of f32, as most tests want them. */
static tsh_status read_bytes(const char *bytes, size_t n, int labels) {
  file_table_how how = {.labels = labels, .dtype = TSH_f32};
  return read_how(bytes, n, &how);
}

static float value(int64_t i) {
  cr_assert_eq(table.dtype, TSH_f32);
  return ((const float *)table.data)[i];
}

static tsh_status read_text(const char *text, int labels) {
  return read_bytes(text, strlen(text), labels);
}

static void expect_rows(const char *text, int64_t rows, int64_t columns,
                        const float *want) {
  cr_assert_eq(read_text(text, 0), TSH_OK, "%s: %s", text, err.text);
  cr_expect_eq(table.rows, rows, "%s", text);
  cr_expect_eq(table.columns, columns, "%s", text);
  for (int64_t i = 0; i < rows * columns; i++)
    cr_expect(value(i) == want[i] || (isnan(want[i]) && isnan(value(i))),
              "%s: element %d is %a", text, (int)i, (double)value(i));
  file_table_free(&table);
}

static void expect_error(const char *text, int labels, const char *want) {
  cr_expect_eq(read_text(text, labels), TSH_EINVAL, "%s", text);
  cr_expect_str_eq(err.text, want);
  cr_expect(!table.data && !table.labels && !table.header && !table.rows);
}

/* ---- what is accepted -----------------------------------------------------
 */

Test(csv, separators) {
  static const float want[] = {1, 2, 3, 4, 5, 6};
  expect_rows("1,2,3\n4,5,6\n", 2, 3, want);
  expect_rows("1;2;3\n4;5;6\n", 2, 3, want);
  expect_rows("1\t2\t3\n4\t5\t6\n", 2, 3, want);
  expect_rows("1 2 3\n4 5 6\n", 2, 3, want);
  expect_rows("  1  2 3 \n4   5  \t 6\n", 2, 3, want);
  expect_rows(" 1 ,\t2 , 3\n4,5,6", 2, 3, want);
  expect_rows("1\n2\n3\n4\n5\n6", 6, 1, want);
}

Test(csv, line_ends_blank_lines_and_byte_order_mark) {
  static const float want[] = {1, 2, 3, 4};
  expect_rows("1,2\r\n3,4\r\n", 2, 2, want);
  expect_rows("1,2\r3,4\r", 2, 2, want);
  expect_rows("\n\n1,2\n   \n\n3,4\n\n", 2, 2, want);
  expect_rows("\xef\xbb\xbf"
              "1,2\n3,4",
              2, 2, want);
  expect_rows("\xef\xbb\xbf\"1\",2\n3,\"4\"\n", 2, 2, want);
}

Test(csv, empty_fields_are_nan) {
  const float want[] = {1, NAN, NAN, NAN, NAN, 2};
  expect_rows("1,,\n,,2\n", 2, 3, want);
  expect_rows("1\t\t\n\t\t2\n", 2, 3, want);
  expect_rows("1,\"\", \n , ,2\n", 2, 3, want);
}

Test(csv, numbers_of_every_form) {
  const float want[] = {-1.5f, 2e10f,  .5f,  3.f,      INFINITY, -INFINITY,
                        NAN,   1e-45f, 0.0f, INFINITY, 16777216, 0.1f};
  expect_rows("-1.5,+2E+10,.5,3.\ninf,-Infinity,NaN,1e-45\n"
              "1e-999,1e999,16777217,0.1\n",
              3, 4, want);
}

Test(csv, conversion_is_correctly_rounded) {
  /* Just above the middle of two floats; a double cannot see it. */
  const float want[] = {0x1.000002p0f, 0x1p0f, 0x1.000004p0f, -0x1.000002p0f};
  expect_rows("1.00000005960464477540\n1.000000059604644775390625\n"
              "1.000000178813934326171875\n-1.00000005960464477540\n",
              4, 1, want);
}

Test(csv, conversion_equals_strtof_on_random_decimals) {
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < 200000; i++) {
    char text[64];
    const char *at = text;
    float got = 0, want;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    snprintf(text, sizeof text, "%s%llu%s%u.%ue%d", i & 1 ? "-" : "",
             (unsigned long long)(state >> (state & 63)), i & 2 ? "00" : "",
             (unsigned)(state >> 40) % 1000, (unsigned)(state >> 20) % 100000,
             (int)((state >> 8) % 90) - 60);
    want = strtof(text, NULL);
    cr_assert(file_num_float(&at, text + strlen(text), &got));
    cr_assert(got == want && *at == 0, "%s gave %a", text, (double)got);
  }
}

Test(csv, whole_numbers) {
  static const struct {
    const char *text;
    int ok;
    int64_t value;
  } rows[] = {{"0", 1, 0},
              {"-7", 1, -7},
              {"3.0", 1, 3},
              {"12e2", 1, 1200},
              {"1500e-2", 1, 15},
              {"9223372036854775807", 1, INT64_MAX},
              {"-9223372036854775808", 1, INT64_MIN},
              {"9223372036854775808", 0, 0},
              {"9007199254740993.0", 1, 9007199254740993},
              {"1e19", 0, 0},
              {"0e99999", 1, 0},
              {"1.5", 0, 0},
              {"1e-1", 0, 0},
              {"99999999999999999999", 0, 0},
              {"nan", 0, 0},
              {"", 0, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *at = rows[i].text;
    int64_t v = 0;
    int ok = file_num_whole(&at, at + strlen(at), &v);
    cr_expect_eq(ok, rows[i].ok, "%s", rows[i].text);
    cr_expect_eq(v, rows[i].value, "%s", rows[i].text);
  }
}

Test(csv, another_locale_changes_nothing) {
  static const float want[] = {1.5f, 1.00000011920928955f};
  if (!setlocale(LC_ALL, "de_DE.UTF-8")) cr_skip_test("no such locale");
  expect_rows("1.5,1.00000005960464477540\n", 1, 2, want);
}

Test(csv, header) {
  cr_assert_eq(read_text("a, \"b, \"\"c\"\"\" ,\n1,2,3\n", 0), TSH_OK);
  cr_assert_eq(table.nheader, 3);
  cr_expect_str_eq(table.header[0], "a");
  cr_expect_str_eq(table.header[1], "b, \"c\"");
  cr_expect_str_eq(table.header[2], "");
  cr_expect_eq(table.rows, 1);
  file_table_free(&table);
  cr_assert_eq(read_text("1,2\n", 0), TSH_OK);
  cr_expect_null(table.header);
  file_table_free(&table);
}

Test(csv, header_as_it_is_said) {
  static const char years[] = "2019,2020\n1,2\n", words[] = "x,y\n";
  file_table_how yes = {.header = 1}, no = {.header = -1};
  cr_assert_eq(read_how(years, strlen(years), &yes), TSH_OK);
  cr_expect_str_eq(table.header[1], "2020");
  cr_expect_eq(table.rows, 1);
  file_table_free(&table);
  cr_assert_eq(read_how(words, strlen(words), &yes), TSH_OK);
  cr_expect_eq(table.rows, 0);
  cr_expect_eq(table.columns, 2);
  file_table_free(&table);
  cr_assert_eq(read_how(words, strlen(words), &no), TSH_EINVAL);
  cr_expect_str_eq(err.text, "t.csv:1:1: field 1 is no number: \"x\"");
}

static void expect_dtype(const char *text, int asked, int want) {
  file_table_how how = {.dtype = asked};
  cr_assert_eq(read_how(text, strlen(text), &how), TSH_OK, "%s", err.text);
  cr_expect_eq(table.dtype, want, "%s", text);
}

Test(csv, integers_stay_integers) {
  expect_dtype("1,-2\n+3,9223372036854775807\n", 0, TSH_i64);
  cr_expect_eq(((int64_t *)table.data)[1], -2);
  cr_expect_eq(((int64_t *)table.data)[3], INT64_MAX);
  file_table_free(&table);
  expect_dtype("a,b\n16777217,5\n", 0, TSH_i64);
  cr_expect_eq(((int64_t *)table.data)[0], 16777217);
  cr_expect_eq(table.rounded_row, 0);
  file_table_free(&table);
}

Test(csv, one_float_makes_floats_of_all) {
  static const char *const last[] = {
      "0.5", "3.0", "1e1", "", "nan", "-0", "9223372036854775808"};
  static const float want[] = {0.5f, 3, 10, NAN, NAN, -0.0f, 0x1p63f};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    char text[64];
    snprintf(text, sizeof text, "1,2\n3,4\n16777219,%s\n7,8\n", last[i]);
    expect_dtype(text, 0, TSH_f32);
    cr_expect_eq(value(0), 1);
    cr_expect_eq(value(3), 4);
    cr_expect_eq(value(4), 16777220);
    cr_expect(memcmp(&want[i], (float *)table.data + 5, 4) == 0 ||
              (isnan(want[i]) && isnan(value(5))));
    cr_expect_eq(value(7), 8);
    cr_expect_eq(table.rounded, 16777219);
    cr_expect_eq(table.rounded_row, 3);
    cr_expect_eq(table.rounded_column, 1);
    file_table_free(&table);
  }
}

Test(csv, a_float_after_many_integers) {
  enum { ROWS = 3000 };
  char *text = malloc(ROWS * 16), *to = text;
  for (int i = 0; i < ROWS; i++) to += sprintf(to, "%d,%d\n", i, -i);
  memcpy(to, "0.5,1\n", 7);
  expect_dtype(text, 0, TSH_f32);
  for (int i = 0; i < ROWS; i++)
    cr_assert(value(2 * i) == (float)i && value(2 * i + 1) == (float)-i);
  cr_expect_eq(value(2 * ROWS), 0.5f);
  cr_expect_eq(table.rounded_row, 0);
  file_table_free(&table);
  free(text);
}

Test(csv, the_dtype_that_is_asked_for) {
  file_table_how whole = {.dtype = TSH_i64};
  expect_dtype("0.1,16777217\n", TSH_f64, TSH_f64);
  cr_expect_eq(((double *)table.data)[0], 0.1);
  cr_expect_eq(((double *)table.data)[1], 16777217);
  file_table_free(&table);
  expect_dtype("1,3.0\n", TSH_i64, TSH_i64);
  cr_expect_eq(((int64_t *)table.data)[1], 3);
  file_table_free(&table);
  expect_dtype("1,16777217\n", TSH_f32, TSH_f32);
  cr_expect_eq(table.rounded_row, 0);
  file_table_free(&table);
  cr_assert_eq(read_how("1,2\n3,4.5\n", 10, &whole), TSH_EINVAL);
  cr_expect_str_eq(err.text, "t.csv:2:3: field 2 is no whole number: \"4.5\"");
  cr_assert_eq(read_how("1,2\n3,\n", 7, &whole), TSH_EINVAL);
}

Test(csv, features_beside_labels_are_floats) {
  file_table_how how = {.labels = 1};
  cr_assert_eq(read_how("1,2\n3,4\n", 8, &how), TSH_OK);
  cr_expect_eq(value(1), 3);
  cr_expect_eq(table.labels[1], 4);
  file_table_free(&table);
}

Test(csv, a_survey_finds_what_reading_gives) {
  static const char *const texts[] = {"a,b\n1,2\n3,4\n", "1,2\n3,4.5\n"};
  for (int i = 0; i < 2; i++) {
    char path[] = "/tmp/test_csv.XXXXXX";
    file *f = NULL;
    FILE *out = fdopen(mkstemp(path), "wb");
    cr_assert(out && fputs(texts[i], out) >= 0 && fclose(out) == 0);
    err = (tsh_err){.size = sizeof err};
    cr_assert_eq(file_open(path, FILE_csv, NULL, &f, &err), TSH_OK, "%s",
                 err.text);
    cr_assert_eq(file_csv_survey(f, &table, &err), TSH_OK, "%s", err.text);
    cr_expect_eq(table.dtype, i ? TSH_f32 : TSH_i64);
    cr_expect_eq(table.rows, 2);
    cr_expect_eq(table.columns, 2);
    file_table_free(&table);
    file_close(f);
    remove(path);
  }
}

Test(csv, labels_come_back_as_written) {
  cr_assert_eq(read_text("p,q,kind\n1,2,0\n3,4,9\n5,6,-3.0\n", 1), TSH_OK);
  cr_expect_eq(table.columns, 2);
  cr_expect_eq(table.nheader, 3);
  cr_expect_eq(value(5), 6);
  cr_expect_eq(table.labels[0], 0);
  cr_expect_eq(table.labels[1], 9);
  cr_expect_eq(table.labels[2], -3);
  file_table_free(&table);
}

Test(csv, many_rows) {
  enum { ROWS = 50000 };
  char *text = malloc(ROWS * 16), *to = text;
  for (int i = 0; i < ROWS; i++) to += sprintf(to, "%d,%d.5\n", i, i);
  cr_assert_eq(read_text(text, 0), TSH_OK);
  cr_expect_eq(table.rows, ROWS);
  for (int i = 0; i < ROWS; i++)
    cr_assert(value(2 * i) == (float)i && value(2 * i + 1) == (float)i + .5f);
  file_table_free(&table);
  free(text);
}

/* ---- what is refused ------------------------------------------------------
 */

Test(csv, errors_name_line_and_column) {
  expect_error("1,2,3\n4,5\n", 0, "t.csv:2: 2 fields, the first row has 3");
  expect_error("a,b\n\n1,2,3\n", 0, "t.csv:3: 3 fields, the header has 2");
  expect_error(
      "1,x\n2,3\n", 0,
      "t.csv:1:3: field 2 is no number: \"x\"; header=true if the first "
      "line has names");
  expect_error(
      "x,\"1\"\n2,3\n", 0,
      "t.csv:1:1: field 1 is no number: \"x\"; header=true if the first "
      "line has names");
  expect_error("\x1f\x8b\x08", 0, "t.csv: compressed text; gunzip it first");
  expect_error("1,2\n3,4\n5, x7\n", 0,
               "t.csv:3:4: field 2 is no number: \"x7\"");
  expect_error("1,2\n3,0x10\n", 0, "t.csv:2:3: field 2 is no number: \"0x10\"");
  expect_error("1,2\n3,1e\n", 0, "t.csv:2:3: field 2 is no number: \"1e\"");
  expect_error("1,2\n3,\"4\n", 0,
               "t.csv:2:3: a quote that is not closed on its line");
  expect_error("1,2\n\"3\"4,5\n", 0, "t.csv:2:4: text after a closing quote");
  expect_error("1 2\n\"3\"4\n", 0, "t.csv:2:4: text after a closing quote");
  expect_error("1,2\n3,4.5\n", 1,
               "t.csv:2:3: field 2 is no whole number, as a label is: "
               "\"4.5\"");
  expect_error("1,2\n3,\n", 1,
               "t.csv:2:3: field 2 is no whole number, as a label is: \"\"");
  expect_error("1\n2\n", 1, "t.csv:1:1: one column, labels need one more");
  expect_error("hello world\n", 0,
               "t.csv: one line and no number in it; header=true if it has the "
               "names of a table without rows");
  expect_error("", 0, "t.csv: there is nothing in it");
  expect_error(" \r\n\n", 0, "t.csv: there is nothing in it");
}

Test(csv, bytes_that_are_no_text) {
  cr_expect_eq(read_bytes("1,2\n3,4\0005\n", 11, 0), TSH_EINVAL);
  cr_expect_str_eq(err.text, "t.csv:2:3: field 2 is no number: \"4\\x005\"");
  cr_expect_eq(read_bytes("a\0b,c\n1,2\n", 10, 0), TSH_EINVAL);
  cr_expect_str_eq(err.text, "t.csv:1:1: field 1 is no name: \"a\\x00b\"");
  cr_expect_eq(read_bytes("1,2\n3,\xc3\xa9\xe9\xff\n", 10, 0), TSH_EINVAL);
  cr_expect_str_eq(err.text,
                   "t.csv:2:3: field 2 is no number: \"\xc3\xa9\\xe9\\xff\"");
  cr_expect_eq(read_bytes("\xff\xfe\x31\0", 4, 0), TSH_EINVAL);
  cr_expect_str_eq(err.text, "t.csv: UTF-16 text; save it as UTF-8");
}

Test(csv, a_huge_field_is_shown_in_short) {
  enum { SIZE = 1 << 20 };
  char *text = malloc(SIZE);
  memset(text, '7', SIZE);
  memcpy(text, "1\n", 2);
  cr_assert_eq(read_bytes(text, SIZE, 0), TSH_OK);
  cr_expect(isinf(value(1)));
  file_table_free(&table);
  text[SIZE - 1] = 'x';
  cr_expect_eq(read_bytes(text, SIZE, 0), TSH_EINVAL);
  cr_expect(strlen(err.text) < 120, "%s", err.text);
  memset(text + 2, ',', SIZE - 2);
  cr_expect_eq(read_bytes(text, SIZE, 0), TSH_EINVAL);
  free(text);
}

Test(csv, a_file_that_cannot_be_read) {
  err = (tsh_err){.size = sizeof err};
  cr_expect_eq(file_csv_read("/nonexistent/x.csv", 0, &table, &err), TSH_EIO);
  cr_expect_str_eq(err.text, "/nonexistent/x.csv: No such file or directory");
  cr_expect_eq(file_csv_read("/tmp", 0, &table, &err), TSH_EIO);
  cr_expect_str_eq(err.text, "/tmp: Is a directory");
}

Test(csv, every_allocation_may_fail) {
  static const char text[] = "a,b,c\n1,2,3\n4,5,6\n7,8,9\n1,2,3\n4,5,6\n7,8,9\n"
                             "1,2,3\n4,5,6\n7,8,9\n1,2,3\n4,5,6\n7,8,9\n"
                             "1,2,3\n4,5,6\n7,8,9\n1,2,3\n4,5,6\n7,8,9\n";
  tsh_status rc = TSH_ENOMEM;
  int n = 0;
  for (; rc == TSH_ENOMEM; n++) {
    allowed = n;
    rc = read_text(text, 1);
    allowed = -1;
    cr_assert(rc == TSH_OK || (rc == TSH_ENOMEM && err.text[0]));
    cr_assert(rc == TSH_OK || (!table.data && !table.header));
  }
  cr_expect(n > 8, "%d allocations", n);
  cr_expect_eq(table.rows, 18);
  file_table_free(&table);
  file_table_free(NULL);
}
