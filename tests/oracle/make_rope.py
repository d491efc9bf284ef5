"""Rotary frequencies as transformers computes them, for every type in both config layouts.

Writes tests/data/oracle/rope.json: cases of {name, config, legacy, kind, length, f, amplitude}; `config` and `legacy`
are whole config.json texts that must give the same table. Every f is an f32 value printed exactly.
"""
import json
import os

import torch
import transformers
from transformers import Gemma3TextConfig, LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "data", "oracle", "rope.json")


def base(head_dim, max_pos):
    return dict(model_type="llama", vocab_size=256, hidden_size=head_dim * 2, intermediate_size=64, num_hidden_layers=1,
                num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=max_pos)


def split(rope):
    """The old spelling of a rope_parameters dict."""
    scaling = {k: v for k, v in rope.items() if k != "rope_theta"}
    old = {"rope_theta": rope["rope_theta"]}
    if scaling.get("rope_type", "default") != "default":
        old["rope_scaling"] = scaling
    return old


def numbers(inv_freq, amplitude):
    assert inv_freq.dtype == torch.float32
    return dict(f=[float(x) for x in inv_freq], amplitude=float(torch.tensor(amplitude, dtype=torch.float32)))


def frequencies(config, length):
    rotary = LlamaRotaryEmbedding(config)
    rotary(torch.zeros(1, 1, 1), torch.arange(length)[None])  # the dynamic kinds look at the positions
    return numbers(rotary.inv_freq, rotary.attention_scaling)


def llama_case(name, rope, head_dim=64, max_pos=4096, length=1, legacy=None):
    common = base(head_dim, max_pos)
    config = LlamaConfig(**{k: v for k, v in common.items() if k != "model_type"}, rope_parameters=dict(rope))
    new = dict(common, rope_parameters=rope)
    return dict(name=name, config=new, legacy=dict(common, **(legacy or split(rope))), kind="full_attention",
                length=length, **frequencies(config, length))


def gemma_cases():
    common = dict(model_type="gemma3_text", vocab_size=256, hidden_size=64, intermediate_size=64, num_hidden_layers=6,
                  num_attention_heads=2, num_key_value_heads=1, head_dim=64, sliding_window=8)
    rope = {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}
    old = {"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
           "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    config = Gemma3TextConfig(**{k: v for k, v in common.items() if k != "model_type"},
                              rope_parameters=json.loads(json.dumps(rope)))
    rotary = Gemma3RotaryEmbedding(config)
    for kind in rope:
        yield dict(name="gemma3 " + kind, config=dict(common, rope_parameters=rope), legacy=dict(common, **old),
                   kind=kind, length=1,
                   **numbers(getattr(rotary, kind + "_inv_freq"), getattr(rotary, kind + "_attention_scaling")))


def llama_cases():
    yield llama_case("default", {"rope_type": "default", "rope_theta": 10000.0}, head_dim=128)
    yield llama_case("default theta 1e6", {"rope_type": "default", "rope_theta": 1000000.0}, head_dim=256)
    yield llama_case("linear", {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5},
                     legacy={"rope_theta": 10000.0, "rope_scaling": {"type": "linear", "factor": 2.5}})
    dynamic = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}
    for length in (10, 16, 17, 40, 1000):
        yield llama_case("dynamic at %d" % length, dynamic, head_dim=32, max_pos=16, length=length)
    # theta 5e5, width 64, factor 32
    yield llama_case("llama3", {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0,
                                "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}, max_pos=131072)
    yield llama_case("llama3 small", {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0,
                                      "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                      "original_max_position_embeddings": 64}, head_dim=32, max_pos=256)
    yarn = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 64}
    yield llama_case("yarn", yarn, max_pos=256)
    yield llama_case("yarn mscale", dict(yarn, factor=40.0, mscale=0.707, mscale_all_dim=1.0), max_pos=2560)
    yield llama_case("yarn attention_factor", dict(yarn, attention_factor=1.2, beta_fast=16, beta_slow=2), max_pos=256)
    yield llama_case("yarn untruncated", dict(yarn, rope_theta=150000.0, factor=32.0, truncate=False,
                                              original_max_position_embeddings=4096), max_pos=131072)
    yield llama_case("yarn factor by lengths", dict(yarn, factor=None, original_max_position_embeddings=32), max_pos=256)
    longrope = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 16,
                "short_factor": [1.0 + 0.05 * j for j in range(16)], "long_factor": [1.5 + 2.25 * j for j in range(16)]}
    for length in (16, 17):
        old = {"rope_theta": 10000.0, "rope_scaling": {k.replace("rope_type", "type"): ("su" if v == "longrope" else v)
                                                        for k, v in longrope.items() if k != "rope_theta"}}
        yield llama_case("longrope at %d" % length, longrope, head_dim=32, max_pos=64, length=length, legacy=old)
    yield llama_case("longrope factor", dict(longrope, factor=32.0), head_dim=32, max_pos=64, length=40)


def main():
    torch.set_num_threads(1)
    cases = list(llama_cases()) + list(gemma_cases())
    source = "transformers %s, torch %s" % (transformers.__version__, torch.__version__)
    with open(OUT, "w") as f:
        f.write('{"source": %s, "cases": [\n' % json.dumps(source))
        f.write(",\n".join(json.dumps(c) for c in cases) + "\n]}\n")
    print(len(cases), "cases", os.path.getsize(OUT), "bytes")


if __name__ == "__main__":
    assert set(ROPE_INIT_FUNCTIONS) >= {"linear", "dynamic", "yarn", "longrope", "llama3"}
    main()
