"""Twins as mlx-lm lays them out: experts stacked under switch_mlp, MLA's kv_b_proj in two, convolutions [C, K, 1], norms with
their 1 added; plain or packed. And gpt-oss with OpenAI's MXFP4 blocks.

A table row names the source checkpoint, the function that re-lays its tensors and the one that undoes it for the reference.
"""
import json
import os
import re

import mlx.core as mx
import numpy as np
from safetensors.torch import load_file as load_torch

from reference import DATA
from tiny import write_config
from twins import as_f32, finish_on, quantize_one

AFFINE4 = dict(group_size=32, bits=4, mode="affine")
AFFINE8 = dict(group_size=64, bits=8)
MXFP4 = dict(group_size=32, bits=4, mode="mxfp4")
EXPERT = re.compile(r"(.*)\.experts\.(\d+)\.(\w+)\.weight")
MIXTRAL = {"w1": "gate_proj", "w3": "up_proj", "w2": "down_proj"}


def stack(tensors, names=None):
    """Experts of one layer and kind become one tensor [E, out, in]."""
    out, stacks = {}, {}
    for key, w in tensors.items():
        m = EXPERT.match(key)
        if m:
            stacks.setdefault((m[1], m[3]), {})[int(m[2])] = w
        else:
            out[key] = w
    for (stem, kind), parts in stacks.items():
        out["%s.switch_mlp.%s.weight" % (stem, (names or {}).get(kind, kind))] = np.stack([parts[e] for e in sorted(parts)])
    return out


def unstack(tensors, names=None):
    back = {v: k for k, v in (names or {}).items()}
    out = {}
    for key, w in tensors.items():
        m = re.match(r"(.*)\.switch_mlp\.(\w+)\.weight", key)
        if not m:
            out[key] = w
            continue
        for e in range(len(w)):
            out["%s.experts.%d.%s.weight" % (m[1], e, back.get(m[2], m[2]))] = w[e]
    return out


def split_latent(tensors, config):
    """kv_b_proj's rows of a head: k's part, kept transposed, and v's."""
    heads, dn, dv = config["num_attention_heads"], config["qk_nope_head_dim"], config["v_head_dim"]
    out = stack(tensors)
    for key in [k for k in out if k.endswith("kv_b_proj.weight")]:
        w, stem = out.pop(key), key.removesuffix("kv_b_proj.weight")
        w = w.reshape(heads, dn + dv, -1)
        out[stem + "embed_q.weight"] = np.ascontiguousarray(w[:, :dn].swapaxes(1, 2))
        out[stem + "unembed_out.weight"] = np.ascontiguousarray(w[:, dn:])
    return out


def join_latent(tensors, config):
    out = unstack(tensors)
    for key in [k for k in out if k.endswith("embed_q.weight")]:
        stem = key.removesuffix("embed_q.weight")
        k, v = out.pop(key).swapaxes(1, 2), out.pop(stem + "unembed_out.weight")
        out[stem + "kv_b_proj.weight"] = np.concatenate([k, v], 1).reshape(-1, k.shape[2])
    return out


def flip_convolutions(tensors):
    return {k: np.ascontiguousarray(w.swapaxes(1, 2)) if "conv" in k and w.ndim == 3 else w for k, w in tensors.items()}


def is_next_norm(key):
    return key.endswith("norm.weight") and "linear_attn.norm" not in key


def next_to_mlx(tensors, config):
    tensors = {k: w + 1 if is_next_norm(k) else w for k, w in stack(tensors).items()}
    return flip_convolutions(tensors)


def next_from_mlx(tensors, config):
    return flip_convolutions(unstack({k: w - 1 if is_next_norm(k) else w for k, w in tensors.items()}))


def gpt_split(tensors, config):
    """Even columns of gate_up_proj are the gate; every expert matrix turned to [out, in]."""
    out = {}
    for key, w in tensors.items():
        turned = np.ascontiguousarray(w.swapaxes(1, 2)) if w.ndim == 3 else w
        if "gate_up_proj" in key:
            for i, kind in enumerate(("gate_proj", "up_proj")):
                name = key.replace("gate_up_proj", kind)
                name = name.replace("_bias", ".bias") if name.endswith("_bias") else name + ".weight"
                out[name] = np.ascontiguousarray(turned[:, i::2])
        elif ".experts.down_proj" in key:
            out[key.replace("_bias", ".bias") if key.endswith("_bias") else key + ".weight"] = turned
        else:
            out[key] = w
    return out


def gpt_join(tensors, config):
    out = {}
    for key, w in tensors.items():
        if ".experts." not in key:
            out[key] = w
            continue
        stem, kind = key.rsplit(".", 1)
        if stem.endswith("up_proj"):
            continue
        if stem.endswith("gate_proj"):
            up = tensors[stem.replace("gate_proj", "up_proj") + "." + kind]
            w = np.stack([w, up], 2).reshape(w.shape[0], 2 * w.shape[1], *w.shape[2:])
            stem = stem.replace("gate_proj", "gate_up_proj")
        out[stem + "_bias" if kind == "bias" else stem] = w.swapaxes(1, 2) if kind == "weight" else w
    return out


def only_experts(key):
    return MXFP4 if "experts" in key else AFFINE8


# id: source, to MLX's layout, back, what packs a module (None: nothing is packed)
plain = lambda f: lambda tensors, config: f(tensors)
STACKED = {
    "qwen3moe-q4g32": ("qwen3moe", plain(stack), plain(unstack), lambda k: AFFINE8 if k.endswith("mlp.gate") else AFFINE4),
    "mixtral-mlx": ("mixtral", lambda t, c: stack(t, MIXTRAL), lambda t, c: unstack(t, MIXTRAL), None),
    "dsv3-q4g32": ("dsv3", split_latent, join_latent, lambda k: None if k.endswith("mlp.gate") else AFFINE4),
    "lfm2-mlx": ("lfm2", plain(flip_convolutions), plain(flip_convolutions), None),
    "qwen3next-mlx": ("qwen3next", next_to_mlx, next_from_mlx, None),
    "gptoss-mlx": ("gptoss", gpt_split, gpt_join, only_experts),
    "gptoss-mxfp4": ("gptoss", gpt_split, gpt_join, lambda k: MXFP4 if "experts" in k else None),
}


def pack(tensors, how_of):
    """(file tensors, what a reader gets back, overrides by module)."""
    file, back, modules = {}, {}, {}
    for key, w in tensors.items():
        stem = key.removesuffix(".weight")
        how = how_of(stem) if how_of and w.ndim >= 2 and key != stem and "conv" not in key else None
        if "correction_bias" in key:
            file[key], back[key] = mx.array(w), w
        elif how is None:
            file[key] = mx.array(w).astype(mx.bfloat16)
            back[key] = as_f32(file[key])
        else:
            back[key] = quantize_one(mx.array(w).astype(mx.bfloat16), file, stem, how)
            modules[stem] = how
    return file, back, modules


def to_openai(file):
    """MXFP4 words as gpt-oss's own files hold them: rows of gate and up in turn, 16 bytes to a block of 32."""
    out = {k: w for k, w in file.items() if ".experts." not in k}
    for stem in {k.split(".experts.")[0] + ".experts." for k in file if ".experts." in k}:
        part = lambda name: np.array(file[stem + name].view(mx.uint8) if "weight" in name else file[stem + name])
        turn = lambda kind: np.stack([part("gate_proj." + kind), part("up_proj." + kind)], 2)
        for name, words, scales in (("gate_up_proj", turn("weight"), turn("scales")),
                                    ("down_proj", part("down_proj.weight"), part("down_proj.scales"))):
            words, scales = words.reshape(words.shape[0], -1, words.shape[-1]), scales.reshape(scales.shape[0], -1, scales.shape[-1])
            out[stem + name + "_blocks"] = mx.array(words.reshape(*scales.shape, 16))
            out[stem + name + "_scales"] = mx.array(scales)
        bias = [np.array(file[stem + k + ".bias"].astype(mx.float32)) for k in ("gate_proj", "up_proj", "down_proj")]
        out[stem + "gate_up_proj_bias"] = mx.array(np.stack(bias[:2], 2).reshape(bias[0].shape[0], -1)).astype(mx.bfloat16)
        out[stem + "down_proj_bias"] = mx.array(bias[2]).astype(mx.bfloat16)
    return out


def quantization_of(name, modules):
    if name.endswith("-mxfp4"):
        return {"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": [
            "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}}
    if not modules:
        return {}
    top = MXFP4 if any(m.get("mode") == "mxfp4" for m in modules.values()) else AFFINE4
    block = dict(top, **{k: m for k, m in modules.items() if m is not top})
    return {"quantization": block, "quantization_config": block}


def make(name):
    source, to_mlx, from_mlx, how_of = STACKED[name]
    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(DATA, source, "config.json")) as f:
        config = json.load(f)
    tensors = {k: t.float().numpy() for k, t in load_torch(os.path.join(DATA, source, "model.safetensors")).items()}
    file, back, modules = pack(to_mlx(tensors, config), how_of)
    if name.endswith("-mxfp4"):
        file = to_openai(file)
    mx.save_safetensors(os.path.join(folder, "model.safetensors"), file,
                        metadata={"format": "pt" if name.endswith("-mxfp4") else "mlx"})
    write_config(os.path.join(folder, "config.json"), dict(config, **quantization_of(name, modules)))
    finish_on(name, source, from_mlx(back, config), slack=10.0 if source == "qwen3next" else 1.0)
