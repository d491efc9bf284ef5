// What a sequence leaves behind for its next tokens, row by row. A row grows by doubling: nothing is taken for positions
// that nobody uses.
#include <stdlib.h>

#include "backend/mlx/mlx_walk.h"

static int conv_layers(const cel_arch *a) { return a->delta.kernel > 0 ? a->n_delta_layers : a->n_conv_layers; }

cel_status cel_mlx_make_rows(cel_mlx_model *m, cel_err *err) {
  const cel_arch *a = &m->base.arch;
  m->rows = calloc((size_t)m->base.n_rows, sizeof *m->rows);
  for (int i = 0; m->rows && i < m->base.n_rows; i++) {
    cel_mlx_row *r = &m->rows[i];
    r->keys = calloc((size_t)a->n_kv_layers + 1, sizeof(arr));
    r->values = calloc((size_t)a->n_kv_layers + 1, sizeof(arr));
    r->conv = calloc((size_t)conv_layers(a) + 1, sizeof(arr));
    r->delta = calloc((size_t)a->n_delta_layers + 1, sizeof(arr));
    if (!r->keys || !r->values || !r->conv || !r->delta) return cel_fail_oom(err, "a model's rows");
  }
  return m->rows ? CEL_OK : cel_fail_oom(err, "a model's rows");
}

static void drop(cel_mlx *c, arr *xs, int n) {
  for (int i = 0; xs && i < n; i++) {
    cel_mlx_release(c, xs[i]);
    xs[i] = NULL;
  }
}

void cel_mlx_forget_row(cel_mlx_model *m, int row, bool all) {
  const cel_arch *a = &m->base.arch;
  cel_mlx_row *r = &m->rows[row];
  drop(m->c, r->conv, conv_layers(a));
  drop(m->c, r->delta, a->n_delta_layers);
  if (!all) return;
  drop(m->c, r->keys, a->n_kv_layers);
  drop(m->c, r->values, a->n_kv_layers);
  r->capacity = 0;
}

void cel_mlx_free_rows(cel_mlx_model *m) {
  for (int i = 0; m->rows && i < m->base.n_rows; i++) {
    cel_mlx_row *r = &m->rows[i];
    if (r->keys && r->values && r->conv && r->delta) cel_mlx_forget_row(m, i, true);
    free(r->keys);
    free(r->values);
    free(r->conv);
    free(r->delta);
  }
  free(m->rows);
}

static void share(cel_mlx *c, arr *to, const arr *from, int n) {
  for (int i = 0; i < n; i++) to[i] = from[i] ? cel_mlx_keep(c, from[i]) : NULL;
}

// Both rows have the same arrays until one of them writes, which then makes its own.
cel_status cel_mlx_copy_row(cel_mlx_model *m, int from, int to, cel_err *err) {
  const cel_arch *a = &m->base.arch;
  cel_mlx_row *x = &m->rows[from], *y = &m->rows[to];
  cel_mlx_forget_row(m, to, true);
  y->capacity = x->capacity;
  share(m->c, y->keys, x->keys, a->n_kv_layers);
  share(m->c, y->values, x->values, a->n_kv_layers);
  share(m->c, y->conv, x->conv, conv_layers(a));
  share(m->c, y->delta, x->delta, a->n_delta_layers);
  return cel_mlx_status(m->c, err);
}

int cel_mlx_row_most(const cel_mlx_model *m) {
  const cel_arch *a = &m->base.arch;
  return 2 * a->n_kv_layers + conv_layers(a) + a->n_delta_layers;
}

static int collect(arr *out, int n, const arr *xs, int count) {
  for (int i = 0; i < count; i++) {
    if (xs[i]) out[n++] = xs[i];
  }
  return n;
}

int cel_mlx_row_arrays(const cel_mlx_model *m, int row, arr *out) {
  const cel_arch *a = &m->base.arch;
  const cel_mlx_row *r = &m->rows[row];
  int n = collect(out, 0, r->keys, a->n_kv_layers);
  n = collect(out, n, r->values, a->n_kv_layers);
  n = collect(out, n, r->conv, conv_layers(a));
  return collect(out, n, r->delta, a->n_delta_layers);
}

static int64_t bytes_of(const arr *xs, int n) {
  static const int sizes[] = {[CEL_MLX_F32] = 4, [CEL_MLX_F16] = 2, [CEL_MLX_BF16] = 2, [CEL_MLX_I32] = 4,
                              [CEL_MLX_U32] = 4, [CEL_MLX_U8] = 1, [CEL_MLX_BOOL] = 1};
  int64_t sum = 0;
  for (int i = 0; i < n; i++) {
    if (!xs[i]) continue;
    int64_t bytes = sizes[cel_mlx_type_of(xs[i])];
    for (int d = 0; d < cel_mlx_rank(xs[i]); d++) bytes *= cel_mlx_dim(xs[i], d);
    sum += bytes;
  }
  return sum;
}

int64_t cel_mlx_state_bytes(const cel_mlx_model *m) {
  const cel_arch *a = &m->base.arch;
  int64_t sum = 0;
  for (int i = 0; i < m->base.n_rows; i++) {
    const cel_mlx_row *r = &m->rows[i];
    sum += bytes_of(r->keys, a->n_kv_layers) + bytes_of(r->values, a->n_kv_layers);
    sum += bytes_of(r->conv, conv_layers(a)) + bytes_of(r->delta, a->n_delta_layers);
  }
  return sum;
}

// ---- in a walk -----------------------------------------------------------------------------------------

// Puts x in the place of what a state holds.
void cel_mlx_replace(cel_mlx_walk *w, arr *slot, arr x) {
  arr kept = cel_mlx_keep(w->c, x);
  if (!kept) return;
  cel_mlx_release(w->c, *slot);
  *slot = kept;
}

// Room for positions up to `end` in every layer's array.
void cel_mlx_make_room(cel_mlx_walk *w, cel_mlx_row *row, int64_t end) {
  enum { FIRST = 256 };
  int64_t room = CEL_MAX(row->capacity, FIRST);
  while (room < end) room *= 2;
  room = CEL_MIN(room, w->m->base.capacity);
  if (room <= row->capacity) return;
  for (int i = 0; i < 2 * w->arch->n_kv_layers; i++) {
    arr *slot = i % 2 ? &row->values[i / 2] : &row->keys[i / 2];
    if (!*slot) continue;
    int64_t dims[4] = {1, cel_mlx_dim(*slot, 1), room, cel_mlx_dim(*slot, 3)};
    cel_mlx_replace(w, slot, cel_mlx_update(w->c, cel_mlx_zeros(w->c, w->type, 4, dims), *slot, 2, 0));
  }
  row->capacity = room;
}

static void append(cel_mlx_walk *w, const cel_mlx_span *s, arr *slot, arr fresh) {
  int64_t heads = cel_mlx_dim(fresh, 0), width = cel_mlx_dim(fresh, 2);
  int64_t dims[4] = {1, heads, s->row->capacity, width}, one[4] = {1, heads, s->n, width};
  arr old = *slot ? *slot : cel_mlx_zeros(w->c, w->type, 4, dims);
  cel_mlx_replace(w, slot, cel_mlx_update(w->c, old, cel_mlx_reshape(w->c, cel_mlx_part(w, s, fresh, 1), 4, one), 2, s->from));
}

void cel_mlx_append(cel_mlx_walk *w, int state, bool values, arr fresh) {
  for (int i = 0; i < w->n_spans; i++) {
    cel_mlx_row *row = w->spans[i].row;
    append(w, &w->spans[i], values ? &row->values[state] : &row->keys[state], fresh);
  }
}
