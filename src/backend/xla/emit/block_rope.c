// Rotary positions (Su et al. 2021): cos and sin of position * frequency, made once per table at the head of
// the walk, and the rotation of pairs (j, j + R/2) or (2j, 2j + 1) of each head's first R columns.

#include "backend/xla/emit/emit_internal.h"

// Frequencies as [N, R/2]: a constant repeated for each row, or the input that holds them per row.
static hlo frequencies(cel_emit *e, int table, float *amplitude) {
  const cel_rope *r = &e->arch->ropes[table];
  cel_hlo_builder *b = &e->b;
  int64_t half = r->dims / 2, dims[2] = {e->n, half}, map[1] = {1};
  float *f = cel_arena_array(&b->module->arena, (size_t)half, sizeof *f);
  if (!f) {
    cel_hlo_refuse(b, CEL_OOM, "out of memory for rope frequencies");
    return NULL;
  }
  cel_rope_frequencies(r, 0, f, amplitude);
  hlo given = e->rope_freqs[table];
  if (given) return cel_rope_columns(r) > half ? cel_hlo_slice_dim(b, given, 1, 0, half, 1) : given;
  return cel_hlo_broadcast(b, cel_hlo_dense(b, CEL_ET_F32, 1, &half, f), 2, dims, map);
}

// x [N, R/2] times the amplitude: a constant, or the column behind the frequencies.
static hlo scaled(cel_emit *e, int table, hlo x, float by) {
  const cel_rope *r = &e->arch->ropes[table];
  hlo given = e->rope_freqs[table];
  cel_hlo_builder *b = &e->b;
  int64_t half = r->dims / 2, map[2] = {0, 1};
  if (!given || cel_rope_columns(r) == half || !x) return by == 1 ? x : cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, x, by);
  hlo column = cel_hlo_slice_dim(b, given, 1, half, half + 1, 1);
  return cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, cel_hlo_broadcast(b, column, 2, x->type->dims, map));
}

// Ministral 3: 1 + beta * ln(1 + floor(position / original)).
static hlo query_scale(cel_emit *e) {
  cel_hlo_builder *b = &e->b;
  hlo x = cel_hlo_convert(b, e->positions, CEL_ET_F32);
  x = cel_hlo_unary(b, CEL_HLO_FLOOR, cel_hlo_binary_scalar(b, CEL_HLO_DIVIDE, x, e->arch->q_pos_original));
  x = cel_hlo_unary(b, CEL_HLO_LOG, cel_hlo_binary_scalar(b, CEL_HLO_ADD, x, 1));
  return cel_hlo_binary_scalar(b, CEL_HLO_ADD, cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, x, e->arch->q_pos_beta), 1);
}

void cel_emit_rope_tables(cel_emit *e) {
  cel_hlo_builder *b = &e->b;
  for (int i = 0; i < e->arch->n_ropes; i++) {
    cel_hlo_path(b, "rope.%d", i);
    float amplitude = 1;
    hlo f = frequencies(e, i, &amplitude);
    int64_t map[1] = {0};
    hlo position = cel_hlo_convert(b, e->positions, CEL_ET_F32);
    if (!f) return;
    hlo angle = cel_hlo_binary(b, CEL_HLO_MULTIPLY, cel_hlo_broadcast(b, position, 2, f->type->dims, map), f);
    e->cos[i] = scaled(e, i, cel_hlo_unary(b, CEL_HLO_COSINE, angle), amplitude);
    e->sin[i] = scaled(e, i, cel_hlo_unary(b, CEL_HLO_SINE, angle), amplitude);
  }
  if (e->arch->q_pos_beta != 0) e->q_scale = query_scale(e);
}

// a' = a cos - b sin, b' = b cos + a sin.
static void rotate(cel_hlo_builder *b, hlo *x, hlo *y, hlo cs, hlo sn) {
  hlo a = *x, c = *y;
  *x = cel_hlo_binary(b, CEL_HLO_SUBTRACT, cel_hlo_binary(b, CEL_HLO_MULTIPLY, a, cs), cel_hlo_binary(b, CEL_HLO_MULTIPLY, c, sn));
  *y = cel_hlo_binary(b, CEL_HLO_ADD, cel_hlo_binary(b, CEL_HLO_MULTIPLY, c, cs), cel_hlo_binary(b, CEL_HLO_MULTIPLY, a, sn));
}

static hlo rotate_half(cel_hlo_builder *b, hlo x, hlo cs, hlo sn, int64_t dims) {
  hlo parts[3] = {cel_hlo_slice_dim(b, x, 2, 0, dims / 2, 1), cel_hlo_slice_dim(b, x, 2, dims / 2, dims, 1)};
  rotate(b, &parts[0], &parts[1], cs, sn);
  bool all = x && x->type->dims[2] == dims;
  if (x && !all) parts[2] = cel_hlo_slice_dim(b, x, 2, dims, x->type->dims[2], 1);
  return cel_hlo_concat(b, parts, all ? 2 : 3, 2);
}

static hlo rotate_interleaved(cel_hlo_builder *b, hlo x, hlo cs, hlo sn, int64_t dims) {
  if (!x) return NULL;
  const int64_t *d = x->type->dims;
  int64_t pair[4] = {d[0], d[1], dims / 2, 1}, flat[3] = {d[0], d[1], dims};
  hlo parts[2] = {cel_hlo_slice_dim(b, x, 2, 0, dims, 2), cel_hlo_slice_dim(b, x, 2, 1, dims, 2)};
  rotate(b, &parts[0], &parts[1], cs, sn);
  for (int i = 0; i < 2; i++) parts[i] = cel_hlo_reshape(b, parts[i], 4, pair);
  hlo whole[2] = {cel_hlo_reshape(b, cel_hlo_concat(b, parts, 2, 3), 3, flat)};
  if (d[2] == dims) return whole[0];
  whole[1] = cel_hlo_slice_dim(b, x, 2, dims, d[2], 1);
  return cel_hlo_concat(b, whole, 2, 2);
}

static const cel_hlo_func *decomposition(cel_emit *e, const cel_rope *r, hlo x, hlo cs, hlo sn) {
  if (!x || !cs || !sn) return NULL;
  const int64_t *d = x->type->dims;
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, "rope", "rope %lld %lld %d %d", (long long)d[1], (long long)d[2],
                                            r->dims, r->interleaved);
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  hlo in = cel_hlo_arg(b, "x", x->type), c = cel_hlo_arg(b, "cos", cs->type), s = cel_hlo_arg(b, "sin", sn->type);
  int64_t wide[3] = {d[0], d[1], r->dims / 2}, map[2] = {0, 2};
  c = cel_hlo_broadcast(b, c, 3, wide, map);
  s = cel_hlo_broadcast(b, s, 3, wide, map);
  hlo y = r->interleaved ? rotate_interleaved(b, in, c, s, r->dims) : rotate_half(b, in, c, s, r->dims);
  return cel_emit_end(e, &scope, y);
}

hlo cel_emit_rope(cel_emit *e, int table, hlo x) {
  if (table < 0) return x;
  cel_hlo_builder *b = &e->b;
  const cel_rope *r = &e->arch->ropes[table];
  hlo operands[3] = {x, e->cos[table], e->sin[table]};
  const cel_hlo_func *f = decomposition(e, r, x, operands[1], operands[2]);
  cel_hlo_attr *attrs[2] = {cel_hlo_new_int(b, "dims", CEL_ET_I32, r->dims),
                            cel_hlo_new_bool(b, "interleaved", r->interleaved)};
  return cel_hlo_composite(b, "mlxcel.rope", operands, 3, attrs, 2, f);
}
