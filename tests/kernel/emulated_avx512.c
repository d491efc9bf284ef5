// The AVX-512 kernels once more, on emulated instructions: what they compute is checked on any machine.
#include "kernel/emulated.h"

#define CEL_AVX512_NAME(name) emulated_avx512_##name
#define CEL_VNNI_NAME(name) emulated_vnni_##name
#define CEL_AVX512_TABLE emulated_kernels_avx512
#define CEL_VNNI_TABLE emulated_kernels_vnni
#include "backend/xla/engine/native/kernel/x86_avx512.c"
