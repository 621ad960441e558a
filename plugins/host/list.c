/* list.c - plugins and devices for listings. A plugin's failure is a row with
 * a reason here, never an error. */
#include "set.h"

#include <string.h>

int dev_plugin_at(dev_set *set, uint32_t i, dev_plugin_info *out) {
  static const char *const states[] = {"not loaded", "loaded", "refused",
                                       "shadowed"};
  const dev_plugin *p;
  if (i >= set->nplugin) return 0;
  p = set->plugin[i];
  out->scheme = p->scheme;
  out->path = p->path;
  out->state = states[p->state];
  out->reason = p->reason;
  out->version = p->version;
  return 1;
}

const char *dev_folder_at(const dev_set *set, uint32_t i) {
  return i < set->nfolder ? set->folder[i] : NULL;
}

static int is_device(const dev_plugin *p) {
  return p->state != DEV_SHADOWED && p->scheme[0] != '\0';
}

/* Devices may have come or gone since the last listing. */
static void look_again(dev_set *set) {
  for (uint32_t i = 0; i < set->nplugin; i++) {
    dev_plugin *p = set->plugin[i];
    if (!is_device(p)) continue;
    dev_load(p);
    if (p->state == DEV_LOADED) dev_count(p, NULL); /* failed: see p->none */
  }
}

/* Rows of a plugin: one per device, or one that says why there is none. */
static uint32_t rows(const dev_plugin *p) {
  if (!is_device(p)) return 0;
  return p->state == DEV_LOADED && p->count ? p->count : 1;
}

static void fill(dev_plugin *p, uint32_t k, dev_info *out) {
  memset(out, 0, sizeof *out);
  out->scheme = p->scheme;
  if (p->state != DEV_LOADED) {
    out->reason = p->reason;
  } else if (p->count == 0) {
    out->reason = p->none;
  } else {
    dev *d = p->dev[k];
    int usable = dev_probe(d);
    out->name = usable ? d->name : NULL;
    out->open = d->handle != NULL;
    out->reason = d->reason;
    if (usable) out->props = d->props;
  }
}

int dev_info_at(dev_set *set, uint32_t i, dev_info *out) {
  if (i == 0 || !set->listed) look_again(set);
  set->listed = 1;
  for (uint32_t k = 0; k < set->nplugin; k++) {
    uint32_t n = rows(set->plugin[k]);
    if (i < n) {
      fill(set->plugin[k], i, out);
      return 1;
    }
    i -= n;
  }
  return 0;
}
