"""The lines of docs/exports.md that load each format, run as a reader would."""

import re
import subprocess
import sys
from pathlib import Path

import exported_twin
import pytest

from pipeline.export import export_formats, export_project

ROOT = Path(__file__).resolve().parents[2]
DOC = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python (\S+) (\S+)\n(.*?)^```$", DOC, re.MULTILINE | re.DOTALL)
NEED_A_SOLUTION = ("html", "mp4", "gymnasium", "lerobot")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return exported_twin.write(tmp_path_factory.mktemp("documented") / "twin")


@pytest.mark.parametrize(("name", "out", "code"), EXAMPLES, ids=[name for name, _, _ in EXAMPLES])
def test_the_documented_lines_load_the_export(project, tmp_path, name, out, code):
    if missing := export_formats()[name].missing:
        pytest.skip(f"{name} {missing}")
    if name in NEED_A_SOLUTION:
        pytest.skip(f"{name} is loaded by its own test, from a solved project")
    assert len([line for line in code.strip().splitlines() if line]) == 3
    export_project(project, name, tmp_path / out)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_built_in_format_is_described():
    listed = set(re.findall(r"`(\w+)`", DOC.split("More formats")[0]))
    assert set(export_formats()) <= listed
    documented = {name for name, _, _ in EXAMPLES}
    assert set(export_formats()) - documented <= {"html", "mp4"}
