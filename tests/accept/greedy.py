#!/usr/bin/env python3
"""Greedy tokens of a tiny model, computed by IREE and by XLA from the emitted text, against the reference's.

    greedy.py MLXCEL PJRT [MODEL [COUNT]]     MODEL: a safetensors folder of tests/data/oracle (llama3); COUNT: 16

MLXCEL is the command line program, PJRT pjrt_accept; MLXCEL_TEST_PYTHON as for accept.py. The prompt is the oracle's
first. Decoding has two rows, of which the second is padding. Every step is a process of its own, so this takes a
minute or two; it is no part of the tests.
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

from accept import Iree, Xla, floats

ROWS = 2
BYTES = {"f32": 4, "i32": 4, "bf16": 2, "f16": 2, "ui32": 4, "ui8": 1}
ORACLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "oracle")
PARAMETER = re.compile(r"%[\w.]+: tensor<(?:([0-9x]+)x)?(\w+)> \{mlxcel\.(weight|input|state) = \"([^\"]+)\"")


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def tensors(path):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    return {k: data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]
            for k, v in header.items() if k != "__metadata__"}


def stored(weights, name):
    """The bytes of a weight under the names files have; a stack of experts may be kept apart, expert by expert."""
    for known in (name, name.replace(".shared_experts", ".shared_expert")):
        if known in weights:
            return weights[known]
    if ".experts." not in name:
        sys.exit("no tensor " + name)
    module, projection = name.split(".experts.")
    parts = []
    while "%s.experts.%d.%s" % (module, len(parts), projection) in weights:
        parts.append(weights["%s.experts.%d.%s" % (module, len(parts), projection)])
    if not parts:
        sys.exit("no tensor " + name)
    return b"".join(parts)


class Entry:
    """One emitted module for one tool: run() fills the inputs and hands the state on."""

    def __init__(self, tool, folder, name, module, weights):
        self.tool, self.folder, self.name = tool, folder, name
        with open(module) as f:
            text = f.read()
        self.parameters = PARAMETER.findall(text[:text.index(" -> ")])
        self.states = [name for _, _, kind, name in self.parameters if kind == "state"]  # results behind the logits
        self.weights = {}
        for i, (_, _, kind, weight) in enumerate(self.parameters):
            if kind == "weight":
                self.weights[weight] = write(os.path.join(folder, "%s.w%d" % (name, i)), stored(weights, weight))
        self.program = tool.compile("greedy." + name, module)

    def argument(self, parameter, inputs, state):
        dims, element, kind, name = parameter
        head = "%s%s=@" % (dims + "x" if dims else "", element)
        if kind == "weight":
            return head + self.weights[name]
        if kind == "state" and state:
            return head + "%s.%d" % (state, 1 + self.states.index(name))
        path = os.path.join(self.folder, "%s.%s" % (self.name, name))
        if kind == "state":
            n = BYTES[element]
            for d in dims.split("x"):
                n *= int(d)
            return head + write(path, bytes(n))
        return head + write(path, struct.pack("<%di" % len(inputs[name]), *inputs[name]))

    def run(self, inputs, state, out):
        arguments = [self.argument(p, inputs, state) for p in self.parameters]
        self.tool.run(self.program, arguments, out, 1 + len(self.states))
        return floats(out + ".0")


def best(logits, vocabulary):
    row = list(logits[:vocabulary])
    return row.index(max(row))


def tokens_of(tool, folder, mlxcel, model, prompt, count):
    path = os.path.join(ORACLE, model)
    weights = tensors(os.path.join(path, "model.safetensors"))
    with open(os.path.join(path, "config.json")) as f:
        vocabulary = json.load(f)["vocab_size"]
    entries = {}
    for name in ("prefill", "decode"):
        module = os.path.join(folder, name + ".mlir")
        subprocess.run([mlxcel, "xla", "emit", "-m", path, "--entry", name, "--tokens", str(len(prompt)), "--rows", str(ROWS),
                        "--capacity", str(len(prompt) + count), "-o", module], check=True)
        entries[name] = Entry(tool, folder, name, module, weights)
    state = os.path.join(folder, "step.0")
    logits = entries["prefill"].run({"tokens": prompt, "positions": range(len(prompt)), "slot": [0], "last": [len(prompt) - 1]},
                                    None, state)
    found = [best(logits, vocabulary)]
    while len(found) < count:
        inputs = {"tokens": [found[-1], 0], "positions": [len(prompt) + len(found) - 1, 0], "slots": [0, ROWS]}
        following = os.path.join(folder, "step.%d" % len(found))
        found.append(best(entries["decode"].run(inputs, state, following), vocabulary))
        state = following
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    mlxcel, pjrt = sys.argv[1:3]
    model = sys.argv[3] if len(sys.argv) > 3 else "llama3"
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 16
    python = os.environ.get("MLXCEL_TEST_PYTHON") or sys.executable
    with open(os.path.join(ORACLE, model, "oracle.json")) as f:
        case = json.load(f)["cases"][0]
    want, wrong = case["greedy"][:count], 0
    for name in ("iree", "xla"):
        with tempfile.TemporaryDirectory() as folder:
            tool = Xla(python, pjrt) if name == "xla" else Iree(python, folder)
            tool.runs = lambda case: True
            found = tokens_of(tool, folder, mlxcel, model, case["ids"], count)
        same = found == want
        wrong += not same
        print("%s: %s %s" % (name, found, "equals the reference" if same else "the reference has %s" % want), flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
