#define _POSIX_C_SOURCE 200809L
#include "model/hub/hub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/hub/hub_http.h"

static cel_err err;

static void unsafe_paths_are_told_from_safe_ones(void **state) {
  (void)state;
  static const char *const safe[] = {"a", "a.b", "a/b/c.json", "..a", "a..", "a/...", ".hidden", "\xc3\xa4/\xc3\xb6", "a b#?%"};
  static const char *const unsafe[] = {"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/../b", "./a", "a/./b", "a\\b", "a\nb", "a\x7f", "\xff"};
  for (int i = 0; i < CEL_COUNT(safe); i++) assert_true(cel_hub_safe_path(safe[i]));
  for (int i = 0; i < CEL_COUNT(unsafe); i++) assert_false(cel_hub_safe_path(unsafe[i]));
  char longest[300];
  memset(longest, 'x', sizeof longest);
  longest[240] = 0;
  assert_true(cel_hub_safe_path(longest));
  longest[240] = 'x';
  longest[241] = 0;
  assert_false(cel_hub_safe_path(longest));
  char *deep = malloc(2 * CEL_HUB_PATH_BYTES_MOST);
  assert_non_null(deep);
  for (int i = 0; i < CEL_HUB_PATH_BYTES_MOST + 1; i++) deep[i] = i % 2 ? '/' : 'a';
  deep[CEL_HUB_PATH_BYTES_MOST + 1] = 0;
  assert_false(cel_hub_safe_path(deep));
  deep[CEL_HUB_PATH_BYTES_MOST - 1] = 0;
  assert_true(cel_hub_safe_path(deep));
  free(deep);
}

static void model_files_are_told_by_name(void **state) {
  (void)state;
  static const char *const model[] = {"model.safetensors", "a/config.json", "x.tiktoken", "chat_template.jinja", "tokenizer.model", "vocab.txt",
                                      "merges.txt", "tokens.txt", "m.GGUF", "model.safetensors.index.json"};
  static const char *const other[] = {"README.md", "readme.json", "LICENSE", "license.json", "pytorch_model.bin", "pytorch_model.bin.index.json", "a.pt",
                                      "a.onnx", "run.py", ".gitattributes", ".hidden/config.json", "a/.x.json", "pic.PNG", "a.yaml", "notes.txt", "vocab.bin"};
  for (int i = 0; i < CEL_COUNT(model); i++) assert_true(cel_hub_is_model_file(model[i]));
  for (int i = 0; i < CEL_COUNT(other); i++) assert_false(cel_hub_is_model_file(other[i]));
}

static void repository_names_are_checked_and_completed(void **state) {
  (void)state;
  cel_buf b = {0};
  unsetenv("MLXCEL_DEFAULT_ORG");
  assert_int_equal(cel_hub_repo_name("a/b-c_d.e", &b, &err), CEL_OK);
  assert_string_equal(b.p, "a/b-c_d.e");
  assert_int_equal(cel_hub_repo_name("b", &b, &err), CEL_OK);
  assert_string_equal(b.p, "mlx-community/b");
  setenv("MLXCEL_DEFAULT_ORG", "../x", 1);
  assert_int_equal(cel_hub_repo_name("b", &b, &err), CEL_INVALID);
  setenv("MLXCEL_DEFAULT_ORG", "me", 1);
  assert_int_equal(cel_hub_repo_name("b", &b, &err), CEL_OK);
  assert_string_equal(b.p, "me/b");
  static const char *const bad[] = {"", "/", "a/", "/b", "a/b/c", "..", "a/..", ".a/b", "a/b..c", "a b/c", "a/b?", "a:b/c", "http://a/b"};
  for (int i = 0; i < CEL_COUNT(bad); i++) assert_int_equal(cel_hub_repo_name(bad[i], &b, &err), CEL_INVALID);
  assert_int_equal(cel_hub_repo_name("a/b.lock", &b, &err), CEL_UNSUPPORTED);
  unsetenv("MLXCEL_DEFAULT_ORG");
  cel_buf_deinit(&b);
}

static void endpoints_are_addresses_without_secrets(void **state) {
  (void)state;
  cel_buf b = {0};
  unsetenv("HF_ENDPOINT");
  assert_int_equal(cel_hub_endpoint(&b, &err), CEL_OK);
  assert_string_equal(b.p, "https://huggingface.co");
  cel_buf_clear(&b);
  setenv("HF_ENDPOINT", "http://localhost:8080/hub//", 1);
  assert_int_equal(cel_hub_endpoint(&b, &err), CEL_OK);
  assert_string_equal(b.p, "http://localhost:8080/hub");
  static const char *const bad[] = {"localhost", "ftp://a", "https://", "http:///", "http://a b", "http://a\n", "http://a?x", "http://a#x"};
  for (int i = 0; i < CEL_COUNT(bad); i++) {
    setenv("HF_ENDPOINT", bad[i], 1);
    assert_int_equal(cel_hub_endpoint(&b, &err), CEL_INVALID);
  }
  setenv("HF_ENDPOINT", "http://me:secret@a", 1);
  assert_int_equal(cel_hub_endpoint(&b, &err), CEL_INVALID);
  assert_null(strstr(err.text, "secret"));
  unsetenv("HF_ENDPOINT");
  cel_buf_deinit(&b);
}

// Of a record with the given siblings: how many files it has, or -1 and err.
static int parse(const char *siblings, cel_hub_record *r) {
  cel_buf text = {0};
  cel_buf_printf(&text, "{\"sha\":\"abc123\",\"siblings\":%s}", siblings);
  cel_status s = cel_hub_parse(cel_buf_str(&text), "o/m", r, &err);
  cel_buf_deinit(&text);
  return s == CEL_OK ? r->n_files : -1;
}

static void records_give_sizes_and_digests(void **state) {
  (void)state;
  cel_hub_record r;
  assert_int_equal(parse("[{\"rfilename\":\"b.json\",\"size\":3},"
                         "{\"rfilename\":\"a.gguf\",\"size\":5,\"lfs\":{\"size\":5,"
                         "\"sha256\":\"E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855\"}}]", &r), 2);
  assert_string_equal(r.commit, "abc123");
  assert_string_equal(r.files[0].path, "a.gguf");
  assert_int_equal(r.files[0].bytes, 5);
  assert_string_equal(r.files[0].sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_string_equal(r.files[1].path, "b.json");
  assert_string_equal(r.files[1].sha256, "");
  cel_hub_record_deinit(&r);
  assert_int_equal(parse("[]", &r), 0);
  cel_hub_record_deinit(&r);
}

static void records_that_lie_are_refused(void **state) {
  (void)state;
  static const char *const bad[] = {
      "null", "{}", "[1]", "[{}]", "[{\"rfilename\":7,\"size\":1}]", "[{\"rfilename\":\"../a\",\"size\":1}]", "[{\"rfilename\":\"a\"}]",
      "[{\"rfilename\":\"a\",\"size\":-1}]", "[{\"rfilename\":\"a\",\"size\":1.5}]", "[{\"rfilename\":\"a\",\"size\":\"1\"}]",
      "[{\"rfilename\":\"a\",\"size\":1},{\"rfilename\":\"a\",\"size\":1}]", "[{\"rfilename\":\"a\",\"size\":1,\"lfs\":{}}]",
      "[{\"rfilename\":\"a\",\"size\":99999999999999999999}]"};
  for (int i = 0; i < CEL_COUNT(bad); i++) {
    cel_hub_record r;
    assert_int_equal(parse(bad[i], &r), -1);
    assert_int_equal(err.status, CEL_MALFORMED);
    assert_null(r.files);
  }
}

// Which of the paths (separated by spaces, 10 bytes each) are chosen, separated by spaces; "!" and err on failure.
static const char *chosen(const char *paths, const char *pattern) {
  static char out[500];
  cel_buf rows = {0};
  for (const char *p = paths; *p;) {
    int n = (int)strcspn(p, " ");
    cel_buf_printf(&rows, "%s{\"rfilename\":\"%.*s\",\"size\":10}", rows.n ? "," : "[", n, p);
    p += n + (p[n] == ' ');
  }
  cel_buf_addc(&rows, ']');
  cel_hub_record r;
  assert_true(parse(rows.p, &r) >= 0);
  out[0] = 0;
  if (cel_hub_select(&r, "o/m", &pattern, pattern ? 1 : 0, &err) != CEL_OK) strcpy(out, "!");
  for (int i = 0; i < r.n_files && out[0] != '!'; i++) {
    if (r.files[i].wanted) snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", out[0] ? " " : "", r.files[i].path);
  }
  cel_hub_record_deinit(&r);
  cel_buf_deinit(&rows);
  return out;
}

static void files_are_chosen_by_kind_or_pattern(void **state) {
  (void)state;
  assert_string_equal(chosen("config.json a.safetensors a.gguf b.gguf README.md", NULL), "a.safetensors config.json");
  assert_string_equal(chosen("config.json a.gguf README.md", NULL), "a.gguf config.json");
  assert_string_equal(chosen("a-00001-of-00002.gguf a-00002-of-00002.gguf", NULL), "a-00001-of-00002.gguf a-00002-of-00002.gguf");
  assert_string_equal(chosen("q/a-00001-of-00002.gguf p/a-00001-of-00002.gguf", NULL), "!");
  assert_string_equal(chosen("a.gguf b.gguf", NULL), "!");
  assert_non_null(strstr(err.text, "a.gguf (10 B), b.gguf (10 B)"));
  assert_string_equal(chosen("config.json a.bin", NULL), "!");
  assert_string_equal(chosen("x/a-Q4.gguf b-Q8.gguf", "*Q4*"), "x/a-Q4.gguf");
  assert_string_equal(chosen("README.md a.gguf", "README.md"), "README.md");
  assert_string_equal(chosen(".git/x.gguf a.gguf", "*"), "a.gguf");
  assert_string_equal(chosen("a.gguf", "b*"), "!");
  assert_int_equal(err.status, CEL_NOT_FOUND);
}

static void a_list_of_many_choices_is_cut(void **state) {
  (void)state;
  cel_buf rows = {0};
  for (int i = 0; i < 3000; i++) cel_buf_printf(&rows, "%s{\"rfilename\":\"model-with-a-long-name-%04d.gguf\",\"size\":10}", i ? "," : "[", i);
  cel_buf_addc(&rows, ']');
  cel_hub_record r;
  assert_int_equal(parse(rows.p, &r), 3000);
  assert_int_equal(cel_hub_select(&r, "o/m", NULL, 0, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "holds 3000 GGUF models"));
  assert_non_null(strstr(err.text, ", ..."));
  cel_hub_record_deinit(&r);
  cel_buf_deinit(&rows);
}

static void tags_become_patterns(void **state) {
  (void)state;
  static const struct {
    const char *typed, *repo, *file;
    bool matches;
  } cases[] = {{"o/m:Q4_K_M", "o/m", "m-q4_k_m.gguf", true}, {"o/m:q4_k_m", "o/m", "m.Q4_K_M-00001-of-00002.gguf", true},
               {"o/m:Q4_K", "o/m", "m-Q4_K_M.gguf", false}, {"o/m:*", "o/m", "m-Q8.gguf", false}};
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    cel_buf repo = {0}, pattern = {0};
    cel_hub_split_tag(cases[i].typed, &repo, &pattern);
    assert_string_equal(repo.p, cases[i].repo);
    bool matches = strcmp(chosen(cases[i].file, pattern.p), "!") != 0;
    assert_int_equal(matches, cases[i].matches);
    cel_buf_deinit(&repo);
    cel_buf_deinit(&pattern);
  }
  cel_buf repo = {0}, pattern = {0};
  cel_hub_split_tag("http://a/b", &repo, &pattern);
  assert_string_equal(repo.p, "http://a/b");
  assert_int_equal(pattern.n, 0);
  cel_buf_deinit(&repo);
}

static void addresses_are_escaped_and_sizes_written(void **state) {
  (void)state;
  cel_buf b = {0};
  cel_hub_add_escaped(&b, "a/b c%\xc3\xa4~", true);
  cel_hub_add_escaped(&b, "/x", false);
  assert_string_equal(b.p, "a/b%20c%25%C3%A4~%2Fx");
  static const int64_t sizes[] = {0, 1023, 1024, 1048576, 1073741824, INT64_MAX};
  cel_buf_clear(&b);
  for (int i = 0; i < CEL_COUNT(sizes); i++) {
    cel_hub_add_size(&b, sizes[i]);
    cel_buf_addc(&b, ';');
  }
  assert_string_equal(b.p, "0 B;1023 B;1.0 KiB;1.0 MiB;1.00 GiB;8589934592.00 GiB;");
  cel_buf_deinit(&b);
}

static void tokens_cannot_forge_headers(void **state) {
  (void)state;
  assert_true(cel_http_good_token("hf_abc.DEF-123_~+/="));
  assert_false(cel_http_good_token(""));
  assert_false(cel_http_good_token("a b"));
  assert_false(cel_http_good_token("a\r\nHost: x"));
  assert_false(cel_http_good_token("\xc3\xa4"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unsafe_paths_are_told_from_safe_ones),
      cmocka_unit_test(model_files_are_told_by_name),
      cmocka_unit_test(repository_names_are_checked_and_completed),
      cmocka_unit_test(endpoints_are_addresses_without_secrets),
      cmocka_unit_test(records_give_sizes_and_digests),
      cmocka_unit_test(records_that_lie_are_refused),
      cmocka_unit_test(files_are_chosen_by_kind_or_pattern),
      cmocka_unit_test(a_list_of_many_choices_is_cut),
      cmocka_unit_test(tags_become_patterns),
      cmocka_unit_test(addresses_are_escaped_and_sizes_written),
      cmocka_unit_test(tokens_cannot_forge_headers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
