// MLX's floating modes: E2M1 nibbles or E4M3 bytes, and one byte of scale for a group. Infinite for an exponent of 255.
// And E4M3 bytes with scales in f32.
#include <string.h>

#include "base/half.h"
#include "base/macros.h"
#include "model/dtype.h"
#include "model/widen.h"

static const struct {
  int bits, group;
  const char *name;
} modes[] = {{4, 32, "mxfp4"}, {8, 32, "mxfp8"}, {4, 16, "nvfp4"}};

const char *cel_micro_name(int bits, int group) {
  for (int i = 0; i < CEL_COUNT(modes); i++)
    if (modes[i].bits == bits && modes[i].group == group) return modes[i].name;
  return NULL;
}

static float e4m3(const uint8_t *p) {
  float x;
  cel_widen_f8_e4m3(p, &x, 1);
  return x;
}

static float power(uint8_t e) { return cel_f32_from_bits(e ? (uint32_t)e << 23 : 0x00400000u); }  // 2^-127 is subnormal

void cel_micro_widen(const void *packed, const void *scales, int bits, int group, int64_t cols, float *dst) {
  static const int8_t twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const uint8_t *p = packed, *s = scales;
  for (int64_t i = 0; i < cols; i++) {
    float scale = group == 16 ? e4m3(s + i / group) : power(s[i / group]);
    if (bits == 8) dst[i] = e4m3(p + i) * scale;
    else dst[i] = (float)twice[p[i / 2] >> i % 2 * 4 & 15] * (scale * 0.5f);  // halving is exact
  }
}

void cel_fp8_widen(const void *packed, const void *scales, int group, int64_t cols, float *dst) {
  const uint8_t *p = packed, *s = scales;
  for (int64_t i = 0; i < cols; i++) {
    float scale;
    memcpy(&scale, s + i / group * 4, sizeof scale);
    dst[i] = e4m3(p + i) * scale;
  }
}
