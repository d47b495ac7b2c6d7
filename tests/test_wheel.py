"""A wheel holds everything the studio needs, and runs from any folder."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel of this checkout is installed, without its dependencies."""
    built, site = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built], cwd=ROOT, check=True)
    (wheel,) = built.glob("grs_studio-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def in_empty_folder(site: Path, folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    """Run Python with the wheel in front of this checkout, from a folder that holds nothing."""
    return subprocess.run(
        [sys.executable, *map(str, command)], cwd=folder, capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYTHONPATH": str(site)},
    )  # fmt: skip


def test_code_and_data_come_from_the_wheel(site, tmp_path):
    code = (
        "import pipeline, studio.server.app; from pipeline.assets.library import BUILTIN_LIBRARY; "
        "from components.component import STATIC; from pipeline import plugins; "
        "print(pipeline.__file__, studio.server.app.__file__, BUILTIN_LIBRARY, STATIC, sep='\\n'); "
        "assert STATIC.is_dir() and BUILTIN_LIBRARY.is_dir() and 'depth' in plugins.entries('segmenters')"
    )
    done = in_empty_folder(site, tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    assert all(Path(line).is_relative_to(site) for line in done.stdout.split("\n") if line)


def test_a_sample_frame_is_solved_from_an_empty_folder(site, tmp_path):
    frame = site / "pipeline" / "_sample_scenes" / "blocks"
    done = in_empty_folder(site, tmp_path, "-m", "studio", "run", frame, "--out", "project")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "project" / "solution.json").read_text())["solved"] is True
