// Mixtures of experts as files hold them: names of every kind become one, experts kept apart become stacks, and what does
// not fit together is refused by its names.
#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "model/checkpoint.h"
#include "model/checkpoint_private.h"

// ---- names ------------------------------------------------------------------------------------------

static void every_spelling_has_one_name(void **state) {
  (void)state;
  static const struct {
    const char *from, *to;
    int64_t expert;
    bool module;
  } cases[] = {
      {"model.layers.3.mlp.experts.17.up_proj.weight", "model.layers.3.mlp.experts.up_proj.weight", 17, false},
      {"model.layers.3.block_sparse_moe.experts.2.w1.weight", "model.layers.3.mlp.experts.gate_proj.weight", 2, false},
      {"model.layers.3.block_sparse_moe.experts.2.w3.scales", "model.layers.3.mlp.experts.up_proj.scales", 2, false},
      {"model.layers.3.feed_forward.experts.0.w2.weight", "model.layers.3.feed_forward.experts.down_proj.weight", 0,
       false},
      {"model.layers.3.block_sparse_moe.gate.weight", "model.layers.3.mlp.gate.weight", -1, false},
      {"model.layers.3.block_sparse_moe.switch_mlp.gate_proj.biases", "model.layers.3.mlp.experts.gate_proj.biases", -1,
       false},
      {"model.layers.3.mlp.switch_mlp.down_proj.global_scale", "model.layers.3.mlp.experts.down_proj.global_scale", -1,
       false},
      {"model.layers.3.block_sparse_moe.router.layer.weight", "model.layers.3.mlp.gate.weight", -1, false},
      {"model.layers.3.block_sparse_moe.input_linear.weight", "model.layers.3.mlp.experts.gate_up_proj.weight", -1,
       false},
      {"model.layers.3.block_sparse_moe.output_linear.weight", "model.layers.3.mlp.experts.down_proj.weight", -1,
       false},
      {"model.layers.3.mlp.router.bias", "model.layers.3.mlp.gate.bias", -1, false},
      {"model.layers.3.mlp.experts.gate_up_proj", "model.layers.3.mlp.experts.gate_up_proj.weight", -1, false},
      {"model.layers.3.mlp.experts.gate_up_proj_bias", "model.layers.3.mlp.experts.gate_up_proj.bias", -1, false},
      {"model.layers.3.mlp.experts.down_proj_blocks", "model.layers.3.mlp.experts.down_proj.weight", -1, false},
      {"model.layers.3.mlp.experts.down_proj_scales", "model.layers.3.mlp.experts.down_proj.scales", -1, false},
      {"model.layers.3.mlp.moe_statics.e_score_correction_bias", "model.layers.3.mlp.gate.e_score_correction_bias", -1,
       false},
      {"model.layers.3.mlp.e_score_correction_bias", "model.layers.3.mlp.gate.e_score_correction_bias", -1, false},
      {"model.layers.3.mlp.shared_expert.up_proj.weight", "model.layers.3.mlp.shared_experts.up_proj.weight", -1,
       false},
      {"layers.3.mlp.switch_mlp.up_proj", "layers.3.mlp.experts.up_proj", -1, true},
      {"layers.3.block_sparse_moe.gate", "layers.3.mlp.gate", -1, true},
  };
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    char out[200];
    int64_t expert;
    assert_true(cel_name_of_experts(cases[i].from, !cases[i].module, out, sizeof out, &expert));
    assert_string_equal(out, cases[i].to);
    assert_int_equal(expert, cases[i].expert);
  }
}

static void other_names_stay(void **state) {
  (void)state;
  static const char *const names[] = {"model.layers.3.mlp.gate_proj.weight",
                                      "model.layers.3.mlp.shared_experts.up_proj.weight",
                                      "model.experts",
                                      "model.layers.3.mlp.shared_expert_gate.weight",
                                      "model.layers.3.mlp.experts.gate_proj.weight",
                                      "",
                                      ".experts.",
                                      "model.layers.3.mlp.routers.weight",
                                      "model.layers.3.mlp.gate.e_score_correction_bias",
                                      "a.experts.7",
                                      "a.experts.7777777.w"};
  for (int i = 0; i < CEL_COUNT(names); i++) {
    char out[200];
    int64_t expert;
    assert_false(cel_name_of_experts(names[i], true, out, sizeof out, &expert));
  }
  char small[60];
  int64_t expert;  // one byte short of its new name's end
  assert_false(
      cel_name_of_experts("model.layers.3.mlp.experts.gate_up_proj_bias_______________", true, small, 59, &expert));
}

// ---- files ------------------------------------------------------------------------------------------

typedef struct maker {
  cel_buf header, data;
} maker;

// F32 tensors hold first, first + 1, ...; others bytes that count up.
static void add(maker *m, const char *name, const char *dtype, const char *shape, int items, float first) {
  bool floats = strcmp(dtype, "F32") == 0;
  int size = floats ? 4 : strcmp(dtype, "U32") == 0 ? 4 : strcmp(dtype, "BF16") == 0 ? 2 : 1;
  size_t begin = m->data.n;
  for (int i = 0; i < items * (floats ? 1 : size); i++) {
    if (floats) put_u32(&m->data, cel_f32_bits(first + (float)i));
    else put_bytes(&m->data, (uint64_t)((int)first + i), 1);
  }
  cel_buf_printf(&m->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                 m->header.n ? "," : "{", name, dtype, shape, begin, m->data.n);
}

static folder written(maker *m, const char *config) {
  folder f = folder_new();
  cel_buf b = {0};
  cel_buf_addc(&m->header, '}');
  put_u64(&b, m->header.n);
  cel_buf_adds(&b, cel_buf_str(&m->header));
  cel_buf_adds(&b, cel_buf_str(&m->data));
  add_text(&f, "config.json", config);
  add_bytes(&f, "model.safetensors", &b);
  cel_buf_deinit(&m->header);
  cel_buf_deinit(&m->data);
  return f;
}

static cel_checkpoint *open_well(const folder *f) {
  cel_checkpoint *c;
  cel_err err = {0};
  if (cel_checkpoint_open(f->path, &c, &err) != CEL_OK) fail_msg("%s", err.text);
  return c;
}

static void row_is(const cel_weight *w, int64_t r, float a, float b) {
  float row[2];
  cel_weight_row(w, r, row);
  assert_true(row[0] == a && row[1] == b);
}

static void experts_apart_become_a_stack_that_is_not_copied(void **state) {
  (void)state;
  maker m = {0};
  for (int e = 10; e >= 0; e--) {  // in no order, and 10 sorts before 2
    char name[80];
    snprintf(name, sizeof name, "model.layers.0.mlp.experts.%d.up_proj.weight", e);
    add(&m, name, "F32", "[3,2]", 6, (float)(100 * e));
  }
  folder f = written(&m, "{}");
  cel_checkpoint *c = open_well(&f);
  assert_int_equal(c->n_tensors, 1);
  cel_weight w;
  assert_int_equal(cel_checkpoint_weight(c, "model.layers.0.mlp.experts.up_proj", &w, NULL), CEL_OK);
  assert_int_equal(w.experts, 11);
  assert_int_equal(w.rows, 3);
  assert_int_equal(w.cols, 2);
  assert_non_null(w.tensor->parts);
  assert_int_equal(w.tensor->bytes, 11 * 24);
  for (int e = 0; e < 11; e++)
    for (int r = 0; r < 3; r++) row_is(&w, e * 3 + r, (float)(100 * e + 2 * r), (float)(100 * e + 2 * r + 1));
  float whole[66];
  cel_tensor_copy(w.tensor, whole);
  for (int i = 0; i < 66; i++) assert_true(whole[i] == (float)(i / 6 * 100 + i % 6));
  cel_checkpoint_close(c);
  folder_remove(&f);
}

static void refused(maker *m, const char *config, const char *a, const char *b) {
  folder f = written(m, config);
  cel_checkpoint *c;
  cel_err err = {0};
  assert_int_equal(cel_checkpoint_open(f.path, &c, &err), CEL_MALFORMED);
  assert_says(err.text, "model.safetensors", a, b, NULL);
  folder_remove(&f);
}

static void experts_that_do_not_make_a_stack_are_refused(void **state) {
  (void)state;
  maker m = {0};
  add(&m, "l.mlp.experts.0.up_proj.weight", "F32", "[3,2]", 6, 0);
  add(&m, "l.mlp.experts.2.up_proj.weight", "F32", "[3,2]", 6, 0);
  refused(&m, "{}", "l.mlp.experts.2.up_proj.weight", "expert 1 is missing");
  m = (maker){0};
  add(&m, "l.mlp.experts.1.up_proj.weight", "F32", "[3,2]", 6, 0);
  refused(&m, "{}", "l.mlp.experts.1.up_proj.weight", "expert 0 is missing");
  m = (maker){0};
  add(&m, "l.mlp.experts.0.up_proj.weight", "F32", "[3,2]", 6, 0);
  add(&m, "l.mlp.experts.1.up_proj.weight", "F32", "[2,3]", 6, 0);
  refused(&m, "{}", "l.mlp.experts.1.up_proj.weight", "F32 [3, 2]");
  m = (maker){0};
  add(&m, "l.mlp.experts.0.up_proj.weight", "F32", "[3,2]", 6, 0);
  add(&m, "l.mlp.experts.1.up_proj.weight", "BF16", "[3,2]", 6, 0);
  refused(&m, "{}", "l.mlp.experts.1.up_proj.weight", "BF16 [3, 2]");
  m = (maker){0};
  add(&m, "l.mlp.experts.0.w3.weight", "F32", "[3,2]", 6, 0);
  add(&m, "l.block_sparse_moe.experts.0.w3.weight", "F32", "[3,2]", 6, 0);
  refused(&m, "{}", "expert 0 is there twice", "experts.0.w3.weight");
  m = (maker){0};
  add(&m, "l.mlp.experts.0.up_proj.weight", "F32", "[3,2]", 6, 0);
  add(&m, "l.mlp.switch_mlp.up_proj.weight", "F32", "[1,3,2]", 6, 0);
  refused(&m, "{}", "l.mlp.experts.up_proj.weight", "twice");
}

static void a_16_bit_gpt_oss_stack_is_turned(void **state) {
  (void)state;
  maker m = {0};
  add(&m, "l.mlp.experts.down_proj", "F32", "[2,2,3]", 12, 0);  // [E, in, out]
  add(&m, "l.mlp.experts.down_proj_bias", "F32", "[2,3]", 6, 50);
  folder f = written(&m, "{\"model_type\": \"gpt_oss\"}");
  cel_checkpoint *c = open_well(&f);
  cel_weight w;
  assert_int_equal(cel_checkpoint_weight(c, "l.mlp.experts.down_proj", &w, NULL), CEL_OK);
  assert_true(w.experts == 2 && w.rows == 3 && w.cols == 2 && w.tensor->swapped);
  row_is(&w, 0, 0, 3);
  row_is(&w, 2, 2, 5);
  row_is(&w, 4, 7, 10);
  float whole[12];
  static const float want[12] = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11};
  cel_tensor_copy(w.tensor, whole);
  assert_memory_equal(whole, want, sizeof want);
  assert_non_null(cel_checkpoint_find(c, "l.mlp.experts.down_proj.bias"));
  cel_checkpoint_close(c);
  folder_remove(&f);
}

static void blocks_of_gpt_oss_are_words_of_mxfp4(void **state) {
  (void)state;
  maker m = {0};
  add(&m, "l.mlp.experts.down_proj_blocks", "U8", "[2,1,1,16]", 32, 0);
  add(&m, "l.mlp.experts.down_proj_scales", "U8", "[2,1,1]", 2, 127);
  folder f = written(&m, "{\"model_type\": \"gpt_oss\", \"quantization_config\": {\"quant_method\": \"mxfp4\"}}");
  cel_checkpoint *c = open_well(&f);
  cel_weight w;
  cel_err err = {0};
  if (cel_checkpoint_weight(c, "l.mlp.experts.down_proj", &w, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_string_equal(w.mode, "mxfp4");
  assert_true(w.experts == 2 && w.rows == 1 && w.cols == 32);
  float row[32];
  cel_weight_row(&w, 0, row);  // byte 1: element 2 is 1 (0.5), element 3 is 0; byte 7: element 14 is 7 (6)
  assert_true(row[0] == 0 && row[2] == 0.5f && row[3] == 0 && row[14] == 6 && row[4] == 1);
  cel_weight_row(&w, 1, row);  // bytes 0x10, 0x11 ..., a scale of 2
  assert_true(row[0] == 0 && row[1] == 1 && row[2] == 1 && row[3] == 1);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

#define CONFIG "{\"quantization\": {\"group_size\": 32, \"bits\": 4, \"model.layers.0.mlp.switch_mlp.up_proj\": " \
               "{\"group_size\": 32, \"bits\": 8}}}"

static void packed_stacks_obey_the_config(void **state) {
  (void)state;
  for (int apart = 0; apart < 2; apart++) {
    maker m = {0};
    for (int e = 0; e < (apart ? 2 : 1); e++) {
      static const char *const parts[] = {"weight", "scales", "biases"};
      for (int i = 0; i < 3; i++) {
        char name[100], shape[20];
        int n = i ? 1 : 8;
        if (apart) snprintf(name, sizeof name, "model.layers.0.mlp.experts.%d.up_proj.%s", e, parts[i]);
        else snprintf(name, sizeof name, "model.layers.0.mlp.switch_mlp.up_proj.%s", parts[i]);
        snprintf(shape, sizeof shape, apart ? "[3,%d]" : "[2,3,%d]", n);
        add(&m, name, i ? "F32" : "U32", shape, 3 * n * (apart ? 1 : 2), (float)(e * 7));
      }
    }
    folder f = written(&m, CONFIG);
    cel_checkpoint *c = open_well(&f);
    cel_weight w;
    cel_err err = {0};
    if (cel_checkpoint_weight(c, "model.layers.0.mlp.experts.up_proj", &w, &err) != CEL_OK) fail_msg("%s", err.text);
    assert_true(w.experts == 2 && w.rows == 3 && w.cols == 32 && w.bits == 8 && w.group == 32);
    float row[32];
    cel_weight_row(&w, 5, row);
    float scale = apart ? 9 : 5;
    int first = apart ? 7 + 64 : 5 * 32;
    for (int i = 0; i < 32; i++) assert_true(row[i] == (float)(first + i) * scale + scale);
    cel_checkpoint_close(c);
    folder_remove(&f);
  }
}

static void a_stack_of_the_wrong_bits_is_refused(void **state) {
  (void)state;
  maker m = {0};
  add(&m, "model.layers.0.mlp.switch_mlp.up_proj.weight", "U32", "[2,3,4]", 24, 0);
  add(&m, "model.layers.0.mlp.switch_mlp.up_proj.scales", "F32", "[2,3,1]", 6, 0);
  add(&m, "model.layers.0.mlp.switch_mlp.up_proj.biases", "F32", "[2,3,1]", 6, 0);
  folder f = written(&m, CONFIG);
  cel_checkpoint *c = open_well(&f);
  cel_weight w;
  cel_err err = {0};
  assert_int_equal(cel_checkpoint_weight(c, "model.layers.0.mlp.experts.up_proj", &w, &err), CEL_MALFORMED);
  assert_says(err.text, "model.layers.0.mlp.experts.up_proj.weight", "8 bits in groups of 32", NULL);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_spelling_has_one_name),
      cmocka_unit_test(other_names_stay),
      cmocka_unit_test(experts_apart_become_a_stack_that_is_not_copied),
      cmocka_unit_test(experts_that_do_not_make_a_stack_are_refused),
      cmocka_unit_test(a_16_bit_gpt_oss_stack_is_turned),
      cmocka_unit_test(blocks_of_gpt_oss_are_words_of_mxfp4),
      cmocka_unit_test(packed_stacks_obey_the_config),
      cmocka_unit_test(a_stack_of_the_wrong_bits_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
