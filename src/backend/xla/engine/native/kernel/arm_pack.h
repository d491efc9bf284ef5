// Template: activations as integers of one scale per unit, in the order of arm_neon_unit.h. The including file defines NAME(kernel)
// and PLANES: 16 bits lie as words, or apart, a unit's upper bytes ahead of its lower ones. A total is then the sum of the
// upper bytes above that of the lower ones, 16 bits each: they are corrected by different factors. Internal to kernel/.
#include <math.h>

#include "backend/xla/engine/native/kernel/arm_neon_vec.h"
#include "backend/xla/engine/native/kernel/linear_kind.h"
#include "backend/xla/engine/native/kernel/scalar.h"

// Eight floats as 16-bit integers.
static CEL_ALWAYS_INLINE int16x8_t quantize8(const float *x, float to_int) {
  const int32x4_t a = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), to_int));
  const int32x4_t b = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 4), to_int));
  return vqmovn_high_s32(vqmovn_s32(a), b);
}

static float largest(const float *x, int n) {
  uint32x4_t top = vdupq_n_u32(0);
  for (int i = 0; i < n; i += 4) top = vmaxq_u32(top, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i))));
  return cel_f32_from_bits(vmaxvq_u32(top));
}

// The unit's integers, 16 to a pair of vectors.
static CEL_ALWAYS_INLINE void quantize_unit(const float *x, int unit, float to_int, int16x8_t *q) {
  for (int i = 0; i < unit / 8; i += 4) {
    int16x8_t n[4];
    for (int k = 0; k < 4; k++) n[k] = quantize8(x + 8 * (i + k), to_int);
    q[i] = unit == 32 ? n[0] : vuzp1q_s16(n[0], n[1]);
    q[i + 1] = unit == 32 ? n[1] : vuzp1q_s16(n[2], n[3]);
    q[i + 2] = unit == 32 ? n[2] : vuzp2q_s16(n[0], n[1]);
    q[i + 3] = unit == 32 ? n[3] : vuzp2q_s16(n[2], n[3]);
  }
}

static CEL_ALWAYS_INLINE uint8x16_t lower(int16x8_t a, int16x8_t b) {
  return vuzp1q_u8(vreinterpretq_u8_s16(a), vreinterpretq_u8_s16(b));
}
static CEL_ALWAYS_INLINE uint8x16_t upper(int16x8_t a, int16x8_t b) {
  return vuzp2q_u8(vreinterpretq_u8_s16(a), vreinterpretq_u8_s16(b));
}

static CEL_ALWAYS_INLINE void store_unit_of(const int16x8_t *q, int unit, bool bytes, uint8_t *out) {
  for (int i = 0; i < unit / 8; i += 2) {
    if (!bytes && !PLANES) {
      vst1q_u8(out + 16 * i, vreinterpretq_u8_s16(q[i]));
      vst1q_u8(out + 16 * i + 16, vreinterpretq_u8_s16(q[i + 1]));
      continue;
    }
    vst1q_u8(out + 8 * i + (bytes ? 0 : unit), lower(q[i], q[i + 1]));
    if (!bytes) vst1q_u8(out + 8 * i, upper(q[i], q[i + 1]));
  }
}

// Of one half of a unit; the sum itself, whatever is stored, goes to *sum.
static CEL_ALWAYS_INLINE int32_t total_of(const int16x8_t *q, int n, bool bytes, int32_t *sum) {
  uint32_t low = 0;
  *sum = 0;
  for (int i = 0; i < n; i += 2) {
    *sum += vaddlvq_s16(q[i]) + vaddlvq_s16(q[i + 1]);
    low += vaddlvq_u8(lower(q[i], q[i + 1]));
  }
  return bytes || !PLANES ? *sum : (int32_t)((uint32_t)(*sum - (int32_t)low) / 256 << 16 | low);
}

// Unit u of a row; returns the scale. See quantize in scalar_linear.c.
static CEL_ALWAYS_INLINE float pack_unit(const float *x, int unit, int n_sums, bool bytes, uint8_t *out, int32_t *totals,
                                         float *sum) {
  const float levels = bytes ? 127.0f : 32767.0f, most = largest(x, unit);
  const bool finite = most <= 0x1.fffffep127f, zero = !(most >= 0x1p-100f) || !finite;
  const float scale = !finite ? NAN : zero ? 0 : most / levels;
  int16x8_t q[CEL_LIN_UNIT_MAX / 8];
  int32_t low, high;
  quantize_unit(x, unit, zero ? 0 : levels / most, q);
  if (zero)  // what is not finite times 0 is not 0
    for (int i = 0; i < unit / 8; i++) q[i] = vdupq_n_s16(0);
  store_unit_of(q, unit, bytes, out);
  totals[0] = total_of(q, unit / 16, bytes, &low);
  totals[1] = total_of(q + unit / 16, unit / 16, bytes, &high);
  sum[0] = (float)(n_sums == 2 ? low : low + high) * scale;
  if (n_sums == 2) sum[1] = (float)high * scale;
  return scale;
}

#include "backend/xla/engine/native/kernel/pack_rows.h"
