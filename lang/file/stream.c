/* stream.c - bytes of a file at a position. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "stream.h"

tsh_status stream_fail(const stream *s, tsh_err *err, const char *format, ...) {
  char text[sizeof err->text];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return dev_fail(err, TSH_EINVAL, "%.400s: %s", s->path, text);
}

static tsh_status fail_system(const stream *s, int why, tsh_err *err) {
  if (why == EBADF && s->loose)
    return dev_fail(err, TSH_EIO, "%.400s: it is closed", s->path);
  return dev_fail(err, why == ENOMEM ? TSH_ENOMEM : TSH_EIO, "%.400s: %s",
                  s->path, strerror(why));
}

tsh_status stream_go_on(const stream *s, tsh_err *err) {
  if (!s->cancel || !__atomic_load_n(s->cancel, __ATOMIC_RELAXED))
    return TSH_OK;
  return dev_fail(err, TSH_ECANCELLED, "%.400s: interrupted", s->path);
}

/* read or pread (at >= 0); interrupted calls are made again. */
static ssize_t get(const stream *s, void *to, size_t n, int64_t at) {
  ssize_t got;
  do {
    if (s->cancel && __atomic_load_n(s->cancel, __ATOMIC_RELAXED)) return 0;
    got = at < 0 ? read(s->fd, to, n) : pread(s->fd, to, n, (off_t)at);
  } while (got < 0 && errno == EINTR);
  return got;
}

/* ---- opening ------------------------------------------------------------- */

/* All bytes of what has no positions, into memory that grows with them. */
static tsh_status slurp(stream *s, tsh_err *err) {
  uint64_t room = 0;
  for (;;) {
    ssize_t got;
    tsh_status rc;
    if (s->size == room) {
      uint64_t more = room ? room * 2 : (uint64_t)1 << 16;
      uint8_t *p = more > PTRDIFF_MAX ? NULL : realloc(s->memory, more);
      if (!p)
        return dev_fail(err, TSH_ENOMEM, "%.400s: no memory for %llu bytes",
                        s->path, (unsigned long long)more);
      s->memory = p;
      room = more;
    }
    got = get(s, s->memory + s->size, (size_t)(room - s->size), -1);
    rc = stream_go_on(s, err);
    if (rc != TSH_OK) return rc;
    if (got < 0) return fail_system(s, errno, err);
    if (got == 0) return TSH_OK;
    s->size += (uint64_t)got;
  }
}

/* The number of an open file of ours, which `open` would begin anew, or not
 * find at all when it is a socket or another user's; else -1. */
static int open_file(const char *path) {
  int fd = -1, end = 0;
  if (strcmp(path, "/dev/stdin") == 0) return STDIN_FILENO;
  if (sscanf(path, "/dev/fd/%d%n", &fd, &end) < 1)
    sscanf(path, "/proc/self/fd/%d%n", &fd, &end);
  return fd >= 0 && end && !path[end] ? fd : -1;
}

static int open_path(stream *s, const char *path) {
  int fd = open_file(path);
  if (fd < 0) return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  s->loose = 1;
  return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static tsh_status begin(stream *s, const char *path, tsh_err *err) {
  struct stat st;
  tsh_status rc;
  do { /* a pipe waits here for who writes to it */
    rc = stream_go_on(s, err);
    if (rc != TSH_OK) return rc;
    s->fd = open_path(s, path);
  } while (s->fd < 0 && errno == EINTR);
  if (s->fd < 0 || fstat(s->fd, &st) != 0) return fail_system(s, errno, err);
  if (S_ISDIR(st.st_mode)) return fail_system(s, EISDIR, err);
  /* Files of /proc are regular, of no size, and have contents. */
  if (S_ISREG(st.st_mode) && st.st_size > 0 &&
      (!s->loose || lseek(s->fd, 0, SEEK_CUR) == 0)) {
    s->size = (uint64_t)st.st_size;
    if (s->loose) lseek(s->fd, 0, SEEK_END); /* as if a pipe had been read */
    return TSH_OK;
  }
  if (!S_ISREG(st.st_mode)) s->loose = 1;
  rc = slurp(s, err);
  close(s->fd);
  s->fd = -1;
  return rc;
}

tsh_status stream_open(stream *s, const char *path, const uint32_t *cancel,
                       tsh_err *err) {
  size_t n = strlen(path) + 1;
  char *copy = malloc(n);
  tsh_status rc;
  *s = (stream){.fd = -1, .cancel = cancel};
  if (!copy) return dev_fail(err, TSH_ENOMEM, "%.400s: no memory", path);
  s->path = memcpy(copy, path, n);
  rc = begin(s, path, err);
  if (rc != TSH_OK) stream_close(s);
  return rc;
}

void stream_close(stream *s) {
  if (s->path && s->fd >= 0) close(s->fd);
  free(s->memory);
  free((char *)(uintptr_t)s->path);
  *s = (stream){.fd = -1};
}

/* ---- reading ------------------------------------------------------------- */

static tsh_status cut_short(const stream *s, uint64_t at, uint64_t n,
                            tsh_err *err) {
  return stream_fail(s, err,
                     "cut short: %llu bytes are wanted from byte %llu, the "
                     "file has %llu",
                     (unsigned long long)n, (unsigned long long)at,
                     (unsigned long long)s->size);
}

static tsh_status read_pieces(const stream *s, uint64_t at, char *to,
                              uint64_t n, tsh_err *err) {
  while (n) {
    uint64_t piece = n < STREAM_PIECE ? n : STREAM_PIECE;
    ssize_t got = get(s, to, (size_t)piece, (int64_t)at);
    tsh_status rc = stream_go_on(s, err);
    if (rc != TSH_OK) return rc;
    if (got < 0) return fail_system(s, errno, err);
    if (got == 0) return cut_short(s, at, n, err); /* while we read it */
    to += got;
    at += (uint64_t)got;
    n -= (uint64_t)got;
  }
  return TSH_OK;
}

tsh_status stream_read(const stream *s, uint64_t at, void *to, uint64_t n,
                       tsh_err *err) {
  if (at > s->size || n > s->size - at) return cut_short(s, at, n, err);
  if (s->fd >= 0) return read_pieces(s, at, to, n, err);
  if (n) memcpy(to, s->memory + at, n);
  return TSH_OK;
}
