#define _GNU_SOURCE  // MAP_ANONYMOUS
#define _DARWIN_C_SOURCE
#include "kernel/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/half.h"

enum { MOST_BUFFERS = 64 };
static struct {
  void *base;
  size_t bytes;
} buffers[MOST_BUFFERS];
static int n_buffers, turn;

void *guarded(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (bytes + page - 1) / page * page + (bytes == 0) * page;
  if (n_buffers == MOST_BUFFERS) abort();
  uint8_t *base = mmap(NULL, body + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base, page, PROT_NONE) || mprotect(base + page + body, page, PROT_NONE)) {
    perror("guard pages");
    exit(2);
  }
  buffers[n_buffers].base = base;
  buffers[n_buffers++].bytes = body + 2 * page;
  memset(base + page, 0xA5, body);
  return base + page + (turn++ % 4 == 3 ? 0 : body - bytes);
}

float *guarded_floats(int64_t n) { return guarded((size_t)n * sizeof(float)); }

void release_all(void) {
  while (n_buffers > 0) {
    n_buffers--;
    munmap(buffers[n_buffers].base, buffers[n_buffers].bytes);
  }
}

uint32_t random_bits(check *c) {
  c->random = c->random * 6364136223846793005u + 1442695040888963407u;
  uint64_t x = c->random;
  x ^= x >> 29;
  return (uint32_t)((x * 0x9E3779B97F4A7C15u) >> 32);
}
float uniform(check *c) { return (float)(int32_t)random_bits(c) * 0x1p-31f; }
float normal(check *c) {
  float s = 0;
  for (int i = 0; i < 6; i++) s += uniform(c);
  return s * 0.7071068f;
}
float awkward(check *c) { return cel_f32_from_bits(random_bits(c)); }

bool expect(check *c, bool ok, const char *fmt, ...) {
  c->done++;
  if (ok) return true;
  if (c->failed++ < 40) {
    va_list args;
    va_start(args, fmt);
    printf("FAILED %s: ", c->now->isa);
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
  }
  return false;
}

int64_t first_difference(const float *a, const float *b, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (cel_f32_bits(a[i]) != cel_f32_bits(b[i]) && !(isnan(a[i]) && isnan(b[i]))) return i;
  return -1;
}

double ulps(float got, double want) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : 1e30;
  float near = (float)want;
  if (isinf(near) || isinf(got)) return near == got ? 0 : fabs(want) > 0x1.fffffep127 && got > 3.4e38f ? 1 : 1e30;
  int exponent;
  frexp(fmax(fabs(want), 0x1p-126), &exponent);
  return fabs((double)got - want) / ldexp(1, exponent - 24);
}

#ifdef CEL_EMULATED_AVX512
extern const cel_kernels emulated_kernels_avx512, emulated_kernels_vnni;
#endif

// The scalar table with what `isa` does itself.
static CEL_UNUSED cel_kernels overlaid(const cel_kernels *isa, const char *name) {
  cel_kernels k = cel_kernels_scalar;
  k.isa = name;
#define CEL_KERNEL(kernel, args) \
  if (isa->kernel) k.kernel = isa->kernel;
#include "backend/xla/engine/native/kernel/kernel.def"
#undef CEL_KERNEL
  return k;
}

static void run_table(const cel_kernels *now, int every, long *done, long *failed) {
  check c = {.ref = &cel_kernels_scalar, .now = now, .random = 12345, .every = every};
  check_math(&c);
  check_linear(&c);
  check_dtypes(&c);
  check_attention(&c);
  check_recurrent(&c);
  printf("%-8s %ld checks, %ld failed\n", now->isa, c.done, c.failed);
  fflush(stdout);
  *done += c.done;
  *failed += c.failed;
}

int main(int argc, char **argv) {
  static const char *const levels[] = {"scalar", "avx2", "avx512", "vnni", "neon", "dotprod", "i8mm"};
  uint32_t cpu = cel_cpu_detect();
  long done = 0, failed = 0;
  if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
    cel_kernels k = cel_kernels_for(cpu);
    bench(&k, argc > 2 ? argv[2] : "");
    return 0;
  }
  int every = 1;
  if (argc > 2 && strcmp(argv[1], "--every") == 0) {
    every = atoi(argv[2]) > 0 ? atoi(argv[2]) : 1;
    argc -= 2;
    argv += 2;
  }
  for (int i = 0; i < CEL_COUNT(levels); i++) {
    uint32_t bits;
    cel_err err;
    if (argc > 1 && strcmp(argv[1], levels[i]) != 0) continue;
    if (cel_cpu_limit(cpu, levels[i], &bits, &err) != CEL_OK) continue;
    cel_kernels now = cel_kernels_for(bits);
    if (strcmp(now.isa, levels[i]) != 0) continue;  // the level adds no table
    run_table(&now, every, &done, &failed);
  }
#ifdef CEL_EMULATED_AVX512
  cel_kernels emulated[] = {overlaid(&emulated_kernels_avx512, "avx512 (emulated)"),
                            overlaid(&emulated_kernels_vnni, "vnni (emulated)")};
  for (int i = 0; i < CEL_COUNT(emulated); i++)
    if (argc == 1 || strcmp(argv[1], "emulated") == 0) run_table(&emulated[i], every, &done, &failed);
#elif defined(__x86_64__)
  printf("AVX-512 is not emulated: SIMDe was not found when this was built\n");
#endif
  return failed || !done;
}
