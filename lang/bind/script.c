/* script.c - is a file Lua text at all? Who runs a program, a picture or data
 * should read that, and not a syntax error in its first byte. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "session.h"

enum { LOOK = 512 }; /* bytes from the beginning */

static int begins(const unsigned char *text, size_t n, const char *mark,
                  size_t size) {
  return n >= size && memcmp(text, mark, size) == 0;
}

/* What kind of file it is, or NULL: nothing speaks against text. */
static const char *kind_of(const unsigned char *text, size_t n, int *data) {
  static const struct {
    const char *mark, *kind;
    size_t size;
    int data;
  } marks[] = {{"\177ELF", "a program or library (ELF)", 4, 0},
               {"\223NUMPY", "an array (npy)", 6, 1},
               {"PK\3\4", "an archive (zip or npz)", 4, 1},
               {"\37\213", "packed (gzip)", 2, 0},
               {"\211PNG", "a picture (PNG)", 4, 0},
               {"\377\330\377", "a picture (JPEG)", 3, 0},
               {"%PDF-", "a document (PDF)", 5, 0}};
  *data = 0;
  if (begins(text, n, LUA_SIGNATURE, sizeof LUA_SIGNATURE - 1)) return NULL;
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (begins(text, n, marks[i].mark, marks[i].size)) {
      *data = marks[i].data;
      return marks[i].kind;
    }
  if (n > 9 && text[8] == '{' && memchr(text, 0, 8)) {
    *data = 1;
    return "tensors (safetensors)";
  }
  return memchr(text, 0, n) ? "a file of bytes that are no text" : NULL;
}

int lt_script_problem(const char *path, char *text, size_t size) {
  unsigned char head[LOOK];
  struct stat st;
  const char *kind;
  FILE *f;
  size_t n;
  int data;
  *text = '\0';
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    snprintf(text, size, "cannot run %s: it is a folder", path);
    return 1;
  }
  /* A pipe can be read once only. */
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return 0;
  if (!(f = fopen(path, "re"))) return 0; /* Lua says why */
  n = fread(head, 1, sizeof head, f);
  fclose(f);
  kind = kind_of(head, n, &data);
  if (!kind && (data = lt_is_data_name(path))) kind = "a data file";
  if (!kind) return 0;
  snprintf(text, size, "cannot run %s: it is %s, and no Lua script%s", path,
           kind,
           data ? "\n  hint: tsh -I x=FILE reads data into the global x" : "");
  return 1;
}

/* script_problem(path): a sentence, or nil. */
int lt_script_check(lua_State *L) {
  char text[4400];
  if (!lt_script_problem(luaL_checkstring(L, 1), text, sizeof text)) return 0;
  lua_pushstring(L, text);
  return 1;
}
