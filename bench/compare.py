#!/usr/bin/env python3
"""Speed of mlxcel beside llama.cpp, as ratios from alternating runs.

    bench/compare.py [options] MODEL...

A MODEL is a GGUF file that both run, or OURS=FILE.gguf: a checkpoint for mlxcel and a file of the same shape and bits for
llama.cpp. A machine's speed drifts: with heat, with neighbours, with what the processor thinks of it. So the two run in
turn, one process each time, and each pair of neighbouring runs gives a ratio; the median of the ratios is what counts,
above 1 where mlxcel is faster (or takes less memory). Needs llama-cpp-python in the Python that runs this (or in the one that
--peer-python names); --plot needs matplotlib as well.

    bench/compare.py --prompt 512 --gen 64 A.gguf B.gguf         prefill, decode, start to first token, memory
    bench/compare.py --rows 8 --prompt 64 A.gguf                 eight sequences decoded together: the sum of their rates
    bench/compare.py --prompt 4096 A.gguf                        decode behind a long context
    bench/compare.py --precision i8 A.gguf                       mlxcel at another precision
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

FIRST_ID, ID_RANGE = 40, 200  # both feed the ids 40, 41 .. 239, 40 ..: `mlxcel bench` does
SHORT = 16                    # tokens of the prompt whose first token is waited for
# What is compared: key in the reports, what it is called, whether more is better.
FIGURES = (("prefill_tok_s", "prefill", True), ("decode_tok_s", "decode", True), ("start_ms", "start to first token", False),
           ("peak_mib", "peak memory", False))


class Peer:
    """llama.cpp by its C interface, as its own tools use it."""

    def __init__(self, path, a):
        import llama_cpp
        self.lib = lib = llama_cpp
        lib.llama_backend_init()
        lib.llama_log_set(quiet_log(lib), None)
        self.model = lib.llama_model_load_from_file(path.encode(), lib.llama_model_default_params())
        if not self.model:
            sys.exit("compare.py: llama.cpp does not load %s" % path)
        p = lib.llama_context_default_params()
        p.n_ctx = a.rows * (a.prompt + a.gen + 64)
        p.n_seq_max = a.rows
        p.n_batch = max(512, a.rows)
        p.n_threads = p.n_threads_batch = a.threads
        self.context = lib.llama_init_from_model(self.model, p)
        if not self.context:
            sys.exit("compare.py: llama.cpp makes no context of %d tokens" % p.n_ctx)
        self.batch = lib.llama_batch_init(p.n_batch, 0, 1)

    def clear(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), True)

    def run(self, tokens):
        """tokens: (id, position, row, whether its logits are wanted)"""
        b = self.batch
        for i, (token, position, row, wanted) in enumerate(tokens):
            b.token[i], b.pos[i], b.n_seq_id[i], b.seq_id[i][0], b.logits[i] = token, position, 1, row, wanted
        b.n_tokens = len(tokens)
        if self.lib.llama_decode(self.context, b) != 0:
            sys.exit("compare.py: llama.cpp failed")
        self.lib.llama_synchronize(self.context)

    def prefill(self, n, row):
        ids = [FIRST_ID + i % ID_RANGE for i in range(n)]
        for at in range(0, n, 512):
            part = range(at, min(at + 512, n))
            self.run([(ids[i], i, row, i == n - 1) for i in part])


def quiet_log(lib):
    global kept_log  # the library keeps the address only
    kept_log = lib.llama_log_callback(lambda level, text, data: None)
    return kept_log


def peer(a):
    """One run of llama.cpp in this process; prints what `ours` makes of `mlxcel bench --json`."""
    import llama_cpp  # noqa: F401: what Python itself takes comes before the first look at the clock
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    p = Peer(a.models[0], a)
    p.prefill(SHORT, 0)
    first = time.perf_counter() - start
    p.clear()
    start = time.perf_counter()
    for row in range(a.rows):
        p.prefill(a.prompt, row)
    prefill = time.perf_counter() - start
    start = time.perf_counter()
    for i in range(a.gen):
        p.run([(FIRST_ID + i % ID_RANGE, a.prompt + i, row, True) for row in range(a.rows)])
    decode = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"prefill_tok_s": a.prompt * a.rows / prefill, "decode_tok_s": a.gen * a.rows / decode,
                      "start_ms": 1000 * first, "peak_mib": peak / 1024}))


def run(command, environment=None):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if ran.returncode != 0:
        sys.exit("compare.py: %s failed:\n%s" % (" ".join(command), ran.stderr.strip()))
    return json.loads(ran.stdout.strip().splitlines()[-1])


def bench(a, model, prompt, gen, rows):
    environment = dict(os.environ)
    if a.precision:
        environment["MLXCEL_XLA_PRECISION"] = a.precision
    return run([a.program, "bench", "-m", model, "-p", str(prompt), "-n", str(gen), "-b", str(rows), "--threads",
                str(a.threads), "--runs", "1", "--json"], environment)


def ours(a, model):
    start = bench(a, model, SHORT, 0, 1)
    r = bench(a, model, a.prompt, a.gen, a.rows)
    return {"prefill_tok_s": r["prefill_tok_s"], "decode_tok_s": r["decode_tok_s"], "isa": r["isa"], "precision": r["precision"],
            "start_ms": start["load_ms"] + start["first_token_ms"], "peak_mib": r["peak_rss"] / 2**20,
            "decode_gb_s": r["decode_gb_s"], "read_gb_s": r["read_gb_s"], "read_median_gb_s": r["read_median_gb_s"]}


def theirs(a, model):
    return run([a.peer_python, os.path.abspath(__file__), "--peer", "--threads", str(a.threads), "--prompt", str(a.prompt),
                "--gen", str(a.gen), "--rows", str(a.rows), model])


def compare(a, model):
    """Medians of both, and of the ratios of neighbouring runs."""
    mine, _, other = model.partition("=")
    pairs = []
    for i in range(a.rounds):
        if i % 2 == 0:
            x, y = ours(a, mine), theirs(a, other or mine)
        else:
            y, x = theirs(a, other or mine), ours(a, mine)
        pairs.append((x, y))
        if not a.json:
            print("  round %d of %d" % (i + 1, a.rounds), end="\r", file=sys.stderr, flush=True)
    row = {"model": os.path.basename(mine.rstrip("/")), "isa": pairs[0][0]["isa"], "precision": pairs[0][0]["precision"],
           "threads": a.threads, "prompt": a.prompt, "generated": a.gen, "rows": a.rows, "rounds": a.rounds,
           "decode_of_read": statistics.median(x["decode_gb_s"] / x["read_gb_s"] for x, _ in pairs),
           "decode_of_read_median": statistics.median(x["decode_gb_s"] / x["read_median_gb_s"] for x, _ in pairs)}
    for key in ("decode_gb_s", "read_gb_s", "read_median_gb_s"):
        row[key] = statistics.median(x[key] for x, _ in pairs)
    for key, _, more in FIGURES:
        row[key] = statistics.median(x[key] for x, _ in pairs)
        row["peer_" + key] = statistics.median(y[key] for _, y in pairs)
        ratios = sorted(x[key] / y[key] if more else y[key] / x[key] for x, y in pairs)
        row[key + "_ratio"] = statistics.median(ratios)
        row[key + "_range"] = [ratios[0], ratios[-1]]
    return row


def table(rows):
    print("| model | precision | | mlxcel | llama.cpp | ratio | least .. most |")
    print("|---|---|---|---|---|---|---|")
    for r in rows:
        for key, name, _ in FIGURES:
            n = {"prefill": "%d" % r["prompt"], "decode": "%d" % r["generated"]}.get(name, "")
            n += " x %d" % r["rows"] if n and r["rows"] > 1 else ""
            unit = "tok/s" if key.endswith("tok_s") else "ms" if key.endswith("ms") else "MiB"
            print("| %s | %s | %s | %.1f %s | %.1f | %.2f | %.2f .. %.2f |" % (
                r["model"], r["precision"], " ".join((name, n)).strip(), r[key], unit, r["peer_" + key], r[key + "_ratio"],
                *r[key + "_range"]))
        print("| %s | %s | weights read in decode | %.1f GB/s | | %.0f %% of the median, %.1f GB/s | %.0f %% of the best, %.1f |" % (
            r["model"], r["precision"], r["decode_gb_s"], 100 * r["decode_of_read_median"], r["read_median_gb_s"],
            100 * r["decode_of_read"], r["read_gb_s"]))


def plot(rows, path):
    """Ratios as bars, a group for each model."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(2 + 2 * len(rows), 4))
    for i, (key, name, _) in enumerate(FIGURES):
        at = [k + 0.2 * i for k in range(len(rows))]
        axes.bar(at, [r[key + "_ratio"] for r in rows], width=0.18, label=name)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks([k + 0.3 for k in range(len(rows))], ["%s %s" % (r["model"], r["precision"]) for r in rows])
    axes.set_ylabel("llama.cpp = 1, more is better")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("models", nargs="+", metavar="MODEL")
    ap.add_argument("--program", default="build/release/mlxcel")
    ap.add_argument("--peer-python", default=sys.executable, help="a Python that has llama_cpp")
    ap.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    ap.add_argument("--prompt", type=int, default=512)
    ap.add_argument("--gen", type=int, default=64)
    ap.add_argument("--rows", type=int, default=1, help="sequences decoded together")
    ap.add_argument("--precision", default="", help="MLXCEL_XLA_PRECISION of mlxcel's runs")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--json", action="store_true", help="one line of JSON per model")
    ap.add_argument("--plot", metavar="FILE", help="ratios as a picture, .png or .svg")
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
    if a.plot:
        plot(rows, a.plot)


if __name__ == "__main__":
    main()
