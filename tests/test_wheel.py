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
START = """
import sys

class OnlyTheDependencies:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("torch", "sam2", "gymnasium", "stable_baselines3", "pxr", "mujoco_warp", "ray",
                                      "rosbags", "transformers"):
            raise ModuleNotFoundError(f"{name} comes with an extra")

sys.meta_path.insert(0, OnlyTheDependencies())
import pipeline, studio.server.app
from components.component import STATIC
from pipeline import plugins
from pipeline.assets.library import BUILTIN_LIBRARY
print(pipeline.__file__, studio.server.app.__file__, BUILTIN_LIBRARY, STATIC, sep="\\n")
assert STATIC.is_dir() and BUILTIN_LIBRARY.is_dir() and "depth" in plugins.entries("segmenters")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_the_studio_starts_from_a_wheel_without_the_packages_of_its_extras(wheel: Path, tmp_path: Path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", START], cwd=tmp_path / "empty", capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all(Path(line).is_relative_to(tmp_path / "site") for line in done.stdout.split())


@pytest.mark.soak
def test_a_sample_frame_is_solved_in_an_environment_that_holds_only_the_wheel(wheel: Path, tmp_path: Path):
    environment, empty = tmp_path / "environment", tmp_path / "empty"
    empty.mkdir()
    python, uv = environment / "bin" / "python", Path(sys.executable).with_name("uv")
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([uv, "venv", "--python", sys.executable, environment], check=True)
    subprocess.run([uv, "pip", "install", "--python", python, wheel], check=True)
    (frame,) = environment.glob("lib/python*/site-packages/pipeline/_sample_scenes/blocks")
    subprocess.run([python, "-c", START], cwd=empty, env=outside, check=True)
    command = [environment / "bin" / "grs-studio", "run", frame, "--out", "project"]
    subprocess.run(command, cwd=empty, env=outside, check=True)
    assert json.loads((empty / "project" / "solution.json").read_text())["solved"] is True
