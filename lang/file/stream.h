/* stream.h - bytes of a file, inside the file room only. A stream gives bytes
 * at a position; a cursor gives them one after the other, decompressed. Both
 * look at a cancel word, so that a long read can be stopped. */
#ifndef FILE_STREAM_H
#define FILE_STREAM_H

#include "file.h"

#define STREAM_PIECE ((uint64_t)1 << 20) /* read between looks at cancel */

typedef struct {
  const char *path; /* owned */
  int fd;           /* -1: all bytes lie in memory, as those of a pipe */
  uint8_t *memory;  /* owned, or NULL */
  uint64_t size;
  int loose; /* no regular file, or one that was open before: its name says
                nothing of what is in it */
  const uint32_t *cancel; /* not 0: stop; NULL: never */
} stream;

/* A folder is refused. What is no regular file is read whole; of a file that is
 * open as /dev/stdin or /dev/fd/N what is left to read. */
tsh_status stream_open(stream *s, const char *path, const uint32_t *cancel,
                       tsh_err *err);
void stream_close(stream *s); /* takes what is zeroed or closed */
/* Exactly n bytes from position at. */
tsh_status stream_read(const stream *s, uint64_t at, void *to, uint64_t n,
                       tsh_err *err);
/* TSH_ECANCELLED when somebody asked to stop. */
tsh_status stream_go_on(const stream *s, tsh_err *err);
/* TSH_EINVAL, "PATH: ..." */
tsh_status stream_fail(const stream *s, tsh_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum { STREAM_PLAIN = 0, STREAM_GZIP, STREAM_DEFLATE };
/* Deflate makes at most this many bytes of one. */
enum { STREAM_RATIO = 1032 };

typedef struct stream_inflater stream_inflater;
typedef struct {
  const stream *s;
  uint64_t at, left; /* of the file: where the next bytes lie, how many */
  stream_inflater *z;
  uint32_t crc; /* of all that was taken, when counted is set */
  int counted;
} cursor;

/* From the `bytes` of the stream at `at`, packed as said. */
tsh_status cursor_open(cursor *c, const stream *s, uint64_t at, uint64_t bytes,
                       int packing, tsh_err *err);
void cursor_close(cursor *c); /* takes what is zeroed or closed */
/* Exactly n bytes; fewer are an error that says how many there were. */
tsh_status cursor_take(cursor *c, void *to, uint64_t n, tsh_err *err);
tsh_status cursor_skip(cursor *c, uint64_t n, tsh_err *err);
/* Nothing may follow; checksums inside the packing are checked. */
tsh_status cursor_end(cursor *c, tsh_err *err);

#endif
