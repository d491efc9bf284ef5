#!/usr/bin/env python3
"""The parity set on an engine of choice: tokens and logits of the committed oracles, in f32.

    engines.py FAMILIES_TEST DEVICE [--only ID,ID...] [--chunk N] [--jobs N] [--table FILE]

FAMILIES_TEST is the program of that name, DEVICE a value of MLXCEL_XLA_DEVICE ("pjrt:cpu", "pjrt:cuda",
"iree:local-sync").
Each folder of tests/data/oracle (or those of --only) runs in a process of its own, its prompts N tokens at a time where
--chunk says so: an engine that takes seconds for a program then needs two of them for a model (2). Prints TAP; --table appends a row of
Markdown with the counts. A plugin of Python packages is looked for beside MLXCEL_TEST_PYTHON, too (scripts/test_env.sh).
Skips with 77 where there is no such device.
"""
import argparse
import concurrent.futures
import datetime
import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import plugins  # noqa: E402

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "oracle")


def environment(device):
    if device == "mlx":
        return dict(os.environ, MLXCEL_BACKEND="mlx")
    return plugins.beside_test_python(dict(os.environ, MLXCEL_XLA_DEVICE=device))


def folders():
    """Every folder's name, and NAME:ADAPTER for its oracle.ADAPTER.json."""
    names = []
    for path in glob.glob(os.path.join(DATA, "*", "oracle*.json")):
        adapter = os.path.basename(path).split(".")[1:-1]
        names.append(":".join([os.path.basename(os.path.dirname(path))] + adapter))
    return sorted(names)


def is_missing(said):
    return "no PJRT plugin is installed" in said or "IREE's compiler is not installed" in said


def run(program, folder, env, chunk):
    """(it passed, what it said)"""
    try:
        ran = subprocess.run([program, folder, "f32", str(chunk)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", env=env, timeout=1500)
    except subprocess.TimeoutExpired:
        return False, "no end within 25 minutes"
    errors = [line for line in ran.stdout.splitlines() if line.startswith("ERROR")]
    return ran.returncode == 0, (errors or [ran.stdout.strip()[-300:]])[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("device")
    parser.add_argument("--only", default="")
    parser.add_argument("--chunk", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--table")
    a = parser.parse_args()
    names, env = a.only.split(",") if a.only else folders(), environment(a.device)
    if "MLXCEL_CACHE_DIR" not in os.environ:  # what is compiled here is not kept
        cache = tempfile.TemporaryDirectory()
        env["MLXCEL_CACHE_DIR"] = cache.name
    ok, said = run(a.program, names[0], env, a.chunk)
    if not ok and is_missing(said):
        print("skipped: " + said)
        sys.exit(77)
    passed = 0
    print("1..%d" % len(names), flush=True)
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        first = [(ok, said)]
        rest = pool.map(lambda name: run(a.program, name, env, a.chunk), names[1:])
        for i, (fine, text) in enumerate(x for part in (first, rest) for x in part):
            passed += fine
            print("%sok %d - %s on %s%s" % ("" if fine else "not ", i + 1, names[i], a.device, "" if fine else ": " + text), flush=True)
    print("# %d of %d oracles equal on %s" % (passed, len(names), a.device))
    if a.table:
        with open(a.table, "a") as f:
            f.write("| %s | f32 | %d of %d | 64 each, and logits | %s |\n" % (a.device, passed, len(names), datetime.date.today()))
    sys.exit(0 if passed == len(names) else 1)


if __name__ == "__main__":
    main()
