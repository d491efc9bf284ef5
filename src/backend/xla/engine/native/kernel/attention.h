// How attention is cut into work items, the same for all bodies. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ATTENTION_H
#define CEL_XLA_NATIVE_KERNEL_ATTENTION_H

#include <math.h>
#include <string.h>

#include "backend/xla/engine/native/kernel/kernel.h"

enum {
  CEL_ATTENTION_ROWS = 64,  // (token, query head) pairs that share a tile of keys: widening it is a quarter of the work of 16 of them
};

typedef struct cel_attention_scratch {
  float s[CEL_ATTENTION_ROWS][CEL_ATTENTION_TILE];  // scores, then weights
  float most[CEL_ATTENTION_ROWS], total[CEL_ATTENTION_ROWS], keep[CEL_ATTENTION_ROWS];
  float k_step[CEL_ATTENTION_TILE], v_step[CEL_ATTENTION_TILE];  // of the tile's keys and values, with CEL_KV_I16
} cel_attention_scratch;  // behind it, unless they are f32: keys and values of a tile, widened, [2][CEL_ATTENTION_TILE][d]

typedef struct cel_attention_split {
  int64_t tokens, token_blocks;  // tokens per block; only those of one slot share a block
  int heads, head_blocks;        // query heads per block, a divisor of the heads of one kv head
} cel_attention_split;

typedef struct cel_attention_range {
  int64_t token_begin, token_end;
  int head_begin, head_end;
} cel_attention_range;

// The most of a kv head's query heads that are at most `most` and divide them evenly.
static inline int cel_attention_heads(int group, int most) {
  int heads = most < group ? most : group;
  while (group % heads != 0) heads--;
  return heads;
}

// What one worker does at most, in units of a row against a key: the items that fall to it, each its rows and about one more for
// reading and widening keys and values.
static inline int64_t cel_attention_cost(const cel_attention *a, const cel_attention_split *s, int heads) {
  const int64_t items = s->token_blocks * (a->n_q / heads), workers = a->workers > 1 ? a->workers : 1;
  return (items + workers - 1) / workers * (s->tokens * heads + 1);
}

// As many query heads of a kv head go together as leave no worker behind.
static inline cel_attention_split cel_attention_split_of(const cel_attention *a) {
  cel_attention_split s;
  int group = a->n_q / a->n_kv;
  s.heads = cel_attention_heads(group, CEL_ATTENTION_ROWS);
  s.tokens = a->slot_step == 0 ? CEL_ATTENTION_ROWS / s.heads : 1;
  if (s.tokens > a->n) s.tokens = a->n;
  s.token_blocks = (a->n + s.tokens - 1) / s.tokens;
  for (int heads = s.heads; heads > 1;) {
    heads = cel_attention_heads(group, heads - 1);
    if (cel_attention_cost(a, &s, heads) < cel_attention_cost(a, &s, s.heads)) s.heads = heads;
  }
  s.head_blocks = a->n_q / s.heads;
  return s;
}

static inline cel_attention_range cel_attention_range_of(const cel_attention *a, const cel_attention_split *s,
                                                         int64_t item) {
  cel_attention_range r;
  int64_t block = item / s->head_blocks;
  r.head_begin = (int)(item % s->head_blocks) * s->heads;
  r.head_end = r.head_begin + s->heads;
  r.token_begin = block * s->tokens;
  r.token_end = r.token_begin + s->tokens < a->n ? r.token_begin + s->tokens : a->n;
  return r;
}

// x in whole steps, at most `most` of them either way; 0 where that is no number.
static inline int cel_kv_steps(float x, float step, int most) {
  float v = rintf(x / step), top = (float)most;
  return (int)(v <= top ? v >= -top ? v : -top : v > top ? top : 0);
}

// The step behind the d numbers of a vector.
static inline float cel_attention_step(const int16_t *x, int d) {
  float step;
  memcpy(&step, x + d, sizeof step);
  return step;
}
// That of column c.
static inline float cel_attention_step_i8(const int8_t *x, int d, int c) {
  float step;
  memcpy(&step, x + d + c / cel_kept_group_i8(d) * 4, sizeof step);
  return step;
}

// The first key token i may see.
static inline int64_t cel_attention_first(const cel_attention *a, int64_t i) {
  int64_t lo = a->window > 0 ? a->positions[i] - a->window + 1 : 0;
  return lo > 0 ? lo : 0;
}

// A pair of a token and a query head on its way through the tiles.
typedef struct cel_attention_row {
  const float *q;
  float *out;
  int64_t begin, end;  // its keys
  float most, total;
} cel_attention_row;

// The rows of one item, their outputs cleared, and all keys that one of them sees. Returns how many there are.
static inline int cel_attention_rows_of(const cel_attention *a, cel_attention_range g, cel_attention_row *rows, int64_t *begin,
                                        int64_t *end) {
  int n = 0;
  *begin = INT64_MAX;
  *end = 0;
  for (int64_t i = g.token_begin; i < g.token_end; i++)
    for (int h = g.head_begin; h < g.head_end; h++) {
      const int64_t at = i * a->n_q + h;
      cel_attention_row *r = &rows[n++];
      *r = (cel_attention_row){a->q + at * a->d, a->out + at * a->dv, cel_attention_first(a, i), (int64_t)a->positions[i] + 1,
                               a->sinks ? a->sinks[h] : -INFINITY, a->sinks ? 1 : 0};
      memset(r->out, 0, (size_t)a->dv * sizeof(float));
      if (r->begin < *begin) *begin = r->begin;
      if (r->end > *end) *end = r->end;
    }
  return n;
}

// The element where the keys (and values) that an item reads begin.
static inline int64_t cel_attention_base(const cel_attention *a, cel_attention_range g) {
  const int64_t slot = a->slots[g.token_begin * a->slot_step], head = g.head_begin / (a->n_q / a->n_kv);
  return slot * a->slot_stride + head * a->head_stride;
}

#endif
