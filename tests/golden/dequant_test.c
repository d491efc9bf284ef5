// The graph's meaning of every packed format against the committed vectors (made by the gguf and mlx packages),
// bit for bit: emitted, and run by the reference evaluator.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/emit/emit_internal.h"
#include "backend/xla/engine/native/ref/ref.h"
#include "base/file.h"
#include "model/dtype.h"

typedef struct vector {
  char *file;
  uint32_t packed_bytes, scale_bytes, bias_bytes, n;
  const char *packed, *scales, *biases, *want;
} vector;

static vector load(const char *name) {
  char path[600];
  cel_err err = {0};
  vector v;
  snprintf(path, sizeof path, "%s/data/quant/%s.bin", CEL_TEST_DATA, name);
  if (cel_read_file(path, 1 << 20, &v.file, NULL, &err) != CEL_OK) fail_msg("%s", err.text);
  memcpy(&v.packed_bytes, v.file + 4, 16);
  v.packed = v.file + 20;
  v.scales = v.packed + v.packed_bytes;
  v.biases = v.scales + v.scale_bytes;
  v.want = v.biases + v.bias_bytes;
  return v;
}

// Emits one row's dequantization as a function and runs it.
static void check(const char *name, const cel_storage *s, const vector *v, cel_etype scale_type) {
  cel_err err = {0};
  cel_hlo_module *m;
  assert_int_equal(cel_hlo_module_new("dequant", &m, &err), CEL_OK);
  cel_hlo_builder b;
  cel_hlo_builder_init(&b, m);
  cel_hlo_func_begin(&b, "main", false);
  bool words = !s->row_bytes;
  int64_t packed[2] = {1, words ? v->packed_bytes / 4 : v->packed_bytes}, groups[2] = {1, s->group ? s->cols / s->group : 0};
  hlo w = cel_hlo_arg(&b, "w", cel_hlo_tensor(m, words ? CEL_ET_UI32 : CEL_ET_UI8, 2, packed)), sc = NULL, bi = NULL;
  if (v->scale_bytes) sc = cel_hlo_arg(&b, "scales", cel_hlo_tensor(m, scale_type, 2, groups));
  if (v->bias_bytes) bi = cel_hlo_arg(&b, "biases", cel_hlo_tensor(m, scale_type, 2, groups));
  hlo y = cel_emit_dequantize(&b, s, w, sc, bi, 1);
  cel_hlo_return(&b, &y, 1);
  if (b.err.status != CEL_OK) fail_msg("%s: %s", name, b.err.text);
  cel_ref_tensor args[3] = {{w->type, (void *)(uintptr_t)v->packed}}, result = {0};
  if (sc) args[1] = (cel_ref_tensor){sc->type, (void *)(uintptr_t)v->scales};
  if (bi) args[2] = (cel_ref_tensor){bi->type, (void *)(uintptr_t)v->biases};
  if (cel_ref_eval_func(m, cel_hlo_find_func(m, "main"), args, 1 + !!sc + !!bi, &result, NULL, &err) != CEL_OK) {
    fail_msg("%s: %s", name, err.text);
  }
  for (uint32_t i = 0; i < v->n; i++) {
    float got, want;
    memcpy(&got, (char *)result.data + 4 * (size_t)i, 4);
    memcpy(&want, v->want + 4 * (size_t)i, 4);
    if (got != want) fail_msg("%s[%u]: %a, the reference has %a", name, i, (double)got, (double)want);
  }
  cel_ref_tensor_free(&result);
  cel_hlo_module_free(m);
}

static void every_block_format_has_its_meaning_in_the_graph(void **state) {
  (void)state;
  int tested = 0;
  for (int i = 0; i < CEL_DTYPE_COUNT; i++) {
    const cel_dtype_traits *t = cel_dtype_of((cel_dtype)i);
    if (t->block <= 1) continue;
    char name[40];
    snprintf(name, sizeof name, "gguf_%s", t->name);
    vector v = load(name);
    cel_storage s = {.format = t->name, .rows = 1, .cols = v.n, .row_bytes = v.packed_bytes};
    check(name, &s, &v, CEL_ET_F32);
    free(v.file);
    tested++;
  }
  assert_int_equal(tested, 17);
}

static void affine_weights_have_their_meaning_in_the_graph(void **state) {
  (void)state;
  static const int bits[] = {2, 3, 4, 5, 6, 8};
  static const struct {
    int group;
    const char *type;
    cel_etype etype;
  } kinds[] = {{32, "F32", CEL_ET_F32}, {64, "F16", CEL_ET_F16}, {128, "BF16", CEL_ET_BF16}};
  for (int i = 0; i < CEL_COUNT(bits); i++) {
    for (int k = 0; k < CEL_COUNT(kinds); k++) {
      char name[40];
      snprintf(name, sizeof name, "affine_%d_%d_%s", bits[i], kinds[k].group, kinds[k].type);
      vector v = load(name);
      cel_storage s = {.format = "affine", .rows = 1, .cols = v.n, .bits = bits[i], .group = kinds[k].group,
                       .scale_type = kinds[k].etype};
      check(name, &s, &v, kinds[k].etype);
      free(v.file);
    }
  }
}

static void micro_floats_have_their_meaning_in_the_graph(void **state) {
  (void)state;
  static const struct {
    const char *format;
    int bits, group;
    cel_etype scales;
  } modes[] = {{"mxfp4", 4, 32, CEL_ET_UI8}, {"mxfp8", 8, 32, CEL_ET_UI8}, {"nvfp4", 4, 16, CEL_ET_UI8}, {"fp8", 8, 64, CEL_ET_F32}};
  for (int i = 0; i < CEL_COUNT(modes); i++) {
    char name[40];
    snprintf(name, sizeof name, "mode_%s", modes[i].format);
    vector v = load(name);
    cel_storage s = {.format = modes[i].format, .rows = 1, .cols = v.n, .bits = modes[i].bits, .group = modes[i].group,
                     .scale_type = modes[i].scales};
    check(name, &s, &v, modes[i].scales);
    free(v.file);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_block_format_has_its_meaning_in_the_graph),
                                     cmocka_unit_test(affine_weights_have_their_meaning_in_the_graph),
                                     cmocka_unit_test(micro_floats_have_their_meaning_in_the_graph)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
