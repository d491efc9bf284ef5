"""Quantized twins of tiny checkpoints, and what transformers computes in f32 from their dequantized weights.

  python make_twins.py [ID ...]     writes tests/data/oracle/<ID>/  (make_tiny.py must have run)

MLX form: Linears and Embeddings by mx.quantize, affine (reference = f32(f32(q * scale) + bias), the scale and the bias widened
to f32 first) or a floating mode (reference = mx.dequantize in f32). GGUF form: as llama.cpp's converter lays a file out (q and k
rows permuted for Llama, Llama 3's frequencies in rope_freqs.weight); reference = the gguf package's dequantization, un-permuted.
Blocks that package has no encoder for are random, with scales that make sane weights.
"""
import json
import math
import os
import sys

import gguf
import mlx.core as mx
import numpy as np
import torch
from importlib.metadata import version
from safetensors.numpy import load_file
from safetensors.torch import load_file as load_torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from make_tiny import TINY
from reference import DATA, setup, tolerance, versions, write_json
from tiny import PLAIN, config_of, fill, prompts, run
from tiny_llama import LLAMA3

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
}


def as_f32(a):
    return np.array(a.astype(mx.float32))


def dequantize(packed, scales, biases, bits):
    """§1.6's two roundings; the row is one little-endian stream of `bits`-wide numbers."""
    words = np.array(packed)
    stream = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").reshape(words.shape[0], -1, bits)
    q = (stream.astype(np.uint32) << np.arange(bits, dtype=np.uint32)).sum(2).astype(np.float32)
    group = q.shape[1] // scales.shape[1]
    s, b = (np.repeat(as_f32(x), group, axis=1) for x in (scales, biases))
    return (q * s).astype(np.float32) + b


def quantize_one(w, file, stem, how):
    """Packs w into the file's tensors; what a reader gets back."""
    packed, scales, *biases = mx.quantize(w, **how)
    file[stem + ".weight"], file[stem + ".scales"] = packed, scales
    if not biases:
        return np.array(mx.dequantize(packed, scales, dtype=mx.float32, **how))
    file[stem + ".biases"] = biases[0]
    wide = mx.dequantize(packed, scales.astype(mx.float32), biases[0].astype(mx.float32), **how)
    canonical = dequantize(packed, scales, biases[0], how["bits"])
    assert np.array_equal(canonical, np.array(wide)), stem
    return canonical


def quantize_all(tensors, dtype, how, overrides):
    """(file tensors, f32 weights of the reference). Every matrix of these models is a Linear or an Embedding."""
    file, reference = {}, {}
    for key, w in tensors.items():
        w, stem = mx.array(w.float().numpy()).astype(dtype), key.removesuffix(".weight")
        mine = overrides.get(stem, how)
        if w.ndim != 2 or mine is False:
            file[key], reference[key] = w, as_f32(w)
        else:
            reference[key] = quantize_one(w, file, stem, dict(dict(mode="affine"), **mine))
    return file, reference


def finish(name, model, ids_list, note):
    found = run(lambda: model, ids_list)
    if not found:
        return False
    cases, logits = found
    folder = os.path.join(DATA, name)
    np.save(os.path.join(folder, "logits.npy"), logits)
    head = dict(source=versions(*note) + "; f32, eager, on the dequantized weights", tolerance=tolerance(logits),
                max_logit=round(float(np.abs(logits).max()), 3))
    write_json(os.path.join(folder, "oracle.json"), head, cases)
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    print(name, "max", head["max_logit"], "least gap", [min(c["gap"]) for c in cases], size, "bytes", flush=True)
    return True


def prompts_of(name, attempt):
    """Weights are fixed here, so a close step is avoided by another prompt."""
    return prompts(name if attempt == 0 else "%s/%d" % (name, attempt))[:1]


def make_mlx(name):
    source, dtype, how, overrides = MLX[name]
    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    file, reference = quantize_all(load_torch(os.path.join(DATA, source, "model.safetensors")), dtype, how, overrides)
    mx.save_safetensors(os.path.join(folder, "model.safetensors"), file, metadata={"format": "mlx"})
    with open(os.path.join(DATA, source, "config.json")) as f:
        config = json.load(f)
    config["dtype"] = "float16" if dtype == mx.float16 else "bfloat16"
    config["quantization"] = config["quantization_config"] = dict(how, **overrides)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f, indent=1)
        f.write("\n")
    model = TINY[source].classes[1]._from_config(config_of(source, TINY[source]), attn_implementation="eager").float().eval()
    missing, unexpected = model.load_state_dict({k: torch.from_numpy(v) for k, v in reference.items()}, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    model.tie_weights()
    for attempt in range(50):
        if finish(name, model, prompts_of(name, attempt), ["mlx " + version("mlx")]):
            return
    sys.exit(name + ": no prompt will do")


# --- GGUF -----------------------------------------------------------------------------------------------
Q = gguf.GGMLQuantizationType
GGUF_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}
MIX = {"token_embd": Q.F16, "output": Q.Q8_0, "attn_q": Q.Q8_0, "attn_k": Q.Q4_0, "attn_v": Q.F16, "attn_output": Q.Q4_0,
       "ffn_gate": Q.Q4_0, "ffn_up": Q.Q8_0, "ffn_down": Q.Q4_0}


# By layer: every block type that MIX lacks. Rows of 256 but for attn_output's, which are 32 wide.
SMALL_BLOCKS = {"token_embd": Q.Q3_K, "output": Q.IQ4_NL}
for _layer, _kinds in enumerate(((Q.TQ1_0, Q.TQ2_0, Q.Q8_K, Q.IQ4_NL, Q.Q2_K, Q.Q3_K, Q.IQ4_XS),
                                 (Q.Q3_K, Q.Q8_1, Q.MXFP4, Q.MXFP4, Q.TQ2_0, Q.IQ4_XS, Q.Q2_K))):
    for _name, _kind in zip(("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"), _kinds):
        SMALL_BLOCKS["blk.%d.%s" % (_layer, _name)] = _kind
gguf.GGML_QUANT_SIZES[Q.Q8_1] = (32, 36)  # the package has the size of an older layout; ggml's block is two f16 and 32 bytes

# Bytes where a block of random numbers keeps its f16 scale (and minimum, in scales), and the size its integers reach.
RANDOM = {Q.Q2_K: (80, 82, 1.5, 13), Q.Q3_K: (108, None, 0, 42), Q.IQ4_NL: (0, None, 0, 70), Q.IQ4_XS: (0, None, 0, 1300),
          Q.Q8_1: (0, None, 0, 74), Q.Q8_K: (0, None, 0, 74)}


def random_blocks(kind, shape, std, rng):
    block, size = gguf.GGML_QUANT_SIZES[kind]
    raw = rng.integers(0, 256, (shape[0], shape[1] // block, size), dtype=np.uint8)
    at, minimum_at, minimum, reach = RANDOM[kind]
    d = (rng.uniform(0.7, 1.3, raw.shape[:2]) * std / reach).astype(np.float32)
    as_bytes = lambda x: np.ascontiguousarray(x)[..., None].view(np.uint8)
    if kind == Q.Q8_K:
        raw[..., :4] = as_bytes(d)
    else:
        raw[..., at:at + 2] = as_bytes(d.astype(np.float16))
    if minimum_at is not None:
        raw[..., minimum_at:minimum_at + 2] = as_bytes((d * minimum).astype(np.float16))
    return raw.reshape(shape[0], -1)


def read_blocks(raw, kind):
    """gguf.quants.dequantize, and the two types it does not know."""
    if kind not in (Q.Q8_1, Q.Q8_K):
        return gguf.quants.dequantize(raw, kind).astype(np.float32)
    block, size = gguf.GGML_QUANT_SIZES[kind]
    b = raw.reshape(raw.shape[0], -1, size)
    d = np.ascontiguousarray(b[..., :4]).view(np.float32) if kind == Q.Q8_K else \
        np.ascontiguousarray(b[..., :2]).view(np.float16).astype(np.float32)
    return (d * b[..., 4:4 + block].view(np.int8).astype(np.float32)).reshape(raw.shape[0], -1)


def gguf_name(key):
    stem, kind = key.rsplit(".", 1)
    if not stem.startswith("model.layers."):
        return GGUF_NAMES[stem] + "." + kind
    _, _, layer, rest = stem.split(".", 3)
    return "blk.%s.%s.%s" % (layer, GGUF_NAMES[rest], kind)


def permute(w, heads):
    """Row order of Llama's q and k in GGUF: pairs (j, j + D/2) of a head become neighbours (2j, 2j + 1)."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def unpermute(w, heads):
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def heads_of(config, name):
    return {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}.get(name.split(".")[-2])


def byte_tokens():
    """GPT-2's 256 byte characters: ids are bytes, so that the file also has a whole tokenizer."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(b) if b in keep else chr(next(spare)) for b in range(256)]


def write_tokenizer(w):
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(byte_tokens())
    w.add_token_types([gguf.TokenType.CONTROL if i in (1, 2) else gguf.TokenType.NORMAL for i in range(256)])
    w.add_token_merges(["a b"])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_add_bos_token(False)


def write_head(w, config):
    w.add_block_count(config.num_hidden_layers)
    w.add_context_length(config.max_position_embeddings)
    w.add_embedding_length(config.hidden_size)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_head_count_kv(config.num_key_value_heads)
    w.add_layer_norm_rms_eps(config.rms_norm_eps)
    w.add_rope_freq_base(config.rope_parameters["rope_theta"])
    w.add_rope_dimension_count(config.head_dim)
    w.add_vocab_size(config.vocab_size)
    write_tokenizer(w)


def llama3_divisors(rope, dims):
    """rope_freqs.weight as the converter writes it: how much each frequency is slowed."""
    o, lo, hi = rope["original_max_position_embeddings"], rope["low_freq_factor"], rope["high_freq_factor"]
    out = []
    for j in range(dims // 2):
        wave = 2 * math.pi * rope["rope_theta"] ** (2 * j / dims)
        if wave < o / hi:
            out.append(1.0)
        elif wave > o / lo:
            out.append(rope["factor"])
        else:
            smooth = (o / wave - lo) / (hi - lo)
            out.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(out, dtype=np.float32)


def write_gguf(path, arch, model, types, seed):
    """Writes the model and returns the f32 weights a reader gets back, in HF's row order."""
    config, rng = model.config, np.random.default_rng(seed)
    w = gguf.GGUFWriter(path, arch)
    write_head(w, config)
    reference = {}
    for key, p in model.state_dict().items():
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        name, data = gguf_name(key), p.numpy()
        heads = heads_of(config, name) if arch == "llama" else None
        stem = name.removesuffix(".weight")
        kind = types.get(stem, types.get(stem.split(".")[-1], Q.F32)) if data.ndim == 2 else Q.F32
        if kind in RANDOM:
            raw = random_blocks(kind, data.shape, float(data.std()), rng)
        else:
            raw = gguf.quants.quantize(permute(data, heads) if heads else data, kind)
        w.add_tensor(name, raw, raw_dtype=kind)
        back = read_blocks(raw, kind)
        reference[key] = unpermute(back, heads) if heads else back
    if config.rope_parameters["rope_type"] == "llama3":
        w.add_tensor("rope_freqs.weight", llama3_divisors(config.rope_parameters, config.head_dim))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return reference


SMALL = dict(vocab_size=256, num_hidden_layers=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2,
             pad_token_id=None)
GGUFS = {
    "llama-gguf": ("llama", LlamaForCausalLM, LlamaConfig(**SMALL, hidden_size=64, intermediate_size=64, head_dim=16,
                                                          num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-5,
                                                          rope_parameters=dict(LLAMA3)), MIX),
    "qwen2-gguf": ("qwen2", Qwen2ForCausalLM, Qwen2Config(**SMALL, hidden_size=32, intermediate_size=64, num_attention_heads=2,
                                                          num_key_value_heads=1, tie_word_embeddings=True,
                                                          rope_parameters=dict(PLAIN)), {}),
    "llama-blocks": ("llama", LlamaForCausalLM, LlamaConfig(**SMALL, hidden_size=256, intermediate_size=256, head_dim=16,
                                                            num_attention_heads=2, num_key_value_heads=1, rms_norm_eps=1e-5,
                                                            rope_parameters=dict(PLAIN)), SMALL_BLOCKS),
}


def check_llama_cpp(path, ids, logits):
    """An independent reader must agree on what the file means (it rounds activations, so: roughly)."""
    import llama_cpp
    llm = llama_cpp.Llama(path, n_ctx=128, logits_all=True, verbose=False, n_threads=1, type_k=0, type_v=0)
    llm.eval(ids)
    got = llm.scores[:len(ids)]
    worst = float(np.abs(got - logits).max() / np.abs(logits).max())
    same = int((got.argmax(1) == logits.argmax(1)).sum())
    print("  llama.cpp: largest difference %.4f of the largest logit, argmax %d of %d" % (worst, same, len(ids)))
    assert worst < 0.1 and same >= len(ids) - 2


def make_gguf(name):
    arch, model_class, config, types = GGUFS[name]
    config.head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.gguf")
    for seed in range(100):
        model = model_class._from_config(config, attn_implementation="eager").float().eval()
        fill(model, name, seed, {})
        for key, p in model.named_parameters():  # made for rows of 64: wider ones get smaller numbers
            if p.ndim == 2 and "embed" not in key:
                p *= min(1.0, (64 / p.shape[1]) ** 0.5)
        reference = write_gguf(path, arch, model, types, seed)
        missing, _ = model.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in reference.items()}, strict=False)
        assert set(missing) <= {"lm_head.weight"}
        model.tie_weights()
        if finish(name, model, prompts_of(name, seed), ["gguf " + version("gguf")]):
            break
    else:
        sys.exit(name + ": no seed will do")
    if types is SMALL_BLOCKS:
        return  # llama.cpp multiplies by no Q8_1 and Q8_K
    ids = prompts_of(name, seed)[0]
    check_llama_cpp(path, ids, np.load(os.path.join(folder, "logits.npy")))


if __name__ == "__main__":
    setup()
    for one in sys.argv[1:] or [*MLX, *GGUFS]:
        (make_mlx if one in MLX else make_gguf)(one)
