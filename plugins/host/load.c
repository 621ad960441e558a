/* load.c - opens plugin files and decides whether to trust their table. The
 * only file that knows dlopen. Nothing is ever closed again: a plugin's
 * threads may still run in its code. */
#include "set.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The table ends behind the mandatory entries at the least. */
enum { MANDATORY_BYTES = offsetof(tsh_plugin, host_ptr) };

void dev_refuse(dev_plugin *p, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(p->reason, sizeof p->reason, format, args);
  va_end(args);
  dev_clean(p->reason, sizeof p->reason);
  p->state = DEV_REFUSED;
}

/* The name of a mandatory entry that is NULL, or NULL. */
static const char *missing(const tsh_plugin *table) {
#define ROW(entry)                                                             \
  { #entry, offsetof(tsh_plugin, entry) }
  static const struct {
    const char *name;
    size_t at;
  } rows[] = {ROW(count), ROW(props),  ROW(open), ROW(close),
              ROW(alloc), ROW(free),   ROW(copy), ROW(compile),
              ROW(drop),  ROW(submit), ROW(wait)};
#undef ROW
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    void (*entry)(void);
    memcpy(&entry, (const char *)table + rows[i].at, sizeof entry);
    if (!entry) return rows[i].name;
  }
  return NULL;
}

/* In 0.x every minor may change everything. */
static int speaks(uint16_t major, uint16_t minor) {
  return major == TSH_ABI_MAJOR && (major > 0 || minor == TSH_ABI_MINOR);
}

/* Copies what the host knows of the plugin's table; the rest stays NULL. */
static void copy_table(tsh_plugin *own, const tsh_plugin *theirs) {
  size_t bytes = theirs->size < sizeof *own ? theirs->size : sizeof *own;
  /* Behind the numbers are only pointers: half of one is none. */
  bytes -= bytes % sizeof(void *);
  memcpy(own, theirs, bytes);
  own->size = (uint32_t)bytes;
}

static void accept_table(dev_plugin *p, const tsh_plugin *theirs) {
  const char *hole;
  if (!theirs) {
    dev_refuse(p, "tsh_plugin_query gave no table");
  } else if (!speaks(theirs->major, theirs->minor)) {
    dev_refuse(p, "it is made for plugin ABI %u.%u, this tsh has %u.%u",
               theirs->major, theirs->minor, TSH_ABI_MAJOR, TSH_ABI_MINOR);
  } else if (theirs->size < MANDATORY_BYTES) {
    dev_refuse(p, "its table has %u bytes, the mandatory entries need %u",
               (unsigned)theirs->size, (unsigned)MANDATORY_BYTES);
  } else {
    copy_table(&p->table, theirs);
    hole = missing(&p->table);
    if (hole) {
      dev_refuse(p, "its table has no entry '%s'", hole);
      return;
    }
    snprintf(p->version, sizeof p->version, "%.*s", (int)sizeof p->version - 1,
             p->table.version ? p->table.version : "");
    dev_clean(p->version, sizeof p->version);
    p->state = DEV_LOADED;
  }
}

/* The path stands beside the reason wherever it is shown, so only what
 * dlerror says after it is kept. */
static void refuse_dl(dev_plugin *p) {
  const char *text = dlerror();
  size_t n = strlen(p->path);
  if (!text) text = "it could not be opened";
  if (strncmp(text, p->path, n) == 0 && strncmp(text + n, ": ", 2) == 0)
    text += n + 2;
  dev_refuse(p, "%s", text);
}

static dev_query open_file(dev_plugin *p) {
  if (!dev_file_whole(p->path)) {
    dev_refuse(p, "the file is cut short");
    return NULL;
  }
  /* NOW: a missing symbol is an error here, not in the middle of a training.
   * LOCAL: plugins do not see each other's names. */
  void *library = dlopen(p->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void *symbol = library ? dlsym(library, "tsh_plugin_query") : NULL;
  dev_query query;
  if (!symbol) {
    refuse_dl(p);
    return NULL;
  }
  memcpy(&query, &symbol, sizeof query); /* C has no cast for this */
  return query;
}

void dev_load_here(dev_plugin *p, int steps) {
  dev_query query = p->query ? p->query : open_file(p);
  const tsh_plugin *table;
  if (!query) return;
  dev_step(steps, DEV_STEP_OPENED);
  table = query(TSH_ABI_MAJOR, TSH_ABI_MINOR);
  dev_step(steps, DEV_STEP_ASKED);
  accept_table(p, table);
}

void dev_load(dev_plugin *p) {
  if (p->state != DEV_NOT_LOADED) return;
  if (!p->query && dev_file_whole(p->path)) dev_probe_file(p);
  if (p->state == DEV_NOT_LOADED) dev_load_here(p, -1);
}
