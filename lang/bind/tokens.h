/* tokens.h - the words of a text that may be Lua, may nearly be: for remarks on
 * entries (remarks.c) and hints on errors (habits.c). */
#ifndef LT_TOKENS_H
#define LT_TOKENS_H

#include "session.h"

typedef struct {
  const char *from, *at; /* where it begins; what is left behind it */
  char text[64]; /* a name, a number, "..." for a string, or signs; cut short
                    when it is longer */
  int name, number, string;
  int line; /* from 1, when w.line was 1 to begin with */
} lt_token;

/* To the next word: begins with {.at = text}. 0 at the end. */
int lt_next_token(lt_token *w);

/* A text as a list of its words. */
typedef struct {
  lt_token *word;
  int n;
} lt_tokens;
int lt_tokens_read(lt_tokens *w, const char *text); /* 0: out of memory */
void lt_tokens_free(lt_tokens *w);

/* ---- patterns (pattern.c) ------------------------------------------------ */

enum { LT_CAPTURES = 5 };
typedef struct {
  int from, to; /* words; to is not in it */
} lt_span;
typedef struct {
  lt_span all, part[LT_CAPTURES];
  int n;
} lt_match;

/* Does the pattern, words apart by blanks, match the words from i on? Beside
 * themselves they are: ^ and $ the ends of a line, %n a name, %l names and
 * commas, %v a value with its calls and indices, %c what may be compared, %e an
 * expression, %o a value that no bracket opens, %q a string, %s anything in
 * balance, also nothing. Captures are counted from 0. */
int lt_pattern_match(const lt_tokens *w, const char *pattern, int i,
                     lt_match *out);
/* Past the bracket that word i opens, or -1. */
int lt_past_bracket(const lt_tokens *w, int i);
/* Where the value begins that ends with word i: x in x.a[1], or -1. */
int lt_value_start(const lt_tokens *w, int i);
/* Does word i, a colon, call a method, as in x:sum()? */
int lt_calls_method(const lt_tokens *w, int i);
int lt_ends_value(const lt_token *w);
int lt_is_token(const lt_token *w, const char *text);

/* The words of a span in Lua: None is nil there, != is ~=. A span of several
 * words that are no value gets parentheses where `apart` is set. */
void lt_span_write(const lt_tokens *w, lt_span s, int apart, FILE *out);
/* A hint with the captures of a match: %1 the first, %(1 as one that stands
 * apart. */
void lt_write_hint(const lt_tokens *w, const char *hint, const lt_match *at,
                   FILE *out);

/* ---- brackets of others (brackets.c) -------------------------------------
 * x[:,1], [1, 2], (2, 3), f(x, axis=1), {"a": 1} where word e is the first one
 * that Lua refuses: writes what it is here. 0: word e is in none of these. */
int lt_bracket_habit(const lt_tokens *w, int e, FILE *out);

#endif
