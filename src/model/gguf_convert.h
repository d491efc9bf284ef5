// What a GGUF file says, in the words of a Hugging Face folder.
#ifndef CEL_MODEL_GGUF_CONVERT_H
#define CEL_MODEL_GGUF_CONVERT_H

#include "base/gguf_vocab.h"
#include "base/json.h"
#include "model/gguf.h"
#include "model/tensor_list.h"

// Refuses what is no text model: projectors, adapters.
CEL_MUST_CHECK cel_status cel_gguf_check_kind(const cel_gguf *g, cel_err *err);

// The tensors, canonically named, dimensions outermost first; not sorted yet.
CEL_MUST_CHECK cel_status cel_gguf_tensors(const cel_gguf *g, cel_tensor_list *out, cel_err *err);

// The tokenizer's part; lists live in `arena`, strings in the file. A file without tokenizer.ggml.tokens
// gives *out = NULL.
CEL_MUST_CHECK cel_status cel_gguf_read_vocab(const cel_gguf *g, cel_arena *arena, const cel_gguf_vocab **out,
                                              cel_err *err);

// config.json's object (a new reference). `list` is sorted, `vocab` may be NULL. Keys of our own:
//   mlxcel_norm_plus_one_folded  true when norm weights hold 1 + w already (gemma files)
//   mlxcel_delta_separate        true where Qwen3-Next's delta nets have their projections apart
//   mlxcel_delta_tiled           true where value head h of a delta net goes with key head h % n_k
// An architecture without a row here gives {"model_type": its name}, for arch/ to refuse with its list; a
// file without general.architecture gives {}: its tensors can be listed all the same.
CEL_MUST_CHECK cel_status cel_gguf_config(const cel_gguf *g, const cel_tensor_list *list, const cel_gguf_vocab *vocab,
                                          cel_json **out, cel_err *err);
// generation_config.json's: end ids and the sampling that the file recommends. NULL when it says nothing.
CEL_MUST_CHECK cel_status cel_gguf_generation_config(const cel_gguf *g, const cel_gguf_vocab *vocab, cel_json **out,
                                                     cel_err *err);
// tokenizer_config.json's: texts of the special tokens, add_bos_token, add_eos_token. NULL without a vocab.
CEL_MUST_CHECK cel_status cel_gguf_tokenizer_config(const cel_gguf_vocab *vocab, cel_json **out, cel_err *err);

// For the two above: puts `value` (taken over) into obj; the ids of bos, pad and all kinds of end.
CEL_MUST_CHECK cel_status cel_gguf_put(cel_json *obj, const char *key, cel_json *value, cel_err *err);
CEL_MUST_CHECK cel_status cel_gguf_put_ids(cel_json *obj, const cel_gguf_vocab *vocab, cel_err *err);

// Rows of q and k are permuted for pairs (2j, 2j+1).
bool cel_gguf_rope_interleaved(const cel_gguf *g);

#endif
