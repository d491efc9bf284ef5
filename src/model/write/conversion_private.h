// What a conversion owns, shared by the files that fill it.
#ifndef CEL_MODEL_WRITE_CONVERSION_PRIVATE_H
#define CEL_MODEL_WRITE_CONVERSION_PRIVATE_H

#include "model/write/conversion.h"

struct cel_conversion {
  const cel_checkpoint *c;
  const cel_conversion_options *o;
  cel_arena arena;
  cel_arch arch;                  // where `row` is set, or `rearranged`
  const cel_gguf_arch *row;       // the GGUF side's; NULL where names are not changed
  bool rearranged;                // from folder to folder, and the loader has moved what has a role: it is moved back
  bool norms_have_one;            // of a family whose norms are 1 + w, the source has the sum
  bool window_cut;                // to GGUF: the context ends with the window
  bool adapters_left;             // to GGUF: the source's own adapters are not written
  cel_write_plan plan;
  cel_dtype plain;                // what becomes plain is this where neither source nor options say otherwise
  int64_t n_quantized, n_left;
  bool has_beyond;                // layers behind the model's last, left out
  cel_gguf_head head;             // to GGUF
  cel_json *config;               // to a folder
  cel_out *out;
  int *files;                     // malloc'ed
};

// convert_plan.c: the moves.
CEL_MUST_CHECK cel_status cel_conversion_plan(cel_conversion *v, cel_err *err);
// One of them, whose source is set: what it becomes, the order of its rows and what is added follow from role and part.
CEL_MUST_CHECK cel_status cel_conversion_add(cel_conversion *v, cel_move *m, cel_weight_role role, cel_str part, const char *name,
                                             cel_err *err);
// Value heads between a folder's order, by key head, and that of the GGUF side's; none where it has the folder's.
cel_reorder cel_conversion_tiles(const cel_conversion *v, int64_t first, int64_t width);
// convert_targets.c: the moves that a canonical tensor of one side is for on the other; none when it goes with another.
CEL_MUST_CHECK cel_status cel_conversion_translate(cel_conversion *v, const cel_tensor *t, cel_err *err);
// convert_check.c: the new files' description, read as a reader does, is that of the source.
CEL_MUST_CHECK cel_status cel_conversion_check(const cel_conversion *v, cel_err *err);
// convert_gguf.c: the metadata, `head`.
CEL_MUST_CHECK cel_status cel_conversion_make_head(cel_conversion *v, cel_err *err);
// convert_metadata.c: is what a folder has as tensors of this role metadata in GGUF? Into the head.
bool cel_conversion_in_metadata(cel_weight_role role);
CEL_MUST_CHECK cel_status cel_conversion_put_metadata(cel_conversion *v, cel_err *err);
// convert_config.c: config.json, `config`.
CEL_MUST_CHECK cel_status cel_conversion_make_config(cel_conversion *v, cel_err *err);
// read_back.c: opens what was written and compares every tensor's bytes with what was meant to be written.
CEL_MUST_CHECK cel_status cel_conversion_read_back(const cel_conversion *v, cel_err *err);

// To MLX, and the text model is a part of another there: names begin with model.language_model, the config has text_config.
bool cel_conversion_is_inner(const cel_conversion *v);
// In one of MLX's formats: experts are stacked, under mlx-lm's names.
bool cel_conversion_is_mlx(const cel_conversion *v);
// GGUF in, GGUF out: names and metadata stay as they are.
bool cel_conversion_is_raw(const cel_conversion *v);

#endif
