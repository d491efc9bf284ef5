// Each allocation of a conversion (open, carry the tokenizer, plan, write, read back, rename) is made to fail in turn: it comes
// back as want of memory, and nothing is left where the new model would be.
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault/starve.h"
#include "model/store.h"
#include "model/write/conversion.h"
#include "text/carry.h"

static char place[64];

static void make_place(void) {
  struct stat st;
  snprintf(place, sizeof place, "%s/convert_memory_XXXXXX", stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
  assert_non_null(mkdtemp(place));
}

static int entries(void) {
  int n = 0;
  DIR *d = opendir(place);
  assert_non_null(d);
  for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
  closedir(d);
  return n;
}

typedef struct work {
  const char *from;
  cel_conversion_options o;
} work;
static const work *now;
static cel_pool *pool;

static cel_status convert(const cel_checkpoint *c, const char *to, cel_err *err) {
  cel_conversion *v = NULL;
  CEL_TRY(cel_conversion_new(c, &now->o, &v, err));
  cel_status s = cel_conversion_write(v, to, false, pool, NULL, err);
  if (s == CEL_OK) s = cel_conversion_commit(v, err);
  cel_conversion_free(v);
  return s;
}

static cel_status conversion_life(cel_err *err) {
  char to[100];
  cel_checkpoint *c;
  snprintf(to, sizeof to, "%s/%s", place, now->o.to == CEL_FORMAT_GGUF ? "x.gguf" : "x");
  CEL_TRY(cel_checkpoint_open(now->from, &c, err));
  cel_status s = convert(c, to, err);
  cel_checkpoint_close(c);
  long held = fail_at;
  fail_at = 0;
  assert_int_equal(entries(), s == CEL_OK);
  assert_int_equal(cel_store_delete_tree(to, NULL), CEL_OK);
  fail_at = held;
  return s;
}

static void every_allocation_may_fail_in_a_conversion(void **state) {
  (void)state;
#define ORACLE(name) CEL_TEST_DATA "/data/oracle/" name
  static const work works[] = {
    {ORACLE("llama3"), {.to = CEL_FORMAT_GGUF, .scheme = {.kind = CEL_SCHEME_BLOCKS, .dtype = CEL_DT_Q8_0}, .name = "x"}},
    {ORACLE("starcoder2-gguf/model.gguf"), {.to = CEL_FORMAT_SAFETENSORS, .shard_bytes = 9000}},
    {ORACLE("dsv2-gguf/model.gguf"), {.to = CEL_FORMAT_SAFETENSORS}},
    {ORACLE("mixtral-gguf/model.gguf"), {.to = CEL_FORMAT_SAFETENSORS, .scheme = {.kind = CEL_SCHEME_AFFINE, .bits = 4, .group = 32}}},
    {ORACLE("gemma1-gguf/model.gguf"), {.to = CEL_FORMAT_GGUF, .name = "x"}},
  };
#undef ORACLE
  make_place();
  assert_int_equal(cel_pool_new(1, &pool, NULL), CEL_OK);
  for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
    now = &works[i];
    starve(conversion_life, 400, 100);
  }
  cel_pool_free(pool);
  assert_int_equal(rmdir(place), 0);
}

static const char *tokenizer;

static cel_status carry_life(cel_err *err) {
  cel_json *json;
  cel_gguf_vocab v;
  cel_buf back = {0};
  cel_arena arena;
  char path[300];
  snprintf(path, sizeof path, "%s/data/tokenizer/%s", CEL_TEST_DATA, tokenizer);
  CEL_TRY(cel_json_load(path, 1 << 24, &json, err));
  cel_arena_init(&arena);
  cel_carry_source from = {.json = json, .n_tokens = 5000, .name = tokenizer};
  cel_status s = cel_carry_to_gguf(&from, &arena, &v, NULL, NULL, err);
  if (s == CEL_OK) s = cel_carry_to_json(&v, tokenizer, &back, err);
  cel_buf_deinit(&back);
  cel_arena_deinit(&arena);
  cel_json_decref(json);
  return s;
}

static void every_allocation_may_fail_when_a_tokenizer_goes_along(void **state) {
  (void)state;
  static const char *const files[] = {"gpt2.json", "t5.json", "bert.json"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    tokenizer = files[i];
    starve(carry_life, 300, 10);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail_in_a_conversion),
                                     cmocka_unit_test(every_allocation_may_fail_when_a_tokenizer_goes_along)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
