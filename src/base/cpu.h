// What this processor can do, as bits. Data, not globals: kernel tables are chosen from a value, so a
// test (or a user, with MLXCEL_CPU) can run any level on one machine.
#ifndef CEL_BASE_CPU_H
#define CEL_BASE_CPU_H

#include <stdint.h>

#include "base/status.h"

enum {
  CEL_CPU_AVX2 = 1u << 0,         // with FMA and F16C
  CEL_CPU_AVX512 = 1u << 1,       // F, BW, VL, DQ
  CEL_CPU_AVX512_VNNI = 1u << 2,
  CEL_CPU_AVX512_BF16 = 1u << 3,
  CEL_CPU_NEON = 1u << 8,
  CEL_CPU_DOTPROD = 1u << 9,
  CEL_CPU_I8MM = 1u << 10,
};

// The bits of the running processor (the operating system's register saving included).
uint32_t cel_cpu_detect(void);
// Cuts `bits` down to a named level: "scalar", "avx2", "avx512", "vnni", "neon", "dotprod", "i8mm". Fails with
// the list of names, or when the processor lacks the level.
CEL_MUST_CHECK cel_status cel_cpu_limit(uint32_t bits, const char *level, uint32_t *out, cel_err *err);
// "avx2+avx512" for messages; a static string per combination is not needed: writes into `out`.
void cel_cpu_describe(uint32_t bits, char *out, int out_bytes);
// Cores this process may run on (affinity mask respected), at least 1.
int cel_cpu_cores(void);

#endif
