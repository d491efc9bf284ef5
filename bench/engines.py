#!/usr/bin/env python3
"""One model's emitted programs on several engines: speed, and how much each engine fused.

    bench/engines.py [--program build/xla-iree/mlxcel] [--prompt 512] [--gen 16] [--context 640] [--runs 3]
                     [--case NAME[@PRECISION][+packed]]... [--json FILE] [--work DIR] [--before CMD] MODEL

A case is an engine as MLXCEL_XLA_DEVICE names it, perhaps with a precision, and "+packed" for MLXCEL_XLA_QUANT=packed: "native@i16",
"pjrt:cpu", "local-task+packed". Each runs in processes of its own: one that compiles, and lets the compiler say what it
made; then one that is timed (--before puts a command ahead of that one, nice for instance). Prints a table in Markdown:

    kernels   what runs one after the other for one decode, and for one prefill: steps of the native engine's plan; fusions, products
              and other operations that XLA has left in its entry computation; dispatches, copies and fills of IREE
    tok/s     of `mlxcel bench`, the median of --runs
    weights   bytes of weights on the device: what a decode step has to read at least

A case whose engine is not there is left out, with a line that says why. IREE's count needs the program iree-compile of the wheel
iree-base-compiler beside MLXCEL_TEST_PYTHON. Nothing else should run meanwhile; numbers compare within one table only.
"""
import argparse
import collections
import glob
import json
import os
import re
import stat
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import plugins  # noqa: E402

CASES = ["native@i16", "native@f32", "pjrt:cpu", "pjrt:cpu+packed", "local-task", "local-task+packed"]
ENTRIES = ("decode", "prefill")
# Of XLA's entry computation: what costs no kernel.
NOT_RUN = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}


class Case:
    def __init__(self, word, a, folder):
        self.word, self.a, self.folder = word, a, folder
        name, _, self.packed = word.partition("+")
        self.device, _, precision = name.partition("@")
        self.env = plugins.beside_test_python(dict(os.environ, MLXCEL_XLA_DEVICE=self.device, MLXCEL_CACHE_DIR=os.path.join(folder, "cache")))
        self.env.pop("MLXCEL_XLA_QUANT", None)
        if precision:
            self.env["MLXCEL_XLA_PRECISION"] = precision
        if self.packed:
            self.env["MLXCEL_XLA_QUANT"] = "packed"

    def bench(self, runs, before=()):
        """`mlxcel bench`'s report, or a sentence."""
        a = self.a
        words = [*before, a.program, "bench", "--backend", "xla", "-m", a.model, "-c", str(a.context), "-p", str(a.prompt), "-n", str(a.gen),
                 "--prefill-chunk", str(a.prompt), "--runs", str(runs), "--json"]
        ran = subprocess.run(words, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        if ran.returncode:
            return (ran.stderr.strip().splitlines() or ["exit %d" % ran.returncode])[-1]
        return json.loads([line for line in ran.stdout.splitlines() if line.startswith("{")][-1])


class Native(Case):
    def explain(self, entry, more):
        words = [self.a.program, "xla", "explain", "-m", self.a.model, "--entry", entry, "--capacity", str(self.a.context), *more]
        return subprocess.run(words, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

    def counts(self):
        found = {}
        for entry in ENTRIES:
            said = re.search(r"(\d+) steps, (\d+) barriers", self.explain(entry, ["--tokens", str(self.a.prompt)] if entry == "prefill" else []))
            if said:
                found[entry] = (int(said[1]), "%s barriers" % said[2])
        return found


class Xla(Case):
    def __init__(self, *args):
        super().__init__(*args)
        self.dump = os.path.join(self.folder, "xla")
        self.env["XLA_FLAGS"] = (self.env.get("XLA_FLAGS", "") + " --xla_dump_to=%s --xla_dump_hlo_as_text" % self.dump).strip()

    def counts(self):
        found = {}
        for path in glob.glob(os.path.join(self.dump, "*_*.*after_optimizations.txt")):
            entry = next((e for e in ENTRIES if re.search(r"_%s\." % e, os.path.basename(path))), None)
            if entry:
                found[entry] = max(found.get(entry, (0, "")), count_entry(path))
        return found


def count_entry(path):
    """(kernels, their kinds) of an optimized module of XLA's."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    body = text[text.index("\nENTRY"):]
    kinds = collections.Counter(re.findall(r"^\s+(?:ROOT )?%?\S+ = (?:\([^=]*?\)|\S+) ([\w-]+)\(", body, re.M))
    kinds = [(k, n) for k, n in kinds.most_common() if k not in NOT_RUN]
    return sum(n for _, n in kinds), ", ".join("%d %s" % (n, k) for k, n in kinds[:3])


class Iree(Case):
    """The compiler is a script, which has iree-compile write its statistics as well."""

    def __init__(self, *args):
        super().__init__(*args)
        compiler = os.path.join(os.path.dirname(os.environ.get("MLXCEL_TEST_PYTHON", "")), "iree-compile")
        self.compiler = compiler if os.path.exists(compiler) else None
        if not self.compiler:
            return
        script = os.path.join(self.folder, "compile.sh")
        with open(script, "w") as f:
            f.write('#!/bin/sh\nif [ "$1" = --version ]; then exec "%s" --version; fi\nd=$(mktemp -d "%s/run-XXXXXX")\ncp "$1" "$d/"\n'
                    'exec "%s" "$@" --iree-scheduling-dump-statistics-format=json --iree-scheduling-dump-statistics-file="$d/statistics.json"\n'
                    % (self.compiler, self.folder, self.compiler))
        os.chmod(script, os.stat(script).st_mode | stat.S_IXUSR)
        self.env["MLXCEL_XLA_IREE_COMPILE"] = script

    def counts(self):
        found = {}
        for path in glob.glob(os.path.join(self.folder, "run-*", "statistics.json")):
            with open(os.path.join(os.path.dirname(path), "program.mlir")) as f:
                first = f.readline()
            entry = next((e for e in ENTRIES if re.match(r"module @\w*_%s\b" % e, first)), None)
            with open(path) as f:
                n = json.load(f)["stream-aggregate"]["execution"]
            if entry:
                kinds = [(n["dispatch-count"], "dispatches"), (n["copy-count"], "copies"), (n["fill-count"], "fills")]
                found[entry] = max(found.get(entry, (0, "")), (sum(k for k, _ in kinds), ", ".join("%d %s" % k for k in kinds)))
        return found


def case_of(word, a, folder):
    kind = Native if word.startswith("native") else Xla if word.startswith("pjrt") else Iree
    return kind(word, a, folder)


def measure(case, a):
    """A row, or a sentence."""
    reply = case.bench(1)
    if isinstance(reply, str):
        return reply
    counts = case.counts()
    reply = case.bench(a.runs, a.before.split())
    if isinstance(reply, str):
        return reply
    row = {"case": case.word, "decode_tok_s": reply["decode_tok_s"], "prefill_tok_s": reply["prefill_tok_s"], "weights_bytes": reply["weights_bytes"],
           "peak_rss": reply["peak_rss"]}
    for entry in ENTRIES:
        row[entry + "_kernels"], row[entry + "_kinds"] = counts.get(entry, (None, ""))
    return row


def show(row):
    def kernels(entry):
        n = row[entry + "_kernels"]
        return "%d (%s)" % (n, row[entry + "_kinds"]) if n is not None else "not counted"
    print("| %s | %s | %s | %.1f | %.1f | %.0f | %.0f |" % (row["case"], kernels("decode"), kernels("prefill"), row["decode_tok_s"], row["prefill_tok_s"],
                                                       row["weights_bytes"] / 1e6, row["peak_rss"] / 1e6), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "xla-iree", "mlxcel"))
    parser.add_argument("--case", action="append")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--gen", type=int, default=16)
    parser.add_argument("--context", type=int, default=640)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--before", default="", help="a command ahead of the timed runs")
    parser.add_argument("--json")
    parser.add_argument("--work", help="a folder where programs and counts stay, for the next time")
    a = parser.parse_args()
    print("| engine | kernels of a decode | kernels of a prefill of %d | decode, tok/s | prefill, tok/s | weights, MB | peak, MB |\n"
          "|---|---|---|---|---|---|---|" % a.prompt, flush=True)
    for word in a.case or CASES:
        with tempfile.TemporaryDirectory() as folder:
            if a.work:
                folder = os.path.join(os.path.abspath(a.work), re.sub(r"\W", "_", word))
                os.makedirs(folder, exist_ok=True)
            row = measure(case_of(word, a, folder), a)
        if isinstance(row, str):
            print("%s: not here: %s" % (word, row), file=sys.stderr, flush=True)
            continue
        show(row)
        if a.json:
            with open(a.json, "a") as f:
                f.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
