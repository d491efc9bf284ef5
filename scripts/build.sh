#!/bin/sh
# Configures a preset once and builds it: scripts/build.sh PRESET [TARGET...]
# The folder is build/PRESET, or the one MLXCEL_BUILD_DIR names. JOBS: how many compilers at once.
set -eu
cd "$(dirname "$0")/.."
preset=${1:?build.sh: name a preset of CMakePresets.json}
shift
folder=${MLXCEL_BUILD_DIR:-build/$preset}
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}

# scripts/deps.sh puts a newer CMake here where the system's is too old.
if [ -x build/tools/bin/cmake ]; then PATH=$PWD/build/tools/bin:$PATH; export PATH; fi
if [ "$(uname -s)" = Darwin ] && command -v brew >/dev/null; then
  . scripts/homebrew.sh
fi

# Ninja runs CMake again by itself when a CMake file or the list of sources changes.
[ -f "$folder/build.ninja" ] || cmake --preset "$preset" -B "$folder"
if [ $# -gt 0 ]; then
  exec cmake --build "$folder" -j "$jobs" --target "$@"
else
  exec cmake --build "$folder" -j "$jobs"
fi
