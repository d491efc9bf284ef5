#!/usr/bin/env python3
"""The micro oracle on an engine that may not be there: micro.py MLXCEL ENGINE. Output is TAP; skips with 77 where it is not."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import plugins  # noqa: E402

MISSING = ("no PJRT plugin is installed", "MLXCEL_XLA_IREE_COMPILE")


def main():
    program, engine = sys.argv[1:3]
    env = plugins.beside_test_python(dict(os.environ))
    p = subprocess.run([program, "xla", "micro-oracle", "--engine", engine, "--json"], capture_output=True, text=True, env=env, timeout=500)
    said = p.stderr + p.stdout
    if p.returncode and any(word in said for word in MISSING):
        print("skipped: no engine %s: %s" % (engine, p.stderr.strip() or "its compiler is not installed"))
        sys.exit(77)
    probes = json.loads(p.stdout or "[]")
    failed = 0 if probes else 1
    print("1..%d" % len(probes))
    for i, probe in enumerate(probes):
        fine = probe["passed"] and not probe["production_qualified"] and not probe["candidate"]["algorithm_observed"]
        failed += not fine
        print("%sok %d - %s on %s%s" % ("" if fine else "not ", i + 1, probe["probe"], engine, "" if fine else ": %s" % (probe["error"] or probe["comparison"])))
    sys.exit(1 if failed or p.returncode else 0)


if __name__ == "__main__":
    main()
