"""A twin with nvfp4 stacks that have a scale of their own for every expert, `global_scale`: a stack is times that / (448 * 6)."""
import json
import os
import zlib

import mlx.core as mx
import numpy as np
from safetensors.torch import load_file as load_torch

from reference import DATA
from tiny import write_config
from twins import finish_on
from twins_stacked import pack, stack, unstack

NVFP4 = dict(group_size=16, bits=4, mode="nvfp4")
GLOBAL = {"qwen3moe-nvfp4": "qwen3moe"}
LARGEST = 448 * 6


def add_scales(file, back):
    """From half to one and a half of what changes nothing."""
    for key in [k for k in file if k.endswith(".weight") and "switch_mlp" in k]:
        experts = file[key].shape[0]
        scale = np.random.default_rng(zlib.crc32(key.encode())).uniform(0.5, 1.5, experts).astype(np.float32) * LARGEST
        file[key.removesuffix("weight") + "global_scale"] = mx.array(scale)
        back[key] = (back[key] * (scale / np.float32(LARGEST))[:, None, None]).astype(np.float32)


def make(name):
    source = GLOBAL[name]
    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(DATA, source, "config.json")) as f:
        config = json.load(f)
    tensors = {k: t.float().numpy() for k, t in load_torch(os.path.join(DATA, source, "model.safetensors")).items()}
    file, back, _ = pack(stack(tensors), lambda key: NVFP4 if "switch_mlp" in key else None)
    add_scales(file, back)
    mx.save_safetensors(os.path.join(folder, "model.safetensors"), file, metadata={"format": "mlx"})
    write_config(os.path.join(folder, "config.json"), dict(config, quantization=NVFP4, quantization_config=NVFP4))
    finish_on(name, source, unstack(back))
