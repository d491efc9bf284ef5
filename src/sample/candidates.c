// Selection without sorting what nobody asks for: a heap for the best k, quickselect for a growing ordered head.
#include "sample/candidates.h"

#include <math.h>

static bool before(const cel_candidate *a, const cel_candidate *b) {
  return a->key > b->key || (a->key == b->key && a->id < b->id);
}

static void swap(cel_candidate *a, cel_candidate *b) {
  cel_candidate t = *a;
  *a = *b;
  *b = t;
}

// Heap with the last in order on top.
static void sift_down(cel_candidate *c, int64_t n, int64_t i) {
  for (;;) {
    int64_t worst = i, left = 2 * i + 1;
    if (left < n && before(&c[worst], &c[left])) worst = left;
    if (left + 1 < n && before(&c[worst], &c[left + 1])) worst = left + 1;
    if (worst == i) return;
    swap(&c[i], &c[worst]);
    i = worst;
  }
}

static void heap_sort(cel_candidate *c, int64_t n, bool is_heap) {
  for (int64_t i = n / 2; !is_heap && i-- > 0;) sift_down(c, n, i);
  for (int64_t i = n - 1; i > 0; i--) {
    swap(&c[0], &c[i]);
    sift_down(c, i, 0);
  }
}

static void collect_all(cel_candidates *list, const float *logits, int64_t vocab, float floor) {
  int64_t n = 0;
  for (int64_t i = 0; i < vocab; i++) {
    list->c[n] = (cel_candidate){logits[i], logits[i], (int32_t)i};
    n += logits[i] >= floor && logits[i] != -INFINITY;
  }
  *list = (cel_candidates){.c = list->c, .n = n};
  list->max = -INFINITY;
  for (int64_t i = 0; i < n; i++) list->max = CEL_MAX(list->max, list->c[i].x);
}

static void collect_best(cel_candidates *list, const float *logits, int64_t vocab, float floor, int64_t k) {
  int64_t n = 0, i = 0;
  for (; i < vocab && n < k; i++) {
    list->c[n] = (cel_candidate){logits[i], logits[i], (int32_t)i};
    n += logits[i] >= floor && logits[i] != -INFINITY;
  }
  for (int64_t j = n / 2; j-- > 0;) sift_down(list->c, n, j);
  for (; i < vocab; i++) {
    if (!(logits[i] > list->c[0].x)) continue;  // an equal one comes later in order, its id being higher
    list->c[0] = (cel_candidate){logits[i], logits[i], (int32_t)i};
    sift_down(list->c, n, 0);
  }
  heap_sort(list->c, n, true);
  *list = (cel_candidates){.c = list->c, .n = n, .sorted = n, .max = list->c[0].x};
}

void cel_candidates_collect(cel_candidates *list, const float *logits, int64_t vocab, float floor, int64_t k) {
  if (k <= 0 || k >= vocab) {
    collect_all(list, logits, vocab, floor);
  } else {
    collect_best(list, logits, vocab, floor, k);
  }
}

// Puts the m first in order of c[0 .. n) in front, in any order. Hoare's partition about a median of three.
static void select_first(cel_candidate *c, int64_t n, int64_t m) {
  int64_t low = 0, high = n - 1;
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if (before(&c[mid], &c[low])) swap(&c[mid], &c[low]);
    if (before(&c[high], &c[low])) swap(&c[high], &c[low]);
    if (before(&c[high], &c[mid])) swap(&c[high], &c[mid]);
    cel_candidate pivot = c[mid];
    int64_t i = low, j = high;
    while (i <= j) {
      while (before(&c[i], &pivot)) i++;
      while (before(&pivot, &c[j])) j--;
      if (i <= j) swap(&c[i++], &c[j--]);
    }
    if (m - 1 <= j) {
      high = j;
    } else if (m - 1 >= i) {
      low = i;
    } else {
      return;
    }
  }
}

void cel_candidates_sort(cel_candidates *list, int64_t m) {
  m = CEL_MIN(m, list->n);
  if (m <= list->sorted) return;
  cel_candidate *rest = list->c + list->sorted;
  int64_t n = list->n - list->sorted, want = m - list->sorted;
  if (want < n) select_first(rest, n, want);
  heap_sort(rest, want, false);
  list->sorted = m;
}
