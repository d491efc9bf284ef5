// What the files that run steps share: one member of the team at work.
#ifndef CEL_XLA_NATIVE_RUN_MEMBER_H
#define CEL_XLA_NATIVE_RUN_MEMBER_H

#include "backend/xla/engine/native/run.h"
#include "base/macros.h"

typedef struct member {
  cel_run *r;
  int index, n;
  int step;  // its place in the plan
  uint8_t *scratch;
} member;

typedef struct range {
  int64_t begin, end;
} range;

// Part i of `parts` of the items of r, in whole grains, contiguous.
static inline range part(range r, int i, int parts, int64_t grain) {
  int64_t grains = (r.end - r.begin + grain - 1) / grain;
  int64_t begin = r.begin + grains * i / parts * grain, end = r.begin + grains * (i + 1) / parts * grain;
  return (range){CEL_MIN(begin, r.end), CEL_MIN(end, r.end)};
}

// This member's share of n items.
static inline range share(const member *m, bool solo, int64_t n, int64_t grain) {
  if (solo) return m->index == 0 ? (range){0, n} : (range){0, 0};
  return part((range){0, n}, m->index, m->n, grain);
}

static inline void *at(const member *m, int slot) { return m->r->at[slot]; }

// run_heads.c
void cel_run_heads(const member *m, const cel_step *s);
// run_experts.c
void cel_run_top_k(const member *m, const cel_step *s);
void cel_run_experts(const member *m, const cel_step *s);

#endif
