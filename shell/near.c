/* near.c - which name did the user mean? */
#include <string.h>
#include "shell.h"

enum { LONGEST = 32 };

static int least(int a, int b) { return a < b ? a : b; }

/* Edits (insert, drop, change, swap neighbours) from a to b. */
static int distance(const char *a, const char *b) {
  int m = (int)strlen(a), n = (int)strlen(b);
  int d[LONGEST + 1][LONGEST + 1];
  if (m > LONGEST || n > LONGEST) return LONGEST;
  for (int i = 0; i <= m; i++) d[i][0] = i;
  for (int j = 0; j <= n; j++) d[0][j] = j;
  for (int i = 1; i <= m; i++) {
    for (int j = 1; j <= n; j++) {
      int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      best = least(best, least(d[i - 1][j], d[i][j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best = least(best, d[i - 2][j - 2] + 1);
      d[i][j] = best;
    }
  }
  return d[m][n];
}

const char *sh_near(const char *typed, const char *const *names) {
  int length = (int)strlen(typed), best = length < 4 ? 2 : length / 3 + 2;
  const char *found = NULL;
  for (; *names; names++) {
    int edits = distance(typed, *names);
    if (edits < best) {
      best = edits;
      found = *names;
    }
  }
  return found;
}
