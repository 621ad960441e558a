/* guess.c - a name that nobody defined was called: which one was meant? Lua's
 * own message names it. Looks at names only, raw, and cannot fail. */
#include <string.h>
#include "session.h"

/* What other languages call it. */
static const struct {
  const char *name, *ours;
} synonyms[] = {
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"len", "#x"},
    {"exit", "os.exit() or :quit"},
    {"quit", ":quit"},
    {"dropout", "nn.dropout"},
    {"array", "tensor"},
    {"astype", "x:cast(dtype)"},
    {"clip", "clamp"},
    {"range", "arange"},
    {"save", "write"},
    {"loadtxt", "read"},
    {"matrix", "tensor"},
    {"linear", "nn.linear"},
    {"sequential", "nn.sequence"},
    {"shuffle", "randperm"},
    {"log10", "log(x) / math.log(10)"},
    {"norm2", "norm"},
    {"inv", "matrix inverses are not there yet"},
};

typedef struct {
  const char *word;
  char best[80];
  int least;
} search;

static void consider(search *s, const char *name, size_t n) {
  char text[sizeof s->best];
  int d;
  if (n >= sizeof text || n < 2) return;
  memcpy(text, name, n);
  text[n] = '\0';
  d = lt_distance(s->word, text);
  if (d >= s->least) return;
  s->least = d;
  memcpy(s->best, text, n + 1);
}

static void consider_ours(search *s) {
  const lt_function *f;
  const char *name;
  size_t n;
  int method;
  for (size_t i = 0; (f = lt_function_at(i)) != NULL; i++)
    if (f->kind & LT_GLOBAL || f->alias) consider(s, f->name, strlen(f->name));
  for (size_t i = 0; (name = lt_library_name_at(i, &n, &method)) != NULL; i++)
    consider(s, name, n);
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
        consider(s, name, n);
      }
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static const char *synonym(const char *word) {
  for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
    if (strcmp(synonyms[i].name, word) == 0) return synonyms[i].ours;
  return NULL;
}

int lt_guess(lt *l, const char *message, char *text, size_t size) {
  static const char called[] = "attempt to call a nil value (";
  const char *at = strstr(message, called), *known;
  char word[80];
  search s = {.word = word, .best = ""};
  size_t n;
  int field;
  if (!at || !lua_checkstack(l->L, 10)) return 0;
  at += sizeof called - 1;
  field = strncmp(at, "field '", 7) == 0;
  if (!field && strncmp(at, "global '", 8) != 0) return 0;
  at = strchr(at, '\'') + 1;
  n = strcspn(at, "'");
  if (n == 0 || n >= sizeof word) return 0;
  memcpy(word, at, n);
  word[n] = '\0';
  s.least = n < 4 ? 2 : 3;
  known = field ? NULL : synonym(word);
  if (known) {
    snprintf(text, size, "here it is %s", known);
    return 1;
  }
  if (field)
    consider_fields(l->L, &s);
  else
    consider_ours(&s);
  if (!*s.best) return 0;
  snprintf(text, size, "did you mean '%s'?", s.best);
  return 1;
}
