// The steps that change single logits because of what was said before, over a range of ids with one cell of
// working memory per id: the sampler passes its scratch and the whole vocabulary.
#ifndef CEL_SAMPLE_PENALTY_H
#define CEL_SAMPLE_PENALTY_H

#include "sample/sample.h"

typedef struct cel_history {
  const int32_t *ids;  // [n], the first n_prompt are the prompt
  int64_t n, n_prompt;
} cel_history;

// Both work on logits[low .. high) and use cells[high - low], whose contents do not matter before or after.
void cel_penalties_range(const cel_sampling *s, float *logits, int64_t low, int64_t high, cel_history h,
                         uint32_t *cells);
void cel_dry_range(const cel_sampling *s, float *logits, int64_t low, int64_t high, cel_history h, uint32_t *cells);

bool cel_penalties_on(const cel_sampling *s);
bool cel_dry_on(const cel_sampling *s);

#endif
