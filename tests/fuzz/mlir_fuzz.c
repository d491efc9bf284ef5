// Any bytes as StableHLO text: an error or a module, never a crash; and a module's text reads back to the same
// text.
// links: cel_xla_hlo
#include <stdio.h>
#include <stdlib.h>

#include "backend/xla/hlo/hlo.h"

static void must(cel_status status, const cel_err *err, const char *what, cel_str text) {
  if (status == CEL_OK) return;
  fprintf(stderr, "%s: %s\n%.*s\n", what, err->text, (int)text.n, text.p);
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cel_hlo_module *m, *again;
  cel_buf first = {0}, second = {0};
  cel_err err = {0};
  cel_str text = {(const char *)data, size};
  if (cel_hlo_parse(text, "input", &m, &err) != CEL_OK) return 0;
  must(cel_hlo_print(m, &first, &err), &err, "a module that was read cannot be printed", text);
  must(cel_hlo_parse(cel_buf_str(&first), "printed", &again, &err), &err, "a printed module cannot be read",
       cel_buf_str(&first));
  must(cel_hlo_print(again, &second, &err), &err, "a module that was read cannot be printed", cel_buf_str(&first));
  if (!cel_str_eq(cel_buf_str(&first), cel_buf_str(&second)))
    must(CEL_ENGINE, &err, "the second text differs", cel_buf_str(&second));
  cel_hlo_module_free(m);
  cel_hlo_module_free(again);
  cel_buf_deinit(&first);
  cel_buf_deinit(&second);
  return 0;
}
