#!/usr/bin/env python3
"""One model shared by several devices (virtual ones of the XLA CPU plugin): the tokens of one device, a part of its bytes.

    devices.py MLXCEL        prints TAP; skips with 77 where there is no XLA plugin for CPUs
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE = os.path.join(HERE, "..", "data", "oracle", "llama3")
sys.path.insert(0, os.path.join(HERE, "..", "parity"))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import engines  # noqa: E402  (for where plugins are)
from tap import ok, plan  # noqa: E402

PROGRAM = sys.argv[1]


def make_model(folder, heads):
    """A random llama with as many key heads as query heads."""
    with open(os.path.join(ORACLE, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    hidden, inter, vocab, width = config["hidden_size"], 128, 256, 32
    config.update(num_attention_heads=heads, num_key_value_heads=heads, intermediate_size=inter, num_hidden_layers=2,
                  head_dim=width, dtype="float32", torch_dtype="float32", tie_word_embeddings=True)
    shapes = {"model.embed_tokens.weight": [vocab, hidden], "model.norm.weight": [hidden]}
    for i in range(2):
        p = "model.layers.%d." % i
        shapes.update({p + "self_attn.%s_proj.weight" % c: [heads * width, hidden] for c in "qkv"})
        shapes.update({p + "self_attn.o_proj.weight": [hidden, heads * width], p + "mlp.gate_proj.weight": [inter, hidden],
                       p + "mlp.up_proj.weight": [inter, hidden], p + "mlp.down_proj.weight": [hidden, inter],
                       p + "input_layernorm.weight": [hidden], p + "post_attention_layernorm.weight": [hidden]})
    rng, header, data = random.Random(7), {}, b""
    for name, shape in sorted(shapes.items()):
        n = shape[0] * (shape[1] if len(shape) > 1 else 1)
        bytes_ = struct.pack("<%df" % n, *(rng.gauss(0, 0.2) if len(shape) > 1 else 1.0 for _ in range(n)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    os.makedirs(folder)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + data)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)
    return folder


def run(env, *words):
    return subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, timeout=300)


def generate(env, model, device, devices):
    ran = run(env, "generate", "-m", model, "--no-chat-template", "--ids", "1", "-n", "24", "-c", "64", "--ignore-eos", "--json",
              "--device", device, "--devices", str(devices))
    return json.loads(ran.stdout) if ran.returncode == 0 else ran.stderr


def compare(env, name, model, devices, part):
    """`part`: at most this share of the weights on each device (what cannot be cut, norms, is on all)."""
    want = generate(dict(env, MLXCEL_XLA_PRECISION="f32"), model, "native", 1)
    got = generate(env, model, "pjrt:cpu", devices)
    if isinstance(got, str):
        ok(False, "%s on %d devices" % (name, devices), got)
    ok(got["ids"] == want["ids"] and len(got["ids"]) == 24, "%s on %d devices: the same 24 tokens" % (name, devices), (got, want))
    share = got["memory"]["weights_device"] / got["memory"]["weights"]
    ok(share <= part, "%s on %d devices: %.3f of the weights on each" % (name, devices, share), got["memory"])


def main():
    with tempfile.TemporaryDirectory() as root:
        env = dict(engines.environment("pjrt:cpu"), MLXCEL_CACHE_DIR=os.path.join(root, "cache"))
        plain = make_model(os.path.join(root, "plain"), 4)
        one = ("generate", "-m", plain, "--no-chat-template", "--ids", "1", "-n", "1", "--device")
        probe = run(env, *one, "pjrt:cpu")
        if "no PJRT plugin is installed" in probe.stderr:
            print("skipped: " + probe.stderr.strip())
            sys.exit(77)
        probe = run(env, *one, "pjrt:cpu", "--devices", "8")
        ok("8 devices cannot share 4 query heads and 4 key/value heads" in probe.stderr, "heads that cannot be divided", probe.stderr)
        ran = run(env, *one, "native", "--devices", "2")
        ok("the engine native runs on one device, 2 are asked for" in ran.stderr, "an engine for one device", ran.stderr)
        quantized, gguf = os.path.join(root, "q4"), os.path.join(root, "q4.gguf")
        for words in (["-o", quantized, "--bits", "4", "--group", "32"], ["-o", gguf, "--type", "q4_0"]):
            ran = run(env, "quantize", plain, *words)
            ok(ran.returncode == 0, "quantize " + words[1].rsplit("/", 1)[1], ran.stderr)
        compare(env, "llama3 (bf16, shared key heads)", ORACLE, 2, 0.51)
        compare(env, "f32", plain, 4, 0.26)
        packed = dict(env, MLXCEL_XLA_QUANT="packed")
        compare(packed, "MLX 4-bit, packed", quantized, 2, 0.51)
        compare(packed, "GGUF Q4_0, packed", gguf, 4, 0.27)
        compare(env, "GGUF Q4_0, widened", gguf, 2, 0.51)
        plan()


main()
