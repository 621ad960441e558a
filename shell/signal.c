/* signal.c - one policy for SIGINT, at the prompt and while something runs.
 * A handler can reach nothing but globals: these three are the only ones. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "shell.h"

static lt *volatile running;
static volatile sig_atomic_t hard_stop, seen;

static void on_interrupt(int number) {
  int saved = errno;
  lt *l = running;
  if (l && hard_stop && seen) _exit(128 + number);
  seen = 1;
  if (l) lt_interrupt(l);
  errno = saved;
}

void sh_signals_start(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_interrupt;
  /* No SA_RESTART: a script that waits for input wants to be woken. */
  sigaction(SIGINT, &action, NULL);
  /* A parent may have left it ignored; a closed pipe ends us quietly. */
  signal(SIGPIPE, SIG_DFL);
  /* A file that may not grow is an error that can be told. */
  signal(SIGXFSZ, SIG_IGN);
}

void sh_run_begin(lt *l, int hard) {
  hard_stop = hard;
  if (!hard) seen = 0; /* meant for the prompt */
  running = l;
  if (seen) lt_interrupt(l); /* came during the start or between two runs */
}

void sh_run_end(void) {
  running = NULL;
  if (!hard_stop) seen = 0;
}

void sh_signals_keep_pipe(int on) { signal(SIGPIPE, on ? SIG_IGN : SIG_DFL); }

int sh_signal_seen(void) { return seen; }

int sh_signal_taken(void) {
  int was = seen;
  seen = 0;
  return was;
}
