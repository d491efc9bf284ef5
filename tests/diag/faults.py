#!/usr/bin/env python3
"""Faults planted into a model must be found by mlxcel diff, at their layer: a test of the test.

    faults.py MLXCEL DATA ENGINE

Each fault is put into a copy of the checkpoint or into the printed module; the reference is the native engine, in f32, on
what is whole. Every case also says what is compared without a fault: nothing differs then. Output is TAP; skips with 77
where ENGINE is not there.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import plugins  # noqa: E402

IDS = ",".join(str(i) for i in range(3, 27))
N = 24


class Bench:
    def __init__(self, program, data, engine, folder):
        self.program, self.data, self.engine, self.folder = program, data, engine, folder
        self.env = plugins.beside_test_python(dict(os.environ))
        self.count = self.failed = 0
        self.references = {}

    def call(self, *words):
        return subprocess.run([self.program, *words], capture_output=True, text=True, env=self.env, timeout=300)

    def oracle(self, model):
        return os.path.join(self.data, "oracle", model)

    def reference(self, model):
        """Taps of the whole model, once."""
        if model not in self.references:
            out = os.path.join(self.folder, "reference-" + model)
            p = self.call("xla", "taps", "-m", self.oracle(model), "--ids", IDS, "--engine", "native", "--precision", "f32", "-o", out)
            if p.returncode:
                raise SystemExit("xla taps: " + p.stderr)
            self.references[model] = out
        return self.references[model]

    def copy(self, model):
        to = tempfile.mkdtemp(dir=self.folder)
        for name in ("config.json", "model.safetensors"):
            shutil.copyfile(os.path.join(self.oracle(model), name), os.path.join(to, name))
        return to

    def module(self, model):
        p = self.call("xla", "emit", "-m", self.oracle(model), "--entry", "prefill", "--tokens", str(N), "--capacity", str(N), "--tap", "*")
        if p.returncode:
            raise SystemExit("xla emit: " + p.stderr)
        return p.stdout

    def diff(self, model, reference, *more):
        p = self.call("diff", "-m", model, "--ref", reference, "--engine", self.engine, "--precision", "f32", "--json", *more)
        if not p.stdout:
            return p.returncode, {}, p.stderr.strip()
        return p.returncode, json.loads(p.stdout), ""

    def expect(self, what, found, first, coordinate=None):
        """first: the name of the first value that differs, None for none; coordinate: of its first element, None in it: any."""
        status, report, error = found
        got = report.get("first_difference")
        fine = not error and status == (1 if first else 0) and got == first and report["passed"] == (first is None)
        if fine and first:
            value = [v for v in report["values"] if v["name"] == first][0]
            before = report["values"][:report["values"].index(value)]
            fine = all(v["passed"] for v in before) and value["first"]["reference_bits"] != value["first"]["candidate_bits"]
            at = value["first"]["coordinate"]
            fine = fine and (coordinate is None or all(w is None or w == g for w, g in zip(coordinate, at)))
            got = "%s %s" % (got, at)
        self.count += 1
        self.failed += not fine
        print("%sok %d - %s: %s" % ("" if fine else "not ", self.count, what, error or got), flush=True)


# ---- where faults are put ------------------------------------------------------------------------------

def header_of(data):
    n = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + n]), 8 + n


def exchange(folder, a, b):
    """The tensors a and b under each other's names."""
    path = os.path.join(folder, "model.safetensors")
    with open(path, "rb") as f:
        data = f.read()
    header, start = header_of(data)
    assert header[a]["shape"] == header[b]["shape"]
    header[a], header[b] = header[b], header[a]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data[start:])


def flip(folder, name, row, column, from_top):
    """One bit of one element of a matrix; 1: the sign, 2: the exponent's first, ..."""
    path = os.path.join(folder, "model.safetensors")
    with open(path, "r+b") as f:
        header, start = header_of(f.read())
        t = header[name]
        size = {"F32": 4, "BF16": 2, "F16": 2}[t["dtype"]]
        bit = size * 8 - from_top
        at = start + t["data_offsets"][0] + (row * t["shape"][1] + column) * size
        f.seek(at + bit // 8)
        byte = f.read(1)[0]
        f.seek(at + bit // 8)
        f.write(bytes([byte ^ 1 << bit % 8]))


def edit(folder, change):
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as f:
        config = json.load(f)
    change(config)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)


def without_rope(text, layer, which):
    """The module with the layer's rotation of queries (0) or keys (1) taken out."""
    lines = text.split("\n")
    found = [i for i, line in enumerate(lines) if '"mlxcel.rope"' in line and 'loc("layers.%d.attn")' % layer in line]
    m = re.match(r'(\s*%\S+ = )stablehlo.composite "mlxcel.rope" (%[^,]+), .*-> (tensor<[^>]*>)(.*)$', lines[found[which]])
    lines[found[which]] = "%sstablehlo.reshape %s : (%s) -> %s%s" % (m[1], m[2], m[3], m[3], m[4])
    return "\n".join(lines)


def with_mask_of(text, layer, other):
    """The module with one layer's attention masked as another's: its window and its meaning."""
    lines = text.split("\n")
    at = {i: [k for k, line in enumerate(lines) if '"mlxcel.attention"' in line and 'loc("layers.%d.attn")' % i in line][0] for i in (layer, other)}
    for pattern in (r"window = [^,}]*", r"decomposition = @\w+"):
        lines[at[layer]] = re.sub(pattern, re.search(pattern, lines[at[other]])[0], lines[at[layer]])
    return "\n".join(lines)


def write(b, text):
    path = os.path.join(tempfile.mkdtemp(dir=b.folder), "module.mlir")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


# ---- the faults ----------------------------------------------------------------------------------------

def run(b):
    for model in ("llama3", "gemma3", "mistral"):
        b.expect("%s, whole" % model, b.diff(b.oracle(model), b.reference(model)), None)
    whole, llama, gemma = b.module("llama3"), b.oracle("llama3"), b.oracle("gemma3")
    b.expect("llama3, its own printed module", b.diff(llama, b.reference("llama3"), "--module", write(b, whole)), None)
    # Token 0 is not rotated at all: the first element that differs is of token 1.
    for layer in (0, 1):
        path = write(b, without_rope(whole, layer, 0))
        b.expect("queries of layer %d not rotated" % layer, b.diff(llama, b.reference("llama3"), "--module", path), "layers.%d.q" % layer, [1])
        path = write(b, without_rope(whole, layer, 1))
        b.expect("keys of layer %d not rotated" % layer, b.diff(llama, b.reference("llama3"), "--module", path), "layers.%d.k" % layer, [1])
    for layer in (0, 1):
        folder = b.copy("llama3")
        exchange(folder, "model.layers.%d.mlp.gate_proj.weight" % layer, "model.layers.%d.mlp.up_proj.weight" % layer)
        b.expect("gate and up of layer %d exchanged" % layer, b.diff(folder, b.reference("llama3")), "layers.%d.ffn_gate" % layer, [0, 0])
    # Layer 2 of gemma3 sees all, the others 8 tokens: token 8 is the first that has more behind it.
    text = b.module("gemma3")
    path = write(b, with_mask_of(text, 2, 1))
    b.expect("layer 2 masked by a window", b.diff(gemma, b.reference("gemma3"), "--module", path), "layers.2.attn", [8])
    path = write(b, with_mask_of(text, 1, 2))
    b.expect("layer 1 without its window", b.diff(gemma, b.reference("gemma3"), "--module", path), "layers.1.attn", [8])
    folder = b.copy("mistral")
    edit(folder, lambda c: c.update(sliding_window=c["sliding_window"] + 1))
    with open(os.path.join(b.oracle("mistral"), "config.json"), encoding="utf-8") as f:
        window = json.load(f)["sliding_window"]
    b.expect("a window of one more", b.diff(folder, b.reference("mistral")), "layers.0.attn", [window])
    for layer, name, tap, row in ((0, "mlp.down_proj", "ffn", 5), (1, "self_attn.o_proj", "attn_out", 17), (1, "mlp.up_proj", "ffn_up", 40)):
        folder = b.copy("llama3")
        flip(folder, "model.layers.%d.%s.weight" % (layer, name), row, 3, 3)
        b.expect("a bit of %s in layer %d" % (name, layer), b.diff(folder, b.reference("llama3")), "layers.%d.%s" % (layer, tap), [None, row])
    folder = b.copy("llama3")
    flip(folder, "model.layers.1.mlp.down_proj.weight", 9, 2, 10)  # bfloat16's first bit of the fraction
    own = os.path.join(b.folder, "own")
    p = b.call("xla", "taps", "-m", llama, "--ids", IDS, "--engine", b.engine, "--precision", "f32", "-o", own)
    assert p.returncode == 0, p.stderr
    b.expect("to the bit, whole", b.diff(llama, own, "--compare", "bits"), None)
    b.expect("to the bit, a small bit of down_proj", b.diff(folder, own, "--compare", "bits"), "layers.1.ffn", [None, 9])


def main():
    program, data, engine = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        b = Bench(program, data, engine, folder)
        p = b.call("xla", "taps", "-m", b.oracle("llama3"), "--ids", "1", "--engine", engine, "-o", os.path.join(folder, "try"))
        if p.returncode and "no PJRT plugin is installed" in p.stderr:
            print("skipped: " + p.stderr.strip())
            sys.exit(77)
        run(b)
        print("1..%d" % b.count)
        sys.exit(1 if b.failed else 0)


if __name__ == "__main__":
    main()
