// The GGUF container: what is read, and what is refused by the name of its field.
#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "model/gguf.h"

typedef struct result {
  cel_arena arena;
  cel_gguf g;
  cel_err err;
  cel_status status;
  uint8_t *copy;
} result;

// Reads a copy of exactly these bytes, so that a read outside them is found.
static void read_bytes(result *r, const cel_buf *b) {
  *r = (result){.copy = malloc(b->n + 1)};
  cel_arena_init(&r->arena);
  if (b->n) memcpy(r->copy + 1, b->p, b->n);
  r->status = cel_gguf_read(r->copy + 1, (int64_t)b->n, "x.gguf", &r->arena, &r->g, &r->err);
}

static void result_free(result *r) {
  cel_arena_deinit(&r->arena);
  free(r->copy);
}

// Checks the message, and that no memory in proportion to a claimed count was taken.
static void refuses(cel_buf *b, const char *a, const char *c) {
  result r;
  read_bytes(&r, b);
  assert_int_not_equal(r.status, CEL_OK);
  assert_says(r.err.text, "x.gguf: ", a, c, NULL);
  assert_true(r.arena.total_bytes < 16 * b->n + 8192);
  result_free(&r);
  cel_buf_deinit(b);
}

static void accepts(cel_buf *b) {
  result r;
  read_bytes(&r, b);
  if (r.status != CEL_OK) fail_msg("refused: %s", r.err.text);
  result_free(&r);
  cel_buf_deinit(b);
}

// 128 bytes: general.alignment at 32 (its value at 53), tensor "t" F32 [4] (n_dims at 66, dimension at 70,
// type at 78, offset at 82), data from 96.
static cel_buf base(void) {
  gguf_maker m = {0};
  kv_u32(&m, "general.alignment", 32);
  tensor_f32(&m, "t", 4, 0);
  cel_buf b = gguf_done(&m);
  assert_int_equal(b.n, 128);
  return b;
}

static void the_smallest_file_lists_its_tensor(void **state) {
  (void)state;
  result r;
  cel_buf b = base();
  read_bytes(&r, &b);
  assert_int_equal(r.status, CEL_OK);
  assert_int_equal(r.g.version, 3);
  assert_int_equal(r.g.n_tensors, 1);
  assert_true(cel_str_is(r.g.tensors[0].name, "t"));
  assert_int_equal(r.g.tensors[0].dtype, CEL_DT_F32);
  assert_int_equal(r.g.tensors[0].dims[0], 4);
  assert_int_equal(r.g.tensors[0].offset, 96);
  assert_int_equal(r.g.tensors[0].bytes, 16);
  result_free(&r);
  patch_u32(&b, 4, 2);  // version 2 has the same layout
  accepts(&b);
}

static void alignments_that_are_none_are_refused(void **state) {
  (void)state;
  static const uint32_t bad[] = {0, 3, 0x80000000u, 0xFFFFFFFFu};
  for (int i = 0; i < 4; i++) {
    cel_buf b = base();
    patch_u32(&b, 53, bad[i]);
    refuses(&b, "general.alignment", "power of two");
  }
  cel_buf b = base();
  patch_u32(&b, 49, 6);  // of type f32
  refuses(&b, "general.alignment", "integer");
}

static void files_cut_anywhere_are_refused_and_longer_ones_accepted(void **state) {
  (void)state;
  for (size_t n = 0; n < 112; n++) {  // the tensor ends at 112
    cel_buf b = base();
    b.n = n;
    refuses(&b, "", "");
  }
  cel_buf whole = base(), padded = base();
  whole.n = 112;
  accepts(&whole);
  cel_buf_addz(&padded, "sixteen bytes!!!");
  accepts(&padded);
}

static void other_formats_and_versions_are_named(void **state) {
  (void)state;
  cel_buf b = base();
  patch_u32(&b, 4, 0x03000000);
  refuses(&b, "big-endian", "");
  b = base();
  patch_u32(&b, 4, 99);
  refuses(&b, "version 99", "2 and 3");
  b = base();
  patch_u32(&b, 4, 1);
  refuses(&b, "version 1", "2 and 3");
  b = base();
  b.p[0] = 'P';
  refuses(&b, "not a GGUF file", "PGUF");
}

static void counts_that_the_file_cannot_hold_are_refused_at_once(void **state) {
  (void)state;
  static const uint64_t counts[] = {1ull << 63, 1ull << 56, UINT64_MAX, 5};
  for (int i = 0; i < 4; i++) {
    cel_buf b = base();
    patch_u64(&b, 8, counts[i]);
    refuses(&b, "tensor_count", "");
    b = base();
    patch_u64(&b, 16, counts[i] + (counts[i] == 5) * 100);
    refuses(&b, "metadata_kv_count", "");
  }
  cel_buf b = base();
  patch_u64(&b, 8, 2);  // one more than there are: the second is read from the padding
  refuses(&b, "tensor 2 of 2", "");
}

static void names_that_no_other_format_could_have_are_refused(void **state) {
  (void)state;
  cel_buf b = base();
  b.p[65] = (char)0xBD;
  refuses(&b, "name length", "UTF-8");
  b = base();
  b.p[65] = 0;
  refuses(&b, "name length", "NUL");
}

static void strings_and_arrays_longer_than_the_file_are_refused(void **state) {
  (void)state;
  static const uint64_t lengths[] = {UINT64_MAX, 1ull << 61, 1ull << 32, 1000};
  for (int i = 0; i < 4; i++) {
    cel_buf b = base();
    patch_u64(&b, 24, lengths[i]);  // the key
    refuses(&b, "metadata entry 1 of 1: key", "");
    b = base();
    patch_u64(&b, 57, lengths[i]);  // the tensor's name
    refuses(&b, "tensor 1 of 1: name", "");
    for (uint32_t type = 0; type <= 12; type++) {
      gguf_maker m = {0};
      kv_array(&m, "list", type, lengths[i]);
      b = gguf_done(&m);
      refuses(&b, "metadata \"list\"", "item count");
    }
    gguf_maker m = {0};
    kv_array(&m, "texts", 8, 1);
    put_u64(&m.values, lengths[i]);
    b = gguf_done(&m);
    refuses(&b, "metadata \"texts\"", "string");
  }
}

static void nested_arrays_are_read_to_a_depth(void **state) {
  (void)state;
  gguf_maker m = {0};
  kv_array(&m, "nested", 9, 2);
  for (int i = 0; i < 2; i++) {
    put_u32(&m.values, 8);
    put_u64(&m.values, 1);
    put_text(&m.values, "x");
  }
  kv_u32(&m, "after", 7);
  cel_buf b = gguf_done(&m);
  result r;
  int64_t after = 0;
  read_bytes(&r, &b);
  assert_int_equal(r.status, CEL_OK);
  assert_int_equal(cel_gguf_int(&r.g, "after", &after, NULL, NULL), CEL_OK);
  assert_int_equal(after, 7);
  result_free(&r);
  cel_buf_deinit(&b);
  gguf_maker deep = {0};
  kv_array(&deep, "deep", 9, 1);
  for (int i = 0; i < 1000; i++) {
    put_u32(&deep.values, 9);
    put_u64(&deep.values, 1);
  }
  b = gguf_done(&deep);
  refuses(&b, "metadata \"deep\"", "nested");
}

static void bad_values_are_refused(void **state) {
  (void)state;
  gguf_maker m = {0};
  kv(&m, "k", 13);
  put_zeros(&m.values, 16);
  cel_buf b = gguf_done(&m);
  refuses(&b, "metadata \"k\"", "13");
  m = (gguf_maker){0};
  kv_bool(&m, "flag", 2);
  b = gguf_done(&m);
  refuses(&b, "metadata \"flag\"", "boolean");
  m = (gguf_maker){0};
  kv_u32(&m, "k", 1);
  kv_u32(&m, "k", 1);
  b = gguf_done(&m);
  refuses(&b, "\"k\"", "twice");
  m = (gguf_maker){0};
  kv_u32(&m, "", 1);
  b = gguf_done(&m);
  refuses(&b, "key length", "");
}

static void every_type_is_read_back(void **state) {
  (void)state;
  gguf_maker m = {0};
  double half = 0.5;
  uint64_t half_bits;
  memcpy(&half_bits, &half, 8);
  kv(&m, "u8", 0), put_bytes(&m.values, 200, 1);
  kv(&m, "i8", 1), put_bytes(&m.values, 0xFF, 1);
  kv(&m, "u16", 2), put_bytes(&m.values, 65535, 2);
  kv(&m, "i16", 3), put_bytes(&m.values, 0xFFFE, 2);
  kv(&m, "i32", 5), put_u32(&m.values, 0xFFFFFFFDu);
  kv(&m, "u64", 10), put_u64(&m.values, UINT64_MAX);
  kv(&m, "i64", 11), put_u64(&m.values, (uint64_t)-4);
  kv(&m, "f64", 12), put_u64(&m.values, half_bits);
  kv_f32(&m, "f32", 1e-5f);
  kv_u32(&m, "u32", 0xFFFFFFFFu);
  kv_bool(&m, "bool", 1);
  kv_text(&m, "text", "hello");
  cel_buf b = gguf_done(&m);
  result r;
  read_bytes(&r, &b);
  assert_int_equal(r.status, CEL_OK);
  static const struct { const char *key; int64_t want; } ints[] = {
    {"u8", 200}, {"i8", -1}, {"u16", 65535}, {"i16", -2}, {"i32", -3}, {"u64", INT64_MAX}, {"i64", -4},
    {"u32", 4294967295}};
  for (int i = 0; i < 8; i++) {
    int64_t v = 0;
    bool found;
    assert_int_equal(cel_gguf_int(&r.g, ints[i].key, &v, &found, NULL), CEL_OK);
    assert_true(found);
    assert_int_equal(v, ints[i].want);
  }
  double x = 0, y = 0;
  bool flag = false, found = true;
  cel_str text;
  assert_int_equal(cel_gguf_num(&r.g, "f32", &x, NULL, NULL), CEL_OK);
  assert_true(x == 1e-5);  // the double, not the f32's own value
  assert_int_equal(cel_gguf_num(&r.g, "f64", &y, NULL, NULL), CEL_OK);
  assert_true(y == 0.5);
  assert_int_equal(cel_gguf_bool(&r.g, "bool", &flag, NULL, NULL), CEL_OK);
  assert_true(flag);
  assert_int_equal(cel_gguf_string(&r.g, "text", &text, NULL, NULL), CEL_OK);
  assert_true(cel_str_is(text, "hello"));
  assert_int_equal(cel_gguf_string(&r.g, "absent", &text, &found, NULL), CEL_OK);
  assert_false(found);
  assert_int_equal(cel_gguf_int(&r.g, "text", &(int64_t){0}, NULL, &r.err), CEL_MALFORMED);
  assert_says(r.err.text, "\"text\"", "string", "integer", NULL);
  assert_int_equal(cel_gguf_num(&r.g, "bool", &x, NULL, &r.err), CEL_MALFORMED);
  assert_int_equal(cel_gguf_bool(&r.g, "u8", &flag, NULL, &r.err), CEL_MALFORMED);
  assert_int_equal(cel_gguf_string(&r.g, "u8", &text, NULL, &r.err), CEL_MALFORMED);
  result_free(&r);
  cel_buf_deinit(&b);
}

static void tensor_shapes_that_cannot_be_are_refused(void **state) {
  (void)state;
  cel_buf b = base();
  patch_u32(&b, 66, 0xFFFFFFFFu);
  refuses(&b, "tensor \"t\"", "n_dims 4294967295");
  b = base();
  patch_u32(&b, 66, 0);
  refuses(&b, "tensor \"t\"", "n_dims 0");
  static const uint64_t dims[] = {0, 1ull << 63, UINT64_MAX, (1ull << 42) + 1, 1ull << 62, 5};
  for (int i = 0; i < 6; i++) {
    b = base();
    patch_u64(&b, 70, dims[i] == 5 ? 9 : dims[i]);  // 9 floats are more than the 32 bytes of data
    refuses(&b, "tensor \"t\"", "");
  }
  gguf_maker m = {0};
  tensor_of(&m, "wrap", 0, INT64_MAX, 2, 32);
  b = gguf_done(&m);
  refuses(&b, "tensor \"wrap\"", "dimension");
  m = (gguf_maker){0};
  tensor_of(&m, "part", 2, 48, 2, 64);  // Q4_0 rows of one and a half blocks
  b = gguf_done(&m);
  refuses(&b, "tensor \"part\"", "48");
}

static void offsets_outside_or_unaligned_are_refused(void **state) {
  (void)state;
  static const uint64_t offsets[] = {1ull << 63, INT64_MAX - 31, UINT64_MAX, 7, 16, 32};
  for (int i = 0; i < 6; i++) {
    cel_buf b = base();
    patch_u64(&b, 82, offsets[i]);
    refuses(&b, "tensor \"t\"", "offset");
  }
}

static void overlapping_tensors_are_refused(void **state) {
  (void)state;
  gguf_maker m = {0};
  tensor_f32(&m, "a", 16, 0);
  tensor_f32(&m, "b", 8, 0);
  m.infos.p[m.infos.n - 8] = 32;  // b's offset: inside a
  cel_buf b = gguf_done(&m);
  refuses(&b, "tensor \"a\"", "overlaps tensor \"b\"");
}

static void unknown_tensor_types_are_refused_by_name_and_number(void **state) {
  (void)state;
  static const struct { uint32_t type; const char *name; } types[] = {
    {16, "16 (IQ2_XXS)"}, {4, "4 (Q4_2)"}, {21, "21 (IQ3_S)"}, {77, "77 (unknown)"}, {0xFFFFFFFFu, "(unknown)"}};
  for (int i = 0; i < 5; i++) {
    cel_buf b = base();
    patch_u32(&b, 78, types[i].type);
    refuses(&b, "tensor \"t\"", types[i].name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_smallest_file_lists_its_tensor),
    cmocka_unit_test(alignments_that_are_none_are_refused),
    cmocka_unit_test(files_cut_anywhere_are_refused_and_longer_ones_accepted),
    cmocka_unit_test(other_formats_and_versions_are_named),
    cmocka_unit_test(counts_that_the_file_cannot_hold_are_refused_at_once),
    cmocka_unit_test(names_that_no_other_format_could_have_are_refused),
    cmocka_unit_test(strings_and_arrays_longer_than_the_file_are_refused),
    cmocka_unit_test(nested_arrays_are_read_to_a_depth),
    cmocka_unit_test(bad_values_are_refused),
    cmocka_unit_test(every_type_is_read_back),
    cmocka_unit_test(tensor_shapes_that_cannot_be_are_refused),
    cmocka_unit_test(offsets_outside_or_unaligned_are_refused),
    cmocka_unit_test(overlapping_tensors_are_refused),
    cmocka_unit_test(unknown_tensor_types_are_refused_by_name_and_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
