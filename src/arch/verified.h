// How each family was checked: data for `mlxcel arch` and docs/models.md. The folders are small random checkpoints with
// what transformers computes on them: the logits of a prompt and 64 greedy tokens.
#ifndef CEL_ARCH_VERIFIED_H
#define CEL_ARCH_VERIFIED_H

#include "arch/arch.h"

typedef struct cel_verified {
  const char *family;   // cel_family.name
  const char *folders;  // of tests/data/oracle, with spaces between
  const char *rests;    // what no published class or file confirms; "" when nothing
} cel_verified;

extern const cel_verified cel_verified_families[];  // in the order of verified.def, ended by a NULL family
const cel_verified *cel_verified_of(const cel_family *family);  // NULL when it has no row
// The weight formats a family's files may have: one phrase. Every family reads the same of safetensors.
const char *cel_family_formats(const cel_family *family);

#endif
