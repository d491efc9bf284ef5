#!/bin/sh
# Runs every fuzzer of tests/fuzz for a while: scripts/fuzz.sh [SECONDS-EACH [NAME...]]
# Starts from the committed corpus and the words of tests/fuzz/dict; what is found new stays in build/fuzz/corpus, a crash beside it.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-30}
[ $# -eq 0 ] || shift
scripts/build.sh fuzz
if [ $# -eq 0 ]; then
  for source in tests/fuzz/*_fuzz.c; do
    name=${source##*/}
    set -- "$@" "${name%_fuzz.c}"
  done
fi
failed=
for name in "$@"; do
  program=build/fuzz/tests/fuzz/${name}_fuzz
  [ -x "$program" ] || { echo "fuzz.sh: there is no fuzzer $name" >&2; exit 2; }
  mkdir -p "build/fuzz/corpus/$name"
  echo "== $name, $seconds s"
  dict=tests/fuzz/dict/$name.dict
  [ -f "$dict" ] && dict="-dict=$dict" || dict=
  "$program" ${dict:+"$dict"} -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -artifact_prefix="build/fuzz/$name-" -verbosity=0 \
    -print_final_stats=1 "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" || failed="$failed $name"
done
if [ -n "$failed" ]; then
  echo "fuzz.sh: failed:$failed (the inputs are in build/fuzz)" >&2
  exit 1
fi
