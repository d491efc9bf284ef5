#!/usr/bin/env python3
"""Runs a folder of `mlxcel xla export` with JAX: greedy tokens for a prompt.

    mlxcel xla export -m MODEL -o DIR --tokens 16 --capacity 256
    python jax_run.py DIR --ids 1,2,3 -n 16
    python jax_run.py DIR --ids 1,2,3 -n 16 --compare build/release/mlxcel MODEL     the same tokens as mlxcel itself?

With an export whose weights are references, --checkpoint FOLDER says where the model's files are; their digests are
compared. Needs jax and numpy (ml_dtypes comes with jax).
"""
import argparse
import hashlib
import json
import mmap
import os
import subprocess
import sys

import ml_dtypes
import numpy as np

DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F64": np.float64, "I8": np.int8, "I16": np.int16,
          "I32": np.int32, "I64": np.int64, "U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "BOOL": np.bool_}


def map_file(path):
    with open(path, "rb") as f:
        return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)


def copied_weights(folder, weights):
    """A safetensors file: eight bytes of length, a header in JSON, then the tensors."""
    data = map_file(os.path.join(folder, weights["file"]))
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + n])
    return lambda name: (data, 8 + n + header[name]["data_offsets"][0])


def referred_weights(folder, weights):
    """The checkpoint's own files, if they are those that were exported from."""
    maps = {}
    for entry in weights["files"]:
        maps[entry["file"]] = data = map_file(os.path.join(folder, entry["file"]))
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            sys.exit("%s is not the file that was exported from" % entry["file"])
    return lambda name: (maps[weights["tensors"][name]["file"]], weights["tensors"][name]["offset"])


class Model:
    def __init__(self, folder, checkpoint=None):
        import jax  # late: --help needs none
        from jax.extend import backend
        self.jax, self.folder = jax, folder
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
            self.manifest = json.load(f)
        if self.manifest["format"] != "mlxcel-export" or self.manifest["version"] != 1:
            sys.exit("%s: not an export that this program reads" % folder)
        weights = self.manifest["weights"]
        if weights["how"] == "copy":
            self.find = copied_weights(folder, weights)
        else:
            self.find = referred_weights(checkpoint or folder, weights)
        self.client, self.device = backend.get_backend(), jax.devices()[0]
        self.entries = {e["name"]: e for e in self.manifest["entries"]}
        self.programs, self.weights, self.states = {}, {}, {}

    def weight(self, argument):
        """Uploaded once, shared by the entry points."""
        name = argument["name"]
        if name not in self.weights:
            data, offset = self.find(name)
            count = int(np.prod(argument["shape"], dtype=np.int64))
            host = np.frombuffer(data, DTYPES[argument["dtype"]], count, offset).reshape(argument["shape"])
            self.weights[name] = self.jax.device_put(host, self.device)
        return self.weights[name]

    def run(self, entry_name, **inputs):
        """Scores [tokens, vocab]; the caches are donated and come back as results."""
        entry = self.entries[entry_name]
        if entry_name not in self.programs:
            with open(os.path.join(self.folder, entry["file"]), encoding="utf-8") as f:
                self.programs[entry_name] = self.client.compile_and_load(f.read(), [self.device])
        arguments = []
        for a in entry["arguments"]:
            if a["kind"] == "weight":
                arguments.append(self.weight(a))
            elif a["kind"] == "state":
                if a["name"] not in self.states:
                    self.states[a["name"]] = self.jax.device_put(np.zeros(a["shape"], DTYPES[a["dtype"]]), self.device)
                arguments.append(self.states[a["name"]])
            elif a["name"] in inputs:
                arguments.append(self.jax.device_put(np.asarray(inputs[a["name"]], DTYPES[a["dtype"]]).reshape(a["shape"]), self.device))
            else:
                sys.exit("@%s takes %s, which this example does not make (a rotation that depends on the length)" % (entry_name, a["name"]))
        results = self.programs[entry_name].execute(arguments)
        for a in entry["arguments"]:
            if a["kind"] == "state":
                self.states[a["name"]] = results[a["donated_to_result"]]
        return np.asarray(results[0])

    def generate(self, ids, n):
        chunk, at, new = self.entries["prefill"]["tokens"], 0, []
        if len(ids) + n > self.manifest["capacity"]:
            sys.exit("%d and %d tokens do not fit a capacity of %d" % (len(ids), n, self.manifest["capacity"]))
        if self.manifest["rows"] != 1:
            sys.exit("this example runs exports of one row (-b 1)")
        while len(ids) - at >= chunk:
            scores = self.run("prefill", tokens=ids[at:at + chunk], positions=range(at, at + chunk), slot=0, last=chunk - 1)
            at += chunk
        for i in range(at, len(ids)):  # what is no whole chunk, token by token
            scores = self.run("decode", tokens=[ids[i]], positions=[i], slots=[0])
        while True:
            new.append(int(scores[-1].argmax()))
            if len(new) == n:
                return new
            scores = self.run("decode", tokens=[new[-1]], positions=[len(ids) + len(new) - 1], slots=[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--ids", required=True, help="the prompt, as token ids: 1,2,3")
    parser.add_argument("-n", type=int, default=16, help="tokens to generate; end tokens do not end it")
    parser.add_argument("--checkpoint", help="folder of the files that an export refers to")
    parser.add_argument("--compare", nargs=2, metavar=("MLXCEL", "MODEL"), help="run mlxcel too and compare")
    a = parser.parse_args()
    ids = [int(i) for i in a.ids.split(",")]
    new = Model(a.folder, a.checkpoint).generate(ids, a.n)
    print(json.dumps({"ids": new}))
    if a.compare:
        ran = subprocess.run([a.compare[0], "generate", "-m", a.compare[1], "--no-chat-template", "--ids", a.ids, "-n", str(a.n),
                              "--ignore-eos", "--json"], stdout=subprocess.PIPE, check=True,
                             env=dict(os.environ, MLXCEL_XLA_PRECISION="f32"))
        want = json.loads(ran.stdout)["ids"]
        same = sum(x == y for x, y in zip(new, want))
        print("%d of %d tokens equal mlxcel's" % (same, len(want)))
        sys.exit(0 if new == want else 1)


if __name__ == "__main__":
    main()
