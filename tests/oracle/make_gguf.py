"""Tiny models as GGUF, in the words of llama.cpp's own converter, and what transformers computes with their weights (bf16).

  LLAMA_CPP=<llama.cpp's source tree> python make_gguf.py [ID ...]      writes tests/data/oracle/<ID>-gguf/

The models are those of make_tiny.py, smaller, and without what GGUF has no words for (windows, clips and intervals that
published models do not have). The tokenizer is ours (a token for each byte); everything else is what the converter makes
of the folder.
"""
import dataclasses
import json
import logging
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(1, os.environ["LLAMA_CPP"])
sys.path.insert(1, os.path.join(os.environ["LLAMA_CPP"], "gguf-py"))

import gguf
from conversion import ModelBase, get_model_class

from make_tiny import TINY
from reference import DATA, setup, tolerance, versions, write_json
from tiny import PLAIN, convert_folder, find
from tiny_mla import CPM_ROPE
from twins_gguf import byte_tokens

SMALL = dict(vocab_size=64, hidden_size=32, intermediate_size=32)
HEAD = dict(SMALL, head_dim=16)
MLA = dict(SMALL, qk_nope_head_dim=16, qk_rope_head_dim=16, v_head_dim=16)
ONE = dict(num_hidden_layers=1)
# The source, and what its model has otherwise.
SOURCES = {
    "llama-linear": HEAD,
    "mixtral": SMALL,
    "gemma1": HEAD,
    "phi3-long": dict(vocab_size=64),
    "olmo1": SMALL,
    "olmo2": SMALL,
    "olmo3": SMALL,
    "granite": SMALL,
    "granitemoe": SMALL,
    "granitemoeshared": dict(SMALL, shared_intermediate_size=32),
    "cohere": dict(SMALL, logit_scale=0.5),
    "stablelm-par": SMALL,
    "dsv2": MLA,
    "dsv3": MLA,
    "youtu": MLA,
    "glm": dict(HEAD, rms_norm_eps=1e-5),
    "glm4": HEAD,
    "glm4moe": HEAD,
    "dots1": HEAD,
    "exaone4": SMALL,
    "gptoss": HEAD,
    "lfm2": dict(SMALL, intermediate_size=48),
    "lfm2moe": SMALL,
    "seedoss-o": HEAD,
    "ernie": HEAD,
    "erniemoe": SMALL,
    "arcee": HEAD,
    "nemotron": HEAD,
    "minicpm": dict(SMALL, attention_multiplier=0.25),
    "cohere2": dict(SMALL, logit_scale=0.5),
    "qwen3": HEAD,
    "qwen2moe": dict(SMALL, **ONE, decoder_sparse_step=1, shared_expert_intermediate_size=32),
    "qwen3moe": dict(HEAD, **ONE, mlp_only_layers=[]),
    "olmoe": dict(SMALL, clip_qkv=None),
    "gemma2": dict(HEAD, query_pre_attn_scalar=16),
    "gemma3": dict(HEAD, num_hidden_layers=7, query_pre_attn_scalar=16, sliding_window_pattern=6),
    "starcoder2": dict(SMALL, sliding_window=None),
    "smollm3": dict(SMALL, num_hidden_layers=4, no_rope_layer_interval=4),
    "exaone3": HEAD,
    "phimoe": dict(SMALL, rope_parameters=dict(PLAIN, original_max_position_embeddings=4096)),
    "hunyuan": dict(HEAD, max_position_embeddings=32768, rope_parameters=dict(PLAIN, rope_type="dynamic", factor=1.0, alpha=1000.0)),
    "internlm2": dict(SMALL, attention_bias=False),
    "exaonemoe": HEAD,
    "ministral3": HEAD,
    "minicpm3": dict(SMALL, qk_nope_head_dim=16, v_head_dim=16, dim_model_base=256,
                     rope_parameters=dict(CPM_ROPE, original_max_position_embeddings=256)),
    "granite4-dense": dict(vocab_size=64),  # the class wants heads of Mamba that go into the width
    "apertus": SMALL,
    "gemma3n": dict(vocab_size=64, vocab_size_per_layer_input=64, altup_num_inputs=4, hidden_size=32, intermediate_size=[32] * 4,
                    head_dim=16, laurel_rank=16, hidden_size_per_layer_input=16),
    "qwen3next": dict(HEAD, moe_intermediate_size=32, shared_expert_intermediate_size=32),
    "qwen35": dict(HEAD, linear_num_value_heads=6),  # 3 for a key head of 2: a turn of heads is none back
    "qwen35moe": dict(HEAD, linear_num_value_heads=6, moe_intermediate_size=32, shared_expert_intermediate_size=32),
}


def write_tokenizer(model):
    w, n = model.gguf_writer, model.hparams["vocab_size"]
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(byte_tokens()[:n])
    w.add_token_types([gguf.TokenType.CONTROL if i in (1, 2) else gguf.TokenType.NORMAL for i in range(n)])
    w.add_token_merges(["a b"])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_add_bos_token(False)


# What published configs have and transformers 5 does not write.
PUBLISHED = {"cohere2": dict(rotary_pct=1.0), "phimoe": dict(architectures=["PhiMoEForCausalLM"]),
             "exaone": dict(architectures=["ExaoneForCausalLM"], activation_function="silu"),
             "granitemoehybrid": dict(layer_types=["attention", "attention"])}


def convert(folder, path):
    hparams = ModelBase.load_hparams(Path(folder), False)
    hparams.update(PUBLISHED.get(hparams["model_type"], {}))
    kind = get_model_class(hparams["architectures"][0], False)
    kind.no_mtp = True
    outer = kind(Path(folder), gguf.LlamaFileType.MOSTLY_BF16, Path(path), hparams=hparams)
    model = getattr(outer, "impl", outer)
    model.set_vocab = lambda: write_tokenizer(model)
    outer.write()


def make(source):
    tiny = dataclasses.replace(TINY[source], keys=dict(TINY[source].keys, **SOURCES[source]), off={}, cases=((24, 64),))
    name = source + "-gguf"
    out = os.path.join(DATA, name)
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        seed, (cases, logits), _ = find(name, tiny, folder)
        if tiny.convert:
            convert_folder(tiny, folder)
        if source.startswith("gemma3"):  # the converter looks into it for the length
            Path(folder, "tokenizer.json").write_text(json.dumps({"model": {"vocab": {str(i): i for i in range(64)}}, "added_tokens": []}))
        convert(folder, os.path.join(out, "model.gguf"))
    np.save(os.path.join(out, "logits.npy"), logits)
    write_json(os.path.join(out, "oracle.json"),
               dict(source=versions() + "; f32, eager", seed=seed, tolerance=tolerance(logits),
                    max_logit=round(float(np.abs(logits).max()), 3)), cases)
    print(source, os.path.getsize(os.path.join(out, "model.gguf")), "bytes", flush=True)


if __name__ == "__main__":
    setup()
    logging.disable(logging.INFO)
    for one in sys.argv[1:] or SOURCES:
        make(one.removesuffix("-gguf"))
