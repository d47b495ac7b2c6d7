"""The lines of docs/exports.md that load each format, run as a reader would."""

import re
import subprocess
import sys

import exported_twin
import pytest
from foreign import DOC, DOCUMENTED

from pipeline.export import export_formats, export_project

SOLVED = ("gymnasium", "lerobot")
"""Need a solved project; each has a test of its own, with these lines."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return exported_twin.write(tmp_path_factory.mktemp("documented") / "twin")


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if name not in SOLVED])
def test_the_documented_lines_load_the_export(project, tmp_path, name):
    out, code = DOCUMENTED[name]
    assert len([line for line in code.strip().splitlines() if line]) == 3
    export_project(project, name, tmp_path / out)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_built_in_format_is_described():
    listed = set(re.findall(r"`(\w+)`", DOC.split("More formats")[0]))
    assert set(export_formats()) <= listed
    assert set(export_formats()) - set(DOCUMENTED) <= {"html", "mp4"}
