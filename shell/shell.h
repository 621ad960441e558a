/* shell.h - what the files of the shell share. The shell knows what the user
 * typed and what they see; tensors and Lua are behind lt.h. */
#ifndef SHELL_H
#define SHELL_H

#include <stdio.h>
#include "lt.h"

/* ---- args.c: the command line ------------------------------------------- */

/* X(id, letter, word, argument, help): one row per option. */
/* clang-format off */
#define SH_OPTIONS(X) \
  X(code,        'e', NULL,          "CODE", "run Lua code; may be repeated") \
  X(print,       'p', NULL,          "EXPR", "print the values of an expression; may be repeated") \
  X(require,     'l', NULL,          "MOD",  "first require a module, as the global MOD") \
  X(device,      'd', "device",      "NAME", "the default device, npu:0 for example") \
  X(quiet,       'q', "quiet",       NULL,   "no banner") \
  X(no_plugins,  0,   "no-plugins",  NULL,   "only the device that is built in") \
  X(plugin_path, 0,   "plugin-path", "DIR",  "look for plugins in DIR first") \
  X(seed,        0,   "seed",        "N",    "where random numbers begin") \
  X(threads,     0,   "threads",     "N",    "how many compute at once; else one per processor") \
  X(help,        'h', "help",        NULL,   "print this and leave") \
  X(version,     'V', "version",     NULL,   "print the version and leave")

/* X(id, arguments, help): first words that are no scripts. */
#define SH_WORDS(X) \
  X(run,     "FILE|- [ARGS]", "run a script, - for standard input") \
  X(devices, "",              "list the devices") \
  X(plugins, "",              "list every plugin file and what became of it") \
  X(help,    "[TOPIC]",       "this, or help on a function or command")
/* clang-format on */

enum {
#define SH_X(id, ...) SH_OPTION_##id,
  SH_OPTIONS(SH_X)
#undef SH_X
};

typedef enum {
  SH_SESSION = 0,
  SH_CODE, /* only -e and -p */
#define SH_X(id, ...) SH_WORD_##id,
  SH_WORDS(SH_X)
#undef SH_X
} sh_task;

typedef struct {
  int option; /* SH_OPTION_require, _code or _print */
  const char *text;
} sh_step;

typedef struct {
  sh_task task;
  lt_options lt;
  int quiet, version, help;
  const char *seed, *topic;
  const char *script;
  int bare; /* the script was named without `run` */
  int argc; /* of the script */
  char **argv;
  sh_step *step; /* owned: sh_args_free */
  int nstep;
} sh_args;

/* 0, or LT_USAGE after two lines on stderr. */
int sh_args_parse(sh_args *a, int argc, char **argv);
void sh_args_free(sh_args *a);
int sh_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sh_args_help(FILE *out);
const char *sh_word_near(const char *typed);

/* ---- repl.c, cmd.c ------------------------------------------------------ */
int sh_session(lt *l, int quiet); /* an exit code */

enum { SH_GO_ON = -1 };
/* Runs a line that begins with ':' or '?'. SH_GO_ON, or an exit code after
 * :quit. *failed: the command did not do what was asked. */
int sh_command(lt *l, const char *line, int *failed);
int sh_help(lt *l, const char *topic, FILE *out, FILE *err); /* LT code */

/* ---- line.c: where entries come from ------------------------------------ */
typedef struct sh_line sh_line;
typedef enum {
  SH_LINE,
  SH_LINE_END,
  SH_LINE_CANCEL,
  SH_LINE_BAD
} sh_line_result;

/* Reads stdin; interactive: it is a terminal, prompts are shown. Owned. */
sh_line *sh_line_open(int interactive);
void sh_line_close(sh_line *s); /* takes NULL */
/* *text is borrowed until the next call, without its newline. CANCEL: Ctrl-C.
 * After END on a terminal reading may go on. BAD: text says what is wrong. */
sh_line_result sh_line_read(sh_line *s, const char *prompt, const char **text);

/* ---- signal.c ----------------------------------------------------------- */
void sh_signals_start(void);
/* Between the two SIGINT goes to l; with hard a second one leaves the process
 * at once, and one from before stops what runs now. Else it is only remembered,
 * until sh_signal_taken. */
void sh_run_begin(lt *l, int hard);
void sh_run_end(void);
int sh_signal_seen(void);
int sh_signal_taken(void); /* forgets it */

/* ---- near.c ------------------------------------------------------------- */
/* The name most like what was typed, or NULL when none is near. names ends
 * with NULL. */
const char *sh_near(const char *typed, const char *const *names);

#endif
