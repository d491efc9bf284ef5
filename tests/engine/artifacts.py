#!/usr/bin/env python3
"""Compiled programs that are kept, with a real plugin: found again, shared by processes, killed, damaged, made ahead.

    artifacts.py MLXCEL        prints TAP; skips with 77 where there is no XLA plugin for CPUs
"""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "data", "oracle", "llama3")
OTHER = os.path.join(HERE, "..", "data", "oracle", "qwen2")
sys.path.insert(0, os.path.join(HERE, "..", "parity"))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import engines  # noqa: E402  (for where plugins are)
from tap import ok, plan  # noqa: E402

PROGRAM = sys.argv[1]


def environment(cache):
    env = engines.environment("pjrt:cpu")
    env["MLXCEL_CACHE_DIR"] = cache
    return env


def logits(model=MODEL, *more):
    return [PROGRAM, "logits", "-m", model, "--ids", "1", "--top", "3", "-c", "32", *more]


def run(words, env):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, timeout=300)


def entries(env, what="list"):
    ran = run([PROGRAM, "xla", "cache", what, "--json"], env)
    return ran.returncode, json.loads(ran.stdout)


def kept(root):
    """Two processes at once, then one more: one compilation of each program, the same scores."""
    env = environment(os.path.join(root, "kept"))
    both = [subprocess.Popen(logits(), stdout=subprocess.PIPE, text=True, env=env) for _ in range(2)]
    said = [p.communicate(timeout=300)[0] for p in both]
    ok(all(p.returncode == 0 for p in both) and said[0] == said[1] and said[0], "two processes at once", said)
    _, first = entries(env)
    start = time.time()
    ran = run(logits(), env)
    took = time.time() - start
    _, second = entries(env)
    made = [[(e["file"], e["created"]) for e in list_] for list_ in (first, second)]
    ok(ran.stdout == said[0] and made[0] == made[1] and len(made[0]) >= 3, "the third compiles nothing", (ran.stderr, made))
    print("# %d programs, loaded in %.2f s" % (len(first), took))
    return env, said[0], first


def damaged(env, want, listed):
    folder = os.path.join(env["MLXCEL_CACHE_DIR"], "artifacts")
    for k, entry in enumerate(listed):
        path = os.path.join(folder, entry["file"])
        with open(path, "r+b") as f:
            f.seek([3, 40, 300, 511, 512, entry["bytes"] - 1][k % 6])
            byte = f.read(1)[0]
            f.seek(-1, 1)
            f.write(bytes([byte ^ 16]))
    code, found = entries(env, "verify")
    ok(code == 1 and all("wrong" in e for e in found), "verify names every damaged entry", found)
    ran = run(logits(), env)
    ok(ran.stdout == want and ran.stderr.count("is damaged (") >= 3, "damaged entries are made anew", ran.stderr)
    env_off = dict(env, MLXCEL_XLA_ARTIFACT_LIMIT="1K")
    ran = run(logits(), env_off)
    ok(ran.returncode == 0 and ran.stdout == want, "a store too small for anything", ran.stderr)
    ran = run([PROGRAM, "xla", "cache", "clear"], env)
    ok(ran.returncode == 0 and not os.listdir(folder), "clear leaves an empty folder", os.listdir(folder))


def killed(root, want):
    """Killed while compiling, at growing times: the next one finds a store that is whole."""
    env = environment(os.path.join(root, "killed"))
    for k in range(4):
        p = subprocess.Popen(logits(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        time.sleep(0.4 + 0.5 * k)
        p.send_signal(signal.SIGKILL)
        p.wait()
        code, found = entries(env, "verify")
        if code:
            ok(False, "killed after %.1f s" % (0.4 + 0.5 * k), found)
    ran = run(logits(), env)
    ok(ran.stdout == want and not ran.stderr, "killed four times while compiling", ran.stderr)


def ahead(root, want):
    env = environment(os.path.join(root, "ahead"))
    folder = os.path.join(root, "folder")
    ran = run([PROGRAM, "compile", MODEL, "-o", folder, "-c", "32", "--prefill-chunk", "1", "--logits"], env)
    ok(ran.returncode == 0 and os.path.isfile(os.path.join(folder, "manifest.json")), "compile makes a folder", ran.stderr)
    ran = run(logits(MODEL, "--artifact", folder), env)
    ok(ran.stdout == want and not os.path.exists(env["MLXCEL_CACHE_DIR"]), "all comes from the folder", ran.stderr)
    for words, says in (
            (logits(OTHER, "--artifact", folder), "was compiled for model_type llama, here it is qwen2"),
            (logits(MODEL, "--artifact", folder, "--prefill-chunk", "8"), "was compiled for prefill_chunk 1, here it is 8"),
            (logits(MODEL, "--artifact", os.path.join(root, "none")), "manifest.json"),
            (logits(MODEL, "--artifact", folder, "--device", "native"), "keeps nothing")):
        ran = run(words, env)
        ok(ran.returncode == 1 and says in ran.stderr, "refused: " + says, ran.stderr)
    for path in glob.glob(os.path.join(folder, "*.artifact")):
        with open(path, "ab") as f:
            f.write(b"more")
    ran = run(logits(MODEL, "--artifact", folder), env)
    ok(ran.returncode == 1 and "has no compiled program for" in ran.stderr, "damage in a folder is refused", ran.stderr)
    ran = run(logits(MODEL, "--artifact", folder, "--artifact-rebuild"), env)
    ok(ran.stdout == want, "or made anew where that is asked for", ran.stderr)


def main():
    with tempfile.TemporaryDirectory() as root:
        probe = run(logits(), environment(os.path.join(root, "probe")))
        if "no PJRT plugin is installed" in probe.stderr:
            print("skipped: " + probe.stderr.strip())
            sys.exit(77)
        env, want, listed = kept(root)
        damaged(env, want, listed)
        killed(root, want)
        ahead(root, want)
        plan()


main()
