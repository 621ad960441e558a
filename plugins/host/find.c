/* find.c - where plugin files are looked for. Lists them, opens none. */
#define _XOPEN_SOURCE 700
#include "set.h"

/* Made by the build. A compile by hand has no install folder. */
#ifdef __has_include
#if __has_include("paths.h")
#include "paths.h"
#endif
#endif
#ifndef TSH_PLUGIN_DIR
#define TSH_PLUGIN_DIR ""
#endif

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

/* Length of the stem of "stem.so", or 0. Hidden files are left alone. */
static size_t stem(const char *name) {
  size_t n = strlen(name);
  if (name[0] == '.' || n < 4 || strcmp(name + n - 3, ".so") != 0) return 0;
  return n - 3;
}

static int is_plugin(const struct dirent *entry) {
  return stem(entry->d_name) != 0;
}

/* Not alphasort: the order must not change with the user's language. */
static int by_bytes(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

/* Why the file cannot be a plugin, without opening it; NULL: it may be one. To
 * open a pipe or a device could block for ever. */
static const char *problem(const char *path, const char *scheme) {
  struct stat st;
  if (stat(path, &st) != 0) return strerror(errno);
  if (!S_ISREG(st.st_mode)) return "it is not a file";
  for (; *scheme; scheme++)
    if (*scheme == ':' || (unsigned char)*scheme < 0x20 || *scheme == 0x7f)
      return "its name cannot be that of a device";
  return NULL;
}

static tsh_status add_file(dev_set *set, const char *folder, const char *name,
                           tsh_err *err) {
  tsh_status rc = TSH_ENOMEM;
  char *path = dev_text("%s/%s", folder, name);
  char *scheme = dev_text("%.*s", (int)stem(name), name);
  if (path && scheme)
    rc = dev_set_add(set, scheme, path, problem(path, scheme), err);
  else
    dev_fail(err, rc, "no memory for the plugin %s", name);
  free(path);
  free(scheme);
  return rc;
}

/* Lists one folder. Only of a folder that the user named (told) is a word said
 * when it can't be read. The path is made absolute: plugins are opened later,
 * and the current folder may be another one then. */
static tsh_status add_folder(dev_set *set, const char *folder, int told,
                             tsh_err *err) {
  char full[PATH_MAX];
  struct dirent **names = NULL;
  tsh_status rc = TSH_OK;
  int n = -1, why;
  if (realpath(folder, full)) n = scandir(full, &names, is_plugin, by_bytes);
  why = errno;
  if (n < 0 && why == ENOMEM)
    return dev_fail(err, TSH_ENOMEM, "no memory to list %s", folder);
  if (n >= 0 || !told) rc = dev_set_add_folder(set, n < 0 ? folder : full, err);
  if (n < 0)
    return told ? dev_set_add(set, "", folder, strerror(why), err) : rc;
  for (int i = 0; i < n; i++) {
    if (rc == TSH_OK) rc = add_file(set, full, names[i]->d_name, err);
    free(names[i]);
  }
  free(names);
  return rc;
}

/* An empty element would mean the current folder, which is never searched. */
static tsh_status add_path(dev_set *set, const char *path, tsh_err *err) {
  tsh_status rc = TSH_OK;
  while (path && *path && rc == TSH_OK) {
    size_t n = strcspn(path, ":");
    char *folder = n ? dev_text("%.*s", (int)n, path) : NULL;
    if (folder)
      rc = add_folder(set, folder, 1, err);
    else if (n)
      rc = dev_fail(err, TSH_ENOMEM, "no memory for a plugin path");
    free(folder);
    path += n + (path[n] == ':');
  }
  return rc;
}

/* A folder below another that may be NULL or relative, and is skipped then. */
static tsh_status add_below(dev_set *set, const char *at, const char *rest,
                            tsh_err *err) {
  tsh_status rc;
  char *folder;
  if (!at || at[0] != '/') return TSH_OK;
  folder = dev_text("%s%s", at, rest);
  if (!folder) return dev_fail(err, TSH_ENOMEM, "no memory for a plugin path");
  rc = add_folder(set, folder, 0, err);
  free(folder);
  return rc;
}

static tsh_status add_user(dev_set *set, tsh_err *err) {
  const char *data = getenv("XDG_DATA_HOME");
  /* A relative XDG_DATA_HOME counts as none. */
  if (data && data[0] == '/') return add_below(set, data, "/tsh/plugins", err);
  return add_below(set, getenv("HOME"), "/.local/share/tsh/plugins", err);
}

static tsh_status add_beside(dev_set *set, tsh_err *err) {
  char exe[PATH_MAX];
  tsh_status rc;
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe);
  char *slash;
  if (n <= 0 || n == (ssize_t)sizeof exe) return TSH_OK;
  exe[n] = '\0';
  slash = strrchr(exe, '/');
  if (!slash) return TSH_OK;
  *slash = '\0';
  rc = add_below(set, exe, "/plugins", err);
  return rc == TSH_OK ? add_below(set, exe, "/../lib/tsh/plugins", err) : rc;
}

tsh_status dev_find(dev_set *set, const char *path, tsh_err *err) {
  tsh_status rc;
  TRY(add_path(set, path, err));
  TRY(add_path(set, getenv("TSH_PLUGIN_PATH"), err));
  TRY(add_user(set, err));
  TRY(add_beside(set, err));
  TRY(add_below(set, TSH_PLUGIN_DIR, "", err));
out:
  return rc;
}
