// What families with latent attention share (text-architectures §2.9): ranks and the parts of a head, names, the rotation
// of those parts alone, and the scale.
#include <math.h>

#include "arch/describe.h"

// Widths of the composites' kernels and of index arithmetic, far above any real model.
enum { RANK_MOST = 1 << 16, PART_MOST = 4096 };

static void name_weights(cel_arch *a) {
  static const char *const names[CEL_W_COUNT] = {
      [CEL_W_Q_A] = "model.layers.{i}.self_attn.q_a_proj",
      [CEL_W_Q_A_NORM] = "model.layers.{i}.self_attn.q_a_layernorm",
      [CEL_W_Q_B] = "model.layers.{i}.self_attn.q_b_proj",
      [CEL_W_KV_A] = "model.layers.{i}.self_attn.kv_a_proj_with_mqa",
      [CEL_W_KV_A_NORM] = "model.layers.{i}.self_attn.kv_a_layernorm",
      [CEL_W_KV_B] = "model.layers.{i}.self_attn.kv_b_proj",
      [CEL_W_EMBED_Q] = "model.layers.{i}.self_attn.embed_q",
      [CEL_W_UNEMBED_OUT] = "model.layers.{i}.self_attn.unembed_out",
  };
  for (int i = 0; i < CEL_W_COUNT; i++)
    if (names[i]) a->names[i] = names[i];
}

static cel_status read_part(cel_keys k, const char *key, int lo, int hi, int otherwise, int *out, cel_err *err) {
  int64_t n = otherwise;
  CEL_TRY(cel_keys_int(k, key, lo, hi, &n, err));
  *out = (int)n;
  return CEL_OK;
}

static cel_status read_parts(cel_keys k, const cel_mla *d, cel_mla *m, cel_err *err) {
  int plain = cel_keys_is_null(k, "q_lora_rank") ? 0 : d->q_rank;  // null is a value
  CEL_TRY(read_part(k, "q_lora_rank", 1, RANK_MOST, plain, &m->q_rank, err));
  CEL_TRY(read_part(k, "kv_lora_rank", 1, RANK_MOST, d->kv_rank, &m->kv_rank, err));
  CEL_TRY(read_part(k, "qk_nope_head_dim", 1, PART_MOST, d->nope, &m->nope, err));
  CEL_TRY(read_part(k, "qk_rope_head_dim", 2, PART_MOST, d->rope, &m->rope, err));
  CEL_TRY(read_part(k, "v_head_dim", 1, PART_MOST, d->v, &m->v, err));
  if (m->rope % 2 == 0) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "config key qk_rope_head_dim is %d; it must be even", m->rope);
}

// yarn's square: with mscale_all_dim the scores grow by m^2, beside the amplitude that cos and sin already have.
static cel_status read_scale(const cel_json *cfg, cel_arch *a, cel_err *err) {
  const cel_rope *r = &a->ropes[0];
  cel_keys top = {cfg, ""}, scaling = {NULL, "rope_scaling."}, dict = {NULL, "rope_parameters."};
  double all_dim = 0;
  CEL_TRY(cel_keys_object(top, "rope_scaling", &scaling.obj, err));
  CEL_TRY(cel_keys_object(top, "rope_parameters", &dict.obj, err));
  if (cel_json_object_size(scaling.obj) > 0) dict = scaling;
  if (r->type != CEL_ROPE_DEFAULT) CEL_TRY(cel_keys_num(dict, "mscale_all_dim", 0, 1e3, &all_dim, err));
  double m = all_dim == 0 || r->factor <= 1 ? 1 : 0.1 * all_dim * log(r->factor) + 1;
  a->attn_scale = m * m / sqrt((double)a->head_dim);
  return CEL_OK;
}

cel_status cel_arch_read_mla(const cel_json *cfg, const cel_mla *d, const cel_rope_defaults *ropes, int rope_of[2],
                             cel_arena *arena, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  CEL_TRY(read_parts(k, d, &a->mla, err));
  if ((int64_t)a->n_q * (a->mla.nope + CEL_MAX(a->mla.rope, a->mla.v)) > CEL_ARCH_MAX_DIM)
    return cel_fail(err, CEL_MALFORMED, "config gives %d heads of %d + %d columns; together they must be at most %d", a->n_q,
                    a->mla.nope, CEL_MAX(a->mla.rope, a->mla.v), CEL_ARCH_MAX_DIM);
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  name_weights(a);
  a->n_kv = 1;
  a->head_dim = a->mla.rope;  // what is rotated
  CEL_TRY(cel_arch_read_ropes(cfg, ropes, arena, a, rope_of, err));
  a->head_dim = a->mla.nope + a->mla.rope;
  return read_scale(cfg, a, err);
}
