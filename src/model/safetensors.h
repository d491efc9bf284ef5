// The safetensors format: 8 bytes little-endian header length, a JSON header, tensor data.
#ifndef CEL_MODEL_SAFETENSORS_H
#define CEL_MODEL_SAFETENSORS_H

#include "model/tensor_list.h"

// Adds the tensors of one whole file (in memory, kept by the caller as long as the list) to `out`, named
// canonically; `file` is for messages and must live as long. Nothing but the header is read. Everything
// the header claims is checked against the file: data ranges must be in order, without overlap or gap, and
// end with the file.
CEL_MUST_CHECK cel_status cel_safetensors_read(const uint8_t *data, int64_t bytes, const char *file,
                                               cel_tensor_list *out, cel_err *err);

#endif
