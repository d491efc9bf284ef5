#!/bin/sh
# Brings MLX's C++ headers and library and prints the folder for MLX_ROOT; CMake finds it there by itself. Done at once when
# it is there already.
#
#   scripts/mlx.sh         for this machine: Metal on macOS, else the CPU
#   scripts/mlx.sh cuda    for NVIDIA GPUs: the library, and NVIDIA's own that it needs (gigabytes)
#
# They come from the wheels mlx-metal, mlx-cpu, mlx-cuda-13 and go to deps/mlx-VERSION-KIND of the cache folder
# (MLXCEL_CACHE_DIR, else ~/.cache/mlxcel). Where that fails: one line on stderr, exit 1.
set -eu
cd "$(dirname "$0")/.."
VERSION=0.32.4   # cmake/Mlx.cmake takes 0.32 and newer
kind=${1:-cpu}
if [ "$(uname -s)" = Darwin ]; then kind=metal; fi
case $kind in
  cpu | metal) wheel=mlx-$kind more=--no-deps ;;
  cuda) wheel=mlx-cuda-13 more= ;;
  *) echo "mlx.sh: $kind is none of cpu, cuda" >&2; exit 2 ;;
esac
cache=${MLXCEL_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mlxcel}
folder=$cache/deps/mlx-$VERSION-$kind
if [ ! -f "$folder/mlx/include/mlx/version.h" ]; then
  mkdir -p "$cache/deps"
  fresh=$(mktemp -d "$cache/deps/new-XXXXXX")
  # A python that has pip: the system's own may come without.
  if ! { python3 -m venv "$fresh/python" && "$fresh/python/bin/python" -m pip install --quiet --disable-pip-version-check \
         $more --only-binary=:all: --target "$fresh/wheels" "$wheel==$VERSION"; } > "$fresh/log" 2>&1; then
    echo "mlx.sh: the wheel $wheel $VERSION cannot be installed: $(tail -n 1 "$fresh/log")" >&2
    rm -rf "$fresh"
    exit 1
  fi
  rm -rf "$folder"
  mv "$fresh/wheels" "$folder"
  rm -rf "$fresh"
fi
echo "$folder/mlx"
