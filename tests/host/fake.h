/* fake.h - for the tests of the host room: a builtin that writes down how it
 * is called, and folders with plugin files in them. */
#ifndef FAKE_H
#define FAKE_H

#include "dev.h"

/* What the fake does; a test sets it before it makes a set. */
typedef struct {
  uint32_t count;   /* devices */
  int pointer[4];   /* device i shows its memory to the host */
  int peer;         /* has copy_peer */
  int bare;         /* has no optional entry */
  int pending;      /* wait says "not finished" so often first */
  tsh_status fails; /* of every call; without a text */
  const uint32_t *cancel;
  int cancels;    /* sets the cancel word in copy number n */
  char log[1024]; /* "read 0 64, write 1 64, " */
} fake_plugin;
extern fake_plugin fake;

const tsh_plugin *fake_query(uint32_t major, uint32_t minor);

/* A set with the fake as "cpu". path NULL: no plugins. Other folders are kept
 * out through the environment. The caller frees it. */
dev_set *fake_set(const char *path);
dev *fake_get(dev_set *set, const char *name); /* must succeed */
void fake_ends(const char *text, const char *end);

/* An empty folder for one test; removed by fake_remove. */
char *fake_folder(void);
void fake_remove(char *folder);
char *fake_path(const char *folder, const char *name); /* owned */

/* folder/name becomes a link to the fault plugin (tests/fault), or a file. */
void fake_link(const char *folder, const char *name, const char *fault);
void fake_file(const char *folder, const char *name, const char *content);

/* The text of a file, or "" when there is none; owned. */
char *fake_read(const char *path);

/* The row of a scheme or a path in the listing of plugins; state NULL: none. */
dev_plugin_info fake_row(dev_set *set, const char *scheme_or_path);

#endif
