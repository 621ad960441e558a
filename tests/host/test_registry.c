/* Names of devices, opening at first use, and what is listed. */
#define _XOPEN_SOURCE 700
#include "fake.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The error of a name that must be unknown, without "unknown device ". */
static void unknown(dev_set *set, const char *name, const char *text) {
  tsh_err err;
  dev *d;
  cr_expect_eq(dev_get(set, name, &d, &err), TSH_ENODEV);
  cr_expect_null(d);
  cr_expect_eq(err.code, TSH_ENODEV);
  cr_assert_eq(strncmp(err.text, "unknown device ", 15), 0, "%s", err.text);
  cr_expect_str_eq(err.text + 15, text);
  cr_expect_eq(dev_get(set, name, &d, NULL), TSH_ENODEV);
}

/* One folder whose x.so is the fault. */
static dev_set *set_with(const char *fault, char **folder) {
  *folder = fake_folder();
  fake_link(*folder, "x.so", fault);
  return fake_set(*folder);
}

Test(registry, a_device_has_one_name_and_two_ways_to_say_it) {
  char *folder;
  dev_set *set;
  fake.count = 2;
  set = set_with("good.so", &folder);
  cr_expect_eq(fake_get(set, "cpu"), fake_get(set, "cpu:0"));
  cr_expect_eq(fake_get(set, "cpu"), dev_builtin(set));
  cr_expect_str_eq(dev_name(fake_get(set, "cpu:0")), "cpu");
  cr_expect_str_eq(dev_name(fake_get(set, "x")), "x:0");
  cr_expect_eq(fake_get(set, "x"), fake_get(set, "x:0"));
  cr_expect_str_eq(dev_name(fake_get(set, "cpu:1")), "cpu:1");
  cr_expect_neq(fake_get(set, "x:1"), fake_get(set, "x:0"));
  dev_set_free(set);
  fake_remove(folder);
}

Test(registry, ids_follow_the_order_of_opening) {
  char *folder;
  dev_set *set;
  fake.count = 2;
  set = set_with("good.so", &folder);
  cr_expect_eq(dev_id(fake_get(set, "x:1")), 1);
  cr_expect_eq(dev_id(fake_get(set, "cpu:1")), 2);
  cr_expect_eq(dev_id(fake_get(set, "x:0")), 3);
  cr_expect_eq(dev_id(fake_get(set, "x:1")), 1);
  cr_expect_eq(dev_id(fake_get(set, "cpu")), 0);
  dev_set_free(set);
  fake_remove(folder);
}

Test(registry, devices_are_closed_once_last_opened_first) {
  dev_set *set;
  fake.count = 3;
  set = fake_set(NULL);
  fake_get(set, "cpu:2");
  fake_get(set, "cpu:2");
  dev_set_free(set);
  cr_expect_str_eq(fake.log, "open 0, open 2, close 2, close 0, ");
}

Test(registry, an_unknown_name_is_told_with_the_known_ones_and_the_reason) {
  char *folder;
  dev_set *set = set_with("good.so", &folder);
  unknown(set, "cuda:1",
          "'cuda:1': no plugin file cuda.so was found; known: cpu, x");
  unknown(set, "cpu:1", "'cpu:1': plugin cpu has 1 device; known: cpu, x");
  unknown(set, "x:2", "'x:2': plugin x has 2 devices; known: cpu, x:0, x:1");
  unknown(set, "X", "'X': no plugin file X.so was found; known: cpu, x:0, x:1");
  dev_set_free(set);
  fake_remove(folder);
}

Test(registry, a_name_that_is_none_is_told_how_names_look) {
  static const char *const bad[] = {"",
                                    ":",
                                    ":1",
                                    "cpu:",
                                    "cpu:x",
                                    "cpu:00",
                                    "cpu:01",
                                    "cpu: 0",
                                    "cpu:-1",
                                    "cpu:1:2",
                                    "cpu:4294967296",
                                    "cpu:99999999999999999999999999"};
  dev_set *set = fake_set(NULL);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[128];
    snprintf(text, sizeof text, "'%s': names are like cpu or npu:1; known: cpu",
             bad[i]);
    unknown(set, bad[i], text);
  }
  unknown(set, "cpu:4294967295",
          "'cpu:4294967295': plugin cpu has 1 device; known: cpu");
  dev_set_free(set);
}

Test(registry, a_name_without_end_does_not_flood_the_error) {
  dev_set *set = fake_set(NULL);
  char *name = malloc(100001);
  tsh_err err;
  dev *d;
  memset(name, 'a', 100000);
  name[100000] = '\0';
  cr_expect_eq(dev_get(set, name, &d, &err), TSH_ENODEV);
  cr_expect_lt(strlen(err.text), sizeof err.text);
  free(name);
  dev_set_free(set);
}

/* ---- lazy --------------------------------------------------------------- */
Test(registry, nothing_is_opened_before_its_scheme_is_named) {
  char *folder = fake_folder();
  char *marker = fake_path(folder, "marker"), *text;
  char pid[32];
  dev_set *set;
  dev_plugin_info row;
  dev_info info;
  dev *d;
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  setenv("TSH_TEST_MARKER", marker, 1);
  setenv("TSH_TEST_HOST", pid, 1); /* not where the file is probed */
  fake_link(folder, "x.so", "good.so");
  set = fake_set(folder);
  for (uint32_t i = 0; dev_plugin_at(set, i, &row); i++)
    cr_expect_str_eq(row.state, i == 0 ? "loaded" : "not loaded");
  dev_get(set, "cpu:7", &d, NULL);
  dev_get(set, "y", &d, NULL);
  text = fake_read(marker);
  cr_expect_str_eq(text, "");
  free(text);
  for (uint32_t i = 0; dev_info_at(set, i, &info); i++)
    cr_expect_eq(info.open, i == 0);
  dev_get(set, "x:9", &d, NULL);
  text = fake_read(marker);
  cr_expect_str_eq(text, "loaded 0\n"); /* listed, but no device opened */
  free(text);
  fake_get(set, "x:1");
  fake_get(set, "x:1");
  dev_set_free(set);
  text = fake_read(marker);
  cr_expect_str_eq(text, "loaded 0\nopen 1\nclose 1\n");
  free(text);
  free(marker);
  fake_remove(folder);
}

/* ---- plugins without devices, and devices that lie ---------------------- */
static void without_device(const char *fault, const char *said) {
  char *folder;
  char text[256];
  dev_set *set = set_with(fault, &folder);
  dev_info info;
  snprintf(text, sizeof text, "'x:0': plugin x has no device%s%s; known: cpu",
           *said ? ": " : "", said);
  unknown(set, "x:0", text);
  cr_expect(dev_info_at(set, 1, &info));
  cr_expect_null(info.name);
  cr_expect_str_eq(info.reason, said);
  cr_expect_not(dev_info_at(set, 2, &info));
  cr_expect_str_eq(fake_row(set, "x").state, "loaded");
  dev_set_free(set);
  fake_remove(folder);
}

Test(registry, a_plugin_that_counts_no_device_says_why) {
  without_device("none.so", "");
  without_device("none_said.so", "no driver: libfault.so.1 not found");
}

Test(registry, a_sentence_without_end_gets_one) {
  char *folder;
  dev_set *set = set_with("none_unended.so", &folder);
  dev_info info;
  tsh_err err;
  dev *d;
  cr_expect_eq(dev_get(set, "x", &d, &err), TSH_ENODEV);
  cr_expect_eq(strlen(err.text), sizeof err.text - 1);
  cr_expect(dev_info_at(set, 1, &info));
  cr_expect_eq(strlen(info.reason), sizeof err.text - 1);
  cr_expect_null(strchr(info.reason, '\n'));
  dev_set_free(set);
  fake_remove(folder);
}

Test(registry, a_plugin_that_counts_four_billion_devices_gets_some) {
  char *folder;
  dev_set *set = set_with("count_huge.so", &folder);
  dev_info info;
  uint32_t n = 0;
  while (dev_info_at(set, n, &info)) n++;
  cr_expect_eq(n, 1 + 256);
  dev_set_free(set);
  fake_remove(folder);
}

Test(registry, props_that_fail_leave_the_device_unusable) {
  char *folder;
  dev_set *set = set_with("props_fail.so", &folder);
  dev_info info;
  tsh_err err;
  dev *d;
  cr_expect_eq(dev_get(set, "x", &d, &err), TSH_ENODEV);
  cr_expect_str_eq(err.text, "device 'x:0' cannot be used: the device fell "
                             "off the bus");
  cr_expect(dev_info_at(set, 2, &info));
  cr_expect_null(info.name);
  cr_expect_str_eq(info.reason, "the device fell off the bus");
  dev_set_free(set);
  fake_remove(folder);
}

Test(registry, absurd_props_are_refused_one_by_one) {
  static const char *const why[] = {
      "its align is 96, not a power of two from 64 on",
      "its align is 32, not a power of two from 64 on",
      "its max_rank is 99, not 8 to 12",
      "its max_rank is 7, not 8 to 12",
      "it has no op_types",
      "it cannot store all of bool, i32, i64, f32",
      "its limits of 1 arguments and 64 instructions are too low for one op",
      ""};
  char *folder;
  dev_set *set = set_with("props_absurd.so", &folder);
  dev_info info;
  dev *d;
  char name[8];
  for (uint32_t i = 0; i < 8; i++) {
    cr_expect(dev_info_at(set, 1 + i, &info));
    cr_expect_str_eq(info.reason, why[i]);
    cr_expect_eq(info.name != NULL, i == 7);
    snprintf(name, sizeof name, "x:%u", (unsigned)i);
    cr_expect_eq(dev_get(set, name, &d, NULL), i == 7 ? TSH_OK : TSH_ENODEV);
  }
  dev_set_free(set);
  fake_remove(folder);
}

Test(registry, unlimited_props_become_the_most_that_the_form_can_hold) {
  char *folder;
  dev_set *set = set_with("props_absurd.so", &folder);
  const tsh_props *p = dev_props(fake_get(set, "x:7"));
  cr_expect_eq(p->size, sizeof *p);
  cr_expect_eq(p->nops, TSH_NOPS);
  cr_expect_eq(p->max_rank, TSH_MAX_RANK);
  cr_expect_eq(p->max_args, UINT16_MAX);
  cr_expect_eq(p->max_insts, UINT16_MAX);
  cr_expect_eq(p->max_phases, UINT16_MAX);
  cr_expect_eq(p->max_loop, INT64_MAX);
  cr_expect_eq(p->max_phase_inner, INT64_MAX);
  cr_expect_eq(p->max_alloc, INT64_MAX);
  cr_expect_eq(strlen(p->name), sizeof p->name - 1);
  cr_expect_eq(p->name[1], ' '); /* was the escape of a terminal */
  dev_set_free(set);
  fake_remove(folder);
}

Test(registry, an_open_that_fails_is_told_and_can_be_tried_again) {
  static const struct {
    const char *fault;
    tsh_status code;
    const char *text;
  } all[] = {
      {"open_fails.so", TSH_EDEVICE,
       "x:1: open: the device failed or was lost"},
      {"open_says.so", TSH_ENOMEM, "the device is in use by process 42"},
      {"open_nothing.so", TSH_EDEVICE, "x:1: open gave no device"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char *folder;
    dev_set *set = set_with(all[i].fault, &folder);
    tsh_err err;
    dev *d;
    for (int again = 0; again < 2; again++) {
      cr_expect_eq(dev_get(set, "x:1", &d, &err), all[i].code);
      cr_expect_null(d);
      cr_expect_eq(err.code, all[i].code);
      cr_expect_str_eq(err.text, all[i].text);
    }
    dev_set_free(set);
    fake_remove(folder);
  }
}

/* ---- listings ----------------------------------------------------------- */
Test(registry, lent_names_stay_good_while_devices_come_and_go) {
  dev_set *set;
  dev_info first, info;
  fake.count = 2;
  set = fake_set(NULL);
  cr_expect(dev_info_at(set, 1, &first));
  fake.count = 1;
  cr_expect(dev_info_at(set, 0, &info));
  cr_expect_not(dev_info_at(set, 1, &info));
  fake.count = 4;
  cr_expect(dev_info_at(set, 0, &info));
  cr_expect(dev_info_at(set, 3, &info));
  cr_expect_str_eq(info.name, "cpu:3");
  cr_expect_str_eq(info.props.name, "fake 3");
  cr_expect_eq(info.open, 0);
  cr_expect_str_eq(first.name, "cpu:1");
  dev_set_free(set);
}

Test(registry, the_cancel_word_is_the_one_that_plugins_read) {
  dev_set *set = fake_set(NULL);
  cr_expect_eq(fake.cancel, dev_cancel_word(set));
  cr_expect_eq(*fake.cancel, 0);
  dev_set_free(set);
}
