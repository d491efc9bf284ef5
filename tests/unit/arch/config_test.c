// Each family from a minimal and from a full config, the rules for absent and null keys, and refusals.
#include "unit/arch/arch_test.h"

#include <math.h>

#define SIZES                                                                                 \
  "\"vocab_size\":256,\"hidden_size\":128,\"intermediate_size\":192,\"num_hidden_layers\":4," \
  "\"num_attention_heads\":4"
#define OF(family, more) "{\"model_type\":\"" family "\"," SIZES more "}"

static void schedule_is(const cel_arch *a, const char *letters) {
  assert_int_equal(a->n_layers, strlen(letters));
  for (int i = 0; i < a->n_layers; i++)
    if ((a->layers[i].attention == CEL_ATTENTION_SLIDING) != (letters[i] == 's'))
      fail_msg("layer %d of %s is the other kind", i, letters);
}

static void eos_is(const cel_arch *a, const char *want) {
  char got[256] = "";
  for (int i = 0; i < a->n_eos; i++) snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i ? " " : "", a->eos[i]);
  assert_string_equal(got, want);
}

static void name_is(const cel_arch *a, cel_weight_role role, int layer, const char *want) {
  char name[128];
  assert_true(cel_arch_weight_name(a, role, layer, name, sizeof name));
  assert_string_equal(name, want);
}

// --- Families -------------------------------------------------------------------------------------
static void llama_minimal_takes_class_defaults(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("llama", ""));
  const cel_arch *a = &f.arch;
  assert_string_equal(a->family->name, "llama");
  assert_string_equal(a->model_type, "llama");
  assert_int_equal(a->vocab, 256);
  assert_int_equal(a->hidden, 128);
  assert_int_equal(a->inter, 192);
  assert_int_equal(a->max_position, 2048);
  assert_int_equal(a->n_q, 4);
  assert_int_equal(a->n_kv, 4);
  assert_int_equal(a->head_dim, 32);
  assert_true(a->norm_eps == 1e-6 && a->norm == CEL_NORM_RMS && a->placement == CEL_PRE_NORM);
  assert_true(a->attn_scale == 1 / sqrt(32.0) && a->embed_mul == 1);
  assert_true(a->act == CEL_ACT_SILU && a->qk_norm == CEL_QK_NORM_NONE);
  assert_false(a->tied || a->qkv_bias || a->o_bias || a->mlp_bias);
  assert_int_equal(a->window, 0);
  assert_int_equal(a->bos, 1);
  eos_is(a, "2");
  schedule_is(a, "ffff");
  assert_int_equal(a->layers[3].rope, 0);
  drop(&f);
}

static void llama_full_reads_every_key(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("llama", ",\"num_key_value_heads\":2,\"head_dim\":64,\"rms_norm_eps\":1e-05,\"attention_bias\":true,"
                "\"mlp_bias\":true,\"hidden_act\":\"gelu\",\"tie_word_embeddings\":true,\"bos_token_id\":7,"
                "\"eos_token_id\":[9,8,9],\"max_position_embeddings\":4096.0,\"rope_theta\":500000"));
  const cel_arch *a = &f.arch;
  assert_int_equal(a->n_kv, 2);
  assert_int_equal(a->head_dim, 64);
  assert_int_equal(a->max_position, 4096);
  assert_true(a->norm_eps == 1e-5 && a->act == CEL_ACT_GELU_ERF && a->attn_scale == 0.125);
  assert_true(a->tied && a->qkv_bias && a->o_bias && a->mlp_bias);
  assert_int_equal(a->bos, 7);
  eos_is(a, "8 9");
  assert_true(a->ropes[0].theta == 500000);
  assert_int_equal(a->ropes[0].dims, 64);
  drop(&f);
}

static void mistral_window_absent_null_and_given(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("mistral", ""));
  assert_int_equal(f.arch.window, 4096);
  schedule_is(&f.arch, "ssss");
  drop(&f);
  accept(&f, OF("mistral", ",\"sliding_window\":null"));
  assert_int_equal(f.arch.window, 0);
  schedule_is(&f.arch, "ffff");
  drop(&f);
  accept(&f, OF("mistral", ",\"sliding_window\":8,\"head_dim\":64"));
  assert_int_equal(f.arch.window, 8);
  assert_int_equal(f.arch.head_dim, 64);
  schedule_is(&f.arch, "ssss");
  drop(&f);
}

static void qwen2_has_biases_and_slides_above(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("qwen2", ""));
  assert_true(f.arch.qkv_bias && !f.arch.o_bias && !f.arch.mlp_bias);
  assert_int_equal(f.arch.window, 0);
  assert_int_equal(f.arch.bos, -1);
  assert_int_equal(f.arch.n_eos, 0);
  schedule_is(&f.arch, "ffff");
  drop(&f);
  accept(&f, OF("qwen2", ",\"use_sliding_window\":true,\"sliding_window\":8,\"max_window_layers\":1"));
  assert_int_equal(f.arch.window, 8);
  schedule_is(&f.arch, "fsss");
  drop(&f);
  accept(&f, OF("qwen2", ",\"use_sliding_window\":true,\"sliding_window\":8"));
  schedule_is(&f.arch, "ffff");  // max_window_layers 28
  drop(&f);
  accept(&f, OF("qwen2", ",\"use_sliding_window\":false,\"sliding_window\":8,\"max_window_layers\":0"));
  assert_int_equal(f.arch.window, 0);
  schedule_is(&f.arch, "ffff");
  drop(&f);
}

static void qwen3_has_head_norms_and_width_128(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("qwen3", ",\"num_key_value_heads\":null"));
  assert_int_equal(f.arch.head_dim, 128);
  assert_int_equal(f.arch.n_kv, 4);
  assert_int_equal(f.arch.qk_norm, CEL_QK_NORM_HEAD);
  name_is(&f.arch, CEL_W_Q_NORM, 2, "model.layers.2.self_attn.q_norm");
  name_is(&f.arch, CEL_W_K_NORM, 0, "model.layers.0.self_attn.k_norm");
  drop(&f);
  accept(&f, OF("qwen3", ",\"head_dim\":null,\"attention_bias\":true"));
  assert_int_equal(f.arch.head_dim, 32);
  assert_true(f.arch.qkv_bias && f.arch.o_bias);
  drop(&f);
}

static void gemma3_minimal(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{\"model_type\":\"gemma3_text\",\"vocab_size\":256,\"hidden_size\":128,\"intermediate_size\":192,"
             "\"num_hidden_layers\":7,\"num_attention_heads\":4}");
  const cel_arch *a = &f.arch;
  assert_string_equal(a->model_type, "gemma3_text");
  assert_int_equal(a->head_dim, 256);
  assert_true(a->norm == CEL_NORM_RMS_PLUS_ONE && a->placement == CEL_PRE_POST_NORM && a->act == CEL_ACT_GELU_TANH);
  assert_true(a->attn_scale == 1 / 16.0 && a->embed_mul == sqrt(128.0) && a->attn_softcap == 0 && a->tied);
  assert_int_equal(a->window, 4096);
  schedule_is(a, "sssssfs");
  assert_int_equal(a->n_ropes, 2);
  assert_true(a->ropes[a->layers[5].rope].theta == 1e6 && a->ropes[a->layers[0].rope].theta == 1e4);
  name_is(a, CEL_W_ATTN_POST_NORM, 6, "model.layers.6.post_attention_layernorm");
  name_is(a, CEL_W_MLP_NORM, 6, "model.layers.6.pre_feedforward_layernorm");
  name_is(a, CEL_W_MLP_POST_NORM, 6, "model.layers.6.post_feedforward_layernorm");
  assert_int_equal(a->bos, 2);
  eos_is(a, "1");
  drop(&f);
}

static void gemma3_is_the_same_from_both_layouts(void **state) {
  (void)state;
#define GEMMA ",\"head_dim\":64,\"query_pre_attn_scalar\":64,\"sliding_window\":8,\"num_key_value_heads\":1," \
  "\"attn_logit_softcapping\":50.0,\"final_logit_softcapping\":30.0,"
  static const char *const forms[] = {
      OF("gemma3_text", GEMMA "\"sliding_window_pattern\":3,\"rope_theta\":2e6,\"rope_local_base_freq\":2e4,"
         "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8}"),
      OF("gemma3_text", GEMMA "\"_sliding_window_pattern\":3,\"rope_parameters\":{\"full_attention\":{\"rope_type\":"
         "\"linear\",\"factor\":8.0,\"rope_theta\":2000000.0},\"sliding_attention\":{\"rope_type\":\"default\","
         "\"rope_theta\":20000.0}}"),
      OF("gemma3_text", GEMMA "\"layer_types\":[\"sliding_attention\",\"sliding_attention\",\"full_attention\","
         "\"sliding_attention\"],\"rope_theta\":2e6,\"rope_local_base_freq\":2e4,\"rope_scaling\":{\"type\":\"linear\","
         "\"factor\":8}"),
      OF("gemma3_text", GEMMA "\"sliding_window_pattern\":3,\"rope_theta\":2e6,\"rope_local_base_freq\":2e4,"
         "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8},"
         "\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"default\"},\"sliding_attention\":null}")};
  for (int i = 0; i < CEL_COUNT(forms); i++) {
    fixture f;
    accept(&f, forms[i]);
    const cel_arch *a = &f.arch;
    schedule_is(a, "ssfs");
    const cel_rope *full = &a->ropes[a->layers[2].rope], *sliding = &a->ropes[a->layers[0].rope];
    assert_true(full->type == CEL_ROPE_LINEAR && full->factor == 8 && full->theta == 2e6);
    assert_true(sliding->type == CEL_ROPE_DEFAULT && sliding->theta == 2e4 && sliding->dims == 64);
    assert_true(a->attn_scale == 0.125 && a->attn_softcap == 0 && a->final_softcap == 30);
    drop(&f);
  }
}

static void gemma3_with_the_one_folded_in_has_plain_norms(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("gemma3", ",\"mlxcel_norm_plus_one_folded\":true"));
  assert_int_equal(f.arch.norm, CEL_NORM_RMS);
  assert_int_equal(f.arch.placement, CEL_PRE_POST_NORM);
  drop(&f);
}

// --- Wrappers, defaults, ids -------------------------------------------------------------------------
static void a_nested_text_config_takes_class_defaults_and_the_roots_ids(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{\"model_type\":\"gemma3\",\"architectures\":[\"LlamaForCausalLM\"],\"eos_token_id\":[1,106],"
             "\"bos_token_id\":2,\"text_config\":{\"model_type\":\"gemma3_text\",\"hidden_size\":2560,"
             "\"intermediate_size\":10240,\"num_hidden_layers\":34,\"sliding_window\":1024,\"rope_scaling\":"
             "{\"factor\":8.0,\"rope_type\":\"linear\"}}}");
  const cel_arch *a = &f.arch;
  assert_string_equal(a->family->name, "gemma3");
  assert_int_equal(a->hidden, 2560);
  assert_int_equal(a->n_q, 8);
  assert_int_equal(a->n_kv, 4);
  assert_int_equal(a->vocab, 262208);
  assert_int_equal(a->head_dim, 256);
  eos_is(a, "1 106");
  drop(&f);
  accept(&f, "{\"model_type\":\"mistral3\",\"tie_word_embeddings\":true,\"text_config\":{\"model_type\":\"mistral\","
             "\"sliding_window\":null}}");
  assert_int_equal(f.arch.n_kv, 8);
  assert_int_equal(f.arch.inter, 14336);
  assert_true(f.arch.tied);
  drop(&f);
}

static void the_text_levels_tie_beats_the_roots(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{\"model_type\":\"gemma3\",\"tie_word_embeddings\":true,\"text_config\":{\"tie_word_embeddings\":false}}");
  assert_false(f.arch.tied);
  drop(&f);
}

static void x_text_means_x(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("llama_text", ""));
  assert_string_equal(f.arch.family->name, "llama");
  drop(&f);
}

static void end_ids_of_config_and_generation_config_are_united(void **state) {
  (void)state;
  static const struct { const char *config, *generation, *want; } cases[] = {
      {OF("llama", ",\"eos_token_id\":2"), "{\"eos_token_id\":[2,28]}", "2 28"},
      {OF("llama", ",\"eos_token_id\":[128008,128001]"), "{\"eos_token_id\":128009}", "128001 128008 128009"},
      {OF("llama", ""), "{\"eos_token_id\":28}", "28"},
      {OF("llama", ""), "{}", "2"},
      {OF("llama", ",\"eos_token_id\":null"), NULL, ""},
      {OF("qwen2", ""), NULL, ""},
  };
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    fixture f;
    if (read_with(&f, cases[i].config, cases[i].generation) != CEL_OK) fail_msg("%d: %s", i, f.err.text);
    eos_is(&f.arch, cases[i].want);
    drop(&f);
  }
}

static void a_seventeenth_end_id_is_refused(void **state) {
  (void)state;
  fixture f;
  assert_int_equal(read_with(&f, OF("llama", ",\"eos_token_id\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,16]"), NULL), CEL_OK);
  assert_int_equal(f.arch.n_eos, 16);
  drop(&f);
  assert_int_equal(read_with(&f, OF("llama", ",\"eos_token_id\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]"),
                             "{\"eos_token_id\":17}"), CEL_UNSUPPORTED);
  assert_non_null(strstr(f.err.text, "16"));
  drop(&f);
}

static void weight_names_need_room_a_layer_and_a_weight(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("llama", ""));
  char name[32] = "";
  name_is(&f.arch, CEL_W_EMBED, 0, "model.embed_tokens");
  name_is(&f.arch, CEL_W_HEAD, 99, "lm_head");
  name_is(&f.arch, CEL_W_UP, 3, "model.layers.3.mlp.up_proj");
  assert_false(cel_arch_weight_name(&f.arch, CEL_W_UP, 4, name, sizeof name));
  assert_false(cel_arch_weight_name(&f.arch, CEL_W_UP, -1, name, sizeof name));
  assert_false(cel_arch_weight_name(&f.arch, CEL_W_Q_NORM, 0, name, sizeof name));
  assert_false(cel_arch_weight_name(&f.arch, CEL_W_UP, 0, name, 26));
  assert_true(cel_arch_weight_name(&f.arch, CEL_W_UP, 0, name, 27));
  drop(&f);
}

static void every_family_names_itself(void **state) {
  (void)state;
  for (const cel_family *const *f = cel_families; *f; f++) {
    assert_non_null((*f)->describe);
    assert_non_null((*f)->model_types[0]);
    assert_true(strlen((*f)->special) > 10);
    for (const cel_family *const *g = cel_families; g < f; g++) {
      assert_string_not_equal((*f)->name, (*g)->name);
      assert_string_not_equal((*f)->model_types[0], (*g)->model_types[0]);
    }
  }
}

// --- Refusals ----------------------------------------------------------------------------------------
static void unknown_types_are_refused_with_the_known_ones(void **state) {
  (void)state;
  REFUSE(OF("mamba", ""), CEL_UNSUPPORTED, "\"mamba\"", "llama, mistral, qwen2, qwen3, gemma3_text, gemma3");
  REFUSE("{" SIZES ",\"architectures\":[\"LlamaForCausalLM\"]}", CEL_MALFORMED, "model_type", "missing");
  REFUSE("{\"model_type\":3}", CEL_MALFORMED, "model_type", "3", "string");
  REFUSE("[]", CEL_MALFORMED, "object");
  REFUSE("\"llama\"", CEL_MALFORMED, "object");
  REFUSE("{\"model_type\":\"gemma3\",\"text_config\":[]}", CEL_MALFORMED, "text_config", "[]");
  REFUSE("{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"bloom\"}}", CEL_UNSUPPORTED, "bloom");
}

#define LLAMA_WITHOUT_HEADS                                                                           \
  "\"model_type\":\"llama\",\"vocab_size\":256,\"hidden_size\":128,\"intermediate_size\":192," \
  "\"num_hidden_layers\":4"

static void missing_and_absurd_sizes_are_named(void **state) {
  (void)state;
  REFUSE("{" LLAMA_WITHOUT_HEADS "}", CEL_MALFORMED, "num_attention_heads", "missing");
  REFUSE("{" LLAMA_WITHOUT_HEADS ",\"num_attention_heads\":null}", CEL_MALFORMED, "num_attention_heads", "missing");
  REFUSE("{" LLAMA_WITHOUT_HEADS ",\"num_attention_heads\":0}", CEL_MALFORMED, "num_attention_heads is 0", "from 1");
  REFUSE("{" LLAMA_WITHOUT_HEADS ",\"num_attention_heads\":-4}", CEL_MALFORMED, "-4");
  REFUSE("{" LLAMA_WITHOUT_HEADS ",\"num_attention_heads\":2.5}", CEL_MALFORMED, "2.5", "integer");
  REFUSE("{" LLAMA_WITHOUT_HEADS ",\"num_attention_heads\":\"4\"}", CEL_MALFORMED, "\"4\"", "integer");
  REFUSE("{" LLAMA_WITHOUT_HEADS ",\"num_attention_heads\":true}", CEL_MALFORMED, "true");
  REFUSE("{" LLAMA_WITHOUT_HEADS ",\"num_attention_heads\":9223372036854775807}", CEL_MALFORMED, "65536");
  REFUSE("{" LLAMA_WITHOUT_HEADS ",\"num_attention_heads\":3}", CEL_MALFORMED, "hidden_size 128", "3");
  REFUSE("{" LLAMA_WITHOUT_HEADS ",\"num_attention_heads\":128}", CEL_MALFORMED, "width 1", "even");
  REFUSE(OF("llama", ",\"num_key_value_heads\":3"), CEL_MALFORMED, "num_attention_heads is 4", "num_key_value_heads 3");
  REFUSE(OF("llama", ",\"head_dim\":33"), CEL_MALFORMED, "33", "even");
  REFUSE(OF("llama", ",\"head_dim\":1024"), CEL_MALFORMED, "head_dim is 1024", "512");
  REFUSE(OF("llama", ",\"rms_norm_eps\":0"), CEL_MALFORMED, "rms_norm_eps is 0");
  REFUSE(OF("llama", ",\"rms_norm_eps\":{\"__float__\":\"-Infinity\"}"), CEL_MALFORMED, "rms_norm_eps", "-Infinity");
  REFUSE(OF("llama", ",\"max_position_embeddings\":1e300"), CEL_MALFORMED, "max_position_embeddings");
  REFUSE("{\"model_type\":\"llama\",\"num_hidden_layers\":4097}", CEL_MALFORMED, "num_hidden_layers is 4097", "4096");
  REFUSE("{\"model_type\":\"llama\",\"vocab_size\":256,\"hidden_size\":16777216,\"intermediate_size\":192,"
         "\"num_hidden_layers\":4,\"num_attention_heads\":65536,\"head_dim\":512}", CEL_MALFORMED, "product");
}

static void wrong_kinds_and_words_are_named(void **state) {
  (void)state;
  REFUSE(OF("llama", ",\"hidden_act\":\"swiglu\""), CEL_UNSUPPORTED, "hidden_act", "swiglu", "gelu_pytorch_tanh");
  REFUSE(OF("llama", ",\"attention_bias\":1"), CEL_MALFORMED, "attention_bias is 1", "true or false");
  REFUSE(OF("llama", ",\"tie_word_embeddings\":\"yes\""), CEL_MALFORMED, "tie_word_embeddings");
  REFUSE(OF("llama", ",\"eos_token_id\":-1"), CEL_MALFORMED, "eos_token_id is -1");
  REFUSE(OF("llama", ",\"eos_token_id\":[2,null]"), CEL_MALFORMED, "eos_token_id is null");
  REFUSE(OF("llama", ",\"eos_token_id\":{}"), CEL_MALFORMED, "eos_token_id is {}");
  REFUSE(OF("llama", ",\"bos_token_id\":[1]"), CEL_MALFORMED, "bos_token_id is [1]");
  REFUSE(OF("mistral", ",\"sliding_window\":0"), CEL_MALFORMED, "sliding_window is 0");
  REFUSE(OF("gemma3", ",\"sliding_window_pattern\":0"), CEL_MALFORMED, "sliding_window_pattern is 0");
  REFUSE(OF("gemma3", ",\"query_pre_attn_scalar\":0"), CEL_MALFORMED, "query_pre_attn_scalar");
  REFUSE(OF("gemma3", ",\"use_bidirectional_attention\":true"), CEL_UNSUPPORTED, "use_bidirectional_attention");
  REFUSE("{\"model_type\":\"gemma3\",\"text_config\":{\"hidden_size\":-1}}", CEL_MALFORMED, "text_config.hidden_size");
}

static void wrong_schedules_are_named(void **state) {
  (void)state;
  REFUSE(OF("qwen3", ",\"layer_types\":[\"full_attention\"]"), CEL_MALFORMED, "layer_types", "list of 1", "4");
  REFUSE(OF("qwen3", ",\"layer_types\":\"full_attention\""), CEL_MALFORMED, "layer_types", "list of 4");
  REFUSE(OF("llama", ",\"layer_types\":[\"full_attention\",\"conv\",\"conv\",\"conv\"]"), CEL_UNSUPPORTED, "entry 1",
         "conv", "sliding_attention");
  REFUSE(OF("llama", ",\"layer_types\":[\"full_attention\",7,1,1]"), CEL_UNSUPPORTED, "layer_types", "entry 1", "is 7",
         "full_attention");
  REFUSE(OF("mistral", ",\"hidden_act\":\"\\u001b[31m\\u00e9\""), CEL_UNSUPPORTED, "\\u001b[31m\\u00e9");
  REFUSE(OF("llama", ",\"layer_types\":[\"full_attention\",\"full_attention\",\"full_attention\",\"sliding_attention\"]"),
         CEL_MALFORMED, "layer 3", "sliding_window");
  REFUSE(OF("gemma3", ",\"sliding_window\":null"), CEL_MALFORMED, "layer 0", "sliding_window");
  REFUSE(OF("llama", ",\"layer_types\":[\"full_attention\",\"chunked_attention\",\"full_attention\",\"full_attention\"]"),
         CEL_UNSUPPORTED, "entry 1", "chunked_attention", "sliding_attention");
  REFUSE(OF("llama", ",\"attention_chunk_size\":8192"), CEL_UNSUPPORTED, "attention_chunk_size", "8192", "chunks");
}

static void long_values_are_cut_in_messages(void **state) {
  (void)state;
  fixture f;
  char text[4096];
  int n = snprintf(text, sizeof text, "{" LLAMA_WITHOUT_HEADS ",\"num_attention_heads\":\"");
  memset(text + n, 'x', 3000);
  snprintf(text + n + 3000, sizeof text - (size_t)n - 3000, "\"}");
  assert_int_equal(read_with(&f, text, NULL), CEL_MALFORMED);
  assert_true(strlen(f.err.text) < 200);
  assert_non_null(strstr(f.err.text, "..."));
  drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(llama_minimal_takes_class_defaults),
      cmocka_unit_test(llama_full_reads_every_key),
      cmocka_unit_test(mistral_window_absent_null_and_given),
      cmocka_unit_test(qwen2_has_biases_and_slides_above),
      cmocka_unit_test(qwen3_has_head_norms_and_width_128),
      cmocka_unit_test(gemma3_minimal),
      cmocka_unit_test(gemma3_is_the_same_from_both_layouts),
      cmocka_unit_test(gemma3_with_the_one_folded_in_has_plain_norms),
      cmocka_unit_test(a_nested_text_config_takes_class_defaults_and_the_roots_ids),
      cmocka_unit_test(the_text_levels_tie_beats_the_roots),
      cmocka_unit_test(x_text_means_x),
      cmocka_unit_test(end_ids_of_config_and_generation_config_are_united),
      cmocka_unit_test(a_seventeenth_end_id_is_refused),
      cmocka_unit_test(weight_names_need_room_a_layer_and_a_weight),
      cmocka_unit_test(every_family_names_itself),
      cmocka_unit_test(unknown_types_are_refused_with_the_known_ones),
      cmocka_unit_test(missing_and_absurd_sizes_are_named),
      cmocka_unit_test(wrong_kinds_and_words_are_named),
      cmocka_unit_test(wrong_schedules_are_named),
      cmocka_unit_test(long_values_are_cut_in_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
