#!/usr/bin/env python3
"""Broken files through the whole program: mutate.py PROGRAM DATA [KIND[:NUMBER]]

Good small files are damaged in ways drawn from a fixed seed. Whatever a file says, the program ends by itself with
status 0 or 1, soon, without a word of a sanitizer, and an error is one line that begins with "error: ". With KIND:NUMBER
one mutation runs, and its file is kept. Output is TAP, one line for each kind."""
import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

import tiny

SLOW = float(os.environ.get("CEL_TEST_SLOWDOWN", "1"))
SANITIZED = os.environ.get("CEL_TEST_SANITIZED") == "1"
LIMIT_S, MEMORY = 2, 4 << 30
EACH = 40  # mutations of a kind
EDGES = [0, 1, 7, 0x7F, 0xFF, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62 + 1, 2**63 - 1, 2**63, 2**64 - 1]
VALUES = ["0", "-1", "1", "2", "3", "65536", "2147483647", "2147483648", "4294967296", "9223372036854775807", "1e308", "-1e-300",
          "0.5", "1.0", "true", "null", '"x"', '""', "[]", "{}", "[1]", '{"a":1}', "[[[[]]]]", '"\\ud800"']


def damage_bytes(r, data, near=0):
    """One to three changes of bytes, most of them in the first `near` (0: anywhere)."""
    b = bytearray(data)
    for _ in range(r.choice([1, 1, 1, 2, 3])):
        n = len(b) if not near or r.random() < 0.1 else min(near, len(b))
        if not n:
            break
        at, kind = r.randrange(n), r.randrange(7)
        if kind == 0:
            b[at] ^= 1 << r.randrange(8)
        elif kind == 1:
            b[at] = r.choice([0, 1, 0x7F, 0x80, 0xFF, 0x22, 0x7B])
        elif kind == 2:
            del b[at:]
        elif kind == 3:
            del b[at:at + r.randrange(1, 20)]
        elif kind == 4:
            b[at:at] = b[at:at + r.randrange(1, 40)]
        else:
            width = r.choice([4, 8])
            at -= at % width if r.random() < 0.5 else 0
            b[at:at + width] = struct.pack("<Q", r.choice(EDGES))[:width]
    return bytes(b)


def damage_json(r, data):
    """A value in the place of another, or bytes as anywhere."""
    text = data.decode()
    pieces = re.finditer(r'"(?:[^"\\]|\\.)*"(?P<key>\s*:)?|-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false|null|\{\}|\[\]', text)
    spots = [p for p in pieces if not p.group("key")]
    if r.random() < 0.25 or not spots:
        return damage_bytes(r, data)
    for _ in range(r.choice([1, 1, 2])):
        spot = r.choice(spots[:400] if r.random() < 0.7 else spots)
        text = text[:spot.start()] + r.choice(VALUES) + text[spot.end():]
        spots = [s for s in spots if s.end() <= spot.start()] or [spot]
        if spots == [spot]:
            break
    return text.encode("utf-8", "surrogatepass")


WORDS = ["{%", "%}", "{{", "}}", "if", "for", "endfor", "endif", "in", "|", "(", ")", "[", "]", "~", "loop.index", "range(9)",
         "macro x()", "set a =", "'", "\"", "-", ":", "messages", "none", ".", ","]
SIGNS = ["stablehlo.", "tensor<", "2x", "?x", "x", ">", "f32", "i1", "bf16", "dense<", "%0", "%a", "@main", "{", "}", "(", ")", "->",
         ":", "=", ",", "return", "-1", "99999999999999999999", "#", "\"", "loc(", "func.func"]


def damage_text(words):
    def damage(r, data):
        text = data.decode()
        for _ in range(r.choice([1, 1, 2, 4])):
            pieces = re.findall(r"\w+|\s+|.", text, re.S)
            if not pieces:
                break
            at, kind = r.randrange(len(pieces)), r.randrange(5)
            if kind == 0:
                del pieces[at]
            elif kind == 1:
                pieces.insert(at, r.choice(words))
            elif kind == 2:
                pieces[at] = r.choice(words)
            elif kind == 3:
                pieces[at] = r.choice(pieces)
            else:
                del pieces[at:]
            text = "".join(pieces)
        return text.encode()
    return damage


def shard(folder):
    """Two shards and their index from one safetensors file."""
    whole = os.path.join(folder, "model.safetensors")
    with open(whole, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8:8 + n]), data[8 + n:]
    names = sorted(k for k in header if k != "__metadata__")
    index = {"metadata": {}, "weight_map": {}}
    for part in range(2):
        out, at, chunks = {}, 0, []
        for name in names[part::2]:
            begin, end = header[name]["data_offsets"]
            chunks.append(body[begin:end])
            out[name] = dict(header[name], data_offsets=[at, at + end - begin])
            at += end - begin
            index["weight_map"][name] = "model-%d.safetensors" % part
        head = json.dumps(out).encode()
        head += b" " * (-len(head) % 8)
        with open(os.path.join(folder, "model-%d.safetensors" % part), "wb") as f:
            f.write(struct.pack("<Q", len(head)) + head + b"".join(chunks))
    os.remove(whole)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf-8") as f:
        json.dump(index, f, indent=1)


def prepare(data, root):
    tiny.make(data, os.path.join(root, "t"))
    tiny.make(data, os.path.join(root, "s"))
    shard(os.path.join(root, "s"))
    shutil.copytree(os.path.join(data, "oracle", "llama3-q4g64"), os.path.join(root, "q"))
    shutil.copyfile(os.path.join(data, "oracle", "llama-gguf", "model.gguf"), os.path.join(root, "m.gguf"))
    with open(os.path.join(root, "t", "chat_template.jinja"), "w") as f:
        f.write("{%- set ns = namespace(n=0) -%}\n{% for m in messages if m.role != 'x' %}<|{{ m['role'] | upper }}|>{{ m.content.strip()"
                " ~ '' }}{% if loop.last and add_generation_prompt %}{{ '<|bot|>' }}{% endif %}{% set ns.n = ns.n + 1 %}{% endfor %}\n"
                "{% macro f(a, b=2) %}{{ a[::-1] }}{{ b * 2 }}{% endmacro %}{{ f([1, 2]) }}{{ tools | tojson if tools else '' }}")
    with open(os.path.join(root, "messages.json"), "w") as f:
        json.dump([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": [{"function": {
            "name": "f", "arguments": {"a": 1}}}]}, {"role": "user", "content": [{"type": "text", "text": "x"}]}], f)
    with open(os.path.join(root, "one.json"), "w") as f:
        json.dump([{"role": "user", "content": "Hi"}], f)
    with open(os.path.join(root, "add.mlir"), "w") as f:
        f.write("func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {\n"
                "  %0 = stablehlo.add %a, %b : tensor<2x3xf32>\n  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
                "  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) ->"
                " tensor<2xf32>\n  %2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n"
                "  %3 = \"stablehlo.slice\"(%2) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 3, 2>,"
                " strides = array<i64: 1, 1>} : (tensor<3x2xf32>) -> tensor<3x2xf32>\n"
                "  return %1, %3 : tensor<2xf32>, tensor<3x2xf32>\n}\n")
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(os.path.join(root, "x.npy"), "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<6f", *range(6)))


GENERATE = ["generate", "-m", "t", "--ids", "1,2,3", "-n", "2", "--threads", "1"]
# kind: file that is damaged, how, command
KINDS = {
    "config": ("t/config.json", damage_json, GENERATE),
    "generation_config": ("t/generation_config.json", damage_json, GENERATE),
    "safetensors": ("t/model.safetensors", lambda r, d: damage_bytes(r, d, 2400), GENERATE),
    "safetensors_inspect": ("t/model.safetensors", lambda r, d: damage_bytes(r, d, 2400), ["inspect", "t", "--json"]),
    "index": ("s/model.safetensors.index.json", damage_json, ["generate", "-m", "s"] + GENERATE[3:]),
    "quantized": ("q/model.safetensors", lambda r, d: damage_bytes(r, d, 4000), ["generate", "-m", "q"] + GENERATE[3:]),
    "quantized_config": ("q/config.json", damage_json, ["generate", "-m", "q"] + GENERATE[3:]),
    "tokenizer": ("t/tokenizer.json", damage_json, ["tokenize", "-m", "t", "Hi </s> \u6b6a"]),
    "tokenizer_chat": ("t/tokenizer.json", damage_json, ["generate", "-m", "t", "-p", "Hi", "-n", "2", "--threads", "1"]),
    "tokenizer_config": ("t/tokenizer_config.json", damage_json, ["template", "-m", "s", "--messages", "one.json"]),
    "template": ("t/chat_template.jinja", damage_text(WORDS), ["template", "-m", "t", "--messages", "one.json"]),
    "template_bytes": ("t/chat_template.jinja", damage_bytes, ["template", "-m", "t", "--messages", "one.json"]),
    "messages": ("messages.json", damage_json, ["generate", "-m", "t", "--messages", "messages.json", "-n", "1", "--threads", "1"]),
    "gguf": ("m.gguf", lambda r, d: damage_bytes(r, d, 4000), ["generate", "-m", "m.gguf"] + GENERATE[3:]),
    "gguf_inspect": ("m.gguf", lambda r, d: damage_bytes(r, d, 4000), ["inspect", "m.gguf", "--json"]),
    "gguf_tokenize": ("m.gguf", lambda r, d: damage_bytes(r, d, 4000), ["tokenize", "-m", "m.gguf", "Hi"]),
    "mlir": ("add.mlir", damage_text(SIGNS), ["xla", "run", "add.mlir", "--input", "x.npy", "--input", "2"]),
    "mlir_bytes": ("add.mlir", damage_bytes, ["xla", "run", "add.mlir", "--input", "3", "--input", "2"]),
    "npy": ("x.npy", damage_bytes, ["xla", "run", "add.mlir", "--input", "x.npy", "--input", "2"]),
}


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def fault(program, root, words):
    """What is wrong with how the program took it, or None."""
    env = {"HOME": root, "PATH": os.environ.get("PATH", "")}
    env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
    try:
        p = subprocess.run([program] + words, capture_output=True, cwd=root, env=env, timeout=LIMIT_S * SLOW, preexec_fn=limits)
    except subprocess.TimeoutExpired:
        return "still running after %d s" % (LIMIT_S * SLOW)
    err = p.stderr.decode("utf-8", "replace")
    lines = [line for line in err.splitlines() if not re.match(r"warning: |\d+ prompt tokens ", line)]
    if "Sanitizer" in err or "runtime error:" in err:
        return "a sanitizer speaks: " + err[:3000]
    if p.returncode not in (0, 1):
        return "status %d: %s" % (p.returncode, err[:500])
    if p.returncode == 1 and (len(lines) != 1 or not lines[0].startswith("error: ")):
        return "not one line of error: %r" % err[:500]
    if p.returncode == 1 and "out of memory" in err:
        return "memory for what a small file says: %s" % err[:500]
    return None


def run_kind(program, root, name, numbers, keep):
    path, damage, words = KINDS[name]
    path = os.path.join(root, path)
    with open(path, "rb") as f:
        good = f.read()
    faults = []
    for number in numbers:
        bad = damage(random.Random("%s %d" % (name, number)), good)
        with open(path, "wb") as f:
            f.write(bad)
        wrong = fault(program, root, words)
        if keep:
            shutil.copytree(root, keep, dirs_exist_ok=True)
            print("# kept in %s: mlxcel %s" % (keep, " ".join(words)))
        if wrong:
            faults.append("%s:%d %s" % (name, number, wrong))
    with open(path, "wb") as f:
        f.write(good)
    return faults


def main():
    program, data = os.path.abspath(sys.argv[1]), sys.argv[2]
    only, _, number = (sys.argv[3] if len(sys.argv) > 3 else "").partition(":")
    each = int(os.environ.get("CEL_TEST_MUTATIONS", EACH))
    with tempfile.TemporaryDirectory(prefix="cel-mutate-") as root:
        prepare(data, root)
        names = [k for k in KINDS if not only or k == only]
        failed = 0
        for n, name in enumerate(names, 1):
            words = KINDS[name][2]
            good = fault(program, root, words)
            faults = [name + ": the good file: " + good] if good else []
            faults += run_kind(program, root, name, [int(number)] if number else range(each), "kept" if number else None)
            failed += bool(faults)
            print("%s %d - %s, %d mutations" % ("not ok" if faults else "ok", n, name, each))
            for f in faults[:5]:
                print("# " + f.replace("\n", "\n# "))
            sys.stdout.flush()
        print("1..%d" % len(names))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
