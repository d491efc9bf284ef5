// Eight-bit floats with their scales (model/fp8.c): which scale a value has, and what is refused.
#define _POSIX_C_SOURCE 200809L
#include "model/checkpoint.h"
#include "model/dtype.h"
#include "unit/model/model_files.h"

typedef struct maker {
  cel_buf header, data;
} maker;

static void put_tensor(maker *m, const char *name, const char *dtype, const char *shape, const void *bytes, size_t n) {
  cel_buf_printf(&m->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", m->data.n ? "," : "{", name,
                 dtype, shape, m->data.n, m->data.n + n);
  if (bytes) cel_buf_add(&m->data, bytes, n);
  else put_zeros(&m->data, n);
}

static folder written(maker *m, const char *config) {
  folder f = folder_new();
  cel_buf_addc(&m->header, '}');
  cel_buf b = safetensors_of(m->header.p, m->data.n);
  memcpy(b.p + b.n - m->data.n, m->data.p, m->data.n);
  add_bytes(&f, "model.safetensors", &b);
  add_text(&f, "config.json", config);
  cel_buf_deinit(&m->header);
  cel_buf_deinit(&m->data);
  return f;
}

#define FP8(block) "{\"quantization_config\": {\"quant_method\": \"fp8\", \"weight_block_size\": " block "}}"

// E4M3 bytes 1 .. 126 over and over; scales 1, 2, 3, ... in `type`.
static folder matrix(const char *config, int rows, int cols, const char *type, const char *scale_shape, int scales) {
  maker m = {0};
  char shape[40];
  uint8_t *q = malloc((size_t)(rows * cols));
  for (int i = 0; i < rows * cols; i++) q[i] = (uint8_t)(1 + i % 126);
  snprintf(shape, sizeof shape, "[%d,%d]", rows, cols);
  put_tensor(&m, "model.x.weight", "F8_E4M3", shape, q, (size_t)(rows * cols));
  free(q);
  uint8_t s[4 * 64];
  int item = !strcmp(type, "F32") ? 4 : 2;
  for (int i = 0; i < scales; i++) {
    float v = (float)(i + 1);
    uint16_t half = cel_f32_to_bf16(v);
    memcpy(s + i * item, item == 4 ? (const void *)&v : (const void *)&half, (size_t)item);
  }
  put_tensor(&m, "model.x.weight_scale_inv", type, scale_shape, s, (size_t)(scales * item));
  put_tensor(&m, "model.x.activation_scale", "F32", "[]", NULL, 4);
  return written(&m, config);
}

static void check_values(folder *f, int rows, int cols, int block_rows, int block_cols, int group) {
  cel_checkpoint *c;
  cel_weight w;
  cel_err err = {0};
  if (cel_checkpoint_open(f->path, &c, &err) != CEL_OK) fail_msg("%s", err.text);
  if (cel_checkpoint_weight(c, "model.x", &w, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_string_equal(w.mode, "fp8");
  assert_int_equal(w.group, group);
  assert_int_equal(w.rows, rows);
  assert_int_equal(w.cols, cols);
  assert_null(cel_checkpoint_find(c, "model.x.weight_scale_inv"));
  assert_null(cel_checkpoint_find(c, "model.x.activation_scale"));
  int across = (cols + block_cols - 1) / block_cols;
  float *row = malloc((size_t)cols * sizeof *row);
  for (int r = 0; r < rows; r++) {
    cel_weight_row(&w, r, row);
    for (int i = 0; i < cols; i++) {
      uint8_t q = (uint8_t)(1 + (r * cols + i) % 126);
      float value;
      cel_dtype_of(CEL_DT_F8_E4M3)->widen(&q, &value, 1);
      float scale = (float)(r / block_rows * across + i / block_cols + 1);
      if (row[i] != value * scale) fail_msg("row %d, column %d: %g, not %g", r, i, (double)row[i], (double)(value * scale));
    }
  }
  free(row);
  cel_checkpoint_close(c);
  folder_remove(f);
}

static void a_value_has_the_scale_of_its_block(void **state) {
  (void)state;
  folder f = matrix(FP8("[128, 128]"), 130, 256, "F32", "[2,2]", 4);
  check_values(&f, 130, 256, 128, 128, 128);
  f = matrix(FP8("[128, 128]"), 3, 576, "BF16", "[1,5]", 5);  // the last block is cut off
  check_values(&f, 3, 576, 128, 128, 64);
  f = matrix(FP8("[2, 32]"), 5, 64, "F32", "[3,2]", 6);
  check_values(&f, 5, 64, 2, 32, 32);
}

static void one_scale_may_do_for_the_matrix(void **state) {
  (void)state;
  folder f = matrix(FP8("null"), 4, 256, "BF16", "[]", 1);
  check_values(&f, 4, 256, 4, 256, 128);
  f = matrix(FP8("null"), 4, 96, "F32", "[1]", 1);
  check_values(&f, 4, 96, 4, 96, 32);
}

static void refused(folder f, const char *a, const char *b) {
  cel_checkpoint *c;
  cel_err err = {0};
  assert_int_equal(cel_checkpoint_open(f.path, &c, &err) == CEL_OK, false);
  assert_says(err.text, a, b, NULL);
  folder_remove(&f);
}

static void scales_that_do_not_go_with_the_weight_are_refused(void **state) {
  (void)state;
  refused(matrix(FP8("[128, 128]"), 130, 256, "F32", "[1,2]", 2), "model.x.weight", "another number of scales");
  refused(matrix(FP8("[128, 128]"), 130, 256, "F32", "[4]", 4), "[130, 256]", "another number of scales");
  refused(matrix(FP8("null"), 130, 256, "F32", "[2,2]", 4), "model.x.weight", "no weight_block_size");
  refused(matrix(FP8("[128]"), 130, 256, "F32", "[2,2]", 4), "weight_block_size", "two positive sizes");
  refused(matrix(FP8("[128, 0]"), 130, 256, "F32", "[2,2]", 4), "weight_block_size", "two positive sizes");
  refused(matrix(FP8("[128, 128]"), 4, 72, "F32", "[1,1]", 1), "[4, 72]", "multiples of 32");
  refused(matrix(FP8("[4, 48]"), 4, 96, "F32", "[1,2]", 2), "[4, 96]", "multiples of 32");
  refused(matrix("{\"quantization_config\": {\"quant_method\": \"fp8\", \"fmt\": \"e5m2\"}}", 4, 64, "F32", "[1]", 1), "fp8", "e4m3");
}

static void weights_without_scales_are_refused_where_they_are_used(void **state) {
  (void)state;
  maker m = {0};
  put_tensor(&m, "model.x.weight", "F8_E4M3", "[2,64]", NULL, 128);
  put_tensor(&m, "model.x.scales", "BF16", "[2,1]", NULL, 4);
  folder f = written(&m, FP8("[128, 128]"));
  cel_checkpoint *c;
  cel_weight w;
  cel_err err = {0};
  assert_int_equal(cel_checkpoint_open(f.path, &c, &err), CEL_OK);
  assert_int_equal(cel_checkpoint_weight(c, "model.x", &w, &err), CEL_MALFORMED);
  assert_says(err.text, "model.x.weight", "F32 scales", NULL);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_value_has_the_scale_of_its_block),
      cmocka_unit_test(one_scale_may_do_for_the_matrix),
      cmocka_unit_test(scales_that_do_not_go_with_the_weight_are_refused),
      cmocka_unit_test(weights_without_scales_are_refused_where_they_are_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
