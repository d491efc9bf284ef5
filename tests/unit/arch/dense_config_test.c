// What the configs of the dense families say beyond the keys all share: defaults of their classes, older names of keys,
// layers without rotation, and refusals.
#include "unit/arch/arch_test.h"

#include <math.h>

#define SIZES                                                                                 \
  "\"vocab_size\":256,\"hidden_size\":128,\"intermediate_size\":192,\"num_hidden_layers\":4," \
  "\"num_attention_heads\":4"
#define OF(family, more) "{\"model_type\":\"" family "\"," SIZES more "}"

// One letter a layer: f or s, in capitals without rotation.
static void schedule_is(const char *config, const char *letters) {
  fixture f;
  accept(&f, config);
  char got[16] = "";
  for (int i = 0; i < f.arch.n_layers && i < 15; i++) {
    const cel_layer *l = &f.arch.layers[i];
    got[i] = l->attention == CEL_ATTENTION_SLIDING ? 's' : 'f';
    if (l->rope < 0) got[i] = (char)(got[i] - 'a' + 'A');
  }
  assert_string_equal(got, letters);
  drop(&f);
}

static void schedules_without_layer_types(void **state) {
  (void)state;
  schedule_is(OF("gemma2", ""), "sfsf");
  schedule_is(OF("gemma2", ",\"sliding_window\":null"), "ffff");
  schedule_is(OF("ministral", ""), "ssss");
  schedule_is(OF("ministral3", ""), "ffff");
  schedule_is(OF("ministral3", ",\"sliding_window\":8"), "ssss");
  schedule_is(OF("olmo3", ""), "sssf");
  schedule_is(OF("cohere2", ""), "sssF");
  schedule_is(OF("cohere2", ",\"sliding_window_pattern\":2"), "sFsF");
  schedule_is(OF("phi3", ""), "ffff");
  schedule_is(OF("phi3", ",\"sliding_window\":8"), "ssss");
  schedule_is(OF("starcoder2", ",\"sliding_window\":8"), "ssss");
  schedule_is(OF("mimo", ",\"use_sliding_window\":true,\"sliding_window\":8"), "ffff");
}

static void layers_without_rotation(void **state) {
  (void)state;
  schedule_is(OF("smollm3", ""), "fffF");
  schedule_is(OF("smollm3", ",\"no_rope_layer_interval\":2"), "fFfF");
  schedule_is(OF("smollm3", ",\"no_rope_layers\":[0,1,1,0]"), "FffF");
  schedule_is(OF("smollm3", ",\"no_rope_layers\":[0,1,1,0],\"use_sliding_window\":true,\"sliding_window\":8"), "SffS");
  schedule_is(OF("exaone4", ""), "sssF");
  schedule_is(OF("exaone4", ",\"sliding_window_pattern\":\"LG\""), "sFsF");
  schedule_is(OF("exaone4", ",\"sliding_window_pattern\":\"GLL\""), "FssF");
  schedule_is(OF("exaone4", ",\"sliding_window\":null"), "ffff");
  schedule_is(OF("olmo3", ",\"rope_parameters\":{\"full_attention\":null,\"sliding_attention\":{}}"), "sssf");
}

static void older_names_of_keys_are_read(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{\"model_type\":\"exaone\",\"vocab_size\":256,\"hidden_size\":128,\"intermediate_size\":192,\"num_layers\":3,"
             "\"num_attention_heads\":4,\"layer_norm_epsilon\":0.001,\"activation_function\":\"gelu\"}");
  assert_int_equal(f.arch.n_layers, 3);
  assert_true(f.arch.norm_eps == 0.001 && f.arch.act == CEL_ACT_GELU_ERF);
  drop(&f);
  accept(&f, OF("internlm3", ",\"qkv_bias\":true,\"bias\":true"));
  assert_true(f.arch.qkv_bias && f.arch.o_bias && f.arch.mlp_bias);
  assert_int_equal(f.arch.head_dim, 128);
  drop(&f);
  accept(&f, OF("gemma", ",\"hidden_act\":\"gelu\""));
  assert_int_equal(f.arch.act, CEL_ACT_GELU_TANH);  // Gemma's "gelu" means the tanh form
  drop(&f);
  accept(&f, OF("phi3", ",\"partial_rotary_factor\":0.25,\"rope_scaling\":{\"type\":\"yarn\",\"long_factor\":[1,2,3,4],"
                "\"short_factor\":[1,1,1,1]}"));
  assert_int_equal(f.arch.ropes[0].type, CEL_ROPE_LONGROPE);  // Phi-3's first files call it yarn
  drop(&f);
}

static void multipliers(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("granite", ",\"attention_multiplier\":0.25,\"embedding_multiplier\":12,\"residual_multiplier\":0.5,\"logits_scaling\":8"));
  assert_true(f.arch.attn_scale == 0.25 && f.arch.embed_mul == 12 && f.arch.residual_mul == 0.5 && f.arch.logit_mul == 0.125);
  drop(&f);
  accept(&f, OF("granite", ""));
  assert_true(f.arch.attn_scale == 1);  // the class's default, not D^-1/2
  drop(&f);
  accept(&f, OF("hyperclovax", ",\"logits_scaling\":8"));
  assert_true(f.arch.logit_mul == 8 && f.arch.attn_scale == 1 / sqrt(32.0) && f.arch.placement == CEL_PRE_POST_NORM);
  drop(&f);
  accept(&f, OF("minicpm", ",\"scale_emb\":12,\"scale_depth\":1.4,\"dim_model_base\":32"));
  assert_true(f.arch.embed_mul == 12 && f.arch.residual_mul == 1.4 / 2 && f.arch.logit_mul == 0.25);
  drop(&f);
  accept(&f, OF("cohere", ""));
  assert_true(f.arch.logit_mul == 0.0625 && f.arch.placement == CEL_PARALLEL && f.arch.norm == CEL_NORM_LAYER);
  drop(&f);
  accept(&f, OF("gemma2", ",\"attn_logit_softcapping\":null"));
  assert_true(f.arch.attn_softcap == 0 && f.arch.final_softcap == 30);
  drop(&f);
}

static void a_part_of_a_head_rotates_where_the_family_has_that(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("stablelm", ""));
  assert_int_equal(f.arch.ropes[0].dims, 8);
  assert_false(f.arch.ropes[0].interleaved);
  drop(&f);
  accept(&f, OF("glm4", ",\"head_dim\":64,\"partial_rotary_factor\":0.25"));
  assert_int_equal(f.arch.ropes[0].dims, 16);
  assert_true(f.arch.ropes[0].interleaved);
  drop(&f);
  accept(&f, OF("phi3", ",\"partial_rotary_factor\":0.25,\"rope_parameters\":{\"partial_rotary_factor\":0.75}"));
  assert_int_equal(f.arch.ropes[0].dims, 24);  // inside the dict wins
  drop(&f);
  REFUSE(OF("stablelm", ",\"partial_rotary_factor\":0.1"), CEL_MALFORMED, "partial_rotary_factor", "0.1", "32", "3", "even");
  REFUSE(OF("olmo2", ",\"partial_rotary_factor\":0.5"), CEL_UNSUPPORTED, "partial_rotary_factor", "0.5", "olmo2");
}

static void tables_of_a_config_that_says_nothing(void **state) {
  (void)state;
  fixture f;
  accept(&f, OF("ministral3", ""));
  assert_int_equal(f.arch.ropes[0].type, CEL_ROPE_YARN);
  assert_true(f.arch.ropes[0].factor == 16 && f.arch.q_pos_beta == 0.1 && f.arch.q_pos_original == 16384);
  assert_int_equal(f.arch.ropes[0].dims, 128);
  drop(&f);
  accept(&f, OF("apertus", ""));
  assert_int_equal(f.arch.ropes[0].type, CEL_ROPE_LLAMA3);
  assert_int_equal(f.arch.ropes[0].dims, 32);
  drop(&f);
  accept(&f, OF("olmo3", ",\"rope_theta\":1e6,\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2}"));
  assert_int_equal(f.arch.ropes[f.arch.layers[3].rope].type, CEL_ROPE_LINEAR);
  assert_true(f.arch.ropes[f.arch.layers[3].rope].theta == 1e6);
  assert_int_equal(f.arch.ropes[f.arch.layers[0].rope].type, CEL_ROPE_DEFAULT);
  assert_true(f.arch.ropes[f.arch.layers[0].rope].theta == 5e5);  // the class's, whatever rope_theta says
  drop(&f);
  accept(&f, OF("hunyuan_v1_dense", ",\"rope_scaling\":{\"type\":\"dynamic\",\"alpha\":1000,\"factor\":1}"));
  assert_int_equal(f.arch.ropes[0].type, CEL_ROPE_DEFAULT);
  assert_true(fabs(f.arch.ropes[0].theta / (1e4 * pow(1000, 32.0 / 30)) - 1) < 1e-12);
  drop(&f);
}

static void what_no_family_can_be_is_refused(void **state) {
  (void)state;
  REFUSE(OF("exaone4", ",\"sliding_window_pattern\":\"LLX\""), CEL_MALFORMED, "sliding_window_pattern", "LLX", "letters");
  REFUSE(OF("exaone4", ",\"sliding_window_pattern\":\"\""), CEL_MALFORMED, "sliding_window_pattern");
  REFUSE(OF("exaone4", ",\"sliding_window_pattern\":0"), CEL_MALFORMED, "sliding_window_pattern", "0");
  REFUSE(OF("internlm3", ",\"qkv_bias\":true,\"bias\":false"), CEL_UNSUPPORTED, "qkv_bias", "mlp_bias", "equal");
  REFUSE(OF("smollm3", ",\"no_rope_layers\":[1,1]"), CEL_MALFORMED, "no_rope_layers", "num_hidden_layers");
  REFUSE(OF("smollm3", ",\"no_rope_layers\":[1,1,1,2]"), CEL_MALFORMED, "no_rope_layers", "2");
  REFUSE(OF("gemma", ",\"hidden_activation\":\"mish\""), CEL_UNSUPPORTED, "hidden_activation", "mish", "xielu");
  REFUSE(OF("cohere", ",\"rope_scaling\":{\"type\":\"spiral\"}"), CEL_UNSUPPORTED, "type", "spiral", "longrope");
  REFUSE(OF("phi3", ",\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1]}"), CEL_MALFORMED, "long_factor");
  REFUSE(OF("gemma2", ",\"use_bidirectional_attention\":true"), CEL_UNSUPPORTED, "use_bidirectional_attention", "causal");
  REFUSE(OF("olmo", ",\"clip_qkv\":-1"), CEL_MALFORMED, "clip_qkv", "-1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules_without_layer_types),
      cmocka_unit_test(layers_without_rotation),
      cmocka_unit_test(older_names_of_keys_are_read),
      cmocka_unit_test(multipliers),
      cmocka_unit_test(a_part_of_a_head_rotates_where_the_family_has_that),
      cmocka_unit_test(tables_of_a_config_that_says_nothing),
      cmocka_unit_test(what_no_family_can_be_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
