#include "model/dtype.h"

#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "model/widen.h"

static const cel_dtype_traits traits[] = {
#define CEL_DTYPE(code, name, block, bytes, gguf, safetensors, widen) {name, block, bytes, gguf, safetensors, widen},
#include "model/dtype.def"
#undef CEL_DTYPE
};

const cel_dtype_traits *cel_dtype_of(cel_dtype t) { return &traits[t]; }

bool cel_dtype_by_gguf(int gguf_type, cel_dtype *out) {
  for (int i = 0; i < CEL_COUNT(traits); i++) {
    if (gguf_type < 0 || traits[i].gguf_type != gguf_type) continue;
    *out = (cel_dtype)i;
    return true;
  }
  return false;
}

bool cel_dtype_by_safetensors(const char *word, cel_dtype *out) {
  for (int i = 0; i < CEL_COUNT(traits); i++) {
    if (!traits[i].safetensors || strcmp(traits[i].safetensors, word) != 0) continue;
    *out = (cel_dtype)i;
    return true;
  }
  return false;
}

bool cel_dtype_bytes(cel_dtype t, int64_t n, int64_t *bytes) {
  if (n < 0 || n % traits[t].block != 0) return false;
  return cel_mul_i64(n / traits[t].block, traits[t].block_bytes, bytes);
}
