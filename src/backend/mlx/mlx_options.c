#include "backend/mlx/mlx_options.h"

#include <stdlib.h>
#include <string.h>

const cel_env_row cel_mlx_environment[] = {
    {"MLXCEL_MLX_DEVICE", "gpu, cpu", "gpu where MLX has one (Metal, CUDA), else cpu", "the device MLX computes on"},
    {"MLXCEL_MLX_PRECISION", "f32, f16, bf16", "f32 on the CPU, else the type of the checkpoint's weights",
     "activations, and weights that are not packed; norms, softmax and sampling are f32 inside"},
    {0}};

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static cel_status choose_device(cel_mlx_options *out, cel_err *err) {
  const char *value = variable("MLXCEL_MLX_DEVICE");
  if (*value && strcmp(value, "gpu") != 0 && strcmp(value, "cpu") != 0) {
    return cel_fail(err, CEL_INVALID, "MLXCEL_MLX_DEVICE=%s: accepted are gpu, cpu", value);
  }
  bool gpu = cel_mlx_available(CEL_MLX_GPU);
  if (!strcmp(value, "gpu") && !gpu) {
    return cel_fail(err, CEL_UNSUPPORTED, "MLXCEL_MLX_DEVICE=gpu: this MLX (%s) has no Metal or CUDA device", cel_mlx_version());
  }
  out->device = gpu && strcmp(value, "cpu") != 0 ? CEL_MLX_GPU : CEL_MLX_CPU;
  return CEL_OK;
}

cel_status cel_mlx_options_read(cel_mlx_options *out, cel_err *err) {
  static const char *const precisions[] = {[CEL_MLX_AS_F32] = "f32", [CEL_MLX_AS_F16] = "f16", [CEL_MLX_AS_BF16] = "bf16"};
  const char *value = variable("MLXCEL_MLX_PRECISION");
  CEL_TRY(choose_device(out, err));
  out->precision = out->device == CEL_MLX_CPU ? CEL_MLX_AS_F32 : CEL_MLX_OF_WEIGHTS;
  if (!*value) return CEL_OK;
  for (int i = CEL_MLX_AS_F32; i <= CEL_MLX_AS_BF16; i++) {
    if (strcmp(value, precisions[i]) != 0) continue;
    out->precision = (cel_mlx_precision)i;
    return CEL_OK;
  }
  return cel_fail(err, CEL_INVALID, "MLXCEL_MLX_PRECISION=%s: accepted are f32, f16, bf16", value);
}
