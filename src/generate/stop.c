#include "generate/stop.h"

void cel_stop_init(cel_stop *s, const cel_str *strings, int n) { *s = (cel_stop){.strings = strings, .n = n}; }
void cel_stop_deinit(cel_stop *s) { cel_buf_deinit(&s->held); }

// Does a stop begin at p? 2: wholly there; 1: as far as the text goes; 0: no.
static int at(const cel_stop *s, const char *p, size_t n) {
  int best = 0;
  for (int i = 0; i < s->n; i++) {
    size_t m = CEL_MIN(n, s->strings[i].n);
    if (memcmp(p, s->strings[i].p, m) != 0) continue;
    if (m == s->strings[i].n) return 2;
    best = 1;
  }
  return best;
}

void cel_stop_push(cel_stop *s, cel_str text, cel_buf *out) {
  if (s->hit) return;
  if (s->n == 0) {
    cel_buf_adds(out, text);
    return;
  }
  cel_buf_adds(&s->held, text);
  size_t i = 0;
  int state = 0;
  while (i < s->held.n && (state = at(s, s->held.p + i, s->held.n - i)) == 0) i++;
  cel_buf_add(out, s->held.p, i);
  s->hit = state == 2 && i < s->held.n;
  size_t rest = s->hit ? 0 : s->held.n - i;
  if (rest && i) memmove(s->held.p, s->held.p + i, rest);
  s->held.n = rest;
}

void cel_stop_finish(cel_stop *s, cel_buf *out) {
  size_t i = 0;
  while (i < s->held.n && at(s, s->held.p + i, s->held.n - i) != 2) i++;  // behind the head of one that never came
  if (!s->hit) cel_buf_add(out, s->held.p, i);
  s->hit |= i < s->held.n;
  cel_buf_clear(&s->held);
}
