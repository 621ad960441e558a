/* line.h - what the line readers share: line.c chooses between plain.c and
 * edit.c. Nothing else in the shell reads stdin. */
#ifndef LINE_H
#define LINE_H

#include "shell.h"

struct sh_line {
  const sh_place *place; /* borrowed: is an entry complete, which names? */
  int interactive;
  int edits;  /* by readline: whole entries come */
  char *text; /* owned; the last line */
  size_t room;
};

sh_line_result sh_plain_read(sh_line *s, const char *prompt, const char **text);

#ifdef HAVE_READLINE
const char *sh_edit_version(void);
void sh_edit_open(sh_line *s);
sh_line_result sh_edit_read(sh_line *s, const char *prompt, const char **text);
void sh_edit_remember(const char *entry);
#endif

#endif
