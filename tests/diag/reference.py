#!/usr/bin/env python3
"""The values of a graph against those of transformers (tests/data/taps, made by scripts/reference_taps.py): reference.py MLXCEL DATA [ENGINE]

Two families, f32, every value that both have. Output is TAP."""
import json
import os
import subprocess
import sys


def main():
    program, data, engine = sys.argv[1:3] + (sys.argv[3:] or ["native"])
    failed, models = 0, sorted(os.listdir(os.path.join(data, "taps")))
    print("1..%d" % len(models))
    for i, model in enumerate(models):
        reference = os.path.join(data, "taps", model)
        p = subprocess.run([program, "diff", "-m", os.path.join(data, "oracle", model), "--ref", reference, "--engine", engine,
                            "--precision", "f32", "--json"], capture_output=True, text=True, timeout=300)
        if p.returncode and "MLXCEL_XLA_IREE_COMPILE" in p.stderr:
            print("skipped: " + p.stderr.strip())
            sys.exit(77)
        report = json.loads(p.stdout or "{}")
        with open(os.path.join(reference, "taps.json"), encoding="utf-8") as f:
            names = {t["name"] for t in json.load(f)["taps"]}
        seen = {v["name"] for v in report.get("values", [])}
        fine = p.returncode == 0 and report.get("passed") and seen == names and len(names) > 20
        failed += not fine
        print("%sok %d - %s: %d values of transformers%s" % ("" if fine else "not ", i + 1, model, len(seen), "" if fine else "; %s %s %s" % (
            p.stderr.strip(), report.get("first_difference"), sorted(names - seen))))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
