#!/usr/bin/env python3
"""The MLX backend and mlx-lm on the same checkpoints, beside transformers: side_by_side.py PROGRAM ORACLES [NAME...]

By hand, with a python that has numpy, mlx and mlx-lm. For each folder of ORACLES that mlx-lm can load: how far the logits of
the prompt are from transformers' (as a fraction of the largest), ours and mlx-lm's, and how many of the greedy tokens mlx-lm
has in common with it. mlx-lm reads the keys of before transformers 5: it gets those, from config.legacy.json or made from the
new ones. Ends with 1 when a logit of ours is off, or when mlx-lm agrees with transformers and we do not.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_model

CLOSE = 1e-4


def with_older_keys(config):
    """rope_parameters as rope_theta and rope_scaling."""
    rope = config.get("rope_parameters")
    if not isinstance(rope, dict):
        return config
    local, rope = rope.get("sliding_attention"), rope.get("full_attention", rope)
    if "rope_theta" in rope:
        config.setdefault("rope_theta", rope["rope_theta"])
    if "partial_rotary_factor" in rope:
        config.setdefault("partial_rotary_factor", rope["partial_rotary_factor"])
    if local:
        config.setdefault("rope_local_base_freq", local["rope_theta"])
    if rope.get("rope_type", "default") != "default":
        config.setdefault("rope_scaling", dict({k: v for k, v in rope.items() if k != "rope_theta"}, type=rope["rope_type"]))
    return config


def legacy(folder, into):
    """A folder like the oracle's, with the older config where there is one, or the older keys."""
    for name in os.listdir(folder):
        if name != "config.json":
            os.symlink(os.path.join(folder, name), os.path.join(into, name))
    old = os.path.join(folder, "config.legacy.json")
    path = old if os.path.isfile(old) else os.path.join(folder, "config.json")
    if os.path.isfile(path):
        with open(path) as f:
            config = with_older_keys(json.load(f))
        with open(os.path.join(into, "config.json"), "w") as f:
            json.dump(config, f)
    return into


def ours(program, folder, ids):
    with tempfile.TemporaryDirectory() as out:
        path = os.path.join(out, "logits.npy")
        subprocess.run([program, "logits", "-m", folder, "--ids", ",".join(map(str, ids)), "--npy", path], check=True,
                       env=dict(os.environ, MLXCEL_BACKEND="mlx"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return np.load(path)


def theirs(folder, ids, n):
    """Logits of the prompt, and n greedy tokens."""
    with tempfile.TemporaryDirectory() as into:
        model, _ = load_model(Path(legacy(os.path.abspath(folder), into)))
    model.set_dtype(mx.float32)
    cache, tokens = make_prompt_cache(model), []
    logits = model(mx.array([ids]), cache=cache)[0]
    last = logits[-1]
    for _ in range(n):
        tokens.append(int(mx.argmax(last)))
        last = model(mx.array([[tokens[-1]]]), cache=cache)[0, -1]
    return np.array(logits.astype(mx.float32)), tokens


def off(got, want, rows, most):
    return float(np.max(np.abs(got[rows] - want))) / most


def main():
    program, oracles = sys.argv[1], sys.argv[2]
    names = sys.argv[3:] or sorted(p.parent.name for p in Path(oracles).glob("*/oracle.json"))
    mx.set_default_device(mx.cpu)
    both = compared = wrong = 0
    print("| checkpoint | mlxcel on MLX | mlx-lm | mlx-lm's tokens |\n|---|---|---|---|")
    for name in names:
        folder = os.path.join(oracles, name)
        with open(os.path.join(folder, "oracle.json")) as f:
            oracle = json.load(f)
        case, reference = oracle["cases"][0], np.load(os.path.join(folder, "logits.npy"))
        rows = case["rows"] if isinstance(case["rows"], list) else list(range(case["rows"]))
        want = reference[case["first_row"]:case["first_row"] + len(rows)]
        try:
            logits, tokens = theirs(folder, case["ids"], len(case["greedy"]))
            other = off(logits, want, rows, oracle["max_logit"])
        except (Exception, SystemExit) as why:  # whatever mlx-lm says of a checkpoint it does not read
            print("| %s | | cannot load it: %s | |" % (name, str(why).splitlines()[0][:60] if str(why) else type(why).__name__), flush=True)
            continue
        mine = off(ours(program, folder, case["ids"]), want, rows, oracle["max_logit"])
        equal = sum(a == b for a, b in zip(tokens, case["greedy"]))
        compared += 1
        both += mine < CLOSE and other < CLOSE
        wrong += mine >= CLOSE
        print("| %s | %.1e | %.1e | %d of %d |" % (name, mine, other, equal, len(tokens)), flush=True)
    print("%d compared, on %d both equal transformers, ours is off on %d" % (compared, both, wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
