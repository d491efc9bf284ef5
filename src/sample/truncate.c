// The steps that thin out the candidates by their probabilities, which are those at temperature 1: the
// temperature comes last in the chain.
#include <math.h>

#include "sample/candidates.h"
#include "sample/softmax.h"

enum { FIRST_HEAD = 64 };  // how much is put in order at first; then four times as much

static void order_up_to(cel_candidates *list, int64_t i) {
  if (i >= list->sorted) cel_candidates_sort(list, CEL_MAX(FIRST_HEAD, 4 * list->sorted));
}

static float weight(const cel_candidates *list, int64_t i) { return cel_softmax_weight(list->c[i].x - list->max); }

static double total_weight(const cel_candidates *list) {
  double sum = 0;
  for (int64_t i = 0; i < list->n; i++) sum += (double)weight(list, i);
  return sum;
}

static void order_by_logit(cel_candidates *list) {
  for (int64_t i = 0; i < list->n; i++) list->c[i].key = list->c[i].x;
  list->sorted = 0;
}

// Keeps the shortest head whose weight reaches `mass`; at least one.
static void keep_mass(cel_candidates *list, double mass) {
  double sum = 0;
  for (int64_t i = 0; i < list->n; i++) {
    order_up_to(list, i);
    sum += (double)weight(list, i);
    if (sum >= mass) {
      list->n = i + 1;
      break;
    }
  }
  list->sorted = CEL_MIN(list->sorted, list->n);
}

void cel_keep_top_p(cel_candidates *list, float top_p) {
  keep_mass(list, (double)top_p * total_weight(list));
}

// Locally typical sampling (Meister et al. 2022): those whose surprise is nearest to the entropy.
void cel_keep_typical(cel_candidates *list, float typical_p) {
  double z = total_weight(list), mean = 0;
  for (int64_t i = 0; i < list->n; i++) {
    float w = weight(list, i);
    if (w > 0) mean += (double)w * (double)(list->c[i].x - list->max);
  }
  mean /= z;  // entropy = log z - mean; surprise = log z - (x - max); log z falls out of the difference
  for (int64_t i = 0; i < list->n; i++) {
    list->c[i].key = (float)-fabs(mean - (double)(list->c[i].x - list->max));
  }
  list->sorted = 0;
  keep_mass(list, (double)typical_p * z);
  float max = -INFINITY;
  for (int64_t i = 0; i < list->n; i++) max = CEL_MAX(max, list->c[i].x);
  list->max = max;
  order_by_logit(list);
}

void cel_keep_min_p(cel_candidates *list, float min_p) {
  int64_t n = 0, sorted = 0;
  for (int64_t i = 0; i < list->n; i++) {
    if (weight(list, i) < min_p) continue;
    sorted += i < list->sorted;
    list->c[n++] = list->c[i];
  }
  list->n = n, list->sorted = sorted;
}

// Exclude top choices (p-e-w 2024): of the tokens at least as likely as the threshold only the least likely stays.
void cel_drop_xtc(cel_candidates *list, float threshold) {
  double floor = (double)threshold * total_weight(list);
  int64_t n = 0;
  for (; n < list->n; n++) {
    order_up_to(list, n);
    if ((double)weight(list, n) < floor) break;
  }
  if (n < 2) return;
  list->c += n - 1, list->n -= n - 1, list->sorted -= n - 1;
  list->max = list->c[0].x;
}

int32_t cel_candidates_draw(const cel_candidates *list, float temperature, double u) {
  double sum = 0, target, mass = 0;
  for (int64_t i = 0; i < list->n; i++) sum += (double)cel_softmax_weight((list->c[i].x - list->max) / temperature);
  target = u * sum;
  int64_t last = 0;  // the last one that can be drawn, for the rounding at the end
  for (int64_t i = 0; i < list->n; i++) {
    double w = (double)cel_softmax_weight((list->c[i].x - list->max) / temperature);
    if (w > 0) last = i;
    mass += w;
    if (mass > target) return list->c[i].id;
  }
  return list->c[last].id;
}
