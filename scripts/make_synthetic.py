#!/usr/bin/env python3
"""A checkpoint of a published model's shape with random weights in MLX's 4-bit format: the same bytes every time.

    make_synthetic.py SHAPE -o DIR        SHAPE: llama-3.2-1b, qwen3-0.6b

For comparing arithmetic at full size where the published weights are not at hand; what such a model says has no meaning, and
it has no tokenizer. Needs numpy.
"""
import argparse
import json
import os
import struct

import numpy as np

SHAPES = {
    "llama-3.2-1b": dict(
        model_type="llama", architectures=["LlamaForCausalLM"], hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
        num_attention_heads=32, num_key_value_heads=8, head_dim=64, vocab_size=128256, rope_theta=500000.0, rms_norm_eps=1e-5,
        rope_scaling=dict(rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192)),
    "qwen3-0.6b": dict(
        model_type="qwen3", architectures=["Qwen3ForCausalLM"], hidden_size=1024, intermediate_size=3072, num_hidden_layers=28,
        num_attention_heads=16, num_key_value_heads=8, head_dim=128, vocab_size=151936, rope_theta=1000000.0, rms_norm_eps=1e-6),
}
GROUP = 64


class Writer:
    def __init__(self, seed):
        self.rng, self.tensors = np.random.Generator(np.random.PCG64(seed)), []

    def add(self, name, dtype, array):
        self.tensors.append((name, dtype, array))

    def matrix(self, name, rows, cols, deviation):
        """Words of eight 4-bit values q; a weight is q * scale + bias, of the given deviation about 0."""
        self.add(name + ".weight", "U32", self.rng.integers(0, 2**32, (rows, cols // 8), dtype=np.uint32))
        spread = self.rng.uniform(0.8, 1.2, (rows, cols // GROUP)) * deviation / np.sqrt((16**2 - 1) / 12)
        self.add(name + ".scales", "F16", spread.astype(np.float16))
        self.add(name + ".biases", "F16", (-7.5 * spread).astype(np.float16))

    def norm(self, name, n):
        self.add(name + ".weight", "F16", self.rng.uniform(0.7, 1.3, n).astype(np.float16))

    def save(self, path):
        header, at = {}, 0
        for name, dtype, array in self.tensors:
            header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
            at += array.nbytes
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for _, _, array in self.tensors:
                f.write(array.astype(array.dtype.newbyteorder("<")).tobytes())


def fill(w, c):
    hidden, inter = c["hidden_size"], c["intermediate_size"]
    q, kv = c["num_attention_heads"] * c["head_dim"], c["num_key_value_heads"] * c["head_dim"]
    w.matrix("model.embed_tokens", c["vocab_size"], hidden, 2 / np.sqrt(hidden))
    for i in range(c["num_hidden_layers"]):
        at = "model.layers.%d." % i
        for name, rows, cols in (("self_attn.q_proj", q, hidden), ("self_attn.k_proj", kv, hidden), ("self_attn.v_proj", kv, hidden),
                                 ("self_attn.o_proj", hidden, q), ("mlp.gate_proj", inter, hidden), ("mlp.up_proj", inter, hidden),
                                 ("mlp.down_proj", hidden, inter)):
            w.matrix(at + name, rows, cols, 1 / np.sqrt(cols))
        for name in ("input_layernorm", "post_attention_layernorm"):
            w.norm(at + name, hidden)
        if c["model_type"] == "qwen3":
            for name in ("q_norm", "k_norm"):
                w.norm(at + "self_attn." + name, c["head_dim"])
    w.norm("model.norm", hidden)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=sorted(SHAPES))
    parser.add_argument("-o", "--output", required=True)
    a = parser.parse_args()
    c = dict(SHAPES[a.shape], max_position_embeddings=8192, tie_word_embeddings=True, attention_bias=False, hidden_act="silu",
             bos_token_id=1, eos_token_id=2, torch_dtype="float16", quantization=dict(group_size=GROUP, bits=4))
    os.makedirs(a.output, exist_ok=True)
    w = Writer(2026)
    fill(w, c)
    w.save(os.path.join(a.output, "model.safetensors"))
    with open(os.path.join(a.output, "config.json"), "w", encoding="utf-8") as f:
        json.dump(c, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
