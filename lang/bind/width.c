/* width.c - how many columns of a terminal does a text take, and what is left
 * of it in few? Texts are UTF-8, whatever the user's locale is. */
#include <limits.h>
#include <locale.h>
#include <string.h>
#include <wchar.h>
#include "session.h"

enum { TAB = 8 }; /* the most that one takes */

static int is_ascii(const char *text, size_t size) {
  for (size_t i = 0; i < size; i++)
    if ((unsigned char)text[i] >= 0x80 || text[i] == '\t') return 0;
  return 1;
}

/* Bytes of the first character; what is none counts as one column. Without the
 * locale, every character does. */
static size_t first_character(const char *text, size_t size, int *columns) {
  mbstate_t state;
  wchar_t c;
  size_t n;
  memset(&state, 0, sizeof state);
  *columns = *text == '\t' ? TAB : 1;
  if ((unsigned char)*text < 0x80) return 1;
  n = mbrtowc(&c, text, size, &state);
  if (n == 0 || n > size) return 1;
  *columns = wcwidth(c);
  if (*columns < 0) *columns = 1;
  return n;
}

size_t lt_fit(const char *text, size_t size, int width, int *columns) {
  int used = 0, more = 0;
  size_t n = 0;
  locale_t utf8, before;
  if (is_ascii(text, size)) {
    n = width < 0 ? 0 : size < (size_t)width ? size : (size_t)width;
    if (columns) *columns = (int)n;
    return n;
  }
  utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  before = utf8 ? uselocale(utf8) : (locale_t)0;
  while (n < size) {
    size_t bytes = first_character(text + n, size - n, &more);
    if (more > width - used) break;
    n += bytes;
    used += more;
  }
  if (utf8) {
    uselocale(before);
    freelocale(utf8);
  }
  if (columns) *columns = used;
  return n;
}

int lt_columns(const char *text, size_t size) {
  int columns;
  lt_fit(text, size, INT_MAX, &columns);
  return columns;
}

/* ---- lines ---------------------------------------------------------------
 */

/* Where a line is broken: between two cells of a table in its second half, at
 * the last blank that fits, else at the next one: a word stays whole, so that
 * it can be copied. */
static size_t break_at(const char *line, size_t n, int width) {
  size_t lead = strspn(line, " "), fit = lt_fit(line, n, width, NULL), at = fit;
  while (at > lead && at > fit / 2 && memcmp(line + at, "  ", 2) != 0) at--;
  if (at > lead && at > fit / 2) return at;
  at = fit;
  while (at > lead && line[at] != ' ') at--;
  if (at > lead) return at;
  for (at = fit; at < n && line[at] != ' ';) at++;
  return at;
}

/* Fewer columns before a word that fits a line only with fewer. */
static int hang_of(const char *line, size_t n, int width, int hang) {
  const char *blank = memchr(line, ' ', n);
  int spare = width - lt_columns(line, blank ? (size_t)(blank - line) : n);
  return spare >= 0 && spare < hang ? spare : hang;
}

static void fold_line(const char *line, size_t n, int width, int hang,
                      FILE *out) {
  int room = width;
  if (hang < 0) hang = (int)strspn(line, " ") + 2;
  if (hang > width / 2) hang = 4;
  while (lt_columns(line, n) > room) {
    size_t at = break_at(line, n, room), end = at;
    while (end && line[end - 1] == ' ') end--;
    while (at < n && line[at] == ' ') at++;
    fwrite(line, 1, end, out);
    line += at;
    n -= at;
    if (n == 0) return;
    int before = hang_of(line, n, width, hang);
    fprintf(out, "\n%*s", before, "");
    room = width > before + 8 ? width - before : 8;
  }
  fwrite(line, 1, n, out);
}

void lt_fold(const char *text, int hang, FILE *out) {
  lt_fold_for(text, hang, out, out);
}

void lt_fold_for(const char *text, int hang, FILE *screen, FILE *out) {
  int width = lt_line_width(screen);
  while (*text) {
    size_t n = strcspn(text, "\n");
    fold_line(text, n, width, hang, out);
    text += n;
    if (*text == '\n') fputc(*text++, out);
  }
}

size_t lt_excerpt(const char *line, size_t at, int width, char *text,
                  size_t size) {
  static const char dots[] = "...";
  size_t n = strlen(line), from = 0, fit;
  int room = width > 12 ? width : 12;
  if (n < size && lt_columns(line, n) <= room) {
    memcpy(text, line, n + 1);
    return at;
  }
  /* A third of the room before the place, unless all before it fits. */
  if (lt_columns(line, at) > room / 2) {
    from = at;
    while (from > 0 && lt_columns(line + from, at - from) < room / 3) do
        from--;
      while (from > 0 && ((unsigned char)line[from] & 0xC0) == 0x80);
    room -= 3;
  }
  if (lt_columns(line + from, n - from) > room) room -= 3;
  if (size < 8) size = 8;
  fit = n - from < size - 7 ? n - from : size - 7;
  fit = lt_fit(line + from, fit, room, NULL);
  snprintf(text, size, "%s%.*s%s", from ? dots : "", (int)fit, line + from,
           from + fit < n ? dots : "");
  return from ? at - from + 3 : at;
}

void lt_write_pad(const char *text, size_t size, FILE *out) {
  for (size_t n; size; text += n, size -= n) {
    n = strcspn(text, "\t");
    if (n > size) n = size;
    fprintf(out, "%*s", lt_columns(text, n), "");
    if (n < size) fputc(text[n++], out);
  }
}
