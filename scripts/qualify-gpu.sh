#!/bin/sh
# The rows of docs/qualification.md for an NVIDIA GPU, with wheels only: no CUDA toolkit is needed, a driver for CUDA 13 is.
#
#   scripts/qualify-gpu.sh            XLA on the GPU by the PJRT plugin jax-cuda13-pjrt, in f16 and in f32
#   scripts/qualify-gpu.sh --mlx      MLX on the GPU as well (mlx-cuda-13)
#   scripts/qualify-gpu.sh ... --     what follows goes to scripts/qualify.py, for instance --checkpoint families
#
# Takes a few GB of wheels into build/qualify-gpu, the models' files (scripts/demo_model.py brings SmolLM2) and an hour or so.
# Where there is no GPU it says so, runs nothing and writes no row.
set -eu
cd "$(dirname "$0")/.."
mlx=no
while [ $# -gt 0 ]; do
  case $1 in
    --mlx) mlx=yes ;;
    --) shift; break ;;
    *) echo "qualify-gpu.sh: $1 is none of --mlx, --" >&2; exit 2 ;;
  esac
  shift
done
if ! gpus=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null) || [ -z "$gpus" ]; then
  echo "qualify-gpu.sh: nvidia-smi finds no GPU on this machine: nothing was run, no row was written" >&2
  exit 1
fi
echo "$gpus"

env=build/qualify-gpu
python=$env/bin/python
[ -x $python ] || python3 -m venv $env
pip() { $python -m pip install --quiet --disable-pip-version-check --only-binary=:all: "$@"; }
pip jax-cuda13-pjrt 'jax-cuda13-plugin[with-cuda]' numpy   # the second brings NVIDIA's libraries
pip torch transformers                                     # for references that are not there yet
packages=$(echo "$PWD"/$env/lib/python3*/site-packages)
engines="--engine pjrt:cuda@f16 --engine pjrt:cuda@f32"
program=build/release/mlxcel
if [ $mlx = yes ]; then
  pip 'mlx[cuda13]'
  cmake --preset release -B build/qualify-gpu-mlx -DCEL_MLX=ON -DMLX_ROOT="$packages/mlx"
  cmake --build build/qualify-gpu-mlx --target mlxcel families_test
  program=build/qualify-gpu-mlx/mlxcel
  engines="$engines --engine mlx:gpu@f16 --engine mlx:gpu@f32"
else
  scripts/build.sh release mlxcel families_test
fi
MLXCEL_XLA_PJRT_PATH=$packages${MLXCEL_XLA_PJRT_PATH:+:$MLXCEL_XLA_PJRT_PATH}
export MLXCEL_XLA_PJRT_PATH
# shellcheck disable=SC2086
exec $python scripts/qualify.py --program $program --python $python --jobs 2 $engines "$@"
