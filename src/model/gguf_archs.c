// The architectures of GGUF files that are read: what each calls itself in a config.json, how its tensors are named where
// that differs from Llama's, and whose metadata needs a word of its own (gguf_dense.c, gguf_experts.c).
#include <string.h>

#include "base/macros.h"
#include "model/gguf_reading.h"

// ---- names ------------------------------------------------------------------------------------------

static const cel_gguf_name four_norms[] = {{"ffn_norm", "pre_feedforward_layernorm"}, {NULL, NULL}};
static const cel_gguf_name gate_up[] = {{"ffn_up", "mlp.gate_up_proj"}, {NULL, NULL}};
static const cel_gguf_name glm4[] = {
  {"ffn_up", "mlp.gate_up_proj"}, {"post_attention_norm", "post_self_attn_layernorm"}, {"post_ffw_norm", "post_mlp_layernorm"},
  {NULL, NULL}};
static const cel_gguf_name starcoder2[] = {{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}, {NULL, NULL}};
static const cel_gguf_name stablelm[] = {
  {"attn_q_norm", "self_attn.q_layernorm"}, {"attn_k_norm", "self_attn.k_layernorm"}, {NULL, NULL}};
static const cel_gguf_name post_norm[] = {{"post_attention_norm", "post_attention_layernorm"}, {NULL, NULL}};
static const cel_gguf_name hunyuan[] = {
  {"attn_q_norm", "self_attn.query_layernorm"}, {"attn_k_norm", "self_attn.key_layernorm"}, {NULL, NULL}};
static const cel_gguf_name lfm2[] = {
  {"token_embd_norm", "model.embedding_norm"}, {"attn_norm", "operator_norm"}, {"ffn_norm", "ffn_norm"},
  {"ffn_gate", "feed_forward.w1"}, {"ffn_up", "feed_forward.w3"}, {"ffn_down", "feed_forward.w2"},
  {"attn_output", "self_attn.out_proj"}, {"attn_q_norm", "self_attn.q_layernorm"}, {"attn_k_norm", "self_attn.k_layernorm"},
  {"shortconv.conv", "conv.conv"}, {"shortconv.in_proj", "conv.in_proj"}, {"shortconv.out_proj", "conv.out_proj"},
  {"ffn_gate_inp", "feed_forward.gate"}, {"exp_probs_b.bias", "feed_forward.expert_bias"},
  {"ffn_gate_exps", "feed_forward.experts.gate_proj"}, {"ffn_up_exps", "feed_forward.experts.up_proj"},
  {"ffn_down_exps", "feed_forward.experts.down_proj"}, {"ffn_gate_up_exps", "feed_forward.experts.gate_up_proj"}, {NULL, NULL}};

static const cel_gguf_name apertus[] = {{"attn_norm", "attention_layernorm"}, {"ffn_norm", "feedforward_layernorm"}, {NULL, NULL}};
static const cel_gguf_name gemma3n[] = {
  {"ffn_norm", "pre_feedforward_layernorm"}, {"per_layer_token_embd", "model.embed_tokens_per_layer"},
  {"per_layer_model_proj", "model.per_layer_model_projection"}, {"per_layer_proj_norm", "model.per_layer_projection_norm"},
  {"altup_proj", "model.altup_projections"}, {"altup_unembd_proj", "model.altup_unembed_projections"},
  {"altup_router", "altup.modality_router"}, {"altup_router_norm", "altup.router_norm"},
  {"altup_predict_coef", "altup.prediction_coefs"}, {"altup_correct_coef", "altup.correction_coefs"},
  {"altup_correct_scale.weight", "altup.correct_output_scale"}, {"laurel_l", "laurel.linear_left"},
  {"laurel_r", "laurel.linear_right"}, {"laurel_post_norm", "laurel.post_laurel_norm"}, {"inp_gate", "per_layer_input_gate"},
  {"proj", "per_layer_projection"}, {"post_norm", "post_per_layer_input_norm"}, {NULL, NULL}};
static const cel_gguf_name qwen3next[] = {
  {"attn_qkv", "linear_attn.in_proj_qkv"}, {"attn_gate", "linear_attn.in_proj_z"}, {"ssm_conv1d", "linear_attn.conv1d"},
  {"ssm_dt.bias", "linear_attn.dt_bias"}, {"ssm_norm", "linear_attn.norm"}, {"ssm_out", "linear_attn.out_proj"},
  {"ssm_alpha", "linear_attn.in_proj_a"}, {"ssm_beta", "linear_attn.in_proj_b"},
  {"ssm_a", "ssm_a"}, {"ssm_ba", "ssm_ba"},  // in another form: gguf_layers.c
  {"post_attention_norm", "post_attention_layernorm"}, {NULL, NULL}};

// ---- architectures ----------------------------------------------------------------------------------

enum {
  NEIGHBOURS = CEL_GGUF_NEIGHBOURS, PLUS_ONE = CEL_GGUF_PLUS_ONE, MEAN = CEL_GGUF_LAYER_NORM, NO_KEY = CEL_GGUF_NO_QKV_KEY,
  LATENT = CEL_GGUF_LATENT, HALF_HEADS = CEL_GGUF_HALF_HEADS, GELU = CEL_GGUF_GELU, PARTIAL = CEL_GGUF_PARTIAL,
  KV_BY_LAYER = CEL_GGUF_KV_BY_LAYER, SPLIT_KV = CEL_GGUF_SPLIT_KV, WINDOW = CEL_GGUF_WINDOW,
  WINDOW_LIST = CEL_GGUF_WINDOW | CEL_GGUF_WINDOW_LIST, READ_ONLY = CEL_GGUF_READ_ONLY, WIDTHS = CEL_GGUF_WIDTHS, TILED = CEL_GGUF_TILED,
};

static const cel_gguf_arch archs[] = {
  {"llama", "llama", NEIGHBOURS, NULL, NULL, cel_gguf_llama, NULL},  // Mistral's and Mixtral's files, too
  {"qwen2", "qwen2", NO_KEY, NULL, NULL, NULL, NULL},
  {"qwen3", "qwen3", 0, NULL, NULL, NULL, NULL},
  {"qwen2moe", "qwen2_moe", NO_KEY, NULL, NULL, cel_gguf_qwen2moe, NULL},
  {"qwen3moe", "qwen3_moe", 0, NULL, NULL, cel_gguf_qwen3moe, NULL},
  {"gemma", "gemma", PLUS_ONE | GELU, NULL, NULL, NULL, NULL},
  {"gemma2", "gemma2", PLUS_ONE | GELU | WINDOW, NULL, four_norms, cel_gguf_gemma2, NULL},
  {"gemma3", "gemma3_text", PLUS_ONE | GELU | WINDOW, NULL, four_norms, cel_gguf_gemma3, NULL},
  {"phi3", "phi3", NO_KEY | WINDOW, NULL, gate_up, cel_gguf_phi3, NULL},
  {"phimoe", "phimoe", WINDOW, NULL, NULL, cel_gguf_phimoe, NULL},
  {"olmo", "olmo", NEIGHBOURS, "", NULL, cel_gguf_olmo, NULL},
  {"olmo2", "olmo2", WINDOW_LIST, NULL, post_norm, cel_gguf_olmo2, NULL},
  {"olmoe", "olmoe", 0, NULL, NULL, cel_gguf_qwen2moe, NULL},
  {"granite", "granite", NEIGHBOURS | HALF_HEADS, NULL, NULL, cel_gguf_granite, NULL},
  {"granitemoe", "granitemoe", NEIGHBOURS | HALF_HEADS, NULL, NULL, cel_gguf_granitemoe, NULL},
  {"minicpm", "minicpm", NEIGHBOURS, NULL, NULL, cel_gguf_minicpm, NULL},
  {"minicpm3", "minicpm3", LATENT, NULL, NULL, cel_gguf_minicpm3, NULL},
  {"starcoder2", "starcoder2", MEAN, "norm_epsilon", starcoder2, cel_gguf_use_bias, NULL},
  {"stablelm", "stablelm", MEAN | HALF_HEADS | PARTIAL, "layer_norm_eps", stablelm, cel_gguf_stablelm, NULL},
  {"command-r", "cohere", MEAN, "layer_norm_eps", NULL, cel_gguf_cohere, NULL},
  {"cohere2", "cohere2", MEAN | HALF_HEADS | WINDOW, "layer_norm_eps", NULL, cel_gguf_cohere, NULL},
  {"deepseek", "deepseek", NEIGHBOURS | HALF_HEADS, NULL, NULL, cel_gguf_deepseek, NULL},
  {"deepseek2", "deepseek_v2", LATENT | SPLIT_KV, NULL, NULL, cel_gguf_deepseek2, NULL},
  {"chatglm", "glm", PARTIAL, NULL, gate_up, NULL, NULL},
  {"glm4", "glm4", PARTIAL, NULL, glm4, NULL, NULL},
  {"glm4moe", "glm4_moe", PARTIAL, NULL, post_norm, cel_gguf_glm4moe, NULL},
  {"dots1", "dots1", 0, NULL, NULL, cel_gguf_glm4moe, NULL},
  {"exaone", "exaone", 0, NULL, NULL, NULL, NULL},
  {"exaone4", "exaone4", WINDOW_LIST, NULL, post_norm, cel_gguf_make_window, NULL},
  {"gpt-oss", "gpt_oss", WINDOW, NULL, post_norm, cel_gguf_gptoss, NULL},
  {"lfm2", "lfm2", KV_BY_LAYER, "norm_eps", lfm2, cel_gguf_lfm2, NULL},
  {"lfm2moe", "lfm2_moe", KV_BY_LAYER, "norm_eps", lfm2, cel_gguf_lfm2moe, NULL},
  {"smollm3", "smollm3", NEIGHBOURS, NULL, NULL, NULL, NULL},
  {"internlm2", "llama", NEIGHBOURS, NULL, NULL, NULL, NULL},  // its fused product is cut by the converter
  {"seed_oss", "seed_oss", 0, NULL, post_norm, cel_gguf_seed_oss, NULL},
  {"ernie4_5", "ernie4_5", NO_KEY, NULL, NULL, cel_gguf_use_bias, NULL},
  {"ernie4_5-moe", "ernie4_5_moe", NO_KEY, NULL, NULL, cel_gguf_erniemoe, NULL},
  {"arcee", "arcee", NEIGHBOURS, NULL, NULL, NULL, NULL},
  {"nemotron", "nemotron", MEAN | PLUS_ONE | PARTIAL, "norm_eps", NULL, NULL, NULL},
  {"hunyuan-dense", "hunyuan_v1_dense", 0, NULL, hunyuan, NULL, NULL},
  {"exaone-moe", "exaone_moe", WINDOW_LIST, NULL, NULL, cel_gguf_exaonemoe, NULL},
  {"mistral3", "ministral3", NEIGHBOURS, NULL, NULL, cel_gguf_mistral3, NULL},
  {"granitehybrid", "granitemoehybrid", NEIGHBOURS | HALF_HEADS | KV_BY_LAYER | READ_ONLY, NULL, NULL, cel_gguf_granitehybrid, NULL},
  {"apertus", "apertus", 0, NULL, apertus, NULL, cel_gguf_apertus_tensors},
  {"gemma3n", "gemma3n_text", GELU | WINDOW_LIST | WIDTHS, NULL, gemma3n, cel_gguf_gemma3n, cel_gguf_gemma3n_tensors},
  {"qwen3next", "qwen3_next", PLUS_ONE | PARTIAL, NULL, qwen3next, cel_gguf_qwen3next, cel_gguf_qwen3next_tensors},
  {"qwen35", "qwen3_5_text", PLUS_ONE | PARTIAL | TILED, NULL, qwen3next, cel_gguf_qwen35, cel_gguf_qwen3next_tensors},
  {"qwen35moe", "qwen3_5_moe_text", PLUS_ONE | PARTIAL | TILED, NULL, qwen3next, cel_gguf_qwen35, cel_gguf_qwen3next_tensors},
};

const cel_gguf_arch *cel_gguf_find_arch(const cel_gguf *g) {
  cel_str name = CEL_STR("");
  if (cel_gguf_string(g, "general.architecture", &name, NULL, NULL) != CEL_OK) return NULL;
  for (int i = 0; i < CEL_COUNT(archs); i++) {
    if (cel_str_is(name, archs[i].arch)) return &archs[i];
  }
  return NULL;
}

// Types that are written under another one's row.
static const struct { const char *model_type, *arch; } written_as[] = {
  {"mistral", "llama"}, {"mixtral", "llama"}, {"ministral", "llama"}, {"internlm2", "internlm2"}, {"internlm3", "llama"},
  {"gemma3", "gemma3"}, {"gemma3n", "gemma3n"}, {"olmo3", "olmo2"}, {"deepseek_v3", "deepseek2"}, {"youtu", "deepseek2"}, {"granitemoeshared", "granitemoe"},
  {"qwen3_5", "qwen35"}, {"qwen3_5_moe", "qwen35moe"}, {"mimo", "qwen2"}, {"hyperclovax", "granite"}, {"phi4mm", "phi3"}, {"phi4_multimodal", "phi3"},  // of no name of their own
};

const cel_gguf_arch *cel_gguf_arch_of_type(const char *model_type) {
  const char *arch = NULL;
  for (int i = 0; i < CEL_COUNT(written_as); i++) {
    if (!strcmp(model_type, written_as[i].model_type)) arch = written_as[i].arch;
  }
  for (int i = 0; i < CEL_COUNT(archs); i++) {
    if (archs[i].traits & CEL_GGUF_READ_ONLY) continue;
    if (!strcmp(arch ? arch : model_type, arch ? archs[i].arch : archs[i].model_type)) return &archs[i];
  }
  return NULL;
}

bool cel_gguf_rope_interleaved(const cel_gguf *g) {
  const cel_gguf_arch *a = cel_gguf_find_arch(g);
  return a && a->traits & CEL_GGUF_NEIGHBOURS;
}
