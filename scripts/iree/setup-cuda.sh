#!/bin/sh
# shellcheck disable=SC2034 # the variables are read by tree.sh
# Makes a tree of IREE's runtime with the driver for NVIDIA's GPUs. Building takes the headers of a CUDA toolkit, which IREE
# downloads where there is none; running takes libcuda.
#
#   scripts/iree/setup-cuda.sh          makes it, unless it is there; prints what --env prints
#   scripts/iree/setup-cuda.sh --env    the variables that name it: eval "$(scripts/iree/setup-cuda.sh --env)"
#   scripts/iree/setup-cuda.sh --info   versions, checksums, the folder
#
# MLXCEL_IREE_CUDA_DIR names another folder than ~/.cache/mlxcel/iree-cuda.
target=cuda
variable=IREE_CUDA_HOME
folder=${MLXCEL_IREE_CUDA_DIR:-${MLXCEL_CACHE_DIR:-$HOME/.cache/mlxcel}/iree-cuda}
drivers="LOCAL_SYNC LOCAL_TASK CUDA"
# shellcheck source=scripts/iree/tree.sh
. "$(dirname "$0")/tree.sh"
iree_main "$@"
