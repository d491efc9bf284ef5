#!/usr/bin/env python3
"""Writes docs/benchmarks.md and its pictures: compare.py over kinds of work, as a table with machine and versions.

    bench/benchmarks.py [options] SIZE=MODEL...

SIZE is what the row is called ("135M"), MODEL what compare.py takes: a GGUF file, or OURS=FILE.gguf. Each kind of work of
--work runs on every model whose size it names; all runs are kept in --json, from which --from makes the page anew.
"""
import argparse
import json
import os
import platform
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# name: what it says, arguments of compare.py, sizes (None: all), which figure counts
WORK = {
    "base": ("prompt of 512, then 64 tokens", ["--prompt", "512", "--gen", "64"], None,
             ("prefill_tok_s", "decode_tok_s", "start_ms", "peak_mib")),
    "i8": ("the same with MLXCEL_XLA_PRECISION=i8", ["--prompt", "512", "--gen", "64", "--precision", "i8"], None,
           ("prefill_tok_s", "decode_tok_s")),
    "rows": ("eight sequences together", ["--prompt", "64", "--gen", "32", "--rows", "8"], None, ("prefill_tok_s", "decode_tok_s")),
    "rows-i8": ("eight together, i8", ["--prompt", "64", "--gen", "32", "--rows", "8", "--precision", "i8"], None,
                ("prefill_tok_s", "decode_tok_s")),
    "context": ("behind 4,096 tokens", ["--prompt", "4096", "--gen", "32"], ("1B",), ("prefill_tok_s", "decode_tok_s")),
    "prompt": ("prompt of 8,192", ["--prompt", "8192", "--gen", "8"], ("0.6B",), ("prefill_tok_s", "decode_tok_s")),
    "prompt-i8": ("prompt of 8,192, i8", ["--prompt", "8192", "--gen", "8", "--precision", "i8"], ("0.6B",),
                  ("prefill_tok_s", "decode_tok_s")),
}
FIGURES = {"prefill_tok_s": ("prefill", "tok/s"), "decode_tok_s": ("decode", "tok/s"), "start_ms": ("start to first token", "ms"),
           "peak_mib": ("peak memory", "MiB")}


def measure(a):
    rows = []
    for name in a.work:
        _, arguments, sizes, _ = WORK[name]
        for model in a.models:
            size, _, path = model.partition("=")
            if sizes and size.split()[0] not in sizes:
                continue
            rounds = a.rounds if name in ("base", "i8") else min(a.rounds, 3 if name.startswith("rows") else 1)
            command = [sys.executable, os.path.join(HERE, "compare.py"), "--program", a.program, "--threads", str(a.threads),
                       "--rounds", str(rounds), "--json", *arguments, path]
            print(" ".join(command[2:]), file=sys.stderr, flush=True)
            row = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            rows.append({**row, "size": size, "work": name})
    return rows


def machine(a):
    name = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    from importlib.metadata import version
    ours = subprocess.run([a.program, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    return {"machine": "%s, %d threads, %s" % (name, a.threads, platform.system()), "versions": "%s; llama-cpp-python %s" % (
        ours, version("llama-cpp-python"))}


def page(report):
    rows = report["rows"]
    out = ["# Beside llama.cpp", "",
           "Made by `bench/benchmarks.py`. Ratios are medians of neighbouring runs in turn (least .. most behind them), above 1",
           "where mlxcel is faster or takes less; the figures beside them are medians. mlxcel runs at its default precision unless",
           "a row says otherwise.", "", "%s. %s. Instructions: %s. Best reading: %.1f GB/s." % (
               report["machine"], report["versions"], rows[0]["isa"], max(r["read_gb_s"] for r in rows)), "",
           "| model | work | | mlxcel | llama.cpp | ratio | least .. most | runs |", "|---|---|---|---|---|---|---|---|"]
    for r in rows:
        what, _, _, figures = WORK[r["work"]]
        for key in figures:
            name, unit = FIGURES[key]
            out.append("| %s | %s | %s | %.1f %s | %.1f | **%.2f** | %.2f .. %.2f | %d |" % (
                r["size"], what, name, r[key], unit, r["peer_" + key], r[key + "_ratio"], *r[key + "_range"], r["rounds"]))
    out += ["", "![Ratios by model and work](benchmarks.svg)", "", "## Share of what memory gives", "",
            "What all threads together read of 256 MiB, in the same process: the median and the best of fifteen passes. A decode's",
            "rate is that of all its steps.", "",
            "| model | work | weights read in decode | of the median pass | of the best pass |", "|---|---|---|---|---|"]
    out += ["| %s | %s | %.1f GB/s | %.0f %% | %.0f %% |" % (r["size"], WORK[r["work"]][0], r["decode_gb_s"],
                                                        100 * r["decode_of_read_median"], 100 * r["decode_of_read"])
            for r in rows if r["work"] in ("base", "i8")]
    return "\n".join(out) + "\n"


def draw(rows, base):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    matplotlib.rcParams["svg.hashsalt"] = "mlxcel"
    names = ["%s, %s" % (r["size"], WORK[r["work"]][0]) for r in rows]
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.45 * len(rows)))
    for i, (key, colour) in enumerate((("decode_tok_s", "tab:orange"), ("prefill_tok_s", "tab:blue"))):
        at = [k + 0.38 * i for k, r in enumerate(rows) if key in WORK[r["work"]][3]]
        axes.barh(at, [r[key + "_ratio"] for r in rows if key in WORK[r["work"]][3]], height=0.36, label=FIGURES[key][0], color=colour)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks([k + 0.19 for k in range(len(rows))], names)
    axes.invert_yaxis()
    axes.set_xlabel("rate over llama.cpp's")
    axes.legend()
    figure.tight_layout()
    for kind in ("svg", "png"):
        figure.savefig("%s.%s" % (base, kind), metadata={"Date": None} if kind == "svg" else None)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("models", nargs="*", metavar="SIZE=MODEL")
    ap.add_argument("--program", default="build/release/mlxcel")
    ap.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--work", nargs="+", choices=list(WORK), default=list(WORK))
    ap.add_argument("--json", default="benchmarks.json", help="where all runs are kept")
    ap.add_argument("--from", dest="source", metavar="FILE.json", help="make the page from former runs")
    ap.add_argument("--output", default=os.path.join(HERE, "..", "docs"))
    a = ap.parse_args()
    if a.source:
        with open(a.source, encoding="utf-8") as f:
            report = json.load(f)
    elif a.models:
        report = {**machine(a), "rows": measure(a)}
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=1)
    else:
        ap.error("no model: SIZE=MODEL...")
    with open(os.path.join(a.output, "benchmarks.md"), "w", encoding="utf-8") as f:
        f.write(page(report))
    draw(report["rows"], os.path.join(a.output, "benchmarks"))


if __name__ == "__main__":
    main()
