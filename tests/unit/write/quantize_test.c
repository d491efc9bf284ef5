// Quantizing against the reference packages (tests/oracle/make_quantize_vectors.py), bit for bit.
#define _XOPEN_SOURCE 700
#include "unit/model/model_files.h"

#include "model/widen.h"
#include "model/write/quantize.h"

typedef struct vector {
  char *file;
  const uint8_t *packed, *scales, *biases;
  uint32_t packed_bytes, scale_bytes, bias_bytes, n;
  float *values;
} vector;

static vector load(const char *name) {
  vector v;
  int64_t bytes;
  char path[500];
  snprintf(path, sizeof path, "%s/data/quantize/%s.bin", CEL_TEST_DATA, name);
  assert_int_equal(cel_read_file(path, 1 << 20, &v.file, &bytes, NULL), CEL_OK);
  assert_memory_equal(v.file, "CELQ", 4);
  v.packed_bytes = cel_load_u32(v.file + 4);
  v.scale_bytes = cel_load_u32(v.file + 8);
  v.bias_bytes = cel_load_u32(v.file + 12);
  v.n = cel_load_u32(v.file + 16);
  v.packed = (const uint8_t *)v.file + 20;
  v.scales = v.packed + v.packed_bytes;
  v.biases = v.scales + v.scale_bytes;
  v.values = malloc((size_t)v.n * sizeof(float));
  assert_non_null(v.values);
  cel_widen_f32(v.biases + v.bias_bytes, v.values, v.n);
  return v;
}

static void forget(vector *v) {
  free(v->file);
  free(v->values);
}

// Each output in an allocation of its own, so that a byte written too many is found.
static uint8_t *room(uint32_t bytes) {
  uint8_t *p = malloc(bytes ? bytes : 1);
  assert_non_null(p);
  memset(p, 0xA5, bytes ? bytes : 1);
  return p;
}

static void same(const char *name, const char *what, const uint8_t *got, const uint8_t *want, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i++) {
    if (got[i] != want[i]) fail_msg("%s: byte %u of the %s is %02x, the reference has %02x", name, i, what, got[i], want[i]);
  }
}

static const struct { const char *name; cel_dtype dtype; } types[] = {
  {"F32", CEL_DT_F32}, {"F16", CEL_DT_F16}, {"BF16", CEL_DT_BF16}};

static void affine_equals_mlx_for_all_bits_and_groups(void **state) {
  (void)state;
  static const int bits[] = {2, 3, 4, 5, 6, 8}, group[] = {32, 64, 128};
  for (int b = 0; b < CEL_COUNT(bits); b++) {
    for (int g = 0; g < CEL_COUNT(group); g++) {
      int kind = (bits[b] + g) % 3;
      char name[40];
      snprintf(name, sizeof name, "affine_%d_%d_%s", bits[b], group[g], types[kind].name);
      vector v = load(name);
      uint8_t *packed = room(v.packed_bytes), *scales = room(v.scale_bytes), *biases = room(v.bias_bytes);
      assert_int_equal(v.packed_bytes, v.n * (uint32_t)bits[b] / 8);
      cel_quantize_affine(v.values, v.n, bits[b], group[g], types[kind].dtype, packed, scales, biases);
      same(name, "scales", scales, v.scales, v.scale_bytes);
      same(name, "biases", biases, v.biases, v.bias_bytes);
      same(name, "values", packed, v.packed, v.packed_bytes);
      free(packed), free(scales), free(biases);
      forget(&v);
    }
  }
}

static void floating_modes_equal_mlx_in_every_type(void **state) {
  (void)state;
  static const struct { const char *name; int bits, group; } modes[] = {{"mxfp4", 4, 32}, {"mxfp8", 8, 32}, {"nvfp4", 4, 16}};
  for (int m = 0; m < CEL_COUNT(modes); m++) {
    for (int t = 0; t < CEL_COUNT(types); t++) {
      char name[40];
      snprintf(name, sizeof name, "mode_%s_%s", modes[m].name, types[t].name);
      vector v = load(name);
      uint8_t *packed = room(v.packed_bytes), *scales = room(v.scale_bytes);
      cel_quantize_micro(v.values, v.n, modes[m].bits, modes[m].group, types[t].dtype, packed, scales);
      same(name, "scales", scales, v.scales, v.scale_bytes);
      same(name, "values", packed, v.packed, v.packed_bytes);
      free(packed), free(scales);
      forget(&v);
    }
  }
}

static void blocks_equal_the_gguf_package(void **state) {
  (void)state;
  static const struct { const char *name; void (*quantize)(const float *, void *, int64_t); } kinds[] = {
    {"blocks_Q8_0", cel_quantize_q8_0}, {"blocks_Q4_0", cel_quantize_q4_0}};
  for (int i = 0; i < CEL_COUNT(kinds); i++) {
    vector v = load(kinds[i].name);
    uint8_t *got = room(v.packed_bytes);
    kinds[i].quantize(v.values, got, v.n);
    same(kinds[i].name, "blocks", got, v.packed, v.packed_bytes);
    free(got);
    forget(&v);
  }
}

static void plain_floats_are_rounded_to_nearest_even(void **state) {
  (void)state;
  float x[] = {1, 1.00390625f, 1.01171875f, -0.0f, 65504, 65519, 1e-8f};
  uint16_t bf16[] = {0x3F80, 0x3F80, 0x3F82, 0x8000, 0x4780, 0x4780, 0x322C};
  uint16_t f16[] = {0x3C00, 0x3C04, 0x3C0C, 0x8000, 0x7BFF, 0x7BFF, 0x0000};
  uint8_t got[28];
  cel_narrow(x, CEL_DT_BF16, got, 7);
  for (int i = 0; i < 7; i++) assert_int_equal(cel_load_u16(got + 2 * i), bf16[i]);
  cel_narrow(x, CEL_DT_F16, got, 7);
  for (int i = 0; i < 7; i++) assert_int_equal(cel_load_u16(got + 2 * i), f16[i]);
  cel_narrow(x, CEL_DT_F32, got, 7);
  for (int i = 0; i < 7; i++) assert_int_equal(cel_load_u32(got + 4 * i), cel_f32_bits(x[i]));
  cel_round_to(x, CEL_DT_BF16, 7);
  assert_true(x[1] == 1 && x[4] == 65536);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(affine_equals_mlx_for_all_bits_and_groups),
    cmocka_unit_test(floating_modes_equal_mlx_in_every_type),
    cmocka_unit_test(blocks_equal_the_gguf_package),
    cmocka_unit_test(plain_floats_are_rounded_to_nearest_even),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
