// What both directions of a conversion between GGUF and Hugging Face folders know of a family, by the tables that GGUF files
// are read with (gguf_reading.h).
#ifndef CEL_MODEL_WRITE_GGUF_FAMILY_H
#define CEL_MODEL_WRITE_GGUF_FAMILY_H

#include "arch/arch.h"
#include "model/gguf_reading.h"
#include "model/write/gguf_write.h"

// The row of the architecture a model is written as; CEL_UNSUPPORTED, naming the family, when GGUF has none.
CEL_MUST_CHECK cel_status cel_gguf_family_of(const cel_arch *a, const cel_gguf_arch **out, cel_err *err);
// "architectures" of a folder's config.json; NULL: not known.
const char *cel_hf_class_of(const char *model_type);

// How Hugging Face's files of a model_type name a role where they differ from `names` otherwise than by the family's rules:
// a form with {i} and, where experts are kept apart, {e}; NULL: no such difference.
const char *cel_hf_form_of(const char *model_type, cel_weight_role role);
// The name in mlx-lm's files where it is another one than Hugging Face's: of stacks of experts, and of a few dense MLPs.
// NULL for other roles.
const char *cel_mlx_form_of(const char *model_type, cel_weight_role role);
// Has mlx-lm what latent attention makes keys of, and what values, in two stacks of matrices by head?
bool cel_mlx_splits_kv(const char *model_type);
// The role of a tensor (its whole name, or its module's) and the layer; CEL_W_COUNT when it has none.
cel_weight_role cel_role_of(const cel_arch *a, const char *name, int64_t *layer, cel_str *part);

typedef void cel_write_note(void *context, const char *text);

typedef struct cel_gguf_description {
  const cel_arch *a;
  const cel_gguf_arch *row;
  const cel_json *config;  // of the folder: what a description leaves out
  cel_write_note *note;
  void *context;
  bool window_cut;         // out: no key for the window, so the context ends with it
} cel_gguf_description;

// The metadata that says what `a` is: ARCH.* keys, general.architecture.
CEL_MUST_CHECK cel_status cel_gguf_describe(cel_gguf_description *d, cel_gguf_head *h, cel_err *err);

// Does `b` compute the same as `a`? `folded`: one of them has the 1 of its norms' weights in the weights. `windowless`: b's
// context ends where a's window does. CEL_UNSUPPORTED naming what differs.
CEL_MUST_CHECK cel_status cel_arch_same(const cel_arch *a, const cel_arch *b, bool folded, bool windowless, cel_err *err);

// Llama 3's rotation as GGUF has it, in a tensor: rope_freqs.weight [dims / 2], what each frequency is divided by.
// False: `r` is no such rotation.
bool cel_rope_divisors(const cel_rope *r, float *out);
// The way back: finds the four numbers (factor and the three borders; high is four times low as in all that is published)
// that give these divisors. False when there are none.
bool cel_rope_from_divisors(const float *divisors, int n, double theta, cel_rope *out);

#endif
