/* done.c - what a session has done so far, and :save, which writes it as a
 * script that does the same. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "shell.h"

typedef struct {
  char *text; /* owned */
  int gave;   /* LT_GAVE_ */
  int number;
  size_t last; /* where its expression begins */
} deed;

struct sh_done {
  deed *at;
  size_t n, room;
};

static const char mark[] = "-- entries of a tsh session";

/* ---- the list ------------------------------------------------------------ */

sh_done *sh_done_new(void) { return calloc(1, sizeof(sh_done)); }

static void clear(sh_done *d) {
  while (d->n) free(d->at[--d->n].text);
}

void sh_done_free(sh_done *d) {
  if (!d) return;
  clear(d);
  free(d->at);
  free(d);
}

static void add(sh_done *d, char *text, int gave, int number, size_t last) {
  if (text && d->n == d->room) {
    size_t room = d->room ? 2 * d->room : 64;
    deed *more = realloc(d->at, room * sizeof *more);
    if (!more) {
      free(text);
      return;
    }
    d->at = more;
    d->room = room;
  }
  if (text) d->at[d->n++] = (deed){text, gave, number, last};
}

void sh_done_add(sh_done *d, const lt *l, const char *entry, int number) {
  add(d, strdup(entry), lt_gave(l), number, lt_last_at(l));
}

/* A Lua string: bytes that mean something are written as \ddd. */
static void quoted(const char *text, size_t size, FILE *out) {
  fputc('"', out);
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c < ' ' || c == '"' || c == '\\')
      fprintf(out, "\\%03d", c);
    else
      fputc(c, out);
  }
  fputc('"', out);
}

/* The commands that change what later entries do, as Lua. */
void sh_done_command(sh_done *d, const char *name, const char *rest) {
  static const struct {
    const char *name, *call;
  } twins[] = {{"load", "dofile("},
               {"device", "tsh.device("},
               {"set", "tsh.set("},
               {"unset", "tsh.set("}};
  char *text = NULL;
  size_t size = 0, n = strlen(rest), first = strcspn(rest, " \t");
  FILE *out;
  if (strcmp(name, "reset") == 0) clear(d);
  for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
    if (strcmp(twins[i].name, name) != 0 || !*rest) continue;
    if (strcmp(name, "set") == 0 && !rest[first]) return; /* it only shows */
    if (!(out = open_memstream(&text, &size))) return;
    fputs(twins[i].call, out);
    if (strcmp(name, "set") == 0) {
      quoted(rest, first, out);
      fputs(", ", out);
      rest += first + strspn(rest + first, " \t");
      n = strlen(rest);
    } else if (n > 1 && strchr("\"'", rest[0]) && rest[n - 1] == rest[0]) {
      rest++;
      n -= 2;
    }
    quoted(rest, n, out);
    fputc(')', out);
    if (fclose(out) == 0)
      add(d, text, LT_GAVE_NONE, 0, 0);
    else
      free(text);
    return;
  }
}

/* ---- as a script --------------------------------------------------------- */

static int is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *find_word(const char *text, const char *word) {
  size_t n = strlen(word);
  const char *at = text;
  for (; (at = strstr(at, word)) != NULL; at++)
    if ((at == text || (!is_letter(at[-1]) && at[-1] != '.')) &&
        !is_letter(at[n]))
      return at;
  return NULL;
}

static int has_word(const char *text, const char *word) {
  return find_word(text, word) != NULL;
}

/* Do entries look at what earlier ones have left in `_` and `out`? */
static int looks_back(const sh_done *d) {
  for (size_t i = 0; i < d->n; i++)
    if (has_word(d->at[i].text, "_") || has_word(d->at[i].text, "out"))
      return 1;
  return 0;
}

/* Its names and labels must not reach the entries that follow, nor its return
 * end them; and a '(' that begins it must call nothing of the line before. */
static void write_statements(const char *text, FILE *out) {
  const char *leaves = find_word(text, "return");
  const char *function = find_word(text, "function");
  const char *first = text + strspn(text, " \t\n");
  if (leaves && (!function || leaves < function))
    fprintf(out, ";(function(...)\n%s\nend)()\n", text);
  else if (has_word(text, "local") || strstr(text, "::"))
    fprintf(out, "do\n%s\nend\n", text);
  else if (*first == '(' || (*first == '-' && strchr(first, '(')))
    fprintf(out, ";%s\n", text);
  else
    fprintf(out, "%s\n", text);
}

/* What the entry gives, as an expression. */
static void write_expression(const deed *e, FILE *out) {
  size_t n = strlen(e->text);
  while (n && (isspace((unsigned char)e->text[n - 1]) || e->text[n - 1] == ';'))
    n--;
  if (e->gave == LT_GAVE_RETURN)
    fprintf(out, "(function(...)\n%.*s\nend)()", (int)n, e->text);
  else if (strstr(e->text, "--")) /* a ';' may stand before the comment */
    fprintf(out, "(function(...)\nreturn %.*s\nend)()", (int)n, e->text);
  else
    fprintf(out, "%.*s", (int)n, e->text);
}

static void write_values(const deed *e, int keep, FILE *out) {
  if (e->gave == LT_GAVE_MUTED)
    fputs("do local _ = ", out);
  else if (keep)
    fprintf(out, "shown(%d, ", e->number);
  else
    fputs("show(", out);
  write_expression(e, out);
  fputs(e->gave == LT_GAVE_MUTED ? " end\n" : ")\n", out);
}

/* Statements, and an expression that may use their names. */
static void write_both(const deed *e, int keep, FILE *out) {
  const char *last = e->text + e->last;
  deed only = {(char *)(uintptr_t)(last + strspn(last, " \t\n")), e->gave,
               e->number, 0};
  char *before = strndup(e->text, e->last - 1);
  if (before) {
    int scope = has_word(before, "local") || strstr(before, "::");
    const char *first = before + strspn(before, " \t\n");
    fprintf(out, "%s%s%s\n", scope ? "do\n" : "",
            *first == '(' || *first == '-' ? ";" : "", before);
    write_values(&only, keep, out);
    if (scope) fputs("end\n", out);
  }
  free(before);
}

static void write_script(const sh_done *d, FILE *out) {
  int keep = looks_back(d);
  char day[40];
  time_t now = time(NULL);
  struct tm t;
  strftime(day, sizeof day, "%Y-%m-%d %H:%M", localtime_r(&now, &t));
  fprintf(out, "%s, %s; `tsh run` runs them\n", mark, day);
  if (keep)
    fputs("out = {}\n"
          "local function shown(n, ...) -- as the prompt does\n"
          "  _, out[n] = (...), (...)\n"
          "  show(...)\n"
          "end\n",
          out);
  fputc('\n', out);
  for (size_t i = 0; i < d->n; i++)
    if (d->at[i].gave == LT_GAVE_NONE)
      write_statements(d->at[i].text, out);
    else if (d->at[i].last)
      write_both(&d->at[i], keep, out);
    else
      write_values(&d->at[i], keep, out);
}

/* A file that somebody else wrote stays. */
static int may_write(const char *path) {
  char line[sizeof mark] = "";
  FILE *f = fopen(path, "re");
  int ours;
  if (!f) return 1;
  ours = (fread(line, 1, sizeof mark - 1, f) == sizeof mark - 1 &&
          strcmp(line, mark) == 0) ||
         (!*line && feof(f));
  fclose(f);
  if (!ours)
    fprintf(stderr,
            "error: :save: %s is there, and was not written by :save\n"
            "  hint: another name, or remove it first\n",
            path);
  return ours;
}

/* Names that promise tensors. */
static int is_data(const char *path) {
  static const char *const endings[] = {".npy", ".npz", ".safetensors", ".csv",
                                        ".json"};
  size_t n = strlen(path);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t size = strlen(endings[i]);
    if (n > size && strcmp(path + n - size, endings[i]) == 0) return 1;
  }
  return 0;
}

/* A file that cannot be written to its end leaves the earlier one. */
static int write_file(const sh_done *d, const char *path) {
  char *beside;
  FILE *out = NULL;
  int fd, saved, ok;
  if (asprintf(&beside, "%s.%ld~", path, (long)getpid()) < 0) return 0;
  fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd >= 0) out = fdopen(fd, "w");
  if (out) write_script(d, out);
  ok = out && !ferror(out);
  if (out && fclose(out) != 0) ok = 0;
  ok = ok && rename(beside, path) == 0;
  saved = errno;
  if (fd >= 0 && !ok) unlink(beside);
  free(beside);
  errno = saved;
  return ok;
}

int sh_done_save(const sh_done *d, const char *path) {
  if (is_data(path)) {
    fprintf(stderr,
            "error: :save: %s is for tensors, and none is named\n"
            "  hint: :save %s NAMES; :who lists them\n",
            path, path);
    return LT_USAGE;
  }
  if (d->n == 0) {
    fputs("error: :save: no entry has succeeded yet\n", stderr);
    return LT_ERROR;
  }
  if (!may_write(path)) return LT_ERROR;
  if (!write_file(d, path)) {
    fprintf(stderr, "error: :save: %s: %s\n", path, strerror(errno));
    return LT_ERROR;
  }
  printf("%zu %s in %s\n", d->n, d->n == 1 ? "entry" : "entries", path);
  return LT_OK;
}
