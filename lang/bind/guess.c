/* guess.c - a name that nobody defined was called: which one was meant? Lua's
 * own message names it. Looks at names only, raw, and cannot fail. */
#include <string.h>
#include "session.h"

typedef struct {
  const char *word;
  char best[80];
  int least;
} search;

/* module: "nn." in front, or "". */
static void consider(search *s, const char *module, const char *name,
                     size_t n) {
  char text[sizeof s->best];
  int d;
  if (strlen(module) + n >= sizeof text || n < 2) return;
  memcpy(text, name, n);
  text[n] = '\0';
  d = lt_same_letters(s->word, text) ? 0 : lt_distance(s->word, text);
  if (d >= s->least) return;
  s->least = d;
  snprintf(s->best, sizeof s->best, "%s%.*s", module, (int)n, name);
}

static void consider_ours(search *s) {
  const lt_function *f;
  const char *name;
  size_t n;
  int method;
  for (size_t i = 0; (f = lt_function_at(i)) != NULL; i++)
    if (f->kind & LT_GLOBAL || f->alias)
      consider(s, "", f->name, strlen(f->name));
  for (size_t i = 0; (name = lt_library_name_at(i, &n, &method)) != NULL; i++)
    consider(s, "", name, n);
}

/* Fields of the modules that were loaded. */
static void consider_fields(lua_State *L, search *s) {
  static const char *const modules[] = {"nn",   "optim",    "data",
                                        "tree", "schedule", "tsh"};
  lua_pushglobaltable(L);
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
    lua_pushstring(L, modules[i]);
    lua_rawget(L, -2);
    if (lua_istable(L, -1)) {
      lua_pushnil(L);
      while (lua_next(L, -2)) {
        size_t n;
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING) continue;
        const char *name = lua_tolstring(L, -1, &n);
        char module[16];
        snprintf(module, sizeof module, "%s.", modules[i]);
        consider(s, module, name, n);
      }
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* The name of that kind, "global '" for example, in a message; 0: none. */
static int name_in(const char *message, const char *kind, char *word,
                   size_t size) {
  const char *at = strstr(message, kind);
  size_t n;
  if (!at) return 0;
  at += strlen(kind);
  n = strcspn(at, "'");
  if (n == 0 || n >= size) return 0;
  memcpy(word, at, n);
  word[n] = '\0';
  return 1;
}

/* A module of others, x.shape(), tensor.zeros(3). */
static int guess_use(const char *message, char *text, size_t size) {
  char word[80];
  if (strstr(message, "attempt to index a nil value (") &&
      name_in(message, "(global '", word, sizeof word))
    return lt_synonym(word, text, size);
  if (strstr(message, "attempt to index a function value (") &&
      name_in(message, "(global '", word, sizeof word)) {
    snprintf(text, size,
             "functions stand alone here: zeros(3), not %s.zeros(3)", word);
    return 1;
  }
  if (strstr(message, "attempt to call a shape value") ||
      strstr(message, "attempt to call a string value (method 'dtype')") ||
      strstr(message, "attempt to call a string value (method 'device')")) {
    snprintf(text, size, "x.shape, x.dtype, x.device have no (): x.shape[1]");
    return 1;
  }
  return 0;
}

int lt_guess(lt *l, const char *message, char *text, size_t size) {
  char word[80];
  search s = {.word = word, .best = ""};
  int field;
  if (!lua_checkstack(l->L, 10)) return 0;
  if (guess_use(message, text, size)) return 1;
  if (!strstr(message, "attempt to call a nil value (")) return 0;
  field = name_in(message, "(field '", word, sizeof word);
  if (!field && !name_in(message, "(global '", word, sizeof word)) return 0;
  s.least = strlen(word) < 4 ? 2 : 3;
  if (field) consider_fields(l->L, &s);
  if (s.least > 0 && lt_synonym(word, text, size)) return 1;
  if (!field) consider_ours(&s);
  if (!*s.best) return 0;
  snprintf(text, size, "did you mean '%s'?", s.best);
  return 1;
}
