// What bounds a model on this machine: bytes read, and products of numbers in registers.
#include "cli/bench.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/clock.h"
#include "base/cpu.h"
#include "base/pool.h"

// ---- read bandwidth --------------------------------------------------------------------------------

typedef struct reading {
  const uint64_t *data;
  int64_t words;
  uint64_t sums[256];
} reading;

static void read_share(void *context, int member, int n) {
  reading *r = context;
  int64_t begin = r->words / n * member, end = member == n - 1 ? r->words : begin + r->words / n;
  uint64_t s[8] = {0};
  for (int64_t i = begin; i + 8 <= end; i += 8) {
    for (int k = 0; k < 8; k++) s[k] += r->data[i + k];
  }
  r->sums[member] = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

enum { PASSES = 15 };

// Several passes of a pool in ms, the shortest first; false: there is no pool.
static bool time_passes(int n_threads, cel_pool_work *task, void *context, double ms[PASSES]) {
  cel_pool *pool;
  cel_err err;
  if (cel_pool_new(n_threads, &pool, &err) != CEL_OK) return false;
  for (int i = 0; i < PASSES; i++) {
    const double start = cel_now_ms();
    cel_pool_run(pool, task, context);
    ms[i] = CEL_MAX(cel_now_ms() - start, 1e-6);
  }
  cel_pool_free(pool);
  bench_sort(ms, PASSES);
  return true;
}

bench_reading bench_read_gb_s(int n_threads) {
  enum { BYTES = 256 << 20 };
  double ms[PASSES];
  reading r = {.words = BYTES / 8};
  uint64_t *data = malloc(BYTES);
  if (!data) return (bench_reading){0};
  memset(data, 1, BYTES);
  r.data = data;
  const bool timed = time_passes(n_threads, read_share, &r, ms);
  free(data);
  return timed ? (bench_reading){BYTES / ms[0] / 1e6, BYTES / ms[PASSES / 2] / 1e6} : (bench_reading){0};
}

// ---- products --------------------------------------------------------------------------------------
// A turn is twelve products of vectors, each added to a sum of its own: as many as keep two units of a latency of six busy,
// and as fit into sixteen registers beside an operand. What the values are takes no time.

enum { SUMS = 12, SUM_FLOATS = 16 };

typedef struct operands {  // not known when this is compiled
  float f32;
  int16_t i16;
  int64_t turns;
  float *sums;  // [SUMS][SUM_FLOATS], where they begin and end: each its own, or a compiler would make one of all
} operands;

typedef struct unit {
  void (*run)(const operands *x);
  int width;  // products of a vector
} unit;

// A function over vectors of a type: y the operand, STEP(s, y) a sum with its product.
#define EACH_SUM(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11)
#define LOAD_SUM(k) memcpy(&s##k, x->sums + k * SUM_FLOATS, sizeof s##k);
#define STORE_SUM(k) memcpy(x->sums + k * SUM_FLOATS, &s##k, sizeof s##k);
#define UNIT(name, attribute, vector, operand, STEP)                   \
  attribute static void name(const operands *x) {                      \
    vector y = operand, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11; \
    EACH_SUM(LOAD_SUM)                                                 \
    for (int64_t i = 0; i < x->turns; i++) {                           \
      s0 = STEP(s0, y), s1 = STEP(s1, y), s2 = STEP(s2, y), s3 = STEP(s3, y);    \
      s4 = STEP(s4, y), s5 = STEP(s5, y), s6 = STEP(s6, y), s7 = STEP(s7, y);    \
      s8 = STEP(s8, y), s9 = STEP(s9, y), s10 = STEP(s10, y), s11 = STEP(s11, y); \
    }                                                                  \
    EACH_SUM(STORE_SUM)                                                \
  }

#if defined(__x86_64__)
#define STEP_F32_SSE(s, y) _mm_add_ps(_mm_mul_ps(s, y), y)
#define STEP_I16_SSE(s, y) _mm_add_epi32(s, _mm_madd_epi16(s, y))
#define STEP_F32_AVX2(s, y) _mm256_fmadd_ps(s, y, y)
#define STEP_I16_AVX2(s, y) _mm256_add_epi32(s, _mm256_madd_epi16(s, y))
#define STEP_F32_AVX512(s, y) _mm512_fmadd_ps(s, y, y)
#define STEP_I16_AVX512(s, y) _mm512_add_epi32(s, _mm512_madd_epi16(s, y))
#define STEP_I16_VNNI(s, y) _mm512_dpwssd_epi32(s, s, y)
UNIT(f32_sse, CEL_TARGET("sse2"), __m128, _mm_set1_ps(x->f32), STEP_F32_SSE)
UNIT(i16_sse, CEL_TARGET("sse2"), __m128i, _mm_set1_epi16(x->i16), STEP_I16_SSE)
UNIT(f32_avx2, CEL_TARGET("avx2,fma"), __m256, _mm256_set1_ps(x->f32), STEP_F32_AVX2)
UNIT(i16_avx2, CEL_TARGET("avx2,fma"), __m256i, _mm256_set1_epi16(x->i16), STEP_I16_AVX2)
UNIT(f32_avx512, CEL_TARGET("avx512f,avx512bw"), __m512, _mm512_set1_ps(x->f32), STEP_F32_AVX512)
UNIT(i16_avx512, CEL_TARGET("avx512f,avx512bw"), __m512i, _mm512_set1_epi16(x->i16), STEP_I16_AVX512)
UNIT(i16_vnni, CEL_TARGET("avx512f,avx512bw,avx512vnni"), __m512i, _mm512_set1_epi16(x->i16), STEP_I16_VNNI)

static unit f32_unit(uint32_t cpu) {
  return cpu & CEL_CPU_AVX512 ? (unit){f32_avx512, 16} : cpu & CEL_CPU_AVX2 ? (unit){f32_avx2, 8} : (unit){f32_sse, 4};
}

static unit i16_unit(uint32_t cpu) {
  if (cpu & CEL_CPU_AVX512_VNNI) return (unit){i16_vnni, 32};
  return cpu & CEL_CPU_AVX512 ? (unit){i16_avx512, 32} : cpu & CEL_CPU_AVX2 ? (unit){i16_avx2, 16} : (unit){i16_sse, 8};
}

#elif defined(__aarch64__)
#define STEP_F32_NEON(s, y) vfmaq_f32(y, s, y)
#define STEP_I16_NEON(s, y) vmlal_s16(s, vreinterpret_s16_s32(vget_low_s32(s)), vget_low_s16(vreinterpretq_s16_s32(y)))
UNIT(f32_neon, , float32x4_t, vdupq_n_f32(x->f32), STEP_F32_NEON)
UNIT(i16_neon, , int32x4_t, vreinterpretq_s32_s16(vdupq_n_s16(x->i16)), STEP_I16_NEON)

static unit f32_unit(uint32_t cpu) { return (void)cpu, (unit){f32_neon, 4}; }
static unit i16_unit(uint32_t cpu) { return (void)cpu, (unit){i16_neon, 4}; }

#else
#define STEP_F32(s, y) ((s) * (y) + (y))
#define STEP_I16(s, y) ((s) + (uint32_t)(uint16_t)(s) * (y))
UNIT(f32_plain, , float, x->f32, STEP_F32)
UNIT(i16_plain, , uint32_t, (uint32_t)x->i16, STEP_I16)

static unit f32_unit(uint32_t cpu) { return (void)cpu, (unit){f32_plain, 1}; }
static unit i16_unit(uint32_t cpu) { return (void)cpu, (unit){i16_plain, 1}; }
#endif

enum { TURNS = 1 << 19 };  // some milliseconds

typedef struct multiplying {
  unit unit;
  volatile float factor;
} multiplying;

static void multiply_share(void *context, int member, int n) {
  (void)member, (void)n;
  const multiplying *m = context;
  float sums[SUMS * SUM_FLOATS];
  for (int i = 0; i < CEL_COUNT(sums); i++) sums[i] = m->factor * (float)i;
  operands x = {.f32 = m->factor, .i16 = (int16_t)(1000 * m->factor), .turns = TURNS, .sums = sums};
  m->unit.run(&x);
}

static double gmul_s(int n_threads, unit u) {
  multiplying m = {.unit = u, .factor = 0.25f};
  double ms[PASSES];
  return time_passes(n_threads, multiply_share, &m, ms) ? (double)TURNS * SUMS * u.width * n_threads / ms[0] / 1e6 : 0;
}

double bench_f32_gmul_s(int n_threads) { return gmul_s(n_threads, f32_unit(cel_cpu_detect())); }
double bench_i16_gmul_s(int n_threads) { return gmul_s(n_threads, i16_unit(cel_cpu_detect())); }
