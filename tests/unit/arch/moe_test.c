// Families with experts: which layers have them, who shares, what the router is; and configs that contradict themselves.
#include "unit/arch/arch_test.h"

#define ORACLE CEL_TEST_DATA "/data/oracle/"
#define SIZES "\"vocab_size\": 256, \"hidden_size\": 64, \"intermediate_size\": 96, \"num_hidden_layers\": 4, " \
              "\"num_attention_heads\": 4, \"num_key_value_heads\": 2"
#define QWEN(more) "{\"model_type\": \"qwen3_moe\", " SIZES ", \"num_experts\": 8, \"num_experts_per_tok\": 2, " \
                   "\"moe_intermediate_size\": 32" more "}"
#define BARE(more) "{\"model_type\": \"qwen3_moe\", " SIZES more "}"
#define GLM(more) "{\"model_type\": \"glm4_moe\", " SIZES ", \"n_routed_experts\": 8, \"num_experts_per_tok\": 2, " \
                  "\"moe_intermediate_size\": 32" more "}"

static void load_arch(fixture *f, const char *id, const char *file) {
  char path[512];
  snprintf(path, sizeof path, ORACLE "%s/%s", id, file);
  *f = (fixture){0};
  cel_arena_init(&f->arena);
  if (cel_json_load(path, 1 << 20, &f->config, &f->err) != CEL_OK ||
      cel_arch_from_config(f->config, NULL, &f->arena, &f->arch, &f->err) != CEL_OK)
    fail_msg("%s: %s", path, f->err.text);
}

static void both_layouts_describe_the_same_experts(void **state) {
  (void)state;
  static const char *const ids[] = {"mixtral",    "qwen2moe",         "qwen3moe", "olmoe",       "erniemoe",
                                    "granitemoe", "granitemoeshared", "phimoe",   "phimoe-wide", "gptoss"};
  for (int i = 0; i < CEL_COUNT(ids); i++) {
    fixture now, old;
    load_arch(&now, ids[i], "config.json");
    load_arch(&old, ids[i], "config.legacy.json");
    const cel_moe *a = &now.arch.moe, *b = &old.arch.moe;
    assert_true(a->n_experts > 0 && a->n_experts == b->n_experts && a->top_k == b->top_k && a->inter == b->inter);
    assert_true(a->router == b->router && a->renorm == b->renorm && a->renorm_add == b->renorm_add &&
                a->renorm_min == b->renorm_min);
    assert_true(a->scale == b->scale && a->n_group == b->n_group && a->topk_group == b->topk_group &&
                a->jitter == b->jitter);
    assert_true(a->router_bias == b->router_bias && a->correction_bias == b->correction_bias &&
                a->expert_bias == b->expert_bias);
    assert_true(a->clamp == b->clamp && a->alpha == b->alpha && a->shared == b->shared &&
                a->shared_inter == b->shared_inter);
    for (int l = 0; l < now.arch.n_layers; l++) {
      const cel_layer *x = &now.arch.layers[l], *y = &old.arch.layers[l];
      assert_true(x->ffn == y->ffn && x->inter == y->inter && x->attention == y->attention && x->rope == y->rope);
    }
    drop(&now);
    drop(&old);
  }
}

static void sparse_layers_are(const char *config, const char *want) {
  fixture f;
  accept(&f, config);
  for (int i = 0; want[i]; i++) {
    bool sparse = f.arch.layers[i].ffn == CEL_FFN_MOE;
    if (sparse != (want[i] == 'x')) fail_msg("layer %d, %s", i, config);
    assert_int_equal(f.arch.layers[i].inter, sparse ? 0 : 96);
  }
  drop(&f);
}

static void each_family_has_its_rule_of_sparse_layers(void **state) {
  (void)state;
  sparse_layers_are(QWEN(""), "xxxx");
  sparse_layers_are(QWEN(", \"decoder_sparse_step\": 2"), ".x.x");
  sparse_layers_are(QWEN(", \"mlp_only_layers\": [0, 3, 77]"), ".xx.");
  sparse_layers_are(QWEN(", \"mlp_layer_types\": [\"sparse\", \"dense\", \"dense\", \"sparse\"]"), "x..x");
  sparse_layers_are(GLM(""), ".xxx");
  sparse_layers_are(GLM(", \"first_k_dense_replace\": 3"), "...x");
  sparse_layers_are("{\"model_type\": \"deepseek\", " SIZES ", \"n_routed_experts\": 8, \"num_experts_per_tok\": 2, "
                    "\"first_k_dense_replace\": 1, \"moe_layer_freq\": 2}", "..x.");
  sparse_layers_are("{\"model_type\": \"ernie4_5_moe\", " SIZES
                    ", \"moe_num_experts\": 8, \"moe_k\": 2, \"moe_layer_start_index\": 1, "
                    "\"moe_layer_end_index\": 2}",
                    ".xx.");
  sparse_layers_are("{\"model_type\": \"mixtral\", " SIZES "}", "xxxx");
}

static void aliases_count(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{\"model_type\": \"qwen3_moe\", " SIZES ", \"num_local_experts\": 6, \"norm_topk_prob\": true}");
  assert_true(f.arch.moe.n_experts == 6 && f.arch.moe.top_k == 6 && f.arch.moe.renorm);  // the class's 8 of 6 there are
  drop(&f);
  accept(&f, GLM(", \"n_shared_experts\": 3, \"routed_scaling_factor\": 2.5, \"n_group\": 4, \"topk_group\": 2"));
  assert_true(f.arch.moe.shared == CEL_SHARED_PLAIN && f.arch.moe.shared_inter == 96 && f.arch.moe.scale == 2.5);
  assert_true(f.arch.moe.n_group == 4 && f.arch.moe.topk_group == 2 && f.arch.moe.correction_bias && f.arch.moe.renorm);
  assert_string_equal(f.arch.names[CEL_W_ROUTER_CORRECTION], "model.layers.{i}.mlp.gate.e_score_correction_bias");
  drop(&f);
}

static void contradictions_are_named(void **state) {
  (void)state;
  REFUSE(BARE(", \"num_experts\": 8, \"num_experts_per_tok\": 9"), CEL_MALFORMED, "num_experts_per_tok", "9",
         "from 1 to 8");
  REFUSE(BARE(", \"num_experts\": 0"), CEL_MALFORMED, "num_experts", "0");
  REFUSE(BARE(", \"moe_intermediate_size\": \"wide\""), CEL_MALFORMED, "moe_intermediate_size");
  REFUSE(QWEN(", \"decoder_sparse_step\": 0"), CEL_MALFORMED, "decoder_sparse_step");
  REFUSE(QWEN(", \"mlp_only_layers\": 3"), CEL_MALFORMED, "mlp_only_layers", "3", "list");
  REFUSE(QWEN(", \"mlp_only_layers\": [-1]"), CEL_MALFORMED, "mlp_only_layers", "-1");
  REFUSE(QWEN(", \"mlp_layer_types\": [\"sparse\"]"), CEL_MALFORMED, "mlp_layer_types");
  REFUSE(QWEN(", \"mlp_layer_types\": [\"sparse\", \"dense\", \"wet\", \"dense\"]"), CEL_UNSUPPORTED, "mlp_layer_types",
         "entry 2", "wet");
  REFUSE(GLM(", \"n_group\": 3"), CEL_MALFORMED, "n_group 3", "equal groups");
  REFUSE(GLM(", \"n_group\": 4, \"topk_group\": 5"), CEL_MALFORMED, "topk_group", "5");
  REFUSE(GLM(", \"n_group\": 8, \"topk_group\": 8"), CEL_MALFORMED, "n_group", "two best");
  REFUSE("{\"model_type\": \"glm4_moe\", " SIZES
         ", \"n_routed_experts\": 8, \"num_experts_per_tok\": 3, \"n_group\": 4, \"topk_group\": 1}",
         CEL_MALFORMED, "topk_group 1", "3 experts");
  REFUSE("{\"model_type\": \"dots1\", " SIZES "}", CEL_MALFORMED, "num_experts", "missing");
  REFUSE("{\"model_type\": \"phimoe\", " SIZES ", \"num_local_experts\": 4, \"num_experts_per_tok\": 3}",
         CEL_UNSUPPORTED, "num_experts_per_tok", "sparsemixer");
}

static void layers_of_mamba_are_refused_by_name(void **state) {
  (void)state;
#define HYBRID(more) "{\"model_type\": \"granitemoehybrid\", " SIZES more "}"
  REFUSE(HYBRID(""), CEL_UNSUPPORTED, "layer_types", "Mamba 2");
  REFUSE(HYBRID(", \"layer_types\": [\"attention\", \"mamba\", \"attention\", \"attention\"]"), CEL_UNSUPPORTED,
         "entry 1", "mamba", "Mamba 2");
  REFUSE(HYBRID(", \"layer_types\": [\"attention\", \"linear_attention\", \"attention\", \"attention\"]"),
         CEL_UNSUPPORTED, "Mamba 2");
  REFUSE(HYBRID(", \"layer_types\": [\"attention\", \"full_attention\", \"attention\"]"), CEL_MALFORMED, "layer_types",
         "3");
  fixture f;
  accept(&f, HYBRID(", \"layer_types\": [\"attention\", \"attention\", \"full_attention\", \"attention\"], "
                    "\"num_local_experts\": 0, "
                    "\"shared_intermediate_size\": 48"));
  assert_true(f.arch.moe.n_experts == 0 && f.arch.layers[0].ffn == CEL_FFN_GATED && f.arch.layers[3].inter == 48);
  assert_int_equal(f.arch.layers[0].rope, -1);
  drop(&f);
}

static void gpt_oss_without_a_rope_has_its_class_s_yarn(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{\"model_type\": \"gpt_oss\", " SIZES ", \"num_local_experts\": 4}");
  const cel_rope *r = &f.arch.ropes[0];
  assert_true(r->type == CEL_ROPE_YARN && r->theta == 150000 && r->factor == 32 && !r->truncate &&
              r->original_max_position == 4096);
  assert_true(f.arch.window == 128 && f.arch.layers[0].attention == CEL_ATTENTION_SLIDING &&
              f.arch.layers[1].attention == CEL_ATTENTION_FULL);
  assert_true(f.arch.sinks && f.arch.moe.clamp == 7 && f.arch.moe.alpha == 1.702 && f.arch.moe.expert_bias &&
              f.arch.o_bias);
  drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_layouts_describe_the_same_experts),
      cmocka_unit_test(each_family_has_its_rule_of_sparse_layers),
      cmocka_unit_test(aliases_count),
      cmocka_unit_test(contradictions_are_named),
      cmocka_unit_test(layers_of_mamba_are_refused_by_name),
      cmocka_unit_test(gpt_oss_without_a_rope_has_its_class_s_yarn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
