#!/usr/bin/env python3
"""The library's symbols: shared exactly those of symbols.txt, static nothing without a prefix of this project.

    symbols.py NM SHARED STATIC LIST            compares
    symbols.py NM SHARED STATIC LIST --refresh  writes LIST anew (a removed line breaks programs: see ADR 0007)
"""
import subprocess
import sys


def names(nm, *flags_and_file):
    out = subprocess.run([nm, *flags_and_file], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    found = {r[2].split("@")[0] for r in rows if len(r) == 3 and r[1] in "TDBRVWCGSu"
             and not (r[1] in "WVu" and r[2].startswith(("_Z", "__Z", "DW.ref.")))}  # instances of C++ templates, in the MLX shim
    found = {n[1:] if n.startswith("_mlxcel") or n.startswith("_cel") else n for n in found}  # Mach-O
    return {n for n in found if not n.startswith(("__asan", "__odr_asan", "__ubsan", "__tsan", "__sanitizer", "__sancov"))}


def main():
    nm, shared, static, path = sys.argv[1:5]
    have = names(nm, "-D" if not shared.endswith(".dylib") else "-g", "--defined-only", shared)
    have.discard("MLXCEL_0")
    if sys.argv[5:] == ["--refresh"]:
        with open(path, "w", encoding="utf-8") as f:
            f.write("".join(n + "\n" for n in sorted(have)))
        return
    with open(path, encoding="utf-8") as f:
        want = set(f.read().split())
    found = ["%s is in symbols.txt and not in the library" % n for n in sorted(want - have)]
    found += ["%s is in the library and not in symbols.txt" % n for n in sorted(have - want)]
    inside = names(nm, "-g", "--defined-only", static)
    found += ["%s is visible in the static library without a prefix" % n for n in sorted(inside)
              if not n.startswith(("cel_", "mlxcel_"))]
    found += ["%s is not in the static library" % n for n in sorted(want - inside)]
    print("\n".join(found) or "%d symbols" % len(have))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
