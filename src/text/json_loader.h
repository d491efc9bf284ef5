// Reading tokenizer.json: what its files share.
#ifndef CEL_TEXT_JSON_LOADER_H
#define CEL_TEXT_JSON_LOADER_H

#include "text/tokenizer_impl.h"

typedef struct cel_json_loader {
  cel_tokenizer *t;
  cel_text_build b;
  const cel_json *root, *model, *config;
} cel_json_loader;

static inline cel_str cel_json_text(const cel_json *v) {
  return (cel_str){cel_json_string_value(v), cel_json_string_length(v)};
}

// model.vocab, {text: id} or [[text, score], …], and added_tokens: into the tokenizer's tokens and vocabulary.
// For a list `scores` gets the scores, [length of the list]; otherwise it may be NULL.
CEL_MUST_CHECK cel_status cel_json_read_vocab(cel_json_loader *l, bool list, double **scores, cel_err *err);
// The model by its type name.
CEL_MUST_CHECK cel_status cel_json_read_model(cel_json_loader *l, cel_err *err);

#endif
