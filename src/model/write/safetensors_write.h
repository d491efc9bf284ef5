// A plan as safetensors files: one, or shards with model.safetensors.index.json.
#ifndef CEL_MODEL_WRITE_SAFETENSORS_WRITE_H
#define CEL_MODEL_WRITE_SAFETENSORS_WRITE_H

#include "model/write/out.h"
#include "model/write/write_plan.h"

// Makes the files in `out`, writes headers and index, and gives every piece its file and offset. A shard takes whole
// moves while they fit `shard_bytes`. `format` is the metadata's word: "pt" or "mlx". *files (malloc'ed, [p->n_files])
// are the outputs the pieces' file numbers stand for.
CEL_MUST_CHECK cel_status cel_safetensors_begin(cel_write_plan *p, cel_out *out, int64_t shard_bytes, const char *format,
                                                int **files, cel_err *err);

#endif
