/* rig.h - for the tests of the file room: files from bytes, and memory that
 * runs out. */
#ifndef TESTS_FILE_RIG_H
#define TESTS_FILE_RIG_H

#include <stddef.h>
#include <stdint.h>
#include "file.h"

/* Allocations until one fails; below 0: none does. Every malloc, calloc and
 * realloc of the program counts. */
extern long rig_fuse;
extern size_t rig_biggest; /* bytes of the largest since it was set to 0 */

extern tsh_err rig_err; /* of the last call below, the path cut from its text */

/* Writes bytes as a file "t"; a path that stays until the next call. */
const char *rig_file(const void *bytes, size_t n);
/* Opens it; then reads every element of every entry as its own dtype. */
tsh_status rig_read(const void *bytes, size_t n, int format);
/* The elements of entry i of bytes; malloc'ed, or NULL. */
void *rig_elements(const void *bytes, size_t n, int format, int64_t i,
                   int dtype);
/* The bytes of a file that is written; malloc'ed. cells: for each item. */
char *rig_write(const file_content *c, const void *const *cells, size_t *n);

#endif
