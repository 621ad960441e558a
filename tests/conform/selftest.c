/* selftest.c - are the tests any good? The evaluator against known answers,
 * then the groups against a plugin into which one fault at a time is planted:
 * each must be found, and none where none is. */
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cf.h"

typedef struct {
  uint64_t passed, failed;
} score;

static void count(score *s, int good, const char *what) {
  *(good ? &s->passed : &s->failed) += 1;
  printf("%s  selftest/%s\n", good ? "ok" : "FAIL", what);
  fflush(stdout);
}

/* ---- the evaluator ------------------------------------------------------ */
/* The three published answers of Philox4x32-10. */
static int philox_is_right(void) {
  static const uint32_t counter[3][4] = {
      {0, 0, 0, 0},
      {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}};
  static const uint32_t key[3][2] = {
      {0, 0}, {UINT32_MAX, UINT32_MAX}, {0xa4093822, 0x299f31d0}};
  static const uint32_t want[3][4] = {
      {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
  for (int i = 0; i < 3; i++) {
    uint32_t out[4];
    cf_philox(counter[i], key[i], out);
    if (memcmp(out, want[i], sizeof out)) return 0;
  }
  return 1;
}

static int conversions_are_right(void) {
  return cf_from_double(TSH_f16, 65504) == 0x7bff &&
         cf_from_double(TSH_f16, 65519.99) == 0x7bff &&
         cf_from_double(TSH_f16, 65520) == 0x7c00 &&
         cf_from_double(TSH_f16, 0x1p-24) == 1 &&
         cf_from_double(TSH_f16, 0x1p-25) == 0 &&
         cf_from_double(TSH_f16, -0x1.8p-25) == 0x8001 &&
         cf_from_double(TSH_f16, 1 + 0x1p-11) == 0x3c00 &&
         cf_from_double(TSH_f16, 1 + 0x3p-11) == 0x3c02 &&
         cf_from_double(TSH_bf16, 1 + 0x1p-8 + 0x1p-40) == 0x3f81 &&
         cf_from_double(TSH_bf16, 0x1.ffp127) == 0x7f80 &&
         cf_to_double(TSH_f16, 0x3555) == 0x1.554p-2 &&
         cf_cast(TSH_i64, TSH_f32,
                 (UINT64_C(1) << 62) + (UINT64_C(1) << 38) + 1) == 0x5e800001 &&
         cf_cast(TSH_f32, TSH_i8, cf_from_double(TSH_f32, 300)) == 127 &&
         cf_cast(TSH_f32, TSH_u8, cf_from_double(TSH_f32, -3)) == 0 &&
         cf_cast(TSH_f32, TSH_i32, cf_from_double(TSH_f32, NAN)) == 0 &&
         cf_cast(TSH_i8, TSH_i32, 0x80) == 0xffffff80 &&
         cf_ulp(TSH_f32, 0, 0x80000000) == 1 &&
         cf_ulp(TSH_f32, 0x80000001, 1) == 3;
}

/* The evaluator's sum of n f32; NaN when it fails. */
static double sum_of(const float *x, int64_t n) {
  uint8_t *bytes = (uint8_t *)x, y[4];
  cf_mem in = {NULL, bytes, bytes, (uint64_t)n * sizeof *x, TSH_f32};
  cf_mem out = {NULL, y, y, sizeof y, TSH_f32};
  const int64_t one[1] = {1};
  cf_kern k;
  cf_job j;
  int64_t bad;
  cf_kern_init(&k, 1, 1);
  cf_arg(&k, TSH_f32, TSH_STRIDED);
  cf_arg(&k, TSH_f32, TSH_STRIDED);
  cf_load(&k, 0, 0);
  cf_inst(&k, TSH_OP_sum, TSH_f32, 0, 0, 0);
  cf_store(&k, 1, 1, TSH_ROW);
  cf_job_init(&j, &k, "sum");
  cf_job_extent(&j, &n);
  cf_job_arg(&j, 0, &in, 0, one);
  cf_job_arg(&j, 1, &out, 0, one);
  if (cf_eval(&j, &bad) != TSH_OK) return NAN;
  return cf_to_double(TSH_f32, cf_get(y, 0, TSH_f32));
}

/* sum of 1, 2^-24, 2^-24, ...: only the 16 lanes keep the small ones. */
static int lanes_are_right(void) {
  enum { N = 33 };
  float x[N] = {1};
  for (int i = 1; i < N; i++) x[i] = 0x1p-24F;
  /* Lane 0 loses its two; each of the other fifteen holds 2^-23. */
  return sum_of(x, N) == 1 + 15 * 0x1p-23;
}

/* Seven blocks, the last of one element, in units of 2^-24, which 1 loses:
 * ((1 + 1u) + (1u + 2u)) + ((1u + 0) + 1u) is 1 + 4u, then 1 + 6u. Blocks from
 * left to right give 1 + 4u, and so do those left at the end; and half a block
 * would keep the two elements that lane 0 of the first one loses. */
static int blocks_are_right(void) {
  enum { BLOCK = 4096, N = 6 * BLOCK + 1 };
  static const float units[7] = {0, 1, 1, 2, 1, 0, 1};
  static float x[N];
  for (int b = 1; b < 7; b++) x[b * BLOCK] = units[b] * 0x1p-24F;
  x[0] = 1;
  x[BLOCK / 2] = x[BLOCK / 2 + 16] = 0x1p-24F;
  return sum_of(x, N) == 1 + 6 * 0x1p-24;
}

/* The C library exports much; a file that is not there, nothing; this plugin
 * its entry. */
static int symbols_are_counted(const cf *t) {
  char other[64];
  Dl_info c;
  if (!dladdr((void *)(uintptr_t)strtoull, &c)) return 0;
  return cf_symbols(c.dli_fname, other, sizeof other) > 100 && *other &&
         cf_symbols("/nonexistent", other, sizeof other) == -1 &&
         cf_symbols(t->path, other, sizeof other) == 1 && !*other;
}

/* ---- the groups --------------------------------------------------------- */
#define CF_X(name, doc) #name,
static const char *const groups[] = {CF_GROUPS(CF_X)};
#undef CF_X
enum { NGROUP = sizeof groups / sizeof *groups };

/* Failed cases of the named groups with a fault planted. */
static uint64_t failures(const cf *t, int fault, const char *words) {
  cf mine = *t;
  mine.p = cf_fault_table(t->p, fault);
  mine.query = cf_fault_query;
  mine.only = NULL;
  mine.quiet = 1;
  mine.masked = 1;
  mine.passed = mine.failed = 0;
  mine.cancel = 0;
  cf_run_groups(&mine, words);
  return mine.failed + (mine.passed == 0);
}

static int is_named(const char *words, const char *name) {
  const char *at = strstr(words, name);
  size_t n = strlen(name);
  return at && (at == words || at[-1] == ' ') && (!at[n] || at[n] == ' ');
}

int cf_selftest(const cf *t) {
  static const struct {
    const char *name, *groups;
  } rows[] = {{"", ""},
#define CF_X(name, words) {#name, words},
              CF_FAULTS(CF_X)
#undef CF_X
  };
  score s = {0, 0};
  uint64_t before[NGROUP] = {0};
  count(&s, philox_is_right(), "evaluator/philox");
  count(&s, conversions_are_right(), "evaluator/conversions");
  count(&s, lanes_are_right(), "evaluator/lanes");
  count(&s, blocks_are_right(), "evaluator/blocks");
  count(&s, symbols_are_counted(t), "symbols");
  for (int g = 0; g < NGROUP; g++) {
    char what[64];
    int used = 0;
    for (int i = 1; i < CF_NFAULT; i++)
      used |= is_named(rows[i].groups, groups[g]);
    if (!used) continue;
    before[g] = failures(t, CF_FAULT_none, groups[g]);
    snprintf(what, sizeof what, "no_fault/%s", groups[g]);
    count(&s, before[g] == 0, what);
  }
  for (int i = 1; i < CF_NFAULT; i++) {
    int found = 1, idle = 0; /* what fails anyway is no discovery */
    for (int g = 0; g < NGROUP; g++) {
      if (!is_named(rows[i].groups, groups[g])) continue;
      found &= failures(t, i, groups[g]) > before[g];
      idle |= is_named("call order", groups[g]) && !cf_fault_saw_call();
    }
    if (idle)
      printf("skip  selftest/%s: the device has no such op\n", rows[i].name);
    else
      count(&s, found, rows[i].name);
  }
  printf("%" PRIu64 " passed, %" PRIu64 " failed\n", s.passed, s.failed);
  return s.failed == 0;
}
