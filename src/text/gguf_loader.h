// Reading the vocabulary of a GGUF file: what its files share.
#ifndef CEL_TEXT_GGUF_LOADER_H
#define CEL_TEXT_GGUF_LOADER_H

#include "text/tokenizer_impl.h"

enum {  // tokenizer.ggml.token_type
  CEL_GGUF_TOKEN_NORMAL = 1,
  CEL_GGUF_TOKEN_UNKNOWN = 2,
  CEL_GGUF_TOKEN_CONTROL = 3,
  CEL_GGUF_TOKEN_USER_DEFINED = 4,
  CEL_GGUF_TOKEN_UNUSED = 5,
  CEL_GGUF_TOKEN_BYTE = 6,
};

#define CEL_SPACE_MARK "\xE2\x96\x81"  // U+2581, what stands for a space

typedef struct cel_gguf_loader {
  cel_tokenizer *t;
  cel_text_build b;
  const cel_gguf_vocab *v;
  int32_t bos, end;       // what may stand around a text
  bool add_bos, add_end;  // when the file does not say
  bool fixed;             // what the file says of that does not count
} cel_gguf_loader;

static inline int cel_gguf_type_of(const cel_gguf_vocab *v, int64_t i) {
  return v->types ? v->types[i] : CEL_GGUF_TOKEN_NORMAL;
}

// U+2581 back to a space, byte tokens back to bytes; with `strip`, the space put in front of a text is taken off.
CEL_MUST_CHECK cel_status cel_gguf_plain_decoder(cel_gguf_loader *l, bool strip, cel_err *err);

// Models by their name in tokenizer.ggml.model. Tokens are read.
CEL_MUST_CHECK cel_status cel_gguf_read_bert(cel_gguf_loader *l, cel_err *err);
CEL_MUST_CHECK cel_status cel_gguf_read_t5(cel_gguf_loader *l, cel_err *err);
CEL_MUST_CHECK cel_status cel_gguf_read_rwkv(cel_gguf_loader *l, cel_err *err);

// The bytes of an RWKV token, which the file writes as Python does (\n, \xE2, \'). Writes at most text.n bytes.
size_t cel_gguf_unescape(cel_str text, char *out);

#endif
