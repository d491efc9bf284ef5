#!/usr/bin/env python3
"""Speed of the tokenizer and of the template engine beside the packages `tokenizers` and `jinja2`.

    bench/text.py [--folder FOLDER] [--program build/release/tests/vocab/text_bench] [--rounds 7]

FOLDER is what scripts/vocab_cache.py prints (its own default when left out). Of some published vocabularies, one of each
kind, a tokenizer of the other package is made and written as tokenizer.json; both read that file and encode the same
English text (700 kB of Python's own documentation), and the ids are compared. Templates are compiled once and rendered
many times. The two run in turn; medians of processor time on one core. Needs a Python with tokenizers and jinja2.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LLAMA3 = ("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
TEMPLATES = ["meta-llama-Llama-3.1-8B-Instruct.jinja", "Qwen-Qwen3-0.6B.jinja", "google-gemma-2-2b-it.jinja", "openai-gpt-oss-120b.jinja"]


def read_gguf(path):
    """Metadata of a GGUF file as a dict."""
    data = path.read_bytes()
    at = 24
    sizes = {0: "b", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def string():
        nonlocal at
        n = struct.unpack_from("<Q", data, at)[0]
        at += 8 + n
        return data[at - n:at].decode("utf-8", "replace")

    def value(kind):
        nonlocal at
        if kind == 8:
            return string()
        if kind == 9:
            inner, n = struct.unpack_from("<IQ", data, at)
            at += 12
            if inner in (8, 9):
                return [value(inner) for _ in range(n)]
            form = "<%d%s" % (n, sizes[inner])
            at += struct.calcsize(form)
            return struct.unpack_from(form, data, at - struct.calcsize(form))
        form = "<" + sizes[kind]
        at += struct.calcsize(form)
        return struct.unpack_from(form, data, at - struct.calcsize(form))[0]
    out = {}
    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        key = string()
        kind = struct.unpack_from("<I", data, at)[0]
        at += 4
        out[key] = value(kind)
    return out


def byte_level(meta, regex, ignore_merges):
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers as P
    merges = []
    for row in meta["tokenizer.ggml.merges"]:
        cut = row.index(" ", 1)
        merges.append((row[:cut], row[cut + 1:]))
    vocab = {t: i for i, t in enumerate(meta["tokenizer.ggml.tokens"])}
    t = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=ignore_merges))
    if regex:
        t.pre_tokenizer = P.Sequence([P.Split(Regex(regex), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        t.pre_tokenizer = P.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    return t


def wordpiece(meta):
    from tokenizers import Tokenizer, models, normalizers as N, pre_tokenizers as P

    def name(token):
        return token[1:] if token.startswith("▁") else token if token.startswith("[") and token.endswith("]") else "##" + token
    t = Tokenizer(models.WordPiece({name(x): i for i, x in enumerate(meta["tokenizer.ggml.tokens"])}, unk_token="[UNK]"))
    t.normalizer = N.BertNormalizer(lowercase=True)
    t.pre_tokenizer = P.BertPreTokenizer()
    return t


def unigram(meta):
    from tokenizers import Tokenizer, models, normalizers as N, pre_tokenizers as P
    rows = list(zip(meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.scores"]))
    t = Tokenizer(models.Unigram(rows, unk_id=meta["tokenizer.ggml.unknown_token_id"]))
    blob = struct.pack("%db" % len(meta["tokenizer.ggml.precompiled_charsmap"]), *meta["tokenizer.ggml.precompiled_charsmap"])
    t.normalizer = N.Precompiled(blob)
    t.pre_tokenizer = P.Sequence([P.WhitespaceSplit(), P.Metaspace()])
    return t


VOCABULARIES = {
    "gpt-2": (lambda m: byte_level(m, None, False), "BPE, 50 k"),
    "llama-bpe": (lambda m: byte_level(m, LLAMA3, True), "Llama 3 BPE, 128 k"),
    "qwen2": (lambda m: byte_level(m, QWEN2, False), "Qwen 2 BPE, 152 k"),
    "bert-bge": (wordpiece, "BERT WordPiece, 31 k"),
    "nomic-bert-moe": (unigram, "XLM-R Unigram, 250 k"),
}


def english():
    from pydoc_data.topics import topics
    return "\n\n".join(topics[k] for k in sorted(topics))


def fingerprint(ids):
    h = 0xCBF29CE484222325
    for i in ids:
        for b in i.to_bytes(4, "little"):
            h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return "%016x" % h


def ours(program, *arguments):
    ran = subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit("text.py: %s failed" % program)
    return json.loads(ran.stdout)


def timed(function, rounds):
    times = []
    for _ in range(rounds):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return statistics.median(times), result


def bench_tokenizers(a, place):
    from tokenizers import Tokenizer
    text = os.path.join(place, "text.txt")
    content = english()
    with open(text, "w", encoding="utf-8", newline="") as f:
        f.write(content)
    megabytes = len(content.encode()) / 1e6
    print("| tokenizer | mlxcel MB/s | tokenizers MB/s | ratio | mlxcel load | from GGUF | tokenizers load | ids |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (make, label) in VOCABULARIES.items():
        gguf = a.folder / ("ggml-vocab-%s.gguf" % name)
        path = os.path.join(place, "tokenizer.json")
        make(read_gguf(gguf)).save(path, pretty=False)
        load_peer, t = timed(lambda: Tokenizer.from_file(path), 3)
        load, load_gguf = (ours(a.program, "load", p, 5)["seconds"] for p in (path, gguf))
        mine, peer, ids = [], [], []
        for _ in range(a.rounds):
            one = ours(a.program, "encode", path, text, 3)
            mine.append(one["seconds"])
            seconds, ids = timed(lambda: t.encode(content, add_special_tokens=False).ids, 1)
            peer.append(seconds)
        same = "equal" if one["hash"] == fingerprint(ids) else "DIFFERENT"
        x, y = megabytes / statistics.median(mine), megabytes / statistics.median(peer)
        print("| %s | %.1f | %.1f | %.1f | %.0f ms | %.0f ms | %.0f ms | %s |" % (
            label, x, y, x / y, 1e3 * load, 1e3 * load_gguf, 1e3 * load_peer, same), flush=True)


def bench_templates(a, place):
    spec = importlib.util.spec_from_file_location("oracle", ROOT / "tests" / "oracle" / "make_template_vectors.py")
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    chat = dict(oracle.CHATS["answered"], messages=oracle.CHATS["answered"]["messages"][:1] + [
        oracle.turn("user" if i % 2 else "assistant", "Turn %d of a longer talk, with some words in it." % i) for i in range(40)])
    chat.pop("tools", None)
    variables = {**oracle.chat_variables(chat), **oracle.SPECIAL}
    print("\n| template, 41 turns | mlxcel | jinja2 | ratio | text |")
    print("|---|---|---|---|---|")
    for name in TEMPLATES:
        source = (a.folder / "templates" / name).read_text(encoding="utf-8")
        template = oracle.ENV.from_string(source)
        path = os.path.join(place, "job.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"template": source, "variables": variables}, f)
        peer, text = timed(lambda: template.render(**variables), 31)
        mine = ours(a.program, "render", path, 201)
        same = "equal" if mine["bytes"] == len(text.encode()) else "DIFFERENT"
        print("| %s | %.0f us | %.0f us | %.1f | %s |" % (name[:-6], 1e6 * mine["seconds"], 1e6 * peer, peer / mine["seconds"], same), flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--folder", type=pathlib.Path)
    ap.add_argument("--program", default=str(ROOT / "build" / "release" / "tests" / "vocab" / "text_bench"))
    ap.add_argument("--rounds", type=int, default=7)
    a = ap.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if not a.folder:
        found = subprocess.run([str(ROOT / "scripts" / "vocab_cache.py")], stdout=subprocess.PIPE, text=True)
        if found.returncode != 0:
            sys.exit(1)
        a.folder = pathlib.Path(found.stdout.strip())
    with tempfile.TemporaryDirectory(prefix="mlxcel-") as place:
        bench_tokenizers(a, place)
        bench_templates(a, place)


if __name__ == "__main__":
    main()
