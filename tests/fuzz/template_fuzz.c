// links: cel_text
// Bytes as a chat template: compiled and, when that works, rendered with a small conversation under tight limits.
#include <stdlib.h>

#include "text/template/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char variables[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": \" h\\u00e9llo\\n\"},"
    " {\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"a\": [1, 2.5, null, true]}}}]},"
    " {\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"x\"}]}], \"tools\": [{\"name\": \"t\", \"p\": {}}],"
    " \"bos_token\": \"<s>\", \"add_generation_prompt\": true, \"n\": 3, \"x\": -1.5, \"nothing\": null, \"l\": [3, 1, 2]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const cel_template_limits limits = {.steps = 20000, .output_bytes = 1 << 16, .memory_bytes = 1 << 20, .depth = 60};
  cel_err err = {0};
  cel_template *t = NULL;
  if (cel_template_compile((cel_str){(const char *)data, n}, "t", &t, &err) != CEL_OK) {
    if (!err.text[0]) abort();
    return 0;
  }
  cel_json *v = NULL;
  if (cel_json_parse(CEL_STR(variables), "variables", &v, &err) != CEL_OK) abort();
  cel_buf out = {0};
  cel_status s = cel_template_render(t, v, &limits, &out, &err);
  if (s == CEL_OK && !cel_utf8_valid(out.p ? out.p : "", out.n)) abort();
  if (s == CEL_OK && out.n > 1 << 16) abort();
  cel_buf_deinit(&out);
  cel_template_free(t);
  cel_json_decref(v);
  return 0;
}
