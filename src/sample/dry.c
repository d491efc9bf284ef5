// DRY ("don't repeat yourself", p-e-w 2024): a token that would lengthen a repetition of n tokens loses
// multiplier * base^(n - allowed_length), n >= allowed_length. A breaker ends a repetition and is never punished.
#include <math.h>

#include "sample/penalty.h"

enum { LONGEST_MATCH = 1024 };  // the punishment stays the same beyond; bounds the work to 1024 n

bool cel_dry_on(const cel_sampling *s) { return s->dry_multiplier > 0 && s->dry_last_n != 0; }

static bool is_breaker(const cel_sampling *s, int32_t id) {
  for (int32_t i = 0; i < s->n_dry_breakers; i++) {
    if (s->dry_breakers[i] == id) return true;
  }
  return false;
}

// How many tokens at the end of the history may be part of a match.
static int64_t longest_suffix(const cel_sampling *s, cel_history h) {
  int64_t n = 0;
  while (n < h.n && n < LONGEST_MATCH && !is_breaker(s, h.ids[h.n - 1 - n])) n++;
  return n;
}

// Length of the common end of ids[0 .. end] and the whole history, at most `longest`.
static int64_t match_length(cel_history h, int64_t end, int64_t longest) {
  int64_t n = 0;
  while (n < longest && n <= end && h.ids[end - n] == h.ids[h.n - 1 - n]) n++;
  return n;
}

static float punishment(const cel_sampling *s, uint32_t length) {
  double x = (double)s->dry_multiplier * pow((double)s->dry_base, (double)length - s->dry_allowed_length);
  return x < 1e30 ? (float)x : 1e30f;
}

void cel_dry_range(const cel_sampling *s, float *logits, int64_t low, int64_t high, cel_history h, uint32_t *cells) {
  int64_t skip = s->dry_last_n < 0 || s->dry_last_n > h.n ? 0 : h.n - s->dry_last_n;
  h.ids += skip, h.n -= skip;
  int64_t longest = longest_suffix(s, h);
  if (longest < s->dry_allowed_length) return;
  for (int64_t i = 1; i < h.n; i++) {
    if (h.ids[i] >= low && h.ids[i] < high) cells[h.ids[i] - low] = 0;
  }
  for (int64_t i = 1; i < h.n; i++) {  // cells: the longest repetition the token would lengthen
    if (h.ids[i] < low || h.ids[i] >= high || h.ids[i - 1] != h.ids[h.n - 1]) continue;
    uint32_t n = (uint32_t)match_length(h, i - 1, longest), *cell = &cells[h.ids[i] - low];
    if (n > *cell) *cell = n;
  }
  for (int64_t i = 1; i < h.n; i++) {
    if (h.ids[i] < low || h.ids[i] >= high) continue;
    uint32_t *cell = &cells[h.ids[i] - low];
    if (*cell >= (uint32_t)s->dry_allowed_length && !is_breaker(s, h.ids[i])) logits[h.ids[i]] -= punishment(s, *cell);
    *cell = 0;
  }
}
