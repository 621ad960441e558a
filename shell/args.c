/* args.c - what did the user ask for on the command line? One table of options
 * and one of words (shell.h) drive the parser, the help and its guesses. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "shell.h"

typedef struct {
  int id;
  char letter;
  const char *word, *argument, *help;
} option;

static const option options[] = {
#define SH_X(id, letter, word, argument, help)                                 \
  {SH_OPTION_##id, letter, word, argument, help},
    SH_OPTIONS(SH_X)
#undef SH_X
};
enum { NOPTIONS = sizeof options / sizeof *options };

static const struct {
  const char *name, *arguments, *help;
} words[] = {
#define SH_X(id, arguments, help) {#id, arguments, help},
    SH_WORDS(SH_X)
#undef SH_X
};
enum { NWORDS = sizeof words / sizeof *words };

/* ---- help and complaints ------------------------------------------------- */

int sh_usage(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("tsh: ", stderr);
  vfprintf(stderr, format, args);
  va_end(args);
  fputs("\n  hint: tsh --help lists what it can do\n", stderr);
  return LT_USAGE;
}

void sh_args_help(FILE *out) {
  fputs("usage: tsh [OPTIONS]                       a session\n"
        "       tsh [OPTIONS] [run] FILE [ARGS]     run a script\n"
        "       tsh [OPTIONS] -e CODE | -p EXPR     run or print\n\n",
        out);
  for (int i = 0; i < NWORDS; i++)
    fprintf(out, "  %-11s %-17s  %s\n", words[i].name, words[i].arguments,
            words[i].help);
  fputc('\n', out);
  for (int i = 0; i < NOPTIONS; i++) {
    const option *o = &options[i];
    char text[40], letter[4] = "  ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c", o->letter);
    snprintf(text, sizeof text, "%s%s%s%s%s%s", letter,
             o->letter && o->word ? ", " : (o->letter ? "" : "  "),
             o->word ? "--" : "", o->word ? o->word : "",
             o->argument ? " " : "", o->argument ? o->argument : "");
    fprintf(out, "  %-22s  %s\n", text, o->help);
  }
  fputs("  --                      what follows is no option\n\n"
        "environment: TSH_DEVICE, TSH_THREADS,\n"
        "             TSH_PLUGIN_PATH (folders with ':' between)\n"
        "exit codes:  0 good, 1 error, 2 usage, 3 no such device,\n"
        "             4 out of memory, 130 interrupted\n",
        out);
}

void sh_bench_options(FILE *out) {
  static const struct {
    const char *word;
    char letter;
    const char *argument, *help;
  } rows[] = {
#define SH_X(word, letter, argument, kind, help) {word, letter, argument, help},
      LT_BENCH_OPTIONS(SH_X)
#undef SH_X
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[40], letter[5] = "";
    if (rows[i].letter)
      snprintf(letter, sizeof letter, "-%c, ", rows[i].letter);
    snprintf(text, sizeof text, "%s--%s %s", letter, rows[i].word,
             rows[i].argument ? rows[i].argument : "");
    fprintf(out, "    %-16s %s\n", text, rows[i].help);
  }
}

void sh_bench_help(FILE *out) {
  fputs("usage: tsh [OPTIONS] bench [OPTIONS] FILE | -e EXPR ...\n\n"
        "  FILE is a script of Lua, - standard input. It defines globals, and\n"
        "  ends with return {\"softmax(x)\", \"exp(x)\"}: expressions, or a "
        "table\n"
        "  as tsh.bench takes it. -e may be repeated.\n\n",
        out);
  sh_bench_options(out);
  fputs("\n"
        "  95 % is the interval of the median. With --vs the change has one, "
        "too;\n"
        "  regressed and improved mean that no change is outside of it. Both\n"
        "  have 1 % for the noise between two runs of a program.\n"
        "  exit codes: 1 when a row regressed by more than --fail-over says\n"
        "  Example: tsh -e 'x = rand(1000)' bench --vs main --fail-over 10% "
        "-e 'softmax(x)'\n",
        out);
}

const char *sh_word_near(const char *typed) {
  const char *names[NWORDS + 1];
  for (int i = 0; i < NWORDS; i++) names[i] = words[i].name;
  names[NWORDS] = NULL;
  return sh_near(typed, names);
}

static int unknown_option(const char *text, const char *word, size_t length) {
  const char *names[NOPTIONS + 1], *near;
  char typed[40];
  int n = 0;
  for (int i = 0; i < NOPTIONS; i++)
    if (options[i].word) names[n++] = options[i].word;
  names[n] = NULL;
  snprintf(typed, sizeof typed, "%.*s", (int)length, word);
  near = length > 1 ? sh_near(typed, names) : NULL;
  if (near)
    return sh_usage("unknown option '%s' - did you mean --%s?", text, near);
  return sh_usage("unknown option '%s'", text);
}

/* ---- parsing ------------------------------------------------------------- */

typedef struct {
  sh_args *a;
  int argc, at; /* the next argument */
  char **argv;
} parser;

static int add_step(sh_args *a, int id, const char *text) {
  sh_step *more = realloc(a->step, (size_t)(a->nstep + 1) * sizeof *more);
  if (!more) return LT_NOMEM;
  a->step = more;
  a->step[a->nstep++] = (sh_step){id, text};
  return LT_OK;
}

enum { MOST_THREADS = 256 };

/* from: where the user wrote it. */
static int set_threads(sh_args *a, const char *from, const char *text) {
  char *end;
  unsigned long n = strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || n < 1 || n > MOST_THREADS)
    return sh_usage("%s needs a number from 1 to %d, not '%s'", from,
                    MOST_THREADS, text);
  a->lt.threads = (unsigned)n;
  return LT_OK;
}

/* NAME=FILE with a name that Lua may have. */
static int is_assignment(const char *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  size_t n = strspn(text, letters);
  return n && n < SH_NAME_BYTES && text[n] == '=' && text[n + 1] &&
         !(*text >= '0' && *text <= '9');
}

static int set_seed(sh_args *a, const char *text) {
  errno = 0;
  if (!*text || text[strspn(text, "0123456789")] ||
      (strtoll(text, NULL, 10), errno))
    return sh_usage("--seed needs a whole number below 2^63, not '%s'", text);
  a->seed = text;
  return LT_OK;
}

/* Options that keep a word, or are one bit; 0: it is none of these. */
static int keep(sh_args *a, int id, const char *text) {
  const char **word = id == SH_OPTION_output        ? &a->output
                      : id == SH_OPTION_format      ? &a->format
                      : id == SH_OPTION_device      ? &a->lt.device
                      : id == SH_OPTION_plugin_path ? &a->lt.plugin_path
                      : id == SH_OPTION_init        ? &a->init
                                                    : NULL;
  int *bit = id == SH_OPTION_quiet         ? &a->quiet
             : id == SH_OPTION_no_plugins  ? &a->lt.no_plugins
             : id == SH_OPTION_interactive ? &a->interactive
             : id == SH_OPTION_no_init     ? &a->no_init
             : id == SH_OPTION_no_history  ? &a->no_history
             : id == SH_OPTION_help        ? &a->help
             : id == SH_OPTION_version     ? &a->version
                                           : NULL;
  if (word) *word = text;
  if (bit) *bit = 1;
  a->lt.quiet = a->quiet;
  return word || bit;
}

static int apply(sh_args *a, int id, const char *text) {
  if (keep(a, id, text)) return LT_OK;
  switch (id) {
  case SH_OPTION_code:
  case SH_OPTION_print:
    if (a->task == SH_SESSION) a->task = SH_CODE;
    return add_step(a, id, text);
  case SH_OPTION_require:
    return add_step(a, id, text);
  case SH_OPTION_input:
    if (!is_assignment(text))
      return sh_usage("-I needs NAME=FILE, x=data.npy for example, not '%s'",
                      text);
    return add_step(a, id, text);
  case SH_OPTION_seed:
    return set_seed(a, text);
  case SH_OPTION_threads:
    return set_threads(a, "--threads", text);
  }
  return LT_OK;
}

/* Its argument is the rest of the same word, or the next one. */
static int with_argument(parser *p, const option *o, const char *rest) {
  if (!rest && p->at < p->argc) rest = p->argv[p->at++];
  if (rest) return apply(p->a, o->id, rest);
  if (o->word) return sh_usage("--%s needs %s", o->word, o->argument);
  return sh_usage("-%c needs %s", o->letter, o->argument);
}

static int parse_word(parser *p, const char *text) {
  const char *word = text + 2, *value = strchr(word, '=');
  size_t length = value ? (size_t)(value - word) : strlen(word);
  for (int i = 0; i < NOPTIONS; i++) {
    const option *o = &options[i];
    if (!o->word || strlen(o->word) != length ||
        strncmp(o->word, word, length) != 0)
      continue;
    if (o->argument) return with_argument(p, o, value ? value + 1 : NULL);
    if (value) return sh_usage("--%s takes no value", o->word);
    return apply(p->a, o->id, NULL);
  }
  return unknown_option(text, word, length);
}

static int parse_letters(parser *p, const char *text) {
  for (const char *c = text + 1; *c; c++) {
    const option *o = NULL;
    int rc;
    for (int i = 0; i < NOPTIONS; i++)
      if (options[i].letter == *c) o = &options[i];
    if (!o) return unknown_option(text, text + 1, strlen(text + 1));
    if (o->argument) return with_argument(p, o, c[1] ? c + 1 : NULL);
    if ((rc = apply(p->a, o->id, NULL)) != LT_OK) return rc;
  }
  return LT_OK;
}

static int word_index(const char *text) {
  for (int i = 0; i < NWORDS; i++)
    if (strcmp(words[i].name, text) == 0) return i;
  return -1;
}

static int parse_options(parser *p) {
  while (p->at < p->argc) {
    const char *text = p->argv[p->at];
    int rc;
    if (text[0] != '-' || text[1] == '\0') break; /* a lone - is stdin */
    p->at++;
    if (strcmp(text, "--") == 0) break;
    rc = text[1] == '-' ? parse_word(p, text) : parse_letters(p, text);
    if (rc != LT_OK) return rc;
  }
  return LT_OK;
}

/* Words that are made of Lua look at all that follows them themselves. */
static int word_takes_options(sh_task task) {
  return task != SH_WORD_run && task != SH_WORD_help;
}

static int rest_of_word(parser *p) {
  sh_args *a = p->a;
  a->argc = p->argc - p->at;
  a->argv = p->argv + p->at;
  if (a->argc &&
      (strcmp(a->argv[0], "--help") == 0 || strcmp(a->argv[0], "-h") == 0))
    a->help = 1;
  return LT_OK;
}

static int parse_task(parser *p) {
  sh_args *a = p->a;
  const char *text = p->argv[p->at];
  int word = strcmp(p->argv[p->at - 1], "--") == 0 ? -1 : word_index(text);
  int rc;
  if (word < 0) {
    a->task = SH_WORD_run;
    a->bare = 1;
  } else {
    a->task = (sh_task)(SH_CODE + 1 + word);
    p->at++;
    if (word_takes_options(a->task)) return rest_of_word(p);
    if ((rc = parse_options(p)) != LT_OK || a->help) return rc;
  }
  if (a->task == SH_WORD_run) {
    if (p->at == p->argc) return sh_usage("run needs FILE, or - for stdin");
    a->script = p->argv[p->at++];
    a->argc = p->argc - p->at;
    a->argv = p->argv + p->at;
    return LT_OK;
  }
  if (a->task == SH_WORD_help && p->at < p->argc) a->topic = p->argv[p->at++];
  a->argc = p->argc - p->at;
  a->argv = p->argv + p->at;
  if (a->task == SH_WORD_help && p->at < p->argc)
    return sh_usage("%s: what is '%s' for?", text, p->argv[p->at]);
  return LT_OK;
}

/* -o needs a value to write. */
static int check_output(sh_args *a) {
  if (!a->output && !a->format) return LT_OK;
  if (!a->output) a->output = "-";
  if (a->task == SH_WORD_run || a->help || a->version) return LT_OK;
  for (int i = 0; i < a->nstep && a->task == SH_CODE; i++)
    if (a->step[i].option == SH_OPTION_print) return LT_OK;
  return sh_usage("%s needs a value: -p EXPR, or a script that returns one",
                  strcmp(a->output, "-") == 0 ? "--format" : "-o");
}

int sh_args_parse(sh_args *a, int argc, char **argv) {
  parser p = {a, argc, 1, argv};
  const char *threads = getenv("TSH_THREADS");
  int rc;
  memset(a, 0, sizeof *a);
  a->lt.device = getenv("TSH_DEVICE");
  if (a->lt.device && !*a->lt.device) a->lt.device = NULL;
  if ((rc = parse_options(&p)) != LT_OK) return rc;
  if (threads && *threads && !a->lt.threads &&
      (rc = set_threads(a, "TSH_THREADS", threads)) != LT_OK)
    return rc;
  rc = p.at < argc ? parse_task(&p) : LT_OK;
  return rc == LT_OK ? check_output(a) : rc;
}

void sh_args_free(sh_args *a) {
  free(a->step);
  a->step = NULL;
}
