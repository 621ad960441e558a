/* habits.c - a syntax error that is right in Python, C or IPython: what it is
 * here. The line is compared with a table; text that Lua takes is never looked
 * at. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "tokens.h"

/* Before the error: words of its line, lines above it. */
enum { WORDS = 200, LINES = 40 };

typedef struct {
  const char *pattern; /* see lt_pattern_match */
  const char *hint;    /* see lt_write_hint */
  int above;           /* Lua may notice it late, lines below */
} habit;

#define IMPORT "nothing is imported: zeros(2, 3), exp(x), nn, optim are there"
#define CLASS                                                                  \
  "there are no classes: a function that returns a table, or nn.layer"
#define WITH   "there is no 'with': f = io.open(path) ... f:close()"
#define TRY    "errors are caught by ok, result = pcall(f, x)"
#define CHANGE "here it is %1 = %1 "
#define NO_IN  "there is no 'in' as a test: t[key] ~= nil asks a table"

/* The first one that has the word that Lua refused is taken. */
static const habit habits[] = {
    {"^ %s #", "a comment begins with --", 0},
    {"^ # %n %n", "a comment begins with --", 0},
    {"^ import %s $", IMPORT, 0},
    {"^ from %s import %s $", IMPORT, 0},
    {"def %n ( %s )", "a function is function %1(%2) ... end", 0},
    {"function %n ( %s ) :", "a function is function %1(%2) ... end", 1},
    {"func %n ( %s )", "a function is function %1(%2) ... end", 0},
    {"fn %n ( %s )", "a function is function %1(%2) ... end", 0},
    {"fun %n ( %s )", "a function is function %1(%2) ... end", 0},
    {"lambda %s : %e", "here it is function(%1) return %2 end", 1},
    {"( %s ) -> %e", "here it is function(%1) return %2 end", 0},
    {"for %n in range ( %c , %c , %c ) :",
     "here it is for %1 = %2, %3, %4 do ... end, the last one included", 1},
    {"for %n in range ( %c , %c ) :",
     "here it is for %1 = %2, %3 - 1 do ... end", 1},
    {"for %n in range ( len ( %e ) ) :",
     "here it is for %1 = 1, #%(2 do ... end", 1},
    {"for %n in range ( %e ) :",
     "here it is for %1 = 1, %2 do ... end; positions count from 1", 1},
    {"for %l in enumerate ( %e ) :",
     "here it is for %1 in ipairs(%2) do ... end; of a tensor %(2:rows()", 1},
    {"for %l in %n . items ( ) :", "here it is for %1 in pairs(%2) do ... end",
     1},
    {"for %n in %v :",
     "here it is for i, %1 in ipairs(%2) do ... end; of a tensor %(2:rows()",
     1},
    {"for %l in %e :", "here it is for %1 in ipairs(%2) do ... end", 1},
    {"for %n = %v : %v", "here it is for %1 = %2, %3 do ... end", 0},
    {"for ( %s ; %s ; %s )", "here it is for i = 1, n do ... end", 0},
    {"if %c not in %c", NO_IN, 0},
    {"if %c in %c", NO_IN, 0},
    {"while %e :", "here it is while %1 do ... end", 1},
    {"if %e :", "here it is if %1 then ... end", 1},
    {"elif %e :", "here it is elseif %1 then", 1},
    {"elif", "here it is elseif ... then", 0},
    {"else if", "here it is elseif: 'else if' needs an end of its own", 1},
    {"else :", "else has no colon; its block ends with end", 1},
    {"if %e = %e then", "= assigns, == compares: if %1 == %2 then", 0},
    {"while %e = %e do", "= assigns, == compares: while %1 == %2 do", 0},
    {"%v = %e if %e else %e", "here it is %1 = %3 and %2 or %4", 0},
    {"%e if %e else %e", "here it is %2 and %1 or %3", 0},
    {"%v = %e ? %e : %e", "here it is %1 = %2 and %3 or %4", 0},
    {"%e ? %e : %e", "here it is %1 and %2 or %3", 0},
    {"^ ? ? %n", ":doc %1 explains it, :apropos %1 looks for it", 0},
    {"%v ? ? $", ":doc %1 explains it", 0},
    {"^ ? %v", ":doc %1 explains it", 0},
    {"%v ? $", ":doc %1 explains it", 0},
    {"try :", TRY, 1},
    {"try {", TRY, 1},
    {"except %s :", TRY, 1},
    {"with %e :", WITH, 1},
    {"class %n %s $", CLASS, 0},
    {"^ pass $", "there is no pass: an empty block is empty", 1},
    {"^ del %v $", "here it is %1 = nil", 0},
    {"^ raise %s $", "here it is error(\"...\")", 0},
    {"^ assert %e $", "here it is assert(%1)", 0},
    {"^ print %o , %s $", "here it is print(%1, %2)", 0},
    {"print %o", "here it is print(%1)", 0},
    {"%q . format ( %s )", "here it is (\"%s\"):format(%2); %.2f is a number's",
     0},
    {"^ global %n", "a name without 'local' is global: leave it out", 0},
    {"let %n", "a local name is local %1 = ...", 0},
    {"var %n", "a local name is local %1 = ...", 0},
    {"const %n", "a local name is local %1 = ...", 0},
    {"%v += %e", CHANGE "+ %(2", 0},
    {"%v -= %e", CHANGE "- %(2", 0},
    {"%v *= %e", CHANGE "* %(2", 0},
    {"%v /= %e", CHANGE "/ %(2", 0},
    {"%v //= %e", CHANGE "// %(2", 0},
    {"%v **= %e", CHANGE "^ %(2", 0},
    {"%v ^= %e", CHANGE "~ %(2", 0},
    {"%v %= %e", CHANGE "% %(2", 0},
    {"%v |= %e", CHANGE "| %(2", 0},
    {"%v &= %e", CHANGE "& %(2", 0},
    {"%v ..= %e", CHANGE ".. %(2", 0},
    {"%v @= %e", "here it is %1 = matmul(%1, %2)", 0},
    {"%v ++", CHANGE "+ 1", 0},
    {"%v ** %v", "a power is %1 ^ %2", 0},
    {"%v ** - %v", "a power is %1 ^ -%2", 0},
    {"%v @ %v", "here it is matmul(%1, %2)", 0},
    {"%c != %c",
     "here it is %1 ~= %2; ne(%1, %2) compares the elements of a tensor", 0},
    {"%e && %e", "here it is %1 and %2", 0},
    {"%e || %e", "here it is %1 or %2", 0},
    {"! %v", "here it is not %1", 0},
    {"%v is not %v", "here it is %1 ~= %2", 0},
    {"%v is %v", "here it is %1 == %2", 0},
    {"%v not in %v", NO_IN, 0},
    {"%v in %v", NO_IN, 0}};

/* These come before brackets. */
static const habit first_habits[] = {
    {"print ( %s , end = %c )",
     "print ends its line; io.write(%1) does not, a tensor as tostring(x)", 0},
    {"%q % ( %s )", "text is made by (%1):format(%2)", 0}};

/* %name of IPython. */
static const struct {
  const char *name, *ours;
} magics[] = {
    {"timeit", ":bench "}, {"time", ":time "},   {"run", ":run "},
    {"who", ":who"},       {"whos", ":who"},     {"cd", ":cd "},
    {"paste", ":paste"},   {"cpaste", ":paste"}, {"history", ":history"},
    {"hist", ":history"},  {"edit", ":edit "},   {"load", ":load "},
    {"save", ":save "},    {"reset", ":reset"},  {"pwd", "!pwd"},
    {"ls", "!ls "},        {"pdoc", ":doc "},    {"pinfo", ":doc "},
    {"quickref", ":help"}, {"magic", ":help"},   {"lsmagic", ":help"}};

#define COUNT(list) (sizeof list / sizeof *list)

typedef struct {
  lt *l;
  lt_tokens w;
  const char *message;
  int first, e; /* of the line's words; the one that was refused, or w.n */
} mistake;

/* ---- the table ----------------------------------------------------------- */

static int try_habit(const mistake *m, const habit *h, FILE *out) {
  int from = m->first, line = m->e < m->w.n ? m->w.word[m->e].line : 0;
  lt_match at;
  if (h->above) {
    if (!line && m->w.n) line = m->w.word[m->w.n - 1].line;
    while (from > 0 && m->w.word[from - 1].line > line - LINES) from--;
  } else if (from < m->e - WORDS) {
    from = m->e - WORDS;
  }
  for (int i = h->above ? m->e : from; i >= from && i <= m->e;
       i += h->above ? -1 : 1) {
    if (i >= m->w.n || !lt_pattern_match(&m->w, h->pattern, i, &at)) continue;
    if (!h->above && at.all.to <= m->e) continue;
    lt_write_hint(&m->w, h->hint, &at, out);
    return 1;
  }
  return 0;
}

/* ---- what fits no pattern ------------------------------------------------ */

static int magic_habit(const mistake *m, FILE *out) {
  const lt_token *at = &m->w.word[m->first];
  int n = m->w.n - m->first, signs = 0, last;
  while (signs < n && signs < 2 && lt_is_token(at + signs, "%")) signs++;
  if (!signs || signs >= n || m->e > m->first + signs) return 0;
  for (last = signs + 1; last < n && at[last].line == at->line;) last++;
  for (size_t i = 0; i < COUNT(magics); i++) {
    if (!lt_is_token(at + signs, magics[i].name)) continue;
    fprintf(out, "here it is %s", magics[i].ours);
    if (magics[i].ours[strlen(magics[i].ours) - 1] == ' ')
      lt_span_write(&m->w, (lt_span){m->first + signs + 1, m->first + last}, 0,
                    out);
    return 1;
  }
  fputs("commands begin with a colon; :help lists them", out);
  return 1;
}

/* [[1, 2], [3, 4] ], a string that nothing ends. */
static int rows_habit(const mistake *m, FILE *out) {
  const lt_token *at = m->w.n ? &m->w.word[m->w.n - 1] : NULL;
  if (!at || !at->string || strncmp(at->from, "[[", 2) != 0 || *at->at)
    return 0;
  if (at->at - at->from > 4 && strncmp(at->at - 2, "]]", 2) == 0) return 0;
  fputs("[[ begins a string; a list of rows is {{1, 2}, {3, 4}}", out);
  return 1;
}

/* 1_000, and """text""". */
static int text_habit(const mistake *m, FILE *out) {
  const lt_token *at = &m->w.word[m->e];
  if (m->e >= m->w.n) return rows_habit(m, out);
  if (at->number && strchr(at->text, '_')) {
    fputs("a number has no _: ", out);
    for (const char *s = at->text; *s; s++)
      if (*s != '_') fputc(*s, out);
    return 1;
  }
  if (at->string && m->e > 0 && at[-1].string && at[-1].at == at->from &&
      at->from - at[-1].from == 2) {
    fputs("a string of several lines is [[text]]", out);
    return 1;
  }
  return 0;
}

/* ---- keywords with a wrong letter ---------------------------------------- */

/* One letter more, less or another, or two neighbours swapped. */
static int is_slip(const char *typed, const char *word) {
  size_t n = strlen(typed), i = 0;
  if (n < 3 || *typed != *word) return 0;
  if (n > 3 && strlen(word) > 2 && lt_distance(typed, word) == 1) return 1;
  if (n != strlen(word)) return 0;
  while (typed[i] == word[i] && typed[i]) i++;
  return i + 1 < n && typed[i] == word[i + 1] && typed[i + 1] == word[i] &&
         strcmp(typed + i + 2, word + i + 2) == 0;
}

static int slip_habit(const mistake *m, int i, FILE *out) {
  static const char *const keywords[] = {
      "break",  "do",       "else",  "elseif", "end",  "false",
      "for",    "function", "local", "nil",    "not",  "repeat",
      "return", "then",     "true",  "until",  "while"};
  const lt_token *at = &m->w.word[i];
  if (i < 0 || i >= m->w.n || !at->name || lt_is_defined(m->l, at->text))
    return 0;
  for (int k = 0; k < m->w.n; k++) /* a name that is used is none of these */
    if (k != i && lt_is_token(&m->w.word[k], at->text)) return 0;
  for (size_t k = 0; k < COUNT(keywords); k++) {
    if (strcmp(at->text, keywords[k]) == 0) return 0;
    if (!is_slip(at->text, keywords[k])) continue;
    fprintf(out, "did you mean '%s'?", keywords[k]);
    return 1;
  }
  return 0;
}

/* ---- the end ------------------------------------------------------------- */

/* What ends too early: an entry, or text of the command line. */
static int end_habit(const mistake *m, const char *chunk, FILE *out) {
  const char *is = strstr(m->message, " expected");
  if (m->e < m->w.n || *chunk != '=') return 0;
  fputs(strncmp(chunk, "=in[", 4) == 0 ? "the entry" : "the text", out);
  fputs(" ended before it was complete", out);
  if (is && *m->message == '\'')
    fprintf(out, ": %.*s is missing", (int)(is - m->message), m->message);
  return 1;
}

/* An expression after -e, of which nothing is printed. */
static int option_habit(lt *l, const char *chunk, const char *code, FILE *out) {
  int is;
  if (strcmp(chunk, "=-e") != 0 || !lua_checkstack(l->L, 10)) return 0;
  lua_pushfstring(l->L, "return %s", code);
  is = luaL_loadstring(l->L, lua_tostring(l->L, -1)) == LUA_OK;
  lua_pop(l->L, 2);
  if (is)
    fputs("-p prints the value of an expression, -e runs statements", out);
  return is;
}

/* for i = 1, 3 without do, if x without then: what was begun is named. */
static int missing_habit(const mistake *m, FILE *out) {
  int is_do = strncmp(m->message, "'do' expected", 13) == 0, i = m->e - 1;
  const char *word = is_do ? "do" : "then";
  if (!is_do && strncmp(m->message, "'then' expected", 15) != 0) return 0;
  for (; i >= 0 && i > m->e - WORDS; i--) {
    const lt_token *at = &m->w.word[i];
    if (is_do ? lt_is_token(at, "for") || lt_is_token(at, "while")
              : lt_is_token(at, "if") || lt_is_token(at, "elseif"))
      break;
  }
  if (i < 0 || i <= m->e - WORDS) return 0;
  fprintf(out, "'%s' is missing: ", word);
  lt_span_write(&m->w, (lt_span){i, m->e}, 0, out);
  fprintf(out, " %s%s", word,
          lt_is_token(&m->w.word[i], "elseif") ? "" : " ... end");
  return 1;
}

/* ---- all of it ----------------------------------------------------------- */

/* How Lua takes code up to `end` behind `before`: all of it, a beginning, or
 * not at all. */
enum { WHOLE, BEGUN, REFUSED };
static int taken(lua_State *L, const char *before, const char *code,
                 const char *end) {
  const char *message;
  int how = WHOLE;
  size_t n;
  if (!lua_checkstack(L, 10)) return REFUSED;
  lua_pushstring(L, before);
  lua_pushlstring(L, code, (size_t)(end - code));
  lua_concat(L, 2);
  if (luaL_loadstring(L, lua_tostring(L, -1)) != LUA_OK) {
    message = lua_tostring(L, -1);
    n = message ? strlen(message) : 0;
    how = n > 5 && strcmp(message + n - 5, "<eof>") == 0 ? BEGUN : REFUSED;
  }
  lua_pop(L, 2);
  return how;
}

/* Is this word the first one that Lua does not take? */
static int is_refused(const mistake *m, const char *code, const lt_token *at) {
  static const char *const before[] = {"", "return "};
  for (int i = 0; i < 2; i++)
    if (taken(m->l->L, before[i], code, at->from) != REFUSED &&
        taken(m->l->L, before[i], code, at->at) == REFUSED)
      return 1;
  return 0;
}

/* Does Lua call it by this text? Of != it refuses the first sign. */
static int is_near(const lt_token *at, const char *near, size_t n) {
  size_t size = (size_t)(at->at - at->from);
  if (size == n) return strncmp(at->from, near, n) == 0;
  if (size < n || at->name || at->string) return 0;
  return strncmp(at->from, near, n) == 0 ||
         strncmp(at->from + size - n, near, n) == 0;
}

static int find_near(mistake *m, const char *code, int line, const char *near,
                     size_t n) {
  int found = 0, e = m->w.n;
  for (int i = m->first; i < m->w.n && m->w.word[i].line == line; i++) {
    if (!is_near(&m->w.word[i], near, n)) continue;
    if (found++ && !is_refused(m, code, &m->w.word[i])) continue;
    e = i;
    if (is_refused(m, code, &m->w.word[i])) break;
  }
  m->e = e;
  return found > 0;
}

/* The end of the text, of whose last line the words count. */
static int find_end(mistake *m) {
  int last = m->w.n ? m->w.word[m->w.n - 1].line : 0;
  m->e = m->first = m->w.n;
  while (m->first > 0 && m->w.word[m->first - 1].line == last) m->first--;
  return 1;
}

/* The first word of an entry is also blamed where it is no expression: then it
 * is the first word that no statement takes. */
static void find_statement(mistake *m, const char *code) {
  for (int i = 0; i < m->w.n && i < WORDS; i++) {
    if (taken(m->l->L, "", code, m->w.word[i].at) != REFUSED) continue;
    m->e = i;
    break;
  }
  while (m->first < m->e && m->w.word[m->first].line < m->w.word[m->e].line)
    m->first++;
}

/* The word that Lua has refused, after "near", on this line. */
static int find_refused(mistake *m, const char *code, int line) {
  const char *near = strstr(m->message, " near "), *next;
  size_t n;
  if (!near) return 0;
  while ((next = strstr(near + 1, " near "))) near = next;
  near += 6;
  n = strlen(near);
  if (strcmp(near, "<eof>") == 0) return find_end(m);
  for (m->first = 0; m->first < m->w.n && m->w.word[m->first].line < line;)
    m->first++;
  if (n < 3 || *near != '\'' || near[n - 1] != '\'') return 0;
  if (!find_near(m, code, line, near + 1, n - 2)) return 0;
  if (m->e == 0) find_statement(m, code);
  return 1;
}

static int write_habit(mistake *m, const char *chunk, FILE *out) {
  if (m->first < m->w.n && magic_habit(m, out)) return 1;
  for (size_t i = 0; i < COUNT(first_habits); i++)
    if (try_habit(m, &first_habits[i], out)) return 1;
  if (text_habit(m, out) || lt_bracket_habit(&m->w, m->e, out)) return 1;
  for (size_t i = 0; i < COUNT(habits); i++)
    if (try_habit(m, &habits[i], out)) return 1;
  if (slip_habit(m, m->e - 1, out) || slip_habit(m, m->e, out)) return 1;
  if (m->e < m->w.n && missing_habit(m, out)) return 1;
  return end_habit(m, chunk, out);
}

/* Does Lua take it? The first line of a script may be the shell's. */
static int is_lua(lua_State *L, const char *chunk, const char *code) {
  int is;
  if (*chunk == '@' && *code == '#') code += strcspn(code, "\n");
  if (!lua_checkstack(L, 10)) return 1;
  is = luaL_loadbufferx(L, code, strlen(code), "=", "t") == LUA_OK;
  lua_pop(L, 1);
  return is;
}

/* What is owned here is given back by lt_habit, also when Lua has no memory. */
typedef struct {
  mistake m;
  const char *chunk;
  char *code;
  FILE *out;
  int line, found;
} search;

static int look(lua_State *L) {
  search *s = lua_touserdata(L, 1);
  if (is_lua(L, s->chunk, s->code)) return 0;
  s->found = option_habit(s->m.l, s->chunk, s->code, s->out) ||
             (find_refused(&s->m, s->code, s->line) &&
              write_habit(&s->m, s->chunk, s->out));
  return 0;
}

int lt_habit(lt *l, const char *chunk, int line, const char *message,
             char *text, size_t size) {
  search s = {.m = {.l = l, .message = message}, .chunk = chunk, .line = line};
  int top = lua_gettop(l->L);
  if (!strstr(message, " near ") || !lua_checkstack(l->L, 10) ||
      !(s.code = lt_source_text(l, chunk)))
    return 0;
  s.out = lt_tokens_read(&s.m.w, s.code) ? fmemopen(text, size - 1, "w") : NULL;
  if (s.out) {
    lua_pushcfunction(l->L, look);
    lua_pushlightuserdata(l->L, &s);
    if (lua_pcall(l->L, 1, 0, 0) != LUA_OK) s.found = 0;
    lua_settop(l->L, top);
    fclose(s.out);
    if (!s.found) *text = '\0';
    text[size - 1] = '\0';
    if (strlen(text) + 2 > size) strcpy(text + size - 4, "...");
  }
  lt_tokens_free(&s.m.w);
  free(s.code);
  return s.found;
}
