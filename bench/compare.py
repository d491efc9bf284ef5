#!/usr/bin/env python3
"""Speed of mlxcel beside llama.cpp on GGUF files, as ratios from alternating runs.

    bench/compare.py [options] FILE.gguf...

A machine's speed drifts: with heat, with neighbours, with what the processor thinks of it. So the two run in turn, one
process each time, and each pair of neighbouring runs gives a ratio; the median of the ratios is what counts. Needs
llama-cpp-python in the Python that runs this (or in the one that --peer-python names).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

FIRST_ID, ID_RANGE = 40, 200  # both feed the ids 40, 41 .. 239, 40 ..: `mlxcel bench` does


def peer(a):
    """One run of llama.cpp in this process; prints what `mlxcel bench --json` would."""
    from llama_cpp import Llama

    start = time.perf_counter()
    model = Llama(a.models[0], n_ctx=a.prompt + a.gen + 64, n_threads=a.threads, n_threads_batch=a.threads, n_batch=512,
                  verbose=False)
    load = time.perf_counter() - start
    prompt = [FIRST_ID + i % ID_RANGE for i in range(a.prompt)]
    model.eval(prompt[:16])  # pages of the file, threads: neither side is timed cold
    model.reset()
    start = time.perf_counter()
    model.eval(prompt)
    prefill = time.perf_counter() - start
    start = time.perf_counter()
    for i in range(a.gen):
        model.eval([FIRST_ID + i % ID_RANGE])
    decode = time.perf_counter() - start
    print(json.dumps({"prefill_tok_s": a.prompt / prefill, "decode_tok_s": a.gen / decode, "load_ms": 1000 * load}))


def run(command):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit("compare.py: %s failed:\n%s" % (" ".join(command), ran.stderr.strip()))
    return json.loads(ran.stdout.strip().splitlines()[-1])


def ours(a, model):
    command = [a.program, "bench", "-m", model, "-p", str(a.prompt), "-n", str(a.gen), "--threads", str(a.threads),
               "--runs", "1", "--json"]
    return run(command)


def theirs(a, model):
    command = [a.peer_python, os.path.abspath(__file__), "--peer", "--threads", str(a.threads), "--prompt", str(a.prompt),
               "--gen", str(a.gen), model]
    return run(command)


def compare(a, model):
    """Medians of both, and of the ratios of neighbouring runs."""
    pairs = []
    for i in range(a.rounds):
        first, second = (ours, theirs) if i % 2 == 0 else (theirs, ours)
        x, y = first(a, model), second(a, model)
        pairs.append((x, y) if i % 2 == 0 else (y, x))
        if not a.json:
            print("  round %d of %d" % (i + 1, a.rounds), end="\r", file=sys.stderr, flush=True)
    row = {"model": os.path.basename(model), "isa": pairs[0][0].get("isa"), "precision": pairs[0][0].get("precision"),
           "threads": a.threads, "prompt": a.prompt, "generated": a.gen, "rounds": a.rounds}
    for key in ("prefill_tok_s", "decode_tok_s"):
        row[key] = statistics.median(x[key] for x, _ in pairs)
        row["peer_" + key] = statistics.median(y[key] for _, y in pairs)
        ratios = sorted(x[key] / y[key] for x, y in pairs)
        row[key.replace("tok_s", "ratio")] = statistics.median(ratios)
        row[key.replace("tok_s", "ratio_range")] = [ratios[0], ratios[-1]]
    return row


def table(rows):
    print("| model | | mlxcel tok/s | llama.cpp tok/s | ratio | least .. most |")
    print("|---|---|---|---|---|---|")
    for r in rows:
        for what in ("prefill", "decode"):
            low, high = r[what + "_ratio_range"]
            print("| %s | %s %d | %.1f | %.1f | %.2f | %.2f .. %.2f |" % (
                r["model"], what, r["prompt" if what == "prefill" else "generated"], r[what + "_tok_s"],
                r["peer_%s_tok_s" % what], r[what + "_ratio"], low, high))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("models", nargs="+", metavar="FILE.gguf")
    ap.add_argument("--program", default="build/release/mlxcel")
    ap.add_argument("--peer-python", default=sys.executable, help="a Python that has llama_cpp")
    ap.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    ap.add_argument("--prompt", type=int, default=512)
    ap.add_argument("--gen", type=int, default=64)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--json", action="store_true", help="one line of JSON per model")
    ap.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.peer:
        peer(a)
        return
    probe = subprocess.run([a.peer_python, "-c", "import llama_cpp"], stderr=subprocess.DEVNULL)
    if probe.returncode != 0:
        sys.exit("compare.py: %s has no llama_cpp: pip install llama-cpp-python" % a.peer_python)
    rows = []
    for model in a.models:
        rows.append(compare(a, model))
        if a.json:
            print(json.dumps(rows[-1]), flush=True)
    if not a.json:
        table(rows)


if __name__ == "__main__":
    main()
