/* registry.c - the set of plugins and the names of their devices. Decides
 * which file a scheme belongs to and which device a name means. */
#include "set.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the set ------------------------------------------------------------ */
static void plugin_free(dev_plugin *p) {
  if (!p) return;
  for (uint32_t i = 0; i < p->ndev; i++) {
    free(p->dev[i]->name);
    free(p->dev[i]);
  }
  free(p->dev);
  free(p->scheme);
  free(p->path);
  free(p);
}

/* NULL: no memory, and err says so. */
static dev_plugin *plugin_new(dev_set *set, const char *scheme,
                              const char *path, tsh_err *err) {
  dev_plugin **more;
  dev_plugin *p = calloc(1, sizeof *p);
  if (!p) goto out;
  p->set = set;
  p->scheme = dev_text("%s", scheme);
  p->path = dev_text("%s", path);
  more = realloc(set->plugin, (set->nplugin + 1) * sizeof *more);
  if (more) set->plugin = more;
  if (!p->scheme || !p->path || !more) goto out;
  return set->plugin[set->nplugin++] = p;
out:
  plugin_free(p);
  dev_fail(err, TSH_ENOMEM, "no memory for the plugin %s", path);
  return NULL;
}

/* The plugin that a scheme means: the first file found. A file that was never
 * worth opening (a dangling link) keeps a scheme only when no other has it. */
static dev_plugin *owner(const dev_set *set, const char *scheme, size_t n) {
  dev_plugin *refused = NULL;
  for (uint32_t i = 0; i < set->nplugin; i++) {
    dev_plugin *p = set->plugin[i];
    if (strncmp(p->scheme, scheme, n) != 0 || p->scheme[n] != '\0') continue;
    if (p->state == DEV_NOT_LOADED || p->state == DEV_LOADED) return p;
    if (p->state == DEV_REFUSED && !refused) refused = p;
  }
  return refused;
}

static int listed(const dev_set *set, const char *path) {
  for (uint32_t i = 0; i < set->nplugin; i++)
    if (strcmp(set->plugin[i]->path, path) == 0) return 1;
  return 0;
}

tsh_status dev_set_add(dev_set *set, const char *scheme, const char *path,
                       const char *problem, tsh_err *err) {
  const dev_plugin *first = owner(set, scheme, strlen(scheme));
  dev_plugin *p;
  if (listed(set, path)) return TSH_OK; /* a folder named twice */
  p = plugin_new(set, scheme, path, err);
  if (!p) return TSH_ENOMEM;
  if (problem) {
    p->state = DEV_REFUSED;
    snprintf(p->reason, sizeof p->reason, "%s", problem);
  } else if (first && first->state != DEV_REFUSED) {
    p->state = DEV_SHADOWED;
    snprintf(p->reason, sizeof p->reason, "%s%s%s", first->query ? scheme : "",
             first->query ? " is " : "found first: ", first->path);
  }
  return TSH_OK;
}

tsh_status dev_set_add_folder(dev_set *set, const char *path, tsh_err *err) {
  char *copy, **more;
  for (uint32_t i = 0; i < set->nfolder; i++)
    if (strcmp(set->folder[i], path) == 0) return TSH_OK;
  more = realloc(set->folder, (set->nfolder + 1) * sizeof *more);
  if (more) set->folder = more;
  copy = more ? dev_text("%s", path) : NULL;
  if (!copy) return dev_fail(err, TSH_ENOMEM, "no memory for a plugin path");
  set->folder[set->nfolder++] = copy;
  return TSH_OK;
}

/* The builtin is judged like any plugin, and its device 0 opened at once: all
 * that has no other place runs there. */
static tsh_status add_builtin(dev_set *set, const dev_options *options,
                              tsh_err *err) {
  const char *scheme = options->scheme ? options->scheme : "cpu";
  dev_plugin *p = plugin_new(set, scheme, "built in", err);
  tsh_status rc;
  if (!p) return TSH_ENOMEM;
  p->query = options->builtin;
  dev_load(p);
  if (p->state != DEV_LOADED)
    return dev_fail(err, TSH_ENODEV, "the device '%s' that is built in: %s",
                    p->scheme, p->reason);
  rc = dev_count(p, err);
  if (rc != TSH_OK) return rc;
  if (p->count == 0)
    return dev_fail(err, TSH_ENODEV, "no device '%s': %s", p->scheme, p->none);
  return dev_open(p->dev[0], err);
}

tsh_status dev_set_new(const dev_options *options, dev_set **out,
                       tsh_err *err) {
  dev_set *set = calloc(1, sizeof *set);
  tsh_status rc;
  *out = NULL;
  if (!set) return dev_fail(err, TSH_ENOMEM, "no memory for the devices");
  set->host.size = sizeof set->host;
  set->host.cancel = &set->cancel;
  set->host.threads = options->threads;
  set->memory = options->memory;
  rc = add_builtin(set, options, err);
  if (rc == TSH_OK && !options->no_plugins)
    rc = dev_find(set, options->path, err);
  if (rc == TSH_OK)
    *out = set;
  else
    dev_set_free(set);
  return rc;
}

void dev_set_free(dev_set *set) {
  if (!set) return;
  for (dev *d = set->last; d; d = d->before) dev_close(d);
  for (uint32_t i = 0; i < set->nplugin; i++) plugin_free(set->plugin[i]);
  for (uint32_t i = 0; i < set->nfolder; i++) free(set->folder[i]);
  free(set->folder);
  free(set->plugin);
  free(set);
}

uint32_t *dev_cancel_word(dev_set *set) { return &set->cancel; }

dev *dev_builtin(dev_set *set) { return set->plugin[0]->dev[0]; }

/* ---- names -------------------------------------------------------------- */
/* Splits "scheme[:index]"; the index is written as dev_name writes it. */
static int split(const char *name, size_t *scheme, uint32_t *index) {
  const char *s;
  uint64_t n = 0;
  *scheme = strcspn(name, ":");
  *index = 0;
  if (*scheme == 0 || memchr(name, '/', *scheme)) return 0;
  if (name[*scheme] == '\0') return 1;
  s = name + *scheme + 1;
  if (*s == '\0' || (*s == '0' && s[1] != '\0')) return 0;
  for (; *s >= '0' && *s <= '9' && n <= UINT32_MAX; s++)
    n = n * 10 + (uint64_t)(*s - '0');
  *index = (uint32_t)n;
  return *s == '\0' && n <= UINT32_MAX;
}

/* Adds to a text, as far as there is room. */
static void say(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(char *text, size_t size, const char *format, ...) {
  size_t n = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + n, size - n, format, args);
  va_end(args);
}

/* Plugins that nobody has asked for yet stay unopened: a typing error is no
 * reason to start a driver. Their scheme is a name, too. */
static void say_known(dev_set *set, char *text, size_t size) {
  const char *between = "; known: ";
  for (uint32_t i = 0; i < set->nplugin; i++) {
    dev_plugin *p = set->plugin[i];
    if (p->state == DEV_NOT_LOADED) {
      say(text, size, "%s%s", between, p->scheme);
      between = ", ";
    } else if (p->state == DEV_LOADED) {
      if (!p->counted) dev_count(p, NULL);
      for (uint32_t k = 0; k < p->count; k++) {
        say(text, size, "%s%s", between, p->dev[k]->name);
        between = ", ";
      }
    }
  }
}

static void say_why(const dev_plugin *p, const char *name, char *text,
                    size_t size) {
  if (!p) {
    say(text, size, ": no plugin file %.*s.so was found",
        (int)strcspn(name, ":"), name);
  } else if (p->state == DEV_REFUSED) {
    say(text, size, ": %s was refused: %s", p->path, p->reason);
  } else if (p->count == 0) {
    say(text, size, ": plugin %s has no device%s%s", p->scheme,
        p->none[0] ? ": " : "", p->none);
  } else {
    say(text, size, ": plugin %s has %" PRIu32 " device%s", p->scheme, p->count,
        p->count == 1 ? "" : "s");
  }
}

/* p: the plugin of the name's scheme, or NULL. */
static tsh_status unknown(dev_set *set, const char *name, const dev_plugin *p,
                          tsh_err *err) {
  size_t scheme;
  uint32_t index;
  tsh_status rc = dev_fail(err, TSH_ENODEV, "unknown device '%.100s'", name);
  if (!err) return rc;
  if (split(name, &scheme, &index))
    say_why(p, name, err->text, sizeof err->text);
  else
    say(err->text, sizeof err->text, ": names are like cpu or npu:1");
  say_known(set, err->text, sizeof err->text);
  return rc;
}

tsh_status dev_get(dev_set *set, const char *name, dev **out, tsh_err *err) {
  dev_plugin *p;
  size_t scheme;
  uint32_t index;
  tsh_status rc;
  *out = NULL;
  if (!split(name, &scheme, &index)) return unknown(set, name, NULL, err);
  p = owner(set, name, scheme);
  if (!p) return unknown(set, name, NULL, err);
  if (index >= p->ndev || !p->dev[index]->handle) {
    dev_load(p);
    if (p->state != DEV_LOADED) return unknown(set, name, p, err);
    rc = dev_count(p, err);
    if (rc != TSH_OK) return rc;
    if (index >= p->count) return unknown(set, name, p, err);
    rc = dev_open(p->dev[index], err);
    if (rc != TSH_OK) return rc;
  }
  *out = p->dev[index];
  return TSH_OK;
}
