// A language model as a user means it: files, tokenizer, chat template and a backend that runs it. What
// command line and server share.
// Threads: opened by one; generation is the engine thread's business.
#ifndef CEL_GENERATE_LM_H
#define CEL_GENERATE_LM_H

#include "arch/arch.h"
#include "model/checkpoint.h"
#include "session/session.h"
#include "text/template/template.h"
#include "text/tokenizer.h"

typedef struct cel_lm_options {
  bool need_backend;    // load the weights into a backend; otherwise only the files are read
  bool need_tokenizer;  // refuse when there is none; otherwise lm->tokenizer may be NULL
  bool any_family;      // a model this program cannot run is no error: lm->arch_err says why, arch.family is NULL
  const char *backend;  // name, NULL: MLXCEL_BACKEND or the best one
  const char *adapter;  // as cel_checkpoint_open_adapted takes it; NULL: none
  cel_load_options load;
} cel_lm_options;

typedef struct cel_lm {
  cel_checkpoint *checkpoint;
  cel_arena arena;
  cel_arch arch;
  cel_err arch_err;          // CEL_OK, or why there is no arch
  cel_tokenizer *tokenizer;  // NULL when the files have none
  cel_template *chat, *chat_tools;  // NULL when the files have none, or one that cannot be read
  cel_err chat_err;          // why it cannot: rendering then fails with it, raw prompts are not held up
  cel_json *special_tokens;  // name -> text, for templates
  int32_t *end_ids;          // from config, generation config, tokenizer: sorted, no duplicates
  int n_end_ids;
  const cel_backend *backend;
  cel_model_handle *model;
  double open_ms, load_ms;   // reading the files' heads; backend ready
} cel_lm;

// `path`: a folder or file on disk (names are resolved by model/store.h).
CEL_MUST_CHECK cel_status cel_lm_open(const char *path, const cel_lm_options *options, cel_lm **out, cel_err *err);
void cel_lm_close(cel_lm *lm);
// Puts the model's path in front of an error about its files that does not begin with it; returns s.
cel_status cel_lm_blame(const cel_lm *lm, cel_status s, cel_err *err);

// The tokenizer alone, from a model folder, a tokenizer.json or a GGUF file.
CEL_MUST_CHECK cel_status cel_lm_tokenizer(const char *path, cel_tokenizer **out, cel_err *err);

// Renders messages (an array) with the model's template, tool template where tools are given. Contents that are lists
// of text parts are joined for templates that know texts only. Fails by name when the model has none.
CEL_MUST_CHECK cel_status cel_lm_render(const cel_lm *lm, const cel_json *messages, const cel_json *tools,
                                        const cel_json *kwargs, bool add_generation_prompt, cel_buf *out, cel_err *err);
// Text to prompt ids: a rendered chat carries its own special tokens and gets none added; raw text gets what
// the tokenizer adds (BOS). *ids is malloc'ed.
CEL_MUST_CHECK cel_status cel_lm_encode(const cel_lm *lm, cel_str text, bool rendered, int32_t **ids, int64_t *n,
                                        cel_err *err);

#endif
