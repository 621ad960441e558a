/* npy.h - the header of NumPy's files, inside the file room only. */
#ifndef FILE_NPY_H
#define FILE_NPY_H

#include "format.h"

/* What a header may have at most, as for NumPy's own reader. */
enum { NPY_HEADER = 10000 };

/* Reads magic and header at the cursor; sets all of e but at, stored, packing
 * and crc. A dtype that tsh has not sets e->why. */
tsh_status npy_head(const file *f, cursor *c, file_entry *e, tsh_err *err);

/* The header of an item; room for NPY_WRITTEN bytes. Returns its size, or 0:
 * NumPy has no such dtype. */
enum { NPY_WRITTEN = 384 };
size_t npy_write_head(const file_item *item, char *out);

#endif
