/* set.h - what a dev_set holds, for the files of this room only. A set has
 * plugins, one per file found; a loaded plugin has devices, made when it is
 * first counted and kept until the set ends, so that names and pointers that
 * were lent stay good. */
#ifndef DEV_SET_H
#define DEV_SET_H

#include "dev.h"

enum { DEV_TEXT = sizeof(((tsh_err *)0)->text) };

/* A plugin that claims more devices than this is taken to lie. */
enum { DEV_MOST = 256 };

enum { DEV_NOT_LOADED, DEV_LOADED, DEV_REFUSED, DEV_SHADOWED };

typedef struct {
  char *scheme, *path; /* scheme "": not a plugin, but a folder not read */
  dev_query query;     /* of the builtin; NULL: the file is opened for it */
  dev_set *set;
  int state, counted;
  char reason[DEV_TEXT]; /* why refused or shadowed */
  char none[DEV_TEXT];   /* what the plugin said when it counted 0 */
  char version[64];
  tsh_plugin table; /* the host's copy: entries the plugin lacks are NULL */
  dev **dev;        /* ndev of them; the first `count` are there now */
  uint32_t ndev, count;
} dev_plugin;

struct dev {
  dev_plugin *plugin;
  char *name;
  uint32_t index, id; /* id: valid when open */
  tsh_dev *handle;    /* NULL: not open */
  dev *before;        /* the device opened before this one */
  tsh_props props;
  char reason[DEV_TEXT]; /* why it cannot be used */
};

struct dev_set {
  dev_plugin **plugin; /* in the order found; 0 is the builtin */
  uint32_t nplugin, nopen;
  char **folder; /* that were looked into, each once */
  uint32_t nfolder;
  int listed; /* every plugin was loaded and counted once */
  dev *last;  /* opened last */
  uint32_t cancel;
  uint64_t memory; /* see dev_options */
  tsh_host host;
};

/* error.c */
char *dev_text(const char *format, ...) /* owned; NULL: no memory */
    __attribute__((format(printf, 1, 2)));
void dev_clean(char *text, size_t size); /* ends it, blanks control bytes */
/* Around each call of a plugin: begin gives the err to pass (never NULL), end
 * makes sure that code and text of a failure are there. */
tsh_err *dev_call_begin(tsh_err *err, tsh_err *spare);
tsh_status dev_call_end(const char *who, const char *entry, tsh_status rc,
                        tsh_err *err);

/* find.c: lists every *.so of the search path with dev_set_add. */
tsh_status dev_find(dev_set *set, const char *path, tsh_err *err);

/* registry.c: remembers a folder. */
tsh_status dev_set_add_folder(dev_set *set, const char *path, tsh_err *err);

/* registry.c: lists a file. problem: why it can't be a plugin, or NULL. */
tsh_status dev_set_add(dev_set *set, const char *scheme, const char *path,
                       const char *problem, tsh_err *err);

/* load.c: leaves the plugin DEV_LOADED or DEV_REFUSED. _here does it in this
 * process, come what may; steps: a descriptor that hears of each, or -1. */
void dev_load(dev_plugin *p);
void dev_load_here(dev_plugin *p, int steps);
void dev_refuse(dev_plugin *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* probe.c: refuses a file that would not let the process live. */
enum { DEV_STEP_OPENED = 'o', DEV_STEP_ASKED = 'q', DEV_STEP_DONE = 'd' };
void dev_probe_file(dev_plugin *p);
void dev_step(int out, char step);

/* device.c; all take a loaded plugin. */
tsh_status dev_count(dev_plugin *p, tsh_err *err);
int dev_probe(dev *d); /* reads props; 0: d->reason says what is wrong */
tsh_status dev_open(dev *d, tsh_err *err); /* once */
void dev_close(dev *d);

/* call.c: a copy that stays on the device. */
tsh_status dev_copy_within(dev *d, tsh_buf *dst, uint64_t dst_at, tsh_buf *src,
                           uint64_t src_at, uint64_t bytes, tsh_err *err);

/* whole.c: 0 when a library's segments reach beyond its file. */
int dev_file_whole(const char *path);

#endif
