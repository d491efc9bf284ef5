// What single dense architectures have beside the common metadata.
#include <math.h>

#include "model/gguf_reading.h"

// Scores are scaled by query_pre_attn_scalar^-1/2. The largest model of a series takes hidden / heads, all others the
// width of a head; the number of layers tells which it is.
int cel_gguf_layers_of_largest(const cel_gguf_arch *arch) {
  return arch->more == cel_gguf_gemma2 ? 46 : arch->more == cel_gguf_gemma3 ? 62 : 0;  // 27B
}

static cel_status put_gemma_scale(cel_gguf_maker *m) {
  const cel_gguf_sizes *s = &m->s;
  double scale, scalar = s->layers == cel_gguf_layers_of_largest(m->arch) ? (double)s->hidden / (double)s->heads : (double)s->head_dim;
  bool found;
  CEL_TRY(cel_gguf_real(m, "attention.scale", &scale, &found));
  if (found && scale > 0) scalar = 1 / (scale * scale);
  return cel_gguf_put_num(m, m->config, "query_pre_attn_scalar", scalar);
}

cel_status cel_gguf_gemma2(cel_gguf_maker *m) {
  CEL_TRY(put_gemma_scale(m));
  CEL_TRY(cel_gguf_copy_real(m, m->config, "attn_logit_softcapping", "attn_logit_softcapping"));
  CEL_TRY(cel_gguf_copy_real(m, m->config, "final_logit_softcapping", "final_logit_softcapping"));
  return cel_gguf_make_window(m);
}

cel_status cel_gguf_gemma3(cel_gguf_maker *m) {
  double theta = 1e6, local = 1e4;
  CEL_TRY(put_gemma_scale(m));
  CEL_TRY(cel_gguf_real(m, "rope.freq_base", &theta, NULL));
  CEL_TRY(cel_gguf_put_num(m, m->config, "rope_theta", theta));
  CEL_TRY(cel_gguf_real(m, "rope.freq_base_swa", &local, NULL));
  CEL_TRY(cel_gguf_put_num(m, m->config, "rope_local_base_freq", local));
  CEL_TRY(cel_gguf_put_int(m, "sliding_window_pattern", 6));
  CEL_TRY(cel_gguf_copy_real(m, m->config, "final_logit_softcapping", "final_logit_softcapping"));
  return cel_gguf_make_window(m);
}

cel_status cel_gguf_phi3(cel_gguf_maker *m) { return cel_gguf_make_window(m); }

// The multipliers of Granite; logits are divided by the last.
cel_status cel_gguf_granite(cel_gguf_maker *m) {
  CEL_TRY(cel_gguf_copy_real(m, m->config, "attention.scale", "attention_multiplier"));
  CEL_TRY(cel_gguf_copy_real(m, m->config, "embedding_scale", "embedding_multiplier"));
  CEL_TRY(cel_gguf_copy_real(m, m->config, "residual_scale", "residual_multiplier"));
  CEL_TRY(cel_gguf_copy_real(m, m->config, "logit_scale", "logits_scaling"));
  return cel_gguf_granite_positions(m, m->s.inter);
}

// Older files have none of the three scales; then they are those of the 2B model.
cel_status cel_gguf_minicpm(cel_gguf_maker *m) {
  double layers = (double)m->s.layers, hidden = (double)m->s.hidden;
  double embedding = 12, residual = 1.4 / sqrt(layers), logits = hidden / 256;
  CEL_TRY(cel_gguf_real(m, "embedding_scale", &embedding, NULL));
  CEL_TRY(cel_gguf_put_num(m, m->config, "scale_emb", embedding));
  CEL_TRY(cel_gguf_real(m, "residual_scale", &residual, NULL));
  CEL_TRY(cel_gguf_put_num(m, m->config, "scale_depth", residual * sqrt(layers)));
  CEL_TRY(cel_gguf_real(m, "logit_scale", &logits, NULL));
  return cel_gguf_put_num(m, m->config, "dim_model_base", hidden / logits);
}

cel_status cel_gguf_cohere(cel_gguf_maker *m) {
  CEL_TRY(cel_gguf_copy_real(m, m->config, "logit_scale", "logit_scale"));
  CEL_TRY(cel_gguf_put_bool(m, "use_qk_norm", cel_gguf_in_layers(m, "self_attn.q_norm.weight")));
  return cel_gguf_make_window(m);
}

cel_status cel_gguf_stablelm(cel_gguf_maker *m) {
  CEL_TRY(cel_gguf_copy_bool(m, "use_parallel_residual", "use_parallel_residual"));
  CEL_TRY(cel_gguf_put_bool(m, "use_qkv_bias", cel_gguf_in_layers(m, "self_attn.q_proj.bias")));
  return cel_gguf_put_bool(m, "qk_layernorm", cel_gguf_in_layers(m, "self_attn.q_layernorm.weight"));
}

cel_status cel_gguf_use_bias(cel_gguf_maker *m) {
  return cel_gguf_put_bool(m, "use_bias", cel_gguf_in_layers(m, "self_attn.q_proj.bias"));
}

cel_status cel_gguf_olmo(cel_gguf_maker *m) {
  return cel_gguf_copy_real(m, m->config, "attention.clamp_kqv", "clip_qkv");
}

// OLMo 3 is an OLMo 2 with a window; its scaled rotation is that of full layers alone.
cel_status cel_gguf_olmo2(cel_gguf_maker *m) {
  int64_t window;
  CEL_TRY(cel_gguf_size(m, "attention.sliding_window", &window));
  if (!window) return CEL_OK;
  CEL_TRY(cel_gguf_put_word(m, "model_type", "olmo3"));
  return cel_gguf_make_window(m);
}

cel_status cel_gguf_seed_oss(cel_gguf_maker *m) {
  return cel_gguf_put_bool(m, "attention_out_bias", cel_gguf_in_layers(m, "self_attn.o_proj.bias"));
}

// Ministral 3, whose queries grow; without a temperature it is a Mistral (Small 3.1) in the same clothes. Unlike DeepSeek's,
// this yarn_log_multiplier is mscale_all_dim itself, and mscale is 1.
cel_status cel_gguf_mistral3(cel_gguf_maker *m) {
  double beta, mscale;
  bool grows, found;
  cel_json *scaling = cel_json_object_get(m->config, "rope_scaling");
  CEL_TRY(cel_gguf_real(m, "attention.temperature_scale", &beta, &grows));
  if (!grows || !scaling) {
    CEL_TRY(cel_gguf_put_null(m, "sliding_window"));
    return cel_gguf_put_word(m, "model_type", "mistral");
  }
  CEL_TRY(cel_gguf_put_num(m, scaling, "llama_4_scaling_beta", beta));
  CEL_TRY(cel_gguf_real(m, "rope.scaling.yarn_log_multiplier", &mscale, &found));
  if (!found || mscale == 0) return CEL_OK;
  CEL_TRY(cel_gguf_put_num(m, scaling, "mscale", 1));
  return cel_gguf_put_num(m, scaling, "mscale_all_dim", mscale);
}
