// A checkpoint as another one: safetensors or GGUF, plain or quantized. Made in three steps, so that whoever asked can look
// at the result before it gets its name:
//
//   cel_conversion_new(checkpoint, &options, &v, &err)           every refusal that needs no writing
//   cel_conversion_write(v, "models/x", replace, pool, &watch, &err)   written, flushed, read back
//   ... cel_conversion_path(v) can be opened like any model ...
//   cel_conversion_commit(v, &err)                               now it is models/x
//   cel_conversion_free(v)                                       without a commit nothing is left
//
// Threads: one at a time.
#ifndef CEL_MODEL_WRITE_CONVERSION_H
#define CEL_MODEL_WRITE_CONVERSION_H

#include "arch/arch.h"
#include "model/write/encode.h"
#include "model/write/gguf_family.h"

typedef struct cel_extra_file {
  const char *name;  // in the folder; may lead through one folder
  const void *data;
  int64_t bytes;
} cel_extra_file;

typedef struct cel_conversion_options {
  cel_format to;
  // What matrices become. KEEP: as they are where the container has their format, else plain. Of AFFINE and MICRO the
  // bits and the group are asked for; of BLOCKS the dtype.
  cel_scheme scheme;
  bool dtype_given;
  cel_dtype dtype;        // F32, F16, BF16: of all that is plain, and of the scales; not given: the source's own
  int64_t shard_bytes;    // of safetensors; 0: 5 GiB, as mlx-lm
  const char *name;       // general.name of a GGUF file
  const cel_gguf_vocab *vocab;   // of a GGUF file made from a folder; NULL: no tokenizer is written
  const cel_extra_file *files;   // of a folder
  int n_files;
  cel_write_note *note;          // things to know that are no errors; may be NULL
  void *note_context;
} cel_conversion_options;

typedef struct cel_conversion cel_conversion;

// The checkpoint and everything in the options stay with the caller, as long as the conversion.
CEL_MUST_CHECK cel_status cel_conversion_new(const cel_checkpoint *c, const cel_conversion_options *o, cel_conversion **out,
                                             cel_err *err);
void cel_conversion_free(cel_conversion *v);  // NULL is fine

typedef struct cel_conversion_facts {
  int64_t n_tensors, bytes;      // of the new files' tensors
  int64_t n_quantized, n_left;   // matrices that were quantized, and that could not be (rows of no whole groups)
  int64_t n_values;
  int n_files;                   // with tensors
} cel_conversion_facts;
cel_conversion_facts cel_conversion_ask(const cel_conversion *v);

CEL_MUST_CHECK cel_status cel_conversion_write(cel_conversion *v, const char *destination, bool replace, cel_pool *pool,
                                               const cel_write_watch *watch, cel_err *err);
const char *cel_conversion_path(const cel_conversion *v);
CEL_MUST_CHECK cel_status cel_conversion_commit(cel_conversion *v, cel_err *err);

#endif
