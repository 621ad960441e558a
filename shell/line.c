/* line.c - which reader is it? The editing one needs a terminal on both sides
 * that can move its cursor. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "line.h"

#ifdef HAVE_READLINE
static int can_edit(int interactive) {
  const char *term = getenv("TERM");
  return interactive && isatty(STDOUT_FILENO) && term && *term &&
         strcmp(term, "dumb") != 0;
}
#endif

sh_line *sh_line_open(const sh_place *place, int interactive) {
  sh_line *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->place = place;
  s->interactive = interactive;
  /* With nothing buffered, pselect knows whether a line is there; and what a
   * script reads with io.read follows what we read. */
  if (interactive) setvbuf(stdin, NULL, _IONBF, 0);
#ifdef HAVE_READLINE
  s->edits = can_edit(interactive);
  if (s->edits) sh_edit_open(s);
#endif
  return s;
}

void sh_line_close(sh_line *s) {
  if (!s) return;
  free(s->text);
  free(s);
}

const char *sh_line_editor(void) {
#ifdef HAVE_READLINE
  return sh_edit_version();
#else
  return NULL;
#endif
}

int sh_line_edits(const sh_line *s) { return s->edits; }

void sh_line_remember(sh_line *s, const char *entry) {
  if (!s->interactive || !sh_history_add(s->place->history, entry)) return;
#ifdef HAVE_READLINE
  if (s->edits) sh_edit_remember(entry);
#endif
}

/* What the editor left is as large as it must be, and no larger. */
sh_line_result sh_line_plain(sh_line *s, const char **text) {
  free(s->text);
  s->text = NULL;
  s->room = 0;
  return sh_plain_read(s, "", text);
}

sh_line_result sh_line_read(sh_line *s, const char *prompt, const char **text) {
#ifdef HAVE_READLINE
  if (s->edits) return sh_edit_read(s, prompt, text);
#endif
  return sh_plain_read(s, prompt, text);
}
