"""TAP of scripts whose checks build on each other: the first that fails ends them."""
import sys

N = [0]


def ok(condition, what, said=""):
    N[0] += 1
    print("%sok %d - %s%s" % ("" if condition else "not ", N[0], what, "" if condition else "\n# " + str(said)[-800:]), flush=True)
    if not condition:
        sys.exit(1)


def plan():
    """The closing line: how many there were."""
    print("1..%d" % N[0])
