// Latent attention in configs: what is read, what is derived from it, and what is refused.
#include "unit/arch/arch_test.h"

#include <math.h>
#include <string.h>

#define SIZES "\"vocab_size\": 64, \"hidden_size\": 64, \"intermediate_size\": 64, \"num_hidden_layers\": 3, " \
              "\"num_attention_heads\": 2, \"num_key_value_heads\": 2"
#define PARTS "\"kv_lora_rank\": 24, \"qk_nope_head_dim\": 20, \"qk_rope_head_dim\": 8, \"v_head_dim\": 12"
#define EXPERTS "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32, \"first_k_dense_replace\": 1"
#define V2(more) "{\"model_type\": \"deepseek_v2\", " SIZES ", " PARTS ", " EXPERTS more "}"
#define V3(more) "{\"model_type\": \"deepseek_v3\", " SIZES ", " PARTS ", " EXPERTS ", \"n_group\": 4, \"topk_group\": 2" more "}"
#define YOUTU(more) "{\"model_type\": \"youtu\", " SIZES ", " PARTS more "}"
#define CPM3(more) "{\"model_type\": \"minicpm3\", " SIZES ", " PARTS more "}"
#define YARN(more) ", \"max_position_embeddings\": 640, \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40, " \
                   "\"original_max_position_embeddings\": 16" more "}"

static void widths_are_those_of_the_cache_and_of_a_query(void **state) {
  (void)state;
  fixture f;
  accept(&f, YOUTU(", \"q_lora_rank\": 16"));
  const cel_mla *m = &f.arch.mla;
  assert_true(m->q_rank == 16 && m->kv_rank == 24 && m->nope == 20 && m->rope == 8 && m->v == 12);
  assert_int_equal(f.arch.head_dim, 28);
  assert_int_equal(f.arch.n_kv, 1);
  assert_int_equal(cel_arch_key_width(&f.arch), 32);
  assert_int_equal(f.arch.ropes[0].dims, 8);  // the rotated part alone
  assert_true(f.arch.attn_scale == 1 / sqrt(28.0));
  drop(&f);
}

static void a_null_rank_of_q_is_a_plain_projection(void **state) {
  (void)state;
  fixture f;
  accept(&f, YOUTU(", \"q_lora_rank\": null"));
  assert_int_equal(f.arch.mla.q_rank, 0);
  drop(&f);
  accept(&f, YOUTU(""));
  assert_int_equal(f.arch.mla.q_rank, 1536);  // the class's
  drop(&f);
}

static void rotation_is_of_pairs_unless_the_family_or_the_file_says_halves(void **state) {
  (void)state;
  static const struct {
    const char *config;
    bool pairs;
  } cases[] = {{V2(""), true}, {V2(", \"rope_interleave\": false"), true}, {V3(""), true}, {V3(", \"rope_interleave\": false"), false},
               {YOUTU(""), true}, {YOUTU(", \"rope_interleave\": false"), false}, {CPM3(""), false}};
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    fixture f;
    accept(&f, cases[i].config);
    if (f.arch.ropes[0].interleaved != cases[i].pairs) fail_msg("%s", cases[i].config);
    drop(&f);
  }
}

static void yarns_square_is_in_the_scale(void **state) {
  (void)state;
  fixture f;
  double plain = 1 / sqrt(28.0), m = 0.1 * 0.707 * log(40) + 1;
  accept(&f, V2(YARN(", \"mscale\": 0.707, \"mscale_all_dim\": 0.707")));
  assert_true(fabs(f.arch.attn_scale - m * m * plain) < 1e-12);
  drop(&f);
  accept(&f, V2(YARN("")));  // no mscale_all_dim: the amplitude alone
  assert_true(f.arch.attn_scale == plain);
  drop(&f);
}

static void biases_and_multipliers_follow_their_keys(void **state) {
  (void)state;
  fixture f;
  accept(&f, V3(", \"attention_bias\": true"));
  assert_true(f.arch.qkv_bias && f.arch.o_bias);
  drop(&f);
  accept(&f, CPM3(", \"scale_emb\": 4, \"scale_depth\": null, \"dim_model_base\": 32"));
  assert_true(f.arch.embed_mul == 4 && f.arch.residual_mul == 1 && f.arch.logit_mul == 0.5);
  drop(&f);
  accept(&f, CPM3(""));  // the class's
  assert_true(f.arch.embed_mul == 12 && fabs(f.arch.residual_mul - 1.4 / sqrt(3.0)) < 1e-12 && f.arch.logit_mul == 4);
  drop(&f);
}

static void dense_layers_come_first_and_groups_count_by_the_method(void **state) {
  (void)state;
  fixture f;
  accept(&f, V2(", \"n_group\": 4, \"topk_group\": 1"));
  assert_true(f.arch.layers[0].ffn == CEL_FFN_GATED && f.arch.layers[1].ffn == CEL_FFN_MOE);
  assert_int_equal(f.arch.moe.n_group, 1);  // greedy
  assert_true(!f.arch.moe.renorm);
  drop(&f);
  accept(&f, V2(", \"n_group\": 4, \"topk_group\": 1, \"topk_method\": \"group_limited_greedy\", \"norm_topk_prob\": true"));
  assert_int_equal(f.arch.moe.n_group, 4);
  assert_true(!f.arch.moe.renorm);  // as in transformers, whatever the key says
  drop(&f);
  accept(&f, V3(""));
  assert_true(f.arch.moe.router == CEL_ROUTER_SIGMOID && f.arch.moe.correction_bias && f.arch.moe.renorm && f.arch.moe.scale == 2.5);
  drop(&f);
}

static void what_cannot_be_is_refused_by_its_key(void **state) {
  (void)state;
  static const struct {
    const char *config;
    cel_status status;
    const char *words[4];
  } cases[] = {
      {V2(", \"q_lora_rank\": 0"), CEL_MALFORMED, {"q_lora_rank", "0"}},
      {V2(", \"q_lora_rank\": \"x\""), CEL_MALFORMED, {"q_lora_rank", "\"x\""}},
      {"{\"model_type\": \"youtu\", " SIZES ", \"qk_rope_head_dim\": 7}", CEL_MALFORMED, {"qk_rope_head_dim", "7", "even"}},
      {"{\"model_type\": \"youtu\", " SIZES ", \"kv_lora_rank\": 1e9}", CEL_MALFORMED, {"kv_lora_rank"}},
      {"{\"model_type\": \"youtu\", " SIZES ", \"v_head_dim\": -4}", CEL_MALFORMED, {"v_head_dim", "-4"}},
      {V2(", \"topk_method\": \"best\""), CEL_UNSUPPORTED, {"topk_method", "best", "greedy"}},
      {V2(", \"moe_layer_freq\": 2"), CEL_MALFORMED, {"moe_layer_freq", "2"}},
      {V3(", \"scoring_func\": \"softmax\""), CEL_UNSUPPORTED, {"scoring_func", "softmax", "sigmoid"}},
      {"{\"model_type\": \"kimi_k2\", " SIZES "}", CEL_UNSUPPORTED, {"model_type", "kimi_k2", "deepseek_v3"}},
  };
  for (int i = 0; i < CEL_COUNT(cases); i++) refuse(cases[i].config, cases[i].status, cases[i].words);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(widths_are_those_of_the_cache_and_of_a_query),
      cmocka_unit_test(a_null_rank_of_q_is_a_plain_projection),
      cmocka_unit_test(rotation_is_of_pairs_unless_the_family_or_the_file_says_halves),
      cmocka_unit_test(yarns_square_is_in_the_scale),
      cmocka_unit_test(biases_and_multipliers_follow_their_keys),
      cmocka_unit_test(dense_layers_come_first_and_groups_count_by_the_method),
      cmocka_unit_test(what_cannot_be_is_refused_by_its_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
