/* main.c - from the command line to an exit code (the LT_ codes of lt.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "shell.h"

/* Runs also when a script calls os.exit. A script's output that was lost is an
 * error, whatever else the script did. */
static void close_stdout(void) {
  int lost = ferror(stdout);
  errno = 0;
  if (fflush(stdout) != 0) lost = 1;
  if (!lost) return;
  fprintf(stderr, "error: stdout could not be written%s%s\n", errno ? ": " : "",
          errno ? strerror(errno) : "");
  _exit(LT_ERROR);
}

/* Where the caller closed one of the three, a file that is opened would take
 * its number, and get what is printed. What stands there instead refuses what
 * a closed one refuses. */
static void fill_standard_files(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0)
      open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* A Lua string of any text: bytes that mean something are written as \ddd. */
static void write_quoted(const char *text, FILE *out) {
  fputc('"', out);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < ' ' || c == '"' || c == '\\')
      fprintf(out, "\\%03d", c);
    else
      fputc(c, out);
  }
  fputc('"', out);
}

/* Runs a line of Lua in which %s stands for text, as a string. */
static int run_line(lt *l, const char *line, const char *text) {
  char *code = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&code, &size);
  int rc = LT_NOMEM;
  if (!out) return rc;
  for (; *line; line++) {
    if (line[0] == '%' && line[1] == 's') {
      write_quoted(text, out);
      line++;
    } else {
      fputc(*line, out);
    }
  }
  if (fclose(out) == 0) {
    sh_run_begin(l, 1);
    rc = lt_do(l, code, "=tsh", 0, stdout, stderr);
    sh_run_end();
  }
  free(code);
  return rc;
}

int sh_seed(lt *l, const char *number) {
  return run_line(l, "seed(math.tointeger(%s))", number);
}

/* One of the words that only we call. */
static int run_own_word(lt *l, const char *name, const char *first,
                        const char *second) {
  char *argv[] = {(char *)(uintptr_t)first, (char *)(uintptr_t)second};
  int rc;
  sh_run_begin(l, 1);
  rc = lt_word(l, name, 2, argv, stderr);
  sh_run_end();
  return rc;
}

static int read_input(lt *l, const char *text) {
  char name[SH_NAME_BYTES];
  const char *is = strchr(text, '=');
  snprintf(name, sizeof name, "%.*s", (int)(is - text), text);
  return run_own_word(l, "input", name, is + 1);
}

/* -o: "prepare" before anything runs, "output" at the end. */
static int output(lt *l, const sh_args *a, const char *what) {
  if (!a->output) return LT_OK;
  return run_own_word(l, what, a->output, a->format ? a->format : "");
}

/* Is the value of this step what -o wants? */
static int is_output(const sh_args *a, int i) {
  if (!a->output || a->task != SH_CODE) return 0;
  for (int k = i + 1; k < a->nstep; k++)
    if (a->step[k].option == SH_OPTION_print) return 0;
  return a->step[i].option == SH_OPTION_print;
}

static int run_step(lt *l, const sh_step *step) {
  int rc, print = step->option == SH_OPTION_print;
  if (step->option == SH_OPTION_input) return read_input(l, step->text);
  if (step->option == SH_OPTION_require)
    return run_line(l, "_G[%s] = require(%s)", step->text);
  sh_run_begin(l, 1);
  rc = lt_do(l, step->text, print ? "=-p" : "=-e", print, stdout, stderr);
  sh_run_end();
  return rc;
}

/* What finalizers print when the state is closed would follow the JSON. */
static void end_stdout(void) {
  int fd;
  close_stdout();
  if ((fd = open("/dev/null", O_WRONLY)) < 0) return;
  dup2(fd, STDOUT_FILENO);
  close(fd);
}

static int check_script(lt *l, const sh_args *a) {
  int rc;
  sh_run_begin(l, 1);
  rc = lt_check_script(l, a->script, a->argc, a->argv, a->json, stderr);
  sh_run_end();
  if (a->json || !a->lt.verbose) end_stdout();
  return rc;
}

static int run_script(lt *l, const sh_args *a) {
  int rc;
  if (a->bare && access(a->script, F_OK) != 0 && strcmp(a->script, "-") != 0) {
    const char *near = sh_word_near(a->script);
    if (strpbrk(a->script, "/."))
      return sh_usage("no such file: %s", a->script);
    return sh_usage("no script and no command is called '%s'%s%s%s", a->script,
                    near ? " - did you mean " : "", near ? near : "",
                    near ? "?" : "");
  }
  sh_run_begin(l, 1);
  rc = lt_run(l, a->script, a->argc, a->argv, stderr);
  sh_run_end();
  return rc;
}

static const char *const word_names[] = {
#define SH_X(id, ...) [SH_WORD_##id] = #id,
    SH_WORDS(SH_X)
#undef SH_X
};

static int run_word(lt *l, const sh_args *a) {
  int rc;
  char **argv = calloc((size_t)a->argc + 1, sizeof *argv);
  if (!argv) return LT_NOMEM;
  if (a->json) /* of bench it names a file */
    argv[0] =
        (char *)(uintptr_t)(a->task == SH_WORD_bench ? "--json=-" : "--json");
  memcpy(argv + a->json, a->argv, (size_t)a->argc * sizeof *argv);
  sh_run_begin(l, 1);
  rc = lt_word(l, word_names[a->task], a->argc + a->json, argv, stderr);
  sh_run_end();
  free(argv);
  return rc;
}

/* A word, and what else has that name; or several, about which there may be
 * something. */
static int help_on(lt *l, const sh_args *a) {
  size_t size = strlen(a->topic) + 1;
  char *topic;
  int rc = LT_OK;
  for (int i = 0; i < a->argc; i++) size += strlen(a->argv[i]) + 1;
  if (!(topic = malloc(size))) return LT_NOMEM;
  strcpy(topic, a->topic);
  for (int i = 0; i < a->argc; i++) strcat(strcat(topic, " "), a->argv[i]);
  if (sh_word_help(topic, stdout))
    sh_help_known(l, topic, stdout);
  else
    rc = sh_help(l, topic, stdout, stderr);
  free(topic);
  return rc;
}

/* Modules and files come first, wherever they stand. */
static int run_steps(lt *l, const sh_args *a) {
  int rc = LT_OK;
  for (int own = 0; own < 2; own++)
    for (int i = 0; i < a->nstep && rc == LT_OK; i++) {
      int option = a->step[i].option;
      if (own != (option != SH_OPTION_input && option != SH_OPTION_require))
        continue;
      if (is_output(a, i)) lt_keep(l);
      rc = run_step(l, &a->step[i]);
    }
  return rc;
}

static int perform(lt **pl, const sh_args *a) {
  lt *l = *pl;
  int rc = output(l, a, "prepare");
  if (rc == LT_OK && a->seed) rc = sh_seed(l, a->seed);
  if (rc == LT_OK) rc = run_steps(l, a);
  if (rc == LT_OK && a->task == SH_CODE) rc = output(l, a, "output");
  if (rc != LT_OK) return rc;
  switch (a->task) {
  case SH_CODE:
    return a->interactive ? sh_session(pl, a) : LT_OK;
  case SH_WORD_run:
    if (a->output) lt_keep(l);
    rc = run_script(l, a);
    if (rc == LT_OK) rc = output(l, a, "output");
    return a->interactive && rc != LT_USAGE ? sh_session(pl, a) : rc;
  case SH_WORD_check:
    return check_script(l, a);
  case SH_WORD_completions:
    return sh_pages(a->argc == 1 ? a->argv[0] : "", stdout);
  case SH_WORD_help:
    return help_on(l, a);
  case SH_SESSION:
    return sh_session(pl, a);
  default:
    return run_word(l, a);
  }
}

/* What the licence of readline asks of a program that is linked with it. */
void sh_version(FILE *out) {
  fprintf(out, "%s\n", lt_version());
  if (sh_line_editor())
    fputs("this binary is linked with GNU readline and is distributed under "
          "GPL-3.0-or-later\n",
          out);
}

int main(int argc, char **argv) {
  sh_args a;
  lt *l = NULL;
  char text[1200];
  int rc;
  fill_standard_files();
  rc = sh_args_parse(&a, argc, argv);
  atexit(close_stdout);
  if (rc != LT_OK) goto out;
  if (a.version) sh_version(stdout);
  if (a.help && a.task > SH_CODE && a.task != SH_WORD_help)
    sh_word_help(word_names[a.task], stdout);
  else if (a.help || (a.task == SH_WORD_help && !a.topic))
    sh_args_help(stdout);
  if (a.version || a.help || (a.task == SH_WORD_help && !a.topic)) goto out;
  if (a.task == SH_WORD_plugin) {
    rc = sh_plugin_test(a.argc - 1, a.argv + 1);
    goto out;
  }
  a.lt.editor = sh_line_editor();
  a.lt.commands = sh_command_texts();
  sh_signals_start();
  rc = lt_open(&a.lt, &l, text, sizeof text);
  if (rc != LT_OK) fprintf(stderr, "error: %s\n", text);
  if (rc == LT_OK) rc = perform(&l, &a);
out:
  lt_close(l);
  sh_args_free(&a);
  return rc;
}
