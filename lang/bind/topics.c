/* topics.c - the guide, docs/LANGUAGE.md, as help: which words lead to which
 * of its sections, and a section without its marks. */
#include <string.h>
#include "session.h"
#include "guide.inc"

/* A topic's name, how the heading of its section begins, the words that lead
 * there too. The order is that of the guide. */
static const struct topic {
  const char *name, *heading, *words;
} topics[] = {
    {"counting", "Counting",
     "count axis axes dim dims position positions label labels one-based "
     "zero-based off-by-one inclusive"},
    {"indexing", "Indexing",
     "index indexes indices slice slices slicing range ranges mask masks "
     "masking newaxis ellipsis row rows column columns element elements "
     "subset select assign assignment mutate set shape T iterate iteration"},
    {"operators", "Operators",
     "operator broadcast broadcasting compare comparing comparison comparisons "
     "equality arithmetic elementwise + - * / // % ^ == ~= < <= > >= .. & | ~ "
     "<< >>"},
    {"calls", "Calls",
     "call calling option options argument arguments keyword keywords kwargs "
     "method methods item scalar scalars"},
    {"dtypes", "dtypes",
     "dtype type types promotion promote cast casting float floats integer "
     "integers int bool half overflow rounding"},
    {"devices", "Devices", "device gpu gpus cuda npu accelerator backend"},
    {"gradients", "Gradients",
     "gradient grad autograd autodiff backward backprop train training "
     "parameter parameters weight weights network networks model models layer "
     "layers "
     "optimizer optimizers"},
    {"laziness", "Nothing is computed",
     "lazy eager evaluation evaluate record recording pending fusion fuse "
     "fused fusing graph planner kernels"},
    {"printing", "Printing",
     "print display output precision digits format formatting"},
    {"files", "Files",
     "file csv tsv npy npz safetensors json jsonl idx read write load save "
     "loading saving dataset datasets header pickle pandas batches"},
    {"sessions", "Sessions",
     "session history prompt semicolon mute _ out exit ctrl-c interrupt "
     "status local global"},
    {"lua", "Lua in short",
     "for loop loops looping while if else elseif then end do repeat until "
     "break continue goto function functions return lambda nil none null true "
     "false and or not string strings table tables list lists dict dicts "
     "comment comments import require module modules try except pcall python "
     "statement statements syntax"},
};
enum { TOPICS = sizeof topics / sizeof *topics };

/* ---- finding ------------------------------------------------------------- */

static const char *guide(void) { return (const char *)embedded[0].bytes; }

/* The line after this one. */
static const char *line_after(const char *line) {
  line += strcspn(line, "\n");
  return line + (*line == '\n');
}

/* "## 2. Indexing": where its words begin, or NULL. */
static const char *heading_of(const char *line) {
  if (strncmp(line, "## ", 3) != 0) return NULL;
  line += 3;
  return line + strspn(line, "0123456789. ");
}

/* The next heading from here on, or the end. */
static const char *next_section(const char *line) {
  while (*line && !heading_of(line)) line = line_after(line);
  return line;
}

/* The heading of the topic's section, or the end. */
static const char *section_of(const struct topic *t) {
  const char *at = next_section(guide());
  while (*at && strncmp(heading_of(at), t->heading, strlen(t->heading)) != 0)
    at = next_section(line_after(at));
  return at;
}

static int same_word(const char *a, const char *b, size_t n) {
  return strncasecmp(a, b, n) == 0 && !b[n];
}

static const struct topic *find(const char *word) {
  for (size_t i = 0; i < TOPICS; i++)
    if (same_word(topics[i].name, word, strlen(topics[i].name)))
      return &topics[i];
  for (size_t i = 0; i < TOPICS; i++)
    for (const char *at = topics[i].words; *at; at += strspn(at, " ")) {
      size_t n = strcspn(at, " ");
      if (same_word(at, word, n)) return &topics[i];
      at += n;
    }
  return NULL;
}

static int is_all(const char *word) {
  return same_word("language", word, 8) || same_word("topics", word, 6) ||
         same_word("guide", word, 5);
}

const char *lt_topic_name(size_t i) {
  return i < TOPICS ? topics[i].name : i == TOPICS ? "language" : NULL;
}

const char *lt_topic_of(const char *word) {
  const struct topic *t = find(word);
  return t ? t->name : NULL;
}

int lt_is_topic(const char *word) { return find(word) || is_all(word); }

/* ---- text without its marks ---------------------------------------------- */

/* Copies n bytes: no backquotes, and "\|" is a bar. */
static void copy_plain(const char *text, size_t n, char *to, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < n && used + 1 < size; i++)
    if (text[i] != '`' && !(text[i] == '\\' && i + 1 < n && text[i + 1] == '|'))
      to[used++] = text[i];
  to[used] = '\0';
}

enum { CELLS = 4, CELL = 200 };
typedef struct {
  int n;
  char cell[CELLS][CELL];
} row;

/* "| a | b |" */
static void split_row(const char *line, row *r) {
  r->n = 0;
  line += strspn(line, "| ");
  while (*line && *line != '\n' && r->n < CELLS) {
    size_t n = 0, end;
    while (line[n] && line[n] != '\n' &&
           (line[n] != '|' || (n && line[n - 1] == '\\')))
      n++;
    for (end = n; end && line[end - 1] == ' ';) end--;
    copy_plain(line, end, r->cell[r->n++], CELL);
    line += n + (line[n] == '|');
    line += strspn(line, " ");
  }
}

static int columns_of(const char *text) {
  return lt_columns(text, strlen(text));
}

/* What stands under "example" names a line of the code below: in front, it is
 * found again, and the rule may be long. */
static void write_row(const row *r, const int *width, int marked, FILE *out) {
  if (marked && r->n == 2) {
    fprintf(out, "  %-3s %s\n", *r->cell[1] == '-' ? "" : r->cell[1],
            r->cell[0]);
    return;
  }
  fputs("  ", out);
  for (int c = 0; c < r->n; c++)
    fprintf(out, "%s%*s", r->cell[c],
            c + 1 < r->n ? width[c] - columns_of(r->cell[c]) + 2 : 0, "");
  fputc('\n', out);
}

/* A table; gives back the line behind it. */
static const char *write_table(const char *line, FILE *out) {
  int width[CELLS] = {0}, marked, first = 1;
  const char *at;
  row r;
  for (at = line; *at == '|'; at = line_after(at)) {
    split_row(at, &r);
    for (int c = 0; c < r.n && at[1] != '-'; c++)
      if (columns_of(r.cell[c]) > width[c]) width[c] = columns_of(r.cell[c]);
  }
  split_row(line, &r);
  marked = r.n == 2 && strcmp(r.cell[1], "example") == 0;
  for (at = line; *at == '|'; at = line_after(at), first = 0) {
    if (at[1] == '-' || (first && marked)) continue;
    split_row(at, &r);
    write_row(&r, width, marked, out);
  }
  return at;
}

/* The lines between two fences, indented; gives back the line behind. */
static const char *write_code(const char *line, FILE *out) {
  for (line = line_after(line); *line && strncmp(line, "```", 3) != 0;) {
    int n = (int)strcspn(line, "\n");
    fprintf(out, "%s%.*s\n", n ? "    " : "", n, line);
    line = line_after(line);
  }
  return line_after(line);
}

static const char *write_paragraph(const char *line, FILE *out) {
  lt_paragraph p = {out, 0};
  while (*line && *line != '\n' && *line != '|' && *line != '#' &&
         strncmp(line, "```", 3) != 0) {
    char text[CELL];
    copy_plain(line, strcspn(line, "\n"), text, sizeof text);
    lt_add_words(&p, text);
    line = line_after(line);
  }
  lt_end_paragraph(&p);
  return line;
}

static void write_lines(const char *at, const char *end, FILE *out) {
  const char *before = NULL; /* blank lines at the end are left out */
  while (at < end) {
    if (*at == '\n') {
      before = at++;
      continue;
    }
    if (before) fputc('\n', out);
    before = NULL;
    if (*at == '|')
      at = write_table(at, out);
    else if (strncmp(at, "```", 3) == 0)
      at = write_code(at, out);
    else if (*at == '#')
      at = line_after(at);
    else
      at = write_paragraph(at, out);
  }
}

static void write_section(const struct topic *t, FILE *out) {
  const char *at = section_of(t), *words = *at ? heading_of(at) : "";
  fprintf(out, "%.*s\n", (int)strcspn(words, "\n"), words);
  write_lines(line_after(at), next_section(line_after(at)), out);
}

static void write_all(FILE *out) {
  const char *begin = line_after(guide());
  write_lines(begin + strspn(begin, "\n"), next_section(begin), out);
  fputs("\nIts topics, for :help and tsh help:\n", out);
  for (size_t i = 0; i < TOPICS; i++) {
    const char *at = section_of(&topics[i]), *words = *at ? heading_of(at) : "";
    fprintf(out, "  %-11s %.*s\n", topics[i].name, (int)strcspn(words, "\n"),
            words);
  }
}

int lt_topic(const char *word, FILE *out) {
  const struct topic *t = find(word);
  if (!t && !is_all(word)) return 0;
  if (t)
    write_section(t, out);
  else
    write_all(out);
  return 1;
}

/* topics(): {":help NAME", heading, words}. */
int lt_topics_list(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < TOPICS; i++) {
    const char *at = section_of(&topics[i]), *words = *at ? heading_of(at) : "";
    lua_createtable(L, 3, 0);
    lua_pushfstring(L, ":help %s", topics[i].name);
    lua_rawseti(L, -2, 1);
    lua_pushlstring(L, words, strcspn(words, "\n"));
    lua_rawseti(L, -2, 2);
    lua_pushfstring(L, "%s %s", topics[i].name, topics[i].words);
    lua_rawseti(L, -2, 3);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
