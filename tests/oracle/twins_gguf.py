"""GGUF twins: small models written in the form of llama.cpp's converter, and what transformers computes on the weights a reader gets.

q and k rows are permuted for Llama, Llama 3's frequencies lie in rope_freqs.weight; the reference is the gguf package's
dequantization, un-permuted. Blocks that package has no encoder for are random, with scales that make sane weights.
"""
import math
import os
import sys
from importlib.metadata import version

import gguf
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from reference import DATA
from tiny import PLAIN, fill
from tiny_llama import LLAMA3
from twins import finish, prompts_of

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
