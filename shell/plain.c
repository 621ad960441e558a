/* plain.c - the line reader without editing: of pipes, of terminals that can do
 * little, and of builds without readline. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>
#include "line.h"

/* Waits for input; 0 after Ctrl-C. SIGINT is let in only while pselect sleeps,
 * so it cannot fall between the test and the sleep. */
static int wait_for_line(void) {
  fd_set in;
  sigset_t only, before;
  sigemptyset(&only);
  sigaddset(&only, SIGINT);
  sigprocmask(SIG_BLOCK, &only, &before);
  do {
    FD_ZERO(&in);
    FD_SET(STDIN_FILENO, &in);
  } while (pselect(STDIN_FILENO + 1, &in, NULL, NULL, NULL, &before) < 0 &&
           errno == EINTR && !sh_signal_seen());
  /* When a line is there too, it was typed after Ctrl-C. */
  sigprocmask(SIG_SETMASK, &before, NULL);
  return !sh_signal_taken();
}

/* After getline found no line. */
static sh_line_result no_line(const sh_line *s, const char **text) {
  int why = errno, failed = !feof(stdin); /* without memory, for example */
  clearerr(stdin);
  if (s->interactive) fputc('\n', stdout);
  if (why == EINTR && sh_signal_taken()) return SH_LINE_CANCEL;
  if (!failed || s->interactive) return SH_LINE_END;
  *text = strerror(why);
  return SH_LINE_BAD;
}

sh_line_result sh_plain_read(sh_line *s, const char *prompt,
                             const char **text) {
  ssize_t length;
  *text = NULL;
  /* That of a time when nothing ran. At a prompt, the wait asks. */
  if (!s->interactive && sh_signal_taken()) return SH_LINE_CANCEL;
  if (s->interactive) {
    fputs(prompt, stdout);
    fflush(stdout);
    if (!wait_for_line()) {
      fputc('\n', stdout);
      return SH_LINE_CANCEL;
    }
  }
  errno = 0;
  length = getline(&s->text, &s->room, stdin);
  if (length < 0) return no_line(s, text);
  if (memchr(s->text, 0, (size_t)length)) {
    *text = "a zero byte in the line";
    return SH_LINE_BAD;
  }
  if (length && s->text[length - 1] == '\n') s->text[--length] = '\0';
  if (length && s->text[length - 1] == '\r') s->text[--length] = '\0';
  *text = s->text;
  return SH_LINE;
}
