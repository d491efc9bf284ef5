// Kernels against the meaning of what they stand for: every golden module is run by the native engine, at every
// instruction set this processor has, and by the reference evaluator, which knows the decompositions only.
// Logits and states must agree.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/engine/engine.h"
#include "backend/xla/engine/native/ref/ref.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/half.h"
#include "golden/subject.h"

static uint32_t next_random(uint32_t *s) {
  *s = *s * 1664525u + 1013904223u;
  return *s >> 8;
}

// A value in [-1, 1) with few bits, so that 16-bit floats hold it.
static float small_number(uint32_t *s) { return (float)((int)(next_random(s) % 64) - 32) / 32.0f; }

// Random, but sane: packed bytes may be anything as long as the halves among them are finite, so blocks are made
// of bytes below 0x3C (halves below 1). Words of mxfp8 and fp8 have no NaN, scales of bytes are 2^-15 to 2^-8 (nvfp4:
// below 1).
static void fill(const cel_param *p, const char *path, void *data, uint32_t *seed) {
  const cel_hlo_type *t = p->type;
  int64_t n = cel_hlo_elements(t);
  bool norm = strstr(p->name, "norm") != NULL;
  bool powers = strstr(p->name, ".scales") && !strstr(path, "nvfp4");
  bool fp8 = strstr(path, "fp8") != NULL;
  uint32_t words = fp8 ? 0xBFBFBFBFu : 0xFFFFFFFFu;
  for (int64_t i = 0; i < n; i++) {
    float v = norm ? 1 + small_number(seed) / 4 : small_number(seed) * 0.5f;
    if (strstr(p->name, ".scales")) v = (0.01f + fabsf(small_number(seed)) * 0.02f) * (fp8 ? 0.01f : 1.0f);
    if (strncmp(p->name, "rope_freqs", 10) == 0) v = 1.0f / (float)(1 + i % 16);
    switch (t->etype) {
      case CEL_ET_F32: ((float *)data)[i] = v; break;
      case CEL_ET_F16: ((uint16_t *)data)[i] = cel_f32_to_f16(v); break;
      case CEL_ET_BF16: ((uint16_t *)data)[i] = cel_f32_to_bf16(v); break;
      case CEL_ET_UI32: ((uint32_t *)data)[i] = (next_random(seed) << 12 ^ next_random(seed)) & words; break;
      case CEL_ET_UI8: ((uint8_t *)data)[i] = (uint8_t)(powers ? 112 + next_random(seed) % 8 : next_random(seed) % 0x28); break;
      default: break;
    }
  }
}

static void fill_input(const cel_param *p, void *data) {
  static const int32_t decode_positions[] = {5, 2}, tokens[] = {7, 3, 201, 44, 9, 100};
  int32_t *v = data;
  for (int64_t i = 0; i < cel_hlo_elements(p->type); i++) {
    if (!strcmp(p->name, "tokens")) v[i] = tokens[i % 6];
    if (!strcmp(p->name, "positions")) v[i] = cel_hlo_elements(p->type) == 2 ? decode_positions[i] : (int32_t)i + 3;
    if (!strcmp(p->name, "slots")) v[i] = 1 - (int32_t)i;
    if (!strcmp(p->name, "slot")) v[i] = 1;
    if (!strcmp(p->name, "last")) v[i] = 4;
  }
}

enum { RESULTS_MOST = 5 };  // logits and four states

typedef struct run {
  cel_program *program;
  cel_ref_tensor *args;    // as filled
  cel_ref_tensor results[RESULTS_MOST];
} run;

static cel_hlo_module *parse(const char *path) {
  cel_err err = {0};
  char *text;
  int64_t n;
  cel_hlo_module *m;
  if (cel_read_file(path, 1 << 24, &text, &n, &err) != CEL_OK) fail_msg("%s", err.text);
  if (cel_hlo_parse((cel_str){text, (size_t)n}, path, &m, &err) != CEL_OK) fail_msg("%s", err.text);
  free(text);
  return m;
}

static void prepare(run *r, const char *path, cel_hlo_module *m) {
  cel_err err = {0};
  if (cel_program_new(m, NULL, &r->program, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_in_range(r->program->n_results, 2, RESULTS_MOST);
  r->args = calloc((size_t)r->program->n_params, sizeof *r->args);
  uint32_t seed = 17;
  for (int i = 0; i < r->program->n_params; i++) {
    const cel_param *p = &r->program->params[i];
    r->args[i] = (cel_ref_tensor){p->type, calloc(1, (size_t)cel_hlo_bytes(p->type) + 64)};
    if (p->kind == CEL_PARAM_INPUT && strncmp(p->name, "rope_freqs", 10) != 0) fill_input(p, r->args[i].data);
    else fill(p, path, r->args[i].data, &seed);
  }
  if (cel_ref_eval_func(r->program->module, r->program->entry, r->args, r->program->n_params, r->results, NULL, &err) != CEL_OK) {
    fail_msg("%s: %s", path, err.text);
  }
}

// What a tensor says, in f32: of a cache of whole numbers with their steps behind them, the products; behind them zeros.
static float *as_floats(const cel_hlo_type *t, const void *data) {
  int64_t n = cel_hlo_elements(t), width = t->rank ? t->dims[t->rank - 1] : 1;
  float *out = calloc((size_t)n + 1, sizeof *out), step;
  for (int64_t i = 0; i < n; i++) {
    if (t->etype == CEL_ET_F32) out[i] = ((const float *)data)[i];
    if (t->etype == CEL_ET_F16) out[i] = cel_f16_to_f32(((const uint16_t *)data)[i]);
    if (t->etype != CEL_ET_I16 || i % width >= width - 2) continue;
    memcpy(&step, (const int16_t *)data + i / width * width + width - 2, sizeof step);
    out[i] = step * ((const int16_t *)data)[i];
  }
  return out;
}

static void compare(const char *what, const float *got, const float *want, int64_t n, double bound) {
  double top = 1e-3;
  for (int64_t i = 0; i < n; i++) top = fmax(top, fabs((double)want[i]));
  for (int64_t i = 0; i < n; i++) {
    double d = fabs((double)got[i] - want[i]);
    if (!(d <= bound * top)) fail_msg("%s: element %lld is %g, its meaning %g (largest %g)", what, (long long)i, (double)got[i], (double)want[i], top);
  }
}

static void run_native(const run *r, const char *path, const char *precision, double bound) {
  cel_err err = {0};
  const cel_engine_driver *d;
  const char *rest;
  cel_engine *e;
  cel_executable *x;
  cel_engine_options o = {.device = "", .precision = precision, .n_threads = 2};
  assert_int_equal(cel_engine_find("native", &d, &rest, &err), CEL_OK);
  if (d->open(&o, &e, &err) != CEL_OK) fail_msg("%s", err.text);
  int n = r->program->n_params;
  cel_buffer **weights = calloc((size_t)n, sizeof *weights), **states = calloc((size_t)n, sizeof *states);
  const void **inputs = calloc((size_t)n, sizeof *inputs), *results[RESULTS_MOST];
  void *caches[RESULTS_MOST] = {0};
  for (int i = 0, k = 0; i < n; i++) {
    const cel_param *p = &r->program->params[i];
    if (p->kind == CEL_PARAM_INPUT) {
      inputs[i] = r->args[i].data;
    } else if (p->kind == CEL_PARAM_WEIGHT) {
      assert_int_equal(d->upload(e, p->type, r->args[i].data, true, &weights[i], &err), CEL_OK);
    } else {  // a copy, so that the next engine finds the same beginning
      caches[k] = malloc((size_t)cel_hlo_bytes(p->type));
      memcpy(caches[k], r->args[i].data, (size_t)cel_hlo_bytes(p->type));
      assert_int_equal(d->upload(e, p->type, caches[k++], true, &states[i], &err), CEL_OK);
    }
  }
  if (d->compile(e, r->program, weights, &x, &err) != CEL_OK) fail_msg("%s: %s", path, err.text);
  if (d->execute(x, states, inputs, results, &err) != CEL_OK) fail_msg("%s: %s", path, err.text);
  for (int i = 0, k = 0; i < r->program->n_results; i++) {
    const cel_hlo_type *t = r->results[i].type;
    float *got = as_floats(t, results[i] ? results[i] : caches[k++]), *want = as_floats(t, r->results[i].data);
    compare(path, got, want, cel_hlo_elements(t), bound);
    free(got);
    free(want);
  }
  d->discard(x);
  for (int i = 0; i < n; i++) {
    d->release(weights[i]);
    d->release(states[i]);
  }
  d->close(e);
  for (int k = 0; k < RESULTS_MOST; k++) free(caches[k]);
  free(weights);
  free(states);
  free(inputs);
}

static void finish(run *r) {
  for (int i = 0; i < r->program->n_params; i++) free(r->args[i].data);
  for (int i = 0; i < r->program->n_results; i++) cel_ref_tensor_free(&r->results[i]);
  free(r->args);
  cel_program_free(r->program);
}

// f32 products differ by the order of sums alone; 16-bit activations by their rounding too.
static void every_isa(const run *r, const char *path, double f32, double i16) {
  static const char *const levels[] = {"scalar", "avx2", "avx512", "vnni", "neon", "dotprod", "i8mm"};
  uint32_t bits;
  for (int i = 0; i < CEL_COUNT(levels); i++) {
    if (cel_cpu_limit(cel_cpu_detect(), levels[i], &bits, NULL) != CEL_OK) continue;
    setenv("MLXCEL_CPU", levels[i], 1);
    run_native(r, path, "f32", f32);
    run_native(r, path, "i16", i16);
  }
  unsetenv("MLXCEL_CPU");
}

static void kernels_equal_their_decompositions(void **state) {
  (void)state;
  static const char *const families[] = {"llama", "mistral", "qwen2", "qwen3", "gemma3", "moe", "mla", "state"};
  int tested = 0;
  for (int i = 0; i < CEL_COUNT(families); i++) {
    char dir[600], path[1200];
    snprintf(dir, sizeof dir, "%s/golden/%s", CEL_TEST_DATA, families[i]);
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
      if (!cel_str_ends(cel_str_of(f->d_name), CEL_STR(".mlir"))) continue;
      run r = {0};
      snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
      prepare(&r, path, parse(path));
      every_isa(&r, path, 3e-5, 1e-3);
      finish(&r);
      tested++;
    }
    closedir(d);
  }
  assert_true(tested >= 50);
}

// A narrow cache: where the last bit of a sum tips a rounding, one step goes on (2^-11 of a number as f16, 2^-15 of the largest as
// i16, 2^-7 as i8).
static void narrow_caches_equal_theirs(void **state) {
  (void)state;
  static const char *const models[] = {"llama3", "gemma2", "gptoss", "dsv2", "qwen3-q4g32"};
  static const struct {
    const char *name;
    double f32, i16;  // bounds by the precision of products
  } kinds[CEL_EMIT_KV_KINDS] = {{"f32", 0, 0}, {"f16", 1e-3, 2e-3}, {"i16", 5e-4, 2e-3}, {"i8", 1e-2, 2e-2}};
  for (int i = 0; i < CEL_COUNT(models); i++) {
    for (int decode = 0; decode < 2; decode++) {
      for (int kv = CEL_EMIT_KV_F16; kv < CEL_EMIT_KV_KINDS; kv++) {
        cel_err err = {0};
        subject s;
        cel_hlo_module *m;
        run r = {0};
        char what[100];
        snprintf(what, sizeof what, "%s, %s, a cache of %s", models[i], decode ? "decode" : "prefill", kinds[kv].name);
        subject_open(&s, models[i]);
        cel_emit_options o = {.entry = decode ? CEL_ENTRY_DECODE : CEL_ENTRY_PREFILL, .tokens = decode ? 2 : 6, .rows = 2, .capacity = 16,
                              .logits = CEL_LOGITS_ALL, .kv = (cel_emit_kv)kv};
        if (cel_emit_text(&s.arch, &s.storage, &o, &m, &err) != CEL_OK) fail_msg("%s: %s", what, err.text);
        prepare(&r, what, m);
        every_isa(&r, what, kinds[kv].f32, kinds[kv].i16);
        finish(&r);
        subject_close(&s);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_equal_their_decompositions), cmocka_unit_test(narrow_caches_equal_theirs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
