/* eval.c - one entry of a session, or a piece of code from the command line:
 * is it an expression, is it complete, which values does it leave? */
#include <ctype.h>
#include <string.h>
#include "session.h"

#define LARGE_BYTES (UINT64_C(16) << 20) /* results that are not kept alive */

typedef struct {
  const char *code, *chunk;
  int print, final, keep; /* as asked for */
  int loads, incomplete;
  int extra;   /* values in front that are none of the user's */
  size_t last; /* where an expression behind statements begins; else 0 */
  FILE *out;
} entry;

/* ---- loading ------------------------------------------------------------- */

static int ends_in_eof(const char *message) {
  size_t n = strlen(message);
  return n >= 5 && strcmp(message + n - 5, "<eof>") == 0;
}

static int is_blank(char c) { return isspace((unsigned char)c) != 0; }

/* Is it about the first word of the code? */
static int is_near_start(const char *message, const char *code) {
  const char *near = strstr(message, "near '");
  size_t n;
  if (!near) return 0;
  near += 6;
  n = strcspn(near, "'");
  return n && strncmp(code + strspn(code, " \t\n"), near, n) == 0;
}

/* An expression that ends too early or goes wrong inside is a bad statement
 * from its first word on: then the other message, of the expression, says
 * more - unless that stumbled over an assignment, or at once. */
static int blames_start(const char *message, const char *expression,
                        const char *code) {
  if (strstr(expression, "near '='") || is_near_start(expression, code))
    return 0;
  return strstr(message, ": syntax error near") || is_near_start(message, code);
}

/* Loads `before` and `code` as one text; the function or a message is pushed.
 */
static int load_text(lua_State *L, const char *before, const char *code,
                     size_t size, const char *chunk) {
  int status;
  lua_pushstring(L, before);
  lua_pushlstring(L, code, size);
  /* A newline, so that an unfinished string is an error, not an entry that
   * goes on. */
  lua_pushliteral(L, "\n");
  lua_concat(L, 3);
  code = lua_tolstring(L, -1, &size);
  status = luaL_loadbufferx(L, code, size, chunk, "t");
  lua_remove(L, -2);
  return status;
}

static int is_loadable(lua_State *L, const char *before, const char *code,
                       size_t size) {
  int status = load_text(L, before, code, size, "=in");
  lua_pop(L, 1);
  return status == LUA_OK;
}

/* With a value in front it is no tail call: who called stays known. */
#define RETURN "return nil, "

/* Statements up to `at`, where a ';' or a line ends, and an expression after
 * it? What is short is asked first. */
static int splits_at(lua_State *L, const char *code, size_t at, size_t size) {
  const char *last = code + at + 1;
  size_t n = size - at - 1, blanks = strspn(last, " \t");
  /* A line that begins with '(' or '-' may go on with the one before. */
  if (code[at] == '\n' && !isalnum((unsigned char)last[blanks]) &&
      last[blanks] != '_')
    return 0;
  if (!is_loadable(L, RETURN, last, n) || !is_loadable(L, "", code, at))
    return 0;
  lua_pushlstring(L, code, at); /* does it end in a comment? */
  lua_pushliteral(L, "@");
  lua_concat(L, 2);
  n = !is_loadable(L, "", lua_tostring(L, -1), at + 1);
  lua_pop(L, 1);
  return n || code[at] == '\n';
}

/* "x = 1; x": statements, and an expression whose values are printed. Pushes
 * the function, or nothing. */
static int load_last(lua_State *L, entry *e, size_t size) {
  enum { PLACES = 16, LONGEST = 4096 };
  size_t at = size;
  for (int i = 0; i < PLACES; i++) {
    while (at && size - at < LONGEST && !strchr(";\n", e->code[at - 1])) at--;
    if (at == 0 || size - at >= LONGEST) return 0;
    if (splits_at(L, e->code, --at, size)) break;
    if (i == PLACES - 1) return 0;
  }
  lua_pushlstring(L, e->code, at + 1);
  lua_pushliteral(L, RETURN);
  lua_concat(L, 2);
  if (load_text(L, lua_tostring(L, -1), e->code + at + 1, size - at - 1,
                e->chunk) != LUA_OK) {
    lua_pop(L, 2);
    return 0;
  }
  lua_remove(L, -2);
  e->last = at + 1;
  return 1;
}

/* Loads CODE as an expression, as statements and an expression, else as
 * statements. LUA_OK with the function pushed; else the better of the messages
 * is. */
static int load_entry(lua_State *L, entry *e) {
  size_t size = strlen(e->code), bare = size;
  const char *first, *second;
  while (bare && (is_blank(e->code[bare - 1]) || e->code[bare - 1] == ';'))
    bare--;
  e->extra = 1;
  if (load_text(L, RETURN, e->code, bare, e->chunk) == LUA_OK) return LUA_OK;
  if (load_last(L, e, bare)) {
    lua_remove(L, -2);
    return LUA_OK;
  }
  e->extra = 0;
  if (load_text(L, "", e->code, size, e->chunk) == LUA_OK) {
    lua_remove(L, -2);
    return LUA_OK;
  }
  first = lua_tostring(L, -2);
  second = lua_tostring(L, -1);
  e->incomplete = ends_in_eof(first) || ends_in_eof(second);
  if (blames_start(second, first, e->code))
    lua_pop(L, 1);
  else
    lua_remove(L, -2);
  return LUA_ERRSYNTAX;
}

/* ---- results ------------------------------------------------------------- */

static int is_large(lua_State *L, int i) {
  plan_node *x = lt_tensor_test(L, i);
  return x && (uint64_t)plan_shape_of(x)->count >=
                  LARGE_BYTES / plan_dtype_bytes(plan_dtype_of(x));
}

/* Pushes the list of results; its metatable's __index is a weak table with the
 * large ones. Made at the first entry; the user's own `out` is left alone. */
static void push_results(lua_State *L) {
  static const char key = 0;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_newtable(L); /* metatable */
  lua_newtable(L); /* weak */
  lua_newtable(L);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
  lua_pushglobaltable(L);
  lua_pushliteral(L, "out");
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pushliteral(L, "out");
    lua_pushvalue(L, -4);
    lua_rawset(L, -4);
  }
  lua_pop(L, 2);
}

/* The list at the top loses the results of entries up to n. */
static void forget_results(lua_State *L, lua_Integer n) {
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) > n) continue;
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, -4);
  }
}

/* The value at index i becomes `_` and out[n]. */
static void keep_result(lua_State *L, int i, int n) {
  int large = is_large(L, i), keep = lt_session_of(lt_of(L))->set.keep;
  lua_pushglobaltable(L);
  lua_pushliteral(L, "_");
  lua_pushvalue(L, i);
  lua_rawset(L, -3);
  push_results(L);
  forget_results(L, n - keep);
  if (keep == 0) return;
  if (large) {
    lua_getmetatable(L, -1);
    lua_getfield(L, -1, "__index");
  }
  lua_pushvalue(L, i);
  lua_rawseti(L, -2, n);
}

/* ---- entries ------------------------------------------------------------- */

static int ends_in_semicolon(const char *code) {
  size_t n = strlen(code);
  while (n && is_blank(code[n - 1])) n--;
  return n && code[n - 1] == ';';
}

static int run_entry(lua_State *L) {
  entry *e = lua_touserdata(L, 1);
  lt *l = lt_of(L);
  size_t size = strlen(e->code);
  int first, n, number = lt_session_of(l)->number;
  lt_source_add(l, e->chunk, e->code, size);
  if (!e->print) {
    if (luaL_loadbufferx(L, e->code, size, e->chunk, "t") != LUA_OK)
      return lua_error(L);
  } else if (load_entry(L, e) != LUA_OK) {
    if (e->incomplete && !e->final) return 0;
    e->incomplete = 0;
    return lua_error(L);
  }
  lua_call(L, 0, LUA_MULTRET);
  first = 2 + e->extra;
  n = lua_gettop(L) - first + 1;
  if (e->print && lt_keep_wanted(l)) {
    lt_keep_value(L, first);
    return 0;
  }
  lt_session_of(l)->last = e->last;
  lt_session_of(l)->gave = n == 0                       ? LT_GAVE_NONE
                           : !e->extra                  ? LT_GAVE_RETURN
                           : ends_in_semicolon(e->code) ? LT_GAVE_MUTED
                                                        : LT_GAVE_VALUES;
  if (!e->print || n == 0 || ends_in_semicolon(e->code)) return 0;
  lt_show(L, first, n, e->out);
  luaL_checkstack(L, 10, NULL);
  if (e->keep) keep_result(L, first, number);
  return 0;
}

int lt_do(lt *l, const char *code, const char *chunk, int print, FILE *out,
          FILE *err) {
  entry e = {
      .code = code, .chunk = chunk, .print = print, .final = 1, .out = out};
  return lt_protect(l, run_entry, &e, LT_SCRIPT, err);
}

int lt_gave(const lt *l) { return lt_session_of(l)->gave; }

size_t lt_last_at(const lt *l) { return lt_session_of(l)->last; }

int lt_entry_number(const lt *l) { return lt_session_of(l)->number; }

static int probe_entry(lua_State *L) {
  entry *e = lua_touserdata(L, 1);
  e->loads = load_entry(L, e) == LUA_OK;
  return 0;
}

static entry probe(lt *l, const char *code) {
  entry e = {.code = code, .chunk = "=in"};
  int top = lua_gettop(l->L);
  lua_pushcfunction(l->L, probe_entry);
  lua_pushlightuserdata(l->L, &e);
  lua_pcall(l->L, 1, 0, 0); /* without memory it is complete, and fails */
  lua_settop(l->L, top);
  return e;
}

int lt_is_incomplete(lt *l, const char *code) {
  return probe(l, code).incomplete;
}

int lt_is_entry(lt *l, const char *code) { return probe(l, code).loads; }

int lt_eval(lt *l, const char *code, int final, FILE *out, FILE *err) {
  lt_session *s = lt_session_of(l);
  char chunk[32];
  entry e = {.code = code,
             .chunk = chunk,
             .print = 1,
             .final = final,
             .keep = 1,
             .out = out};
  int rc;
  snprintf(chunk, sizeof chunk, "=in[%d]", s->number);
  s->stdin_taken = 1;
  rc = lt_protect(l, run_entry, &e, LT_ENTRY, err);
  if (rc == LT_OK && e.incomplete) return LT_INCOMPLETE;
  if (rc == LT_OK) lt_remark(l, code, err);
  s->number++;
  return rc;
}
