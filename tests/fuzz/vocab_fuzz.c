// Bytes as a GGUF file whose tokenizer is made and used: what a model file by itself can do to the tokenizer.
// links: cel_model cel_text
#include <stdlib.h>
#include <string.h>

#include "model/gguf_convert.h"
#include "text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool holds) {
  if (!holds) abort();
}

static void use(const cel_tokenizer *t, cel_str text) {
  for (int how = 0; how < 4; how++) {
    int32_t *ids, ends[8];
    int64_t n;
    cel_buf out = {0};
    cel_err err = {0};
    if (cel_encode(t, text, (cel_encode_options){how & 1, how & 2}, &ids, &n, &err) != CEL_OK) {
      check(err.text[0] != 0);
      continue;
    }
    for (int64_t i = 0; i < n; i++) check(ids[i] >= 0 && ids[i] < cel_tokenizer_size(t));
    if (cel_decode(t, ids, n, how & 1, &out, &err) != CEL_OK) check(err.text[0] != 0);
    check(cel_utf8_valid(out.p ? out.p : "", out.n));
    cel_buf_deinit(&out);
    free(ids);
    check(cel_tokenizer_end_ids(t, ends, 8) >= 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cel_arena arena;
  cel_gguf g;
  const cel_gguf_vocab *vocab = NULL;
  cel_tokenizer *t = NULL;
  cel_err err = {0};
  cel_arena_init(&arena);
  cel_status s = cel_gguf_read(data, (int64_t)n, "fuzz", &arena, &g, &err);
  if (s == CEL_OK) s = cel_gguf_read_vocab(&g, &arena, &vocab, &err);
  if (s == CEL_OK && vocab) s = cel_tokenizer_from_gguf(vocab, "fuzz", &t, &err);
  if (s != CEL_OK) check(s != CEL_OOM && err.text[0] && !strchr(err.text, '\n'));
  if (t) {
    use(t, CEL_STR("ab a1b2 <s></s>\n\n \xE6\xAD\xAA\xF0\x9F\xA6\x99 e\xCC\x81 it's  \xFF"));
    use(t, (cel_str){(const char *)data + n - CEL_MIN(n, (size_t)40), CEL_MIN(n, (size_t)40)});
  }
  cel_tokenizer_free(t);
  cel_arena_deinit(&arena);
  return 0;
}
