/* note.c - the pairs of texts that a file has besides its tensors. */
#include <stdlib.h>
#include <string.h>
#include "format.h"

int file_note(const file *f, int64_t i, const char **key, const char **value) {
  if (i >= f->nnote) return 0;
  *key = f->note[2 * i];
  *value = f->note[2 * i + 1];
  return 1;
}

/* Room doubles where the count is a power of two. */
static int reserve(file *f) {
  size_t room = f->nnote ? (size_t)f->nnote * 4 : 2;
  char **note;
  if (f->nnote & (f->nnote - 1)) return 1;
  note = realloc(f->note, room * sizeof *note);
  if (note) f->note = note;
  return note != NULL;
}

tsh_status file_add_note(file *f, const char *key, size_t nkey,
                         const char *value, size_t nvalue, tsh_err *err) {
  char **note;
  if (!reserve(f))
    return dev_fail(err, TSH_ENOMEM, "%.400s: no memory for its metadata",
                    f->s.path);
  note = f->note + 2 * f->nnote;
  note[0] = file_copy(f, key, nkey, err);
  note[1] = note[0] ? file_copy(f, value, nvalue, err) : NULL;
  if (note[1]) {
    f->nnote++;
    return TSH_OK;
  }
  free(note[0]);
  return TSH_ENOMEM;
}

static int by_key(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

int file_sort_notes(file *f) {
  if (f->nnote) qsort(f->note, (size_t)f->nnote, 2 * sizeof *f->note, by_key);
  for (int64_t i = 1; i < f->nnote; i++)
    if (strcmp(f->note[2 * i - 2], f->note[2 * i]) == 0) return 1;
  return 0;
}
