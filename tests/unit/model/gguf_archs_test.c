// Architectures of GGUF files beyond Llama's: types, names, experts, latent heads, tables, windows.
#define _XOPEN_SOURCE 700
#include "gguf_result.h"

#include "base/macros.h"

static void every_architecture_has_a_type_and_a_row_order(void **state) {
  (void)state;
  static const struct { const char *arch, *type; bool neighbours, mean; } rows[] = {
    {"gemma", "gemma", false, false}, {"gemma2", "gemma2", false, false}, {"phi3", "phi3", false, false},
    {"olmo", "olmo", true, false}, {"olmo2", "olmo2", false, false}, {"granite", "granite", true, false},
    {"minicpm", "minicpm", true, false}, {"starcoder2", "starcoder2", false, true}, {"stablelm", "stablelm", false, true},
    {"command-r", "cohere", false, true}, {"cohere2", "cohere2", false, true}, {"chatglm", "glm", false, false},
    {"glm4", "glm4", false, false}, {"exaone", "exaone", false, false}, {"exaone4", "exaone4", false, false},
    {"smollm3", "smollm3", true, false}, {"internlm2", "llama", true, false}, {"seed_oss", "seed_oss", false, false},
    {"ernie4_5", "ernie4_5", false, false}, {"arcee", "arcee", true, false}, {"nemotron", "nemotron", false, true},
    {"hunyuan-dense", "hunyuan_v1_dense", false, false}, {"lfm2", "lfm2", false, false}};
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    result r;
    gguf_maker m = model_of(rows[i].arch, 2);
    if (rows[i].mean) real(&m, rows[i].arch, "attention.layer_norm_epsilon", 1e-5f);
    run_well(&r, &m);
    says_text(r.config, "model_type", rows[i].type);
    assert_int_equal(cel_gguf_rope_interleaved(&r.g), rows[i].neighbours);
    result_free(&r);
  }
}

static gguf_maker model_with_experts(const char *arch) {
  gguf_maker m = model_of(arch, 2);
  num(&m, arch, "expert_count", 8);
  num(&m, arch, "expert_used_count", 2);
  num(&m, arch, "expert_feed_forward_length", 6);
  num(&m, arch, "leading_dense_block_count", 1);
  num(&m, arch, "expert_shared_count", 2);
  return m;
}

static void experts_are_counted_and_named(void **state) {
  (void)state;
  static const char *const names[][2] = {
    {"blk.1.ffn_gate_inp.weight", "mlp.gate.weight"}, {"blk.1.exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
    {"blk.1.ffn_gate_exps.weight", "mlp.experts.gate_proj.weight"}, {"blk.1.ffn_up_exps.bias", "mlp.experts.up_proj.bias"},
    {"blk.1.ffn_down_exps.weight", "mlp.experts.down_proj.weight"},
    {"blk.1.ffn_down_shexp.weight", "mlp.shared_experts.down_proj.weight"},
    {"blk.1.ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight"}, {"blk.1.attn_sinks.weight", "self_attn.sinks"}};
  result r;
  gguf_maker m = model_with_experts("glm4moe");
  real(&m, "glm4moe", "expert_weights_scale", 1.5f);
  for (int i = 0; i < CEL_COUNT(names); i++) tensor_f32(&m, names[i][0], 8, 0);
  run_well(&r, &m);
  says_text(r.config, "model_type", "glm4_moe");
  says_int(r.config, "num_experts", 8);
  says_int(r.config, "num_experts_per_tok", 2);
  says_int(r.config, "moe_intermediate_size", 6);
  says_int(r.config, "first_k_dense_replace", 1);
  says_int(r.config, "n_shared_experts", 2);
  says_num(r.config, "routed_scaling_factor", 1.5);
  for (int i = 0; i < CEL_COUNT(names); i++) {
    char name[100];
    snprintf(name, sizeof name, "model.layers.1.%s", names[i][1]);
    assert_non_null(cel_tensor_list_find(r.list.items, r.list.n, name));
  }
  result_free(&r);
}

static void layers_that_predict_further_tokens_are_not_counted(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_with_experts("glm4moe");
  num(&m, "glm4moe", "nextn_predict_layers", 1);
  run_well(&r, &m);
  says_int(r.config, "num_hidden_layers", 1);
  result_free(&r);
  m = model_with_experts("glm4moe");
  num(&m, "glm4moe", "nextn_predict_layers", 2);
  refuses(&m, CEL_MALFORMED, "glm4moe.block_count", "nextn_predict_layers");
}

static gguf_maker latent(void) {
  gguf_maker m = model_of("deepseek2", 2);
  num(&m, "deepseek2", "attention.kv_lora_rank", 4);
  num(&m, "deepseek2", "attention.key_length", 12);
  num(&m, "deepseek2", "attention.key_length_mla", 10);
  num(&m, "deepseek2", "attention.value_length_mla", 6);
  return m;
}

static void latent_heads_are_taken_apart(void **state) {
  (void)state;
  result r;
  gguf_maker m = latent();
  num(&m, "deepseek2", "rope.dimension_count", 4);
  kv_text(&m, "deepseek2.rope.scaling.type", "yarn");
  real(&m, "deepseek2", "rope.scaling.factor", 40);
  real(&m, "deepseek2", "rope.scaling.yarn_log_multiplier", 0.0707f);
  tensor_f32(&m, "blk.0.attn_k_b.weight", 8, 8);
  run_well(&r, &m);
  says_text(r.config, "model_type", "youtu");  // no experts
  says_int(r.config, "qk_rope_head_dim", 4);
  says_int(r.config, "qk_nope_head_dim", 6);
  says_int(r.config, "v_head_dim", 6);
  assert_true(cel_json_is_null(cel_json_object_get(r.config, "q_lora_rank")));
  assert_null(cel_json_get(r.config, "head_dim"));
  says_num(cel_json_get(r.config, "rope_scaling"), "mscale_all_dim", 0.707);
  assert_non_null(cel_tensor_list_find(r.list.items, r.list.n, "model.layers.0.self_attn.embed_q.weight"));
  result_free(&r);
  m = latent();
  refuses(&m, CEL_MALFORMED, "deepseek2.rope.dimension_count", "missing");
  m = latent();
  num(&m, "deepseek2", "rope.dimension_count", 10);
  refuses(&m, CEL_MALFORMED, "deepseek2.rope.dimension_count", "10");
}

static void tables_of_longrope_are_read_from_tensors(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_of("phi3", 2);
  num(&m, "phi3", "rope.scaling.original_context_length", 16);
  tensor_f32(&m, "rope_factors_long.weight", 1, 0);
  tensor_f32(&m, "rope_factors_short.weight", 1, 0);
  refuses(&m, CEL_MALFORMED, "rope_factors_long.weight", "positive");  // the maker's tensors are zeros
  m = model_of("phi3", 2);
  tensor_f32(&m, "rope_factors_long.weight", 2, 2);
  tensor_f32(&m, "rope_factors_short.weight", 1, 0);
  refuses(&m, CEL_MALFORMED, "rope_factors_long.weight", "list");
  m = model_of("phi3", 2);
  kv_text(&m, "phi3.rope.scaling.type", "longrope");
  refuses(&m, CEL_MALFORMED, "phi3.rope.scaling.type", "rope_factors_long.weight");
  m = model_of("phi3", 2);
  tensor_f32(&m, "blk.0.attn_qkv.weight", 8, 8);
  tensor_f32(&m, "blk.0.ffn_up.weight", 8, 8);
  run_well(&r, &m);
  assert_null(cel_json_get(r.config, "rope_scaling"));
  assert_true(cel_json_is_null(cel_json_object_get(r.config, "sliding_window")));
  assert_non_null(cel_tensor_list_find(r.list.items, r.list.n, "model.layers.0.self_attn.qkv_proj.weight"));
  assert_non_null(cel_tensor_list_find(r.list.items, r.list.n, "model.layers.0.mlp.gate_up_proj.weight"));
  result_free(&r);
}

static void layers_slide_as_their_list_says(void **state) {
  (void)state;
  for (int items = 1; items <= 2; items++) {
    result r;
    gguf_maker m = model_of("exaone4", 2);
    num(&m, "exaone4", "attention.sliding_window", 8);
    kv_array(&m, "exaone4.attention.sliding_window_pattern", 7, (uint64_t)items);
    for (int i = 0; i < items; i++) cel_buf_addc(&m.values, i == 0);
    if (items == 1) {
      refuses(&m, CEL_MALFORMED, "exaone4.attention.sliding_window_pattern", "2 layers");
      continue;
    }
    run_well(&r, &m);
    const cel_json *types = cel_json_get(r.config, "layer_types");
    assert_string_equal(cel_json_string_value(cel_json_array_get(types, 0)), "sliding_attention");
    assert_string_equal(cel_json_string_value(cel_json_array_get(types, 1)), "full_attention");
    result_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_architecture_has_a_type_and_a_row_order),
    cmocka_unit_test(experts_are_counted_and_named),
    cmocka_unit_test(layers_that_predict_further_tokens_are_not_counted),
    cmocka_unit_test(latent_heads_are_taken_apart),
    cmocka_unit_test(tables_of_longrope_are_read_from_tensors),
    cmocka_unit_test(layers_slide_as_their_list_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
