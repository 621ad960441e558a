/* layout.h - how do a tensor's elements look on a screen? Pure: it sees host
 * elements and extents, neither Lua nor the planner's nodes. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdio.h>
#include "plan.h"

enum { LAYOUT_CELL = 48 }; /* bytes of one element's text */

/* What the user may choose (set.c). */
enum { LAYOUT_AUTO, LAYOUT_ON, LAYOUT_OFF };
typedef struct {
  int precision; /* digits behind the dot; of halves in e-notation fewer */
  int edge, max; /* over max elements only `edge` at each end are shown */
  int sci;       /* e-notation */
  int width;     /* columns; 0: those of the window */
} layout_rules;

/* What is shown: along each axis the first `head` and the last `tail`
 * positions, or all of them when head is the extent. */
typedef struct {
  int rank, dtype, shortened;
  int64_t dim[PLAN_RANK], head[PLAN_RANK], tail[PLAN_RANK];
  int64_t count, shown; /* elements of the tensor, of the shown block */
  int width;            /* columns of the window */
  layout_rules rules;
} layout;

/* Chooses what is shown; rows 0: any number of lines. rules->width is the
 * caller's to look at. */
void layout_choose(layout *l, const plan_shape *shape, int dtype,
                   const layout_rules *rules, int width, int rows);
/* Writes the text after the header: a blank and a line, or new lines. cells
 * are the l->shown elements in row-major order. 1 when even the columns had
 * to be shortened, or l->shortened: a line with the size should follow. */
int layout_write(const layout *l, const void *cells, int header, FILE *out);
/* All elements in one line, as inside a table. */
void layout_inline(const layout *l, const void *cells, FILE *out);
/* "1,000,000 elements, 4.0 MB"; without the bytes where width is too small. */
void layout_size(const layout *l, int width, FILE *out);

/* The shortest text that reads back to element i in its dtype. */
char *layout_exact(int dtype, const void *cells, int64_t i, char *text);
double layout_real(int dtype, const void *cells, int64_t i);

#endif
