"""MLX twins: every Linear and Embedding of a tiny checkpoint packed, and what transformers computes on the dequantized weights.

By mx.quantize: affine (reference = f32(f32(q * scale) + bias), the scale and the bias widened to f32 first) or a floating mode
(reference = mx.dequantize in f32). Experts are stacked and named as mlx-lm does in twins_stacked.py.
"""
import json
import os

import mlx.core as mx
from safetensors.torch import load_file as load_torch

from reference import DATA
from tiny import write_config
from twins import as_f32, finish_on, quantize_one

# id: source, dtype of scales, biases and the weights left plain, how modules are packed, and overrides by module path
# (False: left plain, and said so)
AFFINE = lambda bits, group: dict(group_size=group, bits=bits, mode="affine")
MXFP4, MXFP8, NVFP4 = (dict(group_size=g, bits=b, mode=m) for g, b, m in ((32, 4, "mxfp4"), (32, 8, "mxfp8"), (16, 4, "nvfp4")))
MIXED = {
    "model.embed_tokens": dict(group_size=64, bits=6),
    "model.layers.0.self_attn.v_proj": dict(group_size=32, bits=8),
    "model.layers.0.self_attn.o_proj": dict(group_size=128, bits=4),
    "model.layers.0.mlp.down_proj": dict(group_size=128, bits=3),
    "model.layers.1.mlp.down_proj": dict(group_size=128, bits=5),
    "model.layers.1.self_attn.o_proj": dict(group_size=128, bits=2),
    "model.layers.1.mlp.gate_proj": False,
}
MLX = {
    "llama3-q4g64": ("llama3", mx.float16, AFFINE(4, 64), {}),
    "llama3-q8g32": ("llama3", mx.bfloat16, AFFINE(8, 32), {}),
    "qwen3-q4g32": ("qwen3", mx.bfloat16, AFFINE(4, 32), {}),
    "qwen3-q8g64": ("qwen3", mx.float16, AFFINE(8, 64), {}),
    "llama3-q2g32": ("llama3", mx.float16, AFFINE(2, 32), {}),
    "qwen3-q3g64": ("qwen3", mx.bfloat16, AFFINE(3, 64), {}),
    "llama3-q5g32": ("llama3", mx.bfloat16, AFFINE(5, 32), {}),
    "qwen3-q6g64": ("qwen3", mx.float16, AFFINE(6, 64), {}),
    "llama3-mixed": ("llama3", mx.float16, AFFINE(4, 64), MIXED),
    "qwen3-mxfp4": ("qwen3", mx.bfloat16, MXFP4, {"model.embed_tokens": dict(group_size=64, bits=8)}),
    "llama3-mxfp8": ("llama3", mx.bfloat16, MXFP8, {}),
    "qwen3-nvfp4": ("qwen3", mx.bfloat16, NVFP4, {}),
    "gemma2-q4g32": ("gemma2", mx.bfloat16, AFFINE(4, 32), {}),
    "youtu-q4g32": ("youtu", mx.bfloat16, AFFINE(4, 32), {}),
}


def quantize_all(tensors, dtype, how, overrides):
    """(file tensors, f32 weights of the reference). Every matrix of these models is a Linear or an Embedding."""
    file, reference = {}, {}
    for key, w in tensors.items():
        w, stem = mx.array(w.float().numpy()).astype(dtype), key.removesuffix(".weight")
        mine = overrides.get(stem, how)
        if w.ndim != 2 or mine is False:
            file[key], reference[key] = w, as_f32(w)
        else:
            reference[key] = quantize_one(w, file, stem, mine)
    return file, reference


def make(name):
    source, dtype, how, overrides = MLX[name]
    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    file, reference = quantize_all(load_torch(os.path.join(DATA, source, "model.safetensors")), dtype, how, overrides)
    mx.save_safetensors(os.path.join(folder, "model.safetensors"), file, metadata={"format": "mlx"})
    with open(os.path.join(DATA, source, "config.json")) as f:
        config = json.load(f)
    config["dtype"] = "float16" if dtype == mx.float16 else "bfloat16"
    config["quantization"] = config["quantization_config"] = dict(how, **overrides)
    write_config(os.path.join(folder, "config.json"), config)
    finish_on(name, source, reference)
