// The panels of arm64: what their kernels are compiled for. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ARM_PANEL_H
#define CEL_XLA_NATIVE_KERNEL_ARM_PANEL_H

#include "backend/xla/engine/native/kernel/linear_kind.h"
#include "backend/xla/engine/native/kernel/panel.h"

typedef struct cel_panel_shape {  // a row of arm_panel.def
  int unit, halves;
  bool bias, bytes, wide;
} cel_panel_shape;

typedef enum cel_panel_kind {
#define CEL_PANEL(name, ...) CEL_PANEL_##name,
#include "backend/xla/engine/native/kernel/arm_panel.def"
#undef CEL_PANEL
  CEL_PANEL_KINDS
} cel_panel_kind;

static CEL_ALWAYS_INLINE cel_panel_kind cel_panel_of(lin_kind f, bool bytes, bool wide) {
  const bool two = halves_of(f) == 2, bias = biased(f);
  if (unit_of(f) == 64 && bytes) return two ? CEL_PANEL_bytes64_halves_bias : CEL_PANEL_bytes64_bias;
  if (unit_of(f) == 64) return two ? CEL_PANEL_plain64_halves_bias : CEL_PANEL_plain64_bias;
  if (bytes && two) return CEL_PANEL_bytes32_halves;
  if (bytes) return bias ? CEL_PANEL_bytes32_bias : CEL_PANEL_bytes32;
  if (wide) return bias ? CEL_PANEL_wide32_bias : CEL_PANEL_wide32;
  if (two) return bias ? CEL_PANEL_plain32_halves_bias : CEL_PANEL_plain32_halves;
  return bias ? CEL_PANEL_plain32_bias : CEL_PANEL_plain32;
}

#endif
