"""A GGUF file of a real model in transformers: dequantized by the gguf package, run in f32.

Only what the two models of make_smollm2.py and make_gemma3_270m.py need: plain rope, no biases.
"""
import sys

import gguf
import llama_cpp
import numpy as np
import torch
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM

from reference import greedy, rounded, write_json

ROLES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
LLAMA_BLOCK = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
GEMMA_BLOCK = dict(LLAMA_BLOCK, attn_q_norm="self_attn.q_norm", attn_k_norm="self_attn.k_norm",
                   post_attention_norm="post_attention_layernorm", ffn_norm="pre_feedforward_layernorm",
                   post_ffw_norm="post_feedforward_layernorm")


def hf_name(name, block):
    stem, kind = name.rsplit(".", 1)
    if stem.startswith("blk."):
        _, layer, role = stem.split(".")
        return "model.layers.%s.%s.%s" % (layer, block[role], kind)
    return ROLES[stem] + "." + kind


def unpermute(w, heads):
    """Llama's q and k rows: neighbours (2j, 2j + 1) of a head become pairs (j, j + D/2)."""
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


class Meta:
    def __init__(self, path):
        self.reader = gguf.GGUFReader(path)
        self.arch = self("general.architecture", own=False)

    def __call__(self, key, own=True):
        field = self.reader.fields.get("%s.%s" % (self.arch, key) if own else key)
        return field.contents() if field else None


def common_keys(meta):
    return dict(num_hidden_layers=meta("block_count"), hidden_size=meta("embedding_length"),
                intermediate_size=meta("feed_forward_length"), num_attention_heads=meta("attention.head_count"),
                num_key_value_heads=meta("attention.head_count_kv"), max_position_embeddings=meta("context_length"),
                rms_norm_eps=meta("attention.layer_norm_rms_epsilon"),
                vocab_size=len(meta("tokenizer.ggml.tokens", own=False)))


def llama_of(meta):
    config = LlamaConfig(**common_keys(meta), tie_word_embeddings=True,
                         rope_parameters={"rope_type": "default", "rope_theta": meta("rope.freq_base")})
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}

    def convert(name, w):
        n = heads.get(name.split(".")[-2])
        return unpermute(w, n) if n else w
    return LlamaForCausalLM, config, LLAMA_BLOCK, convert


def gemma3_of(meta):
    rope = {"full_attention": {"rope_type": "default", "rope_theta": meta("rope.freq_base")},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}  # not in the file: Gemma 3's own
    config = Gemma3TextConfig(**common_keys(meta), head_dim=meta("attention.key_length"),
                              query_pre_attn_scalar=meta("attention.key_length"),
                              sliding_window=meta("attention.sliding_window"), rope_parameters=rope)

    def convert(name, w):
        return w - 1 if name.endswith("norm.weight") else w  # the file holds 1 + w
    return Gemma3ForCausalLM, config, GEMMA_BLOCK, convert


def load(path):
    meta = Meta(path)
    model_class, config, block, convert = {"llama": llama_of, "gemma3": gemma3_of}[meta.arch](meta)
    state = {}
    for t in meta.reader.tensors:
        w = gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32)
        state[hf_name(t.name, block)] = torch.from_numpy(np.ascontiguousarray(convert(t.name, w)))
    model = model_class._from_config(config, attn_implementation="eager").float().eval()
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    model.tie_weights()
    return model


class Tokens:
    """Ids by transformers' reading of the file and by llama.cpp; both must agree."""

    def __init__(self, hf_tokenizer, path):
        self.hf = hf_tokenizer
        self.cpp = llama_cpp.Llama(path, vocab_only=True, verbose=False)

    def encode(self, text, add_bos):
        a = self.hf.encode(text, add_special_tokens=False)
        b = self.cpp.tokenize(text.encode(), add_bos=False, special=True)
        assert a == b, (text, a, b)
        return ([self.cpp.token_bos()] if add_bos else []) + a

    def decode(self, ids):
        return self.cpp.detokenize(ids, special=True).decode("utf-8", "replace")


def cases_of(model, tokens, entries, add_bos, n=64):
    """entries: {prompt} or {messages, rendered}; a rendered chat holds its own bos."""
    for entry in entries:
        text = entry.get("rendered", entry.get("prompt"))
        ids = tokens.encode(text, add_bos and "rendered" not in entry)
        _, out, gaps = greedy(model, ids, n)
        case = dict(entry, ids=ids, greedy=out, gap=rounded(gaps), text=tokens.decode(out))
        print(repr(text[-40:]), "->", repr(case["text"][:80]), "least gap", min(gaps), file=sys.stderr)
        yield case


def write(path, source, cases):
    write_json(path, {"source": source}, cases)
