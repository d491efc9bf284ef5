#!/usr/bin/env python3
"""A session that grows through context buckets on an engine that is not ours: the tokens of one capacity.

    buckets.py MLXCEL [DEVICE]        prints TAP; skips with 77 where there is no such device (pjrt:cpu without a word)
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "data", "oracle", "llama3")
sys.path.insert(0, os.path.join(HERE, "..", "parity"))
import engines  # noqa: E402  (for where plugins are)

PROGRAM, DEVICE = sys.argv[1], (sys.argv + ["pjrt:cpu"])[2]


def generate(env, *more, **variables):
    """Until the context is full; the ids, or what was said instead."""
    env = dict(env, **variables)
    ran = subprocess.run([PROGRAM, "generate", "-m", MODEL, "--no-chat-template", "--ids", "1", "--ignore-eos", "--json", *more],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, timeout=300)
    return json.loads(ran.stdout)["ids"] if ran.returncode == 0 else ran.stderr


def main():
    with tempfile.TemporaryDirectory() as root:
        env = dict(engines.environment(DEVICE), MLXCEL_CACHE_DIR=root)
        want = generate(env, "--device", "native", MLXCEL_XLA_CONTEXT_CAPACITY="24", MLXCEL_XLA_PRECISION="f32")
        got = generate(env, MLXCEL_XLA_CONTEXT_BUCKETS="24,4,8")
        if engines.is_missing(got):
            print("skipped: " + got.strip())
            sys.exit(77)
        results = [("moved from 4 to 8 to 24", got == want and len(want) == 23, (got, want))]
        if DEVICE.startswith("pjrt"):
            got = generate(env, "--devices", "2", MLXCEL_XLA_CONTEXT_BUCKETS="8,24")
            results.append(("moved on two devices", got == want, (got, want)))
        got = generate(env, "-n", "30", MLXCEL_XLA_CONTEXT_BUCKETS="8,24")
        results.append(("refused with the numbers", "(1 tokens) and the new ones asked for (30) do not fit the context of 24" in got, got))
    print("1..%d" % len(results))
    for i, (what, ok, said) in enumerate(results):
        print("%sok %d - %s%s" % ("" if ok else "not ", i + 1, what, "" if ok else "\n# %s" % (said,)))
    sys.exit(0 if all(ok for _, ok, _ in results) else 1)


main()
