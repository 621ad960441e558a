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

#endif
