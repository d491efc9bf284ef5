// Split GGUF files: opened by any part, and every way in which parts do not go together.
#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "model/checkpoint.h"

typedef struct part {
  uint16_t no, count;
  int32_t tensors;  // of all parts; -1: the key is left out
  const char *tensor, *second;
} part;

static void kv_u16(gguf_maker *m, const char *key, uint16_t v) {
  kv(m, key, 2);
  put_bytes(&m->values, v, 2);
}

static void add_metadata(gguf_maker *m) {
  kv_text(m, "general.architecture", "llama");
  kv_u32(m, "llama.block_count", 1);
  kv_u32(m, "llama.context_length", 32);
  kv_u32(m, "llama.embedding_length", 8);
  kv_u32(m, "llama.feed_forward_length", 8);
  kv_u32(m, "llama.attention.head_count", 2);
  kv_f32(m, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
}

static void write_part(const folder *f, const char *name, part p) {
  gguf_maker m = {0};
  if (p.no == 0) add_metadata(&m);
  kv_u16(&m, "split.no", p.no);
  kv_u16(&m, "split.count", p.count);
  if (p.tensors >= 0) kv(&m, "split.tensors.count", 5), put_u32(&m.values, (uint32_t)p.tensors);
  if (p.tensor) tensor_f32(&m, p.tensor, 8, 4);
  if (p.second) tensor_f32(&m, p.second, 8, 8);
  cel_buf b = gguf_done(&m);
  if (p.tensor) b.p[b.n - 1] = (char)(p.no + 1);  // tells the parts' data apart
  add_bytes(f, name, &b);
}

static const part good[3] = {{0, 3, 4, "token_embd.weight", NULL},
                             {1, 3, 4, "blk.0.attn_q.weight", "blk.0.attn_k.weight"},
                             {2, 3, 4, "output_norm.weight", NULL}};
static const char *const names[3] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"};

static folder three_parts(void) {
  folder f = folder_new();
  for (int i = 0; i < 3; i++) write_part(&f, names[i], good[i]);
  return f;
}

static void opens_whole(const char *path) {
  cel_err err = {0};
  cel_checkpoint *c;
  if (cel_checkpoint_open(path, &c, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_int_equal(c->n_tensors, 4);
  assert_int_equal(c->n_files, 3);
  assert_string_equal(cel_json_string(c->config, "model_type", ""), "llama");
  const cel_tensor *q = cel_checkpoint_find(c, "model.layers.0.self_attn.q_proj.weight");
  const cel_tensor *last = cel_checkpoint_find(c, "model.norm.weight");
  assert_non_null(q);
  assert_non_null(last);
  assert_non_null(strstr(q->file, names[1]));
  assert_int_equal(((const uint8_t *)last->data)[last->bytes - 1], 3);
  cel_checkpoint_close(c);
}

static void refuses(const folder *f, const char *name, cel_status status, const char *a, const char *b) {
  cel_err err = {0};
  cel_checkpoint *c;
  assert_int_equal(cel_checkpoint_open(in_folder(f, name), &c, &err), status);
  assert_says(err.text, a, b, NULL);
}

static void any_part_opens_the_whole_model(void **state) {
  (void)state;
  folder f = three_parts();
  for (int i = 0; i < 3; i++) opens_whole(in_folder(&f, names[i]));
  opens_whole(f.path);
  folder_remove(&f);
}

static void a_first_part_may_hold_metadata_alone(void **state) {
  (void)state;
  folder f = folder_new();
  cel_err err = {0};
  cel_checkpoint *c;
  write_part(&f, "x-00001-of-00002.gguf", (part){0, 2, 2, NULL, NULL});
  write_part(&f, "x-00002-of-00002.gguf", (part){1, 2, 2, "token_embd.weight", "output.weight"});
  if (cel_checkpoint_open(in_folder(&f, "x-00002-of-00002.gguf"), &c, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_int_equal(c->n_tensors, 2);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

static void a_missing_part_is_named(void **state) {
  (void)state;
  folder f = three_parts();
  unlink(in_folder(&f, names[1]));
  refuses(&f, names[0], CEL_NOT_FOUND, "part 2 of 3 is missing", names[1]);
  refuses(&f, names[2], CEL_NOT_FOUND, "part 2 of 3 is missing", names[1]);
  unlink(in_folder(&f, names[0]));
  refuses(&f, names[2], CEL_NOT_FOUND, "part 1 of 3 is missing", names[0]);
  folder_remove(&f);
}

static void a_name_without_its_number_is_refused(void **state) {
  (void)state;
  folder f = three_parts();
  const char *odd[] = {"whole.gguf", "m-0001-of-0003.gguf", "m-00002-of-00003.gguf.gguf", "-00001-of-0000x.gguf"};
  for (int i = 0; i < CEL_COUNT(odd); i++) {
    write_part(&f, odd[i], good[1]);
    refuses(&f, odd[i], CEL_INVALID, odd[i], "-00002-of-00003.gguf");
  }
  folder_remove(&f);
}

static void parts_that_do_not_belong_together_are_refused(void **state) {
  (void)state;
  static const struct { int which; part p; const char *says; } cases[] = {
    {1, {2, 3, 4, "blk.0.attn_q.weight", "blk.0.attn_k.weight"}, "not a part of the same model"},  // mixed up
    {1, {1, 4, 4, "blk.0.attn_q.weight", "blk.0.attn_k.weight"}, "split.count 4"},
    {1, {1, 3, 9, "blk.0.attn_q.weight", "blk.0.attn_k.weight"}, "split.tensors.count 9"},
    {1, {1, 3, 4, "blk.0.attn_q.weight", NULL}, "hold 3 tensors"},
    {1, {1, 3, -1, "blk.0.attn_q.weight", "blk.0.attn_k.weight"}, "split.tensors.count -1"},
    {2, {2, 3, 4, "token_embd.weight", NULL}, "there twice"},
  };
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    folder f = three_parts();
    write_part(&f, names[cases[i].which], cases[i].p);
    refuses(&f, names[0], CEL_MALFORMED, names[cases[i].which == 2 ? 2 : i == 3 ? 0 : 1], cases[i].says);
    folder_remove(&f);
  }
}

static void hostile_numbers_are_refused(void **state) {
  (void)state;
  static const struct { part p; const char *says; } cases[] = {
    {{3, 3, 4, "token_embd.weight", NULL}, "split.no 3"},
    {{1, 3, 4, "token_embd.weight", NULL}, "the name says part 1 of 3"},
    {{0, 65535, 4, "token_embd.weight", NULL}, "the name says part 1 of 3"},
    {{0, 3, -1, "token_embd.weight", NULL}, "all three are there"},
  };
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    folder f = three_parts();
    write_part(&f, names[0], cases[i].p);
    refuses(&f, names[0], CEL_MALFORMED, names[0], cases[i].says);
    folder_remove(&f);
  }
}

static void a_part_that_is_no_gguf_file_is_refused_by_name(void **state) {
  (void)state;
  folder f = three_parts();
  add_text(&f, names[1], "{}");
  refuses(&f, names[2], CEL_MALFORMED, names[1], "magic");
  folder_remove(&f);
}

static void a_count_of_one_is_a_file_by_itself(void **state) {
  (void)state;
  folder f = folder_new();
  cel_checkpoint *c;
  write_part(&f, "alone.gguf", (part){0, 1, 1, "token_embd.weight", NULL});
  assert_int_equal(cel_checkpoint_open(in_folder(&f, "alone.gguf"), &c, NULL), CEL_OK);
  assert_int_equal(c->n_files, 1);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

static void folders_of_different_models_are_ambiguous(void **state) {
  (void)state;
  folder f = three_parts();
  cel_err err = {0};
  cel_checkpoint *c;
  write_part(&f, "n-00001-of-00003.gguf", good[0]);
  assert_int_equal(cel_checkpoint_open(f.path, &c, &err), CEL_INVALID);
  assert_says(err.text, "4 GGUF files", "name one", NULL);
  folder_remove(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(any_part_opens_the_whole_model),
    cmocka_unit_test(a_first_part_may_hold_metadata_alone),
    cmocka_unit_test(a_missing_part_is_named),
    cmocka_unit_test(a_name_without_its_number_is_refused),
    cmocka_unit_test(parts_that_do_not_belong_together_are_refused),
    cmocka_unit_test(hostile_numbers_are_refused),
    cmocka_unit_test(a_part_that_is_no_gguf_file_is_refused_by_name),
    cmocka_unit_test(a_count_of_one_is_a_file_by_itself),
    cmocka_unit_test(folders_of_different_models_are_ambiguous),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
