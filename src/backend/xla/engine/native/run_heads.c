// Products of each head with its own rows of a weight. A weight is read once per call, whatever the number of tokens;
// a result depends neither on that number nor on how heads and rows are dealt out.
#include <string.h>

#include "backend/xla/engine/native/run_member.h"

// y[t][h] = rows of head h times x[t][h].
static void straight(const member *m, const cel_step *s) {
  const cel_kernels *k = &m->r->plan->kernels;
  const float *x = at(m, s->in[0]);
  float *y = at(m, s->out[0]);
  int64_t rows = s->u.heads.rows, heads = s->u.heads.heads, cols = s->u.heads.w.cols, tokens = s->u.heads.tokens;
  int64_t bytes = s->u.heads.pack_bytes;
  range mine = share(m, false, heads * rows, cel_linear_row_tile(&s->u.heads.w));
  for (int64_t at_row = mine.begin, n; at_row < mine.end; at_row += n) {
    int64_t h = at_row / rows, r = at_row % rows;
    n = CEL_MIN(rows - r, mine.end - at_row);
    cel_linear w = cel_linear_rows(&s->u.heads.w, h * s->u.heads.per_head + s->u.heads.first + r, n);
    k->linear_pack(&w, x + h * cols, heads * cols, tokens, m->scratch, bytes);
    k->linear_mul(&w, m->scratch, bytes, tokens, y + at_row, heads * rows, 0, n, m->scratch + bytes * tokens);
  }
}

// y[t][h] = x[t][h] times rows of head h, in order, a panel of them at a time.
static void transposed(const member *m, const cel_step *s) {
  const cel_kernels *k = &m->r->plan->kernels;
  const float *x = at(m, s->in[0]);
  float *y = at(m, s->out[0]), *panel = (float *)(void *)m->scratch;
  int64_t rows = s->u.heads.rows, heads = s->u.heads.heads, cols = s->u.heads.w.cols, tokens = s->u.heads.tokens;
  range mine = share(m, false, heads, 1);
  for (int64_t h = mine.begin; h < mine.end; h++) {
    int64_t first = h * s->u.heads.per_head + s->u.heads.first;
    for (int64_t t = 0; t < tokens; t++) memset(y + (t * heads + h) * cols, 0, (size_t)cols * sizeof *y);
    for (int64_t r = 0; r < rows; r += CEL_HEADS_PANEL) {
      int64_t n = CEL_MIN(CEL_HEADS_PANEL, rows - r);
      for (int64_t i = 0; i < n; i++) k->linear_row(&s->u.heads.w, first + r + i, panel + i * cols);
      for (int64_t t = 0; t < tokens; t++)
        k->add_rows(y + (t * heads + h) * cols, x + (t * heads + h) * rows + r, panel, cols, n, cols);
    }
  }
}

void cel_run_heads(const member *m, const cel_step *s) { (s->u.heads.transposed ? transposed : straight)(m, s); }
