#!/usr/bin/env python3
"""Makes the Debian package and looks into it: what it depends on, what it holds, whether its program runs.

    package.py CPACK BUILD ORACLE RUNS     RUNS: 1 when this build can run models

With MLXCEL_TEST_ROOT (a folder made by `debootstrap --variant=minbase`; needs root) the package is also installed there by
apt, used from a shell inside, and removed again.
"""
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

WANTED = ["usr/bin/mlxcel", "usr/lib/libmlxcel.a", "usr/lib/libmlxcel.so.0", "usr/include/mlxcel/mlxcel.h",
          "usr/lib/pkgconfig/mlxcel.pc", "usr/share/man/man1/mlxcel.1", "usr/share/man/man1/mlxcel-generate.1",
          "usr/share/bash-completion/completions/mlxcel", "usr/share/zsh/site-functions/_mlxcel",
          "usr/share/fish/vendor_completions.d/mlxcel.fish", "usr/share/doc/mlxcel/copyright"]
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def run(*command, **kw):
    r = subprocess.run(command, capture_output=True, text=True, errors="replace", **kw)
    expect(r.returncode == 0, "%s: status %d\n%s%s" % (" ".join(command), r.returncode, r.stdout, r.stderr))
    return r.stdout


def needed(path):
    """Libraries a file is linked with."""
    return set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", path)))


def check_control(deb, root):
    fields = dict(re.findall(r"^ ?(\w[\w-]*): (.*)$", run("dpkg-deb", "-f", deb), re.M))
    expect(fields.get("Package") == "mlxcel", "Package: %s" % fields.get("Package"))
    expect(re.match(r"\d+\.\d+\.\d+$", fields.get("Version", "")), "Version: %s" % fields.get("Version"))
    depends = fields.get("Depends", "")
    own = {os.path.basename(p): p for p in glob.glob(os.path.join(root, "usr/lib/mlxcel/**/*.so*"), recursive=True)}
    wanted = set.union(*(needed(p) for p in [os.path.join(root, "usr/bin/mlxcel"), os.path.join(root, "usr/lib/libmlxcel.so.0"), *own.values()]))
    for library in wanted - set(own):
        if library.startswith("ld-linux"):  # libc6's
            continue
        stem = re.match(r"lib([a-z0-9_+]+?)(-\d|\.so)", library).group(1).replace("_", "-")
        expect("lib" + stem in depends or stem in ("c", "m", "mvec") and "libc6" in depends,
               "nothing in \"%s\" brings %s" % (depends, library))


def check_contents(deb, root):
    for line in run("dpkg-deb", "-c", deb).splitlines():
        mode, owner, *_, name = line.split(" -> ")[0].split()
        expect(owner == "root/root", "%s belongs to %s" % (name, owner))
        expect(mode[0] == "l" or mode[5] == "-" and mode[8] == "-", "%s may be written by others: %s" % (name, mode))
    path = re.search(r"R(UN)?PATH\s+(\S+)", run("objdump", "-p", os.path.join(root, "usr/bin/mlxcel")))
    expect(not path or path.group(2).startswith("$ORIGIN/"), "the program looks for libraries in %s" % (path and path.group(2)))
    if path:  # MLX is inside, and says whose it is
        expect(os.path.exists(os.path.join(root, "usr/share/doc/mlxcel/mlx/licenses/LICENSE")), "the licence of MLX is missing")
    for name in WANTED:
        expect(os.path.exists(os.path.join(root, name)), "%s is missing" % name)


GENERATE = ["generate", "-m", "/tmp/model.gguf", "--ids", "1,72,101", "-n", "4", "--json"]


@contextlib.contextmanager
def with_proc(clean):
    """What a system has and a bare folder lacks: programs find the libraries beside them by it."""
    proc = os.path.join(clean, "proc")
    mounted = not os.listdir(proc) and subprocess.run(["mount", "-t", "proc", "proc", proc], capture_output=True).returncode == 0
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", proc], check=True)


def check_clean_root(deb, clean, model, runs):
    shutil.copy(deb, os.path.join(clean, "tmp/mlxcel.deb"))
    shutil.copy(model, os.path.join(clean, "tmp/model.gguf"))

    def inside(*command):
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        env.update({k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")})
        return run("chroot", clean, *command, env=env)

    inside("apt-get", "-qq", "update")
    inside("apt-get", "-qq", "install", "-y", "--no-install-recommends", "/tmp/mlxcel.deb")
    if failures:
        return
    expect(inside("mlxcel", "version").startswith("mlxcel "), "clean root: version")
    if runs:
        expect('"finish_reason":"length"' in inside("mlxcel", *GENERATE), "clean root: generate")
    expect("libmlxcel.so.0" in inside("ldconfig", "-p"), "clean root: ldconfig does not know libmlxcel.so.0")
    inside("apt-get", "-qq", "purge", "-y", "mlxcel")
    left = glob.glob(os.path.join(clean, "usr/**/*mlxcel*"), recursive=True)
    expect(not left, "left behind by a purge: %s" % left)
    print("installed, used and removed in a clean root")


def main():
    cpack, build, oracle, runs = sys.argv[1:]
    for tool in ("dpkg-deb", "dpkg-shlibdeps", "objdump"):
        if not shutil.which(tool):
            print("skipped: %s is missing (this is about Debian packages)" % tool)
            sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        run(cpack, "-G", "DEB", "--config", os.path.join(build, "CPackConfig.cmake"), "-B", folder)
        debs = glob.glob(os.path.join(folder, "mlxcel_*.deb"))
        expect(len(debs) == 1, "packages: %s" % debs)
        if failures:
            sys.exit("\n".join(failures))
        root = os.path.join(folder, "root")
        run("dpkg-deb", "-x", debs[0], root)
        check_control(debs[0], root)
        check_contents(debs[0], root)
        expect(run(os.path.join(root, "usr/bin/mlxcel"), "version").startswith("mlxcel "), "version")
        clean = os.environ.get("MLXCEL_TEST_ROOT")
        if clean:
            with with_proc(clean):
                check_clean_root(debs[0], clean, os.path.join(oracle, "llama-gguf/model.gguf"), runs == "1")
    print("\n".join(failures) or "the package holds what it should")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
