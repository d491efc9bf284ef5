"""Tiny checkpoints of families that transformers has no class for, made from a class that computes the same.

What their files call things is known from other readers of them, not from a published checkpoint.
"""
import json
import os
import re
import tempfile
import zlib

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from reference import tolerance, versions, write_json
from tiny import PLAIN, Tiny, load, prompts, run, write_config
from tiny_dense import PHI3
from tiny_moe import EXPERTS

SMALL = dict(vocab_size=128)


def renamed(tensors, pairs):
    out = {}
    for key, t in tensors.items():
        for pattern, new in pairs:
            key = re.sub(pattern, new, key)
        out[key] = t
    return out


def as_model(config, model_type, architecture, gone=(), **more):
    config = {k: v for k, v in config.items() if k not in gone}
    return dict(config, model_type=model_type, architectures=[architecture], **more)


def untied_missing(config, tensors):
    config.pop("tie_word_embeddings")
    return config, tensors


def mimo(config, tensors):
    """Qwen 2, and the heads of multi-token prediction, which a reader leaves alone."""
    tensors["model.mtp_layers.0.input_layernorm.weight"] = torch.ones(64, dtype=torch.bfloat16)
    return as_model(config, "mimo", "MiMoForCausalLM", num_nextn_predict_layers=1), tensors


def minicpm(config, tensors):
    gone = ("attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling")
    base = int(config["hidden_size"] / config["logits_scaling"])
    return as_model(config, "minicpm", "MiniCPMForCausalLM", gone, scale_emb=12, scale_depth=1.4, dim_model_base=base), tensors


def internlm2(config, tensors):
    """q, k and v of one kv head lie together: its query heads, then k, then v."""
    nq, nk = config["num_attention_heads"], config["num_key_value_heads"]
    for i in range(config["num_hidden_layers"]):
        stem = "model.layers.%d.self_attn." % i
        for kind in ("weight", "bias") if config["attention_bias"] else ("weight",):
            q, k, v = (tensors.pop("%s%s_proj.%s" % (stem, x, kind)) for x in "qkv")
            rest = q.shape[1:]
            d = q.shape[0] // nq
            grouped = torch.cat([q.view(nk, nq // nk * d, *rest), k.view(nk, d, *rest), v.view(nk, d, *rest)], 1)
            tensors["model.layers.%d.attention.wqkv.%s" % (i, kind)] = grouped.reshape(-1, *rest)
    names = [("embed_tokens", "tok_embeddings"), ("self_attn.o_proj", "attention.wo"), ("mlp.gate_proj", "feed_forward.w1"),
             ("mlp.up_proj", "feed_forward.w3"), ("mlp.down_proj", "feed_forward.w2"), ("input_layernorm", "attention_norm"),
             ("post_attention_layernorm", "ffn_norm"), ("lm_head", "output")]
    config = as_model(config, "internlm2", "InternLM2ForCausalLM", ("attention_bias", "mlp_bias"), bias=True)
    return config, renamed(tensors, names)


def deepseek(config, tensors):
    """Qwen 2 MoE whose biases are 0 and whose gate of the shared expert is 1/2 everywhere: V1's shared expert is half as large."""
    gone = ("shared_expert_intermediate_size", "mlp_only_layers", "decoder_sparse_step", "num_experts", "qkv_bias",
            "num_local_experts", "use_sliding_window", "max_window_layers", "sliding_window", "layer_types")
    out = {}
    for key, t in tensors.items():
        if key.endswith("_proj.bias") or "shared_expert_gate" in key:
            assert not t.any()
        else:
            out[key.replace("shared_expert.", "shared_experts.")] = t / 2 if "shared_expert.down_proj" in key else t
    return as_model(config, "deepseek", "DeepseekForCausalLM", gone, n_routed_experts=8, n_shared_experts=2,
                    first_k_dense_replace=1, moe_layer_freq=1, scoring_func="softmax"), out


ADAPTERS = {"speech": dict(r=8, lora_alpha=16), "vision": dict(r=8, lora_alpha=8)}
ADAPTED = re.compile(r"(.*\.(?:qkv_proj|o_proj|gate_up_proj|down_proj))\.weight")


def phi4mm(config, tensors):
    """Phi 3 with a low-rank addition to every projection for each kind of input but text."""
    out = {}
    for key, w in tensors.items():
        m = ADAPTED.match(key)
        if not m:
            out[key] = w
            continue
        out[m[1] + ".base_layer.weight"] = w
        for kind, a in ADAPTERS.items():
            for part, shape in (("lora_A", (a["r"], w.shape[1])), ("lora_B", (w.shape[0], a["r"]))):
                name = "%s.%s.%s.weight" % (m[1], part, kind)
                g = torch.Generator().manual_seed(zlib.crc32(name.encode()))
                out[name] = (0.15 * torch.randn(shape, generator=g)).bfloat16()
    return as_model(config, "phi4mm", "Phi4MMForCausalLM", **{k + "_lora": dict(a) for k, a in ADAPTERS.items()}), out


def merged(tensors, kind):
    a, out = ADAPTERS[kind], {}
    for key, w in tensors.items():
        if ".lora_" in key:
            continue
        if ".base_layer" in key:
            stem = key.removesuffix(".base_layer.weight")
            down, up = (tensors["%s.%s.%s.weight" % (stem, p, kind)].float() for p in ("lora_A", "lora_B"))
            key, w = stem + ".weight", w.float() + a["lora_alpha"] / a["r"] * (up @ down)
        out[key] = w.float().contiguous()
    return out


def adapted_oracles(name, tiny, folder):
    """oracle.<kind>.json and logits.<kind>.npy: the same prompt with an adapter on."""
    tensors = load_file(os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "config.json")) as f:
        config = dict(json.load(f), model_type="phi3", architectures=["Phi3ForCausalLM"], dtype="float32")
    for kind in ADAPTERS:
        with tempfile.TemporaryDirectory() as other:
            write_config(os.path.join(other, "config.json"), config)
            save_file(merged(tensors, kind), os.path.join(other, "model.safetensors"), metadata={"format": "pt"})
            model = load(other)
        found = None
        for attempt in range(50):
            found = found or run(lambda: model, prompts("%s/%s/%d" % (name, kind, attempt), (24,), 128), [24], afresh=True)
        cases, logits = found
        np.save(os.path.join(folder, "logits.%s.npy" % kind), logits)
        write_json(os.path.join(folder, "oracle.%s.json" % kind),
                   dict(source=versions() + "; f32, eager, Phi 3 with the adapter added to its weights",
                        tolerance=2 * tolerance(logits), max_logit=round(float(np.abs(logits).max()), 3)), cases)


V1 = dict(EXPERTS, num_key_value_heads=2, shared_expert_intermediate_size=64, mlp_only_layers=[0], norm_topk_prob=False,
          rope_parameters=PLAIN)
CPM = dict(SMALL, attention_multiplier=32 ** -0.5, embedding_multiplier=12.0, residual_multiplier=1.4 / 2 ** 0.5,
           logits_scaling=0.125, rope_parameters=PLAIN, tie_word_embeddings=True)

OTHER = {
    "llama-untied-missing": Tiny("Llama", "no word about tying and no head in the file",
                                 dict(SMALL, tie_word_embeddings=True, rope_parameters=PLAIN), convert=untied_missing),
    "mimo": Tiny("Qwen2", "Qwen 2 with heads of multi-token prediction", dict(SMALL, rope_parameters=PLAIN), convert=mimo),
    "minicpm": Tiny("Granite", "multipliers under MiniCPM's names", CPM, std={"embed_tokens": 0.012}, convert=minicpm),
    "internlm2": Tiny("Llama", "q, k and v fused by kv head",
                      dict(SMALL, num_attention_heads=4, num_key_value_heads=2, attention_bias=True, rope_parameters=PLAIN),
                      convert=internlm2),
    "dsv1": Tiny("Qwen2Moe", "softmax over all experts, weights not divided, a plain shared expert", V1,
                 std={"_proj.bias": 0.0, "shared_expert_gate": 0.0}, convert=deepseek),
    "phi4mm": Tiny("Phi3", "adapters for speech and for vision beside the text model; longrope",
                   dict(PHI3, **SMALL), afresh=True, convert=phi4mm, then=adapted_oracles),
}
