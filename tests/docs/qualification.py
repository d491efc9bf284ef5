#!/usr/bin/env python3
"""docs/qualification.md is what scripts/qualify.py makes of docs/qualification.json, whose rows are whole: qualification.py ROOT"""
import importlib.util
import os
import re
import sys


def main():
    root = sys.argv[1]
    spec = importlib.util.spec_from_file_location("qualify", os.path.join(root, "scripts", "qualify.py"))
    qualify = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(qualify)
    rows = qualify.read_record(qualify.RECORD)
    bad = [] if rows else ["docs/qualification.json has no rows"]
    seen = set()
    for r in rows:
        key = tuple(r[k] for k in qualify.KEY)
        if key in seen:
            bad.append("two rows of %s" % (key,))
        seen.add(key)
        whole = r["checkpoint"] in qualify.CHECKPOINTS and r["tokens"] > 0 and 0 <= r["equal"] <= r["tokens"]
        if not whole or (r["result"] == "equal") != (r["equal"] == r["tokens"]) or not re.fullmatch(r"\d{4}-\d\d-\d\d", r["date"]):
            bad.append("a row that cannot be: %s" % r)
    with open(qualify.page_of(qualify.RECORD), encoding="utf-8") as f:
        if f.read() != qualify.page(rows):
            bad.append("docs/qualification.md is stale: run scripts/qualify.py --write")
    print("\n".join(bad) or "%d rows" % len(rows))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
