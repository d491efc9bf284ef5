#!/usr/bin/env python3
"""mlxcel run on a pseudo-terminal and on a pipe: repl.py PROGRAM DATA. Output is TAP.

The model is the one of tiny.py, made to answer H and nothing else."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time

import tiny

SLOW = float(os.environ.get("CEL_TEST_SLOWDOWN", "1"))
BIAS = ["--logit-bias", '{"72":1000}']
CTRL_C, CTRL_D = b"\x03", b"\x04"


class Wrong(Exception):
    pass


class Chat:
    """The program on a terminal of its own."""

    def __init__(self, program, home, *words, size=(24, 80)):
        self.seen, self.all = b"", b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = {k: v for k, v in os.environ.items() if not k.startswith("MLXCEL_")}
            env.update(HOME=home, TERM="xterm")
            os.execve(program, [program, "run"] + list(words), env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.seen += data
        self.all += data
        return bool(data)

    def expect(self, pattern, seconds=10):
        """Reads until the pattern is there; what came before it and itself are forgotten."""
        end = time.monotonic() + seconds * SLOW
        while True:
            text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", b"", self.seen)
            found = re.search(pattern, text)
            if found:
                self.seen = text[found.end():]
                return found.group(0)
            if time.monotonic() > end or not self.read(max(0.0, end - time.monotonic())):
                raise Wrong("%r did not come; there is %r behind %r" % (pattern, text[-300:], self.all[-300:]))

    def send_key(self, key):
        """A key that a person presses: not in the instant in which the prompt appears and the terminal is still being set."""
        time.sleep(0.2 * min(SLOW, 5))
        self.send(key)

    def send(self, data):
        while data:
            readable, writable, _ = select.select([self.fd], [self.fd], [], 10 * SLOW)
            if readable:
                self.read(0)
            if writable:
                data = data[os.write(self.fd, data[:512]):]
            if not readable and not writable:
                raise Wrong("nothing is taken")

    def leave(self, seconds=10):
        """The exit status, after whatever is left to read."""
        end = time.monotonic() + seconds * SLOW
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
            self.read(0.05)
        raise Wrong("still there")

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
        if b"Sanitizer" in self.all or b"runtime error:" in self.all:
            raise Wrong("a sanitizer speaks: %r" % self.all[-2000:])


def must(what, truth):
    if not truth:
        raise Wrong(what)


def lines_and_commands(program, model, home):
    c = Chat(program, home, model, *BIAS, "-n", "5")
    try:
        c.expect(rb">>> ")
        c.send(b"hello\n")
        c.expect(rb"HHHHH\r\n")
        c.expect(rb">>> ")
        c.send(b'"""\n')
        c.expect(rb"\.\.\. ")
        c.send(b"one\n")
        c.expect(rb"\.\.\. ")
        c.send(b'two"""\n')
        c.expect(rb"HHHHH\r\n")
        c.expect(rb">>> ")
        c.send(b"/?\n")
        c.expect(rb"forgets the conversation")
        c.expect(rb">>> ")
        c.send(b"/nonsense\n")
        c.expect(rb"no command /nonsense")
        c.expect(rb">>> ")
        c.send(b"/clear\n")
        c.expect(rb">>> ")
        c.send(b"\n")
        c.expect(rb">>> ")
        c.send(b"again\n")
        c.expect(rb"HHHHH\r\n")
        c.expect(rb">>> ")
        c.send_key(CTRL_D)
        must("status 0 after Ctrl-D", c.leave() == 0)
    finally:
        c.close()
    history = os.path.join(home, ".cache", "mlxcel", "history")
    must("a history file", os.path.isfile(history))
    must("mode 0600 of the history", stat.S_IMODE(os.stat(history).st_mode) == 0o600)
    with open(history, "rb") as f:
        text = f.read()
    must("what was said is in the history", b"hello" in text and b"again" in text)
    must("commands are not in the history", b"/clear" not in text)


def arrow_brings_history_back(program, model, home):
    c = Chat(program, home, model, *BIAS, "-n", "5")
    try:
        c.expect(rb">>> ")
        c.send(b"first words\n")
        c.expect(rb"HHHHH\r\n")
        c.expect(rb">>> ")
        c.send(b"\x1b[A")
        c.expect(rb"first words")
        c.send(b"\n")
        c.expect(rb"HHHHH\r\n")
        c.expect(rb">>> ")
        c.send(b"/bye\n")
        must("status 0 after /bye", c.leave() == 0)
    finally:
        c.close()
    c = Chat(program, home, model, *BIAS, "-n", "5")
    try:
        c.expect(rb">>> ")
        c.send(b"\x1b[A")
        c.expect(rb"first words")
        c.send(b"\n")
        c.expect(rb"HHHHH\r\n")
        c.send(b"/bye\n")
        must("status 0", c.leave() == 0)
    finally:
        c.close()


def ctrl_c_at_the_prompt(program, model, home):
    c = Chat(program, home, model, *BIAS, "-n", "5")
    try:
        c.expect(rb">>> ")
        for _ in range(3):
            c.send_key(b"half a line")
            c.expect(rb"half a line")
            c.send_key(CTRL_C)
            c.expect(rb">>> ")
        c.send(b'"""\n')
        c.expect(rb"\.\.\. ")
        c.send(b"dropped")
        c.expect(rb"dropped")
        c.send_key(CTRL_C)
        c.expect(rb">>> ")
        c.send(b"hello\n")
        c.expect(rb"HHHHH\r\n")
        c.expect(rb">>> ")
        c.send_key(CTRL_D)
        must("status 0", c.leave() == 0)
    finally:
        c.close()


def ctrl_c_stops_the_answer(program, model, home):
    c = Chat(program, home, model, *BIAS, "--ignore-eos")
    try:
        for words in (b"go\n", b"once more\n"):
            c.expect(rb">>> ")
            c.send(words)
            c.expect(rb"HHHH")
            c.send_key(CTRL_C)
            c.expect(rb"\[stopped\]\r\n", 5)
        c.expect(rb">>> ")
        c.send(b"/bye\n")
        must("status 0", c.leave() == 0)
    finally:
        c.close()


def window_without_size(program, model, home):
    c = Chat(program, home, model, *BIAS, "-n", "5", size=(0, 0))
    try:
        c.expect(rb">>> ")
        c.send(b"hello\n")
        c.expect(rb"HHHHH")
        c.expect(rb">>> ")
        c.send_key(CTRL_D)
        must("status 0", c.leave() == 0)
    finally:
        c.close()


def line_of_100_kilobytes(program, model, home):
    c = Chat(program, home, model, *BIAS, "-n", "5", "-c", "1000")
    try:
        c.expect(rb">>> ")
        c.send(b"a" * 100000 + b"\n")
        c.expect(rb"error: the prompt \(\d+ tokens\)", 60)
        c.expect(rb">>> ")
        c.send(b"hello\n")
        c.expect(rb"HHHHH\r\n")
        c.send_key(CTRL_D)
        must("status 0", c.leave() == 0)
    finally:
        c.close()


def pipe(program, model, home, text, *words):
    p = subprocess.run([program, "run", model] + BIAS + list(words), input=text, capture_output=True, timeout=60 * SLOW,
                       env={"HOME": home, "PATH": os.environ.get("PATH", "")})
    must("no sanitizer: %r" % p.stderr, b"Sanitizer" not in p.stderr and b"runtime error:" not in p.stderr)
    return p.returncode, p.stdout, p.stderr


def pipes(program, model, home):
    status, out, err = pipe(program, model, home, b"hi\n/bye\nnever read\n", "-n", "5")
    must("one answer: %r" % out, (status, out) == (0, b"HHHHH\n"))
    status, out, err = pipe(program, model, home, b"hi\nho", "-n", "2")
    must("a last line without its end: %r" % out, (status, out) == (0, b"HH\nHH\n"))
    status, out, err = pipe(program, model, home, b"", "-n", "2")
    must("nothing: %r" % out, (status, out, err) == (0, b"", b""))
    status, out, err = pipe(program, model, home, b'"""a\nb"""\r\n"""\n"""\n', "-n", "2")
    must("several lines, then nothing: %r" % out, (status, out) == (0, b"HH\n"))
    status, out, err = pipe(program, model, home, b"a" * 100000 + b"\nhi\n", "-n", "2", "-c", "1000")
    must("too long, then not: %r %r" % (out, err), status == 0 and out == b"HH\n" and err.startswith(b"error: the prompt (1000"))
    status, out, err = pipe(program, model, home, b"a\xff\0b\nhi\n", "-n", "2")
    must("no UTF-8: %r %r" % (out, err), status == 0 and out.endswith(b"HH\n") and b"not valid UTF-8" in err)
    status, out, err = pipe(program, model, home, b"hi\n", "-n", "2", "--system", "S", "-v")
    must("speed with -v: %r" % err, status == 0 and b"tok/s" in err)


def ctrl_c_ends_generate(program, model, home):
    p = subprocess.Popen([program, "generate", "-m", model, "-p", "Hi", "--ignore-eos"] + BIAS, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env={"HOME": home})
    try:
        must("an answer begins", p.stdout.read(8) == b"HHHHHHHH")
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=10 * SLOW)
    finally:
        p.kill()
        p.wait()
    must("status 1 and a word: %r" % err, p.returncode == 1 and err.endswith(b"error: interrupted\n"))


def main():
    program, data = os.path.abspath(sys.argv[1]), sys.argv[2]
    tests = [lines_and_commands, arrow_brings_history_back, ctrl_c_at_the_prompt, ctrl_c_stops_the_answer, window_without_size,
             line_of_100_kilobytes, pipes, ctrl_c_ends_generate]
    chosen = [t for t in tests if len(sys.argv) < 4 or t.__name__ in sys.argv[3:]]
    failed = 0
    for n, test in enumerate(chosen, 1):
        folder = tempfile.mkdtemp(prefix="cel-repl-")
        try:
            tiny.make(data, os.path.join(folder, "model"), context=60000)
            test(program, os.path.join(folder, "model"), folder)
            print("ok %d - %s" % (n, test.__name__))
        except (Wrong, subprocess.TimeoutExpired) as e:
            failed += 1
            print("not ok %d - %s\n# %s" % (n, test.__name__, e))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.flush()
    print("1..%d" % len(chosen))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
