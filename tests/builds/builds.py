#!/usr/bin/env python3
"""The builds of CMakePresets.json: does each configure, or say in one sentence what it lacks; does each build.

    builds.py configure SOURCE WORK    configures every build; nothing is compiled
    builds.py build SOURCE WORK [PRESET...]   builds the program of every one (or of those named) that this machine can, and
                                       looks at the programs: what is in them, what they say
    builds.py default SOURCE WORK PROGRAM    looks at the program of a build that has MLX alone

Builds with IREE need a tree of its runtime (IREE_DIST or a variable like it, docs/engines.md); a build whose tree is not there
is a line that skips, once its refusal has been read. WORK keeps the build folders. Prints TAP.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TREES = {"dist": "IREE_DIST", "cuda": "IREE_CUDA_HOME", "macos": "IREE_MACOS_HOME", "rocm": "IREE_ROCM_HOME"}
TREE_FILES = ["include/iree/runtime/api.h", "lib/libiree_runtime_unified.a", "lib/libflatcc_parsing.a"]
BUILDS = ["default", "xla-backend", "xla-iree", "xla-diagnostics", "xla-micro-oracle", "xla-diagnostics-cpu", "xla-diagnostics-rocm",
          "xla-native", "xla-pjrt", "release"]


class Wrong(Exception):
    pass


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def check(self, what, action):
        """action() returns None, or why it was skipped, or raises Wrong."""
        self.n += 1
        try:
            skipped = action()
            print("ok %d - %s%s" % (self.n, what, " # skip " + skipped if skipped else ""), flush=True)
        except Wrong as why:
            self.failed += 1
            print("not ok %d - %s\n# %s" % (self.n, what, str(why).replace("\n", "\n# ")), flush=True)

    def end(self):
        print("1..%d" % self.n)
        sys.exit(1 if self.failed else 0)


def expect(good, what):
    if not good:
        raise Wrong(what)


def presets(source):
    """name: the cache variables it sets, its ancestors' included"""
    with open(os.path.join(source, "CMakePresets.json")) as f:
        by_name = {p["name"]: p for p in json.load(f)["configurePresets"]}

    def variables(name):
        p = by_name[name]
        inherited = variables(p["inherits"]) if "inherits" in p else {}
        return dict(inherited, **p.get("cacheVariables", {}))

    return {name: variables(name) for name, p in by_name.items() if not p.get("hidden")}


def without_trees():
    return {k: v for k, v in os.environ.items() if k not in TREES.values()}


def configure(source, preset, folder, more=(), env=None):
    command = ["cmake", "--preset", preset, "-B", folder, "-S", source, "-DCEL_TESTS=OFF"] + list(more)
    ran = subprocess.run(command, cwd=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=env)
    return ran.returncode, ran.stdout


def refusal(output):
    """The text of CMake's error, on one line."""
    found = re.search(r"CMake Error at [^\n]*\n((?:  .*\n|\n)+)", output)
    return " ".join(found.group(1).split()) if found else output[-600:]


def tree_of(variables):
    """The variable that names the tree this build is to have, and the tree; None for a build without IREE."""
    if variables.get("CEL_XLA_IREE") != "ON":
        return None, None
    kind = variables.get("CEL_IREE_TREE", "auto")
    names = [TREES[kind]] if kind != "auto" else [TREES[k] for k in ("cuda", "rocm", "macos", "dist")]
    for name in names:
        if os.environ.get(name):
            return name, os.environ[name]
    return names[-1], None


def make_tree(folder, files):
    for name in files:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()


def environment_without_mlx(work):
    """An environment in which no MLX is found, but for one that lies among the system's own libraries."""
    return dict({k: v for k, v in os.environ.items() if k != "MLX_ROOT"}, MLXCEL_CACHE_DIR=os.path.join(work, "nowhere"))


def check_mlx_refusals(tap, source, work):
    """The default build says that MLX is missing, or too old; builds with OpenXLA go on without it."""
    hint = "scripts/deps.sh --mlx brings it, or set MLX_ROOT"
    tree = os.path.join(work, "mlx")

    def refused(preset, variables, want):
        folder = tempfile.mkdtemp(dir=work)
        code, output = configure(source, preset, folder, (), dict(environment_without_mlx(work), **variables))
        shutil.rmtree(folder)
        if not want:
            expect(code == 0 and "without the MLX backend: " in output, "it does not go on without MLX: " + output[-600:])
            return None
        if code == 0 and not variables:
            return "there is an MLX among this system's libraries"
        expect(code != 0, "it was configured:\n" + output[-600:])
        want = want % tree if "%s" in want else want
        expect(refusal(output) == want + " (CEL_MLX=OFF builds without it)", "it says: %s\nand not: %s" % (refusal(output), want))
        return None

    def tree_of_version(version):
        make_tree(tree, ["include/mlx/version.h", "lib/libmlx.so", "lib/libmlx.dylib"])
        with open(os.path.join(tree, "include/mlx/version.h"), "w") as f:
            f.writelines("#define MLX_VERSION_%s %s\n" % part for part in zip(("MAJOR", "MINOR", "PATCH"), version.split(".")))

    tap.check("no MLX: what brings it is named",
              lambda: refused("default", {}, "MLX was not found: scripts/deps.sh --mlx brings it, or set MLX_ROOT to where it is"))
    tap.check("MLX_ROOT without MLX: it is named",
              lambda: refused("default", {"MLX_ROOT": "/nowhere"}, "MLX_ROOT=/nowhere has no include/mlx/version.h with a lib/libmlx beside it"))
    tree_of_version("0.31.2")
    tap.check("an MLX that is too old: both versions are named",
              lambda: refused("default", {"MLX_ROOT": tree}, "MLX 0.31.2 in %s/include is too old, 0.32 is needed: " + hint))
    tap.check("no MLX, but OpenXLA: one line says so", lambda: refused("xla-backend", {}, None))
    shutil.rmtree(tree)


def check_refusals(tap, source, work):
    """A build with IREE says which variable is missing, and of a tree which file."""
    def refused(variables, want, more=()):
        folder = tempfile.mkdtemp(dir=work)
        code, output = configure(source, "xla-iree", folder, more, dict(without_trees(), **variables))
        shutil.rmtree(folder)
        expect(code != 0, "it was configured:\n" + output[-600:])
        expect(refusal(output) == want, "it says: %s\nand not: %s" % (refusal(output), want))

    tree = os.path.join(work, "tree")
    everything = "CEL_XLA_IREE needs a tree of IREE's runtime: set %s to its path (scripts/iree/ makes one)"
    tap.check("no tree: the variables are named",
              lambda: refused({}, everything % "IREE_CUDA_HOME or IREE_ROCM_HOME or IREE_MACOS_HOME or IREE_DIST"))
    tap.check("no tree of a kind: its variable is named",
              lambda: refused({"IREE_DIST": tree}, everything % "IREE_ROCM_HOME", ["-DCEL_IREE_TREE=rocm"]))
    tap.check("an unknown kind: the known ones are named",
              lambda: refused({}, "CEL_IREE_TREE=abacus: accepted are auto, dist, cuda, macos, rocm", ["-DCEL_IREE_TREE=abacus"]))
    for i, missing in enumerate(TREE_FILES):
        shutil.rmtree(tree, ignore_errors=True)
        make_tree(tree, TREE_FILES[:i])
        want = "IREE_CUDA_HOME=%s is no tree of IREE's runtime: %s/%s is missing" % (tree, tree, missing)
        tap.check("a tree without %s: variable, path and file are named" % missing,
                  lambda: refused({"IREE_CUDA_HOME": tree, "IREE_DIST": "/nowhere"}, want))
    make_tree(tree, TREE_FILES)
    tap.check("a compiler that is not there: variable and path are named",
              lambda: refused({"IREE_CUDA_HOME": tree, "IREE_CUDA_COMPILE": "/nowhere/iree-compile"},
                              "IREE_CUDA_COMPILE=/nowhere/iree-compile: there is no such file"))
    shutil.rmtree(tree)


def compiled_sources(folder):
    with open(os.path.join(folder, "compile_commands.json")) as f:
        return [c["file"] for c in json.load(f)]


NO_MLX = "MLX was not found: scripts/deps.sh --mlx brings it, or set MLX_ROOT to where it is (CEL_MLX=OFF builds without it)"


def without_mlx(output):
    """Where there is no MLX, a build that is to have it says so, and is looked at without it."""
    return ["-DCEL_MLX=OFF"] if refusal(output) == NO_MLX else []


def check_configure(tap, source, work, all_presets):
    for name in BUILDS:
        def action():
            variable, tree = tree_of(all_presets[name])
            folder, more = os.path.join(work, "configure", name), []
            env = dict(os.environ)
            if variable and not tree:  # configuring looks at a tree's files, not into them
                tree = os.path.join(work, "tree")
                make_tree(tree, TREE_FILES)
                env[variable] = tree
            code, output = configure(source, name, folder, more, env)
            if code != 0 and all_presets[name].get("CEL_MLX") == "ON" and without_mlx(output):
                more = without_mlx(output)
                code, output = configure(source, name, folder, more, env)
            expect(code == 0, "it does not configure: " + refusal(output))
            sources = compiled_sources(folder)
            engines = sorted({m.group(1) for s in sources for m in [re.search(r"/backend/xla/engine/(\w+)/", s)] if m})
            want = [e for e, option in (("iree", "CEL_XLA_IREE"), ("native", "CEL_XLA_NATIVE"), ("pjrt", "CEL_XLA_PJRT"))
                    if all_presets[name].get(option) == "ON"]
            found = [e for e in engines if e not in ("common", "null")]
            expect(found == want, "it compiles the engines %s, not %s" % (found, want))
            xla = [s for s in sources if "/backend/xla/" in s]
            expect(bool(xla) == (all_presets[name].get("CEL_XLA_BACKEND") == "ON"),
                   "of OpenXLA's folder it compiles %d files, %s" % (len(xla), xla[:3]))
        tap.check("%s configures, and compiles its own engines only" % name, action)


def symbols(program):
    ran = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[-1] for line in ran.stdout.splitlines() if line}


def say(program, words, variables=None):
    ran = subprocess.run([program] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                         env=dict({k: v for k, v in os.environ.items() if not k.startswith("MLXCEL_")}, **(variables or {})))
    return ran.returncode, ran.stdout, re.sub(r"[0-9.]+", "#", ran.stderr)  # times are never the same


def check_default(program, source):
    """Nothing of OpenXLA is in it, and its variables change nothing."""
    found = sorted(s for s in symbols(program) if re.search(r"cel_(xla|hlo|engine|pjrt|iree|emit|ref|native)_", s))
    expect(not found, "%d symbols of OpenXLA, %s" % (len(found), found[:5]))
    model = os.path.join(source, "tests", "data", "oracle", "llama3")
    variables = {"MLXCEL_BACKEND": "xla", "MLXCEL_XLA_DEVICE": "abacus", "MLXCEL_XLA_PRECISION": "f7", "MLXCEL_XLA_QUANT": "maybe",
                 "MLXCEL_XLA_ROCM_TARGET": "x", "MLXCEL_XLA_VISION_BACKEND": "eyes", "MLXCEL_XLA_CONTEXT_CAPACITY": "-1",
                 "MLXCEL_XLA_CONTEXT_BUCKETS": ",", "MLXCEL_XLA_IREE_COMPILE": "/nowhere", "MLXCEL_XLA_PJRT_PATH": "/nowhere",
                 "MLXCEL_XLA_PJRT_OPTIONS": "="}
    for words in (["generate", "-m", model, "--ids", "1,2,3", "-n", "4"], ["version"], ["arch"], ["inspect", "-m", model, "--json"]):
        plain, set_all = say(program, words), say(program, words, variables)
        expect(plain == set_all, "mlxcel %s says other things when the variables are set:\n%s\n%s" % (" ".join(words), plain, set_all))


def check_emitter_only(program, source):
    model = os.path.join(source, "tests", "data", "oracle", "llama3")
    code, out, err = say(program, ["generate", "-m", model, "--ids", "1,2,3", "-n", "4"], {"MLXCEL_BACKEND": "xla"})
    expect(code == 1 and "no engine was built in" in err, "status %d, %s" % (code, err))
    code, out, err = say(program, ["xla", "emit", "-m", model, "--entry", "decode"])
    expect(code == 0 and "stablehlo.dot_general" in out, "emitting ended with %d: %s" % (code, err))


def check_engines(program, variables):
    code, out, err = say(program, ["version"])
    for engine, option in (("iree", "CEL_XLA_IREE"), ("native", "CEL_XLA_NATIVE"), ("pjrt", "CEL_XLA_PJRT")):
        there = re.search(r"^  engine %s$" % engine, out, re.M) is not None
        expect(there == (variables.get(option) == "ON"), "mlxcel version %s the engine %s" % ("has" if there else "lacks", engine))


def check_build(tap, source, work, all_presets, only):
    for name in only or BUILDS:
        def action():
            variable, tree = tree_of(all_presets[name])
            if variable and not tree:
                return "%s is not set" % variable
            folder = os.path.join(work, "build", name)
            code, output = configure(source, name, folder)
            if code != 0 and all_presets[name].get("CEL_MLX") == "ON" and without_mlx(output):
                code, output = configure(source, name, folder, without_mlx(output))
            expect(code == 0, "it does not configure: " + refusal(output))
            ran = subprocess.run(["cmake", "--build", folder, "-j", os.environ.get("JOBS", "2"), "--target", "mlxcel"],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            expect(ran.returncode == 0, "it does not build:\n" + ran.stdout[-1500:])
            program = os.path.join(folder, "mlxcel")
            check_engines(program, all_presets[name])
            if name == "default":
                check_default(program, source)
            if name == "xla-backend":
                check_emitter_only(program, source)
        tap.check("%s builds, and its program has what it should" % name, action)


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("configure", "build", "default"):
        sys.exit(__doc__)
    what, source, work = sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
    os.makedirs(work, exist_ok=True)
    all_presets, tap = presets(source), Tap()
    if what == "configure":
        check_refusals(tap, source, work)
        check_mlx_refusals(tap, source, work)
        check_configure(tap, source, work, all_presets)
    elif what == "default":
        tap.check("MLX alone: nothing of OpenXLA, whose variables change nothing", lambda: check_default(sys.argv[4], source))
    else:
        check_build(tap, source, work, all_presets, sys.argv[4:])
    tap.end()


if __name__ == "__main__":
    main()
