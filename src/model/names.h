// Tensor names of files -> canonical names (those of a Hugging Face llama-like text model).
#ifndef CEL_MODEL_NAMES_H
#define CEL_MODEL_NAMES_H

#include <stdbool.h>

#include "base/str.h"

// A Hugging Face name: canonical = *head + *tail (views of constants and of `raw`). False when the text
// model does not use the tensor (rotary tables, vision and audio towers, multi-token-prediction heads).
bool cel_name_from_hf(cel_str raw, cel_str *head, cel_str *tail);

// A GGUF name such as blk.3.attn_q.weight. `sandwich`: the file's family has norms before and after each
// block (gemma2, gemma3), where ffn_norm is not the second norm of two but the third of four. Names that
// are not in the table stay as they are. Writes at most `bytes` with a NUL; false when it does not fit.
bool cel_name_from_gguf(cel_str raw, bool sandwich, char *out, size_t bytes);

#endif
