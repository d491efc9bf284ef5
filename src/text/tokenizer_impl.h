// Inside of a tokenizer; for the files of text/ alone.
#ifndef CEL_TEXT_TOKENIZER_IMPL_H
#define CEL_TEXT_TOKENIZER_IMPL_H

#include "text/added.h"
#include "text/model.h"
#include "text/steps.h"
#include "text/tokenizer.h"

enum { CEL_TOKEN_KNOWN = 1, CEL_TOKEN_SPECIAL = 2 };

typedef struct cel_token {
  cel_str text;   // as the file writes it
  cel_str bytes;  // what it stands for
  uint8_t flags;
} cel_token;

enum { CEL_END_IDS_MOST = 16 };

struct cel_tokenizer {
  cel_arena arena;  // everything below but the expressions
  cel_regex_list *regexes;
  cel_token *tokens;  // [size] by id
  int64_t size;
  int32_t n_model;    // how many tokens the model has, without added ones
  cel_model model;
  cel_norms norms;
  cel_pres pres;
  cel_posts posts;
  cel_decode_steps decoder;
  cel_added_token *added_tokens;  // [n_added]
  int32_t n_added;
  cel_vocab added_names;          // contents as the file writes them
  cel_added raw, normalized;      // those searched before and after the normalizer
  int32_t bos;
  int32_t ends[CEL_END_IDS_MOST];
  int n_ends;
};

// Ids may leave gaps, but a file can not ask for memory out of proportion.
static inline int64_t cel_highest_id(int64_t n_tokens) { return n_tokens * 16 + 65536; }

CEL_MUST_CHECK cel_status cel_tokenizer_new(cel_tokenizer **out, cel_err *err);
// Sizes the list of tokens; called once.
CEL_MUST_CHECK cel_status cel_tokenizer_reserve(cel_tokenizer *t, int64_t size, cel_err *err);
void cel_tokenizer_add_end(cel_tokenizer *t, int32_t id);  // negative and known ones are ignored
// When tokens and the model's settings are there: special tokens are barred from the model, and it gets its tables.
CEL_MUST_CHECK cel_status cel_tokenizer_index(cel_tokenizer *t, cel_err *err);
// When everything else is there: automatons of the added tokens, bytes of each token. Added tokens' contents
// are as in the file; those with `normalized` are normalized here.
CEL_MUST_CHECK cel_status cel_tokenizer_finish(cel_tokenizer *t, cel_err *err);
// Fills the bytes of every token from its text and the decoder.
CEL_MUST_CHECK cel_status cel_tokens_fill_bytes(cel_tokenizer *t, cel_err *err);

#endif
