// Tensor names of files -> canonical names (those of a Hugging Face llama-like text model).
#ifndef CEL_MODEL_NAMES_H
#define CEL_MODEL_NAMES_H

#include <stdbool.h>

#include "base/str.h"

// A Hugging Face name: canonical = *head + *tail (views of constants and of `raw`). False when the text
// model does not use the tensor (rotary tables, vision and audio towers, multi-token-prediction heads).
bool cel_name_from_hf(cel_str raw, cel_str *head, cel_str *tail);

// A renaming of GGUF modules: `gguf` is what follows "blk.3." (or the whole path outside of blocks) without its last
// part, and `hf` what follows "model.layers.3." (or the whole path). With the last part in it ("exp_probs_b.bias") it is
// the whole name, on both sides.
typedef struct cel_gguf_name { const char *gguf, *hf; } cel_gguf_name;

// A GGUF name such as blk.3.attn_q.weight. `own`: an architecture's renamings, before the common ones, up to a row of
// NULLs; may be NULL. Names that are in no table stay as they are. Writes at most `bytes` with a NUL; false when it does
// not fit.
bool cel_name_from_gguf(cel_str raw, const cel_gguf_name *own, char *out, size_t bytes);
// The way back, by the same tables: a name that cel_name_from_gguf makes `name` of. False when there is none.
bool cel_name_to_gguf(const char *name, const cel_gguf_name *own, char *out, size_t bytes);

#endif
