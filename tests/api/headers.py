#!/usr/bin/env python3
"""Every public header compiles alone, as C11, C17 and (with a C++ compiler at hand) C++11 to C++20, with all warnings.

    headers.py CC INCLUDE
"""
import os
import shutil
import subprocess
import sys

FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only"]
CXX = {"gcc": "g++", "cc": "c++", "clang": "clang++"}


def compile_alone(compiler, language, standard, include, header):
    source = "#include <mlxcel/%s>\n#include <mlxcel/%s>\nextern int no_empty_unit;\n" % (header, header)
    command = [compiler, "-x", language, "-std=" + standard, "-I" + include, *FLAGS, "-"]
    if language == "c":
        command[1:1] = ["-Wstrict-prototypes", "-Wmissing-prototypes"]
    r = subprocess.run(command, input=source, capture_output=True, text=True)
    return None if r.returncode == 0 else "%s as %s:\n%s" % (header, standard, r.stderr)


def cxx_of(cc):
    folder, name = os.path.split(cc)
    for c, cxx in CXX.items():
        if name.startswith(c):
            return shutil.which(os.path.join(folder, cxx + name[len(c):])) or shutil.which("c++")
    return shutil.which("c++")


def main():
    cc, include = sys.argv[1:]
    headers = sorted(os.listdir(os.path.join(include, "mlxcel")))
    runs = [(cc, "c", "c11"), (cc, "c", "c17")]
    cxx = cxx_of(cc)
    if cxx:
        runs += [(cxx, "c++", s) for s in ("c++11", "c++17", "c++20")]
    else:
        print("no C++ compiler: the headers were compiled as C only")
    found = [compile_alone(*run, include, h) for run in runs for h in headers]
    found += ["%s is not in mlxcel.h" % h for h in headers if h not in ("mlxcel.h", "export.h") and
              "<mlxcel/%s>" % h not in open(os.path.join(include, "mlxcel", "mlxcel.h"), encoding="utf-8").read()]
    found = [f for f in found if f]
    print("\n".join(found) or "%d headers, %d ways each" % (len(headers), len(runs)))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
