#!/bin/sh
# shellcheck disable=SC2154 # set by the script that sources this
# What the setup scripts share: sourced, not run. A script sets
#   target     cpu, cuda, macos or rocm
#   variable   the variable that names the tree: IREE_DIST, IREE_CUDA_HOME, ...
#   folder     where all of it goes
#   drivers    of IREE's runtime, as its CMake options name them
# and calls `iree_main "$@"`.
#
# What is made in $folder:
#   tools/     a Python environment with the compiler's wheel, CMake and Ninja
#   src/       IREE at the commit that the wheel was built from, with the submodules its runtime needs
#   build/     its runtime, built as IREE's documentation says (-DIREE_BUILD_COMPILER=OFF)
#   tree/      what that build installs: what $variable names
# IREE_SOURCE names another place to clone IREE from, a folder or a URL.

IREE_VERSION=3.13.0
IREE_COMMIT=89ece87b89852100c0a4ac3d515e14842d090967
IREE_URL=https://github.com/iree-org/iree
# The wheel iree-base-compiler of that version: Linux x86-64 and arm64, macOS; Python 3.11, and 3.12 and later.
IREE_WHEELS="6e1f83dc404f5dcdd76354a869cbbb389bd3f93b4623096de3195799ceb323a7
d09d2ebd8955d3eeeab5677007c3d26830c8585c61a0e0ccdfc020b63c129e6f
21accf5c9eb352f39bc31fb1deea7701923d4ec65aa4ba7fcbd12e8ae0ce4dbb
230aec9b5d63c49f3f1ba228c35a7ce950075ce7b7780b786c85fa6fb0be3dbb
951f09f8b8843710a2c227449fdd1c3b5dcab3eb095cf24b617a670cb317212f
31143d2b12736b37e3ad197aeb65bb18ef42baa18eb78db1243f2d882c1e46ec"

iree_fail() { echo "setup-$target.sh: $*" >&2; exit 1; }

iree_compiler() { # the library, or nothing
  for file in "$folder"/tools/lib/python3*/site-packages/iree/compiler/_mlir_libs/libIREECompiler.*; do
    [ -f "$file" ] && echo "$file"
  done
}

# The last file of a tree that is written; it says what the tree was made from.
iree_stamp() { echo "$IREE_VERSION $IREE_COMMIT $drivers"; }
iree_is_made() { [ "$(cat "$folder/made-from" 2>/dev/null)" = "$(iree_stamp)" ] && [ -f "$folder/tree/lib/libiree_runtime_unified.a" ]; }

iree_info() {
  echo "IREE $IREE_VERSION, commit $IREE_COMMIT of ${IREE_SOURCE:-$IREE_URL}"
  echo "drivers: $drivers"
  echo "folder: $folder ($(iree_is_made && echo made || echo "not made"))"
  echo "wheels of iree-base-compiler, SHA-256:"
  echo "$IREE_WHEELS" | sed 's/^/  /'
}

iree_env() {
  iree_is_made || iree_fail "$folder has no tree yet: run scripts/iree/setup-$target.sh first"
  echo "export $variable='$folder/tree'"
  case $variable in
    *_HOME) echo "export ${variable%_HOME}_COMPILE='$(iree_compiler)'" ;;
    *) echo "export MLXCEL_XLA_IREE_COMPILE='$(iree_compiler)'" ;;
  esac
}

iree_pip() {
  "$folder/tools/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: "$@" ||
    iree_fail "the wheels of IREE's compiler, CMake and Ninja cannot be installed with pip (is there a network?)"
}

iree_tools() {
  [ -n "$(iree_compiler)" ] && [ -x "$folder/tools/bin/cmake" ] && return
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || iree_fail "IREE's compiler needs Python 3.11 or later"
  python3 -m venv "$folder/tools" || iree_fail "python3 -m venv failed: install python3-venv"
  { printf 'iree-base-compiler==%s' "$IREE_VERSION"
    for sum in $IREE_WHEELS; do printf ' --hash=sha256:%s' "$sum"; done
    echo
  } > "$folder/wheel.txt"
  iree_pip --no-deps --require-hashes -r "$folder/wheel.txt"
  iree_pip 'cmake>=3.26,<5' ninja
}

iree_source() {
  [ -f "$folder/src/.whole" ] && return
  command -v git > /dev/null || iree_fail "git is missing"
  rm -rf "$folder/src"
  git init --quiet "$folder/src"
  cd "$folder/src"
  git fetch --quiet --depth 1 "${IREE_SOURCE:-$IREE_URL}" "$IREE_COMMIT" ||
    iree_fail "commit $IREE_COMMIT cannot be fetched from ${IREE_SOURCE:-$IREE_URL} (is there a network?)"
  git checkout --quiet FETCH_HEAD
  # shellcheck disable=SC2046 # a list of paths
  git submodule --quiet update --init --depth 1 $(cat build_tools/scripts/git/runtime_submodules.txt) ||
    iree_fail "the submodules of IREE's runtime cannot be fetched (is there a network?)"
  touch .whole
}

iree_build() {
  set -- -DIREE_HAL_DRIVER_DEFAULTS=OFF
  for driver in $drivers; do set -- "$@" "-DIREE_HAL_DRIVER_$driver=ON"; done
  PATH="$folder/tools/bin:$PATH"
  if ! { cmake -G Ninja -S "$folder/src" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$folder/tree" -DCMAKE_INSTALL_LIBDIR=lib \
    -DIREE_BUILD_COMPILER=OFF -DIREE_BUILD_TESTS=OFF -DIREE_BUILD_SAMPLES=OFF -DIREE_BUILD_BENCHMARKS=OFF \
    -DIREE_BUILD_BINDINGS_TFLITE=OFF -DIREE_BUILD_BINDINGS_TFLITE_JAVA=OFF -DIREE_ENABLE_CPUINFO=OFF -DIREE_ENABLE_LIBBACKTRACE=OFF \
    -DIREE_HAL_EXECUTABLE_LOADER_VMVX_MODULE=OFF "$@" > "$folder/build.log" 2>&1 &&
    cmake --build "$folder/build" >> "$folder/build.log" 2>&1 &&
    cmake --build "$folder/build" --target iree-install-dev-libraries-runtime >> "$folder/build.log" 2>&1; }
  then
    iree_fail "IREE's runtime could not be built: $folder/build.log says why"
  fi
}

iree_main() {
  set -eu
  case ${1:-} in
    --info) iree_info; return ;;
    --env) iree_env; return ;;
    "") ;;
    *) echo "usage: setup-$target.sh [--env | --info]" >&2; exit 2 ;;
  esac
  if iree_is_made; then
    echo "setup-$target.sh: $folder/tree is there already" >&2
  else
    mkdir -p "$folder" || iree_fail "$folder cannot be made"
    iree_tools
    (iree_source)
    (iree_build)
    iree_stamp > "$folder/made-from"
  fi
  iree_env
}
