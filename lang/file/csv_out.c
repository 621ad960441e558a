/* csv_out.c - tables of numbers to text: commas, a line for each row, as few
 * digits as give the same number again. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "out.h"

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

/* ---- numbers
 * ------------------------------------------------------------------ */

static int write_real(double v, int is_float, char *out, size_t size) {
  int digits = is_float ? 6 : 15, most = is_float ? 9 : 17, n = 0;
  if (v != v) return snprintf(out, size, "nan");
  for (; digits <= most; digits++) {
    n = snprintf(out, size, "%.*g", digits, v);
    if (is_float ? strtof(out, NULL) == (float)v : strtod(out, NULL) == v)
      break;
  }
  return n;
}

/* A float stays one in text: 2 becomes 2.0, as -12 is read as an integer. */
static int mark_float(char *text, int n) {
  if (strpbrk(text, ".en")) return n;
  memcpy(text + n, ".0", 3);
  return n + 2;
}

int out_cell(int dtype, const void *cells, uint64_t i, char *out, size_t size) {
  switch (dtype) {
  case TSH_bool:
  case TSH_u8:
    return snprintf(out, size, "%d", ((const uint8_t *)cells)[i]);
  case TSH_i8:
    return snprintf(out, size, "%d", ((const int8_t *)cells)[i]);
  case TSH_i16:
    return snprintf(out, size, "%d", ((const int16_t *)cells)[i]);
  case TSH_u16:
    return snprintf(out, size, "%d", ((const uint16_t *)cells)[i]);
  case TSH_i32:
    return snprintf(out, size, "%d", ((const int32_t *)cells)[i]);
  case TSH_u32:
    return snprintf(out, size, "%u", ((const uint32_t *)cells)[i]);
  case TSH_i64:
    return snprintf(out, size, "%lld", (long long)((const int64_t *)cells)[i]);
  case TSH_u64:
    return snprintf(out, size, "%llu",
                    (unsigned long long)((const uint64_t *)cells)[i]);
  case TSH_f64:
    return write_real(((const double *)cells)[i], 0, out, size);
  case TSH_f32:
    return write_real((double)((const float *)cells)[i], 1, out, size);
  default: {
    float v = 0;
    file_convert((const uint16_t *)cells + i, dtype, &v, TSH_f32, 1);
    return write_real((double)v, 1, out, size);
  }
  }
}

/* ---- rows
 * ---------------------------------------------------------------------- */

static int is_float(int dtype) {
  int kind = plan_dtype_kind(dtype);
  return kind == TSH_KIND_FLOAT;
}

static tsh_status put_rows(file_out *o, const file_item *item,
                           const void *cells, tsh_err *err) {
  uint64_t rows = item->rank ? (uint64_t)item->dim[0] : 1;
  uint64_t columns = item->rank == 2 ? (uint64_t)item->dim[1] : 1, at = 0;
  tsh_status rc = TSH_OK;
  for (uint64_t r = 0; r < rows; r++)
    for (uint64_t c = 0; c < columns; c++) {
      char text[64];
      int n = out_cell(item->dtype, cells, at++, text, sizeof text - 3);
      if (is_float(item->dtype)) n = mark_float(text, n);
      text[n] = c + 1 < columns ? ',' : '\n';
      TRY(sink_write(&o->s, text, (uint64_t)n + 1, err));
    }
out:
  return rc;
}

tsh_status out_csv_item(file_out *o, const file_item *item, const void *cells,
                        tsh_err *err) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), old;
  tsh_status rc;
  if (!plain) return dev_fail(err, TSH_ENOMEM, "%.400s: no memory", o->s.path);
  old = uselocale(plain);
  rc = put_rows(o, item, cells, err);
  uselocale(old);
  freelocale(plain);
  return rc;
}

/* ---- names of columns
 * ------------------------------------------------------------ */

static tsh_status put_name(file_out *o, const char *name, char then,
                           tsh_err *err) {
  tsh_status rc;
  TRY(sink_write(&o->s, "\"", 1, err));
  for (; *name; name++) {
    if (*name == '"') TRY(sink_write(&o->s, "\"", 1, err));
    TRY(sink_write(&o->s, name, 1, err));
  }
  TRY(sink_write(&o->s, "\"", 1, err));
  rc = sink_write(&o->s, &then, 1, err);
out:
  return rc;
}

static int needs_quotes(const char *name) {
  size_t n = strlen(name);
  if (!n || *name == ' ' || *name == '\t') return 1;
  return name[n - 1] == ' ' || name[n - 1] == '\t' ||
         strpbrk(name, "\",;\t\r\n ");
}

tsh_status out_csv_head(file_out *o, tsh_err *err) {
  const file_content *c = o->c;
  tsh_status rc = TSH_OK;
  if (c->n != 1 || c->item->rank > 2)
    return out_fail(o, err, "a table has one or two axes");
  for (int64_t i = 0; i < c->nheader; i++) {
    const char *name = c->header[i];
    char then = i + 1 < c->nheader ? ',' : '\n';
    if (strpbrk(name, "\r\n"))
      return out_fail(o, err, "a line end in the name of column %lld",
                      (long long)i + 1);
    if (needs_quotes(name)) {
      TRY(put_name(o, name, then, err));
      continue;
    }
    TRY(sink_write(&o->s, name, strlen(name), err));
    TRY(sink_write(&o->s, &then, 1, err));
  }
out:
  return rc;
}
