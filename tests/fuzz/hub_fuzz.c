// What a model hub says. By the first byte: 'h' lines of a reply's head; 'n' a name as a user types it; anything else a
// repository's record (JSON), from which files are then chosen.
// links: cel_hub
#include <stdlib.h>
#include <string.h>

#include "model/hub/http_head.h"
#include "model/hub/hub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool holds) {
  if (!holds) abort();
}

static bool printable(const char *s) {
  for (; *s; s++) {
    if ((unsigned char)*s < ' ' || *s == 127) return false;
  }
  return true;
}

static void head(cel_str text) {
  cel_http_head h;
  cel_http_head_init(&h);
  for (size_t i = 0; i < text.n;) {
    const char *end = memchr(text.p + i, '\n', text.n - i);
    size_t stop = end ? (size_t)(end - text.p) + 1 : text.n;
    cel_http_head_line(&h, (cel_str){text.p + i, stop - i});
    i = stop;
  }
  check(h.content_length >= -1 && h.range_from >= -1 && h.range_total >= -1);
  check(printable(h.error_code) && printable(h.message));
}

static void name(const char *typed) {
  cel_err err = {0};
  cel_buf full = {0}, repo = {0}, pattern = {0}, url = {0};
  cel_hub_split_tag(typed, &repo, &pattern);
  if (cel_hub_repo_name(repo.p ? repo.p : "", &full, &err) == CEL_OK) {
    check(cel_hub_safe_path(full.p));
    cel_hub_add_escaped(&url, full.p, true);
    check(cel_str_eq(cel_buf_str(&url), cel_buf_str(&full)));  // nothing in a good name needs escaping
  } else {
    check(err.text[0] != 0);
  }
  if (cel_hub_safe_path(typed)) {
    check(typed[0] != '/' && strcmp(typed, "..") && strncmp(typed, "../", 3) && !strstr(typed, "/../") && printable(typed));
    (void)cel_hub_is_model_file(typed);
  }
  cel_buf_deinit(&full);
  cel_buf_deinit(&repo);
  cel_buf_deinit(&pattern);
  cel_buf_deinit(&url);
}

static void record(cel_str text) {
  static const char *const globs[] = {"*Q4*", "model[.-]*gguf"};
  cel_hub_record r;
  cel_err err = {0};
  if (cel_hub_parse(text, "o/n", &r, &err) == CEL_OK) {
    check(r.commit[0] != 0);
    for (int i = 0; i < r.n_files; i++) {
      check(cel_hub_safe_path(r.files[i].path) && r.files[i].bytes >= 0);
      check(!r.files[i].sha256[0] || strlen(r.files[i].sha256) == 64);
      check(i == 0 || strcmp(r.files[i - 1].path, r.files[i].path) < 0);
    }
    for (int n = 0; n <= 2; n++) {
      if (cel_hub_select(&r, "o/n", globs, n, &err) != CEL_OK) check(err.text[0] != 0);
    }
  } else {
    check(err.text[0] != 0);
  }
  cel_hub_record_deinit(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  char *copy = malloc(n + 1);
  check(copy != NULL);
  if (n) memcpy(copy, data, n);
  copy[n] = 0;
  if (copy[0] == 'h') head((cel_str){copy + 1, n - 1});
  else if (copy[0] == 'n') name(copy + 1);
  else record((cel_str){copy, n});
  free(copy);
  return 0;
}
