#!/usr/bin/env python3
"""Builds and runs the tests, and ends with one line: N passed, N failed, N skipped.

    run_tests.py               everything: the release build's tests; most of them again with the address and
                               undefined-behaviour sanitizers; what uses threads with the thread sanitizer
    run_tests.py --stage asan  one of these builds: release, default, asan, tsan
    run_tests.py --quick       the release build's tests that need no model and no package
    run_tests.py --arm64       unit and kernel tests cross-built for arm64, under qemu

Counted are single checks where a program says them (cmocka's lines, TAP's `ok` and `not ok`); a program that says
none is one. What the tests find in the environment (a test that lacks one skips and says so):

    MLXCEL_TEST_SMOLLM2       path of the SmolLM2 135M Instruct Q4_1 GGUF    (scripts/demo_model.py)
    MLXCEL_TEST_GEMMA3_270M   path of the Gemma 3 270M Q4_K_M GGUF           (scripts/demo_model.py gemma3-270m)
    MLXCEL_TEST_VOCABS        folder of published vocabularies and templates (scripts/vocab_cache.py)
    MLXCEL_TEST_PYTHON        a python with tests/requirements.txt           (scripts/test_env.sh)
    MLX_ROOT                  MLX, for the default build                     (scripts/mlx.sh)
"""
import argparse
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JOBS = os.environ.get("JOBS") or str(os.cpu_count() or 2)
# preset; targets ([]: all); what ctest runs of it
Stage = namedtuple("Stage", "preset targets select")

ALL = [
    Stage("release", [], []),
    Stage("default", ["mlxcel", "session_conform_test", "families_test", "batch_test", "mlx_shim_test",
                      "mlx_model_test"],
          ["-R", "^(session_conform_test|mlx_.*)$"]),
    Stage("asan", [], ["-L", "^(unit|fuzz|kernel|conform|api|cli)$", "-E", "^cli_(oracle|smollm2)"]),
    Stage("tsan", ["thread_tests"], ["-L", "^threads$"]),
]
QUICK = [Stage("release", [], ["-L", "^(unit|kernel|fuzz|layering|docs|golden)$"])]
ARM64 = [Stage("arm64", [], ["-L", "^(unit|kernel)$"])]


class Counts:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.notes = []  # failures and reasons of skips, for the end

    def add_program(self, where, name, outcome, output):
        """One test of ctest: counts the checks its output names, or itself."""
        passed, failed, skipped, reasons = read_output(output)
        for reason in reasons:
            self.notes.append("skipped, %s %s: %s" % (where, name, reason))
        if outcome == "failed":
            failed = max(failed, 1)
            self.notes.append("FAILED, %s %s" % (where, name))
        elif passed + failed + skipped == 0:
            skipped = 1 if outcome == "skipped" or reasons else 0
            passed = 1 - skipped
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def fail(self, note):
        self.failed += 1
        self.notes.append("FAILED, " + note)


def read_output(output):
    """What a program says of its checks: counts of passed, failed, skipped, and the reasons of skips.

    cmocka closes every group with lines such as `[  PASSED  ] 7 test(s).` (some versions name the group first); it
    knows no reasons, so the line printed before a skip is taken. TAP has a line for each check."""
    counts = {"PASSED": 0, "FAILED": 0, "SKIPPED": 0}
    reasons, before = [], ""
    for line in output.splitlines():
        total = re.match(r"\[ +(PASSED|FAILED|SKIPPED) +\] .*?(\d+) test\(s\)", line)
        cmocka_skip = re.match(r"\[ +SKIPPED +\] (\w+)$", line)
        tap = re.match(r"(not )?ok\b(?:.*# skip\S*\s*(.*))?", line, re.I)
        if total:
            counts[total.group(1)] += int(total.group(2))
        elif cmocka_skip and before and not before.startswith("["):
            reasons.append("%s: %s" % (cmocka_skip.group(1), before.replace("skipped: ", "", 1)))
        elif tap:
            counts["SKIPPED" if tap.group(2) is not None else "FAILED" if tap.group(1) else "PASSED"] += 1
            reasons += [tap.group(2)] if tap.group(2) else []
        elif line.startswith("skipped: ") and counts["PASSED"] + counts["SKIPPED"] == 0 and "[ RUN" not in before:
            reasons.append(line.replace("skipped: ", "", 1))
        before = line
    return counts["PASSED"], counts["FAILED"], counts["SKIPPED"], reasons


def run(command, environment=None):
    print("$ " + " ".join(command), flush=True)
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def ask(command):
    """The last line a script prints, or None; what it has to say goes to the terminal."""
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return ran.stdout.strip().splitlines()[-1] if ran.returncode == 0 and ran.stdout.strip() else None


def environment_of_tests():
    env = dict(os.environ)
    for name, command in (("MLXCEL_TEST_SMOLLM2", ["scripts/demo_model.py", "smollm2"]),
                          ("MLXCEL_TEST_GEMMA3_270M", ["scripts/demo_model.py", "gemma3-270m"]),
                          ("MLXCEL_TEST_VOCABS", ["scripts/vocab_cache.py"]),
                          ("MLXCEL_TEST_PYTHON", ["scripts/test_env.sh"])):
        if not env.get(name):
            found = ask(command)
            if found:
                env[name] = found
    # A report ends the program, so that ctest sees it.
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    env.setdefault("TSAN_OPTIONS", "halt_on_error=1")
    return env


def read_report(path, where, counts):
    for case in ET.parse(path).getroot().iter("testcase"):
        text = case.findtext("system-out") or ""
        outcome = {"run": "passed", "fail": "failed"}.get(case.get("status"), "skipped")
        if outcome == "skipped" and "Disabled" not in (case.get("status") or "") and case.find("skipped") is None:
            outcome = "failed"  # it could not be started
        counts.add_program(where, case.get("name"), outcome, text)


def bring_mlx(env):
    """MLX for the stage that needs it, into build/: other stages go on without it. False where it cannot be had."""
    if not env.get("MLX_ROOT"):
        ran = subprocess.run(["scripts/mlx.sh"], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                             env=dict(env, MLXCEL_CACHE_DIR=os.path.join(ROOT, "build", "mlx")))
        if ran.returncode != 0:
            return False
        env["MLX_ROOT"] = ran.stdout.strip()
    return True


def run_stage(stage, env, counts):
    folder = os.path.join(ROOT, "build", stage.preset)
    env = dict(env)
    if stage.preset == "default" and not bring_mlx(env):
        counts.skipped += 1
        counts.notes.append("skipped, default: MLX cannot be brought (scripts/mlx.sh)")
        return
    if run(["scripts/build.sh", stage.preset] + stage.targets, env) != 0:
        counts.fail("build of %s" % stage.preset)
        return
    report = os.path.join(folder, "tests.xml")
    if os.path.exists(report):
        os.remove(report)
    ran = run(["ctest", "--test-dir", folder, "-j", JOBS, "--output-on-failure", "--output-junit", report,
               "--test-output-size-passed", "4000000", "--test-output-size-failed", "4000000"] + stage.select, env)
    if not os.path.exists(report):
        counts.fail("%s: ctest wrote no report" % stage.preset)
        return
    before = counts.failed
    read_report(report, stage.preset, counts)
    if ran != 0 and counts.failed == before:
        counts.fail("%s: ctest ended with %d" % (stage.preset, ran))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kind = ap.add_mutually_exclusive_group()
    kind.add_argument("--quick", action="store_true")
    kind.add_argument("--arm64", action="store_true")
    kind.add_argument("--stage", choices=[stage.preset for stage in ALL])
    a = ap.parse_args()
    tools = os.path.join(ROOT, "build", "tools", "bin")  # a newer CMake, where deps.sh had to bring one
    if os.path.isdir(tools):
        os.environ["PATH"] = tools + os.pathsep + os.environ["PATH"]
    env = dict(os.environ) if a.quick or a.arm64 else environment_of_tests()
    counts = Counts()
    stages = QUICK if a.quick else ARM64 if a.arm64 else ALL
    for stage in [s for s in stages if a.stage in (None, s.preset)]:
        start = time.monotonic()
        run_stage(stage, env, counts)
        print("%s took %.0f s" % (stage.preset, time.monotonic() - start), flush=True)
    for note in counts.notes:
        print(note)
    if counts.passed == 0:
        counts.fail("no test ran")
    print("%d passed, %d failed, %d skipped" % (counts.passed, counts.failed, counts.skipped), flush=True)
    sys.exit(1 if counts.failed else 0)


if __name__ == "__main__":
    main()
