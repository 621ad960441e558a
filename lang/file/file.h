/* file.h - the file room: what is in this file? Readers give host bytes and a
 * description; they compute nothing. Sees plan.h for dtypes and tsh_err. */
#ifndef FILE_H
#define FILE_H

#include "plan.h"

/* X(name, what it is) */
#define FILE_FORMATS(X)                                                        \
  X(csv, "text")                                                               \
  X(idx, "an idx file")                                                        \
  X(npy, "an npy file")                                                        \
  X(npz, "an npz archive")                                                     \
  X(safetensors, "a safetensors file")                                         \
  X(index, "an index of safetensors files")                                    \
  X(json, "numbers in JSON")                                                   \
  X(jsonl, "JSON with a row on each line")

#define FILE_X(name, doc) FILE_##name,
enum { FILE_UNKNOWN = 0, FILE_FORMATS(FILE_X) FILE_NFORMATS };
#undef FILE_X

const char *file_format_name(int format); /* "npy"; "?" when unknown */
int file_format_find(const char *name);   /* FILE_UNKNOWN when unknown */

/* ---- reading ---------------------------------------------------------------
 * A file is opened and checked whole: its list of entries is right, and what
 * an entry claims lies within the file. Then elements are read. Errors begin
 * with the path and say what is wrong where. TSH_EIO: cannot be read;
 * TSH_EINVAL: not what it should be; TSH_ENOMEM; TSH_ECANCELLED. --- */
typedef struct {
  char *name;  /* UTF-8 without zero bytes; "" in idx, npy */
  char *why;   /* NULL, or why tsh cannot read the elements */
  int foreign; /* with why: no tensor at all, as a text in an npz */
  int dtype;   /* as in the file; 0 when why is set */
  int rank;
  int64_t dim[PLAN_RANK];
  uint64_t bytes; /* of all elements, as in the file */
  int reversed;   /* the elements lie in the order of the axes reversed: read
                     them as shape dim[rank-1], ... dim[0], then transpose */
  /* Where they lie; for the file room alone. */
  uint64_t at, stored; /* the bytes of the file that hold them */
  uint64_t skip;       /* bytes in front of the first element, unpacked */
  int packing, swap, checked;
  uint32_t crc; /* of skip and elements, when checked is set */
} file_entry;

typedef struct file file;

/* The format is found by the first bytes; else it is `format`, else that of the
 * path's ending. What is no regular file, or was open before as /dev/stdin was,
 * needs no ending: text in it is json when it begins with [ or {, else csv.
 * cancel: read often, not 0 stops; may be NULL. */
tsh_status file_open(const char *path, int format, const uint32_t *cancel,
                     file **out, tsh_err *err);
void file_close(file *f); /* takes NULL */
int file_format(const file *f);
const char *file_path(const file *f); /* borrowed */
int64_t file_count(const file *f);    /* 0 for csv, json */
const file_entry *file_at(const file *f, int64_t i);
/* The i-th pair of the metadata, or of an index: tensor and file; 0 past the
 * last. */
int file_note(const file *f, int64_t i, const char **key, const char **value);

/* Can file_take give elements of dtype `from` as `to`? Integers and the small
 * floats come as i32, i64, f32, f64. */
int file_converts(int from, int to);
/* Elements of entry i, row-major, as dtype. Then file_take as often as wanted,
 * for bytes of whole elements, until all are taken; then file_end, which finds
 * what follows and compares checksums. */
tsh_status file_begin(file *f, int64_t i, int dtype, tsh_err *err);
tsh_status file_take(file *f, void *to, uint64_t bytes, tsh_err *err);
tsh_status file_end(file *f, tsh_err *err);

/* ---- writing ---------------------------------------------------------------
 * The whole is written to a new file in the same folder, which takes the place
 * of the old one when all is on the disk: whatever fails, or kills the process,
 * leaves the old file as it was. What is no regular file (a pipe, a terminal)
 * is written to directly. A link is followed. --- */
typedef struct {
  const char *name; /* "" in npy, csv */
  int dtype, rank;
  int64_t dim[PLAN_RANK];
} file_item;

typedef struct {
  int format; /* csv, json, npy, npz, safetensors */
  int packed; /* npz: deflated */
  const file_item *item;
  int64_t n;
  const char *const *note;   /* safetensors: key, value, ... */
  int64_t nnote;             /* pairs */
  const char *const *header; /* csv: names of columns, or NULL */
  int64_t nheader;
} file_content;

typedef struct file_out file_out;

/* content is borrowed until the end. */
tsh_status file_create(const char *path, const file_content *content,
                       const uint32_t *cancel, file_out **out, tsh_err *err);
/* The elements of the next item, row-major. */
tsh_status file_put(file_out *o, const void *cells, tsh_err *err);
/* After the last item: the file is there, under its name. */
tsh_status file_commit(file_out *o, tsh_err *err);
/* Frees o; what was not committed is removed. Takes NULL. */
void file_discard(file_out *o);

/* ---- tables in text ------------------------------------------------------ */
/* A table of numbers read from a file; owned: file_table_free. */
typedef struct {
  int64_t rows, columns;
  int dtype;       /* f32, f64 or i64 */
  void *data;      /* [rows, columns] row-major */
  int64_t *labels; /* [rows], the last column when asked for, else NULL */
  char **header;   /* [columns (+1 with labels)] names, or NULL */
  int64_t nheader;
  /* The first integer that became an f32 which is another number, though the
   * dtype was not asked for; row 0: there is none. From 1. */
  int64_t rounded, rounded_row, rounded_column;
} file_table;

typedef struct {
  int labels; /* the last column must be whole numbers and comes separately */
  int header; /* 1: the first line has names, -1: it has not; 0: it has when
                 none of its fields is a number */
  int dtype;  /* f32, f64 or i64; 0: i64 when every field is an integer like
                 -12 (not 3.0), else f32; beside labels f32 */
} file_table_how;

/* Comma, semicolon, tab or blank separated numbers; blank lines, a UTF-8 byte
 * order mark and \r\n are accepted; empty fields are nan. Names and no rows
 * are refused unless header is 1. how: NULL is all 0. TSH_EIO: cannot be read;
 * TSH_EINVAL: "x.csv:12: 63 fields, the first row has 65", with line and
 * column of what is wrong. */
tsh_status file_csv_read(const char *path, const file_table_how *how,
                         file_table *out, tsh_err *err);
/* The same of a file that is open. */
tsh_status file_csv_take(file *f, const file_table_how *how, file_table *out,
                         tsh_err *err);
void file_table_free(file_table *t);

/* How many rows and columns a table has, its dtype and header: every field is
 * looked at, none is stored, so t has no data. */
tsh_status file_csv_survey(file *f, file_table *t, tsh_err *err);

/* ---- numbers in JSON (array.c) ------------------------------------------- */
/* Owned: file_array_free. */
typedef struct {
  int rank, whole; /* whole: cells are int64_t, else double */
  int64_t dim[PLAN_RANK];
  void *cells; /* row-major */
  char **name; /* [nname] of the columns when rows are objects, sorted */
  int64_t nname;
} file_array;

/* One list of numbers, of lists of numbers or of objects of numbers; or values
 * one after the other, each a row, which a jsonl always is. null is nan; true
 * and false are 1 and 0. TSH_EINVAL: "x.json:3: ..." with the line. */
tsh_status file_json_take(file *f, file_array *out, tsh_err *err);
void file_array_free(file_array *a);

/* ---- rows that are read ahead (feed.c) ----------------------------------- */
/* Rows of equal size, one after the other in a file. */
typedef struct {
  const char *path;   /* for errors; borrowed as long as the feed lives */
  int fd;             /* borrowed as well */
  uint64_t at;        /* offset of row 0: bytes */
  uint64_t row_bytes; /* > 0 */
  uint32_t swap;      /* bytes of an element whose order is to be turned; 1 */
  int boolean;        /* bytes become 0 or 1 */
} file_rows;

/* The rows of an open npy or idx file, borrowed from it. TSH_EINVAL: it is of
 * another kind, compressed, or lies so that rows are not in one piece. */
tsh_status file_rows_of(const file *f, file_rows *out, tsh_err *err);

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
