/* dev.h - the host room: which devices are there? Finds plugins, negotiates,
 * opens devices at first use, copies between them. Sees tsh_plugin.h and
 * dlopen only. Not thread-safe: one thread owns a dev_set. */
#ifndef DEV_H
#define DEV_H

#include "tsh_plugin.h"

typedef struct dev_set dev_set; /* every plugin and device of a process */
typedef struct dev dev;         /* an open device; borrowed from its set */

typedef const tsh_plugin *(*dev_query)(uint32_t major, uint32_t minor);

typedef struct {
  dev_query builtin;  /* the plugin that is linked in; never NULL */
  const char *scheme; /* its scheme, "cpu" */
  const char *path;   /* folders with ':' between; NULL: only the search
                         order below */
  int no_plugins;     /* leave exactly the builtin */
  uint32_t threads;   /* that a plugin may use; 0: as many as it likes */
  uint64_t memory;    /* bytes on the devices of the builtin; 0: no limit */
} dev_options;

/* Scans the search path (path, TSH_PLUGIN_PATH, the user's folder
 * $XDG_DATA_HOME/tsh/plugins, beside the executable, the install folder; never
 * the current directory) and lists files; opens none. Owned: dev_set_free.
 * TSH_ENOMEM, or whatever keeps device 0 of the builtin from being opened. */
tsh_status dev_set_new(const dev_options *options, dev_set **out, tsh_err *err);
void dev_set_free(dev_set *set); /* closes devices; takes NULL */

/* The word that plugins read; a signal handler may store to it. */
uint32_t *dev_cancel_word(dev_set *set);

/* Opens (once) the device of a name: "cpu", "cpu:0", "npu:1". A scheme alone
 * is its device 0. Borrowed. TSH_ENODEV: unknown name; err->text names it and
 * the known ones and why the plugin is missing. */
tsh_status dev_get(dev_set *set, const char *name, dev **out, tsh_err *err);
dev *dev_builtin(dev_set *set); /* device 0 of the builtin, always open */

const char *dev_name(const dev *d); /* "cpu", "npu:1"; cpu:0 prints "cpu" */
uint32_t dev_id(const dev *d);      /* 0, 1, ... in the order of opening */
const tsh_props *dev_props(const dev *d);
int dev_has_op(const dev *d, int op, int compute_dtype);
int dev_has_dtype(const dev *d, int dtype); /* may be stored */
uint64_t dev_limit(const dev *d); /* bytes that may be taken; 0: no limit */

/* ---- one line per plugin file and per device, for listings --------------
 * dev_plugin_at returns 0 past the last. Texts are borrowed from the set. */
typedef struct {
  const char *scheme, *path; /* path "built in" for the builtin */
  const char *state;         /* "loaded", "not loaded", "refused", "shadowed" */
  const char *reason;        /* why refused or shadowed, or "" */
  const char *version;
} dev_plugin_info;
int dev_plugin_at(dev_set *set, uint32_t i, dev_plugin_info *out);
/* Folders in which plugin files are looked for, in this order; NULL past the
 * last. Some need not exist. Borrowed. */
const char *dev_folder_at(const dev_set *set, uint32_t i);

typedef struct {
  const char *name, *scheme; /* name NULL: the plugin has no device */
  int open;                  /* opened in this process */
  const char *reason;        /* why there is none, or "" */
  tsh_props props;           /* valid when name is not NULL */
} dev_info;
/* Lists devices of every plugin; loads plugins, opens no device. Returns 0
 * past the last. */
int dev_info_at(dev_set *set, uint32_t i, dev_info *out);

/* ---- calls on a device; all check for the entry and fill err ------------ */
tsh_status dev_alloc(dev *d, uint64_t bytes, tsh_buf **out, tsh_err *err);
void dev_free(dev *d, tsh_buf *buf); /* takes NULL */
tsh_status dev_write(dev *d, tsh_buf *dst, uint64_t at, const void *src,
                     uint64_t bytes, tsh_err *err);
tsh_status dev_read(dev *d, tsh_buf *src, uint64_t at, void *dst,
                    uint64_t bytes, tsh_err *err);
void *dev_host_ptr(dev *d, tsh_buf *buf); /* NULL when the host can't see it */
tsh_status dev_compile(dev *d, const tsh_kernel *k, tsh_prog **out,
                       tsh_err *err);
void dev_drop(dev *d, tsh_prog *prog);
tsh_status dev_submit(dev *d, const tsh_batch *batch, uint64_t *ticket,
                      tsh_err *err);
/* Waits in slices of 50 ms until done; the first error comes back. */
tsh_status dev_wait(dev *d, uint64_t ticket, tsh_err *err);
tsh_status dev_memstat(dev *d, int trim, tsh_memstat *out, tsh_err *err);

/* Copies between two devices: copy_peer when both have one plugin and it can,
 * else through a host pointer of either, else through a bounce buffer. */
tsh_status dev_move(dev *dst, tsh_buf *to, uint64_t to_at, dev *src,
                    tsh_buf *from, uint64_t from_at, uint64_t bytes,
                    tsh_err *err);

/* Fills err (may be NULL): code, text; launch none, ticket 0, at -1. */
tsh_status dev_fail(tsh_err *err, tsh_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *dev_status_text(tsh_status code); /* "out of memory" */

#endif
