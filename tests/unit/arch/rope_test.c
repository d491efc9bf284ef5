// Rotary frequencies against transformers' own numbers (tests/oracle/make_rope.py), and the two layouts.
#include "unit/arch/arch_test.h"

#include <math.h>
#include <stdlib.h>

// Distance in representable floats; both positive.
static int64_t ulps(float a, float b) {
  int32_t i, j;
  memcpy(&i, &a, sizeof i);
  memcpy(&j, &b, sizeof j);
  return llabs((long long)i - j);
}

static const cel_rope *table_for(const cel_arch *a, const char *kind) {
  cel_attention_kind want = strcmp(kind, "full_attention") == 0 ? CEL_ATTENTION_FULL : CEL_ATTENTION_SLIDING;
  for (int i = 0; i < a->n_layers; i++)
    if (a->layers[i].attention == want) return &a->ropes[a->layers[i].rope];
  fail_msg("no layer of kind %s", kind);
  return NULL;
}

static void check_case(const cel_json *c, const char *layout) {
  fixture f = {0};
  cel_arena_init(&f.arena);
  const char *name = cel_json_string(c, "name", "?");
  if (cel_arch_from_config(cel_json_get(c, layout), NULL, &f.arena, &f.arch, &f.err) != CEL_OK)
    fail_msg("%s (%s): %s", name, layout, f.err.text);
  const cel_rope *r = table_for(&f.arch, cel_json_string(c, "kind", "?"));
  const cel_json *want = cel_json_get(c, "f");
  assert_int_equal(cel_json_array_size(want), r->dims / 2);
  float got[256], amplitude;
  cel_rope_frequencies(r, cel_json_int(c, "length", 0), got, &amplitude);
  for (int j = 0; j < r->dims / 2; j++) {
    float x = (float)cel_json_number_value(cel_json_array_get(want, (size_t)j));
    if (ulps(got[j], x) > 1) fail_msg("%s (%s) [%d]: %.9g, transformers has %.9g", name, layout, j, got[j], x);
  }
  assert_true(ulps(amplitude, (float)cel_json_num(c, "amplitude", 0)) <= 1);
  cel_arena_deinit(&f.arena);
}

static void frequencies_are_those_of_transformers_in_both_layouts(void **state) {
  (void)state;
  cel_json *all = NULL;
  cel_err err = {0};
  if (cel_json_load(CEL_TEST_DATA "/data/oracle/rope.json", 1 << 22, &all, &err) != CEL_OK) fail_msg("%s", err.text);
  const cel_json *cases = cel_json_get(all, "cases");
  assert_int_equal(cel_json_array_size(cases), 20);
  for (size_t i = 0; i < cel_json_array_size(cases); i++) {
    check_case(cel_json_array_get(cases, i), "config");
    check_case(cel_json_array_get(cases, i), "legacy");
  }
  cel_json_decref(all);
}

#define SIZES                                                                                             \
  "\"model_type\":\"llama\",\"vocab_size\":256,\"hidden_size\":128,\"intermediate_size\":64,"             \
  "\"num_hidden_layers\":2,\"num_attention_heads\":2"

// The numbers that transformers computes.
static void llama3_scaling_has_the_published_values(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{" SIZES ",\"max_position_embeddings\":131072,\"rope_theta\":500000.0,\"rope_scaling\":{\"factor\":32.0,"
             "\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,\"original_max_position_embeddings\":8192,"
             "\"type\":\"llama3\"}}");
  static const struct { int j; double f; } want[] = {
      {14, 3.2114461e-3}, {15, 1.2905480e-3}, {16, 4.2955671e-4},
      {17, 9.7082862e-5}, {18, 1.9461639e-5}, {31, 9.4183065e-8}};
  float got[32], amplitude;
  cel_rope_frequencies(&f.arch.ropes[0], 1, got, &amplitude);
  for (int i = 0; i < CEL_COUNT(want); i++)
    if (fabs(got[want[i].j] / want[i].f - 1) > 1e-7) fail_msg("[%d] is %.9g", want[i].j, got[want[i].j]);
  assert_true(amplitude == 1.0f);
  drop(&f);
}

static void divisors_divide_each_frequency(void **state) {
  (void)state;
  static const float by[4] = {1, 2, 8, 32};
  cel_rope r = {.type = CEL_ROPE_DEFAULT, .theta = 10000, .dims = 8, .factor = 1};
  float plain[4], divided[4], amplitude;
  cel_rope_frequencies(&r, 1, plain, &amplitude);
  r.divisors = by;
  cel_rope_frequencies(&r, 1, divided, &amplitude);
  for (int j = 0; j < 4; j++) assert_true(divided[j] == plain[j] / by[j]);
}

static void only_dynamic_and_longrope_depend_on_the_length(void **state) {
  (void)state;
  for (int type = CEL_ROPE_DEFAULT; type <= CEL_ROPE_LONGROPE; type++) {
    cel_rope r = {.type = (cel_rope_type)type};
    assert_int_equal(cel_rope_depends_on_length(&r), type == CEL_ROPE_DYNAMIC || type == CEL_ROPE_LONGROPE);
  }
}

static void both_layouts_absent_give_the_class_base(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{" SIZES "}");
  assert_true(f.arch.ropes[0].theta == 10000 && f.arch.ropes[0].type == CEL_ROPE_DEFAULT);
  assert_int_equal(f.arch.ropes[0].dims, 64);
  assert_false(f.arch.ropes[0].interleaved);
  drop(&f);
}

static void rope_scaling_beats_rope_parameters_unless_empty(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{" SIZES ",\"rope_theta\":7000,\"rope_scaling\":{\"type\":\"linear\",\"factor\":3},"
             "\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":5,\"rope_theta\":9000}}");
  assert_true(f.arch.ropes[0].factor == 3 && f.arch.ropes[0].theta == 7000);
  drop(&f);
  accept(&f, "{" SIZES ",\"rope_theta\":7000,\"rope_scaling\":{},"
             "\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":5,\"rope_theta\":9000}}");
  assert_true(f.arch.ropes[0].factor == 5 && f.arch.ropes[0].theta == 9000);
  drop(&f);
}

static void the_original_length_at_the_top_level_wins(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{" SIZES ",\"max_position_embeddings\":512,\"original_max_position_embeddings\":64,\"rope_scaling\":"
             "{\"rope_type\":\"yarn\",\"original_max_position_embeddings\":128,\"factor\":null}}");
  assert_true(f.arch.ropes[0].original_max_position == 64 && f.arch.ropes[0].factor == 8);
  drop(&f);
}

static void mrope_is_a_plain_rotation_and_su_is_longrope(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{" SIZES ",\"rope_scaling\":{\"type\":\"mrope\",\"mrope_section\":[8,12,12]}}");
  assert_int_equal(f.arch.ropes[0].type, CEL_ROPE_DEFAULT);
  drop(&f);
  accept(&f, "{\"model_type\":\"llama\",\"vocab_size\":256,\"hidden_size\":8,\"intermediate_size\":64,"
             "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"rope_scaling\":{\"type\":\"su\","
             "\"long_factor\":[1,2],\"short_factor\":[1,1.5]}}");
  assert_int_equal(f.arch.ropes[0].type, CEL_ROPE_LONGROPE);
  assert_true(f.arch.ropes[0].long_factor[1] == 2 && f.arch.ropes[0].short_factor[1] == 1.5f);
  drop(&f);
}

static void a_null_entry_of_a_nested_dict_means_no_rotation(void **state) {
  (void)state;
  fixture f;
  accept(&f, "{\"model_type\":\"mistral\",\"vocab_size\":256,\"hidden_size\":128,\"intermediate_size\":64,"
             "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"sliding_window\":8,"
             "\"layer_types\":[\"full_attention\",\"sliding_attention\"],\"rope_parameters\":"
             "{\"full_attention\":null,\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":5000}}}");
  assert_int_equal(f.arch.layers[0].rope, -1);
  assert_int_equal(f.arch.layers[1].rope, 0);
  assert_true(f.arch.ropes[0].theta == 5000);
  drop(&f);
}

static void wrong_rotary_keys_are_named(void **state) {
  (void)state;
#define ROPE(text) "{" SIZES ",\"rope_parameters\":{" text "}}"
  REFUSE(ROPE("\"rope_type\":\"spiral\""), CEL_UNSUPPORTED, "rope_parameters.rope_type", "spiral", "llama3", "yarn");
  REFUSE(ROPE("\"rope_type\":7"), CEL_MALFORMED, "rope_parameters.rope_type", "7", "string");
  REFUSE(ROPE("\"rope_type\":\"linear\""), CEL_MALFORMED, "rope_parameters.factor", "missing");
  REFUSE(ROPE("\"rope_type\":\"linear\",\"factor\":0"), CEL_MALFORMED, "rope_parameters.factor", "is 0");
  REFUSE(ROPE("\"rope_type\":\"linear\",\"factor\":{\"__float__\":\"Infinity\"}"), CEL_MALFORMED, "Infinity");
  REFUSE(ROPE("\"rope_type\":\"linear\",\"factor\":{\"__float__\":\"NaN\"}"), CEL_MALFORMED, "NaN");
  REFUSE(ROPE("\"rope_theta\":1"), CEL_MALFORMED, "rope_theta", "is 1;");
  REFUSE(ROPE("\"rope_theta\":\"big\""), CEL_MALFORMED, "rope_theta", "\"big\"");
  REFUSE(ROPE("\"rope_type\":\"llama3\",\"factor\":8,\"high_freq_factor\":4"), CEL_MALFORMED, "low_freq_factor");
  REFUSE(ROPE("\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,\"high_freq_factor\":4"), CEL_MALFORMED,
         "high_freq_factor is 4", "above low_freq_factor 4");
  REFUSE(ROPE("\"rope_type\":\"longrope\",\"long_factor\":[1,2]"), CEL_MALFORMED, "short_factor", "missing");
  REFUSE(ROPE("\"rope_type\":\"longrope\",\"short_factor\":[1],\"long_factor\":[1,2]"), CEL_MALFORMED, "long_factor",
         "[1,2]", "32 numbers");
  REFUSE(ROPE("\"rope_type\":\"yarn\",\"truncate\":\"no\""), CEL_MALFORMED, "truncate", "true or false");
  REFUSE(ROPE("\"partial_rotary_factor\":0.5"), CEL_UNSUPPORTED, "partial_rotary_factor", "0.5", "llama");
  REFUSE(ROPE("\"sliding_attention\":{}"), CEL_MALFORMED, "full_attention", "layer 0");
  REFUSE(ROPE("\"full_attention\":3"), CEL_MALFORMED, "full_attention", "an object");
  REFUSE("{" SIZES ",\"rope_scaling\":[1]}", CEL_MALFORMED, "rope_scaling", "[1]", "an object");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frequencies_are_those_of_transformers_in_both_layouts),
      cmocka_unit_test(llama3_scaling_has_the_published_values),
      cmocka_unit_test(divisors_divide_each_frequency),
      cmocka_unit_test(only_dynamic_and_longrope_depend_on_the_length),
      cmocka_unit_test(both_layouts_absent_give_the_class_base),
      cmocka_unit_test(rope_scaling_beats_rope_parameters_unless_empty),
      cmocka_unit_test(the_original_length_at_the_top_level_wins),
      cmocka_unit_test(mrope_is_a_plain_rotation_and_su_is_longrope),
      cmocka_unit_test(a_null_entry_of_a_nested_dict_means_no_rotation),
      cmocka_unit_test(wrong_rotary_keys_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
