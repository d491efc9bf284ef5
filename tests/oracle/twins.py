"""What all twins share: packing as MLX does, and a reference on given weights."""
import os
import shutil
import sys
import tempfile
from importlib.metadata import version

import mlx.core as mx
import numpy as np
from safetensors.numpy import save_file

from reference import DATA, tolerance, versions, write_json
from tiny import load, prompts, run


def as_f32(a):
    return np.array(a.astype(mx.float32))


def dequantize(packed, scales, biases, bits):
    """Two roundings: f32(q * scale), then + bias. A row is one little-endian stream of `bits`-wide numbers."""
    words = np.array(packed)
    stream = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little").reshape(*words.shape[:-1], -1, bits)
    q = (stream.astype(np.uint32) << np.arange(bits, dtype=np.uint32)).sum(-1).astype(np.float32)
    group = q.shape[-1] // scales.shape[-1]
    s, b = (np.repeat(as_f32(x), group, axis=-1) for x in (scales, biases))
    return (q * s).astype(np.float32) + b


def quantize_one(w, file, stem, how):
    """Packs w into the file's tensors; what a reader gets back."""
    how = dict(dict(mode="affine"), **how)
    packed, scales, *biases = mx.quantize(w, **how)
    file[stem + ".weight"], file[stem + ".scales"] = packed, scales
    if not biases:
        return np.array(mx.dequantize(packed, scales, dtype=mx.float32, **how))
    file[stem + ".biases"] = biases[0]
    wide = mx.dequantize(packed, scales.astype(mx.float32), biases[0].astype(mx.float32), **how)
    canonical = dequantize(packed, scales, biases[0], how["bits"])
    assert np.array_equal(canonical, np.array(wide)), stem
    return canonical


def finish(name, model, ids_list, note, slack=1.0):
    found = run(lambda: model, ids_list, slack=slack)
    if not found:
        return False
    cases, logits = found
    folder = os.path.join(DATA, name)
    np.save(os.path.join(folder, "logits.npy"), logits)
    head = dict(source=versions(*note) + "; f32, eager, on the dequantized weights",
                tolerance=float("%.2g" % (slack * tolerance(logits))), max_logit=round(float(np.abs(logits).max()), 3))
    write_json(os.path.join(folder, "oracle.json"), head, cases)
    for file in os.listdir(folder):
        os.chmod(os.path.join(folder, file), 0o644)
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    print(name, "max", head["max_logit"], "least gap", [min(c["gap"]) for c in cases], size, "bytes", flush=True)
    return True


def prompts_of(name, attempt, vocab=256):
    """Weights are fixed here, so a close step is avoided by another prompt."""
    return prompts(name if attempt == 0 else "%s/%d" % (name, attempt), vocab=vocab)[:1]


def finish_on(name, source, reference, slack=1.0):
    """The oracle of the source's model on these f32 weights, in the names of the source's file."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(DATA, source, "config.json"), folder)
        save_file({k: np.ascontiguousarray(v) for k, v in reference.items()}, os.path.join(folder, "model.safetensors"),
                  metadata={"format": "pt"})
        model = load(folder)
    for attempt in range(50):
        if finish(name, model, prompts_of(name, attempt, model.config.vocab_size), ["mlx " + version("mlx")], slack):
            return
    sys.exit(name + ": no prompt will do")
