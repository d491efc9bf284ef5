// Bytes as JSON: refused with a place, or read; written in every style and read back the same; copied, and looked up.
// links: cel_base
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool holds) {
  if (!holds) abort();
}

static void look(const cel_json *v) {
  size_t i;
  cel_str key;
  cel_json *item;
  cel_json_array_foreach(v, i, item) look(item);
  cel_json_object_foreach(v, i, key, item) {
    check(cel_json_object_getn(v, key.p, key.n) == item && key.p[key.n] == 0 && cel_utf8_valid(key.p, key.n));
    look(item);
  }
  if (cel_json_is_string(v)) check(cel_utf8_valid(cel_json_string_value(v), cel_json_string_length(v)));
}

static void again(const cel_json *v, cel_json_style style) {
  cel_buf text = {0};
  cel_json *back = NULL;
  cel_err err = {0};
  cel_json_write(&text, v, style);
  check(!text.failed && cel_json_parse(cel_buf_str(&text), "written", &back, &err) == CEL_OK && cel_json_equal(v, back));
  cel_json_decref(back);
  cel_buf_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cel_json *v = NULL;
  cel_err err = {0};
  if (cel_json_parse((cel_str){(const char *)data, n}, "input", &v, &err) != CEL_OK) {
    check(!v && err.status == CEL_MALFORMED && strstr(err.text, "at line ") && !strchr(err.text, '\n'));
    return 0;
  }
  look(v);
  again(v, (cel_json_style){0});
  if (n < 4096) again(v, (cel_json_style){.indent = 1, .ascii = true});
  cel_json *copy = cel_json_deep_copy(v);
  cel_json_decref(v);  // the copy stands alone
  look(copy);
  cel_json_decref(copy);
  return 0;
}
