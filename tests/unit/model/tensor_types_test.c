// Every storage format of dtype.def is read from every container that has a word for it.
#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "model/checkpoint.h"
#include "model/gguf.h"
#include "model/safetensors.h"

static void every_type_with_a_word_is_read_from_safetensors(void **state) {
  (void)state;
  int tested = 0;
  for (int i = 0; i < CEL_DTYPE_COUNT; i++) {
    const cel_dtype_traits *t = cel_dtype_of((cel_dtype)i);
    if (!t->safetensors) continue;
    char header[200];
    snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[2,3],\"data_offsets\":[0,%d]}}", t->safetensors, 6 * t->block_bytes);
    cel_buf b = safetensors_of(header, (size_t)(6 * t->block_bytes));
    cel_arena arena;
    cel_err err = {0};
    cel_arena_init(&arena);
    cel_tensor_list list = {.arena = &arena};
    if (cel_safetensors_read((const uint8_t *)b.p, (int64_t)b.n, "x", &list, &err) != CEL_OK) fail_msg("%s: %s", t->name, err.text);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.items[0].dtype, i);
    assert_int_equal(list.items[0].bytes, 6 * t->block_bytes);
    cel_tensor_list_deinit(&list);
    cel_arena_deinit(&arena);
    cel_buf_deinit(&b);
    tested++;
  }
  assert_int_equal(tested, 15);  // F64 F32 F16 BF16 F8_E4M3 F8_E5M2, I and U 8 16 32 64, BOOL
}

static void every_type_with_a_number_is_read_from_gguf(void **state) {
  (void)state;
  int tested = 0;
  for (int i = 0; i < CEL_DTYPE_COUNT; i++) {
    const cel_dtype_traits *t = cel_dtype_of((cel_dtype)i);
    if (t->gguf_type < 0) continue;
    gguf_maker m = {0};
    kv_text(&m, "general.architecture", "llama");
    tensor_of(&m, "t.weight", (uint32_t)t->gguf_type, (uint64_t)t->block * 2, 3, (size_t)(6 * t->block_bytes));
    cel_buf b = gguf_done(&m);
    cel_arena arena;
    cel_gguf g;
    cel_err err = {0};
    cel_arena_init(&arena);
    if (cel_gguf_read((const uint8_t *)b.p, (int64_t)b.n, "x", &arena, &g, &err) != CEL_OK) fail_msg("%s: %s", t->name, err.text);
    assert_int_equal(g.n_tensors, 1);
    assert_int_equal(g.tensors[0].dtype, i);
    assert_int_equal(g.tensors[0].bytes, 6 * t->block_bytes);
    cel_arena_deinit(&arena);
    cel_buf_deinit(&b);
    tested++;
  }
  assert_int_equal(tested, 25);  // F and I 8 to 64; Q4_0 to Q8_1; Q2_K to Q8_K; IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4
}

static void types_of_eight_bits_and_of_f64_are_weights(void **state) {
  (void)state;
  static const struct { const char *word; uint8_t bytes[16]; float want[2]; } cases[] = {
    {"F8_E4M3", {0x38, 0xC0}, {1, -2}},
    {"F8_E5M2", {0x3C, 0xC0}, {1, -2}},
    {"F64", {0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0, 0, 0, 0, 0, 0, 0, 0xC0}, {1, -2}},
  };
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    folder f = folder_new();
    char header[200];
    int size = cases[i].word[1] == '6' ? 16 : 2;
    add_text(&f, "config.json", "{\"model_type\": \"llama\"}");
    snprintf(header, sizeof header, "{\"a.weight\":{\"dtype\":\"%s\",\"shape\":[1,2],\"data_offsets\":[0,%d]}}", cases[i].word, size);
    cel_buf b = safetensors_of(header, (size_t)size);
    memcpy(b.p + b.n - size, cases[i].bytes, (size_t)size);
    add_bytes(&f, "model.safetensors", &b);
    cel_checkpoint *c;
    cel_weight w;
    cel_err err = {0};
    float row[2];
    if (cel_checkpoint_open(f.path, &c, &err) != CEL_OK || cel_checkpoint_weight(c, "a", &w, &err) != CEL_OK) fail_msg("%s", err.text);
    cel_weight_row(&w, 0, row);
    assert_true(row[0] == cases[i].want[0] && row[1] == cases[i].want[1]);
    cel_checkpoint_close(c);
    folder_remove(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_type_with_a_word_is_read_from_safetensors),
    cmocka_unit_test(every_type_with_a_number_is_read_from_gguf),
    cmocka_unit_test(types_of_eight_bits_and_of_f64_are_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
