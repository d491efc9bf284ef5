#define _POSIX_C_SOURCE 200809L
// A test of the parity test: with one value of the config changed, the logits leave the bound by far. What a checkpoint is
// said to prove, it does prove.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/oracle.h"

#define ROPE(more) "\"rope_parameters\":{\"rope_theta\":10000.0,\"rope_type\":\"default\"" more "}"

static const struct {
  const char *folder, *changed;  // keys that take the place of the config's
} rows[] = {
    {"llama3", ROPE("")},
    {"llama-linear", ROPE("")},
    {"llama-dyn", ROPE("")},
    {"llama-yarn", ROPE("")},
    {"mistral", "\"sliding_window\":null"},
    {"qwen2", "\"use_sliding_window\":false,\"layer_types\":null"},
    {"gemma1", "\"hidden_act\":\"silu\""},
    {"gemma2", "\"attn_logit_softcapping\":null"},
    {"gemma2", "\"final_logit_softcapping\":null"},
    {"gemma2", "\"query_pre_attn_scalar\":64"},
    {"gemma2", "\"sliding_window\":64"},
    {"gemma3", "\"sliding_window\":64"},
    {"gemma3n", "\"altup_correct_scale\":false"},
    {"gemma3n", "\"activation_sparsity_pattern\":[0,0,0,0]"},
    {"gemma3", "\"query_pre_attn_scalar\":64"},
    {"olmo1", "\"clip_qkv\":null"},
    {"olmo2", "\"rms_norm_eps\":0.1"},
    {"olmo3", "\"sliding_window\":64"},
    {"cohere", "\"logit_scale\":1"},
    {"cohere2", "\"sliding_window\":64"},
    {"cohere2", "\"layer_types\":[\"sliding_attention\",\"sliding_attention\",\"sliding_attention\",\"sliding_attention\"]"},
    {"stablelm", ROPE(",\"partial_rotary_factor\":1.0")},
    {"starcoder2", "\"sliding_window\":null"},
    {"phi3-long", ROPE(",\"partial_rotary_factor\":0.5")},
    {"glm", ROPE(",\"partial_rotary_factor\":1.0")},
    {"glm4", ROPE(",\"partial_rotary_factor\":1.0")},
    {"granite", "\"attention_multiplier\":0.25"},
    {"granite", "\"embedding_multiplier\":1"},
    {"granite", "\"residual_multiplier\":1"},
    {"granite", "\"logits_scaling\":1"},
    {"hyperclovax", "\"logits_scaling\":1"},
    {"minicpm", "\"scale_depth\":2"},
    {"minicpm", "\"dim_model_base\":64"},
    {"ministral", "\"layer_types\":[\"full_attention\",\"full_attention\"]"},
    {"ministral3", "\"rope_parameters\":null"},
    {"smollm3", "\"no_rope_layers\":[1,1]"},
    {"exaone4", "\"sliding_window\":64"},
    {"exaone4", "\"sliding_window\":null,\"layer_types\":null"},
    {"hunyuan", ROPE("")},
    {"arcee", "\"hidden_act\":\"silu\""},
    {"nemotron", "\"hidden_act\":\"gelu\""},
    {"internlm3", ROPE("")},
    {"mixtral", "\"num_experts_per_tok\":1"},
    {"qwen2moe", "\"norm_topk_prob\":true"},
    {"qwen3moe", "\"norm_topk_prob\":false"},
    {"olmoe", "\"clip_qkv\":null"},
    {"erniemoe", "\"moe_k\":1"},
    {"granitemoeshared", "\"residual_multiplier\":1"},
    {"granite4-dense", "\"position_embedding_type\":null"},
    {"glm4moe", "\"routed_scaling_factor\":1"},
    {"glm4moe", "\"norm_topk_prob\":false"},
    {"dots1", "\"norm_topk_prob\":false"},
    {"exaonemoe", "\"sliding_window\":64"},
    {"phimoe", "\"router_jitter_noise\":0.3"},
    {"phimoe-wide", "\"router_jitter_noise\":0.01"},
    {"gptoss", "\"sliding_window\":64"},
    {"gptoss", "\"swiglu_alpha\":1"},
    {"gptoss-limit", "\"swiglu_limit\":7"},
    {"dsv1", "\"norm_topk_prob\":true"},
};

typedef struct changed_model {
  cel_checkpoint *checkpoint;
  cel_json *config;
  cel_arena arena;
  cel_arch arch;
  const cel_backend *backend;
  cel_model_handle *model;
} changed_model;

static cel_json *changed_config(const cel_json *config, const char *changes) {
  char text[400];
  cel_json *c = cel_json_deep_copy(config), *other;
  cel_err err = {0};
  snprintf(text, sizeof text, "{%s}", changes);
  if (cel_json_parse(cel_str_of(text), "the test's change", &other, &err) != CEL_OK) fail_msg("%s", err.text);
  for (size_t i = 0; i < cel_json_object_size(other); i++) {
    cel_str key = cel_json_object_key(other, i);
    assert_int_equal(cel_json_object_setn(c, key.p, key.n, cel_json_object_value(other, i)), 0);
  }
  cel_json_decref(other);
  return c;
}

static void open_changed(changed_model *m, const char *path, const char *changes) {
  cel_err err = {0};
  cel_load_options options = {.n_threads = 2, .context = 256};
  *m = (changed_model){0};
  cel_arena_init(&m->arena);
  cel_status s = cel_checkpoint_open(path, &m->checkpoint, &err);
  if (s == CEL_OK) m->config = changed_config(m->checkpoint->config, changes);
  if (s == CEL_OK) s = cel_arch_from_config(m->config, NULL, &m->arena, &m->arch, &err);
  if (s == CEL_OK) s = cel_backend_find(NULL, &m->backend, &err);
  if (s == CEL_OK) s = m->backend->load(&m->arch, m->checkpoint, &options, &m->model, &err);
  if (s != CEL_OK) fail_msg("%s with %s: %s", path, changes, err.text);
}

static void close_changed(changed_model *m) {
  m->backend->unload(m->model);
  cel_json_decref(m->config);
  cel_checkpoint_close(m->checkpoint);
  cel_arena_deinit(&m->arena);
}

// The largest difference from the reference's rows over all cases.
static double effect(const oracle *o, const changed_model *m) {
  double worst = 0;
  cel_err err = {0};
  for (int i = 0; i < o->n_cases; i++) {
    const oracle_case *c = &o->cases[i];
    cel_prompt p = {.ids = c->ids, .n = c->n};
    float *logits = malloc((size_t)(c->n * o->vocab) * sizeof *logits);
    assert_non_null(logits);
    if (m->backend->logits(m->model, &p, logits, &err) != CEL_OK) fail_msg("%s", err.text);
    for (int64_t r = 0; r < c->n_rows; r++)
      for (int64_t v = 0; v < o->vocab; v++)
        worst = fmax(worst, fabs((double)logits[c->rows[r] * o->vocab + v] - (double)o->logits[(c->first_row + r) * o->vocab + v]));
    free(logits);
  }
  return worst;
}

static void a_changed_value_moves_the_logits(void **state) {
  (void)state;
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    oracle *o = oracle_load(rows[i].folder);
    changed_model m;
    open_changed(&m, o->path, rows[i].changed);
    double d = effect(o, &m);
    if (!(d > 20 * o->tolerance)) fail_msg("%s with %s: logits move by %g only, the bound is %g", rows[i].folder, rows[i].changed, d, o->tolerance);
    close_changed(&m);
    oracle_free(o);
  }
}

int main(void) {
  setenv("MLXCEL_XLA_PRECISION", "f32", 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_changed_value_moves_the_logits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
