// Tokenizers between tokenizer.json and the keys of a GGUF file, for conversions of whole models. What one side has no
// words for is refused by name; whoever converts should also compare both tokenizers on texts.
#ifndef CEL_TEXT_CARRY_H
#define CEL_TEXT_CARRY_H

#include "base/arena.h"
#include "base/gguf_vocab.h"
#include "base/json.h"
#include "base/status.h"

typedef struct cel_carry_source {
  const cel_json *json;     // tokenizer.json
  const cel_json *config;   // tokenizer_config.json; may be NULL
  const int32_t *ends;      // [n_ends]: all end ids of the model
  int n_ends;
  int64_t n_tokens;         // rows of the embedding: ids behind the tokenizer's are filled up
  const char *name;         // for messages
} cel_carry_source;

typedef void cel_carry_note(void *context, const char *text);

// Byte-level BPE, BPE in SentencePiece's manner (byte fallback, U+2581 for spaces), Unigram, BERT's WordPiece. *out's lists live in `arena`, its
// strings there or in the JSON value.
CEL_MUST_CHECK cel_status cel_carry_to_gguf(const cel_carry_source *from, cel_arena *arena, cel_gguf_vocab *out,
                                            cel_carry_note *note, void *context, cel_err *err);
// Appends the text of a tokenizer.json that tokenizes as the GGUF file's vocabulary does.
CEL_MUST_CHECK cel_status cel_carry_to_json(const cel_gguf_vocab *v, const char *name, cel_buf *out, cel_err *err);

#endif
