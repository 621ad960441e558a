/* tokens.c - a text cut into words, as Lua cuts it, but for signs of other
 * languages, which are one word each: != ** += &&. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "tokens.h"

static int is_name_char(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* Past the string or comment in brackets that begins at s, [[ or [==[, or NULL
 * when none does. */
static const char *past_long(const char *s) {
  char end[16];
  size_t level = strspn(s + 1, "=");
  const char *found;
  if (*s != '[' || s[1 + level] != '[' || level > sizeof end - 3) return NULL;
  end[0] = ']';
  memset(end + 1, '=', level);
  memcpy(end + 1 + level, "]", 2);
  found = strstr(s, end);
  return found ? found + level + 2 : s + strlen(s);
}

/* An unfinished string ends with its line. */
static const char *past_quoted(const char *s) {
  char quote = *s++;
  for (; *s && *s != quote && *s != '\n'; s++)
    if (*s == '\\' && s[1]) s++;
  return *s == quote ? s + 1 : s;
}

static const char *past_blank(const char *s) {
  for (;;) {
    const char *past;
    s += strspn(s, " \t\r\n\f\v");
    if (strncmp(s, "--", 2) != 0) return s;
    past = past_long(s + 2);
    s = past ? past : s + strcspn(s, "\n");
  }
}

static const char *past_signs(const char *s) {
  static const char *const signs[] = {
      "...", "**=", "//=", "..=", "==", "~=", "<=", ">=", "//", "::",
      "<<",  ">>",  "..",  "!=",  "**", "+=", "-=", "*=", "/=", "%=",
      "^=",  "@=",  "|=",  "&=",  "&&", "||", "++", "->", NULL};
  for (int i = 0; signs[i]; i++)
    if (strncmp(s, signs[i], strlen(signs[i])) == 0)
      return s + strlen(signs[i]);
  return s + 1;
}

static const char *past_number(const char *s) {
  int hex = s[0] == '0' && tolower((unsigned char)s[1]) == 'x';
  const char *end = s;
  for (;; end++) {
    int sign = end > s && (*end == '+' || *end == '-') &&
               tolower((unsigned char)end[-1]) == (hex ? 'p' : 'e');
    if (!sign && !is_name_char(*end) && !(*end == '.' && end[1] != '.'))
      return end;
  }
}

static void count_lines(lt_token *w, const char *from, const char *to) {
  for (; from < to; from++) w->line += *from == '\n';
}

int lt_next_token(lt_token *w) {
  const char *last = w->from ? w->from : w->at, *s = past_blank(w->at);
  const char *end = s, *past;
  count_lines(w, last, s);
  w->name = w->number = w->string = 0;
  w->from = s;
  if (!*s) return 0;
  if ((past = past_long(s)) || *s == '"' || *s == '\'') {
    w->at = past ? past : past_quoted(s);
    w->string = 1;
    snprintf(w->text, sizeof w->text, "...");
    return 1;
  }
  w->number = isdigit((unsigned char)*s) != 0;
  w->name = !w->number && is_name_char(*s);
  if (w->name)
    while (is_name_char(*end)) end++;
  else if (w->number)
    end = past_number(s);
  else
    end = past_signs(s);
  snprintf(w->text, sizeof w->text, "%.*s", (int)(end - s), s);
  w->at = end;
  return 1;
}

int lt_tokens_read(lt_tokens *w, const char *text) {
  lt_token next = {.at = text, .line = 1}, *more;
  int room = 0;
  w->word = NULL;
  for (w->n = 0; lt_next_token(&next); w->n++) {
    if (w->n == room) {
      room = room ? 2 * room : 64;
      more = realloc(w->word, (size_t)room * sizeof *more);
      if (!more) {
        lt_tokens_free(w);
        return 0;
      }
      w->word = more;
    }
    w->word[w->n] = next;
  }
  return 1;
}

void lt_tokens_free(lt_tokens *w) {
  free(w->word);
  w->word = NULL;
  w->n = 0;
}
