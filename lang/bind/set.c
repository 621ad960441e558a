/* set.c - what the user may choose about printing, and its names. All of it
 * lies in the session. */
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include "session.h"

/* words: the values by number from 0, or NULL; then least..most, and `zero` is
 * another way to say 0. */
typedef struct {
  const char *name, *words, *zero;
  size_t at;
  int least, most, usual;
  const char *doc;
} setting;

#define AT(field) offsetof(lt_settings, field)
/* clang-format off */
static const setting settings[] = {
  {"print.precision", NULL, NULL, AT(print.precision), 0, 17, 4,
   "digits behind the dot; in e-notation f16 has 3, bf16 2 at most"},
  {"print.edge", NULL, NULL, AT(print.edge), 1, 1000, 3,
   "elements shown at each end of an axis of a large tensor"},
  {"print.max", NULL, NULL, AT(print.max), 1, 1000000, 1000,
   "a tensor of more elements shows its edges only"},
  {"print.sci", "auto on off", NULL, AT(print.sci), 0, 2, LAYOUT_AUTO,
   "e-notation of floats; auto: where digits would be lost without"},
  {"print.width", NULL, "auto", AT(print.width), 20, 10000, 0,
   "columns; auto: those of the window, 80 off a terminal"},
  {"timing", "auto on off", NULL, AT(timing), 0, 2, LAYOUT_AUTO,
   "the time that an entry took; auto: over half a second"},
  {"out.keep", NULL, NULL, AT(keep), 0, 1000, 20,
   "results that stay in out[n]"},
};
/* clang-format on */
enum { NSETTINGS = sizeof settings / sizeof *settings };

static int *value_at(lt_settings *s, const setting *x) {
  return (int *)(void *)((char *)s + x->at);
}

void lt_settings_init(lt_settings *s) {
  for (int i = 0; i < NSETTINGS; i++)
    *value_at(s, &settings[i]) = settings[i].usual;
}

int lt_timing(const lt *l) { return lt_session_of(l)->set.timing; }

const char *lt_setting_name(size_t i) {
  return i < NSETTINGS ? settings[i].name : NULL;
}

/* ---- values as text ------------------------------------------------------ */

/* Word number n of a list, and its size. */
static const char *word_at(const char *words, int n, int *size) {
  for (; n > 0; n--) words += strcspn(words, " ") + 1;
  *size = (int)strcspn(words, " ");
  return words;
}

static void push_value(lua_State *L, const setting *x, int v) {
  int size;
  const char *word;
  if (x->words) {
    word = word_at(x->words, v, &size);
    lua_pushlstring(L, word, (size_t)size);
  } else if (x->zero && v == 0) {
    lua_pushstring(L, x->zero);
  } else {
    lua_pushinteger(L, v);
  }
}

/* -1: the value at index i is none of the setting's. */
static int value_of(lua_State *L, const setting *x, int i) {
  const char *text = lua_tostring(L, i), *word;
  lua_Integer n;
  int isnum, size;
  for (int v = 0; x->words && text && v <= x->most; v++) {
    word = word_at(x->words, v, &size);
    if (strlen(text) == (size_t)size && strncmp(text, word, (size_t)size) == 0)
      return v;
  }
  if (x->zero && text && strcmp(text, x->zero) == 0) return 0;
  n = lua_tointegerx(L, i, &isnum);
  return !x->words && isnum && n >= x->least && n <= x->most ? (int)n : -1;
}

/* "auto, on or off", "auto, or 20 to 10000" */
static void push_takes(lua_State *L, const setting *x) {
  if (x->words)
    lua_pushliteral(L, "auto, on or off");
  else
    lua_pushfstring(L, "%s%s%d to %d", x->zero ? x->zero : "",
                    x->zero ? ", or " : "", x->least, x->most);
}

/* ---- for lang/lib -------------------------------------------------------- */

/* By its name, or by the part behind the dot. */
static const setting *find(lua_State *L, int i) {
  const char *name = luaL_checkstring(L, i), *near;
  const char *names[NSETTINGS + 1];
  for (int k = 0; k < NSETTINGS; k++) {
    const char *part = strchr(settings[k].name, '.');
    names[k] = settings[k].name;
    if (strcmp(name, names[k]) == 0 || (part && strcmp(name, part + 1) == 0))
      return &settings[k];
  }
  names[NSETTINGS] = NULL;
  near = lt_nearest(name, names);
  lt_fail_text(L, NULL, lua_pushfstring(L, "set: unknown setting '%s'", name),
               near ? lua_pushfstring(L, "did you mean %s?", near)
                    : ":set alone lists them");
  return NULL;
}

int lt_settings_list(lua_State *L) {
  lt_settings *s = &lt_session_of(lt_of(L))->set;
  lua_createtable(L, NSETTINGS, 0);
  for (int i = 0; i < NSETTINGS; i++) {
    const setting *x = &settings[i];
    lua_createtable(L, 0, 5);
    lua_pushstring(L, x->name);
    lua_setfield(L, -2, "name");
    push_value(L, x, *value_at(s, x));
    lua_setfield(L, -2, "value");
    push_value(L, x, x->usual);
    lua_setfield(L, -2, "default");
    push_takes(L, x);
    lua_setfield(L, -2, "takes");
    lua_pushstring(L, x->doc);
    lua_setfield(L, -2, "doc");
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

int lt_settings_set(lua_State *L) {
  const setting *x = find(L, 1);
  int v = value_of(L, x, 2);
  const char *given, *takes;
  if (v < 0) {
    given = luaL_tolstring(L, 2, NULL);
    push_takes(L, x);
    takes = lua_tostring(L, -1);
    return lt_fail_text(
        L, NULL,
        lua_pushfstring(L, "set: %s takes %s, not %s", x->name, takes, given),
        NULL);
  }
  *value_at(&lt_session_of(lt_of(L))->set, x) = v;
  return 0;
}

int lt_settings_unset(lua_State *L) {
  const setting *x = find(L, 1);
  *value_at(&lt_session_of(lt_of(L))->set, x) = x->usual;
  return 0;
}
