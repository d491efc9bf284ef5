// "Did you mean": the candidate with the fewest letters to change.
#include <string.h>

#include "cli/cli.h"

enum { WORD_MOST = 32 };

// Edit distance (insert, drop, replace one letter), one row of the table at a time. Both are at most WORD_MOST long.
static int distance(const char *a, size_t na, const char *b, size_t nb) {
  int row[WORD_MOST + 1];
  for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
  for (size_t i = 0; i < na; i++) {
    int corner = row[0];
    row[0] = (int)i + 1;
    for (size_t j = 0; j < nb; j++) {
      int replaced = corner + (a[i] != b[j]);
      corner = row[j + 1];
      row[j + 1] = CEL_MIN(replaced, CEL_MIN(corner, row[j]) + 1);
    }
  }
  return row[nb];
}

void cli_guess_try(cli_guess *g, const char *candidate, size_t n) {
  size_t typed = strlen(g->typed);
  if (typed > WORD_MOST || n > WORD_MOST) return;
  int d = distance(g->typed, typed, candidate, n);
  if (d > 2 || (size_t)d * 2 >= typed || (g->best && d >= g->distance)) return;
  *g = (cli_guess){.typed = g->typed, .best = candidate, .best_n = (int)n, .distance = d};
}
