#!/usr/bin/env python3
"""compare.py FILE PROGRAM: fails when FILE is not what PROGRAM prints."""
import difflib
import subprocess
import sys

path, program = sys.argv[1:]
with open(path, encoding="utf-8") as f:
    have = f.read()
want = subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout.decode("utf-8")
sys.stdout.writelines(difflib.unified_diff(have.splitlines(True), want.splitlines(True), path, "what it should be"))
if have != want:
    sys.exit("%s is stale: run `make docs`" % path)
