#!/bin/sh
# shellcheck disable=SC2034 # the variables are read by tree.sh
# Makes a tree of IREE's runtime with the driver for AMD's GPUs (ROCm's libamdhip64 to run).
#
#   scripts/iree/setup-rocm.sh          makes it, unless it is there; prints what --env prints
#   scripts/iree/setup-rocm.sh --env    the variables that name it: eval "$(scripts/iree/setup-rocm.sh --env)"
#   scripts/iree/setup-rocm.sh --info   versions, checksums, the folder
#
# MLXCEL_IREE_ROCM_DIR names another folder than ~/.cache/mlxcel/iree-rocm.
target=rocm
variable=IREE_ROCM_HOME
folder=${MLXCEL_IREE_ROCM_DIR:-${MLXCEL_CACHE_DIR:-$HOME/.cache/mlxcel}/iree-rocm}
drivers="LOCAL_SYNC LOCAL_TASK HIP"
# shellcheck source=scripts/iree/tree.sh
. "$(dirname "$0")/tree.sh"
iree_main "$@"
