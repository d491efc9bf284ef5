// Architectures with experts, latent attention or layers of their own.
#include <math.h>

#include "model/gguf_reading.h"

cel_status cel_gguf_make_experts(cel_gguf_maker *m) {
  int64_t n;
  double scale;
  bool found;
  CEL_TRY(cel_gguf_size(m, "expert_count", &n));
  if (!n) return CEL_OK;
  CEL_TRY(cel_gguf_put_int(m, "num_experts", n));
  CEL_TRY(cel_gguf_copy_size(m, "expert_used_count", "num_experts_per_tok"));
  CEL_TRY(cel_gguf_copy_size(m, "expert_feed_forward_length", "moe_intermediate_size"));
  CEL_TRY(cel_gguf_copy_size(m, "expert_group_count", "n_group"));
  CEL_TRY(cel_gguf_copy_size(m, "expert_group_used_count", "topk_group"));
  CEL_TRY(cel_gguf_copy_bool(m, "expert_weights_norm", "norm_topk_prob"));
  CEL_TRY(cel_gguf_real(m, "expert_weights_scale", &scale, &found));
  return found && scale != 0 ? cel_gguf_put_num(m, m->config, "routed_scaling_factor", scale) : CEL_OK;
}

// The first layers without experts, and the experts that every token has; 0 must be said too.
static cel_status put_dense_and_shared(cel_gguf_maker *m, const char *dense_key, const char *shared_key) {
  int64_t dense, shared;
  CEL_TRY(cel_gguf_size(m, "leading_dense_block_count", &dense));
  CEL_TRY(cel_gguf_put_int(m, dense_key, dense));
  CEL_TRY(cel_gguf_size(m, "expert_shared_count", &shared));
  return shared_key ? cel_gguf_put_int(m, shared_key, shared) : CEL_OK;
}

// Mixtral calls itself llama.
cel_status cel_gguf_llama(cel_gguf_maker *m) {
  if (!cel_json_get(m->config, "num_experts")) return CEL_OK;
  CEL_TRY(cel_gguf_put_null(m, "sliding_window"));
  return cel_gguf_put_word(m, "model_type", "mixtral");
}

cel_status cel_gguf_qwen2moe(cel_gguf_maker *m) {
  CEL_TRY(cel_gguf_put_bool(m, "norm_topk_prob", false));
  return cel_gguf_copy_size(m, "expert_shared_feed_forward_length", "shared_expert_intermediate_size");
}

cel_status cel_gguf_qwen3moe(cel_gguf_maker *m) { return cel_gguf_put_bool(m, "norm_topk_prob", true); }

cel_status cel_gguf_phimoe(cel_gguf_maker *m) {
  CEL_TRY(cel_gguf_put_bool(m, "lm_head_bias", cel_gguf_tensor_of(m, "lm_head.bias") != NULL));
  return cel_gguf_make_window(m);
}

cel_status cel_gguf_deepseek(cel_gguf_maker *m) {
  return put_dense_and_shared(m, "first_k_dense_replace", "n_shared_experts");
}

// Parts of a head: `whole` is that of keys before they are compressed.
static cel_status put_latent(cel_gguf_maker *m, int64_t whole, int64_t v) {
  int64_t rotated, q_rank;
  CEL_TRY(cel_gguf_require_size(m, "attention.kv_lora_rank", "kv_lora_rank", &(int64_t){0}));
  CEL_TRY(cel_gguf_size(m, "attention.q_lora_rank", &q_rank));
  CEL_TRY(q_rank ? cel_gguf_put_int(m, "q_lora_rank", q_rank) : cel_gguf_put_null(m, "q_lora_rank"));
  CEL_TRY(cel_gguf_require_size(m, "rope.dimension_count", "qk_rope_head_dim", &rotated));
  if (whole <= rotated) {
    return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is %lld, a head of keys has only %lld", m->g->file, m->key,
                    (long long)rotated, (long long)whole);
  }
  CEL_TRY(cel_gguf_put_int(m, "qk_nope_head_dim", whole - rotated));
  return cel_gguf_put_int(m, "v_head_dim", v);
}

static cel_status latent_width(cel_gguf_maker *m, const char *own, const char *older, int64_t *out) {
  CEL_TRY(cel_gguf_size(m, own, out));
  return *out ? CEL_OK : cel_gguf_require_size(m, older, NULL, out);
}

// yarn_log_multiplier is a tenth of mscale_all_dim, and mscale is that of all dims in all published models.
static cel_status put_mscale(cel_gguf_maker *m) {
  double tenth;
  bool found;
  cel_json *scaling = cel_json_object_get(m->config, "rope_scaling");
  CEL_TRY(cel_gguf_real(m, "rope.scaling.yarn_log_multiplier", &tenth, &found));
  if (!found || !scaling) return CEL_OK;
  CEL_TRY(cel_gguf_put_num(m, scaling, "mscale", 10 * tenth));
  return cel_gguf_put_num(m, scaling, "mscale_all_dim", 10 * tenth);
}

// DeepSeek V2 and V3 and what is built like them; V3 has a sigmoid router (2), which files with a correction have in any case.
static cel_status put_deepseek_type(cel_gguf_maker *m) {
  int64_t gate, groups;
  if (!cel_json_get(m->config, "num_experts")) return cel_gguf_put_word(m, "model_type", "youtu");  // no experts at all
  CEL_TRY(cel_gguf_size(m, "expert_gating_func", &gate));
  CEL_TRY(put_dense_and_shared(m, "first_k_dense_replace", "n_shared_experts"));
  if (!cel_json_get(m->config, "norm_topk_prob")) CEL_TRY(cel_gguf_put_bool(m, "norm_topk_prob", false));
  if (!cel_json_get(m->config, "routed_scaling_factor")) CEL_TRY(cel_gguf_put_num(m, m->config, "routed_scaling_factor", 1));
  CEL_TRY(cel_gguf_size(m, "expert_group_count", &groups));
  if (!groups) CEL_TRY(cel_gguf_put_int(m, "n_group", 1));
  if (!groups) CEL_TRY(cel_gguf_put_int(m, "topk_group", 1));
  if (gate == 2 || cel_gguf_in_layers(m, "mlp.gate.e_score_correction_bias")) return cel_gguf_put_word(m, "model_type", "deepseek_v3");
  return cel_gguf_put_word(m, "topk_method", groups > 1 ? "group_limited_greedy" : "greedy");
}

cel_status cel_gguf_deepseek2(cel_gguf_maker *m) {
  int64_t whole, v;
  CEL_TRY(latent_width(m, "attention.key_length_mla", "attention.key_length", &whole));
  CEL_TRY(latent_width(m, "attention.value_length_mla", "attention.value_length", &v));
  CEL_TRY(put_latent(m, whole, v));
  CEL_TRY(put_mscale(m));
  return put_deepseek_type(m);
}

// No key says how wide values are, nor the multipliers: those of the class.
cel_status cel_gguf_minicpm3(cel_gguf_maker *m) {
  int64_t whole;
  CEL_TRY(cel_gguf_require_size(m, "attention.key_length", NULL, &whole));
  return put_latent(m, whole, m->s.hidden / m->s.heads);
}

cel_status cel_gguf_glm4moe(cel_gguf_maker *m) {
  CEL_TRY(cel_gguf_put_bool(m, "use_qk_norm", cel_gguf_in_layers(m, "self_attn.q_norm.weight")));
  return put_dense_and_shared(m, "first_k_dense_replace", "n_shared_experts");
}

cel_status cel_gguf_exaonemoe(cel_gguf_maker *m) {
  CEL_TRY(cel_gguf_make_window(m));
  return put_dense_and_shared(m, "first_k_dense_replace", "num_shared_experts");
}

cel_status cel_gguf_erniemoe(cel_gguf_maker *m) {
  CEL_TRY(cel_gguf_copy_size(m, "interleave_moe_layer_step", "moe_layer_interval"));
  CEL_TRY(cel_gguf_put_bool(m, "use_bias", cel_gguf_in_layers(m, "self_attn.q_proj.bias")));
  return put_dense_and_shared(m, "moe_layer_start_index", "moe_num_shared_experts");
}

cel_status cel_gguf_gptoss(cel_gguf_maker *m) {
  cel_json *scaling = cel_json_object_get(m->config, "rope_scaling");
  if (scaling) CEL_TRY(cel_gguf_put(scaling, "truncate", cel_json_boolean(false), m->err));  // no key says it
  return cel_gguf_make_window(m);
}

// head_count_kv is 0 where a layer is a convolution.
cel_status cel_gguf_lfm2(cel_gguf_maker *m) {
  const cel_gguf_value *heads;
  CEL_TRY(cel_gguf_copy_size(m, "shortconv.l_cache", "conv_L_cache"));
  CEL_TRY(cel_gguf_put_bool(m, "block_auto_adjust_ff_dim", false));  // the length is that of the weights
  CEL_TRY(cel_gguf_per_layer(m, "attention.head_count_kv", &heads));
  if (!heads) return CEL_OK;
  CEL_TRY(cel_gguf_put(m->config, "layer_types", cel_json_array(), m->err));
  cel_json *list = cel_json_object_get(m->config, "layer_types");
  for (int64_t i = 0; i < m->s.layers; i++) {
    const char *word = cel_gguf_item(heads, i) ? "full_attention" : "conv";
    if (cel_json_array_append_new(list, cel_json_string_of(word)) != 0) return cel_fail_oom(m->err, "a config");
  }
  return CEL_OK;
}

cel_status cel_gguf_lfm2moe(cel_gguf_maker *m) {
  CEL_TRY(cel_gguf_lfm2(m));
  CEL_TRY(cel_gguf_put_bool(m, "use_expert_bias", cel_gguf_in_layers(m, "feed_forward.expert_bias")));
  CEL_TRY(cel_gguf_put_bool(m, "norm_topk_prob", true));
  return put_dense_and_shared(m, "num_dense_layers", NULL);
}

cel_status cel_gguf_granitemoe(cel_gguf_maker *m) {
  int64_t shared;
  CEL_TRY(cel_gguf_granite(m));
  CEL_TRY(cel_gguf_size(m, "expert_shared_feed_forward_length", &shared));
  if (!shared) return CEL_OK;
  CEL_TRY(cel_gguf_put_int(m, "shared_intermediate_size", shared));
  CEL_TRY(cel_gguf_put_word(m, "model_type", "granitemoeshared"));
  return cel_gguf_granite_positions(m, shared);
}
