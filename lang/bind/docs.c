/* docs.c - help on a name. Functions of C are described in their table
 * (lt_function), ops of the plugin ABI in the op table, functions of the
 * library by the comment above them, every line of which has three dashes:
 *   --- nn.name(x, options): what it does. Shapes. Errors.
 *   --- Example: nn.name(3)
 */
#include <stdlib.h>
#include <string.h>
#include "session.h"

enum { BLOCK = 4000, COLUMNS = 78 };
static const char WORD[] = "abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

static const char WORD_PARTS[] = "abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.";

/* ---- paragraphs ---------------------------------------------------------- */

void lt_add_words(lt_paragraph *p, const char *text) {
  while (*text) {
    int size;
    text += strspn(text, " \t\n");
    size = (int)strcspn(text, " \t\n");
    if (!size) return;
    if (p->column && p->column + 1 + size > COLUMNS) {
      fputc('\n', p->out);
      p->column = 0;
    }
    p->column += fprintf(p->out, p->column ? " %.*s" : "  %.*s", size, text);
    text += size;
  }
}

void lt_end_paragraph(lt_paragraph *p) {
  if (p->column) fputc('\n', p->out);
  p->column = 0;
}

/* ---- ops ----------------------------------------------------------------- */

static const struct op_row {
  const char *name, *class, *takes, *doc;
} ops[] = {
#define TSH_X(id, name, class, arity, takes, gives, start, f, i, doc)          \
  {#name, #class, #takes, doc},
    TSH_OPS(TSH_X)
#undef TSH_X
};

static const struct op_row *op_find(const char *name) {
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (strcmp(ops[i].name, name) == 0) return &ops[i];
  return NULL;
}

/* What the op table says of shapes and dtypes. */
static void write_op_facts(const struct op_row *op, FILE *out) {
  static const char *const takes[][2] = {
      {"F", "bool and integers are computed in f32"},
      {"I", "integers only"},
      {"IB", "bool and integers only"},
      {"FI", "floats and integers, not bool"},
      {"FIB", "any dtype"}};
  if (strcmp(op->class, "MAP") != 0) return;
  fputs("  element by element, shapes are broadcast", out);
  for (size_t i = 0; i < sizeof takes / sizeof *takes; i++)
    if (strcmp(op->takes, takes[i][0]) == 0) fprintf(out, "; %s", takes[i][1]);
  fputc('\n', out);
}

static int op_doc(const char *name, FILE *out) {
  const struct op_row *op = op_find(name);
  if (!op) return 0;
  fprintf(out, "%s, an op of the device table\n  %s\n", name, op->doc);
  write_op_facts(op, out);
  return 1;
}

/* ---- functions of C ------------------------------------------------------ */

static void write_options(const lt_function *f, FILE *out) {
  const char *at = f->options, *between = "{";
  if (!at || !*at) return;
  fputs("  options: ", out);
  while (*at) {
    int size = (int)strcspn(at, " ");
    fprintf(out, "%s%.*s=", between, size, at);
    between = ", ";
    at += size;
    at += strspn(at, " ");
  }
  fputs("}\n", out);
}

static void write_aliases(const char *name, FILE *out) {
  const char *lead = "  also called: ";
  const lt_function *f;
  for (size_t i = 0; (f = lt_function_at(i)) != NULL; i++) {
    if (!f->alias || strcmp(f->alias, name) != 0) continue;
    fprintf(out, "%s%s", lead, f->name);
    lead = ", ";
  }
  if (*lead == ',') fputc('\n', out);
}

static const char *after_first(const char *args) {
  args += strcspn(args, ",");
  return args + strspn(args, ", ");
}

static void write_function(const lt_function *f, FILE *out) {
  lt_paragraph p = {out, 0};
  const char *args = f->args ? f->args : "";
  int global = f->kind & LT_GLOBAL, method = f->kind & LT_METHOD;
  if (f->kind & LT_FIELD) fprintf(out, "x.%s", f->name);
  if (global) fprintf(out, "%s(%s)", f->name, args);
  if (method)
    fprintf(out, "%s%.*s:%s(%s)", global ? "   or " : "",
            (int)strcspn(args, ",["), *args ? args : "x", f->name,
            after_first(args));
  fputc('\n', out);
  lt_add_words(&p, f->doc ? f->doc : "");
  lt_end_paragraph(&p);
  if (op_find(f->name)) write_op_facts(op_find(f->name), out);
  write_options(f, out);
  write_aliases(f->name, out);
  if (lt_example(f->name)) fprintf(out, "  Example: %s\n", lt_example(f->name));
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds names once each, in their order. */
static void add_sorted(lt_paragraph *p, const char **name, size_t n) {
  qsort(name, n, sizeof *name, by_name);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || strcmp(name[i], name[i - 1]) != 0) lt_add_words(p, name[i]);
}

/* What stands behind a tensor and a dot. */
static void write_properties(FILE *out) {
  lt_paragraph p = {out, 0};
  const lt_function *f;
  lt_add_words(&p, "Properties:");
  for (size_t i = 0; (f = lt_function_at(i)) != NULL; i++)
    if (f->kind & LT_FIELD) lt_add_words(&p, f->name);
  lt_end_paragraph(&p);
}

/* What stands behind a tensor and a colon: functions of C, then those of the
 * library, whose names are no strings of their own. */
static void write_methods(FILE *out) {
  enum { MOST = 600, SIZE = 40 };
  const char *name[MOST], *word;
  char(*copy)[SIZE] = calloc(MOST, SIZE);
  lt_paragraph p = {out, 0};
  const lt_function *f, *real;
  size_t n = 0, length;
  int method;
  for (size_t i = 0; n < MOST && (f = lt_function_at(i)) != NULL; i++) {
    real = f->alias ? lt_function_find(f->alias) : f;
    if (real && real->kind & LT_METHOD) name[n++] = f->name;
  }
  for (size_t i = 0; copy && n < MOST; i++) {
    if (!(word = lt_library_name_at(i, &length, &method))) break;
    if (!method || length >= SIZE) continue;
    memcpy(copy[n], word, length);
    name[n] = copy[n];
    n++;
  }
  lt_add_words(&p, "Methods:");
  add_sorted(&p, name, n);
  lt_end_paragraph(&p);
  free(copy);
  write_properties(out);
}

static int function_doc(const char *name, FILE *out) {
  const lt_function *f = lt_function_find(name);
  if (!f || (!f->alias && !f->kind)) return 0;
  if (f->alias) {
    const lt_function *real = lt_function_find(f->alias);
    fprintf(out, "%s is %s\n", f->name, f->alias);
    if (real) f = real;
  }
  write_function(f, out);
  if (strcmp(f->name, "tensor") == 0) write_methods(out);
  return 1;
}

/* ---- the library --------------------------------------------------------- */

/* The lines of one comment block, joined by line ends. */
typedef struct {
  const char *at, *end; /* what is left of the file */
  char text[BLOCK];
} blocks;

/* The next block; 0 past the last. */
static int next_block(blocks *b) {
  size_t used = 0;
  while (b->at < b->end) {
    const char *stop = memchr(b->at, '\n', (size_t)(b->end - b->at));
    size_t size = (size_t)((stop ? stop : b->end) - b->at);
    int is = size > 4 && memcmp(b->at, "--- ", 4) == 0;
    if (is && used + size < sizeof b->text) {
      memcpy(b->text + used, b->at + 4, size - 4);
      used += size - 4;
      b->text[used++] = '\n';
    }
    if (!is && used) break;
    b->at += size + (stop != NULL);
  }
  b->text[used] = '\0';
  return used != 0;
}

/* "name(x, {y=1}), other: words": the size of what stands before the words. */
static size_t head_size(const char *text) {
  int depth = 0;
  for (const char *at = text; *at; at++) {
    if (strchr("({[", *at)) depth++;
    if (strchr(")}]", *at)) depth--;
    if (depth == 0 && *at == ':' && (at[1] == ' ' || at[1] == '\n'))
      return (size_t)(at - text);
  }
  return strcspn(text, "\n");
}

static int is_word(char c) { return c && strchr(WORD, c) != NULL; }

/* Does the head introduce this name? last: its last part is enough. */
static int introduces(const char *head, size_t size, const char *name,
                      int last) {
  size_t length = strlen(name);
  int depth = 0;
  for (size_t i = 0; i + length <= size; i++) {
    int part = i > 0 && strchr(".:", head[i - 1]) != NULL;
    int starts = i == 0 || (part ? last : !is_word(head[i - 1]));
    if (strchr("({[", head[i])) depth++;
    if (strchr(")}]", head[i])) depth--;
    if (depth == 0 && starts && strncmp(head + i, name, length) == 0 &&
        !is_word(head[i + length]) && head[i + length] != '.')
      return 1;
  }
  return 0;
}

static void write_block(const char *text, FILE *out) {
  lt_paragraph p = {out, 0};
  size_t size = head_size(text);
  const char *rest = text + size + (text[size] == ':'), *example;
  for (const char *at = text; at < text + size; at++)
    fputc(*at == '\n' ? ' ' : *at, out);
  fputc('\n', out);
  example = strstr(rest, "Example:");
  if (!example) example = rest + strlen(rest);
  while (rest < example) {
    char words[256];
    int n = (int)strcspn(rest, "\n");
    if (n > example - rest) n = (int)(example - rest);
    snprintf(words, sizeof words, "%.*s", n, rest);
    lt_add_words(&p, words);
    rest += n + (rest[n] == '\n');
  }
  lt_end_paragraph(&p);
  /* An example keeps its lines. */
  if (*example) fputs("  ", out);
  for (; *example; example++) {
    fputc(*example, out);
    if (*example == '\n' && example[1]) fputs("  ", out);
  }
}

static int library_doc(const char *name, int last, FILE *out) {
  const char *file, *text;
  size_t size;
  blocks b;
  for (size_t i = 0; lt_library_at(i, &file, &text, &size); i++) {
    b.at = text;
    b.end = text + size;
    while (next_block(&b)) {
      if (!introduces(b.text, head_size(b.text), name, last)) continue;
      write_block(b.text, out);
      return 1;
    }
  }
  return 0;
}

/* A module: the heads of all that begins with its name. */
static int module_doc(const char *name, FILE *out) {
  const char *file, *text;
  size_t size, length = strlen(name);
  int found = 0;
  blocks b;
  for (size_t i = 0; lt_library_at(i, &file, &text, &size); i++) {
    b.at = text;
    b.end = text + size;
    while (next_block(&b)) {
      if (strncmp(b.text, name, length) != 0 || b.text[length] != '.') continue;
      fprintf(out, "%.*s\n", (int)head_size(b.text), b.text);
      found = 1;
    }
  }
  return found;
}

/* ---- all of it -------------------------------------------------------------
 */

/* Appends {name, first sentence} to the list on top. */
static void add_entry(lua_State *L, const char *name, size_t n,
                      const char *text) {
  size_t size = 0;
  luaL_Buffer b;
  while (text[size] && !(text[size] == '.' && strchr(" \n", text[size + 1])))
    size++;
  lua_createtable(L, 2, 0);
  lua_pushlstring(L, name, n);
  lua_rawseti(L, -2, 1);
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < size; i++)
    luaL_addchar(&b, text[i] == '\n' ? ' ' : text[i]);
  luaL_pushresult(&b);
  lua_rawseti(L, -2, 2);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/* documented(): {name, first sentence} of all that :doc knows. */
int lt_documented(lua_State *L) {
  const lt_function *f;
  const char *file, *text;
  size_t size;
  blocks *b = lua_newuserdatauv(L, sizeof *b, 0);
  lua_newtable(L);
  for (size_t i = 0; (f = lt_function_at(i)) != NULL; i++)
    if (!f->alias && f->kind)
      add_entry(L, f->name, strlen(f->name), f->doc ? f->doc : "");
  for (size_t i = 0; lt_library_at(i, &file, &text, &size); i++) {
    b->at = text;
    b->end = text + size;
    while (next_block(b)) {
      size_t head = head_size(b->text);
      const char *words = b->text + head + (b->text[head] == ':');
      add_entry(L, b->text, strspn(b->text, WORD_PARTS),
                words + strspn(words, " \n"));
    }
  }
  return 1;
}

/* Names of others. */
static int synonym_doc(const char *name, FILE *out) {
  char hint[160];
  if (!lt_synonym(name, hint, sizeof hint)) return 0;
  fprintf(out, "%s: %s\n", name, hint);
  return 1;
}

/* commands(): {":name", help} of the session, if there is one. */
int lt_commands_list(lua_State *L) {
  const char *const *at = lt_session_of(lt_of(L))->commands;
  lua_newtable(L);
  for (; at && at[0]; at += 2) add_entry(L, at[0], strlen(at[0]), at[1]);
  return 1;
}

/* What is ours, or called otherwise here, or Lua's: the first that has it. A
 * word of the guide is more than a part of a longer name. */
static int name_doc(const char *name, int in_guide, FILE *out) {
  int found = function_doc(name, out) || library_doc(name, 0, out);
  found |= module_doc(name, out);
  if (found || (!in_guide && library_doc(name, 1, out))) return 1;
  found = synonym_doc(name, out);
  found |= lt_lua_doc(name, 0, out);
  return found || lt_lua_doc(name, 1, out);
}

/* Does a global have this name which nothing of ours and nothing of Lua has? */
static int is_users(lt *l, const char *name) {
  char *text = NULL;
  size_t size = 0;
  FILE *sheet;
  int known;
  if (!lt_is_defined(l, name) || !(sheet = open_memstream(&text, &size)))
    return 0;
  known = function_doc(name, sheet) || library_doc(name, 0, sheet) ||
          module_doc(name, sheet) || lt_lua_doc(name, 0, sheet);
  fclose(sheet);
  free(text);
  return !known;
}

int lt_doc(lt *l, const char *name, FILE *out) {
  const char *method = strchr(name, ':'); /* x:sum is sum */
  const char *topic = lt_topic_of(name);
  if (is_users(l, name)) return LT_ERROR;
  if (method && method[1]) name = method + 1;
  if (topic && strcmp(topic, name) == 0 && !lt_function_find(name))
    return lt_topic(name, out) ? LT_OK : LT_ERROR;
  if (!name_doc(name, topic != NULL, out))
    return lt_topic(name, out) || op_doc(name, out) ? LT_OK : LT_ERROR;
  if (topic) fprintf(out, "  More: :help %s\n", topic);
  return LT_OK;
}
