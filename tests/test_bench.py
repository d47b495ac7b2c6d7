"""The bench's commands can be started; what they measure is not tested here."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["bench", "bench.router", "bench.masks", "bench.twin"])
def test_each_bench_can_be_imported(module: str):
    found = subprocess.run(
        [sys.executable, "-c", f"import runpy; runpy.run_module({module!r}, run_name='imported')"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not found.returncode, found.stderr
