// What the files that run steps share: one member of the team at work.
#ifndef CEL_XLA_NATIVE_RUN_MEMBER_H
#define CEL_XLA_NATIVE_RUN_MEMBER_H

#include "backend/xla/engine/native/run.h"
#include "base/macros.h"

typedef struct member {
  cel_run *r;
  int index, n;
  uint8_t *scratch;
} member;

typedef struct range {
  int64_t begin, end;
} range;

// Member i's share of n items, in whole grains, contiguous.
static inline range share(const member *m, bool solo, int64_t n, int64_t grain) {
  if (solo || m->n == 1) return m->index == 0 ? (range){0, n} : (range){0, 0};
  int64_t grains = (n + grain - 1) / grain;
  int64_t begin = grains * m->index / m->n * grain, end = grains * (m->index + 1) / m->n * grain;
  return (range){CEL_MIN(begin, n), CEL_MIN(end, n)};
}

static inline void *at(const member *m, int slot) { return m->r->at[slot]; }

// run_heads.c
void cel_run_heads(const member *m, const cel_step *s);
// run_experts.c
void cel_run_top_k(const member *m, const cel_step *s);
void cel_run_experts(const member *m, const cel_step *s);

#endif
