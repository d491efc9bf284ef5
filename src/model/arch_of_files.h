// What a description cannot know without the files.
#ifndef CEL_MODEL_ARCH_OF_FILES_H
#define CEL_MODEL_ARCH_OF_FILES_H

#include "arch/arch.h"
#include "model/checkpoint.h"

// MLX's files of the gated delta nets have the 1 of their norms' weights added already.
bool cel_checkpoint_norms_have_one(const cel_arch *arch, const cel_checkpoint *checkpoint);

// The description with what only the files know: rotated pairs of permuted GGUF rows, rope_freqs.weight, whether norms
// of weight 1 + w are stored with the 1.
// `divisors` must hold head_dim / 2 floats and live as long as *out.
cel_arch cel_checkpoint_arch(const cel_arch *arch, const cel_checkpoint *checkpoint, float *divisors);

#endif
