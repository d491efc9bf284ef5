"""Twins in eight-bit floats, as DeepSeek-V3 (a scale for each block) and Ministral 3 (one for each matrix, and one for the
activations, which readers may leave alone) are published.

The reference is f32 arithmetic on f32(E4M3 * scale). Where transformers' own dequantization takes the same blocks it must
give the same bits: it infers them from the number of scales, so blocks that the rows do not fill are left to the formula.
"""
import json
import os

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers.integrations.finegrained_fp8 import Fp8Dequantize

from reference import DATA
from tiny import write_config
from twins import finish_on

MOST = 448.0  # of E4M3
# id: source, rows and columns of a block (None: the whole matrix)
FP8 = {"dsv3-fp8": ("dsv3", [48, 32]), "ministral3-fp8": ("ministral3", None)}


def is_packed(key, w):
    kept = ("embed_tokens", "lm_head", "mlp.gate.weight", "norm")
    return key.endswith(".weight") and w.ndim == 2 and not any(k in key for k in kept)


def spread(scales, shape, block):
    wide = np.repeat(np.repeat(scales, block[0], 0), block[1], 1)
    return wide[:shape[0], :shape[1]]


def largest(w, block):
    rows, cols = (-(-n // b) for n, b in zip(w.shape, block))
    return np.array([[np.abs(w[r * block[0]:(r + 1) * block[0], c * block[1]:(c + 1) * block[1]]).max() for c in range(cols)]
                     for r in range(rows)], np.float32)


def pack(key, w, block, file):
    """Adds the file's tensors; what a reader gets back."""
    w, whole = w.float().numpy(), block is None
    block = block or list(w.shape)
    scales = torch.from_numpy(np.maximum(largest(w, block) / MOST, 1e-8).astype(np.float32))
    if whole:
        scales = scales.bfloat16()
    wide = spread(scales.float().numpy(), w.shape, block)
    q = torch.from_numpy(np.clip(w / wide, -MOST, MOST)).to(torch.float8_e4m3fn)
    back = q.float().numpy() * wide
    assert back.dtype == np.float32 and np.isfinite(back).all()
    if all(n % b == 0 or n < b for n, b in zip(w.shape, block)):
        theirs = Fp8Dequantize(None)._dequantize_one(q, scales, torch.float32)
        assert np.array_equal(theirs.numpy(), back), key
    file[key], file[key + "_scale_inv"] = q, scales.reshape(()) if whole else scales
    if whole:
        file[key.replace(".weight", ".activation_scale")] = torch.tensor(0.01, dtype=torch.bfloat16)
    return back


def make(name):
    source, block = FP8[name]
    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    file, reference = {}, {}
    for key, w in load_file(os.path.join(DATA, source, "model.safetensors")).items():
        if is_packed(key, w):
            reference[key] = pack(key, w, block, file)
        else:
            file[key], reference[key] = w, w.float().numpy()
    save_file(file, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(DATA, source, "config.json")) as f:
        config = json.load(f)
    how = dict(quant_method="fp8", activation_scheme="dynamic" if block else "static", weight_block_size=block)
    if block:
        how["fmt"] = "e4m3"
    write_config(os.path.join(folder, "config.json"), dict(config, quantization_config=how))
    finish_on(name, source, reference)
