#!/usr/bin/env python3
"""The scripts that make trees of IREE's runtime, as far as they go without a network: what they say, and that a tree that is
there is left alone.

    setup.py SCRIPTS WORK
"""
import os
import re
import shutil
import subprocess
import sys

TREES = {"cpu": ("IREE_DIST", "MLXCEL_IREE_DIR", "MLXCEL_XLA_IREE_COMPILE"),
         "cuda": ("IREE_CUDA_HOME", "MLXCEL_IREE_CUDA_DIR", "IREE_CUDA_COMPILE"),
         "macos": ("IREE_MACOS_HOME", "MLXCEL_IREE_MACOS_DIR", "IREE_MACOS_COMPILE"),
         "rocm": ("IREE_ROCM_HOME", "MLXCEL_IREE_ROCM_DIR", "IREE_ROCM_COMPILE")}
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def run(script, words, variables):
    ran = subprocess.run([script] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                         env=dict(os.environ, **variables))
    return ran.returncode, ran.stdout, ran.stderr.strip()


def put(path, text=""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def check(script, target, work):
    home, folder_variable, compiler_variable = TREES[target]
    folder = os.path.join(work, "a folder of " + target)
    variables = {folder_variable: folder, "PIP_NO_INDEX": "1", "IREE_SOURCE": "/nowhere"}
    name = os.path.basename(script)
    code, info, err = run(script, ["--info"], variables)
    pins = re.match(r"IREE (\S+), commit ([0-9a-f]{40}) of /nowhere\ndrivers: (.+)\nfolder: (.+) \(not made\)\n", info)
    expect(code == 0 and pins, "%s --info: %d %s %s" % (name, code, info, err))
    expect(len(re.findall(r"^  [0-9a-f]{64}$", info, re.M)) == 6, name + " --info names six checksums of wheels")
    if not pins:
        return
    expect(run(script, ["--env"], variables) == (1, "", "%s: %s has no tree yet: run scripts/iree/%s first" % (name, folder, name)),
           name + " --env without a tree")
    code, out, err = run(script, ["--frobnicate"], variables)
    expect((code, out) == (2, "") and err.startswith("usage: " + name), "%s --frobnicate: %d %s" % (name, code, err))
    if target == "cpu":  # a Python environment takes a while to make
        code, out, err = run(script, [], variables)
        want = "%s: the wheels of IREE's compiler, CMake and Ninja cannot be installed with pip (is there a network?)" % name
        expect(code == 1 and not out and err.splitlines()[-1:] == [want], "%s without a network: %d %s" % (name, code, err))
        shutil.rmtree(folder, ignore_errors=True)
        put(os.path.join(folder, "tools/bin/cmake"))
        os.chmod(os.path.join(folder, "tools/bin/cmake"), 0o755)
        put(os.path.join(folder, "tools/lib/python3.11/site-packages/iree/compiler/_mlir_libs/libIREECompiler.so"))
        code, out, err = run(script, [], variables)
        want = "%s: commit %s cannot be fetched from /nowhere (is there a network?)" % (name, pins.group(2))
        expect(code == 1 and not out and err.splitlines()[-1:] == [want], "%s without a source: %d %s" % (name, code, err))
    compiler = os.path.join(folder, "tools/lib/python3.11/site-packages/iree/compiler/_mlir_libs/libIREECompiler.so")
    put(compiler)
    put(os.path.join(folder, "tree/lib/libiree_runtime_unified.a"))
    put(os.path.join(folder, "made-from"), " ".join(pins.groups()[:3]) + "\n")
    exports = "export %s='%s/tree'\nexport %s='%s'\n" % (home, folder, compiler_variable, compiler)
    expect(run(script, ["--env"], variables) == (0, exports, ""), "%s --env: %s" % (name, run(script, ["--env"], variables)))
    expect(run(script, [], variables) == (0, exports, "%s: %s/tree is there already" % (name, folder)), name + " with a tree")
    put(os.path.join(folder, "made-from"), "1.0 older\n")
    expect(run(script, ["--env"], variables)[0] == 1, name + " --env with an older tree")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    scripts, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    if not shutil.which("git"):
        print("skipped: git is not installed")
        sys.exit(77)
    shutil.rmtree(work, ignore_errors=True)
    for target in TREES:
        check(os.path.join(scripts, "setup-%s.sh" % target), target, work)
    shutil.rmtree(work, ignore_errors=True)
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
