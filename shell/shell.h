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
  X(input,       'I', "input",       "NAME=FILE", "first read a data file into the global NAME") \
  X(output,      'o', "output",      "FILE", "write the value of the last -p, or that a script returns; - is stdout") \
  X(format,      0,   "format",      "KIND", "of -o: npy, npz, safetensors, csv or json; without -o to stdout") \
  X(device,      'd', "device",      "NAME", "the default device, npu:0 for example") \
  X(quiet,       'q', "quiet",       NULL,   "no banner, no progress") \
  X(verbose,     'v', "verbose",     NULL,   "a log on stderr, and the whole stack of errors") \
  X(color,       0,   "color",       "WHEN", "auto (on terminals), always or never") \
  X(json,        0,   "json",        NULL,   "lists as JSON, of words that print lists") \
  X(no_plugins,  0,   "no-plugins",  NULL,   "only the device that is built in") \
  X(plugin_path, 0,   "plugin-path", "DIR",  "look for plugins in DIR first") \
  X(ops,         0,   "ops",         "N",    "of check: it stops after N ops (2000000)") \
  X(seed,        0,   "seed",        "N",    "where random numbers begin") \
  X(threads,     0,   "threads",     "N",    "how many compute at once; else one per processor") \
  X(mem_limit,   0,   "mem-limit",   "SIZE", "bytes of tensors on the cpu at most: 512M, 2G") \
  X(keep_going,  0,   "keep-going",  NULL,   "without a terminal: go on after errors; still exits 1") \
  X(interactive, 'i', NULL,          NULL,   "a session afterwards, with the globals") \
  X(init,        0,   "init",        "FILE", "read FILE before a session, not the user's init.lua") \
  X(no_init,     0,   "no-init",     NULL,   "read no init file") \
  X(no_history,  0,   "no-history",  NULL,   "read and keep no earlier entries") \
  X(help,        'h', "help",        NULL,   "print this and leave") \
  X(version,     'V', "version",     NULL,   "print the version and leave")

/* X(id, arguments, help): first words that are no scripts. */
#define SH_WORDS(X) \
  X(run,     "FILE|- [ARGS]", "run a script, - for standard input") \
  X(check,   "FILE|- [ARGS]", "run a script on shapes only: what is wrong, what it would cost") \
  X(devices, "[--json]",      "list the devices") \
  X(plugins, "[--json]",      "list every plugin file and what became of it") \
  X(ls,      "[--json] FILE...", "list the tensors in data files: names, dtypes, shapes") \
  X(ops,     "[--json]",      "list the ops that devices are asked for") \
  X(doctor,  "[--json]",      "versions, drivers, plugins, and what to do about them") \
  X(bench,   "FILE | -e EXPR", "how long expressions take; bench --help lists the options") \
  X(plugin,  "test FILE.so",  "does a plugin keep to the ABI? runs tsh-conform on it") \
  X(completions, "bash|zsh|fish|man", "print what a shell, or man, wants to read") \
  X(help,    "[TOPIC]",       "this, or help on a function, a command or a topic: language lists them")
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

enum { SH_CHECK_OPS = 2000000 }; /* that tsh check records at most */
enum { SH_NAME_BYTES = 200 };    /* of a NAME=FILE, at most */

typedef struct {
  int option; /* SH_OPTION_require, _input, _code or _print */
  const char *text;
} sh_step;

typedef struct {
  sh_task task;
  lt_options lt;
  int quiet, version, help, no_history, interactive, no_init, json, keep_going;
  const char *init;
  const char *seed, *topic;
  const char *output, *format; /* of -o, or NULL */
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
/* The options of :bench and of `tsh bench`, and what else that takes. */
void sh_bench_options(FILE *out);
void sh_bench_help(FILE *out);

/* `tsh help WORD`: 0 when it is no word. */
int sh_word_help(const char *word, FILE *out);

typedef struct sh_history sh_history;
typedef struct sh_done sh_done;
typedef struct sh_line sh_line;

/* What a command may look at and change. */
typedef struct {
  lt **l;
  const sh_args *args; /* of this process */
  sh_history *history; /* NULL off a terminal */
  sh_done *done;
  sh_line *lines;
  int interactive;
} sh_place;

/* ---- main.c -------------------------------------------------------------- */
void sh_version(FILE *out);
int sh_seed(lt *l, const char *number); /* where random numbers begin */

/* ---- repl.c, cmd.c ------------------------------------------------------ */
int sh_session(lt **l, const sh_args *a); /* an exit code */

/* What completion offers behind a command. */
enum { SH_NONE, SH_EXPR, SH_NAME, SH_PATH, SH_SETTING };

/* X(name, letter that always means it, kind of argument, arguments, help) */
/* clang-format off */
#define SH_CMDS(X) \
  X(help,    'h', SH_NAME, "[TOPIC]", "this list, or help on a command, a function or a topic: indexing, files ...") \
  X(doc,     0,   SH_NAME, "NAME",    "help on a function; ?NAME is the same") \
  X(apropos, 0,   SH_NONE, "WORD",    "functions, commands, settings and topics that mention the word") \
  X(type,    't', SH_EXPR, "EXPR",    "dtype, shape, device, bytes; runs nothing") \
  X(plan,    'p', SH_EXPR, "[--run --source --dot FILE] EXPR", "the kernels that would compute it") \
  X(full,    0,   SH_EXPR, "EXPR",    "its value without limits, page by page") \
  X(stats,   0,   SH_EXPR, "EXPR",    "what its elements are like: count, min, mean, max, std, nan; of a table each column") \
  X(bench,   'b', SH_EXPR, "[OPTIONS] EXPR, ...", "how long it takes, compared; :help bench lists the options") \
  X(time,    0,   SH_EXPR, "EXPR",    "one run: time, kernels, plans") \
  X(who,     'w', SH_NONE, "[PATTERN]", "the globals you have made") \
  X(mem,     0,   SH_NONE, "[trim|--all]", "memory of the devices, the largest tensors") \
  X(check,   0,   SH_PATH, "FILE [ARGS] | EXPR", "shapes, dtypes and devices of a script or a value; computes nothing") \
  X(load,    0,   SH_PATH, "FILE",    "run a script here") \
  X(run,     0,   SH_PATH, "FILE [ARGS]", "run a script by itself: this session stays as it is") \
  X(edit,    0,   SH_PATH, "[FILE|N]", "edit an entry, or a file, and run it") \
  X(paste,   0,   SH_NONE, "",        "lines until Ctrl-D or :end are one entry") \
  X(save,    0,   SH_PATH, "FILE [NAMES]", "the entries so far as a script, or tensors") \
  X(devices, 'd', SH_NONE, "",        "the devices, * marks the default") \
  X(device,  0,   SH_NONE, "[NAME]",  "the default device, or another one from now on") \
  X(plugins, 0,   SH_NONE, "[-v]",    "every plugin file and what became of it") \
  X(history, 0,   SH_NONE, "[N|/TEXT/|sync]", "earlier entries; sync: also of other sessions") \
  X(set,     0,   SH_SETTING, "[KEY [VALUE]]", "how values are printed; alone it lists all") \
  X(unset,   0,   SH_SETTING, "KEY",  "back to the default") \
  X(cd,      0,   SH_PATH, "[DIR]",   "go to another folder") \
  X(shell,   0,   SH_PATH, "CMD",     "run a command of the system; !CMD is the same") \
  X(clear,   0,   SH_NONE, "",        "clear the screen") \
  X(version, 0,   SH_NONE, "",        "of tsh and Lua") \
  X(reset,   0,   SH_NONE, "",        "forget all variables; entries are kept") \
  X(quit,    'q', SH_NONE, "[CODE]",  "leave; so does Ctrl-D")
/* clang-format on */

enum { SH_GO_ON = -1 };
/* Does a line begin like a command: with ':', '?' or '!'? */
int sh_is_command(const char *line);
/* Runs such a line. SH_GO_ON, or an exit code after :quit. *failed: the command
 * did not do what was asked. *entry: what is to be run next, owned, or NULL. */
int sh_command(const sh_place *place, const char *line, int *failed,
               char **entry);
int sh_help(lt *l, const char *topic, FILE *out, FILE *err); /* LT code */
/* The same without a word on what is not known: LT_ERROR. */
int sh_help_known(lt *l, const char *topic, FILE *out);
const char *const *sh_command_texts(void); /* for lt_options */
/* Completion in a line that begins with ':': names for the word that begins at
 * `start`; does a file's name belong there? */
void sh_command_complete(lt *l, const char *line, int start, const char *word,
                         lt_completed each, void *ud);
int sh_command_wants_file(const char *line, int start);

/* ---- outside.c: commands that reach out; LT codes ------------------------ */
int sh_cd(const char *folder); /* "": home */
int sh_shell(const char *command);
int sh_run_file(const sh_args *a, const char *rest); /* a file and arguments */
int sh_clear(void);
/* *entry: text that is to be run, owned; NULL: nothing is. */
int sh_paste(const sh_place *place, char **entry);
int sh_edit(const sh_place *place, const char *rest, char **entry);
/* Splits at blanks outside quotes. before: free places in front. */
char **sh_words(const char *text, int before, int *n);
void sh_words_free(char **word, int before); /* takes NULL */
/* A path that is all of text, without the quotes around it; owned, or NULL. */
char *sh_path(const char *text);

/* ---- child.c: other programs --------------------------------------------- */
/* Runs one to its end; argv ends with NULL. LT_ERROR, after a line on stderr,
 * when it ends with another status than 0. */
int sh_child(char *const *argv);
/* By the system's shell, for which the argument (or NULL) is $1. */
int sh_child_shell(const char *command, const char *argument);
const char *sh_own_path(void); /* of this program */
/* Becomes the conformance kit; returns only when there is none. */
int sh_plugin_test(int argc, char **argv);

/* ---- done.c: what was entered and succeeded ------------------------------ */
sh_done *sh_done_new(void);    /* owned; NULL: no memory */
void sh_done_free(sh_done *d); /* takes NULL */
/* An entry, what it gave (lt_gave) and its number. */
/* After an entry has run: what it gave is asked of l. */
void sh_done_add(sh_done *d, const lt *l, const char *entry, int number);
void sh_done_command(sh_done *d, const char *name, const char *rest);
int sh_done_save(const sh_done *d, const char *path); /* as a script */

/* ---- history.c ----------------------------------------------------------- */
/* on_disk: read from and written to $TSH_HISTORY (off: not), or the user's
 * state folder. NULL without memory, which all functions take. Owned. */
sh_history *sh_history_open(int on_disk);
void sh_history_close(sh_history *h);
/* Before the entry runs. Entries that begin with a blank, and repeats of the
 * last one, are not kept: 0. */
int sh_history_add(sh_history *h, const char *entry);
void sh_history_sync(sh_history *h); /* also what other sessions have added */
size_t sh_history_count(const sh_history *h);
const char *sh_history_at(const sh_history *h, size_t i); /* oldest first */

/* ---- line.c: where entries come from ------------------------------------ */
typedef enum {
  SH_LINE,
  SH_LINE_END,
  SH_LINE_CANCEL,
  SH_LINE_BAD
} sh_line_result;

/* Reads stdin; interactive: it is a terminal, prompts are shown. place is
 * borrowed. Owned. */
sh_line *sh_line_open(const sh_place *place, int interactive);
void sh_line_close(sh_line *s);   /* takes NULL */
const char *sh_line_editor(void); /* "readline 8.2", or NULL */
/* Whole entries come, of several lines; else one line at a time. */
int sh_line_edits(const sh_line *s);
/* Before an entry runs: it goes into the history of an interactive session. */
void sh_line_remember(sh_line *s, const char *entry);
/* *text is borrowed until the next call, without its newline. CANCEL: Ctrl-C.
 * After END on a terminal reading may go on. BAD: text says what is wrong. */
sh_line_result sh_line_read(sh_line *s, const char *prompt, const char **text);
/* The same for one line without a prompt and without editing. */
sh_line_result sh_line_plain(sh_line *s, const char **text);
/* A line copied from another session begins with its prompt. */
const char *sh_after_prompt(const char *line);

/* ---- pages.c: completions and the manual, from the tables above ---------- */
int sh_pages(const char *kind, FILE *out); /* LT_OK or LT_USAGE */

/* ---- signal.c ----------------------------------------------------------- */
void sh_signals_start(void);
/* Between the two SIGINT goes to l; with hard a second one leaves the process
 * at once, and one from before stops what runs now. Else it is only remembered,
 * until sh_signal_taken. */
void sh_run_begin(lt *l, int hard);
void sh_run_end(void);
/* A closed pipe is an error of the write, not our end, while this is on. */
void sh_signals_keep_pipe(int on);
int sh_signal_seen(void);
int sh_signal_taken(void); /* forgets it */

/* ---- near.c ------------------------------------------------------------- */
/* The name most like what was typed, or NULL when none is near. names ends
 * with NULL. */
const char *sh_near(const char *typed, const char *const *names);

#endif
