#!/usr/bin/env python3
"""Fails on an #include in src/ that crosses the layers where the table below does not allow it.

    check_includes.py SRC          prints every such line
    check_includes.py --self-test  plants bad lines in a small tree and looks whether they are found

Every folder of src/ has a row: a new folder is an error until it has one. A folder may always include itself and
base/. `includes` are folders or single headers; a folder does not stand for those below it.
"""
import os
import re
import sys
import tempfile

XLA = "backend/xla"
NATIVE = XLA + "/engine/native"
REF = NATIVE + "/ref"

# folder: what it may include besides itself and base
TABLE = {
    "base": [],
    # Four subjects that do not know each other.
    "arch": [],
    "text": [],
    "text/template": [],
    "media": [],
    "sample": [],
    "model": ["arch"],
    "model/write": ["arch", "model"],  # new model files: only the command line makes any
    "model/hub": ["model"],  # downloads: a library of its own, for libcurl is nothing that a model needs
    # The seam. Backends appear in it by name only (backend.def).
    "session": ["arch", "model", "sample"],
    "session/sequence": ["session", "arch", "model", "sample"],  # what backends share below it
    "backend/null": ["session", "arch", "model", "sample"],
    "backend/mlx": ["session", "session/sequence", "arch", "model", "sample", "backend/mlx/shim"],
    "backend/mlx/shim": [],  # the only C++; MLX's headers end here
    # The OpenXLA path: which engine runs is behind engine.h.
    XLA: ["session", "session/sequence", "arch", "model", "sample", XLA + "/artifact/artifact.h", XLA + "/emit", XLA + "/hlo",
          XLA + "/program", XLA + "/engine/engine.h", XLA + "/diag"],
    XLA + "/diag": [],
    XLA + "/hlo": [],
    XLA + "/artifact": [],
    XLA + "/emit": ["arch", XLA + "/hlo"],
    XLA + "/program": [XLA + "/hlo"],
    XLA + "/engine": [XLA + "/artifact/artifact.h", XLA + "/program", XLA + "/hlo"],
    XLA + "/engine/null": [XLA + "/engine/engine.h", XLA + "/artifact/artifact.h", XLA + "/program", XLA + "/hlo"],
    XLA + "/engine/common": [XLA + "/engine/engine.h", XLA + "/artifact/artifact.h", XLA + "/program", XLA + "/hlo"],
    XLA + "/engine/iree": [XLA + "/engine/engine.h", XLA + "/engine/common", XLA + "/artifact/artifact.h", XLA + "/program", XLA + "/hlo"],
    XLA + "/engine/pjrt": [XLA + "/engine/engine.h", XLA + "/engine/common", XLA + "/artifact/artifact.h", XLA + "/program", XLA + "/hlo"],
    NATIVE: [XLA + "/engine/engine.h", XLA + "/engine/common", XLA + "/program", XLA + "/hlo", NATIVE + "/plan", NATIVE + "/fuse",
             NATIVE + "/kernel", REF],
    NATIVE + "/plan": [XLA + "/program", XLA + "/hlo", NATIVE + "/fuse", NATIVE + "/kernel", REF],
    NATIVE + "/fuse": [XLA + "/program", XLA + "/hlo", NATIVE + "/kernel", REF],
    REF: [XLA + "/hlo"],
    NATIVE + "/kernel": [],
    "generate": ["session", "arch", "model", "text", "text/template", "media", "sample"],
    # The public interface, include/mlxcel, on top of what the command line uses too.
    "api": ["generate", "session", "arch", "model", "text", "text/template", "sample"],
    "server": ["generate", "session", "arch", "model", "text", "media", "sample"],
    # The public library, a thin layer over the rest; its headers are include/mlxcel/. Nobody includes it.
    "api": ["generate", "session", "arch", "model", "text", "text/template", "sample"],
    "cli": ["generate", "session", "arch", "model", "model/hub", "model/write", "text", "text/template", "media", "sample"],
}

# The one exception: `mlxcel xla` looks at the OpenXLA path from outside of any session. Emitting and explaining a
# module and running a StableHLO file are no part of the seam, so the command reaches past it, through one header;
# behind that header the reference evaluator is used as the library it is.
EXCEPTIONS = {
    "cli/cmd_xla.c": [XLA + "/xla_tools.h"],
    "cli/cmd_xla_export.c": [XLA + "/xla_tools.h"],
    "cli/cmd_taps.c": [XLA + "/xla_taps.h", XLA + "/diag/compare.h"],
    "cli/cmd_micro.c": [XLA + "/xla_micro.h"],
    "cli/cmd_diff.c": [XLA + "/xla_taps.h", XLA + "/diag/compare.h"],
    XLA + "/xla_tools.c": [REF + "/ref.h", REF + "/check.h"],
}

# Who may use the public headers, as <mlxcel/...>.
PUBLIC_USERS = {"api", "server", "cli"}

# Kernels are arithmetic: of base they know numbers and the processor, of the system neither memory, files nor threads.
KERNEL_BASE = {"base/macros.h", "base/half.h", "base/kept.h", "base/cpu.h"}
KERNEL_NOT = {"stdlib.h", "stdio.h", "errno.h", "pthread.h", "threads.h", "unistd.h", "time.h", "sched.h"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(["<])([^">]+)[">]', re.M)
SOURCES = (".c", ".h", ".def", ".cc")


def files_of(src):
    for folder, folders, names in os.walk(src):
        folders.sort()
        for name in sorted(names):
            if name.endswith(SOURCES):
                yield os.path.relpath(os.path.join(folder, name), src).replace(os.sep, "/")


def why_not(path, quoted, target, src):
    """The reason an include is not allowed, or None."""
    folder = os.path.dirname(path)
    if not quoted:
        if target.startswith("mlxcel/") and folder not in PUBLIC_USERS:
            return "only %s use the public headers" % ", ".join(sorted(PUBLIC_USERS))
        if folder == NATIVE + "/kernel" and target in KERNEL_NOT:
            return "kernels know neither memory, files nor threads"
        return None
    if not os.path.isfile(os.path.join(src, target)):
        return "is not a file of src/ (paths start there)"
    home = os.path.dirname(target)
    if home == folder or target in EXCEPTIONS.get(path, []):
        return None
    if folder == NATIVE + "/kernel":
        return None if target in KERNEL_BASE else "kernels include only " + ", ".join(sorted(KERNEL_BASE))
    allowed = TABLE[folder]
    if home == "base" or home in allowed or target in allowed:
        return None
    return "%s may include %s" % (folder, ", ".join(["base"] + allowed))


def check(src):
    """One sentence per include that is not allowed, and per folder without a row."""
    found, strange = [], set()
    for path in files_of(src):
        folder = os.path.dirname(path)
        if folder not in TABLE:
            strange.add(folder)
            continue
        with open(os.path.join(src, path), encoding="utf-8") as f:
            text = f.read()
        for m in INCLUDE.finditer(text):
            reason = why_not(path, m.group(1) == '"', m.group(2), src)
            if reason:
                line = text.count("\n", 0, m.start()) + 1
                found.append("src/%s:%d: include of %s: %s" % (path, line, m.group(2), reason))
    found += ["src/%s: has no row in the table of tests/layering/check_includes.py" % s for s in sorted(strange)]
    return found


# ---- self-test -----------------------------------------------------------------------------------------

GOOD = {
    "base/half.h": "", "base/str.h": "", "arch/arch.h": '#include "base/str.h"\n', "model/checkpoint.h": "",
    XLA + "/xla_tools.h": "", XLA + "/emit/emit.h": '#include "arch/arch.h"\n', XLA + "/engine/engine.h": "",
    REF + "/ref.h": "", REF + "/check.h": "", NATIVE + "/kernel/kernel.h": '#include <stdint.h>\n#include "base/half.h"\n',
    "cli/cmd_xla.c": '#include "backend/xla/xla_tools.h"\n',
    XLA + "/xla_tools.c": '#include "%s/check.h"\n#include "backend/xla/engine/engine.h"\n' % REF,
    "generate/lm.h": '// #include of nothing\n#include "model/checkpoint.h"\n',
}
BAD = [  # file, line to add, word of the complaint
    ("arch/arch.h", '#include "model/checkpoint.h"', "arch may include"),
    ("base/half.h", '# include "arch/arch.h"', "base may include"),
    (XLA + "/emit/emit.h", '#include "model/checkpoint.h"', "emit may include"),
    (XLA + "/engine/engine.h", '#include "arch/arch.h"', "engine may include"),
    (XLA + "/other.c", '#include "%s/kernel/kernel.h"' % NATIVE, "backend/xla may include"),
    (XLA + "/other.c", '#include "%s/ref.h"' % REF, "backend/xla may include"),
    ("cli/cmd_run.c", '#include "backend/xla/xla_tools.h"', "cli may include"),
    ("generate/lm.h", '#include "cli/cmd_xla.c"', "generate may include"),
    (NATIVE + "/kernel/kernel.h", "#include <stdlib.h>", "neither memory"),
    (NATIVE + "/kernel/kernel.h", '#include "base/str.h"', "kernels include only"),
    ("arch/arch.h", '#include "half.h"', "is not a file of src/"),
    ("generate/lm.h", "#include <mlxcel/model.h>", "the public headers"),
    ("newcomer/a.c", "", "has no row"),
]


def plant(src, files):
    for path, text in files.items():
        full = os.path.join(src, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)


def self_test():
    failures = []
    with tempfile.TemporaryDirectory() as src:
        plant(src, GOOD)
        failures += ["a good tree was refused: " + s for s in check(src)]
    for path, line, word in BAD:
        with tempfile.TemporaryDirectory() as src:
            plant(src, dict(GOOD, **{path: GOOD.get(path, "") + line + "\n"}))
            found = check(src)
            if len(found) != 1 or word not in found[0]:
                failures.append("%s in %s: expected one complaint with '%s', got %s" % (line, path, word, found))
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        found, fine = self_test(), "every planted include was caught"
    elif len(sys.argv) == 2 and os.path.isdir(sys.argv[1]):
        found, fine = check(sys.argv[1]), "every include is one the table allows"
    else:
        sys.exit(__doc__)
    print("\n".join(found) or fine)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
