#include "kernel/emulated.h"

#define CEL_AVX512_NAME(name) emulated_avx512_##name
#define CEL_VNNI_NAME(name) emulated_vnni_##name
#define CEL_AVX512_TABLE emulated_kernels_avx512
#define CEL_VNNI_TABLE emulated_kernels_vnni
#include "backend/xla/engine/native/kernel/x86_vnni.c"
