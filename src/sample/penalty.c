#include "sample/penalty.h"

enum { CELLS = 4096 };                  // ids per pass when there is no scratch
static const uint32_t seen = 1u << 31;  // in a cell: the token is in the window; below it: times generated

bool cel_penalties_on(const cel_sampling *s) {
  return s->penalty_last_n != 0 &&
         (s->repetition_penalty != 1.0f || s->frequency_penalty != 0.0f || s->presence_penalty != 0.0f);
}

// Repetition as in CTRL (Keskar et al. 2019) with the sign minded, so that it never rewards; the other two as
// OpenAI documents them.
static float penalized(const cel_sampling *s, float x, uint32_t cell) {
  x = x > 0 ? x / s->repetition_penalty : x * s->repetition_penalty;
  uint32_t times = cell & ~seen;
  if (times) x -= (float)times * s->frequency_penalty + s->presence_penalty;
  return x;
}

void cel_penalties_range(const cel_sampling *s, float *logits, int64_t low, int64_t high, cel_history h,
                         uint32_t *cells) {
  int64_t first = s->penalty_last_n < 0 || s->penalty_last_n > h.n ? 0 : h.n - s->penalty_last_n;
  for (int64_t i = first; i < h.n; i++) {
    if (h.ids[i] >= low && h.ids[i] < high) cells[h.ids[i] - low] = 0;
  }
  for (int64_t i = first; i < h.n; i++) {
    if (h.ids[i] < low || h.ids[i] >= high) continue;
    uint32_t *cell = &cells[h.ids[i] - low];
    *cell = (*cell | seen) + (i >= h.n_prompt);
  }
  for (int64_t i = first; i < h.n; i++) {
    if (h.ids[i] < low || h.ids[i] >= high || !cells[h.ids[i] - low]) continue;
    logits[h.ids[i]] = penalized(s, logits[h.ids[i]], cells[h.ids[i] - low]);
    cells[h.ids[i] - low] = 0;  // once per token
  }
}

void cel_apply_penalties(const cel_sampling *s, float *logits, int64_t vocab, const int32_t *history,
                         int64_t n_history, int64_t n_prompt) {
  uint32_t cells[CELLS];
  if (!cel_penalties_on(s)) return;
  for (int64_t low = 0; low < vocab; low += CELLS) {
    cel_penalties_range(s, logits, low, CEL_MIN(vocab, low + CELLS), (cel_history){history, n_history, n_prompt},
                        cells);
  }
}

void cel_apply_dry(const cel_sampling *s, float *logits, int64_t vocab, const int32_t *history, int64_t n_history) {
  uint32_t cells[CELLS];
  if (!cel_dry_on(s)) return;
  for (int64_t low = 0; low < vocab; low += CELLS) {
    cel_dry_range(s, logits, low, CEL_MIN(vocab, low + CELLS), (cel_history){history, n_history, 0}, cells);
  }
}
