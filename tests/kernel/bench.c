// Rates of the linear kernels on this machine: GB/s of packed weights for one token, GFLOP/s for many.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/check.h"

typedef struct job {
  const cel_kernels *k;
  const cel_linear *w;  // `copies` matrices, one behind the other in memory
  int copies;
  const uint8_t *packed;
  int64_t stride, n;
  float *y;
  void *scratch;
} job;

static void once(const job *j, int i) {
  const cel_linear *w = &j->w[i % j->copies];
  j->k->linear_mul(w, j->packed, j->stride, j->n, j->y, w->rows, 0, w->rows, j->scratch);
}

// Seconds per call: the best of many short stretches, so that a busy machine disturbs little.
static double seconds(const job *j) {
  double best = 1e30, start = cel_now_ms();
  int calls = 1, at = 0;
  while (cel_now_ms() - start < 150) {
    double begin = cel_now_ms();
    for (int i = 0; i < calls; i++) once(j, at++);
    double spent = cel_now_ms() - begin;
    best = CEL_MIN(best, spent / calls * 1e-3);
    if (spent < 0.5) calls *= 2;
  }
  return best;
}

static int64_t matrix_bytes(const cel_linear *w) {
  int64_t groups = w->group ? w->cols / w->group : 0;
  int per_group = w->format != CEL_LIN_AFFINE ? 1 : w->scale_type == CEL_LIN_F32 ? 8 : 4;
  return w->rows * (w->w_row_bytes + groups * per_group);
}

static void *must(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!p) exit(2);
  memset(p, 0, bytes);
  return p;
}

static void bench_shape(const cel_kernels *k, int kind, cel_linear_precision precision, int64_t rows, int64_t cols,
                        bool memory) {
  enum { COPIES = 64 };
  static const int tokens[] = {1, 4, 64, 512};
  check c = {.random = 1};
  weights m;
  cel_linear all[COPIES];
  if (!make_weights(&c, kind, precision, rows, cols, &m)) return;
  int64_t bytes = matrix_bytes(&m.w);
  int copies = memory ? (int)CEL_MIN(COPIES, 200000000 / bytes + 1) : 1;
  all[0] = m.w;
  uint8_t *more = must((size_t)(m.w.w_row_bytes * rows) * (size_t)copies);
  for (int i = 0; i < copies && memory; i++) {
    all[i] = m.w;
    all[i].w = memcpy(more + i * m.w.w_row_bytes * rows, m.w.w, (size_t)(m.w.w_row_bytes * rows));
  }
  int64_t stride = cel_linear_pack_bytes(&m.w);
  float *x = must((size_t)(512 * cols) * 4), *y = must((size_t)(512 * rows) * 4);
  uint8_t *packed = must((size_t)(512 * stride));
  for (int64_t i = 0; i < 512 * cols; i++) x[i] = normal(&c);
  k->linear_pack(&m.w, x, cols, 512, packed, stride);
  job j = {k, all, copies, packed, stride, 1, y, must((size_t)cel_linear_scratch_bytes(&m.w))};
  printf("%-16s %-4s %5dx%-5d %s", m.name, cel_linear_precision_names[precision], (int)rows, (int)cols,
         memory ? "memory" : "cache ");
  for (int i = 0; i < (memory ? 1 : CEL_COUNT(tokens)); i++) {
    j.n = tokens[i];
    double t = seconds(&j);
    if (i == 0) printf("  1: %6.2f GB/s", (double)bytes / t * 1e-9);
    else printf("  %d: %6.1f GFLOP/s", tokens[i], 2e-9 * (double)rows * (double)cols * tokens[i] / t);
  }
  printf("\n");
  fflush(stdout);
  free(x);
  free(y);
  free(packed);
  free(more);
  free(j.scratch);
  release_all();
}

static void bench_pack(const cel_kernels *k) {
  enum { N = 2048, TOKENS = 64 };
  cel_linear w = {.format = CEL_LIN_Q4_0, .precision = CEL_LIN_PREC_I16, .rows = 1, .cols = N};
  float *x = must(N * TOKENS * 4);
  uint8_t *packed = must((size_t)(cel_linear_pack_bytes(&w) * TOKENS));
  check c = {.random = 1};
  for (int i = 0; i < N * TOKENS; i++) x[i] = normal(&c);
  double start = cel_now_ms();
  int rounds = 0;
  for (; cel_now_ms() - start < 50; rounds++) k->linear_pack(&w, x, N, TOKENS, packed, cel_linear_pack_bytes(&w));
  printf("linear_pack: %.2f ns per element\n", (cel_now_ms() - start) * 1e6 / rounds / N / TOKENS);
  free(x);
  free(packed);
}

static void bench_attention(const cel_kernels *k, int heads, int kv_heads, int n, int context, int d, cel_kv kv) {
  int64_t cap = context + n;
  check c = {.random = 1};
  float *q = must((size_t)(n * heads * d) * 4), *out = must((size_t)(n * heads * d) * 4);
  float *keys = must((size_t)(cap * kv_heads * d) * 4), *values = must((size_t)(cap * kv_heads * d) * 4);
  int32_t slot = 0, *positions = must((size_t)n * 4);
  for (int64_t i = 0; i < cap * kv_heads * d; i++) keys[i] = values[i] = normal(&c);
  for (int i = 0; i < n * heads * d; i++) q[i] = normal(&c);
  double keys_read = 0;
  for (int i = 0; i < n; i++) keys_read += (positions[i] = context + i) + 1;
  cel_attention a = {.q = q, .out = out, .k = keys, .v = values, .kv = kv, .width = cel_kv_width(kv, d),
                     .head_stride = cap * cel_kv_width(kv, d), .slots = &slot, .positions = positions, .n = n, .n_q = heads, .n_kv = kv_heads, .d = d, .scale = 0.1f};
  const int64_t vector = (int64_t)cel_kv_width(kv, d) * cel_kv_bytes(kv);
  char *narrow[2] = {must((size_t)(cap * kv_heads * vector)), must((size_t)(cap * kv_heads * vector))};
  for (int64_t i = 0; kv != CEL_KV_F32 && i < cap * kv_heads; i++) {
    for (int j = 0; j < 2; j++) narrow_kept(k, kv, narrow[j] + i * vector, (j ? values : keys) + i * d, d);
    a.k = narrow[0];
    a.v = narrow[1];
  }
  void *scratch = must((size_t)cel_attention_scratch_bytes(&a));
  double start = cel_now_ms();
  int rounds = 0;
  for (; cel_now_ms() - start < 200; rounds++) k->attention(&a, 0, cel_attention_items(&a), scratch);
  double s = (cel_now_ms() - start) * 1e-3 / rounds;
  printf("attention %s heads %d/%d d %d, %d tokens at %d: %.1f us, %.1f GFLOP/s\n", kv_name(kv), heads, kv_heads, d, n, context, s * 1e6,
         4 * heads * d * keys_read / s * 1e-9);
  free(q);
  free(out);
  free(keys);
  free(values);
  free(narrow[0]);
  free(narrow[1]);
  free(positions);
  free(scratch);
}

static bool chosen(const weights *m, const char *filter, int precision) {
  if (*filter) return strncmp(m->name, filter, strlen(filter)) == 0;
  return precision == CEL_LIN_PREC_I16 || m->w.format <= CEL_LIN_BF16;
}

void bench(const cel_kernels *k, const char *filter) {
  static const int shapes[][2] = {{576, 576}, {1536, 576}, {576, 1536}, {2048, 8192}};
  check c = {.random = 1};
  printf("table %s\n", k->isa);
  for (int kind = 0; kind < WEIGHT_KINDS; kind++)
    for (int precision = kind <= CEL_LIN_BF16 ? 0 : 2; precision >= 0; precision--)
      for (int i = 0; i < CEL_COUNT(shapes); i++)
        for (int memory = 0; memory < 2; memory++) {
          weights m;
          bool made = make_weights(&c, kind, (cel_linear_precision)precision, 1, 256, &m);
          bool wanted = made && chosen(&m, filter, precision);
          int block = made ? cel_linear_traits_of(m.w.format)->block : 1, cols = shapes[i][1];
          release_all();
          if (!wanted) continue;
          if (memory == 0 && i == 3) continue;  // the large one from memory only
          if (memory && i < 3 && !*filter) continue;
          if (block == 256 && cols % 256) cols = cols / 256 * 256 + 256;
          bench_shape(k, kind, (cel_linear_precision)precision, shapes[i][0], cols, memory);
        }
  if (*filter && strcmp(filter, "attention") != 0 && strcmp(filter, "pack") != 0) return;
  bench_pack(k);
  for (int kv = CEL_KV_F32; kv < CEL_KV_KINDS; kv++) {
    bench_attention(k, 9, 3, 1, 511, 64, (cel_kv)kv);
    bench_attention(k, 4, 1, 1, 511, 256, (cel_kv)kv);
    bench_attention(k, 16, 8, 1, 511, 128, (cel_kv)kv);
    bench_attention(k, 32, 8, 1, 511, 64, (cel_kv)kv);
    bench_attention(k, 32, 4, 1, 511, 128, (cel_kv)kv);
    bench_attention(k, 9, 3, 1, 4095, 64, (cel_kv)kv);
    bench_attention(k, 9, 3, 512, 0, 64, (cel_kv)kv);
    bench_attention(k, 9, 3, 256, 1024, 128, (cel_kv)kv);
  }
}
