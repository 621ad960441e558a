/* session.h - what the files that talk to the user share: lt.c eval.c
 * report.c print.c show.c docs.c list.c log.c interrupt.c progress.c remarks.c
 * script.c set.c width.c. */
#ifndef LT_SESSION_H
#define LT_SESSION_H

#include "layout.h"
#include "priv.h"

/* What :set changes (set.c). */
typedef struct {
  layout_rules print;
  int timing; /* LAYOUT_AUTO, LAYOUT_ON, LAYOUT_OFF */
  int keep;   /* results in out[n] */
} lt_settings;

typedef struct {
  lt_settings set;
  int number;         /* of the entry that comes next */
  int local_noted;    /* the note on `local` was shown */
  int usage;          /* a word of the command line was called wrongly */
  int keep;           /* see lt_keep */
  int stdin_taken;    /* what runs comes from there */
  const char *editor; /* of lines, or NULL; borrowed */
  const char *const *commands; /* see lt_options */
  double begun;                /* when what runs was started, in seconds */
  double log_begun;            /* when the log was */
  FILE *log;                   /* or NULL; owned unless stderr */
  int gave;                    /* see lt_gave */
  size_t last;                 /* see lt_last_at */
  char called[512];            /* the callers of what raised the last error */
} lt_session;
#define LT_KEPT          "tsh.kept" /* its name in the registry */
#define lt_session_of(l) ((lt_session *)(l)->session)

/* ---- running (lt.c) ------------------------------------------------------ */
enum { LT_SCRIPT, LT_ENTRY }; /* how an error names its place */

/* Calls body(ud) with everything that a user's code needs around it: reports
 * an error to err, ends an interrupt. An LT code. */
int lt_protect(lt *l, lua_CFunction body, void *ud, int form, FILE *err);
int lt_code_of(lua_State *L, int status); /* of the error on top */
/* A script: the light userdata that lt_run_script, a body, takes. */
typedef struct {
  const char *path;
  int argc, usage; /* usage: it could not be opened */
  char **argv;
} lt_script;
int lt_run_script(lua_State *L);
double lt_seconds(const lt *l); /* since lt_protect was called */

/* The values from index first are what was asked for by lt_keep. */
int lt_keep_wanted(lt *l);
void lt_keep_value(lua_State *L, int first);

/* ---- script.c -------------------------------------------------------------
 */
/* Is the file something else than Lua text? Then text says what it is. */
int lt_script_problem(const char *path, char *text, size_t size);
int lt_script_check(lua_State *L); /* for lang/lib: script_problem(path) */

/* ---- errors (report.c) --------------------------------------------------- */
/* Message handler: notes the callers, leaves the error as it is. */
int lt_note_callers(lua_State *L);
/* The hint that it gets, if its own text has none. 0: no idea. */
int lt_hint(lt *l, const char *message, char *text, size_t size);
/* Prints the error at the top of the stack as a screen. Never raises. */
void lt_report(lt *l, int form, FILE *err);

/* ---- habits.c ------------------------------------------------------------ */
/* What a syntax error is in another language, and how it is written here.
 * chunk: as in lua_Debug.source. 0: no idea. Never raises. */
int lt_habit(lt *l, const char *chunk, int line, const char *message,
             char *text, size_t size);

/* ---- remarks.c ----------------------------------------------------------- */
/* Notes on an entry that has run. Never raises. */
void lt_remark(lt *l, const char *code, FILE *err);

/* ---- log.c --------------------------------------------------------------- */
void lt_log_open(lt *l, const lt_options *options);
void lt_log_start(lt *l); /* what the devices are */
void lt_log_close(lt *l); /* what was run; before the plan ends */
/* For -v: the stack as it is now, and writing it below an error's screen. */
void lt_note_stack(lua_State *L);
void lt_write_stack(lt *l, tsh_status code, FILE *err);

/* ---- guess.c ------------------------------------------------------------- */
/* What was meant when Lua says that a name is nil; source: the line, or "". 0:
 * no idea. Never raises. */
int lt_guess(lt *l, const char *message, const char *source, char *text,
             size_t size);
/* What a name that nobody defined may be; field: it stood behind a dot. Raises
 * when memory is short. */
int lt_guess_name(lt *l, const char *word, int field, char *text, size_t size);

/* ---- uses.c ---------------------------------------------------------------
 */
/* What a line that has failed is here, when it is right in Python; 0: no idea.
 * Uses no Lua. */
int lt_use(const char *message, const char *source, char *text, size_t size);

/* ---- text under construction (print.c) ----------------------------------- */
/* A sheet lies on the stack as a userdata: when an error jumps over the code
 * that writes it, the collector takes it. */
typedef struct {
  FILE *out;
  char *text;
  size_t size;
} lt_sheet;
lt_sheet *lt_sheet_new(lua_State *L);           /* pushed */
void lt_sheet_close(lua_State *L, lt_sheet *s); /* text, size are good now */

/* ---- help (docs.c topics.c lua_names.c) ---------------------------------- */
/* Words that are filled into lines. */
typedef struct {
  FILE *out;
  int column;
} lt_paragraph;
void lt_add_words(lt_paragraph *p, const char *text);
void lt_end_paragraph(lt_paragraph *p);
/* The topic of the guide that a word leads to, or NULL. */
const char *lt_topic_of(const char *word);
/* Writes that topic, or of the word "language" the list of all; else 0. */
int lt_topic(const char *word, FILE *out);
/* A function of Lua's; last: the part behind the dot is enough. 0: none. */
int lt_lua_doc(const char *name, int last, FILE *out);
/* For lang/lib: topics(), lua_names(), commands(). */
int lt_topics_list(lua_State *L);
int lt_lua_names(lua_State *L);
int lt_commands_list(lua_State *L);

/* ---- widths (width.c) ---------------------------------------------------- */
/* Columns of a terminal that a text takes; a tab counts as eight. */
int lt_columns(const char *text, size_t size);
/* Bytes of the whole characters in front that take at most width columns;
 * columns: what they do take, or NULL. */
size_t lt_fit(const char *text, size_t size, int width, int *columns);
/* The part of a line around its byte `at` that takes about width columns, with
 * "..." for the rest. Gives back where `at` is in text. */
size_t lt_excerpt(const char *line, size_t at, int width, char *text,
                  size_t size);
/* Blanks as wide as the text; its tabs stay tabs. */
void lt_write_pad(const char *text, size_t size, FILE *out);
/* Columns of the terminal; INT_MAX for what is none (print.c). */
int lt_line_width(FILE *out);

/* ---- what a tensor looks like (print.c) ---------------------------------- */
typedef struct {
  int width, rows; /* rows 0: no limit */
  int dim;         /* faint letters are wanted */
  int draws;       /* a terminal on which a line may be drawn anew */
  layout_rules rules;
} lt_screen;
/* The terminal's own, without rules. */
lt_screen lt_screen_of(const lt *l, FILE *out);
lt_screen lt_screen_for(lt *l, FILE *out); /* as the user has set it */
lt_screen lt_screen_all(lt *l, FILE *out); /* without limits: :full */
enum { LT_SHORT_MAX = 8 }; /* elements of a tensor that a table shows */

/* Computes the tensors in the list at index i, in one flush; but those that
 * are too large to be made for a few numbers. Raises. */
void lt_print_demand(lua_State *L, int list);
/* The tensor at index i, with header; short: in one line of `room` columns, or
 * the header only. */
void lt_print_tensor(lua_State *L, int i, const lt_screen *screen, FILE *out);
void lt_print_short(lua_State *L, int i, int room, FILE *out);

/* ---- what any value looks like (show.c) ---------------------------------- */
/* Writes the n values from index first as at the prompt. Raises. */
void lt_show(lua_State *L, int first, int n, FILE *out);
void lt_show_on(lua_State *L, int first, int n, const lt_screen *screen,
                FILE *out);
void lt_show_open(lua_State *L); /* registers print, tostring */

/* ---- chunks.c ------------------------------------------------------------ */
/* Does the path end as files of data do? */
int lt_is_data_name(const char *path);
void lt_chunks_open(lua_State *L); /* load, loadfile, dofile */

/* ---- set.c --------------------------------------------------------------- */
void lt_settings_init(lt_settings *s);
/* For lang/lib: settings(), set(name, value), unset(name). */
int lt_settings_list(lua_State *L);
int lt_settings_set(lua_State *L);
int lt_settings_unset(lua_State *L);

/* ---- interrupt.c --------------------------------------------------------- */
void lt_interrupt_begin(lt *l); /* the main thread runs */

#endif
