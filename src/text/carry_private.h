// What the files that carry tokenizers over share.
#ifndef CEL_TEXT_CARRY_PRIVATE_H
#define CEL_TEXT_CARRY_PRIVATE_H

#include <string.h>

#include "text/carry.h"
#include "text/gguf_loader.h"

typedef struct cel_carrier {  // to GGUF
  const cel_carry_source *from;
  const cel_json *model, *vocab;
  cel_arena *arena;
  cel_gguf_vocab *out;
  cel_str *tokens;
  int32_t *types;
  bool spm;
  bool oom;   // memory was lacking on the way
  cel_carry_note *note;
  void *context;
  cel_err *err;
} cel_carrier;

static inline cel_status cel_carry_refuse(const cel_carrier *c, const char *what) {
  return cel_fail(c->err, CEL_UNSUPPORTED, "%s: %s; GGUF has no words for such a tokenizer", c->from->name, what);
}
static inline cel_str cel_carry_str(const cel_json *v) { return (cel_str){cel_json_string_value(v), cel_json_string_length(v)}; }
static inline bool cel_carry_is(const cel_json *step, const char *type) { return !strcmp(cel_json_string(step, "type", ""), type); }

// carry_models.c: Unigram ("t5") and WordPiece ("bert"). The kind with all its switches; then, when `tokens` and `types`
// have room, the model's own tokens.
CEL_MUST_CHECK cel_status cel_carry_unigram_kind(cel_carrier *c);
CEL_MUST_CHECK cel_status cel_carry_unigram_tokens(cel_carrier *c);
CEL_MUST_CHECK cel_status cel_carry_wordpiece_kind(cel_carrier *c);
CEL_MUST_CHECK cel_status cel_carry_wordpiece_tokens(cel_carrier *c);

typedef struct cel_json_maker {  // from GGUF
  const cel_gguf_vocab *v;
  const char *name;
  cel_json *ids;  // {token: id}
  cel_buf *out, text;
  cel_err *err;
} cel_json_maker;

static inline int cel_carry_type(const cel_json_maker *m, int64_t id) { return m->v->types ? m->v->types[id] : CEL_GGUF_TOKEN_NORMAL; }
// The post_processor that puts these tokens around a text; -1: none.
void cel_carry_put_post_processor(cel_json_maker *m, int32_t ahead, int32_t behind);
// carry_models.c: everything behind "added_tokens".
CEL_MUST_CHECK cel_status cel_carry_put_unigram(cel_json_maker *m);
CEL_MUST_CHECK cel_status cel_carry_put_wordpiece(cel_json_maker *m);

#endif
