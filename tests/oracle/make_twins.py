"""Quantized twins of tiny checkpoints, and what transformers computes in f32 from their dequantized weights.

  python make_twins.py [ID ...]     writes tests/data/oracle/<ID>/  (make_tiny.py must have run)

MLX form: every Linear and Embedding affine, by mx.quantize; reference = f32(f32(q * scale) + bias), the scale and the bias
widened to f32 first. GGUF form: as llama.cpp's converter lays a file out (q and k rows permuted for Llama, Llama 3's
frequencies in rope_freqs.weight); reference = the gguf package's dequantization, un-permuted.
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

from make_tiny import LLAMA3, PLAIN, config_of, fill, prompts, run, TINY
from reference import DATA, setup, tolerance, versions, write_json

# id: source, bits, group, dtype of scales, biases and the weights left plain
MLX = {
    "llama3-q4g64": ("llama3", 4, 64, mx.float16),
    "llama3-q8g32": ("llama3", 8, 32, mx.bfloat16),
    "qwen3-q4g32": ("qwen3", 4, 32, mx.bfloat16),
    "qwen3-q8g64": ("qwen3", 8, 64, mx.float16),
}


def as_f32(a):
    return np.array(a.astype(mx.float32))


def dequantize(packed, scales, biases, bits):
    """§1.6's two roundings; the row is one little-endian stream of `bits`-wide numbers."""
    words = np.array(packed)
    per = 32 // bits
    q = (words[..., None] >> (np.arange(per, dtype=np.uint32) * bits)) & np.uint32(2**bits - 1)
    q = q.reshape(words.shape[0], -1).astype(np.float32)
    group = q.shape[1] // scales.shape[1]
    s, b = (np.repeat(as_f32(x), group, axis=1) for x in (scales, biases))
    return (q * s).astype(np.float32) + b


def quantize_all(tensors, bits, group, dtype):
    """(file tensors, f32 weights of the reference). Every matrix of these models is a Linear or an Embedding."""
    file, reference = {}, {}
    for key, w in tensors.items():
        w = mx.array(w.float().numpy()).astype(dtype)
        if w.ndim != 2:
            file[key], reference[key] = w, as_f32(w)
            continue
        stem = key.removesuffix(".weight")
        packed, scales, biases = mx.quantize(w, group_size=group, bits=bits)
        file[key], file[stem + ".scales"], file[stem + ".biases"] = packed, scales, biases
        reference[key] = dequantize(packed, scales, biases, bits)
        wide = mx.dequantize(packed, scales.astype(mx.float32), biases.astype(mx.float32), group_size=group, bits=bits)
        assert np.array_equal(reference[key], np.array(wide)), key
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
    source, bits, group, dtype = MLX[name]
    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    file, reference = quantize_all(load_torch(os.path.join(DATA, source, "model.safetensors")), bits, group, dtype)
    mx.save_safetensors(os.path.join(folder, "model.safetensors"), file, metadata={"format": "mlx"})
    with open(os.path.join(DATA, source, "config.json")) as f:
        config = json.load(f)
    config["dtype"] = "float16" if dtype == mx.float16 else "bfloat16"
    config["quantization"] = config["quantization_config"] = {"group_size": group, "bits": bits, "mode": "affine"}
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f, indent=1)
        f.write("\n")
    model = TINY[source][0][1]._from_config(config_of(source), attn_implementation="eager").float().eval()
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


def write_gguf(path, arch, model, types):
    """Writes the model and returns the f32 weights a reader gets back, in HF's row order."""
    config = model.config
    w = gguf.GGUFWriter(path, arch)
    write_head(w, config)
    reference = {}
    for key, p in model.state_dict().items():
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        name, data = gguf_name(key), p.numpy()
        heads = heads_of(config, name) if arch == "llama" else None
        kind = types.get(name.split(".")[-2], Q.F32) if data.ndim == 2 else Q.F32
        raw = gguf.quants.quantize(permute(data, heads) if heads else data, kind)
        w.add_tensor(name, raw, raw_dtype=kind)
        back = gguf.quants.dequantize(raw, kind).astype(np.float32)
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
        fill(model, name, seed)
        reference = write_gguf(path, arch, model, types)
        missing, _ = model.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in reference.items()}, strict=False)
        assert set(missing) <= {"lm_head.weight"}
        model.tie_weights()
        if finish(name, model, prompts_of(name, seed), ["gguf " + version("gguf")]):
            break
    else:
        sys.exit(name + ": no seed will do")
    ids = prompts_of(name, seed)[0]
    check_llama_cpp(path, ids, np.load(os.path.join(folder, "logits.npy")))


if __name__ == "__main__":
    setup()
    for one in sys.argv[1:] or [*MLX, *GGUFS]:
        (make_mlx if one in MLX else make_gguf)(one)
