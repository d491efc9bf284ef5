#include "text/spans.h"

#include <stdlib.h>

// Room for `more` items of `size` bytes behind the n there are.
static bool grow(void **p, size_t n, size_t *cap, size_t more, size_t size, bool *failed) {
  if (*failed) return false;
  if (more <= *cap - n) return true;
  size_t want = *cap ? *cap : 32;
  while (want < n + more) {
    if (want > SIZE_MAX / 4 / size) return !(*failed = true);
    want *= 2;
  }
  void *q = realloc(*p, want * size);
  if (!q) return !(*failed = true);
  *p = q;
  *cap = want;
  return true;
}

void cel_spans_deinit(cel_spans *s) {
  free(s->p);
  *s = (cel_spans){0};
}

void cel_spans_add(cel_spans *s, size_t at, size_t n) {
  void *p = s->p;
  if (n == 0) return;
  if (s->n == s->cap) {
    if (!grow(&p, s->n, &s->cap, 1, sizeof *s->p, &s->failed)) return;
    s->p = p;
  }
  s->p[s->n++] = (cel_span){at, n};
}

void cel_ids_deinit(cel_ids *s) {
  free(s->p);
  *s = (cel_ids){0};
}

bool cel_ids_reserve(cel_ids *s, size_t more) {
  void *p = s->p;
  bool ok = grow(&p, s->n, &s->cap, more, sizeof *s->p, &s->failed);
  s->p = p;
  return ok;
}

void cel_ids_add(cel_ids *s, int32_t id) {
  if (s->n == s->cap && !cel_ids_reserve(s, 1)) return;
  s->p[s->n++] = id;
}
