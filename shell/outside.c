/* outside.c - the commands that reach out of the session: folders, programs,
 * an editor, the screen, and text that comes without a prompt. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "shell.h"

/* ---- words --------------------------------------------------------------- */

char **sh_words(const char *text, int before, int *n) {
  size_t size = strlen(text);
  char **word = calloc((size_t)before + size / 2 + 2, sizeof *word);
  char *at = word ? malloc(size + 1) : NULL;
  *n = before;
  if (!at) {
    free(word);
    return NULL;
  }
  word[before] = at; /* owned by the first one, also when there is none */
  for (;;) {
    char quote = 0;
    text += strspn(text, " \t");
    if (!*text) break;
    word[(*n)++] = at;
    for (; *text && (quote || !strchr(" \t", *text)); text++) {
      if (quote ? *text == quote : *text == '"' || *text == '\'')
        quote = quote ? 0 : *text;
      else
        *at++ = *text;
    }
    *at++ = '\0';
  }
  return word;
}

void sh_words_free(char **word, int before) {
  if (!word) return;
  free(word[before]);
  free(word);
}

char *sh_path(const char *text) {
  size_t n = strlen(text);
  int quoted = n > 1 && (*text == '"' || *text == '\'') && text[n - 1] == *text;
  return quoted ? strndup(text + 1, n - 2) : strdup(text);
}

/* ---- folders and programs ------------------------------------------------ */

static int change_folder(const char *folder) {
  const char *home = getenv("HOME");
  char path[PATH_MAX];
  int n;
  if (!*folder || (*folder == '~' && (!folder[1] || folder[1] == '/'))) {
    if (!home || !*home) {
      fputs("error: :cd: HOME is not set\n", stderr);
      return LT_ERROR;
    }
    n = snprintf(path, sizeof path, "%s%s", home, *folder ? folder + 1 : "");
  } else {
    n = snprintf(path, sizeof path, "%s", folder);
  }
  if (n >= (int)sizeof path) errno = ENAMETOOLONG;
  if (n >= (int)sizeof path || chdir(path) != 0) {
    fprintf(stderr, "error: :cd: %.200s%s: %s\n", path,
            strlen(path) > 200 ? "..." : "", strerror(errno));
    return LT_ERROR;
  }
  if (getcwd(path, sizeof path)) puts(path);
  return LT_OK;
}

int sh_cd(const char *folder) {
  char *path = sh_path(folder);
  int rc = path ? change_folder(path) : LT_NOMEM;
  free(path);
  return rc;
}

int sh_shell(const char *command) {
  if (*command) return sh_child_shell(command, NULL);
  fputs("error: :shell needs a command, and so does !\n", stderr);
  return LT_USAGE;
}

enum { MOST_OPTIONS = 20 };

/* The options that this session was started with. */
static int own_options(const sh_args *a, char **out, char numbers[2][32]) {
  static const char *const colors[] = {"auto", "always", "never"};
  const char *word[MOST_OPTIONS];
  int n = 0;
  word[n++] = sh_own_path();
  if (a->lt.device) word[n++] = "--device", word[n++] = a->lt.device;
  if (a->lt.plugin_path)
    word[n++] = "--plugin-path", word[n++] = a->lt.plugin_path;
  if (a->seed) word[n++] = "--seed", word[n++] = a->seed;
  if (a->lt.no_plugins) word[n++] = "--no-plugins";
  if (a->lt.quiet) word[n++] = "--quiet";
  if (a->lt.verbose) word[n++] = "--verbose";
  word[n++] = "--color", word[n++] = colors[a->lt.color];
  if (a->lt.threads) {
    snprintf(numbers[0], sizeof numbers[0], "%u", a->lt.threads);
    word[n++] = "--threads", word[n++] = numbers[0];
  }
  if (a->lt.memory) {
    snprintf(numbers[1], sizeof numbers[1], "%llu", a->lt.memory);
    word[n++] = "--mem-limit", word[n++] = numbers[1];
  }
  word[n++] = "run";
  for (int i = 0; i < n; i++) out[i] = (char *)(uintptr_t)word[i];
  return n;
}

int sh_run_file(const sh_args *a, const char *rest) {
  char *option[MOST_OPTIONS], numbers[2][32], **argv;
  int n, before = own_options(a, option, numbers), rc = LT_USAGE;
  if (!(argv = sh_words(rest, before, &n))) return LT_NOMEM;
  memcpy(argv, option, (size_t)before * sizeof *argv);
  if (n > before)
    rc = sh_child(argv);
  else
    fputs("error: :run needs a file\n", stderr);
  sh_words_free(argv, before);
  return rc;
}

/* ---- the screen ---------------------------------------------------------- */

int sh_clear(void) {
  const char *term = getenv("TERM");
  if (isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0)
    fputs("\033[H\033[2J\033[3J", stdout);
  return LT_OK;
}

/* ---- text without a prompt ----------------------------------------------- */

int sh_paste(const sh_place *place, char **entry) {
  size_t size = 0;
  char *text = NULL;
  FILE *out = open_memstream(&text, &size);
  sh_line_result result;
  const char *line;
  if (!out) return LT_NOMEM;
  if (place->interactive)
    puts("Ctrl-D, or :end alone in a line, runs it; Ctrl-C drops it");
  while ((result = sh_line_plain(place->lines, &line)) == SH_LINE) {
    line = sh_after_prompt(line);
    if (strcmp(line, ":end") == 0) break;
    if (ftell(out) > 0) fputc('\n', out);
    fputs(line, out);
  }
  if (result == SH_LINE_BAD) fprintf(stderr, "error: %s\n", line);
  if (fclose(out) != 0) {
    free(text);
    return LT_NOMEM;
  }
  if (result == SH_LINE || result == SH_LINE_END)
    *entry = text;
  else
    free(text);
  return result == SH_LINE_BAD      ? LT_ERROR
         : result == SH_LINE_CANCEL ? LT_INTERRUPTED
                                    : LT_OK;
}

/* ---- the editor ---------------------------------------------------------- */

/* All of a file, owned; NULL with errno. */
static char *read_file(const char *path) {
  FILE *in = fopen(path, "re"), *out;
  char *text = NULL, block[4096];
  size_t size = 0, n;
  int failed, saved;
  if (!in) return NULL;
  out = open_memstream(&text, &size);
  while (out && (n = fread(block, 1, sizeof block, in)) > 0)
    fwrite(block, 1, n, out);
  saved = errno;
  failed = !out || ferror(in);
  if (out && fclose(out) != 0) failed = 1;
  if (failed) {
    free(text);
    text = NULL;
  }
  fclose(in);
  errno = saved;
  return text;
}

/* $VISUAL, $EDITOR or vi, which may have arguments of their own. */
static int run_editor(const char *path) {
  const char *editor = getenv("VISUAL");
  char *command;
  int rc;
  if (!editor || !*editor) editor = getenv("EDITOR");
  if (!editor || !*editor) editor = "vi";
  if (asprintf(&command, "%s \"$1\"", editor) < 0) return LT_NOMEM;
  rc = sh_child_shell(command, path);
  free(command);
  return rc;
}

static int edit_failed(const char *path) {
  fprintf(stderr, "error: :edit: %s: %s\n", path, strerror(errno));
  return LT_ERROR;
}

/* The text of a file after it was edited, owned; NULL: nothing is to be run.
 * A file that is not there yet is one without text. */
static char *edited(const char *path, int *rc) {
  char *before = read_file(path), *after = NULL;
  const char *why = NULL;
  if (!before && errno != ENOENT) {
    *rc = edit_failed(path);
    return NULL;
  }
  *rc = run_editor(path);
  if (*rc == LT_OK && !(after = read_file(path)) && (before || errno != ENOENT))
    *rc = edit_failed(path);
  if (*rc == LT_OK && (!after || strcmp(before ? before : "", after) == 0))
    why = "unchanged";
  else if (after && !after[strspn(after, " \t\n")])
    why = "empty";
  if (why) {
    printf("%s, nothing is run\n", why);
    free(after);
    after = NULL;
  }
  free(before);
  return after;
}

/* The text goes through a file of its own. */
static int edit_text(const char *text, char **entry) {
  const char *folder = getenv("TMPDIR");
  char *path;
  int rc = LT_ERROR, fd;
  if (asprintf(&path, "%s/tsh-XXXXXX.lua",
               folder && *folder ? folder : "/tmp") < 0)
    return LT_NOMEM;
  fd = mkstemps(path, 4);
  if (fd < 0 || dprintf(fd, "%s%s", text, *text ? "\n" : "") < 0)
    fprintf(stderr, "error: :edit: %s: %s\n", path, strerror(errno));
  else
    *entry = edited(path, &rc);
  if (fd >= 0) {
    close(fd);
    unlink(path);
  }
  free(path);
  return rc;
}

/* Entry number n from 1, or the last one that is no command; NULL: none. */
static const char *earlier(const sh_history *h, long n) {
  size_t count = sh_history_count(h);
  if (n > 0) return (size_t)n <= count ? sh_history_at(h, (size_t)n - 1) : NULL;
  while (count--)
    if (!strchr(":?!", *sh_history_at(h, count)))
      return sh_history_at(h, count);
  return "";
}

static int edit_file(const sh_place *place, const char *path) {
  char *text;
  int rc;
  if (!(text = edited(path, &rc))) return rc;
  free(text);
  sh_run_begin(*place->l, 0);
  rc = lt_command(*place->l, "load", path, stderr);
  sh_run_end();
  return rc;
}

int sh_edit(const sh_place *place, const char *rest, char **entry) {
  char *end, *path;
  long n = strtol(rest, &end, 10);
  const char *old;
  int rc;
  if (*end) {
    if (!(path = sh_path(rest))) return LT_NOMEM;
    rc = edit_file(place, path);
    free(path);
    return rc;
  }
  old = *rest && n <= 0 ? NULL : earlier(place->history, n);
  if (old) return edit_text(old, entry);
  fprintf(stderr,
          "error: :edit: there is no entry %s\n"
          "  hint: :history lists them\n",
          rest);
  return LT_ERROR;
}
