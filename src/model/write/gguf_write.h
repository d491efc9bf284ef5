// A plan as one GGUF file, version 3.
#ifndef CEL_MODEL_WRITE_GGUF_WRITE_H
#define CEL_MODEL_WRITE_GGUF_WRITE_H

#include "base/gguf_vocab.h"
#include "model/gguf.h"
#include "model/write/out.h"
#include "model/write/write_plan.h"

// Metadata while it grows. Zero-initialize; cel_gguf_head_deinit at the end. A failed append sticks (values.failed).
typedef struct cel_gguf_head {
  cel_buf values;
  int64_t n;
  int64_t alignment;  // 0: the format's default
} cel_gguf_head;

void cel_gguf_head_deinit(cel_gguf_head *h);
void cel_gguf_add_u32(cel_gguf_head *h, const char *key, uint32_t v);
void cel_gguf_add_i32(cel_gguf_head *h, const char *key, int32_t v);
void cel_gguf_add_f32(cel_gguf_head *h, const char *key, double v);
void cel_gguf_add_bool(cel_gguf_head *h, const char *key, bool v);
void cel_gguf_add_string(cel_gguf_head *h, const char *key, cel_str v);
void cel_gguf_add_strings(cel_gguf_head *h, const char *key, const cel_str *list, int64_t n);
void cel_gguf_add_f32s(cel_gguf_head *h, const char *key, const float *list, int64_t n);
void cel_gguf_add_i32s(cel_gguf_head *h, const char *key, const int32_t *list, int64_t n);
void cel_gguf_add_bools(cel_gguf_head *h, const char *key, const bool *list, int64_t n);
// A value of another file, as it is; `v` is one that cel_gguf_read has checked.
void cel_gguf_add_value(cel_gguf_head *h, const cel_gguf_value *v);
// tokenizer.ggml.*
void cel_gguf_add_vocab(cel_gguf_head *h, const cel_gguf_vocab *v);

// Appends a whole file with this metadata and no tensors.
CEL_MUST_CHECK cel_status cel_gguf_head_bytes(const cel_gguf_head *h, cel_buf *out, cel_err *err);
// Makes the file in `out` (which is no folder) and writes everything ahead of the tensors' data; pieces get their offsets.
CEL_MUST_CHECK cel_status cel_gguf_begin(cel_write_plan *p, const cel_gguf_head *h, cel_out *out, int *file, cel_err *err);

#endif
