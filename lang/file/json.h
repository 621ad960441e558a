/* json.h - JSON text, inside the file room only, as far as headers of tensor
 * files need it: a reader that is asked for what should come next. It changes
 * the text (texts are decoded where they stand) and allocates nothing. */
#ifndef FILE_JSON_H
#define FILE_JSON_H

#include "stream.h"

typedef struct {
  const stream *s;
  char *begin, *at, *end;
  uint64_t offset; /* of begin in the file */
  int lines;       /* errors name the line, not the byte */
} json;

/* TSH_EINVAL, "PATH: header byte 17: ..." or "PATH:3: ..." */
tsh_status json_fail(const json *j, const char *what, tsh_err *err);
/* Is all of the text UTF-8? */
tsh_status json_check(json *j, tsh_err *err);
/* Passes blanks and line ends. */
void json_blanks(json *j);
/* Passes the character if it is the next one. */
int json_next(json *j, char c);
tsh_status json_expect(json *j, char c, tsh_err *err);
/* After a member: a comma (*more = 1) or `close` (*more = 0). */
tsh_status json_comma(json *j, char close, int *more, tsh_err *err);
/* A text, ended by a 0, which lies where it was read. */
tsh_status json_text(json *j, const char **out, size_t *n, tsh_err *err);
/* "name": */
tsh_status json_key(json *j, const char **out, size_t *n, tsh_err *err);
/* Digits alone, up to 2^63 - 1. */
tsh_status json_whole(json *j, int64_t *out, tsh_err *err);
/* Passes any value; depth: of those around it. */
tsh_status json_skip(json *j, int depth, tsh_err *err);
tsh_status json_end(json *j, tsh_err *err); /* only blanks follow */

#endif
