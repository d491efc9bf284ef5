// The configs transformers saved beside the tiny checkpoints: the new layout and the old one describe the same
// model, and the one the checkpoint is for.
#define _POSIX_C_SOURCE 200809L
#include "unit/arch/arch_test.h"

#include <dirent.h>

#include "base/file.h"

#define ORACLE CEL_TEST_DATA "/data/oracle/"

static void load_arch(fixture *f, const char *id, const char *file) {
  char path[512];
  snprintf(path, sizeof path, ORACLE "%s/%s", id, file);
  *f = (fixture){0};
  cel_arena_init(&f->arena);
  if (cel_json_load(path, 1 << 20, &f->config, &f->err) != CEL_OK ||
      cel_arch_from_config(f->config, NULL, &f->arena, &f->arch, &f->err) != CEL_OK)
    fail_msg("%s: %s", path, f->err.text);
}

static void same_rope(const cel_rope *a, const cel_rope *b, int64_t length) {
  float f[256], g[256], x, y;
  assert_int_equal(a->type, b->type);
  assert_int_equal(a->dims, b->dims);
  assert_int_equal(a->interleaved, b->interleaved);
  cel_rope_frequencies(a, length, f, &x);
  cel_rope_frequencies(b, length, g, &y);
  assert_memory_equal(f, g, (size_t)a->dims / 2 * sizeof f[0]);
  assert_true(x == y);
}

static void same_sizes(const cel_arch *a, const cel_arch *b) {
  assert_ptr_equal(a->family, b->family);
  assert_int_equal(a->vocab, b->vocab);
  assert_int_equal(a->hidden, b->hidden);
  assert_int_equal(a->inter, b->inter);
  assert_int_equal(a->max_position, b->max_position);
  assert_int_equal(a->n_layers, b->n_layers);
  assert_int_equal(a->n_q, b->n_q);
  assert_int_equal(a->n_kv, b->n_kv);
  assert_int_equal(a->head_dim, b->head_dim);
  assert_int_equal(a->window, b->window);
}

static void same_switches(const cel_arch *a, const cel_arch *b) {
  assert_true(a->norm == b->norm && a->norm_eps == b->norm_eps && a->placement == b->placement);
  assert_true(a->qk_norm == b->qk_norm && a->act == b->act && a->tied == b->tied);
  assert_true(a->qkv_bias == b->qkv_bias && a->o_bias == b->o_bias && a->mlp_bias == b->mlp_bias);
  assert_true(a->qk_norm_after_rope == b->qk_norm_after_rope && a->norm_bias == b->norm_bias && a->clip_qkv == b->clip_qkv);
  assert_true(a->attn_scale == b->attn_scale && a->embed_mul == b->embed_mul);
  assert_true(a->residual_mul == b->residual_mul && a->logit_mul == b->logit_mul);
  assert_true(a->q_pos_beta == b->q_pos_beta && a->q_pos_original == b->q_pos_original);
  assert_true(a->final_softcap == b->final_softcap && a->attn_softcap == b->attn_softcap);
  assert_int_equal(a->n_eos, b->n_eos);
  assert_true(a->sinks == b->sinks && a->out_gate == b->out_gate && a->v_norm == b->v_norm && a->head_bias == b->head_bias);
  assert_true(a->mla.q_rank == b->mla.q_rank && a->mla.kv_rank == b->mla.kv_rank && a->mla.v == b->mla.v);
  assert_true(a->moe.n_experts == b->moe.n_experts && a->moe.top_k == b->moe.top_k && a->moe.inter == b->moe.inter);
  assert_true(a->moe.router == b->moe.router && a->moe.renorm == b->moe.renorm && a->moe.scale == b->moe.scale);
  assert_true(a->moe.n_group == b->moe.n_group && a->moe.shared_inter == b->moe.shared_inter);
  assert_true(a->conv.kernel == b->conv.kernel && a->delta.kernel == b->delta.kernel);
}

static void same_layers(const cel_arch *a, const cel_arch *b) {
  for (int l = 0; l < a->n_layers; l++) {
    const cel_layer *x = &a->layers[l], *y = &b->layers[l];
    assert_true(x->mixer == y->mixer && x->attention == y->attention && x->ffn == y->ffn && x->kv_shared == y->kv_shared);
    assert_true(x->inter == y->inter && x->sparsity == y->sparsity && x->state == y->state);
    assert_int_equal(x->rope < 0, y->rope < 0);
    if (x->rope >= 0) same_rope(&a->ropes[x->rope], &b->ropes[y->rope], 100);
  }
}

static bool has_both(const char *id) {
  static const char *const files[] = {"config.json", "config.legacy.json"};
  char path[512];
  bool both = id[0] != '.';
  for (int i = 0; i < CEL_COUNT(files); i++) {
    snprintf(path, sizeof path, ORACLE "%s/%s", id, files[i]);
    both = both && cel_is_file(path);
  }
  return both;
}

// Checkpoints may be there before their family is.
static bool known(const char *id) {
  char path[512];
  cel_json *config;
  cel_err err = {0};
  snprintf(path, sizeof path, ORACLE "%s/config.json", id);
  if (cel_json_load(path, 1 << 20, &config, &err) != CEL_OK) fail_msg("%s", err.text);
  bool is = cel_arch_family_of(config) != NULL;
  if (!is) print_message("%s has no family\n", id);
  cel_json_decref(config);
  return is;
}

static void both_layouts_describe_one_model(void **state) {
  (void)state;
  DIR *d = opendir(ORACLE);
  assert_non_null(d);
  int n = 0;
  for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
    if (!has_both(e->d_name) || !known(e->d_name)) continue;
    fixture now, old;
    load_arch(&now, e->d_name, "config.json");
    load_arch(&old, e->d_name, "config.legacy.json");
    same_sizes(&now.arch, &old.arch);
    same_switches(&now.arch, &old.arch);
    same_layers(&now.arch, &old.arch);
    drop(&now);
    drop(&old);
    n++;
  }
  closedir(d);
  assert_true(n > 40);
}

static void each_checkpoint_has_the_branch_it_is_for(void **state) {
  (void)state;
  static const struct { const char *id; cel_rope_type full; int64_t window; const char *kinds; bool tied; } want[] = {
      {"llama3", CEL_ROPE_LLAMA3, 0, "ff", false},       {"llama-linear", CEL_ROPE_LINEAR, 0, "ff", true},
      {"llama-dyn", CEL_ROPE_DYNAMIC, 0, "ff", false},   {"llama-yarn", CEL_ROPE_YARN, 0, "ff", false},
      {"mistral", CEL_ROPE_DEFAULT, 8, "ss", false},     {"qwen2", CEL_ROPE_DEFAULT, 8, "fs", true},
      {"qwen3", CEL_ROPE_DEFAULT, 0, "ff", true},        {"gemma3", CEL_ROPE_DEFAULT, 8, "ssfs", true},
      {"gemma3-linear", CEL_ROPE_LINEAR, 8, "ssfs", true}};
  for (int i = 0; i < CEL_COUNT(want); i++) {
    fixture f;
    load_arch(&f, want[i].id, "config.json");
    assert_int_equal(f.arch.ropes[0].type, want[i].full);
    assert_int_equal(f.arch.window, want[i].window);
    assert_int_equal(f.arch.tied, want[i].tied);
    assert_int_equal(f.arch.n_layers, strlen(want[i].kinds));
    for (int l = 0; l < f.arch.n_layers; l++)
      assert_int_equal(f.arch.layers[l].attention == CEL_ATTENTION_SLIDING, want[i].kinds[l] == 's');
    drop(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_layouts_describe_one_model),
      cmocka_unit_test(each_checkpoint_has_the_branch_it_is_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
