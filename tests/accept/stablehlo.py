#!/usr/bin/env python3
"""StableHLO's own self-checking programs on one engine after the other, and a table of what came of them.

    stablehlo.py ENGINE_PROGRAMS [--devices native,pjrt:cpu,iree:local-sync] [--every N] [--log FILE] FILE_OR_FOLDER...
    stablehlo.py --self-test ENGINE_PROGRAMS

ENGINE_PROGRAMS is the program of that name of a build that has the engines. The programs are stablehlo/tests/interpret and
stablehlo/testdata of a clone of openxla/stablehlo; --every N takes each N-th file. Prints a row of Markdown per device: functions
that passed, that were refused (by our reader, or by the engine), that computed something else, that ended the process. --log
gets the line of every function. A plugin or compiler of Python packages is looked for beside MLXCEL_TEST_PYTHON, too.
"""
import argparse
import collections
import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import plugins  # noqa: E402

OUTCOMES = ["passed", "refused", "wrong", "died"]


def environment(device):
    return plugins.beside_test_python(dict(os.environ, MLXCEL_XLA_DEVICE=device))


def files_of(paths):
    files = []
    for path in paths:
        files += sorted(glob.glob(os.path.join(path, "*.mlir"))) if os.path.isdir(path) else [path]
    return files


def run(program, device, files):
    """[(outcome, where, why)], one per function"""
    ran = subprocess.run([program] + files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                         env=environment(device))
    if ran.returncode != 0:
        sys.exit("%s: %s" % (device, ran.stderr.strip().splitlines()[-1:]))
    # Engines have been seen to write to stdout themselves.
    return [tuple(line.split("\t", 2)) for line in ran.stdout.splitlines() if line.split("\t", 1)[0] in OUTCOMES]


def count(results):
    counts = collections.Counter(r[0] for r in results)
    return [counts[o] for o in OUTCOMES]


SELF_TEST = """func.func @right() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  check.expect_eq_const %1, dense<[2.0, 4.0]> : tensor<2xf32>
  check.expect_almost_eq_const %1, dense<[2.00001, 4.0]> : tensor<2xf32>
  func.return
}
func.func @helper(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  func.return %arg0 : tensor<2xf32>
}
func.func @wrong() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = func.call @helper(%0) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %1, dense<[1.0, 2.5]> : tensor<2xf32>
  func.return
}
// -----
func.func @without_checks() {
  func.return
}
// -----
func.func @unread(%arg0: tensor<?xf32>) {
  func.return
}
"""
SELF_TEST_WANT = [("passed", "1 @right", ""), ("wrong", "1 @wrong", "element [1]"), ("refused", "18 @without_checks", "no checks"),
                  ("refused", "22 @-", "dynamic")]


def self_test(program):
    """The native engine on four functions of known outcome."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.mlir")
        with open(path, "w") as f:
            f.write(SELF_TEST)
        results = run(program, "native", [path])
    failed = len(results) != len(SELF_TEST_WANT)
    for (outcome, where, why), (want, place, words) in zip(results, SELF_TEST_WANT):
        good = outcome == want and where.endswith("p.mlir:" + place) and words in why
        print("%sok - %s %s %s" % ("" if good else "not ", outcome, where, why))
        failed = failed or not good
    sys.exit(1 if failed else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--devices", default="native,pjrt:cpu,iree:local-sync")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--log")
    parser.add_argument("paths", nargs="*")
    a = parser.parse_intermixed_args()
    if a.self_test:
        self_test(a.program)
    files = files_of(a.paths)[::a.every]
    if not files:
        parser.error("no programs")
    print("| device | functions | %s |\n|---|---|%s" % (" | ".join(OUTCOMES), "---|" * len(OUTCOMES)), flush=True)
    for device in a.devices.split(","):
        results = run(a.program, device, files)
        print("| %s | %d | %s |" % (device, len(results), " | ".join(map(str, count(results)))), flush=True)
        if a.log:
            with open(a.log, "a") as f:
                f.writelines("%s\t%s\n" % (device, "\t".join(r)) for r in results)


if __name__ == "__main__":
    main()
