// How much memory an evaluation takes. MLX's allocator for CPUs does not look whether it got any: who asks for more than there
// is must find out ahead. C++, for the shim alone.
#ifndef CEL_MLX_SHIM_PEAK_H
#define CEL_MLX_SHIM_PEAK_H

#include <mlx/array.h>

#include <vector>

// Bytes of all arrays that evaluating these makes and holds at once, at most: about. Some operations need scratch beside them.
extern "C" size_t cel_mlx_peak(const std::vector<mlx::core::array> &wanted);  // "C": the name as it is

#endif
