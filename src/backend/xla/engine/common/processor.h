// The processor as compilers see it.
#ifndef CEL_XLA_ENGINE_COMMON_PROCESSOR_H
#define CEL_XLA_ENGINE_COMMON_PROCESSOR_H

#include <stddef.h>

// What compiled code may run on, for the keys of artifacts: "avx2+avx512 3f9c1ab2". Cut at `bytes`.
void cel_processor_name(char *out, size_t bytes);

#endif
