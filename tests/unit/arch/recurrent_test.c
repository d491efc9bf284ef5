// Families whose layers have a recurrent state: their schedules, widths and words.
#include "arch_test.h"

#include <string.h>

#define LFM2 "{\"model_type\":\"lfm2\",\"vocab_size\":100,\"hidden_size\":64,\"num_hidden_layers\":4," \
             "\"num_attention_heads\":4,\"num_key_value_heads\":2,"
#define NEXT "{\"model_type\":\"qwen3_next\",\"vocab_size\":100,\"hidden_size\":64,\"num_hidden_layers\":5,\"intermediate_size\":96," \
             "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":32,\"num_experts\":4,\"num_experts_per_tok\":2"

static void mixers_are(const cel_arch *a, const char *letters) {
  assert_int_equal((int)strlen(letters), a->n_layers);
  for (int i = 0; i < a->n_layers; i++) {
    assert_int_equal(a->layers[i].mixer, letters[i] == 'a' ? CEL_MIXER_ATTENTION : letters[i] == 'c' ? CEL_MIXER_CONV : CEL_MIXER_DELTA);
    assert_int_equal(a->layers[i].rope, letters[i] == 'a' ? 0 : -1);
  }
}

static void lfm2_has_the_same_schedule_from_both_lists(void **state) {
  (void)state;
  fixture f;
  accept(&f, LFM2 "\"intermediate_size\":96,\"layer_types\":[\"conv\",\"full_attention\",\"conv\",\"full_attention\"]}");
  mixers_are(&f.arch, "caca");
  assert_int_equal(f.arch.n_conv_layers, 2);
  assert_int_equal(f.arch.n_kv_layers, 2);
  assert_int_equal(f.arch.layers[2].state, 1);
  assert_int_equal(f.arch.layers[3].state, 1);
  assert_int_equal(cel_arch_recurrent_size(&f.arch), 2 * 2 * 64);
  assert_true(cel_arch_recurrent(&f.arch) && f.arch.tied && f.arch.conv.kernel == 3 && !f.arch.conv.bias);
  drop(&f);
  accept(&f, LFM2 "\"intermediate_size\":96,\"full_attn_idxs\":[1,3],\"tie_embedding\":false,\"conv_L_cache\":5,\"conv_bias\":true}");
  mixers_are(&f.arch, "caca");
  assert_true(!f.arch.tied && f.arch.conv.kernel == 5 && f.arch.conv.bias);
  drop(&f);
  accept(&f, LFM2 "\"intermediate_size\":96}");
  mixers_are(&f.arch, "aaaa");
  assert_false(cel_arch_recurrent(&f.arch));
  drop(&f);
}

// transformers: int(2 I / 3), then the factor and whole blocks, unless the factor is null.
static void lfm2_adjusts_the_width_as_transformers_does(void **state) {
  (void)state;
  static const struct {
    const char *keys;
    int64_t width;
  } rows[] = {{"\"block_ff_dim\":12288", 8192},
              {"\"block_ff_dim\":12288,\"intermediate_size\":5", 8192},
              {"\"intermediate_size\":1000,\"block_multiple_of\":32", 672},
              {"\"intermediate_size\":1000,\"block_multiple_of\":32,\"block_ffn_dim_multiplier\":1.3", 896},
              {"\"intermediate_size\":1000,\"block_ffn_dim_multiplier\":null", 666},
              {"\"intermediate_size\":1000,\"block_auto_adjust_ff_dim\":false", 1000}};
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    char text[600];
    fixture f;
    snprintf(text, sizeof text, LFM2 "%s}", rows[i].keys);
    accept(&f, text);
    assert_int_equal(f.arch.inter, rows[i].width);
    assert_int_equal(f.arch.layers[0].inter, rows[i].width);
    drop(&f);
  }
}

static void lfm2_names_what_is_wrong(void **state) {
  (void)state;
  REFUSE(LFM2 "\"intermediate_size\":96,\"full_attn_idxs\":[4]}", CEL_MALFORMED, "full_attn_idxs", "4", "3");
  REFUSE(LFM2 "\"intermediate_size\":96,\"full_attn_idxs\":3}", CEL_MALFORMED, "full_attn_idxs", "3", "list");
  REFUSE(LFM2 "\"intermediate_size\":96,\"conv_L_cache\":1}", CEL_MALFORMED, "conv_L_cache", "1", "2");
  REFUSE(LFM2 "\"intermediate_size\":96,\"layer_types\":[\"conv\",\"mamba\",\"conv\",\"conv\"]}", CEL_UNSUPPORTED, "entry 1", "mamba", "conv");
  REFUSE(LFM2 "\"intermediate_size\":96,\"layer_types\":[\"conv\",\"linear_attention\",\"conv\",\"conv\"]}", CEL_UNSUPPORTED, "linear_attention");
  REFUSE(LFM2 "\"intermediate_size\":1,\"block_ffn_dim_multiplier\":0.5,\"block_multiple_of\":1}", CEL_MALFORMED, "width 0");
}

static void qwen3_next_takes_a_schedule_or_an_interval(void **state) {
  (void)state;
  fixture f;
  accept(&f, NEXT "}");
  mixers_are(&f.arch, "dddad");
  assert_int_equal(f.arch.n_delta_layers, 4);
  assert_int_equal(f.arch.layers[4].state, 3);
  assert_int_equal(f.arch.ropes[0].dims, 8);
  assert_true(f.arch.out_gate && f.arch.norm == CEL_NORM_RMS_PLUS_ONE && cel_arch_recurrent(&f.arch));
  assert_int_equal(f.arch.delta.n_v, 32);
  assert_int_equal(cel_arch_recurrent_size(&f.arch), 4 * (3 * (2 * 16 * 128 + 32 * 128) + 32 * 128 * 128));
  assert_int_equal(f.arch.moe.shared, CEL_SHARED_GATED);
  drop(&f);
  accept(&f, NEXT ",\"full_attention_interval\":2}");
  mixers_are(&f.arch, "dadad");
  drop(&f);
  accept(&f, NEXT ",\"layer_types\":[\"full_attention\",\"linear_attention\",\"linear_attention\",\"full_attention\",\"linear_attention\"],"
             "\"linear_num_key_heads\":2,\"linear_num_value_heads\":6,\"linear_key_head_dim\":16,\"linear_value_head_dim\":8,"
             "\"linear_conv_kernel_dim\":3}");
  mixers_are(&f.arch, "addad");
  assert_true(f.arch.delta.kernel == 3 && f.arch.delta.n_k == 2 && f.arch.delta.n_v == 6 && f.arch.delta.d_k == 16 && f.arch.delta.d_v == 8);
  drop(&f);
}

static void qwen3_next_names_what_is_wrong(void **state) {
  (void)state;
  REFUSE(NEXT ",\"linear_num_key_heads\":3,\"linear_num_value_heads\":4}", CEL_MALFORMED, "linear_num_value_heads", "4", "3");
  REFUSE(NEXT ",\"linear_key_head_dim\":0}", CEL_MALFORMED, "linear_key_head_dim", "0");
  REFUSE(NEXT ",\"hidden_act\":\"gelu\"}", CEL_UNSUPPORTED, "hidden_act", "gelu", "silu");
  REFUSE(NEXT ",\"full_attention_interval\":0}", CEL_MALFORMED, "full_attention_interval", "0");
}

// The words of other families' layers are no words of a family without such a block.
static void llama_knows_neither_word(void **state) {
  (void)state;
#define LLAMA "{\"model_type\":\"llama\",\"vocab_size\":100,\"hidden_size\":64,\"num_hidden_layers\":1,\"num_attention_heads\":4," \
              "\"intermediate_size\":96,\"layer_types\":[\"%s\"]}"
  char text[400];
  snprintf(text, sizeof text, LLAMA, "conv");
  REFUSE(text, CEL_UNSUPPORTED, "conv", "full_attention, sliding_attention");
  snprintf(text, sizeof text, LLAMA, "linear_attention");
  REFUSE(text, CEL_UNSUPPORTED, "linear_attention", "full_attention, sliding_attention");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lfm2_has_the_same_schedule_from_both_lists), cmocka_unit_test(lfm2_adjusts_the_width_as_transformers_does),
      cmocka_unit_test(lfm2_names_what_is_wrong),                   cmocka_unit_test(qwen3_next_takes_a_schedule_or_an_interval),
      cmocka_unit_test(qwen3_next_names_what_is_wrong),             cmocka_unit_test(llama_knows_neither_word),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
