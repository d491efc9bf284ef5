// NEON: panels of 16-bit integers against packed tokens, four tokens and eight rows at a time. One number of a token multiplies
// eight rows.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include "backend/xla/engine/native/kernel/arm_neon_panels.h"
#include "backend/xla/engine/native/kernel/arm_neon_words.h"
#include "backend/xla/engine/native/kernel/arm_tile.h"

static CEL_ALWAYS_INLINE int16x8_t eight_words(cel_panel_shape f, const uint8_t *x, int at) {
  return f.bytes ? vmovl_s8(vreinterpret_s8_u8(vld1_u8(x + at))) : vreinterpretq_s16_u8(vld1q_u8(x + 2 * at));
}

static CEL_ALWAYS_INLINE ints dots(cel_panel_shape f, const uint8_t *q, const token *x, int half, int n) {
  const int positions = f.unit / f.halves;
  ints d = no_ints();
#define LOAD(t) const int16x8_t x##t = eight_words(f, x[n > t ? t : 0].x, half * positions + i);
#define ADD(t, lane)                                                       \
  if (n > t) {                                                             \
    d.l##t = vmlal_laneq_s16(d.l##t, vget_low_s16(w), x##t, lane);         \
    d.h##t = vmlal_high_laneq_s16(d.h##t, w, x##t, lane);                  \
  }
#define STEP(lane)                                                                                \
  {                                                                                               \
    const int16x8_t w = vreinterpretq_s16_u8(vld1q_u8(q + (i + lane) * 2 * CEL_PANEL_ROWS));      \
    ADD(0, lane) ADD(1, lane) ADD(2, lane) ADD(3, lane)                                           \
  }
  CEL_UNROLLED(8)
  for (int i = 0; i < positions; i += 8) {
    EACH(LOAD)
    STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
  }
#undef LOAD
#undef ADD
#undef STEP
  return d;
}

cel_panel_multiply *const cel_neon_panels[CEL_PANEL_KINDS] = {
#define CEL_PANEL(name, ...) [CEL_PANEL_##name] = name,
#include "backend/xla/engine/native/kernel/arm_panel.def"
#undef CEL_PANEL
};

#endif
