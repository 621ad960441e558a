/* args.c - what did the user ask for on the command line? One table of options
 * and one of words (shell.h) drive the parser and its guesses. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "shell.h"

typedef struct {
  int id;
  char letter;
  const char *word, *argument;
} option;

static const option options[] = {
#define SH_X(id, letter, word, argument, help)                                 \
  {SH_OPTION_##id, letter, word, argument},
    SH_OPTIONS(SH_X)
#undef SH_X
};
enum { NOPTIONS = sizeof options / sizeof *options };

static const char *const words[] = {
#define SH_X(id, arguments, help) #id,
    SH_WORDS(SH_X)
#undef SH_X
};
enum { NWORDS = sizeof words / sizeof *words };

/* ---- complaints and guesses -------------------------------------------------
 */

int sh_usage(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("tsh: ", stderr);
  vfprintf(stderr, format, args);
  va_end(args);
  fputs("\n  hint: tsh --help lists what it can do\n", stderr);
  return LT_USAGE;
}

static int word_index(const char *text) {
  for (int i = 0; i < NWORDS; i++)
    if (strcmp(words[i], text) == 0) return i;
  return -1;
}

const char *sh_word_near(const char *typed) {
  const char *names[NWORDS + 1];
  for (int i = 0; i < NWORDS; i++) names[i] = words[i];
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

/* "512M", "1.5G", "2GiB", "800MB": letters alone and with iB are powers of
 * 1024, those with B of 1000. 0: it is none. */
static double size_of(const char *text) {
  static const char letters[] = "KMGT";
  double unit = 1, step = 1024, n;
  const char *letter = NULL;
  char *end;
  if (*text < '0' || *text > '9' || strchr(text, 'x')) return 0;
  n = strtod(text, &end);
  if (*end) letter = strchr(letters, *end == 'k' ? 'K' : *end);
  if (letter) {
    end++;
    if (end[0] == 'i' && end[1] == 'B')
      end += 2;
    else if (*end == 'B')
      step = 1000, end++;
    for (const char *l = letters; l <= letter; l++) unit *= step;
  } else if (*end == 'B') {
    end++;
  }
  return *end ? 0 : n * unit;
}

static int set_memory(sh_args *a, const char *from, const char *text) {
  double bytes = size_of(text);
  if (!(bytes >= 1 && bytes < 9e18))
    return sh_usage("%s needs a size, 512M or 2G for example, not '%s'", from,
                    text);
  a->lt.memory = (unsigned long long)bytes;
  return LT_OK;
}

static int set_color(sh_args *a, const char *text) {
  static const char *const names[] = {"auto", "always", "never"};
  for (int i = 0; i < 3; i++)
    if (strcmp(names[i], text) == 0) {
      a->lt.color = i; /* LT_COLOR_AUTO ... */
      return LT_OK;
    }
  return sh_usage("--color needs auto, always or never, not '%s'", text);
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
             : id == SH_OPTION_verbose     ? &a->lt.verbose
             : id == SH_OPTION_json        ? &a->json
             : id == SH_OPTION_keep_going  ? &a->keep_going
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

static int set_ops(sh_args *a, const char *text) {
  char *end;
  errno = 0;
  a->lt.check = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || !a->lt.check)
    return sh_usage("--ops needs a whole number from 1, not '%s'", text);
  return LT_OK;
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
  case SH_OPTION_ops:
    return set_ops(a, text);
  case SH_OPTION_threads:
    return set_threads(a, "--threads", text);
  case SH_OPTION_mem_limit:
    return set_memory(a, "--mem-limit", text);
  case SH_OPTION_color:
    return set_color(a, text);
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
  return task != SH_WORD_run && task != SH_WORD_check && task != SH_WORD_help;
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
  if (a->task == SH_WORD_run || a->task == SH_WORD_check) {
    if (p->at == p->argc)
      return sh_usage("%s needs FILE, or - for stdin",
                      words[word < 0 ? 0 : word]);
    a->script = p->argv[p->at++];
    a->argc = p->argc - p->at;
    a->argv = p->argv + p->at;
    return LT_OK;
  }
  if (a->task == SH_WORD_help && p->at < p->argc) a->topic = p->argv[p->at++];
  a->argc = p->argc - p->at;
  a->argv = p->argv + p->at;
  return LT_OK;
}

/* Words that print no list have no JSON, and `plugin` needs another word. */
static int check_word(const sh_args *a) {
  int lists = a->task > SH_CODE && a->task != SH_WORD_run &&
              a->task != SH_WORD_plugin && a->task != SH_WORD_completions &&
              a->task != SH_WORD_help;
  if (a->json && !lists && !a->help && !a->version)
    return sh_usage("--json belongs to a word that prints a list, tsh --json "
                    "devices for example");
  if (a->lt.check && a->task != SH_WORD_check && !a->help && !a->version)
    return sh_usage("--ops is an option of tsh check FILE");
  if (a->task != SH_WORD_plugin || a->help) return LT_OK;
  if (a->argc == 0 || strcmp(a->argv[0], "test") != 0)
    return sh_usage("plugin needs: test FILE.so%s%s", a->argc ? ", not " : "",
                    a->argc ? a->argv[0] : "");
  if (a->argc == 1) return sh_usage("plugin test needs FILE.so");
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

/* NULL when it is empty. */
static const char *variable(const char *name) {
  const char *text = getenv(name);
  return text && *text ? text : NULL;
}

/* What no option has said. */
static int read_environment(sh_args *a) {
  const char *threads = variable("TSH_THREADS");
  const char *memory = variable("TSH_MEM_LIMIT");
  int rc = LT_OK;
  a->lt.log = variable("TSH_LOG");
  if (!a->lt.device) a->lt.device = variable("TSH_DEVICE");
  if (!a->init) a->init = variable("TSH_INIT");
  if (threads && !a->lt.threads) rc = set_threads(a, "TSH_THREADS", threads);
  if (rc == LT_OK && memory && !a->lt.memory)
    rc = set_memory(a, "TSH_MEM_LIMIT", memory);
  return rc;
}

int sh_args_parse(sh_args *a, int argc, char **argv) {
  parser p = {a, argc, 1, argv};
  int rc;
  memset(a, 0, sizeof *a);
  if ((rc = parse_options(&p)) != LT_OK) return rc;
  rc = p.at < argc ? parse_task(&p) : LT_OK;
  if (rc == LT_OK && !a->help && !a->version) rc = read_environment(a);
  if (rc == LT_OK) rc = check_word(a);
  if (a->task == SH_WORD_check && !a->lt.check) a->lt.check = SH_CHECK_OPS;
  return rc == LT_OK ? check_output(a) : rc;
}

void sh_args_free(sh_args *a) {
  free(a->step);
  a->step = NULL;
}
