// What a checkpoint owns, shared by the files that fill it.
#ifndef CEL_MODEL_CHECKPOINT_PRIVATE_H
#define CEL_MODEL_CHECKPOINT_PRIVATE_H

#include "base/file.h"
#include "model/checkpoint.h"
#include "model/gguf.h"
#include "model/tensor_list.h"

// One key of the config's quantization block that names a module.
typedef struct cel_override {
  const char *module;  // canonical and without "model.", so that every form of the path meets here
  const cel_json *value;
} cel_override;

// How strongly an adapter counts: `scale`, or where that is 0 alpha over the rank, or over its root.
typedef struct cel_adapter_scaling {
  double alpha, scale;
  int64_t rank;  // the rank all its matrices must have; 0: any
  bool root;
} cel_adapter_scaling;

typedef struct cel_mapped_file {
  cel_map map;
  const char *path;
} cel_mapped_file;

typedef struct cel_checkpoint_private {
  cel_arena arena;
  cel_mapped_file *maps;  // malloc'ed
  int64_t n_maps, cap_maps;
  cel_tensor_list list;
  cel_tensor_list filed;       // as it was before the rules of a family's files; empty where there are none
  const cel_gguf *parts;       // GGUF: the files as they are, the one with the metadata first; in the arena
  int64_t n_parts;
  const char *const *modules;  // [n_tensors]: names without ".weight"; NULL for other tensors
  cel_json *config, *generation_config, *tokenizer_config;
  const cel_json *quantization;    // in config; NULL when there is none
  const cel_json *fp8;             // quantization_config of method fp8; NULL when there is none
  const cel_override *overrides;   // sorted by module
  int64_t n_overrides;
  cel_adapter_scaling adapter;  // with cel_checkpoint.adapter
} cel_checkpoint_private;

// Maps a weight file for the checkpoint's lifetime; *file is its path in the arena.
CEL_MUST_CHECK cel_status cel_checkpoint_map(cel_checkpoint *c, const char *path, cel_map *map, const char **file,
                                             cel_err *err);
// "DIR/name" in the arena, NULL when memory is out.
const char *cel_checkpoint_path(cel_checkpoint *c, const char *name);
// Copies text into the arena; text with a NUL byte inside is refused, naming `name`.
CEL_MUST_CHECK cel_status cel_checkpoint_text(cel_checkpoint *c, cel_str text, const char *name, const char **out,
                                              cel_err *err);

// Publishes the sorted list as c->tensors and interns the module names. The last step of opening.
CEL_MUST_CHECK cel_status cel_checkpoint_finish(cel_checkpoint *c, cel_err *err);

// shards.c: maps the folder's safetensors files and lists their tensors, sorted.
CEL_MUST_CHECK cel_status cel_checkpoint_open_shards(cel_checkpoint *c, cel_err *err);
// fp8.c: weights in eight-bit floats with their scales, as words and scales of a mode "fp8".
CEL_MUST_CHECK cel_status cel_checkpoint_take_fp8(cel_checkpoint *c, cel_err *err);
// arrange.c: module paths with holes, {i} for the layer and {e} for an expert or a head; -1: no such hole.
typedef struct cel_holes { int64_t i, e; } cel_holes;
bool cel_form_matches(const char *form, cel_str name, cel_holes *h);
// Writes `form` with its holes filled and PART behind it (".weight"); false when it does not fit.
bool cel_form_write(const char *form, cel_holes h, cel_str part, char *out, size_t bytes);
// experts.c: canonical names for mixtures of experts, and the experts of one projection as one stack.
CEL_MUST_CHECK cel_status cel_checkpoint_stack_experts(cel_checkpoint *c, cel_err *err);
// The canonical name of a tensor or module; *expert is the number in it, -1 when it has none. False when nothing
// changes. `bytes` bounds out; a name that does not fit stays.
bool cel_name_of_experts(const char *name, bool tensor, char *out, size_t bytes, int64_t *expert);
// arrange.c: the canonical modules of a family whose files name or group them otherwise.
CEL_MUST_CHECK cel_status cel_checkpoint_arrange(cel_checkpoint *c, cel_err *err);
// adapter.c: the matrices of cel_checkpoint.adapter into the list, ahead of arranging; behind it they are checked against
// the modules they stand beside, and get their scales.
CEL_MUST_CHECK cel_status cel_checkpoint_take_adapter(cel_checkpoint *c, cel_err *err);
CEL_MUST_CHECK cel_status cel_checkpoint_finish_adapter(cel_checkpoint *c, cel_err *err);
// chat_template.c: the folder's chat templates, from wherever they are kept.
CEL_MUST_CHECK cel_status cel_checkpoint_load_templates(cel_checkpoint *c, cel_err *err);
// quantization.c: finds the config's MLX quantization block; other containers are refused by name.
CEL_MUST_CHECK cel_status cel_checkpoint_read_quantization(cel_checkpoint *c, cel_err *err);
void cel_checkpoint_sort_overrides(struct cel_checkpoint_private *p);
// What the block says about one module; 0 and NULL where it says nothing (a block without a mode says affine).
typedef struct cel_quantization { int64_t bits, group; const char *mode; } cel_quantization;
cel_quantization cel_checkpoint_quantization_of(const cel_checkpoint *c, const char *module);

// folder.c: names of the regular files in a folder that end with `tail`, sorted, in the arena.
CEL_MUST_CHECK cel_status cel_list_files(const char *dir, const char *tail, cel_arena *arena, const char *const **names,
                                         int64_t *n, cel_err *err);

#endif
