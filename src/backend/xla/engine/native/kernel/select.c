#include "backend/xla/engine/native/kernel/kernel.h"
#include "base/cpu.h"
#include "base/macros.h"

#define CEL_ISA(isa, needs) extern const cel_kernels cel_kernels_##isa;
#include "backend/xla/engine/native/kernel/isa.def"
#undef CEL_ISA

static CEL_UNUSED void overlay(cel_kernels *k, const cel_kernels *isa) {
  k->isa = isa->isa;
#define CEL_KERNEL(name, args) \
  if (isa->name) k->name = isa->name;
#include "backend/xla/engine/native/kernel/kernel.def"
#undef CEL_KERNEL
}

cel_kernels cel_kernels_for(uint32_t cpu_bits) {
  cel_kernels k = cel_kernels_scalar;
  (void)cpu_bits;
#define CEL_ISA(isa, needs) \
  if ((cpu_bits & (needs)) == (needs)) overlay(&k, &cel_kernels_##isa);
#include "backend/xla/engine/native/kernel/isa.def"
#undef CEL_ISA
  return k;
}
