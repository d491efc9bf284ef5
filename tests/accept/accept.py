#!/usr/bin/env python3
"""Other projects' tools on the text that the emitter writes: do they take it, and do they compute the same?

    accept.py iree GOLDENS CASES WORK            IREE's compiler and runtime (iree-compile, iree-run-module)
    accept.py xla  GOLDENS CASES WORK PJRT       XLA through its PJRT plugin for CPUs (PJRT: pjrt_accept)

GOLDENS is tests/golden, CASES the program accept_cases, WORK a folder to write into. Every golden module is compiled.
Logits are compared with the reference's (tests/data/oracle), the values of packed weights with the vectors in
tests/data/quant. XLA runs all of them. IREE's compiler takes eight seconds for one, so it goes all the way to machine
code, and runs, where family, storage or entry differ (RUN_BY_IREE), and elsewhere through its reader of StableHLO; with
MLXCEL_TEST_WHOLE=1 all of them go all the way.

The tools come from tests/requirements.txt; MLXCEL_TEST_PYTHON names a python that has them (scripts/test_env.sh).
Prints TAP. Skips with 77 where the tools are missing.
"""
import array
import glob
import os
import subprocess
import sys

RUN_BY_IREE = {"llama3.prefill", "llama3.decode", "qwen3.prefill", "gemma3.prefill", "llama3-q4g64.prefill",
               "llama-gguf.prefill", "dsv2.prefill", "mixtral.prefill", "gptoss-mxfp4.prefill", "lfm2.prefill", "lfm2.decode",
               "qwen3next.prefill", "qwen3next.decode"}
IREE_COMPILE = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                "--iree-llvmcpu-target-cpu=host", "--iree-llvmcpu-debug-symbols=false"]
# Both tools take f32 numbers below 2**-126 for zero. The scales of the micro float formats reach 2**-127; what they
# are multiplied with is at most 448.
FLUSHED = 448 * 2.0 ** -126


class Refused(Exception):
    pass


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def run(command):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if ran.returncode != 0:
        raise Refused("%s ended with %d: %s" % (os.path.basename(command[0]), ran.returncode, ran.stdout.strip()[:1500]))
    return ran.stdout


class Iree:
    """compile() gives a program, run() writes its results to OUT.0, OUT.1, ..."""

    def __init__(self, python, work):
        tools = os.path.dirname(python)
        self.compiler, self.runner = (os.path.join(tools, name) for name in ("iree-compile", "iree-run-module"))
        self.work = work
        for tool in (self.compiler, self.runner):
            if not os.path.exists(tool):
                skip("no %s beside MLXCEL_TEST_PYTHON" % os.path.basename(tool))

    def runs(self, case):
        return case == "dequant" or case in RUN_BY_IREE or os.environ.get("MLXCEL_TEST_WHOLE") == "1"

    def compile(self, case, module):
        program = os.path.join(self.work, case + ".vmfb")
        how = IREE_COMPILE + ([] if self.runs(case) else ["--compile-to=input"])
        run([self.compiler, module, "-o", program] + how)
        return program

    def run(self, program, arguments, out, results):
        run([self.runner, "--device=local-sync", "--module=" + program, "--function=main"]
            + ["--input=" + a for a in arguments] + ["--output=@%s.%d" % (out, k) for k in range(results)])


class Xla:
    """A module is compiled when it runs, and every one runs."""

    def __init__(self, python, pjrt):
        ask = "import lammps_jax_pjrt_cpu as p; print(p.PLUGIN_PATH)"
        found = subprocess.run([python, "-c", ask], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.plugin, self.pjrt = found.stdout.strip(), pjrt
        if found.returncode != 0 or not os.path.exists(self.plugin):
            skip("MLXCEL_TEST_PYTHON has no lammps_jax_pjrt_cpu, which holds XLA's plugin")

    def runs(self, case):
        return True

    def compile(self, case, module):
        return module

    def run(self, program, arguments, out, results):
        run([self.pjrt, self.plugin, "run", program, out] + arguments)


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def check(self, what, action):
        """Runs action(), which says what it found or raises Refused. True when that went well."""
        self.n += 1
        try:
            found = action()
            print("ok %d - %s%s" % (self.n, what, ": " + found if found else ""), flush=True)
            return True
        except Refused as why:
            self.failed += 1
            print("not ok %d - %s: %s" % (self.n, what, str(why).replace("\n", "\n# ")), flush=True)
            return False


def floats(path):
    values = array.array("f")
    with open(path, "rb") as f:
        values.frombytes(f.read())
    if sys.byteorder != "little":
        values.byteswap()
    return values


def lines_of(path):
    with open(path) as f:
        return f.read().splitlines()


def compare(got, want, allowed):
    """`allowed`(k): the largest difference at k. Results may go on beyond `want`: rows of padding."""
    if len(got) < len(want):
        raise Refused("%d values, not %d" % (len(got), len(want)))
    worst = 0.0
    for k, w in enumerate(want):
        d = abs(got[k] - w)
        if not d <= allowed(k):
            raise Refused("value %d is %.9g, the reference has %.9g" % (k, got[k], w))
        worst = max(worst, d)
    return "largest difference %.2g" % worst


def check_model(tap, tool, model, golden_of, work):
    """The prefill, then the decode over the states it left: as many as there are results beside the logits."""
    tolerance = float(lines_of(os.path.join(work, model + ".tolerance"))[0])
    prefill = os.path.join(work, model + ".prefill.out")
    results = 1 + sum("{prefill}" in a for a in lines_of(os.path.join(work, model + ".decode.args")))
    alive = True
    for entry in ("prefill", "decode"):
        case = "%s.%s" % (model, entry)
        if not tool.runs(case):
            tap.check(case + " is accepted", lambda: tool.compile(case, golden_of[case]) and None)
            continue
        out = os.path.join(work, case + ".out")
        arguments = [a.replace("{prefill}", prefill) for a in lines_of(os.path.join(work, case + ".args"))]

        def action():
            if not alive:
                tool.compile(case, golden_of[case])
                raise Refused("not run: the prefill whose caches it takes failed")
            tool.run(tool.compile(case, golden_of[case]), arguments, out, results)
            return compare(floats(out + ".0"), floats(os.path.join(work, case + ".want")), lambda k: tolerance)

        alive = tap.check(case + " is accepted and equals the reference", action)


def check_dequant(tap, tool, work):
    """Every value within two roundings of the largest one of its 16: compilers contract q * scale + bias."""
    names = [line.split(" ", 1) for line in lines_of(os.path.join(work, "dequant.names"))]
    out = os.path.join(work, "dequant.out")

    def run_all():
        program = tool.compile("dequant", os.path.join(work, "dequant.mlir"))
        tool.run(program, lines_of(os.path.join(work, "dequant.args")), out, len(names))

    if not tap.check("the meaning of %d packed formats is accepted" % len(names), run_all):
        return
    for k, (name, path) in enumerate(names):
        want = floats(path)
        largest = [max(map(abs, want[i:i + 16])) for i in range(0, len(want), 16)]
        tap.check(name, lambda: compare(floats("%s.%d" % (out, k)), want, lambda i: max(FLUSHED, 2.0 ** -22 * largest[i // 16])))


def main():
    if len(sys.argv) < 5 or sys.argv[1] not in ("iree", "xla") or len(sys.argv) != (5 if sys.argv[1] == "iree" else 6):
        sys.exit(__doc__)
    which, goldens, cases, work = sys.argv[1:5]
    python = os.environ.get("MLXCEL_TEST_PYTHON")
    if not python or not os.path.exists(python):
        skip("MLXCEL_TEST_PYTHON names no python with the packages of tests/requirements.txt (scripts/test_env.sh)")
    work = os.path.join(os.path.abspath(work), which)
    tool = Iree(python, work) if which == "iree" else Xla(python, sys.argv[5])
    golden_of = {os.path.basename(p)[:-len(".mlir")]: p for p in glob.glob(os.path.join(goldens, "*", "*.mlir"))}
    models = sorted({case.rsplit(".", 1)[0] for case in golden_of})
    if not models:
        sys.exit("no golden module in " + goldens)
    subprocess.run([cases, work] + models, check=True)
    tap = Tap()
    check_dequant(tap, tool, work)
    for model in models:
        check_model(tap, tool, model, golden_of, work)
    print("1..%d" % tap.n)
    sys.exit(1 if tap.failed else 0)


if __name__ == "__main__":
    main()
