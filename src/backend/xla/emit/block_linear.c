// Matrix products with stored weights, and the embedding lookup: composites around block_dequant.c.
#include "backend/xla/emit/emit_internal.h"

static bool is_plain(const cel_storage *s) { return s->format[0] == 'F' || s->format[0] == 'B'; }

int cel_emit_weight_operands(const cel_emit_weight *w, hlo *out) {
  out[0] = w->w;
  if (!w->scales) return 1;
  out[1] = w->scales;
  if (!w->biases) return 2;
  out[2] = w->biases;
  return 3;
}

int cel_emit_storage_attrs(cel_hlo_builder *b, const cel_storage *s, cel_hlo_attr **attrs) {
  attrs[0] = cel_hlo_new_string(b, "format", s->format);
  if (!s->group) return 1;
  attrs[1] = cel_hlo_new_int(b, "bits", CEL_ET_I32, s->bits);
  attrs[2] = cel_hlo_new_int(b, "group", CEL_ET_I32, s->group);
  return 3;
}

static hlo arg_like(cel_hlo_builder *b, const char *name, hlo v) { return v ? cel_hlo_arg(b, name, v->type) : NULL; }

static const cel_hlo_func *linear_decomposition(cel_emit *e, const cel_emit_weight *w, hlo x) {
  const cel_storage *s = &w->storage;
  cel_emit_scope scope;
  const cel_hlo_func *made =
      cel_emit_begin(e, &scope, is_plain(s) ? "linear" : "quantized_linear", "linear %s %d %d %d %lld %lld %lld", s->format,
                     s->bits, s->group, (int)s->scale_type, (long long)e->n, (long long)s->rows,
                     (long long)(x ? x->type->dims[0] * 0x100000000 + s->cols : 0));
  if (made || !x) return made;
  cel_hlo_builder *b = &e->b;
  hlo in = arg_like(b, "x", x), packed = arg_like(b, "weight", w->w);
  hlo scales = arg_like(b, "scales", w->scales), biases = arg_like(b, "biases", w->biases);
  hlo wide = cel_emit_dequantize(b, s, packed, scales, biases, s->rows);
  cel_hlo_dot_dims dims = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
  return cel_emit_end(e, &scope, cel_hlo_dot(b, in, wide, &dims, CEL_ET_F32));
}

static hlo product(cel_emit *e, const cel_emit_weight *w, hlo x) {
  cel_hlo_builder *b = &e->b;
  const cel_hlo_func *f = linear_decomposition(e, w, x);
  hlo operands[4] = {x};
  cel_hlo_attr *attrs[3];
  int n = 1 + cel_emit_weight_operands(w, operands + 1), n_attrs = cel_emit_storage_attrs(b, &w->storage, attrs);
  return cel_hlo_composite(b, is_plain(&w->storage) ? "mlxcel.linear" : "mlxcel.quantized_linear", operands, n, attrs, n_attrs,
                           f);
}

// scale * B (A x) of an adapter.
static hlo adapted(cel_emit *e, const cel_emit_weight *w, hlo x) {
  cel_hlo_builder *b = &e->b;
  hlo low = product(e, w->low, x);
  if (!low) return NULL;
  hlo scale = cel_hlo_broadcast(b, cel_hlo_reshape(b, w->adapter_scale, 0, NULL), low->type->rank, low->type->dims, NULL);
  return product(e, w->high, cel_hlo_binary(b, CEL_HLO_MULTIPLY, low, scale));
}

hlo cel_emit_linear(cel_emit *e, cel_weight_role role, int layer, hlo x) {
  const cel_emit_weight *w = cel_emit_weight_of(e, role, layer);
  cel_hlo_builder *b = &e->b;
  hlo y = product(e, w, x);
  if (w->low) y = cel_hlo_binary(b, CEL_HLO_ADD, y, adapted(e, w, x));
  return w->bias ? cel_hlo_binary(b, CEL_HLO_ADD, y, cel_emit_along_last(b, w->bias, y)) : y;
}

static const cel_hlo_func *embedding_decomposition(cel_emit *e, const cel_emit_weight *w, hlo ids) {
  const cel_storage *s = &w->storage;
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, is_plain(s) ? "embedding" : "quantized_embedding", "embedding %lld",
                                            (long long)s->cols);
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  hlo in = arg_like(b, "ids", ids), packed = arg_like(b, "weight", w->w);
  hlo scales = arg_like(b, "scales", w->scales), biases = arg_like(b, "biases", w->biases);
  packed = cel_hlo_take_rows(b, packed, in);
  if (scales) scales = cel_hlo_take_rows(b, scales, in);
  if (biases) biases = cel_hlo_take_rows(b, biases, in);
  return cel_emit_end(e, &scope, cel_emit_dequantize(b, s, packed, scales, biases, e->n));
}

hlo cel_emit_lookup(cel_emit *e, cel_weight_role role, hlo ids) {
  cel_emit_weight *w = cel_emit_weight_of(e, role, -1);
  cel_hlo_builder *b = &e->b;
  const cel_hlo_func *f = embedding_decomposition(e, w, ids);
  hlo operands[4] = {ids};
  cel_hlo_attr *attrs[3];
  int n = 1 + cel_emit_weight_operands(w, operands + 1), n_attrs = cel_emit_storage_attrs(b, &w->storage, attrs);
  return cel_hlo_composite(b, is_plain(&w->storage) ? "mlxcel.embedding" : "mlxcel.quantized_embedding", operands, n, attrs,
                           n_attrs, f);
}

hlo cel_emit_embedding(cel_emit *e, hlo ids) {
  hlo x = cel_emit_lookup(e, CEL_W_EMBED, ids);
  return e->arch->embed_mul != 1 ? cel_hlo_binary_scalar(&e->b, CEL_HLO_MULTIPLY, x, e->arch->embed_mul) : x;
}
