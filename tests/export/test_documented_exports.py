"""The lines of docs/exports.md that load each format, run as a reader would."""

import re
import subprocess
import sys

import pytest
from foreign import DOC, DOCUMENTED

from pipeline.export import export_formats, export_project


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if name != "lerobot"])  # which test_lerobot_export loads
def test_the_documented_lines_load_the_export(solved, tmp_path, name):
    out, code = DOCUMENTED[name]
    assert len([line for line in code.strip().splitlines() if line]) <= 4
    export_project(solved, name, tmp_path / out)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_built_in_format_is_described():
    listed = set(re.findall(r"`(\w+)`", DOC.split("More formats")[0]))
    assert set(export_formats()) <= listed and set(export_formats()) - set(DOCUMENTED) <= {"html", "mp4"}
