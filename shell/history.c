/* history.c - the entries of this session and of those before it. The file is
 * shared: an entry is appended under a lock before it runs, so that sessions
 * that run at once, or are killed, lose nothing.
 *
 * An entry is a line "#SECONDS" and then its lines, as readline writes them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "shell.h"

enum { KEPT = 10000, MOST = 12000 }; /* entries of the file */

struct sh_history {
  char *path;   /* owned; NULL: nothing is kept on disk */
  char **entry; /* owned list of owned texts, oldest first */
  size_t n, room;
};

/* ---- the list ------------------------------------------------------------ */
static int push(sh_history *h, const char *text, size_t size) {
  if (h->n == h->room) {
    size_t room = h->room ? 2 * h->room : 256;
    char **more = realloc(h->entry, room * sizeof *more);
    if (!more) return 0;
    h->entry = more;
    h->room = room;
  }
  h->entry[h->n] = strndup(text, size);
  if (!h->entry[h->n]) return 0;
  h->n++;
  return 1;
}

static void clear(sh_history *h) {
  while (h->n) free(h->entry[--h->n]);
}

/* ---- the file ------------------------------------------------------------ */
/* "#123", alone in its line, begins an entry. */
static int is_mark(const char *line, size_t n) {
  return n > 1 && line[0] == '#' && strspn(line + 1, "0123456789") >= n - 1;
}

static void parse(sh_history *h, const char *text, size_t size) {
  const char *end = text + size, *entry = NULL, *line, *next;
  for (line = text; line < end; line = next) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    next = stop ? stop + 1 : end;
    if (!is_mark(line, (size_t)((stop ? stop : end) - line))) continue;
    if (entry && line > entry) push(h, entry, (size_t)(line - entry - 1));
    entry = next;
  }
  if (!entry || entry >= end) return;
  push(h, entry, (size_t)(end - entry) - (end[-1] == '\n'));
}

/* All of a file's text, owned; NULL: none. */
static char *read_whole(int fd, size_t *size) {
  struct stat st;
  char *text;
  ssize_t got;
  *size = 0;
  if (fstat(fd, &st) != 0 || st.st_size <= 0) return NULL;
  text = malloc((size_t)st.st_size + 1);
  if (!text) return NULL;
  while (*size < (size_t)st.st_size &&
         (got = pread(fd, text + *size, (size_t)st.st_size - *size,
                      (off_t)*size)) > 0)
    *size += (size_t)got;
  text[*size] = '\0';
  return text;
}

/* Another session may have put a shorter file in this one's place just now. */
static int is_current(int fd, const char *path) {
  struct stat a, b;
  return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
         a.st_dev == b.st_dev;
}

static int open_locked(const char *path, int flags, int lock) {
  for (int tries = 0; tries < 100; tries++) {
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    while (flock(fd, lock) != 0)
      if (errno != EINTR) break;
    if (is_current(fd, path)) return fd;
    close(fd);
  }
  return -1;
}

void sh_history_sync(sh_history *h) {
  size_t size;
  char *text;
  int fd = h->path ? open_locked(h->path, O_RDONLY, LOCK_SH) : -1;
  if (fd < 0) return;
  text = read_whole(fd, &size);
  close(fd);
  if (!text) return;
  clear(h);
  parse(h, text, size);
  free(text);
}

/* A line of an entry must not look like the beginning of one. */
static void write_entry(FILE *out, const char *entry, long long when) {
  fprintf(out, "#%lld\n", when);
  for (;;) {
    size_t n = strcspn(entry, "\n");
    if (is_mark(entry, n)) fputc(' ', out);
    fwrite(entry, 1, n, out);
    fputc('\n', out);
    if (!entry[n]) return;
    entry += n + 1;
  }
}

/* In one write, so that it is there whole or not at all. */
static int append(const sh_history *h, const char *entry) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  int fd, good;
  if (!out) return 0;
  write_entry(out, entry, (long long)time(NULL));
  if (fclose(out) != 0) return 0;
  fd = open_locked(h->path, O_WRONLY | O_APPEND | O_CREAT, LOCK_EX);
  good = fd >= 0 && write(fd, text, size) == (ssize_t)size;
  if (fd >= 0) close(fd);
  free(text);
  return good;
}

/* A file that has grown by a fifth over what is kept is written anew. */
static void compact(sh_history *h) {
  char *fresh = NULL;
  int fd = h->path ? open_locked(h->path, O_RDWR, LOCK_EX) : -1;
  size_t size = 0;
  char *text = fd >= 0 ? read_whole(fd, &size) : NULL;
  FILE *out = NULL;
  clear(h);
  if (text) parse(h, text, size);
  if (h->n > MOST && asprintf(&fresh, "%s.%d", h->path, (int)getpid()) > 0)
    out = fopen(fresh, "wx");
  if (out) {
    fchmod(fileno(out), 0600);
    for (size_t i = h->n - KEPT; i < h->n; i++)
      write_entry(out, h->entry[i], (long long)time(NULL));
    if (fclose(out) != 0 || rename(fresh, h->path) != 0) unlink(fresh);
  }
  free(fresh);
  free(text);
  if (fd >= 0) close(fd);
}

/* ---- where it is --------------------------------------------------------- */
static void make_folders(char *path) {
  for (char *c = path + 1; (c = strchr(c, '/')) != NULL; c++) {
    *c = '\0';
    mkdir(path, 0700);
    *c = '/';
  }
}

/* Absolute: :cd must not move the file. */
static char *named_path(const char *name) {
  char folder[PATH_MAX], *path = NULL;
  if (strcmp(name, "off") == 0) return NULL;
  if (*name == '/' || !getcwd(folder, sizeof folder)) return strdup(name);
  return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static char *default_path(void) {
  const char *named = getenv("TSH_HISTORY");
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  char *path = NULL;
  if (named && *named) return named_path(named);
  if (state && *state == '/') {
    if (asprintf(&path, "%s/tsh/history", state) < 0) return NULL;
  } else if (home && *home == '/') {
    if (asprintf(&path, "%s/.local/state/tsh/history", home) < 0) return NULL;
  }
  return path;
}

sh_history *sh_history_open(int on_disk) {
  sh_history *h = calloc(1, sizeof *h);
  if (!h || !on_disk) return h;
  h->path = default_path();
  if (h->path) make_folders(h->path);
  sh_history_sync(h);
  return h;
}

void sh_history_close(sh_history *h) {
  if (!h) return;
  if (h->n > MOST) compact(h);
  clear(h);
  free(h->entry);
  free(h->path);
  free(h);
}

size_t sh_history_count(const sh_history *h) { return h ? h->n : 0; }
const char *sh_history_at(const sh_history *h, size_t i) { return h->entry[i]; }

int sh_history_add(sh_history *h, const char *entry) {
  if (!h || !*entry || *entry == ' ' ||
      (h->n && strcmp(h->entry[h->n - 1], entry) == 0))
    return 0;
  if (h->path && !append(h, entry)) {
    fprintf(stderr, "note: entries are not kept: %s: %s\n", h->path,
            strerror(errno));
    free(h->path);
    h->path = NULL;
  }
  return push(h, entry, strlen(entry));
}
