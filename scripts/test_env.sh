#!/bin/sh
# Makes build/test-env, a Python environment with the packages of tests/requirements.txt, and prints the path
# of its python. Done at once when it is there already. Where it cannot be made: one line on stderr, exit 1;
# the tests that need it then skip.
set -eu
cd "$(dirname "$0")/.."
folder=build/test-env
stamp="$folder/.made-from"
want=$(python3 -V; cksum < tests/requirements.txt)
if [ ! -x $folder/bin/python ] || [ "$(cat $stamp 2>/dev/null)" != "$want" ]; then
  rm -rf $folder
  log=$(mktemp)
  if ! { python3 -m venv $folder && $folder/bin/python -m pip install --quiet --disable-pip-version-check \
         --no-deps --only-binary=:all: -r tests/requirements.txt; } > "$log" 2>&1; then
    echo "test_env.sh: the packages of tests/requirements.txt cannot be installed: $(tail -n 1 "$log")" >&2
    rm -rf $folder "$log"
    exit 1
  fi
  rm -f "$log"
  echo "$want" > $stamp
fi
echo "$PWD/$folder/bin/python"
