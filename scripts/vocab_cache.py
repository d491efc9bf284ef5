#!/usr/bin/env python3
"""Brings the vocabularies and chat templates that llama-cpp-python's source package carries into the cache, and prints
the folder: ggml-vocab-*.gguf with their .inp and .out files, and templates/*.jinja. Only tests use them.

What comes is checked by SHA-256 and kept: a second call only looks whether it is whole. The package is not built, and
none of its code runs: pip asks a source package for its metadata, and a stand-in for the build backend answers. Which
index is asked is pip's own setting. Needs Python 3.8 and pip (or the venv module, which has a pip).

    --cache DIR    otherwise MLXCEL_CACHE_DIR, ~/.cache/mlxcel
    --offline      do not download; fail when it is not there
"""
import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

from demo_model import Problem, find_pip

NAME, VERSION = "llama-cpp-python", "0.3.36"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
INSIDE = "/vendor/llama.cpp/models/"

# pip builds no package to download it, but asks its backend for name and version.
BACKEND = '''
import os


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    name = "%s-%s.dist-info"
    os.mkdir(os.path.join(folder, name))
    with open(os.path.join(folder, name, "METADATA"), "w") as f:
        f.write("Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n")
    return name
''' % (NAME.replace("-", "_"), VERSION, NAME, VERSION)


def wanted(name):
    """The path in the cache of a member of the archive, or None."""
    at = name.find(INSIDE)
    path = name[at + len(INSIDE):] if at >= 0 else ""
    folder, base = os.path.split(path)
    if folder == "templates" and base.endswith(".jinja"):
        return path
    vocabulary = base.startswith("ggml-vocab-") and base.endswith((".gguf", ".gguf.inp", ".gguf.out"))
    return path if not folder and vocabulary else None


def download(folder):
    """The path of the source package."""
    backend = os.path.join(folder, "backend", "scikit_build_core")
    os.makedirs(backend)
    for name, text in (("__init__.py", ""), ("build.py", BACKEND)):
        with open(os.path.join(backend, name), "w") as f:
            f.write(text)
    place = os.path.join(folder, "package")
    command = find_pip(folder) + ["download", "--no-deps", "--no-binary", NAME, "--no-build-isolation", "--use-pep517", "--quiet",
                                  "--disable-pip-version-check", "--no-cache-dir", "--dest", place, "%s==%s" % (NAME, VERSION)]
    env = dict(os.environ, PYTHONPATH=os.path.dirname(backend))
    ran = subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    archives = [n for n in os.listdir(place) if n.endswith(".tar.gz")] if os.path.isdir(place) else []
    if ran.returncode != 0 or len(archives) != 1:
        last = (ran.stderr.strip().splitlines() or ["no package came"])[-1]
        raise Problem("pip could not download %s %s (is there a network?): %s" % (NAME, VERSION, last))
    return os.path.join(place, archives[0])


def check(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    if digest.hexdigest() != SHA256:
        raise Problem("%s: what was downloaded has not the SHA-256 %s" % (os.path.basename(path), SHA256))


def unpack(archive, folder):
    """Writes the wanted members; returns their paths and sizes as lines."""
    lines = []
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            path = wanted(member.name) if member.isfile() else None
            if not path:
                continue
            target = os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with tar.extractfile(member) as source, open(target, "wb") as out:
                shutil.copyfileobj(source, out)
            lines.append("%d %s" % (member.size, path))
    if not lines:
        raise Problem("%s holds no %s" % (os.path.basename(archive), INSIDE))
    return lines


def is_whole(folder):
    """Every file that was unpacked is there in its size."""
    try:
        with open(os.path.join(folder, "files.txt"), encoding="utf-8") as f:
            rows = [line.rstrip("\n").split(" ", 1) for line in f]
        return bool(rows) and all(os.path.getsize(os.path.join(folder, path)) == int(size) for size, path in rows)
    except (OSError, ValueError):
        return False


def bring(target):
    parent = os.path.dirname(target)
    os.makedirs(parent, exist_ok=True)
    partial = tempfile.mkdtemp(prefix=".partial-", dir=parent)
    try:
        with tempfile.TemporaryDirectory(prefix="mlxcel-") as scratch:
            archive = download(scratch)
            check(archive)
            lines = unpack(archive, partial)
        with open(os.path.join(partial, "files.txt"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        if os.path.isdir(target):
            shutil.rmtree(target)
        os.rename(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--cache")
    ap.add_argument("--offline", action="store_true")
    a = ap.parse_args()
    cache = a.cache or os.environ.get("MLXCEL_CACHE_DIR") or os.path.expanduser("~/.cache/mlxcel")
    target = os.path.join(cache, "vocab", "%s-%s" % (NAME, VERSION))
    try:
        if not is_whole(target):
            if a.offline:
                raise Problem("%s is not there" % target)
            print("bringing vocabularies and templates (77 MB to download) to %s" % target, file=sys.stderr)
            bring(target)
    except (Problem, OSError, tarfile.TarError) as e:
        sys.exit("vocab_cache.py: %s" % e)
    print(target)


if __name__ == "__main__":
    main()
