"""Tiny random checkpoints of every family and what transformers computes with them.

  python make_tiny.py [ID ...]      writes tests/data/oracle/<ID>/ and tests/data/oracle/families.json

A folder holds config.json (as save_pretrained writes it: the new layout), config.legacy.json (the old keys),
model.safetensors (bf16; every value is exact in bf16, and the reference runs in f32 on them), logits.npy (f32 rows) and
oracle.json. A seed is taken only if each greedy step wins by 1e-3 and by 8 tolerances, no router's choice is closer than 1e-4,
the end id does not come up, the tokens vary, and switching off a branch the checkpoint is for changes the logits far beyond
the tolerance.
"""
import json
import os
import sys

from reference import DATA, setup
from tiny import make
from tiny_dense import DENSE
from tiny_llama import LLAMAS
from tiny_mla import MLA
from tiny_moe import MOE
from tiny_other import OTHER
from tiny_state import STATE

TINY = {**LLAMAS, **DENSE, **MOE, **MLA, **STATE, **OTHER}


def model_type(name):
    with open(os.path.join(DATA, name, "config.json")) as f:
        return json.load(f)["model_type"]


def write_index():
    """id: model_type and what it proves, of every checkpoint there is."""
    rows = [{"id": name, "model_type": model_type(name), "proves": tiny.proves} for name, tiny in TINY.items()
            if os.path.exists(os.path.join(DATA, name, "oracle.json"))]
    with open(os.path.join(DATA, "families.json"), "w") as f:
        f.write("[\n " + ",\n ".join(json.dumps(r) for r in rows) + "\n]\n")


if __name__ == "__main__":
    setup()
    for one in sys.argv[1:] or TINY:
        make(one, TINY[one])
        write_index()
