#!/usr/bin/env python3
"""Values of a model's graph as transformers computes them, in f32 with eager attention, under mlxcel's names.

    reference_taps.py MODEL -o DIR (--ids 1,2,3 | --prompt TEXT) [--dtype float32]
    mlxcel diff -m MODEL --ref DIR -v

MODEL is a folder of safetensors, or a GGUF file of an architecture that transformers reads. Of a quantized checkpoint
`mlxcel convert MODEL -o PLAIN --dtype f32` makes the folder with the dequantized weights to give here; mlxcel then
runs MODEL itself. DIR gets NAME.npy files and taps.json, as of `mlxcel xla taps`. Values that transformers never has in one
piece (fused projections, absorbed queries of latent attention, experts) are left out; mlxcel diff says how many.

Needs torch, transformers and numpy.
"""
import argparse
import json
import os
import sys

import numpy as np
import torch
import transformers
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS


class Recorder:
    def __init__(self):
        self.values = {}
        self.layer = None  # of the attention that runs now

    def put(self, name, x, shape=None):
        x = x[0] if isinstance(x, (tuple, list)) else x
        if not isinstance(x, torch.Tensor):
            return
        x = x.detach().float().cpu().numpy()
        x = x[0] if x.ndim > 1 and x.shape[0] == 1 else x
        self.values[name] = np.ascontiguousarray(x.reshape(shape) if shape else x)

    def output(self, module, name, shape=None):
        module.register_forward_hook(lambda m, args, y: self.put(name, y, shape))

    def input(self, module, name):
        def hook(m, args, kwargs):
            self.put(name, args[0] if args else kwargs.get("hidden_states"))
        module.register_forward_pre_hook(hook, with_kwargs=True)


def child(module, *names):
    for name in names:
        x = module
        for part in name.split("."):
            x = getattr(x, part, None)
        if isinstance(x, torch.nn.Module):
            return x
    return None


def watch_attention(recorder):
    """Eager attention that keeps what goes in and comes out: after norms and rotation, before heads are repeated."""
    def attention(module, query, key, value, mask, **more):
        eager = sys.modules[type(module).__module__].eager_attention_forward
        y, weights = eager(module, query, key, value, mask, **more)
        i = recorder.layer
        if i is not None and child(module, "k_proj") is not None:
            for name, x in (("q", query), ("k", key), ("v", value)):
                recorder.put("layers.%d.%s" % (i, name), x.transpose(1, 2))
        if i is not None:
            recorder.put("layers.%d.attn" % i, y.reshape(y.shape[0], y.shape[1], -1))
        return y, weights

    ALL_ATTENTION_FUNCTIONS.register("mlxcel_taps", attention)
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    ALL_MASK_ATTENTION_FUNCTIONS.register("mlxcel_taps", ALL_MASK_ATTENTION_FUNCTIONS["eager"])


def watch_norms(recorder, layer, at):
    first, second = child(layer, "input_layernorm"), child(layer, "post_attention_layernorm")
    before, after = child(layer, "pre_feedforward_layernorm", "pre_mlp_layernorm"), child(layer, "post_feedforward_layernorm", "post_mlp_layernorm")
    if first is not None:
        recorder.output(first, at + "attn_norm")
    sandwich = before is not None or first is None or after is not None
    if second is not None:
        recorder.output(second, at + ("attn_post_norm" if sandwich else "ffn_norm"))
    if before is not None:
        recorder.output(before, at + "ffn_norm")
    if after is not None:
        recorder.output(after, at + "ffn_post_norm")
    of_ffn = before if before is not None else None if sandwich else second
    if of_ffn is not None:
        recorder.input(of_ffn, at + "attn_residual")


def watch_layer(recorder, layer, i):
    at = "layers.%d." % i
    watch_norms(recorder, layer, at)
    recorder.output(layer, at + "output")
    attention, mlp = child(layer, "self_attn", "attention", "attn"), child(layer, "mlp", "feed_forward", "block_sparse_moe")
    if attention is not None:
        def enter(*_):
            recorder.layer = i

        def leave(*_):
            recorder.layer = None
        attention.register_forward_pre_hook(enter)
        recorder.output(attention, at + "attn_out")
        attention.register_forward_hook(leave)
        width = getattr(attention, "head_dim", None)
        heads = attention.config.num_attention_heads if hasattr(attention, "config") else 0
        for name in ("q_proj", "k_proj", "v_proj"):
            p = child(attention, name)
            if p is not None and width and (name != "q_proj" or p.out_features == heads * width):
                recorder.output(p, at + name, (-1, p.out_features // width, width))
    if mlp is not None:
        recorder.output(mlp, at + "ffn")
        for name, tap in (("gate_proj", "ffn_gate"), ("up_proj", "ffn_up"), ("w1", "ffn_gate"), ("w3", "ffn_up"), ("gate", "moe_router"),
                          ("router", "moe_router")):
            if child(mlp, name) is not None:
                recorder.output(mlp.get_submodule(name), at + tap)
        down = child(mlp, "down_proj", "w2", "c_proj")
        if down is not None:
            recorder.input(down, at + "ffn_act")


def load(path, dtype):
    folder, name = (os.path.dirname(path) or ".", os.path.basename(path)) if path.endswith(".gguf") else (path, None)
    more = {"gguf_file": name} if name else {}
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager", **more)
    model.eval()
    return model, folder, more


def permute(x):
    """Rows of rotated pairs as GGUF files of llama's family have them: pairs side by side, not halves apart."""
    n, heads, width = x.shape
    return np.ascontiguousarray(x.reshape(n, heads, 2, width // 2).swapaxes(2, 3).reshape(n, heads, width))


def write(folder, values, about):
    os.makedirs(folder, exist_ok=True)
    taps = []
    for name, x in values.items():
        np.save(os.path.join(folder, name + ".npy"), x.astype("<f4"))
        taps.append({"name": name, "file": name + ".npy", "dtype": "<f4", "shape": list(x.shape)})
    with open(os.path.join(folder, "taps.json"), "w", encoding="utf-8") as f:
        json.dump(dict({"schema": "mlxcel-taps-v1"}, **about, taps=taps), f)
        f.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--ids")
    parser.add_argument("--prompt")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"])
    a = parser.parse_args()
    if (a.ids is None) == (a.prompt is None):
        parser.error("give one of --ids and --prompt")
    torch.set_grad_enabled(False)
    if torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_tf32 = False
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    recorder = Recorder()
    watch_attention(recorder)
    model, folder, more = load(a.model, getattr(torch, a.dtype))
    model.set_attn_implementation("mlxcel_taps")
    ids = [int(x) for x in a.ids.split(",")] if a.ids else transformers.AutoTokenizer.from_pretrained(folder, **more)(a.prompt)["input_ids"]
    inner = child(model, "model.language_model", "model", "transformer")
    layers = inner.layers
    recorder.input(layers[0], "embedding")
    for i, layer in enumerate(layers):
        watch_layer(recorder, layer, i)
    norm = child(inner, "norm", "final_layernorm", "embedding_norm")
    if norm is not None:
        recorder.output(norm, "final_norm")
    logits = model(torch.tensor([ids]), use_cache=False).logits
    recorder.put("logits", logits)
    if more and model.config.model_type in ("llama", "mistral"):
        for name in recorder.values:
            if name.endswith((".q", ".k", ".q_proj", ".k_proj")):
                recorder.values[name] = permute(recorder.values[name])
    write(a.output, recorder.values, {
        "program": "transformers %s, torch %s" % (transformers.__version__, torch.__version__.split("+")[0]), "model": a.model,
        "engine": "transformers", "device": "cpu", "precision": a.dtype, "ids": ids})


if __name__ == "__main__":
    main()
