#!/usr/bin/env python3
"""Runs one case of the command line: case.py PROGRAM DATA FILE.case

A case is text, one directive a line; lines that begin with `#` are comments. Everything happens in an empty folder that
is also HOME. `$NAME` is replaced in commands, names and contents: $DATA (tests/data), $SMOL (the SmolLM2 GGUF), $HERE
(the folder of the case). Contents of more than a line follow a directive, indented by four spaces.

    needs WHAT              smollm2, xla, native, no-backend, no-engine, user (not root): skips where it is missing
    file NAME               makes a file of the indented lines
    bytes NAME              makes a file of pieces: text "...", sized "...", u8/u16/u32/u64 N, f32 X, hex 00FF, zero N, align N
    copy FROM NAME          copies a file or folder
    tiny NAME               makes the model folder of tiny.py
    cut NAME N              keeps the first N bytes (-N: all but the last N)
    patch NAME OFFSET HEX   overwrites bytes
    edit NAME /FROM/TO/     replaces a text that must be there
    chmod NAME MODE
    fifo NAME               makes a pipe that nobody writes into
    link TARGET NAME        makes a symbolic link
    repeat NAME TEXT N      makes a file of N times the text
    stack KIB               the stack of the commands that follow
    env NAME=VALUE          for the commands that follow; `env NAME` unsets it
    stdin                   the indented lines are standard input of the next command (`stdin NAME`: a file; `stdin endless`)
    closed                  the next command's standard output is a pipe nobody reads
    $ ARGUMENTS             runs the program, split as a shell splits

After a command, what must be true of it:

    exit N                  its status, 0 if not said
    out REGEX / err REGEX   found in standard output / error; `no out REGEX`, `no err REGEX` not found
    out= "JSON STRING"      standard output, exactly (`out= @NAME`: the content of a file)
    json PATH OP VALUE      standard output is JSON and the value at PATH (a.b.0.c; a trailing # is the length) is so:
                            = V, != V, < V, > V, ~ V EPS (near), is TYPE, keys a b c (exactly these)
    npy NAME DTYPE SHAPE    a NumPy file of that kind, e.g. npy x.npy <f4 3,256
    mode NAME 0600          permissions of a file
    within S                takes less than S seconds (10 if not said; errors 2)

Of every command: the status is 0, 1 or 2; status 1 and 2 come with one line that begins with "error: ", unless
`many lines`; no sanitizer speaks. Output is TAP."""
import json
import math
import os
import re
import resource
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import tiny

LIMIT_S, ERROR_LIMIT_S = 10, 2
SLOW = float(os.environ.get("CEL_TEST_SLOWDOWN", "1"))  # sanitizers, emulators


class Skip(Exception):
    pass


class Wrong(Exception):
    pass


def have(what, program):
    if what == "smollm2":
        return os.path.isfile(os.environ.get("MLXCEL_TEST_SMOLLM2", "")), "MLXCEL_TEST_SMOLLM2 names no file"
    if what == "user":
        return os.geteuid() != 0, "root may read every file"
    text = subprocess.run([program, "version", "--json"], capture_output=True, text=True, timeout=60).stdout
    built = json.loads(text)
    backends, engines = built["backends"], built["engines"]
    answers = {"xla": "xla" in backends, "no-backend": not backends, "native": "native" in engines,
               "no-engine": "xla" in backends and "native" not in engines}
    return answers[what], "not such a build"


def make_bytes(lines):
    out = b""
    for line in lines:
        kind, _, value = line.partition(" ")
        if kind == "text":
            out += json.loads(value).encode()
        elif kind == "sized":  # behind its length as u64
            text = json.loads(value).encode()
            out += struct.pack("<Q", len(text)) + text
        elif kind == "hex":
            out += bytes.fromhex(value)
        elif kind == "zero":
            out += bytes(int(value))
        elif kind == "align":
            out += bytes(-len(out) % int(value))
        elif kind == "f32":
            out += struct.pack("<f", float(value))
        else:
            out += int(value, 0).to_bytes(int(kind[1:]) // 8, "little")
    return out


def at(value, path):
    for key in filter(None, path.rstrip("#").split(".")):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return len(value) if path.endswith("#") else value


TYPES = {"number": (int, float), "int": int, "string": str, "list": list, "object": dict, "null": type(None), "bool": bool}


def holds(value, op, rest):
    if op == "is":
        return isinstance(value, TYPES[rest])
    if op == "keys":
        return sorted(value) == sorted(rest.split())
    if op == "~":
        want, eps = rest.split()
        return math.fabs(value - float(want)) <= float(eps)
    want = json.loads(rest)
    return {"=": lambda: value == want, "!=": lambda: value != want, "<": lambda: value < want, ">": lambda: value > want}[op]()


class Command:
    def __init__(self, number, words):
        self.number, self.words = number, words
        self.checks, self.stdin, self.closed = [], b"", False
        self.exit, self.within, self.many = 0, None, False


class Case:
    def __init__(self, program, data, path):
        self.program, self.path = os.path.abspath(program), path
        self.names = {"DATA": os.path.abspath(data), "HERE": os.path.dirname(os.path.abspath(path)),
                      "SMOL": os.environ.get("MLXCEL_TEST_SMOLLM2", "$SMOL")}
        self.folder = tempfile.mkdtemp(prefix="cel-cli-")
        keep = ("PATH", "LANG", "LC_ALL", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH")
        self.env = {k: os.environ[k] for k in keep if k in os.environ}
        self.env["HOME"] = self.folder
        self.failed = self.n = 0
        self.stack = None

    def limit(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self.stack:
            resource.setrlimit(resource.RLIMIT_STACK, (self.stack, self.stack))

    def fill(self, text):
        return re.sub(r"\$(%s)\b" % "|".join(self.names), lambda m: self.names[m.group(1)], text)

    def at(self, name):
        return os.path.join(self.folder, self.fill(name))

    def read(self):
        """The directives as (line number, word, rest, indented lines)."""
        out = []
        with open(self.path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                line = line.rstrip("\n")
                if line.startswith("    ") and out:
                    out[-1][3].append(line[4:])
                elif line.strip() and not line.startswith("#"):
                    word, _, rest = line.partition(" ")
                    out.append((number, word, rest, []))
        return out

    def prepare(self, word, rest, lines):
        if word == "file":
            os.makedirs(os.path.dirname(self.at(rest)) or ".", exist_ok=True)
            with open(self.at(rest), "w", encoding="utf-8", errors="surrogateescape") as f:
                f.write(self.fill("".join(line + "\n" for line in lines)))
        elif word == "bytes":
            os.makedirs(os.path.dirname(self.at(rest)) or ".", exist_ok=True)
            with open(self.at(rest), "wb") as f:
                f.write(make_bytes(lines))
        elif word == "copy":
            source, target = map(self.at, rest.split())
            shutil.copytree(source, target) if os.path.isdir(source) else shutil.copyfile(source, target)
        elif word == "tiny":
            tiny.make(self.names["DATA"], self.at(rest))
        elif word == "cut":
            name, n = rest.split()
            size = os.path.getsize(self.at(name))
            os.truncate(self.at(name), int(n) if int(n) >= 0 else size + int(n))
        elif word == "patch":
            name, offset, data = rest.split()
            with open(self.at(name), "r+b") as f:
                f.seek(int(offset, 0))
                f.write(bytes.fromhex(data))
        elif word == "edit":
            name, _, change = rest.partition(" ")
            _, old, new, _ = change.split(change[0])
            with open(self.at(name), encoding="utf-8") as f:
                text = f.read()
            if old not in text:
                raise Wrong("%s does not hold %s" % (name, old))
            with open(self.at(name), "w", encoding="utf-8") as f:
                f.write(text.replace(old, self.fill(new)))
        elif word == "chmod":
            name, mode = rest.split()
            os.chmod(self.at(name), int(mode, 8))
        elif word == "fifo":
            os.mkfifo(self.at(rest))
        elif word == "link":
            target, name = rest.split()
            os.symlink(target, self.at(name))
        elif word == "repeat":
            name, text, n = shlex.split(rest, posix=False)
            with open(self.at(name), "w", encoding="utf-8") as f:
                f.write(json.loads(text) * int(n))
        elif word == "stack":
            self.stack = int(rest) << 10
        elif word == "env":
            name, equals, value = rest.partition("=")
            self.env.pop(name, None)
            if equals:
                self.env[name] = self.fill(value)
        else:
            raise Wrong("there is no directive %s" % word)

    def execute(self, c):
        env = dict(self.env)
        kept, writer = subprocess.PIPE, None
        if c.closed:
            reader, writer = os.pipe()
            os.close(reader)
            kept = writer
        given = {"input": c.stdin} if c.stdin is not None else {"stdin": open("/dev/zero", "rb")}
        start = time.monotonic()
        try:
            p = subprocess.run([self.program] + c.words, **given, stdout=kept, stderr=subprocess.PIPE, cwd=self.folder,
                               env=env, timeout=120 * SLOW, restore_signals=not c.closed,
                               preexec_fn=self.limit)
        except subprocess.TimeoutExpired:
            raise Wrong("still running after %d s" % (120 * SLOW))
        finally:
            if writer is not None:
                os.close(writer)
        seconds = time.monotonic() - start
        return p.returncode, p.stdout or b"", p.stderr.decode("utf-8", "replace"), seconds

    def judge(self, c):
        status, out, err, seconds = self.execute(c)
        said = "\n# exit %s, out %r, err %r" % (status, out[:2000], err[:2000])
        if "Sanitizer" in err or "runtime error:" in err:
            raise Wrong("a sanitizer speaks" + said)
        if status != c.exit:
            raise Wrong("exit %d expected" % c.exit + said)
        lines = err.splitlines()
        if status and not c.many and (len(lines) != 1 or not lines[0].startswith("error: ")):
            raise Wrong("one line that begins with \"error: \" expected" + said)
        limit = (c.within or (ERROR_LIMIT_S if status else LIMIT_S)) * SLOW
        if seconds > limit:
            raise Wrong("took %.1f s, %.1f allowed" % (seconds, limit))
        for check in c.checks:
            if not self.check(check, out, err):
                raise Wrong(" ".join(check[:2]) + said)

    def check(self, check, out, err):
        word, rest = check
        text = out.decode("utf-8", "surrogateescape")
        if word in ("out", "err"):
            return re.search(self.fill(rest), text if word == "out" else err, re.M) is not None
        if word == "no":
            what, _, pattern = rest.partition(" ")
            return re.search(self.fill(pattern) or ".", text if what == "out" else err, re.M) is None
        if word == "out=":
            if rest.startswith("@"):
                with open(self.at(rest[1:]), "rb") as f:
                    return f.read() == out
            return json.loads(self.fill(rest)) == text
        if word == "json":
            path, op, value = (rest.split(" ", 2) + [""])[:3]
            try:
                return holds(at(json.loads(text), path if path != "." else ""), op, self.fill(value))
            except (KeyError, IndexError, ValueError, TypeError) as e:
                raise Wrong("json %s: %r in %r, err %r" % (rest, e, text[:2000], err[:500]))
        if word == "npy":
            name, dtype, shape = rest.split()
            with open(self.at(name), "rb") as f:
                data = f.read()
            n = int.from_bytes(data[8:10], "little")
            head = eval(data[10:10 + n].decode(), {"__builtins__": {}})  # a dict of literals
            want = tuple(int(x) for x in shape.split(","))
            return (data[:8] == b"\x93NUMPY\x01\x00" and head == {"descr": dtype, "fortran_order": False, "shape": want}
                    and (10 + n) % 64 == 0 and len(data) == 10 + n + math.prod(want) * int(dtype[-1]))
        if word == "mode":
            name, mode = rest.split()
            return os.stat(self.at(name)).st_mode & 0o777 == int(mode, 8)
        raise Wrong("there is no check %s" % word)

    def finish(self, c, head):
        if c is None:
            return
        self.n += 1
        name = "%s:%d %s" % (os.path.basename(self.path), c.number, shlex.join(c.words)[:100])
        try:
            self.judge(c)
            print("ok %d - %s" % (self.n, name))
        except Wrong as e:
            self.failed += 1
            print("not ok %d - %s\n# %s" % (self.n, name, e))

    def run(self):
        command, stdin, closed = None, b"", False
        for number, word, rest, lines in self.read():
            if word == "needs":
                there, why = have(rest, self.program)
                if not there:
                    raise Skip("%s: %s" % (rest, why))
            elif word == "$":
                self.finish(command, number)
                command = Command(number, shlex.split(self.fill(rest)))
                command.stdin, command.closed, stdin, closed = stdin, closed, b"", False
            elif word == "stdin":
                stdin = None if rest == "endless" else open(self.at(rest), "rb").read() if rest else self.fill("".join(x + "\n" for x in lines)).encode()
            elif word == "closed":
                closed = True
            elif command and word in ("out", "err", "no", "out=", "json", "npy", "mode"):
                command.checks.append((word, rest))
            elif command and word == "exit":
                command.exit = int(rest)
            elif command and word == "within":
                command.within = float(rest)
            elif command and (word, rest) == ("many", "lines"):
                command.many = True
            else:
                self.finish(command, number)
                command = None
                self.prepare(word, rest, lines)
        self.finish(command, 0)


def main():
    case = Case(*sys.argv[1:4])
    try:
        case.run()
        print("1..%d" % case.n)
    except Skip as e:
        print("skipped: %s" % e)
        sys.exit(77)
    finally:
        shutil.rmtree(case.folder, ignore_errors=True)
    sys.exit(1 if case.failed else 0)


if __name__ == "__main__":
    main()
