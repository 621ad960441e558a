/* repl.c - a session: entries are read, run and printed. Off a terminal it is
 * quiet and ends at the first error. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "shell.h"

typedef struct {
  sh_place place;
  int keep_going, failed; /* see --keep-going; something went wrong */
  char *entry;            /* the lines of the entry so far */
  size_t size, room;
  int blank; /* empty lines at its end */
  int code;  /* of the last thing that went wrong, or LT_OK */
} session;

/* ---- prompts ------------------------------------------------------------- */

static const char *prompt_text(const session *s, char *text, size_t size) {
  const char *device = lt_device(*s->place.l);
  if (s->size) return "..> ";
  if (strcmp(device, "cpu") == 0) return "tsh> ";
  snprintf(text, size, "tsh[%s]> ", device);
  return text;
}

const char *sh_after_prompt(const char *line) {
  const char *at = line, *end;
  for (;;) {
    if (strncmp(at, "tsh> ", 5) == 0)
      at += 5;
    else if (strncmp(at, "..> ", 4) == 0)
      at += 4;
    else if (strcmp(at, "tsh>") == 0 || strcmp(at, "..>") == 0)
      at += strlen(at);
    else if (strncmp(at, "tsh[", 4) == 0 && (end = strstr(at, "]> ")) != NULL)
      at = end + 3;
    else
      return at;
  }
}

static void banner(const session *s) {
  const char *version = lt_version(), *lua = strstr(version, ", ");
  int name = (int)(lua ? lua - version : (long)strlen(version));
  char line[300];
  snprintf(line, sizeof line, "%.*s - %s - %s - :help for help\n", name,
           version, lua ? lua + 2 : "", lt_device(*s->place.l));
  lt_fold(line, 2, stdout);
}

/* ---- entries ------------------------------------------------------------- */

static void clear_entry(session *s) {
  s->size = 0;
  s->blank = 0;
  if (s->entry) s->entry[0] = '\0';
}

static int add_line(session *s, const char *line) {
  size_t length = strlen(line), need = s->size + length + 2;
  if (need > s->room) {
    char *more = realloc(s->entry, 2 * need);
    if (!more) return 0;
    s->entry = more;
    s->room = 2 * need;
  }
  if (s->size) s->entry[s->size++] = '\n';
  memcpy(s->entry + s->size, line, length + 1);
  s->size += length;
  return 1;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void note_time(const session *s, double seconds) {
  int faint = lt_color(*s->place.l, stderr);
  int timing = lt_timing(*s->place.l);
  if (timing == LT_TIMING_OFF) return;
  if (timing == LT_TIMING_AUTO && (!s->place.interactive || seconds <= 0.5))
    return;
  fprintf(stderr, "%stook %.2f s%s\n", faint ? "\033[2m" : "", seconds,
          faint ? "\033[0m" : "");
}

static void run_entry(session *s, int final) {
  double begin;
  int rc, number = lt_entry_number(*s->place.l);
  if (s->place.interactive && !final && lt_is_incomplete(*s->place.l, s->entry))
    return;
  sh_line_remember(s->place.lines, s->entry);
  begin = now();
  sh_run_begin(*s->place.l, 0);
  rc = lt_eval(*s->place.l, s->entry, final, stdout, stderr);
  sh_run_end();
  if (rc == LT_INCOMPLETE) return;
  /* A write that Ctrl-C cut short is no lost output. */
  if (rc == LT_INTERRUPTED) clearerr(stdout);
  if (rc == LT_OK) sh_done_add(s->place.done, *s->place.l, s->entry, number);
  clear_entry(s);
  s->code = rc;
  fflush(stdout);
  if (rc != LT_INTERRUPTED) note_time(s, now() - begin);
}

/* What a command has left to be run, of any number of lines. */
static int take_entry(session *s, char *text) {
  size_t n = strlen(text);
  while (n && strchr(" \t\n", text[n - 1])) text[--n] = '\0';
  if (!n) return SH_GO_ON;
  if (!add_line(s, text)) return LT_NOMEM;
  run_entry(s, 1);
  return SH_GO_ON;
}

static int take_command(session *s, const char *line) {
  char *entry;
  int failed = 0, rc;
  sh_line_remember(s->place.lines, line);
  rc = sh_command(&s->place, line, &failed, &entry);
  if (failed) s->code = LT_ERROR;
  fflush(stdout);
  if (entry && rc == SH_GO_ON) rc = take_entry(s, entry);
  free(entry);
  return rc;
}

/* The command that help, exit and quit alone stand for, also called, where no
 * value has that name; or NULL. */
static const char *wish_of(const session *s, const char *line) {
  static const char *const wishes[][2] = {
      {"help", ":help"}, {"exit", ":quit"}, {"quit", ":quit"}};
  line += strspn(line, " \t");
  for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
    size_t n = strlen(wishes[i][0]);
    if (strncmp(line, wishes[i][0], n) != 0) continue;
    n += strncmp(line + n, "()", 2) == 0 ? 2 : 0;
    if (line[n + strspn(line + n, " \t;")]) continue;
    return lt_is_defined(*s->place.l, wishes[i][0]) ? NULL : wishes[i][1];
  }
  return NULL;
}

/* A line is followed by others of its entry; or perhaps by none, so that the
 * entry runs if it is complete; or it is the last one. */
enum { GOES_ON, MAY_END, IS_LAST };

/* What follows the line just read: SH_GO_ON or an exit code. */
static int take_line(session *s, const char *line, int end) {
  const char *wish;
  line = sh_after_prompt(line);
  s->code = LT_OK;
  if (!s->size && sh_is_command(line)) return take_command(s, line);
  if (strchr(line, '\033')) {
    fputs("error: an escape character: this build edits no lines, "
          "arrow keys do nothing here\n",
          stderr);
    s->code = LT_ERROR;
    return SH_GO_ON;
  }
  if (!s->size && (wish = wish_of(s, line))) return take_command(s, wish);
  if (!s->size && !line[strspn(line, " \t")]) return SH_GO_ON;
  s->blank = line[strspn(line, " \t")] ? 0 : s->blank + 1;
  if (!add_line(s, line)) return LT_NOMEM;
  /* Who is trapped in an entry that never ends presses Enter twice. */
  if (end != GOES_ON)
    run_entry(s, end == IS_LAST && (sh_line_edits(s->place.lines) ||
                                    (s->place.interactive && s->blank >= 2)));
  return SH_GO_ON;
}

/* Does the text of several lines hold several entries? A prompt begins one. */
static int is_several(const session *s, const char *text) {
  if (s->size) return 0;
  for (const char *at = text; (at = strchr(at, '\n')) != NULL;)
    if (strncmp(++at, "tsh", 3) == 0 && sh_after_prompt(at) != at) return 1;
  text = sh_after_prompt(text);
  return sh_is_command(text) || !lt_is_entry(*s->place.l, text);
}

/* What stands behind a prompt, which may be indented; or NULL. */
static const char *prompted(const char *line) {
  const char *at = line + strspn(line, " \t"), *after = sh_after_prompt(at);
  return after != at ? after : NULL;
}

/* What was read is a line, a whole entry of several, or a paste of entries: up
 * to the first that fails each is run, as if it had been typed. Of a session
 * that was copied, what was printed is left out. */
static int take_text(session *s, const char *text) {
  char *copy, *line, *next;
  const char *typed;
  int rc = SH_GO_ON, copied, several;
  if (!strchr(text, '\n')) return take_line(s, text, IS_LAST);
  if (!(copy = strdup(text))) return LT_NOMEM;
  copied = !s->size && prompted(text);
  several = copied || is_several(s, text);
  for (line = copy; line && rc == SH_GO_ON; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    typed = copied ? prompted(line) : line;
    if (!typed && next) continue;
    rc = take_line(s, typed ? typed : "",
                   !next     ? IS_LAST
                   : several ? MAY_END
                             : GOES_ON);
    if (next && s->code != LT_OK) {
      fputs("note: the lines that follow it are not run\n", stderr);
      break;
    }
  }
  free(copy);
  return rc;
}

/* The end of the input, or Ctrl-D: SH_GO_ON or an exit code. */
static int take_end(session *s) {
  if (!s->size) return LT_OK;
  run_entry(s, 1);
  clear_entry(s);
  return s->place.interactive ? SH_GO_ON : s->code;
}

static int step(session *s) {
  char text[160];
  const char *line;
  int rc = SH_GO_ON;
  switch (
      sh_line_read(s->place.lines, prompt_text(s, text, sizeof text), &line)) {
  case SH_LINE:
    rc = take_text(s, line);
    break;
  case SH_LINE_END:
    rc = take_end(s);
    break;
  case SH_LINE_BAD:
    fprintf(stderr, "error: %s\n", line);
    clear_entry(s);
    s->code = LT_ERROR;
    if (!s->place.interactive) rc = LT_ERROR; /* it is no text */
    break;
  case SH_LINE_CANCEL:
    clear_entry(s);
    if (!s->place.interactive) rc = LT_INTERRUPTED;
    break;
  }
  if (s->code == LT_OK || s->place.interactive) return rc;
  s->failed = 1;
  if (rc == SH_GO_ON && (!s->keep_going || s->code == LT_INTERRUPTED))
    return s->code;
  return rc;
}

/* The one that was named, or the user's file if there is one; owned. */
static char *init_path(const sh_args *a) {
  const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  char *path = NULL;
  int n = -1;
  if (a->no_init) return NULL;
  if (a->init) return strdup(a->init);
  if (config && *config == '/')
    n = asprintf(&path, "%s/tsh/init.lua", config);
  else if (home && *home == '/')
    n = asprintf(&path, "%s/.config/tsh/init.lua", home);
  if (n < 0) return NULL;
  if (access(path, F_OK) == 0) return path;
  free(path);
  return NULL;
}

/* What goes wrong in it is told, and the prompt comes all the same. Options and
 * the environment have the last word. */
static void read_init(lt *l, const sh_args *a) {
  char *path = init_path(a), text[1200];
  if (!path) return;
  sh_run_begin(l, 0);
  lt_command(l, "load", path, stderr);
  sh_run_end();
  free(path);
  if (a->lt.device) lt_set_device(l, a->lt.device, text, sizeof text);
  if (a->seed && a->nstep == 0) sh_seed(l, a->seed);
}

int sh_session(lt **l, const sh_args *a) {
  session s = {.place = {.l = l, .args = a}, .keep_going = a->keep_going};
  int rc = SH_GO_ON, terminal = isatty(STDIN_FILENO);
  s.place.interactive = terminal;
  if (terminal) s.place.history = sh_history_open(!a->no_history);
  s.place.done = sh_done_new();
  s.place.lines = sh_line_open(&s.place, terminal);
  if (!s.place.lines || !s.place.done) rc = LT_NOMEM;
  if (terminal && !a->quiet && isatty(STDOUT_FILENO)) banner(&s);
  if (terminal && rc == SH_GO_ON) read_init(*l, a);
  while (rc == SH_GO_ON) rc = step(&s);
  if (rc == LT_OK && s.failed) rc = LT_ERROR;
  sh_line_close(s.place.lines);
  sh_done_free(s.place.done);
  sh_history_close(s.place.history);
  free(s.entry);
  return rc;
}
