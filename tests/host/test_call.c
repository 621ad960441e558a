/* Calls on a device: what the host adds to what the plugin does. */
#define _XOPEN_SOURCE 700
#include "fake.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(call, ops_and_dtypes_outside_of_the_table_are_absent) {
  dev_set *set = fake_set(NULL);
  const dev *d = dev_builtin(set);
  cr_expect(dev_has_op(d, TSH_OP_add, TSH_f32));
  cr_expect_not(dev_has_op(d, TSH_OP_add, TSH_i32));
  cr_expect_not(dev_has_op(d, TSH_OP_add, -1));
  cr_expect_not(dev_has_op(d, TSH_OP_add, TSH_NDTYPE));
  cr_expect_not(dev_has_op(d, -1, TSH_f32));
  cr_expect_not(dev_has_op(d, TSH_OP_add + 1, TSH_f32)); /* beyond nops */
  cr_expect_not(dev_has_op(d, 1 << 30, TSH_f32));
  cr_expect(dev_has_dtype(d, TSH_f64));
  cr_expect_not(dev_has_dtype(d, -1));
  cr_expect_not(dev_has_dtype(d, TSH_NDTYPE));
  dev_set_free(set);
}

Test(call, bytes_go_to_the_device_and_back) {
  dev_set *set = fake_set(NULL);
  dev *d = dev_builtin(set);
  char back[4] = "";
  tsh_buf *buf;
  cr_assert_eq(dev_alloc(d, 16, &buf, NULL), TSH_OK);
  cr_expect_eq(dev_write(d, buf, 8, "abc", 4, NULL), TSH_OK);
  cr_expect_eq(dev_read(d, buf, 8, back, 4, NULL), TSH_OK);
  cr_expect_str_eq(back, "abc");
  fake.log[0] = '\0';
  cr_expect_eq(dev_write(d, buf, 16, "", 0, NULL), TSH_OK);
  cr_expect_eq(dev_read(d, buf, 16, back, 0, NULL), TSH_OK);
  cr_expect_str_eq(fake.log, ""); /* no call for nothing */
  dev_free(d, buf);
  dev_free(d, NULL);
  dev_drop(d, NULL);
  dev_set_free(set);
}

Test(call, a_buffer_that_no_device_gives_is_not_asked_for) {
  dev_set *set = fake_set(NULL);
  dev *d = dev_builtin(set);
  tsh_buf *buf;
  tsh_err err;
  cr_expect_eq(dev_alloc(d, 0, &buf, &err), TSH_EINVAL);
  cr_expect_null(buf);
  cr_expect_eq(dev_alloc(d, UINT64_MAX, &buf, &err), TSH_ENOMEM);
  cr_expect_null(buf);
  cr_expect_str_eq(err.text,
                   "out of memory on cpu: need 16384 PiB, one buffer may have "
                   "1 TiB");
  dev_set_free(set);
}

Test(call, a_failure_without_a_text_gets_one) {
  dev_set *set = fake_set(NULL);
  dev *d = dev_builtin(set);
  tsh_kernel kernel = {.size = sizeof kernel};
  tsh_batch batch = {.size = sizeof batch};
  tsh_memstat stat;
  uint64_t ticket;
  tsh_prog *prog = (tsh_prog *)&kernel;
  tsh_buf *buf;
  tsh_err err;
  char byte = 0;
  fake.fails = TSH_EDEVICE;
#define FAILS(call, entry)                                                     \
  cr_expect_eq(call, TSH_EDEVICE);                                             \
  cr_expect_eq(err.code, TSH_EDEVICE);                                         \
  cr_expect_str_eq(err.text, "cpu: " entry ": the device failed or was lost")
  FAILS(dev_alloc(d, 1, &buf, &err), "alloc");
  FAILS(dev_compile(d, &kernel, &prog, &err), "compile");
  cr_expect_null(prog);
  FAILS(dev_submit(d, &batch, &ticket, &err), "submit");
  FAILS(dev_read(d, NULL, 0, &byte, 1, &err), "copy");
  FAILS(dev_memstat(d, 0, &stat, &err), "memstat");
  FAILS(dev_wait(d, 7, &err), "wait");
#undef FAILS
  cr_expect_eq(dev_wait(d, 7, NULL), TSH_EDEVICE);
  dev_set_free(set);
}

Test(call, a_status_that_is_none_is_a_failure_of_the_device) {
  dev_set *set = fake_set(NULL);
  dev *d = dev_builtin(set);
  tsh_buf *buf;
  tsh_err err;
  fake.fails = -3;
  cr_expect_eq(dev_alloc(d, 1, &buf, &err), TSH_EDEVICE);
  cr_expect_eq(err.code, TSH_EDEVICE);
  fake.fails = TSH_NSTATUS;
  cr_expect_eq(dev_alloc(d, 1, &buf, &err), TSH_EDEVICE);
  cr_expect_null(buf);
  dev_set_free(set);
}

Test(call, faults_of_memory_are_errors_with_a_sentence) {
  static const struct {
    const char *fault;
    tsh_status code;
    const char *text;
  } all[] = {
      {"alloc_fails.so", TSH_ENOMEM, "the fault device is full"},
      {"alloc_nothing.so", TSH_EDEVICE, "x:0: alloc gave no result"},
      {"status_wild.so", TSH_EDEVICE,
       "x:0: alloc: the device failed or was lost"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char *folder = fake_folder();
    dev_set *set;
    dev *d;
    tsh_buf *buf;
    tsh_err err;
    int ok = 0;
    fake_link(folder, "x.so", all[i].fault);
    set = fake_set(folder);
    d = fake_get(set, "x");
    for (int k = 0; k < 6; k++) {
      tsh_status rc = dev_alloc(d, 100, &buf, &err);
      cr_expect_eq(buf != NULL, rc == TSH_OK);
      ok += rc == TSH_OK;
      dev_free(d, buf);
      if (rc == TSH_OK) continue;
      cr_expect_eq(rc, all[i].code);
      cr_expect_str_eq(err.text, all[i].text);
    }
    cr_expect_eq(ok, i == 0 ? 4 : 0); /* every third fails */
    dev_set_free(set);
    fake_remove(folder);
  }
}

Test(call, wait_goes_on_in_slices_of_50_ms) {
  dev_set *set = fake_set(NULL);
  dev *d = dev_builtin(set);
  tsh_err err;
  fake.pending = 2;
  fake.log[0] = '\0';
  cr_expect_eq(dev_wait(d, 9, &err), TSH_OK);
  cr_expect_str_eq(fake.log, "wait 0 9 50, wait 0 9 50, wait 0 9 50, ");
  fake.pending = 1;
  fake.fails = TSH_EINDEX;
  cr_expect_eq(dev_wait(d, 9, &err), TSH_EINDEX);
  cr_expect_eq(err.launch, 3);
  cr_expect_eq(err.ticket, 9);
  cr_expect_eq(err.at, 41);
  dev_set_free(set);
}

Test(call, memory_is_counted_where_the_plugin_counts) {
  dev_set *set = fake_set(NULL);
  tsh_memstat stat;
  cr_expect_eq(dev_memstat(dev_builtin(set), 0, &stat, NULL), TSH_OK);
  cr_expect_eq(stat.used, 10);
  cr_expect_eq(stat.cached, 5);
  cr_expect_eq(dev_memstat(dev_builtin(set), 1, &stat, NULL), TSH_OK);
  cr_expect_eq(stat.cached, 0);
  dev_set_free(set);
}

Test(call, missing_entries_are_told_apart_from_failures) {
  dev_set *set;
  tsh_memstat stat;
  tsh_buf *buf;
  tsh_err err;
  fake.bare = 1;
  fake.pointer[0] = 1;
  set = fake_set(NULL);
  cr_expect_eq(dev_memstat(dev_builtin(set), 0, &stat, &err), TSH_EUNSUPPORTED);
  cr_expect_str_eq(err.text, "cpu does not count its memory");
  cr_expect_eq(stat.used, 0);
  cr_assert_eq(dev_alloc(dev_builtin(set), 1, &buf, NULL), TSH_OK);
  cr_expect_null(dev_host_ptr(dev_builtin(set), buf));
  dev_free(dev_builtin(set), buf);
  dev_set_free(set);
}

Test(call, dev_fail_fills_all_fields_and_cuts_a_long_text) {
  tsh_err err;
  char *text = malloc(3001);
  memset(&err, 0x55, sizeof err);
  memset(text, 'x', 3000);
  text[3000] = '\0';
  cr_expect_eq(dev_fail(&err, TSH_EIO, "%s", text), TSH_EIO);
  cr_expect_eq(err.size, sizeof err);
  cr_expect_eq(err.code, TSH_EIO);
  cr_expect_eq(err.launch, TSH_NO_LAUNCH);
  cr_expect_eq(err.ticket, 0);
  cr_expect_eq(err.at, -1);
  cr_expect_eq(strlen(err.text), sizeof err.text - 1);
  cr_expect_eq(dev_fail(NULL, TSH_EIO, "x"), TSH_EIO);
  free(text);
}

Test(call, every_status_has_a_text) {
  cr_expect_str_eq(dev_status_text(TSH_OK), "good");
  cr_expect_str_eq(dev_status_text(TSH_ENOMEM), "out of memory");
  cr_expect_str_eq(dev_status_text(TSH_EIO),
                   "a file could not be read or written");
  cr_expect_str_eq(dev_status_text(-1), "an unknown failure");
  cr_expect_str_eq(dev_status_text(TSH_NSTATUS), "an unknown failure");
}
