#!/usr/bin/env python3
"""Fails when anything but base/env.c reads the environment, or the table names a variable twice: check_env.py SRC"""
import os
import re
import sys

READS = re.compile(r"\b(getenv|secure_getenv|getenv_s|setenv|putenv|unsetenv|environ|_NSGetEnviron)\b")
MAY = {"base/env.c": "getenv", "base/process.c": "environ"}  # the latter hands all of it on to a program it starts
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.S)


def main():
    src, bad = sys.argv[1], []
    for folder, _, names in os.walk(src):
        for name in sorted(names):
            path = os.path.join(folder, name)
            at = os.path.relpath(path, src).replace(os.sep, "/")
            if not name.endswith((".c", ".h", ".cc")):
                continue
            with open(path, encoding="utf-8") as f:
                text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), f.read())
            for m in READS.finditer(text):
                if not (at in MAY and (m[1] == MAY[at] or at == "base/process.c" and m[1] in ("environ", "_NSGetEnviron"))):
                    bad.append("src/%s:%d: %s: variables are read with cel_env (base/env.def)" % (at, text.count("\n", 0, m.start()) + 1, m[1]))
    with open(os.path.join(src, "base", "env.def"), encoding="utf-8") as f:
        table = f.read()
    names = re.findall(r'CEL_ENV\((\w+), "(\w+)"', table)
    if len(names) < 20:
        bad.append("src/base/env.def: %d rows were found" % len(names))
    for name in {n for _, n in names}:
        if sum(n == name for _, n in names) > 1 and name != "MLXCEL_BACKEND":  # that one has a row for each kind of build
            bad.append("src/base/env.def: %s has more than one row" % name)
    print("\n".join(bad) or "the environment is read in base/env.c alone, %d variables" % len({n for _, n in names}))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
