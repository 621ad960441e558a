/* run.c - opening the device and running groups on it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cf.h"

typedef struct {
  const char *name, *doc;
  void (*test)(cf *t);
} group;

#define CF_X(name, doc) {#name, doc, cf_test_##name},
static const group groups[] = {CF_GROUPS(CF_X)};
#undef CF_X
enum { NGROUP = sizeof groups / sizeof *groups };

int cf_open(cf *t, tsh_err *err) {
  memset(&t->host, 0xee, sizeof t->host);
  t->host.host = (tsh_host){.size = sizeof t->host, .cancel = &t->cancel};
  t->dev = NULL;
  t->ticket = 0;
  cf_err_init(err);
  memset(&t->props, 0, sizeof t->props);
  t->props.size = sizeof t->props;
  if (t->p->props(t->index, &t->props, err) != TSH_OK) return 0;
  return t->p->open(t->index, &t->host.host, &t->dev, err) == TSH_OK && t->dev;
}

void cf_close(cf *t) {
  if (t->dev) t->p->close(t->dev);
  t->dev = NULL;
}

/* "map" of "map/f32/add" when it names a group: only that one need run. */
static int is_wanted(const cf *t, const group *g) {
  size_t n = t->only ? strcspn(t->only, "/") : 0;
  if (!n) return 1;
  for (int i = 0; i < NGROUP; i++)
    if (strlen(groups[i].name) == n && !strncmp(groups[i].name, t->only, n))
      return g == &groups[i];
  return 1;
}

/* 1 when `words` (NULL: all) names the group. */
static int is_named(const char *words, const char *name) {
  size_t n = strlen(name);
  if (!words) return 1;
  for (const char *w = words; *w; w += strcspn(w, " "), w += strspn(w, " "))
    if (!strncmp(w, name, n) && (w[n] == ' ' || !w[n])) return 1;
  return 0;
}

static void report(const cf *t, const group *g, uint64_t passed,
                   uint64_t failed, int64_t ns) {
  passed = t->passed - passed;
  failed = t->failed - failed;
  if (t->quiet || t->list || passed + failed == 0) return;
  printf("%-4s  %-7s %8" PRIu64 " passed, %" PRIu64 " failed, %.1f s  (%s)\n",
         failed ? "FAIL" : "ok", g->name, passed, failed, (double)ns * 1e-9,
         g->doc);
  fflush(stdout);
}

int cf_run_groups(cf *t, const char *words) {
  tsh_err err;
  if (!cf_open(t, &err)) {
    cf_fail(t, "device %u does not open: %s", t->index, err.text);
    return 0;
  }
  for (int i = 0; i < NGROUP && t->dev; i++) {
    uint64_t passed = t->passed, failed = t->failed;
    int64_t start = cf_now();
    if (!is_named(words, groups[i].name) || !is_wanted(t, &groups[i])) continue;
    groups[i].test(t);
    report(t, &groups[i], passed, failed, cf_now() - start);
  }
  cf_close(t);
  return 1;
}
