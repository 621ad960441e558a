/* err.c - the only file that turns a tsh_err into a Lua error. What an error
 * looks like stands in priv.h. */
#include <ctype.h>
#include <string.h>
#include "session.h"

/* Of a source line that is looked at; columns of it that are shown. */
enum { LINE = 1024, SHOWN = 160 };

static const char last_key = 0; /* registry: the error lt_raise made last */

/* ---- which function complains ----------------------------------------------
 */
static const struct {
  const char *name, *sign;
} operators[] = {{"add", "+"},   {"sub", "-"},       {"mul", "*"},
                 {"div", "/"},   {"floordiv", "//"}, {"mod", "%"},
                 {"pow", "^"},   {"neg", "-"},       {"bitand", "&"},
                 {"bitor", "|"}, {"bitxor", "~"},    {"shl", "<<"},
                 {"shr", ">>"},  {"bitnot", "~"},    {"index", "["}};

/* The entry of the C function that runs, or NULL: it has no name of ours. */
static const lt_function *current(lua_State *L) {
  lua_CFunction c;
  lua_Debug ar;
  if (!lua_getstack(L, 0, &ar)) return NULL;
  lua_getinfo(L, "f", &ar);
  c = lua_tocfunction(L, -1);
  lua_pop(L, 1);
  return lt_function_of(c);
}

/* ---- the parts of the text ---------------------------------------------- */
static void add_place(lua_State *L, luaL_Buffer *b, uint32_t site) {
  char place[LUA_IDSIZE + 16];
  if (!site) return;
  luaL_addstring(b, lt_site_text(lt_of(L), site, place, sizeof place));
  luaL_addstring(b, ": ");
}

static int is_word(int c) { return isalnum(c) || c == '_'; }

static const char *find_word(const char *line, const char *word) {
  size_t n = strlen(word);
  for (const char *at = line; (at = strstr(at, word)) != NULL; at++)
    if ((at == line || !is_word((unsigned char)at[-1])) &&
        !is_word((unsigned char)at[n]))
      return at;
  return NULL;
}

#define NO_CARET ((size_t)-1)

/* Where on the line the call may be: its name, its sign, else the start, or
 * NO_CARET: it lies behind what was read of a very long line. */
static size_t caret_at(const char *line, const char *name) {
  const char *at = NULL;
  if (!name || !*name) return strspn(line, " \t");
  if (!is_word((unsigned char)*name))
    at = strstr(line, name);
  else
    at = find_word(line, name);
  for (size_t i = 0; !at && i < sizeof operators / sizeof *operators; i++)
    if (strcmp(operators[i].name, name) == 0)
      at = strstr(line, operators[i].sign);
  if (!at && strlen(line) == LINE - 1) return NO_CARET;
  return at ? (size_t)(at - line) : strspn(line, " \t");
}

/* Blanks as wide as the text; its tabs stay, so that the caret stands below its
 * column. */
static void add_pad(luaL_Buffer *b, const char *text, size_t size) {
  for (size_t n; size; text += n, size -= n) {
    n = strcspn(text, "\t");
    if (n > size) n = size;
    for (int i = lt_columns(text, n); i > 0; i--) luaL_addchar(b, ' ');
    if (n < size) luaL_addchar(b, text[n++]);
  }
}

static void add_source(lua_State *L, luaL_Buffer *b, uint32_t site,
                       const char *name) {
  char line[LINE], text[LINE], place[LUA_IDSIZE + 16];
  size_t caret, blank;
  int found;
  if (!lt_site_source(lt_of(L), site, line, sizeof line)) return;
  caret = caret_at(line, name);
  blank = strspn(line, " \t");
  found = caret != NO_CARET;
  caret = lt_excerpt(line + blank, found ? caret - blank : 0, SHOWN, text,
                     sizeof text);
  lt_site_text(lt_of(L), site, place, sizeof place);
  luaL_addstring(b, "\n  ");
  luaL_addstring(b, place);
  luaL_addstring(b, ": ");
  luaL_addstring(b, text);
  if (!found) return;
  luaL_addstring(b, "\n  ");
  add_pad(b, place, strlen(place));
  luaL_addstring(b, "  ");
  add_pad(b, text, caret);
  luaL_addchar(b, '^');
}

/* "a: f32[2,3]" in text, or nothing for what is no tensor and no number. */
static int fact_of(lua_State *L, int i, const char *name, int length,
                   char *text, size_t size) {
  char value[300];
  plan_node *n = lt_tensor_test(L, i);
  if (n)
    plan_describe(n, value, sizeof value);
  else if (lua_isinteger(L, i))
    snprintf(value, sizeof value, LUA_INTEGER_FMT,
             (LUAI_UACINT)lua_tointeger(L, i));
  else if (lua_type(L, i) == LUA_TNUMBER)
    snprintf(value, sizeof value, "%.14g", lt_shown(lua_tonumber(L, i)));
  else
    return 0;
  snprintf(text, size, "%.*s: %s", length, name, value);
  return n ? 2 : 1;
}

/* "  a: f32[2,3]   b: f32[3,2]": the arguments that are tensors or numbers,
 * under the names that the documentation gives them; not numbers alone. */
static void add_facts(lua_State *L, luaL_Buffer *b, const lt_function *f,
                      int nargs) {
  const char *name = f ? f->args : "", *lead = "\n  ";
  char text[400];
  int tensors = 0, end;
  for (int i = 1; i <= nargs && *name; i++) {
    int length = (int)strcspn(name, ",");
    tensors += lt_tensor_test(L, i) != NULL;
    name += length + (int)strspn(name + length, ", ");
  }
  end = tensors ? nargs : 0;
  name = f ? f->args : "";
  for (int i = 1; i <= end && *name; i++) {
    int length = (int)strcspn(name, ",");
    if (fact_of(L, i, name, length, text, sizeof text)) {
      luaL_addstring(b, lead);
      luaL_addstring(b, text);
      lead = "   ";
    }
    name += length + (int)strspn(name + length, ", ");
  }
}

/* A command of the session runs no line of the user's: then no line is to
 * blame. */
static uint32_t user_site(lua_State *L) {
  char place[LUA_IDSIZE + 16];
  uint32_t site = lt_site(L);
  lt_site_text(lt_of(L), site, place, sizeof place);
  return strncmp(place, &LT_LIBRARY[1], sizeof LT_LIBRARY - 2) ? site : 0;
}

/* ---- raising ----------------------------------------------------------------
 */
typedef struct {
  int anonymous;    /* no function's name in front */
  int late;         /* not the function that is called has failed */
  uint32_t site;    /* the line that is to blame */
  const char *name; /* function to look for on that line */
  const char *fact; /* a line of facts, or NULL: the arguments */
  const char *hint;
  tsh_status code;
} parts;

static int has_name(const char *why) {
  size_t n = strspn(why, "abcdefghijklmnopqrstuvwxyz_0123456789.");
  return n > 0 && strncmp(why + n, ": ", 2) == 0;
}

/* Who works for others (nn.forward, grad) is named beside the one that failed,
 * which says where; cat inside of stack is of no interest. */
static int names_both(const char *called) {
  return strchr(called, '.') != NULL || strstr(called, "grad") != NULL;
}

/* Adds why, a sentence of the function `name` or, with that in front, of
 * another, as one of the function that was called. */
static void add_why(luaL_Buffer *b, const char *called, const char *name,
                    const char *why) {
  size_t n = has_name(why) ? strcspn(why, ":") : 0;
  int same = n ? strlen(called) == n && strncmp(called, why, n) == 0
               : name && strcmp(called, name) == 0;
  int silent = !n && !name; /* a sentence without a name stays one */
  if (*called && !silent && (!same || !n)) {
    luaL_addstring(b, called);
    luaL_addstring(b, ": ");
  }
  if (*called && !same && n && !names_both(called)) why += n + 2;
  if (!n && name && (!*called || (!same && names_both(called)))) {
    luaL_addstring(b, name);
    luaL_addstring(b, ": ");
  }
  luaL_addstring(b, why);
}

/* What the caret points at: linear in nn.linear(2). */
static const char *last_part(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}

/* Raises; the sentence is on top of the stack, the arguments are at 1..nargs.
 */
static int throw(lua_State * L, const parts *p, int nargs) {
  const lt_function *f = current(L);
  const char *why = lua_tostring(L, -1), *name = p->name;
  char called[80] = "";
  luaL_Buffer b;
  luaL_checkstack(L, 20, NULL);
  if (!name && f) name = f->name;
  if (!p->late && lt_called(L, called, sizeof called) &&
      (has_name(why) || !p->anonymous))
    name = last_part(called);
  luaL_buffinit(L, &b);
  add_place(L, &b, p->site);
  add_why(&b, called, f && !p->anonymous ? f->name : NULL, why);
  if (!p->fact) {
    const lt_function *typed = *called ? lt_function_find(called) : f;
    if (typed && typed->alias) typed = lt_function_find(typed->alias);
    if (typed == f) add_facts(L, &b, f, nargs);
  } else if (*p->fact) {
    luaL_addstring(&b, "\n  ");
    luaL_addstring(&b, p->fact);
  }
  add_source(L, &b, p->site, name);
  if (p->hint) {
    luaL_addstring(&b, "\n  hint: ");
    luaL_addstring(&b, p->hint);
  }
  luaL_pushresult(&b);
  lt_of(L)->raised = p->code;
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &last_key);
  return lua_error(L);
}

tsh_status lt_status_of(lua_State *L, int index) {
  tsh_status code = TSH_OK;
  index = lua_absindex(L, index);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &last_key);
  if (lua_rawequal(L, -1, index)) code = lt_of(L)->raised;
  lua_pop(L, 1);
  return code;
}

void lt_push_raised(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &last_key);
}

int lt_fail(lua_State *L, const char *hint, const char *format, ...) {
  parts p = {.hint = hint, .code = TSH_EINVAL};
  int nargs = lua_gettop(L);
  va_list args;
  luaL_checkstack(L, 20, NULL);
  p.site = user_site(L);
  va_start(args, format);
  lua_pushvfstring(L, format, args);
  va_end(args);
  return throw(L, &p, nargs);
}

int lt_fail_text(lua_State *L, const char *word, const char *why,
                 const char *hint) {
  parts p = {.hint = hint, .code = TSH_EINVAL, .fact = "", .anonymous = 1};
  size_t n = strspn(why, "abcdefghijklmnopqrstuvwxyz_0123456789.");
  char name[32];
  luaL_checkstack(L, 20, NULL);
  snprintf(name, sizeof name, "%.*s", (int)n, why);
  p.name = word ? word : name;
  p.site = user_site(L);
  lua_pushstring(L, why);
  return throw(L, &p, 0);
}

/* Pushes the sentence of err. */
static void push_why(lua_State *L, const tsh_err *err) {
  int plain = err->code != TSH_ENOMEM || strstr(err->text, "out of memory");
  lua_pushfstring(L, plain ? "%s" : "out of memory: %s", err->text);
}

int lt_raise(lua_State *L, const tsh_err *err, const char *hint, ...) {
  parts p = {.code = err->code};
  int nargs = lua_gettop(L);
  char text[400];
  if (hint) {
    va_list args;
    va_start(args, hint);
    vsnprintf(text, sizeof text, hint, args);
    va_end(args);
    p.hint = text;
  }
  luaL_checkstack(L, 20, NULL);
  p.site = user_site(L);
  push_why(L, err);
  return throw(L, &p, nargs);
}

int lt_raise_as(lua_State *L, const char *name, const tsh_err *err,
                const char *hint) {
  parts p = {.code = err->code, .fact = "", .anonymous = 1, .hint = hint};
  if (err->code == TSH_ECANCELLED) lt_stop_point(L);
  luaL_checkstack(L, 20, NULL);
  p.name = name;
  p.site = user_site(L);
  push_why(L, err);
  lua_pushfstring(L, "%s: %s", name, lua_tostring(L, -1));
  return throw(L, &p, 0);
}

void lt_stop_point(lua_State *L) {
  parts p = {.code = TSH_ECANCELLED, .fact = "", .anonymous = 1, .late = 1};
  if (!lt_of(L)->interrupted) return;
  luaL_checkstack(L, 20, NULL);
  p.site = user_site(L);
  lua_pushliteral(L, "interrupted");
  throw(L, &p, 0);
}

void lt_check(lua_State *L, tsh_status status, const tsh_err *err) {
  if (status != TSH_OK) lt_raise(L, err, NULL);
}

int lt_raise_demand(lua_State *L, const tsh_err *err) {
  lt *l = lt_of(L);
  uint32_t recorded = plan_error_site(l->plan), here = user_site(L);
  char place[LUA_IDSIZE + 16], fact[LUA_IDSIZE + 64], name[32];
  /* What is asked for is not what failed. */
  parts p = {.site = recorded ? recorded : here, .code = err->code, .late = 1};
  size_t n = strspn(err->text, "abcdefghijklmnopqrstuvwxyz_0123456789");
  luaL_checkstack(L, 20, NULL);
  if (err->code == TSH_ECANCELLED) {
    p.site = here;
    lua_pushliteral(L, "interrupted");
    return throw(L, &p, 0);
  }
  p.fact = "";
  p.anonymous = 1;
  if (p.site != here && here) {
    snprintf(fact, sizeof fact, "asked for at %s",
             lt_site_text(l, here, place, sizeof place));
    p.fact = fact;
  }
  snprintf(name, sizeof name, "%.*s", has_name(err->text) ? (int)n : 0,
           err->text);
  p.name = name;
  if (err->code == TSH_ENOMEM) lt_push_biggest(L, &p.fact);
  if (err->code == TSH_EINDEX && strstr(err->text, "index 0 "))
    p.hint = "positions and labels count from 1: labels 0..9 are y + 1";
  push_why(L, err);
  return throw(L, &p, 0);
}

void lt_note(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("note: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
}
