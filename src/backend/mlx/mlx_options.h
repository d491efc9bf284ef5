// What the MLXCEL_MLX_* variables ask for, once per load.
#ifndef CEL_MLX_OPTIONS_H
#define CEL_MLX_OPTIONS_H

#include "backend/mlx/shim/shim.h"
#include "base/status.h"

typedef enum cel_mlx_precision { CEL_MLX_OF_WEIGHTS, CEL_MLX_AS_F32, CEL_MLX_AS_F16, CEL_MLX_AS_BF16 } cel_mlx_precision;
typedef struct cel_mlx_options {
  cel_mlx_device device;
  cel_mlx_precision precision;
} cel_mlx_options;

// Is the library that is loaded of the version whose headers this was compiled with? Its classes may have another layout
// where the first two numbers differ. CEL_UNSUPPORTED with both versions.
CEL_MUST_CHECK cel_status cel_mlx_check_version(const char *loaded, const char *built_for, cel_err *err);

// `device`: "gpu", "cpu"; NULL or "": what MLXCEL_MLX_DEVICE says.
// A value outside the accepted set is an error that names variable, value and set; so is a device MLX does not have.
CEL_MUST_CHECK cel_status cel_mlx_options_read(const char *device, cel_mlx_options *out, cel_err *err);

#endif
