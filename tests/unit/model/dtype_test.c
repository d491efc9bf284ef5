// Widening against the reference packages' values (tests/oracle/make_quant_vectors.py), bit for bit.
#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "model/dtype.h"
#include "model/widen.h"

typedef struct vector {
  char *file;
  const char *packed, *scales, *biases;
  uint32_t packed_bytes, n;
  const char *want;
} vector;

static vector load(const char *name) {
  vector v;
  int64_t bytes;
  char path[500];
  snprintf(path, sizeof path, "%s/data/quant/%s.bin", CEL_TEST_DATA, name);
  assert_int_equal(cel_read_file(path, 1 << 20, &v.file, &bytes, NULL), CEL_OK);
  assert_memory_equal(v.file, "CELQ", 4);
  uint32_t scale_bytes = cel_load_u32(v.file + 8), bias_bytes = cel_load_u32(v.file + 12);
  v.packed_bytes = cel_load_u32(v.file + 4);
  v.n = cel_load_u32(v.file + 16);
  v.packed = v.file + 20;
  v.scales = v.packed + v.packed_bytes;
  v.biases = v.scales + scale_bytes;
  v.want = v.biases + bias_bytes;
  assert_int_equal(v.want + 4 * (size_t)v.n - v.file, bytes);
  return v;
}

static void same_bits(const char *name, const float *got, const vector *v) {
  for (uint32_t i = 0; i < v->n; i++) {
    uint32_t want = cel_load_u32(v->want + 4 * (size_t)i);
    if (cel_f32_bits(got[i]) != want) {
      fail_msg("%s[%u]: %a, the reference has %a", name, i, (double)got[i], (double)cel_f32_from_bits(want));
    }
  }
}

static void every_float_and_block_format_widens_bit_for_bit(void **state) {
  (void)state;
  int tested = 0;
  for (int i = 0; i < CEL_DTYPE_COUNT; i++) {
    const cel_dtype_traits *t = cel_dtype_of((cel_dtype)i);
    char name[40];
    int64_t bytes;
    if (!t->widen) continue;
    snprintf(name, sizeof name, "%s_%s", t->block > 1 ? "gguf" : "plain", t->name);
    vector v = load(name);
    assert_true(cel_dtype_bytes((cel_dtype)i, v.n, &bytes));
    assert_int_equal(bytes, v.packed_bytes);
    char *odd = malloc((size_t)bytes + 1);  // sources may have any alignment
    float *got = malloc(v.n * sizeof *got);
    memcpy(odd + 1, v.packed, (size_t)bytes);
    t->widen(odd + 1, got, v.n);
    same_bits(name, got, &v);
    free(odd);
    free(got);
    free(v.file);
    tested++;
  }
  assert_int_equal(tested, 23);
}

static void affine_rows_widen_bit_for_bit_for_all_bits_groups_and_scale_types(void **state) {
  (void)state;
  static const int bits[] = {2, 3, 4, 5, 6, 8};
  static const struct { int group; const char *type; cel_dtype dtype; } kinds[] = {
    {32, "F32", CEL_DT_F32}, {64, "F16", CEL_DT_F16}, {128, "BF16", CEL_DT_BF16}};
  for (int b = 0; b < 6; b++) {
    for (int k = 0; k < 3; k++) {
      char name[40];
      snprintf(name, sizeof name, "affine_%d_%d_%s", bits[b], kinds[k].group, kinds[k].type);
      vector v = load(name);
      char *copy = malloc(v.packed_bytes);  // its own allocation: a byte read too many is found
      float *got = malloc(v.n * sizeof *got);
      memcpy(copy, v.packed, v.packed_bytes);
      assert_int_equal(v.n, 3 * kinds[k].group);
      cel_affine_widen(copy, v.scales, v.biases, kinds[k].dtype, bits[b], kinds[k].group, v.n, got);
      same_bits(name, got, &v);
      free(copy);
      free(got);
      free(v.file);
    }
  }
}

static void floating_modes_widen_bit_for_bit(void **state) {
  (void)state;
  static const struct { const char *name; int bits, group; } modes[] = {{"mxfp4", 4, 32}, {"mxfp8", 8, 32}, {"nvfp4", 4, 16}};
  for (int i = 0; i < 3; i++) {
    char name[40];
    snprintf(name, sizeof name, "mode_%s", modes[i].name);
    assert_string_equal(cel_micro_name(modes[i].bits, modes[i].group), modes[i].name);
    vector v = load(name);
    char *copy = malloc(v.packed_bytes);
    float *got = malloc(v.n * sizeof *got);
    memcpy(copy, v.packed, v.packed_bytes);
    cel_micro_widen(copy, v.scales, modes[i].bits, modes[i].group, v.n, got);
    for (uint32_t k = 0; k < v.n; k++) {  // zeros lose their sign
      float want;
      memcpy(&want, v.want + 4 * k, 4);
      if (got[k] != want) fail_msg("%s[%u]: %a, the reference has %a", name, k, (double)got[k], (double)want);
    }
    free(copy);
    free(got);
    free(v.file);
  }
  assert_null(cel_micro_name(8, 16));
}

static void sizes_are_whole_blocks_and_do_not_wrap(void **state) {
  (void)state;
  int64_t bytes;
  assert_true(cel_dtype_bytes(CEL_DT_Q4_0, 64, &bytes));
  assert_int_equal(bytes, 36);
  assert_true(cel_dtype_bytes(CEL_DT_Q6_K, 512, &bytes));
  assert_int_equal(bytes, 420);
  assert_true(cel_dtype_bytes(CEL_DT_F64, 0, &bytes));
  assert_int_equal(bytes, 0);
  assert_false(cel_dtype_bytes(CEL_DT_Q4_0, 33, &bytes));
  assert_false(cel_dtype_bytes(CEL_DT_F32, -1, &bytes));
  assert_false(cel_dtype_bytes(CEL_DT_F32, INT64_MAX / 2, &bytes));
}

static void types_are_found_by_the_files_own_words(void **state) {
  (void)state;
  cel_dtype t;
  assert_true(cel_dtype_by_gguf(12, &t) && t == CEL_DT_Q4_K);
  assert_true(cel_dtype_by_gguf(30, &t) && t == CEL_DT_BF16);
  assert_false(cel_dtype_by_gguf(16, &t));  // IQ2_XXS
  assert_false(cel_dtype_by_gguf(-1, &t));  // types that GGUF does not have
  assert_true(cel_dtype_by_safetensors("U32", &t) && t == CEL_DT_U32);
  assert_false(cel_dtype_by_safetensors("Q4_0", &t));
  assert_false(cel_dtype_by_safetensors("f32", &t));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_float_and_block_format_widens_bit_for_bit),
    cmocka_unit_test(affine_rows_widen_bit_for_bit_for_all_bits_groups_and_scale_types),
    cmocka_unit_test(floating_modes_widen_bit_for_bit),
    cmocka_unit_test(sizes_are_whole_blocks_and_do_not_wrap),
    cmocka_unit_test(types_are_found_by_the_files_own_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
