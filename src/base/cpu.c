#define _GNU_SOURCE  // sched_getaffinity
#define _DARWIN_C_SOURCE
#include "base/cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#if defined(__x86_64__)

static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

// The compiler's own test also asks whether the operating system saves the registers.
uint32_t cel_cpu_detect(void) {
  uint32_t bits = 0;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()) bits |= CEL_CPU_AVX2;
  if (!bits) return 0;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    bits |= CEL_CPU_AVX512;
  if (bits & CEL_CPU_AVX512) {
    if (__builtin_cpu_supports("avx512vnni")) bits |= CEL_CPU_AVX512_VNNI;
    if (__builtin_cpu_supports("avx512bf16")) bits |= CEL_CPU_AVX512_BF16;
  }
  return bits;
}

#elif defined(__aarch64__) && defined(__linux__)

uint32_t cel_cpu_detect(void) {
  const unsigned long dotprod = 1ul << 20, i8mm = 1ul << 13;  // HWCAP_ASIMDDP, HWCAP2_I8MM of the kernel's ABI
  uint32_t bits = CEL_CPU_NEON;
  if (getauxval(AT_HWCAP) & dotprod) bits |= CEL_CPU_DOTPROD;
  if (getauxval(AT_HWCAP2) & i8mm) bits |= CEL_CPU_I8MM;
  return bits;
}

#elif defined(__aarch64__) && defined(__APPLE__)

static bool has(const char *name) {
  int value = 0;
  size_t bytes = sizeof value;
  return sysctlbyname(name, &value, &bytes, NULL, 0) == 0 && value;
}

uint32_t cel_cpu_detect(void) {
  uint32_t bits = CEL_CPU_NEON;
  if (has("hw.optional.arm.FEAT_DotProd")) bits |= CEL_CPU_DOTPROD;
  if (has("hw.optional.arm.FEAT_I8MM")) bits |= CEL_CPU_I8MM;
  return bits;
}

#else

uint32_t cel_cpu_detect(void) { return 0; }

#endif

typedef struct level {
  const char *name;
  uint32_t needs, keeps;  // keeps: needs and everything weaker
} level;

enum {
  KEEP_AVX512 = CEL_CPU_AVX2 | CEL_CPU_AVX512,
  KEEP_VNNI = KEEP_AVX512 | CEL_CPU_AVX512_VNNI,
  KEEP_DOTPROD = CEL_CPU_NEON | CEL_CPU_DOTPROD,
  KEEP_I8MM = KEEP_DOTPROD | CEL_CPU_I8MM,
};
static const level levels[] = {
  {"scalar", 0, 0},
  {"avx2", CEL_CPU_AVX2, CEL_CPU_AVX2},
  {"avx512", KEEP_AVX512, KEEP_AVX512},
  {"vnni", KEEP_VNNI, KEEP_VNNI},
  {"neon", CEL_CPU_NEON, CEL_CPU_NEON},
  {"dotprod", KEEP_DOTPROD, KEEP_DOTPROD},
  {"i8mm", KEEP_I8MM, KEEP_I8MM},
};

cel_status cel_cpu_limit(uint32_t bits, const char *name, uint32_t *out, cel_err *err) {
  char have[64];
  cel_cpu_describe(bits, have, sizeof have);
  for (int i = 0; i < CEL_COUNT(levels); i++) {
    if (strcmp(levels[i].name, name) != 0) continue;
    if ((bits & levels[i].needs) != levels[i].needs)
      return cel_fail(err, CEL_UNSUPPORTED, "processor level \"%s\": this processor lacks it (it has %s)", name, have);
    *out = bits & levels[i].keeps;
    return CEL_OK;
  }
  return cel_fail(err, CEL_INVALID,
                  "processor level \"%.40s\" is not known: use scalar, avx2, avx512, vnni, neon, dotprod or i8mm", name);
}

void cel_cpu_describe(uint32_t bits, char *out, int out_bytes) {
  static const struct {
    uint32_t bit;
    const char *name;
  } names[] = {
    {CEL_CPU_AVX2, "avx2"}, {CEL_CPU_AVX512, "avx512"},   {CEL_CPU_AVX512_VNNI, "vnni"}, {CEL_CPU_AVX512_BF16, "bf16"},
    {CEL_CPU_NEON, "neon"}, {CEL_CPU_DOTPROD, "dotprod"}, {CEL_CPU_I8MM, "i8mm"},
  };
  int n = 0;
  if (out_bytes < 1) return;
  out[0] = 0;
  for (int i = 0; i < CEL_COUNT(names) && n < out_bytes; i++)
    if (bits & names[i].bit) n += snprintf(out + n, (size_t)(out_bytes - n), "%s%s", n ? "+" : "", names[i].name);
  if (n == 0) snprintf(out, (size_t)out_bytes, "scalar");
}

int cel_cpu_cores(void) {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 && n < 65536 ? (int)n : 1;
}
