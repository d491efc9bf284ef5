"""A model folder small enough to break: the random llama of the oracle data with a tokenizer of single bytes.

Token 1 is <s>, 2 is </s>; every other byte is its own token."""
import json
import os
import shutil

CHAT = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"


def byte_letters():
    """The letters byte-level BPE writes bytes with: printable ones as they are, the rest from U+0100 on."""
    plain = list(range(0x21, 0x7F)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    rest = [b for b in range(256) if b not in plain]
    return {b: chr(b) if b in plain else chr(256 + rest.index(b)) for b in range(256)}


def tokenizer():
    letters = byte_letters()
    special = {1: "<s>", 2: "</s>"}
    return {
        "version": "1.0", "normalizer": None, "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": c, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                          "special": True} for i, c in special.items()],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "merges": [],
                  "vocab": {special.get(b, letters[b]): b for b in range(256)}},
    }


def make(data, folder, context=256):
    os.makedirs(folder)
    source = os.path.join(data, "oracle", "llama3")
    shutil.copyfile(os.path.join(source, "model.safetensors"), os.path.join(folder, "model.safetensors"))
    with open(os.path.join(source, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    config["max_position_embeddings"] = context
    files = {"config.json": config, "tokenizer.json": tokenizer(), "generation_config.json": {"eos_token_id": [2]},
             "tokenizer_config.json": {"bos_token": "<s>", "eos_token": "</s>", "chat_template": CHAT}}
    for name, value in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            json.dump(value, f, ensure_ascii=False)
