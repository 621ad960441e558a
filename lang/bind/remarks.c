/* remarks.c - notes after an entry of a session: what Lua allows, though it is
 * hardly meant. Only text and globals are looked at. */
#include <stdlib.h>
#include <string.h>
#include "tokens.h"

/* ---- tensors in tests -----------------------------------------------------
 */

/* Does the code say local NAME, for NAME or function(NAME)? */
static int declares(const char *code, const char *name) {
  lt_token w = {.at = code};
  char until = 0; /* within a list of names: what ends it */
  while (lt_next_token(&w)) {
    if (until && w.name && strcmp(w.text, name) == 0) return 1;
    if (strcmp(w.text, "function") == 0)
      until = ')';
    else if (strcmp(w.text, "local") == 0 || strcmp(w.text, "for") == 0)
      until = '=';
    else if (*w.text == until || strcmp(w.text, "in") == 0)
      until = 0;
  }
  return 0;
}

/* The dtype of the tensor that the global is, or 0. */
static int tensor_dtype(lua_State *L, const char *name) {
  plan_node *x;
  int dtype;
  lua_pushglobaltable(L);
  lua_pushstring(L, name);
  lua_rawget(L, -2);
  x = lt_tensor_test(L, -1);
  dtype = x ? plan_dtype_of(x) : 0;
  lua_pop(L, 2);
  return dtype;
}

static int is_one_of(const char *text, const char *const *list) {
  for (; *list; list++)
    if (strcmp(text, *list) == 0) return 1;
  return 0;
}

/* Does a value that is not indexed, called or computed with end before this
 * word? */
static int ends_value(const lt_token *w) {
  static const char *const more[] = {".", ":", "[", "(", "{",  "+",  "-",
                                     "*", "/", "%", "^", "//", "..", NULL};
  return !is_one_of(w->text, more) && strcmp(w->text, "...") != 0;
}

/* Could the word before a name make it a part of something else? */
static int begins_value(const char *before) {
  static const char *const more[] = {".", ":", "+",  "-", "*",  "/",
                                     "%", "^", "//", "#", "..", NULL};
  return !is_one_of(before, more);
}

static int is_equality(const char *text) {
  return strcmp(text, "==") == 0 || strcmp(text, "~=") == 0;
}

/* x == 1, of which Lua asks no tensor. at[0..3]: four words, the first of which
 * stands before. */
static int note_equality(lua_State *L, const char *code, const lt_token *at,
                         FILE *err) {
  const lt_token *left = &at[1], *right = &at[3], *tensor;
  int other;
  if (!is_equality(at[2].text)) return 0;
  tensor = left->name && tensor_dtype(L, left->text) ? left : right;
  if (!tensor->name || !tensor_dtype(L, tensor->text)) return 0;
  if (declares(code, tensor->text)) return 0;
  if (tensor == left && !begins_value(at[0].text)) return 0;
  if (tensor == right) {
    lt_token after = *right;
    if (lt_next_token(&after) && !ends_value(&after)) return 0;
  }
  other = tensor == left ? right->number : left->number;
  if (!other) return 0;
  fprintf(err,
          "note: %s %s %s is %s whatever '%s' holds; %s:%s(%s) compares its "
          "elements\n",
          left->text, at[2].text, right->text,
          at[2].text[0] == '=' ? "false" : "true", tensor->text, tensor->text,
          at[2].text[0] == '=' ? "eq" : "ne",
          tensor == left ? right->text : left->text);
  return 1;
}

/* if mask then: a tensor is no boolean. Only for a bool: others may well be
 * asked whether they are there. */
static int note_truth(lua_State *L, const char *code, const lt_token *at,
                      FILE *err) {
  static const char *const before[] = {"if",    "elseif", "while",
                                       "until", "not",    NULL};
  static const char *const after[] = {"then", "do", "and", "or", NULL};
  const char *name = at[2].text;
  int open = strcmp(at[1].text, "not") == 0 || strcmp(at[1].text, "until") == 0;
  if (!at[2].name || !is_one_of(at[1].text, before)) return 0;
  if (open ? !ends_value(&at[3]) : !is_one_of(at[3].text, after)) return 0;
  if (tensor_dtype(L, name) != TSH_bool || declares(code, name)) return 0;
  fprintf(err,
          "note: '%s' is a tensor, which is true in a test whatever it holds; "
          "%s:all():item() or %s:any():item() is one boolean\n",
          name, name, name);
  return 1;
}

static int is_plain_table(lua_State *L, const char *name) {
  int top = lua_gettop(L), is;
  lua_pushglobaltable(L);
  lua_pushstring(L, name);
  is = lua_rawget(L, -2) == LUA_TTABLE && !lua_getmetatable(L, -1);
  lua_settop(L, top);
  return is;
}

/* print(t), which gives an address. */
static int note_print(lua_State *L, const char *code, const lt_token *at,
                      FILE *err) {
  const char *name = at[2].text;
  if (strcmp(at[0].text, "print") != 0 || strcmp(at[1].text, "(") != 0 ||
      strcmp(at[3].text, ")") != 0 || !at[2].name)
    return 0;
  if (!is_plain_table(L, name) || declares(code, name)) return 0;
  fprintf(err, "note: show(%s) prints its fields\n", name);
  return 1;
}

/* The words of a tensor that is made on the spot, tensor{1}, which begin or, at
 * the left of a comparison, end with word i. */
static int is_made(const lt_tokens *w, int i, int left, lt_span *out) {
  static const char *const makers[] = {
      "tensor", "zeros", "ones", "full", "rand",     "randn", "randint",
      "arange", "eye",   "read", "cat",  "linspace", NULL};
  int from = left ? lt_value_start(w, i) : i, end;
  if (from < 0 || from + 1 >= w->n || !is_one_of(w->word[from].text, makers))
    return 0;
  end = lt_past_bracket(w, from + 1);
  if (end <= from + 2 || (left && end != i + 1)) return 0;
  if (left && from > 0 && !begins_value(w->word[from - 1].text)) return 0;
  if (!left && end < w->n && !ends_value(&w->word[end])) return 0;
  *out = (lt_span){from, end};
  return 1;
}

/* tensor{1} == 1, 0 ~= zeros(3): as above, where the tensor has no name. */
static void note_made(const char *code, FILE *err) {
  lt_tokens w;
  if (!lt_tokens_read(&w, code)) return;
  for (int i = 1; i + 1 < w.n; i++) {
    int number = w.word[i - 1].number ? i - 1 : i + 1;
    lt_span made;
    if (w.word[i].string || !is_equality(w.word[i].text) ||
        !w.word[number].number ||
        !is_made(&w, number < i ? i + 1 : i - 1, number > i, &made))
      continue;
    fputs("note: ", err);
    lt_span_write(&w,
                  (lt_span){number < i ? number : made.from,
                            number < i ? made.to : number + 1},
                  0, err);
    fprintf(err, " is %s whatever the tensor holds; %s(",
            w.word[i].text[0] == '=' ? "false" : "true",
            w.word[i].text[0] == '=' ? "eq" : "ne");
    lt_span_write(&w, made, 0, err);
    fprintf(err, ", %s) compares its elements\n", w.word[number].text);
    break;
  }
  lt_tokens_free(&w);
}

/* ---- names that nobody defined --------------------------------------------
 */

/* A name alone, which gave nil. Names of the library are no globals yet. */
static void note_name(lt *l, const char *code, FILE *err) {
  lt_token w = {.at = code}, rest;
  char hint[240];
  size_t n;
  int method;
  const char *ours;
  if (!lua_checkstack(l->L, 10) || !lt_next_token(&w) || !w.name ||
      strcmp(w.text, "nil") == 0 || lt_is_defined(l, w.text))
    return;
  rest = w;
  if (lt_next_token(&rest) || strlen(w.text) + 1 == sizeof w.text) return;
  for (size_t i = 0; (ours = lt_library_name_at(i, &n, &method)) != NULL; i++)
    if (strlen(w.text) == n && strncmp(ours, w.text, n) == 0) return;
  if (lt_gave(l) != LT_GAVE_VALUES) return;
  if (lt_guess_name(l, w.text, 0, hint, sizeof hint))
    fprintf(err, "note: nothing is called '%s'; %s\n", w.text, hint);
  else
    fprintf(err, "note: nothing is called '%s'\n", w.text);
}

/* ---- all of them -------------------------------------------------------- */

typedef struct {
  const char *code;
  FILE *err;
} remark;

static int note_tests(lua_State *L) {
  const remark *r = lua_touserdata(L, 1);
  const char *code = r->code;
  FILE *err = r->err;
  lt_token at[4] = {{.at = code}, {.at = code}, {.at = code}, {.at = code}};
  int equality = 0, truth = 0, print = 0, more = 1;
  /* Words in front of the first and behind the last are empty. */
  for (int left = 3; more || left > 0;) {
    lt_token next = at[3];
    more = lt_next_token(&next);
    if (!more) {
      memset(next.text, 0, sizeof next.text);
      left--;
    }
    memmove(at, at + 1, 3 * sizeof *at);
    at[3] = next;
    if (!equality) equality = note_equality(L, code, at, err);
    if (!print) print = note_print(L, code, at, err);
    if (!truth) truth = note_truth(L, code, at, err);
  }
  note_name(lt_of(L), code, err);
  return 0;
}

/* ---- locals ----------------------------------------------------------------
 */

/* `local x = 1` alone: the name is gone when the entry ends. */
static void note_local(lt *l, const char *code, FILE *err) {
  lt_token w = {.at = code};
  char name[sizeof w.text];
  if (lt_session_of(l)->local_noted || !lt_next_token(&w) ||
      strcmp(w.text, "local") != 0 || !lt_next_token(&w) || !w.name ||
      strcmp(w.text, "function") == 0)
    return;
  memcpy(name, w.text, sizeof name);
  /* Used again in the same entry it has served. */
  while (lt_next_token(&w))
    if (w.name && strcmp(w.text, name) == 0) return;
  lt_session_of(l)->local_noted = 1;
  fprintf(err, "note: '%s' is local to this entry; drop 'local' to keep it\n",
          name);
}

/* Folds a text of whole lines. */
static void write_lines(char *text, FILE *err) {
  for (char *next; (next = strchr(text, '\n')) != NULL; text = next + 1) {
    *next = '\0';
    lt_fold(text, -1, err);
    fputc('\n', err);
  }
}

void lt_remark(lt *l, const char *code, FILE *err) {
  char *text = NULL;
  size_t size = 0;
  remark r = {code, open_memstream(&text, &size)};
  fflush(stdout); /* what was printed before stands before */
  if (!r.err) return;
  note_local(l, code, r.err);
  note_made(code, r.err);
  if (lua_checkstack(l->L, 10)) {
    lua_pushcfunction(l->L, note_tests);
    lua_pushlightuserdata(l->L, &r);
    if (lua_pcall(l->L, 1, 0, 0) != LUA_OK) lua_pop(l->L, 1);
  }
  if (fclose(r.err) == 0) write_lines(text, err);
  free(text);
}
