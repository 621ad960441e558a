/* lt.h - all that the shell may call: a Lua state with tensors in it. The
 * shell sees neither Lua nor the planner. Texts go to FILE*; errors are
 * complete screens (WHAT, facts, place with caret, hint) ready to print. */
#ifndef LT_H
#define LT_H

#include <stdio.h>
#include <stddef.h>

typedef struct lt lt;

typedef struct {
  const char *device;      /* default device, or NULL: cpu */
  const char *plugin_path; /* or NULL */
  int no_plugins;
  unsigned threads; /* that compute at once; 0: as many as the machine has */
  unsigned long long memory; /* bytes of tensors on the cpu; 0: no limit */
  unsigned long long check;  /* lt_check_script only: ops at most; 0: no */
  int interactive;           /* chunk names in[1], in[2] ... */
  int quiet;                 /* no progress of loops and loads */
  int verbose;        /* a log on stderr, and the whole stack of errors */
  int color;          /* LT_COLOR_AUTO: as the terminal and environment say */
  const char *log;    /* where the log goes: a file, or "stderr"; or NULL */
  const char *editor; /* what edits lines, for tsh doctor; or NULL */
  /* Of a session, for :apropos: name, help, name, help ..., NULL; or NULL. */
  const char *const *commands;
} lt_options;

enum { LT_COLOR_AUTO, LT_COLOR_ALWAYS, LT_COLOR_NEVER };

/* What :bench and `tsh bench` take. X(word, letter, argument, kind, help):
 * letter 0: none; argument NULL: a flag; kind: of the argument, for Lua. */
/* clang-format off */
#define LT_BENCH_OPTIONS(X) \
  X("device",    0,   "A,B",    "list",   "each expression on each of these devices") \
  X("input",     0,   "x=EXPR", "many",   "with each of these values of x; may be repeated") \
  X("time",      0,   "S",      "number", "seconds of measuring for each row (2)") \
  X("warmup",    0,   "S",      "number", "seconds before that (0.5)") \
  X("async",     0,   NULL,     "flag",   "the time of recording only") \
  X("cold",      0,   NULL,     "flag",   "plans and programs are made anew in every sample") \
  X("extended",  'x', NULL,     "flag",   "also shortest, longest, samples, outliers, bytes, plans") \
  X("unit",      0,   "U",      "text",   "ns, us, ms or s for all rows") \
  X("save",      0,   "NAME",   "text",   "keep the result under a name") \
  X("vs",        0,   "NAME",   "text",   "compare with what was kept under a name") \
  X("fail-over", 0,   "P%",     "text",   "with --vs: an error when a row is slower by more") \
  X("json",      0,   "FILE",   "text",   "write the result as JSON; - is stdout, without the table")
/* clang-format on */

/* How a call ended; the values are the process exit codes. */
enum {
  LT_OK = 0,
  LT_ERROR = 1,      /* Lua or tensor error; text says which */
  LT_USAGE = 2,      /* the script cannot be opened */
  LT_NODEVICE = 3,   /* asked-for device or plugin not available */
  LT_NOMEM = 4,      /* out of memory not caught by the script */
  LT_INCOMPLETE = 5, /* lt_eval: the entry goes on on the next line */
  LT_INTERRUPTED = 130
};

/* Owned: lt_close. On failure *out is NULL and text (may be NULL) says why. */
int lt_open(const lt_options *options, lt **out, char *text, size_t size);
void lt_close(lt *l); /* takes NULL */

/* Runs a script: path or "-" for stdin; arg[0] = path, arg[1..] and `...` =
 * argv. A first line that begins with # is skipped. Errors are printed to
 * err. os.exit leaves the process. */
int lt_run(lt *l, const char *path, int argc, char **argv, FILE *err);
/* The same without computing anything, in a state that was opened for it: how
 * the script errs with shapes, dtypes and devices, and what it would cost. To
 * stdout; errors and notes to err. json: all to stdout. What the script prints
 * is shown only when the state is verbose, and not as JSON. LT_OK: no error was
 * found. */
int lt_check_script(lt *l, const char *path, int argc, char **argv, int json,
                    FILE *err);
/* Runs code; print: its values are printed to out as at the prompt. */
int lt_do(lt *l, const char *code, const char *chunk, int print, FILE *out,
          FILE *err);
/* One entry of a session: an expression, statements and then an expression, or
 * statements. Prints the values of the expression unless the entry ends in ';',
 * keeps `_` and out[n]. LT_INCOMPLETE when more lines are needed and final is
 * 0. The chunk is named in[n], n counts up. */
int lt_eval(lt *l, const char *entry, int final, FILE *out, FILE *err);
int lt_entry_number(const lt *l); /* number the next entry gets */
/* What the last lt_eval left: no values; those of an expression; those of a
 * return. A semicolon mutes them: they are not shown, nor in out[n]. */
enum { LT_GAVE_NONE, LT_GAVE_VALUES, LT_GAVE_MUTED, LT_GAVE_RETURN };
int lt_gave(const lt *l);
/* Where its expression began, in bytes: 0, or behind statements. */
size_t lt_last_at(const lt *l);
/* Is there a value of that name? Nothing is loaded to find out. */
int lt_is_defined(lt *l, const char *name);
/* Does the entry go on in the next line? Runs nothing. */
int lt_is_incomplete(lt *l, const char *entry);
/* Can all of it be run as one? Runs nothing. */
int lt_is_entry(lt *l, const char *text);

/* Every name that goes on from a word, as "softm", "nn.lin" or "x:so": each
 * gets the whole word, and whether it is a function. Names may come twice.
 * Calls nothing of the user's. */
typedef void (*lt_completed)(void *ud, const char *name, int function);
void lt_complete(lt *l, const char *word, lt_completed each, void *ud);

/* Async-signal-safe: asks running work, Lua or device, to stop. Sticky until
 * the stack has unwound to the caller of lt_run, lt_do or lt_eval. */
void lt_interrupt(lt *l);

/* The first value of the next lt_do, or that the script of the next lt_run
 * returns, is not printed but kept for the word "output". */
void lt_keep(lt *l);

/* Listings; return an LT code. */
int lt_devices(lt *l, FILE *out);
int lt_plugins(lt *l, FILE *out);
/* The values of the expression without limits. */
int lt_full(lt *l, const char *expr, FILE *out, FILE *err);
/* A command that is made of Lua, by name, with the rest of its line. */
int lt_command(lt *l, const char *name, const char *rest, FILE *err);
/* The same for a word of the command line, with the arguments behind it.
 * LT_USAGE: it does not take these. */
int lt_word(lt *l, const char *name, int argc, char **argv, FILE *err);
/* Help on a function, a method, a topic of the guide or a word that leads to
 * one; LT_ERROR when there is none. */
int lt_doc(lt *l, const char *name, FILE *out);
const char *lt_topic_name(size_t i); /* or NULL past the last */
int lt_is_topic(const char *word);   /* does a word lead to one? */
/* Lines of the terminal; 0: it is none. */
int lt_line_rows(FILE *out);
/* Is the time of an entry told: LT_TIMING_AUTO when it was long. */
enum { LT_TIMING_AUTO, LT_TIMING_ON, LT_TIMING_OFF };
int lt_timing(const lt *l);
int lt_color(const lt *l, FILE *out);  /* may escapes that colour be written? */
const char *lt_setting_name(size_t i); /* of :set, or NULL past the last */
const char *lt_device(lt *l);          /* the default device's name */
int lt_set_device(lt *l, const char *name, char *text, size_t size);
/* Writes lines; on a terminal, what is too long for it goes on below, behind
 * `hang` blanks, or two more than its own when hang is -1. */
void lt_fold(const char *text, int hang, FILE *out);
/* As it would be on that screen, to out. */
void lt_fold_for(const char *text, int hang, FILE *screen, FILE *out);
const char *lt_version(void); /* "tsh 0.1.0", "Lua 5.4.6", one line */

#endif
