#!/usr/bin/env python3
"""Installs into a folder, moves that folder, and uses what is there as its users do: program, manual, completions,
pkg-config, the examples compiled with the shared and with the static library.

    install.py CMAKE BUILD CC ORACLE RUNS     RUNS: 1 when this build can run models
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
C11 = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wstrict-prototypes", "-Werror"]
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def run(*command, status=0, **kw):
    r = subprocess.run(command, capture_output=True, text=True, errors="replace", **kw)
    expect(r.returncode == status, "%s: status %d, expected %d\n%s%s" % (" ".join(command), r.returncode, status, r.stdout, r.stderr))
    return r


def commands_of(prefix):
    out = run(os.path.join(prefix, "bin/mlxcel"), "--help").stdout
    return re.findall(r"^  ([a-z]+) ", out, re.M)


def check_manual(prefix, commands):
    folder = os.path.join(prefix, "share/man/man1")
    want = sorted(["mlxcel.1"] + ["mlxcel-%s.1" % c for c in commands])
    expect(sorted(os.listdir(folder)) == want, "manual pages: %s, expected %s" % (sorted(os.listdir(folder)), want))
    for name in want:
        path = os.path.join(folder, name)
        if shutil.which("groff"):
            r = run("groff", "-man", "-Tutf8", "-ww", path)
            expect(not r.stderr, "%s: %s" % (name, r.stderr))
            page = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", r.stdout).replace("\u2010", "-").replace("\u2212", "-")
            for option in options_of(prefix, name):
                expect(option in page, "%s does not name %s" % (name, option))


def options_of(prefix, page):
    if page == "mlxcel.1":
        return []
    help_text = run(os.path.join(prefix, "bin/mlxcel"), page[len("mlxcel-"):-2], "--help").stdout
    return re.findall(r"--[a-z][a-z0-9-]+", "\n".join(l for l in help_text.splitlines() if re.match(r"  (-\w, |    )--", l)))


def complete(prefix, *words):
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mlxcel; printf "%s\\n" "${COMPREPLY[@]}"'
    file = os.path.join(prefix, "share/bash-completion/completions/mlxcel")
    return run("bash", "-c", script, "bash", file, *words).stdout.split()


def check_fish(prefix, commands):
    """What fish offers. (zsh has no such question; its file is parsed.)"""
    file = os.path.join(prefix, "share/fish/vendor_completions.d/mlxcel.fish")

    def offers(line):
        out = run("fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", file, line).stdout
        return {row.split("\t")[0] for row in out.splitlines()}

    expect(set(commands) <= offers("mlxcel "), "fish: commands")
    expect(offers("mlxcel gen --temp") == {"--temp", "--temperature"}, "fish: options: %s" % offers("mlxcel gen --temp"))
    for c in commands:
        expect(set(options_of(prefix, "mlxcel-%s.1" % c)) <= offers("mlxcel %s --" % c), "fish: options of %s" % c)


def check_completions(prefix, commands):
    for shell, file in (("zsh", "zsh/site-functions/_mlxcel"), ("fish", "fish/vendor_completions.d/mlxcel.fish")):
        path = os.path.join(prefix, "share", file)
        expect(os.path.getsize(path) > 1000, "%s is empty" % path)
        if shutil.which(shell):
            run(shell, "-n", path)
    if shutil.which("fish"):
        check_fish(prefix, commands)
    if not shutil.which("bash"):
        return
    expect(sorted(complete(prefix, "mlxcel", "")) == sorted(commands + ["--help", "--version"]), "bash: commands")
    expect(complete(prefix, "mlxcel", "gen") == ["generate"], "bash: gen")
    for c in commands:
        got = set(complete(prefix, "mlxcel", c, "--"))
        expect(set(options_of(prefix, "mlxcel-%s.1" % c)) <= got, "bash: options of %s: %s" % (c, sorted(got)))
    expect(complete(prefix, "mlxcel", "run", "--temp", "") == [], "bash: a number is no file")
    expect("README.md" in complete_in_root(prefix, "mlxcel", "run", "-m", "READ"), "bash: files behind -m")


def complete_in_root(prefix, *words):
    here = os.getcwd()
    os.chdir(ROOT)
    try:
        return complete(prefix, *words)
    finally:
        os.chdir(here)


def check_files(prefix):
    for name in os.listdir(os.path.join(ROOT, "include/mlxcel")):
        expect(os.path.isfile(os.path.join(prefix, "include/mlxcel", name)), name)
    for name in ("mlxcel/copyright", "mlxcel/README.md", "mlxcel/examples/chat.c", "mlxcel/examples/batch.c"):
        expect(os.path.isfile(os.path.join(prefix, "share/doc", name)), name)


# ---- the examples ------------------------------------------------------------------------------------

def pkg_config(pc, *flags):
    env = dict(os.environ, PKG_CONFIG_PATH=pc)
    return run("pkg-config", *flags, "mlxcel", env=env).stdout.split()


def build(cc, folder, pc, static):
    flags = pkg_config(pc, "--cflags", "--libs", *(["--static"] if static else []))
    libdir = os.path.dirname(pc)
    if static:
        flags = [os.path.join(libdir, "libmlxcel.a") if f == "-lmlxcel" else f for f in flags]
    programs = {}
    for name in ("chat", "batch"):
        programs[name] = os.path.join(folder, name + ("-static" if static else ""))
        source = os.path.join(ROOT, "examples", name + ".c")
        run(cc, *C11, source, *flags, "-Wl,-rpath," + libdir, "-o", programs[name])
    return programs


def check_examples(programs, oracle, runs):
    model = os.path.join(oracle, "llama-gguf/model.gguf")
    for p in programs.values():
        run(p, status=2)
        expect("not found" in run(p, "/no/such/model", "a", status=1).stderr, "%s: a missing model" % p)
    if not runs:
        return None
    chat = run(programs["chat"], model, 'Say "hi"\n')
    expect(re.search(r"\[9 prompt tokens, \d+ tokens, (finished|cut off)\]", chat.stderr), "chat: %s" % chat.stderr)
    expect(chat.stdout == run(programs["chat"], model, 'Say "hi"\n').stdout and chat.stdout, "chat: the same seed, another answer")
    prompts = ["Once upon a time", "1, 2, 3,", "x"]
    both = run(programs["batch"], model, *prompts).stdout
    alone = "".join(run(programs["batch"], model, p).stdout for p in prompts)
    expect(both == alone and all(p in both for p in prompts), "batch: together\n%s\nalone\n%s" % (both, alone))
    return chat.stdout, both


def check_library(cc, folder, prefix, oracle, runs):
    pc = next((d for d, _, files in os.walk(prefix) if "mlxcel.pc" in files), None)
    expect(pc, "no mlxcel.pc")
    if not pc or failures:
        return
    answers = [check_examples(build(cc, folder, pc, static), oracle, runs) for static in (False, True)]
    expect(answers[0] == answers[1], "the static library answers otherwise than the shared one")


def main():
    cmake, build_folder, cc, oracle, runs = sys.argv[1:]
    if not shutil.which("pkg-config"):
        print("skipped: pkg-config is missing")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        run(cmake, "--install", build_folder, "--prefix", os.path.join(folder, "first"))
        if failures:
            sys.exit("\n".join(failures))
        prefix = os.path.join(folder, "moved")
        os.rename(os.path.join(folder, "first"), prefix)
        commands = commands_of(prefix)
        expect(len(commands) > 5, "commands: %s" % commands)
        check_files(prefix)
        check_manual(prefix, commands)
        check_completions(prefix, commands)
        check_library(cc, folder, prefix, oracle, runs == "1")
    print("\n".join(failures) or "installed, moved, used")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
