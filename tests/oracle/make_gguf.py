"""Tiny checkpoints as GGUF, written by llama.cpp's own converter: same weights (bf16), so each has its source's oracle.

  LLAMA_CPP=<llama.cpp's source tree> python make_gguf.py [ID ...]      writes tests/data/oracle/gguf/<ID>.gguf

The tokenizer is ours (a token for each byte); everything else is what the converter makes of the folder.
"""
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, os.environ["LLAMA_CPP"])
sys.path.insert(1, os.path.join(os.environ["LLAMA_CPP"], "gguf-py"))

import gguf
from conversion import ModelBase, ModelType, get_model_class

from reference import DATA

OUT = os.path.join(DATA, "gguf")
# id: architectures entry, where the converter knows another than transformers' file has
IDS = {}


def byte_tokens(n):
    """GPT-2's 256 byte characters: ids are bytes."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(b) if b in keep else chr(next(spare)) for b in range(256)][:n]


def write_tokenizer(model):
    w, n = model.gguf_writer, model.hparams["vocab_size"]
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(byte_tokens(n))
    w.add_token_types([gguf.TokenType.CONTROL if i in (1, 2) else gguf.TokenType.NORMAL for i in range(n)])
    w.add_token_merges(["a b"])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_add_bos_token(False)


def convert(name, config_name="config.json"):
    source = os.path.join(DATA, name)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(source, config_name), os.path.join(folder, "config.json"))
        shutil.copy(os.path.join(source, "model.safetensors"), folder)
        hparams = ModelBase.load_hparams(Path(folder), False)
        model_class = get_model_class(hparams["architectures"][0], False)
        path = Path(OUT, name + ".gguf")
        instance = model_class(Path(folder), gguf.LlamaFileType.MOSTLY_BF16, path)
        instance.set_vocab = lambda: write_tokenizer(instance)
        instance.write()


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    for one in sys.argv[1:] or IDS:
        convert(one)
        print(one, os.path.getsize(os.path.join(OUT, one + ".gguf")), "bytes", flush=True)
