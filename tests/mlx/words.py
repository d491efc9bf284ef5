#!/usr/bin/env python3
"""What the program says of MLX: words.py PROGRAM ORACLES

The choice of a backend is said at start, to a terminal only; and each thing that can be wrong is one sentence. Prints TAP.
"""
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from tap import ok, plan  # noqa: E402

CHOICE = "MLX has no GPU here, and its CPU device is for checking results, not for speed: running on xla (MLXCEL_BACKEND=mlx overrides)\n"


def generate(program, model, *words, stderr=subprocess.PIPE, **variables):
    env = {k: v for k, v in os.environ.items() if k not in ("MLXCEL_BACKEND", "MLXCEL_MLX_DEVICE", "MLXCEL_MLX_PRECISION")}
    return subprocess.run([program, "generate", "-m", model, "--ids", "1,2,3", "-n", "2"] + list(words), stdout=subprocess.PIPE,
                          stderr=stderr, text=True, timeout=120, env=dict(env, **variables))


def on_terminal(program, model, **variables):
    """What comes to a terminal that is standard error."""
    ours, theirs = pty.openpty()
    try:
        p = generate(program, model, stderr=theirs, **variables)
        os.close(theirs)
        said = b""
        try:
            while chunk := os.read(ours, 4096):
                said += chunk
        except OSError:  # Linux: the other end is closed
            pass
        return p, said.decode().replace("\r\n", "\n")
    finally:
        os.close(ours)


def choice(program, model, built):
    gpu = generate(program, model, MLXCEL_BACKEND="mlx", MLXCEL_MLX_DEVICE="gpu").returncode == 0
    p, said = on_terminal(program, model)
    there = "xla" in built["backends"] and built["engines"] and not gpu
    ok(p.returncode == 0 and (CHOICE in said) == bool(there), "the choice is said to a terminal, where there is one", said)
    for name in set(built["backends"]) - {"null"}:
        p, said = on_terminal(program, model, MLXCEL_BACKEND=name)
        ok(p.returncode == 0 and "MLX has no GPU" not in said, "not where MLXCEL_BACKEND=%s names it" % name, said)
    p = generate(program, model)
    ok(p.returncode == 0 and "MLX has no GPU" not in p.stderr, "not into a pipe", p.stderr)
    p = generate(program, model, "--verbose")
    ok(p.returncode == 0 and (CHOICE in p.stderr) == bool(there), "with --verbose into a pipe, too", p.stderr)
    if not gpu:
        p = generate(program, model, MLXCEL_BACKEND="mlx", MLXCEL_MLX_DEVICE="gpu")
        ok(p.returncode == 1 and p.stderr.count("\n") == 1 and "has no Metal or CUDA device" in p.stderr, "a GPU that is not there", p.stderr)


def refused(program, model, what, sentence, *words, **variables):
    p = generate(program, model, *words, MLXCEL_BACKEND="mlx", **variables)
    ok(p.returncode == 1 and p.stderr.count("\n") == 1 and p.stderr.startswith("error: ") and sentence in p.stderr, what,
       "exit %d: %s" % (p.returncode, p.stderr))


def edited(model, into, **changes):
    shutil.copytree(model, into)
    path = os.path.join(into, "config.json")
    with open(path) as f:
        config = json.load(f)
    with open(path, "w") as f:
        json.dump(dict(config, **changes), f)
    return into


def main():
    program, oracles = os.path.abspath(sys.argv[1]), sys.argv[2]
    model = os.path.join(oracles, "llama3")
    built = json.loads(subprocess.run([program, "version", "--json"], capture_output=True, text=True, timeout=60).stdout)
    choice(program, model, built)
    with tempfile.TemporaryDirectory() as work:
        refused(program, edited(model, work + "/family", model_type="nosuch", architectures=["NoSuchForCausalLM"]),
                "a family that nobody knows", "nosuch")
        refused(program, edited(model, work + "/wide", intermediate_size=64), "a tensor of another shape",
                "model.layers.0.mlp.gate_proj.weight is [128, 64], the config asks for [64, 64]")
    p = subprocess.run([program, "bench", "-m", model, "-p", "8", "-n", "2", "-b", "2", "--runs", "1", "--json"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=120, env=dict(os.environ, MLXCEL_BACKEND="mlx"))
    figures = json.loads(p.stdout or "{}")
    ok(p.returncode == 0 and figures["engine"] == "mlx" and all(figures[k] > 0 for k in ("prefill_tok_s", "decode_tok_s", "read_gb_s",
       "weights_bytes", "arena_bytes")), "bench has its figures", p.stdout + p.stderr)
    refused(program, model, "a device that does not exist", "abacus is no device of MLX: gpu and cpu are", "--device", "abacus")
    refused(program, model, "a precision that does not exist", "MLXCEL_MLX_PRECISION=f7", MLXCEL_MLX_PRECISION="f7")
    refused(program, model, "programs compiled ahead", "the mlx backend compiles nothing ahead", "--artifact", "nowhere")
    plan()


if __name__ == "__main__":
    main()
