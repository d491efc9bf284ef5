// GGUF metadata in the words of config.json, and tensors under canonical names.
#define _XOPEN_SOURCE 700
#include "gguf_result.h"

static void a_llama_file_becomes_a_llama_config(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_of("llama", 2);
  real(&m, "llama", "rope.freq_base", 500000);
  num(&m, "llama", "rope.dimension_count", 2);
  num(&m, "llama", "expert_count", 0);  // some writers' way to say none
  tensor_f32(&m, "blk.0.attn_q.weight", 8, 8);
  run_well(&r, &m);
  says_text(r.config, "model_type", "llama");
  says_int(r.config, "num_hidden_layers", 2);
  says_int(r.config, "hidden_size", 8);
  says_int(r.config, "intermediate_size", 12);
  says_int(r.config, "num_attention_heads", 4);
  says_int(r.config, "num_key_value_heads", 2);
  says_int(r.config, "head_dim", 2);
  says_int(r.config, "max_position_embeddings", 128);
  says_int(r.config, "vocab_size", 16);
  says_num(r.config, "rms_norm_eps", 1e-6);
  says_num(r.config, "rope_theta", 500000);
  says_bool(r.config, "tie_word_embeddings", true);
  says_bool(r.config, "attention_bias", false);
  assert_null(cel_json_get(r.config, "rope_scaling"));
  assert_null(cel_json_get(r.config, "partial_rotary_factor"));
  assert_null(cel_json_get(r.config, "mlxcel_norm_plus_one_folded"));
  assert_null(r.vocab);
  assert_null(r.generation);
  assert_null(r.tokenizer);
  assert_true(cel_gguf_rope_interleaved(&r.g));
  result_free(&r);
}

static void only_llama_files_have_interleaved_rope(void **state) {
  (void)state;
  static const struct { const char *arch, *type; } rows[] = {
    {"qwen2", "qwen2"}, {"qwen3", "qwen3"}, {"gemma3", "gemma3_text"}};
  for (int i = 0; i < 3; i++) {
    result r;
    gguf_maker m = model_of(rows[i].arch, 2);
    run_well(&r, &m);
    says_text(r.config, "model_type", rows[i].type);
    assert_false(cel_gguf_rope_interleaved(&r.g));
    result_free(&r);
  }
}

static void an_untied_head_and_biases_are_seen_in_the_tensors(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_of("llama", 2);
  tensor_f32(&m, "output.weight", 8, 16);
  tensor_f32(&m, "blk.0.attn_q.bias", 8, 0);
  tensor_f32(&m, "rope_freqs.weight", 1, 0);
  run_well(&r, &m);
  says_bool(r.config, "tie_word_embeddings", false);
  says_bool(r.config, "attention_bias", true);
  assert_non_null(cel_tensor_list_find(r.list.items, r.list.n, "lm_head.weight"));
  assert_non_null(cel_tensor_list_find(r.list.items, r.list.n, "model.layers.0.self_attn.q_proj.bias"));
  assert_non_null(cel_tensor_list_find(r.list.items, r.list.n, "rope_freqs.weight"));
  result_free(&r);
}

static void heads_take_key_length_then_the_q_matrix_then_the_quotient(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_of("qwen3", 2);
  num(&m, "qwen3", "attention.key_length", 6);
  num(&m, "qwen3", "attention.value_length", 6);
  num(&m, "qwen3", "rope.dimension_count", 3);
  run_well(&r, &m);
  says_int(r.config, "head_dim", 6);
  says_num(r.config, "partial_rotary_factor", 0.5);
  result_free(&r);
  m = model_of("llama", 2);
  tensor_f32(&m, "blk.0.attn_q.weight", 8, 12);
  run_well(&r, &m);
  says_int(r.config, "head_dim", 3);
  result_free(&r);
  m = model_of("qwen3", 2);
  num(&m, "qwen3", "attention.key_length", 6);
  num(&m, "qwen3", "attention.value_length", 4);
  refuses(&m, CEL_UNSUPPORTED, "qwen3.attention.value_length", "6");
  m = model_of("qwen3", 2);
  num(&m, "qwen3", "rope.dimension_count", 100);
  refuses(&m, CEL_MALFORMED, "qwen3.rope.dimension_count", "100");
}

static void a_part_of_a_head_survives_the_readers_truncation(void **state) {
  (void)state;
  for (uint32_t dims = 1; dims < 100; dims++) {
    result r;
    gguf_maker m = model_of("llama", 2);
    num(&m, "llama", "attention.key_length", 100);
    num(&m, "llama", "rope.dimension_count", dims);
    run_well(&r, &m);
    assert_int_equal((int)(100 * cel_json_num(r.config, "partial_rotary_factor", 0)), dims);
    result_free(&r);
  }
}

static void rope_scaling_comes_in_transformers_words(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_of("qwen2", 2);
  kv_text(&m, "qwen2.rope.scaling.type", "yarn");
  real(&m, "qwen2", "rope.scaling.factor", 4);
  num(&m, "qwen2", "rope.scaling.original_context_length", 32);
  real(&m, "qwen2", "rope.scaling.yarn_beta_fast", 16);
  run_well(&r, &m);
  const cel_json *s = cel_json_get(r.config, "rope_scaling");
  says_text(s, "rope_type", "yarn");
  says_num(s, "factor", 4);
  says_num(s, "original_max_position_embeddings", 32);
  says_num(s, "beta_fast", 16);
  assert_null(cel_json_get(s, "attention_factor"));
  result_free(&r);
  m = model_of("llama", 2);
  real(&m, "llama", "rope.scale_linear", 2);  // of old files
  run_well(&r, &m);
  s = cel_json_get(r.config, "rope_scaling");
  says_text(s, "rope_type", "linear");
  says_num(s, "factor", 2);
  result_free(&r);
  m = model_of("llama", 2);
  kv_text(&m, "llama.rope.scaling.type", "none");
  real(&m, "llama", "rope.scaling.factor", 8);
  run_well(&r, &m);
  assert_null(cel_json_get(r.config, "rope_scaling"));
  result_free(&r);
  m = model_of("llama", 2);
  kv_text(&m, "llama.rope.scaling.type", "spiral");
  refuses(&m, CEL_UNSUPPORTED, "llama.rope.scaling.type", "spiral");
}

static void a_gemma3_file_becomes_a_gemma3_text_config(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_of("gemma3", 2);
  num(&m, "gemma3", "attention.key_length", 16);
  num(&m, "gemma3", "attention.value_length", 16);
  num(&m, "gemma3", "attention.sliding_window", 512);
  kv_text(&m, "gemma3.rope.scaling.type", "linear");
  real(&m, "gemma3", "rope.scaling.factor", 8);
  tensor_f32(&m, "blk.1.attn_norm.weight", 8, 0);
  tensor_f32(&m, "blk.1.post_attention_norm.weight", 8, 0);
  tensor_f32(&m, "blk.1.ffn_norm.weight", 8, 0);
  tensor_f32(&m, "blk.1.post_ffw_norm.weight", 8, 0);
  run_well(&r, &m);
  says_bool(r.config, "mlxcel_norm_plus_one_folded", true);
  says_num(r.config, "rope_theta", 1e6);
  says_num(r.config, "rope_local_base_freq", 1e4);
  says_num(cel_json_get(r.config, "rope_scaling"), "factor", 8);
  says_int(r.config, "sliding_window", 512);
  says_int(r.config, "sliding_window_pattern", 6);
  says_num(r.config, "query_pre_attn_scalar", 16);
  says_text(r.config, "hidden_activation", "gelu_pytorch_tanh");
  static const char *const norms[] = {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                                      "post_feedforward_layernorm"};
  for (int i = 0; i < 4; i++) {
    char name[80];
    snprintf(name, sizeof name, "model.layers.1.%s.weight", norms[i]);
    assert_non_null(cel_tensor_list_find(r.list.items, r.list.n, name));
  }
  result_free(&r);
  m = model_of("gemma3", 62);  // the 27B model scales by hidden / heads
  num(&m, "gemma3", "attention.key_length", 16);
  run_well(&r, &m);
  says_num(r.config, "query_pre_attn_scalar", 2);
  result_free(&r);
}

static void every_llama_name_is_canonical(void **state) {
  (void)state;
  static const struct { const char *from, *to; } names[] = {
    {"output_norm.weight", "model.norm.weight"},
    {"blk.11.attn_norm.weight", "model.layers.11.input_layernorm.weight"},
    {"blk.11.ffn_norm.weight", "model.layers.11.post_attention_layernorm.weight"},
    {"blk.11.attn_k.weight", "model.layers.11.self_attn.k_proj.weight"},
    {"blk.11.attn_v.bias", "model.layers.11.self_attn.v_proj.bias"},
    {"blk.11.attn_output.weight", "model.layers.11.self_attn.o_proj.weight"},
    {"blk.11.attn_q_norm.weight", "model.layers.11.self_attn.q_norm.weight"},
    {"blk.11.attn_k_norm.weight", "model.layers.11.self_attn.k_norm.weight"},
    {"blk.11.ffn_gate.weight", "model.layers.11.mlp.gate_proj.weight"},
    {"blk.11.ffn_up.weight", "model.layers.11.mlp.up_proj.weight"},
    {"blk.11.ffn_down.weight", "model.layers.11.mlp.down_proj.weight"},
    {"blk.11.attn_q.lora_a.weight", "blk.11.attn_q.lora_a.weight"},  // unknown: as it is
    {"blk.x.attn_q.weight", "blk.x.attn_q.weight"},
    {"plain", "plain"},
  };
  result r;
  gguf_maker m = model_of("llama", 2);
  for (int i = 0; i < 14; i++) tensor_f32(&m, names[i].from, 1, 0);
  run_well(&r, &m);
  for (int i = 0; i < 14; i++) assert_non_null(cel_tensor_list_find(r.list.items, r.list.n, names[i].to));
  result_free(&r);
  m = model_of("llama", 2);
  tensor_f32(&m, "output.weight", 1, 0);
  tensor_f32(&m, "lm_head.weight", 1, 0);
  refuses(&m, CEL_MALFORMED, "lm_head.weight", "twice");
}

static void dimensions_are_turned_round(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_of("llama", 2);
  run_well(&r, &m);
  const cel_tensor *t = cel_tensor_list_find(r.list.items, r.list.n, "model.embed_tokens.weight");
  assert_int_equal(t->dims[0], 16);
  assert_int_equal(t->dims[1], 8);
  result_free(&r);
}

static const char *const tokens[] = {"<unk>", "<s>", "</s>", "a", "<|eot_id|>", "<|eom_id|>"};

static void with_tokens(gguf_maker *m) { kv_texts(m, "tokenizer.ggml.tokens", tokens, 6); }

static void end_ids_are_united(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_of("llama", 2);
  with_tokens(&m);
  kv_u32(&m, "tokenizer.ggml.bos_token_id", 1);
  kv_u32(&m, "tokenizer.ggml.eos_token_id", 2);
  kv_u32(&m, "tokenizer.ggml.eot_token_id", 4);
  kv_u32(&m, "tokenizer.ggml.eom_token_id", 2);
  kv_bool(&m, "tokenizer.ggml.add_bos_token", 1);
  kv_f32(&m, "general.sampling.temp", 0.6f);
  run_well(&r, &m);
  for (int i = 0; i < 2; i++) {
    const cel_json *c = i ? r.generation : r.config, *eos = cel_json_get(c, "eos_token_id");
    assert_int_equal(cel_json_array_size(eos), 2);
    assert_int_equal(cel_json_integer_value(cel_json_array_get(eos, 0)), 2);
    assert_int_equal(cel_json_integer_value(cel_json_array_get(eos, 1)), 4);
    says_int(c, "bos_token_id", 1);
  }
  says_num(r.generation, "temperature", 0.6);
  says_text(r.tokenizer, "bos_token", "<s>");
  says_text(r.tokenizer, "eos_token", "</s>");
  says_bool(r.tokenizer, "add_bos_token", true);
  assert_null(cel_json_get(r.tokenizer, "add_eos_token"));
  result_free(&r);
}

static void an_undeclared_end_of_turn_is_known_by_its_text(void **state) {
  (void)state;
  for (int control = 0; control < 2; control++) {
    result r;
    gguf_maker m = model_of("llama", 2);
    with_tokens(&m);
    kv_array(&m, "tokenizer.ggml.token_type", 5, 6);
    for (int i = 0; i < 6; i++) put_u32(&m.values, control && i >= 4 ? 3 : 1);
    kv_u32(&m, "tokenizer.ggml.eos_token_id", 2);
    run_well(&r, &m);
    assert_int_equal(r.vocab->eot, control ? 4 : -1);  // a normal token of that text is just text
    result_free(&r);
  }
}

static void the_vocabulary_is_handed_over_whole(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_of("llama", 2);
  static const char *const merges[] = {"a b"};
  with_tokens(&m);
  kv_text(&m, "tokenizer.ggml.model", "gpt2");
  kv_text(&m, "tokenizer.ggml.pre", "smollm");
  kv_texts(&m, "tokenizer.ggml.merges", merges, 1);
  kv_array(&m, "tokenizer.ggml.scores", 6, 6);
  for (int i = 0; i < 6; i++) put_u32(&m.values, cel_f32_bits((float)-i));
  kv_u32(&m, "tokenizer.ggml.padding_token_id", 99);  // outside: counts as none
  kv_u32(&m, "tokenizer.ggml.unknown_token_id", 0);
  kv_bool(&m, "tokenizer.ggml.add_space_prefix", 0);
  run_well(&r, &m);
  const cel_gguf_vocab *v = r.vocab;
  assert_true(cel_str_is(v->model, "gpt2") && cel_str_is(v->pre, "smollm"));
  assert_int_equal(v->n_tokens, 6);
  for (int i = 0; i < 6; i++) assert_true(cel_str_is(v->tokens[i], tokens[i]) && v->scores[i] == (float)-i);
  assert_null(v->types);
  assert_int_equal(v->n_merges, 1);
  assert_true(cel_str_is(v->merges[0], "a b"));
  assert_int_equal(v->unk, 0);
  assert_int_equal(v->pad, -1);
  assert_int_equal(v->bos, -1);
  assert_int_equal(v->add_bos, -1);
  assert_int_equal(v->add_space_prefix, 0);
  result_free(&r);
}

static void contradictions_of_the_vocabulary_are_refused(void **state) {
  (void)state;
  gguf_maker m = model_of("llama", 2);
  with_tokens(&m);
  kv_u32(&m, "tokenizer.ggml.eos_token_id", 6);
  refuses(&m, CEL_MALFORMED, "tokenizer.ggml.eos_token_id", "6 tokens");
  m = model_of("llama", 2);
  with_tokens(&m);
  kv_array(&m, "tokenizer.ggml.scores", 6, 5);
  put_zeros(&m.values, 20);
  refuses(&m, CEL_MALFORMED, "tokenizer.ggml.scores", "5 items");
  m = model_of("llama", 2);
  with_tokens(&m);
  kv_array(&m, "tokenizer.ggml.token_type", 8, 0);
  refuses(&m, CEL_MALFORMED, "tokenizer.ggml.token_type", "array of i32");
  m = model_of("llama", 2);
  kv_u32(&m, "tokenizer.ggml.tokens", 6);
  refuses(&m, CEL_MALFORMED, "tokenizer.ggml.tokens", "array of string");
}

static void other_architectures_pass_through_for_arch_to_refuse(void **state) {
  (void)state;
  result r;
  gguf_maker m = {0};
  tensor_f32(&m, "t", 4, 0);
  run_well(&r, &m);  // no architecture at all: the tensors are listed, and there is no model_type
  assert_int_equal(cel_json_object_size(r.config), 0);
  assert_string_equal(r.list.items[0].name, "t");
  assert_false(cel_gguf_rope_interleaved(&r.g));
  result_free(&r);
  m = (gguf_maker){0};
  kv_text(&m, "general.architecture", "mamba2");
  run_well(&r, &m);
  says_text(r.config, "model_type", "mamba2");
  result_free(&r);
  m = model_of("llama", 2);
  num(&m, "llama", "expert_count", 8);
  run_well(&r, &m);
  says_text(r.config, "model_type", "mixtral");
  result_free(&r);
}

static void missing_or_impossible_metadata_is_named(void **state) {
  (void)state;
  gguf_maker m = {0};
  kv_u32(&m, "general.architecture", 1);
  refuses(&m, CEL_MALFORMED, "general.architecture", "string");
  m = (gguf_maker){0};
  kv_text(&m, "general.architecture", "llama");
  refuses(&m, CEL_MALFORMED, "llama.block_count", "missing");
  m = model_of("llama", 0);
  refuses(&m, CEL_MALFORMED, "llama.block_count", "0");
  m = model_of("llama", 0xFFFFFFFFu);
  refuses(&m, CEL_MALFORMED, "llama.block_count", "4294967295");
  m = model_of("llama", 2);
  kv_text(&m, "llama.rope.freq_base", "high");
  refuses(&m, CEL_MALFORMED, "llama.rope.freq_base", "number");
  m = model_of("llama", 2);
  kv(&m, "llama.rope.freq_base", 6);
  put_u32(&m.values, 0x7FC00000);
  refuses(&m, CEL_MALFORMED, "llama.rope.freq_base", "finite");
}

static void sizes_per_layer_are_accepted_when_equal(void **state) {
  (void)state;
  for (uint32_t last = 12; last <= 13; last++) {
    result r;
    gguf_maker m = {0};
    kv_text(&m, "general.architecture", "qwen2");
    num(&m, "qwen2", "block_count", 2);
    num(&m, "qwen2", "context_length", 128);
    num(&m, "qwen2", "embedding_length", 8);
    kv_array(&m, "qwen2.feed_forward_length", 5, 2);
    put_u32(&m.values, 12);
    put_u32(&m.values, last);
    num(&m, "qwen2", "attention.head_count", 4);
    real(&m, "qwen2", "attention.layer_norm_rms_epsilon", 1e-6f);
    tensor_f32(&m, "token_embd.weight", 8, 16);
    if (last == 13) {
      refuses(&m, CEL_UNSUPPORTED, "qwen2.feed_forward_length", "layer to layer");
      continue;
    }
    run_well(&r, &m);
    says_int(r.config, "intermediate_size", 12);
    says_int(r.config, "num_key_value_heads", 4);
    result_free(&r);
  }
}

static void files_that_are_no_whole_model_are_refused(void **state) {
  (void)state;
  gguf_maker m = model_of("llama", 2);
  kv_text(&m, "general.type", "adapter");
  refuses(&m, CEL_UNSUPPORTED, "general.type", "adapter");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_llama_file_becomes_a_llama_config),
    cmocka_unit_test(only_llama_files_have_interleaved_rope),
    cmocka_unit_test(an_untied_head_and_biases_are_seen_in_the_tensors),
    cmocka_unit_test(heads_take_key_length_then_the_q_matrix_then_the_quotient),
    cmocka_unit_test(a_part_of_a_head_survives_the_readers_truncation),
    cmocka_unit_test(rope_scaling_comes_in_transformers_words),
    cmocka_unit_test(a_gemma3_file_becomes_a_gemma3_text_config),
    cmocka_unit_test(every_llama_name_is_canonical),
    cmocka_unit_test(dimensions_are_turned_round),
    cmocka_unit_test(end_ids_are_united),
    cmocka_unit_test(an_undeclared_end_of_turn_is_known_by_its_text),
    cmocka_unit_test(the_vocabulary_is_handed_over_whole),
    cmocka_unit_test(contradictions_of_the_vocabulary_are_refused),
    cmocka_unit_test(other_architectures_pass_through_for_arch_to_refuse),
    cmocka_unit_test(missing_or_impossible_metadata_is_named),
    cmocka_unit_test(sizes_per_layer_are_accepted_when_equal),
    cmocka_unit_test(files_that_are_no_whole_model_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
