"""The lines of docs/exports.md that load each format, run as a reader would."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.export import export_formats, export_project

ROOT = Path(__file__).resolve().parents[2]
DOC = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python (\S+) (\S+)\n(.*?)^```$", DOC, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("name", "out", "code"), EXAMPLES, ids=[name for name, _, _ in EXAMPLES])
def test_the_documented_lines_load_the_export(solved, tmp_path, name, out, code):
    if name == "lerobot":
        pytest.importorskip("lerobot", reason="the package lerobot is not installed")
    assert len([line for line in code.strip().splitlines() if line]) <= 4
    export_project(solved, name, tmp_path / out)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_built_in_format_is_described():
    listed = set(re.findall(r"`(\w+)`", DOC.split("More formats")[0]))
    assert set(export_formats()) <= listed
    documented = {name for name, _, _ in EXAMPLES}
    assert set(export_formats()) - documented <= {"html", "mp4"}
