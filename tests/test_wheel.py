"""A wheel holds everything the studio needs, and runs in an empty environment (`make soak`)."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "pipeline": "pipeline", "components": "components", "studio": "studio",
    "static": "components/_static", "sample_scenes": "pipeline/_sample_scenes",
}  # fmt: skip
"""Where each folder of the checkout lies in a wheel."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    built = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built], cwd=ROOT, check=True)
    (path,) = built.glob("grs_studio-*.whl")
    return path


def test_a_wheel_holds_every_file_of_its_packages_and_its_commands(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        entry_points = next(name for name in held if name.endswith(".dist-info/entry_points.txt"))
        commands = archive.read(entry_points).decode()
    for folder, place in FOLDERS.items():
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix not in (".pyc", ".pyi")]
        assert files and {f"{place}/{path.relative_to(ROOT / folder).as_posix()}" for path in files} <= held
    assert "grs-studio = studio.__main__:main" in commands and "[grs_studio.segmenters]" in commands


@pytest.mark.soak
def test_a_sample_frame_is_solved_in_an_environment_that_holds_only_the_wheel(wheel: Path, tmp_path: Path):
    environment, empty = tmp_path / "environment", tmp_path / "empty"
    empty.mkdir()
    python, uv = environment / "bin" / "python", Path(sys.executable).with_name("uv")
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([uv, "venv", "--python", sys.executable, environment], check=True)
    subprocess.run([uv, "pip", "install", "--python", python, wheel], check=True)
    (frame,) = environment.glob("lib/python*/site-packages/pipeline/_sample_scenes/blocks")
    code = (
        "import pipeline, studio.server.app; from pipeline.assets.library import BUILTIN_LIBRARY; "
        "from components.component import STATIC; from pipeline import plugins; "
        "print(pipeline.__file__, studio.server.app.__file__, BUILTIN_LIBRARY, STATIC, sep='\\n'); "
        "assert STATIC.is_dir() and BUILTIN_LIBRARY.is_dir() and 'depth' in plugins.entries('segmenters')"
    )
    done = subprocess.run([python, "-c", code], cwd=empty, env=outside, check=True, capture_output=True, text=True)
    assert all(Path(line).is_relative_to(environment) for line in done.stdout.split())
    command = [environment / "bin" / "grs-studio", "run", frame, "--out", "project"]
    subprocess.run(command, cwd=empty, env=outside, check=True)
    assert json.loads((empty / "project" / "solution.json").read_text())["solved"] is True
