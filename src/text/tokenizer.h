// Text to ids and back, exactly as the checkpoint's own tokenizer does it (Hugging Face tokenizers, or
// the vocabulary inside a GGUF file).
// Threads: a tokenizer is read-only after it is made; a cel_detokenizer belongs to one stream.
#ifndef CEL_TEXT_TOKENIZER_H
#define CEL_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/gguf_vocab.h"
#include "base/json.h"
#include "base/status.h"
#include "base/str.h"

typedef struct cel_tokenizer cel_tokenizer;

// From the parsed tokenizer.json (`name` for messages). `config` = tokenizer_config.json or NULL: bos_token and
// eos_token are taken from it. What encoding adds is the post-processor's alone: add_bos_token does not count
// beside a tokenizer.json, as in transformers 5.
CEL_MUST_CHECK cel_status cel_tokenizer_from_json(const cel_json *json, const cel_json *config, const char *name,
                                                  cel_tokenizer **out, cel_err *err);
CEL_MUST_CHECK cel_status cel_tokenizer_from_gguf(const cel_gguf_vocab *vocab, const char *name,
                                                  cel_tokenizer **out, cel_err *err);
void cel_tokenizer_free(cel_tokenizer *t);

int64_t cel_tokenizer_size(const cel_tokenizer *t);  // highest id + 1
int32_t cel_tokenizer_find(const cel_tokenizer *t, cel_str token);  // id of a token's content, -1 when none
// The token's own text (bytes it stands for); empty for unknown ids. Borrowed.
cel_str cel_tokenizer_bytes(const cel_tokenizer *t, int32_t id);
bool cel_tokenizer_is_special(const cel_tokenizer *t, int32_t id);
int32_t cel_tokenizer_bos(const cel_tokenizer *t);  // -1 when none
// End-of-text, end-of-turn and end-of-message ids that the tokenizer's own files declare. Returns the
// count (at most `most` written).
int cel_tokenizer_end_ids(const cel_tokenizer *t, int32_t *out, int most);

typedef struct cel_encode_options {
  bool add_special;    // what the post-processor adds (BOS and the like)
  bool parse_special;  // special tokens written in the text become their ids
} cel_encode_options;

// *ids is malloc'ed (free it). Text need not be valid UTF-8: bad bytes count as U+FFFD, as the reference's
// strings would. Time is linear in the text (times log n inside one word); the stack does not grow with it.
CEL_MUST_CHECK cel_status cel_encode(const cel_tokenizer *t, cel_str text, cel_encode_options how, int32_t **ids,
                                     int64_t *n, cel_err *err);

// Streaming decode. Feed ids one by one; text comes out as soon as it is whole and can no longer change:
// never half a character. finish() flushes (an incomplete sequence gives U+FFFD).
typedef struct cel_detokenizer cel_detokenizer;
CEL_MUST_CHECK cel_status cel_detokenizer_new(const cel_tokenizer *t, bool skip_special, cel_detokenizer **out,
                                              cel_err *err);
void cel_detokenizer_free(cel_detokenizer *d);
void cel_detokenizer_push(cel_detokenizer *d, int32_t id, cel_buf *out);
void cel_detokenizer_finish(cel_detokenizer *d, cel_buf *out);
// When `out` has failed: what for. CEL_OOM; or CEL_TOO_LONG, when the tokenizer's decoder makes too much of its tokens.
cel_status cel_detokenizer_failure(const cel_detokenizer *d, cel_err *err);
// All at once: the text of ids[n], as decode() of the reference gives it.
CEL_MUST_CHECK cel_status cel_decode(const cel_tokenizer *t, const int32_t *ids, int64_t n, bool skip_special,
                                     cel_buf *out, cel_err *err);

#endif
