/* sink.h - bytes to a file, inside the file room only. They go to a temporary
 * file beside the target, which takes its place at the end. */
#ifndef FILE_SINK_H
#define FILE_SINK_H

#include "file.h"

typedef struct {
  const char *path; /* owned: as it was given, for messages */
  char *target;     /* owned: links followed */
  char *temporary;  /* owned; NULL: the target is written to directly */
  int fd;
  uint64_t at; /* bytes so far */
  const uint32_t *cancel;
  unsigned char *held; /* owned: bytes that wait for more */
  size_t nheld;
} sink;

tsh_status sink_open(sink *s, const char *path, const uint32_t *cancel,
                     tsh_err *err);
tsh_status sink_write(sink *s, const void *bytes, uint64_t n, tsh_err *err);
tsh_status sink_commit(sink *s, tsh_err *err);
void sink_close(sink *s); /* removes what was not committed; takes closed */

#endif
