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
  {"ffn_down_exps", "feed_forward.experts.down_proj"}, {NULL, NULL}};

// ---- architectures ----------------------------------------------------------------------------------

enum {
  NEIGHBOURS = CEL_GGUF_NEIGHBOURS, PLUS_ONE = CEL_GGUF_PLUS_ONE, MEAN = CEL_GGUF_LAYER_NORM, NO_KEY = CEL_GGUF_NO_QKV_KEY,
  LATENT = CEL_GGUF_LATENT, HALF_HEADS = CEL_GGUF_HALF_HEADS, GELU = CEL_GGUF_GELU, PARTIAL = CEL_GGUF_PARTIAL,
  KV_BY_LAYER = CEL_GGUF_KV_BY_LAYER, SPLIT_KV = CEL_GGUF_SPLIT_KV, WINDOW = CEL_GGUF_WINDOW,
  WINDOW_LIST = CEL_GGUF_WINDOW | CEL_GGUF_WINDOW_LIST,
};

static const cel_gguf_arch archs[] = {
  {"llama", "llama", NEIGHBOURS, NULL, NULL, cel_gguf_llama},  // Mistral's and Mixtral's files, too
  {"qwen2", "qwen2", NO_KEY, NULL, NULL, NULL},
  {"qwen3", "qwen3", 0, NULL, NULL, NULL},
  {"qwen2moe", "qwen2_moe", NO_KEY, NULL, NULL, cel_gguf_qwen2moe},
  {"qwen3moe", "qwen3_moe", 0, NULL, NULL, cel_gguf_qwen3moe},
  {"gemma", "gemma", PLUS_ONE | GELU, NULL, NULL, NULL},
  {"gemma2", "gemma2", PLUS_ONE | GELU | WINDOW, NULL, four_norms, cel_gguf_gemma2},
  {"gemma3", "gemma3_text", PLUS_ONE | GELU | WINDOW, NULL, four_norms, cel_gguf_gemma3},
  {"phi3", "phi3", NO_KEY | WINDOW, NULL, gate_up, cel_gguf_phi3},
  {"phimoe", "phimoe", WINDOW, NULL, NULL, cel_gguf_phimoe},
  {"olmo", "olmo", NEIGHBOURS, "", NULL, cel_gguf_olmo},
  {"olmo2", "olmo2", WINDOW_LIST, NULL, post_norm, cel_gguf_olmo2},
  {"olmoe", "olmoe", 0, NULL, NULL, cel_gguf_qwen2moe},
  {"granite", "granite", NEIGHBOURS | HALF_HEADS, NULL, NULL, cel_gguf_granite},
  {"granitemoe", "granitemoe", NEIGHBOURS | HALF_HEADS, NULL, NULL, cel_gguf_granitemoe},
  {"minicpm", "minicpm", NEIGHBOURS, NULL, NULL, cel_gguf_minicpm},
  {"minicpm3", "minicpm3", LATENT, NULL, NULL, cel_gguf_minicpm3},
  {"starcoder2", "starcoder2", MEAN, "norm_epsilon", starcoder2, cel_gguf_use_bias},
  {"stablelm", "stablelm", MEAN | HALF_HEADS | PARTIAL, "layer_norm_eps", stablelm, cel_gguf_stablelm},
  {"command-r", "cohere", MEAN, "layer_norm_eps", NULL, cel_gguf_cohere},
  {"cohere2", "cohere2", MEAN | HALF_HEADS | WINDOW, "layer_norm_eps", NULL, cel_gguf_cohere},
  {"deepseek", "deepseek", NEIGHBOURS | HALF_HEADS, NULL, NULL, cel_gguf_deepseek},
  {"deepseek2", "deepseek_v2", LATENT | SPLIT_KV, NULL, NULL, cel_gguf_deepseek2},
  {"chatglm", "glm", PARTIAL, NULL, gate_up, NULL},
  {"glm4", "glm4", PARTIAL, NULL, glm4, NULL},
  {"glm4moe", "glm4_moe", PARTIAL, NULL, post_norm, cel_gguf_glm4moe},
  {"dots1", "dots1", 0, NULL, NULL, cel_gguf_glm4moe},
  {"exaone", "exaone", 0, NULL, NULL, NULL},
  {"exaone4", "exaone4", WINDOW_LIST, NULL, post_norm, cel_gguf_make_window},
  {"gpt-oss", "gpt_oss", WINDOW, NULL, post_norm, cel_gguf_gptoss},
  {"lfm2", "lfm2", KV_BY_LAYER, "norm_eps", lfm2, cel_gguf_lfm2},
  {"lfm2moe", "lfm2_moe", KV_BY_LAYER, "norm_eps", lfm2, cel_gguf_lfm2moe},
  {"smollm3", "smollm3", NEIGHBOURS, NULL, NULL, NULL},
  {"internlm2", "llama", NEIGHBOURS, NULL, NULL, NULL},  // its fused product is cut by the converter
  {"seed_oss", "seed_oss", 0, NULL, post_norm, cel_gguf_seed_oss},
  {"ernie4_5", "ernie4_5", NO_KEY, NULL, NULL, cel_gguf_use_bias},
  {"ernie4_5-moe", "ernie4_5_moe", NO_KEY, NULL, NULL, cel_gguf_erniemoe},
  {"arcee", "arcee", NEIGHBOURS, NULL, NULL, NULL},
  {"nemotron", "nemotron", MEAN | PLUS_ONE | PARTIAL, "norm_eps", NULL, NULL},
  {"hunyuan-dense", "hunyuan_v1_dense", 0, NULL, hunyuan, NULL},
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
  {"gemma3", "gemma3"}, {"olmo3", "olmo2"}, {"deepseek_v3", "deepseek2"}, {"youtu", "deepseek2"}, {"granitemoeshared", "granitemoe"},
};

const cel_gguf_arch *cel_gguf_arch_of_type(const char *model_type) {
  const char *arch = NULL;
  for (int i = 0; i < CEL_COUNT(written_as); i++) {
    if (!strcmp(model_type, written_as[i].model_type)) arch = written_as[i].arch;
  }
  for (int i = 0; i < CEL_COUNT(archs); i++) {
    if (!strcmp(arch ? arch : model_type, arch ? archs[i].arch : archs[i].model_type)) return &archs[i];
  }
  return NULL;
}

bool cel_gguf_rope_interleaved(const cel_gguf *g) {
  const cel_gguf_arch *a = cel_gguf_find_arch(g);
  return a && a->traits & CEL_GGUF_NEIGHBOURS;
}
