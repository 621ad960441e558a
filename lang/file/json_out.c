/* json_out.c - a tensor as nested lists in JSON, a row on each line. JSON has
 * no nan, which becomes null, and no infinity, which becomes 1e999: readers of
 * JSON take that for infinite. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "out.h"

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

static int write_json(int dtype, const void *cells, uint64_t i, char *out,
                      size_t size) {
  int n;
  const char *digits;
  if (dtype == TSH_bool)
    return snprintf(out, size, "%s",
                    ((const uint8_t *)cells)[i] ? "true" : "false");
  n = out_cell(dtype, cells, i, out, size);
  digits = out + (*out == '-');
  if (*digits == 'n') return snprintf(out, size, "null");
  if (*digits == 'i')
    return snprintf(out, size, "%s1e999", digits == out ? "" : "-");
  return n;
}

static tsh_status put_text(file_out *o, const char *text, tsh_err *err) {
  return sink_write(&o->s, text, strlen(text), err);
}

/* The list of the axis k; *at: the next element. */
static tsh_status put_list(file_out *o, const file_item *item,
                           const void *cells, int k, uint64_t *at,
                           tsh_err *err) {
  tsh_status rc;
  TRY(put_text(o, "[", err));
  for (int64_t i = 0; i < item->dim[k]; i++) {
    char text[64];
    if (i) TRY(put_text(o, k == 0 && item->rank > 1 ? ",\n" : ",", err));
    if (k + 1 < item->rank) {
      TRY(put_list(o, item, cells, k + 1, at, err));
      continue;
    }
    write_json(item->dtype, cells, (*at)++, text, sizeof text);
    TRY(put_text(o, text, err));
  }
  rc = put_text(o, "]", err);
out:
  return rc;
}

static tsh_status put_all(file_out *o, const file_item *item, const void *cells,
                          tsh_err *err) {
  uint64_t at = 0;
  char text[64];
  tsh_status rc;
  if (item->rank) {
    TRY(put_list(o, item, cells, 0, &at, err));
  } else {
    write_json(item->dtype, cells, 0, text, sizeof text);
    TRY(put_text(o, text, err));
  }
  rc = put_text(o, "\n", err);
out:
  return rc;
}

tsh_status out_json_item(file_out *o, const file_item *item, const void *cells,
                         tsh_err *err) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), old;
  tsh_status rc;
  if (!plain) return dev_fail(err, TSH_ENOMEM, "%.400s: no memory", o->s.path);
  old = uselocale(plain);
  rc = put_all(o, item, cells, err);
  uselocale(old);
  freelocale(plain);
  return rc;
}
