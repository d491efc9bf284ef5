#!/bin/sh
# Makes tests/data/oracle anew: scripts/oracle.sh [ID...]
# PYTHON names the interpreter of an environment with tests/oracle/requirements.txt; LLAMA_CPP, when set, a source tree of
# llama.cpp, whose converter writes the GGUF files of families.
set -eu
cd "$(dirname "$0")/../tests/oracle"
python=${PYTHON:-python3}
"$python" -c 'import gguf, mlx.core, safetensors, torch, transformers' || {
  echo "oracle.sh: install tests/oracle/requirements.txt first, and say PYTHON=<its python>" >&2
  exit 2
}
if [ $# -gt 0 ]; then
  exec "$python" make_tiny.py "$@"
fi
"$python" make_tiny.py
"$python" make_twins.py
if [ -n "${LLAMA_CPP:-}" ]; then
  "$python" make_gguf.py
fi
