// DOTPROD: panels of bytes against packed tokens, four tokens and eight rows at a time. Four numbers of a token multiply four rows'.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include "backend/xla/engine/native/kernel/arm_dotprod.h"
#include "backend/xla/engine/native/kernel/arm_dotprod_fours.h"
#include "backend/xla/engine/native/kernel/arm_tile.h"

// Rows 0..3 and 4..7 of lane `lane` of the 16 positions at i.
#define STEP(lane)                                                                                \
  {                                                                                               \
    const uint8_t *line = q + (i / 4 + lane) * 2 * LINE;                                          \
    const uint8x16_t low = vld1q_u8(line), high = vld1q_u8(line + 16);                            \
    ADD(0, lane) ADD(1, lane) ADD(2, lane) ADD(3, lane)                                           \
  }
#define LOAD(t) const uint8x16_t x##t = vld1q_u8(x[n > t ? t : 0].x + at + i);

// d + products of bytes with a sign, whose first position in the packed unit is `at`.
static CEL_ALWAYS_INLINE ints add_signed(ints d, const uint8_t *q, const token *x, int at, int positions, int n) {
#define SIGNED(v) vreinterpretq_s8_u8(v)
#define ADD(t, lane)                                                                          \
  if (n > t) {                                                                                \
    d.l##t = vdotq_laneq_s32(d.l##t, SIGNED(low), SIGNED(x##t), lane);                        \
    d.h##t = vdotq_laneq_s32(d.h##t, SIGNED(high), SIGNED(x##t), lane);                       \
  }
  CEL_UNROLLED(4)
  for (int i = 0; i < positions; i += 16) {
    EACH(LOAD)
    STEP(0) STEP(1) STEP(2) STEP(3)
  }
#undef ADD
#undef SIGNED
  return d;
}

// The same without signs; the panel's bytes lose theirs where weights are wide.
static CEL_ALWAYS_INLINE ints add_unsigned(ints d, bool flip, const uint8_t *q, const token *x, int at, int positions, int n) {
#define WEIGHTS(v) (flip ? veorq_u8(v, set_u8(128)) : v)
#define DOT(d, w, x, lane) vreinterpretq_s32_u32(vdotq_laneq_u32(vreinterpretq_u32_s32(d), w, x, lane))
#define ADD(t, lane)                                             \
  if (n > t) {                                                   \
    d.l##t = DOT(d.l##t, WEIGHTS(low), x##t, lane);              \
    d.h##t = DOT(d.h##t, WEIGHTS(high), x##t, lane);             \
  }
  CEL_UNROLLED(4)
  for (int i = 0; i < positions; i += 16) {
    EACH(LOAD)
    STEP(0) STEP(1) STEP(2) STEP(3)
  }
#undef ADD
#undef DOT
#undef WEIGHTS
  return d;
}

// The sums of the upper plane count 256 times; those of the lower one are added on top.
static CEL_ALWAYS_INLINE ints dots(cel_panel_shape f, const uint8_t *q, const token *x, int half, int n) {
  const int positions = f.unit / f.halves, at = half * positions;
  ints d = add_signed(no_ints(), q, x, at, positions, n);
  if (f.bytes) return d;
#define SHIFT(t)                         \
  if (n > t) {                           \
    d.l##t = vshlq_n_s32(d.l##t, 8);     \
    d.h##t = vshlq_n_s32(d.h##t, 8);     \
  }
  EACH(SHIFT)
#undef SHIFT
  return add_unsigned(d, f.wide, once_more(q), x, f.unit + at, positions, n);
}

cel_panel_multiply *const cel_dotprod_panels[CEL_PANEL_KINDS] = {
#define CEL_PANEL(name, ...) [CEL_PANEL_##name] = name,
#include "backend/xla/engine/native/kernel/arm_panel.def"
#undef CEL_PANEL
};

#endif
