/* file.h - the file room: what is in this file? Readers give host bytes and a
 * description; they compute nothing. Sees plan.h for dtypes and tsh_err. */
#ifndef FILE_H
#define FILE_H

#include "plan.h"

/* A table of numbers read from a file; owned: file_table_free. */
typedef struct {
  int64_t rows, columns;
  float *data;     /* [rows, columns] row-major */
  int64_t *labels; /* [rows], the last column when asked for, else NULL */
  char **header;   /* [columns (+1 with labels)] names, or NULL */
  int64_t nheader;
} file_table;

/* Comma, semicolon, tab or blank separated numbers; blank lines, a UTF-8 byte
 * order mark and \r\n are accepted; a first line that is no row of numbers is
 * the header; empty fields are nan. labels: the last column must be whole
 * numbers and comes back separately, as written. TSH_EIO: cannot be read;
 * TSH_EINVAL: "x.csv:12: 63 fields, the first row has 65", with line and
 * column of what is wrong. */
tsh_status file_csv_read(const char *path, int labels, file_table *out,
                         tsh_err *err);
void file_table_free(file_table *t);

/* ---- rows that are read ahead (feed.c) ----------------------------------- */
/* Rows of equal size, one after the other in a file. */
typedef struct {
  const char *path;   /* for errors; borrowed as long as the feed lives */
  int fd;             /* borrowed as well */
  uint64_t at;        /* offset of row 0: bytes */
  uint64_t row_bytes; /* > 0 */
  uint32_t swap;      /* bytes of an element whose order is to be turned; 1 */
} file_rows;

enum { FILE_FEED_SOURCES = 4 };
typedef struct file_feed file_feed;

/* A thread reads the given rows (order: [rows] numbers from 0, copied; NULL: 0,
 * 1, ...) of n files, `batch` at a time and up to `ahead` batches before they
 * are asked for. Owned: file_feed_close, which ends the thread. TSH_ENOMEM;
 * TSH_EDEVICE: no thread. */
tsh_status file_feed_open(const file_rows *source, int n, const int64_t *order,
                          int64_t rows, int64_t batch, int ahead,
                          file_feed **out, tsh_err *err);
/* The next batch: its rows and where they are, one address for each file,
 * borrowed until the next call. *rows 0: there is no more. TSH_EPENDING: not
 * there after so many milliseconds, ask again. TSH_EIO: as in the file. */
tsh_status file_feed_next(file_feed *f, int ms, int64_t *rows,
                          const void **data, tsh_err *err);
void file_feed_close(file_feed *f); /* takes NULL */

#endif
