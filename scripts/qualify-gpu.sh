#!/bin/sh
# The rows of docs/qualification.md for a GPU, with wheels only. NVIDIA: no CUDA toolkit is needed, a driver for CUDA 13 is.
#
#   scripts/qualify-gpu.sh            NVIDIA: XLA on the GPU by the PJRT plugin jax-cuda13-pjrt, in f16 and in f32
#                                     macOS: the same as --mlx
#   scripts/qualify-gpu.sh --mlx      MLX on the GPU as well (CUDA by the wheel mlx-cuda-13, Metal by mlx-metal), in f16, bf16 and f32;
#                                     its tests there, and its speed
#   scripts/qualify-gpu.sh --cpu      tries this script without a GPU: MLX on its CPU device, rows go to build/qualify-gpu
#   scripts/qualify-gpu.sh ... --     what follows goes to scripts/qualify.py, for instance --checkpoint families
#
# Takes a few GB of wheels into build/qualify-gpu, the models' files (scripts/demo_model.py brings SmolLM2) and an hour or so.
# Where there is no GPU it says so, runs nothing and writes no row. Ends with 1 when a run differs from its reference or a
# test fails.
set -eu
cd "$(dirname "$0")/.."
mlx=no cpu=no
while [ $# -gt 0 ]; do
  case $1 in
    --mlx) mlx=yes ;;
    --cpu) cpu=yes mlx=yes ;;
    --) shift; break ;;
    *) echo "qualify-gpu.sh: $1 is none of --mlx, --cpu, --" >&2; exit 2 ;;
  esac
  shift
done
env=build/qualify-gpu
mkdir -p $env
if [ $cpu = yes ]; then
  kind=cpu device=cpu
  set -- --record $env/try.json "$@"
elif [ "$(uname -s)" = Darwin ]; then
  system_profiler SPDisplaysDataType 2>/dev/null | grep -E "Chipset Model|Metal" || true
  mlx=yes kind=metal device=gpu
elif gpus=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null) && [ -n "$gpus" ]; then
  echo "$gpus"
  kind=cuda device=gpu
else
  echo "qualify-gpu.sh: nvidia-smi finds no GPU on this machine: nothing was run, no row was written" >&2
  exit 1
fi
scripts/deps.sh

# References that are not there yet come from transformers; --cpu leaves out what would need them.
python=$env/bin/python
engines=
if [ $cpu = yes ]; then
  python=python3
else
  [ -x $python ] || python3 -m venv $env
  pip() { $python -m pip install --quiet --disable-pip-version-check --only-binary=:all: "$@"; }
  pip numpy torch transformers
fi
if [ $kind = cuda ]; then
  pip jax-cuda13-pjrt 'jax-cuda13-plugin[with-cuda]'   # the second brings NVIDIA's libraries
  packages=$(echo "$PWD"/$env/lib/python3*/site-packages)
  export MLXCEL_XLA_PJRT_PATH="$packages${MLXCEL_XLA_PJRT_PATH:+:$MLXCEL_XLA_PJRT_PATH}"
  engines="--engine pjrt:cuda@f16 --engine pjrt:cuda@f32"
fi
build=build/release
if [ $mlx = no ]; then
  scripts/build.sh release mlxcel families_test
else
  build=$env/build
  root=$(scripts/mlx.sh $kind)
  cmake --preset release -B $build -DCEL_MLX=ON -DMLX_ROOT="$root"
  cmake --build $build --target mlxcel families_test session_conform_test batch_test mlx_model_test
  engines="$engines --engine mlx:$device@f32"
  [ $cpu = yes ] || engines="$engines --engine mlx:$device@f16 --engine mlx:$device@bf16"
fi

failed=0
# shellcheck disable=SC2086 # words on purpose
$python scripts/qualify.py --program $build/mlxcel --python $python --jobs 2 $engines "$@" || failed=1
[ $mlx = yes ] || exit $failed

# f32 is f32: without this MLX multiplies it with fewer bits on some GPUs.
export MLXCEL_BACKEND=mlx MLXCEL_MLX_DEVICE=$device MLX_ENABLE_TF32=0
for test in conform/session_conform_test parity/batch_test mlx_model_test; do
  echo "tests/$test on MLX, $device"
  precision=f32
  [ $test != mlx_model_test ] || precision=   # chooses its own
  MLXCEL_MLX_PRECISION=$precision $build/tests/$test > $env/log 2>&1 || { failed=1; grep -E "FAILED|ERROR|error" $env/log || tail -n 5 $env/log; }
done
unset MLX_ENABLE_TF32
model=$($python scripts/qualify.py --path smollm2-135m) && $build/mlxcel bench -m "$model" -p 128 -n 32 || echo "no SmolLM2, no speed (scripts/demo_model.py)"
exit $failed
