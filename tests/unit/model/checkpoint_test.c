// Whole checkpoints: folders and files as they lie on a disk.
#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "model/checkpoint.h"

// ---- making -----------------------------------------------------------------------------------------

typedef struct st_maker {
  cel_buf header;
  size_t at;
} st_maker;

static void st(st_maker *m, const char *name, const char *dtype, const char *shape, size_t bytes) {
  cel_buf_printf(&m->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", m->at ? "," : "{", name,
                 dtype, shape, m->at, m->at + bytes);
  m->at += bytes;
}

static void st_write(st_maker *m, const folder *f, const char *name) {
  cel_buf_addc(&m->header, '}');
  cel_buf b = safetensors_of(m->header.p, m->at);
  for (size_t i = 0; i < m->at; i++) b.p[b.n - m->at + i] = (char)(i * 37 + i / 256);
  add_bytes(f, name, &b);
  cel_buf_deinit(&m->header);
  *m = (st_maker){0};
}

static void one_tensor(const folder *f, const char *file, const char *tensor) {
  st_maker m = {0};
  st(&m, tensor, "F32", "[2,2]", 16);
  st_write(&m, f, file);
}

static folder plain_folder(void) {
  folder f = folder_new();
  add_text(&f, "config.json", "{\"model_type\": \"llama\"}");
  one_tensor(&f, "model.safetensors", "model.a.weight");
  return f;
}

static void write_gguf(const folder *f, const char *name, const char *template) {
  gguf_maker m = {0};
  kv_text(&m, "general.architecture", "llama");
  kv_u32(&m, "llama.block_count", 1);
  kv_u32(&m, "llama.context_length", 32);
  kv_u32(&m, "llama.embedding_length", 32);
  kv_u32(&m, "llama.feed_forward_length", 32);
  kv_u32(&m, "llama.attention.head_count", 2);
  kv_f32(&m, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
  if (template) kv_text(&m, "tokenizer.chat_template", template);
  if (template) kv_text(&m, "tokenizer.chat_template.tool_use", "tools");
  tensor_of(&m, "token_embd.weight", 8, 32, 4, 4 * 34);
  cel_buf b = gguf_done(&m);
  b.p[b.n - 160 + 1] = 0x3C;      // scale 1.0 of row 0 (f16)
  b.p[b.n - 160 + 2 + 5] = 0x7F;  // its element 5
  add_bytes(f, name, &b);
}

static cel_checkpoint *open_well(const char *path) {
  cel_checkpoint *c;
  cel_err err;
  if (cel_checkpoint_open(path, &c, &err) != CEL_OK) fail_msg("refused: %s", err.text);
  return c;
}

static void refuses_path(const char *path, cel_status status, const char *a, const char *b) {
  cel_checkpoint *c;
  cel_err err;
  cel_status got = cel_checkpoint_open(path, &c, &err);
  assert_int_not_equal(got, CEL_OK);
  assert_null(c);
  assert_says(err.text, a, b, NULL);
  assert_int_equal(got, status);
}

static void refuses(folder *f, cel_status status, const char *a, const char *b) {
  refuses_path(f->path, status, a, b);
  folder_remove(f);
}

// ---- places -----------------------------------------------------------------------------------------

static void a_folder_opens_with_its_configs_untouched(void **state) {
  (void)state;
  folder f = plain_folder();
  add_text(&f, "config.json", "{\"model_type\": \"x\", \"rope_parameters\": {\"rope_theta\": 5.0}, \"text_config\": {}}");
  add_text(&f, "generation_config.json", "{\"eos_token_id\": [2, 28]}");
  add_text(&f, "tokenizer_config.json", "{\"bos_token\": \"<s>\"}");
  cel_checkpoint *c = open_well(f.path);
  assert_int_equal(c->format, CEL_FORMAT_SAFETENSORS);
  assert_string_equal(c->path, f.path);
  assert_string_equal(c->dir, f.path);
  assert_true(cel_json_num(cel_json_get(c->config, "rope_parameters"), "rope_theta", 0) == 5.0);
  assert_int_equal(cel_json_array_size(cel_json_get(c->generation_config, "eos_token_id")), 2);
  assert_string_equal(cel_json_string(c->tokenizer_config, "bos_token", ""), "<s>");
  assert_null(c->chat_template);
  assert_null(c->gguf_vocab);
  assert_false(c->rope_interleaved);
  assert_int_equal(c->n_tensors, 1);
  const cel_tensor *t = cel_checkpoint_find(c, "model.a.weight");
  assert_non_null(t);
  assert_int_equal(((const uint8_t *)t->data)[1], 37);
  assert_null(cel_checkpoint_find(c, "model.a"));
  assert_true(c->file_bytes > 16);
  cel_checkpoint_close(c);
  cel_checkpoint_close(NULL);
  folder_remove(&f);
}

static void a_gguf_file_opens_alone_and_as_the_only_one_of_a_folder(void **state) {
  (void)state;
  folder f = folder_new();
  write_gguf(&f, "m.gguf", "chat");
  for (int i = 0; i < 2; i++) {
    cel_checkpoint *c = open_well(i ? f.path : in_folder(&f, "m.gguf"));
    assert_int_equal(c->format, CEL_FORMAT_GGUF);
    assert_string_equal(c->dir, f.path);
    assert_string_equal(cel_json_string(c->config, "model_type", ""), "llama");
    assert_string_equal(c->chat_template, "chat");
    assert_string_equal(c->chat_template_tools, "tools");
    assert_true(c->rope_interleaved);
    assert_null(c->gguf_vocab);
    cel_weight w;
    float row[32];
    assert_int_equal(cel_checkpoint_weight(c, "model.embed_tokens", &w, NULL), CEL_OK);
    assert_string_equal(w.name, "model.embed_tokens");
    assert_int_equal(w.rows, 4);
    assert_int_equal(w.cols, 32);
    cel_weight_row(&w, 0, row);
    assert_true(row[5] == 127.0f && row[4] == 0.0f);
    cel_checkpoint_close(c);
  }
  write_gguf(&f, "n.gguf", NULL);
  refuses_path(f.path, CEL_INVALID, "m.gguf", "n.gguf");
  add_text(&f, "config.json", "{\"model_type\": \"llama\"}");  // now it is a folder of safetensors
  refuses(&f, CEL_NOT_FOUND, f.path, "no .safetensors");
}

static void what_is_missing_is_named(void **state) {
  (void)state;
  folder f = folder_new();
  refuses_path("/nowhere/at/all", CEL_NOT_FOUND, "/nowhere/at/all", "No such file");
  refuses_path("", CEL_NOT_FOUND, "", "");
  refuses_path(f.path, CEL_NOT_FOUND, f.path, "config.json is missing");
  one_tensor(&f, "model.safetensors", "a");
  refuses_path(in_folder(&f, "model.safetensors"), CEL_INVALID, "model.safetensors", "folder");
  add_text(&f, "x.gguf", "not one");
  refuses_path(in_folder(&f, "x.gguf"), CEL_MALFORMED, "x.gguf", "not a GGUF file");
  refuses(&f, CEL_MALFORMED, "x.gguf", "");
}

static void damaged_side_files_are_errors_too(void **state) {
  (void)state;
  static const char *const files[] = {"config.json", "generation_config.json", "tokenizer_config.json",
                                      "chat_template.json", "model.safetensors.index.json"};
  for (int i = 0; i < 5; i++) {
    folder f = plain_folder();
    add_text(&f, files[i], "{\n\"a\": 1,\n}");
    refuses(&f, CEL_MALFORMED, files[i], "line 3");
  }
  for (int i = 0; i < 3; i++) {
    folder f = plain_folder();
    add_text(&f, files[i], "[1]");
    refuses(&f, CEL_MALFORMED, files[i], "object");
  }
  folder f = plain_folder();
  add_text(&f, "model.safetensors", "short");
  refuses(&f, CEL_MALFORMED, "model.safetensors", "5 bytes");
}

// ---- templates --------------------------------------------------------------------------------------

static void says_templates(folder *f, const char *chat, const char *tools) {
  cel_checkpoint *c = open_well(f->path);
  if (chat) assert_string_equal(c->chat_template, chat);
  else assert_null(c->chat_template);
  if (tools) assert_string_equal(c->chat_template_tools, tools);
  else assert_null(c->chat_template_tools);
  cel_checkpoint_close(c);
}

static void templates_are_found_wherever_they_are_kept(void **state) {
  (void)state;
  folder f = plain_folder();
  says_templates(&f, NULL, NULL);
  add_text(&f, "tokenizer_config.json", "{\"chat_template\": \"T\"}");
  says_templates(&f, "T", NULL);
  add_text(&f, "tokenizer_config.json", "{\"chat_template\": [{\"name\": \"tool_use\", \"template\": \"U\"}, {\"name\": "
                                        "\"default\", \"template\": \"D\"}, {\"name\": \"rag\", \"template\": \"R\"}]}");
  says_templates(&f, "D", "U");
  add_text(&f, "chat_template.json", "{\"chat_template\": \"C\"}");
  says_templates(&f, "C", NULL);
  add_text(&f, "chat_template.jinja", "J");  // a template of its own wins over all
  says_templates(&f, "J", NULL);
  assert_int_equal(cel_make_dirs(in_folder(&f, "additional_chat_templates"), NULL), CEL_OK);
  add_text(&f, "additional_chat_templates/tool_use.jinja", "V");
  says_templates(&f, "J", "V");
  folder_remove(&f);
}

static void malformed_templates_are_refused(void **state) {
  (void)state;
  static const char *const bad[] = {"{\"chat_template\": 7}", "{\"chat_template\": [7]}",
                                    "{\"chat_template\": [{\"name\": \"default\"}]}",
                                    "{\"chat_template\": \"a\\u0000b\"}"};
  for (int i = 0; i < 4; i++) {
    folder f = plain_folder();
    add_text(&f, "tokenizer_config.json", bad[i]);
    refuses(&f, CEL_MALFORMED, "tokenizer_config.json", i < 3 ? "chat_template" : "NUL");
  }
}

// ---- shards -----------------------------------------------------------------------------------------

static folder sharded_folder(const char *index) {
  folder f = folder_new();
  add_text(&f, "config.json", "{\"model_type\": \"llama\"}");
  one_tensor(&f, "one.safetensors", "language_model.model.a");
  one_tensor(&f, "two.safetensors", "model.b");
  if (index) add_text(&f, "model.safetensors.index.json", index);
  return f;
}

static void an_index_joins_its_shards(void **state) {
  (void)state;
  folder f = sharded_folder("{\"metadata\": {}, \"weight_map\": {\"language_model.model.a\": \"one.safetensors\", "
                            "\"model.b\": \"two.safetensors\"}}");
  one_tensor(&f, "other.safetensors", "model.a");  // not in the index: not read
  cel_checkpoint *c = open_well(f.path);
  assert_int_equal(c->n_tensors, 2);
  assert_non_null(strstr(cel_checkpoint_find(c, "model.a")->file, "one.safetensors"));
  assert_non_null(strstr(cel_checkpoint_find(c, "model.b")->file, "two.safetensors"));
  cel_checkpoint_close(c);
  folder_remove(&f);
}

#define MAP(a, b) "{\"weight_map\": {\"language_model.model.a\": " a ", \"model.b\": " b "}}"

static void an_index_that_does_not_match_is_refused(void **state) {
  (void)state;
  folder f = sharded_folder(MAP("\"one.safetensors\"", "\"three.safetensors\""));
  refuses(&f, CEL_NOT_FOUND, "index.json", "three.safetensors");
  f = sharded_folder(MAP("\"one.safetensors\"", "\"one.safetensors\""));
  refuses(&f, CEL_MALFORMED, "index.json", "\"model.b\"");
  f = sharded_folder(MAP("\"two.safetensors\"", "\"one.safetensors\""));
  refuses(&f, CEL_MALFORMED, "index.json", "but the tensor is in one.safetensors");
  static const char *const bad[] = {"\"../two.safetensors\"", "\"/etc/two.safetensors\"", "\"a\\\\two.safetensors\"",
                                    "\".safetensors\"", "\"two.bin\"", "\"\"", "7", "null"};
  for (int i = 0; i < 8; i++) {
    char index[300];
    snprintf(index, sizeof index, "{\"weight_map\": {\"model.b\": %s}}", bad[i]);
    f = sharded_folder(index);
    refuses(&f, CEL_MALFORMED, "index.json", "weight_map \"model.b\"");
  }
  f = sharded_folder("{\"weight_map\": []}");
  refuses(&f, CEL_MALFORMED, "index.json", "weight_map");
  f = sharded_folder("[]");
  refuses(&f, CEL_MALFORMED, "index.json", "weight_map");
}

static void without_an_index_all_files_are_read(void **state) {
  (void)state;
  folder f = sharded_folder(NULL);
  cel_checkpoint *c = open_well(f.path);
  assert_int_equal(c->n_tensors, 2);
  cel_checkpoint_close(c);
  one_tensor(&f, "three.safetensors", "model.b");
  refuses_path(f.path, CEL_MALFORMED, "\"model.b\"", "twice");
  one_tensor(&f, "model.safetensors", "model.c");  // model*.safetensors, when there are any, are the model
  c = open_well(f.path);
  assert_int_equal(c->n_tensors, 1);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

static void a_missing_part_is_noticed_by_the_names(void **state) {
  (void)state;
  folder f = folder_new();
  add_text(&f, "config.json", "{}");
  one_tensor(&f, "model-00001-of-00003.safetensors", "model.a");
  one_tensor(&f, "model-00003-of-00003.safetensors", "model.b");
  refuses_path(f.path, CEL_NOT_FOUND, "2 of 3", "");
  one_tensor(&f, "model-00002-of-00003.safetensors", "model.c");
  cel_checkpoint_close(open_well(f.path));
  folder_remove(&f);
}

// ---- weights ----------------------------------------------------------------------------------------

// A folder with MODULE packed as `words` per row and `groups` scales per row, two rows.
static folder affine_folder(const char *config, const char *module, int words, int groups, bool biases) {
  folder f = folder_new();
  st_maker m = {0};
  char name[100], shape[40];
  add_text(&f, "config.json", config);
  snprintf(name, sizeof name, "%s.weight", module);
  snprintf(shape, sizeof shape, "[2,%d]", words);
  st(&m, name, "U32", shape, (size_t)words * 8);
  snprintf(shape, sizeof shape, "[2,%d]", groups);
  snprintf(name, sizeof name, "%s.scales", module);
  st(&m, name, "BF16", shape, (size_t)groups * 4);
  snprintf(name, sizeof name, "%s.biases", module);
  if (biases) st(&m, name, "BF16", shape, (size_t)groups * 4);
  st_write(&m, &f, "model.safetensors");
  return f;
}

static void weight_is(folder *f, const char *module, int bits, int group, int64_t cols) {
  cel_checkpoint *c = open_well(f->path);
  cel_weight w;
  cel_err err;
  if (cel_checkpoint_weight(c, module, &w, &err) != CEL_OK) fail_msg("refused: %s", err.text);
  assert_string_equal(w.mode, "affine");
  assert_int_equal(w.bits, bits);
  assert_int_equal(w.group, group);
  assert_int_equal(w.rows, 2);
  assert_int_equal(w.cols, cols);
  assert_string_equal(w.name, module);
  float *row = malloc((size_t)cols * sizeof *row), *want = malloc((size_t)cols * sizeof *want);
  cel_weight_row(&w, 1, row);
  cel_affine_widen((const uint8_t *)w.tensor->data + w.tensor->bytes / 2,
                   (const uint8_t *)w.scales->data + w.scales->bytes / 2,
                   (const uint8_t *)w.biases->data + w.biases->bytes / 2, CEL_DT_BF16, bits, group, cols, want);
  assert_memory_equal(row, want, (size_t)cols * sizeof *row);
  free(row);
  free(want);
  cel_checkpoint_close(c);
  folder_remove(f);
}

static void weight_is_refused(folder *f, const char *module, cel_status status, const char *a, const char *b) {
  cel_checkpoint *c = open_well(f->path);
  cel_weight w;
  cel_err err;
  assert_int_equal(cel_checkpoint_weight(c, module, &w, &err), status);
  assert_says(err.text, module, a, b, NULL);
  cel_checkpoint_close(c);
  folder_remove(f);
}

#define Q(inside) "{\"quantization\": {\"group_size\": 64, \"bits\": 4" inside "}}"

static void affine_weights_take_bits_and_groups_from_config_and_shapes(void **state) {
  (void)state;
  folder f = affine_folder(Q(""), "model.x", 16, 2, true);
  weight_is(&f, "model.x", 4, 64, 128);
  f = affine_folder("{\"quantization\": {\"group_size\": 128, \"bits\": 6}}", "model.x", 48, 2, true);
  weight_is(&f, "model.x", 6, 128, 256);
  f = affine_folder("{\"quantization_config\": {\"group_size\": 32, \"bits\": 8}}", "lm_head", 16, 2, true);
  weight_is(&f, "lm_head", 8, 32, 64);
  f = affine_folder("{\"text_config\": {\"quantization\": {\"group_size\": 32, \"bits\": 3}}}", "model.x", 6, 2, true);
  weight_is(&f, "model.x", 3, 32, 64);
  f = affine_folder("{}", "model.x", 10, 1, true);  // no block at all: groups of 64
  weight_is(&f, "model.x", 5, 64, 64);
  f = affine_folder("{\"quantization\": {\"group_size\": 128}}", "model.x", 8, 1, true);
  weight_is(&f, "model.x", 2, 128, 128);
}

static void an_override_is_found_under_every_form_of_its_path(void **state) {
  (void)state;
  static const char *const forms[] = {"model.layers.0.x",          "layers.0.x",
                                      "language_model.layers.0.x", "language_model.model.layers.0.x",
                                      "model.language_model.layers.0.x", "model.layers.0.x.weight",
                                      "language_model.model.layers.0.x.weight"};
  for (int i = 0; i < 7; i++) {
    char config[300];
    snprintf(config, sizeof config, Q(", \"%s\": {\"bits\": 8}, \"model.layers.0.y\": {\"bits\": 2}"), forms[i]);
    folder f = affine_folder(config, "model.layers.0.x", 32, 2, true);
    weight_is(&f, "model.layers.0.x", 8, 64, 128);
  }
  folder f = affine_folder(Q(", \"language_model.lm_head\": {\"bits\": 8, \"group_size\": 32}"), "language_model.lm_head", 16,
                           2, true);
  weight_is(&f, "lm_head", 8, 32, 64);
}

static void shapes_that_contradict_the_config_are_refused_with_both(void **state) {
  (void)state;
  folder f = affine_folder(Q(""), "model.x", 32, 2, true);
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "[2, 32]", "[2, 2]");
  f = affine_folder(Q(", \"model.x\": {\"bits\": 8, \"group_size\": 64}"), "model.x", 16, 2, true);
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "8 bits", "groups of 64");
  f = affine_folder(Q(""), "model.x", 7, 3, true);
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "[2, 7]", "divide");
  f = affine_folder("{\"quantization\": {\"group_size\": 16, \"bits\": 4}}", "model.x", 4, 2, true);
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "[2, 4]", "groups of 16");
  f = affine_folder("{\"quantization\": {\"group_size\": 64, \"bits\": -4}}", "model.x", 16, 2, true);
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "-4 bits", "");
  f = affine_folder(Q(""), "model.x", 16, 2, false);
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "biases", "[2, 2]");
}

// As affine_folder, with scales of bytes; `extra`: one more tensor of the module.
static folder micro_folder(const char *config, int words, int groups, const char *extra) {
  folder f = folder_new();
  st_maker m = {0};
  char name[100], shape[40];
  add_text(&f, "config.json", config);
  snprintf(shape, sizeof shape, "[2,%d]", words);
  st(&m, "model.x.weight", "U32", shape, (size_t)words * 8);
  snprintf(shape, sizeof shape, "[2,%d]", groups);
  st(&m, "model.x.scales", "U8", shape, (size_t)groups * 2);
  snprintf(name, sizeof name, "model.x.%s", extra ? extra : "");
  if (extra) st(&m, name, "U8", shape, (size_t)groups * 2);
  st_write(&m, &f, "model.safetensors");
  return f;
}

static void micro_is(folder *f, const char *mode, int bits, int group, int64_t cols) {
  cel_checkpoint *c = open_well(f->path);
  cel_weight w;
  cel_err err;
  if (cel_checkpoint_weight(c, "model.x", &w, &err) != CEL_OK) fail_msg("refused: %s", err.text);
  assert_string_equal(w.mode, mode);
  assert_int_equal(w.bits, bits);
  assert_int_equal(w.group, group);
  assert_int_equal(w.cols, cols);
  assert_null(w.biases);
  float *row = malloc((size_t)cols * sizeof *row), *want = malloc((size_t)cols * sizeof *want);
  cel_weight_row(&w, 1, row);
  cel_micro_widen((const uint8_t *)w.tensor->data + w.tensor->bytes / 2, (const uint8_t *)w.scales->data + w.scales->bytes / 2,
                  bits, group, cols, want);
  assert_memory_equal(row, want, (size_t)cols * sizeof *row);
  free(row);
  free(want);
  cel_checkpoint_close(c);
  folder_remove(f);
}

#define MODE(group, bits, mode) "{\"quantization\": {\"group_size\": " group ", \"bits\": " bits ", \"mode\": \"" mode "\"}}"

static void scales_of_bytes_are_a_floating_mode_told_by_its_shapes(void **state) {
  (void)state;
  folder f = micro_folder(MODE("32", "4", "mxfp4"), 8, 2, NULL);
  micro_is(&f, "mxfp4", 4, 32, 64);
  f = micro_folder(MODE("32", "8", "mxfp8"), 16, 2, NULL);
  micro_is(&f, "mxfp8", 8, 32, 64);
  f = micro_folder(MODE("16", "4", "nvfp4"), 8, 4, NULL);
  micro_is(&f, "nvfp4", 4, 16, 64);
  f = micro_folder("{}", 4, 2, NULL);  // the config need not say it
  micro_is(&f, "nvfp4", 4, 16, 32);
}

static void floating_modes_that_the_config_contradicts_are_refused(void **state) {
  (void)state;
  folder f = micro_folder(MODE("32", "4", "nvfp4"), 8, 2, NULL);
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "nvfp4", "[2, 8]");
  f = micro_folder(MODE("32", "8", "mxfp4"), 8, 2, NULL);
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "8 bits", "groups of 32");
  f = micro_folder(MODE("32", "4", "mxfp4"), 9, 2, NULL);
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "144 bits per group", "[2, 9]");
  f = micro_folder("{\"quantization\": {\"group_size\": 32, \"bits\": 4}}", 8, 2, NULL);  // no mode: affine
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "\"affine\"", "U8");
  f = micro_folder("{\"quantization\": {\"bits\": 4, \"group_size\": 32, \"mode\": \"mxfp4\", \"model.x\": {\"group_size\": 32, "
                   "\"bits\": 4}}}", 8, 2, NULL);  // nor in the override
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "\"affine\"", "U8");
  f = micro_folder(MODE("32", "4", "mxfp4"), 8, 2, "biases");
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "without biases", "");
  f = micro_folder(MODE("16", "4", "nvfp4"), 8, 4, "global_scale");
  weight_is_refused(&f, "model.x", CEL_UNSUPPORTED, "global_scale", "whole matrix");
  f = affine_folder(MODE("32", "4", "mxfp4"), "model.x", 8, 2, true);
  weight_is_refused(&f, "model.x", CEL_MALFORMED, "\"mxfp4\"", "BF16");
  f = micro_folder(MODE("32", "4", "zip"), 8, 2, NULL);
  weight_is_refused(&f, "model.x", CEL_UNSUPPORTED, "\"zip\"", "affine");
}

static void a_module_said_to_be_plain_is_what_its_tensors_say(void **state) {
  (void)state;
  folder f = affine_folder(Q(", \"model.x\": false"), "model.x", 16, 2, true);
  weight_is(&f, "model.x", 4, 64, 128);
}

static void other_quantizations_are_refused_by_name(void **state) {
  (void)state;
  folder f = affine_folder("{\"quantization\": {\"bits\": 4, \"group_size\": 32, \"mode\": \"mxfp4\", \"model.x\": {\"group_size\": 64, "
                    "\"bits\": 8}}}", "model.x", 32, 2, true);  // an override without a mode is affine
  weight_is(&f, "model.x", 8, 64, 128);
  f = plain_folder();
  add_text(&f, "config.json", "{\"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4}}");
  refuses(&f, CEL_UNSUPPORTED, "config.json", "\"awq\"");
  f = affine_folder(Q(", \"model.x\": {\"bits\": 8}, \"language_model.model.x\": {\"bits\": 4}"), "model.x", 16, 2, true);
  refuses(&f, CEL_MALFORMED, "two different entries", "\"x\"");
}

static void weights_that_are_none_are_refused(void **state) {
  (void)state;
  static const struct { const char *dtype, *shape; size_t bytes; } bad[] = {
    {"U32", "[2,2]", 16}, {"I8", "[2,2]", 4}, {"F32", "[4]", 16}, {"F32", "[0,4]", 0}, {"F32", "[1,2,2,1]", 16}};
  for (int i = 0; i < 5; i++) {
    folder f = folder_new();
    st_maker m = {0};
    add_text(&f, "config.json", "{}");
    st(&m, "model.x.weight", bad[i].dtype, bad[i].shape, bad[i].bytes);
    st_write(&m, &f, "model.safetensors");
    weight_is_refused(&f, "model.x", CEL_MALFORMED, "model.safetensors", bad[i].dtype);
  }
  folder f = plain_folder();
  weight_is_refused(&f, "model.b", CEL_NOT_FOUND, "model.b.weight", "missing");
}

static void a_plain_weight_gives_its_rows(void **state) {
  (void)state;
  folder f = plain_folder();
  cel_checkpoint *c = open_well(f.path);
  cel_weight w;
  float row[2];
  assert_int_equal(cel_checkpoint_weight(c, "model.a", &w, NULL), CEL_OK);
  assert_null(w.scales);
  assert_int_equal(w.rows, 2);
  assert_int_equal(w.cols, 2);
  cel_weight_row(&w, 1, row);
  assert_memory_equal(row, (const char *)w.tensor->data + 8, 8);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_folder_opens_with_its_configs_untouched),
    cmocka_unit_test(a_gguf_file_opens_alone_and_as_the_only_one_of_a_folder),
    cmocka_unit_test(what_is_missing_is_named),
    cmocka_unit_test(damaged_side_files_are_errors_too),
    cmocka_unit_test(templates_are_found_wherever_they_are_kept),
    cmocka_unit_test(malformed_templates_are_refused),
    cmocka_unit_test(an_index_joins_its_shards),
    cmocka_unit_test(an_index_that_does_not_match_is_refused),
    cmocka_unit_test(without_an_index_all_files_are_read),
    cmocka_unit_test(a_missing_part_is_noticed_by_the_names),
    cmocka_unit_test(affine_weights_take_bits_and_groups_from_config_and_shapes),
    cmocka_unit_test(an_override_is_found_under_every_form_of_its_path),
    cmocka_unit_test(shapes_that_contradict_the_config_are_refused_with_both),
    cmocka_unit_test(scales_of_bytes_are_a_floating_mode_told_by_its_shapes),
    cmocka_unit_test(floating_modes_that_the_config_contradicts_are_refused),
    cmocka_unit_test(a_module_said_to_be_plain_is_what_its_tensors_say),
    cmocka_unit_test(other_quantizations_are_refused_by_name),
    cmocka_unit_test(weights_that_are_none_are_refused),
    cmocka_unit_test(a_plain_weight_gives_its_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
