/* error.c - texts and errors of the host room. Whatever a plugin does with a
 * tsh_err, the caller sees a code and a sentence. */
#include "set.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *dev_status_text(tsh_status code) {
#define TSH_X(id, name, text) text,
  static const char *const texts[] = {TSH_STATUSES(TSH_X)};
#undef TSH_X
  return code >= 0 && code < TSH_NSTATUS ? texts[code] : "an unknown failure";
}

static void err_clear(tsh_err *err) {
  err->size = sizeof *err;
  err->code = TSH_OK;
  err->launch = TSH_NO_LAUNCH;
  err->pad = 0;
  err->ticket = 0;
  err->at = -1;
  err->text[0] = '\0'; /* the rest of 1 KiB is not worth clearing */
}

tsh_status dev_fail(tsh_err *err, tsh_status code, const char *format, ...) {
  va_list args;
  if (!err) return code;
  err_clear(err);
  err->code = code;
  va_start(args, format);
  vsnprintf(err->text, sizeof err->text, format, args);
  va_end(args);
  return code;
}

char *dev_text(const char *format, ...) {
  va_list args;
  char *text;
  int n;
  va_start(args, format);
  n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  text = n < 0 ? NULL : malloc((size_t)n + 1);
  if (!text) return NULL;
  va_start(args, format);
  vsnprintf(text, (size_t)n + 1, format, args);
  va_end(args);
  return text;
}

void dev_clean(char *text, size_t size) {
  text[size - 1] = '\0';
  for (; *text; text++)
    if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = ' ';
}

tsh_err *dev_call_begin(tsh_err *err, tsh_err *spare) {
  if (!err) err = spare;
  err_clear(err);
  return err;
}

tsh_status dev_call_end(const char *who, const char *entry, tsh_status rc,
                        tsh_err *err) {
  err->size = sizeof *err;
  if (rc == TSH_OK) return rc;
  if (rc < 0 || rc >= TSH_NSTATUS) rc = TSH_EDEVICE;
  err->code = rc;
  dev_clean(err->text, sizeof err->text);
  if (!err->text[0])
    snprintf(err->text, sizeof err->text, "%s: %s: %s", who, entry,
             dev_status_text(rc));
  return rc;
}
