// What each token stands for: the bytes its decoder makes of it.
#include "text/decode_words.h"
#include "text/tokenizer_impl.h"

static size_t room(size_t n) { return CEL_MIN(n, (size_t)CEL_TEXT_MOST) * CEL_TEXT_GROWTH + CEL_TEXT_SLACK; }

// What the decoder makes of a token that stands alone inside a text, before anything is made valid UTF-8. What grows beyond
// all measure is left where it is.
static void token_bytes(const cel_decode_steps *steps, cel_str text, cel_buf *out, cel_buf *spare) {
  cel_buf_clear(out);
  cel_buf_adds(out, text);
  for (int k = 0; k < steps->n && out->n <= room(text.n); k++) {
    const cel_decode_step *step = &steps->step[k];
    int byte = step->kind == CEL_DECODE_BYTE_FALLBACK ? cel_decode_byte_of(cel_buf_str(out)) : -1;
    if (byte >= 0) {
      cel_buf_clear(out);
      cel_buf_addc(out, (char)byte);
    }
    cel_buf_clear(spare);
    if (step->kind == CEL_DECODE_BYTE_LEVEL) {
      if (!cel_byte_chars_decode(step->bytes, cel_buf_str(out), spare)) continue;
    } else if ((step->kind == CEL_DECODE_REPLACE && step->find.fail) || step->kind == CEL_DECODE_METASPACE ||
               step->kind == CEL_DECODE_SUFFIX) {
      cel_decode_replace(&step->find, step->with, cel_buf_str(out), spare);
    } else if (step->kind == CEL_DECODE_WORDPIECE) {
      cel_decode_wordpiece(step, cel_buf_str(out), false, spare);
    } else {
      continue;
    }
    cel_buf t = *out;
    *out = *spare;
    *spare = t;
  }
}

cel_status cel_tokens_fill_bytes(cel_tokenizer *t, cel_err *err) {
  cel_buf a = {0}, b = {0};
  bool ok = true;
  size_t entered = 0, made = 0;
  for (int64_t id = 0; ok && id < t->size; id++) {
    cel_token *k = &t->tokens[id];
    k->bytes = k->text;
    if (!(k->flags & CEL_TOKEN_KNOWN) || (k->flags & CEL_TOKEN_SPECIAL)) continue;
    token_bytes(&t->decoder, k->text, &a, &b);
    ok = !a.failed && !b.failed;
    entered += k->text.n;
    made += a.n;
    if (made > room(entered)) {
      cel_buf_deinit(&a);
      cel_buf_deinit(&b);
      return cel_fail(err, CEL_TOO_LONG, "tokens of %zu bytes grow to more than %zu in the tokenizer's decoder", entered, room(entered));
    }
    if (!ok || cel_str_eq(cel_buf_str(&a), k->text)) continue;
    char *copy = cel_arena_dup(&t->arena, a.p, a.n);
    ok = copy != NULL;
    k->bytes = (cel_str){copy, a.n};
  }
  cel_buf_deinit(&a);
  cel_buf_deinit(&b);
  return ok ? CEL_OK : cel_fail_oom(err, "a tokenizer's vocabulary");
}
