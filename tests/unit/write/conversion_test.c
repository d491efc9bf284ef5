// The parts of a conversion by themselves: digests, rotations in a tensor, metadata that is copied, the read-back check.
#define _XOPEN_SOURCE 700
#include "unit/model/model_files.h"

#include <fcntl.h>

#include "model/write/conversion.h"

static uint64_t digest_in_pieces(const uint8_t *p, int64_t n, int64_t step) {
  cel_digest d = {0};
  for (int64_t at = 0; at < n; at += step) cel_digest_add(&d, p + at, CEL_MIN(step, n - at));
  return cel_digest_end(&d);
}

static void digests_do_not_depend_on_bands_and_see_every_change(void **state) {
  (void)state;
  uint8_t p[203];
  for (int i = 0; i < 203; i++) p[i] = (uint8_t)(i * 71);
  uint64_t whole = digest_in_pieces(p, 203, 203);
  for (int64_t step = 1; step < 40; step++) assert_true(digest_in_pieces(p, 203, step) == whole);
  for (int i = 0; i < 203; i++) {
    p[i] ^= 4;
    assert_true(digest_in_pieces(p, 203, 203) != whole);
    p[i] ^= 4;
  }
  assert_true(digest_in_pieces(p, 202, 202) != whole);
  memset(p, 0, sizeof p);
  assert_true(digest_in_pieces(p, 16, 16) != digest_in_pieces(p, 17, 17));
}

static cel_rope llama3(double theta, int dims, double factor, double original) {
  return (cel_rope){.type = CEL_ROPE_LLAMA3, .theta = theta, .dims = dims, .factor = factor, .low_freq_factor = 1, .high_freq_factor = 4,
                    .original_max_position = original};
}

static void llama3_rotations_are_found_again_in_their_divisors(void **state) {
  (void)state;
  static const struct { double theta; int dims; double factor, original; } cases[] = {
    {500000, 128, 8, 8192}, {500000, 64, 32, 8192}, {500000, 128, 16, 4096}, {10000, 64, 4, 2048}, {500000, 16, 8, 64}};
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    float d[64];
    cel_rope r = llama3(cases[i].theta, cases[i].dims, cases[i].factor, cases[i].original), found;
    assert_true(cel_rope_divisors(&r, d));
    assert_true(cel_rope_from_divisors(d, cases[i].dims / 2, cases[i].theta, &found));
    assert_true(found.factor == cases[i].factor && found.original_max_position == cases[i].original);
    assert_true(found.low_freq_factor == 1 && found.high_freq_factor == 4);
  }
}

static void other_divisors_are_no_llama3_rotation(void **state) {
  (void)state;
  float ones[4] = {1, 1, 1, 1}, odd[4] = {1, 2, 1, 8}, bad[4] = {1, 1, 0.0f / 1, -3};
  cel_rope r = llama3(1e4, 8, 1, 1), found;
  r.type = CEL_ROPE_YARN;
  assert_false(cel_rope_divisors(&r, odd));
  assert_false(cel_rope_from_divisors(ones, 4, 1e4, &found));
  assert_false(cel_rope_from_divisors(odd, 4, 1e4, &found));
  assert_false(cel_rope_from_divisors(bad, 4, 1e4, &found));
  assert_false(cel_rope_from_divisors(ones, 0, 1e4, &found));
}

static void fill_head(cel_gguf_head *h) {
  const cel_str list[] = {CEL_STR("a"), CEL_STR(""), CEL_STR("\xC3\xA9")};
  cel_gguf_add_string(h, "general.architecture", CEL_STR("llama"));
  cel_gguf_add_u32(h, "u", UINT32_MAX);
  cel_gguf_add_i32(h, "i", -7);
  cel_gguf_add_f32(h, "f", 1e-5);
  cel_gguf_add_bool(h, "b", true);
  cel_gguf_add_strings(h, "s", list, 3);
  cel_gguf_add_f32s(h, "fs", (const float[]){1, -2}, 2);
  cel_gguf_add_i32s(h, "is", (const int32_t[]){3, -4, 5}, 3);
}

static void copied_metadata_is_the_same_bytes(void **state) {
  (void)state;
  folder f = folder_new();
  cel_gguf_head a = {0}, b = {0};
  cel_arena arena;
  cel_write_plan none = {0};
  cel_out *o;
  cel_map map;
  cel_gguf g;
  int file;
  cel_arena_init(&arena);
  fill_head(&a);
  assert_int_equal(cel_out_begin(in_folder(&f, "x.gguf"), false, false, &o, NULL), CEL_OK);
  assert_int_equal(cel_gguf_begin(&none, &a, o, &file, NULL), CEL_OK);
  assert_int_equal(cel_out_commit(o, NULL), CEL_OK);
  cel_out_end(o);
  assert_int_equal(cel_map_open(in_folder(&f, "x.gguf"), &map, NULL), CEL_OK);
  assert_int_equal(cel_gguf_read(map.data, map.bytes, "x", &arena, &g, NULL), CEL_OK);
  assert_int_equal(g.n_values, a.n);
  for (int64_t i = 0; i < g.n_values; i++) cel_gguf_add_value(&b, &g.values[i]);  // sorted by key
  assert_int_equal(b.values.n, a.values.n);
  int64_t v = 0;
  double x = 0;
  assert_int_equal(cel_gguf_int(&g, "i", &v, NULL, NULL), CEL_OK);
  assert_int_equal(v, -7);
  assert_int_equal(cel_gguf_num(&g, "f", &x, NULL, NULL), CEL_OK);
  assert_true(x == 1e-5);
  cel_gguf_head_deinit(&a);
  cel_gguf_head_deinit(&b);
  cel_map_close(&map);
  cel_arena_deinit(&arena);
  folder_remove(&f);
}

// ---- a whole one --------------------------------------------------------------------------------------------

static cel_status convert(const folder *f, const cel_write_watch *watch, cel_err *err);

static folder source_folder(void) {
  folder f = folder_new();
  add_text(&f, "config.json", "{\"model_type\": \"llama\"}");
  cel_buf b = safetensors_of("{\"a.weight\":{\"dtype\":\"F32\",\"shape\":[4,32],\"data_offsets\":[0,512]},"
                             "\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[512,520]}}", 520);
  for (size_t i = b.n - 520; i < b.n; i++) b.p[i] = (char)(i % 7 ? 0 : 63);
  add_bytes(&f, "model.safetensors", &b);
  return f;
}

static void tensors_without_values_cost_nothing(void **state) {
  (void)state;
  folder f = folder_new();
  cel_err err = {0};
  cel_checkpoint *c;
  add_text(&f, "config.json", "{\"model_type\": \"llama\"}");
  cel_buf b = safetensors_of("{\"a.weight\":{\"dtype\":\"F32\",\"shape\":[1,32],\"data_offsets\":[0,128]},"
                             "\"z.weight\":{\"dtype\":\"F32\",\"shape\":[1099511627776,0],\"data_offsets\":[128,128]}}", 128);
  add_bytes(&f, "model.safetensors", &b);
  if (convert(&f, NULL, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_int_equal(cel_checkpoint_open(in_folder(&f, "out"), &c, NULL), CEL_OK);
  const cel_tensor *z = cel_checkpoint_find(c, "z.weight");
  assert_true(z && z->dims[0] == 1099511627776 && z->bytes == 0);
  cel_checkpoint_close(c);
  folder_remove(&f);
}

// Flips a byte of the written file behind the writer's back, once everything has been written.
typedef struct saboteur { char path[500]; } saboteur;

static bool spoil(void *context, int64_t done, int64_t total) {
  saboteur *s = context;
  if (done < total) return true;
  int fd = open(s->path, O_RDWR);
  uint8_t byte;
  assert_true(fd >= 0);
  off_t last = lseek(fd, 0, SEEK_END) - 1;
  assert_int_equal(pread(fd, &byte, 1, last), 1);
  byte ^= 1;
  assert_int_equal(pwrite(fd, &byte, 1, last), 1);
  close(fd);
  return true;
}

static cel_status convert(const folder *f, const cel_write_watch *watch, cel_err *err) {
  cel_checkpoint *c;
  cel_conversion *v = NULL;
  cel_pool *pool;
  cel_conversion_options o = {.to = CEL_FORMAT_SAFETENSORS, .scheme = {.kind = CEL_SCHEME_AFFINE, .bits = 4, .group = 32}};
  CEL_TRY(cel_checkpoint_open(f->path, &c, err));
  cel_status s = cel_conversion_new(c, &o, &v, err);
  if (s == CEL_OK) s = cel_pool_new(2, &pool, err);
  if (s == CEL_OK) {
    s = cel_conversion_write(v, in_folder(f, "out"), false, pool, watch, err);
    if (s == CEL_OK) s = cel_conversion_commit(v, err);
    cel_pool_free(pool);
  }
  cel_conversion_free(v);
  cel_checkpoint_close(c);
  return s;
}

static void integers_and_scalars_stay_as_they_are(void **state) {
  (void)state;
  folder f = source_folder();
  cel_err err = {0};
  cel_checkpoint *c;
  if (convert(&f, NULL, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_int_equal(cel_checkpoint_open(in_folder(&f, "out"), &c, NULL), CEL_OK);
  const cel_tensor *n = cel_checkpoint_find(c, "n");
  assert_true(n && n->dtype == CEL_DT_I64 && n->rank == 0);
  assert_non_null(cel_checkpoint_find(c, "a.scales"));
  cel_checkpoint_close(c);
  folder_remove(&f);
}

static void a_byte_that_is_not_what_was_written_is_found_and_nothing_left(void **state) {
  (void)state;
  folder f = source_folder();
  saboteur s;
  cel_err err = {0};
  snprintf(s.path, sizeof s.path, "%s/.out.partial/model.safetensors", f.path);
  assert_int_equal(convert(&f, &(cel_write_watch){spoil, &s}, &err), CEL_IO);
  assert_says(err.text, "read back", "other bytes", NULL);
  assert_false(cel_is_dir(in_folder(&f, "out")));
  assert_false(cel_is_dir(in_folder(&f, ".out.partial")));
  folder_remove(&f);
}

static bool stop(void *context, int64_t done, int64_t total) {
  (void)context, (void)done, (void)total;
  return false;
}

static void a_stopped_conversion_leaves_nothing(void **state) {
  (void)state;
  folder f = source_folder();
  cel_err err = {0};
  assert_int_equal(convert(&f, &(cel_write_watch){stop, NULL}, &err), CEL_CANCELLED);
  assert_false(cel_is_dir(in_folder(&f, ".out.partial")));
  folder_remove(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(digests_do_not_depend_on_bands_and_see_every_change),
    cmocka_unit_test(llama3_rotations_are_found_again_in_their_divisors),
    cmocka_unit_test(other_divisors_are_no_llama3_rotation),
    cmocka_unit_test(copied_metadata_is_the_same_bytes),
    cmocka_unit_test(integers_and_scalars_stay_as_they_are),
    cmocka_unit_test(tensors_without_values_cost_nothing),
    cmocka_unit_test(a_byte_that_is_not_what_was_written_is_found_and_nothing_left),
    cmocka_unit_test(a_stopped_conversion_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
