#include "backend/xla/engine/native/kernel/scalar.h"

const cel_kernels cel_kernels_scalar = {
  .isa = "scalar",
#define CEL_KERNEL(name, args) .name = cel_scalar_##name,
#include "backend/xla/engine/native/kernel/kernel.def"
#undef CEL_KERNEL
};
