// The modules of families whose files fuse, rename or scatter them.
#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "model/checkpoint.h"

typedef struct st_maker {
  cel_buf header;
  size_t at;
} st_maker;

static void st(st_maker *m, const char *name, const char *dtype, const char *shape, size_t bytes) {
  cel_buf_printf(&m->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", m->at ? "," : "{", name,
                 dtype, shape, m->at, m->at + bytes);
  m->at += bytes;
}

static void st_write(st_maker *m, const folder *f) {
  cel_buf_addc(&m->header, '}');
  cel_buf b = safetensors_of(m->header.p, m->at);
  for (size_t i = 0; i < m->at; i++) b.p[b.n - m->at + i] = (char)(i * 37 + i / 256);
  add_bytes(f, "model.safetensors", &b);
  cel_buf_deinit(&m->header);
  *m = (st_maker){0};
}

#define CONFIG(type, more)                                                                                          \
  "{\"model_type\":\"" type "\",\"vocab_size\":8,\"hidden_size\":8,\"intermediate_size\":4,\"num_hidden_layers\":2," \
  "\"num_attention_heads\":2,\"num_key_value_heads\":1" more "}"
#define LAYER "model.layers.1."

static folder folder_of(const char *config, st_maker *m) {
  folder f = folder_new();
  add_text(&f, "config.json", config);
  st_write(m, &f);
  return f;
}

static cel_checkpoint *open_well(const char *path) {
  cel_checkpoint *c;
  cel_err err;
  if (cel_checkpoint_open(path, &c, &err) != CEL_OK) fail_msg("refused: %s", err.text);
  return c;
}

static void is_at(const cel_checkpoint *c, const char *name, const void *data, int64_t rows, int64_t bytes) {
  const cel_tensor *t = cel_checkpoint_find(c, name);
  if (!t) fail_msg("%s is not there", name);
  assert_ptr_equal(t->data, data);
  assert_int_equal(t->dims[0], rows);
  assert_int_equal(t->bytes, bytes);
}

// Heads are 4 wide: q has 8 rows, k and v 4.
static void fused_rows_become_views(void **state) {
  (void)state;
  st_maker m = {0};
  st(&m, LAYER "self_attn.qkv_proj.weight", "F32", "[16,8]", 512);
  st(&m, LAYER "self_attn.qkv_proj.bias", "F32", "[16]", 64);
  st(&m, LAYER "mlp.gate_up_proj.weight", "F32", "[8,8]", 256);
  folder f = folder_of(CONFIG("phi3", ""), &m);
  cel_checkpoint *c = open_well(f.path);
  const uint8_t *whole = cel_checkpoint_find(c, LAYER "self_attn.q_proj.weight")->data;
  is_at(c, LAYER "self_attn.q_proj.weight", whole, 8, 256);
  is_at(c, LAYER "self_attn.k_proj.weight", whole + 256, 4, 128);
  is_at(c, LAYER "self_attn.v_proj.weight", whole + 384, 4, 128);
  is_at(c, LAYER "self_attn.v_proj.bias", whole + 512 + 48, 4, 16);
  is_at(c, LAYER "mlp.gate_proj.weight", whole + 576, 4, 128);
  is_at(c, LAYER "mlp.up_proj.weight", whole + 576 + 128, 4, 128);
  assert_null(cel_checkpoint_find(c, LAYER "self_attn.qkv_proj.weight"));
  assert_int_equal(c->n_tensors, 8);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

static void what_is_said_of_a_fused_module_holds_for_its_parts(void **state) {
  (void)state;
  st_maker m = {0};
  st(&m, LAYER "self_attn.qkv_proj.weight", "U32", "[16,16]", 1024);  // 8 bits in groups of 64: 64 columns
  st(&m, LAYER "self_attn.qkv_proj.scales", "F16", "[16,1]", 32);
  st(&m, LAYER "self_attn.qkv_proj.biases", "F16", "[16,1]", 32);
  folder f = folder_of(CONFIG("phi3", ",\"quantization\":{\"bits\":4,\"group_size\":64,\"model.layers.1.self_attn.qkv_proj\":"
                                      "{\"bits\":8,\"group_size\":64}}"), &m);
  cel_checkpoint *c = open_well(f.path);
  cel_weight w;
  cel_err err;
  if (cel_checkpoint_weight(c, LAYER "self_attn.k_proj", &w, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_int_equal(w.bits, 8);
  assert_int_equal(w.rows, 4);
  assert_int_equal(w.cols, 64);
  assert_int_equal(w.scales->dims[0], 4);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

static void files_names_become_canonical(void **state) {
  (void)state;
  st_maker m = {0};
  st(&m, "transformer.h.1.attn.attention.out_proj.weight", "F32", "[2,2]", 16);
  st(&m, "transformer.h.1.mlp.c_fc_1.weight", "F32", "[2,2]", 16);
  st(&m, "transformer.h.01.mlp.c_fc_1.weight", "F32", "[2,2]", 16);  // no number as files write it: left alone
  st(&m, "transformer.wte.weight", "F32", "[2,2]", 16);
  folder f = folder_of(CONFIG("exaone", ""), &m);
  cel_checkpoint *c = open_well(f.path);
  assert_non_null(cel_checkpoint_find(c, LAYER "self_attn.o_proj.weight"));
  assert_non_null(cel_checkpoint_find(c, LAYER "mlp.up_proj.weight"));
  assert_non_null(cel_checkpoint_find(c, "model.embed_tokens.weight"));
  assert_non_null(cel_checkpoint_find(c, "transformer.h.01.mlp.c_fc_1.weight"));
  cel_checkpoint_close(c);
  folder_remove(&f);
}

static void norms_kept_by_head_are_joined_in_order(void **state) {
  (void)state;
  st_maker m = {0};
  for (int i = 0; i < 11; i++) {  // "10" sorts ahead of "2"
    char name[80];
    snprintf(name, sizeof name, LAYER "self_attn.q_layernorm.norms.%d.weight", i);
    st(&m, name, "F32", "[4]", 16);
  }
  folder f = folder_of(CONFIG("stablelm", ",\"partial_rotary_factor\":0.5,\"qk_layernorm\":true"), &m);
  cel_checkpoint *c = open_well(f.path);
  const cel_tensor *t = cel_checkpoint_find(c, LAYER "self_attn.q_layernorm.weight");
  assert_non_null(t);
  assert_int_equal(t->rank, 2);
  assert_int_equal(t->dims[0], 11);
  assert_int_equal(t->dims[1], 4);
  for (size_t i = 0; i < 176; i++) assert_int_equal(((const uint8_t *)t->data)[i], (uint8_t)(i * 37));
  assert_int_equal(c->n_tensors, 1);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

static void refused(const char *config, st_maker *m, const char *a, const char *b, const char *d) {
  folder f = folder_of(config, m);
  cel_checkpoint *c = NULL;
  cel_err err;
  assert_int_equal(cel_checkpoint_open(f.path, &c, &err), CEL_MALFORMED);
  assert_null(c);
  assert_says(err.text, "model.safetensors", a, b, d, NULL);
  folder_remove(&f);
}

static void shapes_that_do_not_divide_are_named(void **state) {
  (void)state;
  st_maker m = {0};
  st(&m, LAYER "self_attn.qkv_proj.weight", "F32", "[15,8]", 480);
  refused(CONFIG("phi3", ""), &m, "qkv_proj.weight", "[15, 8]", "16 rows: q 8, k 4, v 4");
  st(&m, LAYER "mlp.gate_up_proj.weight", "F32", "[7,8]", 224);
  refused(CONFIG("glm4", ""), &m, "gate_up_proj.weight", "[7, 8]", "even");
  st(&m, LAYER "mlp.gate_up_proj.weight", "F32", "[8,8]", 256);
  st(&m, LAYER "mlp.up_proj.weight", "F32", "[4,8]", 128);
  refused(CONFIG("glm4", ""), &m, "mlp.up_proj.weight", "twice", "once");
  st(&m, LAYER "self_attn.q_layernorm.norms.0.weight", "F32", "[4]", 16);
  st(&m, LAYER "self_attn.q_layernorm.norms.1.weight", "F32", "[2]", 8);
  refused(CONFIG("stablelm", ",\"partial_rotary_factor\":0.5,\"qk_layernorm\":true"), &m, "norms.1.weight", "[2]", "[4]");
  st(&m, LAYER "self_attn.q_layernorm.norms.0.weight", "F32", "[4]", 16);
  st(&m, LAYER "self_attn.q_layernorm.norms.2.weight", "F32", "[4]", 16);
  refused(CONFIG("stablelm", ",\"partial_rotary_factor\":0.5,\"qk_layernorm\":true"), &m, "norms.2.weight", "before it", "missing");
}

// Granite 4 with experts has a shared MLP beside them, without any it is the layer's own.
static void a_rule_counts_where_the_model_has_the_weight(void **state) {
  (void)state;
  static const struct { const char *experts, *gate, *down; } rows[] = {
      {",\"layer_types\":[\"attention\",\"attention\"],\"num_local_experts\":0,\"shared_intermediate_size\":4", LAYER "mlp.gate_proj.weight", LAYER "mlp.down_proj.weight"},
      {",\"layer_types\":[\"attention\",\"attention\"],\"num_local_experts\":2,\"shared_intermediate_size\":4", LAYER "mlp.shared_experts.gate_proj.weight",
       LAYER "mlp.shared_experts.down_proj.weight"},
  };
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    st_maker m = {0};
    st(&m, LAYER "shared_mlp.input_linear.weight", "F32", "[8,8]", 256);
    st(&m, LAYER "shared_mlp.output_linear.weight", "F32", "[8,4]", 128);
    char config[512];
    snprintf(config, sizeof config, CONFIG("granitemoehybrid", "%s"), rows[i].experts);
    folder f = folder_of(config, &m);
    cel_checkpoint *c = open_well(f.path);
    assert_int_equal(c->n_tensors, 3);
    assert_non_null(cel_checkpoint_find(c, rows[i].gate));
    assert_non_null(cel_checkpoint_find(c, rows[i].down));
    cel_checkpoint_close(c);
    folder_remove(&f);
  }
}

// Its own trouble is told when the model is loaded; the files can be looked at.
static void a_config_that_cannot_be_described_leaves_names_alone(void **state) {
  (void)state;
  st_maker m = {0};
  st(&m, LAYER "self_attn.qkv_proj.weight", "F32", "[16,8]", 512);
  folder f = folder_of("{\"model_type\":\"phi3\",\"hidden_size\":8}", &m);
  cel_checkpoint *c = open_well(f.path);
  assert_non_null(cel_checkpoint_find(c, LAYER "self_attn.qkv_proj.weight"));
  cel_checkpoint_close(c);
  folder_remove(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fused_rows_become_views),
      cmocka_unit_test(what_is_said_of_a_fused_module_holds_for_its_parts),
      cmocka_unit_test(files_names_become_canonical),
      cmocka_unit_test(norms_kept_by_head_are_joined_in_order),
      cmocka_unit_test(shapes_that_do_not_divide_are_named),
      cmocka_unit_test(a_rule_counts_where_the_model_has_the_weight),
      cmocka_unit_test(a_config_that_cannot_be_described_leaves_names_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
