// Architectures whose layers GGUF keeps in another form than a folder (gguf_layers.c).
#define _XOPEN_SOURCE 700
#include "gguf_result.h"

#include <math.h>

static void floats(gguf_maker *m, const char *key, const float *values, int n) {
  kv_array(m, key, 6, (uint64_t)n);
  for (int i = 0; i < n; i++) put_u32(&m->values, cel_f32_bits(values[i]));
}

static void bools(gguf_maker *m, const char *key, const char *letters) {
  kv_array(m, key, 7, strlen(letters));
  for (; *letters; letters++) cel_buf_addc(&m->values, *letters == 'x');
}

// The last n values of the data so far.
static void fill(gguf_maker *m, const float *values, size_t n) {
  size_t room = (n * 4 + 31) / 32 * 32;
  memcpy(m->data.p + m->data.n - room, values, n * 4);
}

static float value_of(const result *r, const char *name, int64_t i) {
  const cel_tensor *t = cel_tensor_list_find(r->list.items, r->list.n, name);
  if (!t) fail_msg("%s is missing", name);
  assert_true(t->dtype == CEL_DT_F32 && t->bytes >= 4 * (i + 1));
  float v;
  memcpy(&v, (const char *)t->data + 4 * i, sizeof v);
  return v;
}

static void numbers_of_an_activation_become_tensors(void **state) {
  (void)state;
  static const float two[] = {0.25f, -0.5f};
  result r;
  gguf_maker m = model_of("apertus", 2);
  floats(&m, "xielu.alpha_p", two, 2);
  tensor_f32(&m, "blk.0.attn_norm.weight", 8, 0);
  run_well(&r, &m);
  assert_true(value_of(&r, "model.layers.1.mlp.act_fn.alpha_p", 0) == -0.5f);
  assert_non_null(cel_tensor_list_find(r.list.items, r.list.n, "model.layers.0.attention_layernorm.weight"));
  result_free(&r);
  m = model_of("apertus", 3);
  floats(&m, "xielu.beta", two, 2);
  refuses(&m, CEL_MALFORMED, "xielu.beta", "an array of 3 f32");
  m = model_of("apertus", 2);
  kv_f32(&m, "xielu.eps", 1);
  refuses(&m, CEL_MALFORMED, "xielu.eps", "an array of 2 f32");
}

static gguf_maker gemma3n_of(const float *deviations) {
  gguf_maker m = model_of("gemma3n", 2);
  num(&m, "gemma3n", "attention.sliding_window", 8);
  bools(&m, "gemma3n.attention.sliding_window_pattern", "x.");
  if (deviations) floats(&m, "gemma3n.activation_sparsity_scale", deviations, 2);
  return m;
}

static void deviations_become_shares(void **state) {
  (void)state;
  const float some[] = {1.6448536f, -INFINITY};
  result r;
  gguf_maker m = gemma3n_of(some);
  run_well(&r, &m);
  const cel_json *list = cel_json_get(r.config, "activation_sparsity_pattern");
  assert_true(fabs(cel_json_number_value(cel_json_array_get(list, 0)) - 0.95) < 1e-7);
  assert_true(cel_json_number_value(cel_json_array_get(list, 1)) == 0);
  assert_string_equal(cel_json_string_value(cel_json_array_get(cel_json_get(r.config, "layer_types"), 0)), "sliding_attention");
  says_text(r.config, "model_type", "gemma3n_text");
  result_free(&r);
  const float none[] = {NAN, 0};
  m = gemma3n_of(none);
  refuses(&m, CEL_MALFORMED, "activation_sparsity_scale", "entry 0");
}

static void stacks_of_planes_are_taken_apart(void **state) {
  (void)state;
  result r;
  gguf_maker m = gemma3n_of(NULL);
  put_text(&m.infos, "altup_proj.weight");
  put_u32(&m.infos, 3);
  for (int i = 0; i < 2; i++) put_u64(&m.infos, 8);
  put_u64(&m.infos, 3);
  put_u32(&m.infos, 0);
  put_u64(&m.infos, m.data.n);
  put_zeros(&m.data, 3 * 64 * 4);
  m.n_tensors++;
  run_well(&r, &m);
  const cel_tensor *t = cel_tensor_list_find(r.list.items, r.list.n, "model.altup_projections.2.weight");
  assert_non_null(t);
  assert_true(t->rank == 2 && t->dims[0] == 8 && t->dims[1] == 8 && t->bytes == 256);
  result_free(&r);
  m = gemma3n_of(NULL);
  tensor_f32(&m, "altup_proj.weight", 8, 8);
  refuses(&m, CEL_MALFORMED, "model.altup_projections.weight", "a stack of matrices");
}

static gguf_maker qwen3next_of(uint64_t rates, uint64_t ba_rows) {
  gguf_maker m = model_of("qwen3next", 2);
  num(&m, "qwen3next", "ssm.group_count", 2);
  num(&m, "qwen3next", "ssm.time_step_rank", 4);
  num(&m, "qwen3next", "ssm.inner_size", 16);
  bools(&m, "qwen3next.attention.recurrent_layers", "x.");
  tensor_f32(&m, "blk.0.ssm_ba.weight", 2, ba_rows);
  float rows[32];
  for (int i = 0; i < 32; i++) rows[i] = (float)i;
  fill(&m, rows, (size_t)(ba_rows * 2));
  tensor_f32(&m, "blk.0.ssm_a", rates, 0);
  return m;
}

static void projections_of_a_delta_net_come_apart(void **state) {
  (void)state;
  const float rates[] = {-1, -0.5f, -2, -4};
  result r;
  gguf_maker m = qwen3next_of(4, 8);
  fill(&m, rates, 4);
  run_well(&r, &m);
  assert_true(value_of(&r, "model.layers.0.linear_attn.A_log", 0) == 0);
  assert_true(fabsf(value_of(&r, "model.layers.0.linear_attn.A_log", 3) - logf(4)) < 1e-6f);
  // rows of two: b of head 0 is rows 0 and 1, of head 1 rows 4 and 5; a has the others
  assert_true(value_of(&r, "model.layers.0.linear_attn.in_proj_b.weight", 2) == 2);
  assert_true(value_of(&r, "model.layers.0.linear_attn.in_proj_b.weight", 4) == 8);
  assert_true(value_of(&r, "model.layers.0.linear_attn.in_proj_a.weight", 0) == 4);
  says_bool(r.config, "mlxcel_delta_separate", true);
  says_int(r.config, "linear_value_head_dim", 4);
  assert_string_equal(cel_json_string_value(cel_json_array_get(cel_json_get(r.config, "layer_types"), 0)), "linear_attention");
  result_free(&r);
  m = qwen3next_of(4, 8);  // zeros
  refuses(&m, CEL_MALFORMED, "ssm_a", "a rate of forgetting is negative");
  m = qwen3next_of(4, 6);
  fill(&m, rates, 4);
  refuses(&m, CEL_MALFORMED, "ssm_ba", "two rows for each value head");
}

static void layers_of_mamba_are_named(void **state) {
  (void)state;
  result r;
  gguf_maker m = {0};
  kv_text(&m, "general.architecture", "granitehybrid");
  num(&m, "granitehybrid", "block_count", 2);
  num(&m, "granitehybrid", "context_length", 128);
  num(&m, "granitehybrid", "embedding_length", 8);
  num(&m, "granitehybrid", "feed_forward_length", 12);
  num(&m, "granitehybrid", "attention.head_count", 4);
  kv_array(&m, "granitehybrid.attention.head_count_kv", 4, 2);
  put_u32(&m.values, 0);
  put_u32(&m.values, 2);
  real(&m, "granitehybrid", "attention.layer_norm_rms_epsilon", 1e-6f);
  tensor_f32(&m, "token_embd.weight", 8, 16);
  run_well(&r, &m);
  says_text(r.config, "model_type", "granitemoehybrid");
  const cel_json *types = cel_json_get(r.config, "layer_types");
  assert_string_equal(cel_json_string_value(cel_json_array_get(types, 0)), "mamba");
  assert_string_equal(cel_json_string_value(cel_json_array_get(types, 1)), "attention");
  result_free(&r);
}

static void value_heads_by_turns_are_said(void **state) {
  (void)state;
  for (int keys = 2; keys <= 4; keys += 2) {
    result r;
    gguf_maker m = model_of("qwen35", 2);
    num(&m, "qwen35", "ssm.group_count", (uint32_t)keys);
    num(&m, "qwen35", "ssm.time_step_rank", 4);
    num(&m, "qwen35", "ssm.inner_size", 16);
    run_well(&r, &m);
    says_text(r.config, "model_type", "qwen3_5_text");
    assert_true((cel_json_get(r.config, "mlxcel_delta_tiled") != NULL) == (keys == 2));
    assert_null(cel_json_get(r.config, "mlxcel_delta_separate"));
    result_free(&r);
  }
}

static void granite_without_positions_is_a_hybrid(void **state) {
  (void)state;
  for (int rotated = 0; rotated < 2; rotated++) {
    result r;
    gguf_maker m = model_of("granite", 2);
    kv_bool(&m, "granite.rope.scaling.finetuned", rotated);
    run_well(&r, &m);
    says_text(r.config, "model_type", rotated ? "granite" : "granitemoehybrid");
    const cel_json *types = cel_json_get(r.config, "layer_types");
    assert_int_equal(cel_json_array_size(types), rotated ? 0 : 2);
    if (!rotated) says_int(r.config, "num_local_experts", 0);
    if (!rotated) assert_string_equal(cel_json_string_value(cel_json_array_get(types, 1)), "attention");
    result_free(&r);
  }
}

static void a_mistral_in_ministrals_clothes(void **state) {
  (void)state;
  result r;
  gguf_maker m = model_of("mistral3", 2);
  run_well(&r, &m);
  says_text(r.config, "model_type", "mistral");
  assert_true(cel_gguf_rope_interleaved(&r.g));
  result_free(&r);
  m = model_of("mistral3", 2);
  kv_text(&m, "mistral3.rope.scaling.type", "yarn");
  real(&m, "mistral3", "rope.scaling.factor", 16);
  real(&m, "mistral3", "attention.temperature_scale", 0.5f);
  real(&m, "mistral3", "rope.scaling.yarn_log_multiplier", 0.5f);
  run_well(&r, &m);
  says_text(r.config, "model_type", "ministral3");
  const cel_json *scaling = cel_json_get(r.config, "rope_scaling");
  says_num(scaling, "llama_4_scaling_beta", 0.5);
  says_num(scaling, "mscale", 1);
  says_num(scaling, "mscale_all_dim", 0.5);
  result_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_of_an_activation_become_tensors), cmocka_unit_test(deviations_become_shares),
      cmocka_unit_test(stacks_of_planes_are_taken_apart),        cmocka_unit_test(projections_of_a_delta_net_come_apart),
      cmocka_unit_test(layers_of_mamba_are_named),               cmocka_unit_test(a_mistral_in_ministrals_clothes),
      cmocka_unit_test(value_heads_by_turns_are_said),           cmocka_unit_test(granite_without_positions_is_a_hybrid),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
