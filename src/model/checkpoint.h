// A checkpoint on disk, opened: what model it is (as a config in Hugging Face's keys) and its tensors,
// named canonically and still in the file's own bytes (memory-mapped).
//
//   cel_checkpoint_open("/models/x", &c, &err)         a folder with config.json and *.safetensors,
//   cel_checkpoint_open("/models/x.gguf", &c, &err)    or one GGUF file (of a split
//                                                      model, any of its parts)
//
// GGUF metadata is turned into the same config.json keys, and GGUF tensor names into the same canonical
// names (model.layers.3.self_attn.q_proj.weight), so that nothing above sees two worlds; the one
// difference that stays is `rope_interleaved`, see below.
// Threads: opened by one, read by many.
#ifndef CEL_MODEL_CHECKPOINT_H
#define CEL_MODEL_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/gguf_vocab.h"
#include "base/json.h"
#include "base/status.h"
#include "model/dtype.h"

enum { CEL_TENSOR_MAX_RANK = 5 };

typedef struct cel_tensor {
  const char *name;   // canonical, owned by the checkpoint
  cel_dtype dtype;
  int rank;
  int64_t dims[CEL_TENSOR_MAX_RANK];  // outermost first (GGUF's order is turned round)
  const void *data;   // in the mapping; alignment of GGUF/safetensors files only (assume 1). NULL: in parts
  int64_t bytes;
  const char *file;   // for messages; of a tensor in parts the first one's
  // A stack of matrices that the file keeps apart, expert by expert: dims[0] parts of equal size, in order.
  const void *const *parts;
  // The file has the last two dimensions the other way round (gpt-oss in 16 bits: [E, in, out]); dims are ours.
  bool swapped;
} cel_tensor;

// The bytes of row r of n_rows equal ones, through parts; not for swapped tensors.
const void *cel_tensor_row(const cel_tensor *t, int64_t r, int64_t n_rows);
// The whole tensor in one piece and in the order of its dims.
void cel_tensor_copy(const cel_tensor *t, void *dst);

typedef enum cel_format { CEL_FORMAT_SAFETENSORS, CEL_FORMAT_GGUF } cel_format;

typedef struct cel_checkpoint {
  cel_format format;
  const char *path;         // as given
  const char *dir;          // the folder (of the file, for GGUF)
  const char *adapter;      // as asked for; NULL: none. Its matrices: M.lora_A.weight, M.lora_B.weight, M.lora_scale (adapter.c)
  const cel_json *config;   // root config.json, or made from GGUF metadata. Owned by the checkpoint
  const cel_json *generation_config;  // may be NULL
  const cel_json *tokenizer_config;   // may be NULL
  const char *chat_template;      // chosen template text; NULL when there is none. chat_template.jinja wins
                                  // over tokenizer_config's; for GGUF tokenizer.chat_template
  const char *chat_template_tools;  // a second template named "tool_use", NULL when there is none
  const cel_gguf_vocab *gguf_vocab;  // the file's tokenizer; NULL for folders
  bool rope_interleaved;    // GGUF of llama-type files: q/k rows are permuted, so rope pairs (2j, 2j+1)
  const cel_tensor *tensors;  // sorted by name
  int64_t n_tensors;
  int64_t file_bytes;       // of all weight files
  int64_t n_files;          // shards, or parts of a split GGUF file
  struct cel_checkpoint_private *priv;
} cel_checkpoint;

CEL_MUST_CHECK cel_status cel_checkpoint_open(const char *path, cel_checkpoint **out, cel_err *err);
// The same with an adapter (LoRA) beside its linear weights: the name of one that the checkpoint itself carries ("speech",
// "vision" of Phi-4-multimodal), or a folder as PEFT or mlx-lm write it. NULL: none.
CEL_MUST_CHECK cel_status cel_checkpoint_open_adapted(const char *path, const char *adapter, cel_checkpoint **out, cel_err *err);
void cel_checkpoint_close(cel_checkpoint *c);  // NULL is fine
// Asked behind each piece of work that reads tensors, with how that ended: CEL_IO, naming the file, when a weight file
// lost bytes while it was mapped (base/file.h) and zeros may have been read in their place; otherwise `s`.
cel_status cel_checkpoint_intact(const cel_checkpoint *c, cel_status s, cel_err *err);
// Brings the tensors' pages into memory. `progress` (may be NULL) hears of it now and then; when it returns false:
// CEL_CANCELLED.
CEL_MUST_CHECK cel_status cel_checkpoint_touch(const cel_checkpoint *c, bool (*progress)(void *context, double fraction),
                                               void *context, cel_err *err);

const cel_tensor *cel_checkpoint_find(const cel_checkpoint *c, const char *name);  // NULL when absent

// Where a tensor lies: in which file, from which byte on. False of one that is in no one place of a file as the program sees it
// (in parts, turned round, or made when the file was read).
bool cel_checkpoint_place(const cel_checkpoint *c, const cel_tensor *t, const char **file, int64_t *offset);

// A linear or embedding weight as the graph needs it: plain, GGUF blocks, or MLX.
typedef struct cel_weight {
  const char *name;           // module path without ".weight"
  int64_t experts;            // > 0: a stack [experts, out, in] (experts.c says how files name them)
  int64_t rows, cols;         // [out, in]
  const cel_tensor *tensor;   // the matrix: plain dtype, GGUF blocks, or U32 words (MLX)
  const char *mode;           // MLX: "affine", "mxfp4", "mxfp8" or "nvfp4"; "fp8" (fp8.c); else NULL
  const cel_tensor *scales;   // with a mode only, else NULL
  const cel_tensor *biases;   // affine only
  int bits, group;            // with a mode only
} cel_weight;

// Finds MODULE.weight (+ .scales, .biases: their presence decides, not the config; scales of bytes are those of a
// floating mode) and checks shapes against each other. CEL_NOT_FOUND when there is no MODULE.weight. Where the config's quantization
// block (per-module overrides included) contradicts the shapes, the error names tensor and both. Three dimensions make
// a stack.
CEL_MUST_CHECK cel_status cel_checkpoint_weight(const cel_checkpoint *c, const char *module, cel_weight *out,
                                                cel_err *err);
// Is there a MODULE.weight? As cel_has_matrix (arch/weight_shape.h) asks it of a cel_checkpoint.
bool cel_checkpoint_has_matrix(void *checkpoint, const char *module);
// A tensor of floats (F32, F16, BF16) of whatever rank, "NAME" with its .weight or .bias, and how many there are.
// CEL_NOT_FOUND when there is none.
CEL_MUST_CHECK cel_status cel_checkpoint_floats(const cel_checkpoint *c, const char *name, const cel_tensor **out, int64_t *n,
                                                cel_err *err);
// Widens row r of a weight into dst[cols]; rows of a stack are counted through its experts.
void cel_weight_row(const cel_weight *w, int64_t r, float *dst);

#endif
