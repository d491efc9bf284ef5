#include "backend/mlx/mlx_walk.h"

#include <stdlib.h>
#include <string.h>

static arr mix(cel_mlx_walk *w, int layer, arr h) {
  switch (w->arch->layers[layer].mixer) {
    case CEL_MIXER_CONV: return cel_mlx_conv(w, layer, h);
    case CEL_MIXER_DELTA: return cel_mlx_delta(w, layer, h);
    case CEL_MIXER_ATTENTION: break;
  }
  return w->arch->mla.kv_rank > 0 ? cel_mlx_latent(w, layer, h) : cel_mlx_attend_layer(w, layer, h);
}

static arr feed_forward(cel_mlx_walk *w, int layer, arr h) {
  return w->arch->layers[layer].ffn == CEL_FFN_MOE ? cel_mlx_moe(w, layer, h) : cel_mlx_mlp(w, layer, h);
}

static arr add_to(cel_mlx_walk *w, arr x, arr y) {
  if (w->arch->residual_mul != 1) y = cel_mlx_by(w, y, w->arch->residual_mul);
  return cel_mlx_add(w, x, y);
}

static arr sublayer(cel_mlx_walk *w, int layer, arr x, cel_weight_role norm, cel_weight_role post,
                    arr (*block)(cel_mlx_walk *w, int layer, arr h)) {
  cel_placement p = w->arch->placement;
  arr y = block(w, layer, p == CEL_POST_NORM ? x : cel_mlx_norm(w, norm, layer, x));
  if (p == CEL_PRE_POST_NORM || p == CEL_POST_NORM) y = cel_mlx_norm(w, post, layer, y);
  return add_to(w, x, y);
}

static arr layer_of(cel_mlx_walk *w, int layer, arr x) {
  cel_mlx_path(w->c, "layers.%d", layer);
  if (w->arch->placement == CEL_PARALLEL) {
    arr h = cel_mlx_norm(w, CEL_W_ATTN_NORM, layer, x);
    return add_to(w, add_to(w, x, mix(w, layer, h)), feed_forward(w, layer, h));
  }
  x = sublayer(w, layer, x, CEL_W_ATTN_NORM, CEL_W_ATTN_POST_NORM, mix);
  return sublayer(w, layer, x, CEL_W_MLP_NORM, CEL_W_MLP_POST_NORM, feed_forward);
}

arr cel_mlx_part(cel_mlx_walk *w, const cel_mlx_span *s, arr x, int dim) {
  return w->n_spans == 1 ? x : cel_mlx_slice(w->c, x, dim, s->at, s->at + s->n, 1);
}

arr cel_mlx_each_span(cel_mlx_walk *w, arr (*f)(cel_mlx_walk *w, cel_mlx_span *s, void *context), void *context) {
  if (w->n_spans == 1) return f(w, &w->spans[0], context);
  for (int i = 0; i < w->n_spans; i++) w->m->parts[i] = f(w, &w->spans[i], context);
  return cel_mlx_concat(w->c, w->m->parts, w->n_spans, 0);
}

static arr head(cel_mlx_walk *w, arr x, cel_sequence_logits want) {
  cel_mlx_path(w->c, "head");
  if (want == CEL_SEQUENCE_LAST && w->n_spans == 1) x = cel_mlx_slice(w->c, x, 0, w->n - 1, w->n, 1);
  x = cel_mlx_f32(w, cel_mlx_product(w, CEL_W_HEAD, -1, cel_mlx_norm(w, CEL_W_FINAL_NORM, -1, x)));
  if (w->arch->logit_mul != 1) x = cel_mlx_by(w, x, w->arch->logit_mul);
  return cel_mlx_softcap(w, x, w->arch->final_softcap);
}

arr cel_mlx_walk_text(cel_mlx_model *m, cel_mlx_span *spans, int n_spans, const int32_t *tokens, cel_sequence_logits want) {
  cel_mlx_walk w = {.c = m->c, .m = m, .arch = &m->base.arch, .type = m->type, .spans = spans, .n_spans = n_spans};
  cel_mlx_path(w.c, "embed");
  for (int i = 0; i < n_spans; i++) {
    spans[i].at = w.n;
    w.n += spans[i].n;
    cel_mlx_make_room(&w, spans[i].row, spans[i].from + spans[i].n);
  }
  w.tokens = cel_mlx_copy(w.c, CEL_MLX_I32, 1, &w.n, tokens);
  cel_mlx_rope_tables(&w);
  arr x = cel_mlx_lookup(&w, CEL_W_EMBED, w.tokens);
  if (w.arch->embed_mul != 1) x = cel_mlx_by(&w, x, w.arch->embed_mul);
  if (w.arch->gemma3n.planes > 0) {
    x = cel_mlx_gemma3n(&w, x);
  } else {
    for (int layer = 0; layer < w.arch->n_layers; layer++) x = layer_of(&w, layer, x);
  }
  return want == CEL_SEQUENCE_NONE ? NULL : head(&w, x, want);
}
