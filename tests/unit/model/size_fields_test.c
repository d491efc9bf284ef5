// Every length, count, dimension and offset that a model file holds, set one after the other to sizes around 2^31, 2^32,
// 2^63 and 2^64: each is refused by a message of one line, and no memory is taken for what it claims. Whole numbers of the
// metadata and of config.json, set to the same, are refused or give a description whose own sizes hold.
#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "arch/arch.h"
#include "model/gguf_convert.h"
#include "model/safetensors.h"

static const uint64_t sizes[] = {INT32_MAX - 1u, INT32_MAX, 1ull << 31, (1ull << 31) + 1, UINT32_MAX - 1u, UINT32_MAX, 1ull << 32,
                                 (1ull << 32) + 1, (1ull << 32) + 4, 1ull << 56, 1ull << 61, (1ull << 62) + 1, INT64_MAX - 31, INT64_MAX - 7,
                                 INT64_MAX, 1ull << 63, (1ull << 63) + 1, UINT64_MAX - 31, UINT64_MAX - 7, UINT64_MAX};

// ---- the fields of a GGUF file ---------------------------------------------------------------------------

typedef struct field {
  size_t at;
  int bytes;      // 4 or 8
  bool metadata;  // a value, not a length
  char what[80];
} field;

enum { FIELDS_MOST = 4000, ITEMS_SHOWN = 3 };

typedef struct walk {
  const cel_buf *b;
  size_t at;
  field *fields;
  int n;
} walk;

static uint64_t peek(const walk *w, int bytes) {
  uint64_t v = 0;
  assert_true(w->at + (size_t)bytes <= w->b->n);
  for (int i = 0; i < bytes; i++) v |= (uint64_t)(unsigned char)w->b->p[w->at + (size_t)i] << 8 * i;
  return v;
}

static uint64_t take(walk *w, int bytes, bool metadata, const char *what, const char *of) {
  uint64_t v = peek(w, bytes);
  assert_true(w->n < FIELDS_MOST);
  field *f = &w->fields[w->n++];
  *f = (field){.at = w->at, .bytes = bytes, .metadata = metadata};
  snprintf(f->what, sizeof f->what, "%s of %.40s", what, of);
  w->at += (size_t)bytes;
  return v;
}

static void take_text(walk *w, const char *what, char out[64]) {
  uint64_t n = take(w, 8, false, "length", what);
  snprintf(out, 64, "%.*s", (int)CEL_MIN(n, 60u), w->b->p + w->at);
  w->at += n;
}

static void take_value(walk *w, uint64_t type, const char *key);

static void take_array(walk *w, const char *key) {
  uint64_t type = take(w, 4, false, "item type", key), n = take(w, 8, false, "count", key);
  for (uint64_t i = 0; i < n; i++) {
    int before = w->n;
    take_value(w, type, key);
    if (i >= ITEMS_SHOWN && i + ITEMS_SHOWN < n) w->n = before;  // the middle of a long list is like its ends
  }
}

static void take_value(walk *w, uint64_t type, const char *key) {
  static const int widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  char text[64];
  assert_true(type < 13);
  if (type == 8) take_text(w, key, text);
  else if (type == 9) take_array(w, key);
  else if ((type == 4 || type == 5 || type == 10 || type == 11) && strcmp(key, "general.alignment")) take(w, widths[type], true, "value", key);
  else w->at += (size_t)widths[type];
}

static void find_fields(walk *w) {
  char name[64];
  w->at = 8;
  uint64_t n_tensors = take(w, 8, false, "number", "tensors"), n_values = take(w, 8, false, "number", "values");
  for (uint64_t i = 0; i < n_values; i++) {
    take_text(w, "a key", name);
    take_value(w, take(w, 4, false, "type", name), name);
  }
  for (uint64_t i = 0; i < n_tensors; i++) {
    take_text(w, "a tensor's name", name);
    uint64_t rank = take(w, 4, false, "rank", name);
    for (uint64_t d = 0; d < rank; d++) take(w, 8, false, "dimension", name);
    take(w, 4, false, "type", name);
    take(w, 8, false, "offset", name);
  }
}

// ---- what may come of one --------------------------------------------------------------------------------

static void sizes_hold(const cel_arch *a, const char *what) {
  bool ok = a->n_layers > 0 && a->vocab > 0 && a->hidden > 0 && a->max_position > 0 && a->n_q > 0 && a->n_kv > 0 && a->n_q % a->n_kv == 0 &&
            a->head_dim > 0 && a->window >= 0 && a->inter >= 0;
  int64_t most = INT64_C(1) << 40;
  ok = ok && a->vocab < most && a->hidden < most && a->max_position < most && a->inter < most;
  if (!ok) fail_msg("%s: accepted with sizes that cannot be", what);
}

typedef struct opened {
  cel_arena arena;
  cel_gguf g;
  cel_tensor_list list;
  const cel_gguf_vocab *vocab;
  cel_json *config;
  cel_arch arch;
} opened;

static cel_status open_gguf(opened *o, const uint8_t *p, int64_t n, cel_err *err) {
  CEL_TRY(cel_gguf_read(p, n, "x.gguf", &o->arena, &o->g, err));
  CEL_TRY(cel_gguf_tensors(&o->g, &o->list, err));
  CEL_TRY(cel_tensor_list_sort(&o->list, err));
  CEL_TRY(cel_gguf_read_vocab(&o->g, &o->arena, &o->vocab, err));
  CEL_TRY(cel_gguf_config(&o->g, &o->list, o->vocab, &o->config, err));
  return cel_arch_from_config(o->config, NULL, &o->arena, &o->arch, err);
}

static void try_gguf(const uint8_t *p, size_t n, const field *f, uint64_t v) {
  opened o = {.list.arena = &o.arena};
  cel_err err = {0};
  cel_arena_init(&o.arena);
  cel_status s = open_gguf(&o, p, (int64_t)n, &err);
  if (f && s == CEL_OK && !f->metadata) fail_msg("%s: %llu is accepted", f->what, (unsigned long long)v);
  if (!f && s != CEL_OK) fail_msg("the good file: %s", err.text);
  if (s == CEL_OK) sizes_hold(&o.arch, f ? f->what : "good");
  if (s != CEL_OK && (!err.text[0] || strchr(err.text, '\n') || s == CEL_OOM)) fail_msg("%s: %llu: \"%s\"", f->what, (unsigned long long)v, err.text);
  if (o.arena.total_bytes > 16 * n + (1 << 20)) fail_msg("%s: %llu took %zu bytes", f->what, (unsigned long long)v, o.arena.total_bytes);
  cel_json_decref(o.config);
  cel_tensor_list_deinit(&o.list);
  cel_arena_deinit(&o.arena);
}

static void every_size_in_a_gguf_file_is_checked(void **state) {
  (void)state;
  char *text;
  int64_t n;
  cel_err err = {0};
  if (cel_read_file(CEL_TEST_DATA "/data/oracle/llama-gguf/model.gguf", 1 << 20, &text, &n, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_buf b = {.p = text, .n = (size_t)n, .cap = (size_t)n + 1};
  walk w = {.b = &b, .fields = calloc(FIELDS_MOST, sizeof *w.fields)};
  assert_non_null(w.fields);
  find_fields(&w);
  assert_true(w.n > 150);
  try_gguf((const uint8_t *)b.p, b.n, NULL, 0);
  for (int i = 0; i < w.n; i++) {
    const field *f = &w.fields[i];
    w.at = f->at;
    uint64_t was = peek(&w, f->bytes);
    for (int k = 0; k < CEL_COUNT(sizes); k++) {
      if (f->bytes == 4 && sizes[k] > UINT32_MAX) break;
      if (f->bytes == 8) patch_u64(&b, f->at, sizes[k]);
      else patch_u32(&b, f->at, (uint32_t)sizes[k]);
      try_gguf((const uint8_t *)b.p, b.n, f, sizes[k]);
    }
    if (f->bytes == 8) patch_u64(&b, f->at, was);
    else patch_u32(&b, f->at, (uint32_t)was);
  }
  try_gguf((const uint8_t *)b.p, b.n, NULL, 0);
  free(w.fields);
  free(text);
}

// ---- safetensors -----------------------------------------------------------------------------------------

static void refused(const cel_buf *b, const char *what, uint64_t v) {
  cel_arena arena;
  cel_arena_init(&arena);
  cel_tensor_list list = {.arena = &arena};
  cel_err err = {0};
  cel_status s = cel_safetensors_read((const uint8_t *)b->p, (int64_t)b->n, "x.safetensors", &list, &err);
  if (s != CEL_MALFORMED && s != CEL_UNSUPPORTED) fail_msg("%s = %llu: status %d", what, (unsigned long long)v, (int)s);
  assert_true(err.text[0] && !strchr(err.text, '\n') && arena.total_bytes < 1 << 16);
  cel_tensor_list_deinit(&list);
  cel_arena_deinit(&arena);
}

static void every_size_in_a_safetensors_file_is_checked(void **state) {
  (void)state;
  static const struct { const char *what, *header; } places[] = {
      {"a dimension", "{\"a\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[0,16]}}"},
      {"the second dimension", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,%s],\"data_offsets\":[0,16]}}"},
      {"dimensions whose product wraps", "{\"a\":{\"dtype\":\"F32\",\"shape\":[%s,4],\"data_offsets\":[0,16]}}"},
      {"dimensions of an empty tensor", "{\"a\":{\"dtype\":\"F32\",\"shape\":[%s,4294967296,4],\"data_offsets\":[0,0]},\"b\":{\"dtype\":\"U8\",\"shape\":[16],\"data_offsets\":[0,16]}}"},
      {"the range's begin", "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[%s,16]}}"},
      {"the range's end", "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,%s]}}"},
      {"both ends", "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[%s,%s]}}"},
      {"an empty range", "{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[%s,%s]},\"b\":{\"dtype\":\"U8\",\"shape\":[16],\"data_offsets\":[0,16]}}"},
  };
  for (int k = 0; k < CEL_COUNT(sizes); k++) {
    for (int i = 0; i < CEL_COUNT(places); i++) {
      cel_buf header = {0};
      char number[24];
      snprintf(number, sizeof number, "%llu", (unsigned long long)sizes[k]);
      for (const char *p = places[i].header; *p; p++) {
        if (p[0] == '%' && p[1] == 's') cel_buf_addz(&header, number), p++;
        else cel_buf_addc(&header, *p);
      }
      cel_buf b = safetensors_of(header.p, 16);
      refused(&b, places[i].what, sizes[k]);
      cel_buf_deinit(&header);
      cel_buf_deinit(&b);
    }
    cel_buf b = safetensors_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", 16);
    patch_u64(&b, 0, sizes[k]);
    refused(&b, "the header's length", sizes[k]);
    cel_buf_deinit(&b);
  }
}

// ---- config.json -----------------------------------------------------------------------------------------

static void describe(const cel_json *config, const char *what) {
  cel_arena arena;
  cel_arch a;
  cel_err err = {0};
  cel_arena_init(&arena);
  cel_status s = cel_arch_from_config(config, NULL, &arena, &a, &err);
  if (s == CEL_OK) sizes_hold(&a, what);
  else if (!err.text[0] || strchr(err.text, '\n') || s == CEL_OOM) fail_msg("%s: \"%s\"", what, err.text);
  if (arena.total_bytes > 1 << 24) fail_msg("%s took %zu bytes", what, arena.total_bytes);
  cel_arena_deinit(&arena);
}

// Each whole number of an object, and of those in it, set to each size and to its negative.
static void vary(const cel_json *root, cel_json *object, const char *model) {
  size_t i;
  cel_str key;
  cel_json *member;
  cel_json_object_foreach(object, i, key, member) {
    char what[160];
    if (cel_json_is_object(member)) vary(root, member, model);
    if (!cel_json_is_integer(member)) continue;
    snprintf(what, sizeof what, "%s: %.*s", model, CEL_STR_ARG(key));
    cel_json_incref(member);
    for (int k = 0; k < 2 * CEL_COUNT(sizes); k++) {
      uint64_t v = sizes[k / 2];
      cel_json *number = v > INT64_MAX ? cel_json_real((k & 1 ? -1 : 1) * (double)v) : cel_json_integer(k & 1 ? -(int64_t)v : (int64_t)v);
      assert_int_equal(cel_json_object_setn_new(object, key.p, key.n, number), 0);
      describe(root, what);
    }
    assert_int_equal(cel_json_object_setn_new(object, key.p, key.n, member), 0);
  }
}

static void every_whole_number_of_a_config_is_checked(void **state) {
  (void)state;
  static const char *const models[] = {"llama3", "llama-yarn", "gemma3", "mistral", "qwen2", "qwen3", "llama3-mixed"};
  for (int i = 0; i < CEL_COUNT(models); i++) {
    char path[512];
    cel_json *config = NULL;
    cel_err err = {0};
    snprintf(path, sizeof path, "%s/data/oracle/%s/config.json", CEL_TEST_DATA, models[i]);
    if (cel_json_load(path, 1 << 20, &config, &err) != CEL_OK) fail_msg("%s", err.text);
    describe(config, models[i]);
    vary(config, config, models[i]);
    cel_json_decref(config);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_size_in_a_gguf_file_is_checked),
      cmocka_unit_test(every_size_in_a_safetensors_file_is_checked),
      cmocka_unit_test(every_whole_number_of_a_config_is_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
