/* safetensors_out.c - the header of a safetensors file. Its text is made whole
 * first, as its length stands in front; blanks behind it put the data at a
 * multiple of 8 bytes. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "out.h"
#include "safetensors.h"

/* ---- a text that grows
 * ------------------------------------------------------- */

typedef struct {
  char *p; /* owned */
  size_t n, room;
  int full; /* no memory */
} text;

static int reserve(text *t, size_t more) {
  size_t room = t->room ? t->room : 1024;
  char *p;
  if (t->full) return 0;
  while (room - t->n < more) room *= 2;
  if (room == t->room) return 1;
  p = realloc(t->p, room);
  if (!p) {
    t->full = 1;
    return 0;
  }
  t->p = p;
  t->room = room;
  return 1;
}

static void add(text *t, const char *s, size_t n) {
  if (!reserve(t, n)) return;
  memcpy(t->p + t->n, s, n);
  t->n += n;
}

static void add_format(text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_format(text *t, const char *format, ...) {
  char s[128];
  va_list args;
  va_start(args, format);
  add(t, s, (size_t)vsnprintf(s, sizeof s, format, args));
  va_end(args);
}

static void add_quoted(text *t, const char *s) {
  add(t, "\"", 1);
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') add(t, "\\", 1);
    if ((unsigned char)*s < ' ')
      add_format(t, "\\u%04x", *s);
    else
      add(t, s, 1);
  }
  add(t, "\"", 1);
}

/* ---- the header
 * --------------------------------------------------------------- */

static const char *dtype_name(int dtype) {
  static const struct {
    const char *name;
    int dtype; /* 0: none of ours */
  } list[] = {
#define SAFE_X(name, number, bits) {#name, number},
      SAFE_DTYPES(SAFE_X)
#undef SAFE_X
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].dtype && list[i].dtype == dtype) return list[i].name;
  return NULL;
}

static void add_notes(text *t, const file_content *c) {
  add_format(t, "\"" SAFE_METADATA "\":{");
  for (int64_t i = 0; i < c->nnote; i++) {
    if (i) add(t, ",", 1);
    add_quoted(t, c->note[2 * i]);
    add(t, ":", 1);
    add_quoted(t, c->note[2 * i + 1]);
  }
  add(t, "}", 1);
}

static void add_item(text *t, const file_item *item, uint64_t *at) {
  uint64_t bytes = out_count(item) * plan_dtype_bytes(item->dtype);
  add_quoted(t, item->name);
  add_format(t, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(item->dtype));
  for (int i = 0; i < item->rank; i++)
    add_format(t, "%s%lld", i ? "," : "", (long long)item->dim[i]);
  add_format(t, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)*at,
             (unsigned long long)(*at + bytes));
  *at += bytes;
}

static void add_header(text *t, const file_content *c) {
  uint64_t at = 0;
  add(t, "{", 1);
  if (c->nnote) add_notes(t, c);
  for (int64_t i = 0; i < c->n; i++) {
    if (i || c->nnote) add(t, ",", 1);
    add_item(t, &c->item[i], &at);
  }
  add(t, "}", 1);
  while (t->n % 8 && !t->full) add(t, " ", 1);
}

static tsh_status check(const file_out *o, text *t, tsh_err *err) {
  stream s = {.path = o->s.path};
  json j = {&s, t->p, t->p, t->p + t->n, 8, 0};
  if (t->full)
    return dev_fail(err, TSH_ENOMEM, "%.400s: no memory for its header",
                    o->s.path);
  if (t->n > SAFE_HEADER)
    return out_fail(o, err,
                    "the header would have %zu bytes, at most %d are allowed",
                    t->n, SAFE_HEADER);
  return json_check(&j, err);
}

static tsh_status check_items(const file_out *o, tsh_err *err) {
  for (int64_t i = 0; i < o->c->n; i++) {
    const file_item *item = &o->c->item[i];
    if (!dtype_name(item->dtype))
      return out_fail(o, err, "%.100s: the format has no dtype %s", item->name,
                      plan_dtype_name(item->dtype));
    if (strcmp(item->name, SAFE_METADATA) == 0)
      return out_fail(o, err, "no tensor may be called " SAFE_METADATA);
  }
  return TSH_OK;
}

tsh_status out_safetensors_head(file_out *o, tsh_err *err) {
  text t = {0};
  unsigned char length[8];
  tsh_status rc = check_items(o, err);
  if (rc != TSH_OK) return rc;
  add_header(&t, o->c);
  rc = check(o, &t, err);
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)(t.n >> 8 * i);
  if (rc == TSH_OK) rc = sink_write(&o->s, length, 8, err);
  if (rc == TSH_OK) rc = sink_write(&o->s, t.p, t.n, err);
  free(t.p);
  return rc;
}
