/* main.c - tsh-conform: proves that a plugin keeps the promises of
 * tsh_plugin.h. Arguments, loading, the two rounds, the last line. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cf.h"

enum { GOOD = 0, BAD = 1, USAGE = 2 };

static const char usage[] =
    "usage: tsh-conform PLUGIN.so [--device N] [--list] [--only WORD] [-v]\n"
    "                   [--selftest]\n"
    "  --device N   the device of the plugin that is tested, 0 by default\n"
    "  --list       name the groups of cases, run none\n"
    "  --only WORD  run the groups whose name has WORD in it\n"
    "  -v           a line for every group, not only for failures\n"
    "  --selftest   plant faults into the plugin; each must be found\n";

typedef struct {
  const char *path, *only;
  uint32_t device;
  int list, verbose, selftest;
} options;

static int parse(int argc, char **argv, options *o) {
  char *end = "";
  memset(o, 0, sizeof *o);
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i];
    int more = i + 1 < argc;
    if (!strcmp(a, "--device") && more)
      o->device = (uint32_t)strtoul(argv[++i], &end, 10);
    else if (!strcmp(a, "--only") && more)
      o->only = argv[++i];
    else if (!strcmp(a, "--list"))
      o->list = 1;
    else if (!strcmp(a, "--selftest"))
      o->selftest = 1;
    else if (!strcmp(a, "-v"))
      o->verbose = 1;
    else if (*a != '-' && !o->path)
      o->path = a;
    else
      return 0;
  }
  return o->path && !*end;
}

/* ---- loading ------------------------------------------------------------ */
static void *open_library(const char *path) {
  char here[4096];
  if (strchr(path, '/')) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  /* A bare name is a file here, never one of the search path. */
  if (snprintf(here, sizeof here, "./%s", path) >= (int)sizeof here)
    return NULL;
  return dlopen(here, RTLD_NOW | RTLD_LOCAL);
}

/* Up to a table whose numbers and mandatory entries can be trusted. The
 * library stays open: its threads may outlive the device. */
static int load(const char *path, cf *t) {
  void *lib = open_library(path), *symbol;
  if (!lib) {
    fprintf(stderr, "tsh-conform: %s\n", dlerror());
    return 0;
  }
  symbol = dlsym(lib, "tsh_plugin_query");
  if (!symbol) {
    fprintf(stderr, "tsh-conform: %s has no tsh_plugin_query\n", path);
    return 0;
  }
  memcpy(&t->query, &symbol, sizeof symbol);
  t->p = t->query(TSH_ABI_MAJOR, TSH_ABI_MINOR);
  if (!t->p) {
    fprintf(stderr, "tsh-conform: %s: the query gives no table\n", path);
    return 0;
  }
  if (t->p->major != TSH_ABI_MAJOR || t->p->minor != TSH_ABI_MINOR)
    fprintf(stderr, "tsh-conform: %s has version %u.%u, this is for %d.%d\n",
            path, t->p->major, t->p->minor, TSH_ABI_MAJOR, TSH_ABI_MINOR);
  /* Before 1.0 every minor may change anything. */
  if (t->p->major != TSH_ABI_MAJOR ||
      (TSH_ABI_MAJOR == 0 && t->p->minor != TSH_ABI_MINOR))
    return 0;
  if (t->p->size < offsetof(tsh_plugin, host_ptr)) {
    fprintf(stderr, "tsh-conform: %s: a table of %u bytes lacks entries\n",
            path, t->p->size);
    return 0;
  }
  return 1;
}

static int has_device(const char *path, cf *t) {
  tsh_err err;
  uint32_t n;
  cf_err_init(&err);
  n = t->p->count(&err);
  if (t->index < n) return 1;
  fprintf(stderr, "tsh-conform: %s has %u device%s%s%s\n", path, n,
          n == 1 ? "" : "s", *err.text ? ": " : "", err.text);
  return 0;
}

/* ---- the two rounds ----------------------------------------------------- */
/* The second one with the table cut to the mandatory entries: nobody may need
 * the others. */
static void run_cut(cf *t) {
  tsh_plugin cut;
  const tsh_plugin *whole = t->p;
  memset(&cut, 0, sizeof cut);
  memcpy(&cut, whole, offsetof(tsh_plugin, host_ptr));
  cut.size = offsetof(tsh_plugin, host_ptr);
  t->p = &cut;
  t->masked = 1;
  puts("again with the mandatory entries only");
  cf_run_groups(t, "memory queue value form dot error");
  t->p = whole;
  t->masked = 0;
}

int main(int argc, char **argv) {
  options o;
  cf t;
  memset(&t, 0, sizeof t);
  if (!parse(argc, argv, &o)) {
    fputs(usage, stderr);
    return USAGE;
  }
  t.path = o.path;
  t.index = o.device;
  t.only = o.only;
  t.list = o.list;
  t.verbose = o.verbose;
  if (!load(o.path, &t) || !has_device(o.path, &t)) return USAGE;
  cf_watch(&t);
  if (o.selftest) return cf_selftest(&t) ? GOOD : BAD;
  cf_run_groups(&t, NULL);
  if (o.list) return GOOD;
  if (!o.only) run_cut(&t);
  printf("%" PRIu64 " passed, %" PRIu64 " failed\n", t.passed, t.failed);
  return t.failed ? BAD : GOOD;
}
