#include "model/write/gguf_family.h"

#include <string.h>

#include "base/macros.h"
#include "model/checkpoint_private.h"

#define LAYER "model.layers.{i}."

static const struct { const char *model_type, *hf_class; } classes[] = {
  {"llama", "LlamaForCausalLM"}, {"mistral", "MistralForCausalLM"}, {"mixtral", "MixtralForCausalLM"},
  {"qwen2", "Qwen2ForCausalLM"}, {"qwen3", "Qwen3ForCausalLM"},
  {"qwen2_moe", "Qwen2MoeForCausalLM"}, {"qwen3_moe", "Qwen3MoeForCausalLM"}, {"gemma", "GemmaForCausalLM"},
  {"gemma2", "Gemma2ForCausalLM"}, {"gemma3_text", "Gemma3ForCausalLM"}, {"phi3", "Phi3ForCausalLM"}, {"phimoe", "PhimoeForCausalLM"},
  {"olmo", "OlmoForCausalLM"}, {"olmo2", "Olmo2ForCausalLM"}, {"olmo3", "Olmo3ForCausalLM"}, {"olmoe", "OlmoeForCausalLM"},
  {"granite", "GraniteForCausalLM"}, {"granitemoe", "GraniteMoeForCausalLM"}, {"granitemoeshared", "GraniteMoeSharedForCausalLM"},
  {"minicpm", "MiniCPMForCausalLM"}, {"minicpm3", "MiniCPM3ForCausalLM"}, {"starcoder2", "Starcoder2ForCausalLM"},
  {"stablelm", "StableLmForCausalLM"}, {"cohere", "CohereForCausalLM"}, {"cohere2", "Cohere2ForCausalLM"},
  {"deepseek", "DeepseekForCausalLM"}, {"deepseek_v2", "DeepseekV2ForCausalLM"}, {"deepseek_v3", "DeepseekV3ForCausalLM"},
  {"youtu", "YoutuForCausalLM"}, {"glm", "GlmForCausalLM"}, {"glm4", "Glm4ForCausalLM"}, {"glm4_moe", "Glm4MoeForCausalLM"},
  {"dots1", "Dots1ForCausalLM"}, {"exaone", "ExaoneForCausalLM"}, {"exaone4", "Exaone4ForCausalLM"}, {"gpt_oss", "GptOssForCausalLM"},
  {"lfm2", "Lfm2ForCausalLM"}, {"lfm2_moe", "Lfm2MoeForCausalLM"}, {"smollm3", "SmolLM3ForCausalLM"}, {"seed_oss", "SeedOssForCausalLM"},
  {"ernie4_5", "Ernie4_5ForCausalLM"}, {"ernie4_5_moe", "Ernie4_5_MoeForCausalLM"}, {"arcee", "ArceeForCausalLM"},
  {"nemotron", "NemotronForCausalLM"}, {"hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM"},
  {"exaone_moe", "ExaoneMoeForCausalLM"}, {"ministral3", "Ministral3ForCausalLM"}, {"apertus", "ApertusForCausalLM"},
  {"qwen3_next", "Qwen3NextForCausalLM"}, {"gemma3n_text", "Gemma3nForCausalLM"},
  {"granitemoehybrid", "GraniteMoeHybridForCausalLM"}, {"qwen3_5_text", "Qwen3_5ForCausalLM"}, {"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM"},
};

const char *cel_hf_class_of(const char *model_type) {
  for (int i = 0; i < CEL_COUNT(classes); i++) {
    if (!strcmp(classes[i].model_type, model_type)) return classes[i].hf_class;
  }
  return NULL;
}

cel_status cel_gguf_family_of(const cel_arch *a, const cel_gguf_arch **out, cel_err *err) {
  const char *type = a->model_type;
  if (!strcmp(type, "granitemoehybrid")) type = a->moe.n_experts ? "granitemoe" : "granite";  // as all layers are attention
  *out = cel_gguf_arch_of_type(type);
  if (*out) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "models of the family %s (model_type \"%s\") are not converted between Hugging Face's names and "
                  "GGUF's: GGUF has no architecture for them that is read here", a->family->name, a->model_type);
}

// Types whose files name experts as another one's do, but for what they have rows of their own for.
static const struct { const char *model_type, *like; } alike[] = {
  {"phimoe", "mixtral"}, {"granitemoeshared", "granitemoe"}, {"granitemoehybrid", "granitemoe"},
  {"qwen3_next", "qwen2_moe"}, {"qwen3_5_moe", "qwen2_moe"}, {"qwen3_5_moe_text", "qwen2_moe"},
};

// The model_type itself: no other one.
static const char *type_like(const char *model_type) {
  for (int i = 0; i < CEL_COUNT(alike); i++) {
    if (!strcmp(alike[i].model_type, model_type)) return alike[i].like;
  }
  return model_type;
}

static const struct { const char *model_type; cel_weight_role role; const char *form; } forms[] = {
  {"mixtral", CEL_W_EXPERT_GATE, LAYER "block_sparse_moe.experts.{e}.w1"}, {"mixtral", CEL_W_EXPERT_UP, LAYER "block_sparse_moe.experts.{e}.w3"},
  {"mixtral", CEL_W_EXPERT_DOWN, LAYER "block_sparse_moe.experts.{e}.w2"}, {"mixtral", CEL_W_ROUTER, LAYER "block_sparse_moe.gate"},
  {"granitemoe", CEL_W_EXPERT_DOWN, LAYER "block_sparse_moe.output_linear"}, {"granitemoe", CEL_W_ROUTER, LAYER "block_sparse_moe.router.layer"},
  {"granitemoe", CEL_W_EXPERT_GATE_UP, LAYER "block_sparse_moe.input_linear"},
  {"qwen2_moe", CEL_W_SHARED_GATE, LAYER "mlp.shared_expert.gate_proj"}, {"qwen2_moe", CEL_W_SHARED_UP, LAYER "mlp.shared_expert.up_proj"},
  {"qwen2_moe", CEL_W_SHARED_DOWN, LAYER "mlp.shared_expert.down_proj"},
  {"qwen3_next", CEL_W_DELTA_QKVZ, LAYER "linear_attn.in_proj_qkvz"}, {"qwen3_next", CEL_W_DELTA_BA, LAYER "linear_attn.in_proj_ba"},
  {"exaone_moe", CEL_W_ROUTER_CORRECTION, LAYER "mlp.e_score_correction_bias"},
  {"gpt_oss", CEL_W_ROUTER, LAYER "mlp.router"},
  {"ernie4_5_moe", CEL_W_ROUTER_CORRECTION, LAYER "mlp.moe_statics.e_score_correction_bias"},
  {"lfm2_moe", CEL_W_EXPERT_GATE, LAYER "feed_forward.experts.{e}.w1"}, {"lfm2_moe", CEL_W_EXPERT_UP, LAYER "feed_forward.experts.{e}.w3"},
  {"lfm2_moe", CEL_W_EXPERT_DOWN, LAYER "feed_forward.experts.{e}.w2"},
};
static const struct { cel_weight_role role; const char *form; } apart[] = {
  {CEL_W_EXPERT_GATE, LAYER "mlp.experts.{e}.gate_proj"}, {CEL_W_EXPERT_UP, LAYER "mlp.experts.{e}.up_proj"},
  {CEL_W_EXPERT_DOWN, LAYER "mlp.experts.{e}.down_proj"},
};

const char *cel_hf_form_of(const char *model_type, cel_weight_role role) {
  const char *like = type_like(model_type);
  for (int i = 0; i < CEL_COUNT(forms); i++) {
    if (forms[i].role != role) continue;
    if (!strcmp(forms[i].model_type, model_type) || !strcmp(forms[i].model_type, like)) return forms[i].form;
  }
  for (int i = 0; i < CEL_COUNT(apart); i++) {
    if (apart[i].role == role) return apart[i].form;
  }
  return NULL;
}

// mlx-lm's names of stacks, of LFM2's dense layers beside them, and of Granite 4's MLPs where there are no experts.
static const struct { const char *model_type; int form; } stacks[] = {
  {"mixtral", 1}, {"granitemoe", 1}, {"lfm2_moe", 2}, {"gpt_oss", 3}, {"dots1", 3},
};
static const struct { const char *model_type; int form; } dense[] = {{"lfm2_moe", 4}, {"granitemoehybrid", 5}};

const char *cel_mlx_form_of(const char *model_type, cel_weight_role role) {
#define THREE(block) {LAYER block ".gate_proj", LAYER block ".up_proj", LAYER block ".down_proj"}
  static const char *const forms_of[][3] = {THREE("mlp.switch_mlp"), THREE("block_sparse_moe.switch_mlp"), THREE("feed_forward.switch_mlp"),
                                            THREE("mlp.experts"), THREE("feed_forward"), THREE("mlp")};
#undef THREE
  static const cel_weight_role roles[] = {CEL_W_EXPERT_GATE, CEL_W_EXPERT_UP, CEL_W_EXPERT_DOWN, CEL_W_GATE, CEL_W_UP, CEL_W_DOWN};
  int part = 0, form = -1;
  while (part < CEL_COUNT(roles) && roles[part] != role) part++;
  if (part == CEL_COUNT(roles)) return NULL;
  for (int i = 0; i < CEL_COUNT(dense) && part >= 3; i++) {
    if (!strcmp(dense[i].model_type, model_type)) form = dense[i].form;
  }
  if (part < 3) form = 0;
  for (int i = 0; i < CEL_COUNT(stacks) && part < 3; i++) {
    if (!strcmp(stacks[i].model_type, type_like(model_type))) form = stacks[i].form;
  }
  return form < 0 ? NULL : forms_of[form][part % 3];
}

bool cel_mlx_splits_kv(const char *model_type) { return !strcmp(model_type, "deepseek_v3"); }

static cel_weight_role match(const cel_arch *a, cel_str module, int64_t *layer) {
  for (int r = 0; r < CEL_W_COUNT; r++) {
    cel_holes h;
    if (!a->names[r] || !cel_form_matches(a->names[r], module, &h) || h.i >= a->n_layers) continue;
    *layer = h.i;
    return (cel_weight_role)r;
  }
  return CEL_W_COUNT;
}

cel_weight_role cel_role_of(const cel_arch *a, const char *name, int64_t *layer, cel_str *part) {
  const char *dot = strrchr(name, '.');
  *layer = -1;
  *part = CEL_STR("");
  cel_weight_role role = match(a, cel_str_of(name), layer);
  if (role != CEL_W_COUNT || !dot) return role;
  *part = cel_str_of(dot);
  return match(a, (cel_str){name, (size_t)(dot - name)}, layer);
}
