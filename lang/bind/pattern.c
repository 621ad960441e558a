/* pattern.c - a few words that may stand on a line, with places for what is the
 * user's own. Sees words only, and needs no correct Lua. */
#include <string.h>
#include "tokens.h"

int lt_is_token(const lt_token *w, const char *text) {
  return !w->string && strcmp(w->text, text) == 0;
}

static int is_one_of(const lt_token *w, const char *const *list) {
  for (; *list; list++)
    if (lt_is_token(w, *list)) return 1;
  return 0;
}

static int is_keyword(const lt_token *w) {
  static const char *const words[] = {
      "and",      "break",  "do",   "else",  "elseif", "end",  "for",
      "function", "goto",   "if",   "in",    "local",  "not",  "or",
      "repeat",   "return", "then", "until", "while",  "elif", NULL};
  return w->name && is_one_of(w, words);
}

static int touches(const lt_token *a, const lt_token *b) {
  return a->at == b->from;
}

/* ---- brackets and values ------------------------------------------------- */

static int opens(const lt_token *w) {
  return !w->string && w->text[0] && !w->text[1] && strchr("([{", w->text[0]);
}

static int closes(const lt_token *w) {
  return !w->string && w->text[0] && !w->text[1] && strchr(")]}", w->text[0]);
}

int lt_past_bracket(const lt_tokens *w, int i) {
  for (int depth = 0; i < w->n; i++) {
    depth += opens(&w->word[i]) - closes(&w->word[i]);
    if (depth == 0) return i + 1;
  }
  return -1;
}

/* The word that opens the bracket which word i closes, or -1. */
static int opening(const lt_tokens *w, int i) {
  for (int depth = 0; i >= 0; i--) {
    depth += closes(&w->word[i]) - opens(&w->word[i]);
    if (depth == 0) return i;
  }
  return -1;
}

int lt_ends_value(const lt_token *w) {
  return w->number || w->string || closes(w) || (w->name && !is_keyword(w));
}

/* Does word i, a colon, call a method? */
int lt_calls_method(const lt_tokens *w, int i) {
  const lt_token *at = &w->word[i];
  return i > 0 && i + 2 < w->n && touches(at - 1, at) && touches(at, at + 1) &&
         at[1].name &&
         (lt_is_token(at + 2, "(") || lt_is_token(at + 2, "{") || at[2].string);
}

/* Past the value that begins with word i, or -1. */
static int past_value(const lt_tokens *w, int i) {
  int end = i;
  if (i >= w->n || is_keyword(&w->word[i])) return -1;
  if (opens(&w->word[i]))
    end = lt_past_bracket(w, i);
  else if (lt_ends_value(&w->word[i]) && !closes(&w->word[i]))
    end = i + 1;
  else
    return -1;
  while (end > 0 && end < w->n) {
    const lt_token *at = &w->word[end];
    if (at->line != at[-1].line) break;
    if (lt_is_token(at, "(") || (opens(at) && touches(at - 1, at)))
      end = lt_past_bracket(w, end);
    else if (lt_is_token(at, ".") && end + 1 < w->n && at[1].name)
      end += 2;
    else if (lt_is_token(at, ":") && lt_calls_method(w, end))
      end += 2;
    else
      break;
  }
  return end;
}

int lt_value_start(const lt_tokens *w, int i) {
  while (i >= 0) {
    const lt_token *at = &w->word[i];
    if (closes(at)) {
      i = opening(w, i);
      if (i <= 0 || !lt_ends_value(&w->word[i - 1])) return i;
      i--;
    } else if (i >= 2 && at->name && lt_ends_value(at - 2) &&
               (lt_is_token(at - 1, ".") || lt_is_token(at - 1, ":"))) {
      i -= 2;
    } else {
      return lt_ends_value(at) ? i : -1;
    }
  }
  return -1;
}

/* ---- matching ------------------------------------------------------------ */

typedef struct {
  const lt_tokens *w;
  lt_match *out;
} matcher;

static int match_from(matcher *m, const char *p, int i);

static int take(matcher *m, const char *rest, int from, int to) {
  int n = m->out->n;
  if (to < 0 || n == LT_CAPTURES) return 0;
  m->out->part[m->out->n++] = (lt_span){from, to};
  if (match_from(m, rest, to)) return 1;
  m->out->n = n;
  return 0;
}

enum { MOST = 100 }; /* words of a part: lines may be of any length */

/* Past word i of an expression, a comparison's side (kind 'c') or of anything
 * ('s'), whose last word so far is i - 1; -1: it ends there. */
static int past_part(const lt_tokens *w, int i, int from, char kind) {
  static const char *const ends[] = {
      "=",  ",",  ";",  "+=", "-=", "*=", "/=", "%=",
      "^=", "@=", "|=", "&=", "++", "?",  NULL};
  static const char *const sides[] = {
      "&&", "||", "!", "is", "==", "~=", "!=", "<=", ">=", "<", ">", NULL};
  static const char *const joins[] = {"and", "or", "not", "function", NULL};
  const lt_token *at = &w->word[i];
  if (i >= w->n || closes(at)) return -1;
  if (i - from > MOST || (i > from && at->line != at[-1].line)) return -1;
  if (opens(at)) return lt_past_bracket(w, i);
  if (kind == 's') return i + 1;
  if (is_one_of(at, ends)) return -1;
  if (kind == 'c' && is_one_of(at, sides)) return -1;
  if (is_keyword(at) && (kind == 'c' || !is_one_of(at, joins))) return -1;
  return i + 1;
}

/* As little as the rest of the pattern allows; in the end as much as there is.
 */
static int match_part(matcher *m, char kind, const char *rest, int i) {
  int last = !*rest, end = i, next;
  if (kind == 's' && !last && take(m, rest, i, i)) return 1;
  while ((next = past_part(m->w, end, i, kind)) > 0) {
    end = next;
    if (!last && take(m, rest, i, end)) return 1;
  }
  return last && (end > i || kind == 's') && take(m, rest, i, end);
}

static int match_names(matcher *m, const char *rest, int i) {
  int end = i;
  while (end < m->w->n && m->w->word[end].name &&
         !is_keyword(&m->w->word[end])) {
    end++;
    if (end >= m->w->n || !lt_is_token(&m->w->word[end], ",")) break;
    end++;
  }
  return end > i && take(m, rest, i, end);
}

static int match_from(matcher *m, const char *p, int i) {
  const lt_tokens *w = m->w;
  size_t size = strcspn(p, " ");
  const char *rest = p + size + (p[size] == ' ');
  if (!size) {
    m->out->all.to = i;
    return 1;
  }
  if (*p == '^' && size == 1)
    return (i == 0 || w->word[i].line != w->word[i - 1].line) &&
           match_from(m, rest, i);
  if (*p == '$')
    return (i == w->n || i == 0 || w->word[i].line != w->word[i - 1].line) &&
           match_from(m, rest, i);
  if (i >= w->n) return *p == '%' && p[1] == 's' && match_part(m, 's', rest, i);
  if (*p == '%' && p[1] == 'n')
    return w->word[i].name && !is_keyword(&w->word[i]) &&
           take(m, rest, i, i + 1);
  if (*p == '%' && p[1] == 'l') return match_names(m, rest, i);
  if (*p == '%' && p[1] == 'v') return take(m, rest, i, past_value(w, i));
  if (*p == '%' && p[1] == 'o')
    return !opens(&w->word[i]) && take(m, rest, i, past_value(w, i));
  if (*p == '%' && p[1] == 'q')
    return w->word[i].string && take(m, rest, i, i + 1);
  if (size == 2 && *p == '%' && strchr("ecs", p[1]))
    return match_part(m, p[1], rest, i);
  if (w->word[i].string || strlen(w->word[i].text) != size ||
      strncmp(w->word[i].text, p, size) != 0)
    return 0;
  if (*p == ':' && size == 1 && lt_calls_method(w, i)) return 0;
  return match_from(m, rest, i + 1);
}

int lt_pattern_match(const lt_tokens *w, const char *pattern, int i,
                     lt_match *out) {
  matcher m = {w, out};
  memset(out, 0, sizeof *out);
  out->all.from = i;
  return match_from(&m, pattern, i);
}

/* ---- writing ------------------------------------------------------------- */

/* Python's and C's words in Lua. */
static const char *const in_lua[][2] = {
    {"None", "nil"}, {"True", "true"}, {"False", "false"}, {"!=", "~="},
    {"&&", "and"},   {"||", "or"},     {"!", "not"},       {"**", "^"},
    {"is", "=="},    {"null", "nil"}};

static void write_word(const lt_token *w, FILE *out) {
  if (!w->string)
    for (size_t i = 0; i < sizeof in_lua / sizeof *in_lua; i++)
      if (strcmp(in_lua[i][0], w->text) == 0) {
        fputs(in_lua[i][1], out);
        return;
      }
  fwrite(w->from, 1, (size_t)(w->at - w->from), out);
}

enum { LONGEST = 60 };

void lt_span_write(const lt_tokens *w, lt_span s, int apart, FILE *out) {
  const lt_token *first = &w->word[s.from], *end = first + (s.to - s.from);
  if (s.to <= s.from) return;
  if (end[-1].at - first->from > LONGEST) {
    fputs("...", out);
    return;
  }
  apart = apart && past_value(w, s.from) != s.to;
  if (apart) fputc('(', out);
  for (const lt_token *at = first; at < end; at++) {
    int before = at > first && !touches(at - 1, at);
    if (before || (at > first && lt_is_token(at - 1, "!"))) fputc(' ', out);
    if (lt_is_token(at, "is") && at + 1 < end && lt_is_token(at + 1, "not")) {
      fputs("~=", out);
      at++;
    } else {
      write_word(at, out);
    }
  }
  if (apart) fputc(')', out);
}

void lt_write_hint(const lt_tokens *w, const char *hint, const lt_match *at,
                   FILE *out) {
  for (; *hint; hint++) {
    int apart = hint[0] == '%' && hint[1] == '(';
    int k = hint[0] == '%' ? hint[1 + apart] - '1' : -1;
    if (k < 0 || k >= LT_CAPTURES) {
      fputc(*hint, out);
      continue;
    }
    lt_span_write(w, at->part[k], apart, out);
    hint += 1 + apart;
  }
}
