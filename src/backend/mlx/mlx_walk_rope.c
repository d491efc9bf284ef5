// Rotary positions. In f32 the angles and their cosines are made on the host as the reference does, f32(position) times
// f32(frequency); 16-bit activations take MLX's fused rotation, where the table has no amplitude and is the same for all
// lengths.
#include <math.h>
#include <stdlib.h>

#include "backend/mlx/mlx_walk.h"

// [N, R/2] of f(angle) * amplitude.
static arr table(cel_mlx_walk *w, const cel_rope *r, float (*f)(float)) {
  float *out = w->m->angles, *freqs = w->m->freqs, amplitude;
  int64_t half = r->dims / 2, dims[2] = {w->n, half};
  for (int i = 0; i < w->n_spans; i++) {
    const cel_mlx_span *s = &w->spans[i];
    cel_rope_frequencies(r, s->length, freqs, &amplitude);
    for (int64_t t = 0; t < s->n; t++) {
      for (int64_t j = 0; j < half; j++) out[(s->at + t) * half + j] = f((float)(s->from + t) * freqs[j]) * amplitude;
    }
  }
  return cel_mlx_copy(w->c, CEL_MLX_F32, 2, dims, out);
}

static bool takes_periods(const cel_mlx_walk *w, const cel_rope *r) {
  float amplitude;
  if (w->type == CEL_MLX_F32 || cel_rope_depends_on_length(r)) return false;
  cel_rope_frequencies(r, 0, w->m->freqs, &amplitude);
  return amplitude == 1;
}

static void one(cel_mlx_walk *w, int i) {
  const cel_rope *r = &w->arch->ropes[i];
  int64_t half = r->dims / 2;
  if (takes_periods(w, r)) {
    for (int64_t j = 0; j < half; j++) w->m->freqs[j] = 1 / w->m->freqs[j];
    w->periods[i] = cel_mlx_copy(w->c, CEL_MLX_F32, 1, &half, w->m->freqs);
    return;
  }
  w->cos[i] = table(w, r, cosf);
  w->sin[i] = table(w, r, sinf);
}

static arr starts(cel_mlx_walk *w) {
  int32_t *at = malloc((size_t)w->n_spans * sizeof *at);
  int64_t n = w->n_spans;
  if (!at) cel_mlx_refuse(w->c, CEL_OOM, "out of memory for a table of positions");
  for (int i = 0; at && i < w->n_spans; i++) at[i] = (int32_t)w->spans[i].from;
  return at ? cel_mlx_own(w->c, CEL_MLX_I32, 1, &n, at) : NULL;
}

// Ministral 3: 1 + beta * ln(1 + floor(position / original)).
static arr query_scale(cel_mlx_walk *w) {
  float *out = w->m->angles;
  int64_t dims[2] = {w->n, 1};
  for (int i = 0; i < w->n_spans; i++) {
    const cel_mlx_span *s = &w->spans[i];
    for (int64_t t = 0; t < s->n; t++) {
      float steps = floorf((float)(s->from + t) / (float)w->arch->q_pos_original);
      out[s->at + t] = 1 + (float)w->arch->q_pos_beta * logf(1 + steps);
    }
  }
  return cel_mlx_copy(w->c, CEL_MLX_F32, 2, dims, out);
}

void cel_mlx_rope_tables(cel_mlx_walk *w) {
  for (int i = 0; i < w->arch->n_ropes; i++) one(w, i);
  if (w->n_spans > 1 && w->type != CEL_MLX_F32) w->starts = starts(w);
  if (w->arch->q_pos_beta != 0) w->q_scale = query_scale(w);
}

// a cos - b sin, b cos + a sin.
static void turn(cel_mlx_walk *w, arr *a, arr *b, arr cs, arr sn) {
  arr x = *a, y = *b;
  *a = cel_mlx_sub(w, cel_mlx_mul(w, x, cs), cel_mlx_mul(w, y, sn));
  *b = cel_mlx_add(w, cel_mlx_mul(w, y, cs), cel_mlx_mul(w, x, sn));
}

// The first `dims` columns of x [heads, N, D]: pairs (j, j + R/2), or neighbours.
static arr rotated(cel_mlx_walk *w, arr x, const cel_rope *r, arr cs, arr sn) {
  int64_t heads = cel_mlx_dim(x, 0), half = r->dims / 2, pair[4] = {heads, w->n, half, 1};
  bool i = r->interleaved;
  arr parts[2] = {cel_mlx_slice(w->c, x, 2, 0, i ? r->dims : half, i ? 2 : 1),
                  cel_mlx_slice(w->c, x, 2, i ? 1 : half, r->dims, i ? 2 : 1)};
  turn(w, &parts[0], &parts[1], cs, sn);
  if (!i) return cel_mlx_concat(w->c, parts, 2, 2);
  for (int k = 0; k < 2; k++) parts[k] = cel_mlx_reshape(w->c, parts[k], 4, pair);
  return cel_mlx_shape3(w, cel_mlx_concat(w->c, parts, 2, 3), heads, w->n, r->dims);
}

// x [heads, N, D]; of several spans as [N, heads, 1, D], each at a position of its own.
static arr by_periods(cel_mlx_walk *w, arr x, const cel_rope *r, arr periods) {
  if (w->n_spans == 1) return cel_mlx_rope(w->c, x, r->dims, r->interleaved, w->spans[0].from, periods);
  int64_t heads = cel_mlx_dim(x, 0), d = cel_mlx_dim(x, 2), alone[4] = {w->n, heads, 1, d};
  arr y = cel_mlx_reshape(w->c, cel_mlx_swap(w->c, x, 0, 1), 4, alone);
  y = cel_mlx_rope_each(w->c, y, r->dims, r->interleaved, w->starts, periods);
  return cel_mlx_swap(w->c, cel_mlx_shape3(w, y, w->n, heads, d), 0, 1);
}

arr cel_mlx_rotate(cel_mlx_walk *w, int table_index, arr x) {
  if (table_index < 0 || !x) return x;
  const cel_rope *r = &w->arch->ropes[table_index];
  if (w->periods[table_index]) return by_periods(w, x, r, w->periods[table_index]);
  int64_t d = cel_mlx_dim(x, 2);
  arr y = cel_mlx_cast(w->c, rotated(w, x, r, w->cos[table_index], w->sin[table_index]), w->type);
  if (d == r->dims) return y;
  arr parts[2] = {y, cel_mlx_slice(w->c, x, 2, r->dims, d, 1)};
  return cel_mlx_concat(w->c, parts, 2, 2);
}
