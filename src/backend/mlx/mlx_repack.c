// GGUF blocks whose groups of 32 are a scale, a minimum and whole numbers are MLX's affine form in another order (and
// MXFP4 is mxfp4): they are repacked number for number. Scales become f32, in which their products are exact.
#include <stdlib.h>
#include <string.h>

#include "backend/mlx/mlx_model.h"
#include "base/checked.h"
#include "base/half.h"
#include "model/widen.h"

enum { GROUP = 32 };

typedef struct group {
  uint8_t q[GROUP];
  float scale, bias;  // affine: scale * q + bias
  uint8_t exponent;   // mxfp4
} group;

static float half_at(const uint8_t *p) { return cel_f16_to_f32(cel_load_u16(p)); }

// Element j in the low nibble of byte j, element j + 16 in the high one.
static void nibbles(const uint8_t *p, uint8_t *q) {
  for (int j = 0; j < GROUP / 2; j++) {
    q[j] = p[j] & 15;
    q[j + GROUP / 2] = p[j] >> 4;
  }
}

static void add_fifth(uint32_t high, uint8_t *q) {
  for (int j = 0; j < GROUP; j++) q[j] |= (uint8_t)((high >> j & 1) << 4);
}

static void q4_0(const uint8_t *p, int g, group *out) {
  (void)g;
  nibbles(p + 2, out->q);
  out->scale = half_at(p);
  out->bias = -8 * out->scale;
}

static void q4_1(const uint8_t *p, int g, group *out) {
  (void)g;
  nibbles(p + 4, out->q);
  out->scale = half_at(p);
  out->bias = half_at(p + 2);
}

static void q5_0(const uint8_t *p, int g, group *out) {
  (void)g;
  nibbles(p + 6, out->q);
  add_fifth(cel_load_u32(p + 2), out->q);
  out->scale = half_at(p);
  out->bias = -16 * out->scale;
}

static void q5_1(const uint8_t *p, int g, group *out) {
  (void)g;
  nibbles(p + 8, out->q);
  add_fifth(cel_load_u32(p + 4), out->q);
  out->scale = half_at(p);
  out->bias = half_at(p + 2);
}

static void q8_0(const uint8_t *p, int g, group *out) {
  (void)g;
  for (int j = 0; j < GROUP; j++) out->q[j] = p[2 + j] ^ 128;  // two's complement plus 128
  out->scale = half_at(p);
  out->bias = -128 * out->scale;
}

// Sub-block g of Q4_K and Q5_K.
static void k_block(const uint8_t *p, const uint8_t *q, int g, group *out) {
  int scale, min;
  cel_k_scale_and_min(p + 4, g, &scale, &min);
  for (int j = 0; j < GROUP; j++) out->q[j] = q[g / 2 * 32 + j] >> g % 2 * 4 & 15;
  out->scale = half_at(p) * (float)scale;
  out->bias = -(half_at(p + 2) * (float)min);
}

static void q4_k(const uint8_t *p, int g, group *out) { k_block(p, p + 16, g, out); }

static void q5_k(const uint8_t *p, int g, group *out) {
  k_block(p, p + 48, g, out);
  for (int j = 0; j < GROUP; j++) out->q[j] |= (uint8_t)((p[16 + j] >> g & 1) << 4);
}

static void mxfp4(const uint8_t *p, int g, group *out) {
  (void)g;
  nibbles(p + 1, out->q);
  out->exponent = p[0];
}

static const struct kind {
  cel_dtype type;
  int bits;
  void (*unpack)(const uint8_t *block, int g, group *out);
} kinds[] = {{CEL_DT_Q4_0, 4, q4_0}, {CEL_DT_Q4_1, 4, q4_1}, {CEL_DT_Q5_0, 5, q5_0}, {CEL_DT_Q5_1, 5, q5_1},
             {CEL_DT_Q8_0, 8, q8_0}, {CEL_DT_Q4_K, 4, q4_k}, {CEL_DT_Q5_K, 5, q5_k}, {CEL_DT_MXFP4, 4, mxfp4}};

static const struct kind *kind_of(cel_dtype type) {
  for (int i = 0; i < CEL_COUNT(kinds); i++) {
    if (kinds[i].type == type) return &kinds[i];
  }
  return NULL;
}

bool cel_mlx_can_repack(cel_dtype type) { return kind_of(type) != NULL; }

// The low `bits` of 32 numbers as a little-endian bit stream: `bits` words.
static void pack(const uint8_t *q, int bits, uint32_t *out) {
  uint64_t held = 0;
  int have = 0;
  for (int j = 0; j < GROUP; j++) {
    held |= (uint64_t)q[j] << have;
    for (have += bits; have >= 32; have -= 32, held >>= 32) *out++ = (uint32_t)held;
  }
}

static void repack_row(const struct kind *k, const uint8_t *src, int64_t cols, int64_t row, cel_mlx_repacked *out) {
  const cel_dtype_traits *t = cel_dtype_of(k->type);
  int64_t groups = cols / GROUP;
  for (int64_t i = 0; i < groups; i++) {
    group g = {0};
    int64_t per_block = t->block / GROUP, at = row * groups + i;
    k->unpack(src + i / per_block * t->block_bytes, (int)(i % per_block), &g);
    pack(g.q, k->bits, (uint32_t *)out->words + at * k->bits);
    if (!out->biases) {
      ((uint8_t *)out->scales)[at] = g.exponent;
      continue;
    }
    ((float *)out->scales)[at] = g.scale;
    ((float *)out->biases)[at] = g.bias;
  }
}

cel_status cel_mlx_repack(const cel_weight *w, cel_mlx_repacked *out, cel_err *err) {
  const struct kind *k = kind_of(w->tensor->dtype);
  bool micro = k->type == CEL_DT_MXFP4;
  int64_t rows = w->rows * CEL_MAX(w->experts, 1), groups;
  *out = (cel_mlx_repacked){.mode = micro ? "mxfp4" : "affine", .bits = k->bits, .group = GROUP};
  if (!cel_mul_i64(rows, w->cols / GROUP, &groups) || groups > INT64_MAX / 64) return cel_fail_oom(err, w->name);
  out->words = malloc((size_t)groups * (size_t)k->bits * sizeof(uint32_t) + 1);
  out->scales = malloc((size_t)groups * (micro ? 1 : sizeof(float)) + 1);
  out->biases = micro ? NULL : malloc((size_t)groups * sizeof(float) + 1);
  if (!out->words || !out->scales || (!micro && !out->biases)) {
    free(out->words);
    free(out->scales);
    free(out->biases);
    return cel_fail_oom(err, w->name);
  }
  for (int64_t r = 0; r < rows; r++) repack_row(k, cel_tensor_row(w->tensor, r, rows), w->cols, r, out);
  return CEL_OK;
}
