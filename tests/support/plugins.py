"""Where scripts find engines that lie in Python packages."""
import glob
import os


def beside_test_python(env):
    """env, changed: plugins of the packages of MLXCEL_TEST_PYTHON (scripts/test_env.sh), if it is set, are looked for, too."""
    python = os.environ.get("MLXCEL_TEST_PYTHON")
    if python:
        packages = glob.glob(os.path.join(os.path.dirname(os.path.dirname(python)), "lib", "python3*", "site-packages"))
        env["MLXCEL_XLA_PJRT_PATH"] = ":".join([p for p in [env.get("MLXCEL_XLA_PJRT_PATH")] if p] + packages)
    return env
