#!/usr/bin/env python3
"""The program on CPUs it was not built on: cpus.py PROGRAM DATA

Runs under qemu-x86_64 as a CPU without AVX and as one without AVX-512: the reference's tokens, by the kernels that
CPU can run, and no illegal instruction. Output is TAP."""
import json
import os
import platform
import shutil
import subprocess
import sys

CPUS = [("Nehalem", "scalar"), ("Haswell", "avx2")]


def main():
    program, data = sys.argv[1:3]
    qemu = shutil.which("qemu-x86_64")
    if platform.machine() != "x86_64" or not qemu:
        print("skipped: needs an x86-64 machine with qemu-x86_64")
        sys.exit(77)
    if os.environ.get("CEL_TEST_SANITIZED") == "1":
        print("skipped: sanitizers do not run under qemu")
        sys.exit(77)
    model = os.path.join(data, "oracle", "llama3")
    with open(os.path.join(model, "oracle.json"), encoding="utf-8") as f:
        case = json.load(f)["cases"][0]
    want = case["greedy"][:6]
    words = ["generate", "-m", model, "--ids", ",".join(map(str, case["ids"])), "-n", str(len(want)), "--temp", "0", "-c", "256",
             "--ignore-eos", "--json"]
    env = dict(os.environ, MLXCEL_XLA_PRECISION="f32")
    failed = 0
    for n, (cpu, isa) in enumerate(CPUS, 1):
        p = subprocess.run([qemu, "-cpu", cpu, program] + words, capture_output=True, timeout=500, env=env)
        reply = json.loads(p.stdout or b"{}")
        good = p.returncode == 0 and reply.get("ids") == want and reply.get("isa") == isa
        failed += not good
        print("%s %d - %s: the reference's tokens by %s kernels" % ("ok" if good else "not ok", n, cpu, isa))
        if not good:
            print("# status %d, ids %r, want %r, isa %r" % (p.returncode, reply.get("ids"), want, reply.get("isa")))
            print("# " + p.stderr.decode("utf-8", "replace").replace("\n", "\n# "))
    print("1..%d" % len(CPUS))
    sys.exit(1 if failed else 0)


main()
