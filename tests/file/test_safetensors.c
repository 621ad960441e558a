/* test_safetensors.c - headers that safetensors.c takes and refuses. Files of
 * the Python package are in tests/shell/files.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <criterion/criterion.h>
#include "rig.h"

static char bytes[200000];

static size_t join(const char *header, size_t length, size_t data) {
  for (int i = 0; i < 8; i++) bytes[i] = (char)((uint64_t)length >> 8 * i);
  memcpy(bytes + 8, header, length);
  for (size_t i = 0; i < data; i++) bytes[8 + length + i] = (char)(i + 1);
  return 8 + length + data;
}

static tsh_status read_header(const char *header, size_t data) {
  return rig_read(bytes, join(header, strlen(header), data), FILE_safetensors);
}

static void refused(const char *header, size_t data, const char *why) {
  cr_expect_eq(read_header(header, data), TSH_EINVAL, "%s", header);
  cr_expect(strstr(rig_err.text, why), "%s: %s", header, rig_err.text);
  cr_expect_eq(strncmp(rig_err.text, "t: ", 3), 0, "%s", rig_err.text);
}

static void taken(const char *header, size_t data) {
  cr_expect_eq(read_header(header, data), TSH_OK, "%s: %s", header,
               rig_err.text);
}

#define ONE(dtype, shape, from, to)                                            \
  "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" from       \
  "," to "]}"

Test(safetensors, headers_that_are_right) {
  taken("{}", 0);
  taken("{}      ", 0);
  taken("{\"x\":" ONE("F32", "[2,3]", "0", "24") "}", 24);
  taken("{\"x\":" ONE("F32", "[]", "0", "4") "}   ", 4);
  taken("{\"x\":" ONE("I64", "[0]", "0", "0") "}", 0);
  taken("{\"x\":" ONE("I64", "[0,9223372036854775807,3]", "0", "0") "}", 0);
  taken("{ \"b\" : { \"shape\" : [ 2 ] , \"data_offsets\" : [ 4 , 6 ] ,\n"
        "\t\"dtype\" : \"U8\" } , \"a\" :" ONE("F32", "[1]", "0", "4") "}",
        6);
  taken("{\"../../etc/passwd\":" ONE("U8", "[1]", "0", "1") "}", 1);
  taken("{\"\":" ONE("U8", "[1]", "0", "1") "}", 1);
  taken("{\"\\u00e4\\ud83d\\ude00\\n\\\"\":" ONE("U8", "[1]", "0", "1") "}", 1);
  taken("{\"__metadata__\":{\"format\":\"pt\",\"k\":\"\"},\"x\":" ONE(
            "BOOL", "[2]", "0", "2") "}",
        2);
  taken("{\"__metadata__\":{}}", 0);
  taken("{\"x\":" ONE("F8_E4M3", "[3]", "0", "3") "}", 3);
  taken("{\"x\":" ONE("F4", "[3,2]", "0", "3") "}", 3);
  taken("{\"e\":" ONE("F32", "[0]", "4", "4") ",\"x\":" ONE("F32", "[1]", "0",
                                                            "4") "}",
        4);
}

Test(safetensors, every_dtype_has_its_size) {
  static const struct {
    const char *name;
    int dtype;
  } want[] = {{"BOOL", TSH_bool}, {"U8", TSH_u8},   {"I8", TSH_i8},
              {"I16", TSH_i16},   {"U16", TSH_u16}, {"F16", TSH_f16},
              {"BF16", TSH_bf16}, {"I32", TSH_i32}, {"U32", TSH_u32},
              {"F32", TSH_f32},   {"F64", TSH_f64}, {"I64", TSH_i64},
              {"U64", TSH_u64},   {"C64", TSH_c64}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    unsigned each = plan_dtype_bytes(want[i].dtype);
    char header[200];
    unsigned char *got;
    size_t n;
    snprintf(header, sizeof header, "{\"x\":" ONE("%s", "[3]", "0", "%u") "}",
             want[i].name, 3 * each);
    n = join(header, strlen(header), 3 * each);
    got = rig_elements(bytes, n, 0, 0, 0);
    cr_assert(got, "%s", rig_err.text);
    for (unsigned k = 0; k < 3 * each; k++)
      cr_expect_eq(got[k], want[i].dtype == TSH_bool ? 1 : k + 1);
    free(got);
  }
}

Test(safetensors, lengths_that_lie) {
  static const uint64_t length[] = {0,          1,
                                    3,          100,
                                    100000001,  UINT64_C(1) << 32,
                                    INT64_MAX,  UINT64_C(1) << 63,
                                    UINT64_MAX, UINT64_MAX - 7};
  for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
    size_t n = join("{}", 2, 0);
    for (int k = 0; k < 8; k++) bytes[k] = (char)(length[i] >> 8 * k);
    rig_biggest = 0;
    cr_expect_eq(rig_read(bytes, n, FILE_safetensors), TSH_EINVAL);
    cr_expect(strstr(rig_err.text, "bytes 0 to 7"), "%s", rig_err.text);
    cr_expect_lt(rig_biggest, 70000);
  }
  for (size_t n = 0; n < 8; n++)
    cr_expect_eq(rig_read("\2\0\0\0\0\0\0\0", n, FILE_safetensors), TSH_EINVAL);
}

Test(safetensors, text_that_is_no_header) {
  refused(" {}", 0, "does not begin with '{'");
  refused("\n{}", 0, "does not begin");
  refused("[]", 0, "does not begin");
  refused("null", 0, "does not begin");
  refused("{}x", 0, "header byte 10: text after its end");
  refused("{} {}", 0, "after its end");
  refused("{,}", 0, "a text is missing");
  refused("{\"x\"}", 0, "':' is missing");
  refused("{\"x\":1}", 0, "'{' is missing");
  refused("{\"x\":null}", 0, "'{' is missing");
  refused("{\"x\":[]}", 0, "'{' is missing");
  refused("{\"x\":{}}", 0, "'dtype' is missing");
  refused("{'x':{}}", 0, "a text is missing");
  refused("{\"x\":{}", 0, "missing");
  refused("{\"x", 0, "does not end");
  refused("{\"\xff\":{}}", 0, "header byte 10: this is not UTF-8");
  refused("{\"\xc0\x80\":{}}", 0, "UTF-8");
  refused("{\"\xed\xa0\x80\":{}}", 0, "UTF-8");
  refused("{\"\xf4\x90\x80\x80\":{}}", 0, "UTF-8");
  refused("{\"\xe2\x82", 0, "UTF-8");
  refused("{\"a\nb\":{}}", 0, "control character");
  refused("{\"\\q\":{}}", 0, "escape");
  refused("{\"\\u12g4\":{}}", 0, "four hex digits");
  refused("{\"\\u12", 0, "four hex digits");
  refused("{\"\\u0000\":{}}", 0, "zero byte");
  refused("{\"\\ud800\":{}}", 0, "surrogate");
  refused("{\"\\ude00\":{}}", 0, "surrogate");
  refused("{\"\\ud800\\u0041\":{}}", 0, "surrogate");
  refused("{\"\\", 0, "escape");
}

Test(safetensors, fields_that_are_wrong) {
  refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets");
  refused("{\"x\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "'shape'");
  refused("{\"x\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "'dtype'");
  refused("{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 4, "twice");
  refused("{\"x\":{\"more\":1}}", 4, "no field 'more'");
  refused("{\"x\":" ONE("F31", "[1]", "0", "4") "}", 4, "no dtype 'F31'");
  refused("{\"x\":" ONE("f32", "[1]", "0", "4") "}", 4, "no dtype 'f32'");
  refused("{\"x\":" ONE("", "[1]", "0", "4") "}", 4, "no dtype ''");
  refused("{\"x\":{\"dtype\":32}}", 4, "a text is missing");
  refused("{\"x\":" ONE("F32", "1", "0", "4") "}", 4, "'[' is missing");
  refused("{\"x\":" ONE("F32", "[-1]", "0", "4") "}", 4, "whole number");
  refused("{\"x\":" ONE("F32", "[1.0]", "0", "4") "}", 4, "whole number");
  refused("{\"x\":" ONE("F32", "[1e0]", "0", "4") "}", 4, "whole number");
  refused("{\"x\":" ONE("F32", "[01]", "0", "4") "}", 4, "whole number");
  refused("{\"x\":" ONE("F32", "[\"1\"]", "0", "4") "}", 4, "whole number");
  refused("{\"x\":" ONE("F32", "[1,]", "0", "4") "}", 4, "whole number");
  refused("{\"x\":" ONE("F32", "[1 2]", "0", "4") "}", 4, "']' is missing");
  refused("{\"x\":" ONE("F32", "[[1]]", "0", "4") "}", 4, "whole number");
  refused("{\"x\":" ONE("F32", "[1,1,1,1,1,1,1,1,1]", "0", "4") "}", 4,
          "8 axes");
  refused("{\"x\":" ONE("F32", "[1]", "0", "4,8") "}", 4, "']' is missing");
  refused("{\"x\":" ONE("F32", "[1]", "-4", "0") "}", 4, "whole number");
  refused("{\"x\":" ONE("F4", "[3]", "0", "1") "}", 1, "within a byte");
}

Test(safetensors, places_that_are_wrong) {
  refused("{\"x\":" ONE("F32", "[1]", "4", "0") "}", 4,
          "it ends at 0, before it begins, at 4");
  refused("{\"x\":" ONE("F32", "[2]", "0", "4") "}", 4,
          "4 bytes apart, shape and F32 need 8");
  refused("{\"x\":" ONE("F32", "[1]", "0", "8") "}", 8, "8 bytes apart");
  refused("{\"x\":" ONE("F32", "[1]", "0", "4") "}", 3, "has 3 bytes of data");
  refused("{\"x\":" ONE("F32", "[1]", "0", "4") "}", 5,
          "1 bytes follow the last tensor");
  refused("{}", 1, "follow the last tensor");
  refused("{\"x\":" ONE("F32", "[1]", "4", "8") "}", 8, "a hole");
  refused("{\"x\":" ONE("F32", "[1]", "0", "4") ",\"y\":" ONE("F32", "[1]", "8",
                                                              "12") "}",
          12, "a hole");
  refused("{\"x\":" ONE("F32", "[1]", "0", "4") ",\"y\":" ONE("F32", "[1]", "2",
                                                              "6") "}",
          6, "another tensor");
  refused("{\"x\":" ONE("F32", "[1]", "0", "4") ",\"y\":" ONE("F32", "[1]", "0",
                                                              "4") "}",
          4, "another tensor");
  refused("{\"x\":" ONE("F32", "[2]", "0", "8") ",\"y\":" ONE("F32", "[0]", "4",
                                                              "4") "}",
          8, "another tensor");
  refused("{\"x\":" ONE("F32", "[9223372036854775807]", "0", "4") "}", 4,
          "2^62");
  refused("{\"x\":" ONE("U8", "[4294967296,4294967296]", "0", "0") "}", 0,
          "2^62");
  refused("{\"x\":" ONE("F32", "[9223372036854775808]", "0", "4") "}", 4,
          "beyond 2^63");
  refused("{\"x\":" ONE("U8", "[1]", "9223372036854775806",
                        "9223372036854775807") "}",
          1, "of data");
  refused("{\"x\":" ONE("U8", "[1]", "18446744073709551615", "0") "}", 1,
          "beyond 2^63");
}

Test(safetensors, names_that_are_there_twice) {
  refused("{\"x\":" ONE("U8", "[1]", "0", "1") ",\"x\":" ONE("U8", "[1]", "1",
                                                             "2") "}",
          2, "two entries are called 'x'");
  refused("{\"x\":" ONE("U8", "[1]", "0",
                        "1") ",\"\\u0078\":" ONE("U8", "[1]", "1", "2") "}",
          2, "two entries are called 'x'");
  refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice");
  refused("{\"__metadata__\":{\"a\":\"1\",\"b\":\"\",\"a\":\"2\"}}", 0,
          "one name");
}

Test(safetensors, metadata_are_texts) {
  refused("{\"__metadata__\":1}", 0, "'{' is missing");
  refused("{\"__metadata__\":{\"a\":1}}", 0, "a text is missing");
  refused("{\"__metadata__\":{\"a\":{}}}", 0, "a text is missing");
  refused("{\"__metadata__\":{\"a\":null}}", 0, "a text is missing");
}

Test(safetensors, deep_nesting_is_refused_at_once) {
  char *deep = malloc(100001);
  memset(deep, '[', 100000);
  deep[100000] = 0;
  memcpy(deep, "{\"x\":", 5);
  refused(deep, 0, "'{' is missing");
  memset(deep + 5, '{', 99995);
  refused(deep, 0, "a text is missing");
  free(deep);
}

Test(safetensors, every_cut_is_refused) {
  static const char header[] = "{\"__metadata__\":{\"a\":\"b\"},\"x\":" ONE(
      "F32", "[2]", "0", "8") ",\"y\":" ONE("U8", "[2]", "8", "10") "}";
  size_t n = join(header, sizeof header - 1, 10);
  for (size_t cut = 0; cut < n; cut++)
    cr_expect_eq(rig_read(bytes, cut, FILE_safetensors), TSH_EINVAL, "%zu",
                 cut);
}

Test(safetensors, what_is_written_is_read) {
  static const char *const note[] = {"k\"1", "v\\\n", "z", ""};
  file_item item[TSH_NDTYPE];
  const void *cells[TSH_NDTYPE];
  char names[TSH_NDTYPE][16];
  static char data[64];
  file_content c = {.format = FILE_safetensors, .item = item};
  size_t n = 0;
  char *written;
  const char *key, *value;
  file *f;
  tsh_err err = {.size = sizeof err};
  for (int i = 0; i < 64; i++) data[i] = (char)(i % 2);
  for (int d = 1; d < TSH_NDTYPE; d++) {
    if (!plan_dtype_bytes(d)) continue;
    snprintf(names[d], sizeof names[d], "\t\"%s", plan_dtype_name(d));
    item[c.n] = (file_item){.name = names[d],
                            .dtype = d,
                            .rank = d % 3,
                            .dim = {2, d == 5 ? 0 : 3}};
    cells[c.n++] = data;
  }
  c.note = note;
  c.nnote = 2;
  written = rig_write(&c, cells, &n);
  cr_assert(written, "%s", rig_err.text);
  cr_expect_eq(written[0] % 8, 0);
  cr_expect_eq(rig_read(written, n, 0), TSH_OK, "%s", rig_err.text);
  cr_assert_eq(file_open(rig_file(written, n), 0, NULL, &f, &err), TSH_OK);
  cr_assert_eq(file_count(f), c.n);
  for (int64_t i = 0; i < c.n; i++) {
    const file_entry *e = file_at(f, i);
    cr_expect_str_eq(e->name, item[i].name);
    cr_expect_eq(e->dtype, item[i].dtype);
    cr_expect_eq(e->rank, item[i].rank);
    cr_expect_eq(memcmp(e->dim, item[i].dim, sizeof *e->dim * (size_t)e->rank),
                 0);
  }
  cr_assert(file_note(f, 0, &key, &value));
  cr_expect_str_eq(key, note[0]);
  cr_expect_str_eq(value, note[1]);
  cr_expect(file_note(f, 1, &key, &value) && !file_note(f, 2, &key, &value));
  file_close(f);
  free(written);
}

Test(safetensors, names_that_cannot_be_written) {
  static const char *const bad[] = {"\xff", "__metadata__"};
  for (int i = 0; i < 2; i++) {
    file_item item = {.name = bad[i], .dtype = TSH_u8};
    file_content c = {.format = FILE_safetensors, .item = &item, .n = 1};
    const void *cells[] = {"x"};
    size_t n = 0;
    cr_expect_null(rig_write(&c, cells, &n));
    cr_expect(strstr(rig_err.text, i ? "__metadata__" : "UTF-8"), "%s",
              rig_err.text);
  }
}
