"""Process started by install: runs pip for one wheel, without dependencies and without building anything."""

import os
import runpy
import sys

from pipeline.untrusted.worker_input import read_request, watch_parent


def main() -> None:
    """Read the request and run pip, whose messages go to standard output."""
    out = os.dup(1)
    request, _ = read_request()
    os.dup2(out, 1)
    os.dup2(out, 2)
    watch_parent()
    sys.argv = [
        "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check",
        "--dest", request["folder"], request["wheel"],
    ]  # fmt: skip
    runpy.run_module("pip", run_name="__main__")
