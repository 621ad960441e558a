/* sink.c - bytes to a file that is whole or not there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "sink.h"

enum { HELD = 1 << 16, PIECE = 1 << 20, LINKS = 40 };

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

static tsh_status fail(const sink *s, int why, tsh_err *err) {
  return dev_fail(err, why == ENOMEM ? TSH_ENOMEM : TSH_EIO, "%.400s: %s",
                  s->path, strerror(why));
}

static tsh_status go_on(const sink *s, tsh_err *err) {
  if (!s->cancel || !__atomic_load_n(s->cancel, __ATOMIC_RELAXED))
    return TSH_OK;
  return dev_fail(err, TSH_ECANCELLED, "%.400s: interrupted", s->path);
}

static char *copy(const char *text) {
  size_t n = strlen(text) + 1;
  char *p = malloc(n);
  return p ? memcpy(p, text, n) : NULL;
}

/* ---- where it goes ----------------------------------------------------------
 */

/* Bytes of path up to the last '/', with it. */
static size_t folder_bytes(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

/* "name" in the folder of path; an absolute name is itself. Owned. */
static char *beside(const char *path, const char *name, size_t n) {
  size_t folder = *name == '/' ? 0 : folder_bytes(path);
  char *p = malloc(folder + n + 1);
  if (!p) return NULL;
  memcpy(p, path, folder);
  memcpy(p + folder, name, n);
  p[folder + n] = 0;
  return p;
}

/* Names of files that are open, /dev/stdout among them: what their links say
 * is no path. */
static int is_open_file(const char *path) {
  return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/fd/", 8) == 0;
}

/* s->target becomes what links of that name lead to, there or not. */
static tsh_status follow(sink *s, tsh_err *err) {
  char *to = malloc(HELD);
  tsh_status rc = to ? TSH_OK : fail(s, ENOMEM, err);
  int links = 0;
  while (rc == TSH_OK && !is_open_file(s->target)) {
    ssize_t n = readlink(s->target, to, HELD - 1);
    char *next;
    if (n < 0) break; /* no link */
    if (++links > LINKS) {
      rc = fail(s, ELOOP, err);
      break;
    }
    next = beside(s->target, to, (size_t)n);
    if (!next) {
      rc = fail(s, ENOMEM, err);
      break;
    }
    free(s->target);
    s->target = next;
  }
  free(to);
  return rc;
}

/* A name that nobody else has, of 20 bytes. */
static void temporary_name(char *out, size_t size) {
  static unsigned count;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(out, size, ".tsh-%08x-%06x",
           (unsigned)now.tv_nsec ^ (unsigned)now.tv_sec << 12,
           ((unsigned)getpid() * 64 + count++) & 0xffffffu);
}

static tsh_status open_temporary(sink *s, mode_t mode, tsh_err *err) {
  for (int i = 0; i < 100; i++) {
    char name[32];
    temporary_name(name, sizeof name);
    s->temporary = beside(s->target, name, strlen(name));
    if (!s->temporary) return fail(s, ENOMEM, err);
    s->fd = open(s->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (s->fd >= 0) return TSH_OK;
    free(s->temporary);
    s->temporary = NULL;
    if (errno != EEXIST && errno != EINTR) break;
  }
  return fail(s, errno, err);
}

/* As the old file: who owns it (where that is allowed), who may read it. */
static tsh_status take_rights(sink *s, const struct stat *old, tsh_err *err) {
  struct stat st;
  mode_t mode = old->st_mode & 07777;
  if (fstat(s->fd, &st) != 0) return fail(s, errno, err);
  if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
      fchown(s->fd, old->st_uid, old->st_gid) != 0)
    mode &= 0777; /* not for somebody else's group or user */
  return fchmod(s->fd, mode) == 0 ? TSH_OK : fail(s, errno, err);
}

/* Of our own open files a second handle, which goes on where the first is. */
static int open_as_is(const char *path) {
  int fd = -1, end = 0;
  if (sscanf(path, "/dev/fd/%d%n", &fd, &end) < 1)
    sscanf(path, "/proc/self/fd/%d%n", &fd, &end);
  if (fd >= 0 && end && !path[end]) return fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
}

static tsh_status open_target(sink *s, tsh_err *err) {
  struct stat old;
  tsh_status rc;
  if (stat(s->target, &old) != 0) {
    if (errno != ENOENT) return fail(s, errno, err);
    return open_temporary(s, 0666, err);
  }
  if (S_ISDIR(old.st_mode)) return fail(s, EISDIR, err);
  if (!S_ISREG(old.st_mode) || is_open_file(s->target)) {
    do { /* a pipe waits here for who reads it */
      if ((rc = go_on(s, err)) != TSH_OK) return rc;
      s->fd = open_as_is(s->target);
    } while (s->fd < 0 && errno == EINTR);
    return s->fd >= 0 ? TSH_OK : fail(s, errno, err);
  }
  if (access(s->target, W_OK) != 0) return fail(s, errno, err);
  rc = open_temporary(s, 0600, err);
  return rc == TSH_OK ? take_rights(s, &old, err) : rc;
}

tsh_status sink_open(sink *s, const char *path, const uint32_t *cancel,
                     tsh_err *err) {
  tsh_status rc;
  *s = (sink){.fd = -1, .cancel = cancel};
  s->path = copy(path);
  s->target = copy(path);
  s->held = malloc(HELD);
  if (!s->path || !s->target || !s->held) {
    rc = dev_fail(err, TSH_ENOMEM, "%.400s: no memory", path);
    goto out;
  }
  if (!*path) {
    rc = dev_fail(err, TSH_EIO, "an empty path names no file");
    goto out;
  }
  TRY(follow(s, err));
  TRY(open_target(s, err));
out:
  if (rc != TSH_OK) sink_close(s);
  return rc;
}

/* ---- writing ----------------------------------------------------------------
 */

static tsh_status put(sink *s, const unsigned char *p, uint64_t n,
                      tsh_err *err) {
  while (n) {
    ssize_t done;
    tsh_status rc = go_on(s, err);
    if (rc != TSH_OK) return rc;
    done = write(s->fd, p, n < PIECE ? (size_t)n : PIECE);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return fail(s, done ? errno : ENOSPC, err);
    p += done;
    n -= (uint64_t)done;
  }
  return TSH_OK;
}

static tsh_status flush(sink *s, tsh_err *err) {
  size_t n = s->nheld;
  s->nheld = 0;
  return put(s, s->held, n, err);
}

tsh_status sink_write(sink *s, const void *bytes, uint64_t n, tsh_err *err) {
  tsh_status rc = TSH_OK;
  s->at += n;
  if (n > HELD - s->nheld) TRY(flush(s, err));
  if (n >= HELD) return put(s, bytes, n, err);
  if (n) memcpy(s->held + s->nheld, bytes, n);
  s->nheld += n;
out:
  return rc;
}

/* ---- the end ----------------------------------------------------------------
 */

/* The new name is on the disk, too; some file systems cannot say so. */
static tsh_status sync_folder(const sink *s, tsh_err *err) {
  char *folder = beside(s->target, ".", 1);
  int fd, why = 0;
  if (!folder) return TSH_OK;
  fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(folder);
  if (fd < 0) return TSH_OK;
  if (fsync(fd) != 0 && errno == EIO) why = EIO;
  close(fd);
  return why ? fail(s, why, err) : TSH_OK;
}

static int sync_file(const sink *s) {
  while (fsync(s->fd) != 0) {
    if (errno == EINTR) continue;
    return s->temporary ? errno : 0; /* a pipe has nothing to be synced */
  }
  return 0;
}

tsh_status sink_commit(sink *s, tsh_err *err) {
  tsh_status rc;
  int why;
  TRY(flush(s, err));
  why = sync_file(s);
  if (why) return fail(s, why, err);
  why = close(s->fd) != 0 && errno != EINTR ? errno : 0;
  s->fd = -1;
  if (why) return fail(s, why, err);
  if (!s->temporary) return TSH_OK;
  if (rename(s->temporary, s->target) != 0) return fail(s, errno, err);
  free(s->temporary);
  s->temporary = NULL;
  rc = sync_folder(s, err);
out:
  return rc;
}

void sink_close(sink *s) {
  if (s->path && s->fd >= 0) close(s->fd);
  if (s->temporary) unlink(s->temporary);
  free(s->temporary);
  free(s->target);
  free((char *)(uintptr_t)s->path);
  free(s->held);
  *s = (sink){.fd = -1};
}
