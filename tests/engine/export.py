#!/usr/bin/env python3
"""mlxcel xla export: what the folder says is so; and with JAX (examples/jax_run.py) it gives mlxcel's tokens.

    export.py MLXCEL        prints TAP; the part with JAX is left out, by name, where MLXCEL_TEST_PYTHON (else python3) has none
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data", "oracle")
EXAMPLE = os.path.join(HERE, "..", "..", "examples", "jax_run.py")
PROGRAM = sys.argv[1]
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from tap import ok, plan  # noqa: E402


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)


def export(model, folder, *more):
    ran = run(PROGRAM, "xla", "export", "-m", os.path.join(DATA, model), "-o", folder, "--tokens", "8", "--capacity", "64", *more)
    if ran.returncode:
        return None, ran.stderr
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
        return json.load(f), ran.stdout


def tensors_of(path):
    """name: (dtype, shape, bytes) of a safetensors file."""
    with open(path, "rb") as f:
        data = f.read()
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__", None)
    return {k: (v["dtype"], v["shape"], data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]) for k, v in header.items()}


def folders(root):
    copy, said = export("qwen3-q4g32", os.path.join(root, "copy"))
    ok(copy, "copy", said)
    weights, source = tensors_of(os.path.join(root, "copy", "weights.safetensors")), tensors_of(os.path.join(DATA, "qwen3-q4g32", "model.safetensors"))
    asked = {a["name"]: a for e in copy["entries"] for a in e["arguments"] if a["kind"] == "weight"}
    ok(set(weights) == set(asked) and all(weights[k] == (a["dtype"], a["shape"], source[k][2]) for k, a in asked.items()),
       "the weights are the checkpoint's, as the arguments say")
    decode = copy["entries"][1]
    with open(os.path.join(root, "copy", decode["file"]), encoding="utf-8") as f:
        text = f.read()
    head = text[text.index("func.func @main("):]
    written = re.findall(r"%\S+: (tensor<[^>]*>)", head[:head.index(") -> ")])
    ok(written == [a["type"] for a in decode["arguments"]], "arguments in the module's order", written[:3])
    donated = [a for a in decode["arguments"] if a["kind"] == "state"]
    ok([decode["results"][a["donated_to_result"]]["name"] for a in donated] == ["kcache", "vcache"], "states are donated to their results", donated)
    _, said = export("qwen3-q4g32", os.path.join(root, "copy"))
    ok("is there already" in said, "a folder that is there stays", said)
    refer, said = export("llama-gguf", os.path.join(root, "refer"), "--weights", "reference")
    ok(refer, "reference", said)
    gguf = os.path.join(DATA, "llama-gguf", refer["weights"]["files"][0]["file"])
    with open(gguf, "rb") as f:
        ok(hashlib.sha256(f.read()).hexdigest() == refer["weights"]["files"][0]["sha256"], "the digest is that of the file")
    _, said = export("llama3", os.path.join(root, "other"), "--weights", "somehow")
    ok("--weights takes copy or reference" in said, "another way is refused", said)


def with_jax(root):
    python = os.environ.get("MLXCEL_TEST_PYTHON") or sys.executable
    if run(python, "-c", "import jax, numpy, ml_dtypes").returncode:
        print("# without JAX (%s has none): examples/jax_run.py was not run" % python)
        return
    ran = run(python, EXAMPLE, os.path.join(root, "copy"), "--ids", "1,2,3,4,5,6,7,8,9", "-n", "12",
              "--compare", PROGRAM, os.path.join(DATA, "qwen3-q4g32"))
    ok(ran.returncode == 0 and "12 of 12 tokens equal" in ran.stdout, "JAX gives the same tokens", ran.stdout + ran.stderr)
    broken = os.path.join(root, "broken")
    os.makedirs(broken)
    with open(os.path.join(root, "refer", "manifest.json"), encoding="utf-8") as f:
        name = json.load(f)["weights"]["files"][0]["file"]
    shutil.copyfile(os.path.join(DATA, "llama-gguf", name), os.path.join(broken, name))
    with open(os.path.join(broken, name), "ab") as f:
        f.write(b"x")
    ran = run(python, EXAMPLE, os.path.join(root, "refer"), "--ids", "1", "-n", "1", "--checkpoint", broken)
    ok(ran.returncode != 0 and "is not the file that was exported from" in ran.stderr, "another file is refused", ran.stderr)


def main():
    with tempfile.TemporaryDirectory() as root:
        folders(root)
        with_jax(root)
        plan()


main()
