#include "backend/xla/engine/common/results.h"

#include <stdlib.h>

static cel_status grow(cel_results *r, int n, cel_err *err) {
  void **at = realloc(r->at, (size_t)n * sizeof *at);
  if (!at) return cel_fail_oom(err, "results");
  r->at = at;
  int64_t *room = realloc(r->room, (size_t)n * sizeof *room);
  if (!room) return cel_fail_oom(err, "results");
  r->room = room;
  for (; r->n < n; r->n++) {
    r->at[r->n] = NULL;
    r->room[r->n] = 0;
  }
  return CEL_OK;
}

cel_status cel_results_room(cel_results *r, int i, int64_t bytes, void **out, cel_err *err) {
  if (i >= r->n) CEL_TRY(grow(r, i + 1, err));
  if (bytes > r->room[i] || !r->at[i]) {
    void *p = realloc(r->at[i], (size_t)bytes + 1);
    if (!p) return cel_fail_oom(err, "a result");
    r->at[i] = p;
    r->room[i] = bytes;
  }
  *out = r->at[i];
  return CEL_OK;
}

int64_t cel_results_bytes(const cel_results *r) {
  int64_t held = 0;
  for (int i = 0; i < r->n; i++) held += r->room[i];
  return held;
}

void cel_results_free(cel_results *r) {
  for (int i = 0; i < r->n; i++) free(r->at[i]);
  free(r->at);
  free(r->room);
  *r = (cel_results){0};
}
