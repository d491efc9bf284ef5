#include <string.h>

#include "base/half.h"
#include "model/widen.h"
#include "model/write/quantize.h"

void cel_narrow(const float *src, cel_dtype to, void *dst, int64_t n) {
  uint8_t *out = dst;
  if (to == CEL_DT_F32) {  // words of the file are little-endian
    for (int64_t i = 0; i < n; i++, out += 4) {
      uint32_t u = cel_f32_bits(src[i]);
      for (int k = 0; k < 4; k++) out[k] = (uint8_t)(u >> 8 * k);
    }
    return;
  }
  for (int64_t i = 0; i < n; i++, out += 2) {
    uint16_t h = to == CEL_DT_F16 ? cel_f32_to_f16(src[i]) : cel_f32_to_bf16(src[i]);
    out[0] = (uint8_t)h;
    out[1] = (uint8_t)(h >> 8);
  }
}

void cel_round_to(float *x, cel_dtype to, int64_t n) {
  if (to == CEL_DT_F32) return;
  for (int64_t i = 0; i < n; i++) {
    x[i] = to == CEL_DT_F16 ? cel_f16_to_f32(cel_f32_to_f16(x[i])) : cel_bf16_to_f32(cel_f32_to_bf16(x[i]));
  }
}
