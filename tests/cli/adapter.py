#!/usr/bin/env python3
"""Adapters through the program: adapter.py PROGRAM DATA

The adapters that phi4mm carries are written as PEFT and as mlx-lm would write them: the scores must be the same bits.
Then what is wrong with an adapter must be told. Output is TAP."""
import json
import os
import struct
import subprocess
import sys
import tempfile

IDS = "1,124,76,49,34,8,125,110,95,41,13,77,14,18,89,49,104,127,116,50"
count = failed = 0


def ok(what, good, told=""):
    global count, failed
    count += 1
    print("%s %d - %s" % ("ok" if good else "not ok", count, what))
    if not good:
        failed += 1
        print("# " + told.strip())


def read(path):
    """name -> (dtype, shape, bytes)"""
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    return {k: (v["dtype"], v["shape"], data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]])
            for k, v in header.items() if k != "__metadata__"}


def write(path, tensors):
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(t[2] for t in tensors.values()))


def turned(t):
    dtype, (rows, cols), data = t
    items = [data[2 * i:2 * i + 2] for i in range(rows * cols)]  # 16 bits each
    return dtype, [cols, rows], b"".join(items[r * cols + c] for c in range(cols) for r in range(rows))


def folder(parent, name, file, config, tensors):
    path = os.path.join(parent, name)
    os.mkdir(path)
    write(os.path.join(path, file), tensors)
    with open(os.path.join(path, "adapter_config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)
    return path


def main():
    program, data = sys.argv[1:3]
    model, temp = os.path.join(data, "oracle", "phi4mm"), tempfile.TemporaryDirectory()

    def scores(adapter, model=model):
        out = os.path.join(temp.name, "scores.npy")
        words = [program, "logits", "-m", model, "--ids", IDS, "--npy", out, "--threads", "2"]
        p = subprocess.run(words + (["--adapter", adapter] if adapter else []), capture_output=True, timeout=300)
        if p.returncode:
            return None, p.stderr.decode("utf-8", "replace")
        with open(out, "rb") as f:
            return f.read(), ""

    own, plain = {k: scores(k)[0] for k in ("speech", "vision")}, scores(None)[0]
    ok("each adapter has scores of its own", len({plain, own["speech"], own["vision"]}) == 3)
    peft, mlx = {}, {}
    for name, t in read(os.path.join(model, "model.safetensors")).items():
        if ".speech." in name:
            stem = name.replace(".speech", "")
            peft["base_model.model." + stem] = t
            mlx[stem.replace("lora_A.weight", "lora_a").replace("lora_B.weight", "lora_b")] = turned(t)
    config = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["qkv_proj"]}
    mlx_config = {"fine_tune_type": "lora", "lora_parameters": {"rank": 8, "scale": 2.0}}
    file = "adapter_model.safetensors"
    got, told = scores(folder(temp.name, "peft", file, config, peft))
    ok("PEFT's folder: the same bits", got == own["speech"], told)
    got, told = scores(folder(temp.name, "mlx", "adapters.safetensors", mlx_config, mlx))
    ok("mlx-lm's folder: the same bits", got == own["speech"], told)
    apart = os.path.join(temp.name, "apart")  # as transformers' own class has it: without adapters, in plain names
    os.mkdir(apart)
    base = {k.replace(".base_layer", ""): t for k, t in read(os.path.join(model, "model.safetensors")).items() if ".lora_" not in k}
    base["model.embed_tokens_extend.image_embed.x.weight"] = ("BF16", [1], b"\0\0")
    write(os.path.join(apart, "model.safetensors"), base)
    with open(os.path.join(model, "config.json"), encoding="utf-8") as f:
        about = json.load(f)
    about = {k: v for k, v in about.items() if not k.endswith("_lora")}
    with open(os.path.join(apart, "config.json"), "w", encoding="utf-8") as f:
        json.dump(dict(about, model_type="phi4_multimodal"), f)
    got, told = scores(None, apart)
    ok("transformers' form of the model: the same bits", got == plain, told)
    got, told = scores(os.path.join(temp.name, "peft"), apart)
    ok("and with an adapter from a folder", got == own["speech"], told)
    rooted = dict(config, use_rslora=True, lora_alpha=2 * 8 ** 0.5)
    got, told = scores(folder(temp.name, "root", file, rooted, peft))
    ok("over the root of the rank", got == own["speech"], told)

    stem = "base_model.model.model.layers.0."
    first = stem + "mlp.down_proj.lora_A.weight"

    def without(name):
        return {k: v for k, v in peft.items() if k != name}

    wide = dict(peft, **{first: ("BF16", [8, 32], peft[first][2][:8 * 32 * 2])})
    renamed = dict(without(first), **{stem + "mlp.down_proj.lora_magnitude_vector": ("F32", [2], b"\0" * 8)})
    embedding = {stem.replace("layers.0.", "embed_tokens.") + "lora_%s.weight" % c: ("BF16", [8, 8], b"\0" * 128) for c in "AB"}
    unknown = {stem + "mlp.nothing.lora_%s.weight" % c: ("BF16", [8, 8], b"\0" * 128) for c in "AB"}
    bad = [
        ("a name it has not", "music", "the adapters of this checkpoint are: speech, vision"),
        ("an empty folder", tempfile.mkdtemp(dir=temp.name), "no adapter_model.safetensors (PEFT) and no adapters.safetensors"),
        ("DoRA", folder(temp.name, "dora", file, dict(config, use_dora=True), peft), "use_dora: true is not supported"),
        ("another kind", folder(temp.name, "kind", file, dict(config, peft_type="IA3"), peft), "only LORA is supported"),
        ("no alpha", folder(temp.name, "alpha", file, dict(config, lora_alpha=0), peft), "lora_alpha must be a positive number"),
        ("an alpha for each", folder(temp.name, "each", file, dict(config, alpha_pattern={"x": 1}), peft), "alpha_pattern"),
        ("a matrix of a pair gone", folder(temp.name, "gone", file, config, without(first)), "they go in pairs"),
        ("its other matrix gone", folder(temp.name, "gone_b", file, config, without(first.replace("A.w", "B.w"))), "lora_B is missing"),
        ("a matrix too narrow", folder(temp.name, "wide", file, config, wide), "lora_A.weight is [8, 32], the config asks for [any, 64]"),
        ("another tensor", folder(temp.name, "vector", file, config, renamed), "only pairs of low-rank matrices"),
        ("an embedding", folder(temp.name, "embed", file, config, embedding), "no plain linear weight of this model"),
        ("a module it has not", folder(temp.name, "module", file, config, unknown), "mlp.nothing, which is no plain linear weight"),
        ("mlx-lm's full tuning", folder(temp.name, "full", "adapters.safetensors", dict(mlx_config, fine_tune_type="full"), mlx),
         "only lora is supported"),
    ]
    for what, adapter, sentence in bad:
        got, told = scores(adapter)
        ok("refused: " + what, got is None and sentence in told, told)
    gguf = os.path.join(data, "oracle", "llama-gguf", "model.gguf")
    p = subprocess.run([program, "logits", "-m", gguf, "--ids", "1", "--top", "1", "--adapter", "speech"], capture_output=True, timeout=300)
    told = p.stderr.decode()
    ok("refused: beside a GGUF file", p.returncode == 1 and "adapters go with safetensors folders only" in told, told)
    print("1..%d" % count)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
