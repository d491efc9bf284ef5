#!/usr/bin/env python3
"""Two processes that share a model over MLX's ring give the tokens of one: tensor_parallel.py PROGRAM ORACLES NAME...

NAME is a folder of ORACLES; NAME! one whose blocks cannot be shared out, which must be refused. Prints TAP.
"""
import json
import os
import socket
import subprocess
import sys
import tempfile

IDS = ",".join(str((i * 37 + 11) % 128) for i in range(20))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(program, model, words, env):
    command = [program, "generate", "-m", model, "--ids", IDS, "-n", "16", "--temperature", "0", "--ignore-eos", "--json"] + words
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, MLXCEL_BACKEND="mlx", **env))


def ended(process):
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        return None, "", "no end within two minutes"
    return process.returncode, out, err


def shared(program, model, n):
    """What each of n processes ended with."""
    with tempfile.TemporaryDirectory() as folder:
        hosts = os.path.join(folder, "hosts.json")
        with open(hosts, "w") as f:
            json.dump([["127.0.0.1:%d" % free_port()] for _ in range(n)], f)
        running = [start(program, model, ["--devices", str(n)], {"MLX_RANK": str(i), "MLX_HOSTFILE": hosts}) for i in range(n)]
        return [ended(p) for p in running]


def check(program, model):
    code, out, err = ended(start(program, model, [], {}))
    if code != 0:
        return "alone it ends with %s: %s" % (code, err)
    want = json.loads(out)["ids"]
    for i, (code, out, err) in enumerate(shared(program, model, 2)):
        if code != 0:
            return "process %d ends with %s: %s" % (i, code, err)
        if json.loads(out)["ids"] != want:
            return "process %d says %s, one alone says %s" % (i, json.loads(out)["ids"], want)
    return None


def check_refused(program, model):
    for i, (code, out, err) in enumerate(shared(program, model, 2)):
        if code != 1 or "cannot be shared by 2 devices on MLX" not in err:
            return "process %d ends with %s: %s" % (i, code, err)
    return None


def check_alone(program, model):
    code, out, err = ended(start(program, model, ["--devices", "2"], {}))
    return None if code == 1 and "MLX" in err else "it ends with %s: %s" % (code, err)


def main():
    program, oracles, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    tests = [("%s: two processes give the tokens of one" % n, check, n) if not n.endswith("!") else
             ("%s is refused" % n[:-1], check_refused, n[:-1]) for n in names]
    tests.append(("devices without a launch are refused", check_alone, names[0]))
    print("1..%d" % len(tests))
    failed = 0
    for i, (what, action, name) in enumerate(tests):
        why = action(program, os.path.join(oracles, name))
        failed += why is not None
        print("%sok %d - %s%s" % ("not " if why else "", i + 1, what, "\n# " + why.replace("\n", "\n# ") if why else ""), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
