#include "backend/mlx/mlx_options.h"

#include <string.h>

#include "base/env.h"

// Bytes of "0.32" of "0.32.4".
static size_t first_two(const char *version) {
  size_t major = strcspn(version, ".");
  return version[major] ? major + 1 + strcspn(version + major + 1, ".") : major;
}

cel_status cel_mlx_check_version(const char *loaded, const char *built_for, cel_err *err) {
  size_t n = first_two(built_for);
  if (first_two(loaded) == n && !memcmp(loaded, built_for, n)) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "the MLX that is loaded is %s, this program was built for %s: build it anew, or bring that one back",
                  loaded, built_for);
}

static cel_status choose_device(const char *device, cel_mlx_options *out, cel_err *err) {
  const char *named = device && *device ? device : cel_env_or(CEL_ENV_MLX_DEVICE, "");
  if (*named && strcmp(named, "gpu") != 0 && strcmp(named, "cpu") != 0) {
    return cel_fail(err, CEL_INVALID, "%s is no device of MLX: gpu and cpu are", named);
  }
  bool gpu = cel_mlx_available(CEL_MLX_GPU);
  if (!strcmp(named, "gpu") && !gpu) {
    return cel_fail(err, CEL_UNSUPPORTED, "gpu: this MLX (%s) has no Metal or CUDA device", cel_mlx_version());
  }
  out->device = gpu && strcmp(named, "cpu") != 0 ? CEL_MLX_GPU : CEL_MLX_CPU;
  return CEL_OK;
}

cel_status cel_mlx_options_read(const char *device, cel_mlx_options *out, cel_err *err) {
  CEL_TRY(cel_env_check_one(CEL_ENV_MLX_DEVICE, err));
  CEL_TRY(cel_env_check_one(CEL_ENV_MLX_PRECISION, err));
  CEL_TRY(choose_device(device, out, err));
  const char *named = cel_env_or(CEL_ENV_MLX_PRECISION, out->device == CEL_MLX_CPU ? "f32" : "");
  out->precision = !strcmp(named, "f32")    ? CEL_MLX_AS_F32
                   : !strcmp(named, "f16")  ? CEL_MLX_AS_F16
                   : !strcmp(named, "bf16") ? CEL_MLX_AS_BF16
                                            : CEL_MLX_OF_WEIGHTS;
  return CEL_OK;
}
