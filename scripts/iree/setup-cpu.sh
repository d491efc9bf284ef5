#!/bin/sh
# shellcheck disable=SC2034 # the variables are read by tree.sh
# Makes a tree of IREE's runtime for this processor, and for Vulkan.
#
#   scripts/iree/setup-cpu.sh          makes it, unless it is there; prints what --env prints
#   scripts/iree/setup-cpu.sh --env    the variables that name it: eval "$(scripts/iree/setup-cpu.sh --env)"
#   scripts/iree/setup-cpu.sh --info   versions, checksums, the folder
#
# MLXCEL_IREE_DIR names another folder than ~/.cache/mlxcel/iree.
target=cpu
variable=IREE_DIST
folder=${MLXCEL_IREE_DIR:-${MLXCEL_CACHE_DIR:-$HOME/.cache/mlxcel}/iree}
drivers="LOCAL_SYNC LOCAL_TASK VULKAN"
# shellcheck source=scripts/iree/tree.sh
. "$(dirname "$0")/tree.sh"
iree_main "$@"
