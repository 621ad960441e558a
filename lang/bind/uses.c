/* uses.c - Lua takes the line and it fails when it runs, for it is written as
 * in Python: what it is here. The line is compared with a table. */
#include <stdlib.h>
#include <string.h>
#include "tokens.h"

#define CALLS_NIL "attempt to call a nil value ("
#define ADDS      "attempt to add a 'string' with a "
#define ADDED     "with a 'string'"
#define JOINED    "texts are joined by ..: %1 .. %2"
#define FUNCTION  "attempt to index a function value ("
#define PARAMETERS                                                             \
  "parameters are a table of tensors: what nn.init or your code has made"

/* The first one whose message and pattern fit is taken. */
static const struct {
  const char *message; /* a part of it */
  const char *pattern; /* see lt_pattern_match */
  const char *hint;    /* see lt_write_hint */
} uses[] = {
    {CALLS_NIL "global 'range')", "for %n in range ( %c , %c , %c )",
     "here it is for %1 = %2, %3, %4 do ... end, the last one included"},
    {CALLS_NIL "global 'range')", "for %n in range ( %c , %c )",
     "here it is for %1 = %2, %3 - 1 do ... end"},
    {CALLS_NIL "global 'range')", "for %n in range ( %e )",
     "here it is for %1 = 1, %2 do ... end; positions count from 1"},
    {CALLS_NIL "global 'len')", "for %n in range ( len ( %e ) )",
     "here it is for %1 = 1, #%(2 do ... end"},
    {CALLS_NIL "method 'parameters')", "", PARAMETERS},
    {CALLS_NIL "field 'parameters')", "", PARAMETERS},
    {"attempt to mod a 'string' with ", "%q % %v",
     "text is made by (%1):format(%2)"},
    {"attempt to mod a 'string' with ", "",
     "text is made by (\"%.2f\"):format(v)"},
    {"attempt to mul a 'string' with ", "%q * %v", "here it is (%1):rep(%2)"},
    {ADDS, "%q + %v", JOINED},
    {ADDS, "%v + %q", JOINED},
    {ADDS, "", "texts are joined by .., not by +"},
    {ADDED, "%q + %v", JOINED},
    {ADDED, "%v + %q", JOINED},
    {FUNCTION, "%n . backward", "grad(%1) is the gradient: grad(%1)(params)"},
    {"tensor: takes ", "tensor ( %c , %s )", "here it is tensor{%1, %2}"},
    {"tensor: options are a table", "tensor ( %c , %c )",
     "here it is tensor{%1, %2}"},
    {"stack: argument 1 must be a list", "stack ( %c , %s )",
     "here it is stack{%1, %2}"},
    {"cat: argument 1 must be a list", "cat ( %c , %s )",
     "here it is cat{%1, %2}"},
    {"write: argument 1 must be a path, got a t", "write ( %c , %c )",
     "here it is write(%2, %1)"},
    {"nn.forward: ", "nn . forward ( %c , %c )",
     "here it is nn.forward(%1, params, %2)"}};

static int match(const lt_tokens *w, const char *pattern, lt_match *at) {
  for (int i = 0; i < w->n; i++)
    if (lt_pattern_match(w, pattern, i, at)) return 1;
  return 0;
}

static int write_use(const lt_tokens *w, const char *message, FILE *out) {
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    lt_match at;
    if (!strstr(message, uses[i].message)) continue;
    if (*uses[i].pattern && !match(w, uses[i].pattern, &at)) continue;
    lt_write_hint(w, uses[i].hint, &at, out);
    return 1;
  }
  return 0;
}

int lt_use(const char *message, const char *source, char *text, size_t size) {
  size_t line = strcspn(message, "\n");
  char first[200];
  lt_tokens w;
  FILE *out;
  int found = 0;
  snprintf(first, sizeof first, "%.*s", (int)line, message);
  out = lt_tokens_read(&w, source) ? fmemopen(text, size - 1, "w") : NULL;
  if (out) {
    found = write_use(&w, first, out);
    fclose(out);
    text[size - 1] = '\0';
  }
  if (!found) *text = '\0';
  lt_tokens_free(&w);
  return found;
}
