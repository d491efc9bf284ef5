// Text to token ids and back, with the tokenizer of a model; and its chat template.
//
// Texts are UTF-8 with their length in bytes; texts handed out are NUL-terminated besides. Bytes put in that are
// no UTF-8 count as U+FFFD.
// Threads: any number at once on one model; a detokenizer belongs to one thread at a time.
#ifndef MLXCEL_TEXT_H
#define MLXCEL_TEXT_H

#include <mlxcel/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MLXCEL_ADD_SPECIAL = 1,    // tokenize: add what the tokenizer puts around a text (begin token and the like)
  MLXCEL_PARSE_SPECIAL = 2,  // tokenize: special tokens written in the text become their ids
  MLXCEL_SHOW_SPECIAL = 4,   // detokenize: special tokens appear in the text
};

// `flags`: ADD_SPECIAL, PARSE_SPECIAL, both, or 0. For a raw prompt both; for the text of a rendered chat only
// PARSE_SPECIAL. *ids[*n] belongs to the caller: mlxcel_free.
//   Fails: UNSUPPORTED when the model has no tokenizer; INVALID, OOM.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_tokenize(const mlxcel_model *model, const char *text, size_t bytes,
                                                           uint32_t flags, int32_t **ids, int64_t *n,
                                                           mlxcel_error *error);
// `flags`: SHOW_SPECIAL or 0. *text belongs to the caller: mlxcel_free. *bytes may be NULL.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_detokenize(const mlxcel_model *model, const int32_t *ids, int64_t n,
                                                             uint32_t flags, char **text, size_t *bytes,
                                                             mlxcel_error *error);

// ---- one token ---------------------------------------------------------------------------------------

// The bytes a token stands for: perhaps a part of a character, and not NUL-terminated. Lent as long as the model
// lives. NULL (and 0 bytes) for an id the tokenizer does not know and for a model without one.
MLXCEL_API const char *mlxcel_token_text(const mlxcel_model *model, int32_t id, size_t *bytes);
// The id of a token by its whole content ("<|im_end|>"), -1 when there is none.
MLXCEL_API int32_t mlxcel_token_find(const mlxcel_model *model, const char *text, size_t bytes);
MLXCEL_API bool mlxcel_token_is_special(const mlxcel_model *model, int32_t id);
MLXCEL_API int32_t mlxcel_token_bos(const mlxcel_model *model);  // the begin token, -1 when there is none
// The ids that end a generation. Returns how many there are; writes at most `most` to out (NULL with most = 0).
MLXCEL_API int32_t mlxcel_token_ends(const mlxcel_model *model, int32_t *out, int32_t most);

// ---- a stream of tokens --------------------------------------------------------------------------------

// Hands out text as soon as it can no longer change: never half a character.
typedef struct mlxcel_detokenizer mlxcel_detokenizer;

MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_detokenizer_open(mlxcel_model *model, uint32_t flags,
                                                                   mlxcel_detokenizer **out, mlxcel_error *error);
MLXCEL_API void mlxcel_detokenizer_close(mlxcel_detokenizer *detokenizer);  // NULL is fine
// *text is lent until the next call with this detokenizer; it may be empty. *bytes may be NULL.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_detokenizer_push(mlxcel_detokenizer *detokenizer, int32_t id,
                                                                   const char **text, size_t *bytes,
                                                                   mlxcel_error *error);
// What was held back; the next push begins a new text.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_detokenizer_finish(mlxcel_detokenizer *detokenizer,
                                                                     const char **text, size_t *bytes,
                                                                     mlxcel_error *error);

// ---- chats ---------------------------------------------------------------------------------------------

typedef struct mlxcel_chat_options {
  size_t struct_size;          // set by init
  const char *tools_json;      // an array of tools; NULL: none
  const char *variables_json;  // an object of more variables for the template; NULL: none
  bool no_generation_prompt;   // do not open the assistant's turn behind the last message
} mlxcel_chat_options;

MLXCEL_API void mlxcel_chat_options_init(mlxcel_chat_options *options, size_t struct_size);

// `messages_json`: an array such as [{"role": "user", "content": "Hello"}], NUL-terminated. `options` may be NULL.
// *text belongs to the caller: mlxcel_free. *bytes may be NULL.
//   Fails: UNSUPPORTED when the model has no chat template; MALFORMED: the JSON or the template, with line and
//          column; INVALID with the template's own words when it refuses the messages; TOO_LONG, OOM.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_chat_render(const mlxcel_model *model, const char *messages_json,
                                                              const mlxcel_chat_options *options, char **text,
                                                              size_t *bytes, mlxcel_error *error);
// The same, rendered and tokenized as a prompt. *ids[*n] belongs to the caller: mlxcel_free.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_chat_tokenize(const mlxcel_model *model, const char *messages_json,
                                                                const mlxcel_chat_options *options, int32_t **ids,
                                                                int64_t *n, mlxcel_error *error);

#ifdef __cplusplus
}
#endif
#endif
