/* edit.c - entries that are edited: readline in callback mode. An entry of
 * several lines is one buffer, Enter runs it when it is complete. The only file
 * that knows readline. */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <unistd.h>
#include <readline/history.h>
#include <readline/readline.h>
#include "line.h"

/* Readline calls functions without an argument of ours: it reads one line at a
 * time, for this reader. */
static sh_line *reader;
static int done;      /* the handler has the line */
static char *entered; /* malloc'd by readline; NULL at the end of input */

/* ---- Enter, Tab, Up and Down --------------------------------------------- */
/* Two empty lines at the end run what is there, complete or not. */
static int ends_in_empty_lines(const char *text) {
  size_t n = strlen(text);
  int lines = 0;
  while (n && strchr(" \t\n", text[n - 1]))
    if (text[--n] == '\n') lines++;
  return n && lines >= 2;
}

static int is_ready(const char *text) {
  const char *at = text + strspn(text, " \t\n");
  if (!*at || sh_is_command(at)) return 1;
  return ends_in_empty_lines(text) ||
         !lt_is_incomplete(*reader->place->l, text);
}

static int on_enter(int count, int key) {
  if (!is_ready(rl_line_buffer)) return rl_insert_text("\n") < 0;
  /* Else a part of an entry of several lines stays on the screen. */
  rl_point = rl_end;
  rl_clear_visible_line();
  rl_forced_update_display();
  return rl_newline(count, key);
}

static int on_new_line(int count, int key) {
  (void)count, (void)key;
  return rl_insert_text("\n") < 0;
}

/* Tab at the beginning of a line is for the eye. */
static int on_tab(int count, int key) {
  (void)count, (void)key;
  for (int i = rl_point; i > 0 && rl_line_buffer[i - 1] != '\n'; i--)
    if (!strchr(" \t", rl_line_buffer[i - 1]))
      return rl_complete_internal(rl_completion_mode(on_tab));
  return rl_insert_text("  ") < 0;
}

static int line_start(int at) {
  while (at > 0 && rl_line_buffer[at - 1] != '\n') at--;
  return at;
}

static int on_up(int count, int key) {
  int start = line_start(rl_point), above;
  if (start == 0) return rl_get_previous_history(count, key);
  above = line_start(start - 1);
  rl_point = above + (rl_point - start < start - 1 - above ? rl_point - start
                                                           : start - 1 - above);
  return 0;
}

static int on_down(int count, int key) {
  int start = line_start(rl_point), end = rl_point, last;
  while (end < rl_end && rl_line_buffer[end] != '\n') end++;
  if (end == rl_end) return rl_get_next_history(count, key);
  for (last = end + 1; last < rl_end && rl_line_buffer[last] != '\n';) last++;
  rl_point =
      end + 1 + rl_point - start < last ? end + 1 + rl_point - start : last;
  return 0;
}

/* ---- completion -----------------------------------------------------------
 */
typedef struct {
  char **name; /* [n], owned until readline takes them */
  size_t n, room, at;
} name_list;
static name_list found;

static void add_name(void *ud, const char *name, int function) {
  name_list *list = ud;
  char *text;
  if (list->n == list->room) {
    size_t room = list->room ? 2 * list->room : 64;
    char **more = realloc(list->name, room * sizeof *more);
    if (!more) return;
    list->name = more;
    list->room = room;
  }
  if (asprintf(&text, "%s%s", name, function ? "(" : "") < 0) return;
  list->name[list->n++] = text;
}

static char *next_name(const char *text, int state) {
  (void)text;
  if (state == 0) found.at = 0;
  if (found.at == found.n) return NULL;
  return strdup(found.name[found.at++]);
}

static void forget_names(void) {
  while (found.n) free(found.name[--found.n]);
}

/* The quote that is open at `end`, or 0; comments and long strings are not
 * looked for. */
static char open_quote(const char *text, int end) {
  char quote = 0;
  for (int i = 0; i < end; i++) {
    if (quote && text[i] == '\\')
      i++;
    else if (quote ? text[i] == quote : text[i] == '"' || text[i] == '\'')
      quote = quote ? 0 : text[i];
  }
  return quote;
}

static int is_command_word(int start) {
  return rl_line_buffer[0] == ':' &&
         (start == 0 || strcspn(rl_line_buffer, " \t") >= (size_t)start);
}

static char *word_breaks(void) {
  static char quotes[] = "\"'", blanks[] = " \t\n";
  static char operators[] = " \t\n\"'><=;|&{(+-*/%^#~,[]})";
  if (open_quote(rl_line_buffer, rl_point)) return quotes;
  return is_command_word(rl_point) ? blanks : operators;
}

static char **attempt(const char *text, int start, int end) {
  char **matches;
  (void)end;
  rl_completion_append_character = '\0';
  rl_attempted_completion_over = 0;
  if (open_quote(rl_line_buffer, start)) return NULL; /* a file's name */
  if (sh_command_wants_file(rl_line_buffer, start)) return NULL;
  rl_attempted_completion_over = 1;
  if (!*text && rl_line_buffer[0] != ':') return NULL; /* all names are none */
  if (is_command_word(start) || rl_line_buffer[0] == ':')
    sh_command_complete(*reader->place->l, rl_line_buffer, start, text,
                        add_name, &found);
  else
    lt_complete(*reader->place->l, text, add_name, &found);
  matches = found.n ? rl_completion_matches(text, next_name) : NULL;
  forget_names();
  return matches;
}

/* Where the last part of "nn.linear(" or "x:softmax(" begins. */
static size_t last_part(const char *name) {
  size_t at = strlen(name);
  while (at > 0 && !strchr(".:", name[at - 1])) at--;
  return name[at] ? at : 0;
}

/* Of names with a dot or colon, only the last part is listed; match[0] is what
 * all have in common, match[1] to match[n] are the names. */
static void list_names(char **match, int n, int longest) {
  char **shown = calloc((size_t)n + 2, sizeof *shown);
  size_t lead = rl_filename_completion_desired ? 0 : last_part(match[1]);
  if (shown) {
    for (int i = 0; i <= n; i++)
      shown[i] = match[i] + (strlen(match[i]) < lead ? 0 : lead);
    rl_crlf();
    rl_display_match_list(shown, n, longest - (int)lead);
    free(shown);
  }
  rl_forced_update_display();
}

/* ---- opening ---------------------------------------------------------------
 */
void sh_edit_remember(const char *entry) { add_history(entry); }

static void bind_keys(void) {
  rl_add_defun("tsh-enter", on_enter, -1);
  rl_bind_key('\r', on_enter);
  rl_bind_key('\n', on_enter);
  rl_bind_key('\t', on_tab);
  rl_bind_keyseq("\\e\\C-m", on_new_line);
  rl_bind_keyseq("\\e[A", on_up);
  rl_bind_keyseq("\\eOA", on_up);
  rl_bind_keyseq("\\e[B", on_down);
  rl_bind_keyseq("\\eOB", on_down);
}

const char *sh_edit_version(void) {
  static char text[40];
  snprintf(text, sizeof text, "readline %s", rl_library_version);
  return text;
}

void sh_edit_open(sh_line *s) {
  reader = s;
  setlocale(LC_CTYPE, ""); /* not of numbers: Lua reads them with a point */
  rl_readline_name = "tsh";
  rl_catch_signals = 0;
  rl_catch_sigwinch = 0;
  rl_completer_quote_characters = "\"'";
  rl_completion_word_break_hook = word_breaks;
  rl_attempted_completion_function = attempt;
  rl_completion_display_matches_hook = list_names;
  rl_variable_bind("show-all-if-unmodified", "on"); /* inputrc may say no */
  rl_initialize();
  bind_keys();
  using_history();
  for (size_t i = 0; i < sh_history_count(s->place->history); i++)
    add_history(sh_history_at(s->place->history, i));
}

/* ---- signals while a line is edited ----------------------------------------
 */
enum { RESIZED = 1, STOPPED = 2 };
static volatile sig_atomic_t events, deadly;

static void on_signal(int number) {
  if (number == SIGWINCH)
    events |= RESIZED;
  else if (number == SIGTSTP)
    events |= STOPPED;
  else
    deadly = number;
}

static const int ours[] = {SIGWINCH, SIGTSTP, SIGTERM, SIGHUP};
enum { NOURS = sizeof ours / sizeof *ours };

static void take_signals(struct sigaction *before) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  for (int i = 0; i < NOURS; i++) sigaction(ours[i], &action, &before[i]);
}

static void give_signals(const struct sigaction *before) {
  for (int i = 0; i < NOURS; i++) sigaction(ours[i], &before[i], NULL);
}

/* The terminal is put in order before the process stops or ends. */
static void stop_like(int number, const struct sigaction *before) {
  sigset_t open, held;
  if (number != SIGTSTP) { /* what comes next begins a line */
    rl_point = rl_end;
    rl_redisplay();
    fputc('\n', rl_outstream);
  }
  rl_deprep_terminal();
  fflush(stdout);
  give_signals(before);
  raise(number);
  sigemptyset(&open);
  sigaddset(&open, number);
  sigprocmask(SIG_UNBLOCK, &open, &held);
  sigprocmask(SIG_SETMASK, &held, NULL);
  /* It goes on. */
  rl_prep_terminal(1);
  rl_forced_update_display();
}

static void handle_events(struct sigaction *before) {
  int seen = events, end = deadly;
  events = 0;
  if (end || seen & STOPPED) {
    deadly = 0;
    stop_like(end ? end : SIGTSTP, before);
    take_signals(before);
  }
  if (seen & RESIZED) rl_resize_terminal();
}

/* ---- reading ---------------------------------------------------------------
 */
static void on_line(char *line) {
  rl_callback_handler_remove();
  entered = line;
  done = 1;
}

/* Ctrl-C: the line stays on the screen, and a new one is begun. */
static void cancel_line(void) {
  rl_point = rl_end;
  rl_redisplay();
  rl_callback_sigcleanup();
  fputs("^C\n", rl_outstream);
  fflush(rl_outstream);
  rl_free_line_state();
  rl_replace_line("", 0);
  rl_callback_handler_remove();
}

/* Signals come in only while pselect sleeps, and when it did not have to: a key
 * that is there was typed after Ctrl-C. */
static int wait_for_key(const sigset_t *sleeping) {
  sigset_t held;
  fd_set in;
  int ready;
  FD_ZERO(&in);
  FD_SET(STDIN_FILENO, &in);
  ready = pselect(STDIN_FILENO + 1, &in, NULL, NULL, NULL, sleeping);
  sigprocmask(SIG_SETMASK, sleeping, &held);
  sigprocmask(SIG_SETMASK, &held, NULL);
  return ready;
}

static void block_signals(sigset_t *before) {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  for (int i = 0; i < NOURS; i++) sigaddset(&held, ours[i]);
  sigprocmask(SIG_BLOCK, &held, before);
}

/* Ctrl-D typed while something ran is an end of input for as long as the
 * terminal hands out lines; then it would be a zero byte. */
static int is_at_end(void) {
  struct pollfd in = {STDIN_FILENO, POLLIN, 0};
  int bytes = 0;
  char unused;
  return poll(&in, 1, 0) > 0 && ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 &&
         bytes == 0 && read(STDIN_FILENO, &unused, 1) == 0;
}

static sh_line_result edit(const char *prompt) {
  struct sigaction actions[NOURS];
  sh_line_result result = SH_LINE;
  sigset_t before;
  block_signals(&before);
  take_signals(actions);
  done = 0;
  rl_callback_handler_install(prompt, on_line);
  while (!done) {
    int ready = wait_for_key(&before);
    handle_events(actions);
    if (sh_signal_taken()) {
      cancel_line();
      result = SH_LINE_CANCEL;
      break;
    }
    if (ready > 0) rl_callback_read_char();
  }
  give_signals(actions);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return result;
}

/* At an end of input, readline ends the line itself where it has switched
 * bracketed paste off. */
static int has_ended_line(void) {
  const char *paste = rl_variable_value("enable-bracketed-paste");
  return paste && strcmp(paste, "on") == 0;
}

sh_line_result sh_edit_read(sh_line *s, const char *prompt, const char **text) {
  sh_line_result result;
  int ahead;
  size_t n;
  *text = NULL;
  entered = NULL;
  fflush(stdout);
  ahead = is_at_end();
  result = ahead ? SH_LINE : edit(prompt);
  free(s->text);
  s->text = entered;
  if (result != SH_LINE) return result;
  if (!s->text) {
    if (ahead || !has_ended_line()) fputc('\n', stdout);
    return SH_LINE_END;
  }
  for (n = strlen(s->text); n && s->text[n - 1] == '\n';) s->text[--n] = '\0';
  *text = s->text;
  return SH_LINE;
}
