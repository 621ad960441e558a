/* json.c - JSON as headers of tensor files have it. */
#include <string.h>
#include "json.h"

static tsh_status fail_line(const json *j, const char *what, tsh_err *err) {
  long long line = 1;
  for (const char *at = j->begin; at != j->at; at++) line += *at == '\n';
  return dev_fail(err, TSH_EINVAL, "%.400s:%lld: %s", j->s->path, line, what);
}

tsh_status json_fail(const json *j, const char *what, tsh_err *err) {
  if (j->lines) return fail_line(j, what, err);
  return stream_fail(
      j->s, err, "%sbyte %llu: %s", j->offset ? "header " : "",
      (unsigned long long)(j->offset + (uint64_t)(j->at - j->begin)), what);
}

/* ---- UTF-8 ------------------------------------------------------------------
 */

/* Bytes of the character at p, or 0: that is none. */
static size_t char_bytes(const unsigned char *p, size_t left) {
  size_t n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
  if (n == 0 || n > left || *p > 0xf4) return 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  if (*p == 0xe0 && p[1] < 0xa0) return 0; /* longer than need be */
  if (*p == 0xed && p[1] > 0x9f) return 0; /* a surrogate */
  if (*p == 0xf0 && p[1] < 0x90) return 0;
  if (*p == 0xf4 && p[1] > 0x8f) return 0; /* beyond the last character */
  return n;
}

tsh_status json_check(json *j, tsh_err *err) {
  char *at = j->at;
  while (at != j->end) {
    size_t n = char_bytes((unsigned char *)at, (size_t)(j->end - at));
    if (!n) {
      j->at = at;
      return json_fail(j, "this is not UTF-8", err);
    }
    at += n;
  }
  return TSH_OK;
}

static char *put_char(char *to, uint32_t c) {
  if (c < 0x80) {
    *to++ = (char)c;
  } else if (c < 0x800) {
    *to++ = (char)(0xc0 | c >> 6);
    *to++ = (char)(0x80 | (c & 63));
  } else if (c < 0x10000) {
    *to++ = (char)(0xe0 | c >> 12);
    *to++ = (char)(0x80 | (c >> 6 & 63));
    *to++ = (char)(0x80 | (c & 63));
  } else {
    *to++ = (char)(0xf0 | c >> 18);
    *to++ = (char)(0x80 | (c >> 12 & 63));
    *to++ = (char)(0x80 | (c >> 6 & 63));
    *to++ = (char)(0x80 | (c & 63));
  }
  return to;
}

/* ---- marks ------------------------------------------------------------------
 */

void json_blanks(json *j) {
  while (j->at != j->end &&
         (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
    j->at++;
}

int json_next(json *j, char c) {
  json_blanks(j);
  if (j->at == j->end || *j->at != c) return 0;
  j->at++;
  return 1;
}

tsh_status json_expect(json *j, char c, tsh_err *err) {
  char text[] = "'x' is missing", end[] = "cut short, 'x' is missing";
  if (json_next(j, c)) return TSH_OK;
  text[1] = c;
  end[12] = c;
  if (j->lines && j->at == j->end) return json_fail(j, end, err);
  return json_fail(j, text, err);
}

tsh_status json_comma(json *j, char close, int *more, tsh_err *err) {
  *more = json_next(j, ',');
  return *more ? TSH_OK : json_expect(j, close, err);
}

tsh_status json_end(json *j, tsh_err *err) {
  json_blanks(j);
  return j->at == j->end ? TSH_OK : json_fail(j, "text after its end", err);
}

/* ---- texts ------------------------------------------------------------------
 */

static int hex(const json *j, const char *at, uint32_t *out) {
  if (j->end - at < 4) return 0;
  *out = 0;
  for (int i = 0; i < 4; i++) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *d = at[i] ? strchr(digits, at[i]) : NULL;
    if (!d) return 0;
    *out = *out << 4 | (uint32_t)((d - digits) & 15);
  }
  return 1;
}

/* What follows \u, up to two of them. */
static tsh_status take_code(json *j, uint32_t *c, tsh_err *err) {
  uint32_t low;
  if (!hex(j, j->at, c)) return json_fail(j, "\\u takes four hex digits", err);
  j->at += 4;
  if (*c == 0) return json_fail(j, "a zero byte in a text", err);
  if (*c < 0xd800 || *c > 0xdfff) return TSH_OK;
  if (*c > 0xdbff || j->end - j->at < 6 || j->at[0] != '\\' ||
      j->at[1] != 'u' || !hex(j, j->at + 2, &low) || low < 0xdc00 ||
      low > 0xdfff)
    return json_fail(j, "half a surrogate pair", err);
  j->at += 6;
  *c = 0x10000 + ((*c - 0xd800) << 10) + (low - 0xdc00);
  return TSH_OK;
}

static tsh_status take_escape(json *j, char **to, tsh_err *err) {
  static const char name[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
  char c = j->at != j->end ? *j->at : 0;
  const char *found = c ? strchr(name, c) : NULL;
  uint32_t code;
  tsh_status rc;
  if (found) {
    j->at++;
    *(*to)++ = meaning[found - name];
    return TSH_OK;
  }
  if (c != 'u') return json_fail(j, "an escape that JSON has not", err);
  j->at++;
  rc = take_code(j, &code, err);
  if (rc == TSH_OK) *to = put_char(*to, code);
  return rc;
}

tsh_status json_text(json *j, const char **out, size_t *n, tsh_err *err) {
  char *to;
  if (!json_next(j, '"')) return json_fail(j, "a text is missing", err);
  *out = to = j->at;
  while (j->at != j->end && *j->at != '"') {
    tsh_status rc = TSH_OK;
    if ((unsigned char)*j->at < ' ')
      return json_fail(j, "a control character in a text", err);
    if (*j->at != '\\')
      *to++ = *j->at++;
    else if (j->at++, (rc = take_escape(j, &to, err)) != TSH_OK)
      return rc;
  }
  if (j->at == j->end) return json_fail(j, "a text that does not end", err);
  j->at++;
  *n = (size_t)(to - *out);
  *to = 0; /* at the latest where the closing quote was */
  return TSH_OK;
}

tsh_status json_key(json *j, const char **out, size_t *n, tsh_err *err) {
  tsh_status rc = json_text(j, out, n, err);
  return rc == TSH_OK ? json_expect(j, ':', err) : rc;
}

/* ---- numbers ----------------------------------------------------------------
 */

tsh_status json_whole(json *j, int64_t *out, tsh_err *err) {
  char *first;
  int64_t v = 0;
  json_blanks(j);
  first = j->at;
  while (j->at != j->end && *j->at >= '0' && *j->at <= '9') {
    int digit = *j->at - '0';
    if (v > (INT64_MAX - digit) / 10)
      return json_fail(j, "a number beyond 2^63 - 1", err);
    v = v * 10 + digit;
    j->at++;
  }
  if (j->at == first || (j->at != j->end && strchr(".eE", *j->at) && *j->at) ||
      (*first == '0' && j->at - first > 1))
    return json_fail(j, "a whole number from 0 is missing", err);
  *out = v;
  return TSH_OK;
}

/* ---- any value --------------------------------------------------------------
 */

enum { DEPTH = 32 };

static tsh_status skip_word(json *j, tsh_err *err) {
  char *first = j->at;
  while (j->at != j->end && *j->at &&
         strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *j->at))
    j->at++;
  return j->at != first ? TSH_OK : json_fail(j, "a value is missing", err);
}

static tsh_status skip_list(json *j, char close, int depth, tsh_err *err) {
  int more = !json_next(j, close);
  tsh_status rc = TSH_OK;
  while (rc == TSH_OK && more) {
    const char *key;
    size_t n;
    if (close == '}') rc = json_key(j, &key, &n, err);
    if (rc == TSH_OK) rc = json_skip(j, depth + 1, err);
    if (rc == TSH_OK) rc = json_comma(j, close, &more, err);
  }
  return rc;
}

tsh_status json_skip(json *j, int depth, tsh_err *err) {
  const char *text;
  size_t n;
  if (depth == DEPTH) return json_fail(j, "values are nested too deep", err);
  if (json_next(j, '{')) return skip_list(j, '}', depth, err);
  if (json_next(j, '[')) return skip_list(j, ']', depth, err);
  if (j->at != j->end && *j->at == '"') return json_text(j, &text, &n, err);
  return skip_word(j, err);
}
