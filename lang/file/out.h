/* out.h - inside the file room: a file that is being written, as the formats
 * see it. */
#ifndef FILE_OUT_H
#define FILE_OUT_H

#include "format.h"
#include "sink.h"

typedef struct out_zip out_zip; /* what an archive has so far: zip.c */

struct file_out {
  sink s;
  const file_content *c; /* borrowed */
  int64_t at;            /* the next item */
  out_zip *zip;
};

/* TSH_EINVAL, "PATH: ..." */
tsh_status out_fail(const file_out *o, tsh_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint64_t out_count(const file_item *item); /* elements */

/* What goes before the first item, for one item, after the last. */
tsh_status out_safetensors_head(file_out *o, tsh_err *err);
tsh_status out_zip_begin(file_out *o, tsh_err *err);
tsh_status out_zip_item(file_out *o, const file_item *item, const void *cells,
                        tsh_err *err);
tsh_status out_zip_end(file_out *o, tsh_err *err);
void out_zip_free(out_zip *z); /* takes NULL */
/* A number as text, of at most 32 bytes; the locale is "C". */
int out_cell(int dtype, const void *cells, uint64_t i, char *out, size_t size);
tsh_status out_json_item(file_out *o, const file_item *item, const void *cells,
                         tsh_err *err);
tsh_status out_csv_head(file_out *o, tsh_err *err);
tsh_status out_csv_item(file_out *o, const file_item *item, const void *cells,
                        tsh_err *err);

#endif
