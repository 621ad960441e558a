/* guess.c - a name that nobody defined was called: which one was meant? Lua's
 * own message names it. Looks at names only, raw. */
#include <ctype.h>
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
  d = lt_slip(s->word, text);
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

/* ---- modules of others --------------------------------------------------- */

/* The last part of np.linalg.norm in a line, for np; 0: none. */
static int member_of(const char *source, const char *module, char *last,
                     size_t size) {
  size_t n = strlen(module);
  for (const char *at = source; (at = strstr(at, module)) != NULL; at += n) {
    int inside = at > source && (isalnum((unsigned char)at[-1]) ||
                                 strchr("._", at[-1]) != NULL);
    const char *end = at + n, *from = NULL;
    while (*end == '.') {
      from = ++end;
      while (isalnum((unsigned char)*end) || *end == '_') end++;
    }
    if (inside || !from || end == from || (size_t)(end - from) >= size)
      continue;
    memcpy(last, from, (size_t)(end - from));
    last[end - from] = '\0';
    return 1;
  }
  return 0;
}

/* "nn.linear" with the arguments that the line gives nn.Linear. */
static void add_arguments(const char *source, const char *last, char *ours,
                          size_t size) {
  size_t n = strlen(last), used = strlen(ours), i = 0;
  const char *at = source;
  int depth = 0;
  if (strncmp(ours, "nn.", 3) != 0) return;
  while ((at = strstr(at, last)) != NULL && at[n] != '(') at += n;
  if (!at) return;
  for (at += n; at[i]; i++) {
    depth += (at[i] == '(') - (at[i] == ')');
    if (depth == 0) break;
  }
  if (!at[i] || used + i + 2 > size) return;
  memcpy(ours + used, at, i + 1);
  ours[used + i + 1] = '\0';
}

static int guess_member(const char *module, const char *source, char *text,
                        size_t size) {
  char last[80], ours[80];
  search s = {.word = last, .best = "", .least = LT_FAR};
  if (!member_of(source, module, last, sizeof last))
    return lt_synonym(module, text, size);
  if (lt_member_synonym(last, text, size)) return 1;
  consider_ours(&s);
  if (s.least > 0 && lt_library_member(last, ours, sizeof ours)) {
    snprintf(s.best, sizeof s.best, "%s", ours);
    add_arguments(source, last, s.best, sizeof s.best);
    s.least = 0;
  }
  if (s.least == 0)
    snprintf(text, size, "functions stand alone: here it is %s", s.best);
  else if (*s.best)
    snprintf(text, size,
             "functions stand alone, without %s; did you mean '%s'?", module,
             s.best);
  else
    snprintf(text, size,
             "functions stand alone, without %s; :apropos %s looks for them",
             module, last);
  return 1;
}

/* ---- what is no function ------------------------------------------------- */

/* f"{x}", r"\d", of which Lua makes a call. */
static int guess_prefix(const char *word, const char *source, char *text,
                        size_t size) {
  const char *at = source;
  if (strlen(word) != 1 || !strchr("frbu", *word)) return 0;
  for (; (at = strchr(at, *word)) != NULL; at++) {
    if (at > source && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
      continue;
    if (at[1] != '"' && at[1] != '\'') continue;
    snprintf(text, size,
             *word == 'f' ? "a text is put together by .., \"x is \" .. x, or "
                            "by string.format(\"%%.2f\", v)"
                          : "a string has no letter in front");
    return 1;
  }
  return 0;
}

/* Is it a spec of nn? */
static int is_spec(lua_State *L, const char *name) {
  int top = lua_gettop(L), is = 0;
  lua_pushglobaltable(L);
  lua_pushstring(L, name);
  if (lua_rawget(L, -2) == LUA_TTABLE) {
    lua_pushstring(L, "kind");
    is = lua_rawget(L, -2) == LUA_TSTRING;
  }
  lua_settop(L, top);
  return is;
}

/* A module of others, x.shape(), tensor.zeros(3). */
static int guess_use(lua_State *L, const char *message, const char *source,
                     char *text, size_t size) {
  char word[80];
  if (strstr(message, "attempt to call a table value (") &&
      name_in(message, "(global '", word, sizeof word) && is_spec(L, word)) {
    snprintf(text, size, "a spec is no function: nn.forward(%s, params, x)",
             word);
    return 1;
  }
  if (strstr(message, "attempt to index a nil value (") &&
      name_in(message, "(global '", word, sizeof word))
    return lt_foreign_module(word) || strcmp(word, "random") == 0
               ? guess_member(word, source, text, size)
               : lt_synonym(word, text, size);
  if (strstr(message, "attempt to index a function value (") &&
      name_in(message, "(global '", word, sizeof word)) {
    snprintf(text, size,
             "functions stand alone here: zeros(3), not %s.zeros(3)", word);
    return 1;
  }
  if (strstr(message, "attempt to call a table value (for iterator")) {
    snprintf(text, size,
             "for i, v in ipairs(t) do, or for k, v in pairs(t) do");
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

/* Is it a method of tensors, and no function? */
static int is_method_only(const char *name) {
  const lt_function *f = lt_function_find(name);
  return f && !f->alias && f->kind & LT_METHOD && !(f->kind & LT_GLOBAL);
}

static int push_global(lua_State *L) {
  lua_pushglobaltable(L);
  lua_pushstring(L, lua_touserdata(L, 1));
  lua_pushboolean(L, lua_rawget(L, -2) != LUA_TNIL);
  return 1;
}

int lt_is_defined(lt *l, const char *name) {
  int top = lua_gettop(l->L), is = 0;
  if (!lua_checkstack(l->L, 10)) return 0;
  lua_pushcfunction(l->L, push_global);
  lua_pushlightuserdata(l->L, (void *)(uintptr_t)name);
  if (lua_pcall(l->L, 1, 1, 0) == LUA_OK) is = lua_toboolean(l->L, -1);
  lua_settop(l->L, top);
  return is;
}

int lt_guess_name(lt *l, const char *word, int field, char *text, size_t size) {
  search s = {.word = word, .best = "", .least = LT_FAR};
  if (!lua_checkstack(l->L, 10)) return 0;
  if (field) consider_fields(l->L, &s);
  if (s.least > 0 && lt_synonym(word, text, size)) return 1;
  if (!field && is_method_only(word)) {
    snprintf(text, size, "it is a method: x:%s()", word);
    return 1;
  }
  if (!field) consider_ours(&s);
  if (!*s.best) return 0;
  snprintf(text, size, "did you mean '%s'?", s.best);
  return 1;
}

static int guess(lt *l, const char *message, const char *source, char *text,
                 size_t size) {
  char word[80];
  int field;
  if (guess_use(l->L, message, source, text, size)) return 1;
  /* Names of dtypes are strings, and methods. */
  if (!strstr(message, "attempt to call a nil value (") &&
      !strstr(message, "attempt to call a string value (global"))
    return 0;
  field = name_in(message, "(field '", word, sizeof word);
  if (!field && !name_in(message, "(global '", word, sizeof word)) return 0;
  if (!field && guess_prefix(word, source, text, size)) return 1;
  return lt_guess_name(l, word, field, text, size);
}

typedef struct {
  const char *message, *source;
  char *text;
  size_t size;
  int found;
} question;

static int ask(lua_State *L) {
  question *q = lua_touserdata(L, 1);
  q->found = guess(lt_of(L), q->message, q->source, q->text, q->size);
  return 0;
}

/* Names are strings of Lua, for which memory may be short. */
int lt_guess(lt *l, const char *message, const char *source, char *text,
             size_t size) {
  question q = {message, source, text, size, 0};
  int top = lua_gettop(l->L);
  if (lt_use(message, source, text, size)) return 1;
  if (!lua_checkstack(l->L, 10)) return 0;
  lua_pushcfunction(l->L, ask);
  lua_pushlightuserdata(l->L, &q);
  if (lua_pcall(l->L, 1, 0, 0) != LUA_OK) q.found = 0;
  lua_settop(l->L, top);
  return q.found;
}
