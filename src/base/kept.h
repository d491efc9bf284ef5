// Keys and values in steps, as a program says it in StableHLO and kernels keep it: whole numbers of one step, the largest of a group /
// CEL_KEPT_I16_STEPS or CEL_KEPT_I8_STEPS, whose f32 stands behind all numbers of the vector.
#ifndef CEL_BASE_KEPT_H
#define CEL_BASE_KEPT_H

#define CEL_KEPT_LEAST 1e-30f  // the largest of a group counts as no less
enum { CEL_KEPT_I16_STEPS = 32767, CEL_KEPT_I8_STEPS = 127 };

// How many of d numbers share a step, d a multiple of 4: with i16 all of them, with i8 32, or what divides d.
static inline int cel_kept_group_i8(int d) { return d % 32 == 0 ? 32 : d % 16 == 0 ? 16 : d % 8 == 0 ? 8 : 4; }
// Elements of a kept vector: the numbers, then the steps as elements.
static inline int cel_kept_width_i16(int d) { return d + 2; }
static inline int cel_kept_width_i8(int d) { return d + d / cel_kept_group_i8(d) * 4; }

#endif
