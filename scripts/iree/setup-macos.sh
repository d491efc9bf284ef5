#!/bin/sh
# shellcheck disable=SC2034 # the variables are read by tree.sh
# Makes a tree of IREE's runtime with the driver for Metal (macOS, Xcode's command line tools).
#
#   scripts/iree/setup-macos.sh          makes it, unless it is there; prints what --env prints
#   scripts/iree/setup-macos.sh --env    the variables that name it: eval "$(scripts/iree/setup-macos.sh --env)"
#   scripts/iree/setup-macos.sh --info   versions, checksums, the folder
#
# MLXCEL_IREE_MACOS_DIR names another folder than ~/.cache/mlxcel/iree-macos.
target=macos
variable=IREE_MACOS_HOME
folder=${MLXCEL_IREE_MACOS_DIR:-${MLXCEL_CACHE_DIR:-$HOME/.cache/mlxcel}/iree-macos}
drivers="LOCAL_SYNC LOCAL_TASK METAL"
# shellcheck source=scripts/iree/tree.sh
. "$(dirname "$0")/tree.sh"
iree_main "$@"
