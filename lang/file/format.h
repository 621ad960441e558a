/* format.h - inside the file room: an open file as the formats see it. */
#ifndef FILE_FORMAT_H
#define FILE_FORMAT_H

#include "stream.h"

struct file {
  stream s;
  int format;
  file_entry *entry; /* owned, with names and reasons */
  int64_t n, room;
  char **note; /* owned: key, value, key, value ... */
  int64_t nnote;
  /* The entry that is being read. */
  const file_entry *now;
  cursor c;
  int dtype; /* that is given */
};

/* ---- file.c -------------------------------------------------------------- */
/* A new entry, zeroed, with a copy of the name; NULL: no memory. */
file_entry *file_add(file *f, const char *name, size_t size, tsh_err *err);
/* A copy of n bytes and a closing 0; NULL: no memory, err says so. */
char *file_copy(const file *f, const char *text, size_t n, tsh_err *err);
/* Bytes of the elements of e, into e->bytes; shape and dtype are set. */
tsh_status file_measure(const file *f, file_entry *e, uint32_t each,
                        tsh_err *err);
/* Two entries with one name are an error. */
tsh_status file_unique(const file *f, tsh_err *err);
/* One more pair of metadata: copies. */
tsh_status file_add_note(file *f, const char *key, size_t nkey,
                         const char *value, size_t nvalue, tsh_err *err);
/* Sorts the pairs by key; are two keys equal? */
int file_sort_notes(file *f);
/* Packed data of n bytes can hold so many. */
uint64_t file_most(uint64_t n, int packing);
/* A name for a message: short and printable. Returns text. */
const char *file_show(const char *name, size_t n, char *text, size_t size);

/* ---- the formats ----------------------------------------------------------
 */
/* Each fills the list of entries. */
tsh_status file_idx_open(file *f, tsh_err *err);
tsh_status file_npy_open(file *f, tsh_err *err);
tsh_status file_npz_open(file *f, tsh_err *err);
tsh_status file_safetensors_open(file *f, tsh_err *err);
tsh_status file_index_open(file *f, tsh_err *err);

/* ---- cells.c ---------------------------------------------------------------
 */
void file_swap(void *cells, uint64_t bytes, uint32_t each);
/* Bytes that are neither 0 nor 1 become 1. */
void file_booleans(void *cells, uint64_t bytes);
/* 0, or 1 + the number of the first element that does not fit. */
uint64_t file_convert(const void *from, int dtype, void *to, int as,
                      uint64_t n);

#endif
