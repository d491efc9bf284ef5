// The tokens still in the running, kept in the caller's scratch, and the steps that thin them out.
// Order: by key downwards, equal keys by id upwards. The list is in that order up to `sorted`, and nothing
// behind `sorted` belongs before it.
#ifndef CEL_SAMPLE_CANDIDATES_H
#define CEL_SAMPLE_CANDIDATES_H

#include <stdint.h>

#include "sample/sample.h"

typedef struct cel_candidate {
  float x;    // logit, finite
  float key;  // what the list is ordered by
  int32_t id;
} cel_candidate;

typedef struct cel_candidates {
  cel_candidate *c;  // [n], never empty once collected
  int64_t n, sorted;
  float max;  // largest x
} cel_candidates;

// Those of logits[vocab] that are >= floor and not -infinity: the best k of them in order, or all by id when
// k <= 0 or k >= vocab.
void cel_candidates_collect(cel_candidates *list, const float *logits, int64_t vocab, float floor, int64_t k);
// Extends the ordered part to at least m (or n).
void cel_candidates_sort(cel_candidates *list, int64_t m);

void cel_keep_typical(cel_candidates *list, float typical_p);
void cel_keep_top_p(cel_candidates *list, float top_p);
void cel_keep_min_p(cel_candidates *list, float min_p);
void cel_drop_xtc(cel_candidates *list, float threshold);
// Draws by u in [0, 1) from softmax(x / temperature).
int32_t cel_candidates_draw(const cel_candidates *list, float temperature, double u);

#endif
