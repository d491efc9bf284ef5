#include "arch/verified.h"

#include <string.h>

const cel_verified cel_verified_families[] = {
#define CEL_VERIFIED(family, folders, rests) {#family, folders, rests},
#include "arch/verified.def"
#undef CEL_VERIFIED
    {NULL, NULL, NULL},
};

const cel_verified *cel_verified_of(const cel_family *family) {
  for (const cel_verified *v = cel_verified_families; v->family; v++) {
    if (strcmp(v->family, family->name) == 0) return v;
  }
  return NULL;
}

const char *cel_family_formats(const cel_family *family) {
  return family->gguf_archs[0] ? "safetensors, MLX, GGUF" : "safetensors, MLX";
}
