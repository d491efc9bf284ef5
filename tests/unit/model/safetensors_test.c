#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "model/safetensors.h"

typedef struct result {
  cel_arena arena;
  cel_tensor_list list;
  cel_err err;
  cel_status status;
} result;

// Reads a copy of exactly these bytes, so that a read outside them is found.
static void read_bytes(result *r, const cel_buf *b) {
  uint8_t *copy = malloc(b->n + 1);
  *r = (result){0};
  cel_arena_init(&r->arena);
  r->list.arena = &r->arena;
  if (b->n) memcpy(copy + 1, b->p, b->n);
  r->status = cel_safetensors_read(copy + 1, (int64_t)b->n, "x.safetensors", &r->list, &r->err);
  if (r->status == CEL_OK) r->status = cel_tensor_list_sort(&r->list, &r->err);
  free(copy);
}

static void result_free(result *r) {
  cel_tensor_list_deinit(&r->list);
  cel_arena_deinit(&r->arena);
}

static void refuses_bytes(cel_buf *b, const char *a, const char *c) {
  result r;
  read_bytes(&r, b);
  assert_int_not_equal(r.status, CEL_OK);
  assert_says(r.err.text, "x.safetensors: ", a, c, NULL);
  result_free(&r);
  cel_buf_deinit(b);
}

static void refuses(const char *header, size_t data, const char *a, const char *c) {
  cel_buf b = safetensors_of(header, data);
  refuses_bytes(&b, a, c);
}

static void tensors_come_out_named_and_sorted(void **state) {
  (void)state;
  result r;
  cel_buf b = safetensors_of("{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":"
                             "[16,22]},\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                             "\"none\":{\"dtype\":\"F32\",\"shape\":[0,4],\"data_offsets\":[16,16]},"
                             "\"one\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[22,23]}}   ", 23);
  read_bytes(&r, &b);
  assert_int_equal(r.status, CEL_OK);
  assert_int_equal(r.list.n, 4);
  const cel_tensor *a = cel_tensor_list_find(r.list.items, r.list.n, "a");
  assert_non_null(a);
  assert_int_equal(a->rank, 2);
  assert_int_equal(a->dims[1], 2);
  assert_int_equal(a->bytes, 16);
  assert_int_equal(a->dtype, CEL_DT_F32);
  const cel_tensor *second = cel_tensor_list_find(r.list.items, r.list.n, "b");
  assert_ptr_equal((const char *)second->data, (const char *)a->data + 16);
  assert_int_equal(cel_tensor_list_find(r.list.items, r.list.n, "one")->rank, 0);
  assert_null(cel_tensor_list_find(r.list.items, r.list.n, "c"));
  result_free(&r);
  cel_buf_deinit(&b);
}

static void wrapper_names_are_normalised_and_towers_dropped(void **state) {
  (void)state;
  result r;
  cel_buf b = safetensors_of(
      "{\"language_model.model.norm.weight\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
      "\"model.language_model.layers.0.x.weight\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]},"
      "\"language_model.lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},"
      "\"vision_tower.a.weight\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1],\"data_offsets\":[12,16]},"
      "\"model.visual.a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[16,20]},"
      "\"model.layers.0.self_attn.rotary_emb.inv_freq\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[20,24]}}", 24);
  read_bytes(&r, &b);
  assert_int_equal(r.status, CEL_OK);
  assert_int_equal(r.list.n, 3);
  assert_string_equal(r.list.items[0].name, "lm_head.weight");
  assert_string_equal(r.list.items[1].name, "model.layers.0.x.weight");
  assert_string_equal(r.list.items[2].name, "model.norm.weight");
  result_free(&r);
  cel_buf_deinit(&b);
}

static void two_tensors_of_one_canonical_name_are_refused(void **state) {
  (void)state;
  refuses("{\"language_model.model.a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
          "\"model.a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2, "\"model.a\"", "twice");
  refuses("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
          "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2, "header", "duplicate");
}

static void a_header_length_that_does_not_fit_is_refused(void **state) {
  (void)state;
  static const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 4, 1000000, 1, 0, 100000001};
  const char *good = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}";
  for (int i = 0; i < 6; i++) {
    cel_buf b = safetensors_of(good, 16);
    patch_u64(&b, 0, lengths[i]);
    refuses_bytes(&b, "header", "");
  }
  for (size_t n = 0; n < 9; n++) {  // the file ends in or right behind its first word
    cel_buf b = safetensors_of(good, 0);
    b.n = n;
    refuses_bytes(&b, "header", "");
  }
}

#define ONE(dtype, shape, offsets) "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void claims_that_do_not_match_the_file_are_refused_by_name(void **state) {
  (void)state;
  const char *t = "tensor \"a\"";
  refuses(ONE("\"F32\"", "[2,2]", "[16,0]"), 16, t, "[16, 0]");
  refuses(ONE("\"F32\"", "[2,2]", "[-16,0]"), 16, t, "[-16, 0]");
  refuses(ONE("\"F32\"", "[2,2]", "[0,16.0]"), 16, t, "integers");
  refuses(ONE("\"F32\"", "[2,2]", "[0]"), 16, t, "data_offsets");
  refuses(ONE("\"F32\"", "[2,2]", "\"0,16\""), 16, t, "data_offsets");
  refuses(ONE("\"F32\"", "[1000,1000]", "[0,16]"), 16, t, "4000000 bytes");
  refuses(ONE("\"F32\"", "[4611686018427387905,4]", "[0,16]"), 16, t, "too large");
  refuses(ONE("\"F32\"", "[4294967296,4294967296,4]", "[0,0]"), 0, t, "too large");
  refuses(ONE("\"F32\"", "[-1]", "[0,4]"), 4, t, "shape");
  refuses(ONE("\"F32\"", "[2.0,2]", "[0,16]"), 16, t, "shape");
  refuses(ONE("\"F32\"", "4", "[0,16]"), 16, t, "shape");
  refuses(ONE("\"F32\"", "[1,1,1,1,1,1]", "[0,4]"), 4, t, "6 dimensions");
  refuses(ONE("\"F32\"", "[2,2]", "[0,16]"), 10, t, "10 data bytes");
  refuses(ONE("\"Q4\"", "[2,2]", "[0,16]"), 16, t, "\"Q4\"");
  refuses(ONE("7", "[2,2]", "[0,16]"), 16, t, "dtype");
  refuses("{\"a\":[]}", 0, t, "not an object");
}

static void overlap_gap_and_rest_are_refused(void **state) {
  (void)state;
  refuses("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}", 6, "tensor \"b\"", "overlap");
  refuses("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[5,9]}}", 9, "tensor \"b\"", "gap");
  refuses("{\"vision_tower.a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4, "overlap", "");
  refuses(ONE("\"F32\"", "[2,2]", "[0,16]"), 17, "tensors end at data byte 16", "17");
  refuses("{}", 1, "end", "");
}

static void headers_that_are_not_what_they_should_be_are_refused(void **state) {
  (void)state;
  refuses("{\"a\":", 0, "line 1", "");
  refuses("[1]", 0, "header", "{");
  refuses("{\"__metadata__\":{\"a\":1}}", 0, "__metadata__", "\"a\"");
  refuses("{\"__metadata__\":1}", 0, "__metadata__", "");
  refuses("{\"a\\nb\":1}", 0, "a?b", "object");
  refuses("{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4, "a?b", "NUL");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(tensors_come_out_named_and_sorted),
    cmocka_unit_test(wrapper_names_are_normalised_and_towers_dropped),
    cmocka_unit_test(two_tensors_of_one_canonical_name_are_refused),
    cmocka_unit_test(a_header_length_that_does_not_fit_is_refused),
    cmocka_unit_test(claims_that_do_not_match_the_file_are_refused_by_name),
    cmocka_unit_test(overlap_gap_and_rest_are_refused),
    cmocka_unit_test(headers_that_are_not_what_they_should_be_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
