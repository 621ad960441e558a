/* brackets.c - brackets as Python writes them, in Lua: indices with colons,
 * lists, tuples, named arguments, dictionaries. */
#include <ctype.h>
#include <string.h>
#include "priv.h"
#include "tokens.h"

enum { FAR = 200 }; /* words before the error that are looked at */

/* The bracket that is open where word e stands, or -1. */
static int enclosing(const lt_tokens *w, int e) {
  for (int i = e - 1, depth = 0; i >= 0 && i > e - FAR; i--) {
    const lt_token *at = &w->word[i];
    if (at->string || !at->text[0] || at->text[1]) continue;
    if (strchr(")]}", at->text[0])) depth++;
    if (strchr("([{", at->text[0]) && depth-- == 0) return i;
  }
  return -1;
}

/* Past the item that begins with word i, at most to `end`. */
static int past_item(const lt_tokens *w, int i, int end) {
  while (i < end && !lt_is_token(&w->word[i], ",")) {
    int past = lt_past_bracket(w, i);
    i = past > i ? past : i + 1;
  }
  return i < end ? i : end;
}

static int has_word(const lt_tokens *w, int i, int end, const char *text) {
  while (i < end) {
    int past = lt_past_bracket(w, i);
    if (lt_is_token(&w->word[i], text)) return 1;
    i = past > i ? past : i + 1;
  }
  return 0;
}

static void write_span(const lt_tokens *w, int from, int to, FILE *out) {
  lt_span_write(w, (lt_span){from, to}, 0, out);
}

/* ---- lists --------------------------------------------------------------- */

/* [1, [2, 3]] is {1, {2, 3}}; the brackets are words `from` and to - 1. */
static void write_list(const lt_tokens *w, int from, int to, FILE *out) {
  fputc('{', out);
  for (int i = from + 1; i < to - 1;) {
    int end = past_item(w, i, to - 1);
    if (i > from + 1) fputs(", ", out);
    if (i < end &&
        (lt_is_token(&w->word[i], "[") ||
         (lt_is_token(&w->word[i], "(") && i + 2 < end)) &&
        lt_past_bracket(w, i) == end)
      write_list(w, i, end, out);
    else
      write_span(w, i, end, out);
    i = end + 1;
  }
  fputc('}', out);
}

/* Is f( ... ) all around from..to? Then where f begins, else -1. */
static int only_argument(const lt_tokens *w, int from, int to) {
  if (from < 2 || to >= w->n || !lt_is_token(&w->word[from - 1], "(") ||
      !lt_is_token(&w->word[to], ")") || !lt_ends_value(&w->word[from - 2]))
    return -1;
  return lt_value_start(w, from - 2);
}

static int list_habit(const lt_tokens *w, int e, FILE *out) {
  int end, call;
  if (e >= w->n || !lt_is_token(&w->word[e], "[")) return 0;
  if (e > 0 && lt_ends_value(&w->word[e - 1])) return 0;
  end = lt_past_bracket(w, e);
  if (end > 0 && has_word(w, e + 1, end - 1, "for")) {
    fputs("a list is filled in a loop: for i = 1, 3 do t[i] = i end", out);
    return 1;
  }
  if (end < 0 || end - e > FAR) {
    fputs("a list is {1, 2, 3}", out);
    return 1;
  }
  fputs("a list is ", out);
  if ((call = only_argument(w, e, end)) >= 0) write_span(w, call, e - 1, out);
  write_list(w, e, end, out);
  return 1;
}

/* zeros((2, 3)), x = (1, 2). open: its bracket. */
static int tuple_habit(const lt_tokens *w, int e, int open, FILE *out) {
  int end = lt_past_bracket(w, open), call;
  if (end < 0 || !lt_is_token(&w->word[e], ",")) return 0;
  if (open > 0 && lt_is_token(&w->word[open - 1], "function")) return 0;
  for (int i = open + 1, next; i < end; i = next + 1)
    if ((next = past_item(w, i, end - 1)) == i) return 0; /* ,, is a slip */
  if ((call = only_argument(w, open, end)) >= 0) {
    fputs("without the inner parentheses: ", out);
    write_span(w, call, open, out);
    for (int i = open + 1; i < end - 1;) {
      int next = past_item(w, i, end - 1);
      if (i > open + 1) fputs(", ", out);
      write_span(w, i, next, out);
      i = next + 1;
    }
    fputc(')', out);
    return 1;
  }
  fputs("several values are a table: ", out);
  write_list(w, open, end, out);
  return 1;
}

/* ---- indices ------------------------------------------------------------- */

static int next_colon(const lt_tokens *w, int i, int end) {
  while (i < end &&
         !(lt_is_token(&w->word[i], ":") && !lt_calls_method(w, i)) &&
         !lt_is_token(&w->word[i], "::")) {
    int past = lt_past_bracket(w, i);
    i = past > i ? past : i + 1;
  }
  return i;
}

/* a:b:c is {a, b, c}, : is {}. */
static void write_range(const lt_tokens *w, int from, int to, FILE *out) {
  lt_span part[3] = {{0, 0}};
  int n = 0, back;
  for (int i = from; n < 3; n++) {
    int end = next_colon(w, i, to);
    part[n] = (lt_span){i, end};
    if (end >= to) break;
    if (lt_is_token(&w->word[end], "::")) n++;
    i = end + 1;
  }
  back = part[2].to > part[2].from && lt_is_token(&w->word[part[2].from], "-");
  fputc('{', out);
  if (part[0].to > part[0].from || part[1].to > part[1].from ||
      part[2].to > part[2].from) {
    for (int k = 0; k < 2; k++) {
      if (k) fputs(", ", out);
      if (part[k].to > part[k].from)
        lt_span_write(w, part[k], 0, out);
      else
        fputs(k == back ? "1" : "-1", out);
    }
    if (part[2].to > part[2].from) {
      fputs(", ", out);
      lt_span_write(w, part[2], 0, out);
    }
  }
  fputc('}', out);
}

static int write_item(const lt_tokens *w, int from, int to, FILE *out) {
  if (next_colon(w, from, to) < to) {
    write_range(w, from, to, out);
    return 1;
  }
  if (to == from + 1 && lt_is_token(&w->word[from], "..."))
    fputs("\"...\"", out);
  else if (to == from + 1 && lt_is_token(&w->word[from], "None"))
    fputs("newaxis", out);
  else
    write_span(w, from, to, out);
  return 0;
}

static int write_index(const lt_tokens *w, int open, int end, FILE *out) {
  int ranges = 0;
  fputc('{', out);
  for (int i = open + 1; i < end - 1;) {
    int next = past_item(w, i, end - 1);
    if (i > open + 1) fputs(", ", out);
    ranges += write_item(w, i, next, out);
    i = next + 1;
  }
  fputc('}', out);
  return ranges;
}

static int index_habit(const lt_tokens *w, int open, FILE *out) {
  int end = lt_past_bracket(w, open), from = lt_value_start(w, open - 1);
  int set = end > 0 && end + 1 < w->n && lt_is_token(&w->word[end], "=");
  int last = end, ranges;
  if (end < 0 || from < 0) return 0;
  if (next_colon(w, open + 1, end - 1) >= end - 1 &&
      !has_word(w, open + 1, end - 1, ","))
    return 0;
  fputs("here it is ", out);
  write_span(w, from, open, out);
  if (set) {
    while (last < w->n && w->word[last].line == w->word[end].line) last++;
    fputs(" = ", out);
    write_span(w, from, open, out);
    fputs(":set(", out);
  } else {
    fputc('[', out);
  }
  ranges = write_index(w, open, end, out);
  if (set) {
    fputs(", ", out);
    write_span(w, end + 1, last, out);
  }
  fputc(set ? ')' : ']', out);
  if (ranges) fputs("; {first, last} counts from 1, {} is all", out);
  return 1;
}

/* ---- named arguments ----------------------------------------------------- */

static int is_named(const lt_tokens *w, int i, int end) {
  return i + 2 < end && w->word[i].name && lt_is_token(&w->word[i + 1], "=");
}

/* torch.optim.Adam is optim.adam. 1: a part of the name was known. */
static int write_called(const lt_tokens *w, int from, int open, FILE *out) {
  const lt_token *last = &w->word[open - 1];
  char ours[80];
  int dots = 1;
  for (int i = from + 1; i < open - 1; i += 2)
    dots = dots && lt_is_token(&w->word[i], ".");
  if (open - from < 3 || !dots || !last->name ||
      (!lt_foreign_module(w->word[from].text) &&
       !lt_is_token(&w->word[from], "optim") &&
       !lt_is_token(&w->word[from], "nn")) ||
      !lt_library_member(last->text, ours, sizeof ours)) {
    write_span(w, from, open, out);
    return 0;
  }
  fputs(ours, out);
  /* An optimizer is made without the parameters. */
  return strncmp(ours, "optim.", 6) == 0;
}

static int named_habit(const lt_tokens *w, int e, int open, FILE *out) {
  int end = lt_past_bracket(w, open), from = lt_value_start(w, open - 1);
  int plain = 0, named = 0, only_named;
  if (end < 0 || from < 0 || !lt_is_token(&w->word[e], "=")) return 0;
  fputs("names are given in a table: ", out);
  only_named = write_called(w, from, open, out);
  for (int i = open + 1, next; i < end - 1; i = next + 1) {
    next = past_item(w, i, end - 1);
    if (only_named || is_named(w, i, next)) continue;
    fputs(plain++ ? ", " : "(", out);
    write_span(w, i, next, out);
  }
  fputs(plain ? ", {" : "{", out);
  for (int i = open + 1, next; i < end - 1; i = next + 1) {
    next = past_item(w, i, end - 1);
    if (!is_named(w, i, next)) continue;
    fprintf(out, "%s%s = ", named++ ? ", " : "", w->word[i].text);
    write_span(w, i + 2, next, out);
  }
  fputs(plain ? "})" : "}", out);
  return 1;
}

/* ---- dictionaries -------------------------------------------------------- */

/* "name" as a field may stand without quotes and brackets. */
static void write_key(const lt_tokens *w, int from, int to, FILE *out) {
  const lt_token *at = &w->word[from];
  const char *s = at->from + 1, *end = at->at - 1;
  int plain = to == from + 1 && at->string && *at->from != '[' && end > s &&
              !isdigit((unsigned char)*s);
  for (; plain && s < end; s++) plain = isalnum((unsigned char)*s) || *s == '_';
  if (plain) fprintf(out, "%.*s", (int)(end - at->from - 1), at->from + 1);
  if (plain) return;
  fputc('[', out);
  write_span(w, from, to, out);
  fputc(']', out);
}

static int table_habit(const lt_tokens *w, int open, FILE *out) {
  int end = lt_past_bracket(w, open);
  if (end < 0 || next_colon(w, open + 1, end - 1) >= end - 1) return 0;
  fputs("a table is {", out);
  for (int i = open + 1, next, colon; i < end - 1; i = next + 1) {
    next = past_item(w, i, end - 1);
    colon = next_colon(w, i, next);
    if (colon == i) continue;
    if (i > open + 1) fputs(", ", out);
    if (colon < next) {
      write_key(w, i, colon, out);
      fputs(" = ", out);
      i = colon + 1;
    }
    write_span(w, i, next, out);
  }
  fputc('}', out);
  return 1;
}

int lt_bracket_habit(const lt_tokens *w, int e, FILE *out) {
  int open, called;
  if (list_habit(w, e, out)) return 1;
  if (e >= w->n || (open = enclosing(w, e)) < 0) return 0;
  called = open > 0 && lt_ends_value(&w->word[open - 1]);
  if (lt_is_token(&w->word[open], "["))
    return called && index_habit(w, open, out);
  if (lt_is_token(&w->word[open], "{")) return table_habit(w, open, out);
  return called ? named_habit(w, e, open, out) : tuple_habit(w, e, open, out);
}
