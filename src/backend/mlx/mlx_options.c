#include "backend/mlx/mlx_options.h"

#include <string.h>

#include "base/env.h"

static cel_status choose_device(cel_mlx_options *out, cel_err *err) {
  const char *value = cel_env_or(CEL_ENV_MLX_DEVICE, "");
  CEL_TRY(cel_env_check_one(CEL_ENV_MLX_DEVICE, err));
  bool gpu = cel_mlx_available(CEL_MLX_GPU);
  if (!strcmp(value, "gpu") && !gpu) {
    return cel_fail(err, CEL_UNSUPPORTED, "MLXCEL_MLX_DEVICE=gpu: this MLX (%s) has no Metal or CUDA device", cel_mlx_version());
  }
  out->device = gpu && strcmp(value, "cpu") != 0 ? CEL_MLX_GPU : CEL_MLX_CPU;
  return CEL_OK;
}

cel_status cel_mlx_options_read(cel_mlx_options *out, cel_err *err) {
  static const char *const precisions[] = {[CEL_MLX_AS_F32] = "f32", [CEL_MLX_AS_F16] = "f16", [CEL_MLX_AS_BF16] = "bf16"};
  const char *value = cel_env_or(CEL_ENV_MLX_PRECISION, "");
  CEL_TRY(cel_env_check_one(CEL_ENV_MLX_PRECISION, err));
  CEL_TRY(choose_device(out, err));
  out->precision = out->device == CEL_MLX_CPU ? CEL_MLX_AS_F32 : CEL_MLX_OF_WEIGHTS;
  for (int i = CEL_MLX_AS_F32; i <= CEL_MLX_AS_BF16; i++) {
    if (!strcmp(value, precisions[i])) out->precision = (cel_mlx_precision)i;
  }
  return CEL_OK;
}
